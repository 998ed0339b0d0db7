"""Tests the KRM function, which reads and returns a ResourceList."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.load.functioninput import FunctionInput, result_fields
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import EXAMPLES
from tests.support.pyyaml import safe_load, safe_load_all

Object = dict[str, Any]
JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "labels": {"kubectl-tas/pool": "team"}},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "a", "image": "registry.example.com/a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
                ],
            }
        }
    },
}
CONFIG_MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "yes"}}


@pytest.fixture
def fn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the function answers to a text, or to a functionConfig and items."""

    def run(given: str | Object, *items: Object, cwd: Path | None = None) -> tuple[Result, Object]:
        if isinstance(given, dict):
            listed = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": list(items)}
            given = yaml.safe_dump({**listed, "functionConfig": given})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        result = kubectl_tas("fn", cwd=cwd)
        return result, safe_load(result.out) or {}

    return run


def config(kind: str, **spec: str) -> Object:
    return {"apiVersion": "tas/v1alpha1", "kind": kind, "metadata": {"name": "gpus"}, "spec": spec}


def tracked(item: Object, path: str, index: int) -> Object:
    """An item as kpt hands it over."""
    annotations = {"internal.config.kubernetes.io/path": path, "internal.config.kubernetes.io/index": str(index)}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


def kinds(found: Object) -> list[str]:
    return [item["kind"] for item in found["items"]]


def declared(text: str) -> Object:
    found: Object = safe_load(text)
    return found


def test_an_input_that_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: \xff")))
    result = kubectl_tas("fn")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: the input is not text: ")


class TestRender:
    def test_a_repository(self, fn: Any) -> None:
        result, found = fn(config("Render", directory="quickstart"), CONFIG_MAP, cwd=EXAMPLES)
        assert result.code == 0
        stream = list(safe_load_all(kubectl_tas("render", "-C", EXAMPLES / "quickstart", "--to", "-").out))
        assert found["items"] == [CONFIG_MAP, *stream]
        assert found["results"] == []

    def test_again_with_what_it_gave(self, fn: Any) -> None:
        render = config("Render", directory="quickstart")
        _, once = fn(render, cwd=EXAMPLES)
        marked = [tracked(item, f"{n}.yaml", 0) for n, item in enumerate(once["items"])]
        _, twice = fn(render, *marked, cwd=EXAMPLES)
        assert len(twice["items"]) == len(marked)
        assert [
            item["metadata"]["annotations"].items() >= old["metadata"]["annotations"].items()
            for item, old in zip(twice["items"], marked, strict=True)
        ] == [True] * len(marked)

    def test_items_are_the_repository(self, fn: Any) -> None:
        team = tracked(declared(pool()), "pools.yaml", 0)
        result, found = fn(config("Render"), team, tracked(JOB, "train.yaml", 0), CONFIG_MAP)
        assert (result.code, result.err) == (0, "")
        assert kinds(found) == ["ConfigMap", *["PriorityClass"] * 3, *["Queue"] * 3, "Job"]
        assert found["items"][0] == CONFIG_MAP
        job = found["items"][-1]["metadata"]
        assert job["labels"]["kai.scheduler/queue"] == "osmo-pool-default-team--shared"
        assert job["annotations"] == tracked(JOB, "train.yaml", 0)["metadata"]["annotations"]

    def test_the_config_is_an_item_too(self, fn: Any) -> None:
        settings = declared("{apiVersion: tas/v1alpha1, kind: Config, metadata: {name: x}, spec: {queuePrefix: acme}}")
        _, found = fn(config("Render"), declared(pool()), tracked(settings, "elsewhere.yaml", 3))
        queues = [item["metadata"]["name"] for item in found["items"] if item["kind"] == "Queue"]
        assert queues[0] == "acme-default-default"

    def test_one_of_several_backends(self, fn: Any, repository: Path) -> None:
        settings = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: east}, {name: west}]}\n"
        write(repository, {"tas.yaml": settings, "pools/p.yaml": pool(spec="  backend: east\n")})
        result, _ = fn(config("Render", directory="."), cwd=repository)
        assert result.code == 2
        result, found = fn(config("Render", directory=".", backend="east"), cwd=repository)
        assert (result.code, "Queue" in kinds(found)) == (0, True)
        result, _ = fn(config("Render", directory=".", backend="south"), cwd=repository)
        assert (result.code, result.out) == (2, "")
        result, _ = fn(config("Validate", directory=".", backend="south"), cwd=repository)
        assert (result.code, result.out) == (2, "")

    def test_errors_leave_the_items_as_they_are(self, fn: Any) -> None:
        items = [declared(pool()), JOB, tracked(declared(subpool("big", 200)), "subpools/all.yaml", 2)]
        result, found = fn(config("Render"), *items)
        assert result.code == 1
        assert found["items"] == items
        (told,) = found["results"]
        assert "error: " in result.err
        assert told["message"] in result.err
        assert result.err.startswith("subpools/all.yaml:")
        assert told == {
            "message": told["message"],
            "severity": "error",
            "resourceRef": {"apiVersion": "tas/v1alpha1", "kind": "Subpool", "name": "big"},
            "file": {"path": "subpools/all.yaml", "index": 2},
            "field": {"path": "spec.quota"},
            "tags": {"rule": "quota-exceeds-pool", "hint": told["tags"]["hint"]},
        }


class TestRights:
    """The folders of items are annotations, which anybody can write: whoever lists the items decides what counts."""

    def test_items_count_wherever_they_say_they_lie(self, fn: Any) -> None:
        for path in ("pools/team.yaml", "workflows/team.yaml"):
            assert fn(config("Validate"), tracked(declared(pool()), path, 0))[0].code == 0

    def test_those_of_a_repository_count_in_their_folders(self, fn: Any, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool(), "workflows/mine.yaml": subpool("a", 1)})
        result, found = fn(config("Validate", directory="."), cwd=repository)
        (told,) = found["results"]
        assert (result.code, told["tags"]["rule"]) == (1, "outside-admin-sources")


class TestValidate:
    def test_leaves_items_as_they_are(self, fn: Any) -> None:
        items = [declared(pool()), JOB, CONFIG_MAP]
        result, found = fn(config("Validate"), *items)
        assert (result.code, found["items"], found["results"]) == (0, items, [])

    def test_a_repository(self, fn: Any, repository: Path) -> None:
        two = f"{pool()}---\n{subpool('big', 200)}"
        write(repository, {"pools/team.yaml": two})
        result, found = fn(config("Validate", directory="."), CONFIG_MAP, cwd=repository)
        assert (result.code, found["items"]) == (1, [CONFIG_MAP])
        (told,) = found["results"]
        assert (told["severity"], told["file"]) == ("error", {"path": "pools/team.yaml", "index": 1})
        assert told["field"] == {"path": "spec.quota"}

    def test_warnings_do_not_fail(self, fn: Any, repository: Path) -> None:
        newer = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: p, scheduler: {version: '0.99'}}]}\n"
        write(repository, {"tas.yaml": newer, "pools/team.yaml": pool()})
        result, found = fn(config("Validate", directory="."), cwd=repository)
        (told,) = found["results"]
        assert (result.code, told["severity"], told["tags"]["rule"]) == (0, "warning", "version-newer")
        assert told["field"] == {"path": "spec.backends[0].scheduler.version"}


class TestRefusals:
    @pytest.mark.parametrize(
        "spelled", ["{root}", "../repository", "a/../../repository", "link", "a/link", "~/x", ".git"]
    )
    def test_a_directory_outside_of_the_kustomization(self, fn: Any, repository: Path, spelled: str) -> None:
        """What kustomize builds comes from its folder: a list of another team's repository is none of it."""
        write(repository, {"pools/team.yaml": pool()})
        here = write(repository.parent / "here", {"a/x.txt": ""})
        for link in ("link", "a/link"):
            (here / link).symlink_to(repository)
        directory = spelled.format(root=repository)
        for kind in ("Render", "Validate"):
            result, found = fn(config(kind, directory=directory), CONFIG_MAP, cwd=here)
            assert (result.code, found["items"]) == (1, [CONFIG_MAP])
            (told,) = found["results"]
            assert told["tags"]["rule"] == "invalid-value"
            assert f'"{directory}" is not a folder below that of the kustomization' in told["message"]

    def test_a_link_within_the_kustomization(self, fn: Any, repository: Path) -> None:
        write(repository, {"real/pools/team.yaml": pool()})
        (repository / "link").symlink_to("real")
        assert fn(config("Validate", directory="link"), cwd=repository)[0].code == 0

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("", "the input is no ResourceList of config.kubernetes.io/v1"),
            ("a: [", "the input is no ResourceList of config.kubernetes.io/v1: "),
            ("apiVersion: v1\nkind: List\n", "the input is no ResourceList of config.kubernetes.io/v1"),
            ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n", "there is no functionConfig"),
            (
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [1]\n",
                "an item is no Kubernetes object",
            ),
            (
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: 1\n",
                "an item is no Kubernetes object",
            ),
            (
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
                "items: [{apiVersion: v1, kind: Pod, metadata: a}]\n",
                "an item is no Kubernetes object",
            ),
        ],
    )
    def test_what_is_no_resource_list(self, fn: Any, given: str, message: str) -> None:
        result, _ = fn(given)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: {message}")

    def test_nothing_to_render(self, fn: Any, repository: Path) -> None:
        """Never an empty success: whoever applies it would remove all there is."""
        for kind in ("Render", "Validate"):
            result, _ = fn(config(kind), CONFIG_MAP)
            assert (result.code, result.out) == (3, "")
            assert result.err == (
                "error: there is no spec.directory, and no item is a Pool, a workload or another document\n"
                "  = help: Name the repository in spec.directory of the functionConfig.\n"
            )
        result, _ = fn(config("Render", directory=repository.name), cwd=repository.parent)
        assert (result.code, result.out) == (3, "")

    def test_a_wrong_config(self, fn: Any) -> None:
        result, found = fn(config("Render", directry="."), CONFIG_MAP)
        assert (result.code, found["items"]) == (1, [CONFIG_MAP])
        (told,) = found["results"]
        assert told["message"] == 'unknown field "directry" in spec'
        assert told["tags"]["hint"] == 'Did you mean "directory"?'


class TestPlacesOfResults:
    """The item, the file and the field of what is found, whatever the annotations of the items say."""

    TWO = (tracked(declared(pool("a")), "p.yaml", 0), tracked(declared(pool("b")), "p.yaml", 1))

    def told(self, place: Location, *items: Object) -> Object:
        return FunctionInput(None, (), items).described(place)

    def test_a_place_in_no_item(self) -> None:
        assert self.told(Location("tas.yaml", 1, 1), *self.TWO) == {}

    def test_the_namespace_of_an_item(self) -> None:
        item = {**JOB, "metadata": {**JOB["metadata"], "namespace": "ml"}}
        named = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "namespace": "ml"}
        assert self.told(Location("job-train.yaml", 1, 1), item) == {"resourceRef": named}

    @pytest.mark.parametrize(("index", "number"), [("3", 3), ("-1", 0), ("x", 0)])
    def test_an_index_that_is_no_number_counts_as_the_first(self, index: str, number: int) -> None:
        item = tracked(JOB, "a.yaml", 0)
        item["metadata"]["annotations"]["internal.config.kubernetes.io/index"] = index
        assert self.told(Location("a.yaml", 1, 1), item)["file"] == {"path": "a.yaml", "index": number}

    def test_a_place_where_no_field_begins_is_in_the_item_around_it(self) -> None:
        first, second = (self.told(Location("p.yaml", line, 99), *self.TWO) for line in (2, 99))
        assert (first["resourceRef"]["name"], second["resourceRef"]["name"]) == ("a", "b")
        assert "field" not in first

    def test_a_file_that_went(self, tmp_path: Path) -> None:
        assert result_fields(tmp_path, Location("p.yaml", 1, 1)) == {"file": {"path": "p.yaml", "index": 0}}
        write(tmp_path, {"p.yaml": f"{pool('a')}---\n{pool('b')}"})
        assert result_fields(tmp_path, Location("p.yaml", 99, 99)) == {"file": {"path": "p.yaml", "index": 1}}
