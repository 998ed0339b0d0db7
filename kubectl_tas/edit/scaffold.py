"""What ``init`` writes: a small repository, a CI job, and what Argo CD or Flux need to know of it.

Also where this kubectl-tas came from, as a requirement that gives everybody the same one: PEP 610, and git.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import kubectl_tas
from kubectl_tas import __version__, process
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resources import read_resource, resource_root
from kubectl_tas.yaml import scalar

_DIGEST = re.compile(r"kubectl-tas @ (git\+(https|ssh)://[^\s#]+@[0-9a-f]{40}|https://[^\s#]+#sha256=[0-9a-f]{64})")
"""The requirements that CI installs without further hashes; the jobs of ``templates/init/ci`` have the same words."""
_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?P<path>[^/\s].*)")
"""How git writes SSH addresses: git@github.com:team/gpu-pools.git."""
_PACKED = ("kubectl_tas", "schemas", "templates")
"""What a wheel has of a checkout."""


def is_requirement(text: str) -> bool:
    """Whether pip can read a line of a requirements file: a name with versions or an address, an address, or a path."""
    return re.fullmatch(r"\s*[A-Za-z0-9._-]+(\[[\w\s,.-]*\])?\s*([=<>!~@;].*)?|\s*\S*[/:]\S*\s*", text) is not None


def has_digest(requirement: str) -> bool:
    """Whether a requirement means one content for all time: a full commit, or an archive with its SHA-256."""
    return _DIGEST.fullmatch(requirement) is not None


def own_requirement() -> tuple[str, str]:
    """What pip has to install to get this very version, always with a digest; or nothing, and why."""
    try:
        told = distribution("kubectl-tas").read_text("direct_url.json")
    except PackageNotFoundError:  # a frozen program, or a checkout on the PYTHONPATH
        return _of_folder(resource_root())
    origin: dict[str, Any] = json.loads(told or "{}")
    url = without_secrets(str(origin.get("url", "")))
    if "dir_info" in origin:
        return _of_folder(Path(unquote(urlsplit(url).path)))
    if "vcs_info" in origin:
        found = f"kubectl-tas @ git+{as_url(url)}@{origin['vcs_info'].get('commit_id')}"
    elif "archive_info" in origin:
        known = origin["archive_info"]
        digest = known.get("hashes", {}).get("sha256") or str(known.get("hash", "")).removeprefix("sha256=")
        found = f"kubectl-tas @ {url}#sha256={digest}"
    else:
        return "", f"it is release {__version__} of an index, and pip kept no hash of it"
    return (found, "") if has_digest(found) else ("", f"{url} is no address that gives everybody the same content")


def _of_folder(folder: Path) -> tuple[str, str]:
    """The commit of a checkout, if others can get it and it has what is installed."""

    def git(*arguments: str) -> str:
        done = process.run(["git", "-C", str(folder), *arguments])
        return done.out.decode(errors="replace").strip() if done.code == 0 else ""

    try:
        top = git("rev-parse", "--show-toplevel")
        if not top or Path(top) != folder.resolve():
            return "", f"it comes from {folder}, which is no checkout of git"
        if git("status", "--porcelain", "--", *_PACKED, "pyproject.toml") or not _is_installed(folder):
            return "", f"it is not what the last commit of {folder} has"
        commit = git("rev-parse", "HEAD")
        for remote in sorted(git("remote").splitlines(), key=lambda name: name != "origin"):
            found = f"kubectl-tas @ git+{as_url(without_secrets(git('remote', 'get-url', remote)))}@{commit}"
            if has_digest(found) and git("for-each-ref", "--contains", commit, f"refs/remotes/{remote}/"):
                return found, ""
    except TasError:  # there is no git
        return "", f"it comes from {folder}, and there is no git to ask"
    return "", f"no remote of {folder} that others reach has its last commit"


def _is_installed(folder: Path) -> bool:
    """Whether what runs has the same files as a checkout."""
    for name in _PACKED:
        own = Path(kubectl_tas.__file__).parent if name == "kubectl_tas" else resource_root() / name
        if own.resolve() != (folder / name).resolve() and dict(_content(own)) != dict(_content(folder / name)):
            return False
    return True


def _content(root: Path) -> Iterator[tuple[str, bytes]]:
    """The files below a folder of _PACKED; a package that is installed has the other folders inside."""
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if path.is_file() and "__pycache__" not in parts and parts[0] not in _PACKED:
            yield "/".join(parts), path.read_bytes()


def without_secrets(url: str) -> str:
    """``url`` without the user and password that a clone by HTTPS may have in it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def as_url(address: str) -> str:
    """An address of git as pip and Flux read it, which know no ``git@host:path``."""
    short = _SCP.fullmatch(address)
    return f"ssh://{short['host']}/{short['path']}" if short else address


NO_REMOTE = "https://git.example.com/gpu-pools.git"
"""What stands for the address of a repository that has none."""
_SCHEMAS = ("all", "values")
"""What the settings of editors name, and the samples."""
_SAMPLES = ("pools/", "subpools/", "workflows/")
_AT_TOP = (".github/", ".gitlab/", ".gitlab-ci.yml", ".pre-commit-config.yaml")
"""What is read at the top of a checkout alone."""
REQUIREMENTS = "requirements-tas.txt"
OWNER = "@your-organization/gpu-admins"
"""What stands for those who own a repository."""
OWNERS = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    "none": (),
}
"""Where GitHub and GitLab look for owners; the first file that is there counts, alone."""


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
    """What pip installs, as a line of a requirements file; empty where nobody has said."""
    owners: Sequence[str]
    """Who must approve a change of what decides for others."""
    checkout: Checkout
    """Where the files are committed."""

    def files(self, root: Path) -> dict[str, bytes]:
        """The files, by their path below the top of the checkout. A repository that has settings gets no example."""
        folder = resource_root() / "templates" / "init"
        below = Path(os.path.relpath(root.resolve(), self.checkout.top)).as_posix()
        prefix = "" if below == "." else f"{below}/"
        schemas = (f"schemas/{name}.json" for name in _SCHEMAS)
        found = {f"{prefix}.{name}": read_resource(name).encode() for name in schemas}
        for part in ("repository", f"ci/{self.ci}", f"gitops/{self.gitops}"):
            for path in (folder / part).rglob("*"):
                name = _visible(path.relative_to(folder / part).as_posix())
                is_sample = name.startswith(_SAMPLES) and (root / CONFIG_FILE).exists()
                is_other = name in OWNERS[self.ci] and self.owners_that_are_there() not in (None, name)
                if path.is_file() and not is_sample and not is_other:
                    found[name if name.startswith(_AT_TOP) else f"{prefix}{name}"] = self._filled(path, prefix)
        return dict(sorted(found.items()))

    def owners_that_are_there(self) -> str | None:
        """The file of owners that the checkout has, beside which another one would not count or be the only one."""
        return next((name for name in OWNERS[self.ci] if os.path.lexists(self.checkout.top / name)), None)

    def _requirements(self) -> str:
        """What pip installs: an archive with all that it depends on, by hashes; git's commits have no place for any."""
        if not has_digest(self.source) or "git+" in self.source:
            return self.source or "# kubectl-tas @ git+https://git.example.com/kubectl-tas.git@COMMIT"
        return f"{self.source}\n{read_resource('templates/init/requirements.lock').rstrip()}"

    def _filled(self, path: Path, prefix: str) -> bytes:
        """The text of a template; ``prefix`` is the folder below the top of the checkout, with a slash."""
        text = path.read_text(encoding="utf-8")
        for name, value in (
            ("folder", scalar(prefix.removesuffix("/") or ".")),
            ("below", prefix),
            ("pattern", re.sub(r"[^\w./-]", "?", prefix)),  # no blank, wildcard or comment: each is one character
            ("owners", " ".join(self.owners)),
            ("at", f" -C {shlex.quote(prefix.removesuffix('/'))}" if prefix else ""),
            ("source", self._requirements()),
            ("gitops", self.gitops),
            ("url", scalar(as_url(self.checkout.url) if self.gitops == "flux" else self.checkout.url)),
            ("branch", scalar(self.checkout.branch, flow=True)),
            ("name", _name(self.checkout.url)),
        ):
            text = text.replace(f"<< {name} >>", value)
        return text.encode()


def is_owner(text: str) -> bool:
    """Whether GitHub and GitLab can read it as an owner: @user, @group/team, or an address of e-mail."""
    return re.fullmatch(r"@[\w.-]+(/[\w.-]+)*|[\w.+-]+@[\w.-]+", text) is not None


def checkout_of(root: Path) -> Checkout:
    """The repository that ``root`` is, or will be, in. Its branch: origin's default, else main, else HEAD's."""
    root = root.resolve()
    there = next(folder for folder in (root, *root.parents) if folder.is_dir())

    def git(*arguments: str) -> str:
        done = process.run(["git", "-C", str(there), *arguments])
        return done.out.decode(errors="replace").strip() if done.code == 0 else ""

    try:
        top = git("rev-parse", "--show-toplevel")
        if not top:
            return Checkout(root, NO_REMOTE, "main")
        url = without_secrets(git("remote", "get-url", "origin")) or NO_REMOTE
        branch = git("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
        has_main = git("for-each-ref", "refs/heads/main", "refs/remotes/origin/main")
        return Checkout(
            Path(top), url, branch or ("main" if has_main else git("symbolic-ref", "--short", "HEAD") or "main")
        )
    except TasError:  # without git there is neither
        return Checkout(root, NO_REMOTE, "main")


def _name(url: str) -> str:
    """The repository's name, as an object of Kubernetes may be called."""
    last = re.split(r"[/:]", url.removesuffix("/").removesuffix(".git"))[-1]
    return names.shorten(re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "gpu-pools")


def _visible(name: str) -> str:
    """Hidden files are packed without their dot, so that no packaging tool leaves them out."""
    return f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name
