"""Makes the pages of all work that is sent to queues: its verdict, and the tree of its placement constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.draw import fitfigure, fitpages
from kubectl_tas.draw.gangfigure import Picture, figure
from kubectl_tas.place.answers import Outcome
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.report.style import printable
from kubectl_tas.resolve.fleet import sent
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Badge, Block, Cell, Drawing, Facts, Filters, Link, Page, Table, Text, drawing
from kubectl_tas.site.content import Content, verdict_badge
from kubectl_tas.site.found import findings_of

OPEN = ("rejected", "unschedulable", "pending", "draining")
"""Verdicts that need attention, the worst first."""
LOOK_AT = "Work to look at"
"""Title of the table of work that needs attention."""


def pages(content: Content) -> Iterator[Page]:
    """Yields the list of all work, and a page for each submission."""
    unread = _unread(content)
    table = work_table(content, content.places.work)
    yield from blocks.divided(Page(places.WORK, "Work", "", "Work", (), (*unread, *_filters(content), table)))
    crumbs = (Link("Work", places.WORK),)
    yield from blocks.divided(Page(places.OPEN_WORK, LOOK_AT, "", "Work", crumbs, (waiting(content),)))
    for item in content.places.work:
        yield _page(content, item)


def work_table(content: Content, items: Sequence[Submission]) -> Table:
    """Returns a row for each submission."""
    several = len(content.fleet.backends) > 1
    rows = tuple(
        (
            content.places.submission(item),
            verdict_badge(content.verdict(item).outcome),
            str(item.gpus),
            content.places.target(item),
            *((content.places.cluster(item.pool.backend),) if several else ()),
            item.priority,
            item.kind,
            *((content.owner(item),) if content.owners else ()),
        )
        for item in items
    )
    more = ("Owner",) if content.owners else ()
    header = ("Name", "Verdict", "GPUs", "Pool", *(("Cluster",) if several else ()), "Priority", "Kind", *more)
    return Table("Work", header, rows, none="Nothing is sent to a queue.")


def _facets(content: Content, item: Submission) -> dict[str, list[str]]:
    """Returns the filter values of a submission: its pool and the pools above, its verdict, its kind and its owner."""
    pools = dict.fromkeys((item.target, *(pool.name for pool in item.pool.chain)))
    return {
        "pool": list(pools),
        "verdict": [content.verdict(item).outcome],
        "kind": [item.kind],
        "owner": [printable(content.owner(item))],
    }


def _filters(content: Content) -> tuple[Filters, ...]:
    """Returns the filters that have at least two choices."""
    known: dict[str, set[str]] = {}
    for item in content.places.work:
        for name, values in _facets(content, item).items():
            known.setdefault(name, set()).update(values)
    found = ((name.capitalize(), tuple(sorted(values - {""}))) for name, values in known.items() if len(values) > 1)
    choices = tuple(found)
    return (Filters(choices),) if choices else ()


def listed(content: Content) -> Iterator[list[object]]:
    """Yields all rows for the filters: the filter values, and each cell as text, link target and tone."""
    for item, row in zip(content.places.work, work_table(content, content.places.work).rows, strict=True):
        yield [_facets(content, item), [_told(cell) for cell in row]]


def _told(cell: Cell) -> list[str]:
    if isinstance(cell, Link):
        return [printable(cell.text), cell.target, ""]
    return [cell.text, "", cell.tone] if isinstance(cell, Badge) else [printable(str(cell)), "", ""]


def waiting(content: Content) -> Table:
    """Returns the work that is not simply admitted, the worst verdict first."""
    found = [item for item in content.places.work if content.verdict(item).outcome in OPEN]
    found.sort(key=lambda item: OPEN.index(content.verdict(item).outcome))
    told = [(item, verdict_badge(content.verdict(item).outcome), content.verdict(item).text) for item in found]
    told += _without_room(content)
    rows = tuple(
        (content.places.submission(item), badge, why, str(item.gpus), content.places.target(item))
        for item, badge, why in told
    )
    return Table(LOOK_AT, ("Name", "Verdict", "Why", "GPUs", "Pool"), rows, none="All work is admitted.")


def _without_room(content: Content) -> Iterator[tuple[Submission, Badge, str]]:
    """Yields admitted work that does not run because KAI finds no nodes for it now."""
    for item in content.places.work:
        answers = [one for one in content.fits.get(id(item), ()) if not isinstance(one, LeftOut)]
        bad = next((one for one in answers if one.outcome is not Outcome.FITS), None)
        if bad is not None and content.verdict(item).outcome not in OPEN:
            yield item, _FITS[bad.outcome], f"{bad.gang.kind} {bad.gang.name}: {fitpages.why(bad)}"


def _unread(content: Content) -> tuple[Block, ...]:
    """Lists declared work that is sent to no pool of the repository."""
    known = {id(item.declared) for item in content.places.work}
    rows = tuple(
        (name, kind, item.origin.path) for kind, name, item in sent(content.fleet.repository) if id(item) not in known
    )
    if not rows:
        return ()
    why = Text("What is sent to no pool of the repository is not among the rest; its findings say why.")
    return why, Table("Sent to no pool", ("Name", "Kind", "File"), rows)


def _page(content: Content, item: Submission) -> Page:
    picture = content.picture(item)
    link, kind = content.places.submission(item), item.kind
    crumbs = (Link("Work", places.WORK), content.places.target(item))
    found = findings_of(content, item.declared.origin.path)
    told: tuple[Block, ...] = (_facts(content, picture), *_placement(content, item), *_drawings(picture))
    body = (found, *told) if found.items else (*told, found)
    return Page(link.target, item.name, kind, "Work", crumbs, (_verdict(picture), *body))


def _verdict(picture: Picture) -> Block:
    verdict = picture.verdict
    return Text(f"{verdict.text}. {verdict.hint}".strip(), verdict_badge(verdict.outcome))


def _facts(content: Content, picture: Picture) -> Facts:
    item = picture.item
    preemptible = "preemptible" if item.is_preemptible else "non-preemptible"
    topology = content.topology_on(item.pool.backend, picture.topology)
    placed: Cell = content.places.topology(topology) if topology else picture.topology or "none"
    rows: list[tuple[str, Cell]] = [
        ("File", item.declared.origin.path),
        ("Cluster", content.places.cluster(item.pool.backend)),
        ("Namespace", item.namespace),
        ("Pool", content.places.target(item)),
        ("Queue", item.queue),
        ("Priority", f"{item.priority}, {preemptible}"),
        ("GPUs", str(item.gpus)),
        ("Topology", placed),
        *(("Owner", owner) for owner in (content.owner(item),) if owner),
        *picture.facts,
    ]
    return Facts(tuple(rows))


_FITS: dict[Outcome, Badge] = {
    Outcome.FITS: Badge("has room", "good"),
    Outcome.NO_ROOM: Badge("no room", "bad"),
    Outcome.MISSED: Badge("not found", "bad"),
    Outcome.UNKNOWN: Badge("not known", "fair"),
}
"""The badge for each outcome of ``fit``."""


def _placement(content: Content, item: Submission) -> Iterator[Block]:
    """Yields the answers of ``fit`` about work that does not run."""
    found = content.fits.get(id(item), ())
    if found:
        yield Text("As `kubectl tas fit` says of what pods leave free on the nodes of the cluster.", title="Placement")
    for answer in found:
        if isinstance(answer, LeftOut):
            yield Text(f"No answer: {answer.reason}.")
            continue
        yield Text(f"{answer.gang.kind} `{answer.gang.name}`", _FITS[answer.outcome])
        told = fitpages.about(answer, "")[1:]
        yield Facts(tuple((name.strip(), text) for name, text in told if text != answer.gang.name))
        drawn = fitfigure.figure(answer, content.nodes[item.pool.backend.name], "")
        yield drawing(f"Nodes for {answer.gang.name}", drawn)


def _drawings(picture: Picture) -> Iterator[Drawing]:
    if picture.gangs:
        yield drawing("What the scheduler is asked for", figure(picture))
