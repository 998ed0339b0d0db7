"""Which nodes a pod chooses by nodeSelector and by the node affinity that it requires, as Kubernetes reads them (the
nodeaffinity package of k8s.io/component-helpers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.words import did_you_mean, shortened

Path = tuple[str | int, ...]
AFFINITY: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
"""Where the terms stand in a PodSpec; a node must fulfil one of them."""


def fulfils(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels fulfil a condition; one that is none is left to others."""
    key, values = str(expression.get("key")), expression.get("values")
    wanted = values if isinstance(values, list) else []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in wanted
        case "NotIn":
            return labels.get(key) not in wanted
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return True


def choices(spec: object) -> Iterator[tuple[str, Path]]:
    """The labels by which a PodSpec chooses nodes, each with the first place below it where it stands."""
    found: dict[str, Path] = {}
    selector = _at(spec, ("nodeSelector",))
    for key in selector if isinstance(selector, dict) else ():
        found.setdefault(str(key), ("nodeSelector", key))
    for index, term in enumerate(_items(_at(spec, AFFINITY))):
        for number, condition in enumerate(_items(_at(term, ("matchExpressions",)))):
            found.setdefault(str(condition.get("key")), (*AFFINITY, index, "matchExpressions", number))
    yield from found.items()


def admits(spec: object, labels: Mapping[str, str], *, keys: Iterable[str] | None = None) -> bool:
    """Whether a PodSpec admits a node with ``labels``. With ``keys``, no more is known of the node than these."""
    known = None if keys is None else frozenset(keys)
    selector = _at(spec, ("nodeSelector",))
    pairs = selector.items() if isinstance(selector, dict) else ()
    if any(labels.get(key) != value for key, value in pairs if known is None or key in known):
        return False
    terms = _items(_at(spec, AFFINITY))
    return not terms or any(
        all(
            fulfils(condition, labels)
            for condition in _items(_at(term, ("matchExpressions",)))
            if known is None or str(condition.get("key")) in known
        )
        for term in terms
    )


def values_at(spec: object, path: Path) -> list[str]:
    """The values of a label that are asked for at one of the places of ``choices``."""
    written = _at(spec, path)
    values = written.get("values") if isinstance(written, dict) else [written]
    return [str(value) for value in values] if isinstance(values, list) else []


def instead(wanted: Iterable[str], known: Iterable[str]) -> str:
    """Which of the ``known`` values to write instead."""
    there, first = sorted(known), next(iter(wanted), "")
    return did_you_mean(first, there, f"The nodes have {shortened(there)}." if there else "")


def _at(value: object, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _items(written: object) -> list[dict[str, Any]]:
    """The mappings of a list."""
    return [item for item in written if isinstance(item, dict)] if isinstance(written, list) else []
