"""Turns one object into its YAML text, with a template for each kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from kubectl_tas.base.resources import resource_root
from kubectl_tas.base.yaml import comment, literal, scalar
from kubectl_tas.emit.disk import MARK
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.base import Model

_MACROS = {"metadata": "_metadata.j2", "pod_spec": "_podspec.j2", "selector": "_selector.j2"}
"""Macros that are filters of all templates, with their files. A template's import would run once per object."""
_SCALARS = (str, int, bool)
_ADVICE = "; edit that and run `kubectl tas render`."


class Deferred(NamedTuple):
    """A text that is only made if more than its digest is needed."""

    digest: str
    source: str
    """The source file of the text."""
    extent: tuple[int, int]
    """Position of the text among the texts of its file: the bytes before it, and its length."""
    maker: Callable[[str, int, int], str]
    """Function that makes the text from the file and the position. All texts of a run share it."""

    def read(self) -> str:
        """Returns the text."""
        return self.maker(self.source, *self.extent)


def digest_of(content: str) -> str:
    """Returns the digest of a text."""
    return digest_of_bytes(content.encode("utf-8", "surrogateescape"))


def digest_of_bytes(content: bytes) -> str:
    """Returns the digest of a text's bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def is_same(before: bytes, after: str | Deferred) -> bool:
    """Whether the content of a file equals the wanted text."""
    return text_of(before) == after if isinstance(after, str) else digest_of_bytes(before) == after.digest


def text_of(content: bytes) -> str:
    """Returns the text of a file. Bytes that are not UTF-8 make the text differ from any rendered text."""
    return content.decode("utf-8", "surrogateescape")


def digest(content: str | Deferred) -> str:
    """Returns the digest of a text, deferred or not."""
    return digest_of(content) if isinstance(content, str) else content.digest


def whole(content: str | Deferred) -> str:
    """Returns the text, deferred or not."""
    return content if isinstance(content, str) else content.read()


def object_text(artifact: Artifact) -> str:
    """Returns the YAML text of one object, without the mark."""
    manifest = artifact.manifest
    if isinstance(manifest, PassThrough):
        return manifest.text
    return _template(manifest.kind.lower()).render(o=manifest, comments=artifact.comments)


def file_text(artifact: Artifact) -> str:
    """Returns the text of an object's file."""
    return f"{_header(artifact.source)}{object_text(artifact)}"


def stream(artifacts: Sequence[Artifact]) -> str:
    """Returns all objects to apply as one multi-document YAML stream."""
    return "".join(piece(file_text(artifact)) for artifact in artifacts if artifact.apply)


def piece(content: str) -> str:
    """Returns the object of a file as a part of a stream."""
    return f"---\n{content.partition(chr(10))[2]}"


def kustomization(resources: Sequence[str], settings_source: str) -> str:
    """Returns the text of a ``kustomization.yaml`` that lists ``resources`` in the given order."""
    return f"{_header(settings_source)}{_template('kustomization').render(resources=resources)}"


def sources(content: str) -> tuple[str, ...]:
    """Returns the sources that a manifest names; none if kubectl-tas did not write the manifest."""
    first_line = content.partition("\n")[0]
    if not first_line.startswith(MARK):
        return ()
    return tuple(first_line.removeprefix(MARK).partition(_ADVICE)[0].split(" and "))


def _header(source: str) -> str:
    return f"{MARK}{comment(source)}{_ADVICE}\n"


@cache
def _template(kind: str) -> Template:
    return _environment().get_template(f"{kind}.yaml.j2")


class _Environment(Environment):
    """Jinja's environment, without its precautions for untrusted templates, which cost time for each object."""

    getattr = staticmethod(getattr)  # type: ignore[assignment]
    """Templates only name fields of models, which all exist."""

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        return {**self.globals, **(d or {})}


def entries(values: Mapping[str, object], indent: str) -> str:
    """Returns the lines of a mapping of scalars, each after a line break."""
    return "".join([_line(key, value, indent) for key, value in values.items()])


def _elements(values: Iterable[object], indent: str) -> str:
    """Returns the lines of a list of scalars, each after a line break."""
    return "".join([f"\n{indent}- {scalar(value)}" for value in values])


def _fields(model: Model, indent: str, *names: str, but: str = "") -> str:
    """Returns the lines of a model's fields that have a value: of ``names``, else of all scalar fields ``but`` one."""
    named = [name for name in names or type(model).model_fields if name != but]
    values = [(name, getattr(model, name)) for name in named]
    return "".join([_line(name, value, indent) for name, value in values if isinstance(value, _SCALARS)])


@lru_cache(maxsize=4096, typed=True)
def _line(key: object, value: object, indent: str) -> str:
    """Returns the line of a scalar, after a line break. The cache is typed, because True is not written as 1."""
    return f"\n{indent}{scalar(key)}: {scalar(value)}"


@cache
def _environment() -> Environment:
    environment = _Environment(
        loader=FileSystemLoader(resource_root() / "templates", encoding="utf-8"),
        undefined=StrictUndefined,
        auto_reload=False,
        optimized=False,  # templates have no constants to fold
        autoescape=False,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"scalar": scalar, "literal": literal, "comment": comment}
    filters |= {"entries": entries, "elements": _elements, "fields": _fields}
    filters |= {name: lambda *values, name=name: _macro(name)(*values) for name in _MACROS}
    environment.filters.update(filters)
    return environment


@cache
def _macro(name: str) -> Callable[..., str]:
    """Returns one of ``_MACROS``. Macros are loaded on first use, so a repository without pods loads none of theirs."""
    return getattr(_environment().get_template(_MACROS[name]).module, name)  # type: ignore[no-any-return]
