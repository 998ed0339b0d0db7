"""Tests advice that was wrong once: each help, followed to the letter, mends the finding and brings nothing new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kubectl-tas/pool: team}}}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: "a:1", {gpus}}}]}}}}}}
"""
GPUS = "resources: {{limits: {{nvidia.com/gpu: {}}}}}"


def job(name: str = "j", gpus: int = 1) -> str:
    return JOB.format(name=name, gpus=GPUS.format(gpus))


def config(spec: str) -> str:
    return CONFIG.replace("{}", f"{{{spec}}}")


COMPANION = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {kubectl-tas/pool: team}}\n"
POD_GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: hand, namespace: train}
spec: {queue: osmo-pool-ml-team, minMember: 2, priorityClassName: osmo-normal}
"""
TWO = config("backends: [{name: a, namespace: ml}, {name: b, namespace: ops}]")
CASES: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "a forgotten separator": (
        {"workflows/j.yaml": COMPANION + job()},
        "A second document begins here: write --- on the line before.",
        {"workflows/j.yaml": f"{COMPANION}---\n{job()}"},
    ),
    "a number in quotes below a union": (
        {"subpools/a.yaml": subpool("a", 4) + '  maximum: {gpu: "6"}\n'},
        'spec.maximum.gpu must be a whole number, not "6"',
        {"subpools/a.yaml": subpool("a", 4) + "  maximum: {gpu: 6}\n"},
    ),
    "a default platform without platforms": (
        {"pools/team.yaml": pool(spec="  default_platform: x\n")},
        "Remove it, or declare it in spec.platforms of the pool.",
        {"pools/team.yaml": pool()},
    ),
    "a PodGroup in the queue above": (
        {
            "tas.yaml": TWO,
            "pools/team.yaml": pool(spec="  backend: a\n  namespaces: [train]\n"),
            "workflows/p.yaml": POD_GROUP,
        },
        "Use osmo-pool-ml-team--shared.",
        {"workflows/p.yaml": POD_GROUP.replace("-team,", "-team--shared,")},
    ),
    "a quota beside the pool's own work": (
        {"pools/team.yaml": pool(guarantee=64), "subpools/a.yaml": subpool("a", 70), "workflows/j.yaml": job(gpus=32)},
        "Lower this quota to 32 or less, or raise the guarantee of pool team to 102.",
        {"subpools/a.yaml": subpool("a", 32)},
    ),
    "the guarantee beside the pool's own work": (
        {"pools/team.yaml": pool(guarantee=64), "subpools/a.yaml": subpool("a", 70), "workflows/j.yaml": job(gpus=32)},
        "or raise the guarantee of pool team to 102.",
        {"pools/team.yaml": pool(guarantee=102)},
    ),
    "given for a namespace without work": (
        {"tas.yaml": config("given: [{kind: Secret, names: [x], namespace: defualt}]")},
        'Did you mean "default"?',
        {"tas.yaml": config("given: [{kind: Secret, names: [x], namespace: default}]")},
    ),
    "the plural of a companion": (
        {"tas.yaml": config("companions: [{apiVersion: monitoring.coreos.com/v1, kind: PodMonitors}]")},
        'Did you mean "PodMonitor"?',
        {"tas.yaml": config("companions: [{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor}]")},
    ),
    "an emptied file": ({"subpools/a.yaml": ""}, "Restore its documents", {"subpools/a.yaml": subpool("a", 4)}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_help_helps(tmp_path: Path, case: str) -> None:
    wrong, help_, right = CASES[case]
    root = write(tmp_path, {"pools/team.yaml": pool(), **wrong})
    result = kubectl_tas("validate", "--strict", "-C", root)
    assert result.code == 1, result.out
    assert help_ in result.out, result.out
    write(root, right)
    mended = kubectl_tas("validate", "--strict", "-C", root)
    assert mended.code == 0, mended.out


def test_the_default_written_out_is_no_finding(tmp_path: Path) -> None:
    spec = "adminSources: [pools, subpools, topologies, platforms]"
    root = write(tmp_path, {"pools/team.yaml": pool(), "tas.yaml": config(spec)})
    assert kubectl_tas("validate", "--strict", "-C", root).code == 0
    write(root, {"tas.yaml": config("adminSources: [pools, platfroms]")})
    assert "platfroms" in kubectl_tas("validate", "--strict", "-C", root).out


def test_words_of_other_tools(tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool()})
    assert "Did you mean --quota?" in kubectl_tas("subpool", "create", "team", "x", "--gpu", "4", "-C", root).err
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {kubectl-tas/pool: team}}\ndata: {}\n"
    write(root, {"workflows/s.yaml": secret})
    assert "everybody who reads the repository could read it" in kubectl_tas("validate", "-C", root).out
    write(root, {"workflows/s.yaml": job("'{{ .Release.Name }}-job'")})
    out = kubectl_tas("validate", "-C", root).out
    assert "helm template" in out, out
    assert "release-name-job" not in out


def test_a_restored_subpool_keeps_other_edits_of_its_file(repository: Path) -> None:
    both = subpool("a", 4) + "---\n" + subpool("b", 4)
    write(repository, {"pools/team.yaml": pool(), "subpools/two.yaml": both})
    commit(repository)
    write(repository, {"subpools/two.yaml": subpool("b", 5)})
    out = kubectl_tas("validate", "--base", "HEAD", "-C", repository).out
    assert "its text is in git show HEAD:./subpools/two.yaml" in out, out
    (repository / "subpools/two.yaml").unlink()
    assert "git checkout HEAD -- subpools/two.yaml" in kubectl_tas("validate", "--base", "HEAD", "-C", repository).out


def test_an_empty_revision_is_named(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool()})
    commit(repository)
    err = kubectl_tas("validate", "--base", "", "-C", repository).err
    assert "the revision is empty" in err, err
