"""Tests Karta definitions in the repository."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.gangs.podgrouper import is_predicted, row
from kubectl_tas.kinds.page import Pods
from tests.support.cli import kubectl_tas, pool, write
from tests.support.fleets import fleet_of, judged_files
from tests.support.judged import told
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.workloads import LEVELS, Object, template

GROUP, KIND = "ml.example.com", "Training"


def component(name: str, *, scale: Object | None = None, **more: Any) -> Object:
    found: Object = {
        "name": name,
        "ownerRef": "training",
        "specDefinition": {"podTemplateSpecPath": f".spec.{name}.template"},
        "scaleDefinition": {"replicasPath": f".spec.{name}.replicas"} if scale is None else scale,
        "podSelector": {"componentTypeSelector": {"keyPath": ".metadata.labels.role", "value": name}},
        **more,
    }
    return {key: value for key, value in found.items() if value}


def karta(*children: Object, gang: Object | None = None, kind: str = KIND, group: str = GROUP, **root: Any) -> Object:
    of_kind = {"group": group, "version": "v1", "kind": kind}
    labels = {f"run.ai/karta-{key}": value for key, value in of_kind.items()}
    top = {"name": "training", "kind": of_kind, "statusDefinition": {"statusMappings": {}}, **root}
    own = children or (component("head"), component("worker"))
    groups = [{"componentName": item["name"]} for item in own]
    return {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "training", "labels": labels},
        "spec": {
            "structureDefinition": {"rootComponent": top, "childComponents": list(own)},
            "optimizationInstructions": {
                "gangScheduling": {"podGroup": {"name": "x", "subGroups": groups}} if gang is None else gang
            },
        },
    }


def training(**spec: Any) -> Object:
    parts = {"head": {"replicas": 1, "template": template(0)}, "worker": {"replicas": 3, "template": template(2)}}
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": metadata, "spec": {**parts, **spec}}


def repository(
    root: Path,
    *kartas: Object,
    work: Object | None = None,
    at: str = "pools/z.yaml",
    release: str = "0.17",
    **config: Any,
) -> Path:
    backend = {"name": "default", "scheduler": {"version": release}}
    settings = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"backends": [backend], **config}}
    return write(
        root,
        {
            "tas.yaml": yaml.safe_dump(settings),
            "pools/p.yaml": pool(guarantee=16, spec=LEVELS),
            at: yaml.safe_dump_all(kartas),
            "workflows/w.yaml": yaml.safe_dump(training() if work is None else work),
        },
    )


def findings(root: Path, *kartas: Object, **about: Any) -> list[tuple[str, str]]:
    result = kubectl_tas("validate", "-o", "json", "-C", repository(root, *kartas, **about))
    assert "Traceback" not in result.err
    return [(item["rule"], item["message"]) for item in json.loads(result.out)["diagnostics"]]


def preview(root: Path, *kartas: Object, **about: Any) -> Object:
    repository(root, *kartas, **about)
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    found: Object = safe_load((root / "manifests/preview/podgroup-training-x.yaml").read_text())["spec"]
    return found


def test_sub_groups(tmp_path: Path) -> None:
    found = preview(tmp_path, karta())
    assert [(item["name"], item["minMember"]) for item in found["subGroups"]] == [("head", 1), ("worker", 3)]
    assert findings(tmp_path, karta()) == []


def test_its_pods_are_those_of_a_workload(tmp_path: Path) -> None:
    repository(tmp_path, karta())
    objects = safe_load_all(kubectl_tas("render", "-o", "-", "-C", tmp_path).out)
    (found,) = [item for item in objects if item and item["kind"] == KIND]
    for part in ("head", "worker"):
        assert found["spec"][part]["template"]["spec"]["schedulerName"] == "kai-scheduler"
    assert ("over-quota") in dict(
        findings(tmp_path, karta(), work=training(worker={"replicas": 9, "template": template(2)}))
    )


@pytest.mark.parametrize(
    ("children", "gang", "spec", "expected"),
    [
        ((), {"podGroup": {"name": "x"}}, {}, 4),
        ((component("head"),), {"podGroup": {"name": "x"}}, {}, 1),
        (
            (
                component(
                    "worker", scale={"replicasPath": ".spec.worker.replicas // 1", "minReplicasPath": ".spec.least"}
                ),
            ),
            {"podGroup": {"name": "x"}},
            {"least": 2},
            2,
        ),
        ((component("head", scale={}), component("worker", scale={})), {"podGroup": {"name": "x"}}, {}, 2),
        (
            (
                component(
                    "roles",
                    specDefinition={"podTemplateSpecPath": ".spec.roles[].template"},
                    scale={"replicasPath": ".spec.roles[] | .replicas // 1"},
                    instanceIdPath=".spec.roles[].name",
                ),
            ),
            {"podGroup": {"name": "x"}},
            {"roles": [{"name": "a", "template": template(1)}, {"name": "b", "replicas": 2, "template": template(1)}]},
            3,
        ),
    ],
)
def test_minimum(tmp_path: Path, children: tuple[Object, ...], gang: Object, spec: Object, expected: int) -> None:
    assert preview(tmp_path, karta(*children, gang=gang), work=training(**spec))["minMember"] == expected


def test_replicas_of_the_root_multiply(tmp_path: Path) -> None:
    own = karta(gang={"podGroup": {"name": "x"}}, scaleDefinition={"replicasPath": ".spec.replicas"})
    work = training(replicas=2, worker={"replicas": 3, "template": template(1)})
    assert preview(tmp_path, own, work=work)["minMember"] == 8


def test_replicas_of_the_root_are_not_in_sub_groups(tmp_path: Path) -> None:
    """As KAI 0.17.0 counts: CalculateSubtreeScale looks below the component alone."""
    own = karta(scaleDefinition={"replicasPath": ".spec.replicas"})
    found = preview(tmp_path, own, work=training(replicas=2))
    assert [(item["name"], item["minMember"]) for item in found["subGroups"]] == [("head", 1), ("worker", 3)]


def test_a_minimum_that_is_left_out(tmp_path: Path) -> None:
    scale = {"replicasPath": ".spec.worker.replicas", "minReplicasPath": ".spec.least"}
    own = karta(component("worker", scale=scale), gang={"podGroup": {"name": "x"}})
    assert preview(tmp_path, own)["minMember"] == 3


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"head": {"template": template(0)}}, "reads 0 pods for head"),
        ({"worker": {"replicas": 0, "template": template(0)}}, "reads 0 pods for worker"),
        ({"worker": {"replicas": 2, "least": 3, "template": template(0)}}, "needs 3 pods of worker"),
    ],
)
def test_work_of_which_kai_makes_no_gang(tmp_path: Path, spec: Object, said: str) -> None:
    scale = {"replicasPath": ".spec.worker.replicas", "minReplicasPath": ".spec.worker.least"}
    own = karta(component("head"), component("worker", scale=scale))
    (found,) = findings(tmp_path, own, work=training(**spec))
    assert found[0] == "workload-minimum"
    assert said in found[1]


def test_before_kai_reads_it(tmp_path: Path) -> None:
    assert preview(tmp_path, karta(), release="0.16")["minMember"] == 1
    (found,) = findings(tmp_path, karta(), release="0.16")
    assert found[0] == "karta-unread"
    assert "0.16" in found[1]


def test_what_kai_cannot_find_is_said_before_what_it_cannot_read(tmp_path: Path) -> None:
    unlabeled = {**karta(), "metadata": {"name": "training"}}
    (found,) = findings(tmp_path, unlabeled, release="0.16")
    assert found == ("missing-field", "KAI finds a Karta by its labels, and this one lacks them")


def test_the_older_form_has_no_preview(tmp_path: Path) -> None:
    members = [{"componentName": "worker", "groupByKeyPaths": [".metadata.labels.x"]}]
    old = karta(gang={"podGroups": [{"name": "x", "members": members}]})
    repository(tmp_path, old)
    assert kubectl_tas("render", "-C", tmp_path).code == 0
    assert not (tmp_path / "manifests/preview/podgroup-training-x.yaml").exists()


def changed(path: str, value: Any) -> Object:
    found = deepcopy(karta())
    *steps, last = path.split("/")
    place: Any = found["spec"]
    for step in steps:
        place = place[int(step) if step.isdecimal() else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return found


CHILD = "structureDefinition/childComponents/1/"


OTHERWISE = "describe the kind in spec.kinds of the Config, and move the Karta out of the folders that are read."
PATHS = f"Write a path such as .spec.template or .spec.roles[].template. If none fits: {OTHERWISE}"
NUMBERS = f"Write a path such as .spec.replicas or .spec.roles[] | .replicas // 1. If none fits: {OTHERWISE}"
ELSE = f"Instead, {OTHERWISE}"
FAILS = "KAI 0.17.0 makes no PodGroup for a kind that has neither a plugin nor a Karta."
ROLES = {"specDefinition": {"podTemplateSpecPath": ".spec.roles[].template"}, "instanceIdPath": ".spec.roles[].name"}
ALONE = {"podGroup": {"name": "x"}}


def judged(own: Object) -> list[str]:
    """What is said of a Karta, with the line and the column in its file."""
    found = told({"pools/z.yaml": yaml.safe_dump(own), "pools/p.yaml": pool()})
    return [line.removeprefix("pools/z.yaml:") for line in found]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            changed(f"{CHILD}specDefinition", {"podTemplateSpecPath": ".spec | .worker.template"}),
            f"38:30 invalid-value: kubectl-tas does not read the jq expression .spec | .worker.template ({PATHS})",
        ),
        (
            changed(f"{CHILD}specDefinition", {"podSpecPath": ".spec.worker.spec"}),
            '38:22 invalid-value: of "worker" kubectl-tas reads podTemplateSpecPath alone, not the podSpecPath '
            f"({ELSE})",
        ),
        (
            changed(f"{CHILD}specDefinition", {"fragmentedPodSpecDefinition": {}}),
            '38:38 invalid-value: of "worker" kubectl-tas reads podTemplateSpecPath alone, not the '
            f"fragmentedPodSpecDefinition ({ELSE})",
        ),
        (
            karta(component("worker", specDefinition={"metadataPath": ".spec.worker"})),
            '27:9 invalid-value: of "worker" kubectl-tas reads podTemplateSpecPath alone, which is missing here '
            f"({ELSE})",
        ),
        (
            changed(f"{CHILD}scaleDefinition", {"replicasPath": ".spec.a * .spec.b"}),
            f"36:23 invalid-value: kubectl-tas does not read the jq expression .spec.a * .spec.b ({NUMBERS})",
        ),
        (
            changed(f"{CHILD}scaleDefinition", {"minReplicasPath": "a|b"}),
            f"36:26 invalid-value: kubectl-tas does not read the jq expression a|b ({NUMBERS})",
        ),
        (
            changed(f"{CHILD}scaleDefinition", {"maxReplicasPath": ".a + 1"}),
            f"36:26 invalid-value: kubectl-tas does not read the jq expression .a + 1 ({NUMBERS})",
        ),
        (
            karta(component("worker"), scaleDefinition={"replicasPath": ".x | y"}),
            f"35:23 invalid-value: kubectl-tas does not read the jq expression .x | y ({NUMBERS})",
        ),
        (
            karta(
                component("worker"),
                scaleDefinition={"replicasPath": ".spec.copies // 1", "minReplicasPath": ".spec.least"},
            ),
            "35:26 invalid-value: kubectl-tas does not read a minimum of the root: KAI multiplies those of the "
            f"components by it ({ELSE})",
        ),
        (
            changed(f"{CHILD}scaleDefinition", {"replicasPath": ".spec.roles[].x"}),
            f"36:23 invalid-value: .spec.roles[].x counts items of a list that the pod templates are not in ({ELSE})",
        ),
        (
            karta(component("roles", scale={"replicasPath": ".spec.rolls[] | .replicas // 1"}, **ROLES), gang=ALONE),
            "24:23 invalid-value: .spec.rolls[] | .replicas // 1 counts items of a list that the pod templates are not "
            f"in ({ELSE})",
        ),
        (
            changed(f"{CHILD}scaleDefinition", {"replicasPath": ".spec.a[].b // 1"}),
            "36:23 invalid-value: of .spec.a[].b // 1 jq leaves out the items without that number, and KAI then makes "
            "no PodGroup (Write .spec.a[] | .b // 1.)",
        ),
        (
            changed(f"{CHILD}specDefinition", {"podTemplateSpecPath": ".spec.a[].b"}),
            '38:30 invalid-value: "worker" has several pod templates and no instanceIdPath (Add instanceIdPath, and '
            "the selector that belongs to it.)",
        ),
        (
            changed(f"{CHILD}scaleDefinition", None),
            '16:26 invalid-value: KAI refuses the SubGroup "worker": its component has no scaleDefinition (Add '
            "scaleDefinition.replicasPath to the component.)",
        ),
        (
            changed(f"{CHILD}podSelector", None),
            '16:26 invalid-value: KAI finds no pod of the SubGroup "worker", so the gang never starts (Add '
            "podSelector.componentTypeSelector to the component.)",
        ),
        (
            changed(f"{CHILD}ownerRef", "boss"),
            '30:17 invalid-value: the Karta has no component "boss" (Known: training, head, worker.)',
        ),
        (
            changed(f"{CHILD}ownerRef", "head"),
            '30:17 invalid-value: "head" is a component below another one: kubectl-tas reads components of the root '
            f"alone ({ELSE})",
        ),
        (
            changed(f"{CHILD}name", "head"),
            '29:13 invalid-value: two components are called "head" (Rename one of them.)',
        ),
        (
            karta(specDefinition={"podTemplateSpecPath": ".spec.template"}),
            "46:9 invalid-value: the root has pods and components: KAI counts those of the components alone (Make its "
            "pods a component of their own.)",
        ),
        (
            changed("structureDefinition/rootComponent/statusDefinition", None),
            '39:5 missing-field: the field "statusDefinition" is missing in spec.structureDefinition.rootComponent '
            "(Add statusDefinition: Meaning of the status. KAI skips a Karta without this field.)",
        ),
        (
            changed("structureDefinition/childComponents", None),
            "18:5 invalid-value: no component says where its pods are (Add specDefinition.podTemplateSpecPath.)",
        ),
        (
            karta(gang={"podGroup": {"name": "x", "subGroups": [{"componentName": "b"}]}}),
            '15:26 invalid-value: the Karta has no component "b" (Known: training, head, worker.)',
        ),
        (
            {**karta(), "metadata": {"name": "training"}},
            "3:1 missing-field: KAI finds a Karta by its labels, and this one lacks them (Add labels "
            "run.ai/karta-group: ml.example.com, run.ai/karta-version: v1, run.ai/karta-kind: Training. "
            f"{FAILS})",
        ),
        (
            karta(gang={}),
            "10:3 missing-field: the Karta has no gangScheduling.podGroup (Add it to spec.optimizationInstructions. "
            f"{FAILS})",
        ),
        (
            karta(kind="Role", group="rbac.authorization.k8s.io"),
            "42:15 kind-elsewhere: Role of rbac.authorization.k8s.io/v1 cannot be declared by a Karta: it could change "
            "quotas or rights (Move it to the files that set up the cluster: authors of work must not change it.)",
        ),
    ],
)
def test_what_is_not_read(own: Object, said: str) -> None:
    assert judged(own) == [said]


@pytest.mark.parametrize(
    "own",
    [
        changed(f"{CHILD}scaleDefinition", {"replicasPath": "1"}),
        changed(f"{CHILD}specDefinition", {"podTemplateSpecPath": ".spec.worker.template", "podSpecPath": ".spec"}),
        karta(component("roles", scale={"replicasPath": ".spec.roles[] | .replicas // 1"}, **ROLES), gang=ALONE),
    ],
)
def test_what_is_read(own: Object) -> None:
    assert judged(own) == []


def test_what_it_says_of_pods() -> None:
    """Paths, numbers, and what is assumed where a number is left out."""
    worker = {"replicasPath": ".spec.n // 1", "minReplicasPath": ".spec.least", "maxReplicasPath": ".spec.most"}
    parts = component("worker", scale=worker), component("head"), component("tail", scale={"replicasPath": "1"})
    roles = component("roles", scale={"replicasPath": ".spec.roles[] | .replicas // 1"}, **ROLES)
    own = karta(*parts, roles, scaleDefinition={"replicasPath": ".spec.copies"})
    pods = (
        Pods(
            "spec.worker.template",
            "spec.n",
            factor="spec.copies",
            most="spec.most",
            least="spec.least",
            name="worker",
            is_optional=True,
        ),
        Pods(
            "spec.head.template",
            "spec.head.replicas",
            factor="spec.copies",
            is_counted=False,
            name="head",
            is_optional=True,
        ),
        Pods("spec.tail.template", factor="spec.copies", name="tail", is_optional=True),
        Pods("spec.roles[].template", "spec.roles[].replicas", factor="spec.copies", is_optional=True),
    )
    why = "the SubGroups of its Karta are not its pod templates one by one"
    (declared,) = fleet_of({"pools/z.yaml": yaml.safe_dump(own)}).repository.kartas
    page = declared.spec.read.described
    assert (page.recognition.kind, page.recognition.versions, page.pods) == (KIND, (f"{GROUP}/v1",), pods)
    assert (page.gang.by_karta, page.gang.ends_in, page.gang.unpredicted) == (True, "x", why)
    for unread in ({**own, "metadata": {"name": "training"}}, karta(*parts, roles, gang={})):
        (declared,) = fleet_of({"pools/z.yaml": yaml.safe_dump(unread)}).repository.kartas
        gang = declared.spec.read.described.gang
        assert (gang.by_karta, gang.ends_in) == (False, "")
        assert not declared.spec.is_found
    (declared,) = fleet_of({"pools/z.yaml": yaml.safe_dump(karta())}).repository.kartas
    assert declared.spec.read.described.gang.sub_groups


@pytest.mark.parametrize(
    "kind",
    [
        *("amlarc.azureml.com AmlJob", "egx.nvidia.io SPOTRequest", "grove.io PodGangSet", "batch Job"),
        *("kubeflow.org ScheduledWorkflow", "kubevirt.io VirtualMachineInstance", "run.ai RunaiJob"),
        *("serving.knative.dev Service", "tekton.dev PipelineRun", "tekton.dev TaskRun"),
        *("workspace.devfile.io DevWorkspace", "machinelearning.seldon.io SeldonDeployment"),
    ],
)
def test_kinds_that_a_plugin_of_kai_groups(kind: str) -> None:
    """These are in hub.go of KAI's podgrouper."""
    group, name = kind.split()
    said = f"KAI has a plugin of its own for {name} and does not read this Karta"
    assert judged(karta(kind=name, group=group)) == [f"42:15 karta-unread: {said} (Remove the Karta.)"]


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("argoproj.io/v1alpha1", "CronWorkflow"),
        ("serving.kserve.io/v1beta1", "InferenceService"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("kubeflow.org/v1", "PaddleJob"),
        ("v1", "ReplicationController"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
    ],
)
def test_kinds_that_are_read_and_that_no_plugin_groups(version: str, kind: str) -> None:
    group, _, number = version.rpartition("/")
    own = karta(kind=kind, group=group)
    own["spec"]["structureDefinition"]["rootComponent"]["kind"]["version"] = number
    own["metadata"]["labels"]["run.ai/karta-version"] = number
    said = f"kubectl-tas knows where the pods of {kind} are, but KAI would group them by this Karta"
    hint = "Remove the Karta, here and in the cluster."
    assert [line.partition(" ")[2] for line in judged(own)] == [f"name-duplicate: {said} ({hint})"]


def test_two_of_a_kind(tmp_path: Path) -> None:
    second = {**karta(), "metadata": {**karta()["metadata"], "name": "other"}}
    assert ("name-duplicate", "two Kartas describe Training of ml.example.com/v1, so KAI reads neither") in findings(
        tmp_path, karta(), second
    )


def test_two_kinds_of_one_group_and_version(tmp_path: Path) -> None:
    second = karta(kind="Tuning")
    second["metadata"]["name"] = "tuning"
    assert findings(tmp_path, karta(), second) == findings(tmp_path, karta())


def test_the_config_declares_it_too(tmp_path: Path) -> None:
    kinds = [{"apiVersion": f"{GROUP}/v1", "kind": KIND, "pods": [{"template": "spec.worker.template"}]}]
    (found,) = findings(tmp_path, karta(), kinds=kinds)
    assert found == ("name-duplicate", "spec.kinds of the Config declares Training of ml.example.com/v1 too")


def test_it_counts_in_folders_of_administrators(tmp_path: Path) -> None:
    assert [code for code, _ in findings(tmp_path, karta(), at="workflows/a.yaml")] == ["outside-admin-sources"]


def test_what_is_kept_of_an_earlier_run_follows_it(tmp_path: Path) -> None:
    cache = ("--cache-dir", tmp_path / "cache")
    repository(tmp_path / "r", karta())
    assert kubectl_tas("validate", "-C", tmp_path / "r", *cache).code == 0
    repository(tmp_path / "r", karta(component("other")))
    assert "missing in spec.other" in kubectl_tas("validate", "-C", tmp_path / "r", *cache).out


@pytest.mark.parametrize(
    ("gang", "reason"),
    [
        ({"name": "x"}, ""),
        ({"name": "x", "topology": {"name": "t"}}, "its Karta places the pods by a topology of its own"),
        (
            {"name": "x", "subGroups": [{"componentName": "head", "topology": {"name": "t"}}]},
            "its Karta places the pods by a topology of its own",
        ),
        (
            {"name": "x", "subGroups": [{"componentName": "head"}]},
            "the SubGroups of its Karta are not its pod templates one by one",
        ),
        (None, "its Karta groups pods by labels that their controller sets"),
    ],
)
def test_a_gang_that_the_file_does_not_tell(gang: Object | None, reason: str) -> None:
    members = [{"componentName": "worker", "groupByKeyPaths": [".metadata.labels.x"]}]
    older = {"podGroups": [{"name": "x", "members": members}]}
    texts = {
        "pools/z.yaml": yaml.safe_dump(karta(gang=older if gang is None else {"podGroup": gang})),
        "pools/p.yaml": pool(),
        "workflows/w.yaml": yaml.safe_dump(training()),
    }
    (found,) = fleet_of(texts).workloads
    assert row(found).unpredicted == reason
    assert is_predicted(found) is not bool(reason)


def test_a_kind_without_a_group_is_of_the_version_alone() -> None:
    work = {**training(), "apiVersion": "v1", "kind": "Thing"}
    texts = {"pools/z.yaml": yaml.safe_dump(karta(group="", kind="Thing")), "pools/p.yaml": pool(spec=LEVELS)}
    judged = judged_files({**texts, "workflows/w.yaml": yaml.safe_dump(work)})
    assert judged.found == ()
    assert [(item.kind, item.pods) for item in judged.fleet.workloads] == [("Thing", 4)]


def test_a_karta_that_scales_nothing_needs_no_scale_for_its_sub_groups() -> None:
    """KAI refuses a SubGroup without one only if another component has it."""
    for scale, messages in (
        ({}, []),
        (None, ['KAI refuses the SubGroup "head": its component has no scaleDefinition']),
    ):
        own = karta(component("head", scale={}), component("worker", scale=scale))
        found = judged_files({"pools/z.yaml": yaml.safe_dump(own), "pools/p.yaml": pool()}).found
        assert [item.message for item in found] == messages
