"""Tests commands and fields that use other GPUs or nodes than there are, and commands that do not run as they read."""

from __future__ import annotations

import json

import pytest

from tests.support.judged import told_of
from tests.support.pyyaml import dumped, safe_load

GPUS = {"limits": {"nvidia.com/gpu": 4}}


def job(container: dict[str, object], kind: str = "Job", **spec: object) -> str:
    version = {"Job": "batch/v1", "Deployment": "apps/v1"}[kind]
    pods = {"containers": [{"name": "a", "image": "a:1", "resources": GPUS, **container}]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pods}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": {"app": "x"}}
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "w", "labels": {"kubectl-tas/pool": "team"}}}
    return dumped({**head, "spec": {**spec, "template": template}})


def found(text: str) -> list[str]:
    return [line.partition(": ")[2] for line in told_of(text) if "command-doubtful" in line]


@pytest.mark.parametrize(
    ("command", "mended"),
    [
        (["torchrun", "--nproc_per_node=8", "train.py"], "--nproc_per_node=4"),
        (["torchrun", "--nproc-per-node", "8", "train.py"], "--nproc-per-node 4"),
        (["python", "-m", "torch.distributed.run", "--nproc_per_node=8", "train.py"], "--nproc_per_node=4"),
        (["accelerate", "launch", "--num_processes=8", "train.py"], "--num_processes=4"),
        (["accelerate", "launch", "--multi_gpu", "--num_processes", "8", "train.py"], "--num_processes 4"),
        (["deepspeed", "--num_gpus", "8", "train.py"], "--num_gpus 4"),
        (["vllm", "serve", "m", "--tensor-parallel-size", "8"], "--tensor-parallel-size 4"),
        (["vllm", "serve", "m", "-tp", "8"], "-tp 4"),
        (["vllm", "serve", "m", "-tp", "4", "-pp=2"], "-pp=1"),
        (["python3", "-m", "vllm.entrypoints.openai.api_server", "-tp=8"], "-tp=4"),
        (["python3", "-m", "sglang.launch_server", "--tp", "8"], "--tp 4"),
        (["ray", "start", "--head", "--num-gpus=8"], "--num-gpus=4"),
        (["bash", "-c", "cd /src\nA=1 exec /bin/torchrun \\\n  --nproc_per_node=8 t.py"], "--nproc_per_node=4"),
        (["sh", "-c", "pip install x && torchrun --nproc_per_node 8 t.py"], "--nproc_per_node 4"),
        (["sh", "-c", "until nc -z a 1; do sleep 1; done\ntorchrun --nproc_per_node 8 t.py"], "--nproc_per_node 4"),
    ],
)  # fmt: skip
def test_a_command_uses_more_gpus_than_its_container_has(command: list[str], mended: str) -> None:
    """The help keeps the spelling: vLLM has -tp, but no --tp (entrypoints/cli/serve.py, arg_utils.py of vLLM 0.12)."""
    (line,) = found(job({"command": command}))
    name = mended.replace("=", " ").split()[0]
    assert line == f"{name} makes this command use 8 GPUs, but its container has 4 (Write {mended}, or ask for 8 GPUs.)"
    assert found(job({"command": command[:1], "args": command[1:]})) == [line]
    enough = {"limits": {"nvidia.com/gpu": 8}}
    assert found(job({"command": command, "resources": enough})) == []


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["torchrun", "--nproc_per_node=8", "t.py"], "resources": {"limits": {"cpu": 4}}},
        {"command": ["torchrun", "--nproc_per_node=gpu", "t.py"]},
        {"command": ["torchrun", "--nproc_per_node=$(GPUS)", "t.py"], "env": [{"name": "GPUS"}]},
        {"command": ["torchrun", "--nproc_per_node=4", "t.py", "--nproc_per_node=8"]},
        {"command": ["accelerate", "launch", "--num_machines=2", "--num_processes=8", "t.py"]},
        {"command": ["accelerate", "launch", "--config_file=two.yaml", "--num_processes=8", "t.py"]},
        {"command": ["python", "t.py", "--num_gpus=8"]},
        {"command": ["echo", "torchrun", "--nproc_per_node=8"]},
        {"command": ["vllm", "serve", "m", "-tp", "8", "--distributed-executor-backend", "ray"]},
        {"command": ["python3", "-m", "sglang.launch_server", "--tp", "8", "--nnodes", "2"]},
        {"command": ["bash", "-c", "if [ -e a ]; then\n  torchrun --nproc_per_node=8 t.py\nfi"]},
        {"command": ["bash", "-c", "# torchrun --nproc_per_node=8 t.py\ntorchrun --nproc_per_node=4 t.py"]},
    ],
)  # fmt: skip
def test_what_the_text_does_not_say_plainly(container: dict[str, object]) -> None:
    assert found(job(container)) == []


def test_a_model_over_several_nodes() -> None:
    """Pods of one Job may share a model, those of a Deployment do not."""
    args: dict[str, object] = {"args": ["--tensor-parallel-size", "8"]}
    assert found(job(args, parallelism=2, completions=2)) == []
    assert found(job(args)) != []
    assert found(job(args, "Deployment", replicas=2)) != []


def pods(name: str) -> str:
    return f"{{spec: {{containers: [{{name: {name}, image: a, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]}}}}"


HEAD = f"headGroupSpec: {{rayStartParams: {{}}, template: {pods('h')}}}"
GROUP = f"groupName: g, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {{}}, template: {pods('w')}"
CLUSTER = f"{{{HEAD}, workerGroupSpecs: [{{{GROUP}}}]}}"
LAUNCHER = "Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: a}]}}}"
TRAINER = "trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}"
OPERATORS = {
    "MPIJob": f"kubeflow.org/v2beta1 {{mpiReplicaSpecs: {{{LAUNCHER}, Worker: {{template: {pods('w')}}}}}}}",
    "PyTorchJob": f"kubeflow.org/v1 {{pytorchReplicaSpecs: {{Worker: {{replicas: 2, template: {pods('pytorch')}}}}}}}",
    "RayCluster": f"ray.io/v1 {CLUSTER}",
    "RayJob": f"ray.io/v1 {{entrypoint: a, rayClusterSpec: {CLUSTER}}}",
    "RayService": f"ray.io/v1 {{rayClusterConfig: {CLUSTER}}}",
    "TrainJob": f"trainer.kubeflow.org/v1alpha1 {{runtimeRef: {{name: torch-distributed}}, {TRAINER}}}",
}


def with_field(kind: str, path: str, value: object) -> str:
    version, _, spec = OPERATORS[kind].partition(" ")
    metadata = "{name: w, labels: {kubectl-tas/pool: team}}"
    document = safe_load(f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n")
    *above, last = path.split(".")
    holder = document
    for step in above:
        holder = holder[int(step)] if step.isdecimal() else holder.setdefault(step, {})
    holder[last] = value
    return dumped(document)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("MPIJob", "spec.slotsPerWorker", 8),
        ("PyTorchJob", "spec.nprocPerNode", "8"),
        ("RayCluster", "spec.headGroupSpec.rayStartParams.num-gpus", "8"),
        ("RayCluster", "spec.workerGroupSpecs.0.rayStartParams.num-gpus", "8"),
        ("RayJob", "spec.rayClusterSpec.workerGroupSpecs.0.rayStartParams.num-gpus", "8"),
        ("RayService", "spec.rayClusterConfig.headGroupSpec.rayStartParams.num-gpus", "8"),
        ("TrainJob", "spec.trainer.numProcPerNode", 8),
    ],
)
def test_a_field_of_an_operator(kind: str, path: str, value: object) -> None:
    (line,) = found(with_field(kind, path, value))
    field = path.rpartition(".")[2]
    assert line == f"{field} is 8, but each of these pods has 2 GPUs (Write 2, or ask for 8 GPUs.)"
    assert found(with_field(kind, path, type(value)(2))) == []


@pytest.mark.parametrize(
    ("first", "is_found"),
    [
        ("python train.py", True), ("/bin/sh -c ./run", True), ("nvidia-smi -L", True), ("python", False),
        ("/opt/My App/bin/run", False), ("{{inputs.parameters.run it}}", False), ("C:\\Program Files\\run.exe", False),
    ],
)  # fmt: skip
def test_a_program_with_a_blank_in_its_name(first: str, *, is_found: bool) -> None:
    for container in ({"command": [first]}, {"livenessProbe": {"exec": {"command": [first]}}}):
        assert [line[:19] for line in found(job(container))] == ["no program is calle"] * is_found


def test_a_task_of_osmo() -> None:
    task = "{name: a, image: 'a:1', command: [torchrun], args: [--nproc_per_node=8, t.py]}"
    text = f"workflow: {{name: w, pool: team, tasks: [{task}]}}\nresources: {{default: {{gpu: 2}}}}\n"
    (line,) = found(text)
    assert line.startswith("--nproc_per_node makes this command use 8 GPUs, but its container has 2")


def test_a_script_in_a_file_of_a_task() -> None:
    """A command that names a file runs it; other files are data. Each line of a script counts unless it may not run."""
    script = "until nc -z a 1; do sleep 1; done\nexec torchrun --nproc-per-node 8 \\\n /t.py\n"
    file = {"path": "/x/run.sh", "contents": script}
    task = json.dumps({"name": "a", "image": "a:1", "command": ["bash", "/x/run.sh"], "files": [file]})
    text = f"workflow: {{name: w, pool: team, tasks: [{task}]}}\nresources: {{default: {{gpu: 2}}}}\n"
    (line,) = found(text)
    assert line.startswith("--nproc-per-node makes this command use 8 GPUs, but its container has 2")
    for silent in (
        text.replace('"bash", "/x/run.sh"', '"bash", "/y/run.sh"'),
        text.replace("exec torchrun", "if false; then torchrun"),
        text.replace('"contents":', '"base64": true, "contents":'),
    ):
        assert found(silent) == []


JOB = {"parallelism": 4, "completions": 4}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["torchrun", "--nnodes", "8", "t.py"], "--nnodes 8 waits for 8 nodes, --nnodes 4"),
        (["torchrun", "--nnodes=6:8", "t.py"], "--nnodes=6:8 waits for 6 nodes, --nnodes=4"),
        (["torchrun", "--nnodes=1:2", "t.py"], "--nnodes=1:2 lets 2 nodes in, --nnodes=4"),
        (["torchrun", "--nnodes=3", "t.py"], "--nnodes=3 lets 3 nodes in"),
        (["accelerate", "launch", "--num_machines", "8", "t.py"], "--num_machines 8 waits for 8 nodes"),
        (["sh", "-c", "exec torchrun --nnodes 8 t.py"], "--nnodes 8 waits for 8 nodes"),
        (["torchrun", "--nnodes=4", "t.py"], ""),
        (["torchrun", "--nnodes=2:4", "t.py"], ""),
        (["torchrun", "--nnodes=1", "t.py"], ""),
        (["torchrun", "--nnodes=1:1", "t.py"], ""),
        (["torchrun", "--standalone", "--nnodes=8", "t.py"], ""),
        (["torchrun", "--nnodes=$(N)", "t.py"], ""),
        (["torchrun", "t.py", "--nnodes=8"], ""),
        (["sh", "-c", "torchrun --rdzv-id $((INDEX / 2)) --nnodes=2 t.py"], ""),
        (["accelerate", "launch", "--config_file=a.yaml", "--num_machines", "8", "t.py"], ""),
    ],
)  # fmt: skip
def test_nodes_that_a_command_waits_for(words: list[str], message: str) -> None:
    lines = found(job({"command": words, "env": [{"name": "N"}]}, **JOB))
    what, _, mended = message.partition(", ")
    start = f"{what}, but this Job starts 4 pods (Write {mended}"
    assert [line.startswith(start) for line in lines] == [True] * bool(message), lines
    assert found(job({"command": words, "env": [{"name": "N"}]})) == []  # pods of other objects may join a single one


REPLICATED = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  replicatedJobs:
  - {name: a, replicas: 2, template: {spec: {parallelism: 2, completions: 2, template: {spec: {
      restartPolicy: Never, containers: [{name: m, image: 'a:1', command: [torchrun, --nnodes=N, t.py]}]}}}}}
  - {name: b, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: 'a:1'}]}}}}}
"""
GROUPS = """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    workerTemplate: {spec: {containers: [{name: m, image: 'a:1', command: [torchrun, --nnodes=N, t.py]}]}}
"""
TYPES = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [{name: pytorch, image: 'a:1', command: [torchrun, --nnodes=N, t.py]}]}}}
    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: 'a:1'}]}}}
"""
TASK = "{name: t%s, image: 'a:1', command: [torchrun], args: [--nnodes=N, t.py]}"
TASKS = f"workflow: {{name: w, pool: team, groups: [{{name: g, tasks: [{TASK % 1}, {TASK % 2}]}}]}}\n"


@pytest.mark.parametrize(
    ("text", "fitting", "wrong"),
    [
        (REPLICATED, (2, 3, 4, 5), (6, 8)),  # one job, all jobs of a name, and each with the other
        (GROUPS, (4, 8), (3, 6, 9)),  # a group, and all of them
        (TYPES, (4,), (2, 3, 5)),  # the operator counts all pods: getTotalReplicas of pkg/controller.v1/pytorch/util.go
        (TASKS, (2,), (3,)),
    ],
)
def test_pods_that_may_be_one_job(text: str, fitting: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    for number in (1, *fitting):
        assert found(text.replace("=N", f"={number}")) == [], number
    for number in wrong:
        assert found(text.replace("=N", f"={number}")) != [], number
    if "PyTorchJob" in text:
        elastic = text.replace("spec:\n  py", "spec:\n  elasticPolicy: {minReplicas: 1, maxReplicas: 8}\n  py")
        assert found(elastic.replace("=N", "=8")) == []


MPI = """apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: 'a:1', command: [COMMAND]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: 'a:1'}]}}}
"""


@pytest.mark.parametrize(
    ("command", "is_found"),
    [
        ('mpirun, -np, "16", all_reduce_perf', True),
        ('sh, -c, "exec mpirun --allow-run-as-root -x A --mca a b -n 16 all_reduce_perf -c 1"', True),
        ('mpirun, -np, "8", all_reduce_perf', False),
        ('mpirun, --oversubscribe, -np, "16", all_reduce_perf', False),
        ('mpirun, -H, "other:16", -np, "16", all_reduce_perf', False),
        ('mpirun, all_reduce_perf, -n, "16"', False),
        ('all_reduce_perf, -n, "16"', False),
    ],
)
def test_processes_of_mpi_beyond_the_slots(command: str, *, is_found: bool) -> None:
    """Open MPI refuses them (rmaps of 4.1); MPICH and Intel MPI start them all the same."""
    text = MPI.replace("COMMAND", command)
    lines = found(text)
    assert [
        line.endswith(
            "16 processes, but the workers have 8 slots (Write -np 8, or raise slotsPerWorker or the "
            "replicas of Worker.)"
        )
        or "-n 16" in line
        for line in lines
    ] == [True] * is_found
    assert found(text.replace("spec:\n  slots", "spec:\n  mpiImplementation: Intel\n  slots")) == []
    assert found(text.replace("replicas: 2", "replicas: 4")) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["sh", "-c", "python", "train.py"], 'sh runs "python" without the words behind it'),
        (["/bin/bash", "-euo", "pipefail", "-c", "exec train", "--lr", "1"], '/bin/bash runs "exec train" without'),
        (["bash", "-lc", "run", "now"], 'bash runs "run" without'),
        (["bash", "-c"], "bash -c has no script behind it"),
        (["sh", "-e", "-c"], "sh -c has no script behind it"),
        (["sh", "-c", "python train.py"], ""),
        (["sh", "-c", 'exec "$@"', "sh", "python", "train.py"], ""),
        (["sh", "-c", "echo $0 ${1}", "a", "b"], ""),
        (["sh", "-c", ". /etc/profile; run", "a", "b"], ""),
        (["sh", "-c", "run", "--"], ""),
        (["bash", "run.sh", "-c", "a", "b"], ""),
        (["python", "-c", "print()", "a"], ""),
    ],
)
def test_words_that_a_shell_does_not_run(command: list[str], message: str) -> None:
    """POSIX: the word behind -c is the script, and the following ones are $0, $1 and so on."""
    for container in ({"command": command}, {"command": command[:1], "args": command[1:]}):
        lines = found(job(container))
        assert [line.startswith(message) for line in lines] == [True] * bool(message), lines
        task = json.dumps({"name": "a", "image": "a:1", **container})
        assert len(found(f"workflow: {{name: w, pool: team, tasks: [{task}]}}\n")) == bool(message)


RANK = {"name": "RANK", "value": "1"}


@pytest.mark.parametrize(
    ("container", "hint"),
    [
        ({"command": ["a", "--rank=$RANK"]}, "(Write $(RANK).)"),
        ({"command": ["a"], "args": ["--rank=${RANK}"]}, "(Write $(RANK).)"),
        ({"command": ["a", "--rank=$(RNAK)"]}, '(Did you mean "RANK"?)'),
        ({"args": ["$(WORLD)"]}, "(Add it to env of the container.)"),
        ({"command": ["sh", "-c", "a $(RNAK)"]}, '(Did you mean "RANK"?)'),
        ({"command": ["a", "--rank=$(RANK)", "$$(RNAK)", "$(WEB_SERVICE_HOST)"]}, ""),
        ({"command": ["sh", "-c", "a $RANK $(hostname) $(date +%s)"]}, ""),
        ({"command": ["a", "$HOME", "^x$", "$$RANK"]}, ""),
        ({"command": ["python", "-c", "print('$RANK', 1)"]}, ""),
        ({"args": ["--rank=$RANK"]}, ""),
        ({"command": ["a", "$(RNAK)"], "envFrom": [{"configMapRef": {"name": "a"}}]}, ""),
    ],
)  # fmt: skip
def test_variables_that_nothing_fills_in(container: dict[str, object], hint: str) -> None:
    """Container.command of core/v1: $(NAME) is filled in, and stays as it is without such a variable."""
    lines = found(job({"env": [RANK], **container}))
    assert [line.endswith(hint) for line in lines] == [True] * bool(hint), lines


def test_variables_that_an_operator_adds() -> None:
    groups = GROUPS.replace("--nnodes=N", "$(LWS_LEADER_ADDRESS)")
    assert found(groups) == []
    (line,) = found(groups.replace("ADDRESS", "ADDRES"))
    assert line.endswith('(Did you mean "LWS_LEADER_ADDRESS"?)')
    types = TYPES.replace("--nnodes=N", "$(MASTER_ADDR) $(PET_NNODES)")
    assert found(types) == []
    assert found(types.replace("MASTER_ADDR", "MASTER_ADR")) != []
    assert found(MPI.replace("COMMAND", "a, $(OMPI_ANY)")) == []  # what the MPI operator adds depends on its release


INDEX = {"command": ["a", "--shard=$(JOB_COMPLETION_INDEX)"]}


def test_the_index_of_a_pod() -> None:
    """Pods of Indexed jobs alone have an index."""
    (line,) = found(job(INDEX, parallelism=2, completions=2))
    assert line == (
        "JOB_COMPLETION_INDEX is empty: the pods of a job that is not Indexed have no index "
        "(Write completionMode: Indexed in spec.)"
    )
    assert found(job(INDEX, parallelism=2, completions=2, completionMode="Indexed")) == []
    assert found(job({**INDEX, "env": [{"name": "JOB_COMPLETION_INDEX", "value": "0"}]})) == []


@pytest.mark.parametrize(("devices", "last"), [("0,1,2,3", 0), ("4", 4), ("0, 7", 7), ("all", 0), ("GPU-1a", 0)])
def test_devices_that_a_container_lacks(devices: str, last: int) -> None:
    lines = found(job({"env": [{"name": "CUDA_VISIBLE_DEVICES", "value": devices}]}))
    message = f"CUDA_VISIBLE_DEVICES names GPU {last}, but CUDA counts the GPUs of a container from 0, and here are 4"
    assert lines == [f"{message} (Remove it: a container sees its own GPUs alone.)"] * bool(last)


TASKS = """workflow:
  name: w
  pool: team
  groups:
  - name: g
    tasks:
    - {name: a, image: "a:1", command: [bash, /x/RUN], environment: {NODE_RANK: "0", MASTER: m}, files: [F]}
    - {name: b, image: "a:1", command: [bash, /x/RUN], environment: {NODE_RANK: "SECOND", MASTER: m}, files: [F]}
resources: {default: {gpu: 4}}
"""
FILE = "{path: /x/run.sh, contents: exit}"


@pytest.mark.parametrize(
    ("second", "run", "message"),
    [
        ("1", "run.sh", ""),
        ("0", "run.sh", "NODE_RANK is 0 in another task of the group that starts the same (Give each"),
        ("1", "rnu.sh", 'the task brings no file "/x/rnu.sh" (Did you mean "/x/run.sh"?)'),
        ("1", "other.py", ""),
    ],
)
def test_copies_of_tasks(second: str, run: str, message: str) -> None:
    lines = found(TASKS.replace("SECOND", second).replace("RUN", run).replace("F]", f"{FILE}]"))
    assert [line.startswith(message) for line in lines] == [True] * (len(lines) if message else 0)
    assert bool(lines) == bool(message)


@pytest.mark.parametrize(("tensor", "is_found"), [(8, False), (16, False), (32, True)])
def test_a_server_over_several_pods(tensor: int, is_found: bool) -> None:
    """One server may use the GPUs of all pods of a group, but no more."""
    command = f"[vllm, serve, m, -tp={tensor}]"
    gpus = "resources: {limits: {nvidia.com/gpu: 4}}"
    lines = found(GROUPS.replace("[torchrun, --nnodes=N, t.py]", f"{command}, {gpus}"))
    message = "-tp makes this command use 32 GPUs, but the pods of this LeaderWorkerSet have 16"
    assert lines == [f"{message} (Use 16 GPUs or fewer, or add pods.)"] * is_found
