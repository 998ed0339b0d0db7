"""Tests pages of findings: how they are divided, where those of a file begin, and excerpts on other pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.site import blocks, found, places
from kubectl_tas.site.blocks import Badge, Link, Page, Pager, Table, TextBlock
from kubectl_tas.site.content import Content, severity_badge
from tests.support.cli import pool, write
from tests.support.site import content

FIRST = Rule("first-rule", Severity.WARNING, "When a first thing fires.", "Because of a first thing.")
SECOND = Rule("second-rule", Severity.ERROR, "When a second thing fires.", "Because of a second thing.")
ABOVE = (Link("Findings", "findings/index.html"),)


def findings(path: str, number: int, rule: Rule = FIRST) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic(rule, f"{path} {line}", Location(path, line, 1)) for line in range(1, number + 1))


@pytest.fixture
def empty(repository: Path) -> Path:
    return write(repository, {"pools/team.yaml": pool()})


def told(root: Path, *found_: Iterable[Diagnostic], waived: Iterable[Diagnostic] = ()) -> Content:
    return content(root, findings=tuple(item for part in found_ for item in part), waived=tuple(waived))


def of_findings(content_: Content) -> list[Page]:
    *pages, rules = found.pages(content_)
    assert rules.path == "findings/rules.html"
    return pages


def groups(page: Page) -> list[tuple[str, str, int]]:
    """Title, anchor and number of findings of each group."""
    return [
        (item.title, item.anchor, len(item.items)) for item in page.blocks if isinstance(item, blocks.FindingsBlock)
    ]


def test_without_findings_there_is_one_page(empty: Path) -> None:
    one, rules = found.pages(told(empty))
    said = TextBlock("`kubectl tas validate` says: No problems found in 1 file.")
    header = ("Rule", "Findings", "When it fires")
    assert one == Page("findings/index.html", "Findings", "", "Findings", (), (said, Table("Rules", header, ())))
    none = (TextBlock("No rule found anything."),)
    assert rules == Page("findings/rules.html", "Rules", "", "Findings", ABOVE, none)


def test_fifty_findings_are_one_page(empty: Path) -> None:
    (one,) = of_findings(told(empty, findings("a", 50)))
    assert groups(one) == [("a", "in-a", 50)]
    assert not any(isinstance(item, Pager) for item in one.blocks)


def test_two_pages_lead_to_each_other(empty: Path) -> None:
    paths = ("findings/index.html", "findings/index/2.html")
    pages = of_findings(told(empty, findings("a", 51)))
    assert [page.blocks[-1] for page in pages] == [Pager("Findings", 1, paths), Pager("Findings", 2, paths)]


def test_more_findings_have_further_pages(empty: Path) -> None:
    told_ = told(empty, findings("a", 51), findings("b", 60, SECOND), waived=findings("a", 2))
    first, second, third = of_findings(told_)
    paths = ("findings/index.html", "findings/index/2.html", "findings/index/3.html")
    for number, (page, path) in enumerate(zip((first, second, third), paths, strict=True), 1):
        assert page.path == path
        assert page.blocks[-1] == Pager("Findings", number, paths)
        assert (page.about, page.section) == ("", "Findings")
    assert [page.title for page in (first, second, third)] == ["Findings", "Findings, page 2", "Findings, page 3"]
    assert (first.crumbs, second.crumbs, third.crumbs) == ((), ABOVE, ABOVE)
    assert groups(first) == [("a", "in-a", 50)]
    assert groups(second) == [("a", "", 1), ("b", "in-b", 49)], "a begins on the page before"
    assert groups(third) == [("b", "", 11), ("Waived in a", "", 2)]
    said = "`kubectl tas validate` says: 60 errors, 51 warnings in 1 file; 2 waived."
    rows = (
        (Link("second-rule", "findings/rules.html#second-rule"), "60", "When a second thing fires."),
        (Link("first-rule", "findings/rules.html#first-rule"), "53", "When a first thing fires."),
    )
    assert first.blocks[:2] == (TextBlock(said), Table("Rules", ("Rule", "Findings", "When it fires"), rows))
    assert not any(isinstance(item, TextBlock | Table) for item in (*second.blocks, *third.blocks))
    whole = [item for page in (first, second, third) for item in page.blocks if isinstance(item, blocks.FindingsBlock)]
    assert [item.waived for part in whole for item in part.items] == [False] * 111 + [True] * 2


def test_rules_that_found_as_much_are_sorted_by_name(empty: Path) -> None:
    (one,) = of_findings(told(empty, findings("a", 1, SECOND), findings("a", 1, FIRST)))
    (rules,) = (item for item in one.blocks if isinstance(item, Table))
    assert [row[1] for row in rules.rows] == ["1", "1"]
    assert [row[0] for row in rules.rows] == [
        Link(code, f"findings/rules.html#{code}") for code in ("first-rule", "second-rule")
    ]


def test_each_rule_is_explained(empty: Path) -> None:
    *_, page = found.pages(told(empty, findings("a", 2, SECOND), waived=findings("a", 1)))
    texts = [item for item in page.blocks if isinstance(item, TextBlock)]
    assert len(texts) == len(page.blocks) == 6
    assert texts[0] == TextBlock("When a first thing fires.", Badge("warning", "fair"), "first-rule")
    assert texts[1] == TextBlock("Because of a first thing.")
    assert texts[3] == TextBlock("When a second thing fires.", Badge("error", "bad"), "second-rule")
    assert texts[5] == TextBlock("It cannot be made milder.")


def test_findings_of_no_file_are_of_the_repository(empty: Path) -> None:
    (one,) = of_findings(told(empty, [Diagnostic(FIRST, "nothing", None)], findings("a", 1)))
    assert groups(one) == [("The repository", "", 1), ("a", "in-a", 1)]
    (item,) = (part for part in one.blocks if isinstance(part, blocks.FindingsBlock) and part.title == "The repository")
    assert item.items[0].place == ""
    assert item.items[0].excerpt == ()


def test_findings_of_a_file_name_what_it_declares(repository: Path) -> None:
    """Ten things, and no more."""
    more = "---\n".join(pool(f"p{number:02}") for number in range(12))
    tree = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: fabric}\n"
    levels = "spec: {levels: [{domain: rack, key: example.com/rack}]}\n"
    own = pool("own", spec="  topology_keys: [{key: rack, label: example.com/rack}]\n")
    write(repository, {"pools/many.yaml": more, "topologies/fabric.yaml": tree + levels, "pools/own.yaml": own})
    paths = ("pools/many.yaml", "topologies/fabric.yaml", "pools/own.yaml", "none.yaml")
    (one,) = of_findings(told(repository, *(findings(path, 1) for path in paths)))
    about = {item.title: item.about for item in one.blocks if isinstance(item, blocks.FindingsBlock)}
    assert about["pools/many.yaml"] == tuple(Link(f"p{n:02}", f"pools/p{n:02}.html") for n in range(10))
    assert about["topologies/fabric.yaml"] == (Link("fabric", "topologies/fabric.html"),)
    assert about["pools/own.yaml"] == (Link("own", "pools/own.html"),), "its topology is a part of it"
    assert about["none.yaml"] == ()


def test_a_page_about_something_else_shows_ten_findings(empty: Path) -> None:
    for number in (0, 9, 10):
        shown = found.findings_of(told(empty, findings("a", number)), "a")
        assert (shown.title, shown.none, len(shown.items)) == ("Findings in a", "Nothing was found.", number)
        assert shown.more is None
    many = told(empty, findings("a", 49), findings("b", 11), findings("c", 12))
    shown = found.findings_of(many, "b")
    assert [item.message for item in shown.items] == [f"b {line}" for line in range(1, 11)]
    assert shown.more == Link("All 11 findings", "findings/index.html#in-b")
    assert found.findings_of(many, "c").more == Link("All 12 findings", "findings/index/2.html#in-c")


def test_the_worst_come_first(empty: Path) -> None:
    notes = Rule("note-rule", Severity.INFO, "When.", "Why.")
    all_ = told(empty, findings("a", 1, notes), findings("b", 2), findings("c", 1, SECOND))
    assert [item.message for item in found.worst(all_, 3)] == ["c 1", "b 1", "b 2"]
    assert [severity_badge(item.severity) for item in all_.findings] == [
        Badge("info", "plain"),
        Badge("warning", "fair"),
        Badge("warning", "fair"),
        Badge("error", "bad"),
    ]


@pytest.mark.parametrize(("number", "last"), [(1, "note 0 (b:1:2)"), (5, "note 4"), (6, "and 1 more")])
def test_five_notes_are_shown_of_a_finding(number: int, last: str) -> None:
    notes = [Related(f"note {n}", None if n else Location("b", 1, 2)) for n in range(number)]
    place = Location("a", 3, 7, source="key: value", length=3)
    shown = found.finding(Diagnostic(FIRST, "said", place, tuple(notes), "Do this."), waived=True)
    assert (shown.place, shown.message, shown.hint, shown.waived) == ("a:3:7", "said", "Do this.", True)
    assert shown.rule == Link("first-rule", places.rule_place("first-rule"))
    assert shown.severity == Badge("warning", "fair")
    assert "".join(shown.excerpt).count("^") == 3
    assert (shown.notes[-1], len(shown.notes)) == (last, number)
