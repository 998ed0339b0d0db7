"""Tests each branch of Grove's webhook for PodCliqueSets with a slip: a set with one value that the webhook refuses.

Source: validate and its functions in operator/internal/webhook/admission/pcs/validation/podcliqueset.go, after
defaulting/podcliqueset.go, of 0.1.0-alpha.1 to alpha.12.
"""

from __future__ import annotations

from typing import Any

import pytest
from yaml import safe_dump, safe_load

from tests.support.judged import told_of

SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  template:
    resourceClaimTemplates:
    - {name: t, templateSpec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
    cliques:
    - {name: a, spec: {roleName: a, replicas: 2, minAvailable: 1, podSpec: {containers: [{name: m, image: "x:1"}]}}}
    - {name: b, spec: {roleName: b, replicas: 2, minAvailable: 1, podSpec: {containers: [{name: m, image: "x:1"}]}}}
    - {name: d, spec: {roleName: d, replicas: 3, minAvailable: 2, podSpec: {containers: [{name: m, image: "x:1"}]}}}
    podCliqueScalingGroups:
    - {name: g, cliqueNames: [a, b], replicas: 3, minAvailable: 2}
"""
TEMPLATE, A, B, D, G = (
    "spec.template",
    *(f"spec.template.cliques.{index}" for index in range(3)),
    ("spec.template.podCliqueScalingGroups.0"),
)
EXPLICIT = (f"{TEMPLATE}.cliqueStartupType", "CliqueStartupTypeExplicit")
SCALED = f"{D}.spec.autoScalingConfig"
PACKS = f"{TEMPLATE}.schedulingPolicyConfig"
SHARED = {"name": "t", "scope": "PerReplica"}
Edit = tuple[str, Any]

SLIPS: dict[str, list[Edit]] = {
    "validatePodCliqueSetSpec: replicas": [("spec.replicas", -1)],
    "validatePodCliqueSetTemplateSpec: cliqueStartupType": [(f"{TEMPLATE}.cliqueStartupType", "InOrder")],
    "validateResourceClaimTemplates: name": [(f"{TEMPLATE}.resourceClaimTemplates.0.name", "")],
    "validateResourceClaimTemplates: requests": [
        (f"{TEMPLATE}.resourceClaimTemplates.0.templateSpec.spec.devices", {"requests": []})
    ],
    "validateResourceClaimTemplates: unique": [
        (
            f"{TEMPLATE}.resourceClaimTemplates.1",
            {"name": "t", "templateSpec": {"spec": {"devices": {"requests": [{"name": "gpu"}]}}}},
        )
    ],
    "validateResourceSharingSpecs: name": [(f"{TEMPLATE}.resourceSharing", [{**SHARED, "name": ""}])],
    "validateResourceSharingSpecs: unique": [(f"{TEMPLATE}.resourceSharing", [SHARED, SHARED])],
    "validateResourceSharingSpecs: namespace": [(f"{TEMPLATE}.resourceSharing", [{**SHARED, "namespace": "ml"}])],
    "validateResourceSharingSpecs: scope": [(f"{TEMPLATE}.resourceSharing", [{**SHARED, "scope": "Each"}])],
    "validateResourceSharingSpecs: of a clique": [(f"{D}.resourceSharing", [SHARED, SHARED])],
    "validateResourceSharingSpecs: of a group": [(f"{G}.resourceSharing", [{**SHARED, "namespace": "ml"}])],
    "validatePCSResourceSharing: filter": [(f"{TEMPLATE}.resourceSharing", [{**SHARED, "filter": {}}])],
    "validatePCSResourceSharing: childCliqueNames": [
        (f"{TEMPLATE}.resourceSharing", [{**SHARED, "filter": {"childCliqueNames": ["c"]}}])
    ],
    "validatePCSResourceSharing: childScalingGroupNames": [
        (f"{TEMPLATE}.resourceSharing", [{**SHARED, "filter": {"childScalingGroupNames": ["h"]}}])
    ],
    "validatePCSGResourceSharing: filter": [(f"{G}.resourceSharing", [{**SHARED, "filter": {}}])],
    "validatePCSGResourceSharing: childCliqueNames": [
        (f"{G}.resourceSharing", [{**SHARED, "filter": {"childCliqueNames": ["d"]}}])
    ],
    "validatePodCliqueTemplates: none": [(f"{TEMPLATE}.cliques", []), (f"{TEMPLATE}.podCliqueScalingGroups", [])],
    "validatePodCliqueTemplates: unique name": [(f"{D}.name", "a")],
    "validatePodCliqueTemplates: unique roleName": [(f"{D}.spec.roleName", "a")],
    "validateSchedulerNames: one": [(f"{D}.spec.podSpec.schedulerName", "default-scheduler")],
    "validatePodCliqueTemplateSpec: name": [(f"{D}.name", "")],
    "validatePodCliqueTemplateSpec: labels": [(f"{D}.labels", {"a b": "c"})],
    "validatePodCliqueTemplateSpec: annotations": [(f"{D}.annotations", {"a b": "c"})],
    "validatePodCliqueNameConstraints: subdomain": [(f"{D}.name", "D_")],
    "validateStandalonePodClique: length": [(f"{D}.name", "d" * 45)],
    "validateScalingGroupPodCliqueNames: length": [(f"{G}.name", "g" * 45)],
    "validateScalingGroupPodCliqueNames: unknown": [(f"{G}.cliqueNames", ["a", "c"])],
    "validatePodCliqueScalingGroupConfigs: subdomain": [(f"{G}.name", "G_")],
    "validatePodCliqueScalingGroupConfigs: replicas": [(f"{G}.replicas", 0)],
    "validatePodCliqueScalingGroupConfigs: minAvailable": [(f"{G}.minAvailable", 0)],
    "validatePodCliqueScalingGroupConfigs: minAvailable above replicas": [(f"{G}.minAvailable", 4)],
    "validatePodCliqueScalingGroupConfigs: minReplicas": [(f"{G}.scaleConfig", {"minReplicas": 1, "maxReplicas": 4})],
    "validatePodCliqueScalingGroupConfigs: unique name": [
        (f"{TEMPLATE}.podCliqueScalingGroups.1", {"name": "g", "cliqueNames": ["d"]})
    ],
    "validatePodCliqueScalingGroupConfigs: a clique of two groups": [
        (f"{TEMPLATE}.podCliqueScalingGroups.1", {"name": "h", "cliqueNames": ["a"]})
    ],
    "validatePodCliqueScalingGroupConfigs: autoScalingConfig": [
        (f"{A}.spec.autoScalingConfig", {"minReplicas": 2, "maxReplicas": 3})
    ],
    "validateTerminationDelay: 0": [(f"{TEMPLATE}.terminationDelay", "0s")],
    "validateTerminationDelay: negative": [(f"{TEMPLATE}.terminationDelay", "-5m")],
    "validatePodCliqueSpec: replicas": [(f"{D}.spec.replicas", -1)],
    "validatePodCliqueSpec: minAvailable": [(f"{D}.spec.minAvailable", 0)],
    "validatePodCliqueSpec: minAvailable above replicas": [(f"{D}.spec.minAvailable", 4)],
    "validatePodCliqueSpec: an empty dependency": [EXPLICIT, (f"{D}.spec.startsAfter", [""])],
    "validatePodCliqueSpec: itself": [EXPLICIT, (f"{D}.spec.startsAfter", ["d"])],
    "validatePodCliqueSpec: unique": [EXPLICIT, (f"{D}.spec.startsAfter", ["a", "a"])],
    "validatePodCliqueSpec: maxReplicas": [(SCALED, {"minReplicas": 2, "maxReplicas": 2})],
    "validateCliqueDependencies: unknown": [EXPLICIT, (f"{D}.spec.startsAfter", ["c"])],
    "validateCliqueDependencies: a circle of two": [
        EXPLICIT,
        (f"{A}.spec.startsAfter", ["b"]),
        (f"{B}.spec.startsAfter", ["a"]),
    ],
    "validateCliqueDependencies: a circle of three": [
        EXPLICIT,
        (f"{A}.spec.startsAfter", ["b"]),
        (f"{B}.spec.startsAfter", ["d"]),
        (f"{D}.spec.startsAfter", ["a"]),
    ],
    "validateScaleConfig: minReplicas": [(SCALED, {"minReplicas": 1, "maxReplicas": 4})],
    "validateScaleConfig: maxReplicas": [(SCALED, {"minReplicas": 5, "maxReplicas": 4})],
    "validateScaleConfig: minReplicas by default": [(SCALED, {"maxReplicas": 2})],
    "validateScaleConfig: minAvailable by default": [
        (f"{D}.spec.minAvailable", None),
        (SCALED, {"minReplicas": 2, "maxReplicas": 4}),
    ],
    "validatePodSpec: topologySpreadConstraints": [
        (
            f"{D}.spec.podSpec.topologySpreadConstraints",
            [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        )
    ],
    "validatePodSpec: no topologySpreadConstraints": [(f"{D}.spec.podSpec.topologySpreadConstraints", [])],
    "validatePodSpec: nodeName": [(f"{D}.spec.podSpec.nodeName", "node-1")],
    "validateNetworkPackGroupConfigs: twice": [
        (PACKS, {"networkPackGroupConfigs": [{"cliqueNames": ["d"]}, {"cliqueNames": ["d"]}]})
    ],
    "validateNetworkPackGroupConfigs: a part of a group": [
        (PACKS, {"networkPackGroupConfigs": [{"cliqueNames": ["a", "d"]}]})
    ],
    "validateContainerEnvVars: name": [(f"{D}.spec.podSpec.containers.0.env", [{"name": "1=", "value": "1"}])],
    "validateContainerEnvVars: unique": [
        (f"{D}.spec.podSpec.containers.0.env", [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}])
    ],
    "validateContainerEnvVars: of an init container": [
        (
            f"{D}.spec.podSpec.initContainers",
            [{"name": "i", "image": "x:1", "env": [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]}],
        )
    ],
}
LATER: list[Edit] = [(f"{D}.spec.podSpec.nodeSelector", {"a": "b"})]
"""What only the first release refuses."""
TAKEN: dict[str, list[Edit]] = {
    "the set itself": [],
    "a scaled clique": [(SCALED, {"minReplicas": 2, "maxReplicas": 3})],
    "a scaled clique whose least number is its replicas": [(SCALED, {"maxReplicas": 3})],
    "a scaled group": [(f"{G}.scaleConfig", {"minReplicas": 2, "maxReplicas": 4})],
    "a delay": [(f"{TEMPLATE}.terminationDelay", "90s")],
    "an order": [EXPLICIT, (f"{B}.spec.startsAfter", ["a"]), (f"{D}.spec.startsAfter", ["a", "b"])],
    "a shared claim": [(f"{TEMPLATE}.resourceSharing", [{**SHARED, "filter": {"childCliqueNames": ["d"]}}])],
    "a shared claim of another namespace": [
        (f"{TEMPLATE}.resourceSharing", [{"name": "u", "namespace": "ml", "scope": "AllReplicas"}])
    ],
    "a node selector": [(f"{D}.spec.podSpec.nodeSelector", {"a": "b"})],
}


def edited(edits: list[Edit]) -> str:
    document = safe_load(SET)
    for path, value in edits:
        steps = [int(step) if step.isdigit() else step for step in path.split(".")]
        place = document
        for step in steps[:-1]:
            place = place[step]
        if isinstance(place, list) and steps[-1] == len(place):
            place.append(value)
        else:
            place[steps[-1]] = value
    return safe_dump(document, sort_keys=False)


def errors(edits: list[Edit], version: str = "0.1.0-alpha.11") -> list[str]:
    told = told_of(edited(edits), backends=f'[{{name: b, grove: {{version: "{version}"}}}}]')
    return [line for line in told if " gpus-unknown:" not in line]


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_of_each_branch_is_refused(name: str) -> None:
    assert [line for line in errors(SLIPS[name]) if " set-field:" not in line]


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_webhook_takes_is_not_refused(name: str) -> None:
    assert errors(TAKEN[name]) == []


def test_a_circle_is_told_once_whatever_leads_out_of_it() -> None:
    edits = [EXPLICIT, (f"{B}.spec.startsAfter", ["d", "a"]), (f"{D}.spec.startsAfter", ["b"])]
    assert [line for line in errors(edits) if "circle" in line] == [
        "w.yaml:38:9 operator-refuses: cliques start after each other in a circle: b, d (Take one name out, so that "
        "one of them starts first.)"
    ]


@pytest.mark.parametrize("version", ["0.1.0-alpha.1", "0.1.0-alpha.2"])
def test_the_first_release_takes_no_node_selector(version: str) -> None:
    refused = [line for line in errors(LATER, version) if "nodeSelector" in line]
    assert bool(refused) == (version == "0.1.0-alpha.1")
