"""Argo CD and Flux in a cluster, which apply what a test pushes by the files of ``integrations/``."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kubectl_tas.model.labels import MANAGED_BY
from tests.support.cli import kubectl_tas
from tests.support.git_server import Remote
from tests.support.golden import ROOT
from tests.support.kubelets import MERGE
from tests.support.pyyaml import safe_load_all
from tests.support.rendered import load, text
from tests.support.running import OURS, Running

URL = "https://git.example.com/platform/gpus.git"
"""The repository that the files of ``integrations/`` name."""
SECONDS = 180
"""Time limit for a sync: a retry may wait for a minute."""
ARGO = "/apis/argoproj.io/v1alpha1/namespaces/argocd"
KUSTOMIZATIONS = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
SOURCES = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories"
REFRESH_SECONDS = 10
IN_CLUSTER = "https://kubernetes.default.svc"


class Sync(NamedTuple):
    """What a tool says of one Application or Kustomization."""

    name: str
    revision: str
    """The revision that it compared, or applied, last."""
    is_done: bool
    """Whether the cluster has all objects of that revision."""
    message: str


class GitOps(ABC):
    """A GitOps tool in a cluster."""

    name: str
    """Value of ``gitops`` in ``tas.yaml``."""
    folder: Path
    """Its files in ``integrations/``."""

    def __init__(self, cluster: Running) -> None:
        self.cluster = cluster

    @classmethod
    @abstractmethod
    def runs_in(cls, cluster: Running) -> bool:
        """Whether the cluster has the kinds of the tool."""

    @abstractmethod
    def syncs(self) -> list[Sync]:
        """Returns what the tool says of all Applications or Kustomizations."""

    @abstractmethod
    def refresh(self) -> None:
        """Tells the tool to look for a new revision now."""

    @abstractmethod
    def forget(self) -> None:
        """Removes what tests gave to the tool, and leaves what it has applied."""

    def number_for(self, folders: int) -> int:
        """Returns the number of Applications or Kustomizations for folders with a kustomization."""
        return folders

    def begin(self, remote: Remote, *documents: str) -> None:
        """Applies documents of ``integrations/`` for a repository."""
        items = [item for document in documents for item in safe_load_all(document.replace(URL, remote.url))]
        assert self.cluster.lacks(items) == set()
        file = self.cluster.cache / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump_all(items))
        self.cluster.must("apply", "--server-side", "--force-conflicts", files=[file])

    def wait(self, revision: str, number: int, seconds: float = SECONDS) -> None:
        """Waits until a number of Applications or Kustomizations, which is all of them, are applied at a revision."""
        end, asked = time.monotonic() + seconds, 0.0
        while True:
            if time.monotonic() - asked > REFRESH_SECONDS:
                self.refresh()
                asked = time.monotonic()
            syncs = self.syncs()
            if len(syncs) == number and all(sync.is_done and sync.revision == revision for sync in syncs):
                return
            assert time.monotonic() < end, f"not {number} at {revision} within {seconds} s: {syncs}"
            time.sleep(1)

    def wait_for_refusal(self, words: str, seconds: float = SECONDS) -> Sync:
        """Waits until a sync fails with these words, and returns it."""
        end = time.monotonic() + seconds
        while True:
            syncs = self.syncs()
            for sync in syncs:
                if words in sync.message:
                    return sync
            assert time.monotonic() < end, f"no {words!r} within {seconds} s: {syncs}"
            time.sleep(1)

    def _patch(self, path: str, annotation: str, value: str) -> None:
        self.cluster.api.call("PATCH", path, {"metadata": {"annotations": {annotation: value}}}, MERGE)

    def _remove(self, path: str) -> None:
        """Removes an object without what its finalizers would do."""
        self.cluster.api.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        self.cluster.api.call("DELETE", path)

    def _paths(self, folder: str) -> Iterator[str]:
        for item in self.cluster.api.items(folder):
            yield f"{folder}/{item['metadata']['name']}"


class ArgoCD(GitOps):
    """Argo CD, with its controllers of Applications and ApplicationSets."""

    name = "argocd"
    folder = ROOT / "integrations/argocd"

    @classmethod
    def runs_in(cls, cluster: Running) -> bool:
        return not cluster.lacks([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}])

    def syncs(self) -> list[Sync]:
        found = []
        for item in self.cluster.api.items(f"{ARGO}/applications"):
            status = item.get("status", {})
            compared, operation = status.get("sync", {}), status.get("operationState", {})
            messages = [condition["message"] for condition in status.get("conditions", ())]
            refused = [
                resource.get("message", "")
                for resource in operation.get("syncResult", {}).get("resources", ())
                if resource.get("status") not in ("Synced", "Pruned")
            ]
            is_idle = operation.get("phase", "Succeeded") == "Succeeded" and "operation" not in item
            found.append(
                Sync(
                    item["metadata"]["name"],
                    compared.get("revision", ""),
                    compared.get("status") == "Synced" and is_idle and not messages,
                    " ".join([compared.get("status", ""), operation.get("message", ""), *messages, *refused]),
                )
            )
        return found

    def refresh(self) -> None:
        for path in self._paths(f"{ARGO}/applicationsets"):
            self._patch(path, "argocd.argoproj.io/application-set-refresh", "true")
        for path in self._paths(f"{ARGO}/applications"):
            self._patch(path, "argocd.argoproj.io/refresh", "normal")

    def forget(self) -> None:
        for kind in ("applicationsets", "applications"):
            for path in self._paths(f"{ARGO}/{kind}"):
                self._remove(path)
        self.cluster.must(
            "delete", "secrets", "--namespace=argocd", "--selector=argocd.argoproj.io/secret-type=cluster"
        )
        self.cluster.wait("no Application", lambda: not self.cluster.api.items(f"{ARGO}/applications"))

    def annotate(self, annotation: str, value: str) -> None:
        """Annotates all Applications."""
        for path in self._paths(f"{ARGO}/applications"):
            self._patch(path, annotation, value)

    def steps(self) -> dict[str, str]:
        """Returns the status of each Application by name, where ApplicationSets sync step by step."""
        sets = self.cluster.api.items(f"{ARGO}/applicationsets")
        listed = [item for found in sets for item in found.get("status", {}).get("applicationStatus", ())]
        return {item["application"]: item["status"] for item in listed}

    def first_syncs(self, step: str) -> list[tuple[str, str]]:
        """Returns begin and end of the first sync of each Application of a step: platform or pools."""
        first = [
            item["status"]["history"][0]
            for item in self.cluster.api.items(f"{ARGO}/applications")
            if item["metadata"]["labels"]["kubectl-tas/step"] == step
        ]
        return [(sync["deployStartedAt"], sync["deployedAt"]) for sync in first]

    def health_checks(self, *, are_added: bool) -> None:
        """Adds the health checks of ``health.yaml``, or removes them. The types of fields stay: webhooks need them."""
        data = load(self.folder / "health.yaml")["data"]
        given = {key: value if are_added or ".knownTypeFields." in key else None for key, value in data.items()}
        path = "/api/v1/namespaces/argocd/configmaps/argocd-cm"
        self.cluster.api.call("PATCH", path, {"data": given}, MERGE)

    def know(self, name: str, cluster: Running) -> None:
        """Tells Argo CD of a cluster by a name."""
        config = json.loads(cluster.must("config", "view", "--raw", "--minify", "-o", "json"))
        (found,), (user,) = config["clusters"], config["users"]
        is_own = cluster.kubeconfig == self.cluster.kubeconfig
        tls = {
            "caData": found["cluster"]["certificate-authority-data"],
            "certData": user["user"]["client-certificate-data"],
            "keyData": user["user"]["client-key-data"],
        }
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"cluster-{name}",
                "namespace": "argocd",
                "labels": {"argocd.argoproj.io/secret-type": "cluster"},
            },
            "stringData": {
                "name": name,
                "server": IN_CLUSTER if is_own else found["cluster"]["server"],
                "config": json.dumps({} if is_own else {"tlsClientConfig": tls}),
            },
        }
        assert self.cluster.api.call("POST", "/api/v1/namespaces/argocd/secrets", secret)


class Flux(GitOps):
    """Flux's source-controller and kustomize-controller."""

    name = "flux"
    folder = ROOT / "integrations/flux"

    @classmethod
    def runs_in(cls, cluster: Running) -> bool:
        return not cluster.lacks([{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}])

    def syncs(self) -> list[Sync]:
        found = []
        for item in self.cluster.api.items(KUSTOMIZATIONS):
            status = item.get("status", {})
            (ready,) = [x for x in status.get("conditions", ()) if x["type"] == "Ready"] or [{}]
            is_done = (
                ready.get("status") == "True" and ready.get("observedGeneration") == item["metadata"]["generation"]
            )
            revision = status.get("lastAppliedRevision", "").rpartition(":")[2]
            found.append(Sync(item["metadata"]["name"], revision, is_done, ready.get("message", "")))
        return found

    def number_for(self, folders: int) -> int:
        return 2 if folders == 1 else folders

    def refresh(self) -> None:
        now = str(time.time())
        for path in (*self._paths(SOURCES), *self._paths(KUSTOMIZATIONS)):
            self._patch(path, "reconcile.fluxcd.io/requestedAt", now)

    def forget(self) -> None:
        for path in (*self._paths(KUSTOMIZATIONS), *self._paths(SOURCES)):
            self._remove(path)


def written_for(tool: GitOps, root: Path, layout: str, backend: str = "") -> list[str]:
    """Returns what ``integrations/`` says to apply, for all of a repository or for one backend of several."""
    below = f"manifests/{backend}" if backend else "manifests"
    if isinstance(tool, ArgoCD):
        if backend and layout == "sharded":
            template = text(tool.folder / "sharded.yaml").replace("manifests/*", below)
            return [template.replace("name: '{{index .path.segments 1}}'", "name: in-cluster")]
        template = text(tool.folder / f"{layout}-one-cluster.yaml")
        return [template.replace("path: manifests", f"path: {below}")]
    source, files = text(tool.folder / "source.yaml"), [text(tool.folder / "flat.yaml")]
    if layout == "sharded":
        chosen = [f"--backend={backend}"] if backend else []
        names = kubectl_tas("pool", "list", "-o", "name", "-C", root, *chosen).out.split()
        pools = [text(tool.folder / "pool.yaml").replace("POOL", name) for name in names if "--" not in name]
        files = [text(tool.folder / "platform.yaml"), *pools]
    return [source, *(file.replace("./manifests", f"./{below}") for file in files)]


def configure(root: Path, **fields: Any) -> None:
    """Sets fields of the Config of a repository."""
    config = load(root / "tas.yaml")
    config["spec"] |= fields
    (root / "tas.yaml").write_text(yaml.safe_dump(config))


def render(root: Path) -> None:
    """Renders a repository."""
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err


def clear(cluster: Running) -> None:
    """Removes all objects that were rendered, of whatever kind."""
    kinds = cluster.must("api-resources", "--verbs=list,delete", "--output=name").split()
    named = [kind for kind in kinds if kind not in ("namespaces", "events", "events.events.k8s.io")]
    cluster.must("delete", ",".join(named), f"--selector={OURS}", "--all-namespaces", "--wait=false")
    for name in cluster.namespaces():  # they stay, and no Application owns them any more
        metadata = {"labels": {MANAGED_BY: None}, "annotations": {"argocd.argoproj.io/tracking-id": None}}
        cluster.api.call("PATCH", f"/api/v1/namespaces/{name}", {"metadata": metadata}, MERGE)
    cluster.clear()
