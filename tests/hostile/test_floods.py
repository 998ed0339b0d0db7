"""Tests the largest number of Kubernetes in every numeric field: time, memory and output stay bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubectl_tas.kinds import SET, pages
from kubectl_tas.model.manifest import PodGroup
from kubectl_tas.model.osmo_workflow import Workflow
from tests.support.cli import pool, write
from tests.support.forked import Forks, Measured, forks
from tests.support.grove import operator, topology
from tests.support.kinds import LEVELS, RUN, SEGMENTS, config, leader_worker, pytorch, root, selected, template

MOST = 2**31 - 1
"""What Kubernetes counts to."""
SECONDS, MEBIBYTES, CHARACTERS = 4.5, 300, 20_000
"""What a command may take, and what it may print beside fifty times of what it has read."""
INDEX = {"kai.scheduler/pod-index-label": "example.com/index"}
ELASTIC = {"kai.scheduler/batch-min-member": str(MOST)}


def clique_set(spec: str, name: str = "chat") -> str:
    return f"""\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: {name}, labels: {{kubectl-tas/pool: team}}}}
spec: {spec}
"""


def clique(name: str, replicas: int = 1, constraint: str = "{packDomain: rack}") -> str:
    counts = f"replicas: {replicas}, minAvailable: {replicas}"
    pods = "podSpec: {containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}"
    scale = f"autoScalingConfig: {{minReplicas: {replicas}, maxReplicas: {replicas}}}"
    return f"{{name: {name}, topologyConstraint: {constraint}, spec: {{{counts}, {pods}, {scale}}}}}"


def scaling(names: str, replicas: int, minimum: int, constraint: str = "{packDomain: host}") -> str:
    return (
        f"{{name: g, cliqueNames: [{names}], replicas: {replicas}, minAvailable: {minimum}, "
        f"topologyConstraint: {constraint}, scaleConfig: {{minReplicas: {minimum}, maxReplicas: {replicas}}}}}"
    )


def grouped(replicas: int, cliques: str, groups: str) -> str:
    return clique_set(
        f"{{replicas: {replicas}, template: {{cliques: [{cliques}], podCliqueScalingGroups: [{groups}]}}}}"
    )


def kubeflow(kind: str, field: str, leader: str) -> str:
    worker = f"{{replicas: {MOST}, template: {template(SEGMENTS)}}}"
    policy = f"schedulingPolicy: {{minAvailable: {MOST}}}"
    return (
        f"{root(kind, 'train', None, ELASTIC)}spec:\n  runPolicy: {{{policy}}}\n"
        f"  {field}: {{{leader}: {worker}, Worker: {worker}}}\n"
    )


def several(replicas: int) -> str:
    """Replicas of a template in the three kinds that have nothing else."""
    return f"spec: {{replicas: {replicas}, {selected(SEGMENTS | INDEX)}}}\n"


PODS = template(SEGMENTS, spec=RUN)
JOB = f"parallelism: {MOST}, completions: {MOST}, completionMode: Indexed, template: {PODS}"
RAY = (
    f"headGroupSpec: {{template: {template()}}}, workerGroupSpecs: [{{groupName: a, replicas: {MOST}, "
    f"minReplicas: {MOST}, maxReplicas: {MOST}, numOfHosts: {MOST}, template: {template(SEGMENTS | INDEX)}}}]"
)
SUBMITTED = {
    "Job": f"{root('Job', 'sweep', None, ELASTIC)}spec: {{{JOB}, backoffLimit: {MOST}}}\n",
    "CronJob": f"{root('CronJob', 'sweep')}spec: {{schedule: '0 0 * * *', jobTemplate: {{spec: {{{JOB}}}}}}}\n",
    "Deployment": root("Deployment", "serve") + several(MOST),
    "StatefulSet": root("StatefulSet", "serve") + several(MOST),
    "BarePod": f"{root('Pod', 'one')}spec: {{containers: [{{name: main, image: i, resources: {{limits: "
    f"{{nvidia.com/gpu: {MOST}, cpu: {MOST}, memory: {MOST}Ei}}}}}}]}}\n",
    "Notebook": f"{root('Notebook', 'lab')}spec: {{template: {{spec: {{containers: [{{name: main, image: i, resources: "
    f"{{limits: {{nvidia.com/gpu: {MOST}, cpu: {MOST}, memory: {MOST}Ei}}}}}}]}}}}}}\n",
    "JobSet": f"{root('JobSet', 'train')}spec:\n  replicatedJobs:\n"
    f"  - {{name: a, replicas: {MOST}, template: {{spec: {{{JOB}}}}}}}\n"
    f"  - {{name: b, replicas: {MOST}, template: {{spec: {{{JOB}}}}}}}\n",
    "RayJob": f"{root('RayJob', 'tune')}spec: {{entrypoint: python train.py, rayClusterSpec: {{{RAY}}}}}\n",
    "RayCluster": f"{root('RayCluster', 'tune')}spec: {{{RAY}}}\n",
    "RayService": f"{root('RayService', 'tune')}spec: {{rayClusterConfig: {{{RAY}}}}}\n",
    "RayCronJob": f"{root('RayCronJob', 'tune')}spec: {{schedule: '0 0 * * *', jobTemplate: "
    f"{{entrypoint: python train.py, rayClusterSpec: {{{RAY}}}}}}}\n",
    "TrainJob": f"{root('TrainJob', 'tune')}spec: {{runtimeRef: {{name: r}}, trainer: {{numNodes: {MOST}, "
    f"numProcPerNode: {MOST}, resourcesPerNode: {{limits: {{nvidia.com/gpu: {MOST}}}}}}}}}\n",
    "LeaderWorkerSet": leader_worker(MOST, SEGMENTS).replace("spec:\n", f"spec:\n  replicas: {MOST}\n", 1),
    "LeaderWorkerSet-subgroups": leader_worker(MOST, SEGMENTS, f"{{subGroupSize: {MOST}}}"),
    "LeaderWorkerSet-subgroups-of-1": leader_worker(MOST, None, "{subGroupSize: 1}"),
    "PyTorchJob": pytorch(MOST, SEGMENTS | {"kai.scheduler/segment-size": "1"}).replace(
        "spec:\n",
        f"spec:\n  elasticPolicy: {{minReplicas: {MOST}, maxReplicas: {MOST}}}\n  nprocPerNode: '{MOST}'\n",
        1,
    ),
    "TFJob": kubeflow("TFJob", "tfReplicaSpecs", "PS"),
    "XGBoostJob": kubeflow("XGBoostJob", "xgbReplicaSpecs", "Master"),
    "JAXJob": f"{root('JAXJob', 'train')}spec: {{jaxReplicaSpecs: {{Worker: {{replicas: {MOST}, "
    f"template: {template()}}}}}}}\n",
    "MPIJob": kubeflow("MPIJob", "mpiReplicaSpecs", "Launcher").replace(
        "spec:\n", f"spec:\n  slotsPerWorker: {MOST}\n", 1
    ),
    "owned": f"{root('JobSet', 'train', {'kubectl-tas/podgroup': 'owned'})}spec:\n  replicatedJobs:\n"
    f"  - {{name: a, replicas: 1, template: {{spec: {{{JOB}}}}}}}\n",
    "gang": f"{root('Job', 'sweep', {'kubectl-tas/gang': 'all'})}spec: {{{JOB}}}\n---\n"
    f"{root('Deployment', 'serve', {'kubectl-tas/gang': 'all'})}{several(MOST)}",
    "Workflow": "workflow: {name: w, pool: team, tasks: [{name: t, image: i}]}\n"
    f"resources: {{default: {{gpu: {MOST}, cpu: {MOST}, memory: {MOST}Ei}}}}\n",
    "PodGroup": "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: pg, labels: "
    f"{{kubectl-tas/pool: team}}}}\nspec: {{minMember: {MOST}, subGroups: [{{name: a, minMember: {MOST}}}]}}\n",
    "PodCliqueSet": grouped(MOST, f"{clique('a', MOST)}, {clique('b', MOST)}", scaling("b", MOST, 1)),
    "PodCliqueSet-one-gang": grouped(1, f"{clique('a', MOST)}, {clique('b', MOST)}", scaling("b", MOST, MOST)),
    "PodCliqueSet-none": grouped(0, clique("a", MOST), scaling("a", MOST, MOST)),
    "PodCliqueSet-misspelled": grouped(1, clique("a"), scaling("aa", 2_000_000_000, 2_000_000_000)),
    "PodCliqueSet-misspelled-and-elastic": grouped(1, clique("a"), scaling("aa", MOST, 1)),
    "PodCliqueSet-no-names": grouped(1, clique("a"), scaling("", MOST, MOST)),
    "PodCliqueSet-fewer-than-needed": grouped(1, clique("a"), scaling("aa", 1, MOST)),
    "PodCliqueSet-no-cliques": grouped(MOST, "", ""),
    "PodCliqueSet-unknown-pool": grouped(1, clique("a"), scaling("aa", MOST, MOST)).replace("team", "nobody"),
    "PodCliqueSet-a-thousand-each": grouped(1000, f"{clique('a')}, {clique('b')}", scaling("b", 999, 999)),
    "PodCliqueSet-many-groups": grouped(
        1, clique("a"), ", ".join(scaling("aa", 1000, 1000).replace("g,", f"g{number},") for number in range(2000))
    ),
}
"""Objects of each kind, and of each way in which its numbers are used."""


def test_every_kind_is_tried() -> None:
    kinds = {page.recognition.schema or page.recognition.kind for page in pages() if page.fields} - {
        "ReplicaSet",
        "ReplicationController",
    }
    kinds |= {Workflow.__name__, PodGroup.__name__, SET.kind}
    assert kinds <= set(SUBMITTED), "add the kind with its largest numbers"


@pytest.fixture
def limited(repository: Path) -> Path:
    """A repository with one pool without a limit, the topology of its pool and one of Grove's."""
    files = {"tas.yaml": config("0.17"), "pools/p.yaml": pool(guarantee=-1, spec=LEVELS)}
    return write(repository, {**files, "topologies/t.yaml": topology("racks"), "topologies/o.yaml": operator()})


@pytest.fixture(scope="module")
def commands() -> Iterator[Forks]:
    """What runs commands each in a process of its own."""
    with forks() as found:
        yield found


@pytest.fixture
def measured(commands: Forks, limited: Path) -> Callable[..., Measured]:
    """Runs a command in the repository; fails where it takes more than it may."""

    def run(*arguments: str) -> Measured:
        done = commands.run(*arguments, "-C", str(limited))
        assert done.code in (0, 1, 2, 3), done
        assert done.seconds < SECONDS, arguments
        assert done.mebibytes < MEBIBYTES, arguments
        allowed = CHARACTERS + 50 * sum(path.stat().st_size for path in limited.glob("workflows/*"))
        assert len(done.out) + len(done.err) < allowed, (arguments, done.out[:2000])
        assert "internal error" not in done.err
        return done

    return run


@pytest.mark.parametrize("name", SUBMITTED)
def test_the_largest_numbers(name: str, limited: Path, measured: Callable[..., Measured]) -> None:
    write(limited, {"workflows/w.yaml": SUBMITTED[name]})
    measured("validate")
    measured("render")
    measured("workflow", "explain", "workflows/w.yaml")
    measured("admit", str(limited / "workflows/w.yaml"))
    measured("pool", "list")


def pod_group(count: int, *, ring: bool) -> str:
    """SubGroups each of which is the parent of the next; in a ring, the last is that of the first."""
    parts = [f"{{name: s{number}, parent: s{number - 1}, minSubGroup: 1}}" for number in range(1, count)]
    first = f"{{name: s0, parent: s{count - 1}}}" if ring else "{name: s0}"
    return (
        "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: pg}\n"
        f"spec: {{queue: osmo-pool-default-team--shared, subGroups: [{', '.join([first, *parts])}]}}\n"
    )


def parts(count: int, one: str) -> str:
    """As many times ``one``, with its number for each %."""
    return ", ".join(one.replace("%", str(number)) for number in range(count))


PLAIN = "{spec: {containers: [{name: m, image: i}]}}"
PLAIN_CLIQUE = "{name: c%, spec: {replicas: 1, podSpec: {containers: [{name: m, image: i}]}}}"
RAY_GROUP = f"{{groupName: g%, replicas: 1, template: {PLAIN}}}"
REPLICATED_JOB = f"{{name: j%, template: {{spec: {{template: {PLAIN}}}}}}}"
MANY = {
    "PodGroup-chain": pod_group(3000, ring=False),
    "PodGroup-ring": pod_group(3000, ring=True),
    "PodCliqueSet": grouped(1, parts(2000, PLAIN_CLIQUE), parts(2000, "{name: g%, cliqueNames: [c%]}")),
    "PodCliqueSet-one-group": grouped(1, parts(2000, PLAIN_CLIQUE), f"{{name: g, cliqueNames: [{parts(2000, 'c%')}]}}"),
    "RayJob": f"{root('RayJob', 'tune')}spec: {{entrypoint: x, rayClusterSpec: {{headGroupSpec: {{template: {PLAIN}}}, "
    f"workerGroupSpecs: [{parts(3000, RAY_GROUP)}]}}}}\n",
    "JobSet": f"{root('JobSet', 'train')}spec: {{replicatedJobs: [{parts(3000, REPLICATED_JOB)}]}}\n",
    "JobSet-of-one-name": f"{root('JobSet', 'train')}"
    f"spec: {{replicatedJobs: [{parts(3000, REPLICATED_JOB.replace('%', ''))}]}}\n",
}
"""Objects of thousands of parts."""


@pytest.mark.parametrize("name", MANY)
def test_thousands_of_parts(name: str, limited: Path, measured: Callable[..., Measured]) -> None:
    write(limited, {"workflows/w.yaml": MANY[name]})
    assert measured("validate").code in (0, 1)


def test_previews_are_few(limited: Path, measured: Callable[..., Measured]) -> None:
    """As many cliques as are previewed, and one more."""
    for replicas, names in ((19, "gang"), (20, "cliques of all gangs: 20020; at most 20000")):
        write(
            limited, {"workflows/w.yaml": grouped(replicas, f"{clique('a')}, {clique('b')}", scaling("b", 1000, 999))}
        )
        assert (names in measured("validate").out) == (replicas == 20)


def replicated(number: int) -> str:
    return f"  - name: j{number}\n    template: {{spec: {{template: {template()}}}}}\n"


def worker_group(number: int) -> str:
    return f"    - {{groupName: g{number}, replicas: 1, minReplicas: 1, maxReplicas: 1, template: {template()}}}\n"


TEMPLATES = {
    "JobSet": f"{root('JobSet', 'train')}spec:\n  replicatedJobs:\n" + "".join(map(replicated, range(400))),
    "RayJob": f"{root('RayJob', 'tune')}spec:\n  entrypoint: x\n"
    f"  rayClusterSpec:\n    headGroupSpec: {{template: {template()}}}\n"
    "    workerGroupSpecs:\n" + "".join(map(worker_group, range(600))),
    "PodCliqueSet": grouped(1, ", ".join(clique(f"c{number}") for number in range(1500)), ""),
}
"""Objects with many pod templates, to each of which lines are added."""


@pytest.mark.parametrize("name", TEMPLATES)
def test_many_templates(name: str, limited: Path, measured: Callable[..., Measured]) -> None:
    write(limited, {"workflows/w.yaml": TEMPLATES[name]})
    assert measured("validate").code == 0
    assert measured("render").code == 0


def test_many_findings_on_one_long_line(limited: Path, measured: Callable[..., Measured]) -> None:
    """Each finding shows a part of the line, and keeps no copy of it."""
    fields = ", ".join(f"unknown{number}: {number}" for number in range(5000))
    write(limited, {"workflows/w.yaml": f"{{workflow: {{name: w, pool: team, {fields}, tasks: []}}}}\n"})
    assert measured("validate").out.count("[unknown-field]") >= 1


def test_many_findings_about_one_long_name(limited: Path, measured: Callable[..., Measured]) -> None:
    tasks = "".join(f"  - {{name: t{number}, image: i, resource: *long}}\n" for number in range(300))
    first = f"  - {{name: first, image: i, resource: &long {'x' * 500_000}}}\n"
    write(limited, {"workflows/w.yaml": f"workflow:\n  name: w\n  pool: team\n  tasks:\n{first}{tasks}"})
    assert measured("validate").code == 1
