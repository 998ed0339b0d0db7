"""Tests random command lines about subpools against a model of the allowed ones.

After every step: shared + ACTIVE = pool in the rendered queues of each resource, no comment is lost, only the file of
the command has changed, and a command that the model forbids has not changed any byte.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import yaml
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubectl_tas.resolve.pools import TRANSITIONS
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.rendered import files_below

GI = 2**30
POOLS = {"team": (100, 2_000_000, 8192 * GI), "lab": (7, None, None), "faculty": (50, None, None)}
"""Guaranteed GPUs, millicores and bytes; None: no limit."""
PARENTS = {"lab": "faculty"}
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec: {resources: {gpu: {guarantee: 100}, cpu: {guarantee: 2000}, memory: {guarantee: 8Ti}}}
"""
RESOURCES = ("gpu", "cpu", "memory")
Quota = dict[str, int | str]
"""What was asked last of each resource; a share of GPUs is one of all that is not named."""
KEYS = [("team", "a"), ("team", "b"), ("team", "c"), ("lab", "a"), ("lab", "b"), ("faculty", "a"), ("faculty", "b")]
keys = st.sampled_from(KEYS)
shares = st.sampled_from(["0%", "14.3%", "28.6%", "33%", "50%", "100%"])
gpu_quotas: st.SearchStrategy[int | str] = st.one_of(st.integers(0, 7), st.integers(0, 120), shares)
others = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.one_of(st.integers(0, 1200), st.sampled_from(["500m", "0.5", "33%"])),
        "memory": st.sampled_from(["0", "1.5Ti", "249Gi", "3Ti", "500G", "33%"]),
    },
)
quotas: st.SearchStrategy[Quota] = st.builds(lambda gpu, more: {"gpu": gpu, **more}, gpu_quotas, others)
usage = st.sampled_from([0, 3])
verbs = st.sampled_from(["create", "update", "update", "retire", "retire", "recreate", "drain"])
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Subpools(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        write(self.root, {"pools/team.yaml": POOL, "pools/lab.yaml": pool("lab", 7, "  parent: faculty\n")})
        write(self.root, {"pools/faculty.yaml": pool("faculty", 50)})
        self.states: dict[tuple[str, str], str] = {}
        self.quotas: dict[tuple[str, str], Quota] = {}
        self.comments: dict[Path, list[str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @initialize(quotas=st.tuples(*(st.integers(0, 40) for _ in KEYS[:2])))
    def begin(self, quotas: tuple[int, ...]) -> None:
        for key, quota in zip(KEYS, quotas, strict=False):
            self.create(key, {"gpu": quota})

    @rule(requests=st.lists(st.tuples(verbs, keys, quotas, usage), min_size=8, max_size=12))
    def edit(self, requests: list[tuple[str, tuple[str, str], Quota, int]]) -> None:
        """Several commands in a row: by itself hypothesis would lead few and short lives."""
        for verb, key, quota, used in requests:
            self.check()
            match verb:
                case "create":
                    self.create(key, quota)
                case "update":
                    self.update(key, quota)
                case "retire":
                    self.delete(key, used)
                case "recreate":
                    self.recreate(key, quota if used else None)
                case "drain":
                    self.drain(used)

    def create(self, key: tuple[str, str], quota: Quota) -> None:
        allowed = key not in self.states and self.fits(key, quota)
        self.command(["create", *key, *options(quota)], {key: "ACTIVE"} if allowed else None, full(key, quota))

    def update(self, key: tuple[str, str], quota: Quota) -> None:
        after = {**self.quotas.get(key, {}), **full(key, quota)}
        allowed = self.states.get(key) == "ACTIVE" and self.fits(key, after)
        self.command(["update", *key, *options(quota)], {key: "ACTIVE"} if allowed else None, after)

    def delete(self, key: tuple[str, str], used: int) -> None:
        after = {key: "DELETING" if used else "ARCHIVED"}
        self.command(["retire", *key, "--used", used], after if self.states.get(key) == "ACTIVE" else None)

    def recreate(self, key: tuple[str, str], quota: Quota | None) -> None:
        after = {**self.quotas.get(key, {}), **full(key, quota or {})}
        allowed = self.states.get(key) == "ARCHIVED" and self.fits(key, after)
        self.command(["recreate", *key, *options(quota or {})], {key: "ACTIVE"} if allowed else None, after)

    def drain(self, used: int) -> None:
        drained = [key for key, state in self.states.items() if state == "DELETING" and not used]
        self.command(["drain", "--used", used], dict.fromkeys(drained, "ARCHIVED"))

    @rule(key=keys, quota=quotas)
    def dry_run(self, key: tuple[str, str], quota: Quota) -> None:
        before = self.content()
        self.run("create", *key, *options(quota), "--dry-run")
        self.run("update", *key, *options(quota), "--dry-run")
        self.run("retire", *key, "--used", 0, "--dry-run")
        self.run("drain", "--used", 0, "--dry-run")
        assert self.content() == before

    @rule()
    def render(self) -> None:
        result = kubectl_tas("render", "-C", self.root)
        assert result.code == 0, result
        assert kubectl_tas("check", "-C", self.root).code == 0

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def comment(self, data: st.DataObject) -> None:
        """A person writes a comment into a file, on a line of its own or behind a value."""
        file = data.draw(st.sampled_from(sorted((self.root / "subpools").iterdir())))
        lines = file.read_text().splitlines(keepends=True)
        place = data.draw(st.integers(0, len(lines) - 1))
        text = f"# {file.name} {len(self.comments.get(file, ()))} kept"
        if data.draw(st.booleans()):
            lines[place] = f"{lines[place].rstrip()}  {text}\n"
        else:
            lines.insert(place, f"{data.draw(st.sampled_from(['', '  ', '       ']))}{text}\n\n")
        file.write_text("".join(lines))
        self.comments.setdefault(file, []).append(text)

    def fits(self, key: tuple[str, str], quota: Quota) -> bool:
        """Whether a subpool may be ACTIVE with ``quota`` beside the other ACTIVE ones."""
        parent = key[0]
        others = [other for other, state in self.states.items() if state == "ACTIVE" and other != key]
        active = [other for other in others if other[0] == parent]
        for index, resource in enumerate(RESOURCES):
            whole = POOLS[parent][index]
            if whole is None and resource in quota:
                return False
            held = sum(amount(self.quotas[other], resource, parent) for other in active) + below(parent, index)
            if whole is not None and held + amount(quota, resource, parent) > whole:
                return False
        return True

    def command(
        self, arguments: list[Any], after: dict[tuple[str, str], str] | None, quota: Quota | None = None
    ) -> None:
        """Runs a command that leads to the states ``after``; None: it is refused."""
        before = self.content()
        result = self.run(*arguments)
        now = self.content()
        if after is None:
            assert (result.code, result.out) == (1, ""), result
            assert "error: " in result.err
            assert now == before
            return
        assert result.code == 0, result
        changed = {path for path in now if now[path] != before.get(path)}
        assert changed <= {self.root / f"subpools/{parent}--{name}.yaml" for parent, name in after}
        for key, state in after.items():
            old = self.states.get(key)
            assert old in (None, state) or state in TRANSITIONS[old]  # type: ignore[index]
            self.states[key] = state
            if quota is not None:
                self.quotas[key] = quota

    def run(self, *arguments: Any) -> Result:
        return kubectl_tas("subpool", *arguments, "-C", self.root)

    def content(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in files_below(self.root)}

    @invariant()
    def check(self) -> None:
        self.queues_add_up()
        self.states_are_those_of_the_model()
        self.no_comment_is_lost()

    def queues_add_up(self) -> None:
        result = kubectl_tas("render", "--to", "-", "-C", self.root)
        assert result.code == 0, result.err
        assert all("[quota-resource-missing]" in line for line in result.err.splitlines() if "warning:" in line)
        objects = [item for item in yaml.load_all(result.out, LOADER) if item["kind"] == "Queue"]
        for index, resource in enumerate(RESOURCES):
            found = {item["metadata"]["name"]: item["spec"]["resources"][resource]["quota"] for item in objects}
            if resource == "memory":  # as KAI reads it
                found = {name: -1 if quota == -1 else round(quota * 10**6) for name, quota in found.items()}
            assert found == self.expected(resource, index)
        parents = {item["metadata"]["name"]: item["spec"].get("parentQueue") for item in objects}
        assert all(parents[f"osmo-pool-default-{pool}"] == f"osmo-pool-default-{up}" for pool, up in PARENTS.items())

    def expected(self, resource: str, index: int) -> dict[str, int]:
        """The quotas of all queues."""
        expected: dict[str, int] = {"osmo-default-default": -1}
        for parent, amounts in POOLS.items():
            whole, queue = amounts[index], f"osmo-pool-default-{parent}"
            states = {key: state for key, state in self.states.items() if key[0] == parent}
            held = {key: amount(self.quotas[key], resource, parent) for key, now in states.items() if now == "ACTIVE"}
            live = [key for key, state in states.items() if state != "ARCHIVED"]
            if whole is None:
                expected |= dict.fromkeys((queue, f"{queue}--shared", *(f"{queue}--{key[1]}" for key in live)), -1)
            else:
                expected |= {queue: whole, f"{queue}--shared": whole - sum(held.values()) - below(parent, index)}
                expected |= {f"{queue}--{key[1]}": held.get(key, 0) for key in live}
        return expected

    def states_are_those_of_the_model(self) -> None:
        listed = json.loads(self.run("list", "-o", "json").out)["subpools"]
        assert {(item["pool"], item["name"]): item["state"] for item in listed} == self.states

    def no_comment_is_lost(self) -> None:
        for file, comments in self.comments.items():
            text = file.read_text()
            assert text.count("#") == len(comments)
            assert all(comment in text for comment in comments)


def below(parent: str, index: int) -> int:
    """What the pools below one are guaranteed of a resource."""
    return sum(POOLS[child][index] or 0 for child, above in PARENTS.items() if above == parent)


def options(quota: Quota) -> list[int | str]:
    """A quota on the command line."""
    names = {"gpu": "--quota", "cpu": "--cpu", "memory": "--memory"}
    return [word for resource, value in quota.items() for word in (names[resource], value)]


def full(key: tuple[str, str], quota: Quota) -> Quota:
    """What a quota means for each resource that the pool divides."""
    gpu = quota.get("gpu")
    divided = [name for name, whole in zip(RESOURCES, POOLS[key[0]], strict=True) if whole is not None]
    return {**(dict.fromkeys(divided, gpu) if isinstance(gpu, str) else {}), **quota}


def amount(quota: Quota, resource: str, parent: str) -> int:
    """GPUs, millicores or bytes of a quota."""
    written, whole = str(quota.get(resource, 0)), POOLS[parent][RESOURCES.index(resource)]
    if written.endswith("%"):
        unit = 2**20 if resource == "memory" else 1
        return floor(Fraction(written.rstrip("%")) * (whole or 0) / 100 / unit) * unit
    if resource == "memory":
        units = {"Ti": 2**40, "Gi": GI, "G": 10**9}
        number = written.rstrip("TGi")
        return int(Fraction(number) * units.get(written[len(number) :], 1))
    return int(Fraction(written.rstrip("m")) * (1 if written.endswith("m") or resource == "gpu" else 1000))


Subpools.TestCase.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
TestSubpools = Subpools.TestCase
