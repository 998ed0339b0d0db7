"""Finds parts that an addition lacks although CONTRIBUTING asks for them, and describes each in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas import kubernetes
from kubectl_tas.check import work_names
from kubectl_tas.compare import immutable
from kubectl_tas.gangs import podgrouper
from kubectl_tas.model.kindlists import WORKLOADS as KINDS
from kubectl_tas.model.podkinds import PLAIN
from kubectl_tas.model.workload_kinds import WORKLOADS, kind_of
from tools.goldens import ROOT, read

CHANGED_FREELY = ("CronJob", "CronWorkflow")
"""Kinds whose fields may all change. They need no row in compare/immutable.py."""
UNPACKED = ("DynamoGraphDeployment",)
"""Kinds whose CRDs are not packed. Only their pods are checked."""


def unfinished() -> Iterator[str]:
    """Yields what is missing for kinds of workloads, and golden cases of rules without output."""
    known = kubernetes.read_packed("kubernetes")["types"]
    models = {kind_of(model) for model in WORKLOADS}
    for kind, (place, versions) in KINDS.items():
        lacks = f"the kind {kind} has no"
        if kind not in models:
            yield f"{lacks} model, which should be {place} below model/."
        for version in versions:
            if kubernetes.definition(version, kind) not in known and not kubernetes.operator_of(version, kind):
                yield f"{lacks} fields of {version}: pack them with tools/packfields.py."
        if kind not in work_names.TABLE:
            yield f"{lacks} row in TABLE of check/work_names.py, so names that are refused would pass."
        if kind not in podgrouper.TABLE:
            yield f"{lacks} row in TABLE of gangs/podgrouper.py, so nobody knows what KAI makes of it."
        of_groups = {(version.rpartition("/")[0], kind) for version in versions}
        if kind not in CHANGED_FREELY and of_groups - immutable.TABLE.keys():
            yield f"{lacks} row in TABLE of compare/immutable.py, so changes that are refused would pass."
        model = place.rpartition(":")[2].lower()
        if not (ROOT / f"golden/documents/{model}.yaml").is_file():
            yield f"{lacks} document golden/documents/{model}.yaml."
    for row in PLAIN:
        if row.name not in work_names.TABLE:
            yield f"{row.name} has no row in TABLE of check/work_names.py, so names that are refused would pass."
        for version in row.versions:
            is_known = kubernetes.definition(version, row.kind) in known or kubernetes.operator_of(version, row.kind)
            if not is_known and row.kind not in UNPACKED:
                yield f"{row.name} has no fields of {version}: pack them with tools/packfields.py."
        of_groups = {(version.rpartition("/")[0], row.kind) for version in row.versions}
        if row.kind not in CHANGED_FREELY and of_groups - immutable.TABLE.keys():
            yield f"{row.name} has no row in TABLE of compare/immutable.py, so changes that are refused would pass."
        if not (ROOT / f"golden/documents/{row.model_name.lower()}.yaml").is_file():
            yield f"{row.name} has no document golden/documents/{row.model_name.lower()}.yaml."
    for about in sorted((ROOT / "golden/rules").glob("*/*/about.txt")):
        if not read(about.parent).is_silent and not (about.parent / "output.txt").is_file():
            case = about.parent.relative_to(ROOT).as_posix()
            yield f"{case} has no output.txt; run: pytest tests/test_rules.py --snapshot-update"
