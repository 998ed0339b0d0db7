"""``kubectl tas fn``: runs as a KRM function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import Diagnostic, TasError
from kubectl_tas.base.folders import MEBIBYTE
from kubectl_tas.base.yaml import block
from kubectl_tas.cli.backends import chosen_backends
from kubectl_tas.cli.session import Session, check_source, open_session, read_stdin, show_findings
from kubectl_tas.cli.terminal import hand_over
from kubectl_tas.load.document import parse
from kubectl_tas.load.functioninput import (
    API_VERSION,
    KIND,
    FunctionInput,
    read_resource_list,
    result_fields,
)
from kubectl_tas.load.source import MemorySource, decode
from kubectl_tas.report.json import Place, results

if TYPE_CHECKING:
    from kubectl_tas.model.function import Function

Object = dict[str, Any]
MAX_LIST = 32 * MEBIBYTE
"""The most bytes of a ResourceList that are read."""


@click.command(epilog="Example: kubectl tas fn < resource-list.yaml")
def fn() -> int:
    """Run as a KRM function, which kustomize and kpt call.

    The functionConfig, of tas/v1alpha1, is a Render, which adds the manifests of a repository to the items, or a
    Validate, which changes none. spec.directory is the repository, a folder below that of the kustomization. Without
    it, the items are the repository, and Render replaces them by the manifests. Findings become results of the list.
    With errors, fn leaves the items unchanged and exits 1.
    """
    text, problem = decode("functionConfig", read_stdin(MAX_LIST))
    if problem is not None:
        raise TasError(f"the input is not text: {problem.message}")
    given = read_resource_list(text)
    if given.function is None:
        _write(given.items, given.problems, lambda _place: {})
        return 1
    directory = given.function.spec.directory
    if directory is None and not given.files:
        message = "there is no spec.directory, and no item is a Pool, a workload or another document"
        raise TasError(message, hint="Name the repository in spec.directory of the functionConfig.")
    if directory is not None:
        session = open_session(directory).with_emptiness()
    else:  # paths of items decide nothing, because they are annotations, which anyone can write
        session = check_source(Path.cwd(), MemorySource(given.files), partial(replace, has_folders=False))
    chosen_backends(session.fleet, given.function.spec.backend)
    place = given.described if directory is None else partial(result_fields, session.root)
    if session.failed() or given.function.kind == "Validate":
        _write(given.items, session.shown, place)
        return 1 if session.failed() else 0
    _write(_rendered(session, given, given.function), session.shown, place)
    return 0


def _rendered(session: Session, given: FunctionInput, function: Function) -> Sequence[Object]:
    """Returns the items with the manifests of one cluster, without the items that are the repository."""
    from kubectl_tas.cli.render import stream_of_backend  # only Render needs the compiler and its templates
    from kubectl_tas.load.functioninput import merged

    documents, problems = parse("manifests", "".join(stream_of_backend(session, function.spec.backend)))
    assert not problems, problems
    left = given.others if function.spec.directory is None else given.items
    return merged(left, given.items, [document.data for document in documents])


def _write(items: Sequence[Object], diagnostics: Sequence[Diagnostic], place: Place) -> None:
    """Prints the list to stdout, and the findings to stderr for the user of kustomize."""
    show_findings(diagnostics)
    found: Object = {"apiVersion": API_VERSION, "kind": KIND, "items": list(items)}
    hand_over(block({**found, "results": results(diagnostics, place)}))
