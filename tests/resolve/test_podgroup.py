"""The cluster that a PodGroup written by hand is for."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import kubectl_tas, pool, write

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a}, {name: b}]}\n"


def by_hand(queue: str) -> str:
    """A PodGroup for a queue."""
    return f"""\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: by-hand}}
spec: {{queue: {queue}, minMember: 1}}
"""


def test_the_queue_of_a_pool_whose_name_begins_with_anothers(repository: Path) -> None:
    pools = {
        f"pools/{name}.yaml": pool(name, spec=f"  backend: {on}\n") for name, on in (("team", "a"), ("team-b", "b"))
    }
    write(repository, {"tas.yaml": CONFIG, **pools, "workflows/w.yaml": by_hand("osmo-pool-default-team-b--shared")})
    result = kubectl_tas("render", "-C", repository)
    assert result.code == 0, result.err
    assert [path.parts[-3] for path in (repository / "manifests").rglob("podgroup-*.yaml")] == ["b"]
