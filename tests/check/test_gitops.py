"""Exports, suspended work, and work that deletes itself, word by word."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

PODS = "containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"
TTL = "ttlSecondsAfterFinished: 60"


def made(api: str, kind: str, spec: str, labels: str = "") -> str:
    """A workload whose spec stands in line 4."""
    metadata = f"metadata: {{name: a, labels: {{kubectl-tas/pool: team{labels}}}}}"
    return f"apiVersion: {api}\nkind: {kind}\n{metadata}\nspec: {{{spec}}}\n"


def job(spec: str, labels: str = "", pods: str = "") -> str:
    own = f"metadata: {{labels: {{{pods}}}}}, " if pods else ""
    template = f"template: {{{own}spec: {{restartPolicy: Never, {PODS}}}}}"
    return made("batch/v1", "Job", f"{spec}, {template}" if spec else template, labels)


UID = "selector: {matchLabels: {controller-uid: u}}"
EXPORTED = {
    "pods of one object": (
        job("", pods="controller-uid: u"),
        [
            "w.yaml:4:39 object-exported: this Job is an export of an object in a cluster: it has "
            "spec.template.metadata.labels.controller-uid, which cannot be applied (Delete "
            "spec.template.metadata.labels.controller-uid.)"
        ],
    ),
    "a selector of one object": (
        job(UID, pods="controller-uid: u"),
        [
            "w.yaml:4:8 object-exported: this Job is an export of an object in a cluster: it has spec.selector, "
            "spec.template.metadata.labels.controller-uid, which cannot be applied (Delete spec.selector, "
            "spec.template.metadata.labels.controller-uid.)"
        ],
    ),
    "a selector that its author keeps": (job(f"manualSelector: true, {UID}", pods="controller-uid: u"), []),
    "suspended": (
        job("suspend: true"),
        [
            "w.yaml:4:8 suspended: Job a is suspended: no new pod of it starts until you change this file "
            "(Remove suspend, or remove the file.)"
        ],
    ),
    "suspended by Kueue": (
        job("suspend: true", labels=", kueue.x-k8s.io/queue-name: q"),
        [
            "w.yaml:3:54 other-queue: Kueue holds this workload until a queue of Kueue has room, in addition to the "
            "quota of its pool (Remove the label kueue.x-k8s.io/queue-name.)"
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), EXPORTED.values(), ids=EXPORTED)
def test_exported_or_suspended(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected


def replicas(kind: str, *roles: str, container: str = "m") -> str:
    template = PODS.replace("name: m", f"name: {container}")
    types = ", ".join(f"{role}: {{template: {{spec: {{{template}}}}}}}" for role in roles)
    return f"runPolicy: {{{TTL}}}, {kind}ReplicaSpecs: {{{types}}}"


def ray(fields: str) -> str:
    cluster = f"rayClusterSpec: {{headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{{PODS}}}}}}}}}"
    ends = "shutdownAfterJobFinishes: true"
    more = "" if ends in fields else f", {ends}"
    return made("ray.io/v1", "RayJob", f"entrypoint: a, {TTL}, {fields}, {cluster}{more}")


JOBS = f"replicatedJobs: [{{name: w, template: {{spec: {{template: {{spec: {{restartPolicy: Never, {PODS}}}}}}}}}}}]"
LASTS = (
    "deletes finished work that the repository still has: Flux makes it anew when it reconciles next, and it runs again"
)
DELETED = {
    "a Job": (job(TTL), "4:8"),
    "a Job that lives out": (job("parallelism: 1"), ""),
    "a JobSet": (made("jobset.x-k8s.io/v1alpha2", "JobSet", f"{TTL}, {JOBS}"), "4:8"),
    "a PyTorchJob": (made("kubeflow.org/v1", "PyTorchJob", replicas("pytorch", "Worker", container="pytorch")), "4:20"),
    "an MPIJob of the training operator": (
        made("kubeflow.org/v1", "MPIJob", replicas("mpi", "Launcher", "Worker")),
        "4:20",
    ),
    "an MPIJob of its own operator": (
        made("kubeflow.org/v2beta1", "MPIJob", replicas("mpi", "Launcher", "Worker")),
        "",
    ),
    "a RayJob that loses its cluster": (ray("shutdownAfterJobFinishes: true"), ""),
}


@pytest.mark.parametrize(("text", "place"), DELETED.values(), ids=DELETED)
def test_work_that_is_deleted_once_it_has_finished(text: str, place: str) -> None:
    said = f"w.yaml:{place} finished-recreated: ttlSecondsAfterFinished {LASTS} (Leave ttlSecondsAfterFinished out.)"
    assert told_of(text, gitops="flux") == ([said] if place else [])


def test_a_ray_job_that_deletes_itself() -> None:
    said = (
        f"w.yaml:4:83 finished-recreated: the policy DeleteSelf {LASTS} (Use another deletion policy than DeleteSelf.)"
    )
    strategy = "{onSuccess: {policy: DeleteSelf}, onFailure: {policy: DeleteNone}}"
    assert told_of(ray(f"deletionStrategy: {strategy}"), gitops="flux") == [said]
