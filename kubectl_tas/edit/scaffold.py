"""What ``init`` writes: a small repository, a CI job, and what Argo CD or Flux need to know of it."""

from __future__ import annotations

import json
import os
import re
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kubectl_tas import __version__, process
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.records import dataclass
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
_AT_TOP = (".github/", ".gitlab-ci.yml", ".pre-commit-config.yaml")
"""What is read at the top of a checkout alone."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The git repository around a folder, as far as there is one."""

    top: Path
    """Where CI and pre-commit look for their files; without git the folder itself."""
    url: str
    """Where others reach it, without a user's password or token; ``NO_REMOTE`` where it has no remote."""
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
    checkout: Checkout
    """Where the files are committed."""

    def files(self, root: Path) -> dict[str, bytes]:
        """The files, by their path below the top of the checkout of ``root``. A repository that has settings gets no
        example.
        """
        folder = resource_root() / "templates" / "init"
        below = Path(os.path.relpath(root.resolve(), self.checkout.top)).as_posix()
        prefix = "" if below == "." else f"{below}/"
        schemas = (f"schemas/{name}.json" for name in _SCHEMAS)
        found = {f"{prefix}.{name}": read_resource(name).encode() for name in schemas}
        for part in ("repository", f"ci/{self.ci}", f"gitops/{self.gitops}"):
            for path in (folder / part).rglob("*"):
                name = _visible(path.relative_to(folder / part).as_posix())
                is_sample = name.startswith(_SAMPLES) and (root / CONFIG_FILE).exists()
                if path.is_file() and not is_sample:
                    found[name if name.startswith(_AT_TOP) else f"{prefix}{name}"] = self._filled(path, prefix)
        return dict(sorted(found.items()))

    def _filled(self, path: Path, prefix: str) -> bytes:
        """The text of a template; ``prefix`` is the folder below the top of the checkout, with a slash."""
        text = path.read_text(encoding="utf-8")
        for name, value in (
            ("folder", scalar(prefix.removesuffix("/") or ".")),
            ("below", prefix),
            ("at", f" -C {shlex.quote(prefix.removesuffix('/'))}" if prefix else ""),
            ("source", self.source),
            ("gitops", self.gitops),
            ("url", scalar(_as_url(self.checkout.url) if self.gitops == "flux" else self.checkout.url)),
            ("branch", scalar(self.checkout.branch, flow=True)),
            ("name", _name(self.checkout.url)),
        ):
            text = text.replace(f"<< {name} >>", value)
        return text.encode()


def is_requirement(text: str) -> bool:
    """Whether pip can read a line of a requirements file: a name with versions or an address, or an address or a path
    alone.
    """
    return re.fullmatch(r"\s*[A-Za-z0-9._-]+(\[[\w\s,.-]*\])?\s*([=<>!~@;].*)?|\s*\S*[/:]\S*\s*", text) is not None


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


def checkout_of(root: Path) -> Checkout:
    """The git repository that ``root``, which need not be there, is in or will be in. Its branch is the default one of
    the remote ``origin``, else main where there is one, else what is checked out.
    """
    root = root.resolve()
    there = next(folder for folder in (root, *root.parents) if folder.is_dir())

    def git(*arguments: str) -> str:
        done = process.run(["git", "-C", str(there), *arguments])
        return done.out.decode(errors="replace").strip() if done.code == 0 else ""

    try:
        top = git("rev-parse", "--show-toplevel")
        if not top:
            return Checkout(root, NO_REMOTE, "main")
        url = _without_secrets(git("remote", "get-url", "origin")) or NO_REMOTE
        branch = git("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
        has_main = git("for-each-ref", "refs/heads/main", "refs/remotes/origin/main")
        return Checkout(
            Path(top), url, branch or ("main" if has_main else git("symbolic-ref", "--short", "HEAD") or "main")
        )
    except TasError:  # without git there is neither
        return Checkout(root, NO_REMOTE, "main")


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
