"""What ``init`` writes: a small repository, a CI job, and what Argo CD or Flux need to know of it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from kubectl_tas import process
from kubectl_tas.edit.origin import as_url, without_secrets
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resources import read_resource, resource_root
from kubectl_tas.yaml import scalar

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
                is_other = name in OWNERS[self.ci] and self.owners_that_are_there() not in (None, name)
                if path.is_file() and not is_sample and not is_other:
                    found[name if name.startswith(_AT_TOP) else f"{prefix}{name}"] = self._filled(path, prefix)
        return dict(sorted(found.items()))

    def owners_that_are_there(self) -> str | None:
        """The file of owners that the checkout has, beside which another one would not count or be the only one."""
        return next((name for name in OWNERS[self.ci] if os.path.lexists(self.checkout.top / name)), None)

    def _filled(self, path: Path, prefix: str) -> bytes:
        """The text of a template; ``prefix`` is the folder below the top of the checkout, with a slash."""
        text = path.read_text(encoding="utf-8")
        for name, value in (
            ("folder", scalar(prefix.removesuffix("/") or ".")),
            ("below", prefix),
            ("pattern", re.sub(r"[^\w./-]", "?", prefix)),  # no blank, wildcard or comment: each is one character
            ("owners", " ".join(self.owners)),
            ("at", f" -C {shlex.quote(prefix.removesuffix('/'))}" if prefix else ""),
            ("source", self.source or "# kubectl-tas @ git+https://git.example.com/kubectl-tas.git@COMMIT"),
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
