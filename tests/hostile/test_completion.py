"""Tests TAB in a hostile folder: it answers at once, and reads nothing outside of the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.load import outline
from tests.support.cli import pool, write
from tests.support.process import call

POOL = "kind: Pool\nmetadata: {name: a}\nspec:\n  "
FLOODS = {
    "a line of spaces in the settings": ("tas.yaml", f"kind: Config\nspec:\n{' ' * 200_000}x"),
    "a line of commas in the settings": ("tas.yaml", f"kind: Config\nspec: {{{',' * 200_000}"),
    "backends within one another": (
        "tas.yaml",
        f"spec:\n  backends:\n  - name: b\n    x{': {a' * 20_000}{'}' * 20_000}\n",
    ),
    "backends without an end": ("tas.yaml", f"spec:\n  backends: {'[' * 200_000}"),
    "spaces behind a quota": ("pools/a.yaml", f"{POOL}quota:{' ' * 200_000}x"),
    "braces behind a guarantee": ("pools/a.yaml", f"{POOL}guarantee:{'{ ' * 100_000}x"),
    "a key that comes again and again": ("pools/a.yaml", f"{POOL}{'quota: gpu' * 100_000}"),
    "spaces behind a name": ("pools/a.yaml", f"kind: Pool\nmetadata:{' ' * 200_000}name:{' ' * 200_000}x"),
    "comments": ("pools/a.yaml", f"{POOL}{' #' * 200_000}"),
    "documents": ("pools/a.yaml", "---\n" * 200_000),
    "kinds": ("pools/a.yaml", f"kind: PoolList\n{'kind: Pool ' * 100_000}"),
}


def offered(*words: str, cwd: Path) -> list[str]:
    """What is offered. A text that makes it wait would take longer than ``call`` waits."""
    result = call("kubectl_complete-tas", *words, cwd=cwd)
    assert (result.code, result.err) == (0, "")
    return [line.partition("\t")[0] for line in result.out.splitlines()[:-1]]


@pytest.mark.parametrize("name", FLOODS)
def test_no_text_makes_it_wait(name: str, repository: Path) -> None:
    path, text = FLOODS[name]
    write(repository, {"tas.yaml": "kind: Config\n", "pools/b.yaml": pool("b"), path: text})
    assert "b" in offered("pool", "describe", "", cwd=repository)
    offered("render", "--backend", "", cwd=repository)


@pytest.mark.parametrize("folder", ["{outside}", "../outside", "pools/../../outside", "linked"])
def test_what_lies_outside_is_not_looked_at(folder: str, repository: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"theirs.yaml": pool("theirs")})
    folder = folder.format(outside=outside)
    write(repository, {"tas.yaml": f'spec: {{sources: [pools, "{folder}"]}}\n', "pools/b.yaml": pool("b")})
    (repository / "linked").symlink_to(outside)
    (repository / "pools/linked.yaml").symlink_to(outside / "theirs.yaml")
    assert offered("pool", "describe", "", cwd=repository) == ["b"]


def test_a_link_inside_is_followed(repository: Path) -> None:
    write(repository, {"tas.yaml": "kind: Config\n", "shared/b.yaml": pool("b"), "pools/a.yaml": pool("a")})
    (repository / "pools/b.yaml").symlink_to("../shared/b.yaml")
    (repository / "subpools").symlink_to("shared")
    assert offered("pool", "describe", "", cwd=repository) == ["a", "b", "b"]


def test_so_many_bytes_are_read_and_no_more(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"tas.yaml": "", **{f"pools/{name}.yaml": pool(name) for name in "abcde"}})
    monkeypatch.setattr(outline, "_MAX_TOTAL", 3 * len(pool("a")))
    assert [item.name for item in outline.outline(str(repository), ["Pool"])] == ["a", "b", "c"]
