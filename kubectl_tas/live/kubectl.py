"""The one caller of kubectl: arguments in, JSON objects out, failures in one plain sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any

from kubectl_tas.errors import TasError
from kubectl_tas.folders import MEBIBYTE, read_plain
from kubectl_tas.process import LimitError, Limits, run
from kubectl_tas.records import dataclass

REQUEST_SECONDS = 30
"""How long kubectl waits for one answer of the API server; a long list takes several."""
LIMITS = Limits(seconds=60, out=256 * MEBIBYTE)
"""What one call of kubectl may take."""
MAX_STATE = 256 * MEBIBYTE
"""Bytes of a file with the state of a cluster."""
MAX_NAME = 317
"""Characters of the longest name that is read: a label's key, with a domain of 253 before the slash."""
MAX_REASON = 1000
"""Characters of kubectl's own words that are passed on."""
_GIVE = "Pass --cluster-state FILE with what `kubectl tas cluster state` wrote, or --context and --kubeconfig."
_OWNERS = {
    ".grove.io": "Grove's",
    **dict.fromkeys((".run.ai", ".kai.scheduler"), "KAI Scheduler's"),
    ".kueue.x-k8s.io": "Kueue's",
}
"""Whose CustomResourceDefinitions those of an API group are."""
STATE = "ClusterState"
"""The kind of the object that says which kinds a file has all objects of, and of which namespace."""


class NoSuchResourceError(TasError):
    """The cluster does not have this kind of object at all."""


class ForbiddenError(TasError):
    """Whoever asks may not see this kind of object."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster is meant. kubectl hands none of its own flags to plugins, so every command has them."""

    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    """The only namespace to read; None: all of them."""
    watch: Callable[[str], AbstractContextManager[object]] = field(default=nullcontext, compare=False, repr=False)
    """What is entered while the cluster is asked, with the words for that."""

    def flags(self) -> list[str]:
        """The flags for kubectl."""
        named = (("--context", self.context), ("--kubeconfig", self.kubeconfig))
        return [f"{flag}={value}" for flag, value in named if value]


def get(access: Access, resource: str, *, namespaced: bool = False) -> list[dict[str, Any]]:
    """All objects of a resource, only those in the namespace of ``access`` where it names one.

    Raises NoSuchResourceError where the cluster has no such kind, and TasError where it does not answer with them.
    """
    program = os.environ.get("KUBECTL_PATH") or "kubectl"
    scope = ([f"--namespace={access.namespace}"] if access.namespace else ["-A"]) if namespaced else []
    timeout = f"--request-timeout={REQUEST_SECONDS}s"
    try:
        command = [program, *access.flags(), timeout, "get", resource, *scope, "-o", "json"]
        with access.watch(f"Reading {resource}"):
            done = run(command, environment=_environment(), limits=LIMITS)
    except LimitError as error:
        raise TasError(f"the cluster cannot be read: {error.message}", hint=_GIVE) from error
    if done.code != 0:
        raise _failure(resource, done.err)
    return list(parse(done.out, f"what kubectl printed for {resource}"))


def _environment() -> dict[str, str]:
    """This process's environment with an absolute ``HOME``: without one kubectl takes ``.kube/config`` of the working
    folder, which may be a checkout, and runs what that names.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - it stays as it is where nobody knows it
    return {**os.environ, "HOME": home if os.path.isabs(home) else os.sep}  # noqa: PTH117


class Given(str):
    """What stands for the name of a file in messages, with the content that was given for it."""

    content: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> Given:
        """The content that bears this name."""
        found = cls(name)
        found.content = content
        return found


def read_file(path: str) -> list[dict[str, Any]]:
    """The objects in a file: one JSON list or object, or several behind each other. Raises TasError."""
    if isinstance(path, Given):
        return list(parse(path.content, path))
    return list(parse(read_plain(path, MAX_STATE, hint="Name a file with JSON."), path))


def complete_kinds(items: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The kinds of which a file says that it has all objects, though there may be none."""
    found = (item.get("kinds") for item in items if item.get("kind") == STATE)
    return frozenset(str(kind) for kinds in found if isinstance(kinds, list) for kind in kinds)


def only_namespace(items: Iterable[Mapping[str, Any]]) -> str | None:
    """The namespace of which alone a file says that it has all but nodes and pods; None where it says no such thing."""
    found = (item.get("namespace") for item in items if item.get("kind") == STATE)
    return next((str(namespace) for namespace in found if namespace), None)


def parse(content: bytes, what: str) -> Iterator[dict[str, Any]]:
    """The objects in JSON text; the items of a List each. Raises TasError for anything else."""
    try:
        text, place, decoder = content.decode("utf-8-sig").strip(), 0, json.JSONDecoder()
        if not text:
            raise ValueError("it is empty")
        while place < len(text):
            value, place = _decoded(decoder, text, place)
            while text[place : place + 1].isspace():
                place += 1
            yield from _items(value)
    except ValueError as error:
        hint = "It must be what `kubectl get ... -o json` prints."
        raise TasError(f"{what} is not JSON of Kubernetes objects: {error}", hint=hint) from error


def _items(value: Any) -> Iterator[dict[str, Any]]:
    """The objects that a value holds. Raises ValueError where it is something else, or not all of a list."""
    items = value.get("items", [value]) if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("not a list of objects")
    about = value if isinstance(value, dict) else {}
    if isinstance(listed := about.get("metadata"), dict) and listed.get("continue"):
        raise ValueError("it is only a part of a list: more objects follow")
    of_all = str(about.get("kind") or "").removesuffix("List")  # an API server does not repeat it in each item
    for item in items:
        kind = item.get("kind", of_all)
        if not isinstance(kind, str) or not kind:
            raise ValueError("an object has no kind")
        if kind == "Status":
            raise ValueError(f"the API server answers: {shown(item.get('message'))}")
        yield item if "kind" in item else {**item, "kind": kind}


def _decoded(decoder: json.JSONDecoder, text: str, place: int) -> tuple[Any, int]:
    """The value at ``place``, and where it ends. Raises ValueError."""
    try:
        return decoder.raw_decode(text, place)
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # Python reads no whole number with more than some thousand digits
        raise ValueError("it has a number with too many digits") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def text_of(value: object) -> str:
    """A name, as an object of the cluster has it. Raises ValueError for what no API server takes for one."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise ValueError(f"{shown(value)} is no name")
    return value


def shown(value: object) -> str:
    """A value for a message: what is long or nested by its kind alone."""
    if isinstance(value, bool | float) or value is None:
        return repr(value)
    if isinstance(value, str) and len(value) <= MAX_NAME:
        return repr(value)
    if isinstance(value, int) and abs(value) < 10**20:
        return repr(value)
    kinds = {str: "a long text", int: "a huge number", list: "a list", dict: "an object"}
    return next(name for kind, name in kinds.items() if isinstance(value, kind))


def _failure(resource: str, message: str) -> TasError:
    """kubectl's complaint in one plain sentence."""
    lowered = message.lower()
    last = message.strip().splitlines()[-1] if message.strip() else "it gave no reason"
    last = last if len(last) <= MAX_REASON else f"{last[:MAX_REASON]}..."
    if "forbidden" in lowered:
        return ForbiddenError(f"the cluster forbids reading {resource}: {last}", hint=_GIVE)
    if "doesn't have a resource type" in lowered or "no matches for kind" in lowered or "(notfound)" in lowered:
        owner = next((owner for group, owner in _OWNERS.items() if resource.endswith(group)), "its")
        missing = f"the cluster has no {resource}: {owner} CustomResourceDefinitions are not installed"
        return NoSuchResourceError(missing, hint=_GIVE)
    if "context" in lowered and ("does not exist" in lowered or "not found" in lowered):
        return TasError(f"kubectl knows no such context: {last}", hint=_GIVE)
    return TasError(f"the cluster cannot be reached: {last}", hint=_GIVE)
