"""Removes findings that only follow from another one, joins those with one cause, and moves findings to their cause."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Severity, in_order
from kubectl_tas.check import quota
from kubectl_tas.check.references import RULES, check_references
from kubectl_tas.model.repository import Repository
from kubectl_tas.resolve.fleet import Fleet

UNREAD = "unread"
"""Pseudo-rule: a document could not be read."""
_FIELDS = ("unknown-field", "operator-field", "missing-field")
FOLLOWS_IN_FILE: dict[str, tuple[str, ...]] = {
    "workload-pool": (*_FIELDS, "workload-label", "key-unknown"),
    "restart-policy": _FIELDS,
    "workload-minimum": _FIELDS,
    "fields-conflict": _FIELDS,
    "operator-refuses": _FIELDS,
    "volume-unknown": _FIELDS,
    "podgroup-member": (*_FIELDS, "key-unknown", "key-misplaced"),
    "subpool-closed": ("reference-unknown",),
    "nodes-left": ("fields-conflict", "wrong-type"),
    "compute-domain": (*_FIELDS, "invalid-value", "reference-unknown", "wrong-type"),
    "gpus-unknown": (*_FIELDS, "fields-conflict", "invalid-value", "reference-unknown", "wrong-type"),
    "placement-without-level": ("key-unknown", "topology-key-unknown"),
    "domain-order": ("hostname-not-last", "level-duplicate"),
    "hostname-not-last": ("level-duplicate",),
    "level-label-unknown": ("host-label",),
    "podgroup-queue": ("podgroup-namespace",),
    "podgroup-topology": ("podgroup-namespace",),
    "topology-levels-changed": ("topology-key-unknown",),
    "topology-removed": ("topology-unknown", "set-topology-unknown"),
}
"""Rules whose findings probably follow from a finding of one of the listed rules in the same file."""
_NAMES = ("parent-unknown", "parent-invalid", "backend-unknown", "name-invalid", "name-delimiter", "name-reserved")
FOLLOWS: dict[str, tuple[str, ...]] = {
    "companion-namespace": (UNREAD, *_NAMES),
    "compute-domain": (UNREAD, *_NAMES, "pool-unknown"),
    "compute-domain-spread": ("domain-order", "level-duplicate", "level-label-unknown"),
    "gpus-unknown": (UNREAD,),
    "podgroup-unknown": (UNREAD,),
    "podgroup-priority": (UNREAD,),
    "podgroup-short": (UNREAD, "podgroup-member", "podgroup-unknown"),
    "podgroup-queue": (UNREAD, *_NAMES, "pool-unknown", "subpool-closed"),
    "podgroup-namespace": (UNREAD, *_NAMES),
    "podgroup-topology": (UNREAD, *_NAMES, "topology-unknown"),
    "workload-topology": (UNREAD, *_NAMES, "topology-unknown"),
    "reference-unknown": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "reference-elsewhere": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "selects-too-few": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "placement-without-level": ("level-duplicate",),
    "topology-key-unknown": ("level-duplicate",),
    "pack-domain-unknown": ("level-duplicate",),
    "change-refused": ("topology-scheduler",),
    "change-kept": ("topology-scheduler",),
    "over-quota": ("maximum-below-quota", "quota-exceeds-pool", "quota-unlimited-pool"),
    "over-quota-running": ("maximum-below-quota", "quota-exceeds-pool", "quota-unlimited-pool"),
    "over-shared-quota": ("quota-exceeds-pool", "quota-unlimited-pool"),
}
"""Rules whose findings probably follow from a finding of one of the listed rules in any file."""
SAID_ONCE = frozenset(
    {
        "finished-recreated",
        "grove-unsupported",
        "pack-domain-unknown",
        "placement-order",
        "podgroup-namespace",
        "podgroup-priority",
        "podgroup-queue",
        "podgroup-topology",
        "set-topology-default",
        "tas-disabled",
        "version-unsupported",
        "workload-scheduler",
        "workload-topology",
    }
)
"""Rules about objects that many documents depend on: findings with equal messages have one cause."""
_BADNESS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def without_consequences(findings: Sequence[Diagnostic], *, complete: bool) -> tuple[Diagnostic, ...]:
    """Returns the findings that do not follow from another one. A cause counts only if it is not waived and is at least
    as severe as its consequence, so that a failing run still fails.
    """
    causes = [finding for finding in findings if finding.waiver is None]
    rules = {} if complete else {UNREAD: _BADNESS[Severity.ERROR]}
    by_file: dict[tuple[str, str], int] = {}
    for finding in causes:
        code, bad = finding.rule.code, _BADNESS[finding.severity]
        rules[code] = max(bad, rules.get(code, 0))
        for path in {location.path for location in finding.places}:
            by_file[path, code] = max(bad, by_file.get((path, code), 0))

    def follows(diagnostic: Diagnostic) -> bool:
        code, bad = diagnostic.rule.code, _BADNESS[diagnostic.severity]
        path = diagnostic.location.path if diagnostic.location else ""
        near = (by_file.get((path, cause), -1) for cause in FOLLOWS_IN_FILE.get(code, ()))
        far = (rules.get(cause, -1) for cause in FOLLOWS.get(code, ()))
        return any(cause >= bad for cause in (*near, *far))

    return tuple(finding for finding in findings if not follows(finding))


def gathered(findings: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Joins findings with one cause into one finding at the first place. The other places become related places."""
    groups: dict[Hashable, list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault(_cause(finding), []).append(finding)
    return in_order(f if not r else _joined(f, r) for f, *r in groups.values())


def _cause(diagnostic: Diagnostic) -> Hashable:
    """Returns a key that is equal for findings with one cause."""
    if diagnostic.rule in RULES:  # of names that are unknown there is one for each already
        return diagnostic.sort_key
    if diagnostic.cause is not None:
        return diagnostic.severity, diagnostic.cause
    return (
        (diagnostic.severity, diagnostic.rule.code, diagnostic.message)
        if diagnostic.rule.code in SAID_ONCE
        else diagnostic.sort_key
    )


def _joined(first_finding: Diagnostic, repetitions: Sequence[Diagnostic]) -> Diagnostic:
    elsewhere = [finding for finding in repetitions if finding.location != first_finding.location]
    related = [n for f in (first_finding, *repetitions) if f not in elsewhere for n in f.related]
    if not elsewhere:
        related.sort(key=_where)
    for finding in elsewhere:
        related.append(
            Related("likewise" if finding.message == first_finding.message else finding.message, finding.location)
        )
    return replace(first_finding, related=tuple(related))


def _where(note: Related) -> tuple[str, int]:
    return (note.location.path, note.location.line) if note.location else ("", 0)


def blamed(findings: Iterable[Diagnostic], before: Fleet, after: Fleet) -> Iterator[Diagnostic]:
    """Yields the findings in the fleet ``after``, each at the change since ``before`` that caused it. Causes are
    changed quotas, removed names, and changed files other than the finding's own.
    """
    # The files of `after` whose content differs from `before`.
    earlier = _contents(before.repository)
    changed = frozenset(p for p, d in _contents(after.repository).items() if earlier.get(p) != d)
    references = False
    for finding in quota.blamed(findings, before, after):
        if finding.rule in RULES:
            references = True
            continue
        yield _at_its_cause(finding, changed)
    if references:
        yield from (_at_its_cause(finding, changed) for finding in check_references(after, before))


def _at_its_cause(diagnostic: Diagnostic, changed: frozenset[str]) -> Diagnostic:
    """Moves a finding to its cause, if the file of the cause has changed and the file of the finding has not."""
    location, cause = diagnostic.location, diagnostic.cause
    if location is None or cause is None or cause.path not in changed or location.path in changed:
        return diagnostic
    return replace(diagnostic, location=cause, related=(Related("asked for here", location), *diagnostic.related))


def _contents(repository: Repository) -> dict[str, list[Any]]:
    """Returns the contents of the documents by file."""
    config = (repository.config,) if repository.config else ()
    documents_by_file: dict[str, list[Any]] = {}
    for document in (
        *config,
        *repository.pools,
        *repository.subpools,
        *repository.topologies,
        *repository.workflows,
        *repository.pod_groups,
        *repository.pod_clique_sets,
        *repository.operators,
        *repository.kartas,
        *repository.workloads,
    ):
        documents_by_file.setdefault(document.origin.path, []).append(document.origin.data)
    return documents_by_file


def blamed_on_flags(
    findings: Sequence[Diagnostic], path: str, texts: tuple[bytes, bytes], flags: Mapping[str, str | None]
) -> tuple[Diagnostic, ...]:
    """Maps findings in a file that flags have changed to the lines of the original file. A finding about the value of a
    flag names the flag as its place. ``texts`` are the file before and after the change.
    """
    from difflib import SequenceMatcher  # only flags need it

    before, after = (text.decode("utf-8", "replace").split("\n") for text in texts)
    lines: dict[int, int] = {}
    for tag, start, end, old_start, old_end in SequenceMatcher(None, after, before).get_opcodes():
        if tag in ("equal", "replace"):
            lines.update(zip(range(start, end), range(old_start, old_end), strict=False))

    def moved(location: Location | None) -> Location | None:
        if location is None or location.path != path or not 0 < location.line <= len(after):
            return location
        start = location.column - 1
        line = after[location.line - 1]
        flagged_text = line[start : start + location.length].strip("\"'")
        old = lines.get(location.line - 1)
        is_flag = old is None or before[old] != line
        flag = next((flag for flag, value in flags.items() if is_flag and flagged_text == value), None)
        if flag is not None or old is None:
            return Location(flag or path)
        return replace(location, line=old + 1) if before[old] == line else Location(path, old + 1, 1, before[old])

    return tuple(
        replace(
            finding,
            location=moved(finding.location),
            related=tuple(replace(note, location=moved(note.location)) for note in finding.related),
            cause=moved(finding.cause),
        )
        for finding in findings
    )
