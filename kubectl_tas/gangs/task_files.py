"""Handles the files of tasks: their contents, their ConfigMaps, their mounts in pods, and the tokens in them."""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.gangs.gang import FileMap
from kubectl_tas.load.osmofiles import TOKEN
from kubectl_tas.model.osmo_workflow import File, Task
from kubectl_tas.model.repository import LocalFile, local_path
from kubectl_tas.resolve.names import distinct, fold

WORKFLOW_ID, OUTPUT_TOKEN = "workflow_id", "output"
OUTPUT, INPUT = "/osmo/data/output", "/osmo/data/input"
"""OSMO's folders for the output and the inputs of a task."""
HOST = "host:"
"""Prefix of the token for the DNS name of a task's pod."""


def tokens_in(text: str) -> Iterator[str]:
    """Yields the tokens of a text, such as ``output`` and ``host:TASK``, with folded names."""
    for match in TOKEN.finditer(text) if "{{" in text else ():
        yield _folded_token(match[2])


def data_paths(task: Task) -> dict[str, str]:
    """Returns the tokens for the data of a task, with their paths. OSMO numbers inputs; an input from another task also
    has a token with that task's name (``TaskSpec.parse`` of OSMO's src/utils/job/task.py).
    """
    paths = {OUTPUT_TOKEN: OUTPUT}
    for index, task_input in enumerate(task.inputs):
        path = f"{INPUT}/{index}"
        if task_input.task is not None:
            paths[f"input:{fold(task_input.task.rpartition(':')[2])}"] = path
        paths[f"input:{index}"] = path
    return paths


def is_mounted(task: Task, folder: str) -> bool:
    """Whether a path of the node is mounted at a folder, or at a folder above."""
    return is_below((mount.rpartition(":")[2] for mount in task.volumeMounts), folder)


def is_below(mounts: Iterable[str], folder: str) -> bool:
    """Whether a folder is one of these paths, or below one."""
    paths = map(posixpath.normpath, mounts)
    return any(folder == path or folder.startswith(f"{path.rstrip('/')}/") for path in paths)


def filled(data: Any, values: Mapping[str, str]) -> Any:
    """Returns plain data with the values of tokens filled in; a token without a value stays."""
    if isinstance(data, str):
        return TOKEN.sub(lambda found: values.get(_folded_token(found[2]), found[0]), data) if "{{" in data else data
    if isinstance(data, dict):
        return {key: filled(value, values) for key, value in data.items()}
    return [filled(member, values) for member in data] if isinstance(data, list) else data


def texts(data: Any) -> Iterator[str]:
    """Yields every text in plain data, except keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list)):
        for value in data.values() if isinstance(data, dict) else data:
            yield from texts(value)


def _folded_token(token: str) -> str:
    kind, colon, name = token.partition(":")
    return f"{kind}:{fold(name)}" if colon else kind


MAX_BYTES = 1024 * 1024
"""Limit for all values of a ConfigMap together, in bytes (Kubernetes, pkg/apis/core/validation)."""
_MAX_WRITTEN = 192 * 1024
"""Most characters of JSON that files share in a ConfigMap; a larger file has its own. Client-side ``kubectl apply``,
which Argo CD uses too, keeps the whole object in an annotation, and annotations have at most 256 KiB.
"""
READ, RUN = 0o644, 0o755
"""Modes of files: OSMO's own mode, also for files of a Secret, and the mode of files executable in the repository."""
_VOLUMES = {READ: "task-files", RUN: "task-programs"}
_STRANGE = late_pattern(r"[^-._A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file in the container of a task."""

    path: str
    """Path of the file, with tokens not filled in."""
    content: bytes
    """Content of the file, with tokens not filled in."""
    mode: int = READ
    is_text: bool = True
    """Whether tokens in the content are filled in: not in base64, and not in bytes that are not UTF-8."""

    @property
    def identity(self) -> list[str]:
        """Properties that distinguish the file from other files."""
        return [self.path, _digest(self.content), f"{self.mode:o}"]

    @property
    def tokens(self) -> frozenset[str]:
        """Tokens in the content."""
        return _tokens(self.content) if self.is_text else frozenset()

    def with_values(self, values: Mapping[str, str]) -> TaskFile:
        """Returns the file with the values of tokens filled in."""
        content = filled(self.content.decode("utf-8"), values).encode("utf-8") if self.tokens else self.content
        return TaskFile(normal(filled(self.path, values)), content, self.mode, self.is_text)


@lru_cache(maxsize=64)
def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@lru_cache(maxsize=64)
def _tokens(content: bytes) -> frozenset[str]:
    return frozenset(tokens_in(content.decode("utf-8")))


def task_file(file: File, workflow: str, local_files: Mapping[str, LocalFile]) -> TaskFile | None:
    """Returns the content and mode of a file that the workflow at the path ``workflow`` names; None if unknown."""
    if file.localpath is not None:
        local = local_files.get(local_path(workflow, file.localpath))
        if local is None:
            return None
        stored, mode = local.content, RUN if local.is_executable else READ
    elif file.contents is not None:
        stored, mode = str(file.contents).encode("utf-8"), READ
    else:
        return None
    content = _decoded(stored) if file.base64 else stored
    return None if content is None else TaskFile(file.path, content, mode, not file.base64 and is_text(content))


def _decoded(text: bytes) -> bytes | None:
    """Decodes base64, without blanks and line breaks; None if it is invalid."""
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


@lru_cache(maxsize=64)
def is_text(content: bytes) -> bool:
    """Whether bytes are UTF-8 without the NUL character, which no text of a container has."""
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def normal(path: str) -> str:
    """Returns the normal spelling of an absolute path."""
    return "/" + posixpath.normpath(path).lstrip("/")


def fits_annotation(content: bytes) -> bool:
    """Whether client-side ``kubectl apply`` accepts a ConfigMap with only this file."""
    return _json_length(content) <= _MAX_WRITTEN


@dataclass(frozen=True, slots=True)
class FileMaps:
    """The ConfigMaps of one gang."""

    maps: tuple[FileMap, ...]
    _places: dict[tuple[str, bytes], tuple[int, str]]
    """Index of the ConfigMap of each file, and its key there, by the end of the file's path and its content."""

    def mounted(self, spec: dict[str, Any], files: Sequence[TaskFile]) -> dict[str, Any]:
        """Returns the spec of a pod with these files, each mounted alone, so that the image's other files stay."""
        volumes: dict[str, dict[str, Any]] = {}
        mounts = []
        for file in files:
            index, key = self._places[_base(file), file.content]
            name = _VOLUMES[file.mode] + (f"-{index + 1}" if index else "")
            volumes[name] = {"name": name, "configMap": {"name": self.maps[index].name, "defaultMode": file.mode}}
            mounts.append({"name": name, "mountPath": file.path, "subPath": key, "readOnly": True})
        return with_mounts(spec, volumes.values(), mounts)


def file_maps(gang: str, files: Iterable[TaskFile]) -> FileMaps:
    """Returns ConfigMaps for the files of a gang, in order. A file of several tasks is stored once."""
    different = list(dict.fromkeys((_base(file), file.content) for file in files))
    keys = distinct([(f"{_digest(content)}/{base}", base) for base, content in different])
    maps: list[FileMap] = []
    places: dict[tuple[str, bytes], tuple[int, str]] = {}
    room = 0
    for (base, content), key in zip(different, keys, strict=True):
        size = _json_length(content)
        if not maps or size > room:
            maps.append(FileMap(f"{gang}-files-{len(maps) + 1}" if maps else f"{gang}-files", {}))
            room = _MAX_WRITTEN
        room -= size
        maps[-1].files[key] = content
        places[base, content] = (len(maps) - 1, key)
    return FileMaps(tuple(maps), places)


def with_mounts(
    spec: dict[str, Any], volumes: Iterable[dict[str, Any]], mounts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Returns the spec of a pod with further volumes, and their mounts in its first container, the task's own."""
    if not mounts:
        return spec
    task_container, *other_containers = spec["containers"]
    container = {**task_container, "volumeMounts": [*task_container.get("volumeMounts", ()), *mounts]}
    return {**spec, "containers": [container, *other_containers], "volumes": [*spec.get("volumes", ()), *volumes]}


def _base(file: TaskFile) -> str:
    """Returns the last part of a path as a key of a ConfigMap, which may not begin with two dots."""
    return _STRANGE.sub("-", posixpath.basename(file.path)).lstrip(".")[-200:] or "file"


def _json_length(content: bytes) -> int:
    """Returns how many characters of JSON kubectl keeps of a content."""
    if is_text(content):
        return len(json.dumps(content.decode("utf-8"), ensure_ascii=False).encode("utf-8"))
    return len(content) * 4 // 3 + 4
