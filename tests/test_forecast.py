"""Tests ``forecast``: when work starts, and when it ends at the latest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input

CASE = GOLDEN / "commands/forecast"
NOW = "--now=2026-11-29T04:00:00Z"


def forecast(root: Path, *arguments: str | Path) -> Result:
    return kubectl_tas("-C", root, "forecast", NOW, *arguments)


def gangs(root: Path, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    (scheduler,) = json.loads(forecast(root, "-o", "json", *arguments).out)["schedulers"]
    return {item["name"]: item for item in scheduler["gangs"]}


@pytest.mark.parametrize("output", ["table", "wide", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", output, *files, cwd=CASE)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(
        extension_class=at(CASE / f"output.{'json' if output == 'json' else output + '.txt'}")
    )


def test_the_picture_of_the_page(snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", "svg", *files, cwd=CASE)
    assert result.out == snapshot(extension_class=at(CASE / "picture.svg"))
    page = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", "html", *files, cwd=CASE).out
    assert "<style>" not in page.partition("</head>")[2]  # the page's policy allows its own style sheet alone


def node(gpus: int) -> dict[str, Any]:
    has = {"cpu": "64", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": has, "capacity": has}}


def job(name: str, gpus: int, spec: str = "", template: str = "", metadata: str = "") -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: team, labels: {{kubectl-tas/pool: team}}{metadata}}}
spec:
  backoffLimit: 0{spec}
  template:
    spec:
      restartPolicy: Never{template}
      containers: [{{name: main, image: x, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


LIMITED = "\n      activeDeadlineSeconds: 3600"


def repository(root: Path, **jobs: str) -> Path:
    files = {"tas.yaml": "", "pools/team.yaml": pool(guarantee=16, spec="  namespaces: [team]\n")}
    files |= {f"workflows/{name}.yaml": text for name, text in jobs.items()}
    return write(root, {**files, "nodes.json": json.dumps({"items": [node(8)]})})


def nodes(root: Path) -> str:
    return f"--nodes={root / 'nodes.json'}"


def test_the_second_job_starts_when_the_first_ends_at_its_limit(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, template=LIMITED))
    found = gangs(root, nodes(root))
    assert (found["a"]["outcome"], found["a"]["endsAtTheLatest"]) == ("at-once", "2026-11-29T05:00:00Z")
    assert (found["b"]["starts"], found["b"]["waitsFor"]) == ("2026-11-29T05:00:00Z", [found["a"]["podGroup"]])
    assert found["b"]["earlier"] == {
        "kind": "nodes",
        "change": "1 node more",
        "startsAfterSeconds": 0,
    }
    assert forecast(root, nodes(root)).code == 0


def test_without_a_limit_it_is_unknown_and_assume_gives_one(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8), b=job("b", 8))
    assert gangs(root, nodes(root))["b"]["outcome"] == "unknown"
    assert "a has no limit" in forecast(root, nodes(root)).out
    assert gangs(root, nodes(root), "--assume=2h")["b"]["startsAfterSeconds"] == 7200
    assert forecast(root, nodes(root)).code == 1


def test_the_annotation_says_how_long_work_runs(tmp_path: Path) -> None:
    note = ', annotations: {kubectl-tas/expected-runtime: "30m"}'
    root = repository(tmp_path, a=job("a", 8, template=LIMITED, metadata=note), b=job("b", 8))
    assert gangs(root, nodes(root))["b"]["startsAfterSeconds"] == 1800


def test_the_deadline_of_a_job_passes_while_it_waits(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, "\n  activeDeadlineSeconds: 600"))
    found = gangs(root, nodes(root))["b"]
    assert (found["outcome"], found["starts"], found["endsAfterSeconds"]) == ("gives-up", None, 600)


def test_retries_and_waves_count(tmp_path: Path) -> None:
    waves = job("a", 8, "\n  completions: 3", template=LIMITED)
    root = repository(tmp_path, a=waves.replace("backoffLimit: 0", "backoffLimit: 1"), b=job("b", 1))
    assert [span["end"] for span in gangs(root, nodes(root))["a"]["runs"]][-1] == "2026-11-29T08:00:00Z"


def test_suspended_work_never_starts(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, "\n  suspend: true"), b=job("b", 8))
    result = forecast(root, nodes(root))
    assert "it is suspended" in result.out
    assert gangs(root, nodes(root))["b"]["outcome"] == "at-once"


def test_runs_of_a_cron_job_come_at_their_times(tmp_path: Path) -> None:
    text = job("a", 8, template=LIMITED).splitlines()
    spec = "\n".join(f"    {line}" for line in text[4:])
    metadata = "metadata: {name: night, namespace: team, labels: {kubectl-tas/pool: team}}"
    head = f'apiVersion: batch/v1\nkind: CronJob\n{metadata}\nspec:\n  schedule: "0 6 * * *"\n'
    cron = f"{head}  jobTemplate:\n    spec:\n{spec}\n"
    root = repository(tmp_path, night=cron)
    (scheduler,) = json.loads(forecast(root, "-o", "json", "--horizon=2d", nodes(root)).out)["schedulers"]
    assert [gang["starts"] for gang in scheduler["gangs"]] == ["2026-11-29T06:00:00Z", "2026-11-30T06:00:00Z"]
    assert "first of 2 runs by its schedule" in forecast(root, "--horizon=2d", nodes(root)).out
    endless = cron.replace("activeDeadlineSeconds: 3600", "terminationGracePeriodSeconds: 9")
    write(root, {"workflows/night.yaml": f"{endless}  concurrencyPolicy: Forbid\n"})
    lines = forecast(root, "-o", "wide", "--horizon=2d", nodes(root)).out.splitlines()
    (skipped,) = [line.split() for line in lines if line.startswith("night (")]
    assert skipped[skipped.index("skipped") + 1] == "-"  # it does not run, and so has no end


def test_further_nodes_bring_starts_forward(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, template=LIMITED))
    assert gangs(root, nodes(root), "--grow=1")["b"]["grown"] == {"outcome": "at-once", "startsAfterSeconds": 0}
    assert "at once (1 h earlier)" in forecast(root, nodes(root), "--grow=1").out


def test_the_line_above_the_table_names_the_rack_that_grow_copies() -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json", "--grow=2")
    out = kubectl_tas("-C", case_input(CASE), "forecast", NOW, *files, cwd=CASE).out
    assert out.startswith("default: 7 d from 2026-11-29 04:00 UTC; 2 racks (8 nodes) more, like a/1\n")


def test_hosts_are_not_counted_twice(tmp_path: Path) -> None:
    """Where a rack is one node, its number says enough."""
    spec = "  namespaces: [team]\n  topology_keys: [{key: host, label: kubernetes.io/hostname}]\n"
    files = {"tas.yaml": "", "pools/team.yaml": pool(guarantee=16, spec=spec), "workflows/a.yaml": job("a", 8)}
    own = node(8)
    own["metadata"]["labels"] = {"kubernetes.io/hostname": "n"}
    root = write(tmp_path, {**files, "nodes.json": json.dumps({"items": [own]})})
    out = forecast(root, nodes(root), "--grow=2").out
    assert ("; 2 hosts more, like n\n" in out, "  With 2 hosts more  " in out) == (True, True)


def test_a_subpool_that_ends_starts_only_low_work(tmp_path: Path) -> None:
    ended = job("a", 8).replace("kubectl-tas/pool: team", "kubectl-tas/pool: team--old")
    root = repository(tmp_path, a=ended)
    write(root, {"subpools/old.yaml": subpool("old", 8, state="DELETING") + "  draining: [Job/a]\n"})
    found = gangs(root, nodes(root), "a")["a"]
    assert found["because"] == "team--old is DELETING and has no quota: only LOW work starts"
    assert found["earlier"]["change"] == "priority LOW"


def test_one_work_is_answered_beside_all(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8))
    assert list(gangs(root, "b", nodes(root))) == ["b"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--horizon=soon", "is not a time such as 2h"),
        ("--horizon=900000d", "of at most 366 days"),
        ("--assume=0", "is not a time such as 2h"),
        ("--now=9999-12-31T23:59Z", "is not in the years 1970 to 9000"),
        ("--now=yesterday", "is not a time such as 2026-11-29T04:00:00Z"),
    ],
)
def test_times_that_cannot_be_read(option: str, message: str, tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8))
    result = forecast(root, nodes(root), option)
    assert (result.code, message in result.err) == (2, True)


META = "metadata: {name: NAME, namespace: team, labels: {kubectl-tas/pool: team}NOTES}\n"
PODS = "containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 4}}}]"


def job_set(*jobs: str, spec: str = "") -> str:
    """Returns a JobSet; each of ``jobs`` is further fields of a Job, after those of its replicated job and ``|``."""
    note = ', annotations: {kai.scheduler/batch-min-member: "1"}'
    head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n" + META.replace("NAME", "a").replace("NOTES", note)
    listed = "".join(
        f"  - {{name: j{number}, replicas: 1, {beside} template: {{spec: {{backoffLimit: 0, {fields} template: {{spec: "
        f"{{restartPolicy: Never, {PODS}}}}}}}}}}}\n"
        for number, (beside, _, fields) in enumerate(each.partition("|") for each in jobs)
    )
    return f"{head}spec:\n{spec}  replicatedJobs:\n{listed}"


HOUR = "activeDeadlineSeconds: 3600,"


@pytest.mark.parametrize(
    ("jobs", "spec", "ends"),
    [
        (["|" + HOUR, "|" + HOUR], "", 3600),
        (["|" + HOUR, "|"], "", None),
        (["|" + HOUR, "dependsOn: [{name: j0, status: Complete}],|" + HOUR], "", 7200),
        (["|" + HOUR, "|" + HOUR], "  startupPolicy: {startupPolicyOrder: InOrder}\n", 7200),
        (["|" + HOUR, "|" + HOUR], "  failurePolicy: {maxRestarts: 2}\n", 10800),
        (["|" + HOUR], "  failurePolicy: {rules: [{name: r, action: RestartJobSetAndIgnoreMaxRestarts}]}\n", None),
    ],
    ids=["all", "one of two", "after another", "in order", "restarts", "restarts without end"],
)
def test_a_job_set_ends_when_the_limits_of_all_its_jobs_do(
    jobs: list[str], spec: str, ends: int | None, tmp_path: Path
) -> None:
    root = repository(tmp_path, a=job_set(*jobs, spec=spec))
    assert {gang["endsAfterSeconds"] for gang in gangs(root, nodes(root)).values()} == {ends}


@pytest.mark.parametrize(
    ("jobs", "spec", "reason"),
    [
        (["|", "dependsOn: [{name: j0, status: Complete}],|"], "", "j1 is made only when j0 is ready or complete"),
        (["|", "|"], "  startupPolicy: {startupPolicyOrder: InOrder}\n", "only when the one before it is ready"),
    ],
)
def test_pods_that_come_later_count_from_the_start_and_the_answer_says_so(
    jobs: list[str], spec: str, reason: str, tmp_path: Path
) -> None:
    because = gangs(repository(tmp_path, a=job_set(*jobs, spec=spec)), nodes(tmp_path))["a"]["because"]
    assert because.startswith("all its pods count from its start, although ")
    assert because.endswith(reason)


def test_names_of_25_characters_fit_120_columns(tmp_path: Path) -> None:
    texts = {letter: job(letter * 25, gpus, template=LIMITED) for letter, gpus in (("a", 4), ("b", 4), ("c", 8))}
    root = repository(tmp_path, **texts)
    lines = forecast(root, nodes(root)).out.partition("\nWhat")[0].splitlines()
    assert max(map(len, lines)) <= 120
    assert [line.rpartition("  ")[2] for line in lines[6:]] == [f"{'a' * 25} and {'b' * 25} end", "at the latest then"]


def ray_job(spec: str) -> str:
    head = "apiVersion: ray.io/v1\nkind: RayJob\n" + META.replace("NAME", "r").replace("NOTES", "")
    pods = f"template: {{spec: {{{PODS}}}}}"
    return (
        f"{head}spec:\n{spec}  entrypoint: x\n  rayClusterSpec:\n    headGroupSpec: {{rayStartParams: {{}}, {pods}}}\n"
        "    workerGroupSpecs:\n"
        f"    - {{groupName: w, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {{}}, {pods}}}\n"
    )


@pytest.mark.parametrize(
    ("spec", "outcome", "ends", "why"),
    [
        ("  activeDeadlineSeconds: 1800\n", "gives-up", 1800, "activeDeadlineSeconds ends before it starts"),
        (
            "  activeDeadlineSeconds: 9000\n  preRunningDeadlineSeconds: 600\n",
            "gives-up",
            1800,
            "preRunningDeadlineSeconds ends before it starts",
        ),
        ("  activeDeadlineSeconds: 7200\n  ttlSecondsAfterFinished: 600\n", "later", 3 * 7200 + 600, "up to 3 times"),
    ],
    ids=["deadline", "time to wait", "TTL"],
)
def test_a_ray_job_tries_again_except_after_its_deadline(
    spec: str, outcome: str, ends: int, why: str, tmp_path: Path
) -> None:
    common = "  backoffLimit: 2\n  shutdownAfterJobFinishes: true\n"
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), r=ray_job(spec + common))
    found = gangs(root, nodes(root))["r"]
    assert (found["outcome"], found["endsAfterSeconds"]) == (outcome, ends)
    assert why in forecast(root, "-o", "wide", nodes(root)).out


@pytest.mark.parametrize(
    ("version", "policy", "ends"),
    [
        ("v2beta1", "", None),
        ("v2beta1", ", cleanPodPolicy: Running", 3600),
        ("v1", ", cleanPodPolicy: None", None),
        ("v1", ", cleanPodPolicy: All", 3600),
    ],
)
def test_workers_of_an_mpi_job_stay_unless_its_policy_removes_them(
    version: str, policy: str, ends: int | None, tmp_path: Path
) -> None:
    head = f"apiVersion: kubeflow.org/{version}\nkind: MPIJob\n" + META.replace("NAME", "m").replace("NOTES", "")
    pods = f"replicas: 1, template: {{spec: {{{PODS}}}}}"
    types = f"{{Launcher: {{{pods}}}, Worker: {{{pods}}}}}"
    text = f"{head}spec:\n  runPolicy: {{activeDeadlineSeconds: 3600{policy}}}\n  mpiReplicaSpecs: {types}\n"
    root = repository(tmp_path, m=text)
    assert gangs(root, nodes(root))["m"]["endsAfterSeconds"] == ends


def cron_job(schedule: str, template: str = LIMITED) -> str:
    spec = "\n".join(f"    {line}" for line in job("a", 8, template=template).splitlines()[4:])
    head = "apiVersion: batch/v1\nkind: CronJob\n" + META.replace("NAME", "night").replace("NOTES", "")
    return f'{head}spec:\n  schedule: "{schedule}"\n  jobTemplate:\n    spec:\n{spec}\n'


@pytest.mark.parametrize(
    ("name", "text", "start", "why", "listed"),
    [
        ("a", job("a", 8, "\n  suspend: true"), "never", "it is suspended", "suspended"),
        ("night", cron_job("0 0 30 2 *"), "not within 7 d", "its schedule has no run", "withoutRuns"),
    ],
)
def test_work_that_nobody_starts_has_a_row(
    name: str, text: str, start: str, why: str, listed: str, tmp_path: Path
) -> None:
    root = repository(tmp_path, first=text, b=job("b", 1, template=LIMITED))
    for arguments in ([], [name], ["--grow=1"], ["--grow=1", "-o=wide"]):
        result = forecast(root, nodes(root), *arguments)
        row = next(line for line in result.out.splitlines() if line.startswith(f"{name} "))
        assert (start in row, why in row) == (True, True)
        assert result.code == (1 if arguments == [name] else 0)
    assert f">{name}: {start}, {why}</text>" in forecast(root, nodes(root), "-o=svg").out
    assert f"<td>{start}</td><td>-</td><td>{why}</td>" in forecast(root, nodes(root), "-o=html").out
    (scheduler,) = json.loads(forecast(root, name, "-o=json", nodes(root)).out)["schedulers"]
    assert ([each["name"] for each in scheduler[listed]], scheduler["gangs"]) == ([name], [])


def test_a_schedule_with_many_runs_is_bounded_and_the_answer_says_so(tmp_path: Path) -> None:
    """Nothing is tried for each run: that would take hours."""
    root = repository(tmp_path, night=cron_job("* * * * *"))
    result = forecast(root, nodes(root))
    limited = "; starts after 3 h 21 min may be too early: of each schedule only 200 runs count"
    assert (result.code, limited in result.out) == (1, True)
    assert [line.split()[0] for line in result.out.splitlines()[4:]] == ["night"]
    (scheduler,) = json.loads(forecast(root, "-o", "json", nodes(root)).out)["schedulers"]
    assert (scheduler["limited"], scheduler["limitedAfterSeconds"]) == (True, 201 * 60)


def test_a_limit_behind_the_horizon_is_not_called_absent(tmp_path: Path) -> None:
    waves = job("a", 8, "\n  completions: 1000\n  parallelism: 1", template=LIMITED)
    root = repository(tmp_path, a=waves)
    row = forecast(root, nodes(root)).out.splitlines()[-1]
    assert row.split("  ")[-1].strip() == "not within 7 d"
    assert "<desc>a: at once, ends not within 7 d</desc>" in forecast(root, "-o=svg", nodes(root)).out


def test_a_time_that_no_date_can_hold_is_a_number_alone(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, "\n  activeDeadlineSeconds: 999999999999999999"))
    found = gangs(root, nodes(root))["a"]
    assert (found["endsAfterSeconds"], found["endsAtTheLatest"]) == (999999999999999999, None)


BARE = """\
apiVersion: v1
kind: Pod
metadata: {name: low, namespace: team, labels: {kubectl-tas/pool: team, kubectl-tas/priority: LOW}}
spec:
  restartPolicy: Never
  activeDeadlineSeconds: 7200
  containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def with_low(text: str) -> str:
    return text.replace("kubectl-tas/pool: team", "kubectl-tas/pool: team, kubectl-tas/priority: LOW")


@pytest.mark.parametrize(
    ("low", "ends", "because"),
    [
        (BARE, 0, "loses 1 pod to big, at once"),
        (
            with_low(job("low", 1, template="\n      activeDeadlineSeconds: 7200")),
            7200,
            "moves 1 pod for big, at once, whose time begins anew",
        ),
    ],
)
def test_a_pod_that_kai_moves_begins_anew_unless_nobody_makes_it_again(
    low: str, ends: int, because: str, tmp_path: Path
) -> None:
    root = repository(tmp_path, low=low, other=job("other", 1), big=with_low(job("big", 8)))
    items: list[dict[str, Any]] = [{**node(8), "metadata": {"name": f"n{number}"}} for number in range(2)]
    for number, name in enumerate(("low", "other")):
        uid = f"00000000-0000-0000-0000-00000000000{number}"
        container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
        group = {"name": f"pg-{name}-{uid}", "namespace": "team"}
        spec = {"queue": "osmo-pool-default-team--shared", "minMember": 1}
        items += [
            {"kind": "PodGroup", "metadata": group, "spec": spec},
            {
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "team", "annotations": {"pod-group-name": group["name"]}},
                "spec": {
                    "nodeName": f"n{number}",
                    "schedulerName": "kai-scheduler",
                    "priorityClassName": "tas-low" if name == "low" else "tas-normal",
                    "containers": [container],
                },
                "status": {"phase": "Running", "startTime": "2026-11-29T03:00:00Z"},
            },
        ]
    write(root, {"nodes.json": json.dumps({"items": items})})
    found = gangs(root, nodes(root))
    assert (found["big"]["startsAfterSeconds"], found["big"]["because"]) == (0, "low moves")
    assert (found["low"]["outcome"], found["low"]["endsAfterSeconds"]) == ("runs", ends)
    assert found["low"]["because"] == because
