"""Finds parts that an addition lacks although CONTRIBUTING asks for them, and describes each in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.kinds import LISTED, kubernetes
from kubectl_tas.kinds.page import UNPACKED
from tools.goldens import ROOT, read


def unfinished() -> Iterator[str]:
    """Yields what is missing for kinds of workloads, and golden cases of rules without output."""
    known = kubernetes.read_packed("kubernetes")["types"]
    for listed in LISTED:
        recognition = listed.page.recognition
        lacks = f"the kind {listed.name} has no"
        for version in recognition.versions if recognition.operator != UNPACKED else ():
            is_known = kubernetes.definition(version, listed.kind) in known
            if not is_known and not kubernetes.operator_of(version, listed.kind):
                yield f"{lacks} fields of {version}: pack them with tools/packfields.py."
        example = f"golden/documents/{(recognition.schema or recognition.kind).lower()}.yaml"
        if not (ROOT / example).is_file():
            yield f"{lacks} document {example}."
    for about in sorted((ROOT / "golden/rules").glob("*/*/about.txt")):
        if not read(about.parent).is_silent and not (about.parent / "output.txt").is_file():
            case = about.parent.relative_to(ROOT).as_posix()
            yield f"{case} has no output.txt; run: pytest tests/test_rules.py --snapshot-update"
