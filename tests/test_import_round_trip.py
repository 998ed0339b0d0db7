"""``import cluster`` and ``render`` lead back to the cluster: what they do not say, ``kubectl diff`` would not show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cli import Result, kubectl_tas
from tests.support.clusters import FREE, kai, live_queue, saved
from tests.support.kubectl import pod_group
from tests.support.rendered import files_below

Item = dict[str, Any]
OWN = {"app.kubernetes.io/managed-by", "kubectl-tas/pool"}
"""Labels that are added to queues."""
AMOUNTS = st.sampled_from([-1, 0, 2, 8, 64, 0.5])
ODD = st.sampled_from(
    ["8", "1e3", 1e3, 1e30, -2, -0.5, 1048576.5, 10**12, 10**17, 2**31, None, True, [], {}, "", float("nan"), 1e-9]
)
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
    found = [item for item in yaml.safe_load_all(result.out) if item]
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


@st.composite
def queues(draw: st.DrawFn, start: str = "q") -> list[Item]:
    """Trees of queues as people have them, most of which have a place."""
    found: list[Item] = []
    count = draw(st.integers(1, 7))
    names = [f"{start}{number}" for number in range(count)]
    for index, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:index][:2]]))
        gpu = draw(st.sampled_from([(8, -1, 1), (8, 8, 1), (0, -1, 2), (2, 96, 1), (64, 96, 0)]))
        if not draw(st.integers(0, 4)):
            gpu = (draw(AMOUNTS), draw(AMOUNTS), draw(st.sampled_from([0, 1, 1.5])))
        if not draw(st.integers(0, 9)):
            gpu = (draw(ODD), draw(ODD), draw(ODD))
        cpu = draw(st.sampled_from([FREE, FREE, (1000, -1, 1), (0, 1000, 1)]))
        extra: Item = draw(
            st.fixed_dictionaries(
                {"labels": LABELS},
                optional={
                    "priority": st.sampled_from([0, 7, -3, 2**31 - 1, 2**31, "7", 1.5]),
                    "displayName": st.sampled_from(["x", "Team A", "true", "é ü"]),
                    "preemptMinRuntime": st.sampled_from(["5m", "1h30m0s", "1d", "90", "", 5]),
                    "reclaimMinRuntime": st.sampled_from(["5m", "0s", "1.5h"]),
                },
            )
        )
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
        assert "Has no place" in result.out
        return
    found = rendered(folder / "work")
    left_out = result.out.partition("Has no place")[2]
    for item in items:
        name = item["metadata"]["name"]
        if ("Queue", name) in found:
            assert unsaid(item, found["Queue", name], result.out) == []
        else:
            assert re.search(rf"\b{name}\b", left_out), result.out
    for path in files_below(folder / "work/subpools"):
        spec = yaml.safe_load(path.read_text())["spec"]
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
            item = yaml.safe_load(path.read_text())
            if item["kind"] == "Queue":
                found[item["metadata"]["name"]] = item
        if backend == "default":
            assert found == {name: item for (kind, name), item in before.items() if kind == "Queue"}
        for item in items:
            name = item["metadata"]["name"]
            if name in found:
                assert unsaid(item, found[name], said) == []
