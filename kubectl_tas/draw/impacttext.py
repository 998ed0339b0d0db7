"""What a change means, for terminals."""

from __future__ import annotations

from kubectl_tas.compare.impact import Impact
from kubectl_tas.draw.impactsections import counted, risk_line, sections
from kubectl_tas.report import table, text
from kubectl_tas.report.style import printable


def render(impact: Impact) -> str:
    """A table a section, the findings, and the line of risk."""
    parts = [f"{printable(f'Changes since {impact.revision}')}: {counted(impact)}\n"]
    parts += [table.section(item.title, [cell.upper() for cell in item.header], item.rows) for item in sections(impact)]
    if impact.findings:
        parts.append(text.blocks(impact.findings))
    return "\n".join([*parts, f"{printable(risk_line(impact))}\n"])
