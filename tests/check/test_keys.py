"""Keys of labels and annotations that others read, word by word."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

PODS = "restartPolicy: Never, containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"


KEY_HINT = "Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'."


def job(own: str = "", labels: str = "", pods: str = "", spec: str = "") -> str:
    """A Job with these annotations, labels (both in line 3), annotations of its pods and fields of these in line 4."""
    metadata = f"{{name: a, labels: {{kubectl-tas/pool: team{labels}}}, annotations: {{{own}}}}}"
    template = f"{{metadata: {{annotations: {{{pods}}}}}, spec: {{{PODS}{spec}}}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {{template: {template}}}\n"


def spark(fields: str) -> str:
    metadata = "{name: a, labels: {kubectl-tas/pool: team}}"
    spec = f"type: Python, sparkVersion: 3.5.3, mainApplicationFile: 'local:///a.py', {fields}"
    head = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
    return f"{head}metadata: {metadata}\nspec: {{{spec}, driver: {{cores: 1}}, executor: {{instances: 2}}}}\n"


ROWS = {
    "what KAI writes, as an annotation": (job(own="kai.scheduler/numa-placement-observed: x"), []),
    "what KAI writes, as a label": (job(labels=", kai.scheduler/numa-placement-observed: x"), []),
    "the queue of Kueue as a label": (
        job(labels=", kueue.x-k8s.io/queue-name: q"),
        [
            "w.yaml:3:54 other-queue: Kueue holds this workload until a queue of Kueue has room, in addition to the "
            "quota of its pool (Remove the label kueue.x-k8s.io/queue-name.)"
        ],
    ),
    "a domain in capital letters, as an annotation": (
        job(own="Example.COM/owner: me", pods="Example.COM/owner: me"),
        [],
    ),
    "a domain in capital letters, as a label": (
        job(labels=", Example.COM/owner: me"),
        [
            "w.yaml:3:54 invalid-value: a key in metadata.labels must be a label such as topology.kubernetes.io/zone, "
            f'not "Example.COM/owner" ({KEY_HINT})'
        ],
    ),
    "a domain that no name has": (
        job(own="Exa_mple.com/owner: me"),
        [
            "w.yaml:3:69 invalid-value: a key in metadata.annotations must be a name such as example.com/note, not "
            f'"Exa_mple.com/owner" ({KEY_HINT})'
        ],
    ),
    "a key of KAI in capital letters": (
        job(own="KAI.scheduler/topology: x"),
        [
            'w.yaml:3:69 key-unknown: nothing reads the key "KAI.scheduler/topology" (Did you mean '
            '"kai.scheduler/topology"?)'
        ],
    ),
    "the queue of Kueue as an annotation": (job(own="kueue.x-k8s.io/queue-name: q"), []),
    "a level of Kueue as an annotation": (
        job(pods="kueue.x-k8s.io/podset-required-topology: rack"),
        [
            "w.yaml:4:44 other-queue: KAI ignores kueue.x-k8s.io/podset-required-topology, which is Kueue's: "
            "these pods run anywhere (Write kai.scheduler/topology-required-placement among the annotations of "
            "the workload instead.)"
        ],
    ),
    "a level of Kueue as a label": (job(labels=", kueue.x-k8s.io/podset-required-topology: rack"), []),
    "a hook": (
        job(own="argocd.argoproj.io/hook: Sync"),
        [
            "w.yaml:3:69 sync-bypass: argocd.argoproj.io/hook: Sync takes the object out of the sync: Argo CD "
            "runs it at each sync, and neither compares nor prunes it (Remove it, or let spec.rules of the "
            "Config allow it.)"
        ],
    ),
    "a hook among the annotations of pods": (job(pods="argocd.argoproj.io/hook: Sync"), []),
    "a node": (
        job(spec=", nodeName: n"),
        [
            'w.yaml:4:154 quota-bypass: nodeName is "n": no scheduler sees the pod, and no quota holds for it '
            "(Remove it; nodeSelector and affinity choose nodes too.)"
        ],
    ),
    "no node": (job(spec=', nodeName: ""'), []),
    "settings of Spark": (
        spark("sparkConf: {spark.executor.instances: '9'}"),
        [
            "w.yaml:4:93 quota-bypass: spark.executor.instances: it changes pods, or their number, after "
            "validate has judged them (Remove it, and write what it is for in the object itself.)"
        ],
    ),
    "harmless settings of Spark": (spark("sparkConf: {spark.eventLog.enabled: 'true'}"), []),
    "settings of Spark that are no mapping": (
        spark("sparkConf: spark.executor.instances=9"),
        [
            (
                "w.yaml:4:81 quota-bypass: sparkConf: it changes pods, or their number, after validate has judged "
                "them (Remove it, and write what it is for in the object itself.)"
            ),
            (
                'w.yaml:4:92 wrong-type: spec.sparkConf must be a mapping, not "spark.executor.instances=9" (Write a '
                "mapping: 'key: value' lines.)"
            ),
        ],
    ),
    "settings of Spark that are a list": (
        spark("sparkConf: [spark.executor.instances=9]"),
        [
            (
                "w.yaml:4:81 quota-bypass: sparkConf: it changes pods, or their number, after validate has judged "
                "them (Remove it, and write what it is for in the object itself.)"
            ),
            (
                "w.yaml:4:92 wrong-type: spec.sparkConf must be a mapping, not a list (Write a mapping: 'key: value' "
                "lines.)"
            ),
        ],
    ),
    "executors of any number": (
        spark("dynamicAllocation: {enabled: true}"),
        [
            "w.yaml:4:81 quota-bypass: dynamicAllocation: without maxExecutors Spark makes any number of "
            "executors (Remove it, and write what it is for in the object itself.)"
        ],
    ),
    "no executors of any number": (spark("dynamicAllocation: {}"), []),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_keys(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected
