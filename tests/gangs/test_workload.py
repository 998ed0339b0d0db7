"""Tests the combined minimum of a gang of several workloads."""

from __future__ import annotations

import re
from pathlib import Path

from kubectl_tas.gangs.workload_gang import gang_of
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import resolve
from tests.support.workloads import declare, deployment, pytorch_job

GANG = {"kubectl-tas/gang": "g1"}


def test_a_shared_gang_needs_what_its_members_need(repository: Path) -> None:
    declare(repository, pytorch_job("elastic", GANG, workers=4, gpus=2, minimum=3), deployment("reward", GANG))
    fleet = resolve(load_repository(FolderSource(repository)).repository)
    (gang,) = {gang_of(fleet, item) for item in fleet.workloads}
    assert re.fullmatch(r"g1-[0-9a-f]{8}", gang.name)
    assert (gang.pods, gang.minimum, gang.gpus) == (7, 5, 12)
