"""Tests the site that ``report`` writes: its links, bytes, folder and text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.backends import DECLARED, USED
from kubectl_tas.draw import html
from kubectl_tas.emit.file_plan import SITE_MARK, plan_pages
from kubectl_tas.site import blocks
from kubectl_tas.site.found import FINDINGS, OF_ONE
from kubectl_tas.site.sitefiles import files
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, ROOT, assert_files, case_input
from tests.support.rendered import files_below
from tests.support.site import Html, company, content, dead_links, marks_of, pages, report, text_of

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kubectl-tas/pool: {pool}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: i, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
"""


def test_a_folder_that_cannot_be_written_to_is_named_as_it_is(tmp_path: Path) -> None:
    root = write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool()})
    result = kubectl_tas("-C", root, "report", "--to", "/proc/x")
    assert result.code == 3
    assert result.err.startswith("error: cannot write /proc/x/")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a company with two files that are wrong."""
    folder = tmp_path_factory.mktemp("company")
    assert report(company(folder / "repository"), folder / "site") == 1, "errors are told"
    return folder / "site"


OF_WORK = ("work/index", "work/open", "work/podcliqueset-chat", "work/job-stereo-distill", "work/workflow-too-large")
"""A page of each kind; other pages of work are like those."""


def test_what_a_reader_reads(tmp_path: Path, snapshot: Any, request: pytest.FixtureRequest) -> None:
    case, state = GOLDEN / "commands/report", ROOT / "examples/company/clusters/serve-us.json"
    root = company(tmp_path / "repository")
    assert report(root, tmp_path / "site", f"--cluster-state=serve-us={state}") == 1
    names = [name for name in pages(tmp_path / "site") if not name.startswith("work/") or name[:-5] in OF_WORK]
    assert {name.removesuffix(".html") for name in names} >= set(OF_WORK)
    written = {name.removesuffix(".html"): (tmp_path / "site" / name).read_text() for name in names}
    texts = {f"{name}.txt": text_of(page) for name, page in written.items()}
    texts |= {f"{name}.marks.txt": marks_of(page) for name, page in written.items()}
    texts |= {name: (tmp_path / "site" / name).read_text() for name in ("search-index.js", "work-list.js")}
    texts["clusters/index.html"] = (tmp_path / "site/clusters/index.html").read_text()
    assert_files(snapshot, case / "pages", texts, update=request.config.option.update_snapshots)


def test_pages_are_the_same_for_work_that_is_read_again(tmp_path: Path) -> None:
    """Work of most files is a summary, until its page is drawn; ``content`` has all work in full."""
    root = company(tmp_path / "repository")
    jobs = [JOB.format(name=f"n{number}", pool="foundation--evals", gpus=number) for number in (1, 2, 3)]
    jobs[1] = jobs[1].replace("labels: {", "labels: {example.com/owner: ann, ")
    write(root, {"workflows/several.yaml": "---\n".join(jobs)})
    assert report(root, tmp_path / "site") == 1
    whole = dict(files(content(root, used_from=USED[DECLARED])))
    assert {path: (tmp_path / "site" / path).read_text() for path in whole} == whole
    assert "\nOwner: ann\n" in text_of(whole["work/job-n2.html"])


@pytest.fixture
def small(repository: Path) -> Path:
    """A pool with a subpool and a Job."""
    return write(
        repository,
        {
            "pools/team.yaml": pool(),
            "subpools/a.yaml": subpool("a", 10),
            "workflows/one.yaml": JOB.format(name="one", pool="team", gpus=1),
        },
    )


def words(site: Path, page: str) -> str:
    """The text of a page on one line."""
    return " ".join(Html((site / page).read_text()).words.split())


def test_work_that_reaches_no_queue_is_named(small: Path, tmp_path: Path) -> None:
    write(small, {"workflows/lost.yaml": JOB.format(name="lost", pool="nobody", gpus=1)})
    report(small, tmp_path / "site")
    shown = words(tmp_path / "site", "work/index.html")
    assert "What is sent to no pool of the repository is not among the rest; its findings say why." in shown
    assert "lost Job workflows/lost.yaml" in shown


def test_one_cluster_needs_no_table_of_clusters(small: Path, site: Path, tmp_path: Path) -> None:
    report(small, tmp_path / "site")
    heading = re.compile(r"<h2[^>]*>Clusters")
    assert heading.search((site / "index.html").read_text())
    assert not heading.search((tmp_path / "site/index.html").read_text())


@pytest.mark.parametrize("page", ["work/index.html", "work/open.html", "work/job-stereo-distill.html"])
def test_the_section_of_a_page_is_marked(site: Path, page: str) -> None:
    text = (site / page).read_text()
    assert re.search(r'aria-current="[a-z]+"[^>]*>Work<', text)


def test_what_the_page_about_it_shows(repository: Path) -> None:
    page = (ROOT / "docs/pictures.md").read_text()
    assert kubectl_tas("init", repository).code == 0
    arguments = ["report", "--to", "site", "--title", "GPUs of ACME"]
    assert f'$ kubectl tas {" ".join(arguments[:-1])} "GPUs of ACME"\n' in page
    for _ in range(2):
        assert kubectl_tas(*arguments, cwd=repository).err in page


def test_no_link_is_dead(site: Path) -> None:
    assert dead_links(site) == []
    page = site / "index.html"
    page.write_text(page.read_text().replace("pools/index.html", "pools/gone.html"))
    assert "index.html: pools/gone.html" in dead_links(site), "a dead link is not found"
    page.write_text(page.read_text().replace("pools/gone.html", "pools/index.html"))


def test_every_page_has_one_heading_and_unique_ids(site: Path) -> None:
    for name, page in pages(site).items():
        assert page.tags.count("h1") == 1, name
        assert len(page.ids) == len(set(page.ids)), name
        assert page.tags.count("main") == 1, name


def test_pictures_of_pages_have_their_style(site: Path) -> None:
    assert html.STYLE in (site / "style.css").read_text()


def test_files_tell_how_many_pages_of_work_are_done(small: Path) -> None:
    told: list[tuple[int, int]] = []
    texts = dict(files(content(small), lambda done, of: told.append((done, of))))
    assert len(told) == sum(path.endswith(".html") for path in texts)
    assert told == sorted(told)
    assert told[-1] == (1, 1)
    assert dict(files(content(small))) == texts


def test_work_of_one_name_has_a_page_each(small: Path, tmp_path: Path) -> None:
    """Which it keeps, whatever their order in the file is, and when another one is gone."""
    job, told = JOB.format(name="one", pool="team", gpus=2), []
    write(small, {"pools/team.yaml": pool(spec="  namespaces: [a, b, c]\n")})
    for spaces in ("abc", "ca"):
        jobs = [job.replace("name: one", f"name: one\n  namespace: {space}") for space in spaces]
        write(small, {"workflows/one.yaml": "---\n".join(jobs)})
        report(small, tmp_path / "site")
        names = [path.name for path in (tmp_path / "site/work").iterdir() if path.name.startswith("job-one")]
        shown = {name: words(tmp_path / "site", f"work/{name}") for name in names}
        told.append({name: space for name, text in shown.items() for space in "abc" if f"Namespace {space} " in text})
    assert sorted(told[0].values()) == ["a", "b", "c"]
    assert told[1] == {name: space for name, space in told[0].items() if space != "b"}


def test_every_file_says_who_wrote_it(site: Path) -> None:
    for path in files_below(site):
        assert SITE_MARK in (site / path).read_text()[:100], path


def test_search_knows_where_everything_is(site: Path) -> None:
    text = (site / "search-index.js").read_text()
    rows = json.loads(text.partition("=")[2].strip().removesuffix(";"))
    known = {(name, kind): target for name, kind, _, target in rows}
    assert known["pretrain-7b", "Workflow"] == "work/workflow-pretrain-7b.html"
    assert known["train-eu", "Cluster"] == "clusters/train-eu.html"
    assert known["foundation--evals", "Subpool"] == "pools/foundation.html#subpool-evals"
    assert known["gb200-fabric", "Topology"] == "topologies/gb200-fabric.html"
    targets = [target.partition("#") for target in known.values()]
    assert all((site / path).is_file() for path, _, _ in targets)
    assert all(anchor in Html((site / path).read_text()).ids for path, _, anchor in targets if anchor)


def test_filters_have_the_cells_of_the_table(site: Path) -> None:
    text = (site / "work-list.js").read_text()
    rows = json.loads(text.partition("=")[2].strip().removesuffix(";"))
    (row,) = (cells for _, cells in rows if cells[0][0] == "too-large")
    assert row[:3] == [
        ["too-large", "work/workflow-too-large.html", ""],
        ["unschedulable", "", "bad"],
        ["16", "", ""],
    ]
    assert ["foundation--evals", "pools/foundation.html#subpool-evals", ""] in row


def test_pages_say_what_the_commands_say(site: Path) -> None:
    assert "72 GPUs, 2592 cpu, 16Ti memory" in words(site, "pools/foundation.html")
    assert "1 zone topology.kubernetes.io/zone 2 block example.com/block" in words(site, "topologies/gb200-fabric.html")
    never = words(site, "work/workflow-too-large.html")
    assert "unschedulable a gang needs 16 GPUs; the quota of foundation--evals is 8: it can never start" in never
    assert "required in one rack (nvidia.com/gpu.clique)" in never
    slip = words(site, "work/workflow-misspelled.html")
    assert 'the topology key "rakc" is unknown' in slip
    assert 'Help: Did you mean "rack"?' in slip
    assert "2 errors" in words(site, "findings/index.html")
    assert "too-large unschedulable" in words(site, "work/open.html")
    first = words(site, "index.html")
    assert "too-large unschedulable" in first
    assert 'the topology key "rakc" is unknown' in first


def test_unchanged_input_writes_nothing_and_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    assert report(small, tmp_path / "one") == 0
    before = {path: (tmp_path / "one" / path).stat().st_mtime_ns for path in files_below(tmp_path / "one")}
    again = kubectl_tas("-C", small, "report", "--to", tmp_path / "one")
    assert f"0 written, 0 removed, {len(before)} unchanged" in again.err
    assert {path: (tmp_path / "one" / path).stat().st_mtime_ns for path in before} == before
    assert report(small, tmp_path / "deep/er/two") == 0
    for path in before:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "deep/er/two" / path).read_bytes()


def test_words_have_the_colours_of_what_they_mean(site: Path) -> None:
    classes = {name: page.text.partition("<main")[2] for name, page in pages(site).items()}
    told = {found for text in classes.values() for found in re.findall(r'class="badge ([^"]*)">([^<]*)<', text)}
    expected = {("good", "admitted"), ("bad", "unschedulable"), ("bad", "error"), ("good", "ACTIVE")}
    assert expected <= told
    assert {tone for tone, _ in told} <= {"good", "fair", "bad", "plain"}


def test_a_cluster_without_pools_has_all_cells(repository: Path, tmp_path: Path) -> None:
    settings = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: default}, {name: empty}]}\n"
    write(repository, {"tas.yaml": settings, "pools/team.yaml": pool() + "  backend: default\n"})
    assert report(repository, tmp_path / "site") == 0
    text = (tmp_path / "site/clusters/index.html").read_text()
    header, *rows = (re.findall(r"<t[hd][ >]", row) for row in text.partition("<table")[2].split("</tr>")[:3])
    assert [len(row) for row in rows] == [len(header)] * 2
    assert "empty kai-scheduler 0.17 0 0 0 0 " in words(tmp_path / "site", "clusters/index.html")
    assert "Topologies None. Used: " in words(tmp_path / "site", "clusters/empty.html")


def test_pages_of_what_is_gone_go_and_files_of_others_stay(small: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert report(small, site) == 0
    (site / "CNAME").write_text("gpus.example.com\n")
    (site / "pools/notes.html").write_text("<p>ours</p>\n")
    (small / "workflows/one.yaml").unlink()
    result = kubectl_tas("-C", small, "report", "--to", site)
    assert "1 removed" in result.err
    assert not (site / "work/job-one.html").exists()
    assert (site / "CNAME").exists()
    assert (site / "pools/notes.html").exists()
    assert dead_links(site) == []


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        (".", "is the repository itself"),
        ("..", "is the repository itself, or above it"),
        ("pools", "the folder pools of the repository"),
        ("workflows/site", "the folder workflows of the repository"),
        ("manifests", "the folder manifests of the repository"),
        (".git/site", "lies in the folder of git itself"),
        ("others", "has files that kubectl-tas did not write"),
        ("file", "is a file, not a folder"),
        ("link/site", "leads out of the repository"),
    ],
)
def test_a_folder_that_is_not_ours_is_refused(small: Path, folder: str, why: str) -> None:
    write(small, {"others/index.html": "<p>mine</p>\n", "file": "", ".git/HEAD": ""})
    (small / "link").symlink_to(small.parent, target_is_directory=True)
    before = files_below(small)
    result = kubectl_tas("-C", small, "report", "--to", small / folder)
    assert result.code == 3
    assert why in result.err
    assert "  = help: " in result.err
    assert files_below(small) == before


@pytest.mark.parametrize(
    ("folder", "read", "name"),
    [("work", "work/pools", "work/pools"), ("work/pools/site", "work/pools", "work/pools"), ("site", ".", None)],
)
def test_a_folder_around_one_that_is_read_is_refused(tmp_path: Path, folder: str, read: str, name: str | None) -> None:
    (tmp_path / folder).mkdir(parents=True)
    if name is None:
        assert plan_pages({"a.html": SITE_MARK}, tmp_path / folder, tmp_path, [read])[1] == tmp_path
        return
    with pytest.raises(TasError, match=f"is, holds or lies in the folder {name} of the repository"):
        plan_pages({"a.html": SITE_MARK}, tmp_path / folder, tmp_path, [read])


def test_a_folder_with_hidden_files_alone_is_taken(tmp_path: Path) -> None:
    write(tmp_path, {"site/.nojekyll": "", "site/css/.keep": ""})
    assert plan_pages({"a.html": SITE_MARK}, tmp_path / "site", tmp_path / "root", [])[1] == tmp_path
    write(tmp_path, {"site/css/mine.css": ""})
    with pytest.raises(TasError, match="has files that kubectl-tas did not write"):
        plan_pages({"a.html": SITE_MARK}, tmp_path / "site", tmp_path / "root", [])


@pytest.mark.parametrize(("text", "is_site"), [(SITE_MARK, True), ("mine", False)])
def test_a_site_below_the_folder_is_one_that_was_written(tmp_path: Path, text: str, is_site: bool) -> None:
    write(tmp_path, {"site/old.html": SITE_MARK, "site/css/old/style.css": text})
    if not is_site:
        assert plan_pages({"style.css": SITE_MARK}, tmp_path / "site", tmp_path / "root", [])[1] == tmp_path
        return
    with pytest.raises(TasError, match=r"holds another site: .*site/css/old"):
        plan_pages({"style.css": SITE_MARK}, tmp_path / "site", tmp_path / "root", [])


def test_what_stands_in_the_way_is_refused(small: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert report(small, site) == 0
    (site / "pools/team.html").write_text("<p>mine</p>\n")
    result = kubectl_tas("-C", small, "report", "--to", site)
    assert result.code == 3
    assert "site/pools/team.html is in the way: kubectl-tas did not write it" in result.err
    assert (site / "pools/team.html").read_text() == "<p>mine</p>\n"


def test_what_was_read_is_text_and_never_markup(small: Path, tmp_path: Path) -> None:
    evil = "</title><script>alert(1)</script><b onclick='x'>\N{RIGHT-TO-LEFT OVERRIDE}\\\"&amp;"
    described = json.dumps(evil)
    write(small, {"pools/team.yaml": pool(spec=f"  description: {described}\n")})
    write(small, {"workflows/bad.yaml": f"workflow:\n  name: {described}\n  pool: {described}\n"})
    kubectl_tas("-C", small, "report", "--to", tmp_path / "site", "--title", evil)
    for name, page in pages(tmp_path / "site").items():
        assert page.tags.count("script") == 1 + ("filters" in page.ids), name
        assert "b" not in page.tags, name
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.text, name
    assert "</title><script>alert(1)</script>" in words(tmp_path / "site", "pools/team.html")


def test_names_of_pages_that_list_things_are_left_to_them(repository: Path, tmp_path: Path) -> None:
    write(repository, {f"pools/{name}.yaml": pool(name) for name in ("index", "rules", "team")})
    assert report(repository, tmp_path / "site") == 0
    named = {path.name.partition("-")[0] for path in (tmp_path / "site/pools").iterdir()}
    assert named == {"index.html", "index", "rules", "team.html"}
    assert "Pools" in words(tmp_path / "site", "pools/index.html")
    assert dead_links(tmp_path / "site") == []


@pytest.mark.sweep
def test_long_lists_have_several_pages(small: Path, tmp_path: Path) -> None:
    number = blocks.ROWS + 1
    documents = "---\n".join(JOB.format(name=f"job-{index}", pool="team--a", gpus=0) for index in range(number))
    write(small, {"workflows/one.yaml": documents})
    assert report(small, tmp_path / "site") == 0
    found = pages(tmp_path / "site")
    for first in ("work/index.html", "pools/team.html"):
        parts = [first, *(f"{first.removesuffix('.html')}/{page}.html" for page in (2,))]
        listed = [link.rpartition("/")[2] for part in parts for link in found[part].links if "work/job-" in link]
        assert len(set(listed)) == number, first
    assert max(len(page.text) for page in found.values()) < 100_000
    assert dead_links(tmp_path / "site") == []


def test_many_findings_have_several_pages(small: Path, tmp_path: Path) -> None:
    number = FINDINGS + 10
    slip = "  annotations: {kai.scheduler/topologyy: t}\nspec:\n  template:"
    job = JOB.replace("spec:\n  template:", slip.replace("{", "{{").replace("}", "}}"))
    documents = "---\n".join(job.format(name=f"job-{index}", pool="team--a", gpus=0) for index in range(number))
    write(small, {"workflows/one.yaml": documents})
    report(small, tmp_path / "site")
    found = pages(tmp_path / "site")
    listed = [found[page].tags.count("article") for page in ("findings/index.html", "findings/index/2.html")]
    assert listed == [FINDINGS, 10]
    assert found["work/job-job-0.html"].tags.count("article") == OF_ONE
    assert f"All {number} findings" in words(tmp_path / "site", "work/job-job-0.html")
    assert dead_links(tmp_path / "site") == []


def test_findings_of_a_file_that_begin_a_page_can_be_linked(small: Path, tmp_path: Path) -> None:
    slip = "  annotations: {kai.scheduler/topologyy: t}\nspec:\n  template:"
    job = JOB.replace("spec:\n  template:", slip.replace("{", "{{").replace("}", "}}"))
    for name, number in (("first", FINDINGS), ("second", OF_ONE + 1)):
        documents = (job.format(name=f"{name}-{index}", pool="team--a", gpus=0) for index in range(number))
        write(small, {f"workflows/{name}.yaml": "---\n".join(documents)})
    report(small, tmp_path / "site")
    links = pages(tmp_path / "site")["work/job-second-0.html"].links
    assert [link.partition("#")[0] for link in links].count("../findings/index/2.html") == 1
    assert dead_links(tmp_path / "site") == []


def test_work_that_leads_to_no_pool_is_listed_all_the_same(small: Path, tmp_path: Path) -> None:
    write(small, {"workflows/lost.yaml": JOB.format(name="lost", pool="nowhere", gpus=1)})
    assert report(small, tmp_path / "site") == 1
    assert "lost Job workflows/lost.yaml" in words(tmp_path / "site", "work/index.html")


def test_waived_findings_are_shown_as_waived(tmp_path: Path) -> None:
    assert report(case_input(GOLDEN / "rules/waiver-unused/silent"), tmp_path / "site") == 0
    text = words(tmp_path / "site", "findings/index.html")
    assert "1 waived" in text
    assert "Waived in workflows/pretrain.yaml" in text
    assert "info waived workflows/pretrain.yaml" in text


def test_usage_may_come_from_a_cluster(small: Path, tmp_path: Path) -> None:
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "osmo-pool-default-team--a"},
        "status": {"allocatedNonPreemptible": {"nvidia.com/gpu": "7"}},
    }
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"kind": "List", "items": [queue]}))
    assert report(small, tmp_path / "site", "--cluster-state", str(state)) == 0
    assert "Subpool a 7 of 10 GPUs used" in words(tmp_path / "site", "pools/team.html")
    assert "team--a 10 7 3 70% 0 0 ACTIVE" in words(tmp_path / "site", "pools/index.html")
    assert "Used: held in the cluster by work that cannot be preempted." in words(tmp_path / "site", "index.html")


def test_another_site_below_the_folder_is_left_alone(small: Path) -> None:
    assert kubectl_tas("report", "--to", "public/eu", cwd=small).code == 0
    before = files_below(small / "public")
    for _ in range(2):
        result = kubectl_tas("report", "--to", "public", cwd=small)
        assert (result.code, files_below(small / "public")) == (3, before)
        assert "public holds another site: public/eu" in result.err
    assert kubectl_tas("report", "--to", "public/us", cwd=small).code == 0


def test_a_site_without_a_title(small: Path) -> None:
    result = kubectl_tas("report", "--title", " ", cwd=small)
    assert result.code == 2
    assert result.err.endswith("--title is empty\n")
    assert not (small / "site").exists()


def test_a_department_shows_what_is_used_below_it(site: Path) -> None:
    for page in ("index.html", "pools/index.html", "clusters/serve-us.html"):
        text = words(site, page)
        assert "products 8 (Total: 48) 0 (Total: 28) 8 58% 328 of 960 2088Gi of 8T" in text, page
        assert "search 4 (Total: 16) 2 (Total: 8) 2 50% 88 of 320 592Gi of 2T" in text, page
        assert "search--embeddings 4 2 2 50% 32 of 80 200Gi of 500G ACTIVE" in text, page
    assert "serve-us kai-scheduler 0.15 3 48 28 20 58% 328 of 960 2088Gi of 8T" in words(site, "clusters/index.html")


def test_a_pool_without_a_quota_of_cpu_shows_what_is_used_of_it(small: Path, tmp_path: Path) -> None:
    job = JOB.format(name="one", pool="team--a", gpus=1).replace("gpu: 1", "gpu: 1, cpu: 3, memory: 5Gi")
    write(small, {"workflows/one.yaml": job})
    assert report(small, tmp_path / "site") == 0
    assert "team--a 10 1 9 10% 3 5Gi ACTIVE" in words(tmp_path / "site", "pools/index.html")


@pytest.mark.parametrize(
    ("own", "subpool_label", "pool_label", "owner"),
    [
        ("example.com/owner: ada, team: x", "owner: sub", "owner: above", "ada"),
        ("team: red, ownership: no", "", "", "red"),
        ("owner: '', a: b", "acme.io/team: sub", "owner: above", "sub"),
        ("", "", "owner: above", "above"),
    ],
)
def test_who_owns_work(small: Path, tmp_path: Path, own: str, subpool_label: str, pool_label: str, owner: str) -> None:
    """Its own labels count before those of its subpool's queue, and these before those of the queues above."""
    job = JOB.format(name="one", pool="team--a", gpus=1).replace("{kubectl-tas/pool", f"{{{own}, kubectl-tas/pool")
    workflow = f"workflow: {{name: flow, pool: team--a, labels: {{{own}}}, tasks: [{{name: t, image: i}}]}}\n"
    team = pool(spec=f"  queue: {{labels: {{{pool_label}}}}}\n")
    part = subpool("a", 10).rstrip("\n") + f"\n  queue: {{labels: {{{subpool_label}}}}}\n"
    files = {"workflows/one.yaml": job.replace("{, ", "{"), "workflows/flow.yaml": workflow}
    write(small, {**files, "pools/team.yaml": team, "subpools/a.yaml": part})
    assert report(small, tmp_path / "site") == 0
    text = words(tmp_path / "site", "work/index.html")
    assert "Name Verdict GPUs Pool Priority Kind Owner " in text
    assert f"one admitted 1 team--a NORMAL Job {owner} " in text
    assert f"flow admitted 0 team--a NORMAL Workflow {owner} " in text
    assert f"Owner {owner} " in words(tmp_path / "site", "work/job-one.html")
    assert f' {owner}"' in (tmp_path / "site/search-index.js").read_text()
    assert f'"owner":["{owner}"]' in (tmp_path / "site/work-list.js").read_text().replace(" ", "")
    rest, part_owner = pool_label.rpartition(" ")[2], subpool_label.rpartition(" ")[2]
    pools = words(tmp_path / "site", "pools/index.html")
    assert f"team {rest} 90 ".replace("  ", " ") in pools
    assert f"team--a {part_owner or rest} 10".replace("  ", " ") in pools


def test_without_owners_there_is_no_column_for_them(site: Path) -> None:
    for page in ("index.html", "work/index.html", "pools/products.html"):
        assert "Owner" not in words(site, page)


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a repository of which the nodes are known, and the pods on them."""
    case, folder = GOLDEN / "commands/fit", tmp_path_factory.mktemp("placed")
    items = [item for name in ("nodes", "pods") for item in json.loads((case / f"{name}.json").read_text())["items"]]
    items[0]["metadata"]["creationTimestamp"] = "2026-11-29T04:00:00Z"
    (folder / "state.json").write_text(json.dumps({"kind": "List", "items": items}))
    assert report(case_input(case), folder / "site", "--cluster-state", str(folder / "state.json")) == 0
    return folder / "site"


def test_where_nodes_are_known_work_says_whether_kai_places_it(placed: Path) -> None:
    text = words(placed, "work/workflow-placed.html")
    assert "has room PodGroup placed-workers-3b14c1c9 Asks 5 pods with 40 GPUs Nodes 8 of 12 can be used" in text
    assert (
        "A placement exists yes KAI finds it yes blue a/2 (3) green a/1 (2) Nodes for placed-workers-3b14c1c9" in text
    )
    assert "rack 2 blue: 3 pods, 24 GPUs room for 3 pods 3 nodes 24 of 24 GPUs free" in text
    text = words(placed, "work/workflow-missed.html")
    assert "not found PodGroup missed-workers-b75e6cb5 Asks 7 pods" in text
    assert "KAI finds it no: KAI places groups alphabetically, without backtracking" in text
    assert "no room PodGroup too-large" in words(placed, "work/workflow-too-large.html")
    for name, badge in (("placed", "good has room"), ("missed", "bad not found"), ("too-large", "bad no room")):
        tone, _, word = badge.partition(" ")
        assert f'<span class="badge {tone}">{word}</span>' in (placed / f"work/workflow-{name}.html").read_text()
    assert dead_links(placed) == []


def test_where_nodes_are_known_a_page_says_when_work_starts(placed: Path, site: Path, tmp_path: Path) -> None:
    text, page = words(placed, "work/starts.html"), (placed / "work/starts.html").read_text()
    assert "When does it start This holds if each limit holds" in text
    assert "default: 7 d from 2026-11-29 04:00 UTC" in text
    assert "placed unknown - mended has no limit" in text
    assert "too-large never - KAI finds no room for it, even on empty nodes" in text
    assert "<style" not in page
    assert '<a href="../work/starts.html">Starts</a>' in (placed / "pools/index.html").read_text()
    assert not (site / "work/starts.html").exists()
    state = f"--cluster-state={placed.parent / 'state.json'}"
    assert report(case_input(GOLDEN / "commands/fit"), tmp_path / "again", state) == 0
    assert (tmp_path / "again/work/starts.html").read_text() == page


def test_where_nodes_are_known_pools_say_what_there_is_room_for(placed: Path) -> None:
    text = words(placed, "pools/team.html")
    assert "Nodes 9 of 12 can be used; 1 cordoned, 1 not ready, 1 with the taint maintenance:NoSchedule" in text
    assert "Within one Domains Largest gang In Free GPUs there Next best (any nodes) - 8 pods, 64 GPUs" in text
    assert "rack 3 4 pods, 32 GPUs a/1 32 of 32 a/2 (3)" in text
    assert "Nodes 12 GPUs of nodes 96, 94 of them free" in words(placed, "clusters/default.html")


WAITING = """\
workflow: {name: flow, pool: team, priority: %s, tasks: [{name: t, image: i}]}
resources: {default: {gpu: 2}}
"""


def node(gpus: int) -> dict[str, object]:
    return {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "9", "nvidia.com/gpu": str(gpus)}},
    }


@pytest.mark.parametrize("gpus", [1, 2])
def test_admitted_work_without_room_is_listed_too(small: Path, tmp_path: Path, gpus: int) -> None:
    write(small, {"workflows/flow.yaml": WAITING % "NORMAL"})
    state = tmp_path / "state.json"
    items = [node(gpus), {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}]
    state.write_text(json.dumps({"kind": "List", "items": items}))
    assert report(small, tmp_path / "site", "--cluster-state", str(state)) == 0
    text = words(tmp_path / "site", "index.html")
    is_there = "flow no room PodGroup flow-t" in text
    assert is_there == (gpus == 1)
    assert f"{int(is_there)} Work to look at" in text


def test_without_pods_nobody_knows_what_is_free(small: Path, tmp_path: Path) -> None:
    write(small, {"workflows/flow.yaml": WAITING % "NORMAL"})
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"kind": "List", "items": [node(1)]}))
    assert report(small, tmp_path / "site", "--cluster-state", str(state)) == 0
    assert "Placement" not in words(tmp_path / "site", "work/workflow-flow.html")
    assert "Nodes 1 GPUs of nodes 1 " in words(tmp_path / "site", "clusters/default.html")


def test_a_repository_with_errors_has_no_placements(small: Path, tmp_path: Path) -> None:
    broken = WAITING.replace("image: i}", "image: i, resource: none}") % "NORMAL"
    write(small, {"workflows/flow.yaml": WAITING % "NORMAL", "workflows/bad.yaml": broken})
    state = tmp_path / "state.json"
    items = [node(1), {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}]
    state.write_text(json.dumps({"kind": "List", "items": items}))
    assert report(small, tmp_path / "site", "--cluster-state", str(state)) == 1
    assert "no room" not in words(tmp_path / "site", "index.html")


def test_nodes_that_cannot_be_read_are_refused(small: Path, tmp_path: Path) -> None:
    bad = node(1)
    bad["status"] = {"allocatable": {"nvidia.com/gpu": "many"}}
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"kind": "List", "items": [bad]}))
    arguments = ("report", "--to", tmp_path / "site", "--cluster-state", state)
    result = kubectl_tas("-C", small, *arguments)
    assert result.code == 3
    assert "a Node of the cluster cannot be read: n: status.allocatable.nvidia.com/gpu is 'many'" in result.err
    assert not (tmp_path / "site").exists()


def test_two_pools_are_a_choice_and_one_is_none(small: Path, tmp_path: Path) -> None:
    assert report(small, tmp_path / "one") == 0
    assert "Pool all" not in text_of((tmp_path / "one/work/index.html").read_text())
    write(small, {"workflows/two.yaml": JOB.format(name="two", pool="team--a", gpus=1)})
    assert report(small, tmp_path / "two") == 0
    assert "Pool all, team, team--a," in text_of((tmp_path / "two/work/index.html").read_text())
