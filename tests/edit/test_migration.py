"""Tests that ``migrate`` replaces old names in scripts, CI jobs and pages, and changes nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubectl_tas.base.folders import MEBIBYTE
from kubectl_tas.cli.options import RENAMED, RENAMED_OPTIONS
from kubectl_tas.edit import migration
from kubectl_tas.edit.migration import RenamedCommands, migrated
from tests.support.cli import kubectl_tas, pool, write

NAMES = RenamedCommands(RENAMED, RENAMED_OPTIONS)
WORKFLOW = """\
jobs:
  site:  # the site
    steps:
    - run: |
        kubectl tas render
        kubectl-tas -C gpu report -o public --title Pools | tee log; kubectl tas diff --base main -o markdown
    - run: kubectl tas snapshot \\
        --output snapshot.zip
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kubectl tas render -o -", "kubectl tas render --to -"),
        ("kubectl tas --color=always -C gpu render -o -", "kubectl tas --color=always -C gpu render --to -"),
        ("kubectl-tas render --output=-", "kubectl-tas render --to=-"),
        (
            "kubectl tas --context prod cluster state -o state.json",
            "kubectl tas --context prod cluster state --to state.json",
        ),
        ("kubectl tas -C gpu report -osite", "kubectl tas -C gpu report --to=site"),
        ("kubectl tas --kubeconfig a render -o=b", "kubectl tas --kubeconfig a render --to=b"),
        ('kubectl tas report --title "a | b" -o site', 'kubectl tas report --title "a | b" --to site'),
        ("kubectl tas\tsubpool\tdelete a", "kubectl tas\tsubpool retire a"),
        ("kubectl tas report --title 'a | b' -o site", "kubectl tas report --title 'a | b' --to site"),
        ("`kubectl tas subpool delete team a`", "`kubectl tas subpool retire team a`"),
        ("kubectl tas pool topology-keys team", "kubectl tas topology list --pool team"),
        ("kubectl tas import \\\n  kueue a.yaml \\\n  -o b", "kubectl tas import \\\n  kueue a.yaml \\\n  --to b"),
        (
            "kubectl tas snapshot -o a && kubectl tas report -o b",
            "kubectl tas snapshot --to a && kubectl tas report --to b",
        ),
    ],
)
def test_old_names(old: str, new: str) -> None:
    after, told = migrated(f"# é\n{old}\n", NAMES)
    assert after == f"# é\n{new}\n"
    assert told[0].line == 2 + old.partition("-o")[0].count("\n") * ("\\" in old)
    assert migrated(after, NAMES) == (after, ())


@pytest.mark.parametrize(
    "text",
    [
        "kubectl tas diff --base main -o markdown",
        "kubectl tas render | sort -o x",
        "kubectl tas report # -o was the folder",
        "my-kubectl-tasks render -o x",
        "kubectl tas subpool deleted a",
        "kubectl tas",
        "kubectl tas -C gpu",
        "kubectl tas report --outputs x",
        "kubectl get subpool delete",
        "kubectl tas report --outputx",
        "kubectl tas -C subpool delete",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert migrated(text, NAMES) == (text, ())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    files = {
        "gpu/tas.yaml": "",
        "gpu/pools/team.yaml": pool(),
        "gpu/workflows/notes.sh": "kubectl tas render -o -\n",
        ".github/workflows/site.yaml": WORKFLOW,
        "CHANGELOG.md": "`kubectl tas render -o` came\n",
        "binary": "kubectl tas render -o x\0\n",
    }
    write(tmp_path, files)
    (tmp_path / "run.sh").write_bytes(b"#!/bin/sh\r\nkubectl tas subpool delete team a\r\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link.sh").symlink_to("run.sh")
    return tmp_path


def test_files_of_a_checkout(checkout: Path) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    checked = kubectl_tas("-C", checkout / "gpu", "migrate", "--check")
    assert (checked.code, checked.err) == (1, "2 files with old names. Run: kubectl tas migrate\n")
    shown = kubectl_tas("-C", checkout / "gpu", "migrate", "--dry-run")
    assert (shown.code, shown.out.count("\n+++")) == (0, 2)
    assert {path: path.read_bytes() for path in before} == before, "nothing is written"
    done = kubectl_tas("-C", checkout / "gpu", "migrate")
    assert done.code == 0
    assert done.out.splitlines() == [
        ".github/workflows/site.yaml:6: `-o` is now `--to`",
        ".github/workflows/site.yaml:8: `--output` is now `--to`",
        "run.sh:2: `subpool delete` is now `subpool retire`",
    ]
    changed = {path.relative_to(checkout).as_posix() for path in before if path.read_bytes() != before[path]}
    assert changed == {".github/workflows/site.yaml", "run.sh", "link.sh"}
    text = (checkout / ".github/workflows/site.yaml").read_text()
    assert text == WORKFLOW.replace("report -o", "report --to").replace("--output snap", "--to snap")
    assert (checkout / "run.sh").read_bytes() == b"#!/bin/sh\r\nkubectl tas subpool retire team a\r\n"
    assert os.access(checkout / "run.sh", os.X_OK)
    again = kubectl_tas("-C", checkout / "gpu", "migrate", "--check")
    assert (again.code, again.err) == (0, "No old name found.\n")


def test_files_that_are_too_large_or_no_files_are_skipped(checkout: Path) -> None:
    write(checkout, {"large.sh": "kubectl tas render -o x\n" + " " * MEBIBYTE})
    os.mkfifo(checkout / "pipe.sh")
    (checkout / "gone.sh").symlink_to("nowhere")
    done = kubectl_tas("-C", checkout / "gpu", "migrate", "--check")
    assert (done.code, len(done.out.splitlines())) == (1, 3)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("a.md", True),
        ("b/renamed.md", True),
        *((f"{name}.md", False) for name in ("ChangeLog", "CHANGES", "History", "NEWS")),
        *((f"{name}/a.md", False) for name in (".git", ".schemas", ".venv", "node_modules", "__pycache__")),
        ("b/.venv/a.md", False),
        ("skipped/a.md", False),
    ],
)
def test_the_files_that_are_read(name: str, is_read: bool, tmp_path: Path) -> None:
    write(tmp_path, {name: "kubectl tas subpool delete a\n"})
    found = migration.migrations(tmp_path, [tmp_path / "skipped"], NAMES)
    assert [edit.path for edit, _ in found] == [name] * is_read


def test_a_folder_of_too_many_files_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "MAX_FILES", 4)
    done = kubectl_tas("-C", checkout / "gpu", "migrate")
    assert (done.code, done.err) == (
        3,
        f"error: {checkout} has more than 4 files\n  = help: Run `kubectl tas migrate` in a folder with fewer.\n",
    )


def test_every_old_name_has_a_row(checkout: Path) -> None:
    lines = [f"kubectl tas {name}" for name in RENAMED]
    lines += [f"kubectl tas {command} {old} x" for command, options in RENAMED_OPTIONS.items() for old in options]
    after, told = migrated("\n".join(lines), NAMES)
    assert len(told) == len(lines)
    assert not any(f"tas {name}" in after for name in RENAMED)
