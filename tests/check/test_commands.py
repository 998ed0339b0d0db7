"""Tests commands and fields that use more GPUs than a container has, and programs with a blank in their names."""

from __future__ import annotations

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
    ("command", "option"),
    [
        (["torchrun", "--nproc_per_node=8", "train.py"], "nproc-per-node"),
        (["torchrun", "--nproc-per-node", "8", "train.py"], "nproc-per-node"),
        (["python", "-m", "torch.distributed.run", "--nproc_per_node=8", "train.py"], "nproc-per-node"),
        (["accelerate", "launch", "--num_processes=8", "train.py"], "num-processes"),
        (["accelerate", "launch", "--multi_gpu", "--num_processes", "8", "train.py"], "num-processes"),
        (["deepspeed", "--num_gpus", "8", "train.py"], "num-gpus"),
        (["vllm", "serve", "m", "--tensor-parallel-size", "8"], "tensor-parallel-size"),
        (["vllm", "serve", "m", "-tp", "4", "-pp=2"], "pp"),
        (["python3", "-m", "vllm.entrypoints.openai.api_server", "--tensor-parallel-size=8"], "tensor-parallel-size"),
        (["python3", "-m", "sglang.launch_server", "--tp", "8"], "tp"),
        (["ray", "start", "--head", "--num-gpus=8"], "num-gpus"),
        (["bash", "-c", "cd /src\nA=1 exec /bin/torchrun \\\n  --nproc_per_node=8 t.py"], "nproc-per-node"),
        (["sh", "-c", "pip install x && torchrun --nproc_per_node 8 t.py"], "nproc-per-node"),
    ],
)  # fmt: skip
def test_a_command_uses_more_gpus_than_its_container_has(command: list[str], option: str) -> None:
    (line,) = found(job({"command": command}))
    assert line.startswith(f"--{option} makes this command use 8 GPUs, but its container has 4 (Write --{option} ")
    assert found(job({"command": command[:1], "args": command[1:]})) == [line]
    enough = {"limits": {"nvidia.com/gpu": 8}}
    assert found(job({"command": command, "resources": enough})) == []


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["torchrun", "--nproc_per_node=8", "t.py"], "resources": {"limits": {"cpu": 4}}},
        {"command": ["torchrun", "--nproc_per_node=gpu", "t.py"]},
        {"command": ["torchrun", "--nproc_per_node=$(GPUS)", "t.py"]},
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
    assert line.startswith("--nproc-per-node makes this command use 8 GPUs, but its container has 2")
