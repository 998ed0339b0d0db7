"""Tests pages of work: the content and order of lists, the filters, and the answers of ``fit``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_tas.place.answers import Fit, FitOutcome
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.node_resources import ClusterNodes, read_nodes
from kubectl_tas.site import work
from kubectl_tas.site.blocks import Badge, Facts, Filters, Link, Page, Table, TextBlock
from kubectl_tas.site.content import Content, verdict_badge
from tests.place.clusters import JUDGE, member, nodes_of
from tests.support.cli import pool, subpool, write
from tests.support.site import content, flow


@pytest.fixture
def all_verdicts(repository: Path) -> Path:
    """Work of each verdict; names and order of verdicts are different orders."""
    files = {
        "pools/team.yaml": pool(guarantee=100),
        "subpools/a.yaml": subpool("a", 8),
        "subpools/b.yaml": subpool("b", 8),
        "subpools/gone.yaml": subpool("gone", 4, state="DELETING"),
        "subpools/over.yaml": subpool("over", 4) + "  overQuota: {Workflow/a-drains: {gpu: 9}}\n",
    }
    flows = flow("a-drains", 9, "team--over") | flow("b-waits", 5, "team--b") | flow("c-waits", 5, "team--b")
    flows |= flow("d-never", 9, "team--a") | flow("e-closed", 1, "team--gone") | flow("f-runs", 1, "team--a", "LOW")
    return write(repository, files | flows)


def page_of(content_: Content, path: str) -> Page:
    return next(page for page in work.pages(content_) if page.path == path)


def test_what_waits_the_worst_first(all_verdicts: Path) -> None:
    open_ = page_of(content(all_verdicts), "work/open.html")
    crumbs = (Link("Work", "work/index.html"),)
    assert (open_.title, open_.about, open_.section, open_.crumbs) == ("Work to look at", "", "Work", crumbs)
    (table,) = open_.blocks
    assert isinstance(table, Table)
    assert table.title == "Work to look at"
    assert table.header == ("Name", "Verdict", "Why", "GPUs", "Pool")
    rejected, never = Badge("rejected", "bad"), Badge("unschedulable", "bad")
    waits, drains = Badge("pending", "fair"), Badge("draining", "fair")
    assert [(row[0], row[1], row[3], row[4]) for row in table.rows] == [
        (
            Link("e-closed", "work/workflow-e-closed.html"),
            rejected,
            "1",
            Link("team--gone", "pools/team.html#subpool-gone"),
        ),
        (Link("d-never", "work/workflow-d-never.html"), never, "9", Link("team--a", "pools/team.html#subpool-a")),
        (Link("b-waits", "work/workflow-b-waits.html"), waits, "5", Link("team--b", "pools/team.html#subpool-b")),
        (Link("c-waits", "work/workflow-c-waits.html"), waits, "5", Link("team--b", "pools/team.html#subpool-b")),
        (
            Link("a-drains", "work/workflow-a-drains.html"),
            drains,
            "9",
            Link("team--over", "pools/team.html#subpool-over"),
        ),
    ]
    assert all("GPU" in str(row[2]) or "DELETING" in str(row[2]) for row in table.rows)
    assert verdict_badge("admitted") == Badge("admitted", "good")


def test_where_all_is_admitted_nothing_waits(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool()} | flow("one", 1))
    assert work.waiting(content(repository)).none == "All work is admitted."
    assert work.waiting(content(repository)).rows == ()


def test_the_list_of_work_and_its_filters(all_verdicts: Path) -> None:
    told = content(all_verdicts)
    page = page_of(told, "work/index.html")
    assert (page.title, page.about, page.section, page.crumbs) == ("Work", "", "Work", ())
    filters, table = page.blocks
    pools = ("team", "team--a", "team--b", "team--gone", "team--over")
    verdicts = ("admitted", "draining", "pending", "rejected", "unschedulable")
    assert filters == Filters((("Pool", pools), ("Verdict", verdicts)))
    assert isinstance(table, Table)
    assert (table.title, table.none) == ("Work", "Nothing is sent to a queue.")
    assert table.header == ("Name", "Verdict", "GPUs", "Pool", "Priority", "Kind")
    name, of_pool = Link("f-runs", "work/workflow-f-runs.html"), Link("team--a", "pools/team.html#subpool-a")
    assert table.rows[-1] == (name, Badge("admitted", "good"), "1", of_pool, "LOW", "Workflow")
    assert list(work.listed(told))[-1] == [
        {"pool": ["team--a", "team"], "verdict": ["admitted"], "kind": ["Workflow"], "owner": [""]},
        [
            ["f-runs", name.target, ""],
            ["admitted", "", "good"],
            ["1", "", ""],
            ["team--a", of_pool.target, ""],
            ["LOW", "", ""],
            ["Workflow", "", ""],
        ],
    ]


def test_one_of_each_needs_no_filter(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool()} | flow("one", 1))
    assert [block.kind for block in page_of(content(repository), "work/index.html").blocks] == ["table"]


def test_work_that_reaches_no_queue_comes_first(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool()} | flow("one", 1) | flow("lost", 1, "nowhere"))
    why, table, rest = page_of(content(repository), "work/index.html").blocks
    text = "What is sent to no pool of the repository is not among the rest; its findings say why."
    assert why == TextBlock(text)
    assert table == Table("Sent to no pool", ("Name", "Kind", "File"), (("lost", "Workflow", "workflows/lost.yaml"),))
    assert isinstance(rest, Table)
    assert len(rest.rows) == 1


@pytest.mark.parametrize(("priority", "text"), [("LOW", "LOW, preemptible"), ("HIGH", "HIGH, non-preemptible")])
def test_facts_of_work(repository: Path, priority: str, text: str) -> None:
    write(repository, {"pools/team.yaml": pool()} | flow("one", 2, priority=priority))
    page = page_of(content(repository), "work/workflow-one.html")
    assert (page.title, page.about, page.section) == ("one", "Workflow", "Work")
    assert page.crumbs == (Link("Work", "work/index.html"), Link("team", "pools/team.html"))
    (facts,) = (block for block in page.blocks if isinstance(block, Facts))
    assert facts.rows[:8] == (
        ("File", "workflows/one.yaml"),
        ("Cluster", Link("default", "clusters/default.html")),
        ("Namespace", "default"),
        ("Pool", Link("team", "pools/team.html")),
        ("Queue", "osmo-pool-default-team--shared"),
        ("Priority", text),
        ("GPUs", "2"),
        ("Topology", "none"),
    )


def test_findings_come_before_facts_where_there_are_any(all_verdicts: Path) -> None:
    told = content(all_verdicts)
    kinds = {
        name: [block.kind for block in page_of(told, f"work/workflow-{name}.html").blocks]
        for name in ("d-never", "f-runs")
    }
    assert kinds == {
        "d-never": ["text", "findings", "facts", "drawing"],
        "f-runs": ["text", "facts", "drawing", "findings"],
    }


def nodes(*gpus: int) -> dict[str, ClusterNodes]:
    return {"default": read_nodes(nodes_of(*gpus), ["Pod"])}


BADGES = {
    FitOutcome.FITS: Badge("has room", "good"),
    FitOutcome.NO_ROOM: Badge("no room", "bad"),
    FitOutcome.MISSED: Badge("not found", "bad"),
    FitOutcome.UNKNOWN: Badge("not known", "fair"),
}


@pytest.mark.parametrize("outcome", BADGES)
def test_what_fit_says_of_work(repository: Path, outcome: FitOutcome) -> None:
    write(repository, {"pools/team.yaml": pool()} | flow("one", 2))
    told = content(repository, nodes=nodes(2))
    ((key, (answer,)),) = told.fits.items()
    assert isinstance(answer, Fit)
    vars(told)["fits"] = {key: [replace(answer, outcome=outcome)]}
    blocks = page_of(told, "work/workflow-one.html").blocks
    assert [block.kind for block in blocks] == [
        "text",
        "facts",
        "text",
        "text",
        "facts",
        "drawing",
        "drawing",
        "findings",
    ]
    assert blocks[2] == TextBlock(
        "As `kubectl tas fit` says of what pods leave free on the nodes of the cluster.", title="Placement"
    )
    assert blocks[3] == TextBlock(f"PodGroup `{answer.gang.name}`", BADGES[outcome])
    assert isinstance(blocks[4], Facts)
    helps = str(dict(blocks[4].rows).get("Helps"))
    assert helps.endswith(": kubectl tas fit one --grow") == (outcome is not FitOutcome.FITS)
    waiting = work.waiting(told).rows
    assert [row[1] for row in waiting] == [BADGES[outcome]] * (outcome is not FitOutcome.FITS)
    assert all(str(row[2]).startswith(f"PodGroup {answer.gang.name}: ") for row in waiting)


@pytest.mark.parametrize(("gpus", "is_settled"), [(4, True), (2, False)])
def test_pods_in_any_order_have_an_answer_where_it_is_always_the_same(
    repository: Path, gpus: int, *, is_settled: bool
) -> None:
    pods = (member("p1", "a", 2), member("p2", "a", 2), member("p3", "b", 4), member("p4", "b", 2))
    write(repository, {"pools/team.yaml": pool(), "workflows/judge.yaml": "---\n".join((JUDGE, *pods))})
    told = content(repository, nodes=nodes(2, 2, gpus))
    ((answer,),) = told.fits.values()
    assert isinstance(answer, Fit if is_settled else LeftOut)
    page = page_of(told, "work/podgroup-judge.html")
    said = [block.text for block in page.blocks if isinstance(block, TextBlock)]
    if isinstance(answer, LeftOut):
        assert said[-1] == f"No answer: {answer.reason}."
        assert work.waiting(told).rows == ()
    else:
        assert said[-1] == "PodGroup `judge`"
        *_, facts = (block for block in page.blocks if isinstance(block, Facts))
        assert [name for name, _ in facts.rows[:2]] == ["Asks", "Nodes"]
