"""A number of equal pods."""

from __future__ import annotations

from kubectl_tas.model.base import Count
from kubectl_tas.model.podtemplate import Open, PodTemplate


class ReplicatedSpec(Open):
    """A number of equal pods."""

    replicas: Count = 1
    """Pods."""
    template: PodTemplate = PodTemplate()
    """What they are made from."""
