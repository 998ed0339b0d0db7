"""Makes the JSON schemas of the output of commands with ``-o json``, from the shapes in ``kubectl_tas.report``."""

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
    """A generator that adds no titles to fields, since titles would only repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def get_defs_ref(self, core_mode_ref: Any) -> Any:
        """Leaves the suffix of the classes out of names that programs read."""
        reference, mode = core_mode_ref
        return super().get_defs_ref((reference.replace("Json:", ":"), mode))


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def output_texts() -> dict[str, str]:
    """Returns the text of every file in ``schemas/output/``, by name: the words of the command, joined by ``-``."""
    for shape in vars(shapes).values():
        if is_typeddict(shape):
            title = shape.__name__.removesuffix("Json")
            shape.__pydantic_config__ = ConfigDict(use_attribute_docstrings=True, title=title)
    return {
        f"{command.replace(' ', '-')}.json": json.dumps(_schema(command, kinds), indent=2) + "\n"
        for command, kinds in (shapes.OUTPUTS | shapes.ANSWERS).items()
    }


def _schema(command: str, kinds: tuple[type, ...]) -> dict[str, Any]:
    """Returns the schema of a command. It is always an object, as clients of the Model Context Protocol require."""
    found = TypeAdapter(reduce(or_, kinds)).json_schema(schema_generator=_Untitled)
    title = found.get("title", f"Output of {command}")
    return {"$schema": _DIALECT, "type": "object", **found, "title": title}
