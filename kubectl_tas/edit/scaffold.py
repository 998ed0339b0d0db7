"""What ``init`` writes: a small repository, a CI job, and what Argo CD or Flux need to know of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kubectl_tas import __version__, process
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.resolve import names
from kubectl_tas.resources import read_resource, resource_root
from kubectl_tas.yaml import scalar

NO_REMOTE = "https://git.example.com/gpu-pools.git"
"""What stands for the address of a repository that has none."""
_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?P<path>[^/\s].*)")
"""How git writes SSH addresses: git@github.com:team/gpu-pools.git."""
_SCHEMAS = ("all", "values")
"""What the settings of editors name, and the samples."""
_SAMPLES = ("pools/", "subpools/", "workflows/")


@dataclass(frozen=True, slots=True)
class Remote:
    """Where others reach a repository."""

    url: str
    """Without a user's password or token."""
    branch: str
    """The branch that is deployed."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was chosen."""

    ci: str
    """github, gitlab or none."""
    gitops: str
    """argocd, flux or none."""
    source: str
    """What pip installs, as a line of a requirements file."""
    remote: Remote
    """Where Argo CD or Flux read the repository."""

    def files(self, root: Path) -> dict[str, bytes]:
        """The files, by their path below ``root``. A repository that has settings gets no example."""
        folder = resource_root() / "templates" / "init"
        found = {f".schemas/{name}.json": read_resource(f"schemas/{name}.json").encode() for name in _SCHEMAS}
        for part in ("repository", f"ci/{self.ci}", f"gitops/{self.gitops}"):
            for path in (folder / part).rglob("*"):
                if path.is_file():
                    found[_visible(path.relative_to(folder / part).as_posix())] = self._filled(path)
        if (root / CONFIG_FILE).exists():
            found = {name: content for name, content in found.items() if not name.startswith(_SAMPLES)}
        return dict(sorted(found.items()))

    def _filled(self, path: Path) -> bytes:
        text = path.read_text(encoding="utf-8")
        for name, value in (
            ("source", self.source),
            ("gitops", self.gitops),
            ("url", scalar(_as_url(self.remote.url) if self.gitops == "flux" else self.remote.url)),
            ("branch", scalar(self.remote.branch, flow=True)),
            ("name", _name(self.remote.url)),
        ):
            text = text.replace(f"<< {name} >>", value)
        return text.encode()


def own_source() -> str:
    """What pip has to install to get this very version: the commit or archive that it was installed from, as
    ``direct_url.json`` tells (PEP 610), else the release of the package index.
    """
    release = f"kubectl-tas=={__version__}"
    try:
        told = distribution("kubectl-tas").read_text("direct_url.json")
    except PackageNotFoundError:  # a frozen program, or a checkout on the PYTHONPATH
        return release
    origin: dict[str, Any] = json.loads(told or "{}")
    url, git = str(origin.get("url", "")), origin.get("vcs_info")
    if git:
        return f"kubectl-tas @ {git['vcs']}+{_without_secrets(url)}@{git['commit_id']}"
    return f"kubectl-tas @ {_without_secrets(url)}" if url.startswith("https://") else release


def remote_of(root: Path) -> Remote | None:
    """The remote ``origin`` of the git repository at ``root``, and its default branch; None where it has none."""

    def git(*arguments: str) -> str:
        done = process.run(["git", "-C", str(root), *arguments])
        return done.out.decode(errors="replace").strip() if done.code == 0 else ""

    try:
        url = git("remote", "get-url", "origin") if root.is_dir() else ""
        branch = git("symbolic-ref", "--short", "refs/remotes/origin/HEAD") if url else ""
    except TasError:  # without git there is no remote either
        return None
    return Remote(_without_secrets(url), branch.removeprefix("origin/") or "main") if url else None


def _without_secrets(url: str) -> str:
    """``url`` without the user and password that a clone by HTTPS may have in it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _as_url(address: str) -> str:
    """An address of git as Flux reads it, which knows no ``git@host:path``."""
    short = _SCP.fullmatch(address)
    return f"ssh://{short['host']}/{short['path']}" if short else address


def _name(url: str) -> str:
    """The repository's name, as an object of Kubernetes may be called."""
    last = re.split(r"[/:]", url.removesuffix("/").removesuffix(".git"))[-1]
    return names.shorten(re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "gpu-pools")


def _visible(name: str) -> str:
    """Hidden files are packed without their dot, so that no packaging tool leaves them out."""
    return f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name
