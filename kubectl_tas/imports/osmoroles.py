"""Reads OSMO's roles: which groups of users may send work to a pool, and which groups may see the pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_tas.diagnostics import TasError
from kubectl_tas.late import dataclass

Action = Literal["workflow:Create", "workflow:Read"]
"""The actions that become ``submit`` and ``view`` of a pool's ``access``."""
ASKED: tuple[Action, ...] = ("workflow:Create", "workflow:Read")


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that allows or denies actions."""

    denies: bool
    actions: tuple[str, ...]
    """Actions, for example ``workflow:Create``, with ``*`` for any part."""
    resources: tuple[str, ...]
    """Resources, for example ``pool/research``, with ``*`` at the end for any."""
    others: tuple[str, ...]
    """Further fields, which OSMO does not know."""

    def decides(self, asked: str, pool: str) -> bool:
        """Whether the policy applies to an action in a pool, by the rules of OSMO's roles/action_registry.go."""
        return any(_has_action(x, asked) for x in self.actions) and any(_has_pool(x, pool) for x in self.resources)


@dataclass(frozen=True, slots=True)
class Role:
    """A role with the groups that have it."""

    groups: tuple[str, ...]
    policies: tuple[Policy, ...]

    def allows(self, asked: str, pool: str) -> bool:
        """Whether the role allows an action in a pool. A denial has precedence."""
        decisive = [policy for policy in self.policies if policy.decides(asked, pool)]
        return bool(decisive) and not any(policy.denies for policy in decisive)

    def unplaced(self, pools: Iterable[str]) -> Iterator[str]:
        """Yields the parts of the role that ``access`` of these pools cannot express, with reasons."""
        known = tuple(pools)
        elsewhere: list[str] = []
        for policy in self.policies:
            if policy.others:
                yield f"policies: {', '.join(policy.others)}: OSMO is not known to read it"
            mine = [x for x in policy.resources if any(_has_pool(x, pool) for pool in known)]
            if policy.denies:
                what = f"Deny {', '.join(policy.actions)} of {', '.join(policy.resources) or 'all'}"
                yield f"{what}: it counts only within this role; members of another group also have that group's rights"
                continue
            lost = (x for x in policy.resources if x.startswith("pool/") and x not in mine)
            yield from (f"{x}: there is no such pool among those that are imported" for x in lost)
            elsewhere += [x for x in policy.actions if not mine or not any(_has_action(x, asked) for asked in ASKED)]
        if elsewhere:
            yield f"{', '.join(dict.fromkeys(elsewhere))}: access of a pool has submit and view alone"
        if not self.groups:
            yield "external_roles: no group has it, and OSMO does not list the users who have it"


def read_role(name: str, data: dict[str, Any]) -> Role:
    """Reads a role of OSMO. Raises TasError if the role is malformed."""
    given = data.get("external_roles")
    groups = [name] if given is None else given
    policies = data.get("policies") or []
    if not isinstance(policies, list) or not all(isinstance(policy, dict) for policy in policies):
        raise TasError(f"the policies of the ROLE {name} are no list of mappings", hint="OSMO has a list there.")
    return Role(_texts(name, "external_roles", groups), tuple(_policy(name, policy) for policy in policies))


def groups_of(roles: Iterable[Role], asked: Action, pool: str) -> list[str]:
    """Returns the groups that a role allows this action in a pool, in order, each once."""
    return list(dict.fromkeys(group for role in roles if role.allows(asked, pool) for group in role.groups))


def _policy(name: str, data: dict[str, Any]) -> Policy:
    actions = data.get("actions", [])
    listed = actions if isinstance(actions, list) else [actions]
    plain = [item.get("action") if isinstance(item, dict) else item for item in listed]
    return Policy(
        data.get("effect") == "Deny",
        _texts(name, "actions", plain),
        _texts(name, "resources", data.get("resources") or []),
        tuple(key for key in data if key not in ("effect", "actions", "resources")),
    )


def _texts(name: str, field: str, data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
        raise TasError(f"{field} of the ROLE {name} is no list of texts", hint="OSMO has a list of texts there.")
    return tuple(data)


def _has_action(pattern: str, action: str) -> bool:
    subject, _, verb = pattern.partition(":")
    own_subject, _, own_verb = action.partition(":")
    return pattern == "*" or (subject in ("*", own_subject) and verb in ("*", own_verb))


def _has_pool(pattern: str, pool: str) -> bool:
    resource = f"pool/{pool}"
    return resource.startswith(pattern[:-1]) if pattern.endswith("*") else pattern == resource
