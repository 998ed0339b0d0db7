"""Tests that no PriorityClass may change its priority since an earlier revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit

RULE = "priority-class-changed"


def config(**classes: str) -> str:
    """A Config that names these PriorityClasses."""
    lines = "".join(f"\n    {priority}: {name}" for priority, name in classes.items())
    return f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  priorityClasses:{lines}\n"


def found(root: Path, before: str | None, after: str | None) -> list[str]:
    """What ``validate --base`` says of a change of tas.yaml; None: there is none."""
    for text in (before, after):
        (root / "tas.yaml").unlink(missing_ok=True)
        write(root, {"pools/team.yaml": pool(), **({"tas.yaml": text} if text else {})})
        if text is before:
            commit(root)
    return kubectl_tas("validate", "-C", root, "--base", "HEAD").out.split("\n\n")


DEFAULTS = config(HIGH="osmo-high", NORMAL="osmo-normal", LOW="osmo-low")
ALLOWED = {
    "new-names": (None, config(HIGH="a", NORMAL="b", LOW="c")),
    "defaults-written-out": (None, DEFAULTS),
    "defaults-left-out": (DEFAULTS, None),
    "one-renamed": (DEFAULTS, config(HIGH="urgent")),
    "one-renamed-back": (config(HIGH="urgent"), None),
}


@pytest.mark.parametrize("change", ALLOWED)
def test_allowed(repository: Path, change: str) -> None:
    before, after = ALLOWED[change]
    assert found(repository, before, after) == [
        f"No problems found in {2 if after else 1} file{'s' if after else ''}.\n"
    ]


def test_swapped(repository: Path) -> None:
    first, second, *_ = found(repository, config(HIGH="a", NORMAL="b"), config(HIGH="b", NORMAL="a"))
    assert first.startswith(
        'tas.yaml:5:11: error: the PriorityClass "b" goes from NORMAL, value 100, to HIGH, value 125'
    )
    assert "note: NORMAL at HEAD (tas.yaml:6:13)" in first
    assert second.startswith('tas.yaml:6:13: error: the PriorityClass "a" goes from HIGH, value 125, to NORMAL')


def test_moved_to_another_priority(repository: Path) -> None:
    (only, *_) = found(repository, None, config(HIGH="urgent", NORMAL="osmo-high"))
    assert only.startswith('tas.yaml:6:13: error: the PriorityClass "osmo-high" goes from HIGH')


def test_back_to_the_defaults(repository: Path) -> None:
    """The Config that says so is gone, so there is no place to show but that of before."""
    (only, *_) = found(repository, config(HIGH="urgent", NORMAL="osmo-high"), None)
    assert only.startswith('error: the PriorityClass "osmo-high" goes from NORMAL, value 100, to HIGH, value 125')
    assert "note: NORMAL at HEAD (tas.yaml:6:13)" in only


def test_config_that_cannot_be_read(repository: Path) -> None:
    """What it says is not known, so the defaults are not taken for it."""
    broken = config(HIGH="osmo-low", NORMAL="osmo-high") + "  unknown: 1\n"
    swapped = config(HIGH="osmo-low", LOW="osmo-high")
    assert RULE not in str(found(repository, broken, swapped))
    assert "[base-unread]" in str(found(repository, broken, swapped))
    assert RULE not in str(found(repository, swapped, broken))


def test_another_file_that_cannot_be_read(repository: Path) -> None:
    """What the Config says is known all the same."""
    write(repository, {"workflows/w.yaml": "workflow: {}\n"})
    said = str(found(repository, config(HIGH="a", NORMAL="b"), config(HIGH="b", NORMAL="a")))
    assert RULE in said
    assert "[base-unread]" in said


def test_nothing_was_declared(repository: Path) -> None:
    """Then no PriorityClass was made."""
    write(repository, {"tas.yaml": config(HIGH="a", NORMAL="b")})
    commit(repository)
    write(repository, {"tas.yaml": config(HIGH="b", NORMAL="a"), "pools/team.yaml": pool()})
    assert kubectl_tas("validate", "-C", repository, "--base", "HEAD").code == 0
