"""Checks the files, credentials and volume mounts of tasks: conflicting paths, oversized files, invalid names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.check.workflow_fields import TASK_DATA
from kubectl_tas.gangs.task_files import MAX_BYTES, OUTPUT, data_paths, filled, is_below, normal, task_file
from kubectl_tas.gangs.task_pods import mounted_secrets
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_NAME
from kubectl_tas.model.osmo_workflow import Task, Workflow
from kubectl_tas.model.repository import Declared, local_path
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

MOUNT_PATH = Rule.error(
    "mount-path",
    "A file or a Secret of a task cannot have its path in the container.",
    "The API server refuses the pod, or its container never starts, or misses files of its image. Paths are absolute. "
    "No path may repeat, be below a file, or be in the folder of a Secret, where nothing else can be created. A Secret "
    "hides what the image has in its folder, so it needs its own folder.",
)
FILE_SIZE = Rule.error(
    "file-size",
    "A file of a task has more than 1 MiB.",
    "`render` keeps the files of tasks in ConfigMaps, and the API server accepts at most 1 MiB in one. Put larger "
    "files into the image, or let the task fetch them.",
)
CREDENTIAL = Rule.error(
    "credential",
    "A credential of a task cannot be a Secret, a key or a variable.",
    "A credential is a Secret in the namespace of the work. Its name is folded, like all names of a workflow. "
    "Kubernetes refuses names and keys with other characters. If a variable has two values, one is lost.",
)
_Kind = Literal["file", "Secret", "volumeMount"]
_RESERVED = ("/proc", "/sys", "/dev", "/var/run/secrets/kubernetes.io", "/run/secrets/kubernetes.io")
"""Folders that the container runtime and the kubelet fill."""
_OSMO = "/osmo"
_NEEDED = frozenset(
    f"/{name}" for name in ("bin", "boot", "etc", "home", "lib", "lib64", "opt", "root", "run", "sbin", "srv", "tmp")
) | {"/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/sbin", "/var", "/var/run", "/var/tmp"}
"""Folders that an image needs, or that its programs write to."""
_KEY = late_pattern(r"(?!\.\.|\.$)[-._a-zA-Z0-9]{1,253}")
_VARIABLE = late_pattern(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_LONGEST_VALUE = MAX_NAME
"""Maximum length of the text that replaces a token."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """A path that is mounted into a container."""

    kind: _Kind
    path: str
    place: Location

    @property
    def words(self) -> str:
        return f'the {self.kind} "{self.path}"'


def check_mounts(declared: Declared[Workflow], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every task of a workflow, whether its pool exists or not."""
    for _, task, path in declared.spec.all_tasks:
        if task.files or task.credentials:
            yield from _mounts(declared, task, path)
            yield from _contents(fleet, declared, task, path)
            yield from _credentials(declared, task, path)


def _mounts(declared: Declared[Workflow], task: Task, path: KeyPath) -> Iterator[Diagnostic]:
    values = data_paths(task)
    wanted_mounts: list[tuple[_Kind, str, KeyPath]] = [
        *(("volumeMount", m.rpartition(":")[2], ("volumeMounts", i)) for i, m in enumerate(task.volumeMounts)),
        *(("file", file.path, ("files", index, "path")) for index, file in enumerate(task.files)),
        *(("Secret", folder, ("credentials", name)) for name, folder in mounted_secrets(task).items()),
    ]
    mounts_by_path: dict[str, _Mount] = {}
    for kind, spelling, key_path in wanted_mounts:
        mount = _Mount(kind, filled(spelling, values), declared.at(*path, *key_path))
        problem = None if kind == "volumeMount" else _misplaced(mount)
        if problem is not None:
            yield Diagnostic(MOUNT_PATH, f"{mount.words} {problem[0]}", mount.place, hint=problem[1])
            continue
        spelled = normal(mount.path)
        earlier = mounts_by_path.setdefault(spelled, mount)
        if earlier is not mount:
            related = (Related("the other one", earlier.place),)
            message = f"{mount.words} has the path of {earlier.words}"
            yield Diagnostic(MOUNT_PATH, message, mount.place, related, hint="Change one of the paths.")
    for spelled, mount in mounts_by_path.items():
        above = (mounts_by_path.get(str(parent)) for parent in PurePosixPath(spelled).parents)
        outer = next(
            (volume_mount for volume_mount in above if volume_mount is not None and volume_mount.kind != "volumeMount"),
            None,
        )
        if outer is not None:
            limitation = "is no folder" if outer.kind == "file" else "holds nothing but its keys"
            message = f"{mount.words} lies below {outer.words}, which {limitation}"
            related = (Related("the other one", outer.place),)
            yield Diagnostic(MOUNT_PATH, message, mount.place, related, hint="Change one of the paths.")


def _misplaced(mount: _Mount) -> tuple[str, str] | None:
    """Returns what is wrong with a path by itself, and how to fix it; None if the path is valid."""
    path = mount.path
    spelled = normal(path)
    if not path.startswith("/"):
        return "is no absolute path", _absolute(mount)
    if ".." in path.split("/") or ":" in path:
        return "has '..' or ':' in its path, which Kubernetes refuses", "Write it without."
    if mount.kind == "file" and (path.endswith("/") or spelled == "/"):
        return "is the path of a folder", "Add the name that the file is to have there."
    if is_below(_RESERVED, spelled):
        return "lies where the node fills in its own", "Choose another folder."
    if is_below((_OSMO,), spelled) and not spelled.startswith(f"{OUTPUT}/"):
        return f"lies in {_OSMO}, which OSMO keeps for itself", "Choose another folder."
    if mount.kind == "Secret" and (spelled == "/" or spelled in _NEEDED):
        return (
            "would hide all that the image has there",
            f"Give it a folder of its own, such as {PurePosixPath(spelled, 'secret')}.",
        )
    return None


def _absolute(mount: _Mount) -> str:
    """Says how to write a path that is not absolute. A word of a credential may be a variable, or a key of the Secret:
    ``credentials`` has NAME: FOLDER or NAME: {VARIABLE: KEY} (``TaskSpec`` of OSMO's src/utils/job/task.py).
    """
    word = mount.path
    if mount.kind != "Secret" or "/" in word or not _KEY.fullmatch(word):
        return "Begin it with /."
    entry = f"{{{word}: KEY}}, with a key of the Secret" if _VARIABLE.fullmatch(word) else f"{{VARIABLE: {word}}}"
    return f"For a variable, write {entry}. For a folder, begin it with /."


def _contents(fleet: Fleet, declared: Declared[Workflow], task: Task, path: KeyPath) -> Iterator[Diagnostic]:
    origin, local_files = declared.origin.path, fleet.repository.local_files
    for index, file_entry in enumerate(task.files):
        file = task_file(file_entry, origin, local_files)
        location = declared.at(*path, "files", index, "localpath" if file_entry.contents is None else "contents")
        if file is None:
            local = None if file_entry.localpath is None else local_path(origin, file_entry.localpath)
            if file_entry.base64 and (file_entry.contents is not None if local is None else local in local_files):
                message = f'files[{index}] of the task "{task.name}" is no base64'
                yield Diagnostic(TASK_DATA, message, location, hint="Write it in base64, or remove base64: true.")
            continue
        size = len(file.content)
        if size <= MAX_BYTES and file.tokens:
            size += _LONGEST_VALUE * file.content.count(b"{{")
        if size > MAX_BYTES:
            message = f'the file "{file.path}" of the task "{task.name}" has {size / MAX_BYTES:.2f} MiB'
            hint = "At most 1 MiB fits; put it into the image, or let the task fetch it."
            yield Diagnostic(FILE_SIZE, message, location, hint=hint)


def _credentials(declared: Declared[Workflow], task: Task, path: KeyPath) -> Iterator[Diagnostic]:
    variables = dict.fromkeys(task.environment, "environment")
    mounted: dict[str, str] = {}
    for name, keys in task.credentials.items():
        where = (*path, "credentials", name)
        secret = names.fold(name)
        if not names.is_object_name(secret):
            hint = "Letters, digits, '-', '_' and '.', a letter or digit at both ends."
            yield _wrong(f'"{name}" cannot be the name of a Secret', declared.at_key(*where), hint)
        if isinstance(keys, str):
            first_name = mounted.setdefault(secret, name)
            if first_name != name:
                message = f'"{first_name}" and "{name}" are one Secret, and are mounted twice'
                yield _wrong(message, declared.at_key(*where), "Mount it once.")
            continue
        for variable, key in keys.items():
            if _KEY.fullmatch(str(key)) is None:
                message = f'"{key}" cannot be a key of the Secret "{secret}"'
                yield _wrong(message, declared.at(*where, variable), "Letters, digits, '-', '_' and '.'.")
            owner = variables.setdefault(variable, f'the credential "{name}"')
            if owner != f'the credential "{name}"':
                message = f'the variable "{variable}" of the task "{task.name}" is set by {owner} too'
                yield _wrong(message, declared.at_key(*where, variable), "Remove one of the two.")


def _wrong(message: str, location: Location, hint: str) -> Diagnostic:
    return Diagnostic(CREDENTIAL, message, location, hint=hint)
