"""Tests the first page: its numbers with their colours, and how much of each table it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.site import blocks, overview
from kubectl_tas.site.blocks import Link, Page, Table, Text, Tiles
from kubectl_tas.site.content import Content
from tests.support.cli import pool, write
from tests.support.site import content, flow


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
        (Link("Topologies", "topologies/index.html"), "0", "plain"),
        (Link("Workflows, workloads", "work/index.html"), "1", "plain"),
        (Link("Work to look at", "work/open.html"), str(int(gpus > 8)), tones[0]),
        (Link("Errors", "findings/index.html"), str(errors), tones[1]),
        (Link("Warnings", "findings/index.html"), str(warnings), tones[2]),
    )


def test_where_nothing_is_compared_that_is_said(repository: Path) -> None:
    told = content(repository_of(repository), since="v1")
    assert tiles(told).rows[-1] == (Link("Changes since v1", "changes/index.html"), "not compared", "plain")


@pytest.mark.parametrize(("number", "is_whole"), [(10, True), (11, False)])
def test_ten_of_each_are_shown(repository: Path, number: int, *, is_whole: bool) -> None:
    root = repository_of(repository, pools=number, work=number, clusters=number, gpus=9)
    told = content(root, findings=findings(0, number - 1))
    page = overview.page(told)
    found = tables(page)
    for title, target in (("Work to look at", "work/open.html"), ("Clusters", "clusters/index.html")):
        assert len(found[title].rows) == 10
        assert found[title].more == (None if is_whole else Link(f"{title}: all 11", target))
    (listed,) = (block for block in page.blocks if isinstance(block, blocks.Findings))
    assert (listed.title, listed.none, len(listed.items)) == ("Findings", "Nothing was found.", 10)
    assert listed.more == (None if is_whole else Link("All 11 findings", "findings/index.html"))
    assert Text("Used: declared.") in page.blocks


@pytest.mark.parametrize(("pools", "more"), [(50, None), (51, Link("Pools: all 51", "pools/index.html"))])
def test_fifty_pools_are_shown(repository: Path, pools: int, more: Link | None) -> None:
    page = overview.page(content(repository_of(repository, pools=pools)))
    assert [type(block).__name__ for block in page.blocks] == ["Tiles", "Table", "Findings", "Text", "Table"]
    assert (len(tables(page)["Pools"].rows), tables(page)["Pools"].more) == (50, more)
