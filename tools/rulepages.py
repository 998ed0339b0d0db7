"""Makes docs/rules.md and the page of each rule, with a wrong and a right example from the golden cases of the rule."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from kubectl_tas.diagnostics import Rule, Severity
from kubectl_tas.report.text import rule_page
from tools.declared import declared_rules
from tools.goldens import ROOT, SILENCE, Case, read
from tools.rule_nodes import nodes_of_rules

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
    "The Config, and rules that are made milder": ("check.settings", "check.run_checks", "load.rights"),
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
    "Workflows": ("check.workflow_fields", "check.mounts", "check.osmo_service", "check.timeouts", "local-file"),
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
        "check.commands",
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
MAX_LINES = 40
AROUND = 8
"""Lines before and after a finding that are shown of a file with more than MAX_LINES."""
_PLACE = re.compile(r"^(\S+?)(?::(\d+):\d+)?: (?:error|warning|info): ")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_INTRODUCTION = """# Rules

Look up the code of a finding. Its page, and `kubectl tas rule CODE`, say why and how to mend it. A finding is an error
and fails a run, unless it is marked here: a warning fails it with `--strict`, a note never.
"""
_LOOKS = """
## What each rule looks at

The checks of `validate` do not search for their objects: a rule that looks at containers sees those of every kind. A
file is looked at even if its pool is unknown. Rules that are not listed judge text, changes, edits or a cluster.

| node | rules |
|---|---|
"""
_MARKS = {Severity.ERROR: "", Severity.WARNING: " (warning)", Severity.INFO: " (note)"}


def texts() -> dict[str, str]:
    """Returns the pages by path in the repository. Raises ValueError if a module with rules has no subject."""
    groups = dict(_groups())
    index = [_INTRODUCTION]
    for subject, rules in groups.items():
        index.append(f"\n## {subject}\n\n")
        index += [f"- [{r.code}](rules/{r.code}.md){_MARKS[r.severity]}: {r.summary}\n" for r in rules]
    index.append(_LOOKS)
    for node, codes in nodes_of_rules().items():
        index.append(f"| {node} | {'; '.join(f'[{code}](rules/{code}.md)' for code in codes)} |\n")
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
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Rule":
            yield str(ast.literal_eval(call.args[0]))


def _page(rule: Rule) -> str:
    """Returns the text of ``kubectl tas rule``, with examples if the rule has a case that fires."""
    folder = ROOT / "golden/rules" / rule.code
    cases = [read(path.parent) for path in sorted(folder.glob("*/about.txt"))]
    cases.sort(key=lambda case: case.folder.name not in ("fires", "silent"))
    found = [(case, _found(rule, case)) for case in cases if (case.folder / "output.txt").is_file()]
    wrong = [(case, finding) for case, finding in found if finding is not None]
    if not wrong:
        return rule_page(rule)
    right = [case for case in cases if case.is_silent]
    pairs = [(pair, case) for pair in wrong for case in right if pair[1][0] in _changed(pair[0], case)]
    (shown, (path, line, said)), mended = pairs[0] if pairs else (wrong[0], next(iter(right), None))
    text = _excerpt(_files(shown)[path], line)
    example = f"## Wrong\n\n{_sentence(shown)}:\n\n{_fenced(path, text)}\n```text\n{said}\n```\n"
    return f"{rule_page(rule)}\n{example}{_right(shown, mended, path) if mended else ''}"


def _found(rule: Rule, case: Case) -> tuple[str, int, str] | None:
    """Returns the path, line and text of the rule's first finding in a case; None if the finding has no file."""
    blocks = (case.folder / "output.txt").read_text(encoding="utf-8").split("\n\n")
    block = next((block for block in blocks if f" [{rule.code}]" in block.partition("\n")[0]), None)
    place = _PLACE.match(block) if block else None
    if block is None or place is None or place[1] not in _files(case):
        return None
    return place[1], int(place[2] or 1), block.strip()


def _right(wrong: Case, right: Case, path: str) -> str:
    """Returns what the right case shows, with a file that differs from the wrong case: that of ``path`` if it does."""
    changed = _changed(wrong, right)
    name = path if path in changed else next(iter(changed), None)
    if name is None:
        return f"\n## Right\n\n{_sentence(right)}.\n"
    before, after = _files(wrong).get(name, ""), _files(right)[name]
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
    return _texts((*case.layers["input"], case.folder / "input"))


@cache
def _texts(homes: tuple[Path, ...]) -> dict[str, str]:
    return {
        path.relative_to(home).as_posix(): path.read_text(encoding="utf-8", errors="backslashreplace")
        for home in homes
        for path in home.rglob("*")
        if path.is_file()
    }


def _excerpt(text: str, line: int) -> str:
    """Returns a text, of a long one only the lines around ``line``, with control characters escaped."""
    shown = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.removeprefix("\ufeff"))
    lines = shown.splitlines()
    if len(lines) <= MAX_LINES:
        return "\n".join(lines)
    first, last = max(0, line - 1 - AROUND), min(len(lines), line + AROUND)
    before, after = ["# ..."] if first else [], ["# ..."] if last < len(lines) else []
    return "\n".join([*before, *lines[first:last], *after])


def _fenced(path: str, text: str) -> str:
    language = "json" if path.endswith(".json") else "yaml"
    head = "" if language == "json" else f"# {path}\n"
    return f"```{language}\n{head}{text}\n```\n"
