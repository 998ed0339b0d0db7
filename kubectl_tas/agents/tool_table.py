"""Defines the tools for agents: the command, purpose, input schema and output schema of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kubectl_tas.agents.asking import DEFAULT_LIMIT, MAX_LIMIT, PAGE, Call, Said, cluster_words, node_words, optional
from kubectl_tas.agents.patching import suggest
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.base.resources import read_resource
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import MAX_COUNT

Arguments = Mapping[str, Any]
_OF_NO_TEXT = late_pattern("[\0\ud800-\udfff]")
MAX_MESSAGE = 200
"""Most characters of the schema's own message that a refusal passes on."""
_TEXT = {"type": "string", "maxLength": 1_000_000}
_WORD = {"type": "string", "minLength": 1, "maxLength": 1024}


def _word(description: str) -> dict[str, Any]:
    return {**_WORD, "description": description}


_PATH = _word("A file, relative to the folder of tas.yaml.")
_WORK = _word(f"The name of a workflow, workload or {SET.kind}, or KIND/NAME.")
_MANIFEST = {**_TEXT, "description": "The text of a file, as YAML. It need not be in the repository."}
_LIST = {
    "offset": {"type": "integer", "minimum": 0, "description": "Leave out so many items of each list."},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": f"Default: {DEFAULT_LIMIT}."},
}


@dataclass(frozen=True)
class Tool:
    """One tool."""

    title: str
    description: str
    """The purpose of the tool, and when to call it."""
    output: str
    """Name of the output schema in ``schemas/output/``."""
    answer: Callable[[Call, Arguments], Said]
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    asks_cluster: bool = False
    """Whether the answer may come from a cluster."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {**self.properties, **_LIST},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def read_arguments(self, arguments: Any) -> dict[str, Any]:
        """Returns the arguments of a call, with each whole number as an ``int``. Raises TasError for arguments that the
        schema refuses, or that no command line and no file can have.
        """
        from jsonschema import Draft202012Validator  # only calls need it, not the list of tools
        from jsonschema.exceptions import best_match

        for name, value in _leaves(arguments):
            if isinstance(value, int) and abs(value) > MAX_COUNT:
                raise TasError(f"{name}: the number is beyond {MAX_COUNT}")
            if isinstance(value, str) and (wrong := _OF_NO_TEXT.search(value)):
                raise TasError(f"{name}: the text has {wrong[0]!a}, which no command takes", hint="Leave it out.")
        refused = best_match(Draft202012Validator(self.input_schema).iter_errors(arguments))
        if refused is not None:
            where = f"{refused.json_path.removeprefix('$.')}: " if refused.path else ""
            raise TasError(f"{where}{refused.message[:MAX_MESSAGE]}")
        return {name: int(value) if isinstance(value, float) else value for name, value in arguments.items()}

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of the answer: the output of the command with ``-o json``, plus two fields."""
        schema: dict[str, Any] = json.loads(read_resource(f"schemas/output/{self.output}.json"))
        notes = {"type": "string", "description": "What the command tells people besides."}
        return {**schema, "properties": {**schema.get("properties", {}), "page": PAGE, "notes": notes}}


def _leaves(arguments: object) -> Iterator[tuple[str, object]]:
    """Yields each key and each value without parts, with the name of its argument."""
    waiting = [("the arguments", arguments)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            yield from ((name, key) for key in value)
            waiting += [(key if value is arguments else name, inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(name, inner) for inner in value]
        else:
            yield name, value


def _validate_manifest(call: Call, arguments: Arguments) -> Said:
    words = ["validate", "-", "-o", "json", *optional(arguments, base="--base")]
    if "path" in arguments:
        words.append(f"--stdin-filename={call.within(arguments['path'])}")
    return call.ask([*words, *call.server.cluster], stdin=arguments["manifest"])


def _validate(call: Call, arguments: Arguments) -> Said:
    paths = [call.within(path) for path in arguments.get("paths", ())]
    return call.ask(["validate", "-o", "json", *optional(arguments, base="--base"), *call.server.cluster, "--", *paths])


def _explain(call: Call, arguments: Arguments) -> Said:
    call.within(arguments["work"])
    words = ["workflow", "explain", "-o", "json", *optional(arguments, podIndex="--pod-index")]
    return call.ask([*words, "--", arguments["work"]])


def _admit(call: Call, arguments: Arguments) -> Said:
    if len({"manifest", "work", "path"} & arguments.keys()) != 1:
        raise TasError("admit takes either manifest or work", hint="Pass one of them.")
    words = ["admit", "-o", "json", *optional(arguments, pool="--pool", priority="--priority", used="--used")]
    work = str(arguments.get("work", arguments.get("path", "-")))
    file = call.within(work)
    if "path" in arguments or Path(file).is_file():
        work = file
    return call.ask([*words, *call.server.cluster, "--", work], stdin=arguments.get("manifest", ""))


def _fit(call: Call, arguments: Arguments) -> Said:
    work = arguments.get("work", ())
    for name in work:
        call.within(name)
    every = () if work else ("--all",)
    return call.ask(["fit", "-o", "json", *every, *node_words(call.server), "--", *work])


def _forecast(call: Call, arguments: Arguments) -> Said:
    work = arguments.get("work", ())
    for name in work:
        call.within(name)
    options = optional(arguments, grow="--grow", assume="--assume", horizon="--horizon", now="--now")
    return call.ask(["forecast", "-o", "json", *options, *node_words(call.server), "--", *work])


def _why(call: Call, arguments: Arguments) -> Said:
    call.within(arguments["work"])
    return call.ask(["workflow", "why", "-o", "json", *cluster_words(call.server), "--", arguments["work"]])


def _pools(call: Call, arguments: Arguments) -> Said:
    return call.ask(["pool", "list", "-o", "json", *call.server.cluster, "--", *arguments.get("names", ())])


def _diff(call: Call, arguments: Arguments) -> Said:
    return call.ask(["diff", "-o", "json", f"--base={arguments['base']}"])


def _rule(call: Call, arguments: Arguments) -> Said:
    return call.ask(["rule", "-o", "json", "--", *([arguments["code"]] if "code" in arguments else [])])


_BASE = _word("A git revision, such as main: changes since then that must not be made are found too.")
_SEVERAL = {"type": "array", "maxItems": 100}

TOOLS: dict[str, Tool] = {
    "validate_manifest": Tool(
        "Validate a text",
        "Check the text of a file before you write it, as if it stood in the repository. With path it takes the place "
        "of that file; a workflow or workload also takes the place of the one with its name.",
        "validate",
        _validate_manifest,
        {"manifest": _MANIFEST, "path": _PATH, "base": _BASE},
        ("manifest",),
        asks_cluster=True,
    ),
    "validate": Tool(
        "Validate the repository",
        "Check all files of the repository as they are now. With paths, only findings in those files come back.",
        "validate",
        _validate,
        {"paths": {**_SEVERAL, "items": _PATH}, "base": _BASE},
        asks_cluster=True,
    ),
    "explain": Tool(
        "Explain work",
        "Show where work of the repository goes: its pool, queue, verdict, and the tree of its PodGroup.",
        "workflow-explain",
        _explain,
        {
            "work": _WORK,
            "podIndex": {"type": "integer", "minimum": 0, "description": "Tell which segment this pod is in."},
        },
        ("work",),
    ),
    "admit": Tool(
        "Ask whether work is admitted",
        "Tell whether the quota of its queue admits a workflow or workload. Pass its text, or name it as work.",
        "admit",
        _admit,
        {
            "manifest": _MANIFEST,
            "work": _word("A file, the name of a workflow or workload of the repository, or KIND/NAME."),
            "path": _word("The old name of work, for a file. The next release does not take it."),
            "pool": _word("Pool, or pool--subpool, instead of the file's."),
            "priority": {"enum": ["HIGH", "NORMAL", "LOW"], "description": "Priority instead of the file's."},
            "used": {"type": "integer", "minimum": 0, "description": "GPUs that other work of the queue uses."},
        },
        asks_cluster=True,
    ),
    "fit": Tool(
        "Ask whether work has room",
        "Tell whether work of the repository has a placement on the nodes, whether KAI finds it, and what would help. "
        "Without work: what of all starts, and what waits. It needs a server that knows a cluster or nodes.",
        "fit",
        _fit,
        {"work": {**_SEVERAL, "items": _WORK}},
        asks_cluster=True,
    ),
    "forecast": Tool(
        "Ask when work starts",
        "Tell when work of the repository starts and ends at the latest, if each limit holds, and what would bring it "
        "forward. Without work: for all. It needs a server that knows a cluster or nodes.",
        "forecast",
        _forecast,
        {
            "work": {**_SEVERAL, "items": _WORK},
            "grow": {"type": "integer", "minimum": 1, "description": "Also tell the starts with so many more racks."},
            "assume": _word("How long work without a limit runs, such as 2h."),
            "horizon": _word("Where the forecast stops, such as 2d. Default: 7d."),
            "now": _word("The time of the forecast, such as 2026-11-29T04:00:00Z."),
        },
        asks_cluster=True,
    ),
    "why": Tool(
        "Ask why work waits",
        "Tell whether work runs in the cluster, and why not. It needs a server that knows a cluster.",
        "workflow-why",
        _why,
        {"work": _WORK},
        ("work",),
        asks_cluster=True,
    ),
    "pools": Tool(
        "List pools",
        "List pools and subpools with their quota, what is used of it and what is left. Ask it before you choose one.",
        "pool-list",
        _pools,
        {"names": {**_SEVERAL, "items": _word("Pool, or pool--subpool.")}},
        asks_cluster=True,
    ),
    "diff": Tool(
        "Explain a change",
        "Show what changes since a git revision mean: quotas, work that is admitted or refused, gangs that restart.",
        "diff",
        _diff,
        {"base": _word("The git revision to compare with, such as main.")},
        ("base",),
    ),
    "rule": Tool(
        "Explain a rule",
        "Explain the rule of a finding: what it means and who may waive it. Without code, list all rules.",
        "rule",
        _rule,
        {"code": _word("The code of the rule, such as over-quota.")},
    ),
    "suggest": Tool(
        "Suggest a change",
        "Make the smallest change that helps, as a unified diff for `git apply` in the folder of tas.yaml. With path, "
        "misspelled words in that file are mended; with work, its queue, priority, topology or size, so that its queue "
        "admits it and KAI finds a placement. Each patch was tried. Nothing is written.",
        "suggest",
        suggest,
        {"path": _PATH, "work": _WORK},
        asks_cluster=True,
    ),
}
