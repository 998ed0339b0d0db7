"""Tests that input cannot create markup on pages about a change, and that these fit into a comment."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.compare.impact import (
    Impact,
    ObjectCount,
    PolicyChange,
    QueueChange,
    QueueState,
    Restart,
    RuleChange,
    SettingChange,
    SubpoolStep,
    TopologyChange,
    WorkChange,
)
from kubectl_tas.draw import impacthtml, impactmarkdown, impactsections
from kubectl_tas.draw.impactmarkdown import MAX_CELL
from kubectl_tas.emit.foreign import FileBeside
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.report import json as report
from kubectl_tas.report import text
from kubectl_tas.resolve.topologies import Level
from tests.support.golden import ROOT

RULE = Rule("a-rule", Severity.ERROR, "a", "b")
HOSTILE = (
    "a|b",
    "a\\|b",
    "`a`",
    "```\n</details>\n# title",
    "~~~",
    "<img src=x onerror=alert(1)>",
    "<!-- -->",
    "</code></details><script>alert(1)</script>",
    "@octocat #1 !2 octo/cat#3",
    "[a](javascript:alert(1)) ![b](https://example.com/b.png)",
    "https://example.com www.example.com a@example.com",
    "**bold** __bold__ ~~gone~~ $x$ :tada:",
    '"]; click q0 href "javascript:alert(1)"; q9["x',
    "%%{init: {}}%%",
    "&lt;b&gt; &#60;b&#62;",
    "a\r\nb\x1b[31m\u202e",
    "::error::a",
)


def impact(*names: str, findings: tuple[Diagnostic, ...] = ()) -> Impact:
    """A change of queues, subpools and gangs that are called so."""
    old, new = (QueueState("team", None, *(Amounts(n),) * 3, None, {}, {}) for n in (1, 2))
    return Impact(
        revision=names[0] if names else "main",
        queues=tuple(QueueChange("default", name, old, new) for name in names),
        subpools=tuple(SubpoolStep(name, "ACTIVE", "DELETING") for name in names),
        topologies=(),
        work=(),
        restarts=tuple(Restart("PodGroup", name, f"{name}2", name) for name in names),
        rules=(),
        guard=None,
        policies=(),
        objects=(),
        findings=findings,
        unread=names,
    )


def finding(text: str) -> Diagnostic:
    return Diagnostic(RULE, text, Location("a.yaml", 1, 1, source=text, length=2), hint=text)


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_has_no_markup_of_others(name: str) -> None:
    page = impactmarkdown.render(impact(name, findings=(finding(name),)))
    outside, fences = re.subn(r"^(`{3,})\w+\n.*?^\1\n", "", page, flags=re.MULTILINE | re.DOTALL)
    assert fences == 2  # the tree and the findings
    bare = re.sub(r"(?<=[ ])`[^`|\\<&@$\n]+`(?=[ :])", "", outside)
    bare = re.sub(r"</?(details|summary|code)>|&#\d+;", "", bare)
    bare = re.sub(r"^\d+ more (is|are) left out: a comment has no room for all\.$", "", bare, flags=re.MULTILINE)
    assert re.fullmatch(r"[A-Za-z0-9 \n|:,();*#-]*", bare), bare
    assert len(re.findall("#", bare)) == 3  # the title


@pytest.mark.parametrize("name", HOSTILE)
def test_every_row_has_the_cells_of_its_header(name: str) -> None:
    page = impactmarkdown.render(impact(name))
    for table in re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize("name", HOSTILE)
def test_the_fence_of_findings_is_longer_than_any_in_them(name: str) -> None:
    page = impactmarkdown.render(impact("a", findings=(finding(name), finding("````` "))))
    (fence,) = re.findall(r"^(`{3,})text$", page, flags=re.MULTILINE)
    assert page.count(f"\n{fence}\n") == 1
    inside = page.partition(f"{fence}text\n")[2].partition(f"\n{fence}\n")[0]
    assert fence not in inside
    assert "[a-rule]" in inside


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_name_ends_the_label_of_a_node(name: str) -> None:
    page = impactmarkdown.render(impact(name))
    tree = page.partition("```mermaid\n")[2].partition("```\n")[0]
    for line in (line for line in tree.splitlines() if ":::" in line):
        assert re.fullmatch(
            r'  q\d+\["(?:[A-Za-z0-9 ._/+-]|#\d+;)*<br/>(?:[A-Za-z0-9 +-]|#\d+;)*"\]:::changed', line
        ), line


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("name", HOSTILE)
def test_html_has_no_tags_of_others_and_says_all(name: str) -> None:
    page = impacthtml.render(impact(name, findings=(finding(name),)))
    found = Tags()
    found.feed(page)
    known = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "div", "span", "p", "pre"}
    assert found.tags == {*known, "table", "thead", "tbody", "tr", "th", "td"}
    if name.isprintable() and "::" not in name:
        assert name in found.text


def test_html_says_the_risk_first_in_the_style_of_the_site() -> None:
    page = impacthtml.render(impact("a", findings=(finding("a"),)))
    heading, _, body = page.partition("</h1>\n")
    assert re.match(r'<p><span class="badge (good|fair|bad)">\w+</span> risk: ', body)
    assert (ROOT / "templates/site/style.css").read_text().partition("\n")[2] in heading


def test_html_stands_alone() -> None:
    page = impacthtml.render(impact("a"))
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"<script|<link|url\(|@import|https?:", page)


def test_nothing_in_a_name_commands_a_terminal() -> None:
    page = impactsections.render_text(impact(*HOSTILE))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", page)


@pytest.mark.sweep
@pytest.mark.parametrize("number", [1, 10, 100, 1_000, 20_000])
def test_a_comment_has_room_for_it_and_says_what_is_left_out(number: int) -> None:
    names = [f"osmo-pool-default-team--subpool-{index:05}" for index in range(number)]
    found = tuple(finding(f"message {index} {'x' * 3_000}") for index in range(number))
    page = impactmarkdown.render(impact(*names, findings=found))
    assert len(page.encode()) <= 65_536 - len("<!-- kubectl-tas -->\n")
    assert page.count("risk: high") == 2
    for section in re.findall(r"<details>.*?</details>", page, flags=re.DOTALL):
        total = int(re.search(r"\((\d+)\)</summary>", section)[1])  # type: ignore[index]
        rows = max(0, len(re.findall(r"^\| ", section, flags=re.MULTILINE)) - 2) + section.count(": error: message ")
        left = re.search(r"^(\d+) more (?:is|are) left out", section, flags=re.MULTILINE)
        assert rows + (int(left[1]) if left else 0) == total
    if number <= 10:
        assert page.count("left out") == 0


def test_queues_that_have_no_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = replace(impact("team--a", "team--b", "team--c"), subpools=(), restarts=(), unread=())
    assert "```mermaid\n" in impactmarkdown.render(queues)
    monkeypatch.setattr(impactmarkdown, "LIMIT", 0)
    page = impactmarkdown.render(queues)
    assert "```mermaid\n" not in page
    tree = page.rpartition("</details>\n")[2]
    assert tree.splitlines()[1] == "3 more are left out: a comment has no room for all."


def test_a_diagram_has_sixty_queues() -> None:
    page = impactmarkdown.render(impact(*(f"team--{number:02}" for number in range(62))))
    tree = page.partition("```mermaid\n")[2]
    assert tree.count("team--") == 60
    assert tree.partition("```\n\n")[2].startswith("2 more are left out: a comment has no room for all.\n")


def test_a_name_of_any_length_has_room() -> None:
    page = impactmarkdown.render(impact("é" * 100_000))
    assert len(page.encode()) <= impactmarkdown.LIMIT
    assert "more characters" in page


BEFORE = QueueState("team", None, *(Amounts(1),) * 3, None, {}, {})


@pytest.mark.parametrize(
    ("before", "after", "also"),
    [
        ({}, {}, "-"),
        ({}, {"parent": "all"}, "below the top -> all"),
        ({"parent": "all"}, {}, "below all -> the top"),
        ({}, {"priority": 0}, "priority - -> 0"),
        ({"priority": 200}, {"priority": 50}, "priority 200 -> 50"),
        ({"parent": "a", "priority": 1}, {"parent": "b", "priority": 2}, "below a -> b; priority 1 -> 2"),
    ],
)
def test_what_else_changes_of_a_queue_is_told(before: dict[str, Any], after: dict[str, Any], also: str) -> None:
    change = QueueChange("prod", "q", replace(BEFORE, **before), replace(BEFORE, **after))
    (queues,) = impactsections.sections(replace(impact(), queues=(change,)))
    assert queues.rows[0][-1] == also


def test_a_topology_that_is_new_or_gone_has_no_levels_on_one_side() -> None:
    levels = (Level("zone", "example.com/zone"), Level("rack", "example.com/rack"))
    new, gone = TopologyChange("new", None, levels, "made"), TopologyChange("gone", levels, None, "dropped")
    found = replace(impact(), topologies=(new, gone))
    (section,) = impactsections.sections(found)
    text = "zone (example.com/zone) > rack (example.com/rack)"
    assert section.rows == (("new", "made", "-", text), ("gone", "dropped", text, "-"))
    data = json.loads(report.render(found))["topologies"]
    assert [(item["before"] is None, item["after"] is None) for item in data] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("a b", "`a b`"),
        (" a", "<code> a</code>"),
        ("a ", "<code>a </code>"),
        ("a" * MAX_CELL + " b", f"`{'a' * MAX_CELL}` (and 2 more characters)"),
    ],
)
def test_blanks_around_a_text_stay(content: str, written: str) -> None:
    """GitHub takes one blank away at each side of a code span in backquotes."""
    assert impactmarkdown.code(content) == written


ENDLESS = Amounts(NO_LIMIT, NO_LIMIT, NO_LIMIT)
OLD = QueueState(
    "team", "all", Amounts(8, NO_LIMIT, 2**34), ENDLESS, Amounts(1, 1, 1), 100, {"a": "x"}, {"n": "1", "same": "s"}
)
NEW = QueueState(
    "team",
    "all",
    Amounts(16, 4000, 2**33),
    Amounts(32, NO_LIMIT, NO_LIMIT),
    Amounts(2, 1, 1),
    None,
    {"b": "y"},
    {"n": "2", "same": "s"},
)
FULL = Impact(
    revision="main",
    queues=(
        QueueChange("prod", "q", OLD, NEW),
        QueueChange("lab", "r", None, replace(OLD, target="lab", is_container=True)),
        QueueChange("lab", "s", OLD, None),
    ),
    subpools=(SubpoolStep("team--a", None, "ACTIVE"), SubpoolStep("team--b", "ACTIVE", None)),
    topologies=(),
    work=(),
    restarts=(Restart("Job", "a", "a", "why"), Restart("PodGroup", "a", "b", "why")),
    rules=(RuleChange("a-rule", "error", "warning", is_milder=True),),
    guard=("off", "warn"),
    policies=(
        PolicyChange("prod", "p", "made", ()),
        PolicyChange("prod", "m", "changed", ("table leaves0", "what follows")),
        PolicyChange("lab", "m", "dropped", ("table draining",)),
        PolicyChange("prod", "z", "changed", ("table leaves",)),
    ),
    objects=(ObjectCount("Queue", 1, 2, 3),),
    findings=(),
    unread=("odd",),
    settings=(SettingChange("spec.output", "a", "b"),),
    beside=(FileBeside("manifests/x.yaml", "made", "it is applied"), FileBeside("y", None, "it is not")),
)


def test_all_that_a_page_says() -> None:
    assert (
        impactsections.render_text(FULL)
        == """\
Changes since main: 1 setting, 2 files beside the manifests, 3 queues, 2 subpool states, 2 restarts, 6 guard rules, \
6 objects; not all could be compared

Not compared:
  WHY
  odd

Settings that decide what is read and what is applied:
  SETTING      BEFORE  AFTER
  spec.output  a       b

Files that kubectl-tas did not write:
  FILE              STATE       WHAT IT DOES
  manifests/x.yaml  kept, made  it is applied
  y                 refused     it is not

Work whose running pods end and start again:
  WHAT             WHY
  Job/a            why
  PodGroup/a -> b  why

Queues:
  CLUSTER  QUEUE  OF               CHANGE   GPUS          CPU             MEMORY              ALSO
  prod     q      team             changed  8 -> 16 (+8)  unlimited -> 4  16Gi -> 8Gi (-8Gi)  at most unlimited -> 32 \
GPUs; weight of GPUs 1 -> 2; priority 100 -> -; label a x -> -; label b - -> y; annotation n 1 -> 2
  lab      r      lab (all of it)  made     - -> 8 (+8)   - -> unlimited  - -> 16Gi (+16Gi)   -
  lab      s      team             dropped  8 -> - (-8)   unlimited -> -  16Gi -> - (-16Gi)   -

Who gains:
  CLUSTER  POOL  GAINS         LOSES
  prod     team  team +8 GPUs  -
  prod     team  -             team -8Gi memory
  lab      team  -             team -8 GPUs
  lab      team  -             team -16Gi memory

Subpools:
  SUBPOOL  BEFORE  AFTER
  team--a  -       ACTIVE
  team--b  ACTIVE  -

Guard rules:
  RULE              BEFORE        AFTER
  guard             off           warn
  rule a-rule       error         warning
  quotas on prod    the old ones  the new ones, of team
  quotas on lab     the old ones  the new ones, of team
  policy p on prod  -             made
  policy m on prod  there         changed: what follows

Objects:
  KIND   MADE  CHANGED  DROPPED
  Queue  1     2        3

risk: high - the Config changes spec, 2 files change what is applied, 1 gang restarts, 1 workload restarts, \
1 queue is dropped, 1 admission policy is dropped, 1 queue loses quota, 1 rule counts for less, \
not all could be compared, the guard warns
"""
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (8, 8, "8"),
        (8, 12, "8 -> 12 (+4)"),
        (12, 8, "12 -> 8 (-4)"),
        (NO_LIMIT, 8, "unlimited -> 8"),
        (8, NO_LIMIT, "8 -> unlimited"),
    ],
)
def test_an_amount_that_moves_is_told_with_the_difference(before: int, after: int, text: str) -> None:
    assert impactsections.move_text("gpu", Amounts(before), Amounts(after)) == text


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (0, "nothing"),
        (
            1,
            "1 setting, 1 file beside the manifests, 1 queue, 1 subpool state, 1 topology, 1 workflow or workload, "
            "1 restart, 1 guard rule, 2 objects",
        ),
        (
            2,
            "2 settings, 2 files beside the manifests, 2 queues, 2 subpool states, 2 topologies, "
            "2 workflows or workloads, 2 restarts, 2 guard rules, 4 objects",
        ),
    ],
)
def test_changes_are_counted_by_kind(times: int, text: str) -> None:
    found = replace(
        impact(),
        settings=FULL.settings * times,
        beside=FULL.beside[:1] * times,
        queues=FULL.queues[:1] * times,
        subpools=FULL.subpools[:1] * times,
        topologies=(TopologyChange("t", None, (), "made"),) * times,
        work=(WorkChange("prod", "Job", "j", None, None),) * times,
        restarts=FULL.restarts[:1] * times,
        rules=FULL.rules * times,
        objects=(ObjectCount("Queue", times, times, 0),),
    )
    assert impactsections.counted(found) == text


def test_all_data_of_a_page() -> None:
    found = json.loads(report.render(FULL))
    assert (found["version"], found["base"], found["risk"]["level"]) == (1, "main", "high")
    assert found["risk"]["reasons"][0] == "the Config changes spec"
    assert found["settings"] == [{"setting": "spec.output", "before": "a", "after": "b"}]
    assert found["beside"] == [
        {"path": "manifests/x.yaml", "change": "made", "why": "it is applied"},
        {"path": "y", "change": None, "why": "it is not"},
    ]
    assert [(one["cluster"], one["queue"], one["change"]) for one in found["queues"]] == [
        ("prod", "q", "changed"),
        ("lab", "r", "made"),
        ("lab", "s", "dropped"),
    ]
    assert found["queues"][0]["after"] == {
        "of": "team",
        "container": False,
        "parent": "all",
        "quota": {"gpu": 16, "cpu": "4", "memory": "8Gi"},
        "limit": {"gpu": 32, "cpu": None, "memory": None},
        "weight": {"gpu": 2, "cpu": 1, "memory": 1},
        "priority": None,
        "labels": {"b": "y"},
        "annotations": {"n": "2", "same": "s"},
    }
    assert found["restarts"][1] == {"kind": "PodGroup", "before": "a", "after": "b", "why": "why"}
    assert found["guard"]["rules"] == [{"rule": "a-rule", "before": "error", "after": "warning"}]
    assert (found["guard"]["before"], found["guard"]["after"]) == ("off", "warn")
    assert found["guard"]["policies"][1:3] == [
        {"cluster": "prod", "policy": "m", "change": "changed", "what": ["table leaves0", "what follows"]},
        {"cluster": "lab", "policy": "m", "change": "dropped", "what": ["table draining"]},
    ]
    assert (found["objects"], found["notCompared"]) == (
        [{"kind": "Queue", "made": 1, "changed": 2, "dropped": 3}],
        ["odd"],
    )


def test_a_long_finding_of_a_comment_is_cut() -> None:
    page = impactmarkdown.render(impact("a", findings=(finding("x" * 2_000),)))
    (more,) = re.findall(r"^.*x\.\.\. \((\d+) more characters\)$", page, re.MULTILINE)
    whole = text.blocks([finding("x" * 2_000)])
    assert int(more) == len(whole) - impactmarkdown.MAX_FINDING
