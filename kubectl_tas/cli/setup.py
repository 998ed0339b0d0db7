"""``kubectl tas init`` and ``migrate``: write a small repository that works, and renew what calls an older release."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from kubectl_tas.cli.options import RENAMED, RENAMED_OPTIONS, group_directory, repository_option
from kubectl_tas.cli.terminal import say, show

CI = ("github", "gitlab", "none")
GITOPS = ("none", "argocd", "flux")
"""The choices; the first is the default."""


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
    "--prune/--no-prune",
    default=True,
    show_default=True,
    help="With --gitops: remove what no file declares any more. Begin without in a cluster that has queues already.",
)
@click.option(
    "--source",
    metavar="REQUIREMENT",
    help="What CI and hooks install: kubectl-tas @ git+https://...@COMMIT, or the address of a wheel with "
    "#sha256=. By default this version.",
)
@click.option(
    "--owner",
    "owners",
    metavar="NAME",
    multiple=True,
    help="Who must approve changes of pools, settings and CI: @user, @organization/team, an address. Repeatable.",
)
def init(target: str, ci: str, gitops: str, source: str | None, owners: tuple[str, ...], *, prune: bool) -> None:
    """Write a small working repository to DIR, by default the working folder.

    The repository has a sample pool, subpool and workflow, schemas, pre-commit hooks, and a CI job with CODEOWNERS;
    with --gitops also the objects that Argo CD or Flux needs. init keeps existing files, and names options that have no
    effect then. If tas.yaml exists, init writes no sample. Hooks and the CI job go to the top of the git repository.
    """
    from kubectl_tas.edit import scaffold
    from kubectl_tas.emit.create_only import write_missing
    from kubectl_tas.load.loading import config_of
    from kubectl_tas.load.source import CONFIG_FILE, FolderSource
    from kubectl_tas.model.config import DEFAULTS

    root = Path(group_directory() or ".") / target
    if source is not None and (not scaffold.is_requirement(source) or not source.isprintable()):
        raise click.BadParameter(f"{source!r} is not a requirement of pip", param_hint="--source")
    for owner in owners:
        if not scaffold.is_owner(owner):
            raise click.BadParameter(f"{owner!r} is no @user, @organization/team or address", param_hint="--owner")
    requirement, gap = (source, "") if source is not None else scaffold.own_requirement()
    checkout = scaffold.checkout_of(root)
    chosen = scaffold.Scaffold(ci, gitops, requirement, owners or (scaffold.OWNER,), checkout, prune=prune)
    there = chosen.owners_that_are_there()
    files = chosen.files(root)
    kept = write_missing(checkout.top, files)
    up = Path(os.path.relpath(checkout.top, root.resolve()))

    def shown(name: str) -> str:
        return Path(os.path.normpath(root / up / name)).as_posix()

    for name in files:
        say(f"kept {shown(name)}, which is there already" if name in kept else f"wrote {shown(name)}")
    config = config_of(FolderSource(root)) if gitops != "none" else DEFAULTS
    if config.gitops != gitops:
        say(f"Set spec.gitops: {gitops} in {(root / CONFIG_FILE).as_posix()}, if it is not there.", err=True)
    for name in files:
        if name not in kept and scaffold.NO_REMOTE.encode() in files[name]:
            say(f"Replace {scaffold.NO_REMOTE} in {shown(name)}: git knows no remote origin here.", err=True)
        if name in kept and b"kubectl-tas" in files[name] and _lacks_it(checkout.top / name):
            _say_add(shown(name))
        if name not in kept and name.endswith(scaffold.REQUIREMENTS) and not scaffold.has_digest(requirement):
            _say_no_digest(shown(name), requirement, gap)
        if name not in kept and scaffold.OWNER.encode() in files[name]:
            where = f"Replace {scaffold.OWNER} in {shown(name)}"
            say(f"{where}: nobody has that name, so nobody is asked to approve changes.", err=True)
    if there is not None and there not in files and _lacks_it(checkout.top / there):
        _say_add(shown(there))
    ignored = [("--source", source, name) for name in kept if source and name.endswith(scaffold.REQUIREMENTS)]
    ignored += [("--owner", owner, there) for owner in owners if there is not None]
    for option, value, name in ignored:
        if _lacks_it(checkout.top / name, value):
            say(f"Ignored {option}: {shown(name)} is there already. Write {value} into it.", err=True)
    at = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{at} && kubectl tas render{at}", err=True)
    if gitops != "none":
        applied = ", ".join(shown(name) for name in files if Path(name).parent.name == gitops)
        makes = "createNamespaces: true of tas.yaml makes the namespaces of pools."
        lacks = "Create the namespaces of pools first, or write createNamespaces: true in tas.yaml."
        namespaces = makes if config.createNamespaces else lacks
        say(f"Next: commit, push, and run the command at the top of {applied}. {namespaces}", err=True)


def _say_add(where: str) -> None:
    say(f"Nothing in {where} names kubectl-tas: add what init writes in an empty folder.", err=True)


def _say_no_digest(where: str, requirement: str, gap: str) -> None:
    """Says what to write instead of a requirement whose content may change, since CI does not install such a one."""
    why = f"this one may become another ({requirement})" if requirement else f"CI cannot get this one ({gap})"
    say(f"Write kubectl-tas @ git+https://...@COMMIT into {where}: {why}.", err=True)


def _lacks_it(path: Path, text: str = "kubectl-tas") -> bool:
    """Whether an existing file does not have a text, by default the name of this tool."""
    try:
        return text.encode() not in path.read_bytes()
    except OSError:  # a folder or a link that leads nowhere, of which nothing is known
        return False


@click.command(epilog="Example: kubectl tas migrate --dry-run")
@click.option("--dry-run", is_flag=True, help="Show the difference and write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a file has an old name.")
@repository_option
def migrate(dry_run: bool, check: bool, directory: str | None) -> int:
    """Write the new names of commands and options into the files that call kubectl-tas.

    It edits CI jobs, hooks, scripts and pages in the git repository, not the folders of pools, workflows and manifests.
    Old names work for one release.
    """
    from kubectl_tas.cli.session import find_root
    from kubectl_tas.edit.apply import lock, write
    from kubectl_tas.edit.migration import RenamedCommands, migrations
    from kubectl_tas.load.loading import config_of
    from kubectl_tas.load.source import FolderSource
    from kubectl_tas.report.style import unified
    from kubectl_tas.report.text import plural

    root = find_root(directory).resolve()
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    config = config_of(FolderSource(root))
    skipped = {root / name for name in (*config.sources, config.output)}
    with lock(top):
        found = list(migrations(top, skipped, RenamedCommands(RENAMED, RENAMED_OPTIONS)))
        if dry_run:
            show(unified(file.difference for file, _ in found))
            return 1 if check and found else 0
        if not check:
            write(top, [file for file, _ in found])
    for file, told in found:
        for item in told:
            say(f"{file.path}:{item.line}: `{' '.join(item.old.split())}` is now `{item.new}`")
    if not found:
        say("No old name found.", err=True)
    elif check:
        say(f"{plural(len(found), 'file')} with old names. Run: kubectl tas migrate", err=True)
    return 1 if check and found else 0
