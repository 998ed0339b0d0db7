"""Shapes of JSON in, the schema of what each command prints with ``-o json`` out."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import is_typeddict

from kubectl_tas.report import json_shapes as shapes


class _Untitled(GenerateJsonSchema):
    """Says nothing that the name of a field says."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def output_texts() -> dict[str, str]:
    """The text of every file below ``schemas/output/``, by its name: that of the command, its words joined by ``-``."""
    for shape in vars(shapes).values():
        if is_typeddict(shape):
            shape.__pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
    return {
        f"{command.replace(' ', '-')}.json": json.dumps(_schema(command, kinds), indent=2) + "\n"
        for command, kinds in (shapes.OUTPUTS | shapes.ANSWERS).items()
    }


def _schema(command: str, kinds: tuple[type, ...]) -> dict[str, Any]:
    """An object in any case, which clients of the Model Context Protocol require."""
    found = TypeAdapter(reduce(or_, kinds)).json_schema(schema_generator=_Untitled)
    title = found.get("title", f"Output of {command}")
    return {"$schema": _DIALECT, "type": "object", **found, "title": title}
