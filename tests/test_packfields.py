"""Tests how fields of CRDs and of Kubernetes' schemas are packed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shapes
from tools import packfields
from tools.crdrules import UnreadableRuleError, read

SCHEMA = "openAPIV3Schema"
NEWEST = kubernetes.releases()[-1]
TEXT, OBJECT = {"type": "string", "description": "Never packed."}, {"type": "object"}


def schema_of(written: str, release: int) -> dict[str, Any]:
    """A type of Kubernetes' own as controller-gen writes it into a CRD."""
    if written.startswith("[]"):
        return {"type": "array", "items": schema_of(written[2:], release)}
    if written.startswith("{}"):
        return {"type": "object", "additionalProperties": schema_of(written[2:], release)}
    if written in ("quantity", "int-or-string"):
        return {"x-kubernetes-int-or-string": True, **({"pattern": "^x$"} if written == "quantity" else {})}
    fields = Shapes(release).fields(written)
    if fields is None:
        return {"type": "integer", "format": written} if written in ("int32", "int64") else {"type": written}
    return {
        "type": "object",
        "properties": {key: schema_of(field.written, release) for key, field in fields.items()},
        "required": [key for key, field in fields.items() if field.is_required],
    }


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Packs the ``spec`` of a kind Train in several releases."""

    def packed(*specs: dict[str, Any]) -> dict[str, Any]:
        def git(*arguments: str) -> None:
            who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
            subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

        git("init", "--quiet")
        for index, spec in enumerate(specs):
            properties = {"spec": {"type": "object", **spec}, "metadata": OBJECT, "status": OBJECT}
            version = {"name": "v1", "storage": True, "schema": {SCHEMA: {"properties": properties}}}
            about = {"group": "example.com", "names": {"kind": "Train"}, "versions": [version]}
            (tmp_path / "trains.yaml").write_text(json.dumps({"kind": "CustomResourceDefinition", "spec": about}))
            git("add", ".")
            git("commit", "--quiet", "--allow-empty", "--message", "x")
            git("tag", f"v1.{index}.0")
        project = packfields.Project("example/train", "1.0", "Train", "elsewhere.yaml {}s.yaml")
        monkeypatch.setitem(packfields.PROJECTS, "train", project)
        return packfields.operator("train", tmp_path)

    return packed


def test_types_words_and_bounds(pack: Callable[..., dict[str, Any]]) -> None:
    spec = {
        "required": ["mode", "filled"],
        "properties": {
            "mode": {"type": "string", "enum": ["a", "b"]},
            "filled": {"type": "string", "default": "x"},
            "count": {"type": "integer", "format": "int32", "minimum": 1},
            "labels": {"type": "object", "additionalProperties": TEXT},
            "words": {"type": "array", "items": {"type": "string", "enum": ["c"]}},
            "size": {"x-kubernetes-int-or-string": True, "pattern": "^x$"},
            "share": {"x-kubernetes-int-or-string": True},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": TEXT}},
            "any": {"x-kubernetes-preserve-unknown-fields": True},
            "one": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"a": TEXT, "b": TEXT}}}},
            "two": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"a": TEXT, "b": TEXT}}}},
        },
    }
    data = pack(spec)
    assert data["kinds"] == {"example.com/v1 Train": "Train"}
    assert data["types"]["Train"]["spec"] == "Train.spec"
    assert data["types"]["Train.spec"] == {
        "mode": {"type": "string*", "words": ["a", "b"]},
        "filled": "string",
        "count": {"type": "int32", "least": 1, "most": 2**31 - 1},
        "labels": "{}string",
        "words": {"type": "[]string", "words": ["c"]},
        "size": "quantity",
        "share": "int-or-string",
        "open": "object",
        "any": "any",
        "one": "Train.spec.one",
        "two": "Train.spec.one",
    }
    assert "Never packed" not in json.dumps(data)


def test_pods_are_references(pack: Callable[..., dict[str, Any]]) -> None:
    whole, less = schema_of("core.v1.PodTemplateSpec", 31), schema_of("core.v1.PodTemplateSpec", 31)
    del less["properties"]["spec"]["properties"]["hostUsers"]
    less["properties"]["spec"]["properties"]["more"] = TEXT
    data = pack({"properties": {"whole": whole, "less": less}})
    assert data["kubernetes"] == [31]
    assert data["types"]["Train.spec"]["whole"] == "core.v1.PodTemplateSpec"
    assert data["types"]["Train.spec.less.spec"] == {"": "core.v1.PodSpec", "hostUsers": None, "more": "string"}


def test_releases(pack: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    mode = {"type": "string", "enum": ["a"]}
    old = {"properties": {"a": TEXT, "mode": mode}, "required": ["a", "mode"]}
    new = {
        "properties": {
            "b": TEXT,
            "mode": {**mode, "enum": ["a", "b"]},
            "c": {"type": "object", "properties": {"d": TEXT}},
        }
    }
    data = pack(old, new)
    read = kubernetes.read_packed
    monkeypatch.setattr(kubernetes, "read_packed", lambda name: data if name == "train" else read(name))
    index = {**kubernetes.operators(), "train": {"releases": data["releases"], "kinds": list(data["kinds"])}}
    monkeypatch.setattr(kubernetes, "operators", lambda: index)
    found = {}
    for version in (None, "1.0", "v1.1.3"):
        spec = (OperatorShapes("train", version, NEWEST).kind("example.com/v1", "Train").fields or {})["spec"]
        found[version] = (sorted(spec.fields or {}), spec.required, (spec.fields or {})["mode"].bound)
        assert spec.is_foreign
        if version == "1.0":
            assert spec.elsewhere("b") == "train has it from 1.1 on; the Config names 1.0."
        elif version:
            assert spec.elsewhere("a") == "train had it in 1.0 alone; the Config names v1.1.3."
    assert found[None] == (["a", "b", "c", "mode"], (), ("a", "b"))
    assert found["1.0"] == (["a", "mode"], ("a", "mode"), ("a",))
    assert found["v1.1.3"] == (["b", "c", "mode"], (), ("a", "b"))


def test_rules_of_crds(pack: Callable[..., dict[str, Any]]) -> None:
    rule = {"rule": "has(self.a) ||\n has(self.b)", "message": "must have a or b"}
    kept = {"rule": "self == oldSelf"}
    name = {"type": "string", "pattern": "^[a-z]$", "minLength": 1, "maxLength": 3}
    item = {"type": "object", "properties": {"name": name, "at": {"type": "string", "format": "date-time"}}}
    listed = {"type": "array", "items": item, "x-kubernetes-list-map-keys": ["name"], "maxItems": 2}
    pod = schema_of("core.v1.PodSpec", 31)
    pod["properties"]["hostname"]["maxLength"] = 3
    choice = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": TEXT}}
    fields = {"a": {**TEXT, "default": "x"}, "b": TEXT, "listed": listed, "pod": pod, "choice": choice}
    data = pack(
        {"properties": {"a": TEXT}},
        {"properties": fields, "x-kubernetes-validations": [rule]},
        {"properties": {**fields, "listed": {**listed, "x-kubernetes-validations": [kept]}}},
    )
    named = ["matches", ["name", "self"], ["value", "^[a-z]\\Z"]]
    found = [(*row[:5], *data["trees"][row[5]]) for row in data["rules"]["example.com/v1 Train"]]
    assert [row for row in found if row[0] in ("spec", "spec.listed", "spec.listed[name].name")] == [
        ("spec", 1, 1, 0, 2, read(rule["rule"]), "must have a or b", True, {"self.a": "x"}),
        ("spec.listed", 1, 2, 1, 2, read("size(self) <= 2"), "must have at most 2 items", False, {}),
        ("spec.listed[name].name", 1, 2, 1, 2, named, "must match ^[a-z]$", False, {}),
        ("spec.listed[name].name", 1, 2, 1, 2, read("size(self) >= 1"), "must not be empty", False, {}),
        ("spec.listed[name].name", 1, 2, 1, 2, read("size(self) <= 3"), "must have at most 3 characters", False, {}),
        ("spec.listed", 2, 2, 1, 2, read("self == oldSelf"), "failed rule: self == oldSelf", True, {}),
    ]
    others = {row[0] for row in found} - {"spec", "spec.listed", "spec.listed[name].name"}
    assert others == {"spec.listed[name].at", "spec.choice"}, "rules of pods are Kubernetes' own"
    assert data["unread"] == []


def test_a_rule_without_a_tree_or_a_reason_is_not_packed(pack: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(UnreadableRuleError, match="self"):
        pack({"properties": {}, "x-kubernetes-validations": [{"rule": "self.map(a, a).size() > 1"}]})


def test_kubernetes(tmp_path: Path) -> None:
    part, quantity = "io.k8s.api.core.v1.Part", "io.k8s.apimachinery.pkg.api.resource.Quantity"
    fields = {
        "a": {"type": ["string", "null"]},
        "part": {"$ref": f"#/$defs/{part}"},
        "q": {"$ref": f"#/$defs/{quantity}"},
    }
    for release, more in ((30, {}), (31, {"n": {"type": "integer", "format": "int64"}})):
        folder = tmp_path / f"v1.{release}.0-local"
        folder.mkdir()
        kind = {"properties": fields | more, "required": ["a"]}
        written = {"io.k8s.api.core.v1.Kind": kind, part: {"type": "string"}, quantity: {"oneOf": []}}
        (folder / "_definitions.json").write_text(json.dumps({"$defs": written}))
    data = packfields.kubernetes(tmp_path)
    assert data["releases"] == ["1.30", "1.31"]
    kind = {"a": "string*", "n": [[1, 1, "int64"]], "part": "string", "q": "quantity"}
    assert data["types"] == {"core.v1.Kind": kind}
