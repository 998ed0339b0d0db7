"""Tests quotas lowered below their usage: running work continues, and new work is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit
from tests.support.kubectl import pod_group


def workflow(
    name: str = "train", gpu: int = 40, to: str = "team--a", priority: str = "HIGH", image: str = "i:1"
) -> str:
    return f"""\
workflow:
  name: {name}
  pool: {to}
  priority: {priority}
  tasks: [{{name: t, image: {image}}}]
resources: {{default: {{gpu: {gpu}, cpu: 8, memory: 64Gi}}}}
"""


def job(namespace: str = "default") -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: big
  namespace: {namespace}
  labels: {{kubectl-tas/pool: team--a, kubectl-tas/priority: HIGH}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}, limits: {{nvidia.com/gpu: 40}}}}}}]
"""


@pytest.fixture
def team(repository: Path) -> Path:
    """A gang of 40 in a subpool of 50, all of it committed."""
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 50)})
    write(repository, {"workflows/train.yaml": workflow()})
    commit(repository)
    return repository


def run(root: Path, *command: str) -> tuple[int, str]:
    result = kubectl_tas(*command, "-C", root)
    return result.code, result.out + result.err


def found(root: Path, *options: str | Path) -> list[tuple[str, str, str]]:
    """Severity, rule and message of all findings, in order."""
    result = kubectl_tas("validate", "-o", "json", *options, "-C", root)
    items = json.loads(result.out)["diagnostics"]
    assert result.code == int(any(item["severity"] == "error" for item in items))
    return [(item["severity"], item["rule"], item["message"]) for item in items]


def kinds(root: Path, *options: str | Path) -> list[tuple[str, str]]:
    return [item[:2] for item in found(root, *options)]


ERROR, WARNING, NOTE = (
    [(severity, rule)]
    for severity, rule in (("error", "over-quota"), ("warning", "over-quota-running"), ("info", "over-quota-running"))
)


class TestUpdate:
    def test_what_is_left_over_quota_is_listed_and_stops_nobody(self, team: Path) -> None:
        code, said = run(team, "subpool", "update", "team--a", "--quota", "30")
        assert (code, "team--a: lets Workflow/train run on (subpools/a.yaml)" in said) == (0, True)
        assert (team / "subpools/a.yaml").read_text() == subpool("a", 30).replace(
            "quota: 30\n", "quota: 30\n  overQuota:\n    Workflow/train:\n      gpu: 40\n"
        )
        text = "a gang needs 40 GPUs; the quota of team--a is 30; overQuota lists it, so it may run on"
        assert found(team) == [("info", "over-quota-running", text)]
        for command in (["validate", "--strict"], ["render"], ["check"], ["validate", "--strict", "--base", "HEAD"]):
            assert run(team, *command)[0] == 0, command

    def test_dry_run_shows_the_list(self, team: Path) -> None:
        before = (team / "subpools/a.yaml").read_bytes()
        code, said = run(team, "subpool", "update", "team--a", "--quota", "30", "--dry-run")
        assert (code, "+    Workflow/train:" in said) == (0, True)
        assert (team / "subpools/a.yaml").read_bytes() == before

    def test_again_and_again(self, team: Path) -> None:
        write(team, {"workflows/eval.yaml": workflow("eval", 20)})
        for quota in (30, 10, 25, 45):
            assert run(team, "subpool", "update", "team--a", "--quota", str(quota))[0] == 0
            listed = [
                name for name in ("eval", "train") if f"Workflow/{name}:" in (team / "subpools/a.yaml").read_text()
            ]
            assert listed == {30: ["train"], 10: ["eval", "train"], 25: ["train"], 45: []}[quota]
        assert "overQuota" not in (team / "subpools/a.yaml").read_text()

    def test_a_new_subpool_leaves_less_to_the_pool(self, team: Path) -> None:
        write(team, {"workflows/own.yaml": workflow("own", 45, "team")})
        code, said = run(team, "subpool", "create", "team", "b", "--quota", "20")
        assert (code, "team: lets Workflow/own run on (pools/team.yaml)" in said) == (0, True)
        assert kinds(team) == NOTE
        assert (team / "pools/team.yaml").read_text().endswith("  overQuota:\n    Workflow/own:\n      gpu: 45\n")

    def test_a_recreated_subpool_does(self, team: Path) -> None:
        write(team, {"workflows/own.yaml": workflow("own", 45, "team")})
        write(team, {"subpools/b.yaml": subpool("b", 20, state="ARCHIVED")})
        assert run(team, "subpool", "recreate", "team", "b")[0] == 0
        assert kinds(team) == NOTE

    def test_a_deleted_subpool_lists_what_drains(self, team: Path) -> None:
        run(team, "subpool", "update", "team--a", "--quota", "30")
        assert run(team, "subpool", "retire", "team--a", "--used", "40")[0] == 0
        text = (team / "subpools/a.yaml").read_text()
        assert ("overQuota" in text, "draining" in text, found(team)) == (False, True, [])

    def test_cpu_and_memory(self, team: Path) -> None:
        whole = pool(spec="    cpu: {guarantee: 100}\n    memory: {guarantee: 1Ti}\n")
        write(team, {"pools/team.yaml": whole, "subpools/a.yaml": subpool("a", "{gpu: 50, cpu: 8, memory: 64Gi}")})
        assert found(team) == []
        assert run(team, "subpool", "update", "team--a", "--cpu", "2500m", "--memory", "1Gi")[0] == 0
        assert '    Workflow/train:\n      cpu: 8\n      memory: "64Gi"\n' in (team / "subpools/a.yaml").read_text()
        assert kinds(team) == NOTE

    def test_what_was_too_large_before_is_not_listed(self, team: Path) -> None:
        write(team, {"workflows/huge.yaml": workflow("huge", 60)})
        assert run(team, "subpool", "update", "team--a", "--quota", "55")[0] == 0
        assert "overQuota" not in (team / "subpools/a.yaml").read_text()
        assert kinds(team) == ERROR


class TestList:
    @pytest.fixture
    def listed(self, team: Path) -> Path:
        run(team, "subpool", "update", "team--a", "--quota", "30")
        commit(team)
        return team

    def test_more_than_is_listed_is_an_error(self, listed: Path) -> None:
        write(listed, {"workflows/train.yaml": workflow(gpu=41)})
        text = "a gang needs 41 GPUs; the quota of team--a is 30: it can never start; overQuota lets it have 40 GPUs"
        assert found(listed) == [("error", "over-quota", text)]

    def test_another_resource_than_is_listed_is_an_error(self, listed: Path) -> None:
        whole = pool(spec="    cpu: {guarantee: 100}\n")
        write(listed, {"pools/team.yaml": whole})
        assert ("error", "over-quota") in kinds(listed)

    def test_new_work_of_others_is_an_error(self, listed: Path) -> None:
        write(listed, {"workflows/new.yaml": workflow("new")})
        assert kinds(listed) == [*ERROR, *NOTE]

    @pytest.mark.parametrize("change", [{"image": "i:2"}, {"gpu": 39}, {"priority": "NORMAL"}])
    def test_changed_work_is_an_error_with_a_base(self, listed: Path, change: dict[str, str]) -> None:
        write(listed, {"workflows/train.yaml": workflow(**change)})  # type: ignore[arg-type]
        assert kinds(listed) == NOTE
        ((severity, rule, message),) = found(listed, "--base", "HEAD")
        assert (severity, rule) == ("error", "over-quota")
        assert message.endswith("overQuota lists it, but it is new or has changed")

    def test_a_list_that_comes_with_its_work_is_an_error_with_a_base(self, team: Path) -> None:
        entry = "quota: 50\n  overQuota: {Workflow/forged: {gpu: 60}}\n"
        write(team, {"subpools/a.yaml": subpool("a", 50).replace("quota: 50\n", entry)})
        write(team, {"workflows/forged.yaml": workflow("forged", 60)})
        assert kinds(team, "--base", "HEAD") == ERROR

    def test_a_list_that_is_there_before_its_work_is_an_error_with_a_base(self, listed: Path) -> None:
        (listed / "workflows/train.yaml").unlink()
        commit(listed)
        write(listed, {"workflows/again.yaml": workflow()})
        assert kinds(listed, "--base", "HEAD") == ERROR

    def test_a_file_that_moves_changes_nothing(self, listed: Path) -> None:
        (listed / "workflows/train.yaml").rename(listed / "workflows/moved.yaml")
        assert kinds(listed, "--base", "HEAD") == NOTE

    def test_one_of_its_name_in_another_namespace_is_an_error(self, listed: Path) -> None:
        (listed / "workflows/train.yaml").unlink()
        write(listed, {"pools/team.yaml": pool(spec="  namespaces: [one, two]\n"), "workflows/one.yaml": job("one")})
        write(listed, {"subpools/a.yaml": subpool("a", 50)})
        assert run(listed, "subpool", "update", "team--a", "--quota", "30")[0] == 0
        assert "    Job/big:\n      gpu: 40\n" in (listed / "subpools/a.yaml").read_text()
        assert kinds(listed) == NOTE
        write(listed, {"workflows/two.yaml": job("two")})
        assert kinds(listed) == ERROR

    def test_one_of_its_name_that_has_room_takes_it_from_nobody(self, team: Path) -> None:
        small = job("other").replace("nvidia.com/gpu: 40", "nvidia.com/gpu: 4")
        namespaces = pool(spec="  namespaces: [default, other]\n")
        write(team, {"pools/team.yaml": namespaces, "workflows/a.yaml": job(), "workflows/b.yaml": small})
        (team / "workflows/train.yaml").unlink()
        assert run(team, "subpool", "update", "team", "a", "--quota", "30")[0] == 0
        assert "Job/big" in (team / "subpools/a.yaml").read_text()
        assert "draining-unused" not in str(kinds(team))
        assert run(team, "subpool", "update", "team", "a", "--quota", "25")[0] == 0
        assert "Job/big" in (team / "subpools/a.yaml").read_text()
        assert "error" not in [severity for severity, _ in kinds(team)]

    @pytest.mark.parametrize("entry", ["{gpu: 30}", "\n      gpu: 30", "{gpu: 30, cpu: 2}", "{}"])
    def test_work_that_grew_while_it_had_room_is_listed_anew(self, team: Path, entry: str) -> None:
        write(team, {"subpools/a.yaml": f"{subpool('a', 60)}  overQuota:\n    Workflow/train: {entry}\n"})
        assert run(team, "subpool", "update", "team", "a", "--quota", "20")[0] == 0
        assert kinds(team) == NOTE

    @pytest.mark.parametrize("name", ["Workflow/trian", "workflow/train"])
    def test_a_slip_in_a_name(self, listed: Path, name: str) -> None:
        file = listed / "subpools/a.yaml"
        file.write_text(file.read_text().replace("Workflow/train", name))
        told = found(listed)
        assert ("error", "reference-unknown", f"{name} is not sent to team--a") in told
        assert ("info", "draining-unused") not in [item[:2] for item in told]

    def test_a_name_in_another_queue_is_not_meant(self, listed: Path) -> None:
        write(listed, {"subpools/b.yaml": subpool("b", 20), "workflows/train.yaml": workflow(to="team--b")})
        assert kinds(listed) == [("info", "draining-unused"), *ERROR]

    def test_work_that_has_ended_or_fits_again_is_told(self, listed: Path) -> None:
        write(listed, {"workflows/train.yaml": workflow(gpu=30)})
        text = "overQuota lists Workflow/train, for which team--a has room again"
        assert found(listed) == [("info", "draining-unused", text)]
        (listed / "workflows/train.yaml").unlink()
        text = "overQuota lists Workflow/train, which is not sent to team--a any more"
        assert found(listed) == [("info", "draining-unused", text)]

    def test_what_has_no_room_takes_it_from_others(self, listed: Path) -> None:
        write(listed, {"workflows/small.yaml": workflow("small", 8)})
        text = "train, small ask for 48 GPUs"
        messages = [message for _, rule, message in found(listed) if rule == "quota-shared"]
        assert len(messages) == 1
        assert "ask for 48 GPUs together; the quota of team--a is 30" in messages[0], text

    def test_pool_list_shows_what_must_drain(self, listed: Path) -> None:
        assert "-10" in run(listed, "pool", "list")[1]

    def test_admit_takes_no_second_one(self, listed: Path, tmp_path: Path) -> None:
        write(tmp_path, {"again.yaml": workflow()})
        assert kubectl_tas("admit", tmp_path / "again.yaml", "-C", listed).code == 1
        assert kubectl_tas("admit", listed / "workflows/train.yaml", "-C", listed).code == 0


class TestBase:
    @pytest.mark.parametrize(
        ("path", "text", "to"),
        [
            ("subpools/a.yaml", subpool("a", 30), "team--a"),
            ("subpools/a.yaml", subpool("a", 50).replace("quota: 50", "quota: 20\n  maximum: 30"), "team--a"),
            ("subpools/b.yaml", subpool("b", 20), "team"),
            ("pools/team.yaml", pool(guarantee=80), "team"),
            ("pools/team.yaml", pool("team", spec="      maximum: 30\n").replace("100", "30"), "team--a"),
        ],
        ids=["quota", "maximum", "left to the pool", "guarantee of the pool", "maximum of the pool"],
    )
    def test_unchanged_work_is_a_warning(self, team: Path, path: str, text: str, to: str) -> None:
        write(team, {"workflows/train.yaml": workflow(to=to)})
        commit(team)
        write(team, {path: text})
        if "maximum" in text:
            write(team, {"subpools/a.yaml": text if "Subpool" in text else subpool("a", 30)})
        assert kinds(team)[0][0] == "error"
        assert kinds(team, "--base", "HEAD") == WARNING
        state = write(team.parent, {"state.json": '{"kind": "List", "items": []}'}) / "state.json"
        as_one = found(team, "--base", "HEAD", "--cluster-state", state)  # all files are judged together then
        assert as_one == found(team, "--base", "HEAD")
        write(team, {"workflows/train.yaml": workflow(to=to, image="i:2")})
        assert [item[0] for item in kinds(team, "--base", "HEAD")] == ["error"]

    def test_a_department(self, team: Path) -> None:
        parent = pool("dept", 200, "      maximum: 200\n")
        child = pool("lab", 60, "  parent: dept\n")
        write(team, {"pools/dept.yaml": parent, "pools/lab.yaml": child})
        write(team, {"workflows/low.yaml": workflow("low", 100, "lab", "LOW")})
        commit(team)
        write(team, {"pools/dept.yaml": parent.replace("200", "80")})
        assert kinds(team) == ERROR
        assert kinds(team, "--base", "HEAD") == WARNING

    def test_the_help_is_what_passes_without_a_base(self, team: Path) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30)})
        help_ = next(line for line in run(team, "validate", "--base", "HEAD")[1].splitlines() if "= help" in line)
        entry = help_.partition("overQuota: ")[2]
        write(team, {"subpools/a.yaml": subpool("a", 30) + f"  overQuota: {entry}\n"})
        assert kinds(team) == NOTE
        assert kinds(team, "--base", "HEAD") == NOTE

    def test_new_work_is_an_error(self, team: Path) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30), "workflows/new.yaml": workflow("new")})
        assert sorted(kinds(team, "--base", "HEAD")) == [*ERROR, *WARNING]

    def test_a_list_that_goes_too_early_is_an_error(self, team: Path) -> None:
        run(team, "subpool", "update", "team--a", "--quota", "30")
        commit(team)
        write(team, {"subpools/a.yaml": subpool("a", 30)})
        assert kinds(team, "--base", "HEAD") == ERROR

    def test_a_base_that_cannot_be_read_makes_nothing_new(self, team: Path) -> None:
        run(team, "subpool", "update", "team--a", "--quota", "30")
        write(team, {"workflows/broken.yaml": "workflow: {name: [\n"})
        commit(team)
        (team / "workflows/broken.yaml").unlink()
        assert kinds(team, "--base", "HEAD") == [("warning", "base-unread"), *NOTE]
        assert "not all could be compared" in run(team, "diff", "--base", "HEAD")[1]

    def test_diff_names_what_is_listed(self, team: Path) -> None:
        run(team, "subpool", "update", "team--a", "--quota", "30")
        said = run(team, "diff", "--base", "HEAD")[1]
        assert "Workflow/train  team--a  HIGH      40    admitted -> draining" in said
        assert "risk: medium" in said
        assert "overQuota of team--a lists Workflow/train" in said

    def test_diff_reads_what_is_not_listed(self, team: Path) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30)})
        code, said = run(team, "diff", "--base", "HEAD")
        assert (code, "admitted -> draining" in said) == (1, True)


class TestCluster:
    """Quotas that were lowered in a commit before: only the cluster knows."""

    @pytest.fixture
    def lowered(self, team: Path) -> Path:
        write(team, {"subpools/a.yaml": subpool("a", 30)})
        commit(team)
        return team

    def state(self, root: Path, *items: object) -> Path:
        return write(root.parent / "state", {"state.json": json.dumps({"kind": "List", "items": items})}) / "state.json"

    def group(self, name: str, gpus: int, **metadata: object) -> dict[str, object]:
        found = pod_group("osmo-pool-default-team--a", running=1)
        found["metadata"] = {**found["metadata"], "name": name, "namespace": "default", **metadata}
        found["status"] = {"resourcesStatus": {"allocated": {"nvidia.com/gpu": gpus}}}
        return found

    def name_of(self, root: Path) -> str:
        """The name of the PodGroup of the workflow."""
        write(root, {"subpools/a.yaml": subpool("a", 50)})
        assert run(root, "render")[0] == 0
        write(root, {"subpools/a.yaml": subpool("a", 30)})
        ((path,)) = list((root / "manifests/workflows/train").glob("podgroup-*.yaml"))
        return path.stem.removeprefix("podgroup-")

    def test_a_workflow_that_runs_is_a_warning(self, lowered: Path) -> None:
        state = self.state(lowered, self.group(self.name_of(lowered), 40))
        assert kinds(lowered, "--cluster-state", state) == WARNING
        assert kinds(lowered, "--cluster-state", state, "--base", "HEAD") == WARNING
        write(lowered, {"workflows/train.yaml": workflow(image="i:2")})
        assert kinds(lowered, "--cluster-state", state) == ERROR

    def test_one_that_does_not_run_is_an_error(self, lowered: Path) -> None:
        state = self.state(lowered, self.group(self.name_of(lowered), 0))
        assert kinds(lowered, "--cluster-state", state) == ERROR

    @pytest.mark.parametrize(("gpus", "expected"), [(40, WARNING), (39, ERROR)])
    def test_a_workload_that_holds_what_it_asks_for(
        self, lowered: Path, gpus: int, expected: list[tuple[str, str]]
    ) -> None:
        (lowered / "workflows/train.yaml").unlink()
        write(lowered, {"workflows/job.yaml": job()})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "big", "uid": "u"}
        state = self.state(lowered, self.group("pg-big-u", gpus, ownerReferences=[owner]))
        assert [item for item in kinds(lowered, "--cluster-state", state) if item[0] != "info"] == expected


def test_a_change_judges_the_work_of_a_queue_as_a_set(repository: Path) -> None:
    """Each of the two gangs has room in the lower quota, and what runs goes on."""
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 40)})
    write(repository, {f"workflows/{gpu}.yaml": workflow(f"w{gpu}", gpu) for gpu in (32, 8)})
    commit(repository)
    write(repository, {"subpools/a.yaml": subpool("a", 36)})
    changes = json.loads(kubectl_tas("diff", "--base", "HEAD", "-o", "json", "-C", repository).out)["work"]
    why = "the work of team--a asks for 40 GPUs together; its quota is 36: not all of it can run at once, and what runs"
    assert [change["after"]["message"] for change in changes] == [f"{why} goes on"] * 2
    kubectl_tas("report", "--to", repository / "site", "--since", "HEAD", "-C", repository)
    pages = [page.read_text() for page in (repository / "site").rglob("*.html")]
    assert any(f"{why} goes on" in page for page in pages)
