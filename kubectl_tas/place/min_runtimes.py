"""Tells which running work KAI spares, since it has not run for the minimum runtime of its queue.

Follows release 0.17 of pkg/scheduler/plugins/minruntime (minruntime.go, resolver.go). A gang that has no more pods than
it needs is left out; of any other gang KAI takes the pods beyond its minimum. A queue without a minimum runtime has
that of the queue above, at the top that of the shard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.model.scheduler_settings import SchedulerSettings
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue
from kubectl_tas.place.scheduling_session import SessionPod, Spared, Work


@dataclass(frozen=True, slots=True)
class MinRuntimes:
    """The minimum runtimes of a scheduler's queues at one time."""

    settings: SchedulerSettings
    tree: QueueTree
    now: datetime

    def spared(self, claiming: Work, victim: Work, action: str) -> Spared | None:
        """Returns until when KAI spares a gang from an action for another gang; None if KAI does not spare it."""
        if victim.started is None or not self.settings.has("minruntime"):
            return None
        if action == "preempt":
            field, queues = "preemptMinRuntime", list(self.tree.chain(victim.queue))
            default, set_runtimes = self.settings.preempt_min_runtime, [queue.preempt_min_runtime for queue in queues]
        else:
            field, queues = "reclaimMinRuntime", list(self.reclaim_chain(claiming.queue, victim.queue))
            default, set_runtimes = self.settings.reclaim_min_runtime, [queue.reclaim_min_runtime for queue in queues]
        runtime = next((runtime for runtime in set_runtimes if runtime is not None), default)
        until = times.after(victim.started, runtime)
        return Spared(victim, until, field) if until > self.now else None

    def reclaim_chain(self, claiming: str, victim: str) -> Iterable[QuotaQueue]:
        """Returns the queues whose reclaimMinRuntime may hold, the first one first: those from the child of the lowest
        queue that both are below, or with the method ``queue`` all queues of the victim.
        """
        chain = list(self.tree.chain(victim))
        if self.settings.argument("minruntime", "reclaimResolveMethod") == "queue":
            return chain
        above = {queue.name for queue in self.tree.chain(claiming)}
        shared = sum(queue.name in above for queue in chain)
        return chain[max(0, len(chain) - shared - 1) :]


def keeps_minimum(work: Work, pods: Iterable[SessionPod]) -> bool:
    """Whether a gang keeps its minimum without these pods. Pods that KAI has evicted in this cycle still count."""
    batch = list(pods)  # a pod counts as often as it is taken
    lost, leaving = Counter(pod.unit for pod in batch), set(batch)
    used = Counter(pod.unit for pod in work.pods if pod.node is not None or pod.is_gone or pod in leaving)
    return all(used[unit] - count >= work.least.get(unit, 0) for unit, count in lost.items())
