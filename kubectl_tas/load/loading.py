"""Loads the repository that a source declares, with a finding for each problem in its documents. Reads the files that
tasks name as localpath too, so that compiling reads nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from kubectl_tas import kinds
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.folders import is_hidden, misspelled
from kubectl_tas.base.late import dataclass, imported
from kubectl_tas.jinja.bounds import TEMPLATE_UNSUPPORTED
from kubectl_tas.kinds import SET
from kubectl_tas.load.document import Document, Lines, lookalikes, parse, waivers
from kubectl_tas.load.kinds import COMPANION, Kind, decides, recognise
from kubectl_tas.load.osmofiles import expanded_by_osmo, template_root
from kubectl_tas.load.rights import ADMIN_SOURCE_UNREAD, holds_nothing
from kubectl_tas.load.schema import INVALID_VALUE, items_of, read_model
from kubectl_tas.load.source import CONFIG_FILE, MemorySource, RawFile, Source, decode
from kubectl_tas.model.config import DEFAULT_ADMIN_SOURCES, DEFAULTS, VALUES_FOLDER, Config, ConfigSpec, Setting
from kubectl_tas.model.osmo_workflow import File, Workflow
from kubectl_tas.model.repository import Declared, LocalFile, Repository, Unread, Waiver, local_path

if TYPE_CHECKING:
    from kubectl_tas.load.templates import Templates
    from kubectl_tas.model.workloads import Workload


CONFIG_MISPLACED = Rule(
    "config-misplaced",
    Severity.ERROR,
    "A Config is outside of tas.yaml, or tas.yaml has two.",
    "The settings decide which folders kubectl-tas reads, so it must find them first. Keep one Config, in tas.yaml at "
    "the root of the repository.",
)
SOURCE_MISSING = Rule(
    "source-missing",
    Severity.ERROR,
    "A folder that spec.sources names does not exist.",
    "Its documents would be missing from the manifests. Correct the name, or create the folder.",
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading."""

    repository: Repository
    diagnostics: tuple[Diagnostic, ...]
    refused: tuple[str, ...] = ()
    """Problems with the template settings from the command line."""

    @property
    def complete(self) -> bool:
        """False if a document could not be read. A name that seems undefined may be defined in that document."""
        return not self.repository.unread


def load_repository(
    source: Source, tick: Callable[[int, int], None] | None = None, settings: Sequence[Setting] = ()
) -> Loaded:
    """Reads and checks every document.

    Calls ``tick`` with the number of files done and the total. ``settings`` are values of templates and override all
    others. Raises TasError if a folder or file cannot be read.
    """
    loader = _Loader(source, settings)
    loader.read_config()
    loader.read_sources(tick or (lambda _done, _total: None))
    return loader.finish()


def config_of(source: Source) -> ConfigSpec:
    """Returns the settings of a repository; the defaults if the Config is absent or unreadable."""
    loader = _Loader(source, ())
    loader.read_config()
    found = loader.found["Config"]
    spec: ConfigSpec = found[0].spec.spec if found else DEFAULTS
    return spec


def load_work(raw: RawFile, config: ConfigSpec) -> Loaded | None:
    """Returns the declarations of one file, judged with no other knowledge than the kinds that the Config adds. Returns
    None if the file is a template, or names other files.
    """
    loader = _Loader(MemorySource({}), (), config)
    if not loader.read_file(raw, expand=False) or any(map(has_local_files, loader.found["Workflow"])):
        return None
    return loader.finish()


_WORK = "workloads"
_ORDER = {name: index for index, name in enumerate(kinds.BY_NAME)}


def _has_values(raw: RawFile) -> bool:
    return raw.path.startswith(f"{VALUES_FOLDER}/")


class _Loader:
    """Collects documents by kind, and diagnostics."""

    def __init__(self, source: Source, settings: Sequence[Setting], config: ConfigSpec | None = None) -> None:
        self.source = source
        self.settings = settings
        self.folders: list[str] = []
        self.made: Templates | None = None
        self.found: dict[str, list[Declared[Any]]] = defaultdict(list)
        self.diagnostics: list[Diagnostic] = []
        self.unread: list[Unread] = []
        self.waivers: list[Waiver] = []
        self.refused_config: Document | None = None
        self.files: list[str] = []
        self.absent: list[str] = []
        self.links: dict[str, str] = {}
        self._config = config

    def read_config(self) -> None:
        """Reads ``tas.yaml``, which may hold other documents too."""
        raw = self.source.config()
        if raw is not None:
            self.read_file(raw)

    def read_sources(self, tick: Callable[[int, int], None]) -> None:
        """Reads every file of the folders that the Config names."""
        declared = self.found["Config"][0] if self.found["Config"] else None
        spec: ConfigSpec = declared.spec.spec if declared else DEFAULTS
        if declared is not None:
            self._check_folders(declared, spec)
        self.folders = [folder for folder in spec.sources if misspelled(folder) is None]
        self.absent = [folder for folder in self.folders if not self.source.has_folder(folder)]
        found = self.source.files(self.folders, exclude=spec.output)
        files = sorted((raw for raw in found if not _has_values(raw)), key=_has_no_karta)
        below = self.source.files([VALUES_FOLDER], exclude=spec.output) if self.source.has_folder(VALUES_FOLDER) else ()
        values = [raw for raw in below if _has_values(raw)]  # what is sent is not in the folder that it is asked for
        self.files += [raw.path for raw in values]
        if values or spec.values or self.settings:
            self._refuse(*self.templates.read_values(values, declared))
            self.waivers += self.templates.waivers
        for index, raw in enumerate(files):
            self.read_file(raw)
            tick(index + 1, len(files))

    @property
    def templates(self) -> Templates:
        """The templates, created when first needed: a repository without templates does not import Jinja."""
        if self.made is None:
            from kubectl_tas.load.templates import Templates

            self.made = Templates(self.folders, self.settings)
        return self.made

    def finish(self) -> Loaded:
        """Returns the repository and the diagnostics, in no particular order."""
        found, refused = self.found, tuple[str, ...]()
        local_files, problems = read_local_files(self.source, found["Workflow"])
        self.diagnostics += problems
        if self.made is not None:
            refused = tuple(self.made.refused)
        if self.made is not None and not self.unread:
            self.diagnostics += self.made.finish()
            refused += tuple(self.made.unused())
        repository = Repository(
            config=found["Config"][0] if found["Config"] else None,
            refused_config=self.refused_config,
            pools=tuple(found["Pool"]),
            subpools=tuple(found["Subpool"]),
            pod_templates=tuple(found["PodTemplate"]),
            resource_validations=tuple(found["ResourceValidation"]),
            topologies=(*found["ClusterTopology"], *found["ClusterTopologyBinding"]),
            workflows=tuple(found["Workflow"]),
            pod_groups=tuple(found["PodGroup"]),
            pod_clique_sets=tuple(found[SET.kind]),
            operators=tuple(found["OperatorConfiguration"]),
            companions=tuple(found["Companion"]),
            kartas=tuple(found["Karta"]),
            shards=tuple(found["SchedulingShard"]),
            workloads=tuple(sorted(found[_WORK], key=lambda item: _ORDER.get(item.spec.kind, len(_ORDER)))),
            local_files=local_files,
            waivers=tuple(self.waivers),
            unread=tuple(self.unread),
            files=tuple(self.files),
            absent=tuple(self.absent),
            links=self.links,
        )
        return Loaded(repository, tuple(self.diagnostics), refused)

    def read_file(self, raw: RawFile, *, expand: bool = True) -> bool:
        """Reads the documents of one file. Without ``expand``, skips a template and returns False."""
        self.files.append(raw.path)
        if raw.link is not None:
            self.links[raw.path] = raw.link
        text, problem = decode(raw.path, raw.content) if raw.problem is None else ("", raw.problem)
        if problem is not None:
            self._refuse(problem)
            return True
        root = template_root(text)
        if root is not None:
            if expand:
                self._template(raw.path, text, root)
            return expand
        documents, problems = parse(raw.path, expanded_by_osmo(text), Lines(raw.path, text))
        self._refuse(*problems)
        self.waivers += waivers(raw.path, text, documents)
        self.diagnostics += lookalikes(raw.path, text, documents)
        items = [item for document in documents for item in items_of(document)]
        if not _has_no_karta(raw):
            items.sort(key=_is_no_karta)
        for item in sorted(items, key=_is_no_config) if raw.path == CONFIG_FILE else items:
            if isinstance(item, Diagnostic):
                self._refuse(item)
            else:
                self._document(item)
        return True

    def _template(self, path: str, text: str, root: int) -> None:
        """Expands a template; ``root`` is the index of its root key."""
        if path == CONFIG_FILE:
            hint = "Move it to a file of its own, in a folder that is read."
            message = "the Config and a template do not share a file"
            return self._refuse(Diagnostic(TEMPLATE_UNSUPPORTED, message, Lines(path, text).at(root), hint=hint))
        expansion = self.templates.expand(path, text)
        self._refuse(*expansion.problems)
        self.waivers += expansion.waivers
        self.diagnostics += expansion.remarks
        before = len(self.diagnostics)
        for document in expansion.documents:
            self._document(document)
        found = self.diagnostics[before:]  # a slip in a loop is one, however often it is expanded
        self.diagnostics[before:] = {(item.rule, item.location): item for item in reversed(found)}.values()
        return None

    def _document(self, document: Document) -> None:
        kind = recognise(document, self._config)
        if isinstance(kind, Diagnostic):
            if document.path == CONFIG_FILE:
                self.refused_config = document
            return self._refuse(kind)
        model, problems = read_model(kind, document)
        self._refuse(*problems, is_work=not decides(kind))
        if model is not None:
            self._declare(kind, model, document)
        elif kind.schema == "config" and document.path == CONFIG_FILE:
            self.refused_config = document
        return None

    def _declare(self, kind: Kind, model: BaseModel | Workload, document: Document) -> None:
        declared = Declared(model, document)
        if isinstance(model, Config) and (document.path != CONFIG_FILE or self.found["Config"]):
            first = self.found["Config"][0].at("kind") if self.found["Config"] else None
            related = (Related("the Config that counts", first),) if first else ()
            second = document.path == CONFIG_FILE
            message = "tas.yaml has a second Config" if second else "a Config counts only in tas.yaml"
            location = document.locate(("kind",))
            hint = "Make one of the two." if second else "Move it to tas.yaml at the root, or remove it."
            return self._refuse(Diagnostic(CONFIG_MISPLACED, message, location, related, hint=hint))
        if isinstance(model, Config):
            self._config = model.spec
        if kind.name == "Karta" and kind.described is None:
            with_kartas = imported("kubectl_tas.model.karta:with_kartas")
            self._config = with_kartas(self._config or DEFAULTS, [model])
        name = "Companion" if kind.model_path == COMPANION else kind.name if kind.described is None else _WORK
        self.found[name].append(declared)
        return None

    def _refuse(self, *problems: Diagnostic, is_work: bool = False) -> None:
        """Adds the problems of one document, which is not read because of them."""
        self.diagnostics += problems
        place = min((item.location for item in problems if item.location), default=None)
        if problems:
            self.unread.append(Unread(place or Location(CONFIG_FILE), is_work))

    def _check_folders(self, declared: Declared[Any], spec: ConfigSpec) -> None:
        """Adds a finding for each folder of the Config that is outside the repository or absent."""
        for index, folder in enumerate(spec.sources):
            location = declared.at("spec", "sources", index)
            if not self._is_folder(folder, location):
                continue
            if "sources" in spec.model_fields_set and not self.source.has_folder(folder):
                message = f'the folder "{folder}" does not exist'
                hint = "Correct the name, or create the folder."
                self._refuse(Diagnostic(SOURCE_MISSING, message, location, hint=hint))
        for index, folder in enumerate(spec.adminSources if "adminSources" in spec.model_fields_set else ()):
            location = declared.at("spec", "adminSources", index)
            is_other = folder not in DEFAULT_ADMIN_SOURCES  # a repository may do without some of the defaults
            if self._is_folder(folder, location) and is_other and holds_nothing(folder, spec.sources):
                hint = "Correct its name, or add it to spec.sources."
                message = f"no file of {folder} is read, so nothing in it counts"
                self.diagnostics.append(Diagnostic(ADMIN_SOURCE_UNREAD, message, location, hint=hint))
        location = declared.at("spec", "output")
        if self._is_folder(spec.output, location) and (spec.output == "." or is_hidden(spec.output)):
            message = "the output is the repository itself"
            if spec.output != ".":
                message = f'the output "{spec.output}" is a hidden folder, which other programs read'
            hint = "Choose a folder of its own, such as manifests."
            self.diagnostics.append(Diagnostic(INVALID_VALUE, message, location, hint=hint))

    def _is_folder(self, folder: str, location: Location) -> bool:
        """Whether a path can name a folder of the repository; adds a finding if not."""
        problem = misspelled(folder)
        if problem is not None:
            self.diagnostics.append(Diagnostic(INVALID_VALUE, problem[0], location, hint=problem[1]))
        return problem is None


def _has_no_karta(raw: RawFile) -> bool:
    """Whether a file can be read after the files that declare kinds."""
    return b"Karta" not in raw.content


def _is_no_karta(item: Document | Diagnostic) -> bool:
    data = item.data if isinstance(item, Document) else None
    return not (isinstance(data, dict) and data.get("kind") == "Karta")


def _is_no_config(item: Document | Diagnostic) -> bool:
    """Whether an item of a file can be read after the Config, which adds kinds."""
    data = item.data if isinstance(item, Document) else None
    return not (isinstance(data, dict) and data.get("kind") == "Config")


LOCAL_FILE = Rule(
    "local-file",
    Severity.ERROR,
    "A localpath names no file of the repository that git has.",
    "`render` reads the file, so it must be in the repository: else two checkouts would render different manifests. "
    "git must track it (`git add`). A file that git ignores, such as .env, would reach the manifest and the log of the "
    "job. In a folder without git, hidden files are not read. The path is relative to the folder of the workflow's "
    "file, as in OSMO. Each file needs its own entry; you cannot name a folder.",
)


def read_local_files(
    source: Source, workflows: Iterable[Declared[Workflow]]
) -> tuple[dict[str, LocalFile], list[Diagnostic]]:
    """Returns the local files by path from the root, and a finding for each file that is not available.

    Raises TasError if a file cannot be read.
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
    """Yields each file with a localpath, and the place of the localpath."""
    spec = declared.spec.workflow
    groups = [(group.tasks, ("workflow", "groups", index, "tasks")) for index, group in enumerate(spec.groups)]
    for tasks, path in [*groups, (spec.tasks, ("workflow", "tasks"))]:
        for at, task in enumerate(tasks):
            for index, file in enumerate(task.files):
                if file.localpath is not None:
                    yield declared.at(*path, at, "files", index, "localpath"), file
