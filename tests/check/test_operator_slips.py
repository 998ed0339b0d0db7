"""Tests what operators refuse beyond their CRDs, with a slip each: ``^`` stands before the place of the one finding.

Sources: KubeRay 1.7, KServe 0.16, Volcano 1.15, Argo Workflows 4.1 and Spark 3.5, as the pages of their kinds say.
"""

from __future__ import annotations

import pytest

from tests.support.judged import told_of
from tests.support.marked import marked


def head(version: str, kind: str) -> str:
    """The beginning of a workload."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, labels: {{kubectl-tas/pool: team}}}}\nspec:\n"


POD = '{spec: {restartPolicy: Never, containers: [{name: ray, image: "a:1"}]}}'
GROUP = f"{{rayStartParams: {{}}, template: {POD.replace('restartPolicy: Never, ', '')}}}"


def ray(*fields: str) -> str:
    """A RayJob with fields."""
    given = "".join(f"  {field}\n" for field in fields)
    return f"{head('ray.io/v1', 'RayJob')}  entrypoint: a\n{given}  rayClusterSpec: {{headGroupSpec: {GROUP}}}\n"


def served(numbers: str) -> str:
    """An InferenceService with numbers of replicas."""
    model = "model: {modelFormat: {name: a}, storageUri: gs://a}"
    return f"{head('serving.kserve.io/v1beta1', 'InferenceService')}  predictor: {{{numbers}, {model}}}\n"


def volcano(fields: str, of_task: str = "replicas: 2") -> str:
    """A Job of Volcano with two tasks, of which the second has one pod."""
    first, second = f"{{name: a, {of_task}, template: {POD}}}", f"{{name: b, replicas: 1, template: {POD}}}"
    return f"{head('batch.volcano.sh/v1alpha1', 'Job')}  {fields}\n  tasks:\n  - {first}\n  - {second}\n"


def argo(
    fields: str = "entrypoint: main",
    tasks: str = "{name: a, template: run}, {name: b, template: run, dependencies: [a]}",
    run: str = "name: run",
    args: str = "run",
) -> str:
    """A Workflow of a DAG with two tasks."""
    return f"""\
{head("argoproj.io/v1alpha1", "Workflow")}  {fields}
  templates:
  - name: main
    dag: {{tasks: [{tasks}]}}
  - {run}
    container: {{image: "a:1", args: ["{args}"]}}
"""


def spark(executor: str = "cores: 1", fields: str = "mainApplicationFile: local:///a.py") -> str:
    """A SparkApplication in Python."""
    return f"""\
{head("sparkoperator.k8s.io/v1beta2", "SparkApplication")}  type: Python
  mode: cluster
  sparkVersion: 3.5.5
  image: spark:3.5.5
  {fields}
  driver: {{memory: 2g, serviceAccount: spark}}
  executor: {{instances: 2, {executor}}}
"""


GIVEN = "{name: a, template: run, arguments: {parameters: [{name: %s, value: b}]}}"
INPUT = "name: run\n    inputs: {parameters: [{name: rate}]}"
SLIPS = {
    "a time to live of a Ray cluster that stays": (
        ray("ttlSecondsAfterFinished: ^60"),
        "KubeRay refuses spec.ttlSecondsAfterFinished without shutdownAfterJobFinishes: true (Remove it, or write",
    ),
    "more replicas than the most": (
        served("minReplicas: ^3, maxReplicas: 2"),
        "spec.predictor.minReplicas is 3, more than maxReplicas, 2 (Write 2 or less, or raise maxReplicas.)",
    ),
    "more pods than all tasks have": (
        volcano("minAvailable: ^4\n  schedulerName: volcano"),
        "spec.minAvailable is 4, more than the 3 pods of all tasks (Write 3 or less, or raise replicas of a task.)",
    ),
    "more pods than a task has": (
        volcano("minAvailable: 3", "replicas: 2, minAvailable: ^3"),
        "spec.tasks[0].minAvailable is 3, more than replicas, 2 (Write 2 or less, or raise replicas.)",
    ),
    "an action of another name": (
        volcano("policies: [{event: PodEvicted, action: ^RestartJobs}]"),
        'Volcano knows no action "RestartJobs" of a policy (Did you mean "RestartJob"?)',
    ),
    "an event of another name": (
        volcano("policies: [{event: ^podEvicted, action: RestartJob}]"),
        'Volcano knows no event "podEvicted" of a policy (Did you mean "PodEvicted"?)',
    ),
    "an event of a list of a task": (
        volcano("maxRetry: 3", "replicas: 2, policies: [{events: [PodFailed, ^Evicted], action: RestartJob}]"),
        'Volcano knows no event "Evicted" of a policy (Known: *, PodFailed',
    ),
    "an entrypoint that is no template": (
        argo("entrypoint: ^mian"),
        'this workflow has no template "mian" (Did you mean "main"?)',
    ),
    "an exit handler that is no template": (
        argo("entrypoint: main\n  onExit: ^clean"),
        'this workflow has no template "clean" (Name main, run.)',
    ),
    "a task of no template": (
        argo(tasks="{name: a, template: ^rnu}"),
        'this workflow has no template "rnu" (Did you mean "run"?)',
    ),
    "a task that is nearly its own template": (
        argo(tasks="{name: a, template: ^mains}"),
        'this workflow has no template "mains" (Name run.)',
    ),
    "a step of no template": (
        argo(run="name: more\n    steps: [[{name: a, template: ^rn}]]\n  - name: run"),
        'this workflow has no template "rn" (Did you mean "run"?)',
    ),
    "a dependency that is no task": (
        argo(tasks="{name: prep, template: run}, {name: b, template: run, dependencies: [^preb]}"),
        'this DAG has no task "preb" (Did you mean "prep"?)',
    ),
    "a word that is no task": (
        argo(tasks='{name: prep, template: run}, {name: b, template: run, depends: ^"prep.Succeeded && pep.Failed"}'),
        'this DAG has no task "pep" (Did you mean "prep"?)',
    ),
    "a parameter that the workflow lacks": (
        argo(
            "entrypoint: main\n  arguments: {parameters: [{name: lr, value: a}]}", args="{{workflow.parameters.rate}}"
        ).replace("args: [", "args: [^"),
        "nothing sets {{workflow.parameters.rate}} in the template run (Known: lr.)",
    ),
    "a parameter that the template lacks": (
        argo(args="{{ inputs.parameters.rate }}").replace("args: [", "args: [^"),
        "nothing sets {{inputs.parameters.rate}} in the template run (Add rate to inputs.parameters of the template.)",
    ),
    "a parameter that nothing gives": (
        argo(tasks="{name: a, template: ^run}", run=INPUT, args="{{inputs.parameters.rate}}"),
        'nothing gives the parameter "rate" to the template run (Add it to',
    ),
    "a parameter that is given by another name": (
        argo(tasks=GIVEN % "^rates", run=INPUT, args="{{inputs.parameters.rate}}"),
        'nothing gives the parameter "rate" to the template run (Did you mean "rate"?)',
    ),
    "an output of no task": (
        argo(
            tasks=GIVEN.replace("value: b", 'value: ^"{{tasks.b.outputs.result}}"') % "rate",
            run=INPUT,
            args="{{inputs.parameters.rate}}",
        ),
        "nothing sets {{tasks.b}} in the template main (Known: a.)",
    ),
    "memory in the units of Kubernetes": (
        spark("memory: ^8Gi"),
        'Spark cannot read the size "8Gi" of spec.executor.memory (Write 8g.)',
    ),
    "memory with a fraction": (
        spark("memoryOverhead: ^1.5g"),
        'Spark cannot read the size "1.5g" of spec.executor.memoryOverhead (Write a whole number with a unit',
    ),
    "fewer cores than are requested": (
        spark('cores: 4, coreLimit: ^"2"'),
        "spec.executor.coreLimit is 2, less than cores, 4: no server takes the pods (Write 4 or more",
    ),
    "a class in the place of a file": (
        spark(fields="^mainClass: etl.py"),
        "spec has no mainApplicationFile, the Python program that Spark is to run (Write mainApplicationFile instead",
    ),
}
TAKEN = {
    "a time to live of a Ray cluster that goes": ray("ttlSecondsAfterFinished: 60", "shutdownAfterJobFinishes: true"),
    "no time to live": ray("ttlSecondsAfterFinished: 0"),
    "a most of 0, which is none": served("minReplicas: 1, maxReplicas: 0"),
    "no most": served("minReplicas: 3"),
    "as many pods as all tasks have": volcano(
        'minAvailable: 3\n  policies: [{event: "*", action: RestartJob}]', "replicas: 2, minAvailable: 2"
    ),
    "an exit code, and an event of a newer release": volcano(
        "policies: [{exitCode: 3, action: AbortJob}, {event: PodPending, action: RestartPod}]"
    ),
    "templates and tasks that only a run tells": argo(
        "entrypoint: main\n  arguments: {parameters: [{name: t, value: run}]}",
        tasks='{name: a, template: "{{workflow.parameters.t}}"}, {name: b, templateRef: {name: c, template: d}},'
        ' {name: c, template: run, depends: "(a.Succeeded || b) && !b.Failed"}',
    ),
    "a loop, an expression, and words of Argo": argo(
        args="{{item.x}} {{=workflow.parameters.x}} {{workflow.parameters.json}} {{workflow.name}} {{pod.name}}"
    ),
    "a parameter with a default, and one that is given": argo(
        tasks=GIVEN % "rate",
        run="name: run\n    inputs: {parameters: [{name: rate}, {name: n, default: 1}, {name: m, value: 2}]}",
        args="{{inputs.parameters.rate}} {{inputs.parameters.n}}",
    ),
    "an output of another task": argo(
        tasks='{name: a, template: run}, {name: b, template: run, dependencies: [a], when: "{{tasks.a.status}} == x"}'
    ),
    "what an inline template takes from its template": argo(
        run="name: run\n    inputs: {parameters: [{name: n, value: 1}]}\n    steps: [[{name: a, inline: {container: "
        '{image: "a:1", args: ["{{inputs.parameters.n}}"]}}}]]\n  - name: last'
    ),
    "a workflow of a WorkflowTemplate": head("argoproj.io/v1alpha1", "Workflow")
    + "  entrypoint: main\n  workflowTemplateRef: {name: a}\n",
    "sizes of Spark, and a limit above the request": spark(
        'memory: 8g, memoryOverhead: "512", cores: 4, coreRequest: 500m, coreLimit: "1"'
    ),
    "a program for the JVM": spark(fields="mainClass: a.B").replace("type: Python", "type: Scala"),
}


@pytest.mark.parametrize(("text", "said"), SLIPS.values(), ids=SLIPS)
def test_one_finding_stands_at_the_slip(text: str, said: str) -> None:
    written, place = marked("w.yaml", text)
    found = [line for line in told_of(written) if " operator-refuses: " in line]
    assert len(found) == 1, found
    assert found[0].startswith(f"{place} operator-refuses: {said}")


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_nothing_is_refused(text: str) -> None:
    assert [line for line in told_of(text) if "operator-refuses" in line or " yaml-" in line] == []
