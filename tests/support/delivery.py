"""Repositories that Argo CD or Flux applies, and what of them a cluster has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.support.git_server import GitServer, Remote
from tests.support.gitops import ArgoCD, GitOps, render, written_for
from tests.support.rendered import KUSTOMIZATION, Object, read_back
from tests.support.running import Running

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


@dataclass
class Delivery:
    """A repository that a tool applies."""

    tool: GitOps
    remote: Remote
    backend: str = ""
    """The one that is applied, if the repository has several."""

    @property
    def cluster(self) -> Running:
        return self.tool.cluster

    @property
    def root(self) -> Path:
        return self.remote.root

    def push(self) -> str:
        """Renders and pushes the repository, and returns the revision."""
        render(self.root)
        return self.remote.push()

    def apply(self) -> None:
        """Pushes the repository, and waits until the tool has applied it."""
        self.wait(self.push())

    def wait(self, revision: str) -> None:
        """Waits until the tool has applied a revision."""
        folder = self.root / "manifests" / self.backend
        self.tool.wait(revision, self.tool.number_for(len(list(folder.rglob(KUSTOMIZATION)))))

    def lacking(self) -> set[Key]:
        """Returns the rendered objects that the cluster does not have."""
        return {key_of(item) for item in self._rendered()} - self.objects().keys()

    def objects(self) -> dict[Key, Object]:
        """Returns the rendered objects as the cluster has them."""
        wanted = {key_of(item) for item in self._rendered()}
        there: dict[Key, Object] = {}
        for kind in sorted({kind for kind, _, _ in wanted}):
            listed = json.loads(self.cluster.must("get", kind, "--all-namespaces", "--output=json"))
            there |= {key_of(item): item for item in listed["items"] if key_of(item) in wanted}
        return there

    def versions(self) -> dict[Key, tuple[str, int]]:
        """Returns the identity of each object, and the number of changes of its spec."""
        there = self.objects().items()
        return {key: (item["metadata"]["uid"], item["metadata"].get("generation", 0)) for key, item in there}

    def _rendered(self) -> tuple[Object, ...]:
        clusters = read_back(self.root).clusters
        (objects,) = [item.objects for item in clusters if self.backend in ("", item.name)]
        return objects

    def uids(self) -> dict[str, str]:
        """Returns the identity of each pod, by name."""
        return {name: pod["metadata"]["uid"] for name, pod in self.cluster.pods().items()}


def deliver(tool: GitOps, server: GitServer, root: Path, layout: str, backend: str = "") -> Delivery:
    """Lets a tool apply the repository at ``root``, or what is for a backend of it.

    The flat layout needs no health checks. In the sharded layout, pools may come before the platform, and are refused.
    Argo CD tries again, but without the checks it waits first for the end of all work that it could apply.
    """
    if isinstance(tool, ArgoCD):
        tool.health_checks(are_added=layout == "sharded")
    render(root)
    delivery = Delivery(tool, server.offer(root), backend)
    revision = delivery.remote.push()
    tool.begin(delivery.remote, *written_for(tool, root, layout, backend))
    delivery.wait(revision)
    return delivery


def key_of(item: Object) -> Key:
    group, _, version = str(item["apiVersion"]).rpartition("/")
    kind = f"{item['kind']}.{version}.{group}" if group else str(item["kind"])
    return kind, item["metadata"].get("namespace", ""), item["metadata"]["name"]
