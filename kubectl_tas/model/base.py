"""Defines the base class and the types of all declared models: frozen, strict, without unknown fields."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints
from pydantic.config import JsonDict

_PLUGINS = ModuleType("pydantic.plugin._loader")
vars(_PLUGINS)["get_plugins"] = tuple
sys.modules[_PLUGINS.__name__] = _PLUGINS
"""Replaces pydantic's search for plugins. Installed plugins must not change what is valid, and the search takes longer
than reading a small repository.
"""

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
"""The path of a value in a document: keys and indices from the root."""
OWN_METADATA: KeyPath = ("metadata",)
"""The path of an object's own metadata, which some kinds copy to their pods."""

API_VERSION = "tas/v1alpha1"
"""apiVersion of the tool's own kinds."""

NAME_PREFIX = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
_ANY_CASE_PREFIX = NAME_PREFIX.replace("a-z", "A-Za-z")
NAME_PART = r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])"
QUALIFIED_NAME = rf"^{NAME_PREFIX}{NAME_PART}$"
"""The pattern of a label key, from KAI's Topology CRD: an optional DNS prefix, and a name of at most 63 characters."""

Many = Annotated[tuple[T, ...], Strict(strict=False)]
"""A YAML sequence."""
WITHOUT_NUL = r"^[^\x00]*$"
"""The pattern of text without NUL, the one character that a container cannot receive."""
AnyText = Annotated[str, StringConstraints(pattern=WITHOUT_NUL)]
"""A string, which may be empty."""
Text = Annotated[str, StringConstraints(min_length=1, pattern=WITHOUT_NUL)]
"""A string that is not empty."""


MAX_COUNT = 2**31 - 1
"""The largest count in Kubernetes, whose counts are int32."""
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
"""A whole number from 0."""
Positive = Annotated[int, Field(ge=1, le=MAX_COUNT)]
"""A whole number from 1."""


def whole_number(text: str) -> int | None:
    """Returns the positive number in an annotation, up to the largest count in Kubernetes. None if invalid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_COUNT)) else 0
    return number if 0 < number <= MAX_COUNT else None


def digits_up_to(most: int) -> str:
    """Returns a pattern for whole numbers up to ``most`` that are written as text."""
    text = str(most)
    less = [
        f"{text[:digit_index]}[{int(digit_index == 0)}-{int(digit) - 1}][0-9]{{{len(text) - digit_index - 1}}}"
        for digit_index, digit in enumerate(text)
        if int(digit) > int(digit_index == 0)
    ]
    return "|".join((f"[0-9]{{1,{len(text) - 1}}}", *less, text))


def said(message: str, *examples: str, hint: str = "") -> Any:
    """Adds the message for a value that does not match the pattern to the JSON Schema, for editors and for this tool.
    ``examples`` suit a field in which a bare number is probably a mistake. ``hint`` says how to fix the value.
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
"""The most characters of a label key before its '/'."""


def _with_short_prefix(key: str) -> str:
    if key.find("/") > MAX_PREFIX:
        raise ValueError(f"the part before '/' has more than {MAX_PREFIX} characters")
    return key


KEY_RULE = "must be a label such as topology.kubernetes.io/zone"
KEY_HINT = "Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'."
NOTE_RULE = "must be a name such as example.com/note"
VALUE_RULE = "must be the value of a label: letters, digits, '-', '_' and '.', a letter or digit at both ends"
VALUE_HINT = "Write '-' or '_' in place of other characters, such as blanks, '/', ':' and '@'."
LabelKey = Annotated[
    str,
    StringConstraints(max_length=MAX_PREFIX + 64, pattern=QUALIFIED_NAME),
    said(KEY_RULE, hint=KEY_HINT),
    AfterValidator(_with_short_prefix),
]
"""The key of a Kubernetes label."""
AnnotationKey = Annotated[
    str,
    StringConstraints(max_length=MAX_PREFIX + 64, pattern=rf"^{_ANY_CASE_PREFIX}{NAME_PART}$"),
    said(NOTE_RULE, hint=KEY_HINT),
    AfterValidator(_with_short_prefix),
]
"""The key of an annotation. Unlike that of a label, its domain may have capital letters: ``ValidateAnnotations`` of
k8s.io/apimachinery (pkg/api/validation/objectmeta.go, 1.35) compares it in lower case.
"""
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
    """Returns an empty mapping as the default of a field. Python would deep-copy a literal ``{}`` for each model."""
    return Field(default_factory=dict, json_schema_extra={"default": {}})


class Model(BaseModel):
    """A frozen mapping that refuses unknown fields and never converts the type of a scalar."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Named(Model):
    """The metadata of one of the tool's own kinds."""

    name: Text
    """The name of the document, unique within its kind."""
