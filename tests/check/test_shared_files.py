"""What is said of the Config, of pools and of topologies, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli import pool
from tests.support.cli import subpool as subpool_of
from tests.support.judged import told

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n"
TEAM = {"pools/team.yaml": pool()}


def config(*fields: str, **pools: str) -> dict[str, str]:
    """A Config with these fields, from line 4 on, and pools."""
    own = "".join(f"  {field}\n" for field in fields)
    return {"tas.yaml": f"{CONFIG}{own}", **TEAM, **{f"pools/{name}.yaml": text for name, text in pools.items()}}


def backend(kai: str, grove: str) -> dict[str, str]:
    return config(f'backends: [{{name: prod, scheduler: {{version: "{kai}"}}, grove: {{version: {grove}}}}}]')


def prefixed(prefix: str) -> dict[str, str]:
    """A Config in which every queue keeps its name."""
    kept = "  queue: {name: q}\n  sharedQueue: {name: s}\n"
    return config(f"queuePrefix: {prefix}", "backends: [{name: prod, rootQueue: {name: root}}]", team=pool(spec=kept))


def operator(fields: str) -> dict[str, str]:
    head = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"
    return {**TEAM, "topologies/o.yaml": f"{head}leaderElection: {{{fields}}}\n"}


def level(label: str) -> dict[str, str]:
    return {"pools/team.yaml": pool(spec=f"  topology_keys: [{{key: z, label: {label}}}]\n")}


def cluster_level(label: str) -> dict[str, str]:
    head = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: t}\n"
    levels = f"spec: {{levels: [{{domain: zone, key: {label}}}]}}\n"
    return {"pools/team.yaml": pool(spec="  topology: t\n"), "topologies/t.yaml": f"{head}{levels}"}


def submitters(group: str) -> dict[str, str]:
    return config("guard: warn", team=pool(spec=f"  access: {{submit: ['{group}']}}\n"))


def below(release: str) -> dict[str, str]:
    """A pool below another one."""
    return config(
        f'backends: [{{name: prod, scheduler: {{version: "{release}"}}}}]',
        b=pool("b", guarantee=1, spec="  parent: team\n"),
    )


def quotas(**of: int) -> dict[str, str]:
    """Subpools of a pool of 8 GPUs."""
    parts = {f"subpools/{name}.yaml": subpool_of(name, quota) for name, quota in of.items()}
    return {"pools/team.yaml": pool(guarantee=8), **parts}


def subpool(name: str) -> dict[str, str]:
    head = f"apiVersion: tas/v1alpha1\nkind: Subpool\nmetadata: {{name: {name}}}\n"
    return {**TEAM, "subpools/s.yaml": f"{head}spec: {{parent: team, quota: 8, state: ACTIVE}}\n"}


ELECTION = (
    "enabled: true, leaseDuration: 15s, renewDeadline: 10s, resourceLock: leases, resourceName: g, retryPeriod: 2s"
)
SILENT = {
    "a Grove that writes PodGroups beside a KAI that knows": backend("0.17", "0.1.0-alpha.12"),
    "a Grove that writes none beside an older KAI": backend("0.10", "0.1.0-alpha.11"),
    "who leads in Grove": operator(f"{ELECTION}, resourceNamespace: grove"),
    "a prefix that just fits": prefixed("a" * 63),
    "a label below that of an old Topograph": level("a.network.topology.nvidia.com/block"),
    "the host of something else": level("node.kubernetes.io/node"),
    "service accounts of a namespace": submitters("system:serviceaccounts:ml"),
    "a pool below another": below("0.17"),
}
ROWS = {
    "a Grove that writes PodGroups beside a KAI that does not": backend("0.10", "0.1.0-alpha.12"),
    "a Grove that writes PodGroups beside an unknown KAI": backend("0.1", "0.1.0-alpha.12"),
    "who leads in Grove, misspelled": operator("renewDeadLine: 10s"),
    "who leads in Grove, with a field of another part": operator("burst: 1"),
    "who leads in Grove, with an unknown field": operator("foo: 1"),
    "a long prefix where queues keep their names": prefixed("a" * 64),
    "a label of an old Topograph": level("network.topology.nvidia.com/block"),
    "the host of Kubernetes, nearly": level("kubernetes.io/node"),
    "a domain in upper case": cluster_level("Example.com/zone"),
    "a domain with an underscore": cluster_level("Ex_ample.com/zone"),
    "a service account": submitters("system:serviceaccount:ml:bot"),
    "no service account": submitters("system:serviceaccount:"),
    "a pool below another, in an older KAI": below("0.6"),
    "a pool below another, in an unknown KAI": below("0.1"),
    "quotas of which one can be lowered": quotas(a=4, b=6),
    "quotas of which none alone can be lowered": quotas(a=4, b=6, c=9),
    "a pool in upper case with two dashes": {"pools/t.yaml": pool("A--b")},
    "a pool with dashes at its end": {"pools/t.yaml": pool("a--")},
    "a pool with two dashes": {"pools/t.yaml": pool("a--b")},
    "a subpool with the name of its pool": subpool("team--a"),
    "a subpool with the name of its pool and no other": subpool("team--A"),
}


@pytest.mark.parametrize("name", ROWS)
def test_shared_files(name: str, snapshot: Any) -> None:
    assert "\n".join(told(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_shared_files_silent(name: str) -> None:
    assert told(SILENT[name]) == []
