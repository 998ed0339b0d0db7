"""Which tests run when, and what all of them share.

=========================== ==================================================================================
``pytest``                  each test with a few of its cases, without hostile and random input
``pytest -m sweep``         the other cases, hostile and random input. Of tables that a program made by chance
                            (``by_chance``) it tries a sample, since each case takes the same path
``pytest FILE``, or ``-k``  all cases of what is named
=========================== ==================================================================================

Where two tables meet, a case for each pair of their rows is written only if their rows meet in the code; else each row
is tried with one of the other table. Values that take the same path are one case.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from kubectl_tas.place import solver
from kubectl_tas.store.cache import Store
from tests.support.golden import ROOT
from tests.support.in_ci import IN_CI

settings.register_profile(
    "any-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=IN_CI,  # a change is judged by itself, not by the luck of its run
)
settings.load_profile("any-machine")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of commands are run, and none need compile the package again


COLLECTED = pytest.StashKey[dict[Path, set[str]]]()
"""The names of all cases by file, those too that a run leaves out."""
FEW = 2
"""Cases of one test that a whole run tries without CI's sweep."""


def pytest_configure(config: pytest.Config) -> None:
    """Leaves the mark ``sweep`` to CI in a run of all tests. In such a run syrupy would call the snapshots of all other
    cases unused; ``tests/test_snapshots.py`` tells those that no case has.
    """
    if _names_no_test(config):
        config.option.disable_unused_snapshots = True
        config.option.markexpr = config.option.markexpr or "not sweep"


def _names_no_test(config: pytest.Config) -> bool:
    """Whether the command line has no file and no word, and updates no snapshots, of which all cases are needed."""
    updates = config.getoption("update_snapshots", default=False)
    return config.args_source is config.ArgsSource.TESTPATHS and not updates and not config.option.keyword


def pytest_sessionstart(session: pytest.Session) -> None:
    """Lets every other worker import the modules from the last to the first: then pytest rewrites the assertions of
    each in one worker, and not in both.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if int(worker) % 2 and "sweep" in session.config.option.markexpr:
        for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
            with suppress(BaseException):  # collection tells why it cannot be imported, or is skipped
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as ``sweep`` tests of hostile input and of random examples, and all cases of a test but a few. Tests with
    the same cases keep the same ones.
    """
    config.stash[COLLECTED] = collected = defaultdict[Path, set[str]](set)
    for item in items:
        owner = getattr(item, "cls", None)
        collected[item.path].add(f"{owner.__name__}.{item.name}" if owner else item.name)
    surplus = set[pytest.Item]()
    cases_by_test: dict[str, list[tuple[int, pytest.Item]]] = defaultdict(list)
    for item in items:
        test, _, case = item.nodeid.partition("[")
        cases_by_test[test].append((crc32(case.encode()), item))
        is_random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if is_random or item.path.parent.name == "hostile":
            item.add_marker(pytest.mark.sweep)
    for cases in cases_by_test.values():
        cases.sort(key=itemgetter(0))
        if not cases[0][1].get_closest_marker("every_case"):
            for _, item in cases[FEW:]:
                item.add_marker(pytest.mark.sweep)
        if (by_chance := cases[0][1].get_closest_marker("by_chance")) and _names_no_test(config):
            surplus |= {item for _, item in cases[by_chance.args[0] :]}
    config.hook.pytest_deselected(items=[item for item in items if item in surplus])
    items[:] = [item for item in items if item not in surplus]


def pytest_collection_finish() -> None:
    """What is there before the first test stays until the last: looking for garbage in it would take seconds, and so
    would looking every few hundred objects, as is usual, where large files are read. Commands leave their garbage to
    the end of their process, but here one follows the other.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 10, 10)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_settings_of_the_machine() -> None:
    """What a shell or a CI job sets that commands read."""
    for name in [name for name in os.environ if name.startswith(("KUBECTL_TAS_", "GITHUB_STEP_"))]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def solver_where_it_is_asked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """OR-Tools' solver for tests that are marked, which are skipped without: goldens are the same on any machine."""
    if request.node.get_closest_marker("solver") is None:
        monkeypatch.setattr(solver, "is_installed", lambda: False)
    elif not solver.is_installed():
        pytest.skip("OR-Tools is not installed: pip install '.[fit]'")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are being written."""
    return bool(request.config.getoption("update_snapshots", default=False))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """What is kept between runs, in the test's own folder."""
    with closing(Store(tmp_path)) as opened:
        yield opened


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty folder for a repository."""
    root = tmp_path / "repository"
    root.mkdir()
    return root


@pytest.fixture
def reachable() -> Iterator[Path]:
    """An empty folder for a repository in a place that every user can reach."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    for path in (root, *root.rglob("*")):
        path.chmod(0o700)
    shutil.rmtree(root)
