"""Reads the nodes of a cluster, from files or from the clusters of backends."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from kubectl_tas.cli.backends import cluster_options, given_clusters
from kubectl_tas.cli.options import FILE, together
from kubectl_tas.cli.session import read_stdin
from kubectl_tas.cli.terminal import say
from kubectl_tas.diagnostics import TasError
from kubectl_tas.live import kubectl
from kubectl_tas.live.live_cluster import Beside, Cluster
from kubectl_tas.place.node_resources import Nodes, read_nodes
from kubectl_tas.resolve.fleet import Fleet

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
        self._nodes: dict[str, Nodes] = {}

    def objects(self, backend: str) -> list[dict[str, Any]]:
        """Returns nodes and pods as kubectl prints them, among others. Raises TasError if they cannot be read."""
        key = "" if self._clusters is None else backend
        if key not in self._objects:
            self._objects[key] = (
                [item for file in self._files for item in _read(file)]
                if self._clusters is None
                else self._clusters.of(backend).nodes_and_pods()
            )
        return self._objects[key]

    def queued(self, backend: str) -> list[dict[str, Any]]:
        """Returns nodes and pods, with the objects that show the queue and priority of each pod; all objects of files.

        Says on stderr which objects may not be read. Raises TasError if the cluster does not answer, or a file has the
        PodGroups of only one namespace.
        """
        found = self._with(backend, Cluster.queued)
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
        return self._with(backend, Cluster.scheduling)

    def _with(self, backend: str, more: Callable[[Cluster], Beside]) -> list[dict[str, Any]]:
        found = self.objects(backend)
        if self._clusters is None:
            return found
        beside = more(self._clusters.of(backend))
        for resource, reason in beside.hidden.items():
            say(f"Without any {resource}: {reason}", err=True)
        return [*found, *beside.objects]

    def nodes(self, backend: str) -> Nodes:
        """Returns the nodes, with what pods leave free. Raises TasError if nodes are absent or unreadable."""
        key = "" if self._clusters is None else backend
        if key not in self._nodes:
            items = self.objects(backend)
            self._nodes[key] = found = read_nodes(items, kubectl.complete_kinds(items))
            if not found.knows_pods:
                say("The input has no pods, so everything on the nodes counts as free.", err=True)
        return self._nodes[key]


def _read(file: str) -> list[dict[str, Any]]:
    """Returns the objects in a file, or for - on standard input. Raises TasError."""
    if file != "-":
        return kubectl.read_file(file)
    return list(kubectl.parse(read_stdin(kubectl.MAX_STATE), "standard input"))
