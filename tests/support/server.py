"""Provides a cluster for tests that write to one: its CRDs and namespaces, and calls of kubectl."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubectl_tas.facts import grove
from tests.support.crds import folder_of
from tests.support.pyyaml import safe_load
from tests.support.rendered import Object

PATIENCE = "60s"
GROVE_FOLDERS = {
    "0.1.0-alpha.4": "v0.1.0-alpha.8",
    "0.1.0-alpha.9": "v0.1.0-alpha.9",
    "0.1.0-alpha.10": "v0.1.0-alpha.11",
    "0.1.0-alpha.12": "v0.1.0-alpha.11",
}
"""The release whose CRDs are used for each row of Grove's version table. Before alpha.4 a set has no constraints."""


@dataclass
class Kubectl:
    """A cluster, through kubectl."""

    kubeconfig: str
    cache: Path
    """Folder in which kubectl caches facts about the cluster."""

    def kubectl(self, *arguments: str, files: Sequence[Path] = ()) -> subprocess.CompletedProcess[str]:
        """Runs kubectl on ``files``, in their order."""
        command = ["kubectl", f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}", *arguments]
        command += [f"--filename={path}" for path in files]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def must(self, *arguments: str, files: Sequence[Path] = ()) -> str:
        """Runs kubectl and returns its output. The test fails if kubectl fails."""
        done = self.kubectl(*arguments, files=files)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lacks(self, objects: Sequence[Object]) -> set[str]:
        """Returns the kinds of ``objects`` that the cluster does not have, for example ``ray.io/v1/RayJob``."""
        found = set()
        for api_version in {str(item["apiVersion"]) for item in objects}:
            answer = self.kubectl("get", "--raw", f"/{'apis' if '/' in api_version else 'api'}/{api_version}").stdout
            known = {part["kind"] for part in safe_load(answer)["resources"]} if answer else set()
            kinds = {str(item["kind"]) for item in objects if item["apiVersion"] == api_version}
            found |= {f"{api_version}/{kind}" for kind in kinds - known}
        return found

    def have_namespaces(self, objects: Sequence[Object]) -> None:
        """Creates the namespaces of ``objects``. They are kept, since namespaces are slow to delete."""
        for name in sorted({item["metadata"]["namespace"] for item in objects if "namespace" in item["metadata"]}):
            if self.kubectl("get", "namespace", name).returncode:
                self.must("create", "namespace", name)


@dataclass
class Server(Kubectl):
    """A cluster in which tests may change everything, including the CRDs."""

    kai_crds: Path
    """A folder with KAI's CRDs, in a subfolder for each release."""
    grove_crds: Path
    """A folder with Grove's CRDs, in a subfolder for each release."""
    crds: dict[Path, str] = field(default_factory=dict, init=False)
    """The release that the cluster has now, by folder of CRDs."""

    def define(self, folder: Path) -> None:
        """Creates the CRDs of a folder, and waits until the server knows their kinds."""
        self.must("apply", "--server-side", "--force-conflicts", files=[folder])
        self.must("wait", "--for=condition=Established", f"--timeout={PATIENCE}", files=[folder])

    def have_kai(self, version: str) -> None:
        """Defines only the kinds of this KAI release. Skips the test if its CRDs are missing."""
        self._have(self.kai_crds, folder_of(version))

    def have_grove(self, version: str) -> None:
        """Defines only the kinds of this Grove release. Skips the test if its CRDs are missing."""
        release = grove.release(version)
        assert release is not None, f"not in the version table: {version}"
        self._have(self.grove_crds, GROVE_FOLDERS[release.since])

    def _have(self, releases: Path, wanted: str) -> None:
        if not (releases / wanted).is_dir():
            pytest.skip(f"no CRDs of {wanted} in {releases}")
        if self.crds.get(releases) != wanted:
            for folder in sorted(releases.iterdir()):
                self.must("delete", "--ignore-not-found", f"--timeout={PATIENCE}", files=[folder])
            self.define(releases / wanted)
            self.crds[releases] = wanted
