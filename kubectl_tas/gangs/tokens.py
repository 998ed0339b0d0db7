"""What OSMO fills in when a workflow runs: which tokens a text has, and what stands in their place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.load.osmofiles import TOKEN
from kubectl_tas.model.workflow import Task
from kubectl_tas.resolve.names import fold

WORKFLOW_ID, OUTPUT_TOKEN = "workflow_id", "output"
OUTPUT, INPUT = "/osmo/data/output", "/osmo/data/input"
"""The folders that OSMO's tasks have for what they leave, and for what they begin with."""
HOST = "host:"
"""Begins the token for the DNS name of the pod of a task."""


def tokens_in(text: str) -> Iterator[str]:
    """The tokens of a text, such as ``output`` and ``host:TASK``, with the names in them folded."""
    for found in TOKEN.finditer(text) if "{{" in text else ():
        yield _key(found[2])


def data_paths(task: Task) -> dict[str, str]:
    """The tokens for the data of a task, and the paths that they are: OSMO numbers inputs, and those that other tasks
    leave are also known by their task (``TaskSpec.parse`` of its src/utils/job/task.py).
    """
    paths = {OUTPUT_TOKEN: OUTPUT}
    for index, item in enumerate(task.inputs):
        path = f"{INPUT}/{index}"
        if item.task is not None:
            paths[f"input:{fold(item.task.rpartition(':')[2])}"] = path
        paths[f"input:{index}"] = path
    return paths


def is_mounted(task: Task, folder: str) -> bool:
    """Whether a path of the node is mounted at a folder, or at one above it."""
    return is_below((mount.rpartition(":")[2] for mount in task.volumeMounts), folder)


def is_below(mounts: Iterable[str], folder: str) -> bool:
    """Whether a folder is one of these paths, or lies below one."""
    paths = map(posixpath.normpath, mounts)
    return any(folder == path or folder.startswith(f"{path.rstrip('/')}/") for path in paths)


def filled(data: Any, values: Mapping[str, str]) -> Any:
    """Plain data with the values of tokens in all its text; a token without a value stays."""
    if isinstance(data, str):
        return TOKEN.sub(lambda found: values.get(_key(found[2]), found[0]), data) if "{{" in data else data
    if isinstance(data, dict):
        return {key: filled(value, values) for key, value in data.items()}
    return [filled(item, values) for item in data] if isinstance(data, list) else data


def texts(data: Any) -> Iterator[str]:
    """Every text in plain data that is no key."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list)):
        for item in data.values() if isinstance(data, dict) else data:
            yield from texts(item)


def _key(token: str) -> str:
    kind, colon, name = token.partition(":")
    return f"{kind}:{fold(name)}" if colon else kind
