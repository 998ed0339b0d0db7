"""Substitutes variables as Flux does after a build, as far as manifests need it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.pyyaml import safe_load

_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::[-=]([^}]*))?\}")


def substituted(item: dict[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """Returns an object as Flux applies it (SubstituteVariables of fluxcd/pkg/kustomize, envsubst 1.4). Variables are
    replaced in its text, a variable without a value is empty, and $$ becomes $. An object is unchanged if its label or
    annotation disables substitution, or if there are no variables.
    """
    metadata = item["metadata"]
    if "disabled" in (metadata.get(place, {}).get(_SUBSTITUTE) for place in ("labels", "annotations")) or not variables:
        return item

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found[1]) or found[2] or ""

    changed: dict[str, Any] = safe_load(_VARIABLE.sub(value, yaml.safe_dump(item, width=10**6)))
    return changed
