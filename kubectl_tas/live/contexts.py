"""Finds the contexts that kubectl knows in the text of its files, without a call of kubectl."""

from __future__ import annotations

import os
import re

_SECTION = re.compile(r"^contexts:(.*?)(?=^[A-Za-z]|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"""^(?:- |  )name:[ \t]*["']?([^"'\s]+)""", re.MULTILINE)


def contexts(kubeconfig: str | None) -> list[str]:
    """Returns the names in the file, by default in the files of ``$KUBECONFIG``, or in ``~/.kube/config``.

    Finds names in the layout in which kubectl and similar tools write these files.
    """
    listed = os.environ.get("KUBECONFIG") or os.path.join(os.path.expanduser("~"), ".kube", "config")
    paths = [kubeconfig] if kubeconfig else [path for path in listed.split(os.pathsep) if path]
    found: dict[str, None] = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                section = _SECTION.search(file.read())
        except OSError:  # it need not be there
            continue
        found.update(dict.fromkeys(_NAME.findall(section[1]) if section else ()))
    return list(found)
