"""Draws a pool or subpool as a figure: for each queue, its work and bars of its quota and usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_tas.draw import pooltables as pages
from kubectl_tas.draw.figure import CUT, MOST_DEEP, Bar, Box, BoxLook, Figure, folded
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, Amount, Amounts, ResourceName, said, show
from kubectl_tas.gangs.quota_usage import Account
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import BEHAVIOUR, Submission, Target

_USUAL = Amounts(1, 1, 1)
"""Default over-quota weights, which the figure does not mention."""


def figure(work: Sequence[Submission], target: Target, rows: Sequence[Account], source: str) -> Figure:
    """Draws the facts and queues of a target, each queue with its part of ``work``. ``rows`` are the accounts of the
    target and of everything below it. ``source`` says where the usage comes from.
    """
    pool, subpool = target
    facts = [fact for fact in pages.facts(pool, subpool) if fact[0] not in ("Name", "File")]
    if subpool is None and pool.levels:
        facts.append(("Topology keys", ", ".join(level.key for level in pool.levels)))
    facts.append(("Used", source))
    boxes = _Boxes(rows, work)
    box = boxes.of_queue(rows[0]) if subpool else boxes.of_pool(rows[0], MOST_DEEP)
    declared = (subpool or pool).declared
    name = subpool.canonical if subpool else pool.name
    return Figure("Subpool" if subpool else "Pool", name, declared.origin.path, tuple(facts), (box,))


class _Boxes:
    """Makes the boxes of pools and subpools."""

    def __init__(self, rows: Sequence[Account], submissions: Sequence[Submission]) -> None:
        self._rows = rows
        self._work: dict[str, list[Submission]] = {}
        for submission in submissions:
            self._work.setdefault(submission.target, []).append(submission)

    def of_pool(self, row: Account, deep: int) -> Box:
        """Draws the pool of a row and everything below it, at most ``deep`` child pools deep."""
        pool = row.pool
        if not pool.is_split:
            return self.of_queue(row)
        below = [account for account in self._rows if pool.name in (above.name for above in account.pool.chain)]
        direct = [account for account in below if account.parent == pool.name] if deep else []
        inside = [
            self._leaf(Box(f"left to {pool.name} itself"), row),
            *(self.of_queue(account) for account in direct if account.subpool),
            *(self.of_pool(account, deep - 1) for account in direct if not account.subpool),
        ]
        box = Box(pool.name, "Pool", note="" if deep else CUT, children=folded(inside))
        return _box(box, pool.guarantee, pages.used_by(below), row)

    def of_queue(self, row: Account) -> Box:
        """Draws a subpool, or a pool without subpools and child pools, with its work."""
        box = Box(row.subpool.name, "Subpool") if row.subpool else Box(row.pool.name, "Pool")
        return self._leaf(box, row)

    def _leaf(self, box: Box, row: Account) -> Box:
        look = BoxLook.PLAIN if row.state in (None, "ACTIVE") else BoxLook.OUT
        work = folded([_work(submission) for submission in self._work.get(row.name, ())])
        return _box(replace(box, look=look, children=work), row.quota, row.used, row)


def _box(box: Box, quota: Amounts | None, used: Amounts | None, row: Account) -> Box:
    """Adds the words and bars of an account to a box."""
    closed = row.subpool.state if row.subpool and row.subpool.state != "ACTIVE" else None
    words = [f"{closed}: {BEHAVIOUR[closed]}"] if closed else []
    if quota is None:
        return replace(box, words=(*words, "what is left to it, and what is used, is not known"))
    finite = [name for name in RESOURCES if quota.of(name) != NO_LIMIT]
    if "gpu" not in finite:
        words.append("GPUs without a limit" if used is None else f"{said('gpu', used.gpu)} used, without a limit")
    if used is None:
        words.append(", ".join([*(said(name, quota.of(name)) for name in finite), "what is used is not known"]))
    bars = () if used is None else tuple(_bar(name, quota.of(name), used.of(name)) for name in finite)
    spec = row.subpool.declared.spec.spec if row.subpool else None
    limits = [said(name, row.limit.of(name)) for name in RESOURCES if row.limit.of(name) != NO_LIMIT]
    if limits and box.kind and (spec is None or spec.maximum is not None):
        words.append(f"at most {', '.join(limits)}")
    if box.kind and (row.pool.weight != _USUAL if spec is None else spec.weight is not None):
        words.append(f"over-quota weight {pages.weight(row.weight)}")
    return replace(box, words=tuple(words), bars=bars)


def _bar(name: ResourceName, quota: Amount, used: Amount) -> Bar:
    if used > quota:
        text = f"{said(name, used)} used, {show(name, used - quota)} more than its quota of {show(name, quota)}"
    else:
        text = f"{show(name, used)} of {said(name, quota)} used"
    return Bar(text, quota, used)


def _work(submission: Submission) -> Box:
    return Box(
        submission.name,
        submission.kind,
        words=(f"{plural(submission.gpus, 'GPU')}, {submission.priority}",),
        look=BoxLook.ITEM,
    )
