"""Packs what KAI's scheduler has by release: plugins and actions with their default priorities, the arguments of
plugins, flags, and the fields of a SchedulingShard.

Run it by hand when KAI has a new release: ``python -m tools.packscheduler REPOSITORY``.

REPOSITORY is a clone of kai-scheduler/KAI-Scheduler with its tags.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kubectl_tas.facts.kai import NEWEST_PATCHES
from kubectl_tas.kinds.kubernetes import numbers
from tools.goldens import ROOT

PACKED = ROOT / "kubectl_tas" / "facts" / "scheduler_plugins.json"

_FIRST = (0, 10)
"""The first release whose operator makes schedulers of SchedulingShards; 0.9 has the kind alone."""
_PLUGINS, _ACTIONS = "pkg/scheduler/plugins", "pkg/scheduler/actions"
_TYPES = "pkg/apis/kai/v1/schedulingshard_types.go"
_CRD = "deployments/kai-scheduler/crds/kai.scheduler_schedulingshards.yaml"
_FLAGS = "cmd/scheduler/app/options/options.go"
_CONSTANTS = ("pkg/common/constants/constants.go", "pkg/scheduler/constants/placementStrategy.go")
_STRING = re.compile(r'^\s*(?:const\s+)?(\w+)\s*(?:[\w.]+\s*)?= "([^"]*)"', re.MULTILINE)
_WORD = r'("[^"]*"|[\w.]+)'
_REGISTERED = re.compile(rf"RegisterPluginBuilder\({_WORD}, (\w+)\.New\)")
_ARGUMENT = re.compile(rf"[aA]rg(?:ument)?s(?:\[|, |\.Get\w+\(){_WORD}[\],)]")
_FLAG = re.compile(r'fs\.(\w+)Var\(&[\w.]+, "([^"]+)"')
_GATES = "DefaultMutableFeatureGate.AddFlag"
_PRIORITY = re.compile(r'^\s+"([\w-]+)":\s+(\d+),$', re.MULTILINE)
_HARD_CODED = re.compile(r'\{Name: "(\w+)"')
_OPERATOR = "pkg/operator/operands/scheduler/resources_for_shard.go"
_FIXED_ORDER = (
    *("predicates", "proportion", "priority", "nodeavailability", "resourcetype", "podaffinity", "elastic", "kubeflow"),
    *("ray", "subgrouporder", "taskorder", "nominatednode", "dynamicresources", "minruntime", "topology", "snapshot"),
)
"""Plugins in the order in which operators before 0.12.13, without priorities, write them."""
_FIXED = {"gpupack": 300, "gpuspread": 300, "nodeplacement": 200, "gpusharingorder": 100} | {
    "allocate": 500,
    "consolidation": 400,
    "reclaim": 300,
    "preempt": 200,
    "stalegangeviction": 100,
}
"""What these operators write after them, and actions, with the priorities of later releases."""


class Tree:
    """The files of one tag."""

    def __init__(self, clone: Path, tag: str) -> None:
        self._git = ["git", "-C", str(clone)]
        self.tag = tag

    def text(self, path: str) -> str:
        """Returns the text of a file; '' if the tag has no such file."""
        done = subprocess.run([*self._git, "show", f"{self.tag}:{path}"], capture_output=True, text=True, check=False)
        return done.stdout

    def texts(self, folder: str) -> str:
        """Returns the text of all files of a folder but its tests."""
        listed = subprocess.run(
            [*self._git, "ls-tree", "-r", "--name-only", self.tag, f"{folder}/"],
            capture_output=True,
            text=True,
            check=True,
        )
        paths = [path for path in listed.stdout.split() if path.endswith(".go") and not path.endswith("_test.go")]
        return "\n".join(self.text(path) for path in paths)


def scheduler(tree: Tree) -> dict[str, Any]:
    """Returns what the scheduler of a tag has."""
    shared = dict(_STRING.findall("\n".join(map(tree.text, _CONSTANTS))))
    priorities = {name: int(amount) for name, amount in _PRIORITY.findall(tree.text(_TYPES))}
    if not priorities:
        names = _HARD_CODED.findall(tree.text(_OPERATOR))[: len(_FIXED_ORDER)]
        if tuple(names) != _FIXED_ORDER:
            raise SystemExit(f"{tree.tag} has other plugins: {names}")
        priorities = {name: 100 * (19 - index) for index, name in enumerate(names)} | _FIXED
    plugins: dict[str, Any] = {}
    for word, package in _REGISTERED.findall(tree.text(f"{_PLUGINS}/factory.go")):
        text = tree.texts(f"{_PLUGINS}/{package}")
        strings = shared | dict(_STRING.findall(text))
        name = _value(word, strings)
        arguments = {_value(key, strings) for key in _ARGUMENT.findall(text)} - {""}
        if package == "nodeplacement":
            arguments |= {shared["GPUResource"], shared["CPUResource"]}
        plugins[name] = {"priority": priorities.get(name), "arguments": sorted(arguments)}
    folders = re.findall(r"RegisterAction\((\w+)\.New", tree.text(f"{_ACTIONS}/factory.go"))
    actions = {name: {"priority": priorities.get(name)} for name in folders}
    flags = {name: {"type": kind.lower()} for kind, name in _FLAG.findall(tree.text(_FLAGS))}
    if _GATES in tree.text(_FLAGS):
        flags["feature-gates"] = {"type": "string"}
    crd = yaml.load(tree.text(_CRD), yaml.CSafeLoader)
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    fields: dict[str, Any] = {path: {} for path in _fields(spec, "")}
    return {"plugins": plugins, "actions": actions, "flags": flags, "fields": fields}


def _fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Yields the paths of all fields below a schema; ``*`` is any key of a mapping."""
    for key, field in {**schema.get("properties", {}), "*": schema.get("additionalProperties")}.items():
        if field is not None:
            inner = f"{path}.{key}".lstrip(".")
            if key != "*":
                yield inner
            yield from _fields(field, inner)


def _value(word: str, strings: dict[str, str]) -> str:
    """Returns the string that Go code writes: a literal, or a constant."""
    return word.strip('"') if word.startswith('"') else strings.get(word.rpartition(".")[2], "")


def main() -> None:
    """Writes the table: each name with the first patch release that has it, and the first later one that lacks it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    clone = parser.parse_args().repository
    tags = subprocess.run(["git", "-C", str(clone), "tag"], capture_output=True, text=True, check=True).stdout.split()
    patches = sorted(numbers(tag) for tag in tags if re.fullmatch(r"v0\.\d+\.\d+", tag))
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for patch in patches:
        if patch < _FIRST or patch[:2] not in NEWEST_PATCHES:
            continue
        release = ".".join(map(str, patch))
        for what, named in scheduler(Tree(clone, f"v{release}")).items():
            rows = table.setdefault(what, {})
            for name, about in sorted(named.items()):
                row = rows.setdefault(name, {"since": release, **about})
                if {**row, **about} != row or "until" in row:
                    raise SystemExit(f"{what}: {name} of {release} is {about}, and was {row}")
            for name in rows.keys() - named.keys():
                rows[name].setdefault("until", release)
    PACKED.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
