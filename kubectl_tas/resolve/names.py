"""Generates the names of all objects that `render` writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count

from kubectl_tas.base.late import late_pattern
from kubectl_tas.model.labels import MAX_LABEL, MAX_NAME, TARGET_SEPARATOR

MAX_FILE = 255
"""The most characters of a file name."""
HASH = 8
"""The number of characters of a digest."""
SEPARATOR = TARGET_SEPARATOR
SHARED = "shared"
"""The name of the shared queue in place of a subpool. No subpool may have this name."""
_LABEL = late_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@lru_cache(maxsize=4096)
def is_label(name: str) -> bool:
    """Whether ``name`` is an RFC 1123 label of any length."""
    return _LABEL.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """Whether ``name`` is an RFC 1123 subdomain, which the names of most objects must be."""
    return len(name) <= MAX_NAME and all(map(is_label, name.split(".")))


def is_service_name(name: str) -> bool:
    """Whether ``name`` is an RFC 1035 label, which the name of a Service must be."""
    return len(name) <= MAX_LABEL and is_label(name) and name[0].isalpha()


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Returns the name in lower case with '-' for '_'. As in OSMO, names of a workflow are equal if this form is."""
    return name.lower().replace("_", "-")


def digest(text: str) -> str:
    """Returns the first 8 hex digits of the SHA-256 of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:HASH]


def shorten(name: str, limit: int = MAX_LABEL) -> str:
    """Returns ``name``. If it has more than ``limit`` characters, returns its beginning with a hash of all of it."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{digest(name)}"


def label_of_parts(parts: Sequence[str], end: str) -> str:
    """Joins ``parts`` and ``end`` with '-' to a label. If the label is too long, cuts the longest parts, so that some
    of each part is left.
    """
    room, cut_parts = MAX_LABEL - len(end) - len(parts), dict[int, str]()
    shortest = sorted(range(len(parts)), key=lambda place: len(parts[place]))
    for remaining_parts, index in zip(range(len(parts), 0, -1), shortest, strict=True):
        cut_parts[index] = parts[index][: room // remaining_parts].rstrip("-")
        room -= len(cut_parts[index])
    return "-".join((*(cut_parts[index] for index in sorted(cut_parts)), end))


def as_label(text: str) -> str:
    """Returns ``text`` as an RFC 1123 label of at most 63 characters, with a hash if the text had to change."""
    if is_label(text):
        return shorten(text)
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: MAX_LABEL - 9].strip("-")
    return f"{cleaned}-{digest(text)}" if cleaned else f"x-{digest(text)}"


def file(stem: str) -> str:
    """Returns the file name for an object, whose own name may be longer than a file name."""
    return f"{shorten(stem, MAX_FILE - len('.yaml'))}.yaml"


def distinct(preferred_labels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Returns a different name for each pair of a unique identity and the label that it prefers.

    An identity that equals its label gets it, else the first in order. All others get a hash of their identity.
    """
    preferred, taken, label_of_index = {label for _, label in preferred_labels}, set[str](), dict[int, str]()
    salts: dict[tuple[str, str], Iterator[int]] = {}  # an identity that is there twice, which is an error, goes on
    for index in sorted(range(len(preferred_labels)), key=lambda x: preferred_labels[x][0] != preferred_labels[x][1]):
        identity, label = preferred_labels[index]
        if label in taken:
            salts_of_identity = salts.setdefault((identity, label), count())
            hashed = (shorten(f"{label}-{digest(f'{identity}{salt or str()}')}") for salt in salts_of_identity)
            label = next(name for name in hashed if name not in preferred and name not in taken)
        taken.add(label)
        label_of_index[index] = label
    return tuple(label_of_index[index] for index in range(len(preferred_labels)))


def root_queue(prefix: str, namespace: str) -> str:
    """Returns the name of the queue above all pools of a namespace."""
    return f"{prefix}-default-{namespace}"


def pool_queue(prefix: str, namespace: str, pool: str) -> str:
    """Returns the name of a pool's container queue."""
    return f"{prefix}-pool-{namespace}-{pool}"


def leaf_queue(prefix: str, namespace: str, pool: str, subpool: str) -> str:
    """Returns the name of a subpool's queue, or with SHARED of the shared queue."""
    return f"{pool_queue(prefix, namespace, pool)}{SEPARATOR}{subpool}"


def pool_topology(prefix: str, namespace: str, pool: str) -> str:
    """Returns the name of the Topology for a pool's own topology_keys."""
    return f"{pool_queue(prefix, namespace, pool)}-topology"


def pod_group(workflow: str, group: str, content: str) -> str:
    """Returns the name of the PodGroup for a workflow's group. ``content`` is the canonical text of the group."""
    return label_of_parts((workflow, group), digest(content))


def service(pod_group_name: str) -> str:
    """Returns the name of the headless Service for a workflow's group. Unlike a PodGroup's, it starts with a letter."""
    return pod_group_name if pod_group_name[0].isalpha() else shorten(f"x-{pod_group_name}")


def owned_pod_group(name: str, *identity: str) -> str:
    """Returns the name of the PodGroup that `render` writes for workloads: ``name`` and a hash of ``identity``. The
    hash differs for other namespaces and clusters. KAI identifies a PodGroup by its name alone (0.17,
    pkg/scheduler/cache/cluster_info/cluster_info.go), so one name in two namespaces would form one gang.
    """
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: MAX_LABEL - HASH - 1].strip("-")
    return f"{cleaned or 'x'}-{digest('/'.join(identity))}"


def base_gang(clique_set: str, replica: int) -> str:
    """Returns Grove's name for the base PodGang of a replica of a PodCliqueSet."""
    return f"{clique_set}-{replica}"


def scaled_gang(clique_set: str, replica: int, scaling_group: str, number: int) -> str:
    """Returns Grove's name for the ``number``-th replica of a scaling group, and for the PodGang of the ``number``-th
    replica above its minimum.
    """
    return f"{base_gang(clique_set, replica)}-{scaling_group}-{number}"


def pod_clique(owner: str, clique: str) -> str:
    """Returns Grove's name for a PodClique of a base gang or of a replica of a scaling group."""
    return f"{owner}-{clique}"


def pod(gang: str, workflow: str, group: str, task: str) -> str:
    """Returns the name of the pod, or the Job, of a task in the group whose PodGroup is ``gang``."""
    name = f"{gang}-{task}"
    return name if len(name) <= MAX_LABEL else label_of_parts((workflow, group, task), digest(name))
