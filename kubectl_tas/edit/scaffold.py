"""Makes the files that ``init`` writes: a small repository, a CI job, and the settings of Argo CD or Flux.

Also finds a requirement that gives everybody this same version of kubectl-tas: PEP 610, and git.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import kubectl_tas
from kubectl_tas import __version__
from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.resources import read_resource, resource_root
from kubectl_tas.base.yaml import scalar
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.resolve import names

_DIGEST = re.compile(r"kubectl-tas @ (git\+(https|ssh)://[^\s#]+@[0-9a-f]{40}|https://[^\s#]+#sha256=[0-9a-f]{64})")
"""Requirements that CI installs without further hashes. The jobs in ``templates/init/ci`` use the same pattern."""
_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?P<path>[^/\s].*)")
"""SSH address in git's short form: git@github.com:team/gpu-pools.git."""
_PACKED = ("kubectl_tas", "schemas", "templates")
"""Folders of a checkout that a wheel contains."""


def is_requirement(text: str) -> bool:
    """Whether pip can read a line of a requirements file: a name with versions or an address, an address, or a path."""
    return re.fullmatch(r"\s*[A-Za-z0-9._-]+\s*(\[[\w\s,.-]*\])?\s*([=<>!~@;].*)?|\s*\S*[/:]\S*\s*", text) is not None


def has_digest(requirement: str) -> bool:
    """Whether a requirement always gives the same content: a full commit, or an archive with its SHA-256."""
    return _DIGEST.fullmatch(requirement) is not None


def own_requirement() -> tuple[str, str]:
    """Returns the requirement for exactly this version, always with a digest; or an empty text and the reason."""
    try:
        direct_url = distribution("kubectl-tas").read_text("direct_url.json")
    except PackageNotFoundError:  # a frozen program, or a checkout on the PYTHONPATH
        return _of_folder(resource_root())
    origin: dict[str, Any] = json.loads(direct_url or "{}")
    url = without_secrets(str(origin.get("url", "")))
    if "dir_info" in origin:
        return _of_folder(Path(unquote(urlsplit(url).path)))
    if "vcs_info" in origin:
        requirement = f"kubectl-tas @ git+{as_url(url)}@{origin['vcs_info'].get('commit_id')}"
    elif "archive_info" in origin:
        archive = origin["archive_info"]
        digest = archive.get("hashes", {}).get("sha256") or str(archive.get("hash", "")).removeprefix("sha256=")
        requirement = f"kubectl-tas @ {url}#sha256={digest}"
    else:
        return "", f"it is release {__version__} of an index, and pip kept no hash of it"
    if not has_digest(requirement):
        return "", f"{url} is no address that gives everybody the same content"
    return requirement, ""


def _git(folder: Path, *arguments: str) -> str:
    done = process.run(["git", "-C", str(folder), *arguments])
    return done.out.decode(errors="replace").strip() if done.code == 0 else ""


def _of_folder(folder: Path) -> tuple[str, str]:
    """Returns the commit of a checkout, if others can fetch it and it equals the installed files."""
    git = partial(_git, folder)
    try:
        top = git("rev-parse", "--show-toplevel")
        if not top or Path(top) != folder.resolve():
            return "", f"it comes from {folder}, which is no checkout of git"
        if git("status", "--porcelain", "--", *_PACKED, "pyproject.toml") or not _is_installed(folder):
            return "", f"it is not what the last commit of {folder} has"
        commit = git("rev-parse", "HEAD")
        for remote in sorted(git("remote").splitlines(), key=lambda name: name != "origin"):
            requirement = f"kubectl-tas @ git+{as_url(without_secrets(git('remote', 'get-url', remote)))}@{commit}"
            if has_digest(requirement) and git("for-each-ref", "--contains", commit, f"refs/remotes/{remote}/"):
                return requirement, ""
    except TasError:  # there is no git
        return "", f"it comes from {folder}, and there is no git to ask"
    return "", f"no remote of {folder} that others reach has its last commit"


def _is_installed(folder: Path) -> bool:
    for name in _PACKED:
        installed = Path(kubectl_tas.__file__).parent if name == "kubectl_tas" else resource_root() / name
        is_itself = installed.resolve() == (folder / name).resolve()
        if not is_itself and dict(_content(installed)) != dict(_content(folder / name)):
            return False
    return True


def _content(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the files below a folder of _PACKED. An installed package contains the other folders."""
    for path in root.rglob("*"):
        folders = path.relative_to(root).parts
        if path.is_file() and "__pycache__" not in folders and folders[0] not in _PACKED:
            yield "/".join(folders), path.read_bytes()


def without_secrets(url: str) -> str:
    """Returns ``url`` without the user and password that an HTTPS clone may contain."""
    split_url = urlsplit(url)
    if split_url.scheme not in ("http", "https") or "@" not in split_url.netloc:
        return url
    return urlunsplit(split_url._replace(netloc=split_url.netloc.rpartition("@")[2]))


def as_url(address: str) -> str:
    """Returns a git address as a URL, because pip and Flux cannot read ``git@host:path``."""
    short = _SCP.fullmatch(address)
    return f"ssh://{short['host']}/{short['path']}" if short else address


NO_REMOTE = "https://git.example.com/gpu-pools.git"
"""Placeholder for the address of a repository without a remote."""
_SCHEMAS = ("all", "values")
"""Schemas that editor settings and samples name."""
_SAMPLES = ("pools/", "subpools/", "workflows/")
_AT_TOP = (".github/", ".gitlab/", ".gitlab-ci.yml", ".pre-commit-config.yaml")
"""Files that tools only read at the top of a checkout."""
REQUIREMENTS = "requirements-tas.txt"
OWNER = "@your-organization/gpu-admins"
"""Placeholder for the owners of a repository."""
OWNERS = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    "none": (),
}
"""Paths where GitHub and GitLab look for owners. Only the first existing file counts."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The git repository around a folder, if any."""

    top: Path
    """Folder where CI and pre-commit look for their files; without git the folder itself."""
    url: str
    """Address for others, without a user's password or token; ``NO_REMOTE`` if there is no remote."""
    branch: str
    """The deployed branch."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The choices of the user."""

    ci: str
    """Either github, gitlab or none."""
    gitops: str
    """Either argocd, flux or none."""
    source: str
    """The line of a requirements file that pip installs; empty if nobody chose one."""
    owners: Sequence[str]
    """Owners who must approve changes of settings that affect others."""
    checkout: Checkout
    """The git repository for the files."""
    prune: bool = True
    """Whether Argo CD or Flux remove what no file declares any more."""

    def files(self, root: Path) -> dict[str, bytes]:
        """Returns the files by path below the top of the checkout. A repository with settings gets no examples."""
        folder = resource_root() / "templates" / "init"
        below = Path(os.path.relpath(root.resolve(), self.checkout.top)).as_posix()
        prefix = "" if below == "." else f"{below}/"
        schemas = (f"schemas/{name}.json" for name in _SCHEMAS)
        files = {f"{prefix}.{name}": read_resource(name).encode() for name in schemas}
        files |= {name: text.encode() for name, text in self._gitops_files(root, prefix).items()}
        for resource_folder in ("repository", f"ci/{self.ci}"):
            for path in (folder / resource_folder).rglob("*"):
                name = path.relative_to(folder / resource_folder).as_posix()
                # Hidden files are packed without a dot, so that packaging tools include them.
                name = f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name
                is_sample = name.startswith(_SAMPLES) and (root / CONFIG_FILE).exists()
                is_other = name in OWNERS[self.ci] and self.owners_that_are_there() not in (None, name)
                if path.is_file() and not is_sample and not is_other:
                    files[name if name.startswith(_AT_TOP) else f"{prefix}{name}"] = self._filled(path, prefix)
        return dict(sorted(files.items()))

    def _gitops_files(self, root: Path, prefix: str) -> dict[str, str]:
        """Returns the files of the GitOps tool, for the backends and the layout of existing settings."""
        if self.gitops == "none":
            return {}
        from kubectl_tas.edit.gitops_files import Delivery, files_of  # their templates are not needed without a tool
        from kubectl_tas.load.loading import load_repository
        from kubectl_tas.load.source import FolderSource
        from kubectl_tas.model.repository import Repository
        from kubectl_tas.resolve.fleet import resolve_context

        has_settings = (root / CONFIG_FILE).exists()
        context = resolve_context(load_repository(FolderSource(root)).repository if has_settings else Repository())
        pools = {x.name: [pool.name for pool in context.pools.values() if pool.backend == x] for x in context.backends}
        delivery = Delivery(
            name=_name(self.checkout.url),
            url=as_url(self.checkout.url) if self.gitops == "flux" else self.checkout.url,
            branch=self.checkout.branch,
            output=f"{prefix}{context.config.output}",
            is_sharded=context.config.layout == "sharded",
            pools=pools,
            prune=self.prune,
        )
        return files_of(self.gitops, delivery, prefix)

    def owners_that_are_there(self) -> str | None:
        """Returns the checkout's existing file of owners: a second file would be ignored, or replace the first."""
        return next((name for name in OWNERS[self.ci] if os.path.lexists(self.checkout.top / name)), None)

    def _requirements(self) -> str:
        """Returns the requirements. An archive comes with hashes of all dependencies; git commits cannot."""
        if not has_digest(self.source) or "git+" in self.source:
            return self.source or "# kubectl-tas @ git+https://git.example.com/kubectl-tas.git@COMMIT"
        return f"{self.source}\n{read_resource('templates/init/requirements.lock').rstrip()}"

    def _filled(self, path: Path, prefix: str) -> bytes:
        """Returns the text of a template. ``prefix`` is the folder below the top of the checkout, with a slash."""
        text = path.read_text(encoding="utf-8")
        for name, value in (
            ("folder", scalar(prefix.removesuffix("/") or ".")),
            ("below", prefix),
            ("pattern", re.sub(r"[^\w./-]", "?", prefix)),  # no blank, wildcard or comment: each is one character
            ("owners", " ".join(self.owners)),
            ("at", f" -C {shlex.quote(prefix.removesuffix('/'))}" if prefix else ""),
            ("source", self._requirements()),
            ("gitops", self.gitops),
            ("namespaces", str(self.gitops != "none").lower()),
            ("branch", scalar(self.checkout.branch, flow=True)),
        ):
            text = text.replace(f"<< {name} >>", value)
        return text.encode()


def is_owner(text: str) -> bool:
    """Whether GitHub and GitLab can read a text as an owner: @user, @group/team, or an e-mail address."""
    return re.fullmatch(r"@[\w.-]+(/[\w.-]+)*|[\w.+-]+@[\w.-]+", text) is not None


def checkout_of(root: Path) -> Checkout:
    """Returns the repository that will contain ``root``. Its branch: origin's default, else main, else HEAD's."""
    root = root.resolve()
    git = partial(_git, next(folder for folder in (root, *root.parents) if folder.is_dir()))
    try:
        top = git("rev-parse", "--show-toplevel")
        if not top:
            return Checkout(root, NO_REMOTE, "main")
        url = without_secrets(git("remote", "get-url", "origin")) or NO_REMOTE
        branch = git("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
        if not branch and not git("for-each-ref", "refs/heads/main", "refs/remotes/origin/main"):
            branch = git("symbolic-ref", "--short", "HEAD")
        return Checkout(Path(top), url, branch or "main")
    except TasError:  # without git there is neither
        return Checkout(root, NO_REMOTE, "main")


def _name(url: str) -> str:
    last = re.split(r"[/:]", url.removesuffix("/").removesuffix(".git"))[-1]
    return names.shorten(re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "gpu-pools")
