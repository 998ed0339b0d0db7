"""What ``validate`` passes, ``render`` renders: repositories drawn from the JSON Schemas of their documents."""

from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings

from kubectl_tas.cli.session import check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import text
from kubectl_tas.emit.plan import layout
from kubectl_tas.load.source import FolderSource, OverlaySource
from kubectl_tas.report import text as report
from tests.support.documents import repositories


def test_what_schemas_accept(repository: Path) -> None:
    """No repository of such documents gives a traceback, and those without errors render to what can be read."""
    rendered = []

    @settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(files=repositories())
    def check(files: dict[str, bytes]) -> None:
        session = check_source(repository, OverlaySource(FolderSource(repository), files))
        assert report.render(session.diagnostics, session.files)
        if session.failed():
            return
        artifacts = compile_fleet(session.fleet)
        written = layout(artifacts, session.fleet.config.output, session.fleet.settings)
        for content in written.values():
            assert isinstance(yaml.load(content, yaml.CSafeLoader), dict)
        stream = text.stream(artifacts)
        assert len(list(yaml.load_all(stream, yaml.CSafeLoader))) == stream.count("\n---\n") + 1
        rendered.append(files)

    check()
    assert len(rendered) >= 100
