"""Suggests the smallest edit that mends the findings of a file or lets work start, as a unified diff that was tried."""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kubectl_tas.agents.asking import Call, Said, node_words
from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.credentials import hidden
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE, inside, normal, read_plain
from kubectl_tas.load.source import MAX_BYTES
from kubectl_tas.load.splice import sent_elsewhere
from kubectl_tas.report.json import as_json
from kubectl_tas.report.style import unified
from kubectl_tas.resolve.fleet import is_called

Meant = str | Callable[[re.Match[str]], str]
MAX_TRIED = 12
"""Maximum number of edits that are tried."""
MAX_LEVELS = 8
"""Maximum number of edits that change levels, among these."""
MAX_LINES = 4
"""Maximum number of lines that are tried one by one for one kind of edit."""
MAX_LINE = 500
"""Maximum length of a line that is edited. The time of a pattern may grow with the square of the length."""
MAX_TASK = 4_000
"""Maximum number of characters of a task that are read."""
MAX_QUEUES = 3
"""Maximum number of other queues that are tried."""
MAX_FILES = 20_000
"""Maximum number of files and folders of a repository that is copied."""
MAX_COPIED = 64 * MEBIBYTE
"""Maximum number of bytes of a repository that is copied to try edits."""
_HINT = "Name a file of the repository."
_SOFTER = (
    (re.compile(r"(requirementType[\"']?:\s*[\"']?)required\b"), r"\1preferred"),
    (re.compile(r"(topology-)required(-placement[\"']?:)"), r"\1preferred\2"),
    (re.compile(r"\brequired(TopologyLevel[\"']?:)"), r"preferred\1"),
)
"""Patterns of lines that require a level, and replacements that prefer it."""
_UNSAID = (
    (
        r"(\{{(?![^{{}}]*requirementType)[^{{}}]*\bkey:\s*[\"']?(?:{0})\b[^{{}}]*?)(\s*\}})",
        r"\1, requirementType: preferred\2",
    ),
    (r"^(\s*)- key:\s*[\"']?(?:{0})[\"']?\s*$", r"\g<0>\n\1  requirementType: preferred"),
    (r"^(\s+)key:\s*[\"']?(?:{0})[\"']?\s*$", r"\g<0>\n\1requirementType: preferred"),
)
"""Patterns of workflow lines that require a level by default, and replacements that prefer it."""
_REFUSED = ("rejected", "unschedulable", "pending")
_PLACED = "There is no patch: KAI places it."
_COUNT = re.compile(
    r"(\b(?:replicas|parallelism|completions|size|minReplicas|minAvailable|minMember)[\"']?:\s*)(\d{1,6})\b(?=\s*(?:[,}#]|$))"
)
"""Pattern of a line that contains a number of pods."""
_ITEM = re.compile(r"^(\s*)- ")
_IMAGE, _TASKS = re.compile(r"\bimage[\"']?:"), re.compile(r"\btasks[\"']?:")
_RESOURCE = re.compile(r"\bresource[\"']?:\s*[\"']?([\w.-]+)")
_LEVEL = r"((?:key|[\w./-]*required-placement|requiredTopologyLevel)[\"']?:\s*[\"']?){}(?=[\"'\s,}}]|$)"


@json_fields("version:1 patch message others")
class Patch(NamedTuple):
    """The smallest change that solves the problem."""

    patch: str | None
    """A unified diff for git apply in the repository. None if no edit of a file is known to help."""
    message: str
    """The effect of the patch, or the reason why no patch exists."""
    others: list[str]
    """Other changes that help or are needed, in words."""


def suggest(call: Call, arguments: Mapping[str, Any]) -> Said:
    """Suggests an edit for the named file or work. Raises TasError unless exactly one of the two is given."""
    if ("path" in arguments) == ("work" in arguments):
        raise TasError("suggest takes either path or work", hint="Pass one of them.")
    return _of_file(call, arguments["path"]) if "path" in arguments else _of_work(call, arguments["work"])


def _of_file(call: Call, path: str) -> Said:
    """Suggests the replacement of every word for which a finding names the right word."""
    file, path = call.within(path), normal(path)
    reply = call.ask(["validate", "-o", "json", "--", file])
    if reply.answer is None:
        return reply
    in_file = [finding for finding in reply.answer["diagnostics"] if _counts(finding) and _path(finding) == path]
    messages = [f"{finding['message']} {finding['hint']}".strip() for finding in in_file if finding["fix"] is None]
    before = _read(file)
    after = _mended(before, [finding for finding in in_file if finding["fix"] is not None])
    if after == before:
        reason = "no finding says exactly what to write instead" if in_file else "the file has no findings"
        return _patch(None, f"There is no patch: {reason}.", messages)
    tried = call.ask(["validate", "-", "-o", "json", f"--stdin-filename={file}"], stdin=after)
    unmended = [finding for finding in (tried.answer or {"diagnostics": in_file})["diagnostics"] if _counts(finding)]
    if len(unmended) >= len(in_file):
        return _patch(None, "There is no patch: the words that findings suggest lead to other findings.", messages)
    message = f"The patch mends {len(in_file) - len(unmended)} of {len(in_file)} findings."
    return _shown(path, before, after, message, messages)


def _of_work(call: Call, work: str) -> Said:
    """Suggests an edit so that the queue admits work that never starts, else so that KAI places or starts it."""
    call.within(work)
    words = ["admit", "-o", "json", *call.server.cluster, "--", work]
    reply = call.ask(words)
    if reply.answer is None:
        return reply
    refused = [verdict for verdict in reply.answer["workflows"] if verdict["verdict"] in _REFUSED]
    can_wait = all(verdict["verdict"] == "pending" for verdict in refused)
    if can_wait and (not refused or call.server.nodes or call.server.cluster):
        placement = _of_nodes(call, work)
        if not refused or placement.answer is None or placement.answer["message"] != _PLACED:
            return placement
    hints = list(dict.fromkeys(verdict["hint"] for verdict in refused if verdict["hint"]))
    return _tried(
        call, work, words, partial(_of_queue, call, work, refused[0]), _is_admitted, "its queue admits", hints
    )


def _of_nodes(call: Call, work: str) -> Said:
    words = ["fit", "-o", "json", *node_words(call.server), "--", work]
    reply = call.ask(words)
    if reply.answer is None:
        return reply
    gangs = reply.answer["gangs"]
    changes = [change for gang in gangs for change in gang["changes"]]
    texts = list(dict.fromkeys(change["text"] for change in changes))
    if not gangs or _is_placed(reply.answer):
        return _patch(None, _PLACED if gangs else "There is no patch: there is no answer for it.", texts)
    edits = partial(_of_levels_and_pods, changes, gangs[0]["levels"])
    return _tried(call, work, words, edits, _is_placed, "KAI places", texts)


def _tried(
    call: Call,
    work: str,
    words: Sequence[str],
    edits: Callable[[str, str], Iterator[str]],
    helps: Callable[[Mapping[str, Any]], bool],
    effect: str,
    texts: list[str],
) -> Said:
    """Tries texts for the file of the work, and suggests the first one for which the answer of a command ``helps``."""
    explained = call.ask(["workflow", "explain", "-o", "json", "--", work])
    if explained.answer is None:
        return explained
    paths = {explained_work["file"] for explained_work in explained.answer.get("items", [explained.answer])}
    (path,) = paths if len(paths) == 1 else (None,)
    if path is None:
        return _patch(None, "There is no patch: several files have work of that name. Write KIND/NAME.", texts)
    before = _read(call.within(path))
    candidates = [after for after in dict.fromkeys(edits(path, before)) if after != before][:MAX_TRIED]
    if not candidates:
        return _patch(None, "There is no patch: no small edit is known that helps. Choose from `others`.", texts)
    with tempfile.TemporaryDirectory(prefix="kubectl-tas-") as folder:
        root = _copied(call.server.root, Path(folder) / "repository")
        for after in candidates:
            (root / inside(root, path)).write_bytes(after.encode())  # a link may lead back to the repository
            tried = call.ask(words, root=root)
            if tried.answer is not None and helps(tried.answer):
                return _shown(path, before, after, f"With the patch, {effect} {work}.", texts)
    return _patch(None, "There is no patch: none of the edits that were tried is enough.", texts)


def _of_queue(call: Call, work: str, admission: Mapping[str, Any], path: str, text: str) -> Iterator[str]:
    """Yields the work in another queue of its pool with enough quota left, then with LOW priority, then smaller."""

    def sent(pool: str | None, priority: str | None) -> Iterator[str]:
        try:
            content = sent_elsewhere(
                path, text.encode(), pool, priority, lambda kind, name: is_called(kind, name, work)
            )
        except TasError:  # a template, whose values say it
            return
        yield content.decode()

    listed = call.ask(["pool", "list", "-o", "json", *call.server.cluster]).answer
    pools = {pool["name"]: pool for pool in listed["pools"]} if listed is not None else {}
    pool_name, room = admission["pool"].partition("--")[0], {}
    for name, pool in pools.items():
        is_open = pool["state"] in (None, "ACTIVE") and name.partition("--")[0] == pool_name
        free = math.inf if pool["available"] is None else pool["available"]
        if is_open and name != admission["pool"] and free >= admission["gpus"]:
            room[name] = free
    for name in sorted(room, key=lambda name: (-room[name], name))[:MAX_QUEUES]:
        yield from sent(name, None)
    yield from sent(None, "LOW")
    if admission["priority"] == "LOW":
        limits = [pool["limit"] for pool in _above(pools, admission["pool"]) if pool["limit"] is not None]
        most = min(limits, default=0)
    else:
        most = admission["quota"] if isinstance(admission["quota"], int | float) else 0
    for limit in dict.fromkeys((most, most - admission["used"])):
        if 0 < limit < admission["gpus"]:
            yield from _smaller(text, limit / admission["gpus"])


def _above(pools: Mapping[str, Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
    """Yields a pool or subpool and all pools above it."""
    while name in pools:
        yield pools[name]
        name = pools[name]["parent"] or ""


def _of_levels_and_pods(
    changes: Sequence[Mapping[str, Any]], levels: Sequence[str], _path: str, text: str
) -> Iterator[str]:
    """Yields the work with the levels that ``fit`` names, then with fewer pods or copies."""
    yield from islice(_candidates(text, list(dict.fromkeys(change["kind"] for change in changes)), levels), MAX_LEVELS)
    for fewer in dict.fromkeys(change["fewer"] for change in changes if change["fewer"]):
        yield from _smaller(text, fewer=fewer)


def _smaller(text: str, share: float = 1, fewer: int = 0) -> Iterator[str]:
    """Yields texts with a ``share`` of the pods, or ``fewer`` pods: with a lower number, or without the last tasks of a
    resource.
    """

    def kept(count: int) -> int:
        return math.floor(count * share + 1e-9) - fewer

    def lower(match: re.Match[str]) -> str:
        count = int(match[2])
        return f"{match[1]}{kept(count)}" if 0 < kept(count) < count else match[0]

    yield from _edited(text, ((_COUNT, lower),))
    lines = text.split("\n")
    tasks: dict[str, list[range]] = {}
    for start, line in enumerate(lines):
        if dash := _ITEM.match(line[:MAX_LINE]):
            end = next((at for at in range(start + 1, len(lines)) if not _is_within(lines[at], dash[1])), len(lines))
            block = "\n".join(lines[start:end])[:MAX_TASK]
            if _IMAGE.search(block) and not _TASKS.search(block):
                resource = _RESOURCE.search(block)
                tasks.setdefault(resource[1] if resource else "", []).append(range(start, end))
    for blocks in sorted(tasks.values(), key=len, reverse=True)[:MAX_LINES]:
        count = kept(len(blocks))
        if 0 < count < len(blocks):
            gone = {at for block in blocks[count:] for at in block}
            yield "\n".join(line for at, line in enumerate(lines) if at not in gone)


def _is_within(line: str, indent: str) -> bool:
    """Whether a line belongs to a list item whose dash has this indentation."""
    return bool(line) and line.startswith(f"{indent} ")


def _candidates(text: str, kinds: Sequence[str], levels: Sequence[str]) -> Iterator[str]:
    """Yields texts with one changed line, then with all such lines changed, in the order of ``kinds``."""
    for kind in kinds:
        if kind == "preferred":
            names = "|".join(map(re.escape, levels))
            unsaid = [(re.compile(pattern.format(names)), meaning) for pattern, meaning in _UNSAID]
            yield from _edited(text, (*_SOFTER, *unsaid))
        elif kind == "level":
            for finer, coarser in reversed(list(zip(levels[1:], levels, strict=False))):
                yield from _edited(text, ((re.compile(_LEVEL.format(re.escape(finer))), rf"\g<1>{coarser}"),))


def _edited(text: str, edits: Sequence[tuple[re.Pattern[str], Meant]]) -> Iterator[str]:
    lines = text.split("\n")
    changed = {}
    for number, line in enumerate(lines):
        for pattern, meaning in edits if len(line) <= MAX_LINE else ():
            new = pattern.sub(meaning, line)
            if new != line:
                changed[number] = new
                break
    for number, line in islice(changed.items(), MAX_LINES):
        yield "\n".join((*lines[:number], line, *lines[number + 1 :]))
    if len(changed) > 1:
        yield "\n".join(changed.get(number, line) for number, line in enumerate(lines))


def _mended(text: str, findings: Sequence[dict[str, Any]]) -> str:
    """Replaces the words at the places of findings, from the last place to the first."""
    lines = text.split("\n")
    places = {(finding["location"]["line"], finding["location"]["column"]): finding["fix"] for finding in findings}
    for (line, column), fix in sorted(places.items(), reverse=True, key=lambda position_and_fix: position_and_fix[0]):
        if not line or not column or line > len(lines):
            continue
        row = lines[line - 1]
        start = column - 1 + (row[column - 1 : column] in ("'", '"'))
        if row.startswith(fix["written"], start):
            lines[line - 1] = f"{row[:start]}{fix['meant']}{row[start + len(fix['written']) :]}"
    return "\n".join(lines)


def _is_admitted(answer: Mapping[str, Any]) -> bool:
    return all(verdict["verdict"] not in _REFUSED for verdict in answer["workflows"])


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
    """Copies the repository without its git history. Raises TasError if it is too large."""
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


def _shown(path: str, before: str, after: str, message: str, messages: list[str]) -> Said:
    patch = unified([(path, before, after)])
    if any(hidden(text) != text for text in (before, after)):
        return _patch(None, "There is no patch: the file holds a secret, which no answer shows.", messages)
    return _patch(patch, message, messages)


def _patch(patch: str | None, message: str, messages: list[str]) -> Said:
    return Said(as_json(Patch(patch, message, messages)), "")
