"""The configuration of Grove's operator, by what the operator checks when it starts."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.cliques import SET_FIELD
from kubectl_tas.check.topology import HOSTNAME
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.base import Model
from kubectl_tas.model.grove import OperatorConfiguration, OperatorScheduler, ProfileConfig, SchedulerProfile
from kubectl_tas.model.repository import KeyPath
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.grove import Grove
from kubectl_tas.words import get_close_matches

OPERATOR_LEVELS = Rule(
    "operator-levels",
    Severity.ERROR,
    "Grove's operator is to place by topology, but its configuration has no levels.",
    "The operator ends at its start when topologyAwareScheduling is enabled without a level. List the levels, "
    "or set enabled to false.",
)
HOST_LABEL = Rule(
    "host-label",
    Severity.ERROR,
    "The host level of Grove's operator has another node label than kubernetes.io/hostname.",
    "The kubelet sets that label on every node; no other names a single host on every provider.",
)


def check_operator(fleet: Fleet) -> Iterator[Diagnostic]:
    """The one configuration that counts."""
    if fleet.grove is not None:
        yield from _fields(fleet.grove)
        yield from _levels(fleet.grove)


def _fields(grove: Grove) -> Iterator[Diagnostic]:
    """The operator has many more fields than are read; one that is nearly one of those is a slip."""
    if grove.operator is None:
        return
    parts: list[tuple[type[Model], KeyPath]] = [(OperatorConfiguration, ()), (OperatorScheduler, ("scheduler",))]
    for index in range(len(grove.operator.spec.scheduler.profiles)):
        path: KeyPath = ("scheduler", "profiles", index)
        parts += [(SchedulerProfile, path), (ProfileConfig, (*path, "config"))]
    for model, path in parts:
        written, read = grove.operator.origin.value(path), list(model.model_fields)
        for field in written if isinstance(written, dict) else ():
            close = [] if field in read else get_close_matches(field, read, 1, 0.85)
            if close:
                message = f'Grove has no field "{field}" in its OperatorConfiguration'
                place = grove.operator.origin.locate((*path, field), key=True)
                yield Diagnostic(SET_FIELD, message, place, hint=f'Did you mean "{close[0]}"?')


def _levels(grove: Grove) -> Iterator[Diagnostic]:
    if grove.operator is None or grove.is_disabled:
        return
    levels = grove.operator.spec.topologyAwareScheduling.levels
    path: KeyPath = ("topologyAwareScheduling",)
    if not levels:
        message = "topologyAwareScheduling is enabled without any level"
        place = grove.operator.at(*path, "enabled")
        yield Diagnostic(OPERATOR_LEVELS, message, place, hint="Add levels, or set enabled to false.")
    for index, level in enumerate(levels):
        if level.domain == "host" and level.key != HOSTNAME:
            message = f'the host level must have the node label {HOSTNAME}, not "{level.key}"'
            place = grove.operator.at(*path, "levels", index, "key")
            yield Diagnostic(HOST_LABEL, message, place, hint=f"Write key: {HOSTNAME}.")
