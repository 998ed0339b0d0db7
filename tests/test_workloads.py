"""Tests Kubernetes workloads: their text with added lines, their explanation, and their use of quota."""

from __future__ import annotations

import copy
import json
import re
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.kinds import BY_NAME, LISTED
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import EXAMPLES, GOLDEN, ROOT, case_input
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import render_copy
from tests.support.workloads import LEVELS, accepted, declare, leader_worker_set, named, segments

PUBLISHED = {
    "elastic-imagenet.yaml": "pytorchjob-elastic-imagenet.yaml",
    "tensorflow-benchmarks.yaml": "mpijob-tensorflow-benchmarks.yaml",
    "sample-job.yaml": "job-indexed-job.yaml",
    "vllm.yaml": "leaderworkerset-vllm.yaml",
}
"""Manifests as their projects publish them, and the files they become."""
DOCS = ROOT / "docs/workloads.md"
MADE = "| kind | pods | KAI makes of it |\n"


def job(name: str = "sweep", gpus: int = 1, pods: int = 4, labels: str = "", pool_name: str = "team") -> str:
    """An Indexed Job; ``labels`` is YAML, indented by four spaces."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels:
    kubectl-tas/pool: {pool_name}
{labels}spec:
  completionMode: Indexed
  parallelism: {pods}
  completions: {pods}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        resources:
          limits:
            nvidia.com/gpu: {gpus}
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render_copy(EXAMPLES / "workloads", tmp_path_factory.mktemp("published") / "repository").root


@pytest.mark.parametrize("source", PUBLISHED)
def test_published_manifests_gain_lines_and_lose_none(published: Path, source: str) -> None:
    before = (published / "workflows" / source).read_text().splitlines()
    after = (published / "manifests/workloads" / PUBLISHED[source]).read_text().splitlines()
    changed = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    assert [line for line in changed if line.startswith("-")] == []
    assert len(changed) > 5


@pytest.mark.parametrize("source", PUBLISHED)
def test_published_manifests_keep_every_value(published: Path, source: str) -> None:
    before = safe_load((published / "workflows" / source).read_text())
    after = safe_load((published / "manifests/workloads" / PUBLISHED[source]).read_text())
    assert kept(before, after)
    assert not kept(after, before)


def kept(before: Any, after: Any) -> bool:
    """Whether ``after`` has all that ``before`` has; mappings may have more."""
    if before is None:
        return True  # Kubernetes takes an empty field for an absent one
    if isinstance(before, dict):
        return isinstance(after, dict) and all(key in after and kept(before[key], after[key]) for key in before)
    if isinstance(before, list):
        return isinstance(after, list) and len(before) == len(after) and all(map(kept, before, after))
    return bool(before == after)


def test_documentation_shows_them() -> None:
    shown = re.findall(r"<!-- diff of (\S+) to (\S+) -->", DOCS.read_text())
    assert shown
    assert set(shown) <= set(PUBLISHED.items())


def test_previews_are_written_and_not_applied(published: Path) -> None:
    listed = safe_load((published / "manifests/kustomization.yaml").read_text())["resources"]
    assert any(path.startswith("workloads/") for path in listed)
    assert not any(path.startswith("preview/") for path in listed)
    assert len(list((published / "manifests/preview").iterdir())) == 4
    stream = list(safe_load_all(kubectl_tas("render", "-C", published, "--to", "-").out))
    assert len(stream) == len(listed)
    assert not any(item["kind"] == "PodGroup" for item in stream)


def segmented(root: Path, case: str = "segments") -> Path:
    return render_copy(case_input(GOLDEN / "manifests" / case), root / "copy").root


def test_explain_shows_index_ranges(tmp_path: Path) -> None:
    out = kubectl_tas("workflow", "explain", "distributed-training", "-C", segmented(tmp_path)).out
    assert "TFJob:      distributed-training (workflows/tfjob.yaml)" in out
    assert "PodGroup pg-distributed-training: 19 pods, required in one zone (topology.kubernetes.io/zone)" in out
    assert "SubGroup worker-1: pods 4 to 7, required in one rack (topology.kubernetes.io/rack)" in out


def test_explain_tells_elastic_segments(tmp_path: Path) -> None:
    root = segmented(tmp_path, "segments-elastic")
    out = kubectl_tas("workflow", "explain", "pytorchjob/elastic", "-C", root).out
    assert "SubGroup worker: 20 pods" in out
    assert "SubGroup worker-2: pods 8 to 11 with 4 GPUs, required" in out
    assert "SubGroup worker-3: pods 12 to 15 with 4 GPUs, elastic, required" in out


def test_explain_as_data(tmp_path: Path) -> None:
    root = segmented(tmp_path)
    found = json.loads(kubectl_tas("workflow", "explain", "within-one-zone", "-o", "json", "-C", root).out)
    assert (found["kind"], found["workflow"]) == ("PyTorchJob", "within-one-zone")
    (group,) = found["podGroups"]
    assert group["required"]["key"] == "zone"
    assert [part["indices"] for part in group["children"][0]["children"]] == [[0, 3], [4, 7], [8, 11], [12, 15]]


def test_explain_counts_the_gpus_of_a_segment_with_its_leader(repository: Path) -> None:
    declare(repository, leader_worker_set("serve", size=5, annotations=segments(2)))
    found = json.loads(kubectl_tas("workflow", "explain", "serve", "-o", "json", "-C", repository).out)
    (group,) = found["podGroups"]
    parts = [(part["name"], part["pods"], part["gpus"]) for part in group["children"]]
    assert parts == [("segment-0", 3, 3), ("segment-1", 2, 2)]


def test_explain_a_gang(tmp_path: Path) -> None:
    root = segmented(tmp_path, "owned-podgroups")
    out = kubectl_tas("workflow", "explain", "reward", "-C", root).out
    assert re.search(r"^PodGroup rlhf-[0-9a-f]{8}: 11 pods", out, re.MULTILINE)
    assert "SubGroup pytorchjob-actor: 9 pods" in out
    assert "SubGroup deployment-reward: 2 pods" in out


@pytest.mark.parametrize("kind", ["trainjob"])
def test_explain_what_is_not_predicted(repository: Path, kind: str) -> None:
    """Nothing is said of pods that are needed, nor of parts."""
    document = safe_load((GOLDEN / f"documents/{kind}.yaml").read_text())
    text = yaml.safe_dump({**document, "spec": named(accepted(document["kind"], document["spec"]))})
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: prod, namespace: ml}]}\n"
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(spec=LEVELS), "pools/a.yaml": subpool("a", 50)})
    write(repository, {"workflows/w.yaml": text})
    out = kubectl_tas("workflow", "explain", kind, "-C", repository).out
    found = json.loads(kubectl_tas("workflow", "explain", kind, "-o", "json", "-C", repository).out)
    (group,) = found["podGroups"]
    assert found["facts"] == [
        {"name": "PodGroup", "text": f"made by KAI's PodGrouper; not predicted for a {found['kind']}"}
    ]
    assert f"PodGroup:   {found['facts'][0]['text']}\n" in out
    assert re.search(rf"^{found['kind']} {kind}: [0-9]+ pods", out, re.MULTILINE)
    assert ("needed" in out, "SubGroup" in out, "PodGroup pg-" in out) == (False, False, False)
    assert (group["kind"], group["name"], group["minMember"], group["children"]) == (found["kind"], kind, None, [])


def test_explain_beside_another_scheduler(repository: Path) -> None:
    config = (
        "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends:\n  - name: cpu\n    scheduler: {type: default}\n"
    )
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(), "workflows/w.yaml": job()})
    out = kubectl_tas("workflow", "explain", "sweep", "-C", repository).out
    assert "none; backend cpu has no KAI Scheduler" in out
    assert out.endswith("\nJob sweep: 4 pods with 4 GPUs\n")


@pytest.mark.parametrize(
    ("case", "name", "index", "answer"),
    [
        ("segments", "distributed-training", 0, "segment worker-0, pods 0 to 3"),
        ("segments", "distributed-training", 15, "segment worker-3, pods 12 to 15"),
        ("segments", "last-is-smaller", 9, "segment worker-2, pods 8 to 9"),
        ("leader-worker-sets", "size-divides-workers", 0, "segment segment-0, pods 0 to 2"),
        ("leader-worker-sets", "size-divides-workers", 3, "segment segment-1, pods 3 to 4"),
        ("leader-worker-sets", "size-divides-all", 2, "segment segment-1, pods 2 to 3"),
        ("leader-worker-sets", "leader-excluded", 2, "segment segment-0, pods 1 to 2"),
    ],
)
def test_segment_of_a_pod(tmp_path: Path, case: str, name: str, index: int, answer: str) -> None:
    root = segmented(tmp_path, case)
    result = kubectl_tas("workflow", "explain", name, "--pod-index", index, "-C", root)
    assert result.code == 0
    is_leader = index == 0 and case == "leader-worker-sets"
    assert f"pod {index} of {'leader' if is_leader else 'worker'}" in result.out
    assert answer in result.out


def test_segment_of_a_pod_as_data(tmp_path: Path) -> None:
    command = ("workflow", "explain", "job/indexed", "--pod-index", "5", "-o", "json")
    found = json.loads(kubectl_tas(*command, "-C", segmented(tmp_path, "segment-index-labels")).out)
    assert found["segments"] == [
        {
            "kind": "Job",
            "workload": "indexed",
            "replicaType": "worker",
            "segment": "worker-1",
            "indices": [4, 7],
            "indexLabel": "batch.kubernetes.io/job-completion-index",
        }
    ]


@pytest.mark.parametrize(
    ("case", "name", "index", "message"),
    [
        ("segments", "distributed-training", 16, "no segment of distributed-training has a pod 16"),
        ("leader-worker-sets", "leader-excluded", 0, "no segment of leader-excluded has a pod 0"),
        ("leader-worker-sets", "plain", 0, "--pod-index is for workloads with segments"),
    ],
)
def test_no_such_segment(tmp_path: Path, case: str, name: str, index: int, message: str) -> None:
    result = kubectl_tas("workflow", "explain", name, "--pod-index", index, "-C", segmented(tmp_path, case))
    assert result.code == 2
    assert message in result.err


INDEX_LABELS = {
    "job/indexed": "batch.kubernetes.io/job-completion-index",
    "pytorchjob/pytorch": "training.kubeflow.org/replica-index",
    "tfjob/tf": "training.kubeflow.org/replica-index",
    "mpijob/mpi": "training.kubeflow.org/replica-index",
    "jaxjob/jax": "training.kubeflow.org/replica-index",
    "xgboostjob/xgboost": "training.kubeflow.org/replica-index",
    "leaderworkerset/leaders": "leaderworkerset.sigs.k8s.io/worker-index",
    "pytorchjob/own-label": "training.kubeflow.org/replica-index",
    "statefulset/shards": "apps.kubernetes.io/pod-index",
}


@pytest.mark.parametrize("name", INDEX_LABELS)
def test_index_label(tmp_path: Path, name: str) -> None:
    root = segmented(tmp_path, "segment-index-labels")
    assert f"({INDEX_LABELS[name]})" in kubectl_tas("workflow", "explain", name, "--pod-index", 1, "-C", root).out


def test_gpus_count_against_the_quota(repository: Path) -> None:
    low = "    kubectl-tas/priority: LOW\n"
    files = {"p.yaml": pool(guarantee=40), "a.yaml": job(gpus=2), "b.yaml": job("low", gpus=8, labels=low)}
    write(repository, {f"pools/{name}": text for name, text in files.items()})
    (found,) = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", repository).out)["pools"]
    assert (found["used"], found["available"]) == (8, 32)
    page = kubectl_tas("pool", "describe", "team", "-C", repository).out
    assert re.search(r"low +Job +team +LOW +32", page)


@pytest.mark.parametrize(
    ("workload", "rule"),
    [
        (job(pool_name="team--old"), "subpool-closed"),
        (job(gpus=8, pods=4), "over-shared-quota"),
        (job(pool_name="team--a", gpus=12), "over-quota"),
        (job(pool_name="team--a", gpus=3, pods=4), "quota-shared"),
        (job(pool_name="team--b"), "pool-unknown"),
    ],
)
def test_verdicts(repository: Path, workload: str, rule: str) -> None:
    files = {"p.yaml": pool(guarantee=30), "a.yaml": subpool("a", 10), "old.yaml": subpool("old", 10, state="DELETING")}
    write(repository, {f"pools/{name}": text for name, text in {**files, "w.yaml": workload}.items()})
    out = kubectl_tas("validate", "-C", repository).out
    assert f"[{rule}]" in out
    assert ("pools/a.yaml:7:10: " if rule == "quota-shared" else "pools/w.yaml:6:23: ") in out


def test_admit_a_workload(repository: Path, tmp_path: Path) -> None:
    write(repository, {"pools/p.yaml": pool(guarantee=4), "pools/big.yaml": pool("big", 64)})
    write(tmp_path, {"w.yaml": job(gpus=8)})
    refused = kubectl_tas("admit", tmp_path / "w.yaml", "-C", repository)
    assert "Job:" in refused.out
    assert "a gang needs 8 GPUs; the quota of team is 4: it can never start" in refused.out
    other = kubectl_tas("admit", tmp_path / "w.yaml", "--pool", "big", "--priority", "LOW", "-C", repository)
    assert "ADMITTED" in other.out
    assert "osmo-pool-default-big--shared" in other.out


def test_another_scheduler_gets_no_queue(repository: Path) -> None:
    config = (
        "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends:\n  - name: cpu\n    scheduler: {type: default}\n"
    )
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(), "workflows/w.yaml": job()})
    stream = list(safe_load_all(kubectl_tas("render", "--to", "-", "-C", repository).out))
    (found,) = (item for item in stream if item["kind"] == "Job")
    assert "kai.scheduler/queue" not in found["metadata"]["labels"]
    assert "schedulerName" not in found["spec"]["template"]["spec"]
    assert found["spec"]["template"]["spec"]["priorityClassName"] == "osmo-normal"


def test_argocd_waves(repository: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  gitops: argocd\n"
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(), "workflows/w.yaml": job()})
    stream = list(safe_load_all(kubectl_tas("render", "--to", "-", "-C", repository).out))
    waves = {item["kind"]: int(item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]) for item in stream}
    assert waves["Job"] == max(waves.values()) > waves["Queue"]


def test_two_of_one_name(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/a.yaml": job(), "workflows/b.yaml": job()})
    assert 'the Job "sweep" is already defined at workflows/a.yaml:4:9' in kubectl_tas("validate", "-C", repository).out


def test_misspelled_kind(repository: Path) -> None:
    text = (EXAMPLES / "workloads/workflows/elastic-imagenet.yaml").read_text().replace("PyTorchJob", "PytorchJob")
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    assert 'Did you mean "PyTorchJob"?' in kubectl_tas("validate", "-C", repository).out


def test_unknown_level_lists_the_known(repository: Path) -> None:
    annotation = "  annotations:\n    kai.scheduler/topology-required-placement: rak\n"
    write(repository, {"pools/p.yaml": pool(spec=LEVELS), "workflows/w.yaml": job(labels=annotation)})
    result = kubectl_tas("validate", "-C", repository)
    assert 'workflows/w.yaml:8:48: error: the topology key "rak" is unknown' in result.out
    assert 'Did you mean "rack"?' in result.out


def test_unquoted_annotation(repository: Path) -> None:
    annotation = "  annotations:\n    kai.scheduler/batch-min-member: 4\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": job(labels=annotation)})
    result = kubectl_tas("validate", "-C", repository)
    assert "[wrong-type]" in result.out
    assert 'Put it in quotes: "4".' in result.out


VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**15, "", "x", "X_ x", "a\nb", "4", [], ["x"], {}, {"x": {}}, {"": 1}]
)


@pytest.mark.parametrize("name", [(listed.page.recognition.schema or listed.kind).lower() for listed in LISTED])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_anywhere(repository: Path, name: str, data: st.DataObject) -> None:
    """A workload is refused at a place in its file, or it renders to what was written with lines added."""
    document = safe_load((GOLDEN / f"documents/{name}.yaml").read_text())
    original = copy.deepcopy(document)
    holder, key = data.draw(st.sampled_from(list(places(document))))
    holder[key] = data.draw(VALUES)
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: prod, namespace: ml}]}\n"
    text = yaml.safe_dump(document, sort_keys=False) if data.draw(st.booleans()) else json.dumps(document)
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(spec=LEVELS), "pools/a.yaml": subpool("a", 50)})
    write(repository, {"workflows/w.yaml": text})
    result = kubectl_tas("validate", "-o", "json", "-C", repository)
    found = json.loads(result.out)["diagnostics"]
    assert all(item["location"] for item in found)
    assert result.code == int(any(item["severity"] == "error" for item in found))
    if result.code == 0:
        rendered = kubectl_tas("render", "--to", "-", "-C", repository)
        assert rendered.code == 0, rendered.err
        kinds = [item for item in safe_load_all(rendered.out) if item["kind"] == original["kind"]]
        assert len(kinds) == 1
        assert kept(without_levels(safe_load(text)), without_levels(kinds[0]))


def without_levels(data: Any) -> Any:
    """``data`` without the names of levels, which become node labels."""
    if isinstance(data, dict):
        return {key: without_levels(value) for key, value in data.items() if not str(key).endswith("-placement")}
    return [without_levels(item) for item in data] if isinstance(data, list) else data


def places(data: Any) -> Any:
    """Every place below ``data``: what holds it, and its key or index."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from places(value)


@pytest.mark.parametrize("style", ["block", "flow", "flow on lines"])
def test_lines_come_in_one_order(repository: Path, style: str) -> None:
    text = job()
    if style != "block":
        spec = yaml.safe_dump(safe_load(text)["spec"], default_flow_style=True, width=9999).strip()
        spec = spec.replace("{template: {spec: {", "{template: {spec: {\n    ") if style == "flow on lines" else spec
        text = f"{text[: text.index('spec:')]}spec: {spec}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    stream = safe_load_all(kubectl_tas("render", "--to", "-", "-C", repository).out)
    template = next(item["spec"]["template"] for item in stream if item["kind"] == "Job")
    assert list(template) == ["metadata", "spec"]
    assert list(template["spec"]) == [
        "schedulerName",
        "priorityClassName",
        *(("restartPolicy", "containers") if style == "block" else ("containers", "restartPolicy")),
    ]


def test_the_docs_say_what_kai_makes_of_each_kind() -> None:
    rows = DOCS.read_text().partition(MADE)[2].partition("\n\n")[0].splitlines()[1:]
    told = [kind for row in rows for kind in row.split("|")[1].strip().split(", ")]
    assert sorted(told) == sorted([*BY_NAME, "PodCliqueSet"])
