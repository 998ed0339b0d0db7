"""What an import found, and a repository that is there, in; the edits that add the one to the other out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kubectl_tas import yaml
from kubectl_tas.edit.subpool_edits import Edit, NewFile, SetValues
from kubectl_tas.imports.written import Imported, config
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.load.splice import FIRST, Appended
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact


def additions(fleet: Fleet, imported: Imported) -> Iterator[Edit]:
    """The files of an import, its backend in the Config, and the only backend so far at each pool that names none."""
    backends: list[Mapping[str, Any]] = list(imported.settings["backends"])
    declared = fleet.repository.config
    name = backends[0]["name"]
    if declared is None or "backends" not in declared.spec.spec.model_fields_set:
        backends.insert(0, {"name": fleet.backends[0].name})
    if declared is None:
        yield NewFile(CONFIG_FILE, yaml.block(config({"backends": backends})), f"added backend {name}")
    else:
        values = ((("spec", "backends"), Appended(backends), None),)
        yield SetValues(declared.origin, values, f"added backend {name}")
    for pool in fleet.repository.pools if len(fleet.backends) == 1 else ():
        if pool.spec.spec.backend is None and pool.spec.spec.parent is None:
            own = fleet.backends[0].name
            yield SetValues(pool.origin, ((("spec", "backend"), own, FIRST),), f"set backend: {own}")
    there = set(fleet.repository.files)
    for path, text in imported.files.items():
        place = PurePosixPath(path)
        free = path if path not in there else str(place.with_stem(f"{place.stem}-{name}"))
        yield NewFile(free, text, "wrote")


def new_elsewhere(before: Iterable[Artifact], after: Iterable[Artifact], backend: str) -> list[tuple[str, str, str]]:
    """The objects that other clusters get besides: the cluster, the kind and the name of each."""
    known, found = (
        [(item.backend, item.manifest.kind, item.manifest.metadata.name) for item in items if item.apply]
        for items in (before, after)
    )
    old = set(known)
    return [item for item in found if item[0] != backend and item not in old]
