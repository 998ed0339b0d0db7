"""Makes docs/rules.md and the page of each rule, with a wrong and a right example from the golden cases of the rule."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from kubectl_tas.base.diagnostics import Rule, Severity
from kubectl_tas.report.text import rule_page
from tools.advice import mended
from tools.declared import declared_rules
from tools.goldens import ROOT, SILENCE, Case, read

SUBJECTS = {
    "Files and YAML": (
        "load.source",
        "load.ignored_files",
        "load.document",
        "load.reader",
        "load.syntax",
    ),
    "Documents and their fields": ("load.kinds", "load.schema", "load.loading"),
    "Templates": ("jinja.bounds", "load.expansion", "load.templates"),
    "The Config, and rules that are made milder": ("check.settings", "check.judging", "load.rights"),
    "Names": (
        "check.object_names",
        "check.unique",
        "check.references",
        *("namespace-of-system", "namespace-repeated", "namespace-widened"),
    ),
    "Pools, quotas and admission": (
        "check.pool_settings",
        "check.quota",
        "gangs.admission",
        "edit.subpool_edits",
        "edit.pool_edits",
        "edit.apply",
        "node-label",
    ),
    "Platforms": ("check.task_platforms",),
    "Topologies": ("check.hierarchy", "check.node_labels"),
    "Shards of the scheduler": ("check.shard_settings",),
    "Workflows": (
        "check.workflow_fields",
        "check.mounts",
        "check.osmo_service",
        "check.osmo_refusals",
        "check.timeouts",
        "local-file",
    ),
    "Workloads": (
        "check.workload_labels",
        "check.companion_names",
        "karta-unread",
        "check.compute_domains",
        "check.fields",
        "check.pod_templates",
        "check.conflicts",
        "check.combinations",
        "check.operator_refusals",
        "check.gitops",
        "check.keys",
        "check.other_schedulers",
        "check.replicas",
        "check.owned",
        "check.resource_requests",
        "check.command_words",
        "check.without_effect",
    ),
    "Behind the pool's back": (
        "check.growth",
        "check.visibledevices",
        "check.filled_in",
        "check.selectors",
        "check.secrets",
        *("eviction-slow", "quota-bypass", "sync-bypass"),
    ),
    "Placement and segments": ("check.placement_rules", "check.segment_annotations"),
    "PodGroups written by hand": ("check.written_podgroups",),
    "PodCliqueSets": ("check.cliques", "check.clique_placement", "set-field"),
    "KAI and Grove releases": ("check.versions", "check.grove_api"),
    "Changes, and what a cluster has": ("compare", "place.uncharged"),
    "The output folder": ("emit",),
}
"""The modules or rooms whose rules belong to a subject, and single rules of other modules."""
ALIKE = 0.5
"""The part of its lines that a right example keeps of the wrong one, to count as the same file."""
MENDED = "mended"
"""The name of a case whose file is that of the wrong case with the change."""
MAX_LINES = 40
AROUND = 8
"""Lines before and after a finding that are shown of a file with more than MAX_LINES."""
_PLACE = re.compile(r"^(\S+?)(?::(\d+):\d+)?: (?:error|warning|info): ")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_INTRODUCTION = """# Rules

Look up the code of a finding. Its page, and `kubectl tas rule CODE`, say why and how to mend it. A finding is an error
and fails a run, unless it is marked here: a warning fails it with `--strict`, an info never.
"""
_MARKS = {Severity.ERROR: "", Severity.WARNING: " (warning)", Severity.INFO: " (info)"}


def texts() -> dict[str, str]:
    """Returns the pages by path in the repository. Raises ValueError if a module with rules has no subject."""
    groups = dict(_groups())
    index = [_INTRODUCTION]
    for subject, rules in groups.items():
        index.append(f"\n## {subject}\n\n")
        index += [f"- [{r.code}](rules/{r.code}.md){_MARKS[r.severity]}: {r.summary}\n" for r in rules]
    pages = {f"docs/rules/{rule.code}.md": _page(rule) for rule in chain.from_iterable(groups.values())}
    return {"docs/rules.md": "".join(index), **pages}


def _groups() -> Iterator[tuple[str, list[Rule]]]:
    """Yields each subject with its rules, sorted by code."""
    found: dict[str, list[Rule]] = defaultdict(list)
    for path in (ROOT / "kubectl_tas").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT / "kubectl_tas").with_suffix("").parts)
        for code in _declared(path):
            found[module].append(declared_rules()[code])
    left, single = set(found), set(chain.from_iterable(SUBJECTS.values()))
    for subject, places in SUBJECTS.items():
        modules = {module for module in left if any(f"{module}.".startswith(f"{place}.") for place in places)}
        left -= modules
        own = [rule for module in modules for rule in found[module] if rule.code not in single]
        own += [declared_rules()[code] for code in places if code in declared_rules()]
        yield subject, sorted(own, key=lambda rule: rule.code)
    if left:
        hint = "add the module to a subject there, under which docs/rules.md lists its rules"
        raise ValueError(f"SUBJECTS of tools/rulepages.py lacks {', '.join(sorted(left))}: {hint}.")


def _declared(path: Path) -> Iterator[str]:
    """Yields the codes of the rules that a module declares."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Rule", "Rule.error", "Rule.warning", "Rule.info"):
            yield str(ast.literal_eval(call.args[0]))


class Example(NamedTuple):
    """A finding of a rule in a case."""

    case: Case
    path: str
    line: int
    said: str


def _page(rule: Rule) -> str:
    """Returns the text of ``kubectl tas rule``, with examples if the rule has a case that fires. The right example is
    the wrong file with the change: as the help of the finding says, else of a silent case. Else it is another file.
    """
    folder = ROOT / "golden/rules" / rule.code
    cases = [read(path.parent) for path in sorted(folder.glob("*/about.txt"))]
    cases.sort(key=lambda case: case.folder.name not in ("fires", MENDED, "silent"))
    wrong = [example for case in cases for example in _found(rule, case)]
    if not wrong:
        return rule_page(rule)
    right = [case for case in cases if case.is_silent]
    alike = ((example, case) for example in wrong for case in right if _likeness(example, case) >= ALIKE)
    shown, silent = next(alike, (wrong[0], None))
    mended_text, how = "", ""
    if silent is not None:
        mended_text, how = _files(silent)[shown.path], _sentence(silent)
    for example in wrong:
        advised = _advised(rule, example)
        if advised is not None:
            shown, mended_text, how = example, advised, "The same file, after the help"
            break
    if mended_text:
        after = f"\n## Right\n\n{how}:\n\n{_difference(shown.path, _files(shown.case)[shown.path], mended_text)}"
    else:
        pairs = ((example, case) for example in wrong for case in right if example.path in _changed(example.case, case))
        shown, other = next(pairs, (wrong[0], next(iter(right), None)))
        after = _right(shown.case, other, shown.path) if other else ""
    text = _excerpt(_files(shown.case)[shown.path], shown.line)
    wrong_file = _fenced(shown.path, text)
    example_text = f"## Wrong\n\n{_sentence(shown.case)}:\n\n{wrong_file}\n```text\n{shown.said}\n```\n"
    return f"{rule_page(rule)}\n{example_text}{after}"


def _found(rule: Rule, case: Case) -> Iterator[Example]:
    """Yields the findings of a rule in a case that are in a file of the case."""
    output = case.folder / "output.txt"
    for block in output.read_text(encoding="utf-8").split("\n\n") if output.is_file() else ():
        place = _PLACE.match(block) if f" [{rule.code}]" in block.partition("\n")[0] else None
        if place is not None and place[1] in _files(case):
            yield Example(case, place[1], int(place[2] or 1), block.strip())


def _likeness(wrong: Example, right: Case) -> float:
    """Returns how much of the file with the finding a right case keeps, from 0 to 1: all, if it is called mended."""
    before, after = _files(wrong.case)[wrong.path], _files(right).get(wrong.path, "")
    if after and right.folder.name == MENDED:
        return 1.0
    return 0.0 if before == after else SequenceMatcher(None, before.splitlines(), after.splitlines()).ratio()


def _advised(rule: Rule, wrong: Example) -> str | None:
    """Returns a file after the help of a finding in it; None if that mends nothing, or brings a new finding."""
    if wrong.case.files("base"):
        return None
    for place, after in _mended(wrong.case.folder, rule.code):
        if place == (wrong.path, wrong.line):
            return after
    return None


@cache
def _mended(folder: Path, code: str) -> list[tuple[tuple[str, int], str]]:
    """Returns the texts of files after advice that helps, each with the place of its finding."""
    found = mended(read(folder), code)
    helped = ((finding.location, after) for finding, after, new, is_gone in found if is_gone and not new)
    return [((place.path, place.line), after) for place, after in helped if place is not None]


def _difference(path: str, before: str, after: str) -> str:
    """Returns the changed lines of a file with those around them, marked as in a patch."""
    rows = unified_diff(
        _excerpt(before, 1, whole=True).splitlines(), _excerpt(after, 1, whole=True).splitlines(), n=AROUND
    )
    body = ["..." if row.startswith("@@") else row for row in list(rows)[2:]]
    return "\n".join(("```diff", f"# {path}", *(body[1:] if body[:1] == ["..."] else body), "```", ""))


def _right(wrong: Case, right: Case, path: str) -> str:
    """Returns what the right case shows, with a file that differs from the wrong case: that of ``path`` if it does."""
    changed = _changed(wrong, right)
    name = path if path in changed else next(iter(changed), None)
    if name is None:
        return f"\n## Right\n\n{_sentence(right)}.\n"
    before, after = _files(wrong).get(name, ""), _files(right)[name]
    if before and SequenceMatcher(None, before.splitlines(), after.splitlines()).ratio() >= ALIKE:
        return f"\n## Right\n\n{_sentence(right)}:\n\n{_difference(name, before, after)}"
    lines = enumerate(zip_longest(before.splitlines(), after.splitlines()), 1)
    line = next((number for number, (old, new) in lines if old != new), 1)
    return f"\n## Right\n\n{_sentence(right)}:\n\n{_fenced(name, _excerpt(after, line))}"


def _changed(wrong: Case, right: Case) -> list[str]:
    """Returns the paths of documents that the right case adds or changes: first its own, then changed ones."""
    before, after = _files(wrong), _files(right)
    changed = [name for name in sorted(after) if after[name] != before.get(name)]
    documents = [name for name in changed if name.endswith((".yaml", ".yml", ".json"))]
    own = right.folder / "input"
    return sorted(documents, key=lambda name: (not (own / name).is_file(), name not in before))


def _sentence(case: Case) -> str:
    said = case.shows.removeprefix(SILENCE)
    return f"{said[0].upper()}{said[1:]}"


def _files(case: Case) -> dict[str, str]:
    """Returns the text of each file in the repository of a case, by path."""
    return _texts(case.folder)


@cache
def _texts(folder: Path) -> dict[str, str]:
    paths = read(folder).files("input").items()
    return {name: path.read_text(encoding="utf-8", errors="backslashreplace") for name, path in paths}


def _excerpt(text: str, line: int, *, whole: bool = False) -> str:
    """Returns a text, of a long one only the lines around ``line``, with control characters escaped."""
    shown = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.removeprefix("\ufeff"))
    lines = shown.splitlines()
    if whole or len(lines) <= MAX_LINES:
        return "\n".join(lines)
    first, last = max(0, line - 1 - AROUND), min(len(lines), line + AROUND)
    before, after = ["# ..."] if first else [], ["# ..."] if last < len(lines) else []
    return "\n".join([*before, *lines[first:last], *after])


def _fenced(path: str, text: str) -> str:
    language = "json" if path.endswith(".json") else "yaml"
    head = "" if language == "json" else f"# {path}\n"
    return f"```{language}\n{head}{text}\n```\n"
