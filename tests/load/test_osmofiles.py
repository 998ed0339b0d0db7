"""Tests which documents are OSMO's configuration, the items of each kind in them, and which files are templates."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.load.osmofiles import OsmoSection, expanded_by_osmo, is_values, layered, sections, template_root

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}


def found(data: Any) -> list[tuple[str, Any]] | None:
    listed = sections(data)
    return None if listed is None else [(item.kind, item.items) for item in listed]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("pools", "POOL"),
        ("backends", "BACKEND"),
        ("roles", "ROLE"),
        *((key, "POD_TEMPLATE") for key in ("pod_templates", "podTemplates")),
        *((key, "RESOURCE_VALIDATION") for key in ("resource_validations", "resourceValidations")),
        *((key, "GROUP_TEMPLATE") for key in ("group_templates", "groupTemplates")),
        *((key, "BACKEND_TEST") for key in ("backend_tests", "backendTests")),
    ],
)
def test_a_file_of_the_service_has_items_by_name(key: str, kind: str) -> None:
    assert found({key: {"a": {"x": 1}}}) == [(kind, {"a": {"x": 1}})]
    assert found({key: [{"name": "a"}]}) == [(kind, {"a": {"name": "a"}})]
    assert found({key: {}, "pools": {"b": {}}}) == [("POOL", {"b": {}})]
    assert found([{"config_type": kind, "data": {key: {"a": {}}}}]) == [(kind, {"a": {}})]


@pytest.mark.parametrize(("key", "kind"), [("service", "SERVICE"), ("workflow", "WORKFLOW"), ("dataset", "DATASET")])
def test_what_there_is_once_has_no_name(key: str, kind: str) -> None:
    assert found({key: {"x": 1}}) == [(kind, {"": {"x": 1}})]
    assert found([{"config_type": kind, "data": {"x": 1}}]) == [(kind, {"": {"x": 1}})]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("BACKEND_TEST", "cron_schedule test_timeout"),
        ("BACKEND", "scheduler_settings k8s_namespace k8s_uid router_address dashboard_url"),
        ("ROLE", "policies external_roles"),
        ("POOL", "backend platforms default_platform topology_keys enable_maintenance common_pod_template"),
        ("POOL", "common_resource_validations common_default_variables common_group_templates"),
        ("WORKFLOW", "workflow_data workflow_log user_workflow_limits max_num_tasks"),
        ("SERVICE", "service_base_url service_auth cli_config max_pod_restart_limit"),
        ("DATASET", "buckets default_bucket"),
    ],
)
def test_a_field_tells_the_kind_of_an_item(kind: str, fields: str) -> None:
    for field in fields.split():
        item = {"name": "a", field: {}}
        assert found(item) == [(kind, {"a": item})], field
        assert found([item]) == [(kind, {"a": item})], field
        assert found({"a": {field: {}}, "b": {field: {}}}) == [(kind, {"a": {field: {}}, "b": {field: {}}})], field


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, []),
        ([], []),
        ("x", None),
        (3, None),
        ({"a": {"backend": "b"}, "b": {"policies": {}}}, None),
        ({"backend": "b", "apiVersion": "tas/v1alpha1"}, None),
        ({"spec": {"containers": []}}, [("POD_TEMPLATE", {"": {"spec": {"containers": []}}})]),
        ({"metadata": {}}, [("POD_TEMPLATE", {"": {"metadata": {}}})]),
        ({"metadata": 3}, None),
        ({"metadata": {}, "x": 1}, None),
        (POD, [("POD_TEMPLATE", {"": POD})]),
        ({**POD, "kind": "Job"}, [("GROUP_TEMPLATE", {"": {**POD, "kind": "Job"}})]),
        ({"kind": "Job", "metadata": {}}, None),
        ({"kind": "Job", "apiVersion": "v1"}, None),
        ([{"left_operand": "a"}], [("RESOURCE_VALIDATION", {"": [{"left_operand": "a"}]})]),
        ([{"left_operand": "a"}, {}], None),
        ({"workflow": {"tasks": []}}, None),
        ({"workflow": {"groups": []}}, None),
        ({"workflow": {"tasks": []}, "pools": {"a": {}}}, None),
        (
            [
                {"config_type": "POOL", "revision": 1, "data": {"a": 1}},
                {"config_type": "POOL", "revision": 3, "data": {"pools": {"b": 1}}},
                {"config_type": "POOL", "revision": 2, "data": {"c": 1}},
                {"config_type": "ROLE", "revision": "x", "data": {"d": 1}},
                {"config_type": "ROLE", "data": {"e": 1}},
            ],
            [("POOL", {"b": 1}), ("ROLE", {"d": 1})],
        ),
        ({"services": {"configs": {"pools": {"a": {}}}}}, [("POOL", {"a": {}})]),
        ({"configs": {"pools": {"a": {}}}}, [("POOL", {"a": {}})]),
        ({"configs_dict": {"pools": {"a": {}}}}, [("POOL", {"a": {}})]),
        (
            {
                "configuration": {"pools": {"a": {}}, "enabled": True, "extraConfigMaps": {}, "extraAnnotations": {}},
                "image": "x",
                "empty": {},
            },
            [
                ("POOL", {"a": {}}),
                ("CHART", {"enabled": True}),
                ("CHART", {}),
                ("CHART", {}),
                ("CHART", {"image": "x"}),
            ],
        ),
        (
            {"services": {"configs": {"pools": {"a": {}}}, "web": 1}, "configuration": None},
            [("POOL", {"a": {}})],
        ),
        ({"pools": {"a": {}}, "odd": {}}, [("POOL", {"a": {}}), ("", {"odd": {}})]),
    ],
)
def test_other_documents(data: Any, expected: list[tuple[str, Any]] | None) -> None:
    assert found(data) == expected


def test_values_of_the_chart_are_merged_as_helm_does() -> None:
    first = {"configuration": {"pools": {"a": {"x": 1, "y": 2}, "b": {}}}, "image": "old", "gone": 1}
    second = {
        "configuration": {"pools": {"a": {"y": 3}, "b": None}},
        "image": {"tag": "new"},
        "gone": None,
        "new": None,
    }
    assert layered([first, second]) == {
        "configuration": {"pools": {"a": {"x": 1, "y": 3}}},
        "image": {"tag": "new"},
        "new": None,
    }
    assert layered([{"image": "x"}, first, {"apiVersion": "v1"}, {"workflow": {"tasks": []}}]) == first
    assert layered([{"image": "x"}]) is None
    assert [is_values(data) for data in (first, {"image": "x"}, {"pools": {"a": {}}}, "x")] == [
        True,
        True,
        False,
        False,
    ]
    assert sections(first) == [
        OsmoSection("POOL", {"a": {"x": 1, "y": 2}, "b": {}}),
        OsmoSection("CHART", {"image": "old", "gone": 1}),
    ]


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("workflow: {name: a}\n", None),
        ("workflow: {name: '{{ a }}'}\n", 0),
        ("# c\nworkflow: {name: '{% if a %}'}\n", 4),
        ("workflow: {name: '{# a #}'}\n", 0),
        ("workflow: {name: '${#a}'}\n", None),
        ("workflow: {name: '{{uuid}} {{ workflow_id }} {{output}} {{input:0}} {{host:a b}}'}\n", None),
        ("workflow: {name: '{{ input:0 }} {{ inputs }}'}\n", 0),
        ('"workflow": {name: "{{ a }}"}\n', 0),
        ('{ "workflow": {name: "{{ a }}"}}\n', 0),
        ("default-values: {a: 1}\nworkflow: {name: a}\n", 0),
        ("workflow: {name: a}\n'default-values' : {a: 1}\n", 0),
        ("kind: Job\nargs: ['{{ a }}']\n", None),
    ],
)
def test_a_template_has_tags_that_do_not_wait_until_it_runs(text: str, root: int | None) -> None:
    assert template_root(text) == root


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("workflow: {{output}}\n", "workflow: {{output}}"),
        ("workflow: {{output}}\r\n", "workflow: {{output}}"),
        ("workflow: {{output}}\n\n", "workflow: {{output}}\n"),
        ("workflow: a\n", "workflow: a\n"),
        ("kind: {{output}}\n", "kind: {{output}}\n"),
        ("workflow: {{output}}\n---\na: b\n", "workflow: {{output}}\n---\na: b\n"),
    ],
)
def test_osmo_drops_the_last_line_break_of_what_may_be_a_template(text: str, read: str) -> None:
    assert expanded_by_osmo(text) == read
