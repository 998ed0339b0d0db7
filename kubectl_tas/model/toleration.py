"""Tolerations, which pools have and Pods too."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import LabelKey, LabelValue, Model


class Toleration(Model):
    """A taint of nodes that a pod may run on all the same, as Kubernetes has it."""

    key: LabelKey | None = None
    """Key of the taint; none, with operator Exists: every taint."""
    operator: Literal["Exists", "Equal"] | None = None
    """Equal, which is the default, compares the value; Exists does not, and has none."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint; none: every effect."""
    tolerationSeconds: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    """With effect NoExecute: seconds for which a pod that runs is left alone; none: for ever."""

    @property
    def data(self) -> dict[str, str | int]:
        """Its fields as an API server keeps them."""
        fields: dict[str, str | int | None] = self.model_dump()
        return {name: value for name, value in fields.items() if value is not None and value != ""}
