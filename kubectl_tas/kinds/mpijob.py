"""Describes Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1). Sources: MPI operator
0.8, mpi_job_controller.go; KAI's mpi_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import kubeflow, page
from kubectl_tas.kinds.grouping import Gathered
from kubectl_tas.kinds.naming import Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, value_at

_JOB = kubeflow.job(
    "MPIJob",
    "mpiReplicaSpecs",
    "Launcher and Worker.",
    leader="Launcher",
    needed=("Launcher", "Worker"),
    gpus_used="spec.slotsPerWorker",
)
_POLICY = ("spec", "launcherCreationPolicy")


def _late_part(document: Document) -> str:
    return "launcher" if value_at(document, *_POLICY) == "WaitForWorkersReady" else ""


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields the launcher, if it comes last. KAI leaves it out until it exists (``handleDelayedLauncherPolicy``)."""
    if gathered.is_owned and (late := _late_part(gathered.document)):
        first_replicas = [0 if pods.name == late else pods.replicas for pods in gathered.pods]
        if not any(first_replicas):
            return
        reason = "the launcher is made only when all workers are ready"
        yield page.Wait(_POLICY, reason, "Set launcherCreationPolicy: AtStartup", first_replicas)


def _last_worker(document: Document) -> str:
    return f"-worker-{last_index(value_at(document, 'spec', 'mpiReplicaSpecs', 'Worker', 'replicas'))}"


PAGE = replace(
    _JOB,
    recognition=page.Recognition(
        "MPIJob", ("kubeflow.org/v2beta1", "kubeflow.org/v1"), operator="mpi-operator training-operator"
    ),
    fields=(
        *_JOB.fields,
        page.Field("spec", "Settings of the job.", is_required=True),
        page.Field(
            "spec.launcherCreationPolicy",
            "The time at which the controller creates the launcher: at once, or when all workers are ready. v2beta1 "
            "only.",
            "AtStartup|WaitForWorkersReady",
        ),
    ),
    pod_rules=replace(
        _JOB.pod_rules, added_volumes=("mpi-job-config", "mpi-job-kubectl", "ssh-auth"), starts_by_slots=True
    ),
    gang=replace(_JOB.gang, late_part=_late_part),
    start=page.Start(waits=_waits),
    makes=page.Makes((page.Made("Job", "batch"),), services=("{}",), name_labels=("training.kubeflow.org/job-name",)),
    names=Names(
        (
            Naming(
                Alphabet.SERVICE,
                "the host names of its workers begin with it",
                added=_last_worker,
                only=lambda document: document.get("apiVersion") == "kubeflow.org/v2beta1",
            ),
        )
    ),
)
