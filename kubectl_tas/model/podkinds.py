"""Describes kinds that the Config declares: where an object has its pods, and which PodGroups KAI makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kubectl_tas import kinds
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod, first_pod, minimum_of
from kubectl_tas.kinds.section import LIST, MAPPING, path_steps
from kubectl_tas.model.base import Many, Model, Positive, Text, said
from kubectl_tas.model.kindlists import COMPANIONS, OWN, group_of

PodPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*(\[\]|\.\*|\.[A-Za-z][A-Za-z0-9_-]*)*$"),
    said(
        'must be a path such as "spec.template" or "spec.roles[].template"',
        hint="Join keys with dots; [] is each item of a list, .* each key of a mapping.",
    ),
]
_TAKEN = frozenset(
    {
        *("Workflow", *(kind for kind, _, _ in OWN)),
        *(companion.kind for companion in COMPANIONS),
        *(listed.kind for listed in kinds.LISTED),
    }
)
"""Names of kinds that are in use. A declared kind with one of these names gets its group as a suffix."""


def check_paths(*paths: str) -> None:
    """Raises ``ValueError`` if one path uses a field as a list or a mapping and another path uses it as an object."""
    form_by_path: dict[tuple[str, ...], str] = {}
    for path in paths:
        steps = path_steps(path)
        for index, step in enumerate(steps):
            above, form = steps[:index], step if step in (LIST, MAPPING) else "object"
            if form_by_path.setdefault(above, form) != form:
                where = ".".join(above).replace(".[]", "[]")
                message = f"{where} is {_FORMS[form]} in {path}, and {_FORMS[form_by_path[above]]} in another path"
                raise ValueError(message)


_FORMS = {LIST: "a list", MAPPING: "a mapping", "object": "an object"}


class DeclaredPods(Model):
    """Identical pods of a declared kind."""

    template: PodPath
    """Path of the pod template, such as spec.template. ``[]`` means each item of a list and ``.*`` each key of a
    mapping, such as spec.roles[].template. Each of them has pods of its own.
    """
    replicas: PodPath | None = None
    """Path of the number of pods, such as spec.roles[].replicas. Without it, or without a number there: 1."""

    @model_validator(mode="after")
    def _paths(self) -> DeclaredPods:
        check_paths(self.template, self.replicas or "")
        return self


class DeclaredKind(Model):
    """A kind of your platform that makes pods."""

    apiVersion: Text
    """API of the kind, such as ml.example.com/v1."""
    kind: Text
    """Name of the kind, such as Training."""
    plural: Text | None = None
    """Name of the kind in URLs. The default is the lower-case kind with an s."""
    pods: Annotated[Many[DeclaredPods], Field(min_length=1)]
    """The pods of the kind."""
    podGroups: Literal["one", "each"] = "each"
    """The PodGroups that KAI makes for an object. each: one for each pod, as for every kind that KAI's podgrouper may
    not read. In a standard install it may read no kind of a platform. one: a single PodGroup, if you let it read the
    kind.
    """
    minimum: Positive | Literal["all"] | PodPath = 1
    """The number of pods that must start together, with podGroups one: a number, all, or the path of a number in the
    object. KAI itself uses 1. Write another value if the kind's controller or a plugin of KAI makes the PodGroup.
    """

    @model_validator(mode="after")
    def _paths(self) -> DeclaredKind:
        least = self.minimum if isinstance(self.minimum, str) and self.minimum != "all" else ""
        check_paths(*(path for pods in self.pods for path in (pods.template, pods.replicas or "")), least)
        return self

    @cached_property
    def described(self) -> page.WorkloadKind:
        """The page of the kind."""
        pods = tuple(page.Pods(each.template, each.replicas or "", is_optional=True) for each in self.pods)
        is_one = self.podGroups == "one"
        if self.minimum == 1:
            gang = Grouping(first_pod, one_pod_group=is_one)
        elif self.minimum == "all":
            gang = Grouping(every_pod, one_pod_group=is_one)
        else:
            gang = minimum_of(self.minimum, one_pod_group=is_one)
        return page.declared(recognition(self.kind, self.apiVersion, self.plural or ""), pods, gang)


def recognition(kind: str, version: str, plural: str = "") -> page.Recognition:
    """Returns how a declared kind is recognised. Its name has its group if another kind has the same name."""
    name = f"{kind}.{group_of(version)}" if kind in _TAKEN else kind
    return page.Recognition(kind, (version,), page.UNPACKED, name=name, plural=plural)


def every_page(declared: Iterable[DeclaredKind]) -> Iterator[page.WorkloadKind]:
    """Yields the pages of the kinds that every repository may use, then those of the kinds that the Config declares."""
    yield from kinds.pages()
    yield from (kind.described for kind in declared)
