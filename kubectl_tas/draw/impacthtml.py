"""Renders the impact of a change as one self-contained HTML page, light and dark, without a script."""

from __future__ import annotations

from html import escape

from kubectl_tas.compare.impact import Impact
from kubectl_tas.draw.impactsections import ImpactSection, counted, risk_line, sections
from kubectl_tas.draw.palette import head
from kubectl_tas.report import text
from kubectl_tas.report.style import printable

_STYLE = """\
:root { color-scheme: light dark; --line: #d0d7de; --high: #cf222e; --medium: #9a6700; --low: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --high: #ff7b72; --medium: #d29922; --low: #3fb950; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
details { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { border: 1px solid var(--line); max-width: 30rem; overflow-wrap: break-word; padding: .25rem .6rem; }
th, td { text-align: left; vertical-align: top; }
pre { border: 1px solid var(--line); overflow-x: auto; padding: .6rem; }
.risk { border-left: 4px solid; padding-left: .6rem; }
.high { color: var(--high); } .medium { color: var(--medium); } .low, .none { color: var(--low); }
"""


def render(impact: Impact) -> str:
    """Renders the page."""
    title, risk = (
        _text(f"Changes since {impact.revision}: {counted(impact)}"),
        f'<p class="risk {impact.risk[0]}">{_text(risk_line(impact))}</p>',
    )
    body = "".join(map(_section, sections(impact)))
    if impact.findings:
        lines = escape(text.blocks(impact.findings))
        body += f"<details open><summary>Findings ({len(impact.findings)})</summary><pre>{lines}</pre></details>\n"
    return f"{head(title, _STYLE)}<body>\n<h1>{title}</h1>\n{body}{risk}\n</body>\n</html>\n"


def _section(section: ImpactSection) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in section.header)
    rows = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n" for row in section.rows)
    title = f"{_text(section.title)} ({len(section.rows)})"
    table = f"<table>\n<tr>{head}</tr>\n{rows}</table>"
    return f"<details open><summary>{title}</summary>\n{table}\n</details>\n"


def _text(content: str) -> str:
    return escape(printable(content))
