"""One object in, its YAML text out: a template for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from kubectl_tas.emit.disk import MARK
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.resources import resource_root
from kubectl_tas.yaml import comment, literal, scalar

_ADVICE = "; edit that and run `kubectl tas render`."


def document(artifact: Artifact) -> str:
    """The YAML text of one object, without the mark."""
    manifest = artifact.manifest
    if isinstance(manifest, PassThrough):
        return manifest.text
    return _template(manifest.kind.lower()).render(o=manifest, comments=artifact.comments)


def file_text(artifact: Artifact) -> str:
    """The text of an object's file."""
    return f"{_header(artifact.source)}{document(artifact)}"


def stream(artifacts: Sequence[Artifact]) -> str:
    """All objects to apply as one multi-document YAML stream."""
    return "".join(f"---\n{document(artifact)}" for artifact in artifacts if artifact.apply)


def kustomization(resources: Sequence[str], settings: str) -> str:
    """The text of a ``kustomization.yaml`` that lists ``resources`` in the order given."""
    return f"{_header(settings)}{_template('kustomization').render(resources=resources)}"


def sources(content: str) -> tuple[str, ...]:
    """The files that a manifest says it was compiled from; none where the tool did not write it."""
    first = content.partition("\n")[0]
    if not first.startswith(MARK):
        return ()
    return tuple(first.removeprefix(MARK).partition(_ADVICE)[0].split(" and "))


def _header(source: str) -> str:
    return f"{MARK}{comment(source)}{_ADVICE}\n"


@cache
def _template(kind: str) -> Template:
    return _environment().get_template(f"{kind}.yaml.j2")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resource_root() / "templates", encoding="utf-8"),
        undefined=StrictUndefined,
        auto_reload=False,
        autoescape=False,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"scalar": scalar, "literal": literal, "comment": comment}
    environment.filters.update(filters)
    return environment
