"""What every declared model shares: frozen, strict, no unknown field."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints
from pydantic.config import JsonDict

_PLUGINS = ModuleType("pydantic.plugin._loader")
vars(_PLUGINS)["get_plugins"] = tuple
sys.modules[_PLUGINS.__name__] = _PLUGINS
"""Where pydantic would look for plugins. What else is installed must not change what is valid; to look takes longer
than to read a small repository.
"""

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
"""Where in a document: keys and indices from its root."""
OWN_METADATA: KeyPath = ("metadata",)
"""The metadata of an object itself, which some kinds give to their pods."""

API_VERSION = "tas/v1alpha1"
"""apiVersion of the tool's own kinds."""

NAME_PREFIX = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
NAME_PART = r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])"
QUALIFIED_NAME = rf"^{NAME_PREFIX}{NAME_PART}$"
"""A label key: an optional DNS prefix and a name. The pattern of KAI's Topology CRD, and of the name no more
characters than Kubernetes accepts."""

Many = Annotated[tuple[T, ...], Strict(strict=False)]
"""A YAML sequence."""
WITHOUT_NUL = r"^[^\x00]*$"
"""The pattern of text without the one character that no container can be given."""
AnyText = Annotated[str, StringConstraints(pattern=WITHOUT_NUL)]
"""A string, which may be empty."""
Text = Annotated[str, StringConstraints(min_length=1, pattern=WITHOUT_NUL)]
"""A string that says something."""


MAX_COUNT = 2**31 - 1
"""What Kubernetes counts to: its counts are int32."""
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
"""A whole number that is not negative."""
Positive = Annotated[int, Field(ge=1, le=MAX_COUNT)]
"""A whole number from 1."""


def digits_up_to(most: int) -> str:
    """A pattern of whole numbers up to ``most`` that are written as text."""
    text = str(most)
    less = [
        f"{text[:place]}[{int(place == 0)}-{int(digit) - 1}][0-9]{{{len(text) - place - 1}}}"
        for place, digit in enumerate(text)
        if int(digit) > int(place == 0)
    ]
    return "|".join((f"[0-9]{{1,{len(text) - 1}}}", *less, text))


def said(message: str, *examples: str, hint: str = "") -> Any:
    """What the JSON Schema says where a pattern does not match; editors show it, and so do we. ``examples`` are
    values for a field in which a bare number is most likely a slip, ``hint`` says how to mend what does not match.
    """
    shown: JsonDict = {"examples": list(examples)} if examples else {}
    help_: JsonDict = {"patternErrorHint": hint} if hint else {}
    return Field(json_schema_extra={"patternErrorMessage": message, **shown, **help_})


VariableName = Annotated[
    str,
    StringConstraints(min_length=1, pattern=r"^[ -<>-~]*$"),
    said("must be the name of a variable: printable ASCII without '='"),
]
"""The name of an environment variable, as Kubernetes accepts it."""
Image = Annotated[
    str,
    StringConstraints(min_length=1, pattern=r"^[!-~]*$"),
    said("must be an image such as busybox:1.37: printable ASCII without blanks"),
]
"""A container image."""
MAX_PREFIX = 253
"""Characters of a label's key before its '/'."""


def _with_short_prefix(key: str) -> str:
    if key.find("/") > MAX_PREFIX:
        raise ValueError(f"the part before '/' has more than {MAX_PREFIX} characters")
    return key


KEY_RULE = "must be a label such as topology.kubernetes.io/zone"
KEY_HINT = "Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'."
VALUE_RULE = "must be the value of a label: letters, digits, '-', '_' and '.', a letter or digit at both ends"
VALUE_HINT = "Write '-' or '_' in place of other characters, such as blanks, '/', ':' and '@'."
LabelKey = Annotated[
    str,
    StringConstraints(max_length=MAX_PREFIX + 64, pattern=QUALIFIED_NAME),
    said(KEY_RULE, hint=KEY_HINT),
    AfterValidator(_with_short_prefix),
]
"""The key of a Kubernetes label."""
LabelValue = Annotated[
    str,
    StringConstraints(max_length=63, pattern=rf"^({NAME_PART})?$"),
    said(VALUE_RULE, hint=VALUE_HINT),
]
"""The value of a Kubernetes label."""
Quantity = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{1,30}(\.[0-9]{1,30})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"),
    said(
        "must be a quantity such as 500m or 64Gi",
        "64Gi",
        hint="Write a unit of Kubernetes right after the number, such as Mi or Gi, not GB.",
    ),
]
"""A Kubernetes quantity, such as 500m or 64Gi."""


def nothing() -> Any:
    """The default of a mapping. One that is written as ``{}`` is copied in depth for each model, by Python."""
    return Field(default_factory=dict, json_schema_extra={"default": {}})


class Model(BaseModel):
    """A frozen mapping that refuses unknown fields and never converts a scalar's type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Named(Model):
    """The metadata of one of the tool's own kinds."""

    name: Text
    """Unique within its kind."""
