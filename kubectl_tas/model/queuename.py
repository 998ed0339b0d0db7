"""How a Queue object is called that was in the cluster before the repository, or that follows no scheme."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from kubectl_tas.model.base import AnyText, Model, said

WrittenName = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    said("must be the name of a Queue, at most 63 characters: lower-case letters, digits, '-' and '.'"),
]
"""The name of a Queue object, which is the value of a label of its pods too."""


class QueueName(Model):
    """The name of a Queue object; what is left out follows the scheme."""

    name: WrittenName | None = None
    """Name of the object."""
    displayName: AnyText | None = None
    """What users see; "" for none."""

    def display(self, otherwise: str) -> str | None:
        """What users see, ``otherwise`` where it is left out; None: nothing but the name."""
        return otherwise if self.displayName is None else self.displayName or None
