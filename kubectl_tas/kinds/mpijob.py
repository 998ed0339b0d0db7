"""Describes Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1). Sources: MPI operator
0.8, mpi_job_controller.go; KAI's mpi_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import kubeflow, page
from kubectl_tas.kinds.grouping import Gathered
from kubectl_tas.kinds.naming import Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, Section, value_at
from kubectl_tas.model.base import KeyPath

_JOB = kubeflow.job(
    "MPIJob",
    "mpiReplicaSpecs",
    "Launcher and Worker.",
    leader="Launcher",
    needed=("Launcher", "Worker"),
    gpus_used="spec.slotsPerWorker",
    endless="Worker",
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


def _deadline(document: Document) -> int | None:
    """Returns the seconds of activeDeadlineSeconds. In v2beta1 the launcher's Job has them (newLauncherJob): they say
    nothing of the time that workers wait for each other before it exists.
    """
    return None if _late_part(document) else _JOB.ends.deadline(document)


def _slots(document: Document) -> page.Slots | None:
    """Returns the slots of Open MPI: ``slotsPerWorker``, or 1, for each worker, and for a launcher that works too."""
    spec = Section(document, ("spec",))
    workers, per_worker = spec.below("mpiReplicaSpecs", "Worker").get("replicas"), spec.get("slotsPerWorker", 1)
    if type(workers) is not int or type(per_worker) is not int or spec.get("mpiImplementation", "OpenMPI") != "OpenMPI":
        return None
    launcher: KeyPath = ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec")
    number = per_worker * (workers + (spec.get("runLauncherAsWorker") is True))
    return page.Slots(number=number, launcher=launcher, more="slotsPerWorker or the replicas of Worker")


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
    pod_rules=replace(_JOB.pod_rules, added_volumes=("mpi-job-config", "mpi-job-kubectl", "ssh-auth"), slots=_slots),
    gang=replace(_JOB.gang, late_part=_late_part),
    start=page.Start(waits=_waits),
    ends=replace(_JOB.ends, deadline=_deadline),
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
