"""Tests whether every YAML reader gets the same data from the text that is passed on."""

from __future__ import annotations

import pytest

from kubectl_tas.compile.passthrough import reads_alike


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("a: |\n  x\ty\n", True),
        ("a: |\n  x\n   \n  y\n", True),
        ("a: |\n  x\n\t\n  y\n", False),
        ("a: |\t\n  x\n", False),
        ("a: >-\t# c\n  x\n", False),
        ("a: 'x\t'\n", True),
        ("a: 'x\n \t\n  y'\n", True),
        ("a:\tx\n", False),
    ],
)
def test_a_tab_that_readers_disagree_on(text: str, alike: bool) -> None:
    assert reads_alike(text) is alike
