"""Tests the whole path of a change: from a repository that init writes, through commit hooks, review and CI, to the
objects that a GitOps tool applies.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.support.cli import Result, kubectl_tas, subpool, write
from tests.support.golden import ROOT
from tests.support.history import git
from tests.support.kustomize import kustomize
from tests.support.process import call
from tests.support.warm import script

FINDINGS = ("text", "json", "sarif", "github", "gitlab", "junit")
Objects = dict[tuple[str, ...], object]
"""Objects by kind, namespace and name."""


class Checkout:
    """A git repository of which the pools are a folder, and the program on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.top, self.pools = folder / "company", folder / "company/gpus"
        program = folder / "bin/kubectl-tas"
        write(folder, {"bin/kubectl-tas": f"#!/bin/sh\n{script()}\n"})
        program.chmod(stat.S_IRWXU)
        self.environment = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PRE_COMMIT_HOME": str(folder / "pre-commit"),
        }

    def tas(self, *arguments: str) -> Result:
        return kubectl_tas(*arguments, cwd=self.pools)

    def commit(self, message: str) -> Result:
        """Commits all that there is, where the hooks let it."""
        git(self.top, "add", "--all")
        identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false")
        return call("git", *identity, "commit", "--message", message, cwd=self.top, **self.environment)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.pools / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def applied(self, *command: str) -> Objects:
        """What kustomize builds of every folder below manifests/ that has a kustomization.yaml."""
        found: Objects = {}
        for path in sorted((self.pools / "manifests").rglob("kustomization.yaml")):
            done = call(*command, str(path.parent))
            assert done.code == 0, done.err
            built = by_name(done.out)
            assert not built.keys() & found.keys()
            found |= built
        return found


def by_name(stream: str) -> Objects:
    def named() -> Iterator[tuple[tuple[str, ...], object]]:
        for item in yaml.load_all(stream, yaml.CSafeLoader):
            if item is not None:
                about = item["metadata"]
                yield (item["kind"], about.get("namespace", ""), about["name"]), item

    return dict(named())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    write(made.top, {"README.md": "a company\n"})
    git(made.top, "init", "--quiet", "--initial-branch=main")
    return made


@pytest.mark.sweep
def test_from_init_to_what_is_applied(checkout: Checkout) -> None:
    # A repository, its hooks, and a first commit, which has the manifests too.
    made = kubectl_tas("init", str(checkout.pools), "--ci", "github", "--gitops", "argocd")
    assert made.code == 0, made.err
    installed = call(sys.executable, "-m", "pre_commit", "install", cwd=checkout.top, **checkout.environment)
    assert installed.code == 0, installed.err
    first = checkout.commit("pools")
    assert first.code == 1
    assert "Rendered 12 objects" in first.out + first.err
    assert checkout.commit("pools").code == 0
    assert checkout.tas("check").code == 0
    git(checkout.top, "switch", "--quiet", "--create", "change")

    # A slip does not get into a commit; every format says it, at the same place of the checkout.
    checkout.edit("subpools/team--research.yaml", "quota: 16", "quota: 160")
    refused = checkout.commit("too much")
    assert refused.code == 1
    assert "quota-exceeds-pool" in refused.out + refused.err
    said = {output: checkout.tas("validate", "--strict", "--base", "main", "-o", output) for output in FINDINGS}
    assert {result.code for result in said.values()} == {1}
    place = "gpus/subpools/team--research.yaml"
    (result,) = json.loads(said["sarif"].out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == place
    assert said["github"].out.startswith(f"::error file={place},line=8,")
    assert json.loads(said["gitlab"].out)[0]["location"] == {"path": place, "lines": {"begin": 8}}
    (failure,) = ElementTree.fromstring(said["junit"].out).iterfind(f".//testcase[@name='{place}']/failure")
    assert {"quota-exceeds-pool"} == {
        failure.get("type"),
        result["ruleId"],
        json.loads(said["json"].out)["diagnostics"][0]["rule"],
    }
    assert "[quota-exceeds-pool]" in said["text"].out

    # The change that was meant: more for research, a gang that restarts, a new subpool.
    checkout.edit("subpools/team--research.yaml", "quota: 160", "quota: 24")
    checkout.edit("workflows/train.yaml", "priority: NORMAL", "priority: LOW")
    write(checkout.pools, {"subpools/team--serving.yaml": subpool("serving", 8)})
    assert checkout.commit("more for research").code == 1  # the hook has rendered it
    assert checkout.commit("more for research").code == 0
    assert git(checkout.top, "log", "--format=%s").splitlines() == ["more for research", "pools"]
    assert git(checkout.top, "status", "--short") == ""

    # CI: clean in every format, and what the change means in all four.
    for command in (("validate", "--strict", "--base", "main"), ("check",)):
        for output in FINDINGS:
            clean = checkout.tas(*command, "-o", output)
            expected = "manifests/ is up to date: 14 files.\n" if (command[0], output) == ("check", "text") else ""
            assert (clean.code, clean.err) == (0, expected)
    pages = {output: checkout.tas("diff", "--base", "main", "-o", output) for output in ("text", "markdown", "html")}
    told = checkout.tas("diff", "--base", "main", "-o", "json")
    assert {told.code, *(page.code for page in pages.values())} == {1}
    meaning = json.loads(told.out)
    moves = {item["queue"]: item["change"] for item in meaning["queues"]}
    assert moves == {
        "osmo-pool-ml-team--shared": "changed",
        "osmo-pool-ml-team--research": "changed",
        "osmo-pool-ml-team--serving": "made",
    }
    assert [item["kind"] for item in meaning["restarts"]] == ["PodGroup"]
    for page in pages.values():
        assert "risk: high - 1 gang restarts, 1 queue loses quota" in page.out
    assert checkout.tas("diff", "--base", "HEAD").code == 0

    # What is applied is what was judged, in both layouts, and by either kustomize.
    stream = by_name(checkout.tas("render", "--to", "-").out)
    kubectl = ("kubectl", "kustomize")
    assert checkout.applied(*kubectl) == stream
    checkout.edit("tas.yaml", "  gitops: argocd", "  layout: sharded\n  gitops: argocd")
    assert checkout.tas("check").code == 1
    assert checkout.tas("render").code == 0
    moved = checkout.tas("diff", "--base", "HEAD")  # the same objects, in other files
    assert (moved.code, "risk: high - the Config changes layout" in moved.out) == (1, True)
    assert (checkout.pools / "manifests/pools/team/kustomization.yaml").is_file()
    assert checkout.applied(*kubectl) == stream
    checkout.edit("tas.yaml", "  layout: sharded\n", "")
    assert checkout.tas("render").code == 0
    assert git(checkout.top, "status", "--short") == ""  # nothing is lost, and nothing is left over
    with suppress(pytest.skip.Exception):  # there need not be one
        assert checkout.applied(str(kustomize()), "build") == stream
