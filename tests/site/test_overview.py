"""Tests the first page, with its numbers, their colours and the length of its tables, and the page of changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.site import blocks, overview
from kubectl_tas.site.blocks import Link, Page, Table, TextBlock, Tiles
from kubectl_tas.site.content import Content
from tests.support import site
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, assert_files
from tests.support.history import commit, git
from tests.support.site import Html, content, dead_links, flow, marks_of, report, text_of


def findings(errors: int, warnings: int) -> tuple[Diagnostic, ...]:
    severities = [Severity.ERROR] * errors + [Severity.WARNING] * warnings + [Severity.INFO]
    rules = {item: Rule(f"{item.value}-rule", item, "When.", "Why.") for item in Severity}
    return tuple(Diagnostic(rules[item], "said", Location("a", line, 1)) for line, item in enumerate(severities, 1))


def repository_of(root: Path, *, pools: int = 1, work: int = 0, clusters: int = 1, gpus: int = 1) -> Path:
    """Pools of 8 GPUs, spread over clusters, and work that is sent to the first."""
    backends = ", ".join(f"{{name: c{number:02}}}" for number in range(clusters))
    files = {
        "tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{backends}]}}\n",
        **{f"pools/{n}.yaml": pool(f"p{n:02}", 8, f"  backend: c{n % clusters:02}\n") for n in range(pools)},
    }
    for number in range(work):
        files |= flow(f"w{number:02}", gpus, "p00")
    return write(root, files)


def tables(page: Page) -> dict[str, Table]:
    return {block.title: block for block in page.blocks if isinstance(block, Table)}


def tiles(told: Content) -> Tiles:
    tiles_ = overview.page(told).blocks[0]
    assert isinstance(tiles_, Tiles)
    return tiles_


@pytest.mark.parametrize(
    ("errors", "warnings", "gpus", "tones"),
    [(0, 0, 1, ("good", "good", "good")), (2, 0, 9, ("fair", "bad", "good")), (0, 3, 1, ("good", "good", "fair"))],
)
def test_the_numbers(repository: Path, errors: int, warnings: int, gpus: int, tones: tuple[str, str, str]) -> None:
    root = repository_of(repository, pools=3, work=1, clusters=2, gpus=gpus)
    told = content(root, findings=findings(errors, warnings), title="GPUs of ACME")
    page = overview.page(told)
    assert (page.path, page.title, page.about, page.section) == ("index.html", "GPUs of ACME", "", "Overview")
    assert page.crumbs == ()
    assert tiles(told).rows == (
        (Link("Clusters", "clusters/index.html"), "2", "plain"),
        (Link("Pools", "pools/index.html"), "3", "plain"),
        (Link("GPUs guaranteed", "pools/index.html"), "24", "plain"),
        (Link("GPUs used", "pools/index.html"), str(gpus), "plain"),
        (Link("GPUs available", "pools/index.html"), str(24 - gpus), "plain"),
        (Link("Topologies", "topologies/index.html"), "0", "plain"),
        (Link("Workflows, workloads", "work/index.html"), "1", "plain"),
        (Link("Work to look at", "work/open.html"), str(int(gpus > 8)), tones[0]),
        (Link("Errors", "findings/index.html"), str(errors), tones[1]),
        (Link("Warnings", "findings/index.html"), str(warnings), tones[2]),
    )


def test_where_nothing_is_compared_that_is_said(repository: Path) -> None:
    told = content(repository_of(repository), since="v1")
    assert tiles(told).rows[-1] == (Link("Changes since v1", "changes/index.html"), "not compared", "plain")


def test_the_last_commit_and_its_day(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day is that of the committer, whose evening may be the next day elsewhere."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-27T23:30:00-0130")
    root = repository_of(repository)
    assert report(root, tmp_path / "before") == 0
    assert "Last commit" not in (tmp_path / "before/index.html").read_text()
    commit(root)
    name = git(root, "rev-parse", "HEAD")
    assert report(root, tmp_path / "site") == 0
    tile = f'<p><span class="number">{name[:8]}</span> <span class="name">Last commit, 2026-11-27</span></p>'
    assert tile in (tmp_path / "site/index.html").read_text()


def test_a_share_beside_its_bar_does_not_wrap(repository: Path, tmp_path: Path) -> None:
    assert report(repository_of(repository, work=1, gpus=8), tmp_path / "site") == 0
    page = (tmp_path / "site/index.html").read_text()
    assert re.search(r'<td><span class="share"><svg class="bar .*</svg> 100%</span></td>', page)
    assert ".share { white-space: nowrap; }" in (tmp_path / "site/style.css").read_text()


@pytest.mark.parametrize(("number", "is_whole"), [(10, True), (11, False)])
def test_ten_of_each_are_shown(repository: Path, number: int, *, is_whole: bool) -> None:
    root = repository_of(repository, pools=number, work=number, clusters=number, gpus=9)
    told = content(root, findings=findings(0, number - 1))
    page = overview.page(told)
    found = tables(page)
    for title, target in (("Work to look at", "work/open.html"), ("Clusters", "clusters/index.html")):
        assert len(found[title].rows) == 10
        assert found[title].more == (None if is_whole else Link(f"{title}: all 11", target))
    (listed,) = (block for block in page.blocks if isinstance(block, blocks.FindingsBlock))
    assert (listed.title, listed.none, len(listed.items)) == ("Findings", "Nothing was found.", 10)
    assert listed.more == (None if is_whole else Link("All 11 findings", "findings/index.html"))
    assert TextBlock("Used: declared.") in page.blocks


@pytest.mark.parametrize(("pools", "more"), [(50, None), (51, Link("Pools: all 51", "pools/index.html"))])
def test_fifty_pools_are_shown(repository: Path, pools: int, more: Link | None) -> None:
    page = overview.page(content(repository_of(repository, pools=pools)))
    assert [type(block).__name__ for block in page.blocks] == ["Tiles", "Table", "FindingsBlock", "TextBlock", "Table"]
    assert (len(tables(page)["Pools"].rows), tables(page)["Pools"].more) == (50, more)


def to_team(name: str, gpus: int, to: str = "team--a") -> dict[str, str]:
    return site.flow(name, gpus, to)


@pytest.fixture
def changed(repository: Path) -> Path:
    """A repository with a past, in which quotas and work are others."""
    owned = subpool("b", 20).rstrip("\n") + "\n  queue: {labels: {owner: ben}}\n"
    files = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10), "subpools/b.yaml": owned}
    write(repository, files | to_team("goes", 1) | to_team("stays", 1) | to_team("grows", 4) | to_team("moves", 2))
    commit(repository)
    (repository / "workflows/goes.yaml").unlink()
    more = to_team("grows", 30) | to_team("moves", 2, "team--b") | to_team("comes", 3, "team--b")
    return write(repository, {"subpools/a.yaml": subpool("a", 40)} | more)


def words(page: Path) -> str:
    return " ".join(Html(page.read_text()).words.split())


def test_what_changed_for_whom(changed: Path, tmp_path: Path) -> None:
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    text = words(tmp_path / "site/changes/index.html")
    assert (
        "Changes since HEAD high 2 queues, 4 workflows or workloads, 2 restarts, 14 objects. risk: high - 2 gangs"
        in text
    )
    assert "For whom Pool Owner GPU quota Work team 70 -> 40 (-30) - team--a 10 -> 40 (+30) gone: goes;" in text
    assert (
        "changed: grows; goes to team--b: moves team--b ben - new, admitted: comes; from team--a, admitted: moves"
        in text
    )
    assert "Workflow/moves team--a -> team--b NORMAL 2 admitted" in text
    assert "risk: high Changes since HEAD" in words(tmp_path / "site/index.html")
    links = Html((tmp_path / "site/changes/index.html").read_text()).links
    assert "../pools/team.html#subpool-b" in links
    assert dead_links(tmp_path / "site") == []


def test_without_owners_and_with_parents_each_pool_has_its_own_quota(repository: Path, tmp_path: Path) -> None:
    """The queue of a pool with subpools is that of all of them, and says nothing of what is left to the pool."""
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
    commit(repository)
    write(repository, {"pools/team.yaml": pool(guarantee=120), "subpools/a.yaml": subpool("a", 30)})
    assert report(repository, tmp_path / "site", "--since", "HEAD") == 0
    text = words(tmp_path / "site/changes/index.html")
    assert "For whom Pool GPU quota Work team--a 10 -> 30 (+20) - Queues Queue" in text


def test_what_a_reader_of_changes_reads(
    changed: Path, tmp_path: Path, snapshot: Any, request: pytest.FixtureRequest
) -> None:
    """With a change that the API server refuses and a subpool that is closed, too."""
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, labels: {kubectl-tas/pool: team--b}}\n"
    template = "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: %s}]}}}\n"
    write(changed, {"workflows/once.yaml": job + template % "i", "subpools/c.yaml": subpool("c", 5)})
    commit(changed)
    write(changed, {"subpools/c.yaml": subpool("c", 5, state="DELETING")})
    write(changed, {"workflows/once.yaml": job + template % "j", "subpools/a.yaml": subpool("a", 20)})
    write(changed, to_team("comes", 1) | to_team("another", 1, "team"))
    report(changed, tmp_path / "site", "--since", "HEAD")
    page = (tmp_path / "site/changes/index.html").read_text()
    assert dead_links(tmp_path / "site") == []
    texts = {"index.txt": text_of(page), "index.marks.txt": marks_of(page)}
    assert_files(snapshot, GOLDEN / "commands/report/changes", texts, update=request.config.option.update_snapshots)


@pytest.mark.parametrize(
    ("files", "risk", "tone"),
    [
        ({}, "none", "good"),
        (to_team("another", 1), "low", "good"),
        ({"subpools/a.yaml": subpool("a", 35)}, "medium", "fair"),
        (to_team("stays", 2), "high", "bad"),
    ],
)
def test_each_risk_has_its_colour(changed: Path, tmp_path: Path, files: dict[str, str], risk: str, tone: str) -> None:
    commit(changed)
    write(changed, files)
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    assert f'class="badge {tone}">{risk}<' in (tmp_path / "site/changes/index.html").read_text()


def test_the_page_says_what_diff_says(changed: Path, tmp_path: Path) -> None:
    """All rows of all tables are there."""
    report(changed, tmp_path / "site", "--since", "HEAD")
    told = kubectl_tas("-C", changed, "diff", "--base", "HEAD", "-o", "markdown").out
    text = words(tmp_path / "site/changes/index.html")
    for row in (line for line in told.splitlines() if line.startswith("| <code>")):
        assert " ".join(Html(row.strip("| ").replace(" | ", "")).words.split()) in text


def test_a_subpool_that_is_gone_has_no_owner_and_no_page(changed: Path, tmp_path: Path) -> None:
    commit(changed)
    (changed / "subpools/b.yaml").unlink()
    write(changed, {"subpools/a.yaml": subpool("a", 40) + "  queue: {labels: {owner: ada}}\n"})
    write(changed, to_team("moves", 2, "team--a") | to_team("comes", 3, "team--a"))
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    page = text_of((tmp_path / "site/changes/index.html").read_text())
    assert "\nteam--b | | 20 -> - (-20) | goes to team--a: comes, moves\n" in page
    assert dead_links(tmp_path / "site") == []


def test_nothing_changed(changed: Path, tmp_path: Path) -> None:
    commit(changed)
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    text = words(tmp_path / "site/changes/index.html")
    assert "Changes since HEAD none nothing. risk: none - nothing changes. Written by" in text


def test_errors_leave_nothing_to_compare(changed: Path, tmp_path: Path) -> None:
    write(changed, {"workflows/bad.yaml": "workflow: {name: x, pool: nowhere, tasks: [{name: t, image: i}]}\n"})
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 1
    said = "Nothing is compared while the repository has errors. Correct them first."
    assert said in words(tmp_path / "site/changes/index.html")
    assert "not compared Changes since HEAD" in words(tmp_path / "site/index.html")


def test_without_a_revision_there_is_no_page(changed: Path, tmp_path: Path) -> None:
    report(changed, tmp_path / "site", "--since", "HEAD")
    assert report(changed, tmp_path / "site") == 0
    assert not (tmp_path / "site/changes").exists()
    assert "Changes" not in words(tmp_path / "site/index.html")


def test_a_revision_that_is_not_there(changed: Path, tmp_path: Path) -> None:
    result = kubectl_tas("-C", changed, "report", "--to", tmp_path / "site", "--since", "v9")
    assert result.code == 3
    assert "v9" in result.err
    assert not (tmp_path / "site").exists()


def test_a_long_table_names_the_command_that_has_the_rest(changed: Path, tmp_path: Path) -> None:
    write(changed, {path: text for n in range(blocks.ROWS) for path, text in to_team(f"w{n:03}", 0).items()})
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    text = words(tmp_path / "site/changes/index.html")
    assert " 4 more: kubectl tas diff --base HEAD Objects Kind " in text
    page = Html((tmp_path / "site/changes/index.html").read_text())
    rows = [row.count("<td") for row in page.text.partition('id="work"')[2].split("</table>")[0].split("<tr>")[2:]]
    assert len(rows) == blocks.ROWS + 1
    assert len(set(rows)) == 1, "each row has all cells"
    assert "Workflow/w100" in text
    assert "Workflow/w199" not in text


@pytest.mark.parametrize(("rows", "more"), [(4, "w3"), (3, "1 more: kubectl tas")])
def test_a_table_that_just_fits_is_whole(
    changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, more: str
) -> None:
    commit(changed)
    monkeypatch.setattr(blocks, "ROWS", rows)
    write(changed, {path: text for n in range(4) for path, text in to_team(f"w{n}", 0).items()})
    assert report(changed, tmp_path / "site", "--since", "HEAD") == 0
    work = words(tmp_path / "site/changes/index.html").partition(" Objects ")[0]
    assert more in work
    assert ("more: kubectl tas" in work) == (rows < 4)
