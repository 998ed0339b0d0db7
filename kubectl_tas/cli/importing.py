"""``kubectl tas import``: writes files from a cluster, OSMO's configuration, or Kueue's objects."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click

from kubectl_tas.base import yaml
from kubectl_tas.base.diagnostics import Diagnostic, Severity, TasError
from kubectl_tas.base.folders import is_hidden
from kubectl_tas.base.words import shortened
from kubectl_tas.cli.backends import state_file
from kubectl_tas.cli.options import (
    FILE,
    FOLDER,
    TO_FOLDER,
    CommandGroup,
    group_directory,
    kubectl_options,
    priority_class_option,
    to_option,
)
from kubectl_tas.cli.session import Session, check_source, read_named, show_findings
from kubectl_tas.cli.terminal import say, show, waiting
from kubectl_tas.compile import compile_fleet
from kubectl_tas.edit.apply import as_edited, lock, spliced, write
from kubectl_tas.emit.create_only import standing, write_new
from kubectl_tas.imports.from_cluster import Compared, ImportOptions, compared, import_cluster
from kubectl_tas.imports.from_kueue import WORK, import_kueue, with_work
from kubectl_tas.imports.from_osmo import OsmoDocument, import_osmo
from kubectl_tas.imports.kueueobjects import CLUSTER as KUEUE_CLUSTER
from kubectl_tas.imports.kueueobjects import RESOURCE_NAMES
from kubectl_tas.imports.written import Imported, Unplaced, additions, new_elsewhere
from kubectl_tas.live.cluster_state import Record, read, record
from kubectl_tas.live.kubectl import ClusterAccess, NoSuchResourceError, get
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.source import CONFIG_FILE, FolderSource, MemorySource, OverlaySource, decode, is_read
from kubectl_tas.report.style import unified

MAX_LISTED = 8
"""The most names in one line."""
CLUSTER = "Not imported; it stays in the cluster as it is:"
OSMO = "Not imported:"
KUEUE = "KAI behaves differently, or lacks something:"
folder_option = to_option("DIR", FOLDER, f"{TO_FOLDER} By default the working folder.", default=".")


@click.group("import", cls=CommandGroup, epilog="Example: kubectl tas import cluster --to gpu-pools")
def import_group() -> None:
    """Import pools from a cluster, from Kueue or from OSMO."""


@import_group.command(epilog="Example: kubectl tas import cluster --context prod --to gpu-pools")
@folder_option
@kubectl_options("The context for kubectl.")
@click.option(
    "--cluster-state", metavar="FILE", type=FILE, help="Read this file of `kubectl tas cluster state`, not a cluster."
)
@click.option("--sums", is_flag=True, help="Guarantee a pool at least the sum of its subpools.")
@click.option("--backend", metavar="NAME", help="Give the cluster this name, and add it to the repository in DIR.")
def cluster(
    to: str,
    context: str | None,
    kubeconfig: str | None,
    cluster_state: str | None,
    sums: bool,
    backend: str | None,
) -> int:
    """Write a repository that renders the queues and topologies that a cluster has.

    A queue with leaves becomes a pool; its leaves become subpools or the pool's own queue. All keep their names. The
    command lists what would change in the cluster, what is new, and what is not imported.

    The command never overwrites a file: where one exists, it writes nothing.
    """
    if cluster_state is not None and (context or kubeconfig):
        raise click.UsageError("--cluster-state stands for a cluster; it does not go with --context and --kubeconfig")
    found = (
        read(state_file(cluster_state))
        if cluster_state is not None
        else record(ClusterAccess(context, kubeconfig, watch=waiting))
    )
    root = Path(group_directory() or ".") / to
    wanted = ImportOptions(context, sums, backend or "default")
    if backend is not None and root.is_dir() and (code := _added(root, found, wanted)) is not None:
        return code
    imported = import_cluster(found, wanted)
    files = {path: text.encode() for path, text in imported.files.items()}
    if backend is None and standing(root, [CONFIG_FILE]):
        message = f"{root / CONFIG_FILE} is there already; nothing was written"
        raise TasError(message, hint="Choose an empty folder, or add the cluster to the repository: --backend NAME.")
    session = check_source(root, MemorySource(files))
    if _refused(session):
        return 1
    if not session.fleet.pools and not session.fleet.topologies:
        return _nothing(imported)
    write_new(root, files)
    for path in files:
        say(f"wrote {(root / path).as_posix()}")
    _tell(compared(compile_fleet(session.fleet), found), imported)
    _tell_next(root)
    return 0


def _added(root: Path, found: Record, wanted: ImportOptions) -> int | None:
    """Adds a cluster to a repository, and returns the exit code; None if there is no repository."""
    with lock(root):
        there = check_source(root, FolderSource(root))
        if not there.files:
            return None
        if _refused(there, "has"):
            return 1
        if any(item.name == wanted.backend for item in there.fleet.backends):
            message = f"the backend {wanted.backend} is there already; nothing was written"
            raise TasError(message, hint="Choose another name. An import adds one; it does not change one.")
        imported = import_cluster(found, replace(wanted, repository=there.fleet))
        if not imported.has_objects:
            return _nothing(imported)
        edits = list(additions(there.fleet, imported))
        files = spliced(root, edits)
        session = check_source(root, as_edited(root, files))
        if _refused(session):
            return 1
        _must_be_read(session, (item.path for item in edits))
        after = compile_fleet(session.fleet)
        objects = compared((item for item in after if item.backend == wanted.backend), found)
        if clashes := [(item, x) for item in objects if item.is_clash for x in item.differences or ()]:
            say("The cluster and the repository have different objects with one name:", err=True)
            for item, x in clashes:
                say(f"  {item.kind} {item.name}: {x.path}: {x.before} there, {x.after} here", err=True)
            say("Nothing was written. Rename them in the cluster or in the repository, and import again.", err=True)
            return 1
        write(root, files)
    for edit in edits:
        say(f"{edit.summary} {(root / edit.path).as_posix()}")
    _tell(objects, imported)
    elsewhere = new_elsewhere(compile_fleet(there.fleet), after, wanted.backend)
    if elsewhere:
        say("New on other clusters too, since the repository declares these for all:")
    for name, kind, called in elsewhere:
        say(f"  {name}: {kind} {called}")
    if len(there.fleet.backends) == 1:
        output = there.fleet.config.output
        folders = " and ".join(f"{output}/{item.name}" for item in session.fleet.backends)
        say(f"Each cluster has its own folder of manifests now: {folders}. Change what applies them.", err=True)
    _tell_next(root)
    return 0


@import_group.command(epilog="Example: kubectl tas import osmo pools.json pod-templates.json")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@folder_option
def osmo(files: tuple[str, ...], to: str) -> int:
    """Write pools, platforms, pod templates and resource validations of OSMO's configuration.

    FILE, or - for standard input, is JSON or YAML as `osmo config show` prints it for POOL, BACKEND, ROLE, POD_TEMPLATE
    or RESOURCE_VALIDATION, or values of OSMO's Helm chart. Pass all files at once.

    The command lists what has no place here. It never overwrites a file.
    """
    documents = _documents(files)
    if documents is None:
        return 1
    return _written(Path(group_directory() or ".") / to, import_osmo(documents), OSMO)


@import_group.command(epilog="Example: kubectl tas import kueue kueue.yaml --to gpu-pools")
@click.argument("files", nargs=-1, metavar="[FILE...]", type=click.Path(exists=True, allow_dash=True))
@folder_option
@priority_class_option
@kubectl_options("The context for kubectl.")
def kueue(
    files: tuple[str, ...], to: str, priorities: dict[str, str], context: str | None, kubeconfig: str | None
) -> int:
    """Write a repository that shares a cluster as Kueue's objects do.

    FILE is YAML or JSON, a folder of such files, or - for standard input: Kueue's objects, and work that names
    LocalQueues, as `kubectl get ... -o json` prints them. Without FILE kubectl reads the cluster.

    Cohorts and ClusterQueues become pools and subpools (docs/from-kueue.md), and work is adopted as by `kubectl tas
    adopt`. The command never overwrites a file.
    """
    if files and (context or kubeconfig):
        raise click.UsageError("FILE stands for a cluster; it does not go with --context and --kubeconfig")
    texts: dict[str, str] = {}
    documents, problems = _kueue_files(files, texts) if files else _kueue_cluster(ClusterAccess(context, kubeconfig))
    imported, found = import_kueue(documents, context, priorities)
    if imported.work and not (problems or found):
        pools = MemorySource({path: text.encode() for path, text in imported.files.items()})
        fleet = check_source(Path(to), pools).fleet
        wishes = replace(imported.wishes, priorities={**imported.wishes.priorities, **priorities})
        imported, found = with_work(replace(imported, wishes=wishes), texts, fleet)
    if problems or found:
        show_findings([*problems, *found])
        say("Nothing was written.", err=True)
        return 1
    return _written(Path(group_directory() or ".") / to, imported, KUEUE)


def _kueue_files(files: Sequence[str], texts: dict[str, str]) -> tuple[list[Document], list[Diagnostic]]:
    """Returns the documents of all files and of the manifests in folders, with each item of a List on its own. Adds the
    text of each file to ``texts``.
    """
    found: list[Document] = []
    problems: list[Diagnostic] = []
    for file in [path for name in files for path in (manifests(name) if Path(name).is_dir() else (name,))]:
        name = "<stdin>" if file == "-" else file
        text, problem = decode(name, read_named(file, hint="Name a file with objects of Kueue."))
        texts[name] = text
        documents, others = ((), (problem,)) if problem else parse(name, text)
        parts = [part for document in documents for part in items_of(document)]
        found += (part for part in parts if isinstance(part, Document))
        problems += (*others, *(part for part in parts if isinstance(part, Diagnostic)))
    return found, problems


def manifests(folder: str) -> Iterator[str]:
    """Yields the YAML and JSON files below a folder, sorted; skips hidden files and links to folders."""
    for above, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        yield from (str(Path(above, name)) for name in sorted(files) if name.endswith((".yaml", ".yml", ".json")))


def _unreadable(error: OSError) -> NoReturn:
    raise TasError(f"cannot read {error.filename}: {error.strerror}", hint="Name a folder that may be read.")


def _kueue_cluster(access: ClusterAccess) -> tuple[list[Document], list[Diagnostic]]:
    """Returns the Kueue objects of a cluster. Raises TasError if the cluster has no ClusterQueues at all."""
    found: list[Document] = []
    problems: list[Diagnostic] = []
    for resource in RESOURCE_NAMES:
        try:
            items = get(access, resource, namespaced=resource.startswith("localqueues"))
        except TasError as error:
            if isinstance(error, NoSuchResourceError) and resource != RESOURCE_NAMES[0]:
                continue  # of earlier releases of Kueue
            raise TasError(error.message, hint="Name files with objects of Kueue, or another --context.") from error
        for item in items:
            documents, others = parse(KUEUE_CLUSTER, json.dumps(item))
            found += documents
            problems += others
    return found, problems


def _written(root: Path, imported: Imported, heading: str) -> int:
    """Writes missing files, all or nothing, and prints the result for each. Returns the exit code."""
    wanted = {path: text.encode() for path, text in imported.files.items()}
    there = standing(root, wanted)
    others = {path: old for path, old in there.items() if path != CONFIG_FILE and old != wanted[path]}
    if others:
        show(unified((path, _text(old), _text(wanted[path])) for path, old in others.items()))
        say("Nothing was written: these files are there already, and are not what the import would write.", err=True)
        return 1
    fresh = {path: content for path, content in wanted.items() if path not in there}
    session = check_source(root, OverlaySource(FolderSource(root), fresh) if root.is_dir() else MemorySource(fresh))
    has_all = CONFIG_FILE not in there or _has_settings(session, imported.settings)
    work = [path for path in fresh if imported.work and path.startswith(f"{WORK}/")]
    if _refused(session, besides=work):
        for sentence in imported.missing or ("Correct them in the input, and import it again.",):
            say(sentence, err=True)
        return 1
    _must_be_read(session, wanted)
    if wanted:
        write_new(root, fresh)
    for path in wanted:
        say(f"{'unchanged' if path in there else 'wrote'} {(root / path).as_posix()}")
    if imported.becomes:
        say("Becomes:")
    for line in imported.becomes:
        say(f"  {line}")
    tell_unplaced(imported.unplaced, heading)
    for note in imported.notes:
        say(note, err=True)
    if not wanted:
        say("Nothing was written: nothing of the input has a place here.", err=True)
        return 1
    if errors := _errors(session):
        show_findings(errors)
    _tell_next(root)
    return 0 if has_all and not errors else 1


def _nothing(imported: Imported) -> int:
    tell_unplaced(imported.unplaced, CLUSTER)
    say("Nothing was written: nothing of the cluster can be declared.", err=True)
    return 1


def _documents(files: Sequence[str]) -> list[OsmoDocument] | None:
    """Returns the documents of all files; prints findings and returns None if a file is not YAML."""
    found: list[OsmoDocument] = []
    problems: list[Diagnostic] = []
    for file in files:
        name = "<stdin>" if file == "-" else file
        text, problem = decode(name, read_named(file, hint="Name a file of OSMO's configuration."))
        documents, others = ((), (problem,)) if problem else parse(name, text)
        problems += others
        found += (OsmoDocument(name, "" if file == "-" else Path(file).stem, item.data) for item in documents)
    if problems:
        show_findings(problems)
        say("Nothing was written.", err=True)
        return None
    return found


def _has_settings(session: Session, wanted: Mapping[str, Any]) -> bool:
    """Whether the existing Config has all settings of the import; prints the missing ones."""
    config = session.fleet.config
    own = {backend.name: backend for backend in config.backends}
    backends: list[dict[str, Any]] = wanted.get("backends", [])
    lacking: dict[str, Any] = {"backends": [item for item in backends if item["name"] not in own]}
    labels = wanted.get("labels_config", {})
    if labels != config.labels_config.model_dump(mode="json", exclude_defaults=True):
        lacking["labels_config"] = labels
    for key, value in lacking.items():
        if value:
            say(f"{CONFIG_FILE} is there already, and stays as it is. Add to spec.{key}:", err=True)
            show(yaml.block(value), stream=sys.stderr)
    for item in backends:
        backend = own.get(item["name"])
        if backend is not None and backend.namespace != item.get("namespace", backend.namespace):
            message = f"the namespace is {backend.namespace}; OSMO has {item['namespace']}"
            say(f"Backend {backend.name} of {CONFIG_FILE} stays as it is: {message}", err=True)
    return not any(lacking.values())


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _refused(session: Session, has: str = "would have", *, besides: Collection[str] = ()) -> bool:
    """Whether the repository has errors, or would have them, outside the files ``besides``; prints these errors."""
    errors = [each for each in _errors(session) if each.location is None or each.location.path not in besides]
    if errors:
        show_findings(errors)
        say(f"Nothing was written: the repository {has} these errors.", err=True)
    return bool(errors)


def _errors(session: Session) -> list[Diagnostic]:
    return [each for each in session.diagnostics if each.severity is Severity.ERROR]


def _must_be_read(session: Session, paths: Iterable[str]) -> None:
    """Raises TasError if the repository's sources leave out one of the files to write."""
    config = session.fleet.config
    unread = sorted(path for path in paths if not is_read(path, config.sources, exclude=config.output))
    if unread:
        message = f"{', '.join(unread)} would not be read; nothing was written"
        raise TasError(message, hint=f"Add their folders to spec.sources of {CONFIG_FILE}.")


def _tell_next(root: Path) -> None:
    where = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{where} && kubectl tas render{where}", err=True)


def _tell(objects: Sequence[Compared], imported: Imported) -> None:
    """Prints what happens to the cluster when the files are rendered and applied."""
    known = [(item, x) for item in objects for x in item.differences or ()]
    same = [item for item in objects if item.differences is not None and all(x.is_same for x in item.differences)]
    say("")
    say("Rendered as in the cluster, with these labels and annotations added:")
    _list(same)
    written = [(item, x) for item, x in known if x.is_same]
    if written:
        say("Written explicitly, with the value that KAI assumes already:")
        for item, found in written:
            say(f"  {item.kind} {item.name}: {found.path}: {found.after}")
    changed = [(item, x) for item, x in known if not x.is_same]
    if changed:
        say("Would change:")
        for item, found in changed:
            say(f"  {item.kind} {item.name}: {found.path}: {found.before} -> {found.after}")
    if imported.clashes:
        say("Renamed here, since their names are taken; their queues keep their names:")
    for clash in imported.clashes:
        say(f"  {clash}")
    marks: dict[tuple[str, str], list[Compared]] = {}
    for item in objects:
        for mark in item.marks:
            marks.setdefault(mark, []).append(item)
    if marks:
        say("Not kept, since these tools set them for their own use:")
    for (what, tool), bearers in sorted(marks.items()):
        say(f"  {tool}: {what} of {', '.join(_named(bearers))}")
    new = [item for item in objects if item.differences is None]
    if new:
        say("New:")
        _list(new)
    tell_unplaced(imported.unplaced, CLUSTER)
    for note in imported.notes:
        say(note, err=True)


def tell_unplaced(unplaced: Iterable[Unplaced], heading: str, *, err: bool = False) -> None:
    """Prints the objects without a place in files, by reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in unplaced:
        held = f" (GPUs in use: {item.gpus})" if item.gpus else ""
        by_reason.setdefault((item.kind, item.reason), []).append(f"{item.name}{held}")
    if by_reason:
        say(heading, err=err)
    for (kind, reason), names in by_reason.items():
        say(f"  {kind} {', '.join(names)}: {reason}", err=err)


def _list(objects: Iterable[Compared]) -> None:
    for line in _named(objects):
        say(f"  {line}")


def _named(objects: Iterable[Compared]) -> list[str]:
    """Returns one phrase for the objects of each kind."""
    by_kind: dict[str, list[str]] = {}
    for item in objects:
        by_kind.setdefault(item.kind, []).append(item.name)
    return [f"{kind} {shortened(names, MAX_LISTED)}" for kind, names in by_kind.items()]
