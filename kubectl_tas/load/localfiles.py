"""What the tasks of workflows have as localpath, read with everything else so that compiling reads nothing."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.load.source import RawFile, Source
from kubectl_tas.model.osmo_workflow import File, Workflow
from kubectl_tas.model.repository import Declared, LocalFile, local_path

LOCAL_FILE = Rule(
    "local-file",
    Severity.ERROR,
    "A localpath names no file of the repository, or one that git does not have.",
    "The file is read where the workflow is rendered, so it lies in the repository: else two checkouts would render "
    "different manifests. git must have it (`git add`): a file that git ignores, such as .env, would reach the "
    "manifest and the log of the job. In a folder without git, no hidden file is read. The path begins at the folder "
    "of the workflow's file, as in OSMO. Each file has its own entry; a folder cannot be named.",
)


def read_local_files(
    source: Source, workflows: Iterable[Declared[Workflow]]
) -> tuple[dict[str, LocalFile], list[Diagnostic]]:
    """The files by their path from the root, and what is wrong with those that cannot be had.

    Raises TasError where one cannot be read.
    """
    read: dict[str, RawFile] = {}
    problems: list[Diagnostic] = []
    for declared in workflows:
        for place, file in _local(declared):
            path = local_path(declared.origin.path, str(file.localpath))
            if path.startswith("/") or path.split("/")[0] == "..":
                message = f'the localpath "{file.localpath}" leads out of the repository'
                hint = "Copy the file into the repository, and name it from the folder of the workflow's file."
                problems.append(Diagnostic(LOCAL_FILE, message, place, hint=hint))
                continue
            raw = read[path] if path in read else read.setdefault(path, source.local_file(path))
            if raw.problem is not None:
                message = f'the localpath "{file.localpath}" means {path}: {raw.problem.message}'
                problems.append(Diagnostic(LOCAL_FILE, message, place, hint=raw.problem.hint))
    found = {path: LocalFile(raw.content, raw.is_executable) for path, raw in read.items() if raw.problem is None}
    return found, problems


def has_local_files(declared: Declared[Workflow]) -> bool:
    """Whether any task names a file of the repository."""
    return next(iter(_local(declared)), None) is not None


def _local(declared: Declared[Workflow]) -> Iterable[tuple[Location, File]]:
    """The files with a localpath, and where it stands."""
    spec = declared.spec.workflow
    groups = [(group.tasks, ("workflow", "groups", index, "tasks")) for index, group in enumerate(spec.groups)]
    for tasks, path in [*groups, (spec.tasks, ("workflow", "tasks"))]:
        for at, task in enumerate(tasks):
            for index, file in enumerate(task.files):
                if file.localpath is not None:
                    yield declared.at(*path, at, "files", index, "localpath"), file
