"""Tests the outline of a repository that completion makes without parsing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.kinds import BY_NAME
from kubectl_tas.load.outline import OutlineDocument, backends, outline, refs
from tests.support.cli import pool, subpool, write
from tests.support.golden import EXAMPLES
from tests.support.history import commit, git

SUBMISSIONS = ["Workflow", "PodCliqueSet", "PodGroup", *BY_NAME]


def names(root: Path) -> list[tuple[str, str]]:
    return [(item.kind, item.name) for item in outline(str(root), ["Pool", "Workflow"])]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata:\n  name: a\n",
        "kind: Pool\nmetadata:\n  labels:\n    app.kubernetes.io/name: x\n  name: 'a'\n",
        '{"kind": "Pool", "metadata": {"name": "a"}}',
        '{\n  "apiVersion": "tas/v1alpha1",\n  "kind": "Pool",\n  "metadata": {\n    "name": "a"\n  }\n}\n',
        "{kind: Pool, metadata: {name: a}}",
        "# kind: Job\nkind: Pool # the kind\r\nmetadata: {name: a} # name: b\r\n",
        "metadata: {name: a}\nkind: Pool\n",
        "kind: List\nitems:\n- kind: Job\n  metadata: {name: j}\n- kind: Pool\n  metadata:\n    name: a\n",
        "---\n# nothing\n---\nkind: Pool\nmetadata: {name: a}\n--- # end\n",
        "kind: Pool\nmetadata: {name: a}\nworkflow: {name: b}\n",
    ],
)
def test_layouts(repository: Path, text: str) -> None:
    (repository / "pools").mkdir()
    (repository / "pools/a.yaml").write_bytes(text.encode())
    assert names(repository) == [("Pool", "a")]


def test_a_workflow_may_hold_manifests_in_its_files(repository: Path) -> None:
    text = "workflow:\n  name: w\n  tasks:\n  - name: t\n    files: [{contents: 'kind: Job'}]\n"
    write(repository, {"workflows/w.yaml": text, "workflows/w.json": '{"workflow": {"name": "j"}}'})
    assert names(repository) == [("Workflow", "j"), ("Workflow", "w")]


def test_fields(repository: Path) -> None:
    spec = '  quota: {gpu: 5, cpu: "3"}\n'
    write(repository, {"subpools/a.yaml": subpool("a", 5, state="ARCHIVED").replace("  quota: 5\n", spec)})
    (found,) = outline(str(repository), ["Subpool"])
    assert found.fields == {"parent": "team", "state": "ARCHIVED", "quota": "5"}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ("  quota: 33%\n  description: All of it # x\n", {"quota": "33%", "description": "All of it"}),
        ("  resources:\n    gpu:\n      guarantee: 8\n      maximum: 9\n", {"guarantee": "8"}),
        ("  guarantee: {cpu: 1}\n  description: 'one, two'\n", {"description": "one, two"}),
        ('  "parent": "a/b.c-d"\n  quota: {"gpu": "5"}\n', {"parent": "a/b.c-d", "quota": "5"}),
    ],
)
@pytest.mark.parametrize("kind", ["Pool", "Subpool"])
def test_fields_of_pools(repository: Path, kind: str, spec: str, fields: dict[str, str]) -> None:
    write(repository, {"pools/a.yaml": f"kind: {kind}\nmetadata: {{name: a}}\nspec:\n{spec}"})
    assert [*outline(str(repository), ["Pool", "Subpool"])] == [OutlineDocument(kind, "a", "pools/a.yaml", fields)]


def test_other_kinds_have_no_fields(repository: Path) -> None:
    write(repository, {"pools/a.yaml": "kind: Job\nmetadata: {name: a}\nspec: {parent: b}\n"})
    assert [*outline(str(repository), ["Job"])] == [OutlineDocument("Job", "a", "pools/a.yaml", {})]
    assert [*outline(str(repository), ["Pool"])] == []


@pytest.mark.parametrize(("bound", "most"), [("_MAX_FILES", 2), ("_MAX_TOTAL", 2 * len(pool("a")))])
def test_a_large_repository_is_read_in_part(
    repository: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    write(repository, {f"pools/{name}.yaml": pool(name) for name in "abc"})
    assert len(names(repository)) == 3
    monkeypatch.setattr(f"kubectl_tas.load.outline.{bound}", most)
    assert len(names(repository)) == 2


def test_a_large_file_is_read_in_part(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"pools/a.yaml": f"{pool('a')}---\n{pool('b')}"})
    monkeypatch.setattr("kubectl_tas.load.outline._MAX_BYTES", len(pool("a")) + 10)
    assert names(repository) == [("Pool", "a")]


@pytest.mark.parametrize(
    "sources",
    [
        "[gpu, ./work/]",
        "\n  - gpu\n  - 'work'  # also",
        "\n    - gpu\n    - work",
        "\n  - gpu\n  - work\nmore:\n- pools",
    ],
)
def test_sources_of_the_config(repository: Path, sources: str) -> None:
    config = f"kind: Config\nspec:\n  sources: {sources}\n  output: gpu/out\n"
    files = {
        f"{folder}/x.yaml": pool(f"p{number}") for number, folder in enumerate(("gpu", "work", "pools", "gpu/out"))
    }
    write(repository, {"tas.yaml": config, "gpu/.hidden/x.yaml": pool("h"), "gpu/x.txt": pool("t"), **files})
    assert names(repository) == [("Pool", "p0"), ("Pool", "p1")]


def test_a_list_that_is_being_typed(repository: Path) -> None:
    write(repository, {"tas.yaml": "kind: Config\nspec:\n  sources: [gpu, work", "gpu/x.yaml": pool("p0")})
    assert names(repository) == [("Pool", "p0")]


def test_the_root_itself_as_a_source(repository: Path) -> None:
    config = "kind: Config\nspec: {sources: [.]}\n"
    files = dict.fromkeys((".hidden.yaml", ".git/x.yaml", "manifests/x.yaml"), pool("no"))
    write(repository, {"tas.yaml": config, "team.yaml": pool("a"), "teams/x.yaml": pool("b"), **files})
    assert names(repository) == [("Pool", "a"), ("Pool", "b")]
    assert {item.path for item in outline(str(repository), ["Pool"])} == {"team.yaml", "teams/x.yaml"}


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    config = "kind: Config\nspec: {sources: [../outside, ../root-2, link, pools]}\n"
    write(tmp_path, {"root/tas.yaml": config, "outside/x.yaml": pool("a"), "root-2/x.yaml": pool("b")})
    write(tmp_path, {"root/pools/x.yaml": pool("c")})
    (tmp_path / "root/link").symlink_to("../outside")
    (tmp_path / "root/pools/y.yaml").symlink_to("../../outside/x.yaml")
    assert names(tmp_path / "root") == [("Pool", "c")]


@pytest.mark.parametrize(
    "listed",
    [
        "[{name: east, rootQueue: {name: r}}, {name: west}]",
        "\n  - name: east\n    rootQueue:\n      name: r\n  - name: west\n",
        "\n    - {name: east, scheduler: {name: s}}\n    - {name: west}\n",
    ],
)
def test_backends(repository: Path, listed: str) -> None:
    write(repository, {"tas.yaml": f"kind: Config\nspec:\n  backends: {listed}\n  output: out\n"})
    assert backends(str(repository)) == ["east", "west"]


def test_what_cannot_be_read_is_passed_over(repository: Path) -> None:
    write(repository, {"pools/a.yaml": pool("a")})
    (repository / "pools/b.yaml").symlink_to("nowhere")
    (repository / "pools/c.yaml").mkdir()
    (repository / "pools/d.yaml").write_bytes(b"\xff\x00")
    assert names(repository) == [("Pool", "a")]
    assert list(outline("/nonexistent", ["Pool"])) == []
    assert backends("/nonexistent") == []


@pytest.mark.parametrize("example", ["company", "quickstart", "heterogeneous", "use-cases", "workloads"])
def test_sees_what_is_declared(example: str) -> None:
    """Documents of the examples are seen as they are when they are parsed."""
    from kubectl_tas.cli.session import open_session

    fleet = open_session(str(EXAMPLES / example)).fleet
    found = list(outline(str(EXAMPLES / example), ["Pool", "Subpool", *SUBMISSIONS]))
    assert {item.name for item in found if item.kind == "Pool"} == {pool.name for pool in fleet.pools}
    assert {item.name for item in fleet.submissions} <= {item.name for item in found}
    states = {
        (item.fields["parent"], item.name): item.fields.get("state", "ACTIVE")
        for item in found
        if item.kind == "Subpool"
    }
    assert states == {(sub.pool, sub.name): sub.state for pool in fleet.pools for sub in pool.subpools}


class TestRefs:
    def test_branches_and_tags(self, repository: Path) -> None:
        commit(repository)
        git(repository, "branch", "feature/a")
        git(repository, "tag", "v1")
        git(repository, "pack-refs", "--all")
        git(repository, "branch", "loose")
        (repository / "inner").mkdir()
        expected = {
            "HEAD": "what is checked out",
            "feature/a": "branch",
            "loose": "branch",
            "main": "branch",
            "v1": "tag",
        }
        assert refs(str(repository / "inner")) == expected

    def test_linked_work_tree(self, repository: Path, tmp_path: Path) -> None:
        commit(repository)
        git(repository, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
        assert set(refs(str(tmp_path / "tree"))) == {"HEAD", "main", "other"}

    def test_branches_of_a_remote(self, repository: Path) -> None:
        write(repository, {".git/refs/remotes/origin/HEAD": "", ".git/refs/remotes/origin/main": ""})
        assert refs(str(repository)) == {"HEAD": "what is checked out", "origin/main": "remote branch"}

    def test_no_repository(self, repository: Path) -> None:
        assert refs(str(repository)) == {}
