"""Calls kubectl, as the only module that does, parses the JSON objects, and reports failures in one plain sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE, read_plain
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.process import LimitError, Limits, run
from kubectl_tas.live.objects import STATE, read_object, shown

REQUEST_SECONDS = 30
"""Seconds that kubectl waits for one answer of the API server; a long list takes several answers."""
LIMITS = Limits(seconds=60, out=256 * MEBIBYTE)
"""Limits of one call of kubectl."""
MAX_STATE = 256 * MEBIBYTE
"""Most bytes of a file with the state of a cluster."""
MAX_REASON = 1000
"""Most characters of kubectl's own message that an error passes on."""
_GIVE = "Pass --cluster-state FILE with what `kubectl tas cluster state` wrote, or --context and --kubeconfig."
_OWNERS = {
    ".grove.io": "Grove's",
    **dict.fromkeys((".run.ai", ".kai.scheduler"), "KAI Scheduler's"),
    ".kueue.x-k8s.io": "Kueue's",
}
"""Owner of the CustomResourceDefinitions of each API group."""


class NoSuchResourceError(TasError):
    """Raised if the cluster does not have this kind of object at all."""


class ForbiddenError(TasError):
    """Raised if the user may not read this kind of object."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The cluster to read. kubectl passes none of its own flags to plugins, so every command defines them again."""

    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    """The only namespace to read; None means all namespaces."""
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Function that gets a description of the wait, and returns a context for the time of a request."""

    def flags(self) -> list[str]:
        """Returns the flags for kubectl."""
        named = (("--context", self.context), ("--kubeconfig", self.kubeconfig))
        return [f"{flag}={value}" for flag, value in named if value]


def get(access: ClusterAccess, resource: str, *, namespaced: bool = False) -> list[dict[str, Any]]:
    """Returns all objects of a resource; if ``access`` names a namespace, only the namespaced objects there.

    Raises NoSuchResourceError if the cluster has no such kind, and TasError if it does not answer with the objects.
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


def raw(access: ClusterAccess, path: str, seconds: float, server: str = "") -> bytes:
    """Returns what the API server answers at a path; with ``server``, what the program at that address answers, which
    gets no credentials. Raises TasError if there is no answer in time.
    """
    program = os.environ.get("KUBECTL_PATH") or "kubectl"
    environment = _environment()
    flags = access.flags()
    if server:
        environment.pop("KUBERNETES_SERVICE_HOST", None)  # in a pod, kubectl would send the pod's token
        flags = [f"--kubeconfig={os.devnull}", f"--server={server}"]
    command = [program, *flags, f"--request-timeout={max(1, round(seconds))}s", "get", "--raw", path]
    try:
        with access.watch("Reading past usage"):
            done = run(command, environment=environment, limits=Limits(seconds=seconds + 1, out=LIMITS.out))
    except LimitError as error:  # its message has the address, perhaps with a password
        raise TasError(f"it did not answer within {seconds:.0f} s, or too much") from error
    if done.code != 0:
        raise TasError(done.err.splitlines()[-1][:MAX_REASON] if done.err else "it gave no reason")
    return done.out


def told(access: ClusterAccess, *arguments: str) -> tuple[str, str]:
    """Returns what kubectl prints for a question that is not about objects, and its complaint; empty if it has none.

    Raises TasError if kubectl cannot be run.
    """
    program = os.environ.get("KUBECTL_PATH") or "kubectl"
    command = [program, *access.flags(), "--request-timeout=10s", *arguments]
    done = run(command, environment=_environment(), limits=LIMITS)
    lines = done.err.strip().splitlines()
    return done.out.decode("utf-8", "replace"), lines[-1][:MAX_REASON] if done.code and lines else ""


def _environment() -> dict[str, str]:
    """Returns this process's environment with an absolute ``HOME``. Without one, kubectl reads ``.kube/config`` of the
    working folder, which may be a checkout, and runs programs named there.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - it stays as it is where nobody knows it
    return {**os.environ, "HOME": home if os.path.isabs(home) else os.sep}  # noqa: PTH117


class NamedContent(str):
    """A name for messages in place of a file's path, with the content that was given instead of a file."""

    content: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> NamedContent:
        """Returns the name with its content."""
        named = cls(name)
        named.content = content
        return named


def read_file(path: str) -> list[dict[str, Any]]:
    """Returns the objects in a file: one JSON list or object, or several in a row. Raises TasError for others."""
    if isinstance(path, NamedContent):
        return list(parse(path.content, path))
    return list(parse(read_plain(path, MAX_STATE, hint="Name a file with JSON."), path))


def complete_kinds(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Returns the kinds that a file says it has completely, including kinds without objects."""
    complete = (fields.get("kinds") for fields in objects if fields.get("kind") == STATE)
    return frozenset(str(kind) for kinds in complete if isinstance(kinds, list) for kind in kinds)


def only_namespace(objects: Iterable[Mapping[str, Any]]) -> str | None:
    """Returns the only namespace that a file covers, nodes and pods aside; None if the file names no namespace."""
    namespaces = (fields.get("namespace") for fields in objects if fields.get("kind") == STATE)
    return next((str(namespace) for namespace in namespaces if namespace), None)


def parse(content: bytes, source: str) -> Iterator[dict[str, Any]]:
    """Yields the objects in JSON text, and each item of a List. Raises TasError for anything else."""
    try:
        text, position, decoder = content.decode("utf-8-sig").strip(), 0, json.JSONDecoder()
        if not text:
            raise ValueError("it is empty")
        while position < len(text):
            value, position = _decoded(decoder, text, position)
            while text[position : position + 1].isspace():
                position += 1
            yield from _items(value)
    except ValueError as error:
        hint = "It must be what `kubectl get ... -o json` prints."
        raise TasError(f"{source} is not JSON of Kubernetes objects: {error}", hint=hint) from error


def _items(value: Any) -> Iterator[dict[str, Any]]:
    """Yields the objects in a value. Raises ValueError for another value, or for a part of a list."""
    objects = value.get("items", [value]) if isinstance(value, dict) else value
    if not isinstance(objects, list) or not all(isinstance(fields, dict) for fields in objects):
        raise ValueError("not a list of objects")
    listing = value if isinstance(value, dict) else {}
    if isinstance(listed := listing.get("metadata"), dict) and listed.get("continue"):
        raise ValueError("it is only a part of a list: more objects follow")
    of_all = str(listing.get("kind") or "").removesuffix("List")  # an API server does not repeat it in each item
    for fields in objects:
        kind = fields.get("kind", of_all)
        if not isinstance(kind, str) or not kind:
            raise ValueError("an object has no kind")
        if kind == "Status":
            raise ValueError(f"the API server answers: {shown(fields.get('message'))}")
        yield read_object(fields if "kind" in fields else {**fields, "kind": kind})


def _decoded(decoder: json.JSONDecoder, text: str, position: int) -> tuple[Any, int]:
    """Returns the value at ``position``, and where it ends. Raises ValueError if the value cannot be read."""
    try:
        value, end = decoder.raw_decode(text, position)
        if text.find("\\ud", position, end) >= 0 or text.find("\\uD", position, end) >= 0:
            json.dumps(value, ensure_ascii=False).encode()
        return value, end
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError as error:
        raise ValueError("it has half a pair of escapes, such as \\ud800") from error
    except ValueError as error:  # Python reads no whole number with more than some thousand digits
        raise ValueError("it has a number with too many digits") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _failure(resource: str, message: str) -> TasError:
    """Converts kubectl's complaint to one plain sentence."""
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
