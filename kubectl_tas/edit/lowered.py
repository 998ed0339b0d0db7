"""Two fleets in, before and after an edit; out the edits that list in overQuota the work that came to have too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubectl_tas.edit.subpools import Edit, SetValues, Values, listed
from kubectl_tas.gangs.admission import OVER_QUOTA_RUNNING, Admission, kept, needless
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Leaf, work_name

Entries = dict[str, Mapping[str, int | str] | None]
"""Work, with what it asks for; None: it is listed no more."""


def lists(before: Fleet, after: Fleet, edits: Sequence[Edit]) -> list[SetValues]:
    """What is to be listed beside ``edits``, which lead from one fleet to the other. Of the documents that they edit,
    names go that are listed in vain.
    """
    admission = Admission(after, Past(before))
    found: dict[str, Entries] = {}
    edited = {_place(item.origin) for item in edits if isinstance(item, SetValues)}
    for leaf, name, _ in needless(after):
        if _place(leaf.declared.origin) in edited:
            found.setdefault(leaf.name, {})[name] = None
    for item in filter(admission.excess, after.submissions):
        verdict = admission.verdict(item)
        if verdict.rule is OVER_QUOTA_RUNNING and verdict.unlisted:
            name = item.over_quota_key or work_name(item.kind, item.name)
            found.setdefault(item.target, {})[name] = kept(admission.to_be_listed(item), verdict.unlisted)
    leaves = (leaf for pool in before.pools for leaf in pool.leaves)
    return [_listing(leaf, found[leaf.name]) for leaf in leaves if leaf.name in found]


def _listing(leaf: Leaf, entries: Entries) -> SetValues:
    """The edit of a list, of each of its entries by itself where some stay."""
    origin = leaf.declared.origin
    stay = leaf.over_quota.keys() - {name for name, amounts in entries.items() if amounts is None}
    new = {name: amounts for name, amounts in entries.items() if amounts is not None}
    gone = [name for name in entries if name not in new]
    values: Values = ((("spec", "overQuota"), new or None, "quota" if "quota" in origin.data["spec"] else "resources"),)
    if stay:
        values = tuple(item for name, amounts in entries.items() for item in _entry(leaf, name, amounts))
    does = [f"lets {listed(list(new))} run on"] * bool(new) + [f"lists {listed(gone)} no more"] * bool(gone)
    return SetValues(origin, values, f"{leaf.name}: {' and '.join(does)}")


def _entry(leaf: Leaf, name: str, amounts: Mapping[str, int | str] | None) -> Values:
    """The edit of one entry: where it is there, of each amount by itself."""
    path = ("spec", "overQuota", name)
    if amounts is None or name not in leaf.over_quota:
        return ((path, amounts, None),)
    return tuple(((*path, resource), amount, None) for resource, amount in amounts.items())


def _place(origin: Origin) -> tuple[object, ...]:
    return origin.path, origin.index, origin.within
