"""The settings fit together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from kubectl_tas import kai
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.resolve.fleet import Fleet

VERSION_UNKNOWN = Rule(
    "version-unknown",
    Severity.ERROR,
    "A backend's KAI version is not one that this tool knows.",
    "What a release accepts is looked up in a table; outside of it nobody can say whether a manifest is "
    "valid. Name a release of the table, or update kubectl-tas.",
)
OUTPUT_IN_SOURCES = Rule(
    "output-in-sources",
    Severity.ERROR,
    "The output folder is, or contains, a folder that is read.",
    "The tool would read its own manifests, or write over its input. Choose a folder of its own.",
)
PRIORITY_CLASS_INVALID = Rule(
    "priority-class-invalid",
    Severity.ERROR,
    "Two priorities share a PriorityClass, or its name is one that Kubernetes keeps to itself.",
    "Each priority has a value of its own, so it needs a class of its own; names that begin with system- "
    "are refused by the API server.",
)


def check_config(fleet: Fleet) -> Iterator[Diagnostic]:
    """Versions, folders and priority classes of the Config."""
    config = fleet.repository.config
    if config is None:
        return
    for backend in fleet.backends:
        if backend.is_kai and backend.release is None:
            version = backend.spec.scheduler.version
            place = config.at("spec", "backends", backend.index, "scheduler", "version")
            message = f"KAI {version} is not in the version table, which has {kai.known()}"
            hint = "Name the release that runs there; for a newer one, update kubectl-tas."
            yield Diagnostic(VERSION_UNKNOWN, message, place, hint=hint)
    output = PurePosixPath(fleet.config.output)
    for folder in fleet.config.sources:
        if PurePosixPath(folder).is_relative_to(output):
            message = f'the output folder "{output}" holds the folder "{folder}" that is read'
            place = config.at("spec", "output")
            yield Diagnostic(OUTPUT_IN_SOURCES, message, place, hint="Choose another folder, such as manifests.")
    yield from _priority_classes(fleet)


def _priority_classes(fleet: Fleet) -> Iterator[Diagnostic]:
    config = fleet.repository.config
    if config is None:
        return
    seen: dict[str, str] = {}
    for priority, name in fleet.config.priorityClasses.model_dump().items():
        place = config.at("spec", "priorityClasses", priority)
        if name.startswith("system-"):
            message = f'the PriorityClass "{name}" begins with system-, which Kubernetes keeps to itself'
            yield Diagnostic(PRIORITY_CLASS_INVALID, message, place, hint="Choose another name.")
        if name in seen:
            message = f'{seen[name]} and {priority} share the PriorityClass "{name}"'
            yield Diagnostic(PRIORITY_CLASS_INVALID, message, place, hint="Give each its own.")
        seen.setdefault(name, priority)
