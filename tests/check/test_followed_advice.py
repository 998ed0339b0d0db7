"""Tests that each help of the golden cases of rules, followed to the letter, mends its finding and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.advice import mended
from tools.goldens import GOLDEN, Case, read

LEAST = 200
"""The fewest helps that can be followed mechanically."""
UNCOVERS = "the document can be read then, and has another mistake on purpose"
NAMED_ELSEWHERE = "the name stands elsewhere too, and both are to be changed"
EXCEPTIONS = {
    "invalid-value/above-maximum subpools/speech.yaml:7": UNCOVERS,
    "invalid-value/misspelled-word workflows/pretrain.yaml:14": UNCOVERS,
    "invalid-value/word-in-wrong-case subpools/state.yaml:8": UNCOVERS,
    "unknown-kind/item-of-a-list workflows/all.json:9": UNCOVERS,
    "unknown-kind/kinds-of-other-schedulers workflows/other.yaml:25": UNCOVERS,
    "key-unknown/fires workflows/sweep.yaml:8": UNCOVERS,
    "key-unknown/fires workflows/sweep.yaml:11": UNCOVERS,
    "name-folded/replica-types workflows/replica-types.yaml:16": "the file shows two spellings of one key",
    "unknown-field/in-a-job workflows/sweep.yaml:11": "the file shows two spellings of one key",
    "name-invalid/in-a-workflow workflows/pretrain.yaml:11": NAMED_ELSEWHERE,
    "name-invalid/pool-and-subpool pools/research.yaml:4": NAMED_ELSEWHERE,
    "subgroup-name/fires workflows/disaggregated.yaml:8": NAMED_ELSEWHERE,
    "subgroup-name/fires workflows/disaggregated.yaml:10": NAMED_ELSEWHERE,
    "subgroup-name/fires workflows/disaggregated.yaml:13": NAMED_ELSEWHERE,
    "namespace-widened/fires subpools/ci.yaml:7": "the subpool names that namespace already, so the entry goes",
    "operator-refuses/raycronjob workflows/nightly.yaml:17": "the place is that of the group, not of the number",
    "operator-refuses/jobset workflows/steps.yaml:22": "the two replicated jobs then wait for each other",
    "reference-unknown/of-a-claim workflows/train.yaml:16": "the claim that is named then lacks its own domain",
    "replicas-refused/jobset workflows/pipeline.yaml:60": "the place is that of the number in quotes",
    "topology-key-unknown/fires workflows/rack.yaml:14": "the help lists two keys, and the first is used already",
    "waiver-unused/fires workflows/train.yaml:5": "the rule that is meant does not fire there either",
}
"""Helps that do not mend their golden case alone, each with the reason."""


def cases() -> Iterator[Case]:
    for about in sorted((GOLDEN / "rules").rglob("about.txt")):
        case = read(about.parent)
        if not case.is_silent and not case.files("base") and (about.parent / "output.txt").is_file():
            yield case


@pytest.mark.sweep
def test_every_help_that_can_be_followed_helps() -> None:
    count, wrong = 0, dict[str, str]()
    for case in cases():
        for finding, _, new, is_gone in mended(case):
            place = finding.location
            assert place is not None
            count += 1
            if new or not is_gone:
                folder = case.folder.relative_to(GOLDEN / "rules").as_posix()
                wrong[f"{folder} {place.path}:{place.line}"] = f"{finding.hint} -> {dict(new) or 'it stays'}"
    assert wrong.keys() - EXCEPTIONS.keys() == set(), wrong
    assert EXCEPTIONS.keys() - wrong.keys() == set()
    assert count >= LEAST
