"""Which cluster a command reads: options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kubectl_tas.live.cluster import ClusterState


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--context``, ``--kubeconfig``, ``-n`` and ``--cluster-state``: kubectl hands plugins none of its flags."""
    for option in (
        click.option("--cluster-state", metavar="FILE", help="JSON of `kubectl get` instead of a cluster."),
        click.option("-n", "--namespace", metavar="NAME", help="Read what this namespace has, not all of them."),
        click.option("--kubeconfig", metavar="FILE", help="The kubeconfig that kubectl is to use."),
        click.option("--context", metavar="NAME", help="The context of the kubeconfig that kubectl is to use."),
    ):
        command = option(command)
    return command


def read_cluster(options: Mapping[str, str | None]) -> ClusterState:
    """The state of the cluster, or of the file, that the options name. Raises TasError where it cannot be read."""
    from kubectl_tas.live.cluster import from_cluster, from_file
    from kubectl_tas.live.kubectl import Access

    path = options.get("cluster_state")
    if path is not None:
        return from_file(path, options.get("namespace"))
    return from_cluster(Access(options.get("context"), options.get("kubeconfig"), options.get("namespace")))
