"""Documents that decide for others lie in the folders that the Config names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.load.rights import misplaced, outside
from kubectl_tas.resolve.fleet import Fleet


def check_admin_sources(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every such document; the setting is their cause where the Config has one."""
    config, folders = fleet.repository.config, fleet.config.adminSources
    is_set = config is not None and "adminSources" in config.spec.spec.model_fields_set
    cause = config.at("spec", "adminSources") if config is not None and is_set else None
    for found in outside(fleet.repository, folders):
        yield replace(misplaced(found, folders), cause=cause)
