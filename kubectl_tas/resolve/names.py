"""How every generated object is named."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count

from kubectl_tas.late import late_pattern
from kubectl_tas.model.labels import TARGET_SEPARATOR

MAX_LABEL = 63
"""Characters in an RFC 1123 label, and in the value of a Kubernetes label."""
MAX_NAME = 253
"""Characters in the name of a Kubernetes object."""
MAX_FILE = 255
"""Characters in the name of a file."""
HASH = 8
"""Characters of a digest."""
SEPARATOR = TARGET_SEPARATOR
SHARED = "shared"
"""The shadow queue's place among the subpools; no subpool may have this name."""
_LABEL = late_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@lru_cache(maxsize=4096)
def is_label(name: str) -> bool:
    """Whether ``name`` is an RFC 1123 label, of any length."""
    return _LABEL.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """Whether ``name`` is an RFC 1123 subdomain, as the names of most objects must be."""
    return len(name) <= MAX_NAME and all(map(is_label, name.split(".")))


def is_service_name(name: str) -> bool:
    """Whether ``name`` is an RFC 1035 label, as the name of a Service must be."""
    return len(name) <= MAX_LABEL and is_label(name) and name[0].isalpha()


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """A workflow's names are the same whatever their case, and '_' is '-', as in OSMO."""
    return name.lower().replace("_", "-")


def digest(text: str) -> str:
    """8 hex digits of the SHA-256 of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:HASH]


def shorten(name: str, limit: int = MAX_LABEL) -> str:
    """``name``, or its beginning and a hash of all of it where it has more than ``limit`` characters."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{digest(name)}"


def fitting(parts: Sequence[str], end: str) -> str:
    """``parts`` and ``end`` with '-' between them, as a label. Where that is too long the longest parts lose their
    ends, so that something of each is left.
    """
    room, kept = MAX_LABEL - len(end) - len(parts), dict[int, str]()
    shortest = sorted(range(len(parts)), key=lambda place: len(parts[place]))
    for left, place in zip(range(len(parts), 0, -1), shortest, strict=True):
        kept[place] = parts[place][: room // left].rstrip("-")
        room -= len(kept[place])
    return "-".join((*(kept[place] for place in sorted(kept)), end))


def as_label(text: str) -> str:
    """``text`` as an RFC 1123 label of 63 characters at the most; with a hash where something had to change."""
    if is_label(text):
        return shorten(text)
    kept = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: MAX_LABEL - 9].strip("-")
    return f"{kept}-{digest(text)}" if kept else f"x-{digest(text)}"


def file(stem: str) -> str:
    """The name of the file of an object, which may have a longer name than a file."""
    return f"{shorten(stem, MAX_FILE - len('.yaml'))}.yaml"


def distinct(wanted: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A name for each pair of an identity, which is unique, and the label that it would like; none is given twice.

    Who is called like the label comes first, then the order counts; all others get a hash of their identity.
    """
    liked, taken, given = {label for _, label in wanted}, set[str](), dict[int, str]()
    salts: dict[tuple[str, str], Iterator[int]] = {}  # an identity that is there twice, which is an error, goes on
    for place in sorted(range(len(wanted)), key=lambda place: wanted[place][0] != wanted[place][1]):
        identity, label = wanted[place]
        if label in taken:
            own = salts.setdefault((identity, label), count())
            hashed = (shorten(f"{label}-{digest(f'{identity}{salt or str()}')}") for salt in own)
            label = next(name for name in hashed if name not in liked and name not in taken)
        taken.add(label)
        given[place] = label
    return tuple(given[place] for place in range(len(wanted)))


def root_queue(prefix: str, namespace: str) -> str:
    """The queue above all pools of a namespace."""
    return f"{prefix}-default-{namespace}"


def pool_queue(prefix: str, namespace: str, pool: str) -> str:
    """The container queue of a pool."""
    return f"{prefix}-pool-{namespace}-{pool}"


def leaf_queue(prefix: str, namespace: str, pool: str, subpool: str) -> str:
    """The queue of a subpool, or with SHARED the shadow queue."""
    return f"{pool_queue(prefix, namespace, pool)}{SEPARATOR}{subpool}"


def pool_topology(prefix: str, namespace: str, pool: str) -> str:
    """The Topology that a pool's own topology_keys become."""
    return f"{pool_queue(prefix, namespace, pool)}-topology"


def pod_group(workflow: str, group: str, content: str) -> str:
    """The PodGroup of a workflow's group; ``content`` is the canonical text of what it consists of."""
    return fitting((workflow, group), digest(content))


def service(pod_group_name: str) -> str:
    """The headless Service of a workflow's group. A Service, other than a PodGroup, begins with a letter."""
    return pod_group_name if pod_group_name[0].isalpha() else shorten(f"x-{pod_group_name}")


def owned_pod_group(name: str, *identity: str) -> str:
    """The PodGroup that is written for workloads: their ``name`` and a hash of ``identity``, which tells it from those
    of other namespaces and clusters. KAI knows a PodGroup by its name alone (0.17, pkg/scheduler/cache/cluster_info/
    cluster_info.go), so one name in two namespaces of a cluster would be one gang.
    """
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: MAX_LABEL - HASH - 1].strip("-")
    return f"{kept or 'x'}-{digest('/'.join(identity))}"


def base_gang(clique_set: str, replica: int) -> str:
    """The PodGang of a replica of a PodCliqueSet, as Grove calls it."""
    return f"{clique_set}-{replica}"


def scaled_gang(clique_set: str, replica: int, scaling_group: str, number: int) -> str:
    """The PodGang of a replica of a scaling group, the ``number``-th one above its minimum, as Grove calls it."""
    return f"{base_gang(clique_set, replica)}-{scaling_group}-{number}"


def group_replica(clique_set: str, replica: int, scaling_group: str, number: int) -> str:
    """The ``number``-th replica of a scaling group of a PodCliqueSet."""
    return f"{base_gang(clique_set, replica)}-{scaling_group}-{number}"


def pod_clique(owner: str, clique: str) -> str:
    """The PodClique of a base gang or of a replica of a scaling group, as Grove calls it."""
    return f"{owner}-{clique}"


def pod(gang: str, workflow: str, group: str, task: str) -> str:
    """The pod, or the Job, of a task of the group whose PodGroup is called ``gang``."""
    name = f"{gang}-{task}"
    return name if len(name) <= MAX_LABEL else fitting((workflow, group, task), digest(name))
