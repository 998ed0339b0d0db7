"""Tests that an API server refuses changes of the fields in the table of fixed fields, and only these."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kubectl_tas.base.yaml import block
from kubectl_tas.kinds.page import Effect
from kubectl_tas.model.kindlists import group_of
from tests.compare.test_immutable import CHANGES, OBJECTS, changed
from tests.support.server import Server

pytestmark = pytest.mark.cluster

OF_THE_SERVER = [item for item in CHANGES if group_of(OBJECTS[item[0]]["apiVersion"]) in ("", "batch", "apps")]


@pytest.mark.parametrize(("name", "path", "value", "effect"), OF_THE_SERVER)
def test_an_api_server_refuses_what_the_table_says(
    server: Server, tmp_path: Path, name: str, path: tuple[str | int, ...], value: Any, effect: Effect | None
) -> None:
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    metadata = {"name": f"a-{uuid4().hex}", "namespace": "default"}  # a volume stays until something lets it go
    before.write_text(block({**OBJECTS[name], "metadata": metadata}))
    after.write_text(block({**(new := changed(name, path, value)), "metadata": {**new["metadata"], **metadata}}))
    server.must("apply", files=[before])
    try:
        assert (server.kubectl("apply", files=[after]).returncode != 0) == (effect is Effect.REFUSED)
    finally:
        server.kubectl("delete", "--ignore-not-found", "--wait=false", "--now", files=[before])
