"""Computes what an editor shows beside the text of a file: its outline, its links, the state of its work, hovers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.diagrams import FORMATS
from kubectl_tas.draw.gangfigure import figure, picture
from kubectl_tas.draw.verdicts import told
from kubectl_tas.editor.definition import Reference
from kubectl_tas.editor.project import Judgement
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, Amounts, said
from kubectl_tas.gangs.admission import answers
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.imports.adoption import adopt
from kubectl_tas.imports.written import Wishes
from kubectl_tas.load.document import Document
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report import style
from kubectl_tas.report.style import printable_lines
from kubectl_tas.report.text import plural, rule_page
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet, is_called
from kubectl_tas.resolve.named_at import strings
from kubectl_tas.resolve.pools import Submission

_NAMED_AT = (("metadata", "name"), ("workflow", "name"))
"""Paths of the name of a document."""


def hover_of_rules(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """Yields the page of the rule of each finding, as Markdown."""
    for rule in dict.fromkeys(finding.rule for finding in findings):
        yield rule_page(rule)


def hover_of_reference(reference: Reference, fleet: Fleet) -> Iterator[str]:
    """Yields the queue, quota and free amount of the referenced pool or subpool, as Markdown."""
    for account in accounts(fleet, None, archived=True):
        is_named = names.fold(account.name) == names.fold(reference.name)
        if is_named if reference.kind == "pool" else reference.kind == "queue" and account.queue == reference.name:
            yield _card(account, fleet.gap)


def hover_of_name(document: Document, path: KeyPath, fleet: Fleet) -> Iterator[str]:
    """Yields facts about the declared pool or subpool, or the verdict on the work, if ``path`` leads to its name."""
    if path not in _NAMED_AT:
        return
    location = document.locate(path)
    for submission in fleet.submissions:
        if submission.declared.at(*path) == location:
            try:
                yield _block(told(answers(fleet, [submission], None, None)))
            except TasError as error:
                yield _block(error.message)
    for account in accounts(fleet, None, archived=True):
        if (account.subpool or account.pool).declared.at(*path) == location:
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
    facts.append(("Declared", _said(account.used, limits=account.quota)))
    facts.append(("Left", _said(account.available, limits=account.quota)))
    facts.append(("Limit", _said(account.limit)))
    return _block(style.pairs(facts))


def _said(amounts: Amounts | None, limits: Amounts | None = None) -> str:
    """Formats GPUs, and other resources with a limit in ``limits`` or, without ``limits``, in the amounts."""
    if amounts is None:
        return "unknown"
    whole = amounts if limits is None else limits
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
    fields = document.data if isinstance(document.data, dict) else {}
    named: KeyPath = ("workflow", "name") if "workflow" in fields else ("metadata", "name")
    name = document.value(named)
    kind = "Workflow" if "workflow" in fields else fields.get("kind")
    return str(kind or ""), name if isinstance(name, str) else "", named


def _inside(node: Any, path: KeyPath) -> Iterator[Symbol]:
    for step, value in node.items() if isinstance(node, dict) else ():
        inner_path = (*path, step)
        if isinstance(value, list):
            for index, child in enumerate(value):
                name_keys = [key for key in _NAMES if isinstance(child, dict) and isinstance(child.get(key), str)]
                if name_keys:
                    below = tuple(_inside(child, (*inner_path, index)))
                    yield Symbol(
                        child[name_keys[0]], str(step), (*inner_path, index), (*inner_path, index, name_keys[0]), below
                    )
        elif isinstance(value, dict) and inner_path in _BY_KEY:
            yield from (Symbol(str(name), str(step), (*inner_path, name), (*inner_path, name)) for name in value)
        else:
            yield from _inside(value, inner_path)


def sent_by(judgement: Judgement, path: str, document: Document) -> Submission | None:
    """Returns the submission that a document declares, as of the last judgement."""
    kind, name, _ = identity(document)
    submissions = judgement.fleet.submissions_in([path], f"{kind}/{name}")
    named = (each for each in submissions if name and is_called(each.kind, each.name, f"{kind}/{name}"))
    return next(named, None)


def hint(judgement: Judgement, submission: Submission) -> str:
    """Returns a few words about the state of work."""
    return f"{plural(submission.gpus, 'GPU')}, {submission.queue}, {judgement.verdict(submission).outcome.upper()}"


def drawn(judgement: Judgement, path: str, work_name: str, output: str) -> str:
    """Draws the tree of constraints of the named work in a file, in one of FORMATS.
    Raises TasError if the file has no such work.
    """
    submissions = judgement.fleet.submissions_in([path], work_name)
    if not submissions:
        raise TasError(f"nothing is drawn of {work_name}", hint="Correct the errors of the file.")
    return FORMATS[output]([figure(picture(judgement.fleet, submission)) for submission in submissions])


def linked(judgement: Judgement, path: str, document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Yields the files of the repository that a document refers to, each with the path of the reference."""
    for where, link in strings(document.data):
        if where[-1] == "localpath":
            target = (PurePosixPath(path).parent / link).as_posix()
            if (judgement.root / target).resolve().is_relative_to(judgement.root.resolve()):
                yield where, target


_ADOPTED = ("other-queue", "workload-pool", "workload-conflict", "object-exported", "server-fields", "unknown-kind")
"""Rules whose findings work of another scheduler has."""
_MOST_POOLS = 10
"""The most pools for which an editor offers an action."""


def adoptions(judgement: Judgement, path: str, text: str, codes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields the title and the text of each way to adopt a file with findings of these rules: one way if the file says
    its pools, else one for each pool.
    """
    if not set(codes) & set(_ADOPTED):
        return
    fleet = judgement.fleet
    wishes = {"": Wishes(), **{f" for {name}": Wishes(name) for name in fleet.target_names()[:_MOST_POOLS]}}
    for title, wish in wishes.items():
        adopted = adopt({path: text}, fleet, wish)
        if adopted.texts.get(path, "").strip() and not adopted.refusals:
            yield f"Adopt the work of this file{title}", adopted.texts[path]
            if not title:
                return
