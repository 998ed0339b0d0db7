"""Tests what Flux makes of manifests: its post-build substitution leaves them unchanged, and accounts come first."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.flux import substituted
from tests.support.golden import GOLDEN, case_input
from tests.support.pyyaml import safe_load_all

VARIABLES = {"HOSTNAME": "changed", "RUN": "changed"}
CASES = ("layout-sharded", "node-pools", "two-clusters")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("variables", [VARIABLES, {}])
def test_nothing_is_substituted(case: str, variables: dict[str, str]) -> None:
    root = case_input(GOLDEN / "manifests" / case)
    arguments = ["--backend", "nvl72"] if case == "two-clusters" else []
    items = list(safe_load_all(kubectl_tas("render", "-C", root, "--to", "-", *arguments).out))
    assert items
    assert [substituted(item, variables) for item in items] == items


def test_without_the_annotation_it_would_be() -> None:
    root = case_input(GOLDEN / "manifests/layout-sharded")
    changed = set()
    for item in safe_load_all(kubectl_tas("render", "-C", root, "--to", "-").out):
        bare = copy.deepcopy(item)
        del bare["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/substitute"]
        if substituted(bare, VARIABLES) != bare:
            changed.add(item["kind"])
    assert changed == {"Pod", "Job"}


ACCOUNT = """\
apiVersion: v1
kind: Pod
metadata: {name: notebook, labels: {kubectl-tas/pool: team}}
spec:
  serviceAccountName: notebook
  containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: notebook, labels: {kubectl-tas/pool: team}}
"""


@pytest.mark.parametrize(("gitops", "folder"), [("flux", "platform"), ("argocd", "pools/team")])
def test_an_account_comes_before_the_folder_of_its_pod(gitops: str, folder: str, tmp_path: Path) -> None:
    """Flux applies nothing of a folder with a pod that is refused in a dry run."""
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{layout: sharded, gitops: {gitops}}}\n"
    files = {"tas.yaml": config, "pools/team.yaml": pool(), "workflows/notebook.yaml": ACCOUNT}
    assert kubectl_tas("render", "-C", write(tmp_path, files)).code == 0
    (account,) = tmp_path.rglob("serviceaccount-*.yaml")
    (pod,) = tmp_path.rglob("pod-*.yaml")
    assert account.relative_to(tmp_path / "manifests").as_posix().startswith(f"{folder}/")
    assert pod.relative_to(tmp_path / "manifests").as_posix().startswith("pools/team/")
