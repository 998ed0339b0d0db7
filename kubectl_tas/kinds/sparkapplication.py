"""Describes the SparkApplication. Sources: spark-operator 2.3, ``SparkPodSpec``; Spark 3.5; KAI's spark_grouper.go."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming

OPERATOR = "spark-operator"
PAGE = page.WorkloadKind(
    recognition=page.Recognition("SparkApplication", ("sparkoperator.k8s.io/v1beta2",), OPERATOR),
    fields=(),
    pods=(
        page.Pods("spec.driver", is_optional=True, form="podforms:SparkPod"),
        page.Pods(
            "spec.executor",
            "spec.executor.instances",
            # Spark starts with initialExecutors whatever the maximum is (ExecutorAllocationManager of Spark 3.5)
            most=" ".join(f"spec.dynamicAllocation.{name}Executors" for name in ("max", "min", "initial")),
            is_optional=True,
            form="podforms:SparkPod",
        ),
    ),
    pod_rules=page.PodRules(
        restart=(),  # pkg/common/spark.go, and Constants.scala of Spark 3.5
        added_volumes=(
            "hadoop-configmap-volume",
            "spark-configmap-volume",
            "spark-conf-volume-driver",
            "spark-local-dir-1",
        ),
    ),
    gang=Grouping(
        first_pod,
        named_by=("spark", "the digits of the ID that Spark gives the application"),
        placed_at=("spec", "driver", "annotations"),
        has_plugin=False,
        may_be_read=False,
        not_owned="the driver makes the executors once it runs",
    ),
    start=page.ALL_AT_ONCE,  # KAI waits for one pod, the driver
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=("spec.suspend",), deletes_itself=page.never_deleted),
    changes=(page.Fixed(page.Effect.RESTARTED, page.paths("spec"), "the Spark operator"),),
    growth=page.Growth(),
    makes=page.Makes(pods_of=("Pod", "{}-driver")),  # Spark's driver makes the executors
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, REFUSED, since="2.4"),)),
    refusals=page.Refusals(),
)
