"""Where this kubectl-tas came from, as a requirement that gives everybody the same one: PEP 610, and git."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import kubectl_tas
from kubectl_tas import __version__, process
from kubectl_tas.errors import TasError
from kubectl_tas.resources import resource_root

_DIGEST = re.compile(r"kubectl-tas @ (git\+(https|ssh)://[^\s#]+@[0-9a-f]{40}|https://[^\s#]+#sha256=[0-9a-f]{64})")
"""The requirements that CI installs without further hashes; the jobs of ``templates/init/ci`` have the same words."""
_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?P<path>[^/\s].*)")
"""How git writes SSH addresses: git@github.com:team/gpu-pools.git."""
_PACKED = ("kubectl_tas", "schemas", "templates")
"""What a wheel has of a checkout."""


def is_requirement(text: str) -> bool:
    """Whether pip can read a line of a requirements file: a name with versions or an address, or an address or a path
    alone.
    """
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
