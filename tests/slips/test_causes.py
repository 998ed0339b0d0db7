"""Tests that one slip that affects many documents gives one finding, at the edited place."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.slips.repository import FILES
from tests.slips.test_slips import findings
from tests.support.cli import kubectl_tas, pool, subpool, write

COPIES = 7
WORKLOADS = {
    f"workflows/{name}-{number}.yaml": FILES[f"workflows/{name}.yaml"].replace(
        f"name: {called}\n", f"name: {called}-{number}\n", 1
    )
    for name in ("train", "serve", "job", "podcliqueset", "podgroup")
    for called in ("hand" if name == "podgroup" else name,)
    for number in range(COPIES)
}
MANY = {path: text for path, text in FILES.items() if not path.startswith("workflows")} | WORKLOADS
CAUSES = {
    "a pool is renamed": ("pools/team", "name: team", "name: crew", "parent-unknown"),
    "a pool has a bad name": ("pools/team", "name: team", "name: Team", "name-invalid"),
    "a pool has a slip in a field": ("pools/team", "backend:", "bakcend:", "unknown-field"),
    "a pool has an unknown backend": ("pools/team", "backend: prod", "backend: prdo", "backend-unknown"),
    "a backend is renamed": ("tas", "name: prod", "name: main", "backend-unknown"),
    "a topology key is renamed": ("pools/team", "key: rack", "key: row", "topology-key-unknown"),
    "two topology keys are one": ("pools/team", "key: rack", "key: zone", "level-duplicate"),
    "a topology is gone": ("topologies/fabric", "name: fabric", "name: mesh", "topology-unknown"),
    "a subpool is renamed": ("subpools/speech", "name: speech", "name: voice", "pool-unknown"),
    "a subpool has a bad name": ("subpools/speech", "name: speech", "name: speech--x", "name-delimiter"),
    "a subpool has an unknown parent": ("subpools/speech", "parent: team", "parent: taem", "parent-unknown"),
    "a subpool cannot be read": ("subpools/speech", "quota:", "qouta:", "unknown-field"),
    "a subpool is gone from its pool": (
        "subpools/speech",
        "parent: team",
        "parent: serving",
        "pool-unknown over-shared-quota",
    ),
    "a subpool is closed": ("subpools/speech", "state: ACTIVE", "state: ARCHIVED", "subpool-closed"),
    "a subpool drains": ("subpools/speech", "state: ACTIVE", "state: DELETING", "subpool-closed"),
    "a quota is too small": ("subpools/speech", "quota: 100", "quota: 3", "over-quota"),
    "quotas add up to too much": ("pools/team", "guarantee: 200", "guarantee: 1", "quota-exceeds-pool"),
    "a guarantee is too small": ("pools/serving", "guarantee: 100", "guarantee: 3", "over-quota"),
    "a level is gone from a cluster topology": (
        "topologies/fabric",
        "domain: rack",
        "domain: row",
        "topology-key-unknown pack-domain-unknown",
    ),
    "another scheduler": ("tas", "type: kai", "type: default", "topology-scheduler"),
    "an older release": ("tas", 'version: "0.17"', 'version: "0.9"', "karta-unread " + "version-unsupported " * 3),
    "another namespace": ("tas", "namespace: ml", "namespace: prod", "podgroup-namespace workload-topology"),
    "a namespace that cannot be": ("tas", "namespace: ml", "namespace: M_l", "name-invalid"),
    "another prefix": (
        "tas",
        "queuePrefix: osmo",
        "queuePrefix: acme",
        "podgroup-queue podgroup-topology workload-topology",
    ),
    "an older Grove": (
        "tas",
        "  queuePrefix:",
        "    grove: {version: 0.1.0-alpha.8}\n  queuePrefix:",
        "grove-unsupported",
    ),
}


def test_nothing_without_a_slip(tmp_path: Path) -> None:
    assert findings(tmp_path, MANY) == []


@pytest.mark.parametrize("cause", CAUSES)
def test_one_finding_for_one_cause(tmp_path: Path, cause: str) -> None:
    file, old, new, rules = CAUSES[cause]
    path = f"{file}.yaml"
    assert old in MANY[path]
    found = findings(tmp_path, {**MANY, path: MANY[path].replace(old, new, 1)})
    assert sorted(str(item["rule"]) for item in found) == sorted(rules.split()), found


def test_all_uses_are_told(tmp_path: Path) -> None:
    root = write(tmp_path, {**MANY, "subpools/speech.yaml": subpool("voice", 100)})
    shown = kubectl_tas("validate", "-C", root).out
    assert shown.count("named here too") == 5
    assert "and 15 more" in shown
    assert "team--voice" in shown
    for path in (path for path in WORKLOADS if "serve" not in path and "podgroup" not in path):
        assert kubectl_tas("validate", path, "-C", root).code == 1, path


def test_no_suggestion_of_a_bad_name(tmp_path: Path) -> None:
    root = write(tmp_path, {**FILES, "subpools/speech.yaml": subpool("speech--x", 100)})
    shown = kubectl_tas("validate", "-C", root).out
    assert "speech--x" in shown
    assert "Did you mean" not in shown


def committed(root: Path, files: dict[str, str]) -> Path:
    """A git repository of these files."""
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
    write(root, files)
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "base")):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    return root


CHANGES = {
    "a subpool is closed": ("subpools/speech", "ACTIVE", "ARCHIVED", "subpools/speech.yaml:8", "is ARCHIVED"),
    "a quota is lowered": ("subpools/speech", "quota: 100", "quota: 3", "subpools/speech.yaml:7", "needs 4 GPUs"),
    "a level is removed": ("pools/team", "key: rack", "key: row", "pools/team.yaml:13", "this change removes it"),
    "another scheduler": ("tas", "type: kai", "type: default", "tas.yaml:8", 'has scheduler type "default"'),
    "a pool is removed": ("pools/team", None, "", "subpools/speech.yaml:6", "this change removes it"),
    "a topology is removed": ("topologies/fabric", None, "", "pools/serving.yaml:9", "this change removes it"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_blame_is_on_what_has_changed(tmp_path: Path, change: str) -> None:
    file, old, new, place, words = CHANGES[change]
    path = committed(tmp_path, MANY) / f"{file}.yaml"
    if old is None:
        path.unlink()
    else:
        path.write_text(path.read_text().replace(old, new, 1))
    result = kubectl_tas("validate", "--base", "HEAD", "-C", tmp_path)
    severity = "warning" if change == "a quota is lowered" else "error"  # what was there before may run on
    assert result.code == (severity == "error")
    shown = [line for line in result.out.splitlines() if line[:1] not in ("", " ") and not line.startswith("info: ")]
    assert shown[0].startswith(f"{place}:"), result.out
    assert words in shown[0]
    assert result.out.count(f" {severity}: ") == 1, result.out
    assert result.out.count("more\n") == 1


def test_the_blame_is_on_new_work_in_a_closed_subpool(tmp_path: Path) -> None:
    files = {path: text for path, text in MANY.items() if not path.startswith("workflows/")}
    closed = {"subpools/speech.yaml": FILES["subpools/speech.yaml"].replace("ACTIVE", "ARCHIVED")}
    write(committed(tmp_path, files | closed), {"workflows/train.yaml": FILES["workflows/train.yaml"]})
    assert kubectl_tas("validate", "--base", "HEAD", "-C", tmp_path).out.startswith("workflows/train.yaml:3:")


class TestBlame:
    def test_a_new_subpool_that_is_too_large(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"pools/team.yaml": pool(), "subpools/z.yaml": subpool("zeta", 70)})
        result = kubectl_tas("subpool", "create", "team", "alpha", "--quota", "40", "-C", root)
        assert result.code == 1
        assert result.err.startswith("subpools/team--alpha.yaml:7:")
        assert "Lower this quota to 30" in result.err

    def test_an_update_that_is_too_large(self, tmp_path: Path) -> None:
        files = {"subpools/a.yaml": subpool("alpha", 10), "subpools/z.yaml": subpool("zeta", 70)}
        root = write(tmp_path, {"pools/team.yaml": pool(), **files})
        result = kubectl_tas("subpool", "update", "team", "alpha", "--quota", "40", "-C", root)
        assert result.err.startswith("subpools/a.yaml:7:")

    @pytest.mark.parametrize(
        ("path", "text", "place"),
        [
            ("subpools/a.yaml", subpool("alpha", 50), "subpools/a.yaml:7:"),
            ("subpools/new.yaml", subpool("beta", 50), "subpools/new.yaml:7:"),
            ("pools/team.yaml", pool(guarantee=60), "pools/team.yaml:8:"),
        ],
    )
    def test_what_has_changed_since_the_base(self, tmp_path: Path, path: str, text: str, place: str) -> None:
        files = {"subpools/a.yaml": subpool("alpha", 10), "subpools/z.yaml": subpool("zeta", 70)}
        root = committed(tmp_path, {"pools/team.yaml": pool(), **files})
        write(root, {path: text})
        result = kubectl_tas("validate", "--base", "HEAD", "-C", root)
        assert result.code == 1
        assert result.out.startswith(place), result.out
        assert result.out.count("quota-exceeds-pool") == 1


@pytest.mark.parametrize(
    "text", ["workflow:\n  name: train\n  tsks: []\n", "workflow:\n  name: train\n  pool: [team\n"]
)
@pytest.mark.parametrize(("path", "name"), [("workflows/train.yaml", "train"), ("workflows/x.yaml", "Workflow/train")])
def test_explaining_what_cannot_be_read(tmp_path: Path, text: str, path: str, name: str) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool(), path: text})
    result = kubectl_tas("workflow", "explain", name, "-C", root)
    assert result.code == 1
    assert result.err.startswith(f"{path}:3:") or f"\n{path}:3:" in result.err


@pytest.mark.parametrize("command", ["admit", "validate"])
def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, command: str) -> None:
    result = kubectl_tas(command, "absent.yaml", "-C", write(tmp_path, FILES))
    assert result.code == 2
    assert "absent.yaml" in result.err


def test_settings_in_a_file_of_another_name(tmp_path: Path) -> None:
    files = {path: text for path, text in FILES.items() if path != "tas.yaml"} | {"tas.yml": FILES["tas.yaml"]}
    (found,) = (item for item in findings(tmp_path, files) if item["rule"] == "config-misplaced")
    assert found["location"] == {"path": "tas.yml", "line": 2, "column": 1}


def test_cliques_start_after_others(tmp_path: Path) -> None:
    path = "workflows/podcliqueset.yaml"
    text = FILES[path].replace("    cliques:", "    cliqueStartupType: CliqueStartupTypeExplicit\n    cliques:")
    files = {**FILES, path: text.replace("minAvailable: 1", "minAvailable: 1\n        startsAfter: [router, main]")}
    found = findings(tmp_path, files)
    assert [item["rule"] for item in found] == ["clique-unknown"] * 2
    assert 'starts after "router", which is no other clique' in str(found[0]["message"])
