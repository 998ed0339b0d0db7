"""Findings of a file, or work without room, in; the smallest edit that helps out, as a unified diff. Each was tried."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from kubectl_tas.agents.asking import Call, Said, node_words
from kubectl_tas.credentials import hidden
from kubectl_tas.errors import TasError
from kubectl_tas.folders import MEBIBYTE, inside, normal, read_plain
from kubectl_tas.load.source import MAX_BYTES
from kubectl_tas.report.unifieddiff import unified

VERSION = 1
MAX_TRIED = 8
"""Edits that are tried."""
MAX_LINES = 4
"""Lines of one kind of edit that are tried one by one."""
MAX_LINE = 500
"""Characters of a line that is edited: a pattern may take as long as the square of them."""
MAX_FILES = 20_000
"""Files and folders of a repository that is copied."""
MAX_COPIED = 64 * MEBIBYTE
"""Bytes of a repository that is copied to try an edit of its work."""
_HINT = "Name a file of the repository."
_SOFTER = (
    (re.compile(r"(requirementType:\s*[\"']?)required\b"), r"\1preferred"),
    (re.compile(r"(topology-)required(-placement[\"']?:)"), r"\1preferred\2"),
    (re.compile(r"\brequired(TopologyLevel:)"), r"preferred\1"),
)
"""How a line requires a level, and how it prefers it."""
_UNSAID = (
    (
        r"(\{{(?![^{{}}]*requirementType)[^{{}}]*\bkey:\s*[\"']?(?:{0})\b[^{{}}]*?)(\s*\}})",
        r"\1, requirementType: preferred\2",
    ),
    (r"^(\s*)- key:\s*[\"']?(?:{0})[\"']?\s*$", r"\g<0>\n\1  requirementType: preferred"),
    (r"^(\s+)key:\s*[\"']?(?:{0})[\"']?\s*$", r"\g<0>\n\1requirementType: preferred"),
)
"""How a workflow requires one of these levels by default, and how it says that it prefers it."""
_LEVEL = r"((?:key|[\w./-]*required-placement|requiredTopologyLevel)[\"']?:\s*[\"']?){}(?=[\"'\s,}}]|$)"


def suggest(call: Call, given: Mapping[str, Any]) -> Said:
    """The edit for the file, or for the work, that is named. Raises TasError where it is not one of the two."""
    if ("path" in given) == ("work" in given):
        raise TasError("suggest takes either path or work", hint="Pass one of them.")
    return _of_file(call, given["path"]) if "path" in given else _of_work(call, given["work"])


def _of_file(call: Call, path: str) -> Said:
    """Every word of a file is mended of which a finding is sure."""
    file, path = call.within(path), normal(path)
    said = call.ask(["validate", "-o", "json", "--", file])
    if said.answer is None:
        return said
    own = [item for item in said.answer["diagnostics"] if _counts(item) and _path(item) == path]
    others = [f"{item['message']} {item['hint']}".strip() for item in own if item["fix"] is None]
    before = _read(file)
    after = _mended(before, [item for item in own if item["fix"] is not None])
    if after == before:
        what = "no finding says exactly what to write instead" if own else "the file has no findings"
        return _patch(None, f"There is no patch: {what}.", others)
    tried = call.ask(["validate", "-", "-o", "json", f"--stdin-filename={file}"], stdin=after)
    left = [item for item in (tried.answer or {"diagnostics": own})["diagnostics"] if _counts(item)]
    if len(left) >= len(own):
        return _patch(None, "There is no patch: the words that findings suggest lead to other findings.", others)
    message = f"The patch mends {len(own) - len(left)} of {len(own)} findings."
    return _shown(path, before, after, message, others)


def _of_work(call: Call, work: str) -> Said:
    """A level that work requires is preferred, or the next coarser one is required."""
    call.within(work)
    words = ["fit", "-o", "json", *node_words(call.server), "--", work]
    said = call.ask(words)
    if said.answer is None:
        return said
    gangs = said.answer["gangs"]
    changes = list(dict.fromkeys(change["text"] for gang in gangs for change in gang["changes"]))
    if not gangs or _is_placed(said.answer):
        reason = "KAI places it" if gangs else "there is no answer for it"
        return _patch(None, f"There is no patch: {reason}.", changes)
    explained = call.ask(["workflow", "explain", "-o", "json", "--", work])
    if explained.answer is None:
        return explained
    paths = {item["file"] for item in explained.answer.get("items", [explained.answer])}
    (path,) = paths if len(paths) == 1 else (None,)
    if path is None:
        return _patch(None, "There is no patch: several files have work of that name. Write KIND/NAME.", changes)
    before = _read(call.within(path))
    kinds = list(dict.fromkeys(change["kind"] for gang in gangs for change in gang["changes"]))
    candidates = list(islice(_candidates(before, kinds, gangs[0]["levels"]), MAX_TRIED))
    if not candidates:
        return _patch(None, "There is no patch: no change of one line helps. Choose from `others`.", changes)
    with tempfile.TemporaryDirectory(prefix="kubectl-tas-") as folder:
        root = _copied(call.server.root, Path(folder) / "repository")
        for after in candidates:
            (root / inside(root, path)).write_bytes(after.encode())  # a link may lead back to the repository
            tried = call.ask(words, root=root)
            if tried.answer is not None and _is_placed(tried.answer):
                return _shown(path, before, after, f"With the patch, KAI places {work}.", changes)
    return _patch(None, "There is no patch: with none of the edits that were tried KAI finds a placement.", changes)


def _candidates(text: str, kinds: Sequence[str], levels: Sequence[str]) -> Iterator[str]:
    """Texts in which one line differs, then those in which all such lines do; by the order of ``kinds``."""
    for kind in kinds:
        if kind == "preferred":
            names = "|".join(map(re.escape, levels))
            unsaid = [(re.compile(pattern.format(names)), meant) for pattern, meant in _UNSAID]
            yield from _edited(text, (*_SOFTER, *unsaid))
        elif kind == "level":
            for finer, coarser in reversed(list(zip(levels[1:], levels, strict=False))):
                yield from _edited(text, ((re.compile(_LEVEL.format(re.escape(finer))), rf"\g<1>{coarser}"),))


def _edited(text: str, edits: Sequence[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    lines = text.split("\n")
    changed = {}
    for number, line in enumerate(lines):
        for pattern, meant in edits if len(line) <= MAX_LINE else ():
            new = pattern.sub(meant, line)
            if new != line:
                changed[number] = new
                break
    for number, line in islice(changed.items(), MAX_LINES):
        yield "\n".join((*lines[:number], line, *lines[number + 1 :]))
    if len(changed) > 1:
        yield "\n".join(changed.get(number, line) for number, line in enumerate(lines))


def _mended(text: str, findings: Sequence[dict[str, Any]]) -> str:
    """A text in which the words at the places of findings are replaced, the last one first."""
    lines = text.split("\n")
    places = {(item["location"]["line"], item["location"]["column"]): item["fix"] for item in findings}
    for (line, column), fix in sorted(places.items(), reverse=True, key=lambda item: item[0]):
        if not line or not column or line > len(lines):
            continue
        row = lines[line - 1]
        start = column - 1 + (row[column - 1 : column] in ("'", '"'))
        if row.startswith(fix["written"], start):
            lines[line - 1] = f"{row[:start]}{fix['meant']}{row[start + len(fix['written']) :]}"
    return "\n".join(lines)


def _is_placed(answer: Mapping[str, Any]) -> bool:
    return not answer["leftOut"] and all(gang["outcome"] in ("fits", "runs") for gang in answer["gangs"])


def _counts(finding: Mapping[str, Any]) -> bool:
    return finding["waiver"] is None


def _path(finding: Mapping[str, Any]) -> str | None:
    return finding["location"]["path"] if finding["location"] else None


def _read(file: str) -> str:
    try:
        return read_plain(file, MAX_BYTES, hint=_HINT).decode()
    except UnicodeDecodeError as error:
        raise TasError("the file is not UTF-8", hint="Save it as UTF-8.") from error


def _copied(root: Path, target: Path) -> Path:
    """The repository, without its history. Raises TasError where it is too large."""
    size = 0
    paths = (path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts)
    for count, path in enumerate(paths):
        size += path.lstat().st_size
        if size > MAX_COPIED or count >= MAX_FILES:
            message = (
                f"the repository has more than {MAX_COPIED >> 20} MiB or {MAX_FILES} files, too many to try an edit"
            )
            raise TasError(message, hint="Ask `fit`, which names the changes that help.")
    shutil.copytree(root, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return target


def _shown(path: str, before: str, after: str, message: str, others: list[str]) -> Said:
    patch = unified([(path, before, after)])
    if any(hidden(text) != text for text in (before, after)):
        return _patch(None, "There is no patch: the file holds a secret, which no answer shows.", others)
    return _patch(patch, message, others)


def _patch(patch: str | None, message: str, others: list[str]) -> Said:
    return Said({"version": VERSION, "patch": patch, "message": message, "others": others}, "")
