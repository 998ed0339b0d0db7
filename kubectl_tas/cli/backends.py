"""Selects the backends and pools for a command, and the clusters that the command asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.options import BACKEND, FILE, F, kubectl_options, together
from kubectl_tas.words import nothing_called

if TYPE_CHECKING:
    from kubectl_tas.live.live_cluster import Clusters
    from kubectl_tas.resolve.clusters import FleetBackend
    from kubectl_tas.resolve.fleet import Fleet
    from kubectl_tas.resolve.pools import Target

_STDIN = f"{__name__}.stdin"
"""The key for the content of standard input, in the data that all contexts of a run share."""


def backend_option(help_: str) -> Callable[[F], F]:
    """Adds ``--backend``, which names one of several clusters."""
    return click.option("--backend", metavar="NAME", type=BACKEND, help=help_)


def backend_names(fleet: Fleet) -> list[str]:
    """Returns the names of a repository's clusters."""
    return [backend.name for backend in fleet.backends]


def chosen_backends(fleet: Fleet, name: str | None) -> tuple[FleetBackend, ...]:
    """Returns the backend of that name, or all for None. Raises a usage error if the name is unknown."""
    found = tuple(backend for backend in fleet.backends if name in (None, backend.name))
    if not found and name is not None:
        raise click.UsageError(nothing_called("backend", name, backend_names(fleet)))
    return found


def narrowed(fleet: Fleet, name: str | None) -> Fleet:
    """Returns the part of the fleet for the backend of that name, or all for None. Raises a usage error if unknown."""
    chosen_backends(fleet, name)
    return fleet if name is None else fleet.of_backend(name)


def target_of(fleet: Fleet, name: str) -> Target:
    """Returns the pool or subpool of that name. Raises a usage error if the name is unknown."""
    found = fleet.target(name)
    if found is None:
        raise click.UsageError(nothing_called("pool", name, fleet.target_names()))
    return found


cluster_options = together(
    click.option(
        "--cluster-state",
        metavar="[BACKEND=]FILE",
        type=FILE,
        multiple=True,
        help="Read this file of `kubectl tas cluster state`, not a cluster; - is standard input. Once per backend.",
    ),
    click.option("-n", "--namespace", metavar="NAME", help="Read only this namespace."),
    kubectl_options("The context for kubectl, instead of the backend's."),
    backend_option("Ask the cluster of this backend."),
)
"""The options that select the cluster to ask, or a file instead of a cluster."""


def named_clusters(fleet: Fleet, options: Mapping[str, Any], *, live: bool) -> Clusters | None:
    """Returns the clusters to ask; None if neither ``live`` nor an option of ``cluster_options`` asks for one."""
    asks = any(value for name, value in options.items() if name not in ("backend", "namespace"))
    chosen_backends(fleet, options["backend"])
    if options["namespace"] and not (live or asks):
        raise click.UsageError(
            "-n limits what is read of a cluster, but no cluster is read; add --live, or name the cluster"
        )
    return given_clusters(fleet, options, live=live) if live or asks else None


def given_clusters(fleet: Fleet, options: Mapping[str, Any], *, live: bool = False) -> Clusters:
    """Returns the clusters that ``cluster_options`` name, by default those of all backends, each by its context.

    A file replaces the cluster of its backend. If any file is given, the clusters without a file are asked only with
    ``live``.
    """
    from kubectl_tas.cli.terminal import waiting
    from kubectl_tas.diagnostics import TasError
    from kubectl_tas.live.kubectl import Access
    from kubectl_tas.live.live_cluster import Cluster, Clusters  # most runs of most commands ask no cluster

    meant = chosen_backends(fleet, options["backend"])
    if options["context"] and len(meant) > 1:
        raise click.UsageError(f"--context names one cluster; name its backend too: {_choice(meant)}")
    files = _files(meant, options["cluster_state"])
    known, unknown = {}, {}
    for backend in meant:
        context = options["context"] or backend.spec.context
        access = Access(context, options["kubeconfig"], options["namespace"], waiting)
        if backend.name in files:
            known[backend.name] = Cluster(access, files[backend.name])
        elif files and not live:
            continue
        elif context is None and len(fleet.backends) > 1:
            message = f"the backend {backend.name} has no context that names its cluster"
            hint = f"Add `context:` to it in {fleet.settings}, or pass --backend {backend.name} --context NAME."
            unknown[backend.name] = TasError(message, hint=hint)
        else:
            known[backend.name] = Cluster(access)
    return Clusters(known, unknown)


def _files(backends: Sequence[FleetBackend], given: Sequence[str]) -> dict[str, str]:
    """Returns the file of each backend. Raises a usage error if the backend of a file is unclear."""
    files: dict[str, str] = {}
    for written in given:
        name, separator, file = written.partition("=")
        if separator and name in [backend.name for backend in backends]:
            pass
        elif len(backends) == 1:
            name, file = backends[0].name, written
        else:
            raise click.UsageError(
                f"--cluster-state {written}: of which cluster? Write BACKEND=FILE; {_choice(backends)}"
            )
        if name in files:
            raise click.UsageError(f"--cluster-state is given twice for the backend {name}")
        files[name] = state_file(file)
    return files


def state_file(file: str) -> str:
    """Returns a file for ``--cluster-state``; - is standard input, read once per command. Raises TasError."""
    if file != "-":
        return file
    from kubectl_tas.cli.session import read_stdin
    from kubectl_tas.live.kubectl import MAX_STATE, Given

    noted = click.get_current_context().meta
    if _STDIN not in noted:
        noted[_STDIN] = Given.of("standard input", read_stdin(MAX_STATE))
    given: str = noted[_STDIN]
    return given


def _choice(backends: Sequence[FleetBackend]) -> str:
    return f"backends are {', '.join(backend.name for backend in backends)}"
