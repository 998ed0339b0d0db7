"""Tests that an API server accepts every manifest unchanged, changes nothing on a second apply, and deletes all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.golden import EXAMPLES, case_input, cases
from tests.support.rendered import Cluster, render_copy
from tests.support.server import PATIENCE, Server

pytestmark = pytest.mark.cluster

SETS: dict[str, Callable[[], Path]] = {
    **{f"golden/{case.name}": lambda case=case: case_input(case) for case in cases("manifests")},
    **{f"examples/{path.name}": lambda path=path: path for path in sorted(EXAMPLES.iterdir()) if path.is_dir()},
}
"""Every repository of which the manifests are tried, by name."""
POLICY = "ValidatingAdmissionPolicyBinding"
POLICY_SECONDS = 3
"""How long an API server may take until a new policy counts."""


@dataclass(frozen=True)
class Manifests:
    """The manifests of one backend, and the cluster that they are for."""

    server: Server
    cluster: Cluster

    @property
    def files(self) -> list[Path]:
        """In the order of application."""
        return [self.cluster.folder / path for path in self.cluster.resources]

    def apply(self, *options: str) -> list[str]:
        """What kubectl says of each object. Policies count for what comes behind queues only after a while."""
        kinds = [str(item["kind"]) for item in self.cluster.objects]
        start = len(kinds) - next(
            (i for i, kind in enumerate(reversed(kinds)) if kind in (POLICY, "Queue")), len(kinds)
        )
        lines: list[str] = []
        for files in filter(None, (self.files[:start], self.files[start:])):
            lines += self.server.must("apply", "--validate=strict", *options, files=files).splitlines()
            if POLICY in kinds:
                time.sleep(POLICY_SECONDS)
        return lines

    def own(self, lines: list[str]) -> list[str]:
        """The lines of objects that the tool makes. Of a workload as its author wrote it, client-side kubectl says
        ``configured`` where the server writes a number as a quantity, or a default into a list of a custom resource.
        """
        return [line for line, path in zip(lines, self.files, strict=True) if path.parent.name != "workloads"]

    def delete(self) -> None:
        """Deletes all objects, the last one first."""
        self.server.must("delete", "--ignore-not-found", f"--timeout={PATIENCE}", files=self.files[::-1])


@pytest.fixture(scope="module", params=SETS)
def clusters(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Cluster, ...]:
    return render_copy(SETS[request.param](), tmp_path_factory.mktemp("set") / "repository").clusters


@pytest.mark.parametrize("options", [("--server-side",), ()], ids=["server-side", "client-side"])
def test_applied_twice_and_deleted(
    clusters: tuple[Cluster, ...], server: Server, options: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    # KubeRay writes a default from 1.7 on into the lists of the company's, which older releases refuse if it is written
    is_example = "examples/" in request.node.name and "company" not in request.node.name
    for cluster in clusters:
        server.have_kai(cluster.version or "0.17")
        if any(item["apiVersion"].startswith("grove.io/") for item in cluster.objects):
            server.have_grove(cluster.grove)
        if lacking := server.lacks(cluster.objects):
            pytest.skip(f"the cluster lacks {', '.join(sorted(lacking))}; name a folder with CRDs in $OPERATOR_CRDS")
        server.have_namespaces(cluster.objects)
        manifests = Manifests(server, cluster)
        try:
            manifests.apply(*options)
            again = manifests.apply(*options)
            assert len(again) == len(manifests.files)
            if options:
                changed = server.kubectl("diff", *options, files=manifests.files)
                assert (changed.returncode, changed.stdout) == (0, ""), changed.stderr
            else:
                own = again if is_example else manifests.own(again)
                assert [line for line in own if not line.endswith(" unchanged")] == []
        finally:
            manifests.delete()
        assert server.must("get", "--ignore-not-found", "--output=name", files=manifests.files) == ""
