"""Tests the contexts that completion offers, as they are in kubectl's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.live.contexts import contexts

CONFIG = "apiVersion: v1\ncontexts:\n- context: {cluster: c}\n  name: %s\n- name: both\nusers:\n- name: ada\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a file of kubectl, and no other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(CONFIG % "home")
    return tmp_path


def test_the_file_of_the_home_folder(home: Path) -> None:
    assert contexts(None) == ["home", "both"]


def test_all_files_of_the_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kubectl skips an empty name and a file that is not there."""
    (home / "one").write_text(CONFIG % "one")
    (home / "two").write_text(CONFIG % '"two"')
    (home / "none").write_text("apiVersion: v1\nusers:\n- name: ada\n")
    monkeypatch.setenv("KUBECONFIG", f"{home}/one::{home}/gone:{home}/none:{home}/two")
    monkeypatch.chdir(home)
    assert contexts(None) == ["one", "both", "two"]


def test_a_named_file_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "named").write_text(CONFIG % "named")
    monkeypatch.setenv("KUBECONFIG", f"{home}/.kube/config")
    assert contexts(f"{home}/named") == ["named", "both"]
