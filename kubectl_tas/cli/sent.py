"""What words of the command line name of what is sent to queues."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kubectl_tas.resolve.fleet import Fleet, files_of, no_work
from kubectl_tas.resolve.pools import Submission


def named(fleet: Fleet, known: Sequence[Submission], wanted: str) -> list[Submission]:
    """What of ``known`` is called so, or is in that file; a usage error where there is none."""
    paths = [*files_of(fleet.repository, wanted), wanted.removeprefix("./")]
    meant = {id(item) for item in fleet.submissions_in(paths, wanted)}
    found = [item for item in known if id(item) in meant]
    if not found:
        raise click.UsageError(no_work(fleet, known, "workflow", wanted))
    return found
