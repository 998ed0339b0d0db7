"""Loads, resolves and checks a repository, for every command that judges one, and applies rule settings and waivers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, Waiving, in_order
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.resources import all_rules
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.check import all_findings
from kubectl_tas.check.deduplicate import without_consequences
from kubectl_tas.check.secrets import SECRET_IN_CLEAR
from kubectl_tas.check.settings import WAIVER_UNUSED
from kubectl_tas.kinds.section import mappings
from kubectl_tas.load.kinds import UNKNOWN_KIND, not_read
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import Source
from kubectl_tas.model.config import Setting
from kubectl_tas.model.repository import Repository
from kubectl_tas.resolve.fleet import Fleet, resolve

RULE_SETTING = Rule.error(
    "rule-setting",
    "spec.rules names an unknown rule, or one that nobody can change.",
    "A setting without effect looks like a safeguard. You cannot lower rules that keep manifests valid and right; "
    "`kubectl tas rule CODE` says which ones you can.",
)
OFF = "off"


@dataclass(frozen=True, slots=True)
class Judged:
    """A repository after loading and checking."""

    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """All findings, with the severities of their rules."""
    refused: tuple[str, ...]
    """Errors in the template settings of the command line."""

    @property
    def complete(self) -> bool:
        """False if a document could not be read. Seemingly missing objects may be in that document."""
        return not self.fleet.repository.unread


def judge(
    source: Source,
    tick: Callable[[int, int], None] | None = None,
    settings: Sequence[Setting] = (),
    adjust: Callable[[Repository], Repository] | None = None,
) -> Judged:
    """Loads, resolves and checks the repository in ``source``, changed by ``adjust``. ``load_repository`` explains
    ``tick`` and ``settings``. Raises TasError if the source cannot be read.
    """
    loaded = load_repository(source, tick, settings)
    if loaded.refused:
        return Judged(resolve(loaded.repository), loaded.diagnostics, loaded.refused)
    fleet = resolve(adjust(loaded.repository) if adjust else loaded.repository)
    return Judged(fleet, (*loaded.diagnostics, *all_findings(fleet, complete=loaded.complete)), ())


def counted_and_waived(
    diagnostics: Iterable[Diagnostic], fleet: Fleet, base: Base | None, *, complete: bool
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Returns the findings that count, with the severities of the Config and in order, and the waived findings."""
    all_ = _as_configured(diagnostics, fleet, base, complete=complete)
    secret = {(x.location.path, x.location.line) for x in all_ if x.rule == SECRET_IN_CLEAR and x.location}
    if secret:
        all_ = tuple(_without_source(x, secret) for x in all_)
    return tuple(x for x in all_ if x.waiver is None), tuple(x for x in all_ if x.waiver is not None)


def _without_source(diagnostic: Diagnostic, secret: set[tuple[str, int]]) -> Diagnostic:
    """Returns a finding without the text of its line, if that line holds a secret."""
    location = diagnostic.location
    is_secret = location is not None and (location.path, location.line) in secret
    return replace(diagnostic, location=replace(location, source="")) if location and is_secret else diagnostic


@dataclass(frozen=True, slots=True)
class Base:
    """The revision that a change is compared with. Its settings apply to rules that protect others."""

    revision: str
    rules: Mapping[str, str]


def _as_configured(
    diagnostics: Iterable[Diagnostic], fleet: Fleet, base: Base | None, *, complete: bool
) -> tuple[Diagnostic, ...]:
    """Returns the findings in order, with the severity that the Config sets. Omits findings that the Config turns off.

    A waived finding names its comment. If loading was not ``complete``, some rules could not run, so no comment is
    reported as unused.
    """
    rules, waivers = fleet.config.rules, fleet.repository.waivers
    if not rules and not waivers and not (base and base.rules) and fleet.repository.refused_config is None:
        return in_order(without_consequences(tuple(diagnostics), complete=complete))
    config = fleet.repository.refused_config.value(()) if fleet.repository.refused_config is not None else None
    specs = mappings(list(config.values())) if isinstance(config, dict) else ()  # the key "spec" may be the error
    declarations = (d for s in specs for f in ("kinds", "companions") for d in mappings(s.get(f)))
    unread = {not_read(str(declaration.get("kind")), declaration.get("apiVersion")) for declaration in declarations}
    diagnostics = (w for w in diagnostics if w.rule.code != UNKNOWN_KIND.code or w.message not in unread)
    comments = {(waiver.place.path, waiver.line, code): waiver for waiver in waivers for code in waiver.rules}
    used: set[tuple[str, int, str]] = set()
    found = [*_settings(fleet)]
    for diagnostic in diagnostics:
        location, code = diagnostic.location, diagnostic.rule.code
        key = (location.path, location.line, code) if location else ("", 0, "")
        if key in comments and diagnostic.rule.waiving is Waiving.ANYBODY:
            used.add(key)
            diagnostic = replace(diagnostic, waiver=comments[key].place)
        found += _set(diagnostic, rules, base)
    if complete:
        found += (waiver for waiver in _unused(fleet, used) if rules.get(WAIVER_UNUSED.code) != OFF)
    return in_order(without_consequences(found, complete=complete))


def _set(diagnostic: Diagnostic, rules: Mapping[str, str], base: Base | None) -> Iterator[Diagnostic]:
    """Yields a finding with the severity that ``rules`` sets; nothing if the rule is off."""
    rule = diagnostic.rule
    if rule.waiving is Waiving.NOBODY:
        yield diagnostic
        return
    configured = rules.get(rule.code)
    if base is not None and rule.waiving is Waiving.CONFIG:
        default, base_setting, configured = rule.severity.value, configured, base.rules.get(rule.code)
        if (base_setting or default) != (configured or default):
            hint = f"{diagnostic.hint} What spec.rules says of {rule.code} counts as it is at {base.revision}."
            diagnostic = replace(diagnostic, hint=hint.lstrip())
    if configured != OFF:
        yield replace(diagnostic, level=Severity(configured)) if configured else diagnostic


def _settings(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks ``spec.rules``, even of a Config with other errors."""
    config = fleet.repository.config
    origin = config.origin if config else fleet.repository.refused_config
    written_settings = origin.value(("spec", "rules")) if origin else None
    for code, setting in written_settings.items() if isinstance(written_settings, dict) else ():
        rule = all_rules().get(code)
        location = origin.locate(("spec", "rules", code), key=True) if origin else None
        if rule is None:
            hint = did_you_mean(code, all_rules(), "`kubectl tas rule` lists all rules.")
            yield Diagnostic(RULE_SETTING, f'no rule is called "{code}"', location, hint=hint)
        elif rule.waiving is Waiving.NOBODY and setting != rule.severity.value:
            message = f"{code} stays an {rule.severity.value}: its findings would make wrong or invalid manifests"
            yield Diagnostic(RULE_SETTING, message, location, hint="Remove the line, and correct what the rule finds.")


def _unused(fleet: Fleet, used: set[tuple[str, int, str]]) -> Iterator[Diagnostic]:
    for waiver in fleet.repository.waivers:
        if not waiver.rules:
            hint = "Write '# kubectl-tas: ignore[RULE]', with the code that a finding ends with."
            yield Diagnostic(WAIVER_UNUSED, "kubectl-tas cannot read this comment", waiver.place, hint=hint)
        for code in waiver.rules:
            rule = all_rules().get(code)
            if rule is None:
                hint = did_you_mean(code, all_rules(), "`kubectl tas rule` lists all rules.")
                yield Diagnostic(WAIVER_UNUSED, f'no rule is called "{code}"', waiver.place, hint=hint)
            elif rule.waiving is not Waiving.ANYBODY:
                message = f"{code} cannot be waived by a comment"
                hint = "Only spec.rules of the Config can lower it." if rule.waiving is Waiving.CONFIG else "Remove it."
                yield Diagnostic(WAIVER_UNUSED, message, waiver.place, hint=hint)
            elif (waiver.place.path, waiver.line, code) not in used:
                message = f"{code} finds nothing in line {waiver.line}"
                yield Diagnostic(WAIVER_UNUSED, message, waiver.place, hint="Remove the comment.")
