"""PriorityClasses with the values of OSMO's priorities."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.manifest import PriorityClass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

_DESCRIPTIONS = {
    "HIGH": "OSMO priority HIGH: stays within its quota and is not preempted.",
    "NORMAL": "OSMO priority NORMAL: stays within its quota and is not preempted.",
    "LOW": "OSMO priority LOW: may exceed its quota and is preempted first.",
}


def compile_priority_classes(fleet: Fleet) -> Iterator[Artifact]:
    """One for each priority on each backend."""
    for backend in fleet.backends:
        for priority, name in fleet.config.priorityClasses.model_dump().items():
            manifest = PriorityClass(
                metadata=metadata(fleet, name, Phase.PRIORITY_CLASS),
                value=PRIORITY_VALUES[priority],
                description=_DESCRIPTIONS[priority],
            )
            file = names.file(name)
            yield Artifact(backend.name, Phase.PRIORITY_CLASS, "priorityclasses", file, manifest, fleet.settings)
