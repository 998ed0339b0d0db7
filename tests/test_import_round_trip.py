"""Tests that ``render`` after ``import cluster`` gives the cluster's objects, except for reported differences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.imports.queuetree import forest
from kubectl_tas.imports.queuetree import live_queue as from_cluster
from tests.support.cli import Result, kubectl_tas, write
from tests.support.clusters import FREE, kai, live_kai_topology, live_queue, priority_class, saved
from tests.support.effort import in_a_minute
from tests.support.history import commit
from tests.support.kubectl import pod_group
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import files_below

Item = dict[str, Any]
OWN = {"app.kubernetes.io/managed-by", "kubectl-tas/pool"}
"""Labels that are added to queues."""
AMOUNTS = st.sampled_from([-1, 0, 2, 8, 64, 0.5])
ODD = st.sampled_from([1e3, -2, -0.5, 1048576.5, 10**12, 10**17, 2**31, None, 1e-9])
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
KEYS = st.sampled_from(
    [
        *("team", "example.com/cost-center", "Example.com/Team", "x/" + "k" * 63, "on", "1"),
        *("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "kubectl-tas/pool"),
        *("meta.helm.sh/release-name", "argocd.argoproj.io/sync-wave"),
    ]
)
LABELS = st.dictionaries(KEYS, st.sampled_from(["", "a", "true", "1", "0x1f", "2024-01-01", "no", "~", "A.b_c"]))
ANNOTATIONS = st.dictionaries(
    st.one_of(KEYS, st.just("kubectl.kubernetes.io/last-applied-configuration")),
    st.one_of(TEXT, st.sampled_from(["{{ a }}", "${A}", "a\nb\n", " ", "*", "- x", "{% if %}", "#", "12", "&a"])),
)


def imported(folder: Path, *items: Item, arguments: tuple[str, ...] = (), root: str = "work") -> Result:
    return kubectl_tas("import", "cluster", "--cluster-state", saved(folder, *items), "-o", folder / root, *arguments)


def rendered(root: Path) -> dict[tuple[str, str], Item]:
    result = kubectl_tas("render", "-C", root, "-o", "-")
    assert result.code == 0, result.err
    found = [item for item in safe_load_all(result.out) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in found}


def leaves(value: Any, path: str = "spec") -> dict[str, Any]:
    if isinstance(value, dict):
        return {key: found for name, inner in value.items() for key, found in leaves(inner, f"{path}.{name}").items()}
    return {} if value in (None, "") else {path: value}


def unsaid(live: Item, found: Item, said: str) -> list[str]:
    """What applying ``found`` over ``live`` changes, and the report does not say."""
    name = found["metadata"]["name"]
    lines = [line for line in said.splitlines() if f"Queue {name}: " in line]
    before, after = leaves(live["spec"]), leaves(found["spec"])
    wrong = [
        path
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and not any(f": {path}: " in line for line in lines)
    ]
    for part in ("labels", "annotations"):
        there, now = (item["metadata"].get(part) or {} for item in (live, found))
        wrong += [f"{part} + {key}" for key in now.keys() - there.keys() - OWN]
        for key in there:
            told = any(f"metadata.{part}[{key}]" in line for line in lines)
            told = (
                told or re.search(rf"^  [\w ]+: {part[:-1]} {re.escape(key)} of .*\bQueue .*", said, re.M) is not None
            )
            if there[key] != now.get(key) and not told:
                wrong.append(f"{part} {key}")
    return wrong


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: of-{target}
  labels: {{kubectl-tas/pool: {target}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: c, image: "busybox:1.37", resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
POOL = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\nspec: {resources: {gpu: {guarantee: 8}}}\n"
LABELLED = (
    live_queue("research", None, (64, 96, 2), labels={"cost-center": "a1"}),
    live_queue("research-nlp", "research", (40, -1, 1), labels={"cost-center": "a2", "app.kubernetes.io/name": "x"}),
    live_queue("research-vision", "research", (16, -1, 1)),
)
LABELLED[1]["metadata"]["annotations"] = {
    "example.com/contact": "Ada",
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "meta.helm.sh/release-name": "queues",
}


def test_labels_and_annotations_are_kept(tmp_path: Path) -> None:
    result = imported(tmp_path, *LABELLED, kai())
    assert "Would change" not in result.out
    assert "  Helm: annotation meta.helm.sh/release-name of Queue research-nlp\n" in result.out
    assert "  kubectl: annotation kubectl.kubernetes.io/last-applied-configuration of Queue research-nlp" in result.out
    found = rendered(tmp_path / "work")
    assert found["Queue", "research"]["metadata"]["labels"]["cost-center"] == "a1"
    assert found["Queue", "research-nlp"]["metadata"]["annotations"] == {"example.com/contact": "Ada"}
    assert "labels" not in (tmp_path / "work/subpools/research--vision.yaml").read_text()


def test_labels_of_other_objects_are_told(tmp_path: Path) -> None:
    topology = live_kai_topology("fabric", "a/zone")
    topology["metadata"]["labels"] = {"team": "net"}
    said = imported(tmp_path, *LABELLED, topology, kai()).out
    assert "Would change:\n  Topology fabric: metadata.labels[team]: 'net' -> not there\n" in said


def test_the_labels_of_a_root_queue(tmp_path: Path) -> None:
    root = live_queue("all", labels={"owner": "platform"})
    below = {**LABELLED[0], "spec": {**LABELLED[0]["spec"], "parentQueue": "all"}}
    assert imported(tmp_path, root, below, *LABELLED[1:], kai()).code == 0
    assert rendered(tmp_path / "work")["Queue", "all"]["metadata"]["labels"]["owner"] == "platform"


def test_a_changed_label_is_shown(tmp_path: Path) -> None:
    work = tmp_path / "work"
    assert imported(tmp_path, *LABELLED, kai()).code == 0
    commit(work)
    file = work / "subpools/research--nlp.yaml"
    file.write_text(file.read_text().replace("cost-center: a2", "cost-center: b7").replace("Ada", "Bo"))
    found = kubectl_tas("diff", "--base", "HEAD", "-C", work).out
    assert "label cost-center a2 -> b7; annotation example.com/contact Ada -> Bo" in found
    assert "risk: low" in found


def test_each_team_has_its_namespaces(tmp_path: Path) -> None:
    """A job of a team that names no namespace is not rendered into that of another."""
    groups = []
    for queue, namespace in (("research-nlp", "team-nlp"), ("research-nlp", "team-nlp"), ("research-vision", "cv")):
        group = pod_group(queue, running=1)
        group["metadata"]["namespace"] = namespace
        groups.append(group)
    assert imported(tmp_path, *LABELLED, *groups, kai()).code == 0
    work = tmp_path / "work"
    assert "  namespaces:\n  - team-nlp\n  - cv\n" in (work / "pools/research.yaml").read_text()
    assert "  namespaces:\n  - cv\n" in (work / "subpools/research--vision.yaml").read_text()
    for target in ("research--vision", "research"):
        write(work, {f"workflows/{target}.yaml": JOB.format(target=target)})
    said = kubectl_tas("validate", "-C", work)
    assert 'Job of-research names no namespace: it would run in "team-nlp"' in said.out
    assert said.out.count("[namespace-unclear]") == 1
    (work / "workflows/research.yaml").unlink()
    assert rendered(work)["Job", "of-research--vision"]["metadata"]["namespace"] == "cv"


def test_many_departments_at_the_top(tmp_path: Path) -> None:
    """Which of them is the root is found in one walk."""
    items = []
    for number in range(700):
        top, team = f"t{number}", f"d{number}"
        items += [live_queue(top), live_queue(team, top, (8, 8, 1)), live_queue(f"{team}-a", team, (8, 8, 1))]
    with in_a_minute():
        forest([from_cluster(item) for item in items], has_root=True, sums=False)


def test_a_second_cluster(tmp_path: Path) -> None:
    first = (*LABELLED, live_kai_topology("fabric", "a/zone", "a/rack"), kai())
    assert imported(tmp_path, *first).code == 0
    work = tmp_path / "work"
    before = {path: path.read_bytes() for path in files_below(work)}
    other = (
        live_queue("research", None, (32, 32, 1)),
        live_queue("research-chat", "research", (8, -1, 1)),
        live_kai_topology("fabric", "a/zone", "a/rack"),
        live_kai_topology("lab-fabric", "a/zone", "a/block"),
        kai("0.16.0"),
    )
    result = imported(tmp_path, *other, arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    assert "Queue research: pool research-lab, since pool research is there on backend default" in result.out
    assert "since pool research is there on backend default, with 64 GPUs there, 32 GPUs here\n" in result.out
    assert "  default: Topology lab-fabric\n" in result.out
    assert "manifests/default and manifests/lab" in result.err
    changed = {path.relative_to(work).as_posix() for path in before if path.read_bytes() != before[path]}
    assert changed == {"tas.yaml", "pools/research.yaml"}
    assert "  backend: default\n" in (work / "pools/research.yaml").read_text()
    assert kubectl_tas("render", "-C", work).code == 0
    queues = [path.stem for path in files_below(work / "manifests/lab/queues")]
    assert sorted(queues) == ["osmo-pool-default-research-lab--shared", "research", "research-chat"]
    again = imported(tmp_path, *other, arguments=("--backend", "lab"))
    assert (again.code, "the backend lab is there already; nothing was written" in again.err) == (3, True)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (live_kai_topology("fabric", "a/zone", "a/block"), "spec.levels[1].nodeLabel: 'a/block' there, 'a/rack' here"),
        (live_kai_topology("fabric", "a/zone"), "Topology fabric: spec.levels: 1 item there, 2 items here"),
        (priority_class("osmo-low", 7), "PriorityClass osmo-low: value: 7 there, 50 here"),
    ],
)
def test_one_name_for_two_objects(tmp_path: Path, item: Item, said: str) -> None:
    """What the first ``kubectl apply`` would be refused for is refused before anything is written."""
    assert imported(tmp_path, *LABELLED, live_kai_topology("fabric", "a/zone", "a/rack"), kai()).code == 0
    work = tmp_path / "work"
    before = {path: path.read_bytes() for path in files_below(work)}
    result = imported(tmp_path, *LABELLED, item, kai("0.16.0"), arguments=("--backend", "lab"))
    assert (result.code, said in result.err) == (1, True), result.err
    assert {path: path.read_bytes() for path in files_below(work)} == before


def test_a_repository_with_errors_gets_no_cluster(tmp_path: Path) -> None:
    assert imported(tmp_path, *LABELLED, kai()).code == 0
    write(tmp_path / "work", {"pools/x.yaml": "kind: Pool\n"})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert (result.code, "pools/x.yaml:1" in result.out + result.err) == (1, True)


def test_a_repository_without_a_config(tmp_path: Path) -> None:
    write(tmp_path / "work", {"pools/team.yaml": POOL})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    assert result.out.startswith(f"added backend lab {tmp_path}/work/tas.yaml\nset backend: default ")
    config = safe_load((tmp_path / "work/tas.yaml").read_text())
    assert [item["name"] for item in config["spec"]["backends"]] == ["default", "lab"]
    assert kubectl_tas("validate", "-C", tmp_path / "work").code == 0


def test_what_can_be_changed_in_place_is_no_clash(tmp_path: Path) -> None:
    """Labels and descriptions of objects with one name may differ."""
    topology = live_kai_topology("fabric", "a/zone", "a/rack")
    assert imported(tmp_path, *LABELLED, topology, kai()).code == 0
    others = (
        {**priority_class("osmo-low", 50), "description": "theirs"},
        live_kai_topology("fabric", "a/zone", "a/rack"),
    )
    for item in others:
        item["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "theirs"}
    result = imported(tmp_path, *LABELLED, *others, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    for change in ("PriorityClass osmo-low: description: 'theirs' -> ", "Topology fabric: metadata.labels["):
        assert f"  {change}" in result.out


def test_objects_that_no_import_reads_are_not_compared(tmp_path: Path) -> None:
    """The guard is in the repository, and clusters have no say in it."""
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: true, backends: [{name: default}]}\n"
    write(tmp_path / "work", {"pools/team.yaml": POOL, "tas.yaml": config})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    assert "ValidatingAdmissionPolicy" not in result.out


@pytest.mark.parametrize("config", ["", "spec: {gitops: flux}\n"])
def test_a_config_without_backends_gets_the_one_that_there_was(config: str, tmp_path: Path) -> None:
    head = "apiVersion: tas/v1alpha1\nkind: Config\n"
    write(tmp_path / "work", {"pools/team.yaml": POOL, "tas.yaml": head + config})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    assert result.out.startswith(f"added backend lab {tmp_path}/work/tas.yaml\nset backend: default ")
    spec = safe_load((tmp_path / "work/tas.yaml").read_text())["spec"]
    assert ([item["name"] for item in spec["backends"]], spec.get("gitops")) == (
        ["default", "lab"],
        "flux" if config else None,
    )


def test_only_pools_that_stand_for_the_only_backend_are_told_it(tmp_path: Path) -> None:
    """A pool below another is where its parent is."""
    told = POOL.replace("name: team", "name: told").replace("spec: {", "spec: {backend: default, ")
    child = POOL.replace("name: team", "name: child").replace("spec: {", "spec: {parent: team, ")
    files = {"pools/team.yaml": POOL, "pools/told.yaml": told, "pools/child.yaml": child}
    write(tmp_path / "work", files)
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err + result.out
    there = {path: (tmp_path / "work" / path).read_text() for path in files}
    assert {path for path, text in files.items() if there[path] != text} == {"pools/team.yaml"}
    assert result.out.count("set backend: default") == 1


def test_a_third_cluster_changes_no_pool_and_no_folder(tmp_path: Path) -> None:
    assert imported(tmp_path, *LABELLED, kai()).code == 0
    second = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    said = "Queue research: pool research-lab, since pool research is there on backend default, with the same quota\n"
    assert (second.code, said in second.out) == (0, True)
    before = {path: path.read_bytes() for path in files_below(tmp_path / "work/pools")}
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "edge"))
    assert (result.code, "has its own folder" in result.err, "set backend" in result.out) == (0, False, False)
    assert {path: path.read_bytes() for path in before} == before


def test_a_file_that_is_there_keeps_its_name(tmp_path: Path) -> None:
    write(tmp_path / "work", {"pools/research.yaml": POOL})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 0, result.err
    assert POOL.partition("spec:")[0] in (tmp_path / "work/pools/research.yaml").read_text()
    new = safe_load((tmp_path / "work/pools/research-lab.yaml").read_text())
    assert (new["metadata"]["name"], new["spec"]["backend"]) == ("research", "lab")


@pytest.mark.parametrize("has_folder", [False, True])
def test_a_backend_may_be_named_for_a_new_repository(has_folder: bool, tmp_path: Path) -> None:
    if has_folder:
        (tmp_path / "work").mkdir()
    assert imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab")).code == 0
    assert [x["name"] for x in safe_load((tmp_path / "work/tas.yaml").read_text())["spec"]["backends"]] == ["lab"]


def test_a_cluster_of_which_nothing_has_a_place_is_not_added(tmp_path: Path) -> None:
    write(tmp_path / "work", {"pools/team.yaml": POOL})
    result = imported(tmp_path, live_queue("interns"), kai(), arguments=("--backend", "lab"))
    assert result.code == 1
    assert result.err.endswith("Nothing was written: nothing of the cluster can be declared.\n")
    assert "Queue interns: it has neither a parent nor children" in result.out
    assert [path.name for path in files_below(tmp_path / "work")] == ["team.yaml"]


def test_files_that_would_not_be_read_are_not_written(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: [pools]}\n"
    write(tmp_path / "work", {"pools/team.yaml": POOL, "tas.yaml": config})
    result = imported(tmp_path, *LABELLED, kai(), arguments=("--backend", "lab"))
    assert result.code == 3
    assert "subpools/research--nlp.yaml" in result.err
    assert "would not be read; nothing was written" in result.err
    assert "Add their folders to spec.sources of tas.yaml." in result.err
    assert sorted(path.name for path in files_below(tmp_path / "work")) == ["tas.yaml", "team.yaml"]


ODD_AMOUNTS = (1048576.5, -2, 3e9, None)
REFUSED_AMOUNTS = ("1e3", "8", 1e30, True, [], {"a": 1})


@pytest.mark.parametrize("value", ODD_AMOUNTS, ids=str)
@pytest.mark.parametrize("resource", ["gpu", "cpu", "memory"])
def test_odd_amounts(tmp_path: Path, value: Any, resource: str) -> None:
    """The pool with it is told by name; others are written."""
    odd = [live_queue("odd", None), live_queue("odd-a", "odd", (8, -1, 1))]
    for field in ("quota", "limit", "overQuotaWeight"):
        odd[0]["spec"]["resources"]["gpu"] = {"quota": 8, "limit": -1, "overQuotaWeight": 1}
        odd[1]["spec"]["resources"][resource] = {"quota": 8, "limit": -1, "overQuotaWeight": 1, field: value}
        root = f"work-{field}"
        result = imported(tmp_path, *odd, *LABELLED, kai(), root=root)
        assert (result.code, result.out.count("research-nlp") > 0) == (0, True), result.err
        found = rendered(tmp_path / root)
        assert ("Queue", "odd") in found or "  Queue odd, odd-a: " in result.out, result.out


@pytest.mark.parametrize("value", REFUSED_AMOUNTS, ids=str)
@pytest.mark.parametrize("field", ["quota", "limit", "overQuotaWeight"])
def test_amounts_that_no_api_server_gives(tmp_path: Path, value: Any, field: str) -> None:
    queue = live_queue("odd", None)
    queue["spec"]["resources"]["gpu"] = {"quota": 8, "limit": -1, "overQuotaWeight": 1, field: value}
    result = imported(tmp_path, queue, *LABELLED, kai())
    assert result.code == 3
    assert f"a Queue of the cluster cannot be read: odd: spec.resources.gpu.{field} is " in result.err


@st.composite
def queues(draw: st.DrawFn, start: str = "q") -> list[Item]:
    """Trees of queues as people have them, most of which have a place."""
    found: list[Item] = []
    count = draw(st.integers(1, 7))
    names = [f"{start}{number}" for number in range(count)]
    for index, name in enumerate(names):
        parent = draw(st.sampled_from([*names[:index][:1] * 4, None, *names[:index][:2]]))
        shares = [(64, -1, 1), (96, 96, 2)] if parent is None else [(8, -1, 1), (8, 8, 2), (0, 96, 0)]
        gpu = draw(st.sampled_from(shares))
        if not draw(st.integers(0, 12)):
            gpu = (draw(AMOUNTS), draw(AMOUNTS), draw(st.sampled_from([0, 1, 1.5])))
        if not draw(st.integers(0, 19)):
            gpu = (draw(ODD), draw(ODD), draw(ODD))
        cpu = draw(st.sampled_from([*[FREE] * 6, (1000, -1, 1), (0, 1000, 1)]))
        extra: Item = draw(
            st.fixed_dictionaries(
                {"labels": LABELS},
                optional={
                    "priority": st.sampled_from([0, 7, 7, -3, 100, 2**31 - 1]),
                    "displayName": st.sampled_from(["x", "Team A", "true", "é ü"]),
                },
            )
        )
        if parent is None:
            extra["preemptMinRuntime"] = draw(st.sampled_from(["5m", "1h30m0s", "1h30m0s", "1d", "90", "", None]))
            extra["reclaimMinRuntime"] = draw(st.sampled_from(["5m", "0s", "1h", "", None, "1.5h"]))
        item = live_queue(name, parent, gpu, cpu, **extra)
        item["metadata"]["annotations"] = draw(ANNOTATIONS)
        found.append(item)
    return found


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_rendered_is_what_there_was(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trip")
    items = data.draw(queues())
    teams = data.draw(st.lists(st.sampled_from([item["metadata"]["name"] for item in items]), max_size=4))
    groups = [{**pod_group(team, running=1)} for team in teams]
    for group, team in zip(groups, teams, strict=True):
        group["metadata"] = {**group["metadata"], "namespace": f"ns-{team}"}
    result = imported(folder, *items, *groups, kai(data.draw(st.sampled_from(["0.17.0", "0.12.4"]))))
    assert "Traceback" not in result.err
    assert "would have these errors" not in result.err, result.out
    if result.code:
        assert "Not imported" in result.out
        return
    found = rendered(folder / "work")
    left_out = result.out.partition("Not imported")[2]
    for item in items:
        name = item["metadata"]["name"]
        if ("Queue", name) in found:
            assert unsaid(item, found["Queue", name], result.out) == []
        else:
            assert re.search(rf"\b{name}\b", left_out), result.out
    for path in files_below(folder / "work/subpools"):
        spec = safe_load(path.read_text())["spec"]
        live = spec["queue"]["name"]
        assert spec.get("namespaces", [f"ns-{live}"]) == [f"ns-{live}"]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_two_clusters(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The second import changes nothing of the first, and both clusters stay as they are."""
    folder = tmp_path_factory.mktemp("two")
    clusters = [data.draw(queues()), data.draw(queues(data.draw(st.sampled_from(["q", "r"]))))]
    first = imported(folder, *clusters[0], kai())
    before = rendered(folder / "work") if first.code == 0 else {}
    second = imported(folder, *clusters[1], kai(), arguments=("--backend", "lab"))
    assert "Traceback" not in second.err
    assert "would have these errors" not in second.err, second.out
    if first.code or second.code:
        return
    result = kubectl_tas("render", "-C", folder / "work")
    assert result.code == 0, result.err
    for backend, items, said in (("default", clusters[0], first.out), ("lab", clusters[1], second.out)):
        found = {}
        for path in files_below(folder / f"work/manifests/{backend}"):
            item = safe_load(path.read_text())
            if item["kind"] == "Queue":
                found[item["metadata"]["name"]] = item
        if backend == "default":
            assert found == {name: item for (kind, name), item in before.items() if kind == "Queue"}
        for item in items:
            name = item["metadata"]["name"]
            if name in found:
                assert unsaid(item, found[name], said) == []
