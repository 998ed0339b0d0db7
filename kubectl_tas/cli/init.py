"""``kubectl tas init``: a small repository that works."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from kubectl_tas.cli.options import group_directory
from kubectl_tas.cli.terminal import say

CI = ("github", "gitlab", "none")
GITOPS = ("none", "argocd", "flux")
"""What there is to choose from; the first is the default."""


@click.command(epilog="Example: kubectl tas init gpu-pools --ci gitlab --gitops flux")
@click.argument("target", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.option("--ci", type=click.Choice(CI), default=CI[0], show_default=True, help="Whose CI job.")
@click.option(
    "--gitops",
    type=click.Choice(GITOPS),
    default=GITOPS[0],
    show_default=True,
    help="Who applies the manifests.",
)
@click.option(
    "--source",
    metavar="REQUIREMENT",
    help="What CI and the hooks install, as pip reads it: kubectl-tas==1.0.0, or kubectl-tas @ and the address of a "
    "wheel or git repository. By default this very version.",
)
def init(target: str, ci: str, gitops: str, source: str | None) -> None:
    """Write a small working repository to DIR, by default the working folder.

    It has a pool, a subpool, a workflow, schemas for editors, pre-commit's hooks, a CI job, and with --gitops what Argo
    CD or Flux need to know of it. Files that are there already are kept; where tas.yaml is one of them, no example is
    written. In a folder of a git repository, the hooks and the CI job go to the top of that, where alone they are read.
    """
    from kubectl_tas.edit import scaffold
    from kubectl_tas.emit.fresh import write_missing
    from kubectl_tas.load.source import CONFIG_FILE

    root = Path(group_directory() or ".") / target
    if source is not None and (not scaffold.is_requirement(source) or not source.isprintable()):
        raise click.BadParameter(f"{source!r} is not a requirement of pip", param_hint="--source")
    checkout = scaffold.checkout_of(root)
    files = scaffold.Scaffold(ci, gitops, source or scaffold.own_source(), checkout).files(root)
    has_settings = (root / CONFIG_FILE).exists()
    kept = write_missing(checkout.top, files)
    up = Path(os.path.relpath(checkout.top, root.resolve()))
    shown = {name: Path(os.path.normpath(root / up / name)).as_posix() for name in files}
    for name, where in shown.items():
        say(f"kept {where}, which is there already" if name in kept else f"wrote {where}")
    if gitops != "none" and has_settings:
        say(f"Set spec.gitops: {gitops} in {(root / CONFIG_FILE).as_posix()}, if it is not there.", err=True)
    for name, where in shown.items():
        if name not in kept and scaffold.NO_REMOTE.encode() in files[name]:
            say(f"Replace {scaffold.NO_REMOTE} in {where}: git knows no remote origin here.", err=True)
        if name in kept and b"kubectl-tas" in files[name] and _lacks_it(checkout.top / name):
            say(f"Nothing in {where} runs kubectl-tas: add what init writes in an empty folder.", err=True)
    at = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{at} && kubectl tas render{at}", err=True)


def _lacks_it(path: Path) -> bool:
    """Whether a file that is there already does not name this tool."""
    try:
        return b"kubectl-tas" not in path.read_bytes()
    except OSError:  # a folder or a link that leads nowhere, of which nothing is known
        return False
