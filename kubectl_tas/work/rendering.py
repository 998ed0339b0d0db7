"""Collects the objects of a run and their texts, from artifacts and from files that were compiled by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from kubectl_tas.compile import compile_shared, compile_work, in_order_of_application
from kubectl_tas.emit.manifest_text import Deferred, file_text
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.work.manifests import Object, objects, objects_of
from kubectl_tas.work.outcome import work_of
from kubectl_tas.work.processes import Spool, Strip, outcomes, processes_for
from kubectl_tas.work.run import Run


def objects_to_apply(run: Run, fleet: Fleet) -> tuple[Artifact | Object, ...]:
    """Returns all objects of a repository without errors, by backend and then in the order of application. ``fleet`` is
    the fleet of the run, perhaps with other shared settings.
    """
    if run.is_empty:
        return ()
    made: list[Artifact | Object] = [*compile_shared(fleet), *compile_work(fleet)]
    for path in run.outcomes:
        written = run.survey.objects.get(path)
        made += objects_of(_again(run, path) if written is None else written, path)
    return in_order_of_application(fleet, made)


def texts_of(run: Run) -> Callable[[Artifact | Object], str | Deferred]:
    """Returns a function that gives the text of an object's file. The function may be used after the object is gone."""
    read = partial(_text, run)

    def text_of(item: Artifact | Object) -> str | Deferred:
        if isinstance(item, Artifact):
            return file_text(item)
        return Deferred(item.digest, item.source, (item.at, item.size), read)

    return text_of


def make_texts(run: Run, sources: Iterable[str]) -> None:
    """Makes the texts of files that were kept without them, in one batch."""
    known, effort = run.survey.strips, run.survey.effort
    missing = [run.survey.parts.raws[path] for path in sorted(run.outcomes.keys() & set(sources) - known.keys())]
    many = processes_for(len(missing)) if effort.processes is None else effort.processes
    for done in outcomes(missing, run.survey.shared, many, render=True) if len(missing) > 1 else ():
        if done.texts is not None and done.outcome.objects is not None:
            known[done.raw.path] = done.texts


def _text(run: Run, source: str, at: int, size: int) -> str:
    if source not in run.survey.strips:
        _again(run, source)
    return run.survey.strips[source].text(at, size)


def _again(run: Run, path: str) -> str:
    """Compiles a file once more, for its texts."""
    texts: list[bytes] = []
    made = objects(work_of(run.survey.parts.raws[path], run.survey.shared), texts)
    spool = Spool()
    run.survey.strips[path] = Strip(spool, spool.put(texts))
    return made
