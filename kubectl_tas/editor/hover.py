"""Renders the text of a hover: the rule of a finding, the queue of a pool, or the verdict on a submission."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubectl_tas.diagnostics import Diagnostic, TasError
from kubectl_tas.draw.verdicts import told
from kubectl_tas.editor.definition import Reference
from kubectl_tas.gangs.admission import answers
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.load.document import Document
from kubectl_tas.model.base import KeyPath
from kubectl_tas.quantities import NO_LIMIT, RESOURCES, Amounts, said
from kubectl_tas.report import style
from kubectl_tas.report.style import printable_lines
from kubectl_tas.report.text import rule_page
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

_NAMES = (("metadata", "name"), ("workflow", "name"))
"""Paths of the name of a document."""


def of_rules(found: Iterable[Diagnostic]) -> Iterator[str]:
    """Yields the page of the rule of each finding, as Markdown."""
    for rule in dict.fromkeys(item.rule for item in found):
        yield rule_page(rule)


def of_reference(reference: Reference, fleet: Fleet) -> Iterator[str]:
    """Yields the queue, quota and free amount of the referenced pool or subpool, as Markdown."""
    for account in accounts(fleet, None, archived=True):
        own = names.fold(account.name) == names.fold(reference.name)
        if own if reference.what == "pool" else reference.what == "queue" and account.queue == reference.name:
            yield _card(account)


def of_name(document: Document, path: KeyPath, fleet: Fleet) -> Iterator[str]:
    """Yields facts about the declared pool or subpool, or the verdict on the work, if ``path`` leads to its name."""
    if path not in _NAMES:
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
            yield _card(account)


def _card(account: Account) -> str:
    facts = [("Pool", account.name)]
    if account.state is not None:
        facts.append(("State", account.state))
    if account.queue is not None:
        facts.append(("Queue", account.queue))
    facts.append(("Quota", _said(account.quota)))
    if account.total is not None:
        facts.append(("In all", f"{_said(account.total)}, subpools and child pools included"))
    if account.used is not None:
        facts.append(("Declared", _said(account.used, of=account.quota)))
    if account.available is not None:
        facts.append(("Left", _said(account.available, of=account.quota)))
    facts.append(("Limit", _said(account.limit)))
    return _block(style.pairs(facts))


def _said(amounts: Amounts, of: Amounts | None = None) -> str:
    """Formats GPUs, and other resources that have a limit in ``of`` or, without ``of``, in the amounts themselves."""
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
