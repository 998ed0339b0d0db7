"""Describes the SparkApplication. Sources: spark-operator 2.3, ``SparkPodSpec``; Spark 3.5; KAI's spark_grouper.go."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.late import late_pattern
from kubectl_tas.facts import quantities
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming
from kubectl_tas.kinds.section import Refused, Section

OPERATOR = "spark-operator"
_BYTES = late_pattern(r"\s*[0-9]+([kmgtp]?b?)?\s*")
"""A size as Spark reads it, in lower case (``byteStringAs`` of JavaUtils.java)."""
_BINARY = late_pattern(r"([0-9]+)([kmgtp])i?b?")


def _application(spec: Section) -> Iterator[Refused]:
    """Checks that spark-submit gets a program. The operator passes mainApplicationFile to it, and it ends without one
    (submission.go of spark-operator 2.5, and ``validateSubmitArguments`` of Spark's SparkSubmitArguments.scala, read).
    """
    language = spec.get("type")
    if language in ("Python", "R") and not spec.get("mainApplicationFile"):
        message = f"{spec.at()} has no mainApplicationFile, the {language} program that Spark is to run"
        if main := spec.get("mainClass"):
            path, hint = (*spec.path, "mainClass"), f"Write mainApplicationFile instead, such as local:///opt/{main}."
            yield Refused(path, message, hint, is_key=True)
        elif not spec.is_slip(("mainApplicationFile",)):
            hint = "Add mainApplicationFile, such as local:///opt/main.py."
            yield Refused(spec.path, message, hint, is_key=True)


def _pod(pod: Section) -> Iterator[Refused]:
    """Checks the sizes of a driver or of executors, which the operator passes on as they are (submission.go of
    spark-operator 2.5, read). Spark reads 8g, and no 8Gi (``byteStringAs`` of JavaUtils.java, read). It makes a request
    of coreRequest or cores, and a limit of coreLimit (BasicDriverFeatureStep, BasicExecutorFeatureStep of Spark 3.5).
    """
    for name in ("memory", "memoryOverhead"):
        size = pod.get(name)
        if isinstance(size, str) and size and not _BYTES.fullmatch(size.lower()):
            meant = _BINARY.fullmatch(size.lower())
            hint = f"Write {meant[1]}{meant[2]}." if meant else "Write a whole number with a unit, such as 512m or 8g."
            yield pod.refused(f'Spark cannot read the size "{size}" of {pod.at(name)}', hint, name)
    requested_by = "coreRequest" if pod.get("coreRequest") else "cores"
    requested, limit = pod.get(requested_by, 1), pod.get("coreLimit")
    request, most = quantities.parse(requested), quantities.parse(limit)
    if request is not None and most is not None and most < request:
        message = f"{pod.at('coreLimit')} is {limit}, less than {requested_by}, {requested}: no server takes the pods"
        yield pod.refused(message, f"Write {requested} or more, or lower {requested_by}.", "coreLimit")


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
    stop=page.Stop(suspended_by=("spec.suspend",)),
    changes=(page.restarted("the Spark operator", "spec"),),
    ends=page.Ends(),
    growth=page.Growth(),
    makes=page.Makes(pods_of=("Pod", "{}-driver")),  # Spark's driver makes the executors
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, REFUSED, since="2.4"),)),
    refusals=page.Refusals((("spec", _application), ("spec.driver", _pod), ("spec.executor", _pod))),
)
