"""Makes the pages of findings, by file, and the page that explains the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.report import text
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Block, Link, Page, Pager, Table, TextBlock
from kubectl_tas.site.content import SEVERITIES, Content, path_of, severity_badge

FINDINGS = 50
"""Maximum number of findings on one page of findings."""
OF_ONE = 10
"""Maximum number of findings of a file on a page about something else."""
_DECLARED = 10
"""Maximum number of declared things that are named beside the findings of a file."""


def pages(content: Content) -> Iterator[Page]:
    """Yields pages of all findings, waived ones last, then the page of their rules."""
    listed = [(listed_finding, False) for listed_finding in content.findings] + [
        (listed_finding, True) for listed_finding in content.waived
    ]
    starts = range(0, max(1, len(listed)), FINDINGS)
    paths = tuple(blocks.further(places.FINDINGS, number) for number in range(1, len(starts) + 1))
    for number, start in enumerate(starts, 1):
        on_page = listed[start : start + FINDINGS]
        before = listed[start - 1][0] if start else None
        counted = (_counted(content), _rules(content)) if number == 1 else ()
        pager = (Pager("Findings", number, paths),) if len(paths) > 1 else ()
        title = "Findings" if number == 1 else f"Findings, page {number}"
        crumbs = () if number == 1 else (Link("Findings", places.FINDINGS),)
        body = tuple(_by_file(content, on_page, before))
        yield Page(paths[number - 1], title, "", "Findings", crumbs, (*counted, *body, *pager))
    yield _rule_page(content)


def findings_of(content: Content, path: str) -> blocks.FindingsBlock:
    """Returns the findings of a file, for a page about something that the file declares."""
    of_file = content.by_file.get(path, ())
    all_findings = (
        Link(f"All {len(of_file)} findings", _place_of_file(content, path)) if len(of_file) > OF_ONE else None
    )
    shown = tuple(finding(of_rule) for of_rule in of_file[:OF_ONE])
    return blocks.FindingsBlock(f"Findings in {path}", shown, none="Nothing was found.", more=all_findings)


def worst(content: Content, most: int) -> tuple[blocks.FindingRow, ...]:
    """Returns the most severe findings."""
    order = list(SEVERITIES)
    return tuple(
        finding(of_fleet) for of_fleet in sorted(content.findings, key=lambda x: order.index(x.severity))[:most]
    )


def _counted(content: Content) -> TextBlock:
    line = text.summary(content.findings, len(content.fleet.repository.files), waived=len(content.waived)).strip()
    return TextBlock(f"`kubectl tas validate` says: {line}")


def _by_file(
    content: Content, on_page: Sequence[tuple[Diagnostic, bool]], before: Diagnostic | None
) -> Iterator[Block]:
    groups: dict[tuple[str, bool], list[Diagnostic]] = defaultdict(list)
    for diagnostic, is_waived in on_page:
        groups[path_of(diagnostic), is_waived].append(diagnostic)
    for (path, is_waived), group in groups.items():
        title = f"Waived in {path}" if is_waived else path or "The repository"
        is_first = not is_waived and path and (before is None or path_of(before) != path)
        shown = tuple(finding(diagnostic, waived=is_waived) for diagnostic in group)
        declared = tuple(content.declared_in.get(path, ())[:_DECLARED])
        yield blocks.FindingsBlock(title, shown, anchor=places.file_anchor(path) if is_first else "", about=declared)


def _place_of_file(content: Content, path: str) -> str:
    """Returns the path and anchor at which the findings of a file begin."""
    number = content.first_finding[path] // FINDINGS + 1
    return f"{blocks.further(places.FINDINGS, number)}#{places.file_anchor(path)}"


def finding(diagnostic: Diagnostic, *, waived: bool = False) -> blocks.FindingRow:
    """Returns the block of one finding, with its place and its rule."""
    notes = [f"{note.message}{f' ({note.location})' if note.location else ''}" for note in diagnostic.related]
    notes_hidden = len(notes) - text.MAX_RELATED
    return blocks.FindingRow(
        severity_badge(diagnostic.severity),
        str(diagnostic.location) if diagnostic.location else "",
        diagnostic.message,
        Link(diagnostic.rule.code, places.rule_place(diagnostic.rule.code)),
        tuple(text.snippet(diagnostic.location)) if diagnostic.location else (),
        (*notes[: text.MAX_RELATED], *((f"and {notes_hidden} more",) if notes_hidden > 0 else ())),
        diagnostic.hint,
        waived,
    )


def _rules(content: Content) -> Table:
    counts = Counter(diagnostic.rule for diagnostic in (*content.findings, *content.waived))
    rows = tuple(
        (Link(rule.code, places.rule_place(rule.code)), str(count), rule.summary)
        for rule, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].code))
    )
    return Table("Rules", ("Rule", "Findings", "When it fires"), rows)


def _rule_page(content: Content) -> Page:
    of_changes = content.changes.findings if content.changes else ()
    rules = {diagnostic.rule for diagnostic in (*content.findings, *content.waived, *of_changes)}
    body = [
        block
        for rule in sorted(rules, key=lambda rule: rule.code)
        for block in (
            TextBlock(rule.summary, severity_badge(rule.severity), rule.code),
            TextBlock(rule.rationale),
            TextBlock(rule.waiving.sentence),
        )
    ]
    none = [] if body else [TextBlock("No rule found anything.")]
    return Page(places.RULES, "Rules", "", "Findings", (Link("Findings", places.FINDINGS),), (*body, *none))
