"""Computes what an editor shows beside the text of a file: its outline, its links, the state of its work, hovers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, TasError
from kubectl_tas.draw.diagrams import FORMATS
from kubectl_tas.draw.gangfigure import figure, picture
from kubectl_tas.draw.verdicts import told
from kubectl_tas.editor.definition import Reference
from kubectl_tas.editor.project import Judgement
from kubectl_tas.gangs.admission import answers
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.late import dataclass
from kubectl_tas.load.document import Document
from kubectl_tas.model.base import KeyPath
from kubectl_tas.quantities import NO_LIMIT, RESOURCES, Amounts, said
from kubectl_tas.report import style
from kubectl_tas.report.style import printable_lines
from kubectl_tas.report.text import plural, rule_page
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet, is_called
from kubectl_tas.resolve.named_at import strings
from kubectl_tas.resolve.pools import Submission

_NAMED_AT = (("metadata", "name"), ("workflow", "name"))
"""Paths of the name of a document."""


def hover_of_rules(found: Iterable[Diagnostic]) -> Iterator[str]:
    """Yields the page of the rule of each finding, as Markdown."""
    for rule in dict.fromkeys(item.rule for item in found):
        yield rule_page(rule)


def hover_of_reference(reference: Reference, fleet: Fleet) -> Iterator[str]:
    """Yields the queue, quota and free amount of the referenced pool or subpool, as Markdown."""
    for account in accounts(fleet, None, archived=True):
        own = names.fold(account.name) == names.fold(reference.name)
        if own if reference.what == "pool" else reference.what == "queue" and account.queue == reference.name:
            yield _card(account, fleet.gap)


def hover_of_name(document: Document, path: KeyPath, fleet: Fleet) -> Iterator[str]:
    """Yields facts about the declared pool or subpool, or the verdict on the work, if ``path`` leads to its name."""
    if path not in _NAMED_AT:
        return
    place = document.locate(path)
    for item in fleet.submissions:
        if item.declared.at(*path) == place:
            try:
                yield _block(told(answers(fleet, [item], None, None)))
            except TasError as error:
                yield _block(error.message)
    for account in accounts(fleet, None, archived=True):
        if (account.subpool or account.pool).declared.at(*path) == place:
            yield _card(account, fleet.gap)


def _card(account: Account, gap: str) -> str:
    facts = [("Pool", account.name), *((("Incomplete", gap),) if gap else ())]
    if account.state is not None:
        facts.append(("State", account.state))
    if account.queue is not None:
        facts.append(("Queue", account.queue))
    facts.append(("Quota", _said(account.quota)))
    if account.total is not None:
        facts.append(("In all", f"{_said(account.total)}, subpools and child pools included"))
    facts.append(("Declared", _said(account.used, of=account.quota)))
    facts.append(("Left", _said(account.available, of=account.quota)))
    facts.append(("Limit", _said(account.limit)))
    return _block(style.pairs(facts))


def _said(amounts: Amounts | None, of: Amounts | None = None) -> str:
    """Formats GPUs, and other resources that have a limit in ``of`` or, without ``of``, in the amounts themselves."""
    if amounts is None:
        return "unknown"
    whole = amounts if of is None else of
    return ", ".join(
        "no limit" if whole.of(name) == NO_LIMIT else said(name, amounts.of(name))
        for name in RESOURCES
        if name == "gpu" or whole.of(name) not in (0, NO_LIMIT)
    )


def _block(text: str) -> str:
    shown = printable_lines(text.rstrip())
    fence = "`" * (1 + max(map(len, ["``", *re.findall("`+", shown)])))
    return f"{fence}text\n{shown}\n{fence}"


_NAMES = ("name", "key", "domain")
"""Fields that name the items of lists."""
_BY_KEY = {("resources",), ("workflow", "resources"), ("spec", "platforms")}
"""Mappings in workflows and pools whose keys are names."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named part of a document."""

    name: str
    about: str
    path: KeyPath
    """Path of the mapping that the symbol stands for."""
    named: KeyPath
    """Path of the name; equal to ``path`` if the name is the key of the mapping."""
    children: tuple[Symbol, ...] = ()


def symbol(document: Document) -> Symbol:
    """Returns the symbol of a document, with the symbols in it."""
    kind, name, named = identity(document)
    return Symbol(name or kind or "document", kind, (), named, tuple(_inside(document.data, ())))


def identity(document: Document) -> tuple[str, str, KeyPath]:
    """Returns the kind, the name and the path of the name of a document; empty strings if it has none."""
    data = document.data if isinstance(document.data, dict) else {}
    named: KeyPath = ("workflow", "name") if "workflow" in data else ("metadata", "name")
    name = document.value(named)
    kind = "Workflow" if "workflow" in data else data.get("kind")
    return str(kind or ""), name if isinstance(name, str) else "", named


def _inside(data: Any, path: KeyPath) -> Iterator[Symbol]:
    for step, value in data.items() if isinstance(data, dict) else ():
        here = (*path, step)
        if isinstance(value, list):
            for index, item in enumerate(value):
                found = [key for key in _NAMES if isinstance(item, dict) and isinstance(item.get(key), str)]
                if found:
                    below = tuple(_inside(item, (*here, index)))
                    yield Symbol(item[found[0]], str(step), (*here, index), (*here, index, found[0]), below)
        elif isinstance(value, dict) and here in _BY_KEY:
            yield from (Symbol(str(name), str(step), (*here, name), (*here, name)) for name in value)
        else:
            yield from _inside(value, here)


def sent_by(judgement: Judgement, path: str, document: Document) -> Submission | None:
    """Returns the submission that a document declares, as of the last judgement."""
    kind, name, _ = identity(document)
    there = judgement.fleet.submissions_in([path], f"{kind}/{name}")
    return next((item for item in there if name and is_called(item.kind, item.name, f"{kind}/{name}")), None)


def hint(judgement: Judgement, item: Submission) -> str:
    """Returns a few words about the state of work."""
    return f"{plural(item.gpus, 'GPU')}, {item.queue}, {judgement.verdict(item).outcome.upper()}"


def drawn(judgement: Judgement, path: str, wanted: str, output: str) -> str:
    """Draws the tree of constraints of the named work in a file, in one of FORMATS.
    Raises TasError if the file has no such work.
    """
    found = judgement.fleet.submissions_in([path], wanted)
    if not found:
        raise TasError(f"nothing is drawn of {wanted}", hint="Correct the errors of the file.")
    return FORMATS[output]([figure(picture(judgement.fleet, item)) for item in found])


def linked(judgement: Judgement, path: str, document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Yields the files of the repository that a document refers to, each with the path of the reference."""
    for where, written in strings(document.data):
        if where[-1] == "localpath":
            found = (PurePosixPath(path).parent / written).as_posix()
            if (judgement.root / found).resolve().is_relative_to(judgement.root.resolve()):
                yield where, found
