"""Tests that the same files give the same bytes on any machine, in any process and folder order."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import pool, subpool, write
from tests.support.golden import GOLDEN, ROOT, case_input
from tests.support.rendered import files_below

REVERSED = """\
import os

_scandir, _listdir = os.scandir, os.listdir


class Reversed:
    def __init__(self, entries):
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    close = __exit__


def scandir(path="."):
    with _scandir(path) as entries:
        return Reversed(sorted(entries, key=lambda entry: entry.name, reverse=True))


os.scandir = scandir
os.listdir = lambda path=".": sorted(_listdir(path), reverse=True)
"""
"""A sitecustomize that lists every folder backwards."""
PLAIN = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
NO_UTF8 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
MACHINES = {
    "plain-c": {**NO_UTF8, "PYTHONHASHSEED": "12345", "LC_ALL": "C", "TZ": "UTC"},
    "turkish": {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
}
COMMANDS = (["validate"], ["render"], ["render", "--to", "-", "--backend", "hgx"])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with much of everything: several clusters, trees, warnings, and text beyond ASCII."""
    root = tmp_path_factory.mktemp("source") / "repository"
    shutil.copytree(case_input(GOLDEN / "manifests/two-clusters"), root)
    shapes = case_input(GOLDEN / "manifests/tree-shapes")
    for path in files_below(shapes):
        text = path.read_text().replace("  resources:\n    gpu:", "  backend: hgx\n  resources:\n    gpu:")
        write(root, {f"{path.relative_to(shapes).parent}/shapes/{path.name}": text})
    task = '{name: t, image: busybox, args: ["Z\u00fcrich \u0130stanbul \u6771\u4eac"], lead: true}'
    return write(
        root,
        {
            "pools/odd/z.yaml": pool("z", 10, "  backend: hgx\n  description: Z\u00fcrich\n"),
            "subpools/z-a.yaml": subpool("a", "33%", "z"),
            "subpools/z-b.yml": subpool("b", 5, "z"),
            "workflows/utf8.yaml": f"workflow:\n  name: utf8\n  pool: z--b\n  tasks:\n  - {task}\n",
        },
    )


def output(root: Path, command: list[str], environment: dict[str, str], cwd: Path, code: int = 0) -> bytes:
    """What a command prints in a process of its own."""
    python_path = os.pathsep.join([*filter(None, [environment.get("PYTHONPATH")]), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-m", "kubectl_tas", *command, "-C", str(root)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment, "PYTHONPATH": python_path},
        capture_output=True,
        check=False,
    )
    assert run.returncode == code, run.stderr.decode(errors="replace")
    return run.stdout


def results(root: Path, environment: dict[str, str], cwd: Path) -> tuple[list[bytes], dict[str, bytes]]:
    """What validate and render print in a process of their own, and every file that is then there, with a site."""
    printed = [output(root, command, environment, cwd) for command in COMMANDS]
    output(root, ["report", "--to", str(root / "site")], environment, cwd)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in files_below(root)}
    return printed, files


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], dict[str, bytes]]:
    root = tmp_path_factory.mktemp("expected") / "repository"
    shutil.copytree(source, root)
    printed, files = results(root, PLAIN, root)
    assert all(printed)
    assert "Z\u00fcrich \u0130stanbul \u6771\u4eac".encode() in printed[-1]
    assert sum(name.startswith("clusters/") for name in files) > 30
    assert sum(name.startswith("site/") for name in files) > 30
    return printed, files


@pytest.mark.sweep
@pytest.mark.parametrize("machine", MACHINES)
def test_machines(machine: str, source: Path, expected: tuple[list[bytes], dict[str, bytes]], tmp_path: Path) -> None:
    root = tmp_path / "elsewhere" / machine
    shutil.copytree(source, root)
    assert results(root, MACHINES[machine], tmp_path) == expected


@pytest.mark.sweep
def test_order_of_folders(source: Path, expected: tuple[list[bytes], dict[str, bytes]], tmp_path: Path) -> None:
    root = tmp_path / "shuffled"
    files = files_below(source)
    random.Random(1).shuffle(files)
    for path in files:
        copy = root / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    environment = backwards(tmp_path)
    listed = subprocess.run(
        [sys.executable, "-c", "import os; print([entry.name for entry in os.scandir('.')])"],
        cwd=root,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    assert listed.stdout == "['workflows', 'topologies', 'tas.yaml', 'subpools', 'pools']\n"
    assert results(root, environment, root) == expected


def test_order_of_findings(tmp_path: Path) -> None:
    """Which of two pools of one name counts, and what is said of the other, do not depend on the folder."""
    names = ("a", "b", "c")
    root = write(
        tmp_path / "broken",
        {f"pools/{name}.yaml": pool("team", 10 * index) for index, name in enumerate(names)}
        | {f"subpools/{name}.yaml": subpool("x", 9 + index) for index, name in enumerate(names)}
        | {f"workflows/{name}.yaml": "workflow: {name: w, pool: tim, tasks: []}\n" for name in names},
    )
    expected = output(root, ["validate"], PLAIN, root, code=1)
    assert expected.count(b": error: ") > 6
    assert output(root, ["validate"], backwards(tmp_path) | {"PYTHONHASHSEED": "3"}, root, code=1) == expected


def backwards(folder: Path) -> dict[str, str]:
    """The environment of a process that lists every folder backwards."""
    write(folder / "site", {"sitecustomize.py": REVERSED})
    return {**PLAIN, "PYTHONPATH": str(folder / "site")}


@pytest.mark.sweep
def test_link_to_the_repository(source: Path, expected: tuple[list[bytes], dict[str, bytes]], tmp_path: Path) -> None:
    root = tmp_path / "real"
    shutil.copytree(source, root)
    link = tmp_path / "link"
    link.symlink_to(root)
    assert results(link, PLAIN, tmp_path) == expected
