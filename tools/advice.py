"""Follows the help of a finding to the letter: the text of a file as it is after the advice, where that can be done."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kubectl_tas.base.diagnostics import Diagnostic, Severity
from kubectl_tas.check.judging import counted_and_waived, judge
from kubectl_tas.load.source import FolderSource
from tools.goldens import Case, lay_out

_NEW = tuple(
    re.compile(text)
    for text in (
        r"^(?:Write|Use) (?:at most )?(\d+)(?:[.,]| or less)",
        r"^Write '([^']+)'\.$",
        r"^Write (--?[\w-]+=\d+), or ",
        r"^For a variable, write (\{\w+: [\w-]+\})",
        r"^Lower this quota to (\d+\w*)",
        r"^Use a number from (\d+)",
        r"^Use one of ([\w./-]+)",
        r"^(?:Write|Use) ([\w./-]+: \"?\w[\w./-]*\"?), or ",
        r"^For example: ([\w./-]+)\.$",
        r"^(?:Write|Use) ((?:[\w./-]+: )?\"?[\w./-]*[./\d-][\w./-]*\w\"?)\.$",
    )
)
"""Helps that name the value to write."""
_PLAIN = re.compile(r"without quotes or a unit: (\d+)\.$")
_REMOVE = re.compile(r"^Remove it[.,;]|^Leave it out[.,;]|^Remove it$|^Leave it out$")
_FLOW = re.compile(r"""[^,{}\[\]]*""")


def findings(root: Path) -> tuple[Diagnostic, ...]:
    """Returns the findings of a repository that count."""
    judged = judge(FolderSource(root))
    counted, _ = counted_and_waived(judged.found, judged.fleet, None, complete=judged.complete)
    return counted


def followed(text: str, finding: Diagnostic) -> str | None:
    """Returns the text of the finding's file after its advice; None if the help is no exact change of that place."""
    place, hint = finding.location, finding.hint
    lines = text.splitlines(keepends=True)
    if place is None or not 0 < place.line <= len(lines):
        return None
    line, start = lines[place.line - 1], place.column - 1
    end = start + place.length
    new = next((match for pattern in _NEW if (match := pattern.search(hint))), None)
    plain = _PLAIN.search(hint)
    if finding.fix is not None:
        written, meant = finding.fix.written, finding.fix.meant
        at = line.find(written, start)
        changed = None if at < 0 else line[:at] + meant + line[at + len(written) :]
    elif _REMOVE.search(str(hint)):
        return _without(lines, place.line - 1, start, end)
    elif plain is not None:
        changed = _with(line, start, end, plain[1])
    elif new is not None and new[1].startswith("-") and new[1].partition("=")[0] not in line[start:end]:
        changed = None  # an option within a longer text
    elif new is not None:
        quote = line[start] if line[start : start + 1] in ("'", '"') else ""
        changed = _with(line, start, end, f"{quote}{new[1]}{quote}")
    else:
        changed = None
    return None if changed in (None, line) else "".join((*lines[: place.line - 1], str(changed), *lines[place.line :]))


def _with(line: str, start: int, end: int, new: str) -> str:
    """Returns a line with another value at a place, or behind the key at that place."""
    key, colon, value = new.partition(": ")
    behind = re.match(r"""["']?:[ \t]+""", line[end:])
    if colon and behind is None:
        found = re.search(rf"\b{re.escape(key)}:[ \t]+", line[:start])
        return line[:start] + value + line[end:] if found and not line[found.end() : start].strip("\"' ") else line
    if behind is None:
        return line[:start] + new + line[end:]
    if colon and line[start:end] != key:
        return line
    at = end + len(behind[0])
    old = _FLOW.match(line, at)
    assert old is not None
    return line[:at] + (value or new) + line[at + len(old[0].rstrip("\n")) :]


def _without(lines: list[str], number: int, start: int, end: int) -> str | None:
    """Returns the text without the key at a place and what is below it; None if it shares its line with others."""
    line = lines[number]
    indent = len(line) - len(line.lstrip(" "))
    if line[indent:start].strip("\"'") or ":" not in line[end : end + 2]:
        return None
    last = number + 1
    while last < len(lines):
        inner = len(lines[last]) - len(lines[last].lstrip(" "))
        is_item = inner == indent and lines[last].lstrip().startswith("- ")
        if lines[last].strip() and inner <= indent and not is_item:
            break
        last += 1
    above = lines[number - 1] if number else ""
    rest = lines[last] if last < len(lines) else ""
    is_only = above.rstrip().endswith(":") and len(above) - len(above.lstrip(" ")) < indent
    if is_only and len(rest) - len(rest.lstrip(" ")) < indent:  # a key without a value would be left
        start = len(above) - len(above.lstrip(" "))
        return _without(lines[:number] + lines[last:], number - 1, start, above.index(":"))
    return "".join((*lines[:number], *lines[last:]))


def mended(case: Case, only: str = "") -> Iterator[tuple[Diagnostic, str, Counter[str], bool]]:
    """Yields each finding of a case, of the rule ``only`` if given, whose advice can be followed: the finding, the text
    after, the rules of new findings, and whether the finding is gone.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = lay_out(case, Path(folder))
        before = findings(root)
        for finding in before:
            if only and finding.rule.code != only:
                continue
            path = root / finding.location.path if finding.location else None
            if path is None or not path.is_file() or path.is_symlink():
                continue
            content = path.read_bytes()
            text = content.decode("utf-8", "replace")
            after = followed(text, finding)
            if after is None:
                continue
            path.write_text(after, encoding="utf-8")
            left = findings(root)
            path.write_bytes(content)
            yield finding, after, _kinds(left) - _kinds(before), _is_gone(finding, before, left)


def _kinds(found: tuple[Diagnostic, ...]) -> Counter[str]:
    return Counter(f"{item.rule.code} {item.severity.value}" for item in found if item.severity is not Severity.INFO)


def _is_gone(finding: Diagnostic, before: tuple[Diagnostic, ...], left: tuple[Diagnostic, ...]) -> bool:
    def same(items: tuple[Diagnostic, ...]) -> int:
        return sum((item.rule, item.location and item.location.path) == where for item in items)

    where = (finding.rule, finding.location and finding.location.path)
    return same(left) < same(before)
