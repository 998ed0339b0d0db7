"""Describes the pods of a workload: sets of identical ones, and the names that users give to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.model.base import KeyPath

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Meta, PodTemplate


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a user gives to a part of a workload."""

    what: str
    """The word of the kind for such a part, such as replica type."""
    text: str
    """The name as written."""
    compared: str
    """The form of the name that the kind's controller compares. It refuses two parts with the same form."""
    path: KeyPath
    is_key: bool = False
    """Whether the path leads to a key and not to a value."""


HOLDERS = ("spec", "spec.containers[]", "spec.initContainers[]")
"""Places of a pod template with ``resources`` and ``resourceClaims``."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Identical pods of a workload, as the workload itself describes them."""

    name: str
    """Name of the set, unique in the workload."""
    replicas: int
    """Pods that run at the same time."""
    path: KeyPath
    """Path of the pod template, or of the fields in its place."""
    template: PodTemplate | None
    """The pod template. None if another object contains it."""
    asks: Amounts
    """The request of one pod."""
    indices: int
    """Pods with an index of their own: the completions of an Indexed Job, else ``replicas``."""
    index_label: str | None = None
    """The label with the index of a pod."""
    label: str = ""
    """The name of the SubGroup, if not ``name``."""
    given_name: Name | None = None
    """The name that the user gave to the set. None if the kind defines the name."""
    comes_late: bool = False
    """Whether these pods start only once the others run, so that no gang can wait for them: a RayJob's submitter."""
    job: tuple[KeyPath, Meta] | None = None
    """Path and content of the metadata of the jobs that own these pods. None without such jobs."""
    jobs: int = 1
    """The number of jobs that own these pods."""
    is_leader: bool = False
    """Whether the set is the one pod that leads others. KAI never divides it into segments."""
    metadata_path: KeyPath = ()
    """Path of the labels and annotations of the pods."""
    spec_path: KeyPath = ()
    """Path of the fields of the pods."""
    is_pod_spec: bool = True
    """Whether these fields are a PodSpec, and not fields of the kind in its place."""
    holders: tuple[str, ...] = HOLDERS
    """Places below ``path`` whose ``resources`` and ``resourceClaims`` the pods have. ``[]`` is each item of a list."""
    beside: KeyPath = ()
    """Path of a container that the operator adds to the pods. Empty if it adds none with resources of the file."""
    added: int = 0
    """Number of ``replicas`` that only a controller adds, by an autoscaler or at the start."""
