"""Tests that validate, check and render agree on a repository that declares nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  queuePrefix: acme\n"
MESSAGE = "error: nothing that can be rendered is declared"
TEMPLATE = "apiVersion: tas/v1alpha1\nkind: PodTemplate\nmetadata: {name: big}\ntemplate: {spec: {}}\n"


@pytest.mark.parametrize(
    "files",
    [
        {"tas.yaml": CONFIG},
        {"tas.yaml": CONFIG, "pools/.keep": ""},
        {"tas.yaml": CONFIG, "pools/team.yaml": "# to do\n"},
        {"tas.yaml": CONFIG, "pools/big.yaml": TEMPLATE},
        {"pools/big.yaml": TEMPLATE},
    ],
)
def test_no_gate_is_green_where_render_fails(repository: Path, files: dict[str, str]) -> None:
    write(repository, files)
    assert kubectl_tas("render", "-C", repository).code == 3
    for command in ("validate", "check"):
        result = kubectl_tas(command, "-C", repository)
        assert (result.code, MESSAGE in result.out + result.err) == (1, True)
    assert kubectl_tas("render", "-C", repository, "--allow-empty").code == 0


def test_the_folders_that_are_not_there_are_named(repository: Path) -> None:
    write(repository, {"tas.yaml": f"{CONFIG}  sources: [gpus, work]\n", "gpus/.keep": ""})
    result = kubectl_tas("validate", "-C", repository)
    assert 'the folder "work" does not exist [source-missing]' in result.out
    assert "nothing-declared" not in result.out, "one cause is one finding"
    write(repository, {"tas.yaml": CONFIG, "pools/.keep": "", "subpools/.keep": "", "workflows/.keep": ""})
    result = kubectl_tas("validate", "-C", repository)
    assert f"{MESSAGE} below pools, subpools, workflows; topologies is not there [nothing-declared]" in result.out
    for name in ("pools", "subpools", "workflows"):
        shutil.rmtree(repository / name)
    result = kubectl_tas("validate", "-C", repository)
    assert f"{MESSAGE}; pools, subpools, topologies, workflows are not there [nothing-declared]" in result.out
    assert "kubectl tas init" in result.out


def test_a_repository_that_is_empty_on_purpose_says_so(repository: Path) -> None:
    write(repository, {"tas.yaml": f"{CONFIG}  rules: {{nothing-declared: info}}\n"})
    for command in ("validate", "render", "check"):
        assert kubectl_tas(command, "-C", repository).code == 0


def test_the_base_decides_whether_all_may_go(repository: Path) -> None:
    write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
    commit(repository)
    (repository / "pools/team.yaml").unlink()
    write(repository, {"tas.yaml": f"{CONFIG}  rules: {{nothing-declared: off, pool-gone: off}}\n"})
    result = kubectl_tas("validate", "-C", repository, "--base", "HEAD")
    assert (result.code, MESSAGE in result.out) == (1, True)


def test_what_cannot_be_read_may_declare_something(repository: Path) -> None:
    write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": "kind: ["})
    assert MESSAGE not in kubectl_tas("validate", "-C", repository).out


def test_other_commands_have_nothing_to_say(repository: Path) -> None:
    write(repository, {"tas.yaml": CONFIG})
    for command in (("pool", "list"), ("workflow", "list")):
        assert kubectl_tas(*command, "-C", repository).code == 0


def test_what_init_writes_is_not_empty(tmp_path: Path) -> None:
    assert kubectl_tas("init", tmp_path / "new").code == 0
    result = kubectl_tas("validate", "-C", tmp_path / "new", "--strict")
    assert (result.code, result.err) == (0, "")
