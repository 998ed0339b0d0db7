"""Selects the backends and pools for a command, the clusters that the command asks, and the nodes that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.words import nothing_called
from kubectl_tas.cli.options import BACKEND, FILE, F, kubectl_options, together
from kubectl_tas.cli.terminal import say, waiting

if TYPE_CHECKING:
    from kubectl_tas.live.live_cluster import Beside, Cluster, Clusters
    from kubectl_tas.place.node_resources import ClusterNodes
    from kubectl_tas.resolve.clusters import FleetBackend
    from kubectl_tas.resolve.fleet import Fleet
    from kubectl_tas.resolve.pools import FleetPool, Target


DECLARED, CLUSTER = "declared", "cluster"
USED = {
    DECLARED: "declared by the HIGH and NORMAL work of this repository",
    CLUSTER: "held in the cluster by work that cannot be preempted",
}
"""A description of each source of usage."""
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
live_option = click.option("--live", is_flag=True, help="Count what the cluster holds, not what files declare.")
"""The option ``--live`` of commands that show what queues use."""


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
    from kubectl_tas.live.kubectl import ClusterAccess
    from kubectl_tas.live.live_cluster import Cluster, Clusters  # most runs of most commands ask no cluster

    meant = chosen_backends(fleet, options["backend"])
    if options["context"] and len(meant) > 1:
        raise click.UsageError(f"--context names one cluster; name its backend too: {_choice(meant)}")
    files = _files(meant, options["cluster_state"])
    known, unknown = {}, {}
    for backend in meant:
        context = options["context"] or backend.spec.context
        access = ClusterAccess(context, options["kubeconfig"], options["namespace"], waiting)
        if backend.name in files:
            known[backend.name] = Cluster(access, files[backend.name])
        elif files and not live:
            continue
        elif context is None and len(fleet.backends) > 1:
            message = f"the backend {backend.name} has no context that names its cluster"
            hint = f"Add `context:` to it in {fleet.settings_source}, or pass --backend {backend.name} --context NAME."
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
    from kubectl_tas.live.kubectl import MAX_STATE, NamedContent

    noted = click.get_current_context().meta
    if _STDIN not in noted:
        noted[_STDIN] = NamedContent.of("standard input", read_stdin(MAX_STATE))
    given: str = noted[_STDIN]
    return given


def _choice(backends: Sequence[FleetBackend]) -> str:
    return f"backends are {', '.join(backend.name for backend in backends)}"


nodes_options = together(
    cluster_options,
    click.option("--live", is_flag=True, help="Ask the cluster for its nodes and pods."),
    click.option(
        "--nodes",
        "files",
        metavar="FILE",
        type=FILE,
        multiple=True,
        help="Read this output of `kubectl get nodes -o json` or `kubectl get pods -A -o json`; - is standard input. "
        "Repeatable.",
    ),
)
"""The options ``--nodes``, passed as ``files``, ``--live``, and ``cluster_options``."""


def as_given(cluster: Mapping[str, Any], *, files: Sequence[str] = (), live: bool) -> str:
    """Returns the options that select the nodes, for another command that reads the same; each behind a space."""
    import shlex  # most commands give no such advice

    named = [(f"--{name.replace('_', '-')}", value) for name, value in cluster.items() if name != "namespace"]
    words = [word for file in files for word in ("--nodes", file)]
    for option, value in named:
        words += [word for one in ([value] if isinstance(value, str) else value or ()) for word in (option, one)]
    return "".join(f" {shlex.quote(word)}" for word in (*words, *(["--live"] if live else [])))


def refuse_several(backends: Iterable[str]) -> None:
    """Raises a usage error if data of one cluster, such as its nodes, would be used for several backends."""
    names = list(dict.fromkeys(backends))
    if len(names) > 1:
        raise click.UsageError(f"that is what one cluster has; name it with --backend: {', '.join(names)}")


class NodeSource:
    """The nodes and pods of each cluster, by the name of its backend; each is read once."""

    def __init__(self, fleet: Fleet, files: Sequence[str], cluster: Mapping[str, Any], *, live: bool) -> None:
        """Reads ``files`` for any cluster; without files, asks the clusters of ``cluster_options``.

        Raises a usage error if both are given, or a namespace, whose pods alone do not show what nodes have free.
        """
        if cluster["namespace"]:
            raise click.UsageError("-n has no effect here: pods of all namespaces share the nodes")
        asks = [name for name, value in cluster.items() if value and name != "backend"]
        if files and (live or asks):
            raise click.UsageError("--nodes is given instead of a cluster: leave --live and the other options out")
        self.given = as_given(cluster, files=files, live=live)
        """The options as text, for commands that read the same nodes."""
        self._files = files
        self._clusters = None if files else given_clusters(fleet, cluster, live=live)
        self._objects: dict[str, list[dict[str, Any]]] = {}
        self._queued: dict[str, list[dict[str, Any]]] = {}
        self._nodes: dict[str, ClusterNodes] = {}

    def objects(self, backend: str) -> list[dict[str, Any]]:
        """Returns nodes and pods as kubectl prints them, among others. Raises TasError if they cannot be read."""
        key = "" if self._clusters is None else backend
        if key not in self._objects:
            self._objects[key] = (
                [item for file in self._files for item in _objects_in(file)]
                if self._clusters is None
                else self._clusters.of(backend).nodes_and_pods()
            )
        return self._objects[key]

    def queued(self, backend: str) -> list[dict[str, Any]]:
        """Returns nodes and pods, with the objects that show the queue and priority of each pod; all objects of files.

        Says on stderr which objects may not be read. Raises TasError if the cluster does not answer, or a file has the
        PodGroups of only one namespace.
        """
        from kubectl_tas.live import kubectl

        if backend in self._queued:
            return self._queued[backend]
        found = self._queued[backend] = self._with(backend, lambda cluster: cluster.queued())
        namespace = kubectl.only_namespace(found)
        if namespace is not None:
            message = f"the state of the cluster has PodGroups of the namespace {namespace} alone: of pods in others it"
            hint = "Record it anew: kubectl tas cluster state without -n."
            raise TasError(f"{message} does not tell in which queues they are", hint=hint)
        return found

    def scheduled(self, backend: str) -> list[dict[str, Any]]:
        """Returns the objects that KAI's scheduler looks at, as kubectl prints them; all objects of files.

        Says on stderr which storage may not be read. Raises TasError if any other object cannot be read.
        """
        return self._with(backend, lambda cluster: cluster.scheduling())

    def _with(self, backend: str, more: Callable[[Cluster], Beside]) -> list[dict[str, Any]]:
        found = self.objects(backend)
        if self._clusters is None:
            return found
        beside = more(self._clusters.of(backend))
        for resource, reason in beside.hidden.items():
            say(f"Without any {resource}: {reason}", err=True)
        return [*found, *beside.objects]

    def now(self, backend: str) -> datetime:
        """Returns the time in a cluster."""
        return time_in(None if self._clusters is None else self._clusters.of(backend), self.objects(backend))

    def nodes(self, backend: str) -> ClusterNodes:
        """Returns the nodes, with what pods leave free. Raises TasError if nodes are absent or unreadable."""
        from kubectl_tas.live.kubectl import complete_kinds
        from kubectl_tas.place.node_resources import read_nodes
        from kubectl_tas.place.volumes import with_volumes

        key = "" if self._clusters is None else backend
        if key not in self._nodes:
            items = self.objects(backend)
            self._nodes[key] = found = with_volumes(read_nodes(items, complete_kinds(items)), items)
            if not found.knows_pods:
                say("The input has no pods, so everything on the nodes counts as free.", err=True)
        return self._nodes[key]


def time_in(cluster: Cluster | None, objects: Iterable[Mapping[str, Any]]) -> datetime:
    """Returns the time in a cluster, with its objects; None: they are from files. For files it is the newest time in
    them, so that their answer stays the same.
    """
    from kubectl_tas.place.queues import newest_time

    newest = newest_time(objects) if cluster is None or cluster.file is not None else None
    return newest or datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def tell_shards(fleet: Fleet, pools: Iterable[FleetPool]) -> bool:
    """Says on stderr what the shards of pools do with levels, and what they set that no answer considers. Returns
    whether there is anything that no answer considers.
    """
    from kubectl_tas.place.unfollowed_settings import unfollowed

    shards = {settings.shard: settings for settings in map(fleet.settings_of, pools) if settings.shard is not None}
    for name, settings in shards.items():
        if not settings.has("topology"):
            say(f"SchedulingShard {name} has the plugin topology off: KAI keeps no level.", err=True)
    ignored = {name: ", ".join(unfollowed(settings)) for name, settings in shards.items()}
    for name, texts in ignored.items():
        if texts:
            say(f"Not looked at, of SchedulingShard {name}: {texts}.", err=True)
    return any(ignored.values())


def _objects_in(file: str) -> list[dict[str, Any]]:
    """Returns the objects in a file, or for - on standard input. Raises TasError."""
    from kubectl_tas.cli.session import read_stdin
    from kubectl_tas.live import kubectl

    if file != "-":
        return kubectl.read_file(file)
    return list(kubectl.parse(read_stdin(kubectl.MAX_STATE), "standard input"))
