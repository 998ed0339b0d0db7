"""Tests that ``render`` accepts what ``validate`` accepts, on repositories drawn from the JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.cli.session import check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import manifest_text
from kubectl_tas.emit.file_plan import layout
from kubectl_tas.kinds import LISTED
from kubectl_tas.load.source import FolderSource, OverlaySource
from kubectl_tas.report import text as report
from tests.support.cli import pool
from tests.support.documents import documents, repositories
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.workloads import LEVELS, accepted, named


@pytest.mark.sweep
def test_what_schemas_accept(repository: Path) -> None:
    """No repository of such documents gives a traceback, and those without errors render to what can be read."""
    rendered = []

    @settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(files=repositories())
    def check(files: dict[str, bytes]) -> None:
        session = check_source(repository, OverlaySource(FolderSource(repository), files))
        assert report.render(session.diagnostics, session.files)
        if session.failed():
            return
        artifacts = compile_fleet(session.fleet)
        written = layout(artifacts, session.fleet.config, session.fleet.settings_source)
        for content in written.values():
            assert isinstance(safe_load(content), dict)
        stream = manifest_text.stream(artifacts)
        assert len(list(safe_load_all(stream))) == stream.count("\n---\n") + 1
        rendered.append(files)

    check()
    assert len(rendered) >= 30


KINDS = (
    *((listed.page.recognition.schema or listed.kind).lower() for listed in LISTED),
    "podcliqueset",
    "operatorconfiguration",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_schemas_of_other_kinds_accept(repository: Path, kind: str) -> None:
    """As they are drawn, and with what an API server demands beside."""
    drawn = documents(kind)

    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(document=drawn, is_completed=st.booleans())
    def check(document: dict[str, Any], *, is_completed: bool) -> None:
        if "metadata" in document:
            metadata = {**document["metadata"], "name": "drawn", "namespace": "default"}
            document = {**document, "metadata": {**metadata, "labels": {"kubectl-tas/pool": "team"}}}
        if is_completed and "spec" in document:
            document = {**document, "spec": named(accepted(document["kind"], document["spec"]))}
        files = {"pools/p.yaml": pool(spec=LEVELS).encode(), "workflows/w.json": json.dumps(document).encode()}
        session = check_source(repository, OverlaySource(FolderSource(repository), files))
        assert report.render(session.diagnostics, session.files)
        if not session.failed():
            artifacts = compile_fleet(session.fleet)
            assert layout(artifacts, session.fleet.config, session.fleet.settings_source)

    check()
