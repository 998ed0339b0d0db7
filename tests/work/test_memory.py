"""Tests that a run keeps no documents and manifests of work that was judged alone. It counts objects, not bytes."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from ruamel.yaml.nodes import Node

from kubectl_tas.emit.file_plan import layout
from kubectl_tas.emit.manifest_text import Deferred
from kubectl_tas.load.document import Document, RootNodes
from kubectl_tas.load.source import MemorySource
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.work import manifests, outcome
from kubectl_tas.work.manifests import KeptManifest
from kubectl_tas.work.run import Effort, JudgedRepository, manifests_in_order, texts_of
from tests.work.repositories import POOL, run

WORKFLOW = """\
workflow:
  name: train-{number}
  pool: team
  tasks:
  - {{name: main, image: "busybox:1.37", command: [sleep, "1"]}}
  resources: {{default: {{gpu: 1, cpu: 1, memory: 1Gi}}}}
"""
HELD = (Node, Document, Artifact)


def held_by(workflows: int) -> tuple[JudgedRepository, Counter[type]]:
    """A run, and how many objects of each kind there are more than before it."""
    files = {"pools/team.yaml": POOL.format(name="team", gpus=8 * 2000).encode()}
    files |= {f"workflows/w{n:04}.yaml": WORKFLOW.format(number=n).encode() for n in range(workflows)}
    before = alive()
    found = run(MemorySource(files), Effort(processes=1), render=True)
    return found, alive() - before


def alive() -> Counter[type]:
    for recent in RootNodes._recent:  # the same few, however much was read
        recent._roots, recent.keys = None, {}
    gc.collect()
    return Counter(kind for item in gc.get_objects() for kind in HELD if isinstance(item, kind))


@pytest.mark.sweep
def test_work_is_let_go() -> None:
    """2,000 workflows leave no more documents, nodes and artifacts than 20 do: those of what is shared."""
    held_by(20)  # what is made once
    _, few = held_by(20)
    found, many = held_by(2000)
    assert len(found.outcomes) == 2000
    assert all(found.files.manifests.get(path) for path in found.outcomes)
    assert many == few


def test_manifests_hold_little() -> None:
    """Lists of them are out of memory, what many have in common is there once, and their texts hold none of them."""
    found, _ = held_by(20)
    assert all(item.manifests is None for item in found.files.outcomes.values())
    kept = [item for item in manifests_in_order(found, found.fleet) if isinstance(item, KeptManifest)]
    texts = [text for text in map(texts_of(found), kept) if isinstance(text, Deferred)]
    assert len(texts) >= 20
    assert len({id(text.maker) for text in texts}) == 1
    assert not any(isinstance(part, KeptManifest) for text in texts for part in text)
    for name in ("backend", "api_version", "pool"):
        assert len({id(getattr(item, name)) for item in kept}) == len({getattr(item, name) for item in kept})


def test_objects_are_let_go_as_they_are_laid_out() -> None:
    class Made(SimpleNamespace):
        """An object whose end is seen."""

    about = {"backend": "prod", "folder": "workflows", "apply": True, "pool": None, "is_work": True}
    made = [Made(file=f"pod-{number}.yaml", **about) for number in range(5)]
    seen, held = [weakref.ref(item) for item in made], list[int]()

    def read(item: Made) -> str:
        held.append(sum(one() is not None for one in seen))
        return f"{item.file}\n"

    each = iter(made)
    del made
    files = layout(each, ConfigSpec(), "tas.yaml", read=read)  # type: ignore[type-var, arg-type]
    assert [path for path in files if "pod-" in path] == [f"manifests/workflows/pod-{n}.yaml" for n in range(5)]
    assert held == [5, 4, 3, 2, 1], "the one that is read, and those to come"


@pytest.mark.sweep
@pytest.mark.parametrize("held", ["documents", "artifacts"])
def test_what_is_held_is_seen(held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count above would tell."""
    kept: list[object] = []
    resolve, compiled = outcome.resolve_work, manifests.compile_work

    def holding_documents(repository: object, context: object) -> Fleet:
        kept.append(repository)
        return resolve(repository, context)  # type: ignore[arg-type]

    def holding_artifacts(fleet: Fleet) -> Sequence[Artifact]:
        kept.append(made := tuple(compiled(fleet)))
        return made

    held_by(1)
    _, few = held_by(1)
    if held == "documents":
        monkeypatch.setattr(outcome, "resolve_work", holding_documents)
    else:
        monkeypatch.setattr(manifests, "compile_work", holding_artifacts)
    _, many = held_by(20)
    more = many - few
    assert more[Artifact if held == "artifacts" else Document] >= 20, more
