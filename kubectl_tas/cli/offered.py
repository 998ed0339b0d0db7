"""What a word of the command line may be, by what it names. Each answer takes milliseconds: nothing is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kubectl_tas.live.contexts import contexts
from kubectl_tas.load.outline import WORKFLOW, Declared, backends, outline
from kubectl_tas.load.refs import refs
from kubectl_tas.resolve.names import SEPARATOR, fold

NO_FILES, FILES, SUFFIXES, FOLDERS = 4, 0, 8, 16
"""What kubectl's shells do beside offering choices: nothing, or offer files, those of some suffixes, or folders."""
KEEP_ORDER = 32
"""The choices are in an order of their own."""
MANIFESTS = ("yaml", "yml", "json")


class Choice(NamedTuple):
    """A word that fits, and what it is."""

    value: str
    about: str = ""


class Asked(NamedTuple):
    """What is known of a command line whose last word is to be completed."""

    table: dict[str, Any]
    """commands.json: all commands."""
    words: tuple[str, ...]
    """The arguments before."""
    options: dict[str, str]
    """The last value of each option before, by its longest name."""

    @property
    def root(self) -> str:
        """The repository."""
        named = self.options.get("-C") or os.environ.get("KUBECTL_TAS_DIRECTORY")
        if named:
            return named
        folder = here = os.getcwd()
        while not os.path.isfile(os.path.join(folder, "tas.yaml")):
            above = os.path.dirname(folder)
            if above == folder:
                return here
            folder = above
        return folder


def _pools(asked: Asked) -> Iterator[Choice]:
    for item in outline(asked.root, ["Pool"]):
        guarantee = item.fields.get("guarantee")
        known = item.fields.get("description") or (f"{guarantee} GPUs" if guarantee else "")
        yield Choice(fold(item.name), f"pool: {known}" if known else "pool")


def _subpools(asked: Asked, states: tuple[str, ...]) -> Iterator[tuple[str, str, Choice]]:
    """The pool and the name of each subpool in one of these states, and what is offered for it."""
    for item in outline(asked.root, ["Subpool"]):
        state = item.fields.get("state", "ACTIVE")
        if state in states:
            pool, name = fold(item.fields.get("parent", "")), fold(item.name)
            quota = f", quota {item.fields['quota']}" if "quota" in item.fields else ""
            yield pool, name, Choice(f"{pool}{SEPARATOR}{name}", f"subpool: {state}{quota}")


STATES = ("ACTIVE", "DELETING", "ARCHIVED")


def _targets(*states: str) -> Callable[[Asked], Iterator[Choice]]:
    def offer(asked: Asked) -> Iterator[Choice]:
        yield from _pools(asked)
        yield from (choice for _, _, choice in _subpools(asked, states))

    return offer


def _parents(state: str) -> Callable[[Asked], Iterator[Choice]]:
    def offer(asked: Asked) -> Iterator[Choice]:
        found = list(_subpools(asked, (state,)))
        parents = {pool for pool, _, _ in found}
        yield from (choice for choice in _pools(asked) if choice.value in parents)
        yield from (choice for _, _, choice in found)

    return offer


def _own(state: str) -> Callable[[Asked], Iterator[Choice]]:
    def offer(asked: Asked) -> Iterator[Choice]:
        for pool, name, choice in _subpools(asked, (state,)):
            if asked.words and pool == fold(asked.words[-1]):
                yield Choice(name, choice.about)

    return offer


def _topologies(asked: Asked) -> Iterator[Choice]:
    kinds = ("ClusterTopology", "ClusterTopologyBinding")
    yield from (Choice(item.name, item.path) for item in outline(asked.root, kinds))


def _submissions(asked: Asked) -> Iterator[Choice]:
    """By name; those that share one by kind too."""
    found: dict[str, list[Declared]] = {}
    for item in outline(asked.root, asked.table["submissions"]):
        found.setdefault(fold(item.name) if item.kind == WORKFLOW else item.name, []).append(item)
    for name, items in found.items():
        yield Choice(name, f"{items[0].kind} in {items[0].path}" if len(items) == 1 else f"{len(items)} of that name")
        if len(items) > 1:
            yield from (Choice(f"{item.kind}/{name}", item.path) for item in items)


def _revisions(asked: Asked) -> Iterator[Choice]:
    yield from (Choice(name, what) for name, what in refs(asked.root).items())


def _contexts(asked: Asked) -> Iterator[Choice]:
    yield from (Choice(name, "context") for name in contexts(asked.options.get("--kubeconfig")))


def _backends(asked: Asked) -> Iterator[Choice]:
    yield from (Choice(name, "backend") for name in backends(asked.root))


def _rules(asked: Asked) -> Iterator[Choice]:
    yield from (Choice(code, summary) for code, summary in asked.table["rules"].items())


def _schemas(asked: Asked) -> Iterator[Choice]:
    yield from (Choice(name) for name in asked.table["schemas"])


def _commands(asked: Asked) -> Iterator[Choice]:
    """Those of the group that the words before name."""
    path = " ".join(asked.words)
    inner = asked.table["commands"].get(path, {}).get("commands", {})
    yield from (Choice(name, about) for name, about in inner.items())


OFFERS: dict[str, Callable[[Asked], Iterator[Choice]]] = {
    "pool": _pools,
    "target": _targets(*STATES),
    "open-target": _targets("ACTIVE"),
    "ACTIVE-parent": _parents("ACTIVE"),
    "ARCHIVED-parent": _parents("ARCHIVED"),
    "ACTIVE-subpool": _own("ACTIVE"),
    "ARCHIVED-subpool": _own("ARCHIVED"),
    "topology": _topologies,
    "submission": _submissions,
    "backend": _backends,
    "revision": _revisions,
    "context": _contexts,
    "rule": _rules,
    "schema": _schemas,
    "command": _commands,
}
"""The choices, by what a word names; what is no key here is a file, a folder or free text."""
DIRECTIVES = {"submission": FILES, "file": FILES, "folder": FOLDERS, "manifest": SUFFIXES}
"""What else the shell offers; what is no key here: nothing."""
