"""The groups of pools and subpools."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.model.pool import Pool, Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

ACCESS_EVERYBODY = Rule(
    "access-everybody",
    Severity.ERROR,
    "The access of a pool names a group that everybody is in.",
    "system:authenticated is every user and every service account of a cluster, system:serviceaccounts every service "
    "account, system:unauthenticated whoever reaches the API server: a Role for one of them opens the namespaces of "
    "the pool to all. Name the groups that are meant. Where the queue is to be open to all who may create work, leave "
    "spec.access.submit out.",
    protects=Waiving.CONFIG,
)
ACCESS_NOBODY = Rule(
    "access-nobody",
    Severity.ERROR,
    "The access of a pool names a user, or a pattern, where groups are named.",
    "Groups are compared as they are written, so nobody is in one called * or system:serviceaccount:ci:deployer: the "
    "Role is bound to no one, and the guard refuses those who were meant. The service accounts of a namespace are the "
    "group system:serviceaccounts:NAMESPACE. Where the queue is to be open to all who may create work, leave "
    "spec.access.submit out.",
)
ACCESS_REPEATED = Rule(
    "access-repeated",
    Severity.WARNING,
    "The access of a pool or subpool names a group twice.",
    "The second one most likely was to be another. Who may submit may view, too. Correct or remove it.",
)
ACCESS_UNGUARDED = Rule(
    "access-unguarded",
    Severity.WARNING,
    "Pools name who may submit, but nothing keeps others out of their queues.",
    "Roles say who may create work in a namespace. KAI does not ask who names a queue: anybody who may create a Pod, "
    "in any namespace, may use any queue. spec.guard of the Config adds the policies that refuse that.",
    protects=Waiving.CONFIG,
)
_EVERYBODY = {
    "system:authenticated": "every user and every service account is in it",
    "system:serviceaccounts": "every service account of the cluster is in it",
    "system:unauthenticated": "whoever reaches the API server is in it",
}


def check_access(fleet: Fleet) -> Iterator[Diagnostic]:
    """The groups of every pool and subpool, whether its parent exists or not."""
    declared: tuple[Declared[Pool] | Declared[Subpool], ...] = (*fleet.repository.pools, *fleet.repository.subpools)
    for item in declared:
        access = item.spec.spec.access
        first: dict[str, Location] = {}
        for field, groups in (("submit", access.submit), ("view", access.view)):
            for index, group in enumerate(groups):
                place = item.at("spec", "access", field, index)
                if group in _EVERYBODY:
                    message = f'"{group}" is no group of a team: {_EVERYBODY[group]}'
                    yield Diagnostic(ACCESS_EVERYBODY, message, place, hint="Name the groups that the pool is for.")
                elif (wrong := _no_group(group)) is not None:
                    message, hint = wrong
                    yield Diagnostic(ACCESS_NOBODY, f'"{group}" is {message}', place, hint=hint)
                elif group in first:
                    yield _repeated(group, place, first[group], submits=field == "view" and group in access.submit)
                first.setdefault(group, place)
    yield from _unguarded(fleet)


def _no_group(name: str) -> tuple[str, str] | None:
    """What a name is that no group has, and what to write; None: it may be one."""
    if name == "*":
        return "no group, and no pattern either", "Name the groups; or leave the list out where all may."
    prefix, _, account = name.partition("system:serviceaccount:")
    if not prefix and account:
        return "a user, not a group", f"Name the group system:serviceaccounts:{account.partition(':')[0]}."
    return None


def _repeated(group: str, place: Location, first: Location, *, submits: bool) -> Diagnostic:
    what = "may submit already, and so may view" if submits else "is listed twice"
    related = (Related("listed here", first),)
    return Diagnostic(ACCESS_REPEATED, f'the group "{group}" {what}', place, related, hint="Remove one of the two.")


def _unguarded(fleet: Fleet) -> Iterator[Diagnostic]:
    """One finding for all, at the first of them: it is the Config that is to change."""
    if fleet.config.guard:
        return
    closed: list[Location] = []
    for pool in (pool for pool in fleet.pools if pool.backend.is_kai):
        live = (subpool.declared for subpool in pool.subpools if subpool.state != "ARCHIVED")
        items: tuple[Declared[Pool] | Declared[Subpool], ...] = (pool.declared, *live)
        closed += (item.at("spec", "access", "submit") for item in items if item.spec.spec.access.submit)
    if closed:
        message = "groups are named that may submit, but others can use the queue all the same, since spec.guard is off"
        hint = "Set spec.guard of the Config to warn, and to enforce once nothing is reported."
        more = tuple(Related("and here", place) for place in closed[1:3])
        yield Diagnostic(ACCESS_UNGUARDED, message, closed[0], more, hint=hint)
