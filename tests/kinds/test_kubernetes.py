"""Tests what fields of Kubernetes' own types hold, as the API reference and the validation of an API server say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from kubectl_tas.base.yaml import LargeNumber
from kubectl_tas.facts import spellings
from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shapes

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
        ReplicaSetSpec.minReadySeconds ReplicaSetSpec.replicas
        ReplicationControllerSpec.minReadySeconds ReplicationControllerSpec.replicas
        RollingUpdateStatefulSetStrategy.partition StatefulSetOrdinals.start
        StatefulSetSpec.minReadySeconds StatefulSetSpec.replicas StatefulSetSpec.revisionHistoryLimit
        SuccessPolicyRule.succeededCount
    """,
    (1, 2_147_483_647): """
        PodSpec.activeDeadlineSeconds TopologySpreadConstraint.maxSkew TopologySpreadConstraint.minDomains
    """,
    (0, 9_223_372_036_854_775_807): """
        CronJobSpec.startingDeadlineSeconds JobSpec.activeDeadlineSeconds PodSpec.terminationGracePeriodSeconds
        SleepAction.seconds
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


PACKED = {
    "releases": ["1.0", "1.1", "1.2"],
    "kubernetes": [25, 33, 99],
    "kinds": {"example.com/v1 Widget": "Widget", "example.com/v1 Gadget": "Gadget"},
    "spans": {"Gadget": [1, 2]},
    "types": {
        "Widget": {
            "always": "string*",
            "sometimes": [[0, 0, "string*"], [1, 2, "string"]],
            "new": [[1, 2, "integer*"]],
            "gone": [[0, 0, "string"]],
            "between": [[0, 1, "string"]],
            "loose": [[0, 0, "string"], [1, 1, "any"], [2, 2, "integer"]],
            "tight": [[0, 0, "string"], [1, 2, "integer"]],
            "words": [[0, 1, {"type": "string", "words": ["a", "b"]}], [2, 2, {"type": "string", "words": ["b", "c"]}]],
            "some": [[0, 1, {"type": "string", "words": ["a"]}], [2, 2, "string"]],
            "number": [
                [0, 1, {"type": "integer", "least": 2, "most": 5}],
                [2, 2, {"type": "integer", "least": 1, "most": 3}],
            ],
            "pods": "Widget.pods",
        },
        "Gadget": {"inner": "string"},
        "Widget.pods": {"": "core.v1.Container", "image": "integer", "args": [[0, 1, None], [2, 2, "string"]]},
    },
}
ANY = {
    "always": ("string", True, None),
    "sometimes": ("string", False, None),
    "new": ("integer", False, None),
    "gone": ("string", False, None),
    "between": ("string", False, None),
    "loose": ("any", False, None),
    "tight": ("integer", False, None),
    "words": ("string", False, ("a", "b", "c")),
    "some": ("string", False, None),
    "number": ("integer", False, range(1, 6)),
    "pods": ("Widget.pods", False, None),
}
"""Fields where no release is named: each accepts what any release accepts, and is required if it is in all."""


@pytest.fixture
def widgets(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], OperatorShapes]:
    """Types of an operator with three releases."""
    real = kubernetes.read_packed
    monkeypatch.setattr(kubernetes, "read_packed", lambda name: PACKED if name == "widgets" else real(name))
    monkeypatch.setattr(kubernetes, "operators", lambda: {"widgets": {"releases": PACKED["releases"]}})
    return lambda version: OperatorShapes("widgets", version, 34)


@pytest.mark.parametrize(
    ("version", "changes", "absent"),
    [
        (None, {}, ()),
        (
            "1.0.5",
            {
                "sometimes": ("string", True, None),
                "loose": ("string", False, None),
                "tight": ("string", False, None),
                "words": ("string", False, ("a", "b")),
                "some": ("string", False, ("a",)),
                "number": ("integer", False, range(2, 6)),
            },
            ("new",),
        ),
        (
            "v1.2",
            {
                "new": ("integer", True, None),
                "loose": ("integer", False, None),
                "words": ("string", False, ("b", "c")),
                "number": ("integer", False, range(1, 4)),
            },
            ("gone", "between"),
        ),
    ],
)
def test_fields_of_one_release_and_of_any(
    widgets: Callable[[str | None], OperatorShapes],
    version: str | None,
    changes: dict[str, object],
    absent: tuple[str, ...],
) -> None:
    found = widgets(version).fields("Widget")
    assert found == {name: field for name, field in {**ANY, **changes}.items() if name not in absent}


@pytest.mark.parametrize(
    ("version", "key", "said"),
    [
        ("1.0", "new", "widgets has it from 1.1 on; the Config names 1.0."),
        ("1.2", "gone", "widgets had it in 1.0 alone; the Config names 1.2."),
        ("1.2", "between", "widgets had it from 1.0 to 1.1; the Config names 1.2."),
        ("1.2", "never", ""),
        (None, "never", ""),
    ],
)
def test_the_releases_that_have_a_field(
    widgets: Callable[[str | None], OperatorShapes], version: str | None, key: str, said: str
) -> None:
    assert widgets(version).kind("example.com/v1", "Widget").elsewhere(key) == said


@pytest.mark.parametrize(
    ("version", "said"),
    [(None, ""), ("1.1", ""), ("1.0", "widgets has it from 1.1 on; the Config names 1.0.")],
)
def test_the_releases_that_have_a_kind(
    widgets: Callable[[str | None], OperatorShapes], version: str | None, said: str
) -> None:
    assert widgets(version).kind_elsewhere("example.com/v1", "Gadget") == said
    assert widgets(version).kind_elsewhere("example.com/v1", "Widget") == ""


@pytest.mark.parametrize("version", [None, "1.0", "1.2"])
def test_a_variant_of_a_type_of_kubernetes(
    widgets: Callable[[str | None], OperatorShapes], version: str | None
) -> None:
    """It has the fields and the bounds of that type, but for its own; some releases leave fields out."""
    pods = widgets(version).of("Widget.pods")
    fields = pods.fields
    assert fields is not None
    assert (pods.name, pods.is_foreign, fields["image"].types) == ("Container", False, ("integer",))
    assert fields["imagePullPolicy"].bound == ("Always", "IfNotPresent", "Never")
    args = {None: ("array",), "1.0": None, "1.2": ("string",)}
    assert (fields["args"].types if "args" in fields else None) == args[version]
    assert (widgets(version).of("Widget").is_foreign, widgets(version).of("Gadget").is_foreign) == (True, True)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.0", "Kubernetes has it from 1.34 on; widgets 1.0 takes the pods of 1.25."),
        ("1.1", "Kubernetes has it from 1.34 on; widgets 1.1 takes the pods of 1.33."),
        ("1.2", ""),
        (None, ""),
    ],
)
def test_pods_are_those_of_the_older_of_operator_and_cluster(
    widgets: Callable[[str | None], OperatorShapes], version: str | None, said: str
) -> None:
    pods = widgets(version).of("core.v1.PodSpec")
    is_there = "hostnameOverride" in (pods.fields or ())
    assert ("" if is_there else pods.elsewhere("hostnameOverride")) == said


def test_fields_of_another_release_of_kubernetes() -> None:
    shape = Shapes(33).of("core.v1.PodSpec")
    assert shape.elsewhere("hostnameOverride") == "Kubernetes has it from 1.34 on; this cluster has 1.33."
    assert shape.elsewhere("never") == ""


def test_shapes_of_lists_and_mappings() -> None:
    spec = Shapes(33).of("core.v1.PodSpec")
    assert spec.fields is not None
    containers, selector = spec.fields["containers"], spec.fields["nodeSelector"]
    assert (containers.types, containers.items and containers.items.name) == (("array",), "Container")
    assert (selector.types, selector.items and selector.items.types, selector.fields) == (
        ("object",),
        ("string",),
        None,
    )
    assert spec.fields["hostname"].items is None
    terms = Shapes(33).of("core.v1.PodAffinityTerm").fields
    assert terms is not None
    namespaces = terms["namespaces"]
    assert namespaces.items is not None
    assert namespaces.items.bound is spellings.label, "of a list, the bound is that of its items"
    assert Shapes(33).of("core.v1.Unknown").types == ()


@pytest.mark.parametrize(
    ("version", "kind", "name"),
    [
        ("v1", "Pod", "core.v1.Pod"),
        ("apps/v1", "Deployment", "apps.v1.Deployment"),
        ("networking.k8s.io/v1", "Ingress", "networking.v1.Ingress"),
    ],
)
def test_the_name_of_a_kind_among_types(version: str, kind: str, name: str) -> None:
    assert kubernetes.definition(version, kind) == name


@pytest.mark.parametrize(
    ("version", "release"), [("0.9", 0), ("1.0", 0), ("v1.0.9", 0), ("1.1.2", 1), ("1.2.0-rc.1", 2), ("2.0", 2)]
)
@pytest.mark.usefixtures("widgets")
def test_the_nearest_release_of_an_operator(version: str, release: int) -> None:
    assert kubernetes.nearest_of("widgets", version) == release
    is_known = version not in ("0.9", "2.0")
    assert kubernetes.is_of(version, ["1.0", "1.1", "1.2"][release]) is is_known
