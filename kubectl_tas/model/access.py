"""Who may send work to a pool, and who may look at it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from kubectl_tas.model.base import Many, Model, said

Group = Annotated[
    str,
    StringConstraints(max_length=512, pattern=r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"),
    said(
        "must be the name of a group such as team-nlp, without a blank at either end",
        hint="Write it as the API server knows it: with its prefix, such as oidc:team-nlp, where it gives one.",
    ),
]
"""A group as the API server knows it, its prefix included, such as oidc:team-nlp."""
Groups = Annotated[Many[Group], Field(min_length=1)]
"""Groups, at least one."""


class Access(Model):
    """The groups of users that a pool or a subpool is for. What is below it inherits them, and may add its own."""

    submit: Groups = ()
    """Who may create, change and delete work there, and see what ``view`` lets see. Where no group is named, neither
    here nor above, everybody whom other Roles let create work may send it here.
    """
    view: Groups = ()
    """Who may see the work there, its Pods and their logs."""
