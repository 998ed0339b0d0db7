"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kubectl_tas.live.cluster import Cluster

F = TypeVar("F", bound=Callable[..., Any])


def output_option(*formats: str) -> Callable[[F], F]:
    """Adds ``--output``; the first format is the default."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="How it is printed.")


def repository_option(command: F) -> F:
    """Adds ``-C`` to a command, with the group's own as its default."""
    return click.option(
        "-C", "directory", metavar="DIR", help="The repository; by default the nearest parent with tas.yaml."
    )(command)


def group_directory() -> str | None:
    """The ``-C`` that stands before the command."""
    context = click.get_current_context(silent=True)
    return context.find_root().params.get("directory") if context else None


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what all edits have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
        click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
        repository_option,
    ):
        command = option(command)
    return command


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


def named_cluster(options: Mapping[str, str | None], *, live: bool) -> Cluster | None:
    """The cluster that is meant; None where neither ``live`` nor an option of ``cluster_options`` asks for one."""
    return given_cluster(options) if live or any(options.values()) else None


def given_cluster(options: Mapping[str, str | None]) -> Cluster:
    """The cluster that ``cluster_options`` name, by default that of kubectl."""
    from kubectl_tas.live.cluster import Cluster  # most runs of most commands ask no cluster
    from kubectl_tas.live.kubectl import Access

    access = Access(options.get("context"), options.get("kubeconfig"), options.get("namespace"))
    return Cluster(access, options.get("cluster_state"))
