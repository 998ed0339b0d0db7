"""What is previewed could stand in a cluster as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.support.crds import server
from tests.support.golden import ROOT, case_input, cases
from tests.support.rendered import PREVIEW, load, render_copy, text
from tests.support.webhooks import refusals


@pytest.mark.parametrize("case", cases("manifests"), ids=lambda case: case.name)
def test_previews_are_valid(case: Path, tmp_path: Path) -> None:
    rendered = render_copy(case_input(case), tmp_path / "repository")
    for cluster in rendered.clusters:
        previews = [load(path) for path in sorted((cluster.folder / PREVIEW).glob("*.yaml"))]
        for item in previews:
            schema = json.loads(text(ROOT / f"schemas/{item['kind'].lower()}.json"))
            assert [error.message for error in Draft202012Validator(schema).iter_errors(item)] == []
        pod_groups = [item for item in previews if item["kind"] == "PodGroup"]
        if cluster.version is not None:
            assert [server(cluster.version).violations(item) for item in pod_groups] == [[] for _ in pod_groups]
            assert refusals([*cluster.objects, *pod_groups], cluster.version) == []
