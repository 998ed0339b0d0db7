"""Writes the generated files in git: schemas, reference pages of docs/, the index of golden/, tables of rules and
commands, and the files of Argo CD and Flux in integrations/.

``python -m tools.generate`` writes them. With ``--check`` it lists files that differ, and exits with 1.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

import click

from kubectl_tas.base.resources import all_rules
from kubectl_tas.cli.addressing import ABOUT_WORK
from kubectl_tas.cli.main import cli, run
from kubectl_tas.edit import gitops_files
from kubectl_tas.facts.kai import FAULTS
from kubectl_tas.kinds.backdoors import BACKDOORS, Backdoor, Decides, KeyPlace
from tools import completion, declared, rulepages
from tools.goldens import ROOT, index
from tools.outputs import output_texts
from tools.schemas import schema_texts
from tools.unfinished import unfinished

COMMAND = "python -m tools.generate"
_FOLDERS = ("schemas", "docs/rules")
"""Folders that contain only generated files."""
RULES = "kubectl_tas/rules.json"
_WIDTH = 100
"""Width of the terminal that docs/cli.md shows."""
_COMMANDS = """\
# Commands

What `kubectl tas COMMAND --help` says. A run that a signal ends exits with 128 and the signal's number, as in a shell.

## Shared options

Several commands have these; each names its own below, but for `-C`, which all that read a repository have.

```text
{shared}
```

The cluster options are {cluster}
([which cluster a command asks](platform-admin.md#which-cluster-a-command-asks)).

{work}
"""
REPOSITORY = "-C"
CLUSTER = ("--backend", "--context", "--kubeconfig", "--namespace", "--cluster-state")
"""Options that many commands share."""
_ABOUT_WORK = re.compile(r"  WORK is a FILE, .*? KIND/NAME\.\n\n", re.DOTALL)
_LISTS = re.compile(r"\n\nWrite:\n.*\n\n(?=  Example: )", re.DOTALL)
"""Lists of commands in a group's help. Each command has a section that begins with the same sentence."""
_FORMATS = re.compile(r"(-o, --output \[[^]]*\])\s+Output format\.\s+")
_SHARED = 2
"""Minimum number of commands with an identical option for which the page describes the option only once."""
_FAULTS = re.compile(r"(<!-- faults -->).*?(<!-- end -->)", re.DOTALL)
_TOLD = 2
"""Maximum number of keys in a group that get a row each, with their effect. A larger group gets one row without it."""
_KEYS = """
## All keys

These give work another queue, priority, scheduler or node than its pool does, or hide it from `validate`. Where the
pool decides the value, another value breaks [workload-conflict](workload-conflict.md). A key that decides "state"
breaks [key-reserved](key-reserved.md), any other key this rule. In a workflow, such a label breaks
[label-reserved](label-reserved.md). The guard judges Pods by the labels in bold.
"""
_ANNOTATIONS = """
## All annotations

| annotation of an object | effect |
| --- | --- |"""
_DIFF = re.compile(r"(<!-- diff of (\S+) to (\S+) -->\n```diff\n).*?(```\n)", re.DOTALL)


def texts() -> dict[str, str]:
    """Returns the text of every generated file, by its path in the repository."""
    return {
        **{f"schemas/{name}": text for name, text in schema_texts().items()},
        **{f"schemas/output/{name}": text for name, text in output_texts().items()},
        **_rule_pages(),
        "docs/versions.md": _versions_page(),
        "docs/cli.md": _command_page(),
        "docs/workloads.md": _workload_page(),
        "golden/README.md": index(),
        **_integrations(),
        RULES: declared.text(declared.declared_rules().values()),
        "kubectl_tas/cli/commands.json": completion.text(commands()),
    }


def commands(command: click.Command = cli, name: str = "kubectl tas") -> Iterator[click.Context]:
    """Yields the context of a command as it runs, then the contexts of its subcommands, in the order of its help."""
    yield from _contexts(command, name, None)


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=_WIDTH)
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            _, inner, _ = command.resolve_command(context, [child])
            assert inner is not None
            yield from _contexts(inner, child, context)


def _integrations() -> dict[str, str]:
    """Makes the files of Argo CD and Flux in integrations/, from the templates of ``init``, for example values."""
    one, several = {"prod": ()}, dict.fromkeys(("train", "serve"), ())
    url = "https://git.example.com/platform/gpus.git"
    flat = gitops_files.Delivery("gpus", url, "main", "manifests", is_sharded=False, pools=one, prune=True)
    flats = replace(flat, pools=several)
    found = {
        "argocd/flat-one-cluster": gitops_files.argocd(flat, "flat-one-cluster.yaml"),
        "argocd/flat": gitops_files.argocd(flats, "flat.yaml"),
        "argocd/sharded-one-cluster": gitops_files.argocd(replace(flat, is_sharded=True), "sharded-one-cluster.yaml"),
        "argocd/sharded": gitops_files.argocd(replace(flats, is_sharded=True), "sharded.yaml"),
        "argocd/health": gitops_files.argocd_health("health.yaml"),
        "argocd/plugin/application": gitops_files.argocd(flat, "application.yaml", plugin=True),
        "flux/source": gitops_files.flux_source(flat),
    }
    for part, path, note in (
        ("flat", "", ". With several backends the path is ./manifests/BACKEND"),
        ("platform", "/platform", ". With several backends the path is ./manifests/BACKEND/platform"),
        (
            "pool",
            "/pools/POOL",
            ", once for each pool, with its name for POOL.\n# With several backends the path is "
            "./manifests/BACKEND/pools/POOL",
        ),
    ):
        found[f"flux/{part}"] = gitops_files.flux_part(flat, part, f"manifests{path}", pool="POOL", note=note)
    return {f"integrations/{name}.yaml": text for name, text in found.items()}


def _command_page() -> str:
    """Makes docs/cli.md from the help of all commands. Shared options appear once, and groups are omitted."""
    contexts = [item for item in commands() if item.parent is None or not isinstance(item.command, click.Group)]
    found = Counter(record for item in contexts for _, record in _records(item))
    common = {record[0].split()[0]: record for record, count in reversed(found.most_common()) if count >= _SHARED}
    shared = set(common.values())
    formatter = click.HelpFormatter(width=_WIDTH)
    formatter.write_dl(sorted(shared))
    first_paths: dict[object, str] = {}
    sections = (_section(item, shared, first_paths) for item in contexts)
    options = textwrap.dedent(formatter.getvalue()).rstrip()
    cluster = f"{', '.join(f'`{name}`' for name in CLUSTER[:-1])} and `{CLUSTER[-1]}`"
    return _COMMANDS.format(shared=options, cluster=cluster, work=ABOUT_WORK) + "".join(sections)


def _records(context: click.Context) -> Iterator[tuple[click.Option, tuple[str, str]]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield parameter, record


def _section(context: click.Context, shared: Container[tuple[str, str]], first_paths: dict[object, str]) -> str:
    """Returns the help of a command without shared options, then their names, and no usage that repeats the heading. A
    command that runs the same function as an earlier one refers to it.
    """
    first_path = first_paths.setdefault(context.command.callback, context.command_path)
    if first_path != context.command_path:
        return f"\n## {context.command_path}\n\nThe same as [`{first_path}`](#{first_path.replace(' ', '-')}).\n"
    left = [parameter for parameter, record in _records(context) if record in shared]
    for parameter in left:
        parameter.hidden = True
    try:
        text = _LISTS.sub("\n\n", _ABOUT_WORK.sub("", context.get_help()))
        usage = f"Usage: {context.command_path} [OPTIONS]"
        text = text.removeprefix(f"{usage}\n\n").replace(f"{usage} ", "Arguments: ")
        text = _FORMATS.sub(r"\1  ", text)
    finally:
        for parameter in left:
            parameter.hidden = False
    names = [max(parameter.opts, key=len) for parameter in left if not {"--help", REPOSITORY} & {*parameter.opts}]
    also = f"\nShared options: {_listed(names)}.\n" if names else ""
    return f"\n## {context.command_path}\n\n```text\n{text}\n```\n{also}"


def _listed(names: Sequence[str]) -> str:
    """Returns the names of options, with CLUSTER as one name if it is complete."""
    if not set(CLUSTER) <= set(names):
        return ", ".join(f"`{name}`" for name in names)
    others = (f"`{name}`" for name in names if name not in CLUSTER)
    return ", ".join(("the cluster options", *others))


def _rule_pages() -> dict[str, str]:
    """Returns the pages of rules. Two of them end with the table of back doors: for work, and for GitOps tools."""
    rows = ["| key | decides | read in | read by |", "| --- | --- | --- | --- |"]
    of_work = (item for item in BACKDOORS if item.decides is not Decides.SYNC)
    for _, alike in groupby(of_work, _reading):
        items = list(alike)
        rows += [_backdoor_row(items)] if len(items) > _TOLD else [_backdoor_row([item]) for item in items]
    annotations = [f"| `{item.key}` | {item.effect} |" for item in BACKDOORS if item.decides is Decides.SYNC]
    pages = rulepages.texts()
    pages["docs/rules/quota-bypass.md"] += "\n".join((_KEYS, *rows, ""))
    pages["docs/rules/sync-bypass.md"] += "\n".join((_ANNOTATIONS, *annotations, ""))
    return pages


def _versions_page() -> str:
    """Returns docs/versions.md with a new table of the faults of KAI's releases."""
    rows = ["| KAI | if | then |", "| --- | --- | --- |"]
    rows += [f"| {fault.releases} | {fault.when} | {fault.effect} |" for fault in FAULTS]
    page, table = (ROOT / "docs/versions.md").read_text(encoding="utf-8"), "\n".join(rows)
    return _FAULTS.sub(lambda block: f"{block[1]}\n{table}\n{block[2]}", page)


def _reading(item: Backdoor) -> tuple[KeyPlace, Decides, str, str]:
    """Returns the key by which back doors are grouped into a row."""
    return item.place, item.decides, item.kinds, item.reader


def _backdoor_row(items: Sequence[Backdoor]) -> str:
    """Returns the row of keys that are read alike; the row of a single key also has its effect."""
    place, decides, kinds, project = _reading(items[0])
    names = ((item, f"{item.parent}.{item.key}" if " " not in (item.parent or " ") else item.key) for item in items)
    keys = ", ".join(f"**`{name}`**" if item.on_pods else f"`{name}`" for item, name in names)
    effect = items[0].effect if len(items) == 1 else ""
    reader = ": ".join(filter(None, (project, effect)))
    return f"| {keys}, {place.value} | {decides.value} | {kinds} | {reader} |"


def _workload_page() -> str:
    """Returns docs/workloads.md with new diffs between files of examples/workloads and the rendered files. Raises
    ValueError with the findings if the example does not render.
    """
    all_rules().update(declared.declared_rules())  # the example may break a rule that the read rules.json lacked
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workloads"
        shutil.copytree(ROOT / "examples/workloads", root, ignore=shutil.ignore_patterns("manifests"))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            if run(["render", "-C", str(root)], "kubectl tas"):
                raise ValueError(f"examples/workloads does not render:\n{said.getvalue()}")

        def fresh(block: re.Match[str]) -> str:
            names = f"workflows/{block[2]}", f"manifests/workloads/{block[3]}"
            before, after = ((root / name).read_text(encoding="utf-8").splitlines(keepends=True) for name in names)
            return block[1] + "".join(unified_diff(before, after, *names)) + block[4]

        return _DIFF.sub(fresh, (ROOT / "docs/workloads.md").read_text(encoding="utf-8"))


def differences(root: Path = ROOT) -> list[str]:
    """Returns the sorted paths of files that are missing, outdated, or no longer generated."""
    return _differing(root, texts())


def _differing(root: Path, wanted: Mapping[str, str]) -> list[str]:
    present = {path.relative_to(root).as_posix() for name in _FOLDERS for path in (root / name).rglob("*.*")}
    differ = {name for name, text in wanted.items() if not _holds(root / name, text)}
    return sorted(differ | (present - wanted.keys()))


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def write(root: Path = ROOT) -> list[str]:
    """Writes files that differ, removes files that are no longer generated, and returns their paths.

    Writes rules.json first. So the tool knows a new rule even if the rule stops the rendering of an example.
    """
    rules = declared.text(declared.declared_rules().values())
    changed = [] if _holds(root / RULES, rules) else [RULES]
    if changed:
        _write(root / RULES, rules)
    wanted = texts()
    for name in _differing(root, wanted):
        changed.append(name)
        if name in wanted:
            _write(root / name, wanted[name])
        else:
            (root / name).unlink()
    return sorted(changed)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def main(arguments: list[str]) -> int:
    """Runs the command. Returns the exit code."""
    if arguments not in ([], ["--check"]):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    try:
        changed = differences() if arguments else write()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print("".join(f"{'not as generated: ' if arguments else 'wrote '}{name}\n" for name in changed), end="")
    lacking = list(unfinished())
    print("".join(f"{sentence}\n" for sentence in lacking), end="", file=sys.stderr)
    return 1 if lacking or (arguments and changed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
