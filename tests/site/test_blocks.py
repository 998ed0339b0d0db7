"""Tests blocks of pages: long tables are divided, and large pictures are cut."""

from __future__ import annotations

import pytest

from kubectl_tas.draw.figure import Box, Figure
from kubectl_tas.site.blocks import Link, Page, Pager, Table, TextBlock, begun, divided, drawing, further


def table(rows: int) -> Table:
    return Table("Work", ("Name",), tuple((f"r{n}",) for n in range(rows)), anchors=tuple(f"a{n}" for n in range(rows)))


def page(rows: int) -> Page:
    return Page("work/index.html", "All", "", "Work", (Link("Above", "index.html"),), (TextBlock("first"), table(rows)))


@pytest.mark.parametrize(("number", "path"), [(1, "work/index.html"), (2, "work/index/2.html")])
def test_where_further_pages_are(number: int, path: str) -> None:
    assert further("work/index.html", number) == path


def test_a_table_that_is_short_enough_is_whole() -> None:
    assert begun(table(3), 3, "work/index.html") == table(3)
    cut = begun(table(4), 3, "work/index.html")
    assert cut.rows == table(3).rows
    assert cut.more == Link("Work: all 4", "work/index.html")


@pytest.mark.parametrize("rows", [0, 1, 200])
def test_two_hundred_rows_are_one_page(rows: int) -> None:
    (one,) = divided(page(rows))
    assert one == page(rows)


def test_two_pages_lead_to_each_other() -> None:
    paths = ("work/index.html", "work/index/2.html")
    assert [part.blocks[-1] for part in divided(page(201))] == [Pager("Work", 1, paths), Pager("Work", 2, paths)]


def test_the_rest_of_a_table_is_on_further_pages() -> None:
    first, second, third = divided(page(401))
    paths = ("work/index.html", "work/index/2.html", "work/index/3.html")
    assert tuple(part.path for part in (first, second, third)) == paths
    assert [part.title for part in (first, second, third)] == ["All", "All, page 2", "All, page 3"]
    above = Link("Above", "index.html")
    assert first.crumbs == (above,)
    assert second.crumbs == third.crumbs == (above, Link("All", "work/index.html"))
    whole = table(401)
    for number, part, others in ((1, first, (TextBlock("first"),)), (2, second, ()), (3, third, ())):
        own = slice(200 * (number - 1), 200 * number)
        rest = Table("Work", ("Name",), whole.rows[own], anchors=whole.anchors[own])
        assert part.blocks == (*others, rest, Pager("Work", number, paths))


def figure(*boxes: Box) -> Figure:
    return Figure("Pool", "team", "pools/team.yaml", facts=(), boxes=boxes)


def leaves(box: int, number: int) -> Box:
    return Box(f"top-{box}", children=(Box(f"mid-{box}", children=tuple(Box(f"leaf-{n}") for n in range(number))),))


@pytest.mark.parametrize(
    ("boxes", "inside", "is_cut"), [(1, 599, False), (1, 600, True), (2, 299, False), (2, 300, True)]
)
def test_a_picture_has_six_hundred_boxes_at_most(boxes: int, inside: int, *, is_cut: bool) -> None:
    """Besides the outer ones: a box that would have more is shown as deep as there is room."""
    drawn = drawing("Quota and use", figure(*(leaves(box, inside) for box in range(boxes))))
    assert drawn.title == "Quota and use"
    assert drawn.html.count(f"with {inside} more in it") == (boxes if is_cut else 0)
    assert ("leaf-0" not in drawn.html) == is_cut
    assert drawing("Nothing", figure()).title == "Nothing"
