"""``kubectl tas render`` and ``kubectl tas check``: write the manifests, or compare them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from kubectl_tas.base.diagnostics import Diagnostic, TasError, has_errors, in_order
from kubectl_tas.cli.backends import backend_option, chosen_backends
from kubectl_tas.cli.options import (
    FILE,
    TEXT,
    TO_FILE,
    output_option,
    repository_option,
    run_options,
    template_options,
    to_option,
)
from kubectl_tas.cli.session import (
    Session,
    foreign_with_findings,
    open_session,
    open_store,
    refuse_errors,
    show_findings,
    tell_warnings,
)
from kubectl_tas.cli.terminal import hand_over_parts, print_findings, progress, say, show
from kubectl_tas.emit import manifest_text
from kubectl_tas.emit.disk import Stamps, write_file
from kubectl_tas.emit.file_plan import Plan, apply_plan, bereft, folder_of, layout, plan, stale
from kubectl_tas.emit.foreign import OUTPUT_FOREIGN, ignored_by
from kubectl_tas.emit.manifest_text import Deferred
from kubectl_tas.load.ignored_files import NOTHING_DECLARED
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.artifact import Placed
from kubectl_tas.report import FINDINGS
from kubectl_tas.report.style import unified
from kubectl_tas.report.text import plural
from kubectl_tas.work.manifests import KeptManifest
from kubectl_tas.work.run import make_texts, manifests_in_order, texts_of
from kubectl_tas.work.stored_run import RenderedFiles, StoredStamps

MAX_LISTED = 20
"""The most changed files that are listed one by one."""


guard_option = click.option(
    "--guard", is_flag=True, help="Render the guard: policies against work that bypasses the files."
)


@click.command(epilog="Example: kubectl tas render --to - | kubectl apply -f -")
@to_option("FILE", FILE, f"Write one YAML stream in the order of application. {TO_FILE}")
@backend_option("Render this backend alone; files of others stay.")
@click.option("--allow-empty", is_flag=True, help="Render where nothing is declared, or a folder is missing.")
@click.option("--dry-run", is_flag=True, help="Print the diff and write nothing.")
@click.option("--fail-on-change", is_flag=True, help="Exit 1 if a file changed, and list each.")
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@guard_option
@template_options
@run_options
@repository_option
def render(
    to: str | None,
    backend: str | None,
    allow_empty: bool,
    dry_run: bool,
    fail_on_change: bool,
    strict: bool,
    guard: bool,
    directory: str | None,
) -> int:
    """Write the manifests of the whole repository.

    If the repository has errors, render writes nothing. It deletes only its own stale files. It names foreign files
    that a GitOps tool may read, and --fail-on-change fails on them.
    """
    if fail_on_change and to is not None:
        raise click.UsageError("--fail-on-change does not go with --to, which changes no manifest")
    if dry_run and to is not None:
        raise click.UsageError("--dry-run does not go with --to, which changes no manifest")
    session = open_session(directory, allow_empty=allow_empty, by_file=True, render=True).with_guard(guard=guard)
    if refuse_errors(session, strict=strict):
        return 1
    if to is not None:
        stream = stream_of_backend(session, backend, allow_empty=allow_empty)
        if to == "-":
            hand_over_parts(stream)
        else:
            _write_stream(session, Path(to), stream)
        tell_warnings(session)
        return 0
    stamps = StoredStamps(open_store(session.root), session.root, session.fleet.config.output)
    counts, full_plan = _planned(session, stamps.read(), allow_empty=allow_empty)
    stamps.keep(full_plan.same)
    chosen_backends(session.fleet, backend)
    plan = _plan_of_backend(session, counts, full_plan, backend)
    lost = _lost(session, plan)
    if lost and not allow_empty:
        raise TasError(lost, hint="Restore it, or pass --allow-empty to remove them.")
    if dry_run:
        show(unified(plan.differences))
        say(f"Would render {sum(counts.values())} objects to {plan.output}: {plan.counts}.", err=True)
        tell_warnings(session)
        return 1 if fail_on_change and plan.changes else 0
    with progress("Writing") as tick:
        apply_plan(plan, session.root, tick)
    _list_changes(plan, limit=None if fail_on_change else MAX_LISTED)
    rendered = sum(counts.values()) if backend is None else counts[backend]
    say(f"Rendered {rendered} objects to {plan.output}: {plan.counts}.", err=True)
    left = len(full_plan.changes) - len(plan.changes)
    if left:
        say(f"Left unchanged: {left} files of other backends that are not up to date.", err=True)
    folder, changed = plan.output, [change.path for change in plan.changes]
    unchanged_folders = () if left else full_plan.unchanged_folders
    del full_plan, plan  # in a large repository what follows takes as much memory as what was written
    foreign_findings = _foreign_findings(session, folder, changed, unchanged_folders)
    show_findings(foreign_findings)
    tell_warnings(session)
    return 1 if fail_on_change and (changed or has_errors(foreign_findings, strict=strict)) else 0


@click.command(epilog="Example: kubectl tas check")
@output_option(TEXT, *FINDINGS)
@backend_option("Compare this backend alone.")
@guard_option
@template_options
@run_options
@repository_option
def check(output: str, backend: str | None, guard: bool, directory: str | None) -> int:
    """Check that the committed manifests are up to date.

    Prints a unified diff and exits 1 if they differ, or if other files in or above the output folder change what a
    GitOps tool applies.
    """
    session = open_session(directory, by_file=True, render=True).with_guard(guard=guard)
    if output != TEXT and session.failed():
        print_findings(session.findings("check"), output, session.root)
        return 1
    if refuse_errors(session):
        return 1
    chosen_backends(session.fleet, backend)
    counts, full_plan = _planned(session)
    plan = _plan_of_backend(session, counts, full_plan, backend)
    is_absent = bool(plan.changes) and not (session.root / plan.output).exists()
    diff = "" if is_absent else unified(plan.differences)
    command = f"kubectl tas render{f' --backend {backend}' if backend else ''}{' --guard' if guard else ''}"
    empty = [item for item in session.with_emptiness().shown if item.rule is NOTHING_DECLARED]
    changed = (change.path for change in plan.changes)
    unchanged_folders = () if full_plan.changes else full_plan.unchanged_folders
    foreign_findings = [*empty, *_foreign_findings(session, plan.output, changed, unchanged_folders)]
    is_missing = any(change.before is None for change in plan.changes)
    ignored = ignored_by(session.root, session.fleet.config.output) if is_missing else None
    mend = f"Run: {command}"
    if ignored is not None:
        mend = f"git ignores this folder by {ignored}: remove that line, run `{command}`, and commit what it writes."
    if output != TEXT:
        _print_stale(session, [*stale(plan, mend), *foreign_findings], plan, output)
    if diff:
        show(diff, stream=None if output == TEXT else sys.stderr)
        say(f"The manifests are not up to date. {mend}", err=True)
        lost = _lost(session, plan)
        if lost:
            say(f"But {lost}; render does that only with --allow-empty.", err=True)
    if is_absent:
        say(f"{plan.output}/ is not there: {sum(counts.values())} objects are missing. Run: {command}", err=True)
    if output == TEXT:
        show_findings(foreign_findings)
    tell_warnings(session)
    if is_absent or diff or has_errors(foreign_findings):
        return 1
    if output == TEXT:
        say(f"{plan.output}/ is up to date: {plural(len(plan.same), 'file')}.", err=True)
    return 0


def _foreign_findings(
    session: Session, folder: str, changed: Iterable[str], unchanged_folders: Collection[str]
) -> list[Diagnostic]:
    """Returns findings for foreign files in and above a folder, except for files that rendering has or would have
    ``changed``. Skips ``unchanged_folders``, because their kustomizations list all their files.
    """
    judged = session.with_findings(foreign_with_findings(session, unchanged_folders=unchanged_folders)[1], None)
    output = session.fleet.config.output
    found: list[tuple[str, Diagnostic]] = []
    for item in judged.shown:
        path = item.location.path if item.location else ""
        is_other = path.startswith(f"{output}/") and not path.startswith(f"{folder}/")
        if item.rule is OUTPUT_FOREIGN and not is_other:
            found.append((path, item))
    ours = {path for path, _ in found}.intersection(changed)
    return [item for path, item in found if path not in ours]


def _print_stale(session: Session, items: Iterable[Diagnostic], plan: Plan, output: str) -> None:
    """Prints a finding for each manifest that differs, and for foreign files next to the manifests."""
    found = in_order(items)
    paths = tuple(sorted((*plan.same, *(change.path for change in plan.changes))))
    findings = session.findings("check")
    stale_ones = replace(findings, diagnostics=found, files=paths, read=len(paths), waived=())
    print_findings(stale_ones, output, session.root)


def _compiled(session: Session) -> tuple[Placed, ...]:
    """Returns all objects, by backend and in the order of application."""
    from kubectl_tas.compile import compile_fleet  # where nothing has changed, nothing is compiled

    run, fleet = session.run, session.fleet
    return manifests_in_order(run.full, fleet) if run else compile_fleet(fleet)


def _texts(session: Session) -> Callable[[Placed], str | Deferred]:
    """Returns the function that gives the text of each object."""
    if session.run is None:
        return manifest_text.file_text  # type: ignore[return-value]
    return texts_of(session.run.full)  # type: ignore[return-value]


def _refuse_emptiness(session: Session, found: Collection[object], *, allow_empty: bool) -> None:
    """Raises TasError if nothing is rendered and that is not allowed."""
    may_be_empty = allow_empty or session.fleet.config.rules.get(NOTHING_DECLARED.code, "error") != "error"
    if not found and not may_be_empty:
        raise TasError(
            f"nothing to render: {session.root} declares no pool, topology, workflow, workload or PodGroup",
            hint="Run `kubectl tas init`, name the repository with -C, or pass --allow-empty to remove all manifests.",
        )


def _lost(session: Session, plan: Plan) -> str:
    """Returns a message about missing sources whose manifests would be removed; '' if none is missing."""
    repository = session.fleet.repository
    absent = (*repository.absent, *((CONFIG_FILE,) if repository.config is None else ()))
    counts = bereft(plan, absent)
    if not counts:
        return ""
    names = " and ".join(counts)
    return f"{names} {'are' if len(counts) > 1 else 'is'} not there, and manifests from there would be removed"


def stream_of_backend(session: Session, name: str | None, *, allow_empty: bool = False) -> Iterator[str]:
    """Yields the objects of one backend, each as a part of one stream for one cluster.

    Raises TasError if there are no objects, unless ``allow_empty``: the user of an empty stream would remove all
    objects. Every cluster of a repository that declares anything has some.
    """
    session = session.in_full()
    artifacts = _compiled(session)
    _refuse_emptiness(session, artifacts, allow_empty=allow_empty)
    known = chosen_backends(session.fleet, name)
    if name is None and len(known) > 1:
        listed = ", ".join(backend.name for backend in known)
        raise click.UsageError(f"there are several backends; name one with --backend: {listed}")
    own = [artifact for artifact in artifacts if artifact.apply and name in (None, artifact.backend)]
    _make_texts(session, (item.source for item in own if isinstance(item, KeptManifest)))
    read = _texts(session)
    return (manifest_text.piece(manifest_text.whole(read(artifact))) for artifact in own)


def _planned(
    session: Session, stamps: Stamps | None = None, *, allow_empty: bool = True
) -> tuple[Mapping[str, int], Plan]:
    """Returns the number of objects of each backend, and the changes that rendering would make.

    Compiles nothing if an earlier run on the same bytes recorded the manifests, and the files on disk match. Raises
    TasError if nothing is rendered, unless ``allow_empty``, or if something is in the way.
    """
    config = session.fleet.config
    compare = partial(plan, root=session.root, output=config.output, sources=config.sources, stamps=stamps)
    stored = session.run.stored if session.run else None
    rendered = stored.rendered if stored and session.run and session.run.judged is None else None
    if rendered is not None and rendered.counts:
        full_plan = compare({path: Deferred(digest, "", (0, 0), _unread) for path, digest in rendered.files.items()})
        if not full_plan.changes:
            return rendered.counts, full_plan
        del full_plan  # in a large repository it takes as much memory as what follows
    del rendered
    session = session.in_full()
    artifacts = _compiled(session)
    _refuse_emptiness(session, artifacts, allow_empty=allow_empty)
    counts = Counter(artifact.backend for artifact in artifacts)
    each = iter(artifacts)
    del artifacts  # their texts do without
    with progress("Rendering") as tick:
        files = layout(each, config, session.fleet.settings_source, tick, read=_texts(session))
    if stored is not None:
        stored.keep_rendered(
            RenderedFiles({path: manifest_text.digest(content) for path, content in files.items()}, counts)
        )
    full_plan = compare(files)
    _make_texts(session, (x.content.source for x in full_plan.changes if isinstance(x.content, Deferred)))
    return counts, full_plan


_FORMATS = ("yaml", "json", "text", "name", "wide")


def _write_stream(session: Session, path: Path, stream: Iterable[str]) -> None:
    """Writes manifests as one file. Raises a usage error for a file of the repository that is input or rendered."""
    if str(path) in _FORMATS:
        raise click.UsageError(f"--to names a file, and {path} is a format: --to - prints YAML")
    root, config = session.root.resolve(), session.fleet.config
    full = path.resolve()
    if any(full.is_relative_to(root / folder) for folder in (*config.sources, config.output)):
        raise click.UsageError(f"--to {path} is in a folder that is read or rendered; name a file elsewhere")
    write_file(path, "".join(stream).encode())
    say(f"Wrote {path}.", err=True)


def _unread(source: str, at: int, size: int) -> str:
    """Fails if called, because only the digest of the file is needed, and not the text."""
    raise AssertionError(source, at, size)


def _make_texts(session: Session, sources: Iterable[str]) -> None:
    """Makes the texts of the objects of these files in one batch."""
    if session.run is not None:
        make_texts(session.run.full, sources)


def _plan_of_backend(session: Session, counts: Mapping[str, int], full_plan: Plan, backend: str | None) -> Plan:
    """Returns the part of a plan for one backend, which has its own folder if other backends have one too."""
    if backend is None:
        return full_plan
    folder = folder_of(backend, counts, session.fleet.config.output)
    if folder is None:
        raise TasError(
            f"nothing to render for the backend {backend}", hint="Render without --backend to remove its manifests."
        )
    return full_plan.within(folder)


def _list_changes(plan: Plan, *, limit: int | None) -> None:
    shown = plan.changes if limit is None else plan.changes[:limit]
    for change in shown:
        say(f"{'removed' if change.content is None else 'wrote'} {change.path}")
    if len(shown) < len(plan.changes):
        say(f"... and {len(plan.changes) - len(shown)} more")
