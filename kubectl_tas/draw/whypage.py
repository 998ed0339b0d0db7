"""Renders why work is pending: a page about each answer, or JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.draw import fitpages as fits
from kubectl_tas.facts.quantities import NO_LIMIT
from kubectl_tas.live.reasons import Saying
from kubectl_tas.place.pending_reasons import Cause, CauseKind
from kubectl_tas.place.pending_work import GangNow, PredictedStart, State, Why
from kubectl_tas.place.undeclared_work import WITHOUT_FILES, UndeclaredWhy
from kubectl_tas.report import style
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import plural

_SAID = 3
"""Maximum number of messages that are shown for a cause."""
_MOST = 400
"""Maximum number of characters of a message that are shown: KAI lists every node."""
_STATES = {
    State.RUNS: "runs",
    State.WAITS: "waits",
    State.ENDED: "has ended",
    State.FAILED: "has failed",
    State.ABSENT: "is not in the cluster",
}
_PLAYED = (CauseKind.DELAY, CauseKind.TOPOLOGY, CauseKind.ROOM)
"""Causes that a forecast plays, beside quotas."""
_GANGS = 5
"""Maximum number of PodGroups that are shown."""


@json_fields("version:2 workflows=answers")
class Whys(NamedTuple):
    """Whether work runs in a cluster, and the reasons if it is pending."""

    answers: Sequence[Why | UndeclaredWhy]


def render(answers: Sequence[Why | UndeclaredWhy], cluster_options: str) -> str:
    """Renders a page about each answer, with a blank line between. ``cluster_options`` names the cluster."""
    return "\n".join(_page(answer, cluster_options) for answer in answers)


def _page(answer: Why | UndeclaredWhy, cluster_options: str) -> str:
    facts = [
        *_names(answer),
        ("Queue", _queue(answer)),
        *(("PodGroup", _gang(gang, is_known="Pod" not in answer.gaps)) for gang in answer.gangs[:_GANGS]),
    ]
    if len(answer.gangs) > _GANGS:
        facts.append(("More", f"{plural(len(answer.gangs) - _GANGS, 'PodGroup')}; -o json has all"))
    if answer.lone:
        facts.append(("Pods", f"{_phases(answer.lone)}, without a PodGroup"))
    if answer.start is not None:
        facts.append(("Starts", _start(answer.start, answer.causes)))
    facts += [("Not known", f"{_many(kind)}: {reason}") for kind, reason in answer.gaps.items()]
    if isinstance(answer, UndeclaredWhy):
        facts.append(("Not known", WITHOUT_FILES))
    causes = (f"\n{number}. {_title(cause)}\n{_cause(cause)}" for number, cause in enumerate(answer.causes, 1))
    return "".join((style.pairs(facts), *causes, *_fits(answer, cluster_options)))


def _names(answer: Why | UndeclaredWhy) -> list[tuple[str, str]]:
    """Renders the work, its state, and its pool if a file names one."""
    state = ("State", _STATES[answer.state])
    if isinstance(answer, UndeclaredWhy):
        return [(answer.work.kind, f"{answer.work.namespace}/{answer.work.name}"), state]
    sent = answer.sent
    pool = f"{sent.target}, {sent.priority}{' (preemptible)' if sent.is_preemptible else ''}"
    facts = [(sent.kind, f"{sent.name} ({sent.declared.origin.path})"), state, ("Pool", pool)]
    if answer.shard is not None:
        strategy = answer.shard.spec.placementStrategy.gpu
        facts.append(
            ("Shard", f"{answer.shard.name}, which places GPUs by {strategy} ({answer.shard.declared.origin.path})")
        )
    return facts


def _start(start: PredictedStart, causes: Sequence[Cause]) -> str:
    """Says when work starts, and which of its causes must be gone by then since the forecast does not know them. It
    counts the usage of a queue by pods: if work starts at once all the same, it does not know why the quota is full.
    """
    played = (*_PLAYED, CauseKind.QUOTA) if start.seconds else _PLAYED
    numbers = [str(number) for number, cause in enumerate(causes, 1) if cause.kind not in played]
    last = f" (last of {plural(start.gangs, 'gang')})" if start.gangs > 1 else ""
    named = f"causes {', '.join(numbers)} are" if len(numbers) > 1 else f"cause {''.join(numbers)} is"
    gone = f", when {named} gone" if numbers and start.seconds is not None else ""
    reasons = [start.because, *(["KAI may do more than was tried"] if start.is_cut else [])]
    return printable(": ".join(filter(None, (f"{start.starts}{last}{gone}", "; ".join(filter(None, reasons))))))


def _many(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _title(cause: Cause) -> str:
    return printable(f"{cause.text[0].upper()}{cause.text[1:]}")


def _queue(answer: Why | UndeclaredWhy) -> str:
    usage, quota = answer.usage, answer.queue_now.quota
    facts = [answer.queue or "unknown"]
    if quota is not None:
        facts.append("no quota" if quota == NO_LIMIT else f"quota {plural(quota, 'GPU')}")
    if usage is not None and not usage.doubt:
        gpus, fixed = usage.allocated.gpu, usage.non_preemptible.gpu
        facts.append(f"{plural(gpus, 'GPU')} held, {fixed} of them not preemptible" if gpus else "no GPU held")
    return ", ".join(facts)


def _gang(gang: GangNow, *, is_known: bool) -> str:
    """Renders a PodGroup. ``is_known``: whether all pods of the PodGroup are known."""
    pods = _phases(gang.pods) if gang.pods or is_known else "pods not known"
    starts = f"; starts with {gang.needed}" if gang.needed is not None else ""
    return f"{gang.namespace}/{gang.name}: {pods}{starts}"


def _phases(pods: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {phase}" for phase, count in sorted(pods.items())) or "no pods"


def _cause(cause: Cause) -> str:
    distinct, repeated = _told_apart(cause.sayings)
    facts = [(_who(saying), _words(saying)) for saying in distinct[:_SAID]]
    if len(distinct) > _SAID:
        facts.append(("More", f"{plural(len(distinct) - _SAID, 'reason')}; -o json has all"))
    facts += [("Repeated", _again(repeated))] if repeated else []
    facts += [("File", str(cause.location))] if cause.location else []
    facts += [("Help", cause.hint)] if cause.hint else []
    return "".join(f"   {line}\n" for line in style.pairs(facts).splitlines()) if facts else ""


def _told_apart(sayings: Sequence[Saying]) -> tuple[list[Saying], list[Saying]]:
    """Separates messages from their repetitions. KAI repeats the reasons of a PodGroup in pod conditions and events."""
    distinct: list[Saying] = []
    repeated: list[Saying] = []
    for saying in sayings:
        is_again = any(earlier.text and earlier.text.rstrip(".") in saying.text for earlier in distinct)
        (repeated if is_again else distinct).append(saying)
    return distinct, repeated


def _again(repeated: Sequence[Saying]) -> str:
    reasons = sum(not saying.is_event and saying.where != "Pod" for saying in repeated)
    pods = sum(saying.times for saying in repeated if not saying.is_event and saying.where == "Pod")
    events = [saying for saying in repeated if saying.is_event]
    phrases = [f"by {plural(reasons, 'reason')}"] if reasons else []
    phrases += [f"by {plural(pods, 'pod')}"] if pods else []
    if events:
        last = max(saying.last for saying in events)
        when = f", last {last}" if last else ""
        phrases.append(f"{plural(sum(saying.times for saying in events), 'time')} in events{when}")
    return ", ".join(phrases)


def _who(saying: Saying) -> str:
    return "Event" if saying.is_event else saying.where.partition(" ")[0]


def _words(saying: Saying) -> str:
    times = f" ({_times(saying)})" if saying.is_event or saying.times > 1 else ""
    text = saying.text if len(saying.text) <= _MOST else f"{saying.text[:_MOST]}..."
    return f"{saying.reason}{times}: {text}" if text else f"{saying.reason}{times}"


def _times(saying: Saying) -> str:
    if not saying.is_event:
        return plural(saying.times, "pod")
    last = f", last {saying.last}" if saying.last else ""
    return f"{plural(saying.times, 'time')}{last}"


def _fits(answer: Why | UndeclaredWhy, cluster_options: str) -> Iterator[str]:
    """Renders which pods the nodes have room for."""
    if isinstance(answer, UndeclaredWhy):
        return
    predicted, left_out = answer.fit
    if predicted:
        yield "\nWhat nodes have room for:\n"
        yield "".join(f"   {line}".rstrip() + "\n" for line in fits.render(predicted, cluster_options).splitlines())
    for omitted in left_out:
        yield f"\nWhat nodes have room for is not known: {printable(omitted.reason)}\n"
