"""A session with what changed since an earlier revision, and with what differs from a cluster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from kubectl_tas.cli.session import Session

if TYPE_CHECKING:
    from types import FrameType

    from kubectl_tas.live.grove import GroveState
    from kubectl_tas.resolve.fleet import Fleet


def with_changes(session: Session, base: str | None, cluster: Mapping[str, str | None] | None) -> Session:
    """The session with the findings of both comparisons added; None leaves one out.

    Raises TasError where the revision or the cluster cannot be read.
    """
    from kubectl_tas.compare.change import Change, check_transitions
    from kubectl_tas.compare.cluster import check_drift
    from kubectl_tas.diagnostics import in_order

    before, unread = _fleet_at(session, base) if base is not None else (None, ())
    found = list(session.diagnostics)
    state = _grove_state(cluster, session.fleet, before) if cluster is not None else None
    if state is not None:
        found += check_drift(session.fleet, state)
    if before is not None and base is not None:
        queues = _queues(cluster, before, session.fleet) if cluster is not None else {}
        found += check_transitions(Change(before, session.fleet, base, session.complete, state, queues, unread))
    return replace(session, diagnostics=in_order(found))


def _grove_state(cluster: Mapping[str, str | None], *fleets: Fleet | None) -> GroveState | None:
    """Grove's objects of the cluster; None where there is nothing of Grove to compare.

    Where there are but topologies, which pools may use too, Grove need not be installed.
    """
    from kubectl_tas.live.kubectl import NoSuchResourceError

    repositories = [fleet.repository for fleet in fleets if fleet is not None]
    needs_grove = any(item.pod_clique_sets or item.operators for item in repositories)
    if not needs_grove and not any(item.topologies for item in repositories):
        _must_be_readable(cluster)
        return None
    try:
        return read_grove(cluster)
    except NoSuchResourceError:
        if needs_grove:
            raise
        return None


def read_grove(options: Mapping[str, str | None]) -> GroveState:
    """Grove's objects of the cluster, or of the file, that the options name. Raises TasError."""
    from kubectl_tas.live.grove import from_cluster, from_file
    from kubectl_tas.live.kubectl import Access

    path = options.get("cluster_state")
    namespace = options.get("namespace")
    if path is not None:
        return from_file(path, namespace)
    return from_cluster(Access(options.get("context"), options.get("kubeconfig"), namespace))


def _must_be_readable(options: Mapping[str, str | None]) -> None:
    """Raises TasError where there is a file that cannot be read, although nothing is asked of it."""
    from kubectl_tas.live.kubectl import read_file

    path = options.get("cluster_state")
    if path is not None:
        read_file(path)


def _fleet_at(session: Session, base: str) -> tuple[Fleet, tuple[str, ...]]:
    """The fleet at a revision, and the places there that could not be read."""
    from kubectl_tas.diagnostics import Severity, in_order
    from kubectl_tas.load.repository import load_repository
    from kubectl_tas.load.revision import checked_out
    from kubectl_tas.resolve.fleet import resolve

    with _tidied_when_ended(), checked_out(session.root, base) as source:
        loaded = load_repository(source)
    errors = (item for item in in_order(loaded.diagnostics) if item.severity is Severity.ERROR)
    return resolve(loaded.repository), tuple(str(item.location) for item in errors)


@contextmanager
def _tidied_when_ended() -> Iterator[None]:
    """While this lasts, a signal that ends the program lets it remove its temporary folder first."""
    signals = [number for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if number is not None]
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may ask for signals
    ours = [number for number in signals if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _queues(cluster: Mapping[str, str | None], before: Fleet, after: Fleet) -> dict[str, bool]:
    """Whether anything runs in each queue of the cluster, as far as it says so; nothing without a reason to ask."""
    from kubectl_tas.cli.cluster import read_cluster

    topologies = before.repository.topologies or before.repository.operators
    work = after.workflows or after.workloads or after.pod_groups
    if not before.repository.subpools and not (topologies and work):
        return {}
    known = {name: usage.in_use for name, usage in read_cluster(cluster).queues.items()}
    return {name: in_use for name, in_use in known.items() if in_use is not None}
