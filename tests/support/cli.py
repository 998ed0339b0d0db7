"""Runs the command line in this process, and builds repositories to run it on."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas.cli.main import run


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def kubectl_tas(*arguments: str | Path, cwd: Path | None = None) -> Result:
    """Runs ``kubectl tas ARGUMENTS`` in the folder ``cwd``; returns its output and exit code."""
    out, err = io.StringIO(), io.StringIO()
    inside = contextlib.chdir(cwd) if cwd else contextlib.nullcontext()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), inside:
        code = run([str(argument) for argument in arguments], "kubectl tas")
    return Result(code, out.getvalue(), err.getvalue())


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes ``files``, text by path, below ``root``."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def pool(name: str = "team", guarantee: int = 100, spec: str = "") -> str:
    """Returns a Pool document. ``spec`` is YAML for further fields, indented by two spaces."""
    return f"""\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: {name}
spec:
  resources:
    gpu:
      guarantee: {guarantee}
{spec}"""


def subpool(name: str, quota: int | str, parent: str = "team", state: str = "ACTIVE") -> str:
    """Returns a Subpool document."""
    return f"""\
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: {name}
spec:
  parent: {parent}
  quota: {quota}
  state: {state}
"""
