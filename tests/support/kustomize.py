"""Finds the standalone kustomize, which runs KRM functions. The one in kubectl does not."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.in_ci import IN_CI

VERSION = "v5.7.1"
_MODULE = f"sigs.k8s.io/kustomize/kustomize/v5@{VERSION}"


@cache
def kustomize() -> Path:
    """Returns the program of $KUSTOMIZE, or the one on the PATH. In CI, go installs one into the user's cache, in a
    minute.
    Skips the test without a program, or if go cannot reach its modules.
    """
    given = os.environ.get("KUSTOMIZE") or shutil.which("kustomize")
    if given:
        return Path(given)
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_folder / "kubectl-tas" / f"kustomize-{VERSION}"
    go = shutil.which("go")
    if not (folder / "kustomize").exists():
        if go is None or not IN_CI:
            pytest.skip("kustomize is not installed")
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-buildvcs=false"}
        done = subprocess.run([go, "install", _MODULE], env=environment, capture_output=True, timeout=600)
        if done.returncode:
            pytest.skip(f"go cannot install kustomize: {done.stderr.decode().strip()[-300:]}")
    return folder / "kustomize"
