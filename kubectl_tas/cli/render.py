"""``kubectl tas render`` and ``kubectl tas check``."""

from __future__ import annotations

import click

from kubectl_tas.cli.options import repository_option
from kubectl_tas.cli.session import Session, from_fleet, open_session, refuse_errors, tell_warnings
from kubectl_tas.cli.terminal import hand_over, progress, say, show
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import text
from kubectl_tas.emit.plan import Plan, apply_plan, bereft, layout, plan
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.report.diff import unified
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import nothing_called

MAX_LISTED = 20
"""Changed files that are listed one by one."""


def _backends(fleet: Fleet) -> list[str]:
    return [backend.name for backend in fleet.backends]


guard_option = click.option(
    "--guard", is_flag=True, help="Emit admission policies that refuse work which bypasses this repository."
)


@click.command(epilog="Example: kubectl tas render -o - | kubectl apply -f -")
@click.option("-o", "--output", type=click.Choice(["-"]), help="- prints one YAML stream in the order of application.")
@click.option(
    "--backend",
    metavar="NAME",
    help="With -o -: the backend to print, where there are several.",
    shell_complete=from_fleet(_backends),
)
@click.option("--allow-empty", is_flag=True, help="Render where nothing is declared, or a folder is not there.")
@click.option("--fail-on-change", is_flag=True, help="Exit 1 and list every file where anything changed.")
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@guard_option
@repository_option
def render(
    output: str | None,
    backend: str | None,
    allow_empty: bool,
    fail_on_change: bool,
    strict: bool,
    guard: bool,
    directory: str | None,
) -> int:
    """Write the manifests of the whole repository.

    Nothing is written where the repository has errors. Files of an earlier run that nothing produces any
    more are removed; files that kubectl-tas did not write are left alone. Manifests of a folder that is
    not there are removed only with --allow-empty.
    """
    if backend is not None and output is None:
        raise click.UsageError("--backend goes with -o -")
    if fail_on_change and output is not None:
        raise click.UsageError("--fail-on-change does not go with -o -, which changes no file")
    session = open_session(directory, allow_empty=allow_empty)
    if refuse_errors(session, strict=strict):
        return 1
    session = session.with_guard(guard=guard)
    artifacts = _artifacts(session, allow_empty=allow_empty)
    if output == "-":
        hand_over(text.stream(_of_backend(session, artifacts, backend)))
        tell_warnings(session)
        return 0
    plan = _plan(session, artifacts)
    lost = _lost(session, plan)
    if lost and not allow_empty:
        raise TasError(lost, hint="Bring it back, or pass --allow-empty to remove them.")
    with progress("Writing") as tick:
        apply_plan(plan, session.root, tick)
    _list_changes(plan, limit=None if fail_on_change else MAX_LISTED)
    written = sum(change.after is not None for change in plan.changes)
    removed = len(plan.changes) - written
    counts = f"{written} written, {removed} removed, {plan.unchanged} unchanged"
    say(f"Rendered {len(artifacts)} objects to {session.fleet.config.output}: {counts}.", err=True)
    tell_warnings(session)
    return 1 if fail_on_change and plan.changes else 0


@click.command(epilog="Example: kubectl tas check")
@guard_option
@repository_option
def check(guard: bool, directory: str | None) -> int:
    """Compare the committed manifests with what would be rendered.

    Prints a unified diff and exits 1 where they differ. Writes nothing.
    """
    session = open_session(directory)
    if refuse_errors(session):
        return 1
    session = session.with_guard(guard=guard)
    plan = _plan(session, compile_fleet(session.fleet))
    diff = unified(plan.differences)
    if diff:
        show(diff)
        say(f"The manifests are not up to date. Run: kubectl tas render{' --guard' if guard else ''}", err=True)
        lost = _lost(session, plan)
        if lost:
            say(f"But {lost}; render does that only with --allow-empty.", err=True)
    tell_warnings(session)
    return 1 if diff else 0


def _artifacts(session: Session, *, allow_empty: bool) -> tuple[Artifact, ...]:
    artifacts = compile_fleet(session.fleet)
    if not artifacts and not allow_empty:
        raise TasError(
            f"nothing to render: {session.root} declares no pool, topology, workflow, workload or PodGroup",
            hint="Run `kubectl tas init`, name the repository with -C, or pass --allow-empty to remove all manifests.",
        )
    return artifacts


def _lost(session: Session, plan: Plan) -> str:
    """What is missing although manifests that would be removed came from it; '' where nothing is."""
    repository = session.fleet.repository
    absent = (*repository.absent, *((CONFIG_FILE,) if repository.config is None else ()))
    counts = bereft(plan, absent)
    if not counts:
        return ""
    names = " and ".join(counts)
    return f"{names} {'are' if len(counts) > 1 else 'is'} not there, and manifests from there would be removed"


def _of_backend(session: Session, artifacts: tuple[Artifact, ...], name: str | None) -> list[Artifact]:
    """The objects of one backend: a stream is applied to one cluster."""
    known = _backends(session.fleet)
    if name is None and len(known) > 1:
        raise click.UsageError(f"there are several backends; name one with --backend: {', '.join(known)}")
    if name is not None and name not in known:
        raise click.UsageError(nothing_called("backend", name, known))
    return [artifact for artifact in artifacts if name in (None, artifact.backend)]


def _plan(session: Session, artifacts: tuple[Artifact, ...]) -> Plan:
    config = session.fleet.config
    with progress("Rendering") as tick:
        files = layout(artifacts, config.output, session.fleet.settings, tick)
    return plan(files, session.root, config.output, config.sources)


def _list_changes(plan: Plan, *, limit: int | None) -> None:
    shown = plan.changes if limit is None else plan.changes[:limit]
    for change in shown:
        say(f"{'removed' if change.after is None else 'wrote'} {change.path}")
    if len(shown) < len(plan.changes):
        say(f"... and {len(plan.changes) - len(shown)} more")
