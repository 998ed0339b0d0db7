"""Checks the names of work and of its parts, by the page of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.check.object_names import NAME_INVALID
from kubectl_tas.facts.spellings import TEMPLATED
from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.naming import ANY, Alphabet, Naming, PartNaming
from kubectl_tas.kinds.section import Document, path_steps, values_at
from kubectl_tas.load.schema import INVALID_VALUE
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_NAME
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.workloads import Workload


def check_kind_names(declared: Declared[Workload] | Declared[CliqueSet], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the names of a workload or a PodCliqueSet, and of its parts."""
    spec, document, taken = declared.spec, declared.origin.data, declared.spec.page.names
    kind, name = spec.kind, spec.metadata.name
    release = fleet.config.operators.get(kubernetes.operator_of(spec.apiVersion, document["kind"]) or "")
    yield from _of_work(declared, kind, name, [naming for naming in taken.work if _holds(naming, document, release)])
    for part_naming in taken.parts:
        for path, value in values_at(document, path_steps(part_naming.path)):
            written_name = path[-1] if part_naming.is_key else value
            if isinstance(written_name, str) and written_name:
                yield from _of_part(declared, part_naming, path, written_name)


def _holds(row: Naming, document: Document, release: str | None) -> bool:
    return not kubernetes.is_older(release, row.since) and row.only(document)


def _of_work(declared: Declared[Any], kind: str, name: str, rows: list[Naming]) -> Iterator[Diagnostic]:
    """Reports the first reason why a name is refused."""
    path = ("metadata", "name")
    if len(name) > MAX_NAME:
        message = f"the {kind} name has {len(name)} characters, more than the {MAX_NAME} of a Kubernetes name"
        yield Diagnostic(NAME_INVALID, message, declared.at(*path), hint="Shorten it.")
        return
    for row in rows or ANY.work:
        added = row.added(declared.origin.data)
        most = row.longest - len(added)
        if not row.alphabet.has(name):
            message = f'the {kind} name "{name}" must be {row.alphabet.value[1]}: {row.reason}'
            yield Diagnostic(NAME_INVALID, message, declared.at(*path), hint=_example(name, row.alphabet))
            return
        if len(name) > most:
            behind = f', and "{added}" follows' if added else ""
            message = f"the name of a {kind} may have {most} characters here, not {len(name)}: {row.reason}{behind}"
            yield Diagnostic(INVALID_VALUE, message, declared.at(*path), hint=f"Cut {len(name) - most} from it.")
            return


def _of_part(declared: Declared[Any], part_naming: PartNaming, path: KeyPath, name: str) -> Iterator[Diagnostic]:
    location = declared.origin.locate(path, key=part_naming.is_key)
    if not part_naming.alphabet.has(name.lower() if part_naming.is_folded else name):
        message = (
            f'the {part_naming.part_name} name "{name}" must be {part_naming.alphabet.value[1]}: {part_naming.reason}'
        )
        yield Diagnostic(NAME_INVALID, message, location, hint=_example(name, part_naming.alphabet))
    elif len(name) > part_naming.longest:
        message = (
            f"the {part_naming.part_name} name has {len(name)} characters, more than {part_naming.longest}: "
            f"{part_naming.reason}"
        )
        yield Diagnostic(INVALID_VALUE, message, location, hint=f"Cut {len(name) - part_naming.longest} from it.")


def _example(name: str, alphabet: Alphabet) -> str:
    """Returns a hint with a name that the alphabet allows."""
    if "{{" in name:
        return TEMPLATED
    kept_characters = "." if alphabet is Alphabet.SUBDOMAIN else ""
    suggestion = re.sub(rf"[^a-z0-9{kept_characters}]+", "-", name.lower()).strip("-.")
    if alphabet is Alphabet.SERVICE and suggestion[:1].isdigit():
        suggestion = f"x-{suggestion}"
    return f"For example: {suggestion}." if alphabet.has(suggestion) else "Choose another name."
