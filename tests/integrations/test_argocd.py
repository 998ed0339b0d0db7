"""Tests integrations/argocd: ApplicationSets of rendered files, health checks in real Lua, and the plugin."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua54 import LuaRuntime

from tests.support.cli import kubectl_tas, write
from tests.support.golden import EXAMPLES, ROOT
from tests.support.history import git
from tests.support.process import call
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import KUSTOMIZATION, load, text

FOLDER = ROOT / "integrations/argocd"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Examples of one cluster and of two, in both layouts, by the name of the file that is for them."""
    found = {}
    for name, example, layout in (
        ("flat-one-cluster", "quickstart", "flat"),
        ("flat", "company", "flat"),
        ("sharded-one-cluster", "quickstart", "sharded"),
        ("sharded", "company", "sharded"),
    ):
        root = tmp_path_factory.mktemp(name) / "repository"
        shutil.copytree(EXAMPLES / example, root, ignore=shutil.ignore_patterns("manifests"))
        config = load(root / "tas.yaml")
        config["spec"]["layout"] = layout
        (root / "tas.yaml").write_text(yaml.safe_dump(config))
        assert kubectl_tas("render", "-C", root).code == 0
        found[name] = root
    return found


def applications(file: str, root: Path) -> list[Object]:
    """The Applications that a file makes of a repository."""
    return applications_of(load(FOLDER / f"{file}.yaml"), root)


def applications_of(item: Object, root: Path) -> list[Object]:
    """The Applications of an Application or ApplicationSet, as the git directory generator makes them."""
    if item["kind"] == "Application":
        return [item]
    (generator,) = item["spec"]["generators"]
    folders = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_dir()]
    patterns = [entry["path"] for entry in generator["git"]["directories"]]
    chosen = [folder for folder in folders if any(_matches(folder, pattern) for pattern in patterns)]
    return [json.loads(_expanded(json.dumps(item["spec"]["template"]), folder)) for folder in chosen]


def _matches(folder: str, pattern: str) -> bool:
    """As Go's path.Match: a star stands for no slash."""
    parts, patterns = folder.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _expanded(template: str, folder: str) -> str:
    """The few words of Go's templates that the files use."""
    segments = folder.split("/")
    template = template.replace('\\"', '"')
    template = re.sub(
        r'{{if eq \(index \.path\.segments (\d)\) "(\w+)"}}(.*?){{end}}',
        lambda found: found[3] if segments[int(found[1])] == found[2] else "",
        template,
    )
    template = re.sub(r"{{index \.path\.segments (\d)}}", lambda found: segments[int(found[1])], template)
    template = template.replace("{{.path.path}}", folder).replace("{{.path.basename}}", segments[-1])
    assert "{{" not in template
    return template


class TestApplications:
    @pytest.mark.parametrize("file", ["flat-one-cluster", "flat", "sharded-one-cluster", "sharded"])
    def test_every_folder_has_one(self, file: str, rendered: dict[str, Path]) -> None:
        root = rendered[file]
        found = applications(file, root)
        folders = [path.parent.relative_to(root).as_posix() for path in root.rglob(KUSTOMIZATION)]
        assert sorted(item["spec"]["source"]["path"] for item in found) == sorted(folders)
        names = [item["metadata"]["name"] for item in found]
        assert len(set(names)) == len(names)
        for item in found:
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", item["metadata"]["name"])
            assert "namespace" not in item["spec"]["destination"]

    @pytest.mark.parametrize("file", ["flat", "sharded"])
    def test_goes_to_the_cluster_of_its_backend(self, file: str, rendered: dict[str, Path]) -> None:
        for item in applications(file, rendered[file]):
            assert item["spec"]["source"]["path"].split("/")[1] == item["spec"]["destination"]["name"]
        clusters = {item["spec"]["destination"]["name"] for item in applications(file, rendered[file])}
        assert clusters == {"train-eu", "serve-us"}

    @pytest.mark.parametrize("file", ["sharded-one-cluster", "sharded"])
    def test_the_platform_is_the_first_step(self, file: str, rendered: dict[str, Path]) -> None:
        strategy = load(FOLDER / f"{file}.yaml")["spec"]["strategy"]
        assert strategy["type"] == "RollingSync"
        steps = [step["matchExpressions"] for step in strategy["rollingSync"]["steps"]]
        order = {value: number for number, [rule] in enumerate(steps) for value in rule["values"]}
        assert {rule["key"] for [rule] in steps} == {"kubectl-tas/step"}
        for item in applications(file, rendered[file]):
            is_platform = item["spec"]["source"]["path"].endswith("/platform")
            assert order[item["metadata"]["labels"]["kubectl-tas/step"]] == (0 if is_platform else 1)
            assert item["spec"]["syncPolicy"]["automated"]["allowEmpty"] is True

    def test_no_object_lacks_a_namespace_that_it_needs(self, rendered: dict[str, Path]) -> None:
        """An Application that names none leaves them to the objects."""
        cluster_wide = {"PriorityClass", "Topology", "Queue", "Namespace", "ClusterTopologyBinding"}
        for root in rendered.values():
            for path in (root / "manifests").rglob("*.yaml"):
                item = load(path)
                if path.name != KUSTOMIZATION and not item["kind"].startswith("ValidatingAdmissionPolicy"):
                    assert item["kind"] in cluster_wide or item["metadata"].get("namespace"), path


class TestInit:
    """What ``init`` writes for a repository and what is in integrations/ come from one template."""

    @pytest.mark.parametrize("file", ["flat-one-cluster", "flat", "sharded-one-cluster", "sharded"])
    def test_is_the_file_for_the_layout_and_the_backends(self, file: str, rendered: dict[str, Path]) -> None:
        root = rendered[file]
        assert kubectl_tas("init", "--ci", "none", "--gitops", "argocd", root).code == 0
        written = text(root / "argocd/application.yaml")
        assert comparable(written) == comparable(text(FOLDER / f"{file}.yaml"))
        assert comparable(text(root / "argocd/health.yaml")) == comparable(text(FOLDER / "health.yaml"))

    @pytest.mark.parametrize("file", ["flat-one-cluster", "flat", "sharded-one-cluster", "sharded"])
    def test_every_folder_has_one(self, file: str, rendered: dict[str, Path], tmp_path: Path) -> None:
        """Also in a folder of a larger repository, and where the output has another name."""
        root = tmp_path / "platform/gpus"
        shutil.copytree(rendered[file], root, ignore=shutil.ignore_patterns("manifests", "argocd"))
        config = load(root / "tas.yaml")
        config["spec"]["output"] = "out/cluster"
        (root / "tas.yaml").write_text(yaml.safe_dump(config))
        git(tmp_path, "init", "--quiet")
        assert kubectl_tas("init", "--ci", "none", "--gitops", "argocd", root).code == 0
        assert kubectl_tas("render", "-C", root).code == 0
        found = applications_of(load(root / "argocd/application.yaml"), tmp_path)
        folders = [path.parent.relative_to(tmp_path).as_posix() for path in root.rglob(KUSTOMIZATION)]
        assert sorted(item["spec"]["source"]["path"] for item in found) == sorted(folders)
        clusters = {item["spec"]["destination"]["name"] for item in found}
        assert clusters == ({"in-cluster"} if file.endswith("one-cluster") else {"train-eu", "serve-us"})

    @pytest.mark.parametrize("file", ["flat-one-cluster", "flat", "sharded-one-cluster", "sharded"])
    def test_without_pruning_nothing_is_removed(self, file: str, rendered: dict[str, Path], tmp_path: Path) -> None:
        root = tmp_path / "repository"
        shutil.copytree(rendered[file], root, ignore=shutil.ignore_patterns("manifests", "argocd"))
        assert kubectl_tas("init", "--ci", "none", "--gitops", "argocd", "--no-prune", root).code == 0
        item = load(root / "argocd/application.yaml")
        if item["kind"] == "Application":
            assert "finalizers" not in item["metadata"]
        else:
            assert item["spec"]["syncPolicy"] == {"preserveResourcesOnDeletion": True}
            item = item["spec"]["template"]
        assert item["spec"]["syncPolicy"]["automated"]["prune"] is False
        assert item["spec"]["syncPolicy"]["automated"]["selfHeal"] is True

    @pytest.mark.parametrize("gitops", ["argocd", "flux"])
    def test_a_new_repository_makes_its_namespaces(self, gitops: str, repository: Path) -> None:
        told = kubectl_tas("init", "--gitops", gitops, cwd=repository).err
        assert "createNamespaces: true of tas.yaml makes the namespaces" in told
        assert kubectl_tas("render", "-C", repository).code == 0
        spaces = {
            item["metadata"].get("namespace")
            for item in map(load, (repository / "manifests").rglob("*.yaml"))
            if "metadata" in item
        } - {None}
        made = {path.stem for path in (repository / "manifests/namespaces").iterdir()}
        assert spaces <= made

    def test_settings_without_namespaces_are_told(self, repository: Path) -> None:
        write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {gitops: argocd}\n"})
        told = kubectl_tas("init", "--gitops", "argocd", cwd=repository).err
        assert "Create the namespaces of pools first, or write createNamespaces: true in tas.yaml." in told
        assert "Set spec.gitops" not in told


def comparable(written: str) -> list[str]:
    """The lines of a file without the address, the name and the path that each repository has of its own."""
    written = re.sub(r"https://git.example.com/(platform/gpus|gpu-pools).git", "URL", written)
    written = re.sub(r"(name: )gpu(s|-pools)\b", r"\1NAME", written)
    return re.sub(r"(kubectl apply -f|--patch-file) \S+", r"\1 FILE", written).splitlines()


APPLICATIONS = ("flat-one-cluster", "flat", "sharded-one-cluster", "sharded", "plugin/application")


@pytest.mark.parametrize("file", APPLICATIONS)
def test_a_pushed_fix_is_taken_while_argocd_retries(file: str) -> None:
    spec = load(FOLDER / f"{file}.yaml")["spec"]
    policy = spec.get("template", {"spec": spec})["spec"]["syncPolicy"]
    assert policy["retry"]["refresh"] is True
    assert policy["automated"]["selfHeal"] is True
    assert policy["syncOptions"] == ["ApplyOutOfSyncOnly=true"]


def health(kind: str, item: Object) -> tuple[str, str]:
    """What Argo CD thinks of an object of that group and kind."""
    script = load(FOLDER / "health.yaml")["data"][f"resource.customizations.health.{kind}"]
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.execute('getmetatable("").__index = nil; string, io, debug = nil, nil, nil')  # as Argo CD runs it
    function = lua.eval(f"function(obj) {script} end")
    result = function(lua.table_from(item, recursive=True))
    return result["status"], result["message"]


def unschedulable(*reasons: Object, **condition: str) -> Object:
    written = {"type": "UnschedulableOnNodePool", "status": "True", "nodePool": "default", **condition}
    return {"status": {"schedulingConditions": [{**written, "reasons": list(reasons)} if reasons else written]}}


OURS = [{"labels": {"app.kubernetes.io/managed-by": "kubectl-tas"}}, {"labels": {"kubectl-tas/pool": "team"}}]
OTHERS = [
    {},
    {"labels": {"app.kubernetes.io/managed-by": "Helm"}},
    {**OURS[0], "annotations": {"argocd.argoproj.io/hook": "PreSync"}},
]


def whose(metadata: Object) -> Object:
    return {"metadata": {"name": "a", **metadata}}


GPUS = "nvidia.com/gpu"
OVER_QUOTA = {"reason": "NonPreemptibleOverQuota", "message": "8 of 4"}


class TestHealth:
    @pytest.mark.parametrize(
        ("item", "expected"),
        [
            ({}, ("Healthy", "")),
            ({"status": {"childQueues": ["a"]}}, ("Healthy", "")),
            (
                {"status": {"requested": {GPUS: "12"}, "allocated": {GPUS: "8"}}},
                ("Healthy", "8 GPUs allocated of 12 requested"),
            ),
            ({"status": {"requested": {GPUS: "12"}}}, ("Healthy", "0 GPUs allocated of 12 requested")),
            ({"status": {"conditions": [{"type": "Orphan", "status": "False"}]}}, ("Healthy", "")),
            (
                {"status": {"conditions": [{"type": "Orphan", "status": "True"}]}},
                ("Degraded", "the queue above is missing"),
            ),
        ],
    )
    def test_queue(self, item: Object, expected: tuple[str, str]) -> None:
        assert health("scheduling.run.ai_Queue", item) == expected

    @pytest.mark.parametrize(
        ("item", "expected"),
        [
            ({}, ("Healthy", "")),
            (unschedulable(message="no room"), ("Healthy", "Waits: no room")),
            (unschedulable(OVER_QUOTA), ("Healthy", "Waits: 8 of 4")),
            (unschedulable(OVER_QUOTA, status="False"), ("Healthy", "")),
            (unschedulable({"reason": "QueueDoesNotExist"}), ("Degraded", "its queue does not exist")),
            ({"status": {"resourcesStatus": {"allocated": {GPUS: "8"}}}}, ("Healthy", "8 GPUs allocated")),
        ],
    )
    def test_pod_group(self, item: Object, expected: tuple[str, str]) -> None:
        """One that waits must not hold up the wave of its own pods."""
        assert health("scheduling.run.ai_PodGroup", item) == expected

    @pytest.mark.parametrize("group", ["kai.scheduler", "kueue.x-k8s.io"])
    def test_topology(self, group: str) -> None:
        assert health(f"{group}_Topology", {"spec": {}}) == ("Healthy", "")

    @pytest.mark.parametrize(("phase", "status"), [("Pending", "Healthy"), ("Bound", "Healthy"), ("Lost", "Degraded")])
    def test_claim(self, phase: str, status: str) -> None:
        assert health("PersistentVolumeClaim", {"status": {"phase": phase}})[0] == status

    @pytest.mark.parametrize(
        ("conditions", "of_others", "of_work"),
        [
            ([], "Progressing", "Healthy"),
            ([("FailureTarget", "True")], "Progressing", "Healthy"),
            ([("Complete", "True")], "Healthy", "Healthy"),
            ([("Failed", "True")], "Degraded", "Degraded"),
            ([("Suspended", "True")], "Suspended", "Healthy"),
            ([("Suspended", "False")], "Healthy", "Healthy"),
            ([("Suspended", "True"), ("Complete", "True")], "Suspended", "Healthy"),
            ([("Complete", "True"), ("Failed", "True")], "Degraded", "Degraded"),
        ],
    )
    def test_job(self, conditions: list[tuple[str, str]], of_others: str, of_work: str) -> None:
        """getBatchv1JobHealth of gitops-engine/pkg/health/health_job.go gives that of others."""
        status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
        assert [health("batch_Job", whose(labels) | {"status": status})[0] for labels in OTHERS] == [of_others] * 3
        assert [health("batch_Job", whose(labels) | {"status": status})[0] for labels in OURS] == [of_work] * 2

    @pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
    @pytest.mark.parametrize(
        ("status", "always", "once", "of_work"),
        [
            ({}, "Unknown", "Unknown", "Healthy"),
            ({"phase": "Pending"}, "Progressing", "Progressing", "Healthy"),
            ({"phase": "Running"}, "Progressing", "Progressing", "Healthy"),
            (
                {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
                "Healthy",
                "Progressing",
                "Healthy",
            ),
            (
                {"phase": "Running", "containerStatuses": [{"lastState": {"terminated": {"exitCode": 1}}}]},
                *("Degraded", "Progressing", "Healthy"),
            ),
            ({"phase": "Succeeded"}, "Healthy", "Healthy", "Healthy"),
            ({"phase": "Failed"}, "Degraded", "Degraded", "Degraded"),
        ],
    )
    def test_pod(self, policy: str, status: Object, always: str, once: str, of_work: str) -> None:
        """getCorev1PodHealth of gitops-engine/pkg/health/health_pod.go gives that of others."""
        item = {"spec": {"restartPolicy": policy}, "status": status}
        expected = always if policy == "Always" else once
        assert [health("Pod", whose(labels) | item)[0] for labels in OTHERS] == [expected] * 3
        assert [health("Pod", whose(labels) | item)[0] for labels in OURS] == [of_work] * 2

    @pytest.mark.parametrize(
        "reason", ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "ContainerCreating"]
    )
    def test_pod_that_cannot_start(self, reason: str) -> None:
        waiting = {
            "phase": "Pending",
            "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "m"}}}],
        }
        found = health("Pod", whose(OTHERS[0]) | {"spec": {"restartPolicy": "Always"}, "status": waiting})
        assert found == (("Progressing", "") if reason == "ContainerCreating" else ("Degraded", "m"))

    @pytest.mark.parametrize(
        ("terminated", "message"),
        [
            ({"exitCode": 3}, 'container "main" failed with exit code 3'),
            ({"exitCode": 137, "reason": "OOMKilled"}, "OOMKilled"),
            ({"exitCode": 1, "message": "no data"}, "no data"),
            ({"exitCode": 0}, ""),
        ],
    )
    def test_why_a_pod_failed(self, terminated: Object, message: str) -> None:
        status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": terminated}}]}
        item = {"spec": {"restartPolicy": "Never"}, "status": status}
        assert health("Pod", whose(OURS[0]) | item) == ("Degraded", message)
        evicted = {**item, "status": {**status, "message": "evicted"}}
        assert health("Pod", whose(OURS[0]) | evicted) == ("Degraded", "evicted")

    def test_every_kind_of_ours_is_there(self) -> None:
        named = {key.rpartition("health.")[2].rpartition("_")[2] for key in load(FOLDER / "health.yaml")["data"]}
        assert named >= {"Queue", "PodGroup", "Topology"}

    def test_the_types_of_fields_name_pods_of_work(self) -> None:
        """Each path leads to a pod's containers, or to their resources."""
        fields = load(FOLDER / "health.yaml")["data"].items()
        typed = {key.rpartition("_")[2]: safe_load(value) for key, value in fields if ".knownTypeFields." in key}
        assert set(typed) == {"PodCliqueSet", "JobSet", "LeaderWorkerSet", "TrainJob"}
        seen = set()
        for example in ("company", "heterogeneous"):
            streams = [
                kubectl_tas("render", "-C", EXAMPLES / example, "--backend", name, "--to", "-").out
                for name in ({"company": ("train-eu", "serve-us")}.get(example, ("prod",)))
            ]
            for item in (item for stream in streams for item in safe_load_all(stream)):
                for field in typed.get(item["kind"], ()):
                    for value in at(item, field["field"].split(".")):
                        seen.add((item["kind"], field["type"]))
                        assert field["type"] != "core/v1/PodSpec" or value["containers"]
                        assert field["type"] != "core/v1/ResourceRequirements" or value.keys() <= {"limits", "requests"}
        assert seen >= {(kind, "core/v1/PodSpec") for kind in typed if kind != "TrainJob"}


def at(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, which goes on in each of a list's."""
    if not path:
        yield value
    for inner in value if isinstance(value, list) else [value]:
        if path and path[0] in inner:
            yield from at(inner[path[0]], path[1:])


class TestPlugin:
    def generate(self, root: Path, **extra: str) -> Any:
        spec = load(FOLDER / "plugin/plugin.yaml")["spec"]
        command, *arguments = [*spec["generate"]["command"], *spec["generate"]["args"]]
        assert (root / spec["discover"]["fileName"]).is_file()
        return call(command, *arguments, cwd=root, **extra)

    def test_prints_the_manifests_alone(self) -> None:
        found = self.generate(EXAMPLES / "quickstart")
        assert (found.code, found.out) == (0, kubectl_tas("render", "-C", EXAMPLES / "quickstart", "--to", "-").out)
        assert all(item["kind"] for item in safe_load_all(found.out))

    def test_one_of_several_clusters(self) -> None:
        (parameter,) = load(FOLDER / "plugin/plugin.yaml")["spec"]["parameters"]["static"]
        variable = f"PARAM_{parameter['name'].upper()}"
        found = self.generate(EXAMPLES / "company", **{variable: "serve-us"})
        expected = kubectl_tas("render", "-C", EXAMPLES / "company", "--to", "-", "--backend", "serve-us").out
        assert (found.code, found.out) == (0, expected)
        assert self.generate(EXAMPLES / "company").code == 2

    def test_never_an_empty_success(self, repository: Path) -> None:
        write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n"})
        found = self.generate(repository)
        assert (found.code, found.out) == (3, "")
        write(repository, {"pools/team.yaml": "apiVersion: tas/v1alpha1\nkind: Pool\n"})
        found = self.generate(repository)
        assert (found.code, found.out) == (1, "")
        assert "pools/team.yaml:1:1: error: " in found.err

    def test_application_names_the_plugin(self) -> None:
        plugin, application = load(FOLDER / "plugin/plugin.yaml"), load(FOLDER / "plugin/application.yaml")
        named = application["spec"]["source"]["plugin"]
        assert named["name"] == plugin["metadata"]["name"]
        known = {item["name"] for item in plugin["spec"]["parameters"]["static"]}
        assert {item["name"] for item in named["parameters"]} <= known

    def test_sidecar_is_locked_down(self) -> None:
        spec = load(FOLDER / "plugin/repo-server.yaml")["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        security = container["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["readOnlyRootFilesystem"]) == (
            True,
            999,
            True,
        )
        assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/var/run/argocd", "/tmp"}
        assert f"USER {security['runAsUser']}\n" in text(FOLDER / "plugin/Dockerfile")


def files() -> Iterator[str]:
    yield from (path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())


def test_every_file_is_one_of_these() -> None:
    tested = {"flat", "flat-one-cluster", "sharded", "sharded-one-cluster", "health"}
    plugin = {"plugin/plugin.yaml", "plugin/application.yaml", "plugin/repo-server.yaml", "plugin/Dockerfile"}
    assert set(files()) == {*(f"{name}.yaml" for name in tested), *plugin, "README.md"}
