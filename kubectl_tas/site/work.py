"""Makes the pages of all work that is sent to queues: its verdict, and the tree of its placement constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_tas.draw import fitfigure, fitpages, forecasttable, gantt
from kubectl_tas.draw.gangfigure import Picture, figure
from kubectl_tas.place.answers import FitOutcome
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.report.style import printable
from kubectl_tas.resolve.fleet import declared_work
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Badge, Block, Cell, Drawing, Facts, Filters, Link, Page, Table, TextBlock, drawing
from kubectl_tas.site.content import Content, verdict_badge
from kubectl_tas.site.found import findings_of

OPEN = ("rejected", "unschedulable", "pending", "draining", "unknown")
"""Verdicts that need attention, the worst first."""
STARTS = "Starts"
"""The menu's entry for the page about starts."""
LOOK_AT = "Work to look at"
"""Title of the table of work that needs attention."""


def pages(content: Content) -> Iterator[Page]:
    """Yields the list of all work, and a page for each submission."""
    unread = _unread(content)
    table = work_table(content, content.places.work)
    yield from blocks.divided(Page(places.WORK, "Work", "", "Work", (), (*unread, *_filters(content), table)))
    crumbs = (Link("Work", places.WORK),)
    yield from blocks.divided(Page(places.OPEN_WORK, LOOK_AT, "", "Work", crumbs, (waiting(content),)))
    for submission in sorted(content.places.work, key=lambda sent: sent.declared.origin.path):  # reads each file once
        yield _page(content, submission)


def starts(content: Content) -> Iterator[Page]:
    """Yields the page that says when work starts, if a cluster's nodes and pods are known."""
    if not content.forecasts:
        return
    text = "This holds if each limit holds, and no further work comes. Most work ends, and starts, earlier."
    body, rows = list[Block]([TextBlock(text)]), list[tuple[Cell, ...]]()
    for each in content.forecasts:
        cluster = (each.scheduler.backend,) if len(content.forecasts) > 1 else ()
        if each.forecast.horizon < each.clock.horizon:
            played = forecasttable.lasting(each.forecast.horizon)
            text = f"Of {each.scheduler.backend} only {played} are played. Work that starts later is absent."
            body.append(TextBlock(text))
        body.append(Drawing(each.scheduler.backend, gantt.picture([each])))
        for gang in each.gangs:
            to_place = each.planned.gangs_to_place.get(gang.name)
            name = each.name_of(gang.name)
            link = name if to_place is None else replace(content.places.submission(to_place.sent), text=name)
            times = forecasttable.starts(gang, each.clock), forecasttable.ends(gang, each.clock)
            rows.append((link, *cluster, *times, forecasttable.because(each, gang)))
        for idle in each.idle:
            rows.append((content.places.submission(idle.gang.sent), *cluster, idle.starts, "-", idle.because))
    header = "Name", *(("Cluster",) if len(content.forecasts) > 1 else ()), *forecasttable.HEADER[-3:]
    table = Table("All starts", header, tuple(rows), none="Nothing waits or runs.")
    yield from blocks.divided(Page(places.STARTS, "When does it start", "", STARTS, (), (*body, table)))


def work_table(content: Content, submissions: Sequence[Submission]) -> Table:
    """Returns a row for each submission."""
    several = len(content.fleet.backends) > 1
    rows = tuple(
        (
            content.places.submission(submission),
            verdict_badge(content.verdict(submission).outcome),
            str(submission.gpus),
            content.places.target(submission),
            *((content.places.cluster(submission.pool.backend),) if several else ()),
            submission.priority,
            submission.kind,
            *((content.owner(submission),) if content.owners else ()),
        )
        for submission in submissions
    )
    owner_column = ("Owner",) if content.owners else ()
    header = ("Name", "Verdict", "GPUs", "Pool", *(("Cluster",) if several else ()), "Priority", "Kind", *owner_column)
    return Table("Work", header, rows, none="Nothing is sent to a queue.")


def _facets(content: Content, submission: Submission) -> dict[str, list[str]]:
    """Returns the filter values of a submission: its pool and the pools above, its verdict, its kind and its owner."""
    pools = dict.fromkeys((submission.target, *(pool.name for pool in submission.pool.chain)))
    return {
        "pool": list(pools),
        "verdict": [content.verdict(submission).outcome],
        "kind": [submission.kind],
        "owner": [printable(content.owner(submission))],
    }


def _filters(content: Content) -> tuple[Filters, ...]:
    """Returns the filters that have at least two choices."""
    values_by_filter: dict[str, set[str]] = {}
    for submission in content.places.work:
        for name, values in _facets(content, submission).items():
            values_by_filter.setdefault(name, set()).update(values)
    several = (
        (name.capitalize(), tuple(sorted(values - {""})))
        for name, values in values_by_filter.items()
        if len(values) > 1
    )
    choices = tuple(several)
    return (Filters(choices),) if choices else ()


def listed(content: Content) -> Iterator[list[object]]:
    """Yields all rows for the filters: the filter values, and each cell as text, link target and tone."""
    for submission, row in zip(content.places.work, work_table(content, content.places.work).rows, strict=True):
        yield [_facets(content, submission), [_told(cell) for cell in row]]


def _told(cell: Cell) -> list[str]:
    if isinstance(cell, Link):
        return [printable(cell.text), cell.target, ""]
    return [cell.text, "", cell.tone] if isinstance(cell, Badge) else [printable(str(cell)), "", ""]


def waiting(content: Content) -> Table:
    """Returns the work that is not simply admitted, the worst verdict first."""
    open_work = [submission for submission in content.places.work if content.verdict(submission).outcome in OPEN]
    open_work.sort(key=lambda submission: OPEN.index(content.verdict(submission).outcome))
    open_rows = [
        (submission, verdict_badge(content.verdict(submission).outcome), content.verdict(submission).text)
        for submission in open_work
    ]
    open_rows += _without_room(content)
    rows = tuple(
        (content.places.submission(submission), badge, reason, str(submission.gpus), content.places.target(submission))
        for submission, badge, reason in open_rows
    )
    return Table(LOOK_AT, ("Name", "Verdict", "Why", "GPUs", "Pool"), rows, none="All work is admitted.")


def _without_room(content: Content) -> Iterator[tuple[Submission, Badge, str]]:
    """Yields admitted work that does not run because KAI finds no nodes for it now."""
    for submission in content.places.work:
        answers = [answer for answer in content.fits.get(id(submission), ()) if not isinstance(answer, LeftOut)]
        bad = next((answer for answer in answers if answer.outcome is not FitOutcome.FITS), None)
        if bad is not None and content.verdict(submission).outcome not in OPEN:
            yield submission, _FITS[bad.outcome], f"{bad.gang.kind} {bad.gang.name}: {bad.why}"


def _unread(content: Content) -> tuple[Block, ...]:
    """Lists declared work that is sent to no pool of the repository."""
    sent_documents = {id(submission.declared) for submission in content.places.work}
    rows = tuple(
        (name, kind, declared.origin.path)
        for kind, name, declared in declared_work(content.fleet.repository)
        if id(declared) not in sent_documents
    )
    if not rows:
        return ()
    explanation = TextBlock("What is sent to no pool of the repository is not among the rest; its findings say why.")
    return explanation, Table("Sent to no pool", ("Name", "Kind", "File"), rows)


def _page(content: Content, submission: Submission) -> Page:
    picture = content.picture(submission)
    link, kind = content.places.submission(submission), submission.kind
    crumbs = (Link("Work", places.WORK), content.places.target(submission))
    findings = findings_of(content, submission.declared.origin.path)
    details: tuple[Block, ...] = (_facts(content, picture), *_placement(content, submission), *_drawings(picture))
    body = (findings, *details) if findings.items else (*details, findings)
    return Page(link.target, submission.name, kind, "Work", crumbs, (_verdict(picture), *body))


def _verdict(picture: Picture) -> Block:
    verdict = picture.verdict
    return TextBlock(f"{verdict.text}. {verdict.hint}".strip(), verdict_badge(verdict.outcome))


def _facts(content: Content, picture: Picture) -> Facts:
    submission = picture.submission
    preemptible = "preemptible" if submission.is_preemptible else "non-preemptible"
    topology = content.topology_on(submission.pool.backend, picture.topology)
    placed: Cell = content.places.topology(topology) if topology else picture.topology or "none"
    rows: list[tuple[str, Cell]] = [
        ("File", submission.declared.origin.path),
        ("Cluster", content.places.cluster(submission.pool.backend)),
        ("Namespace", submission.namespace),
        ("Pool", content.places.target(submission)),
        ("Queue", submission.queue),
        ("Priority", f"{submission.priority}, {preemptible}"),
        ("GPUs", str(submission.gpus)),
        ("Topology", placed),
        *(("Owner", owner) for owner in (content.owner(submission),) if owner),
        *picture.facts,
    ]
    return Facts(tuple(rows))


_FITS: dict[FitOutcome, Badge] = {
    FitOutcome.FITS: Badge("has room", "good"),
    FitOutcome.NO_ROOM: Badge("no room", "bad"),
    FitOutcome.MISSED: Badge("not found", "bad"),
    FitOutcome.UNKNOWN: Badge("not known", "fair"),
}
"""The badge for each outcome of ``fit``."""


def _placement(content: Content, submission: Submission) -> Iterator[Block]:
    """Yields the answers of ``fit`` about work that does not run."""
    answers = content.fits.get(id(submission), ())
    if answers:
        yield TextBlock(
            "As `kubectl tas fit` says of what pods leave free on the nodes of the cluster.", title="Placement"
        )
    for answer in answers:
        if isinstance(answer, LeftOut):
            yield TextBlock(f"No answer: {answer.reason}.")
            continue
        yield TextBlock(f"{answer.gang.kind} `{answer.gang.name}`", _FITS[answer.outcome])
        answer_lines = fitpages.about(answer, "")[1:]
        yield Facts(tuple((name.strip(), text) for name, text in answer_lines if text != answer.gang.name))
        drawn = fitfigure.figure(answer, content.nodes[submission.pool.backend.name], "")
        yield drawing(f"Nodes for {answer.gang.name}", drawn)


def _drawings(picture: Picture) -> Iterator[Drawing]:
    if picture.gangs:
        yield drawing("What the scheduler is asked for", figure(picture))
