"""Renders the impact of a change as one self-contained HTML page in the style of the site, with its risk first."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compare.impact import Impact, RiskLevel
from kubectl_tas.draw import plainpage
from kubectl_tas.draw.impactsections import ImpactSection, counted, risk_line, sections
from kubectl_tas.draw.plainpage import Html, Tone
from kubectl_tas.report import text

RISKS: dict[RiskLevel, Tone] = {"none": "good", "low": "good", "medium": "fair", "high": "bad"}


def render(impact: Impact) -> str:
    """Renders the page."""
    return plainpage.page(f"Changes since {impact.revision}: {counted(impact)}", _body(impact))


def _body(impact: Impact) -> Iterator[Html]:
    risk = impact.risk.level
    yield plainpage.paragraph(Html(f"{plainpage.badge(risk, RISKS[risk])} {plainpage.text(risk_line(impact))}"))
    yield from map(_section, sections(impact))
    if impact.findings:
        lines = "".join(f"{plainpage.text(line)}\n" for line in text.blocks(impact.findings).splitlines())
        yield Html(f"<section>\n<h2>Findings ({len(impact.findings)})</h2>\n<pre>{lines}</pre>\n</section>\n")


def _section(section: ImpactSection) -> Html:
    rows = [[plainpage.text(cell) for cell in row] for row in section.rows]
    return plainpage.table(section.header, rows, title=f"{section.title} ({len(rows)})")
