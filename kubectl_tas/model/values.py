"""The values of a template: a file ``values/NAME.yaml``, or an entry of ``spec.values`` of the Config."""

from __future__ import annotations

from math import isfinite

from pydantic import BaseModel, ConfigDict

from kubectl_tas.model.base import Many, Text
from kubectl_tas.records import dataclass

FOLDER = "values"
"""The folder of the repository that holds values files; nothing else is read from it."""


class Instance(BaseModel):
    """One workflow of a template: its name, and values that count for it alone."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    name: Text
    """The name of the workflow, in place of the template's own; also the value "name" of the template."""


class Values(BaseModel):
    """Values of a template by their names. They count before those of its default-values; a mapping or a list counts as
    a whole.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    instances: Many[Instance] = ()
    """Makes a workflow of each entry. Without it the template makes one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the command line, which counts before all others."""

    name: str
    value: str | int | float
    written: str
    """As it was given."""


def read_setting(text: str, *, is_text: bool) -> Setting | None:
    """``NAME=VALUE``: a whole number, a number, or else text, as OSMO reads it; None where there is no ``=``."""
    name, equals, written = text.partition("=")
    if not equals or not name:
        return None
    if not is_text:
        for read in (int, float):
            try:
                value = read(written)
            except ValueError:
                continue
            if isfinite(value):
                return Setting(name, value, written)
    return Setting(name, written, written)
