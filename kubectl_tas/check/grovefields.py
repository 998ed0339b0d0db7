"""Every field of a PodCliqueSet and of the operator's configuration is one that some release of Grove has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TypeAlias

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.late import imported
from kubectl_tas.load.schema import written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import closest

SET_FIELD = Rule(
    "set-field",
    Severity.WARNING,
    "A field of a PodCliqueSet or OperatorConfiguration is not one that Grove has there.",
    "An API server drops a field that it does not know without a word. Correct the spelling or the indentation. Known "
    "are the fields of Grove's releases from 0.1.0-alpha.8 to 0.1.0-alpha.12; where a newer one has more, waive it.",
)
_NEARLY = 2
"""Slips between a field and one that there is, for which it is taken."""
_Fields: TypeAlias = "Mapping[str, _Fields | None]"
"""The fields of a mapping, or of each mapping of a list; None: what is in it is checked elsewhere, or has any keys."""


def _read(model: str) -> _Fields:
    """Those that the model of that name has."""
    return dict.fromkeys(imported(f"kubectl_tas.model.grovekinds:{model}").model_fields)


_SCALE: _Fields = {"maxReplicas": None, "metrics": None, "minReplicas": None}
_SHARING: _Fields = {
    "filter": {"childCliqueNames": None, "childScalingGroupNames": None},
    **dict.fromkeys(("name", "namespace", "scope")),
}
_ROOT = dict.fromkeys(("apiVersion", "kind", "metadata", "status"))
_SYNCS: _Fields = {"concurrentSyncs": None}
_SERVER: _Fields = {"bindAddress": None, "port": None}


@cache
def _of_sets() -> _Fields:
    """Of the CRD ``grove.io_podcliquesets.yaml``, with ``clusterTopologyName``, which is written as topologyName."""
    return {
        **_ROOT,
        "spec": {
            **_read("SetSpec"),
            "updateStrategy": {"type": None},
            "template": {
                **_read("SetTemplate"),
                "cliqueStartupType": None,
                "cliques": {
                    **_read("Clique"),
                    "resourceSharing": _SHARING,
                    "spec": {**_read("CliqueSpec"), "autoScalingConfig": _SCALE, "startsAfter": None},
                },
                "headlessServiceConfig": {"publishNotReadyAddresses": None},
                "podCliqueScalingGroups": {
                    **_read("ScalingGroup"),
                    "annotations": None,
                    "resourceSharing": _SHARING,
                    "scaleConfig": _SCALE,
                },
                "resourceClaimTemplates": {"name": None, "templateSpec": None},
                "resourceSharing": _SHARING,
                "terminationDelay": None,
            },
        },
    }


@cache
def _of_operators() -> _Fields:
    """Of the type OperatorConfiguration in ``operator/api/config/v1alpha1/types.go``, with what the proposals of
    placement have besides: ``default`` and ``createTopologyResources`` of a profile.
    """
    return {
        **_ROOT,
        **_read("OperatorConfiguration"),
        "authorizer": {"enabled": None, "exemptServiceAccountUserNames": None},
        "controllers": dict.fromkeys(("podClique", "podCliqueScalingGroup", "podCliqueSet", "podGang"), _SYNCS),
        "debugging": dict.fromkeys(("enableProfiling", "pprofBindHost", "pprofBindPort")),
        "leaderElection": dict.fromkeys(
            (
                "enabled",
                "leaseDuration",
                "renewDeadline",
                "resourceLock",
                "resourceName",
                "resourceNamespace",
                "retryPeriod",
            )
        ),
        **dict.fromkeys(("logFormat", "logLevel")),
        "network": {"autoMNNVLEnabled": None},
        "runtimeClientConnection": dict.fromkeys(("acceptContentTypes", "burst", "contentType", "qps")),
        "scheduler": {
            "defaultProfileName": None,
            "profiles": {
                "name": None,
                "config": dict.fromkeys(("createTopologyResources", "gangScheduling")),
                "default": None,
            },
        },
        "server": {
            "healthProbes": _SERVER,
            "metrics": _SERVER,
            "webhooks": {**_SERVER, **dict.fromkeys(("certProvisionMode", "secretName", "serverCertDir"))},
        },
    }


def check_grove_fields(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every PodCliqueSet, and the one configuration that counts."""
    for item in fleet.pod_clique_sets:
        yield from _unknown(item.declared.origin, _of_sets(), "a PodCliqueSet")
    if fleet.grove is not None and fleet.grove.operator is not None:
        yield from _unknown(fleet.grove.operator.origin, _of_operators(), "an OperatorConfiguration")


def _unknown(origin: Origin, table: _Fields, kind: str) -> Iterator[Diagnostic]:
    everywhere = frozenset(_names(table))
    for path, field, known in _walk(origin.value(()), table, ()):
        original = closest(field, sorted(known), most=_NEARLY, folds=True)
        otherwise = "Move it to where it belongs." if field in everywhere else "Remove it, or waive the rule."
        where = f"{written(path)} of {kind}" if path else kind
        message = f'Grove has no field "{field}" in {where}, and drops it'
        hint = f'Did you mean "{original}"?' if original else otherwise
        yield Diagnostic(SET_FIELD, message, origin.locate((*path, field), key=True), hint=hint)


def _walk(value: object, table: _Fields, path: KeyPath) -> Iterator[tuple[KeyPath, str, _Fields]]:
    """Unknown fields, each with the path of its mapping and the fields that this has."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, table, (*path, index))
    elif isinstance(value, dict):
        for field, item in value.items():
            if field not in table:
                yield path, field, table
            elif (inner := table[field]) is not None:
                yield from _walk(item, inner, (*path, field))


def _names(table: _Fields) -> Iterator[str]:
    for name, inner in table.items():
        yield name
        yield from _names(inner or {})
