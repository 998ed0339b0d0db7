"""Tests that advice is right: it names the error, its place and the remedy, and the remedy is sufficient."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import Path

import pytest

from tests.slips.repository import FILES
from tests.slips.test_causes import committed
from tests.slips.test_slips import CONFIG, POOLS, SUBPOOLS, findings
from tests.support.cli import kubectl_tas, pool, write

JOB = "workflows/job.yaml"
DEADLINE = ("  completions: 2", "  completions: 2\n  activeDeadlineSeconds: ")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("4h", "write 14400,"),
        ("1h30m", "write 5400,"),
        ("10 minutes", "write 600,"),
        ("2 days", "write 172800,"),
        ("500ms", "write 1,"),
        ("1,000", "1000."),
        ("14400", "14400."),
        ("10 - 20", "Write a whole number,"),
        ("2.5", "Write a whole number,"),
    ],
)
def test_a_time_in_the_unit_of_its_field(tmp_path: Path, written: str, meant: str) -> None:
    old, new = DEADLINE
    (found,) = findings(tmp_path, {**FILES, JOB: FILES[JOB].replace(old, f'{new}"{written}"')})
    assert meant in str(found["hint"])


SENT = "workflow:\n  name: sent\n  pool: team\n  tasks:\n  - name: a\n    image: b\n    command: [c]\n    resource: r\n"
ASKS = "resources:\n  r: {gpu: 100}\n"


def test_a_flag_is_blamed_as_a_flag(tmp_path: Path) -> None:
    root = write(tmp_path, {**FILES, "elsewhere/sent.yaml": f"{SENT}{ASKS}"})
    for path in ("elsewhere/sent.yaml", "workflows/job.yaml"):
        result = kubectl_tas("admit", root / path, "--pool", "taem", "-C", root)
        assert result.code == 1
        assert result.err.startswith('--pool: error: the pool "taem" does not exist'), result.err
        assert path not in result.err


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    text = f"{SENT}{ASKS}".replace("  pool: team\n", "").replace("resource: r", "resource: x")
    root = write(tmp_path, {**FILES, "sent.yaml": text})
    result = kubectl_tas("admit", root / "sent.yaml", "--pool", "team", "--priority", "HIGH", "-C", root)
    assert f"sent.yaml:{text[: text.index('resource: x')].count(chr(10)) + 1}:15: error:" in result.err
    assert "7 |     resource: x" in result.err


def test_all_bounds_at_once(tmp_path: Path) -> None:
    bounded = pool(guarantee=20, spec="      maximum: 72\n")
    root = write(tmp_path, {"pools/team.yaml": bounded, "workflows/sent.yaml": f"{SENT}{ASKS}"})
    shown = kubectl_tas("validate", "-C", root).out
    assert "help: Ask for 20 or less, or use priority LOW and ask for 72 or less.\n" in shown
    both = "    cpu: {guarantee: 8}\n    memory: {guarantee: 64Gi}\n"
    asks = "resources:\n  r: {gpu: 100, cpu: 10, memory: 128Gi}\n"
    root = write(tmp_path, {"pools/team.yaml": f"{pool(guarantee=20)}{both}", "workflows/sent.yaml": f"{SENT}{asks}"})
    assert "Ask for 20 GPUs and 8 cpu and 64Gi memory or less" in kubectl_tas("validate", "-C", root).out


LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
NO_KIND: dict[str, tuple[str, str]] = {
    "an LFS pointer": (LFS, "Git LFS git lfs pull"),
    "a chart": ("apiVersion: v2\nname: chart\nversion: 1.0.0\n", "Chart.yaml Helm helm template"),
    "values of a chart": ("replicaCount: 1\nimage: {}\n", "neither a kind nor a workflow"),
    "Compose": ("services:\n  web:\n    image: nginx\n", "Docker Compose"),
    "Compose of a version": ('version: "3"\nservices:\n  web:\n    image: nginx\n', "Docker Compose"),
    "a kustomization without a kind": ("resources:\n- a.yaml\n", "kustomization kustomize build"),
    "a kustomization": (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
        "Kustomization kustomize build",
    ),
    "GitHub Actions": ("on: push\njobs: {a: {runs-on: b}}\n", "GitHub Actions"),
    "a side of a conflict": ("=======\n", "merge conflict"),
    "Argo's template": (
        "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\n",
        "WorkflowTemplate argoproj.io pods",
    ),
    "a workflow with a kind": ("apiVersion: tas/v1alpha1\nkind: Workflow\n", "root key is workflow"),
    "Kubernetes' own PodGroup": (
        "apiVersion: scheduling.k8s.io/v1alpha1\nkind: PodGroup\n",
        "PodGroup Kubernetes' own KAI scheduling.run.ai/v2alpha2",
    ),
    "Kubernetes' own Workload": ("apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\n", "Kubernetes' own KAI"),
    "Spark": ("apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkConnect\n", "SparkConnect pods"),
}


@pytest.mark.parametrize("name", NO_KIND)
def test_what_a_document_is(tmp_path: Path, name: str) -> None:
    text, words = NO_KIND[name]
    (found,) = findings(tmp_path, {**FILES, "workflows/odd.yaml": text})
    said = f"{found['message']} {found['hint']}"
    assert [word for word in words.split() if word not in said] == [], said
    assert len(said) < 400
    assert "PriorityClasses" not in said


CLAIMS = (
    "  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [], resources: {requests: {storage: 1Gi}}}}]"
)


def test_no_field_is_a_slip_of_itself(tmp_path: Path) -> None:
    path = "workflows/statefulset.yaml"
    files = {**FILES, path: FILES[path].replace("  serviceName: x", f"{CLAIMS}\n  serviceName: x")}
    (found,) = findings(tmp_path, files)
    assert "accessModes must not be empty" in str(found["message"])
    assert "Did you mean" not in str(found["hint"])


def test_the_side_that_is_wrong(tmp_path: Path) -> None:
    path, wrong, right = "pools/team.yaml", "nvidia.com/gpu-clique", "nvidia.com/gpu.clique"
    files = {**FILES, path: FILES[path].replace("topology.kubernetes.io/rack", wrong)}
    job = FILES[JOB].replace("placement: rack", f"placement: {right}")
    train = FILES["workflows/train.yaml"].replace("key: rack", f"key: {right}")
    group = FILES["workflows/podgroup.yaml"].replace("topology.kubernetes.io/zone", right)
    for changed in ({JOB: job}, {"workflows/train.yaml": train}, {"workflows/podgroup.yaml": group}):
        all_ = findings(tmp_path, {**files, **changed})
        (found,) = [item for item in all_ if item["rule"] != "level-label-unknown"]
        assert "Did you mean" not in str(found["hint"])
        assert f"write {right} there" in str(found["hint"]), found


def test_creating_what_is_there(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    result = kubectl_tas("subpool", "create", "team", "speech", "--quota", "3", "-C", root)
    assert "[subpool-transition]" in result.err
    assert "kubectl tas subpool update team speech --quota 3" in result.err
    (root / "subpools/speech.yaml").write_text(FILES["subpools/speech.yaml"].replace("ACTIVE", "DELETING"))
    result = kubectl_tas("subpool", "create", "team", "speech", "--quota", "3", "-C", root)
    assert "update" not in result.err


@pytest.mark.parametrize("command", [("validate",), ()])
def test_no_option_that_is_far(tmp_path: Path, command: tuple[str, ...]) -> None:
    result = kubectl_tas(*command, "--verbose", cwd=write(tmp_path, FILES))
    assert result.code == 2
    assert "--verbose" in result.err
    assert "id you mean" not in result.err
    assert "--strict" in kubectl_tas("validate", "--stict").err


@pytest.mark.parametrize(
    "command", [("pool", "list"), ("pool", "describe", "team"), ("topology", "usage"), ("validate",)]
)
def test_a_namespace_asks_no_cluster(tmp_path: Path, command: tuple[str, ...]) -> None:
    result = kubectl_tas(*command, "-n", "x", "-C", write(tmp_path, FILES))
    assert result.code == 2
    assert "--live" in result.err


SERVICE = FILES["workflows/service.yaml"]
LABELLED = SERVICE.replace("  namespace: ml\n", "  labels: {kubectl-tas/pool: team}\n")
DEV = """\
  - name: dev
    namespace: dev
    context: dev
    scheduler: {type: kai, version: "0.17"}
  queuePrefix"""
ALIKE = re.compile(
    "workflows/(objects|cronjob|(tf|xgboost|jax|mpi|train)job|ray.*|leaderworkerset|spark|kserve|argo)[.]"
)
"""Files that meet clusters as a PyTorchJob or a Deployment does."""
TWO_CLUSTERS = {
    **{path: text for path, text in FILES.items() if not ALIKE.match(path)},
    "tas.yaml": FILES["tas.yaml"]
    .replace("  queuePrefix", DEV)
    .replace("    namespace: ml\n", "    namespace: ml\n    context: prod\n")
    .replace("osmo-high", "acme-high"),
    "workflows/podgroup.yaml": FILES["workflows/podgroup.yaml"].replace(
        "spec:\n", "spec:\n  priorityClassName: acme-high\n", 1
    ),
    "pools/serving.yaml": FILES["pools/serving.yaml"].replace("spec:\n", "spec:\n  backend: prod\n"),
    "workflows/statefulset.yaml": FILES["workflows/statefulset.yaml"].replace("serviceName: x", "serviceName: web"),
    "workflows/list.yaml": FILES["workflows/list.yaml"].replace("settings\n", "settings\n    namespace: ml\n"),
    **{f"workflows/service-{n}.yaml": LABELLED.replace("name: serve", f"name: serve-{n}") for n in range(3)},
    "workflows/next.yaml": "---\n".join(
        (
            FILES[JOB].replace("name: job\n", "name: beside\n"),
            SERVICE.replace("name: serve", "name: beside").replace("  namespace: ml\n", ""),
        )
    ),
}
OF_ALL = (*CONFIG, *POOLS, *SUBPOOLS)


def _is_misspelled(old: str, new: str) -> bool:
    """Whether the key of a line is, and its value is not."""
    key, written = (line.strip(" -").partition(":")[0] for line in (old, new))
    return key != written and bool(get_close_matches(written, [key]))


MISSPELLED = {file: new for file, old, new in OF_ALL if _is_misspelled(old, new)}
"""A slip of a key of each file: such a file is not read, wherever its clusters are, so one will do."""
SLIPS_OF_ALL = [
    pytest.param(
        file, old.replace("osmo-high", "acme-high"), new.replace("osmo-high", "acme-high"), id=f"{file}: {new}"
    )
    for file, old, new in OF_ALL
    if not _is_misspelled(old, new) or MISSPELLED[file] == new
    if "no-such: off, node" not in new
    and "{cpu: 8, memory: 64Gi}" not in new  # three things are wrong there
    and old.replace("osmo-high", "acme-high") in TWO_CLUSTERS[f"{file}.yaml"]
]


@pytest.mark.parametrize(("file", "old", "new"), SLIPS_OF_ALL)
def test_one_cause_is_one_finding_in_two_clusters(tmp_path: Path, file: str, old: str, new: str) -> None:
    path = f"{file}.yaml"
    assert old in TWO_CLUSTERS[path]
    result = kubectl_tas(
        "validate", "-o", "json", "-C", write(tmp_path, {**TWO_CLUSTERS, path: TWO_CLUSTERS[path].replace(old, new, 1)})
    )
    expected = ("osmo-only", "workload-scheduler")  # notes on files in which nothing is wrong
    found = [item for item in json.loads(result.out)["diagnostics"] if item["rule"] not in expected]
    assert len(found) == 1, found


TOKEN = f"hf_{'a' * 34}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("command: [run]", f"command: [run, {TOKEN}], comand: []"),
        ("image: trainer:1", "env: [{name: HF_API_TOKEN, value: correct-horse, vlaue: 1}]\n        image: trainer:1"),
        ("image: trainer:1", "env:\n        - name: HF_API_TOKEN\n          value: correct-horse\n          vlaue: 1"),
        ("restartPolicy: Never", f"restartPolicy: {TOKEN}"),
        ("activeDeadlineSeconds: 4", f"activeDeadlineSeconds: {TOKEN}"),
    ],
)
def test_no_finding_shows_a_secret(tmp_path: Path, old: str, new: str) -> None:
    text = FILES[JOB].replace("  completions: 2", "  completions: 2\n  activeDeadlineSeconds: 4")
    files = {**FILES, JOB: text.replace(old, new, 1)}
    shown = kubectl_tas("validate", "-C", write(tmp_path, files)).out
    assert " error: " in shown
    assert TOKEN not in shown
    assert "correct-horse" not in shown


def test_no_diff_shows_a_secret(tmp_path: Path) -> None:
    variables = f"env: [{{name: HF_API_TOKEN, value: correct-horse}}, {{name: A, value: {TOKEN}}}]"
    files = {**FILES, JOB: FILES[JOB].replace("image: trainer:1", f"image: trainer:1\n        {variables}")}
    assert kubectl_tas("render", "-C", write(tmp_path, FILES)).code == 0
    root = write(tmp_path, files)
    shown = kubectl_tas("check", "-C", root).out
    assert "HF_API_TOKEN" in shown
    assert TOKEN not in shown
    assert "correct-horse" not in shown
    assert kubectl_tas("render", "-C", root).code == 0
    assert "correct-horse" in (root / "manifests/workloads/job-job.yaml").read_text()


CLIQUES = "workflows/podcliqueset.yaml"
WRONG_TURNS = {
    "a list of one": ("pools/team.yaml", "description: Training", "namespaces: ml", "Write a list: [ml]."),
    "a list by another name": ("pools/team.yaml", "description: Training", "namespace: ml", "such as [ml]"),
    "a kind of another API": (JOB, "kind: Job", "kind: Deploymnet", 'mean "Deployment", of apiVersion: apps/v1?'),
    "a kind of KAI": ("workflows/podgroup.yaml", "kind: PodGroup", "kind: Podgroup", 'Did you mean "PodGroup"?'),
    "a slip of a label of KAI": (JOB, "labels: {app: x}", "labels: {app: x, runai/queu: a}", "Remove it"),
    "a label of KAI": (JOB, '    kai.scheduler/batch-min-member: "2"', "    kai.scheduler/queue: a", "Remove it"),
    "no other clique": (CLIQUES, "        minAvailable: 1", "        startsAfter: [main]", "Remove it."),
}


@pytest.mark.parametrize("turn", WRONG_TURNS)
def test_the_next_run_is_clean(tmp_path: Path, turn: str) -> None:
    path, old, new, words = WRONG_TURNS[turn]
    (found,) = findings(tmp_path, {**FILES, path: FILES[path].replace(old, new, 1)})
    assert words in str(found["hint"])


def test_all_files_that_are_left_behind_are_counted(tmp_path: Path) -> None:
    files = {f"manifests/{number}.yaml": "" for number in range(33)}
    root = committed(tmp_path, {"pools/team.yaml": pool(), "tas.yaml": FILES["tas.yaml"], **files})
    for output in ("m2", ".m2"):
        write(root, {"tas.yaml": FILES["tas.yaml"] + f"  output: {output}\n"})
        shown = kubectl_tas("validate", "--base", "HEAD", "-C", root).out
        assert ("33 files are left in" in shown) == (output == "m2")
        assert "more\n" not in shown
        assert "point Argo CD" not in shown or output == "m2"
    assert "error" in shown
