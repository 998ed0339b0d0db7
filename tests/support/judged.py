"""Judges a repository that is in memory: what ``validate`` says of it, line by line."""

from __future__ import annotations

from kubectl_tas.check.judging import counted_and_waived
from tests.support.cli import pool
from tests.support.fleets import judged_files


def told(files: dict[str, str]) -> list[str]:
    """Every finding of these files in one line each: its place, its rule, its message, and its hint."""
    judged = judged_files(files)
    counted, _ = counted_and_waived(judged.found, judged.fleet, None, complete=judged.complete)
    return [f"{item.location} {item.rule.code}: {item.message} ({item.hint})" for item in counted]


def told_of(text: str, spec: str = "", **config: str) -> list[str]:
    """What is said of the documents of one file, ``w.yaml``, beside the pool ``team``, which has what ``spec`` adds."""
    fields = "".join(f"  {name}: {value}\n" for name, value in config.items())
    declared = {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n{fields}"} if config else {}
    found = told({**declared, "pools/team.yaml": pool(spec=spec), "workflows/w.yaml": text})
    return [line.removeprefix("workflows/") for line in found]
