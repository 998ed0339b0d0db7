"""Makes the pages of findings, by file, and the page that explains the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.report import text
from kubectl_tas.report.text import waiving
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Block, Link, Page, Pager, Table, Text
from kubectl_tas.site.content import SEVERITIES, Content, path_of, severity_badge

FINDINGS = 50
"""Maximum number of findings on one page of findings."""
OF_ONE = 10
"""Maximum number of findings of a file on a page about something else."""
_DECLARED = 10
"""Maximum number of declared things that are named beside the findings of a file."""


def pages(content: Content) -> Iterator[Page]:
    """Yields pages of all findings, waived ones last, then the page of their rules."""
    found = [(item, False) for item in content.findings] + [(item, True) for item in content.waived]
    starts = range(0, max(1, len(found)), FINDINGS)
    paths = tuple(blocks.further(places.FINDINGS, number) for number in range(1, len(starts) + 1))
    for number, start in enumerate(starts, 1):
        part = found[start : start + FINDINGS]
        before = found[start - 1][0] if start else None
        counted = (_counted(content), _rules(content)) if number == 1 else ()
        pager = (Pager("Findings", number, paths),) if len(paths) > 1 else ()
        title = "Findings" if number == 1 else f"Findings, page {number}"
        crumbs = () if number == 1 else (Link("Findings", places.FINDINGS),)
        body = tuple(_by_file(content, part, before))
        yield Page(paths[number - 1], title, "", "Findings", crumbs, (*counted, *body, *pager))
    yield _rule_page(content)


def findings_of(content: Content, path: str) -> blocks.Findings:
    """Returns the findings of a file, for a page about something that the file declares."""
    found = content.by_file.get(path, ())
    more = Link(f"All {len(found)} findings", _place_of_file(content, path)) if len(found) > OF_ONE else None
    items = tuple(finding(item) for item in found[:OF_ONE])
    return blocks.Findings(f"Findings in {path}", items, none="Nothing was found.", more=more)


def worst(content: Content, most: int) -> tuple[blocks.Finding, ...]:
    """Returns the most severe findings."""
    order = list(SEVERITIES)
    return tuple(finding(item) for item in sorted(content.findings, key=lambda x: order.index(x.severity))[:most])


def _counted(content: Content) -> Text:
    line = text.summary(content.findings, len(content.fleet.repository.files), waived=len(content.waived)).strip()
    return Text(f"`kubectl tas validate` says: {line}")


def _by_file(content: Content, part: Sequence[tuple[Diagnostic, bool]], before: Diagnostic | None) -> Iterator[Block]:
    groups: dict[tuple[str, bool], list[Diagnostic]] = defaultdict(list)
    for item, is_waived in part:
        groups[path_of(item), is_waived].append(item)
    for (path, is_waived), items in groups.items():
        title = f"Waived in {path}" if is_waived else path or "The repository"
        is_first = not is_waived and path and (before is None or path_of(before) != path)
        found = tuple(finding(item, waived=is_waived) for item in items)
        about = tuple(content.declared_in.get(path, ())[:_DECLARED])
        yield blocks.Findings(title, found, anchor=places.file_anchor(path) if is_first else "", about=about)


def _place_of_file(content: Content, path: str) -> str:
    """Returns the path and anchor at which the findings of a file begin."""
    number = content.first_finding[path] // FINDINGS + 1
    return f"{blocks.further(places.FINDINGS, number)}#{places.file_anchor(path)}"


def finding(item: Diagnostic, *, waived: bool = False) -> blocks.Finding:
    """Returns the block of one finding, with its place and its rule."""
    notes = [f"{note.message}{f' ({note.location})' if note.location else ''}" for note in item.related]
    left = len(notes) - text.MAX_RELATED
    return blocks.Finding(
        severity_badge(item.severity),
        str(item.location) if item.location else "",
        item.message,
        Link(item.rule.code, places.rule_place(item.rule.code)),
        tuple(text.snippet(item.location)) if item.location else (),
        (*notes[: text.MAX_RELATED], *((f"and {left} more",) if left > 0 else ())),
        item.hint,
        waived,
    )


def _rules(content: Content) -> Table:
    counts = Counter(item.rule for item in (*content.findings, *content.waived))
    rows = tuple(
        (Link(rule.code, places.rule_place(rule.code)), str(count), rule.summary)
        for rule, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].code))
    )
    return Table("Rules", ("Rule", "Findings", "When it fires"), rows)


def _rule_page(content: Content) -> Page:
    of_changes = content.changes.findings if content.changes else ()
    rules = {item.rule for item in (*content.findings, *content.waived, *of_changes)}
    body = [
        part
        for rule in sorted(rules, key=lambda rule: rule.code)
        for part in (
            Text(rule.summary, severity_badge(rule.severity), rule.code),
            Text(rule.rationale),
            Text(waiving(rule)),
        )
    ]
    none = [] if body else [Text("No rule found anything.")]
    return Page(places.RULES, "Rules", "", "Findings", (Link("Findings", places.FINDINGS),), (*body, *none))
