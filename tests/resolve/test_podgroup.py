"""Tests which cluster a handwritten PodGroup belongs to."""

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


def written_for(root: Path) -> list[str]:
    """The backends that PodGroups are rendered for."""
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    return [path.parts[-3] for path in (root / "manifests").rglob("podgroup-*.yaml")]


def test_the_queue_of_a_pool_whose_name_begins_with_anothers(repository: Path) -> None:
    pools = {
        f"pools/{name}.yaml": pool(name, spec=f"  backend: {on}\n") for name, on in (("team", "a"), ("team-b", "b"))
    }
    write(repository, {"tas.yaml": CONFIG, **pools, "workflows/w.yaml": by_hand("osmo-pool-default-team-b--shared")})
    assert written_for(repository) == ["b"]


def test_its_queue_says_more_than_its_namespace(repository: Path) -> None:
    named = CONFIG.replace("name: a", "name: a, namespace: na").replace("name: b", "name: b, namespace: nb")
    elsewhere = by_hand("osmo-pool-nb-team--shared").replace("name: by-hand", "name: by-hand, namespace: na")
    files = {"tas.yaml": named, "pools/team.yaml": pool(spec="  backend: b\n"), "workflows/w.yaml": elsewhere}
    assert written_for(write(repository, files)) == ["b"]
