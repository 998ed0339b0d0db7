"""Tests what fields of Kubernetes' own types hold, as the API reference and the validation of an API server say it."""

from __future__ import annotations

from typing import cast

import pytest

from kubectl_tas import kubernetes, spellings
from kubectl_tas.kubernetes import OperatorShapes, Shapes
from kubectl_tas.yaml import LargeNumber

WORDS = """
    AppArmorProfile.type: Localhost RuntimeDefault Unconfined
    Container.imagePullPolicy: Always IfNotPresent Never
    Container.restartPolicy: Always Never OnFailure
    Container.terminationMessagePolicy: FallbackToLogsOnError File
    ContainerPort.protocol: SCTP TCP UDP
    ContainerResizePolicy.resourceName: cpu memory
    ContainerResizePolicy.restartPolicy: NotRequired RestartContainer
    CronJobSpec.concurrencyPolicy: Allow Forbid Replace
    DeploymentStrategy.type: Recreate RollingUpdate
    HTTPGetAction.scheme: HTTP HTTPS
    HostPathVolumeSource.type: '' BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket
    ImageVolumeSource.pullPolicy: Always IfNotPresent Never
    JobSpec.completionMode: Indexed NonIndexed
    JobSpec.podReplacementPolicy: Failed TerminatingOrFailed
    LabelSelectorRequirement.operator: DoesNotExist Exists In NotIn
    NodeSelectorRequirement.operator: DoesNotExist Exists Gt In Lt NotIn
    ObjectFieldSelector.apiVersion: '' v1
    PodFailurePolicyOnExitCodesRequirement.operator: In NotIn
    PodFailurePolicyOnPodConditionsPattern.status: False True Unknown
    PodFailurePolicyRule.action: Count FailIndex FailJob Ignore
    PodOS.name: linux windows
    PodSecurityContext.fsGroupChangePolicy: Always OnRootMismatch
    PodSecurityContext.supplementalGroupsPolicy: Merge Strict
    PodSpec.dnsPolicy: ClusterFirst ClusterFirstWithHostNet Default None
    PodSpec.preemptionPolicy: Never PreemptLowerPriority
    PodSpec.restartPolicy: Always Never OnFailure
    SeccompProfile.type: Localhost RuntimeDefault Unconfined
    SecurityContext.procMount: Default Unmasked
    StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted: Delete Retain
    StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled: Delete Retain
    StatefulSetSpec.podManagementPolicy: OrderedReady Parallel
    StatefulSetUpdateStrategy.type: OnDelete RollingUpdate
    Toleration.effect: '' NoExecute NoSchedule PreferNoSchedule
    Toleration.operator: '' Equal Exists Gt Lt
    TopologySpreadConstraint.nodeAffinityPolicy: Honor Ignore
    TopologySpreadConstraint.nodeTaintsPolicy: Honor Ignore
    TopologySpreadConstraint.whenUnsatisfiable: DoNotSchedule ScheduleAnyway
    VolumeMount.mountPropagation: Bidirectional HostToContainer None
    VolumeMount.recursiveReadOnly: Disabled Enabled IfPossible
"""
"""The words that a field accepts; '' is the empty text."""
NUMBERS = {
    (0, 2_147_483_647): """
        CronJobSpec.failedJobsHistoryLimit CronJobSpec.successfulJobsHistoryLimit
        DeploymentSpec.minReadySeconds DeploymentSpec.progressDeadlineSeconds DeploymentSpec.replicas
        DeploymentSpec.revisionHistoryLimit
        JobSpec.backoffLimit JobSpec.backoffLimitPerIndex JobSpec.completions JobSpec.maxFailedIndexes
        JobSpec.parallelism JobSpec.ttlSecondsAfterFinished
        PodSecurityContext.fsGroup PodSecurityContext.runAsGroup PodSecurityContext.runAsUser
        PodSecurityContext.supplementalGroups SecurityContext.runAsGroup SecurityContext.runAsUser
        Probe.failureThreshold Probe.initialDelaySeconds Probe.periodSeconds Probe.successThreshold
        Probe.timeoutSeconds
        RollingUpdateStatefulSetStrategy.partition StatefulSetOrdinals.start
        StatefulSetSpec.minReadySeconds StatefulSetSpec.replicas StatefulSetSpec.revisionHistoryLimit
        SuccessPolicyRule.succeededCount
    """,
    (1, 2_147_483_647): """
        PodSpec.activeDeadlineSeconds TopologySpreadConstraint.maxSkew TopologySpreadConstraint.minDomains
    """,
    (0, 9_223_372_036_854_775_807): """
        CronJobSpec.startingDeadlineSeconds JobSpec.activeDeadlineSeconds PodSpec.terminationGracePeriodSeconds
    """,
    (1, 9_223_372_036_854_775_807): "Probe.terminationGracePeriodSeconds",
    (1, 65_535): "ContainerPort.containerPort GRPCAction.port",
    (0, 65_535): "ContainerPort.hostPort",
    (1, 100): "PreferredSchedulingTerm.weight WeightedPodAffinityTerm.weight",
    (600, 4_294_967_296): "ServiceAccountTokenProjection.expirationSeconds",
}
"""Fields by the least and the largest number that they accept."""


def test_the_words_of_fields() -> None:
    told = dict(line.strip().split(": ") for line in WORDS.strip().splitlines())
    known = {
        f"{name}.{key}": " ".join(sorted(word or "''" for word in bound))
        for name, fields in kubernetes.BOUNDS.items()
        for key, bound in fields.items()
        if isinstance(bound, tuple)
    }
    assert known == told


def test_the_numbers_of_fields() -> None:
    told = {name: ends for ends, names in NUMBERS.items() for name in names.split()}
    ranges = {
        f"{name}.{key}": bound
        for name, fields in kubernetes.BOUNDS.items()
        for key, bound in fields.items()
        if isinstance(bound, range)
    }
    assert ranges.keys() == told.keys()
    for name, bound in ranges.items():
        least, most = told[name]
        accepted = [n for n in (least - 1, least, most, most + 1) if spellings.within(n, bound) is None]
        assert accepted == [least, most], name


REQUIRED = {
    "apps.v1.StatefulSetSpec": "selector template",
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": "type",
    "core.v1.ConfigMapEnvSource": "name",
    "core.v1.ConfigMapKeySelector": "key name",
    "core.v1.ConfigMapProjection": "name",
    "core.v1.ConfigMapVolumeSource": "name",
    "core.v1.Container": "image name",
    "core.v1.EphemeralVolumeSource": "volumeClaimTemplate",
    "core.v1.HTTPHeader": "name",
    "core.v1.PersistentVolumeClaim": "spec",
    "core.v1.PersistentVolumeClaimSpec": "accessModes resources",
    "core.v1.PodDNSConfigOption": "name",
    "core.v1.SecretEnvSource": "name",
    "core.v1.SecretKeySelector": "key name",
    "core.v1.SecretProjection": "name",
    "core.v1.SecretVolumeSource": "secretName",
    "core.v1.Sysctl": "name",
    "core.v1.VolumeResourceRequirements": "requests",
    "networking.v1.Ingress": "spec",
    "networking.v1.IngressServiceBackend": "name port",
}
"""Fields without which an API server refuses a value, where the schema of some release says otherwise."""


SCALARS: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {
    "string": (("", "a"), (1, True)),
    "boolean": ((True, False), ("true", 1)),
    "integer": ((0, -1, 2**80), (1.0, "1", True)),
    "int32": ((-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31, "1")),
    "int64": ((-(2**63), 2**63 - 1), (-(2**63) - 1, 2**63, "1")),
    "number": ((1, 0.5, LargeNumber(1)), ("1", True)),
    "int-or-string": ((1, "1", "50%"), (0.5, True, 2**31)),
    "quantity": ((1, 0.5, "1Gi", LargeNumber(1)), ("a lot", True)),
    "[]string": (([],), ({}, "a")),
    "{}string": (({},), ([], "a")),
    "any": ((1, "a", [], {}, True), ()),
}
"""A type, values that it accepts, and values that it does not."""


@pytest.mark.parametrize("written", SCALARS)
def test_the_values_of_a_type_without_fields(written: str) -> None:
    shape = Shapes(kubernetes.releases()[-1]).of(written)
    accepted, refused = SCALARS[written]
    for value in (*accepted, *refused):
        bound = shape.bound
        is_kept = not shape.accepts or type(value) in shape.accepts
        if isinstance(bound, range):
            is_kept = is_kept and spellings.within(cast(int, value), bound) is None
        elif callable(bound):
            is_kept = is_kept and bound(value) is None
        assert is_kept is (value in accepted and type(value) in map(type, accepted)), value


@pytest.mark.parametrize("name", REQUIRED)
def test_what_every_api_server_requires(name: str) -> None:
    """The schemas of releases differ, and the validation of all of them is the same."""
    shapes = [Shapes(release).of(name) for release in kubernetes.releases()]
    assert {" ".join(sorted(shape.required)) for shape in shapes if shape.fields} == {REQUIRED[name]}


@pytest.mark.parametrize(
    ("operator", "required"), [("kserve", "name"), ("seldon-core", "name"), ("kuberay", "image name")]
)
def test_operators_that_complete_containers(operator: str, required: str) -> None:
    shapes = OperatorShapes(operator, None, kubernetes.releases()[-1])
    assert " ".join(sorted(shapes.of("core.v1.Container").required)) == required
    assert shapes.of("core.v1.SecretVolumeSource").required == ("secretName",)
