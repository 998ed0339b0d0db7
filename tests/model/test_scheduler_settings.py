"""Tests that the settings of a shard are those that KAI's operator writes, by answers recorded of KAI 0.17."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts import kai
from kubectl_tas.facts.scheduler_plugins import rows_of
from kubectl_tas.model.scheduler_settings import SchedulerSettings, settings_of
from kubectl_tas.model.scheduling_shard import SchedulingShardSpec

RECORDED = json.loads(Path(__file__).with_name("shards_of_kai_0_17.json").read_text(encoding="utf-8"))
_SECOND = 10**9


def settings(release: str = "0.17", **spec: Any) -> SchedulerSettings:
    return settings_of(SchedulingShardSpec.model_validate(spec), kai.release(release))


@pytest.mark.parametrize("answer", RECORDED, ids=range(len(RECORDED)))
def test_plugins_and_actions_are_those_of_kais_operator(answer: dict[str, Any]) -> None:
    resolved = settings(**answer["spec"])
    assert [[plugin.name, dict(plugin.arguments)] for plugin in resolved.plugins] == answer["plugins"]
    assert list(resolved.actions) == answer["actions"]


def test_a_shard_that_sets_nothing_has_the_defaults() -> None:
    assert settings() == settings_of(None, kai.release("0.17"))
    assert settings().k_value == 1.0
    assert (settings().gpu_strategy, settings().cpu_strategy) == ("binpack", "binpack")
    assert (settings().preempt_min_runtime, settings().reclaim_min_runtime) == (0, 0)


def test_spread_ends_consolidation_and_packing_of_devices() -> None:
    resolved = settings(placementStrategy={"gpu": "spread"})
    assert (resolved.gpu_strategy, resolved.cpu_strategy) == ("spread", "binpack")
    assert not resolved.has_action("consolidation")
    assert resolved.plugin("gpuspread")
    assert not resolved.plugin("gpupack")


def test_durations_and_numbers_are_read_as_the_plugins_read_them() -> None:
    resolved = settings(minRuntime={"preemptMinRuntime": "1d2h", "reclaimMinRuntime": "90s"}, kValue=-2)
    assert resolved.preempt_min_runtime == 26 * 3600 * _SECOND
    assert resolved.reclaim_min_runtime == 90 * _SECOND
    assert resolved.k_value == 0.0


def test_arguments_of_a_plugin_replace_those_of_the_fields() -> None:
    resolved = settings(kValue=2, plugins={"proportion": {"arguments": {"kValue": "3.5"}}})
    assert resolved.k_value == 3.5
    assert settings(kValue=2, plugins={"proportion": {"enabled": False}}).k_value == 1.0


def test_usage_has_numbers_for_its_window_and_half_life() -> None:
    usage = settings(usageDBConfig={"clientType": "prometheus", "usageParams": {"halfLifePeriod": "36h"}}).usage
    assert usage is not None
    assert (usage.usageParams.window, usage.usageParams.half_life) == (7 * 86400 * _SECOND, 36 * 3600 * _SECOND)
    off = settings(usageDBConfig={"clientType": "prometheus", "usageParams": {"halfLifePeriod": "0s"}}).usage
    assert off is not None
    assert off.usageParams.half_life is None


def test_releases_without_plugins_in_shards_ignore_them() -> None:
    off = {"plugins": {"elastic": {"enabled": False}}}
    assert settings("0.12.12", **off).plugin("elastic")
    assert not settings("0.12.13", **off).plugin("elastic")


def test_each_release_has_the_plugins_of_its_source() -> None:
    assert "numa" not in rows_of("plugins", (0, 15, 3))
    assert "numa" in rows_of("plugins", (0, 16, 0))
    assert "log-json" in rows_of("flags", (0, 15, 0))
    assert "plugins" not in rows_of("fields", (0, 12, 12))
