"""Tests figures in every format: their content, that they are self-contained, and that nothing overlaps or is cut."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kubectl_tas.draw import diagrams, html, svg, tree
from kubectl_tas.draw.diagrams import FORMATS
from kubectl_tas.draw.figure import (
    ALL_SHOWN,
    FIRST_SHOWN,
    MOST_BESIDE,
    MOST_DEEP,
    Bar,
    Box,
    BoxLook,
    Figure,
    folded,
    within,
)
from kubectl_tas.draw.gangfigure import tree_of
from kubectl_tas.draw.palette import DARK, LIGHT, Theme
from kubectl_tas.gangs.gang import Gang, Member, SubGroup
from tests.draw.test_impactpages import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "rect", "path"}


def task(name: str, gpus: int = 8) -> Box:
    return Box(name, words=(f"{gpus} GPUs",), look=BoxLook.ITEM)


def figure(*boxes: Box, text: str = "a") -> Figure:
    return Figure("Workflow", text, f"workflows/{text}.yaml", (("Queue", text),), boxes)


def everything(text: str = "a") -> Figure:
    """A figure with all that there is, in which every text is the same."""
    bars = (Bar(text, 8, 4, 2), Bar(text, 8, 12), Bar(text, 0, 4), Bar(text, 0))
    looks = tuple(Box(text, text, text, (text,), look, bars, (Box(text, look=BoxLook.ITEM),)) for look in BoxLook)
    return figure(Box(text, "PodGroup", children=looks), text=text)


def texts(boxes: tuple[Box, ...]) -> list[str]:
    return [box.title for box in boxes]


class TestFolding:
    def test_a_few_are_shown(self) -> None:
        boxes = tuple(task(f"worker-{n}") for n in range(ALL_SHOWN))
        assert folded(boxes) == boxes

    def test_many_that_are_alike_are_counted(self) -> None:
        found = folded([task(f"worker-{n}") for n in range(64)])
        assert texts(found) == ["worker-0", "worker-1", "worker-2", "and 61 more like worker-2"]
        assert found[-1].note == "the last is worker-63"

    def test_one_that_differs_is_shown(self) -> None:
        found = folded(
            [*(task(f"worker-{n}") for n in range(30)), task("odd", 1), *(task(f"z-{n}") for n in range(30))]
        )
        assert texts(found) == ["worker-0", "worker-1", "worker-2", "and 57 more like worker-2", "odd"]

    def test_kinds_that_take_turns_are_folded_each(self) -> None:
        found = folded([task(f"{kind}-{n}", gpus) for n in range(20) for kind, gpus in (("a", 8), ("b", 1))])
        assert len(found) == 2 * (FIRST_SHOWN + 1)
        assert {"and 17 more like a-2", "and 17 more like b-2"} < set(texts(found))

    def test_what_is_inside_counts(self) -> None:
        groups = [Box(f"g-{n}", children=(task("a", 8 if n < 20 else 4),)) for n in range(40)]
        assert texts(folded(groups))[3::4] == ["and 17 more like g-2", "and 17 more like g-22"]

    def test_a_flood_of_different_ones_ends(self) -> None:
        found = folded([task(f"worker-{n}", n) for n in range(1000)])
        assert len(found) == MOST_BESIDE == 60
        assert found[-1].title == "and 941 more"

    def test_what_a_flood_counts_together_is_each_box_of_those_that_were_folded(self) -> None:
        alike = [task(f"like-{n}", 99) for n in range(20)]
        found = folded([*(task(f"worker-{n}", n) for n in range(59)), *alike])
        assert len(found) == 60
        assert found[-1].title == "and 20 more"


def test_a_chain_of_sub_groups_without_end_is_cut() -> None:
    chain = tuple(SubGroup(f"s{n}", 1, 1, 0, parent=f"s{n - 1}" if n else None) for n in range(5000))
    found = list(tree_of(Gang("pg", 1, 1, 0, sub_groups=chain)).all)
    assert [box.name for box in found] == ["pg", *(f"s{n}" for n in range(MOST_DEEP))]
    assert found[-1].words == ("1 pod", "with more in it")


@pytest.mark.parametrize(("members", "words"), [((), ("1 pod",)), ((Member("t", 0),), ("1 pod", "with more in it"))])
def test_only_a_part_with_more_in_it_says_so_where_the_picture_ends(
    members: tuple[Member, ...], words: tuple[str, ...]
) -> None:
    parts = [SubGroup(f"s{n}", 1, 1, 0, parent=f"s{n - 1}" if n else None) for n in range(MOST_DEEP)]
    parts[-1] = replace(parts[-1], members=members)
    *_, last = tree_of(Gang("pg", 1, 1, 0, sub_groups=tuple(parts))).all
    assert (last.name, last.words) == (f"s{MOST_DEEP - 1}", words)


class _Page(HTMLParser):
    """Reads a page, and refuses what is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_text_in_every_format(text: str) -> None:
    """Neither marks of the format nor what commands a terminal comes through."""
    plain, hostile = everything(), everything(text)
    root = ET.fromstring(svg.render([hostile]))
    assert [item.tag for item in root.iter()][:5] == [
        f"{SVG}svg",
        f"{SVG}title",
        f"{SVG}desc",
        f"{SVG}style",
        f"{SVG}rect",
    ]
    assert {item.tag for item in root.iter()} == {item.tag for item in ET.fromstring(svg.render([plain])).iter()}
    assert [tag for tag, _ in _Page(html.render([hostile])).tags] == [
        tag for tag, _ in _Page(html.render([plain])).tags
    ]
    shown, before = diagrams.mermaid([hostile]), diagrams.mermaid([plain])
    assert [_bones(line) for line in shown.splitlines()] == [_bones(line) for line in before.splitlines()]
    assert [_bones(line) for line in diagrams.dot([hostile]).splitlines()] == [
        _bones(line) for line in diagrams.dot([plain]).splitlines()
    ]
    for render in FORMATS.values():
        assert "\x1b" not in render([hostile])


def _bones(line: str) -> str:
    """A line of Mermaid or dot without its texts."""
    line = re.sub(r"(acc\w+: )[\w #;.,:/()=-]*$", r"\1", line)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)


def test_a_rack_of_hosts_beside_an_empty_one_takes_the_whole_width() -> None:
    """A GB200 rack has 18 hosts: in a column of its own they would be one below the other, beside nothing."""
    hosts = tuple(Box(f"host-{number}", words=("4 of 4 GPUs free",)) for number in range(18))
    racks = (Box("rack-1", children=hosts), Box("rack-2", words=("72 of 72 GPUs free",)))
    root = ET.fromstring(svg.render([figure(Box("zone-1", children=racks))]))
    alone = ET.fromstring(svg.render([figure(Box("zone-1", children=racks[:1]))]))
    assert float(root.attrib["height"]) < float(alone.attrib["height"]) + 100
    wide, narrow = (
        {item.attrib.get("width") for item in drawn.iter() if item.tag.endswith("rect")} for drawn in (root, alone)
    )
    assert narrow <= wide, "the hosts are as wide as without an empty rack"


def test_an_svg_stands_alone() -> None:
    root = ET.fromstring(svg.render([everything()]))
    assert root.get("role") == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}" == "tas-title tas-desc"
    assert title.text == "Workflow a"
    assert description.text == tree.render([everything()])


@pytest.mark.parametrize("render", [svg.render, html.render])
def test_nothing_is_loaded_and_nothing_runs(render: object) -> None:
    page = render([everything()])  # type: ignore[operator]
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert re.search(r"<script|\son\w+=|href=|src=|url\(|@import|https?:", without_namespace) is None
    assert "@media (prefers-color-scheme: dark)" in page


def test_a_page_tells_all_that_is_drawn() -> None:
    page = _Page(html.render([everything("b")]))
    assert ("html", {"lang": "en"}) in page.tags
    assert [tag for tag, _ in page.tags if tag in ("h1", "title", "main")] == ["title", "main", "h1"]
    assert all(values.get("aria-hidden") == "true" for tag, values in page.tags if tag == "svg")
    told = "\n".join(page.words)
    for box in everything("b").all:
        assert all(text in told for text in (box.title, *box.lines, *(bar.text for bar in box.bars)))


def _rectangles(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """The boxes: left, top, right and bottom."""
    found = []
    for item in root.iter(f"{SVG}rect"):
        if item.get("rx") == "6":
            x, y, wide, high = (float(item.get(name, 0)) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + wide, y + high))
    return found


DEEP = Box("leaf", words=("a word " * 60,), bars=(Bar("b" * 300, 1),))
for _ in range(40):
    DEEP = Box("level", words=("x" * 300,), children=(DEEP, task("t" * 253)))
SHAPES = {
    "everything": everything("workflow-group-model-1-group"),
    "long names": everything("n" * 253),
    "wide characters": everything("\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 90),
    "deep": figure(DEEP),
    "many": figure(Box("gang", children=folded([task(f"worker-{n}", n) for n in range(500)]))),
    "one": figure(Box("x")),
    "none": figure(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_overlaps_or_is_cut(shape: str) -> None:
    """Of two boxes one is within the other, or they are apart; all is within the picture, and every text in a box."""
    root = ET.fromstring(svg.render([SHAPES[shape]]))
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = _rectangles(root)
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= wide
        assert 0 <= top < bottom <= high
        for other in boxes:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            within = left <= other[0] and top <= other[1] and other[2] <= right and other[3] <= bottom
            holds = other[0] <= left and other[1] <= top and right <= other[2] and bottom <= other[3]
            assert apart or within or holds
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.get("x", 0)), float(text.get("y", 0))
        style = text.get("class", "").split()[0].removeprefix("tas-")
        end = x + svg.measure(style, text.text or "")
        assert end <= wide
        around = [box for box in boxes if box[0] < x < box[2] and box[1] < y < box[3]]
        if around:
            assert end <= min(box[2] for box in around)


@pytest.mark.parametrize("shape", ["everything", "long names", "wide characters", "many", "none"])
def test_a_picture_is_as_wide_as_a_page(shape: str) -> None:
    assert ET.fromstring(svg.render([SHAPES[shape]])).get("width") == "880"


@pytest.mark.parametrize("char", ["-", "/"])
def test_a_long_name_is_broken_behind_hyphens_and_slashes(char: str) -> None:
    name = char.join(["training"] * 40)
    lines = [item.text or "" for item in ET.fromstring(svg.render([figure(task(name))])).iter(f"{SVG}text")]
    parts = [line for line in lines if "training" in line]
    assert "".join(parts) == name
    assert len(parts) > 1
    assert {line[-1] for line in parts[:-1]} == {char}


def test_a_mermaid_chart_is_never_too_large_to_be_drawn() -> None:
    groups = [Box(f"g-{n}", children=folded([task(f"t-{m}", m) for m in range(n)])) for n in range(50)]
    shown = diagrams.mermaid([figure(Box("gang", "PodGroup", children=tuple(groups)))])
    assert shown.count(" --- ") < 500
    assert len(shown) < 50_000
    assert "with 49 more in it" in shown


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (1, ["top, with 4 more in it"]),
        (2, ["top", "a, with 2 more in it", "b"]),
        (3, ["top", "a", "deep, with 1 more in it", "b"]),
        (4, ["top", "a", "deep", "leaf", "b"]),
    ],
)
def test_a_chart_has_whole_layers_as_far_as_there_is_room(most: int, shown: list[str]) -> None:
    inner = Box("deep", children=(Box("leaf"),))
    found = within(Box("top", children=(Box("a", children=(inner,)), Box("b"))), most)
    assert [", ".join((box.name, *box.words)) for box in found.all] == shown


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it() -> None:
    written = "".join(diagrams.dot([everything(text)]) for text in HOSTILE)
    drawn = subprocess.run(["dot", "-Tplain"], input=written, capture_output=True, text=True, check=True)
    assert drawn.stdout.count("graph ") == len(HOSTILE)
    assert drawn.stderr == ""


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_no_entities_in_it() -> None:
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=diagrams.dot([figure(text="R&amp;D")]), capture_output=True, text=True, check=True
    )
    assert "Queue: R&amp;D" in drawn.stdout


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(first: str, second: str) -> float:
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _pairs(theme: Theme) -> Iterator[tuple[str, str, float]]:
    """What is seen on what, and the least contrast by WCAG 2.2 AA: 4.5 for text, 3 for lines and shapes."""
    yield theme.text, theme.page, 4.5
    yield theme.quiet, theme.page, 4.5
    for fill, line in theme.looks.values():
        yield theme.text, fill, 4.5
        yield line, fill, 3
        yield line, theme.page, 3
        yield theme.quiet, fill, 4.5
        yield theme.filled, fill, 3
        yield theme.added, fill, 3
        yield theme.over, fill, 3
    yield theme.filled, theme.size, 3
    yield theme.added, theme.size, 3


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_have_contrast(theme: Theme) -> None:
    assert [(one, other) for one, other, least in _pairs(theme) if _contrast(one, other) < least] == []


def test_a_line_that_is_too_narrow_for_any_character_has_one() -> None:
    assert [line.text for line in svg._wrapped("word", "ab", 0.1)] == ["a", "b"]
    assert [line.text for line in svg._wrapped("word", "", 0.1)] == [""]
