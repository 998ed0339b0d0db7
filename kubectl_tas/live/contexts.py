"""The contexts that kubectl knows, by the text of its files: kubectl itself need not run for them."""

from __future__ import annotations

import os
import re

_SECTION = re.compile(r"^contexts:(.*?)(?=^[A-Za-z]|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"""^(?:- |  )name:[ \t]*["']?([^"'\s]+)""", re.MULTILINE)


def contexts(kubeconfig: str | None) -> list[str]:
    """The names in the file, by default in those of ``$KUBECONFIG``, or ``~/.kube/config``.

    They are found where kubectl and its likes write them.
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
