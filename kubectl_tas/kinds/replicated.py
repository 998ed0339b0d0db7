"""Holds what kinds with one pod template and a number of replicas share."""

from __future__ import annotations

from kubectl_tas.kinds import page

FIELDS = (
    page.Field("spec", "Settings of the {}.", is_required=True),
    page.Field("spec.replicas", "Number of pods.", "count"),
)
PODS = (page.Pods("spec.template", "spec.replicas", name="pod"),)
