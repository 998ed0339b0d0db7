"""Random lives of subpools by the command line, against a model of what is allowed.

After every step: shared + ACTIVE = pool in the rendered queues, no comment is lost, nothing but the file that a
command is about has changed, and what the model does not allow has left every byte.
"""

from __future__ import annotations

import json
import shutil
import tempfile
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

POOLS = {"team": 100, "lab": 7}
KEYS = [("team", "a"), ("team", "b"), ("team", "c"), ("lab", "a"), ("lab", "b")]
keys = st.sampled_from(KEYS)
quotas = st.one_of(
    st.integers(0, 7), st.integers(0, 120), st.sampled_from(["0%", "14.3%", "28.6%", "33%", "50%", "100%"])
)
usage = st.sampled_from([0, 3])
verbs = st.sampled_from(["create", "update", "update", "delete", "delete", "recreate", "drain"])
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Subpools(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        write(self.root, {f"pools/{name}.yaml": pool(name, quota) for name, quota in POOLS.items()})
        self.states: dict[tuple[str, str], str] = {}
        self.quotas: dict[tuple[str, str], int | str] = {}
        self.comments: dict[Path, list[str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @initialize(quotas=st.tuples(*(st.integers(0, 40) for _ in KEYS[:2])))
    def begin(self, quotas: tuple[int, ...]) -> None:
        for key, quota in zip(KEYS, quotas, strict=False):
            self.create(key, quota)

    @rule(requests=st.lists(st.tuples(verbs, keys, quotas, usage), min_size=8, max_size=12))
    def edit(self, requests: list[tuple[str, tuple[str, str], int | str, int]]) -> None:
        """Several commands in a row: by itself hypothesis would lead few and short lives."""
        for verb, key, quota, used in requests:
            self.check()
            match verb:
                case "create":
                    self.create(key, quota)
                case "update":
                    self.update(key, quota)
                case "delete":
                    self.delete(key, used)
                case "recreate":
                    self.recreate(key, quota if used else None)
                case "drain":
                    self.drain(used)

    def create(self, key: tuple[str, str], quota: int | str) -> None:
        allowed = key not in self.states and self.fits(key, quota)
        self.command(["create", *key, "--quota", quota], {key: "ACTIVE"} if allowed else None, quota)

    def update(self, key: tuple[str, str], quota: int | str) -> None:
        allowed = self.states.get(key) == "ACTIVE" and self.fits(key, quota)
        self.command(["update", *key, "--quota", quota], {key: "ACTIVE"} if allowed else None, quota)

    def delete(self, key: tuple[str, str], used: int) -> None:
        after = {key: "DELETING" if used else "ARCHIVED"}
        self.command(["delete", *key, "--used", used], after if self.states.get(key) == "ACTIVE" else None)

    def recreate(self, key: tuple[str, str], quota: int | str | None) -> None:
        allowed = self.states.get(key) == "ARCHIVED" and self.fits(key, self.quotas[key] if quota is None else quota)
        given = [] if quota is None else ["--quota", quota]
        self.command(["recreate", *key, *given], {key: "ACTIVE"} if allowed else None, quota)

    def drain(self, used: int) -> None:
        drained = [key for key, state in self.states.items() if state == "DELETING" and not used]
        self.command(["drain", "--used", used], dict.fromkeys(drained, "ARCHIVED"))

    @rule(key=keys, quota=quotas)
    def dry_run(self, key: tuple[str, str], quota: int | str) -> None:
        before = self.content()
        self.run("create", *key, "--quota", quota, "--dry-run")
        self.run("update", *key, "--quota", quota, "--dry-run")
        self.run("delete", *key, "--used", 0, "--dry-run")
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

    def fits(self, key: tuple[str, str], quota: int | str) -> bool:
        """Whether a subpool may be ACTIVE with ``quota`` beside the other ACTIVE ones."""
        parent = key[0]
        others = [other for other, state in self.states.items() if state == "ACTIVE" and other != key]
        held = sum(gpus(self.quotas[other], parent) for other in others if other[0] == parent)
        return held + gpus(quota, parent) <= POOLS[parent]

    def command(
        self, arguments: list[Any], after: dict[tuple[str, str], str] | None, quota: int | str | None = None
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
        result = kubectl_tas("render", "-o", "-", "-C", self.root)
        assert (result.code, result.err) == (0, "")
        objects = [item for item in yaml.load_all(result.out, LOADER) if item["kind"] == "Queue"]
        found = {item["metadata"]["name"]: item["spec"]["resources"]["gpu"]["quota"] for item in objects}
        expected: dict[str, int] = {"osmo-default-default": -1}
        for parent, whole in POOLS.items():
            states = {key: state for key, state in self.states.items() if key[0] == parent}
            active = {key: gpus(self.quotas[key], parent) for key, state in states.items() if state == "ACTIVE"}
            queue = f"osmo-pool-default-{parent}"
            expected |= {queue: whole, f"{queue}--shared": whole - sum(active.values())}
            live = [key for key, state in states.items() if state != "ARCHIVED"]
            expected |= {f"{queue}--{key[1]}": active.get(key, 0) for key in live}
        assert found == expected

    def states_are_those_of_the_model(self) -> None:
        listed = json.loads(self.run("list", "-o", "json").out)["subpools"]
        assert {(item["pool"], item["name"]): item["state"] for item in listed} == self.states

    def no_comment_is_lost(self) -> None:
        for file, comments in self.comments.items():
            text = file.read_text()
            assert text.count("#") == len(comments)
            assert all(comment in text for comment in comments)


def gpus(quota: int | str, parent: str) -> int:
    """Whole GPUs of a quota."""
    return quota if isinstance(quota, int) else floor(float(quota.rstrip("%")) * POOLS[parent] / 100 + 1e-9)


Subpools.TestCase.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)
TestSubpools = Subpools.TestCase
