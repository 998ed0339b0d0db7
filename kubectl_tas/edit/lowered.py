"""Two fleets in, before and after an edit; out the edits that list in overQuota the work that came to have too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubectl_tas.edit.subpools import Edit, SetValues, Values, listed
from kubectl_tas.gangs.admission import OVER_QUOTA_RUNNING, Admission, kept, needless
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.model.pool import Pool, Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import work_name

Target = Declared[Pool] | Declared[Subpool]


def lists(before: Fleet, after: Fleet, edits: Sequence[Edit]) -> list[SetValues]:
    """What is to be listed beside ``edits``, which lead from one fleet to the other. Of the documents that they edit,
    names go that are listed in vain.
    """
    admission = Admission(after, Past(before))
    found: dict[str, dict[str, Mapping[str, int | str] | None]] = {}
    edited = {(item.origin.path, item.origin.index) for item in edits if isinstance(item, SetValues)}
    for declared, name, _ in needless(after):
        if (declared.origin.path, declared.origin.index) in edited:
            found.setdefault(_name(declared), {})[name] = None
    for item in filter(admission.excess, after.submissions):
        verdict = admission.verdict(item)
        if verdict.rule is OVER_QUOTA_RUNNING and verdict.unlisted:
            name = item.over_quota_key or work_name(item.kind, item.name)
            amounts = kept(admission.request(item).asks, verdict.unlisted)
            found.setdefault(_name(item.over_quota), {})[name] = amounts
    documents = {_name(item): item for item in _targets(before)}
    return [_listing(documents[target], entries) for target, entries in found.items() if target in documents]


def _listing(declared: Target, entries: Mapping[str, Mapping[str, int | str] | None]) -> SetValues:
    written = declared.origin.value(("spec", "overQuota"))
    before = dict(written) if isinstance(written, Mapping) else {}
    after = {name: amounts for name, amounts in (before | dict(entries)).items() if amounts is not None}
    behind = "quota" if isinstance(declared.spec, Subpool) else "resources"
    values: Values = ((("spec", "overQuota"), after or None, behind),)
    if before and after:
        values = tuple((("spec", "overQuota", name), amounts, None) for name, amounts in entries.items())
    new, gone = ([name for name in entries if (entries[name] is None) is is_gone] for is_gone in (False, True))
    said = [f"lets {listed(new)} run on"] * bool(new) + [f"lists {listed(gone)} no more"] * bool(gone)
    return SetValues(declared.origin, values, f"{_name(declared)}: {' and '.join(said)}")


def _targets(fleet: Fleet) -> list[Target]:
    return [item.declared for pool in fleet.pools for item in (pool, *pool.subpools)]


def _name(declared: Target) -> str:
    """The pool or pool--subpool that a document declares."""
    spec = declared.spec
    return f"{spec.spec.parent}--{spec.metadata.name}" if isinstance(spec, Subpool) else spec.metadata.name
