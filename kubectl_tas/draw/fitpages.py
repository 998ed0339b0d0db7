"""Renders answers of ``fit``: a few lines about each gang, or JSON data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kubectl_tas.place import solver
from kubectl_tas.place.answers import Fit, FitOutcome, Spread, lacks_text, place_name
from kubectl_tas.place.node_resources import Domain
from kubectl_tas.report import style
from kubectl_tas.report.text import plural

_SHOWN = 4
"""Maximum number of domains that are shown for a SubGroup."""
_EXISTS = {
    FitOutcome.FITS: "yes",
    FitOutcome.MISSED: "yes",
    FitOutcome.NO_ROOM: "no",
    FitOutcome.UNKNOWN: "not known",
}
_FOUND = {
    FitOutcome.MISSED: "no: KAI places groups alphabetically, without backtracking",
    FitOutcome.NO_ROOM: "no",
    FitOutcome.UNKNOWN: "no",
}


def render(answers: Sequence[Fit], node_options: str) -> str:
    """Renders the facts about each answer. ``node_options`` names the source of the nodes."""
    return "\n".join(style.pairs(about(answer, node_options)) for answer in answers)


def about(answer: Fit, node_options: str) -> list[tuple[str, str]]:
    """Returns all facts about an answer, first the work and gang that the answer is about."""
    gang, pods = answer.gang, answer.to_place.copies * answer.gang.pods
    facts = [
        (answer.sent.kind, answer.sent.name),
        *([] if answer.sent.kind == gang.kind else [(gang.kind, gang.name)]),
        ("Asks", _asks(answer)),
        ("Nodes", nodes_text(answer.nodes, answer.unusable)),
    ]
    if answer.running:
        facts.append(("Runs", f"{answer.running} of {plural(pods, 'pod')} are on nodes already"))
    if answer.outcome is FitOutcome.RUNS:
        return facts
    if answer.copies < answer.to_place.copies:
        facts.append(
            ("Waits", f"{plural(answer.copies, 'gang')} of {answer.to_place.copies}, for which this is the answer")
        )
    if answer.waits_for and answer.to_place.order is not None:
        facts.append(("Waits for", f"{', '.join(answer.waits_for)} to start: {answer.to_place.order.why}"))
    facts.append(("A placement exists", _EXISTS[answer.outcome]))
    facts.append(("KAI finds it", "no" if answer.not_tried else _FOUND.get(answer.outcome, "yes")))
    facts += [(f"  {name}", _places(counts)) for name, counts in answer.placed.items()]
    facts += [("Not kept", _spread(answer, spread)) for spread in answer.spreads]
    if answer.outcome is not FitOutcome.FITS:
        facts += [("Why", answer.why), ("Room", _room(answer))]
    if answer.lacks:
        facts.append(("Lacks", lacks_text(answer.lacks)))
    facts += [("Helps" if not index else "or", change.text) for index, change in enumerate(answer.changes)]
    if answer.outcome is FitOutcome.UNKNOWN and not solver.is_installed():
        facts.append(("Solver", "none; ortools is one, which tells of pods that differ too"))
    if answer.outcome is not FitOutcome.FITS and not answer.changes:
        command = f"kubectl tas fit {answer.sent.name}{node_options} --grow"
        facts.append(("Helps", f"no smaller change that was tried; more nodes: {command}"))
        if answer.outcome is FitOutcome.NO_ROOM and not solver.is_installed():
            facts.append(("or", "ask with a solver which nodes to free: pip install ortools"))
    return facts


def _asks(answer: Fit) -> str:
    gang, copies = answer.gang, answer.to_place.copies
    each = f"{plural(gang.pods, 'pod')} with {plural(gang.gpus, 'GPU')}"
    starts = f"; starts with {answer.starts_with}" if answer.starts_with != gang.pods else ""
    return f"{each}{starts}" if copies == 1 else f"{plural(copies, 'gang')}, each of {each}{starts}"


def nodes_text(nodes: int, unusable: Mapping[str, int]) -> str:
    """Says how many of the nodes can be used, and why others cannot. ``unusable`` counts those by reason."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in unusable.items())
    return f"{nodes - sum(unusable.values())} of {nodes} can be used" + (f"; {reasons}" if reasons else "")


def _places(counts: dict[Domain | None, int]) -> str:
    shown = [f"{place_name(domain)} ({count})" for domain, count in list(counts.items())[:_SHOWN]]
    hidden = [f"{plural(len(counts) - _SHOWN, 'more domain')}"] if len(counts) > _SHOWN else []
    return ", ".join((*shown, *hidden))


def level_words(key: str, domain: Domain | None) -> tuple[str, ...]:
    """Returns the level to print before a domain's name; empty if the name contains the level, as in zone-1."""
    is_said = domain and re.match(rf"{re.escape(key)}[^a-z]", domain[-1], re.IGNORECASE)
    return () if is_said else (key,)


def _spread(answer: Fit, spread: Spread) -> str:
    unit_name = "the gang" if spread.unit == answer.gang.name else spread.unit
    return f"{unit_name} prefers one {spread.level.key}, and is in {spread.domains}"


def _room(answer: Fit) -> str:
    """Says how many pods the best domain of each level has room for."""
    pods = plural(answer.copies * answer.starts_with, "pod")
    if not any(best.pods for _, best in answer.best):
        return f"for none of {pods}"
    places = [
        " ".join(("in", *level_words(level.key, best.domain), place_name(best.domain))) if level else "on all nodes"
        for level, best in answer.best
    ]
    phrases = [f"{best.pods} {inside}" for (_, best), inside in zip(answer.best, places, strict=True)]
    return f"for {', '.join(phrases)}, of {pods}"
