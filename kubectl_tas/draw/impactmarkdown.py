"""Renders the impact of a change as Markdown, for a comment on a pull request of GitHub or a merge request of GitLab.

Text from input is put into a code span or fenced block that it cannot end. So no input can create markup, a table cell,
a mention or a link. Text that a code span cannot hold goes into ``<code>``, with special characters as numbers. Columns
are padded, so that the page is readable in plain text mails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.compare.impact import Impact, QueueChange
from kubectl_tas.draw.impactsections import ImpactSection, counted, quota_text, risk_line, sections
from kubectl_tas.report import text
from kubectl_tas.report.style import printable, width

LIMIT = 65_000
"""Maximum bytes of a page. GitHub allows 65,536 characters in a comment, GitLab a million; a CI job adds a marker."""
_SHOWN = (LIMIT // 20, 300, 100, 50, 25, 10, 5, 2, 0)
"""Numbers of table rows to try, until the page is within LIMIT. A row has at least 20 bytes."""
MAX_CELL = 300
"""Maximum number of characters of a cell."""
_PADDED = 48
"""Characters to which the cells of a column are padded at most."""
MAX_FINDING = 2_000
"""Maximum number of characters of a finding."""
MAX_NODES = 60
"""Maximum number of queues that the tree shows; Mermaid draws at most 50,000 characters."""
_PLAIN = re.compile(r"[^A-Za-z0-9 -]")
_SPAN = re.compile(r"[A-Za-z0-9 .,:;_/+()\[\]{}=>*%'\"-]+")
"""Text that is safe in a code span: it stays unchanged, and no reader takes it for markup."""
_LABEL = re.compile(r"[^A-Za-z0-9 ._/+-]")
_CLASSES = """\
  classDef made stroke:#1a7f37,stroke-width:2px
  classDef dropped stroke:#cf222e,stroke-width:2px,stroke-dasharray:4
  classDef changed stroke:#9a6700,stroke-width:2px
"""


def render(impact: Impact) -> str:
    """Renders the summary, the tree of queues, a folded table for each section, the findings and the risk line."""
    tables = sections(impact)
    return next(text for shown in _SHOWN if len((text := _page(impact, tables, shown)).encode()) <= LIMIT or not shown)


def _page(impact: Impact, tables: Sequence[ImpactSection], shown: int) -> str:
    """Renders the page with at most ``shown`` rows of each table."""
    paragraphs = [f"### Changes since {code(impact.revision)}: {counted(impact)}\n", f"**{risk_line(impact)}**\n"]
    folded = [_folded(section, shown) for section in tables]
    if impact.queues:
        folded.append(_tree(impact.queues, min(shown, MAX_NODES)))
    paragraphs += folded
    if impact.findings:
        paragraphs.append(_findings(impact.findings, shown))
    paragraphs.append(f"{risk_line(impact)}\n")
    return "\n".join(paragraphs)


def code(content: str) -> str:
    """Puts text that was read from input into a code span, so that it appears unchanged."""
    shown = printable(content)
    cut = f" (and {len(shown) - MAX_CELL} more characters)" if len(shown) > MAX_CELL else ""
    if _SPAN.fullmatch(shown[:MAX_CELL]) and shown[:MAX_CELL] == shown[:MAX_CELL].strip():
        return f"`{shown[:MAX_CELL]}`{cut}"
    return f"<code>{_PLAIN.sub(lambda match: _number(match[0]), shown[:MAX_CELL])}</code>{cut}"


def _number(character: str) -> str:
    return f"&#{ord(character)};"


def _folded(section: ImpactSection, shown: int) -> str:
    """Renders a folded table, with a line that counts the omitted rows."""
    rows, hidden = section.rows[:shown], len(section.rows) - shown
    cells = [section.header, *(tuple(map(code, row)) for row in rows)]
    wide = [min(_PADDED, max(map(width, column))) for column in zip(*cells, strict=True)]
    lines = [_row(row, wide) for row in (cells[0], ["-" * size for size in wide], *cells[1:])]
    note = f"\n{_left_out(hidden)}\n" if hidden > 0 else ""
    return _details(f"{section.title} ({len(section.rows)})", "\n".join(lines) + "\n" + note)


def _left_out(number: int) -> str:
    return f"{number} more {'is' if number == 1 else 'are'} left out: a comment has no room for all."


def _row(cells: Sequence[str], wide: Sequence[int]) -> str:
    """Renders a table row. All cells but the last are padded."""
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells[:-1], wide, strict=False))
    return f"| {' | '.join((*padded, cells[-1]))} |"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _findings(findings: Sequence[Diagnostic], shown: int) -> str:
    blocks = [text.blocks([finding]) for finding in findings[:shown]]
    cut = [
        block
        if len(block) <= MAX_FINDING
        else f"{block[:MAX_FINDING]}... ({len(block) - MAX_FINDING} more characters)\n"
        for block in blocks
    ]
    body = "\n".join(cut)
    hidden = len(findings) - shown
    note = f"\n{_left_out(hidden)}\n" if hidden > 0 else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    return _details(f"Findings ({len(findings)})", f"{fence}text\n{body}{fence}\n{note}")


def _tree(queues: Sequence[QueueChange], shown: int) -> str:
    """Renders the changed queues, each below its parent, as a Mermaid diagram."""
    drawn = queues[:shown]
    if not drawn:
        return f"{_left_out(len(queues))}\n"
    nodes = {(queue.backend, queue.name): f"q{index}" for index, queue in enumerate(drawn)}
    lines = ["```mermaid\n", "graph LR\n", *(f"  {line}\n" for line in _lines(drawn, nodes)), _CLASSES, "```\n"]
    hidden = len(queues) - len(drawn)
    return "".join([*lines, f"\n{_left_out(hidden)}\n" if hidden else ""])


def _lines(drawn: Sequence[QueueChange], nodes: dict[tuple[str, str], str]) -> Iterator[str]:
    above: dict[tuple[str, str], str] = {}
    for queue in drawn:
        name = nodes[queue.backend, queue.name]
        label = f"{_label(queue.name)}<br/>{_label(quota_text(queue, 'gpu'))} GPUs"
        yield f'{name}["{label}"]:::{queue.kind}'
        parent = queue.state.parent
        if parent is not None:
            key = queue.backend, parent
            if key not in nodes and key not in above:
                above[key] = f"p{len(above)}"
                yield f'{above[key]}["{_label(parent)}"]'
            yield f"{nodes.get(key) or above[key]} --> {name}"


def _label(content: str) -> str:
    """Escapes the text of a node: Mermaid reads special characters as numbers."""
    return _LABEL.sub(lambda match: f"#{ord(match[0])};", printable(content)[:MAX_CELL])
