"""Tests that any folder gives a finding with a place, or exit code 3 with one sentence, but never a traceback."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from kubectl_tas.cli.main import run
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.process import as_nobody

MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def _raise_internal_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECTL_TAS_DEBUG", "1")


def validate(root: Path) -> Result:
    """What ``validate`` says; ``render`` refuses the same."""
    result = kubectl_tas("validate", "-C", root)
    rendered = kubectl_tas("render", "-C", root)
    assert rendered.code == result.code
    assert not (root / "manifests").exists()
    return result


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(9)
)
TEXTS: dict[str, tuple[str, str, str]] = {
    "tab": ("spec:\n\tname: a\n", "2:1", "yaml-syntax"),
    "duplicate key": ("kind: Pool\nkind: Pool\n", "2:1", "yaml-duplicate-key"),
    "duplicate nested key": ("a: {b: 1, b: 2}\n", "1:11", "yaml-duplicate-key"),
    "anchor bomb": (BOMB, "6:5", "yaml-alias"),
    "alias of itself": ("a: &a [*a]\n", "1:4", "yaml-alias"),
    "alias of nothing": ("a: *b\n", "1:4", "yaml-syntax"),
    "open brackets": ("[" * 100_000, "1:64", "yaml-depth"),
    "open braces": ('{"a":' * 100_000, "1:316", "yaml-depth"),
    "closed brackets": ("[" * 100_000 + "]" * 100_000, "1:64", "yaml-depth"),
    "nested lists in a line": ("- " * 100_000, "1:127", "yaml-depth"),
    "nested keys in a line": ("? " * 100_000, "1:127", "yaml-depth"),
    "nested mappings": ("".join(f"{' ' * n}a:\n" for n in range(99)), "64:64", "yaml-depth"),
    "closing brackets": ("]" * 100_000, "1:1", "yaml-syntax"),
    "many anchors": ("".join(f"a{n}: &a{n} x\n" for n in range(10_000)), "1:1", "unknown-kind"),
    "long line": (f"a: {'b' * MIB}\n", "1:1", "unknown-kind"),
    "long key": (f"{'b' * 2 * MIB}: a\n", "1:", "yaml-syntax"),
    "many documents": ("---\na: 1\n" * 1000, "2:1", "unknown-kind"),
    "NUL": ("a: b\0\n", "1:5", "file-not-text"),
    "escape": ("a: \x1b[2J\n", "1:4", "file-not-text"),
    "escaped NUL": ('kind: "a\\0b"\n', "1:7", "file-not-text"),
    "lone surrogate": ('a: "\\ud800"\n', "1:", "yaml-syntax"),
    "lone surrogate, eight digits": ('a: "\\U0000dfff"\n', "1:", "yaml-syntax"),
    "beyond Unicode": ('a: "\\U00110000"\n', "1:", "yaml-syntax"),
    "unknown escape": ('a: "\\q"\n', "1:", "yaml-syntax"),
    "key that is a list": ("? [a]\n: b\n", "1:3", "yaml-key"),
    "key that is a mapping": ("{a: b}: c\n", "1:1", "yaml-key"),
    "merge of text": ("a:\n  <<: b\n", "2:", "yaml-key"),
    "tag": ("a: !!python/object:os.system b\n", "1:4", "yaml-tag"),
    "empty mapping": ("{}\n", "1:1", "unknown-kind"),
    "empty list": ("[]\n", "1:1", "unknown-kind"),
    "word": ("hello\n", "1:1", "unknown-kind"),
    "number": ("1e999\n", "1:1", "unknown-kind"),
    "kind that is a list": ("apiVersion: tas/v1alpha1\nkind: [Pool]\n", "2:7", "unknown-kind"),
    "kind that is empty": ("apiVersion: tas/v1alpha1\nkind:\n", "2:", "unknown-kind"),
    "version that is a mapping": ("apiVersion: {}\nkind: Pool\n", "1:", "unknown-kind"),
    "open quote": ('a: "b\n', "1:4", "yaml-syntax"),
    "half a document": ("apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: a", "3:", "yaml-syntax"),
    "merge conflict": ("a:\n<<<<<<< HEAD\n  b: 1\n=======\n", "2:", "yaml-syntax"),
    "dots above a line of their depth": ("b:\n  ...\n  d: : 1\n", "2:3", "yaml-syntax"),
    "dots above a deeper line": ("b:\n  ...\n    d: : 1\n", "3:6", "yaml-syntax"),
    "template": ("a: {{ .Values.a }}\n", "1:", "yaml-key"),
    "another version": ("%YAML 9.9\n---\na: b\n", "1:1", "yaml-syntax"),
    "line separators": ("a: b\u2028c: d\u2028 e: [\n", "", "yaml-syntax"),
    "next line": ("a: b\x85c: [\n", "", "yaml-syntax"),
    "carriage returns": ("a: b\rc: [\r", "2:", "yaml-syntax"),
}
"""Text, where it is wrong, and the rule that says so."""


@pytest.mark.parametrize("name", TEXTS)
def test_text(repository: Path, name: str) -> None:
    text, place, code = TEXTS[name]
    (repository / "pools").mkdir()
    (repository / "pools/x.yaml").write_text(text, encoding="utf-8", newline="")
    result = validate(repository)
    assert result.code == 1
    assert result.out.startswith(f"pools/x.yaml:{place}")
    assert f" [{code}]\n" in result.out
    assert max(map(len, result.out.splitlines())) < 1000, "long lines are cut"


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "---\n---\n...\n", "\ufeff"])
def test_text_without_documents(repository: Path, text: str) -> None:
    write(repository, {"pools/x.yaml": text})
    result = kubectl_tas("validate", "-C", repository)
    assert (result.code, "[nothing-declared]" in result.out) == (1, True)
    assert kubectl_tas("render", "-C", repository).code == 3
    write(repository, {"pools/team.yaml": pool()})
    result = kubectl_tas("validate", "-C", repository)
    assert result.out == "No problems found in 2 files.\n" or (text == "" and "this file is empty" in result.out)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x7fELF\x02\x01\x01\x00", "1:1: error: the control character U+007F is not text"),
        (b"kind: Pool\nname: \xff\n", "2:7: error: the byte 0xff is not UTF-8"),
        (b"kind: \xed\xa0\x80\n", "error: the byte 0xed is not UTF-8"),
        ("kind: Pool\n".encode("utf-16"), "1:1: error: the file is UTF-16"),
        (bytes(range(256)) * 16, "[file-not-text]"),
    ],
    ids=["program", "latin-1", "surrogate", "utf-16", "every byte"],
)
def test_bytes_that_are_no_text(repository: Path, content: bytes, expected: str) -> None:
    (repository / "pools").mkdir()
    (repository / "pools/x.yaml").write_bytes(content)
    result = validate(repository)
    assert result.code == 1
    assert result.out.startswith("pools/x.yaml:")
    assert expected in result.out


def large(path: Path) -> None:
    """A file of 50 MiB that takes no room."""
    path.touch()
    os.truncate(path, 50 * MIB)


def bind(path: Path) -> None:
    """A socket."""
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(path.parent)  # the name of a socket has at most 108 bytes
        server.bind(path.name)
        os.chdir(before)


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "50 MiB": (large, ": error: the file has 50 MiB; at most 4 MiB are read [file-too-large]"),
    "pipe": (os.mkfifo, "[file-not-regular]"),
    "socket": (bind, "[file-not-regular]"),
    "link to itself": (lambda path: path.symlink_to(path.name), "[file-not-regular]"),
    "link to nothing": (lambda path: path.symlink_to("nothing.yaml"), "[file-not-regular]"),
    "link out": (lambda path: path.symlink_to("/etc/passwd"), "[file-outside-repository]"),
    "link to a device": (lambda path: path.symlink_to("/dev/zero"), "[file-outside-repository]"),
    "link to a folder outside": (lambda path: path.symlink_to("/etc"), "[file-outside-repository]"),
}


@pytest.mark.parametrize("name", FILES)
def test_file(repository: Path, name: str) -> None:
    make, expected = FILES[name]
    (repository / "pools").mkdir()
    make(repository / "pools/x.yaml")
    result = validate(repository)
    assert result.code == 1
    assert result.out.startswith("pools/x.yaml: error: " if name != "link to a folder outside" else "pools/x.yaml")
    assert expected in result.out


@pytest.mark.parametrize("name", FILES)
def test_settings(repository: Path, name: str) -> None:
    make, expected = FILES[name]
    write(repository, {"pools/team.yaml": pool()})
    make(repository / "tas.yaml")
    result = validate(repository)
    assert result.code == 1
    assert result.out.startswith("tas.yaml: error: ")
    assert expected in result.out


class TestFolders:
    def test_link_out(self, repository: Path) -> None:
        (repository / "pools").symlink_to("/etc")
        result = validate(repository)
        assert result.code == 1
        assert "[file-outside-repository]" in result.out
        assert "passwd" not in result.out

    def test_file_instead(self, repository: Path) -> None:
        """A link that was checked out on a system without links is a file with the link's target."""
        write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools": "../shared/pools"})
        result = validate(repository)
        assert result.code == 1
        assert result.out.startswith("pools: error: not a folder [file-not-regular]\n")

    def test_link_to_itself(self, repository: Path) -> None:
        (repository / "pools").symlink_to("pools")
        assert validate(repository).code == 1

    def test_links_in_a_circle(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        (repository / "pools/again").symlink_to(".")
        (repository / "pools/root").symlink_to("..")
        assert kubectl_tas("validate", "-C", repository).out == "No problems found in 1 file.\n"

    def test_name_like_a_file(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml/team.yaml": pool()})
        assert kubectl_tas("validate", "-C", repository).out == "No problems found in 1 file.\n"

    def test_root_is_a_file(self, repository: Path) -> None:
        write(repository, {"x.yaml": ""})
        result = kubectl_tas("validate", "-C", repository / "x.yaml")
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: {repository}/x.yaml is not a folder\n")


class TestPermissions:
    """As a user on whom permissions have an effect, unlike root."""

    @pytest.fixture
    def root(self, reachable: Path) -> Path:
        """A rendered repository in which every user may do everything."""
        write(reachable, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()})
        for command in ("render", "check"):  # imports what they need while this process may still read the package
            assert kubectl_tas(command, "-C", reachable).code == 0
        for path in (reachable, *reachable.rglob("*")):
            path.chmod(0o777)
        return reachable

    @pytest.mark.parametrize("name", ["pools", "pools/team.yaml", "tas.yaml"])
    @pytest.mark.parametrize("command", ["validate", "render", "check"])
    def test_unreadable_input(self, root: Path, name: str, command: str) -> None:
        (root / name).chmod(0)
        with as_nobody():
            result = kubectl_tas(command, "-C", root)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: cannot read ")
        assert f"{name}: Permission denied\n" in result.err

    @pytest.mark.parametrize("name", ["manifests", "manifests/queues", "manifests/kustomization.yaml"])
    @pytest.mark.parametrize("command", ["render", "check"])
    def test_unreadable_output(self, root: Path, name: str, command: str) -> None:
        (root / name).chmod(0)
        with as_nobody():
            result = kubectl_tas(command, "-C", root)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: cannot read ")
        assert f"{name}: Permission denied\n" in result.err

    def test_unwritable_output(self, root: Path) -> None:
        write(root, {"pools/other.yaml": pool("other")})
        (root / "manifests/queues").chmod(0o555)
        before = {path: path.read_text() for path in (root / "manifests").rglob("*.yaml")}
        with as_nobody():
            result = kubectl_tas("render", "-C", root)
        assert result.code == 3
        assert result.err.startswith("error: cannot write manifests/queues/")
        assert {path: path.read_text() for path in (root / "manifests").rglob("*.yaml")} == before

    def test_unreadable_root(self, root: Path) -> None:
        root.chmod(0)
        with as_nobody():
            result = kubectl_tas("validate", "-C", root)
        assert (result.code, result.out) == (3, "")
        assert "Permission denied" in result.err

    def test_unreadable_parent(self, root: Path) -> None:
        write(root, {"inner/deep/pools/team.yaml": pool()})
        (root / "tas.yaml").unlink()
        for path in root.rglob("*"):
            path.chmod(0o755)
        before, told = Path.cwd(), io.StringIO()
        os.chdir(root / "inner/deep")
        (root / "inner").chmod(0)
        try:
            with as_nobody(), redirect_stderr(told):
                code = run(["validate"], "kubectl tas")
        finally:
            os.chdir(before)
        assert code == 3
        assert told.getvalue().startswith("error: ")
