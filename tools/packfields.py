"""Packs the fields of kinds by release: names, types, allowed words, bounds, and whether they are required; no texts.
Of CRDs it packs also what ``tools.crdrules`` reads. Run it by hand when a project has a new release.

``python -m tools.packfields kubernetes DIR``: DIR holds ``v1.33.0-local/_definitions.json`` of each release, as does
the folder ``kubernetes-json-schema`` of the Python package kubernetes-validate.

``python -m tools.packfields kuberay REPOSITORY``: REPOSITORY is a clone, with its tags, of the repository in
``PROJECTS``. Pods in CRDs are stored as differences from the pods of the nearest Kubernetes release.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kubectl_tas.kinds import pages
from kubectl_tas.kinds.kubernetes import Shapes, numbers, read_packed, releases
from tools.crdrules import ReadRule, paths, rules_of
from tools.goldens import ROOT

PACKED = ROOT / "kubectl_tas" / "packed"
Field = str | dict[str, Any] | None
"""A type, followed by * if the field is required; or a mapping with ``type`` and ``words``, or with ``type``, ``least``
and ``most``; or None for a field of the base type that this type lacks.
"""
Types = dict[str, dict[str, Field]]
_PREFIX = re.compile(r"^io\.k8s\.(api\.|apimachinery\.pkg\.(apis\.|api\.|util\.)?|kube-aggregator\.pkg\.apis\.)?")
_ALIKE = {"resource.Quantity": "quantity", "intstr.IntOrString": "int-or-string"}
_ALMOST = 0.7
"""Minimum overlap of fields for which a mapping is stored as a difference from a type of Kubernetes."""


class Project(NamedTuple):
    """The place where a project publishes the CRDs of its kinds."""

    repository: str
    """Repository on GitHub."""
    releases: str
    """The first release to pack, and after ``..`` the first release not to pack."""
    kinds: str
    paths: str
    """Possible paths of a kind's file, with ``{}`` for the name of the kind. The first existing path counts."""


_TRAINING_KINDS = " ".join(
    page.recognition.kind for page in pages() if "training-operator" in page.recognition.operator.split()
)
_CHARTS = "deployments/helm/"
_COMPUTE_DOMAIN = "/crds/resource.nvidia.com_{}s.yaml"
_CHARTS_OF_DRA = ("dra-driver-nvidia-gpu", "nvidia-dra-driver-gpu", "k8s-dra-driver-gpu", "k8s-dra-driver")
_FULL = "manifests/base/crds/full/argoproj.io_{}s.yaml"
_KUBEVIRT = "pkg/virt-operator/resource/generate/components/validations_generated.go"
_NOTEBOOKS = "components/notebook-controller/config/crd/bases/kubeflow.org_{}s.yaml"
_SCHEDULED = "manifests/kustomize/base/pipeline/cluster-scoped/scheduled-workflow-crd.yaml"
_SELDON = "operator/config/crd_v1/bases/machinelearning.seldon.io_{}s.yaml"
_SPARK = "config/crd/bases/sparkoperator.k8s.io_{}s.yaml"
_RAY = "ray-operator/config/crd/bases/ray.io_{}s.yaml"
PROJECTS = {
    "argo-workflows": Project("argoproj/argo-workflows", "3.5", "Workflow CronWorkflow", _FULL),
    "devworkspace": Project("devfile/api", "2.1", "DevWorkspace", "crds/workspace.devfile.io_{}s.yaml"),
    "grove": Project(
        "ai-dynamo/grove", "0.1.0-alpha.8", "PodCliqueSet", "operator/api/core/v1alpha1/crds/grove.io_{}s.yaml"
    ),
    "jobset": Project(
        "kubernetes-sigs/jobset", "0.5", "JobSet", "config/components/crd/bases/jobset.x-k8s.io_{}s.yaml"
    ),
    "kserve": Project("kserve/kserve", "0.13", "InferenceService", "config/crd/full/serving.kserve.io_{}s.yaml"),
    "kuberay": Project("ray-project/kuberay", "1.2", "RayCluster RayJob RayService RayCronJob", _RAY),
    "kubevirt": Project("kubevirt/kubevirt", "1.4", "VirtualMachineInstance", _KUBEVIRT),
    "lws": Project(
        "kubernetes-sigs/lws", "0.5", "LeaderWorkerSet", "config/crd/bases/leaderworkerset.x-k8s.io_{}s.yaml"
    ),
    "mpi-operator": Project("kubeflow/mpi-operator", "0.4", "MPIJob", "deploy/v2beta1/mpi-operator.yaml"),
    "notebooks": Project("kubeflow/kubeflow", "1.7", "Notebook", _NOTEBOOKS),
    "nvidia-dra": Project(
        "NVIDIA/k8s-dra-driver-gpu",
        "25.3",
        "ComputeDomain",
        " ".join(f"{_CHARTS}{chart}{_COMPUTE_DOMAIN}" for chart in _CHARTS_OF_DRA),
    ),
    "pipelines": Project("kubeflow/pipelines", "2.0", "ScheduledWorkflow", _SCHEDULED),
    "seldon-core": Project("SeldonIO/seldon-core", "1.15..2", "SeldonDeployment", _SELDON),
    "spark-operator": Project("kubeflow/spark-operator", "2.0", "SparkApplication ScheduledSparkApplication", _SPARK),
    "tekton": Project(
        "tektoncd/pipeline", "0.60", "PipelineRun TaskRun", "config/300-crds/300-{}.yaml config/300-{}.yaml"
    ),
    "trainer": Project("kubeflow/trainer", "2.0", "TrainJob", "manifests/base/crds/trainer.kubeflow.org_{}s.yaml"),
    "training-operator": Project(
        "kubeflow/trainer", "1.7..2", _TRAINING_KINDS, "manifests/base/crds/kubeflow.org_{}s.yaml"
    ),
    "volcano": Project("volcano-sh/volcano", "1.8", "Job", "config/crd/volcano/bases/batch.volcano.sh_{}s.yaml"),
}


def kubernetes(folder: Path) -> dict[str, Any]:
    """Returns Kubernetes' own types by release."""
    found = {}
    for path in folder.glob("v1.*-local/_definitions.json"):
        written = json.loads(path.read_bytes())["$defs"]
        named = {_PREFIX.sub("", name): schema for name, schema in written.items()}
        if len(named) != len(written):
            raise SystemExit(f"two types have one name in {path}")
        types: Types = {}
        for name, schema in named.items():
            if "properties" in schema:
                needed = schema.get("required", ())
                fields = schema["properties"].items()
                types[name] = {key: _own(part, named) + "*" * (key in needed) for key, part in fields}
        found[int(path.parent.name.split(".")[1])] = types
    order = sorted(found)
    return {"releases": [f"1.{release}" for release in order], **merged([found[release] for release in order])}


def _own(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """Returns the name of the type of a Kubernetes schema. A type without fields is replaced by its content."""
    if "$ref" in schema:
        name = _PREFIX.sub("", schema["$ref"].rpartition("/")[2])
        if name in _ALIKE or "properties" in named[name]:
            return _ALIKE.get(name, name)
        return _own(named[name], named)
    words = schema.get("type", "any")
    word: str = next(item for item in words if item != "null") if isinstance(words, list) else words
    if word == "array":
        return "[]" + _own(schema["items"], named)
    if word == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "{}" + _own(schema["additionalProperties"], named)
    return schema["format"] if schema.get("format") in ("int32", "int64") else word


def operator(name: str, clone: Path) -> dict[str, Any]:
    """Returns the types of an operator's kinds by release."""
    project = PROJECTS[name]
    first, _, last = project.releases.partition("..")
    form = r"v?([0-9.]+-alpha\.[0-9]+)" if "alpha" in first else r"v?([0-9]+\.[0-9]+)\.[0-9]+"
    newest: dict[str, tuple[tuple[int, ...], str]] = {}
    for tag in _git(clone, "tag").split():
        found = re.fullmatch(form, tag)
        if found is not None and numbers(first) <= numbers(tag) < numbers(last or "9999"):
            newest[found[1]] = max(newest.get(found[1], ((), "")), (numbers(tag), tag))
    parts: list[Types] = []
    kinds: dict[str, str] = {}
    pods, names, schemas = [], [], []
    for release, (_, tag) in sorted(newest.items(), key=lambda item: item[1]):
        crds = list(_crds(clone, tag, project))
        if crds:
            made = min((Crds(crds, pod) for pod in _nearest(crds)), key=lambda crds: (len(crds.types), -crds.release))
            parts.append(made.types)
            kinds |= made.kinds
            pods.append(made.release)
            names.append(release)
            schemas.append((made.schemas, made.own))
            print(f"{name} {release}: {len(made.types)} types, pods of Kubernetes 1.{made.release}")
    return {"kinds": kinds, "kubernetes": pods, "releases": names, **shared(merged(parts)), **_rules(name, schemas)}


def _rules(operator: str, schemas: list[tuple[dict[str, Any], set[int]]]) -> dict[str, Any]:
    """Returns the rules of an operator's kinds: by kind the path, the first and last release of the rule, those of
    the field, and the number of its tree; all trees; and the rules that have none.
    """
    rows: dict[str, list[list[Any]]] = {}
    trees: dict[str, ReadRule] = {}
    unread: set[str] = set()
    for kind in sorted({kind for release, _ in schemas for kind in release}):
        fields: dict[str, list[int]] = {}
        found: dict[tuple[str, str], list[int]] = {}
        for index, (release, own) in enumerate(schemas):
            for path in paths(release.get(kind)):
                fields.setdefault(path, []).append(index)
            for rule in rules_of(operator, release.get(kind), own):
                if isinstance(rule, str):
                    unread.add(rule)
                    continue
                content = json.dumps(rule[1:])
                trees.setdefault(content, rule)
                found.setdefault((rule.path, content), []).append(index)
        for (path, content), releases_with in found.items():
            have, number = fields[path], list(trees).index(content)
            rows.setdefault(kind, []).append([path, releases_with[0], releases_with[-1], have[0], have[-1], number])
    return {"rules": rows, "trees": [list(rule[1:]) for rule in trees.values()], "unread": sorted(unread)}


def _git(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, text=True, check=True).stdout


def _crds(clone: Path, tag: str, project: Project) -> Iterator[dict[str, Any]]:
    """Yields the CRDs of a project's kinds at a tag."""
    for kind in project.kinds.split():
        for path in project.paths.split():
            try:
                text = _git(clone, "show", f"{tag}:{path.format(kind.lower())}")
            except subprocess.CalledProcessError:  # it is elsewhere, or this release has no such kind
                continue
            if path.endswith(".go"):
                yield _in_go(text, kind)
                break
            documents = [
                document
                for document in yaml.load_all(re.sub(r"(?m)^\{\{.*\}\}$", "", text), yaml.CSafeLoader)
                if document and document["kind"] == "CustomResourceDefinition"
            ]
            yield from (document for document in documents if document["spec"]["names"]["kind"] == kind)
            break


def _in_go(text: str, kind: str) -> dict[str, Any]:
    """Returns a CRD of KubeVirt, which stores its CRDs as texts in Go."""
    found = re.search(rf'"{kind.lower()}": `(.*?)`', text, re.DOTALL)
    if found is None:
        raise SystemExit(f"no {kind}")
    versions = [{"name": "v1", "storage": True, "schema": yaml.load(found[1], yaml.CSafeLoader)}]
    return {"spec": {"group": "kubevirt.io", "names": {"kind": kind}, "versions": versions}}


class Crds:
    """The types in the CRDs of one release of an operator, each named by its place, for example ``RayJob.spec``."""

    def __init__(self, crds: Iterable[Mapping[str, Any]], release: int) -> None:
        self.types: Types = {}
        self.kinds: dict[str, str] = {}
        self.release = release
        self.schemas: dict[str, Any] = {}
        self.own: set[int] = set()
        """The ids of the schemas of fields that no type of Kubernetes has."""
        self._own = _shapes(release)
        for crd in crds:
            self._add(crd)

    def _add(self, crd: Mapping[str, Any]) -> None:
        about = crd["spec"]
        kind = about["names"]["kind"]
        for version in sorted(about["versions"], key=lambda item: not item["storage"]):
            root = kind if kind not in self.types else f"{kind}/{version['name']}"
            self.kinds[f"{about['group']}/{version['name']} {kind}"] = root
            self.schemas[f"{about['group']}/{version['name']} {kind}"] = version["schema"]["openAPIV3Schema"]
            fields = {
                "apiVersion": "string",
                "kind": "string",
                "metadata": "meta.v1.ObjectMeta",
                **self._fields(version["schema"]["openAPIV3Schema"], root),
                "status": "any",
            }
            self.types[root] = {key: fields[key] for key in sorted(fields)}

    def _fields(self, schema: Mapping[str, Any], place: str) -> dict[str, Field]:
        needed = _needed(schema)
        left_out = ("apiVersion", "kind", "metadata", "status") if "." not in place else ()
        parts = schema.get("properties", {"spec": {"type": "object"}}).items()
        return {
            key: self._field(part, f"{place}.{key}", key in needed and f"{place}.{key}" not in FILLED_IN)
            for key, part in parts
            if key not in left_out
        }

    def _field(self, schema: Mapping[str, Any], place: str, is_required: bool) -> Field:  # noqa: FBT001
        written = self._type(schema, place) + "*" * is_required
        values = schema.get("items", schema) if written.startswith("[]") else schema
        also = next((bound for pattern, bound in ALSO.items() if re.search(pattern, place)), None)
        if also is not None:
            return {"type": written, **also}
        if "enum" in values:
            return {"type": written, "words": [word for word in values["enum"] if isinstance(word, str)]}
        if values.get("type") == "integer" and {"minimum", "maximum"} & values.keys():
            size = 63 if values.get("format") == "int64" else 31
            least, most = values.get("minimum", -(2**size)), values.get("maximum", 2**size - 1)
            return {"type": written, "least": least, "most": most}
        return written

    def _type(self, schema: Mapping[str, Any], place: str) -> str:
        """Returns the type of a field at its place. A type with fields is added to ``types``."""
        if place in REPLICA_TYPES:
            item = self._type(schema["additionalProperties"], f"{place}.each")
            self.types[place] = dict.fromkeys(REPLICA_TYPES[place], item)
            return place
        if schema.get("x-kubernetes-int-or-string"):
            return "quantity" if "pattern" in schema else "int-or-string"
        if place.endswith(".metadata") and "additionalProperties" not in schema:
            return "meta.v1.ObjectMeta"
        word = schema.get("type", "any")
        if word == "array":
            return "[]" + self._type(schema.get("items", {}), place)
        if word != "object":
            return str(schema["format"] if schema.get("format") in ("int32", "int64") else word)
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return "object"
        if isinstance(schema.get("additionalProperties"), dict):
            return "{}" + self._type(schema["additionalProperties"], f"{place}.each")
        if not schema.get("properties"):
            return "object"
        own = self._named(schema)
        if own is not None and self._fits(schema, own):
            return own
        base = None if own is None else self._own.fields(own)
        fields = self._fields(schema, place)
        if own is None or base is None:
            self.types[place] = {key: fields[key] for key in sorted(fields)}
            self.own.update(map(id, schema["properties"].values()))
            return place
        other: dict[str, Field] = {"": own}
        for key, part in schema["properties"].items():
            is_same = key in base and self._fits(part, base[key].written)
            if not is_same or base[key].is_required != (key in _needed(schema)):
                other[key] = fields[key]
                self.own.add(id(part))
        other |= dict.fromkeys(base.keys() - fields.keys())
        self.types[place] = {key: other[key] for key in sorted(other)}
        return place

    def _named(self, schema: Mapping[str, Any]) -> str | None:
        """Returns the type of Kubernetes that a mapping equals, or almost equals."""
        keys = frozenset(schema["properties"])
        exact = [name for name in _by_fields(self.release).get(keys, ()) if self._fits(schema, name)]
        if exact and (len(keys) > 2 or exact[0] in SMALL):
            return exact[0]
        if len(keys) < 6:
            return None
        share, name = max(
            (len(keys & known) / len(keys | known), name)
            for known, names in _by_fields(self.release).items()
            for name in names[:1]
        )
        return name if share >= _ALMOST and name in NEAR else None

    def _fits(self, schema: Mapping[str, Any], written: str) -> bool:
        """Whether a schema is equal to a type of Kubernetes."""
        word = schema.get("type", "any")
        if written in ("any", "meta.v1.ObjectMeta", "object"):
            return True
        if written in ("quantity", "int-or-string"):
            return bool(schema.get("x-kubernetes-int-or-string"))
        if written.startswith("[]"):
            return word == "array" and self._fits(schema.get("items", {}), written[2:])
        if written.startswith("{}"):
            return isinstance(part := schema.get("additionalProperties"), dict) and self._fits(part, written[2:])
        fields = self._own.fields(written)
        if fields is None:
            return bool(word == {"int32": "integer", "int64": "integer"}.get(written, written))
        parts = schema.get("properties", {})
        needed = {key for key in fields if fields[key].is_required}
        return (
            parts.keys() == fields.keys()
            and _needed(schema) == needed
            and all(key == "status" or self._fits(parts[key], fields[key].written) for key in parts)
        )


REPLICA_TYPES = {
    "JAXJob.spec.jaxReplicaSpecs": ("Worker",),
    "MPIJob.spec.mpiReplicaSpecs": ("Launcher", "Worker"),
    "PaddleJob.spec.paddleReplicaSpecs": ("Master", "Worker"),
    "PyTorchJob.spec.pytorchReplicaSpecs": ("Master", "Worker"),
    "TFJob.spec.tfReplicaSpecs": ("Chief", "Master", "PS", "Worker", "Evaluator"),
    "XGBoostJob.spec.xgbReplicaSpecs": ("Master", "Worker"),
}
"""Mappings whose keys the operator restricts but the CRD does not: pkg/webhooks and mpi_validation.go of
training-operator 1.9, pkg/apis/kubeflow/validation of mpi-operator 0.8. tfjob_types.go lists the keys of TFJob.
"""
FILLED_IN = ("JobSet.spec.failurePolicy.rules.name", "RayJob.spec.rayClusterSpec", "ComputeDomain.spec.numNodes")
"""Fields that a CRD requires although they may be absent. jobset_webhook.go of JobSet 0.12 fills in its field. A RayJob
may have clusterSelector instead (validation.go of KubeRay 1.7). A ComputeDomain needs no number from release 0.4 of the
driver on, which is later than 25.12 (computedomain.go).
"""
NEAR = (
    "batch.v1.JobSpec",
    "core.v1.Affinity",
    "core.v1.Container",
    "core.v1.EphemeralContainer",
    "core.v1.PodSecurityContext",
    "core.v1.PodSpec",
    "core.v1.SecurityContext",
    "core.v1.Volume",
    "core.v1.VolumeMount",
)
"""Types that a mapping may almost equal. The meaning of other types would change with more fields."""
SMALL = (
    "batch.v1.JobTemplateSpec",
    "core.v1.PersistentVolumeClaimTemplate",
    "core.v1.PodTemplateSpec",
    "meta.v1.LabelSelector",
    "networking.v1.IngressTLS",
    "networking.v1.NetworkPolicyEgressRule",
    "networking.v1.NetworkPolicyIngressRule",
)
"""Types with one or two fields that are recognised outside of pods too. Others may have such fields by chance."""
_COUNT = {"least": 0, "most": 2**31 - 1}
ALSO: dict[str, dict[str, Any]] = {
    r"\.each\.restartPolicy$": {"words": ["Always", "OnFailure", "Never", "ExitCode"]},
    r"\.runPolicy\.cleanPodPolicy$": {"words": ["None", "Running", "All"]},
    r"\.runPolicy\.activeDeadlineSeconds$": {"least": 0, "most": 2**63 - 1},
    r"\.runPolicy\.(backoffLimit|ttlSecondsAfterFinished)$|^MPIJob\.spec\.slotsPerWorker$": _COUNT,
    r"\.elasticPolicy\.(maxReplicas|minReplicas|nProcPerNode)$": {"least": 1, "most": 2**31 - 1},
    r"^JobSet\.spec\.failurePolicy\.maxRestarts$": _COUNT,
    r"\.workerGroupSpecs\.(maxReplicas|minReplicas)$|\.autoscalerOptions\.idleTimeoutSeconds$": _COUNT,
    r"\.autoscalerOptions\.imagePullPolicy$": {"words": ["Always", "IfNotPresent", "Never"]},
    r"^Ray(Cron)?Job\.spec\.(jobTemplate\.)?submissionMode$": {
        "words": ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"]
    },
}
"""Values of fields, by place, for which the CRD is less strict than the operator. Sources: the validation and Go types
of training-operator 1.9, mpi-operator 0.8, JobSet 0.12 and KubeRay 1.7; Kubernetes' rules for the Jobs and pods that
these operators make.
"""


def _needed(schema: Mapping[str, Any]) -> set[str]:
    """Returns the required fields of a mapping, without the fields that the API server fills in."""
    return {key for key in schema.get("required", ()) if "default" not in schema.get("properties", {}).get(key, ())}


@cache
def _shapes(release: int) -> Shapes:
    return Shapes(release)


@cache
def _by_fields(release: int) -> dict[frozenset[str], list[str]]:
    """Returns types of Kubernetes that occur in pods and similar objects, by their sets of field names."""
    groups = ("core.v1.", "meta.v1.", "batch.v1.", "apps.v1.", "autoscaling.v2.", "networking.v1.", "rbac.v1.")
    found: dict[frozenset[str], list[str]] = {}
    for name in read_packed("kubernetes")["types"]:
        fields = _shapes(release).fields(name) if name.startswith(groups) else None
        if fields and not name.startswith("apps.v1.RollingUpdate"):
            found.setdefault(frozenset(fields), []).append(name)
    return found


def _nearest(crds: Any) -> list[int]:
    """Returns the Kubernetes releases whose pods have the most fields in common with the largest pod in the CRDs."""
    pods = [part for part in _mappings(crds) if {"containers", "volumes"} <= part.keys()]
    pod = max(pods, key=len, default={})
    differ = {release: _differ(pod, release) for release in releases()}
    return [release for release in differ if differ[release] == min(differ.values())]


def _differ(pod: Mapping[str, Any], release: int) -> int:
    """Counts fields that only the pod's types or only the types of the release have."""
    written = {"core.v1.PodSpec": pod}
    for key, name in (("containers", "core.v1.Container"), ("volumes", "core.v1.Volume")):
        written[name] = pod.get(key, {}).get("items", {}).get("properties", {})
    own = {name: _shapes(release).fields(name) or {} for name in written}
    return sum(len(written[name].keys() ^ own[name].keys()) for name in own if len(written[name]) > len(own[name]) / 2)


def _mappings(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the ``properties`` of all schemas in the given data."""
    if isinstance(schema, list):
        for part in schema:
            yield from _mappings(part)
    elif isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema["properties"]
        for part in schema.values():
            yield from _mappings(part)


def merged(parts: list[Types]) -> dict[str, Any]:
    """Merges the types of several releases, oldest first. A field that differs becomes a list of its versions, each
    with its first and last release. ``spans`` has the first and last release of types that some release lacks.
    """
    spans: dict[str, list[int]] = {}
    types: dict[str, dict[str, Any]] = {}
    for name in sorted({name for release in parts for name in release}):
        have = [index for index, release in enumerate(parts) if name in release]
        span = [have[0], have[-1]]
        if span != [0, len(parts) - 1]:
            spans[name] = span
        keys = sorted({key for index in have for key in parts[index][name]})
        types[name] = {
            key: _versions(
                [(index, parts[index].get(name, {}).get(key, _ABSENT)) for index in range(span[0], span[1] + 1)]
            )
            for key in keys
        }
    return {"spans": spans, "types": types}


_ABSENT = "-"


def _versions(fields: Iterable[tuple[int, Field]]) -> Any:
    """Returns a field by release, or the field itself if it is the same in all of them."""
    found: list[tuple[Field, list[int]]] = []
    for index, field in fields:
        if found and found[-1][0] == field:
            found[-1][1][1] = index
        else:
            found.append((field, [index, index]))
    if len(found) == 1:
        return found[0][0]
    return [[*span, field] for field, span in found if field != _ABSENT]


def shared(data: dict[str, Any]) -> dict[str, Any]:
    """Replaces equal types by one of them, the one with the shortest name."""
    types, spans = data["types"], data["spans"]
    called: dict[str, str] = {}
    first: dict[str, str] = {}
    for name in sorted(types, key=lambda name: (-name.count("."), len(name), name)):
        types[name] = {key: _renamed(field, called) for key, field in types[name].items()}
        is_unique = name in REPLICA_TYPES or name.count(".") < 2
        content = json.dumps([types[name], spans.get(name), is_unique and name])
        called[name] = first.setdefault(content, name)
    short = {
        name: min((other for other in called if called[other] == name), key=lambda n: (n.count("."), len(n), n))
        for name in first.values()
    }
    found = {short[name]: {key: _renamed(field, short) for key, field in types[name].items()} for name in short}
    reached, ahead = set(), [name for name in found if "." not in name]
    while ahead:
        name = ahead.pop()
        if name in found and name not in reached:
            reached.add(name)
            ahead += re.findall(r"[\w./-]+", json.dumps(list(found[name].values())))
    return {
        "spans": {short[name]: span for name, span in spans.items() if name in short and short[name] in reached},
        "types": {name: found[name] for name in found if name in reached},
    }


def _renamed(field: Any, names: Mapping[str, str]) -> Any:
    """Returns a field with new names of its types."""
    if isinstance(field, list):
        return [[since, until, _renamed(part, names)] for since, until, part in field]
    if isinstance(field, dict):
        return {**field, "type": _renamed(field["type"], names)}
    if field is None:
        return None
    bare = field.lstrip("[]{}").rstrip("*")
    return field.replace(bare, names.get(bare, bare)) if bare in names else field


def write(name: str, data: Mapping[str, Any]) -> None:
    """Writes a packed file, and for an operator also its entry in ``index.json``."""
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    path = PACKED / f"{name}.z"
    path.write_bytes(zlib.compress(text, 9))
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes of releases {', '.join(data['releases'])}")
    if "kinds" in data:
        index = PACKED / "index.json"
        known = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else {}
        known[name] = {"releases": data["releases"], "kinds": sorted(data["kinds"])}
        index.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Packs the project that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", choices=["kubernetes", *PROJECTS])
    parser.add_argument("folder", type=Path, metavar="DIR")
    given = parser.parse_args()
    is_own = given.project == "kubernetes"
    write(given.project, kubernetes(given.folder) if is_own else operator(given.project, given.folder))


if __name__ == "__main__":
    main()
