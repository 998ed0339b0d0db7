"""Tests random command lines about pools, which are renamed, removed and declared again while work begins, drains and
ends, and moved below one another by hand.

After every step the repository must validate without a warning, the queues must equal those of the model, and a step
that the model forbids must not have changed any byte.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.pyyaml import safe_load_all
from tests.support.rendered import files_below

NAMES = st.sampled_from(["team", "lab", "night-shift"])
PARENTS = st.sampled_from(["anchor", "team", "lab", "night-shift"])
SPELLINGS = st.sampled_from([str, str.upper, lambda name: name.replace("-", "_")])
WORKFLOW = "workflow: {{name: {}, pool: {}--a, tasks: [{{name: t, image: i}}]}} # {}\n"


class Pools(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        write(self.root, {"pools/anchor.yaml": pool("anchor", 150)})
        self.count = 0
        self.states: dict[str, str] = {}
        """Of the one subpool of each pool, by what the pool is called now."""
        self.work: dict[str, Path] = {}
        """The file of the workflow that is sent there."""
        self.guarantees = {"anchor": 150}
        self.parents: dict[str, str] = {}
        """The pool above each that has one."""

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(name=NAMES)
    def declare(self, name: str) -> None:
        if name not in self.states:
            self.count += 1
            self.guarantees[name] = 100 // (1 + self.count % 3)
            own = pool(name, self.guarantees[name])
            text = f"# no {self.count}\n{own}---\n{subpool('a', 30, parent=name)}"
            for record in (self.root / "pools").glob("*.yaml"):  # of a pool that was called so before
                if "state: ARCHIVED" in record.read_text() and f"parent: {name}\n" in record.read_text():
                    text = f"# no {self.count}\n{own}"
            write(self.root, {f"pools/{self.count}.yaml": text})
            self.states[name] = "ARCHIVED" if "Subpool" not in text else "ACTIVE"

    @rule(old=NAMES, new=NAMES, spell=SPELLINGS)
    def rename(self, old: str, new: str, spell: Any) -> None:
        record = any(f"parent: {new}\n" in text.decode() for text in self.content().values())
        if new in self.states or old not in self.states or not record:
            allowed = old in self.states and new not in self.states
            self.run("pool", "rename", spell(old), new, allowed=allowed)
            if allowed:
                self.states[new] = self.states.pop(old)
                self.guarantees[new] = self.guarantees.pop(old)
                if old in self.work:
                    self.work[new] = self.work.pop(old)
                if old in self.parents:
                    self.parents[new] = self.parents.pop(old)
                self.parents |= {child: new for child, parent in self.parents.items() if parent == old}

    @rule(name=NAMES, spell=SPELLINGS)
    def remove(self, name: str, spell: Any) -> None:
        allowed = name in self.states and name not in self.work and name not in self.parents.values()
        self.run("pool", "remove", spell(name), allowed=allowed)
        if allowed:
            del self.states[name]
            self.parents.pop(name, None)

    @rule(name=NAMES, parent=PARENTS)
    def hang(self, name: str, parent: str) -> None:
        """Below another pool or, where it hangs there, at the top again: each is guaranteed a part of what its parent
        has left, and a circle is refused.
        """
        if name not in self.states or parent not in ("anchor", *self.states):
            return
        file = next(file for file in self.content() if f"\n  name: {name}\nspec:" in file.read_text().split("---")[0])
        before = file.read_text()
        if self.parents.get(name) == parent:
            file.write_text(before.replace(f"  parent: {parent} # below\n", "", 1))
            del self.parents[name]
            return
        old = self.parents.get(name)
        plain = before.replace(f"  parent: {old} # below\n", "", 1)
        file.write_text(plain.replace("spec:\n", f"spec:\n  parent: {parent} # below\n", 1))
        said = kubectl_tas("validate", "-C", self.root)
        circular, fits = parent == name or name in self.chain(parent), self.guarantees[name] <= self.left(parent)
        assert ("[parent-invalid]" in said.out) == circular
        assert circular or (said.code == 0) == fits, said.out
        if circular or not fits:
            file.write_text(before)
        else:
            self.parents[name] = parent

    def left(self, name: str) -> int:
        """What the parts of a pool leave to it."""
        below = sum(self.guarantees[child] for child, parent in self.parents.items() if parent == name)
        return self.guarantees[name] - below - (30 if self.states.get(name) == "ACTIVE" else 0)

    def chain(self, name: str) -> list[str]:
        """The pools above one."""
        found = []
        while name in self.parents:
            name = self.parents[name]
            found.append(name)
        return found

    @rule(name=NAMES)
    def begin_or_end_work(self, name: str) -> None:
        if name in self.work:
            self.work.pop(name).unlink()
        elif self.states.get(name) == "ACTIVE":
            self.count += 1
            self.work[name] = self.root / f"workflows/w{self.count}.yaml"
            write(self.root, {f"workflows/w{self.count}.yaml": WORKFLOW.format(f"w{self.count}", name, self.count)})

    @rule(name=NAMES, used=st.sampled_from([0, 3]), spell=SPELLINGS)
    def delete(self, name: str, used: int, spell: Any) -> None:
        allowed = self.states.get(name) == "ACTIVE"
        self.run("subpool", "retire", f"{spell(name)}--A", "--used", used, allowed=allowed)
        if allowed:
            self.states[name] = "DELETING" if used or name in self.work else "ARCHIVED"

    @rule(used=st.sampled_from([0, 3]))
    def drain(self, used: int) -> None:
        self.run("subpool", "drain", "--used", used, allowed=True)
        for name, state in self.states.items():
            if state == "DELETING" and name not in self.work and not used:
                self.states[name] = "ARCHIVED"

    @rule(name=NAMES)
    def recreate(self, name: str) -> None:
        allowed = self.states.get(name) == "ARCHIVED" and self.left(name) >= 30
        self.run("subpool", "recreate", name, "a", allowed=allowed)
        if allowed:
            self.states[name] = "ACTIVE"

    def run(self, *arguments: Any, allowed: bool) -> None:
        before = self.content()
        result = kubectl_tas(*arguments, "-C", self.root)
        assert result.code == (0 if allowed else 1), result
        assert allowed or self.content() == before

    def content(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in files_below(self.root)}

    @invariant()
    def queues_are_those_of_the_model(self) -> None:
        checked = kubectl_tas("validate", "--strict", "-C", self.root)
        assert checked.code == 0, checked
        objects = safe_load_all(kubectl_tas("render", "--to", "-", "-C", self.root).out)
        queues = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "Queue"}
        found = set(queues)
        expected = {"osmo-default-default"}
        for name in ("anchor", *self.states):
            expected |= {f"osmo-pool-default-{name}", f"osmo-pool-default-{name}--shared"}
            expected |= {f"osmo-pool-default-{name}--a"} if self.states.get(name, "ARCHIVED") != "ARCHIVED" else set()
        assert found == expected
        seen: set[str] = set()
        for name, spec in queues.items():  # parents before what is below them
            assert spec.get("parentQueue") in (*seen, None)
            seen.add(name)
        for name in ("anchor", *self.states):
            queue, parent = f"osmo-pool-default-{name}", self.parents.get(name)
            above = f"osmo-pool-default-{parent}" if parent else "osmo-default-default"
            assert queues[queue]["parentQueue"] == above
            assert queues[f"{queue}--shared"]["resources"]["gpu"]["quota"] == self.left(name)

    @invariant()
    def no_comment_is_lost(self) -> None:
        assert all(file.read_text().count("#") == 1 for file in self.work.values())


Pools.TestCase.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
TestPools = Pools.TestCase
