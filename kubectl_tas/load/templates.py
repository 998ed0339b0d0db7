"""Expands templates of workflows to documents, which know their places in the template.

OSMO expands a workflow file, before parsing it, with its ``default-values`` and values of the command line
(``TemplateSpec`` of OSMO's src/utils/job/workflow.py, ``parse_workflow_spec`` of src/lib/utils/workflow.py). This
module does the same; values of a file or of the Config override the defaults, and the command line overrides all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.jinja.bounds import MAX_STEPS, TEMPLATE_LIMIT, TEMPLATE_UNSUPPORTED, Budget, kind
from kubectl_tas.load.document import Document, lookalikes, parse, waivers
from kubectl_tas.load.expansion import ExpandedLines, UnreadableError, WorkflowTemplate
from kubectl_tas.load.kinds import VALUES
from kubectl_tas.load.schema import INVALID_VALUE, read_model
from kubectl_tas.load.source import CONTROL, FILE_NOT_TEXT, SUFFIXES, RawFile, decode
from kubectl_tas.model.config import VALUES_FOLDER, Config, Setting
from kubectl_tas.model.repository import Declared, Waiver

VALUE_UNKNOWN = Rule(
    "value-unknown",
    Severity.ERROR,
    "The template has no use and no default for a given value.",
    "Most often its name is misspelled: kubectl-tas then expands the template with the default, and nobody notices. "
    "Correct the name, or remove it.",
)
VALUE_TYPE = Rule(
    "value-type",
    Severity.ERROR,
    "A value is of another type than its default.",
    "YAML reads an unquoted 1.10 as the number 1.1, and any text is true. Write the value in the type of its default; "
    "put text in quotes.",
)
VALUES_UNUSED = Rule(
    "values-unused",
    Severity.WARNING,
    "Values name a template that does not exist.",
    "The name of a values file, or of a key in spec.values, is the path of a template below the folder that "
    "kubectl-tas reads: values/team/train.yaml belongs to workflows/team/train.yaml. If no template has this path, the "
    "values have no effect.",
)


REPOSITORY_STEPS = 2_000_000
"""Steps that all templates of a repository share, besides FILE_STEPS for each template."""
FILE_STEPS = 10_000
"""Steps of each template that do not count as shared. A workflow of a hundred tasks needs fewer."""
_COMPARED = 20
"""The most names of one file that messages compare with other names."""


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """Values of a template, and their places."""

    values: Mapping[str, Any]
    instances: Sequence[Mapping[str, Any]]
    at: Callable[..., Location]


@dataclass(slots=True)
class Expansion:
    """The result of expanding a template."""

    documents: list[Document] = field(default_factory=list)
    waivers: list[Waiver] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    """Problems that prevented reading a part of the template."""
    remarks: list[Diagnostic] = field(default_factory=list)
    steps: int = 0
    """The cost in steps. It depends only on the template and its values, unless the limit is reached."""


class Allowance:
    """The steps that the templates of a repository share.

    Templates spend steps in the order of paths. A template is refused if it and the templates before it need more steps
    than REPOSITORY_STEPS. So the result follows from the steps of each template, which may be counted in any order or
    in parallel.
    """

    def __init__(self) -> None:
        self._left = REPOSITORY_STEPS
        self._last = ""

    @property
    def most(self) -> int:
        """The most steps of the next template before it is refused."""
        return FILE_STEPS + self._left

    def spend(self, path: str, steps: int, place: Callable[[], Location]) -> Diagnostic | None:
        """Spends the steps of the next template; returns a finding at ``place`` if the template is refused."""
        self._left -= max(steps - FILE_STEPS, 0)
        if self._left >= 0:
            return None
        self._left, self._last = 0, self._last or path
        used = "this one uses them up" if self._last == path else f"{self._last} has used them up"
        message = f"the templates share {REPOSITORY_STEPS:,} steps beyond {FILE_STEPS:,} of each; {used}"
        hint = "Write shorter loops in the templates before this one too, or fewer templates."
        return Diagnostic(TEMPLATE_LIMIT, message, place(), hint=hint)


class Templates:
    """The templates of a repository and their values."""

    def __init__(self, folders: Sequence[str], settings: Sequence[Setting]) -> None:
        self._folders = folders
        self._settings = settings
        self._given: dict[str, TemplateValues] = {}
        self._seen: set[str] = set()
        self._allowance = Allowance()
        self._known: set[str] = set()
        """Names of values that templates use or have defaults for."""
        self.waivers: list[Waiver] = []
        """The waivers in values files."""
        self.refused: list[str] = []
        """Problems with the settings of the command line."""

    def read_values(self, files: Sequence[RawFile], config: Declared[Config] | None) -> Iterator[Diagnostic]:
        """Reads values files and ``spec.values``, and yields their problems."""
        for raw in files:
            yield from self._read_file(raw)
        values_by_name = config.origin.value(("spec", "values")) if config is not None else None
        if config is None or not isinstance(values_by_name, dict):
            return
        for name, values in values_by_name.items():
            yield from self._take(name, values, partial(config.at, "spec", "values", name))

    def _read_file(self, raw: RawFile) -> Iterator[Diagnostic]:
        text, problem = decode(raw.path, raw.content) if raw.problem is None else ("", raw.problem)
        if problem is not None:
            yield problem
            return
        documents, problems = parse(raw.path, text)
        yield from problems
        self.waivers += waivers(raw.path, text, documents)
        for document in documents[:1]:
            model, wrong = read_model(VALUES, document)
            yield from wrong
            if model is not None:
                name = _without_suffix(raw.path.removeprefix(f"{VALUES_FOLDER}/"))
                yield from self._take(name, document.data, partial(_located, document))
        for document in documents[1:]:
            hint = "Give values that are for several workflows of one template as instances."
            yield Diagnostic(INVALID_VALUE, "a values file has one document", document.locate(()), hint=hint)

    def _take(self, name: str, values: dict[str, Any], at: Callable[..., Location]) -> Iterator[Diagnostic]:
        earlier = self._given.get(name)
        if earlier is not None:
            related = (Related("first here", earlier.at()),)
            hint = "Write all of them in one place."
            yield Diagnostic(INVALID_VALUE, f"values of {name} are given twice", at(), related, hint=hint)
            return
        if values.get("instances") == []:
            message = "instances has no entry, and the template itself would be a workflow"
            hint = "Remove instances where that is meant; or remove the template with its values."
            yield Diagnostic(INVALID_VALUE, message, at("instances"), hint=hint)
        shared = {key: value for key, value in values.items() if key != "instances"}
        self._given[name] = TemplateValues(shared, values.get("instances") or (), at)

    def finish(self) -> Iterator[Diagnostic]:
        """Yields a warning for values without a template, once all files are read."""
        used_names = sorted(self._seen)
        available = f"Available: {shortened(used_names)}." if used_names else "There is no template."
        by_name: dict[str, list[str]] = {}
        for template_name in used_names:
            by_name.setdefault(PurePosixPath(template_name).name, []).append(template_name)
        for number, name in enumerate(sorted(self._given.keys() - self._seen)):
            message = f"no template has the name {name}; these values count for nothing"
            namesakes = by_name.get(PurePosixPath(name).name, [])
            compared = used_names if number < _COMPARED else ()
            hint = f'Did you mean "{namesakes[0]}"?' if len(namesakes) == 1 else did_you_mean(name, compared, available)
            yield Diagnostic(VALUES_UNUSED, message, self._given[name].at(), hint=hint)

    def unused(self) -> Iterator[str]:
        """Yields a message for each setting of the command line that no template uses."""
        for setting in self._settings:
            if setting.name not in self._known:
                names = sorted(self._known)
                hint = did_you_mean(setting.name, names, f"Available: {', '.join(names) or 'none'}.")
                yield f'no template uses the value "{setting.name}". {hint}'

    def expand(self, path: str, text: str) -> Expansion:
        """Returns the documents of all instances of a template. Never raises for bad input."""
        expansion = Expansion()
        name = self._name(path)
        if name is not None:
            self._seen.add(name)
        values_of_template = self._given.get(name or "") or TemplateValues({}, (), lambda *_: Location(path))
        template = WorkflowTemplate(path, text.replace("\r\n", "\n").replace("\r", "\n"))
        budget = Budget(min(MAX_STEPS, self._allowance.most))
        try:
            names = [
                *values_of_template.values,
                *(key for instance in values_of_template.instances for key in instance),
            ]
            defaults = template.read({*names, *(setting.name for setting in self._settings)})
            self._known |= template.names | defaults.keys()
            expansion.problems += self._mismatches(values_of_template, defaults, template.names)
            if expansion.problems:
                return expansion
            command_line_values = self._set(path, defaults)
            for index, instance in enumerate(values_of_template.instances or (None,)):
                values = {**defaults, **values_of_template.values, **(instance or {}), **command_line_values}
                documents = _documents(expansion, path, template.expand(values, budget))
                if instance is not None:
                    documents = _with_instance_name(
                        expansion, documents, str(instance["name"]), values_of_template.at("instances", index, "name")
                    )
                expansion.documents += documents
        except UnreadableError as wrong:
            expansion.problems.append(wrong.diagnostic)
        expansion.steps = budget.spent
        refused = self._allowance.spend(path, expansion.steps, template.start)
        if refused is not None:
            return Expansion(problems=[refused], steps=expansion.steps)
        expansion.problems = list({problem.sort_key: problem for problem in expansion.problems}.values())
        expansion.waivers = list(dict.fromkeys(expansion.waivers))
        for index, document in enumerate(expansion.documents):
            document.index = index
        return expansion

    def _name(self, path: str) -> str | None:
        """Returns the name of a template in values: its path below the source folder, without the suffix."""
        for folder in sorted(self._folders, key=len, reverse=True):
            if folder == "." or path.startswith(f"{folder}/"):
                return _without_suffix(path.removeprefix(f"{folder}/"))
        return None

    def _mismatches(
        self, values_of_template: TemplateValues, defaults: Mapping[str, Any], names: Collection[str]
    ) -> Iterator[Diagnostic]:
        """Yields a finding for each value that the template does not use or whose type differs from its default."""
        names_of_template = sorted({*names, *defaults})
        names_text = f"It uses {shortened(names_of_template)}." if names_of_template else "It uses none."
        unknown = 0
        for within, values in (
            ((), values_of_template.values),
            *((("instances", n), instance) for n, instance in enumerate(values_of_template.instances)),
        ):
            for key, value in values.items():
                location = values_of_template.at(*within, key)
                if key not in names and key not in defaults and not (within and key == "name"):
                    unknown += 1
                    hint = did_you_mean(key, names_of_template if unknown <= _COMPARED else (), names_text)
                    yield Diagnostic(VALUE_UNKNOWN, f'the template uses no value "{key}"', location, hint=hint)
                elif _differ_in_type(defaults.get(key), value):
                    message = f"{key} is {kind(defaults[key])} in default-values, here {kind(value)}"
                    hint = (
                        "Put it in quotes."
                        if isinstance(defaults[key], str)
                        else "Write a value of the same type as the default."
                    )
                    yield Diagnostic(VALUE_TYPE, message, location, hint=hint)

    def _set(self, path: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values of the command line, and records those whose type differs from their defaults."""
        for setting in self._settings:
            default = defaults.get(setting.name)
            if (
                isinstance(default, str)
                and not isinstance(setting.value, str)
                and str(setting.value) != setting.written
            ):
                self.refused.append(
                    f"{setting.name} is text in {path}, and {setting.written} would be the number {setting.value}: "
                    f"write --set-string {setting.name}={setting.written}"
                )
            elif not isinstance(default, str) and _differ_in_type(default, setting.value):
                self.refused.append(
                    f"{setting.name} is {kind(default)} in {path}, and --set gives {kind(setting.value)}: "
                    f"set it in a values file"
                )
        return {setting.name: setting.value for setting in self._settings}


def _documents(result: Expansion, path: str, lines: ExpandedLines) -> list[Document]:
    """Returns the workflows of an expanded text; adds problems, waivers and remarks to ``result``."""
    control = CONTROL.search(lines.text)
    if control is not None:
        message = f"the control character U+{ord(control[0]):04X} is not text"
        location = lines.at(control.start(), control.end())
        result.problems.append(Diagnostic(FILE_NOT_TEXT, message, location, hint="Remove it from the value."))
        return []
    documents, problems = parse(path, lines.text, lines)
    if problems:  # once more as a file of its own: the words about a slip look at what stands there
        result.problems += (_in_template(problem, lines) for problem in parse(path, lines.text)[1])
    if not documents and not problems:
        message, hint = "the template expands to nothing", "Write the workflow without a condition, or remove the file."
        result.problems.append(Diagnostic(TEMPLATE_UNSUPPORTED, message, lines.start(), hint=hint))
    workflows = [document for document in documents if isinstance(document.data, dict) and "workflow" in document.data]
    for document in documents:
        if document not in workflows:
            message = "a template expands to workflows alone"
            hint = "Move what is no workflow to a file of its own; text that is no template belongs in {% raw %}."
            result.problems.append(Diagnostic(TEMPLATE_UNSUPPORTED, message, document.locate(()), hint=hint))
    result.waivers += (
        Waiver(waiver.rules, lines.original(waiver.place), lines.line(waiver.line))
        for waiver in waivers(path, lines.text, documents)
    )
    result.remarks += (_in_template(finding, lines) for finding in lookalikes(path, lines.text, documents))
    return workflows


def _with_instance_name(result: Expansion, documents: list[Document], name: str, location: Location) -> list[Document]:
    """Returns the one workflow of an instance with its name, which is given at ``location``."""
    if len(documents) > 1:
        message = f"instances are of one workflow, and the template has {len(documents)}"
        hint = "Write each workflow into a file of its own."
        result.problems.append(Diagnostic(INVALID_VALUE, message, location, hint=hint))
    return [document.with_value(("workflow", "name"), name, location) for document in documents[:1]]


def _in_template(diagnostic: Diagnostic, lines: ExpandedLines) -> Diagnostic:
    """Converts a finding in an expanded text to one in its template."""
    if diagnostic.location is None:
        return diagnostic
    location, shown = lines.original(diagnostic.location), diagnostic.location.source.strip()
    related = [
        Related(related_place.message, related_place.location and lines.original(related_place.location))
        for related_place in diagnostic.related
    ]
    if shown and shown != location.source.strip():
        related.append(Related(f"expanded, the line is: {shown}", None))
    return replace(diagnostic, location=location, related=tuple(related))


def _differ_in_type(default: object, value: object) -> bool:
    return default is not None and value is not None and kind(default) != kind(value)


def _located(document: Document, *path: str | int) -> Location:
    return document.locate(path)


def _without_suffix(path: str) -> str:
    return next((path.removesuffix(ending) for ending in SUFFIXES if path.endswith(ending)), path)
