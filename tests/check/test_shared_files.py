"""What is said of the Config, of pools and of topologies, word by word."""

from __future__ import annotations

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
ROWS = {
    "a Grove that writes PodGroups beside a KAI that knows": (backend("0.17", "0.1.0-alpha.12"), []),
    "a Grove that writes PodGroups beside a KAI that does not": (
        backend("0.10", "0.1.0-alpha.12"),
        [
            "tas.yaml:4:74 version-unsupported: Grove 0.1.0-alpha.12, which writes the PodGroups of "
            "PodCliqueSets itself, needs KAI 0.15 or later; backend prod runs 0.10 (Update KAI there to 0.15 or "
            "later, or use a Grove that leaves them to KAI.)"
        ],
    ),
    "a Grove that writes PodGroups beside an unknown KAI": (
        backend("0.1", "0.1.0-alpha.12"),
        [
            "tas.yaml:4:48 version-unknown: KAI 0.1 is not in the version table, which has 0.2 to 0.17 (Name the "
            "release that runs there.)"
        ],
    ),
    "a Grove that writes none beside an older KAI": (backend("0.10", "0.1.0-alpha.11"), []),
    "who leads in Grove": (operator(f"{ELECTION}, resourceNamespace: grove"), []),
    "who leads in Grove, misspelled": (
        operator("renewDeadLine: 10s"),
        [
            'topologies/o.yaml:3:18 set-field: Grove has no field "renewDeadLine" in leaderElection of an '
            'OperatorConfiguration, and drops it (Did you mean "renewDeadline"?)'
        ],
    ),
    "who leads in Grove, with a field of another part": (
        operator("burst: 1"),
        [
            'topologies/o.yaml:3:18 set-field: Grove has no field "burst" in leaderElection of an '
            "OperatorConfiguration, and drops it (Move it to where it belongs.)"
        ],
    ),
    "who leads in Grove, with an unknown field": (
        operator("foo: 1"),
        [
            'topologies/o.yaml:3:18 set-field: Grove has no field "foo" in leaderElection of an '
            "OperatorConfiguration, and drops it (Remove it, or waive the rule.)"
        ],
    ),
    "a long prefix where queues keep their names": (
        prefixed("a" * 64),
        [
            "tas.yaml:4:16 name-invalid: the queue prefix has 64 characters, more than the 63 of a Kubernetes "
            "name (Shorten it.)"
        ],
    ),
    "a prefix that just fits": (prefixed("a" * 63), []),
    "a label of an old Topograph": (
        level("network.topology.nvidia.com/block"),
        [
            "pools/team.yaml:9:35 level-label-unknown: Topograph sets the node label "
            "network.topology.nvidia.com/block before its release 1.0; since then it sets "
            "fabric.topograph.run/tier-0 (Write fabric.topograph.run/tier-0, or waive this where an older "
            "Topograph runs.)"
        ],
    ),
    "a label below that of an old Topograph": (level("a.network.topology.nvidia.com/block"), []),
    "the host of Kubernetes, nearly": (
        level("kubernetes.io/node"),
        [
            'pools/team.yaml:9:35 level-label-unknown: nothing sets the node label "kubernetes.io/node", so KAI '
            'would find no node for this topology (Did you mean "kubernetes.io/hostname"?)'
        ],
    ),
    "the host of something else": (level("node.kubernetes.io/node"), []),
    "a domain in upper case": (
        cluster_level("Example.com/zone"),
        [
            'topologies/t.yaml:4:37 level-label-invalid: KAI refuses the node label "Example.com/zone": the part '
            "before the '/' must be a DNS name in lower case (Write example.com/zone; no node can carry the "
            "other.)"
        ],
    ),
    "a domain with an underscore": (
        cluster_level("Ex_ample.com/zone"),
        [
            'topologies/t.yaml:4:37 level-label-invalid: KAI refuses the node label "Ex_ample.com/zone": the '
            "part before the '/' must be a DNS name in lower case (Write a label that nodes can carry.)"
        ],
    ),
    "a service account": (
        submitters("system:serviceaccount:ml:bot"),
        [
            'pools/team.yaml:9:21 access-nobody: "system:serviceaccount:ml:bot" is a user, not a group (Name the '
            "group system:serviceaccounts:ml.)"
        ],
    ),
    "no service account": (
        submitters("system:serviceaccount:"),
        [
            'pools/team.yaml:9:21 access-nobody: "system:serviceaccount:" is a user, not a group (Name the group '
            "system:serviceaccounts.)"
        ],
    ),
    "service accounts of a namespace": (submitters("system:serviceaccounts:ml"), []),
    "a pool below another": (below("0.17"), []),
    "a pool below another, in an older KAI": (
        below("0.6"),
        [
            "pools/b.yaml:9:11 version-unsupported: a pool with a parent needs KAI 0.13 or later; backend prod "
            "runs 0.6 (Update KAI there to 0.13 or later, or leave it out.)"
        ],
    ),
    "a pool below another, in an unknown KAI": (
        below("0.1"),
        [
            "tas.yaml:4:48 version-unknown: KAI 0.1 is not in the version table, which has 0.2 to 0.17 (Name the "
            "release that runs there.)"
        ],
    ),
    "quotas of which one can be lowered": (
        quotas(a=4, b=6),
        [
            "subpools/b.yaml:7:10 quota-exceeds-pool: the subpools of pool team add up to 10 GPUs, but the pool "
            "is guaranteed 8; b has 6 (Lower this quota to 4 or less, or raise the guarantee of pool team to 10.)"
        ],
    ),
    "quotas of which none alone can be lowered": (
        quotas(a=4, b=6, c=9),
        [
            "subpools/b.yaml:7:10 quota-exceeds-pool: the subpools of pool team add up to 19 GPUs, but the pool "
            "is guaranteed 8; b has 6 (Raise the guarantee of pool team to 19, or lower quotas.)"
        ],
    ),
    "a pool in upper case with two dashes": (
        {"pools/t.yaml": pool("A--b")},
        [
            'pools/t.yaml:4:9 name-delimiter: the pool name "A--b" contains "--", which separates a pool from '
            "its subpool (Use a single '-'.)"
        ],
    ),
    "a pool with dashes at its end": (
        {"pools/t.yaml": pool("a--")},
        [
            "pools/t.yaml:4:9 name-invalid: the pool name \"a--\" must be lower-case letters, digits and '-', a "
            "letter or digit first and last (For example: a.)"
        ],
    ),
    "a pool with two dashes": (
        {"pools/t.yaml": pool("a--b")},
        [
            'pools/t.yaml:4:9 name-delimiter: the pool name "a--b" contains "--", which separates a pool from '
            "its subpool (Use a single '-'.)"
        ],
    ),
    "a subpool with the name of its pool": (
        subpool("team--a"),
        [
            'subpools/s.yaml:3:18 name-delimiter: the subpool name "team--a" contains the name of its pool, '
            "which spec.parent says (Write a.)"
        ],
    ),
    "a subpool with the name of its pool and no other": (
        subpool("team--A"),
        [
            'subpools/s.yaml:3:18 name-delimiter: the subpool name "team--A" contains "--", which separates a '
            "pool from its subpool (Use a single '-'.)"
        ],
    ),
}


@pytest.mark.parametrize(("files", "expected"), ROWS.values(), ids=ROWS)
def test_shared_files(files: dict[str, str], expected: list[str]) -> None:
    assert told(files) == expected
