"""Tests that the template of an emitted kind writes all fields of the model, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.base.yaml import LargeNumber, scalar
from kubectl_tas.emit import manifest_text
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.artifact import Manifest as AnyManifest
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.pod import Job
from tests.support.documents import documents, of_schema
from tests.support.pyyaml import safe_load
from tools.schemas import json_schema

KINDS = {model.__name__: model for model in AnyManifest.__args__ if model is not PassThrough}


BINDING = {"kind": "ClusterTopologyBinding", "status": None}
"""What is written of a cluster topology is always a binding, and never what a cluster reports of it."""


def said(value: Any) -> Any:
    """Data without what says nothing: None, and empty lists and mappings."""
    if isinstance(value, dict):
        kept = {key: said(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, [], {})}
    return [said(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_all_is_written(kind: str, data: st.DataObject) -> None:
    # The schema that is called Job is for the Jobs that people write.
    document = data.draw(of_schema(json_schema(Job)) if kind == "Job" else documents(kind.lower()))
    manifest = KINDS[kind].model_validate(document | BINDING if kind == "ClusterTopology" else document)
    written = manifest_text.object_text(Artifact("prod", Phase.POD, "folder", "file.yaml", manifest, "source.yaml"))
    assert said(safe_load(written)) == said(manifest.model_dump(mode="json"))


def test_equal_values_of_several_types_are_written_apart() -> None:
    values = (1, True, 1.0, "1", "true", LargeNumber("1"))
    written = [manifest_text.entries({"of": value}, "") for value in (*values, *values)]
    assert written == [f"\nof: {scalar(value)}" for value in (*values, *values)]
    assert len(set(written)) == 5
