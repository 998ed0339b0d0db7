"""What a change means as Markdown for a comment on a pull request or a merge request, of GitHub and GitLab.

What was read somewhere stands in a code span or a fenced block that nothing in it can end: it makes neither markup, nor
a table's cell, nor a mention, nor a link. What a code span cannot hold is in ``<code>``, each character but letters and
digits as its number. Columns are padded, so that the page reads as text in a mail too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kubectl_tas.compare.impact import Impact, QueueChange
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.draw.impactsections import Section, counted, quota_text, risk_line, sections
from kubectl_tas.report import text
from kubectl_tas.report.style import printable, width

LIMIT = 65_000
"""Bytes of a page: GitHub takes 65,536 characters for a comment, GitLab a million, and a job puts its mark before."""
_SHOWN = (LIMIT // 20, 300, 100, 50, 25, 10, 5, 2, 0)
"""Rows of a table that are tried, until all of it is within the limit. A row has 20 bytes and more."""
MAX_CELL = 300
"""Characters of a cell."""
_PADDED = 48
"""Characters to which cells of a column are padded, at most."""
MAX_FINDING = 2_000
"""Characters of a finding."""
MAX_NODES = 60
"""Queues of the tree that are drawn; Mermaid draws at most 50,000 characters."""
_PLAIN = re.compile(r"[^A-Za-z0-9 -]")
_SPAN = re.compile(r"[A-Za-z0-9 .,:;_/+()\[\]{}=>*%'\"-]+")
"""What a code span keeps, and nobody takes for anything else."""
_LABEL = re.compile(r"[^A-Za-z0-9 ._/+-]")
_CLASSES = """\
  classDef made stroke:#1a7f37,stroke-width:2px
  classDef dropped stroke:#cf222e,stroke-width:2px,stroke-dasharray:4
  classDef changed stroke:#9a6700,stroke-width:2px
"""


def render(impact: Impact) -> str:
    """The summary, the tree of queues, a folded table a section, the findings, and the line of risk."""
    tables = sections(impact)
    return next(text for shown in _SHOWN if len((text := _page(impact, tables, shown)).encode()) <= LIMIT or not shown)


def _page(impact: Impact, tables: Sequence[Section], shown: int) -> str:
    """The page with at most so many rows of each table."""
    parts = [f"### Changes since {code(impact.revision)}: {counted(impact)}\n", f"**{risk_line(impact)}**\n"]
    folded = [_folded(section, shown) for section in tables]
    if impact.queues:
        folded.append(_tree(impact.queues, min(shown, MAX_NODES)))
    parts += folded
    if impact.findings:
        parts.append(_findings(impact.findings, shown))
    parts.append(f"{risk_line(impact)}\n")
    return "\n".join(parts)


def code(content: str) -> str:
    """What was read somewhere, as it is."""
    shown = printable(content)
    cut = f" (and {len(shown) - MAX_CELL} more characters)" if len(shown) > MAX_CELL else ""
    if _SPAN.fullmatch(shown[:MAX_CELL]) and shown[:MAX_CELL] == shown[:MAX_CELL].strip():
        return f"`{shown[:MAX_CELL]}`{cut}"
    return f"<code>{_PLAIN.sub(lambda found: _number(found[0]), shown[:MAX_CELL])}</code>{cut}"


def _number(character: str) -> str:
    return f"&#{ord(character)};"


def _folded(section: Section, shown: int) -> str:
    """A table that is folded, with a line that says how much of it is left out."""
    rows, left = section.rows[:shown], len(section.rows) - shown
    cells = [section.header, *(tuple(map(code, row)) for row in rows)]
    wide = [min(_PADDED, max(map(width, column))) for column in zip(*cells, strict=True)]
    lines = [_row(row, wide) for row in (cells[0], ["-" * size for size in wide], *cells[1:])]
    more = f"\n{_left_out(left)}\n" if left > 0 else ""
    return _details(f"{section.title} ({len(section.rows)})", "\n".join(lines) + "\n" + more)


def _left_out(number: int) -> str:
    return f"{number} more {'is' if number == 1 else 'are'} left out: a comment has no room for all."


def _row(cells: Sequence[str], wide: Sequence[int]) -> str:
    """A row of a table, its cells padded; the last one is not."""
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells[:-1], wide, strict=False))
    return f"| {' | '.join((*padded, cells[-1]))} |"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _findings(findings: Sequence[Diagnostic], shown: int) -> str:
    blocks = [text.blocks([item]) for item in findings[:shown]]
    cut = [
        block
        if len(block) <= MAX_FINDING
        else f"{block[:MAX_FINDING]}... ({len(block) - MAX_FINDING} more characters)\n"
        for block in blocks
    ]
    body = "\n".join(cut)
    left = len(findings) - shown
    more = f"\n{_left_out(left)}\n" if left > 0 else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    return _details(f"Findings ({len(findings)})", f"{fence}text\n{body}{fence}\n{more}")


def _tree(queues: Sequence[QueueChange], shown: int) -> str:
    """The queues that change, each below its parent, as a diagram of Mermaid."""
    drawn = queues[:shown]
    if not drawn:
        return f"{_left_out(len(queues))}\n"
    nodes = {(item.backend, item.name): f"q{index}" for index, item in enumerate(drawn)}
    lines = ["```mermaid\n", "graph LR\n", *(f"  {line}\n" for line in _lines(drawn, nodes)), _CLASSES, "```\n"]
    left = len(queues) - len(drawn)
    return "".join([*lines, f"\n{_left_out(left)}\n" if left else ""])


def _lines(drawn: Sequence[QueueChange], nodes: dict[tuple[str, str], str]) -> Iterator[str]:
    above: dict[tuple[str, str], str] = {}
    for item in drawn:
        name = nodes[item.backend, item.name]
        label = f"{_label(item.name)}<br/>{_label(quota_text(item, 'gpu'))} GPUs"
        yield f'{name}["{label}"]:::{item.kind}'
        parent = item.state.parent
        if parent is not None:
            key = item.backend, parent
            if key not in nodes and key not in above:
                above[key] = f"p{len(above)}"
                yield f'{above[key]}["{_label(parent)}"]'
            yield f"{nodes.get(key) or above[key]} --> {name}"


def _label(content: str) -> str:
    """Text of a node: characters by their number, as Mermaid writes them."""
    return _LABEL.sub(lambda found: f"#{ord(found[0])};", printable(content)[:MAX_CELL])
