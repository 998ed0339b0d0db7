"""Packs the fields of kinds by release: names, types, what must be there, words and bounds; no texts. By hand, when a
project has a new release.

``python -m tools.packfields kubernetes DIR``: DIR holds ``v1.33.0-local/_definitions.json`` of each release, as the
folder ``kubernetes-json-schema`` of the Python package kubernetes-validate does.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.goldens import ROOT

PACKED = ROOT / "kubectl_tas" / "packed"
Field = str | dict[str, Any]
Types = dict[str, dict[str, Field]]
"""The fields of each type by its name: a type, with * behind it where the field must be there; or more about it."""
_PREFIX = re.compile(r"^io\.k8s\.(api\.|apimachinery\.pkg\.(apis\.|api\.|util\.)?|kube-aggregator\.pkg\.apis\.)?")
_ALIKE = {"resource.Quantity": "quantity", "intstr.IntOrString": "int-or-string"}


def kubernetes(folder: Path) -> dict[str, Any]:
    """Kubernetes' own types by release."""
    found = {}
    for path in folder.glob("v1.*-local/_definitions.json"):
        written = json.loads(path.read_bytes())["$defs"]
        named = {_PREFIX.sub("", name): schema for name, schema in written.items()}
        if len(named) != len(written):
            raise SystemExit(f"two types have one name in {path}")
        found[int(path.parent.name.split(".")[1])] = {
            name: {key: _field(part, key in schema.get("required", ()), named) for key, part in fields.items()}
            for name, schema in named.items()
            if (fields := schema.get("properties")) is not None
        }
    order = sorted(found)
    return {"releases": [f"1.{minor}" for minor in order], **merged([found[minor] for minor in order])}


def _field(schema: Mapping[str, Any], is_required: bool, named: Mapping[str, Any]) -> Field:  # noqa: FBT001
    return _type(schema, named) + ("*" if is_required else "")


def _type(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """The type of a schema of Kubernetes', by its name; a type that has no fields is what it holds."""
    if "$ref" in schema:
        name = _PREFIX.sub("", schema["$ref"].rpartition("/")[2])
        if name in _ALIKE or "properties" in named[name]:
            return _ALIKE.get(name, name)
        return _type(named[name], named)
    words = schema.get("type", "any")
    word: str = next(item for item in words if item != "null") if isinstance(words, list) else words
    if word == "array":
        return "[]" + _type(schema["items"], named)
    if word == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "{}" + _type(schema["additionalProperties"], named)
    return schema["format"] if schema.get("format") in ("int32", "int64") else word


def merged(releases: list[Types]) -> dict[str, Any]:
    """The types of several releases, oldest first, as one. A field that differs is a list of what it is, each with the
    first and the last release; so are types, in ``spans``, that some release lacks.
    """
    spans: dict[str, list[int]] = {}
    types: dict[str, dict[str, Any]] = {}
    for name in sorted({name for release in releases for name in release}):
        have = [index for index, release in enumerate(releases) if name in release]
        span = [have[0], have[-1]]
        if span != [0, len(releases) - 1]:
            spans[name] = span
        keys = dict.fromkeys(key for index in reversed(have) for key in releases[index][name])
        types[name] = {
            key: _versions([(index, releases[index].get(name, {}).get(key)) for index in range(span[0], span[1] + 1)])
            for key in sorted(keys)
        }
    return {"spans": spans, "types": types}


def _versions(fields: Iterable[tuple[int, Field | None]]) -> Any:
    """What a field is by release: itself if it is the same in all of them."""
    found: list[tuple[Field | None, list[int]]] = []
    for index, field in fields:
        if found and found[-1][0] == field:
            found[-1][1][1] = index
        else:
            found.append((field, [index, index]))
    if len(found) == 1:
        return found[0][0]
    return [[*span, field] for field, span in found if field is not None]


def write(name: str, data: Mapping[str, Any]) -> None:
    """Writes a packed file, and says how large it is."""
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    path = PACKED / f"{name}.z"
    path.write_bytes(zlib.compress(text, 9))
    print(
        f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes of {len(text)}, releases {', '.join(data['releases'])}"
    )


def main() -> None:
    """Packs what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", choices=["kubernetes"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    given = parser.parse_args()
    write(given.project, kubernetes(given.folder))


if __name__ == "__main__":
    main()
