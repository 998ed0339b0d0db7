"""Tests ``import osmo``: pools have the quotas of OSMO's configuration, and omissions are reported."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.imports.from_osmo import OsmoDocument, import_osmo
from kubectl_tas.imports.written import Imported
from tests.support.cli import Result, kubectl_tas
from tests.support.pyyaml import safe_load
from tests.support.rendered import files_below

Data = Any
POOL: dict[str, Data] = {
    "name": "research",
    "description": "Language models",
    "status": None,
    "enable_maintenance": False,
    "backend": "prod",
    "default_platform": "h100",
    "default_exec_timeout": "2d",
    "max_exec_timeout": "7d",
    "default_queue_timeout": "",
    "max_queue_timeout": "",
    "default_exit_actions": {"RESCHEDULE": "137,143"},
    "resources": {"gpu": {"guarantee": 64, "maximum": 96, "weight": 2}},
    "topology_keys": [{"key": "rack", "label": "acme.io/rack"}, {"key": "host", "label": "kubernetes.io/hostname"}],
    "common_default_variables": {"USER_CPU": 4, "USER_MEMORY": "16Gi"},
    "common_resource_validations": ["some_cpu"],
    "common_pod_template": ["default_ctrl", "shared_memory"],
    "common_group_templates": [],
    "platforms": {
        "h100": {
            "description": "8 H100",
            "host_network_allowed": True,
            "privileged_allowed": False,
            "allowed_mounts": ["/scratch"],
            "default_variables": {"USER_MEMORY": "64Gi"},
            "resource_validations": [],
            "override_pod_template": ["h100"],
        },
        "cpu": {"description": "", "override_pod_template": []},
    },
}
TEMPLATES = {
    "default_ctrl": {"spec": {"containers": [{"name": "osmo-ctrl", "resources": {"limits": {"cpu": "1"}}}]}},
    "shared_memory": {
        "spec": {
            "containers": [
                {"name": "osmo-ctrl", "resources": {}},
                {"name": "{{USER_CONTAINER_NAME}}", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]},
            ],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        }
    },
    "h100": {
        "metadata": {"labels": {"acme.io/hardware": "h100"}, "name": "any"},
        "spec": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100"}},
    },
}
VALIDATIONS = {
    "some_cpu": [
        {
            "operator": "GT",
            "left_operand": "{{USER_CPU}}",
            "right_operand": "0",
            "assert_message": "{{USER_CPU}} cores are none",
        }
    ]
}
BACKEND = {
    "name": "prod",
    "k8s_namespace": "ml",
    "scheduler_settings": {"scheduler_type": "kai", "scheduler_name": "kai-two", "scheduler_timeout": 30},
    "node_conditions": {"rules": None, "prefix": "osmo.nvidia.com/"},
    "router_address": "",
    "online": True,
}
ROLES = [
    {"name": "osmo-admin", "policies": [{"actions": ["*:*"], "resources": ["*"]}], "external_roles": ["admins"]},
    {
        "name": "research",
        "description": "",
        "policies": [
            {"effect": "Allow", "actions": ["workflow:*", "pool:List"], "resources": ["pool/research"]},
            {"effect": "Allow", "actions": ["profile:*"]},
        ],
    },
    {
        "name": "auditors",
        "policies": [
            {"effect": "Allow", "actions": [{"action": "*:Read"}], "resources": ["pool/*"]},
            {"effect": "Deny", "actions": ["workflow:Read"], "resources": ["pool/secret*"]},
        ],
        "external_roles": ["audit"],
    },
]
ALL: tuple[Data, ...] = ({"pools": {"research": POOL}}, TEMPLATES, VALIDATIONS, {"backends": [BACKEND]})
KEYS = [
    *("pools", "roles", "backends", "podTemplates", "configs", "a", "name", "backend", "platforms", "policies"),
    *("actions", "resources", "gpu", "spec", "containers", "common_pod_template", "metadata", "scheduler_settings"),
]


def imported(folder: Path, *documents: Data, names: tuple[str, ...] = ()) -> Result:
    """What the command says of documents, each in a file of its own; the repository is ``folder/work``."""
    files = [folder / (names[index] if names else f"{index}.json") for index in range(len(documents))]
    for file, document in zip(files, documents, strict=True):
        file.write_text(json.dumps(document))
    return kubectl_tas("import", "osmo", *files, "--to", folder / "work")


def made(*documents: Data, names: tuple[str, ...] = ()) -> Imported:
    """What becomes of documents, in memory."""
    called = names or [str(index) for index in range(len(documents))]
    return import_osmo(OsmoDocument(f"{name}.json", name, data) for name, data in zip(called, documents, strict=True))


def unplaced(*documents: Data) -> list[str]:
    """What is said of that which has no place."""
    return [f"{item.kind} {item.name}: {item.reason}" for item in made(*documents).unplaced]


def read(folder: Path, path: str) -> Data:
    return safe_load((folder / "work" / path).read_text())


WRITTEN = """\
# == tas.yaml
# Imported from OSMO.
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends:
  - name: prod
    namespace: ml
    scheduler:
      type: kai
      name: kai-two
# == pools/pod-templates/h100.yaml
# Imported: OSMO's pod template h100.
apiVersion: tas/v1alpha1
kind: PodTemplate
metadata:
  name: h100
template:
  metadata:
    labels:
      acme.io/hardware: h100
  spec:
    nodeSelector:
      nvidia.com/gpu.product: NVIDIA-H100
# == pools/pod-templates/shared-memory.yaml
# Imported: OSMO's pod template shared_memory.
apiVersion: tas/v1alpha1
kind: PodTemplate
metadata:
  name: shared_memory
template:
  spec:
    containers:
    - name: "{{USER_CONTAINER_NAME}}"
      volumeMounts:
      - name: shm
        mountPath: /dev/shm
    volumes:
    - name: shm
      emptyDir:
        medium: Memory
# == pools/research.yaml
# Imported: OSMO's pool research.
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: research
spec:
  description: "Language models"
  backend: prod
  resources:
    gpu:
      guarantee: 64
      maximum: 96
      weight: 2
  topology_keys:
  - key: rack
    label: acme.io/rack
  - key: host
    label: kubernetes.io/hostname
  default_exec_timeout: "2d"
  max_exec_timeout: "7d"
  default_exit_actions:
    RESCHEDULE: "137,143"
  common_default_variables:
    USER_CPU: 4
    USER_MEMORY: "16Gi"
  common_resource_validations:
  - some_cpu
  common_pod_template:
  - shared_memory
  default_platform: h100
  platforms:
    h100:
      description: "8 H100"
      host_network_allowed: true
      allowed_mounts:
      - /scratch
      default_variables:
        USER_MEMORY: "64Gi"
      override_pod_template:
      - h100
    cpu: {}
  access:
    submit:
    - admins
    - research
    view:
    - audit
# == pools/resource-validations/some-cpu.yaml
# Imported: OSMO's resource validation some_cpu.
apiVersion: tas/v1alpha1
kind: ResourceValidation
metadata:
  name: some_cpu
rules:
- operator: GT
  left_operand: "{{USER_CPU}}"
  right_operand: "0"
  assert_message: "{{USER_CPU}} cores are none"
"""
"""The files for all of it, with the roles."""
SERVICE = "it is for OSMO's service, which is not needed here"
SEEN = "what OSMO's service saw last is no configuration"
UNKNOWN = "OSMO is not known to read it"
RIGHTS = "access of a pool has submit and view alone"
GROUP_ONLY = "it counts only within this role; members of another group also have that group's rights"
ANYBODY = "No role lets anybody send work to pool team; without access.submit everybody may."
RELEASE = "OSMO does not tell which release of KAI a backend runs: set scheduler.version of each in tas.yaml."
BY_AGENT = "The namespace of backend prod is taken to be default: its agent has not told OSMO another one."
BY_COMMAND = "The namespace of backend prod is taken to be default: `osmo config show BACKEND` tells another one."


def plain_pool(**fields: Data) -> dict[str, Data]:
    return {"backend": "prod", **fields}


class TestPools:
    def test_a_whole_configuration_validates_and_renders(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *ALL)
        assert result.code == 0, result.err
        assert sorted(path.relative_to(tmp_path / "work").as_posix() for path in files_below(tmp_path / "work")) == [
            "pools/pod-templates/h100.yaml",
            "pools/pod-templates/shared-memory.yaml",
            "pools/research.yaml",
            "pools/resource-validations/some-cpu.yaml",
            "tas.yaml",
        ]
        validated = kubectl_tas("validate", "-C", tmp_path / "work")
        assert (validated.code, validated.out.splitlines()[-1]) == (0, "1 info in 5 files.")
        assert "only OSMO's own runtime honours default_exit_actions" in validated.out
        assert kubectl_tas("render", "-C", tmp_path / "work").code == 0

    def test_the_files_of_a_whole_configuration(self) -> None:
        found = made(*ALL, ROLES)
        assert "".join(f"# == {path}\n{text}" for path, text in found.files.items()) == WRITTEN
        idp = "The groups of access are those of OSMO's identity provider: write them as the API server knows them."
        assert (found.notes, found.missing) == ((RELEASE, idp), ())
        assert [f"{item.kind} {item.name}: {item.reason}" for item in found.unplaced] == [
            "PodTemplate default_ctrl: containers osmo-ctrl: there is no such container here",
            "PodTemplate shared_memory: containers osmo-ctrl: there is no such container here",
            f"PodTemplate h100: metadata.name: {UNKNOWN}",
            "Backend prod: node_conditions: OSMO's agent looks after nodes; Kubernetes and KAI do here",
            f"Backend prod: online: {SEEN}",
            f"Backend prod: scheduler_timeout: {SERVICE}",
            f"Role research: pool:List, profile:*: {RIGHTS}",
            f"Role auditors: Deny workflow:Read of pool/secret*: {GROUP_ONLY}",
        ]

    @pytest.mark.parametrize(
        ("resources", "queue"),
        [
            ({"gpu": {"guarantee": 64, "maximum": -1, "weight": 2}}, (64, -1, 2)),
            ({"gpu": {"guarantee": 8}}, (8, -1, 1)),
            ({"gpu": {"guarantee": 0, "maximum": 0, "weight": 0}}, (0, 0, 0)),
            ({"gpu": None}, (-1, -1, 1)),
            ({}, (-1, -1, 1)),
        ],
    )
    def test_quotas_keep_their_meaning(self, tmp_path: Path, resources: Data, queue: tuple[int, int, int]) -> None:
        """OSMO writes guarantee, maximum and weight as quota, limit and overQuotaWeight of the pool's queue, and of
        cpu and memory no limit."""
        assert imported(tmp_path, {"pools": {"team": plain_pool(resources=resources)}}, [BACKEND]).code == 0
        assert kubectl_tas("render", "-C", tmp_path / "work").code == 0
        found = read(tmp_path, "manifests/queues/osmo-pool-ml-team.yaml")["spec"]
        assert found["parentQueue"] == "osmo-default-ml"
        keys = ("quota", "limit", "overQuotaWeight")
        assert found["resources"]["gpu"] == dict(zip(keys, queue, strict=True))
        assert found["resources"]["cpu"] == found["resources"]["memory"] == dict(zip(keys, (-1, -1, 1), strict=True))

    @pytest.mark.parametrize(
        ("share", "said"), [({"maximum": 96}, "no limit"), ({"guarantee": 97, "maximum": 96}, "97")]
    )
    def test_a_guarantee_above_the_maximum(self, tmp_path: Path, share: Data, said: str) -> None:
        """KAI gives no more than the limit, so the maximum is what such a pool is guaranteed."""
        result = imported(tmp_path, {"pools": {"team": plain_pool(resources={"gpu": share})}})
        note = f"Pool team is guaranteed 96 GPUs, not {said}: it gets no more than its maximum.\n"
        assert (result.code, note in result.err) == (0, True)
        gpu = read(tmp_path, "pools/team.yaml")["spec"]["resources"]["gpu"]
        assert gpu == {"guarantee": 96, "maximum": 96, "weight": 1}

    def test_timeouts_of_the_workflow_configuration_are_those_of_pools_without(self, tmp_path: Path) -> None:
        workflow = {"max_num_tasks": 20, "max_exec_timeout": "60d", "max_queue_timeout": "30d", "workflow_data": {}}
        result = imported(tmp_path, *ALL, workflow)
        assert result.code == 0
        spec = read(tmp_path, "pools/research.yaml")["spec"]
        assert (spec["max_exec_timeout"], spec["max_queue_timeout"]) == ("7d", "30d")
        assert "  WORKFLOW max_num_tasks, workflow_data: it is for" not in result.out
        assert f"  WORKFLOW max_num_tasks: {SERVICE}\n" in result.out

    def test_a_name_that_no_object_can_have(self, tmp_path: Path) -> None:
        """Workflows may go on to name the pool as before: '_' is '-' there."""
        pools = {"pools": {name: plain_pool() for name in ("ci_Runs", "ci-runs", "ci--x")}}
        assert imported(tmp_path, pools).code == 0
        assert made(pools, [{"name": "Prod_1", "k8s_namespace": "ml"}]).notes == (
            "Backend Prod_1 is called prod-1 here.",
            BY_COMMAND,
            RELEASE,
            "Pool ci_Runs is called ci-runs here.",
            "Pool ci-runs is called ci-runs-2 here.",
            "Pool ci--x is called ci-x here.",
        )

    def test_a_name_that_fits_in_osmo_alone(self, tmp_path: Path) -> None:
        """OSMO's queue of a pool is a leaf; here the leaf below it has a longer name."""
        name = "a" * 48
        result = imported(tmp_path, {"pools": {name: plain_pool()}}, [BACKEND])
        called, wanted = f"osmo-pool-ml-{'a' * 41}-4c0d97b9", f"osmo-pool-ml-{name}--shared"
        note = f"The queue of pool {name}'s own work is called {called}: {wanted} is too long.\n"
        assert (result.code, note in result.err) == (0, True)
        assert kubectl_tas("render", "-C", tmp_path / "work").code == 0
        assert (tmp_path / f"work/manifests/queues/osmo-pool-ml-{name}.yaml").is_file()

    def test_a_value_of_another_type_is_found(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"team": plain_pool(resources={"gpu": {"guarantee": "many"}})})
        assert result.code == 1
        assert "error: spec.resources.gpu.guarantee must be a whole number" in result.err
        assert "Correct them in the input, and import it again." in result.err
        assert not (tmp_path / "work").exists()


class TestShapes:
    """All that `osmo config show` prints, and what its service and its chart read."""

    @pytest.mark.parametrize(
        "document",
        [
            {"pools": {"research": POOL}},
            {"pools": [POOL]},
            {"research": POOL},
            [POOL],
            POOL,
            {"configs": {"research": POOL}},
            {"services": {"configs": {"enabled": True, "pools": {"research": POOL}, "podTemplates": TEMPLATES}}},
            {"pools": {"research": POOL}, "pod_templates": TEMPLATES, "resource_validations": VALIDATIONS},
            {
                "configs": [
                    {"config_type": "POOL", "revision": 4, "data": {"pools": {"old": POOL}}},
                    {"config_type": "POOL", "revision": 11, "data": {"pools": {"research": POOL}}},
                ]
            },
            [
                {"config_type": "POOL", "revision": 11, "data": {"pools": {"research": POOL}}},
                {"config_type": "POOL", "revision": 4, "data": {"pools": {"old": POOL}}},
                {"config_type": "POOL", "data": {"pools": {"older": POOL}}},
                {"config_type": "POOL", "revision": "12", "data": {"pools": {"oldest": POOL}}},
            ],
        ],
        ids=["map", "list-below", "bare-map", "list", "one", "request", "chart", "file", "history", "newest-first"],
    )
    def test_of_pools(self, tmp_path: Path, document: Data) -> None:
        result = imported(tmp_path, document, TEMPLATES, VALIDATIONS, {"backends": [BACKEND]})
        assert result.code == 0, result.err
        assert [path.stem for path in (tmp_path / "work/pools").glob("*.yaml")] == ["research"]

    def test_of_pools_in_a_history_without_a_key_of_their_own(self, tmp_path: Path) -> None:
        history = [{"config_type": "POOL", "revision": 1, "data": {"pools": POOL, "more": POOL}}]
        result = imported(tmp_path, history, TEMPLATES, VALIDATIONS, {"backends": [BACKEND]})
        assert result.code == 0, result.err
        assert sorted(path.stem for path in (tmp_path / "work/pools").glob("*.yaml")) == ["more", "pools"]

    def test_of_settings_in_a_history(self, tmp_path: Path) -> None:
        settings = {"default_exec_timeout": "24d"}
        history = [
            {"config_type": "WORKFLOW", "revision": 1, "data": settings},
            {"config_type": "POOL", "revision": 1, "data": {"pools": {"a": plain_pool()}}},
        ]
        assert imported(tmp_path, history).code == 0
        assert read(tmp_path, "pools/a.yaml")["spec"]["default_exec_timeout"] == "24d"

    def test_one_thing_is_called_as_its_file(self, tmp_path: Path) -> None:
        names = ("pools.json", "h100.json", "some_cpu.json")
        pool = plain_pool(common_pod_template=["h100"], common_resource_validations=["some_cpu"])
        result = imported(tmp_path, {"a": pool}, TEMPLATES["h100"], VALIDATIONS["some_cpu"], names=names)
        assert result.code == 0, result.err
        assert read(tmp_path, "pools/pod-templates/h100.yaml")["metadata"]["name"] == "h100"
        assert read(tmp_path, "pools/resource-validations/some-cpu.yaml")["metadata"]["name"] == "some_cpu"

    def test_yaml_from_standard_input(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Stdin:
            buffer = io.BytesIO(b"pools:\n  team:\n    backend: prod\n    description: from the chart\n")

        monkeypatch.setattr("sys.stdin", Stdin)
        assert kubectl_tas("import", "osmo", "-", "--to", tmp_path / "work").code == 0
        assert read(tmp_path, "pools/team.yaml")["spec"]["description"] == "from the chart"

    @pytest.mark.parametrize(
        "document",
        [
            {"pools": {"a": 1}},
            {"pools": {"a": plain_pool(platforms=[1])}},
            {"pools": {"a": plain_pool(platforms={"x": "y"})}},
            {"pools": {"a": plain_pool(resources=[1])}},
            {"pools": {"a": plain_pool(resources={"gpu": [1]})}},
            {"pools": {"a": {"backend": ["prod"]}}},
            {"pools": {"a": {"backend": 5}}},
            {"backends": [{"name": "a", "scheduler_settings": [1]}]},
            {"h100": {"metadata": [1], "spec": {}}},
            {"h100": {"metadata": {}, "spec": [1]}},
            {"pools": {}, "service": 5},
            {"workflow": {"labels_config": [1]}},
            [{"name": "a", "policies": {"actions": []}}],
            [{"name": "a", "policies": [1]}],
            [{"name": "a", "policies": [{"actions": [1]}]}],
            [{"name": "a", "policies": [{"resources": "pool/a"}]}],
            [{"name": "a", "policies": [], "external_roles": "x"}],
        ],
        ids=json.dumps,
    )
    def test_what_is_not_built_as_its_kind(self, document: Data, snapshot: Any) -> None:
        with pytest.raises(TasError) as refused:
            made(document)
        assert f"{refused.value}; {refused.value.hint}" == snapshot

    @pytest.mark.parametrize(
        "document",
        [
            {"a": 1},
            "text",
            {"workflow": {"name": "a", "tasks": []}},
            {"apiVersion": "tas/v1alpha1", "kind": "Pool", "spec": {}},
        ],
    )
    def test_of_none(self, tmp_path: Path, document: Data) -> None:
        result = imported(tmp_path, document)
        assert (result.code, (tmp_path / "work").exists()) == (3, False)
        prints = "It must be what `osmo config show POOL` (or BACKEND, ROLE, POD_TEMPLATE, ...) prints."
        hint = f"{prints} Workflows are read as they are: put them into workflows/."
        assert f"0.json is no configuration of OSMO\n  = help: {hint}\n" in result.err

    def test_what_is_no_utf_8(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_bytes(b'{"pools": "\xff"}')
        result = kubectl_tas("import", "osmo", tmp_path / "a.json", "--to", tmp_path / "work")
        assert (result.code, "a.json:1:12: error: " in result.err) == (1, True), result.err
        assert not (tmp_path / "work").exists()

    def test_a_folder_of_the_option(self, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        (tmp_path / "0.json").write_text(json.dumps({"pools": {"team": plain_pool()}}))
        result = kubectl_tas("-C", "there", "import", "osmo", tmp_path / "0.json", "--to", "work", cwd=tmp_path)
        assert result.code == 0, result.err
        assert (tmp_path / "there/work/pools/team.yaml").is_file()

    def test_what_is_no_yaml(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text('{"pools": {')
        result = kubectl_tas("import", "osmo", tmp_path / "a.json", "--to", tmp_path / "work")
        assert (result.code, "a.json:1:" in result.err) == (1, True)

    def test_what_pools_name_must_be_given_too(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"pools": {"research": POOL}})
        assert (result.code, (tmp_path / "work").exists()) == (1, False)
        names = "default_ctrl, shared_memory, h100"
        assert f"Pools name {names}: give what `osmo config show POD_TEMPLATE` prints too.\n" in result.err
        assert "Pools name some_cpu: give what `osmo config show RESOURCE_VALIDATION` prints too." in result.err

    def test_one_name_for_two_things(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"pools": {"a": plain_pool()}}, {"pools": {"a": plain_pool(description="b")}})
        assert (
            result.code,
            "the POOL a appears twice, with different content\n  = help: Give one of them.\n" in result.err,
        ) == (3, True)

    def test_one_configuration_for_two_things(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *({"workflow": {"max_num_tasks": number}} for number in (1, 2)))
        assert result.code == 3
        assert "the WORKFLOW configuration appears twice, with different content\n  = help: Give one" in result.err

    def test_one_thing_without_a_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Stdin:
            buffer = io.BytesIO(b"backend: prod\n")

        monkeypatch.setattr("sys.stdin", Stdin)
        result = kubectl_tas("import", "osmo", "-", "--to", tmp_path / "work")
        assert (result.code, "<stdin> has a POOL without a name" in result.err) == (3, True)
        hint = "Print all of them, which have their names: leave the name out of `osmo config show`."
        assert f"  = help: {hint}\n" in result.err

    @pytest.mark.parametrize(
        ("pool", "said"),
        [
            ({"resources": {"gpu": {"guarantee": "8", "maximum": 4}}}, "guarantee must be"),
            ({"resources": {"gpu": {"guarantee": 8, "maximum": "4"}}}, "maximum must be"),
        ],
    )
    def test_a_number_in_quotes_is_found(self, tmp_path: Path, pool: Data, said: str) -> None:
        result = imported(tmp_path, {"pools": {"a": plain_pool(**pool)}})
        assert (result.code, said in result.err) == (1, True), result.err

    def test_a_label_policy_that_is_none_is_found(self, tmp_path: Path) -> None:
        labels = {"policy": ["team"]}
        result = imported(tmp_path, {"pools": {"a": plain_pool()}, "workflow": {"labels_config": labels}})
        assert (result.code, "spec.labels_config.policy[0] must be a mapping" in result.err) == (1, True), result.err

    @settings(max_examples=150, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["", "a", "pool/a"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(KEYS),
                    inner,
                    max_size=5,
                )
            ),
            max_leaves=12,
        )
    )
    def test_whatever_it_is_there_is_an_answer(self, tmp_path_factory: pytest.TempPathFactory, document: Data) -> None:
        folder = tmp_path_factory.mktemp("any")
        result = imported(folder, document)
        assert result.code in (0, 1, 3)
        assert "Traceback" not in result.err
        assert (folder / "work").exists() == (result.code == 0)


class TestWithoutPlace:
    def test_each_key_is_listed_with_its_reason(self) -> None:
        seen, parsed = ("status", "last_heartbeat"), ("parsed_pod_template", "parsed_pod_template_for_accounting")
        of_pool = (*seen, *parsed, "parsed_resource_validations", "parsed_group_templates")
        pool = dict.fromkeys((*of_pool, "download_type", "enable_maintenance", "common_group_templates", "colour"), "x")
        of_platform = ("tolerations", "labels", "default_mounts", "parsed_resource_validations", *parsed)
        resources = {"gpu": {"guarantee": 1, "colour": 1}, "cpu": {"guarantee": 1}, "memory": {}}
        platforms = {"p": dict.fromkeys((*of_platform, "colour"), "x")}
        last = ("version", "k8s_uid", "last_heartbeat", "created_date", "online")
        service = ("description", "dashboard_url", "grafana_url", "router_address", "scheduler_timeout")
        backend = dict.fromkeys((*last, *service, "tests", "node_conditions", "colour"), "x")
        role = {"name": "r", "policies": [], **dict.fromkeys(("description", "immutable", "sync_mode", "colour"), "x")}
        made_of = "OSMO makes it of the templates and validations that are named"
        assert unplaced(
            {"pools": {"a": plain_pool(**pool, resources=resources, platforms=platforms)}},
            [{"name": "prod", **backend}],
            [role],
            {"domain": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}},
            {"service_base_url": "https://osmo.acme.io", "service_auth": {"keys": ["hidden"]}},
            {"max_num_tasks": 20, "default_exec_timeout": "1d"},
        ) == [
            "GroupTemplate domain: objects of other kinds are not made for each group of a workflow",
            f"SERVICE service_base_url: {SERVICE}",
            f"SERVICE service_auth: {SERVICE}",
            f"Backend prod: {', '.join(last)}: {SEEN}",
            f"Backend prod: {', '.join(service)}: {SERVICE}",
            "Backend prod: tests, node_conditions: OSMO's agent looks after nodes; Kubernetes and KAI do here",
            f"Backend prod: colour: {UNKNOWN}",
            f"Role r: description, immutable, sync_mode: {SERVICE}",
            f"Role r: colour: {UNKNOWN}",
            f"WORKFLOW max_num_tasks: {SERVICE}",
            f"Pool a: status, last_heartbeat: {SEEN}",
            f"Pool a: {', '.join(of_pool[2:])}: {made_of}",
            "Pool a: download_type: it is for OSMO's data service",
            "Pool a: enable_maintenance: nothing here keeps work out of a pool for a time",
            "Pool a: common_group_templates: objects of other kinds are not made for each group of a workflow",
            f"Pool a: colour: {UNKNOWN}",
            f"Pool a: resources.cpu, resources.gpu.colour: {UNKNOWN}",
            f"Platform a/p: {', '.join(of_platform)}: {made_of}",
            f"Platform a/p: colour: {UNKNOWN}",
        ]

    def test_parts_of_the_chart_and_of_a_database(self) -> None:
        chart = {"configuration": {"enabled": True, "pools": {"a": plain_pool()}}, "gateway": {"enabled": True}}
        assert unplaced(chart) == [f"Key {key}: it is for OSMO's Helm chart" for key in ("enabled", "gateway")]
        history = [
            {"config_type": kind, "revision": 1, "data": {"default_bucket": "b"}}
            for kind in ("DATASET", "BACKEND_TEST")
        ]
        assert unplaced(history, [{"name": "team", "backend": "prod"}]) == [
            "BackendTest default_bucket: OSMO's agent runs it",
            "DATASET default_bucket: it is for OSMO's data service",
        ]

    def test_secrets_are_not_shown(self, tmp_path: Path) -> None:
        service = {"service_base_url": "https://osmo.acme.io", "service_auth": {"keys": ["hidden"]}}
        result = imported(tmp_path, {"pools": {"research": POOL}}, *ALL[1:], service)
        assert (result.code, "hidden" in result.out + result.err) == (0, False)

    def test_a_template_of_which_nothing_is_left_is_named_no_more(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL).code == 0
        assert read(tmp_path, "pools/research.yaml")["spec"]["common_pod_template"] == ["shared_memory"]
        containers = read(tmp_path, "pools/pod-templates/shared-memory.yaml")["template"]["spec"]["containers"]
        assert [item["name"] for item in containers] == ["{{USER_CONTAINER_NAME}}"]

    def test_what_says_nothing_is_not_listed(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"pools": {"team": plain_pool(status=None, enable_maintenance=False)}})
        assert (result.code, "no place" in result.out) == (0, False)

    def test_nothing_but_what_has_none(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"service_base_url": "https://osmo.acme.io"})
        assert (result.code, result.err) == (1, "Nothing was written: nothing of the input has a place here.\n")
        assert result.out.startswith("Not imported:\n")
        assert not (tmp_path / "work").exists()


class TestBackends:
    def test_namespace_and_scheduler(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL).code == 0
        (backend,) = read(tmp_path, "tas.yaml")["spec"]["backends"]
        assert backend == {"name": "prod", "namespace": "ml", "scheduler": {"type": "kai", "name": "kai-two"}}

    def test_one_that_pools_name_alone(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"pools": {"team": plain_pool()}})
        assert result.code == 0
        assert read(tmp_path, "tas.yaml")["spec"]["backends"] == [{"name": "prod"}]
        assert "The namespace of backend prod is taken to be default: `osmo config show BACKEND` tells" in result.err

    def test_a_config_that_is_there_stays(self, tmp_path: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends:\n  - {name: prod, namespace: training}\n"
        (tmp_path / "work").mkdir()
        (tmp_path / "work/tas.yaml").write_text(config)
        result = imported(tmp_path, {"pools": {"team": plain_pool()}}, [BACKEND])
        assert (result.code, "unchanged" in result.out) == (0, True)
        assert "Backend prod of tas.yaml stays as it is: the namespace is training; OSMO has ml" in result.err
        assert (tmp_path / "work/tas.yaml").read_text() == config

    def test_a_scheduler_that_is_not_known(self, tmp_path: Path) -> None:
        backend = {**BACKEND, "scheduler_settings": {"scheduler_type": "volcano"}}
        result = imported(tmp_path, {"pools": {"team": plain_pool()}}, [backend])
        assert (result.code, "already" in result.err) == (1, False)
        assert "tas.yaml:9:13: error" in result.err
        assert result.err.endswith(
            "Nothing was written: the repository would have these errors.\n"
            "Correct them in the input, and import it again.\n"
        )

    def test_a_namespace_that_is_not_told_is_compared_with_none(self, tmp_path: Path) -> None:
        assert imported(tmp_path, {"pools": {"team": plain_pool()}}, [BACKEND]).code == 0
        result = imported(tmp_path, {"pools": {"team": plain_pool()}})
        assert (result.code, "stays as it is" in result.err) == (0, False)

    def test_a_config_without_the_backend_is_told_what_to_add(self, tmp_path: Path) -> None:
        (tmp_path / "work").mkdir()
        (tmp_path / "work/tas.yaml").write_text(
            "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: other}]}\n"
        )
        result = imported(tmp_path, {"pools": {"team": plain_pool()}}, [BACKEND])
        assert result.code == 1
        assert (
            "tas.yaml is there already, and stays as it is. Add to spec.backends:\n- name: prod\n  namespace: ml\n"
            in result.err
        )
        assert not (tmp_path / "work/pools").exists()


class TestRoles:
    def test_who_may_send_and_who_may_see(self, tmp_path: Path) -> None:
        pools = {name: plain_pool() for name in ("research", "secret-lab")}
        result = imported(tmp_path, {"pools": pools}, ROLES)
        assert result.code == 0, result.err
        assert read(tmp_path, "pools/research.yaml")["spec"]["access"] == {
            "submit": ["admins", "research"],
            "view": ["audit"],
        }
        assert read(tmp_path, "pools/secret-lab.yaml")["spec"]["access"] == {"submit": ["admins"]}
        assert f"  Role research: pool:List, profile:*: {RIGHTS}\n" in result.out
        assert f"  Role auditors: Deny workflow:Read of pool/secret*: {GROUP_ONLY}\n" in result.out

    def test_the_guard_is_what_holds_others_back(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL, ROLES).code == 0
        validated = kubectl_tas("validate", "-C", tmp_path / "work")
        assert (validated.code, "[access-unguarded]" in validated.out) == (0, True)
        assert kubectl_tas("render", "--guard", "-C", tmp_path / "work").code == 0

    def test_a_policy_without_resources_speaks_of_no_pool(self, tmp_path: Path) -> None:
        role = {"name": "any", "policies": [{"actions": ["workflow:Create"]}]}
        result = imported(tmp_path, {"pools": {"team": plain_pool()}}, [role])
        assert (result.code, "access" in read(tmp_path, "pools/team.yaml")["spec"]) == (0, False)
        assert f"{ANYBODY}\n" in result.err
        assert unplaced({"pools": {"team": plain_pool()}}, [role]) == [f"Role any: workflow:Create: {RIGHTS}"]

    @pytest.mark.parametrize(
        ("actions", "submit"),
        [("workflow:Create", True), ("*", True), (["*:Create"], True), (["*:Delete", "pool:Create"], False)],
    )
    def test_actions(self, tmp_path: Path, actions: Data, submit: bool) -> None:
        """A single one needs no list, and * stands for all."""
        role = {"name": "any", "policies": [{"actions": actions, "resources": ["pool/team"]}]}
        assert imported(tmp_path, {"pools": {"team": plain_pool()}}, [role]).code == 0
        access = read(tmp_path, "pools/team.yaml")["spec"].get("access", {})
        assert access.get("submit") == (["any"] if submit else None)

    def test_what_access_cannot_say(self) -> None:
        """Denials, fields and pools that are unknown, other actions, and roles that nobody has."""
        policies = [
            {"effect": "Deny", "actions": ["workflow:Create", "a:b"]},
            {"action": "workflow:Create", "resource": "pool/team"},
            {"actions": ["workflow:Create", "x:y"], "resources": ["pool/gone", "pool/team", "bucket/a"]},
            {"actions": ["x:y", "*"], "resources": ["pool/*"]},
        ]
        role = {"name": "any", "policies": policies, "external_roles": []}
        found = made({"pools": {"team": plain_pool()}}, [role])
        assert [item.reason for item in found.unplaced] == [
            f"Deny workflow:Create, a:b of all: {GROUP_ONLY}",
            f"policies: action, resource: {UNKNOWN}",
            "pool/gone: there is no such pool among those that are imported",
            f"x:y: {RIGHTS}",
            "external_roles: no group has it, and OSMO does not list the users who have it",
        ]
        assert found.notes == (BY_COMMAND, RELEASE, ANYBODY)
        assert made({"pools": {"team": plain_pool()}}, {"backends": [{"name": "prod"}]}).notes == (BY_AGENT, RELEASE)


class TestAgain:
    def test_the_same_once_more_changes_nothing(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL, ROLES).code == 0
        before = files_below(tmp_path / "work")
        result = imported(tmp_path, *ALL, ROLES)
        assert (result.code, "wrote" in result.out) == (0, False)
        assert files_below(tmp_path / "work") == before

    def test_a_file_that_was_edited_is_never_overwritten(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL).code == 0
        file = tmp_path / "work/pools/research.yaml"
        file.write_text(file.read_text().replace("guarantee: 64", "guarantee: 48"))
        before = files_below(tmp_path / "work")
        result = imported(tmp_path, *ALL)
        assert (result.code, "-      guarantee: 48\n+      guarantee: 64\n" in result.out) == (1, True)
        assert result.err == (
            "Nothing was written: these files are there already, and are not what the import would write.\n"
        )
        assert files_below(tmp_path / "work") == before

    def test_a_further_pool_comes_beside_the_others(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *ALL).code == 0
        result = imported(tmp_path, {"pools": {"research": POOL, "ci": plain_pool()}}, *ALL[1:])
        assert (result.code, f"wrote {(tmp_path / 'work/pools/ci.yaml').as_posix()}" in result.out) == (0, True)


class TestPasted:
    @pytest.mark.parametrize(
        ("document", "kind"),
        [
            ({"pools": {"research": POOL}}, "POOL"),
            ({"research": POOL}, "POOL"),
            (POOL, "POOL"),
            ([POOL], "POOL"),
            ([BACKEND], "BACKEND"),
            (ROLES, "ROLE"),
            (VALIDATIONS, "RESOURCE_VALIDATION"),
            (TEMPLATES, "POD_TEMPLATE"),
        ],
    )
    def test_names_the_command(self, tmp_path: Path, document: Data, kind: str) -> None:
        (tmp_path / "pools").mkdir()
        (tmp_path / "pools/a.json").write_text(json.dumps(document))
        result = kubectl_tas("validate", "-C", tmp_path)
        assert result.code == 1
        assert f"pools/a.json:1:1: error: this is a configuration of OSMO ({kind}) [unknown-kind]" in result.out
        assert "kubectl tas import osmo a.json\n" in result.out

    @pytest.mark.parametrize("document", [{"spec": 1}, [1], {"a": {"b": 1}}, {}, [], {"metadata": {"name": "a"}}])
    def test_other_documents_are_said_to_be_none_of_it(self, tmp_path: Path, document: Data) -> None:
        (tmp_path / "pools").mkdir()
        (tmp_path / "pools/a.json").write_text(json.dumps(document))
        assert "OSMO (" not in kubectl_tas("validate", "-C", tmp_path).out


SETTINGS: dict[str, Data] = {
    "enabled": True,
    "extraConfigMaps": [],
    "service": {},
    "workflow": {"max_num_tasks": 100, "max_exec_timeout": "30d", "default_exec_timeout": "7d"},
    "podTemplates": TEMPLATES,
    "resourceValidations": VALIDATIONS,
    "backends": {"prod": {**BACKEND, "description": "Default backend"}},
    "pools": {"research": POOL, "default": {"backend": "prod", "description": "Default pool", "platforms": {"d": {}}}},
}
"""What the present chart has below ``configuration``."""


class TestValues:
    """Values files of OSMO's Helm chart, put over each other."""

    def test_of_the_present_chart(self, tmp_path: Path) -> None:
        result = imported(tmp_path, {"configuration": SETTINGS, "gateway": {"enabled": True}, "services": {"api": {}}})
        assert result.code == 0, result.err
        assert sorted(path.stem for path in (tmp_path / "work/pools").glob("*.yaml")) == ["default", "research"]
        assert read(tmp_path, "pools/default.yaml")["spec"]["max_exec_timeout"] == "30d"
        assert "Key enabled, gateway, services: it is for OSMO's Helm chart" in result.out

    def test_later_files_count_before_earlier_ones(self, tmp_path: Path) -> None:
        layers: list[Data] = [
            {"configuration": SETTINGS},
            {"configuration": {"pools": {"research": {"resources": {"gpu": {"guarantee": 8}}}}}},
            {"configuration": {"pools": {"research": {"resources": {"gpu": {"weight": 5}}, "topology_keys": []}}}},
            {"gateway": {"enabled": False}},
            {"configuration": {"pools": {"default": None}, "workflow": {"max_exec_timeout": None}}},
        ]
        result = imported(tmp_path, *layers)
        assert result.code == 0, result.err
        assert [path.stem for path in (tmp_path / "work/pools").glob("*.yaml")] == ["research"]
        spec = read(tmp_path, "pools/research.yaml")["spec"]
        assert spec["resources"]["gpu"] == {"guarantee": 8, "maximum": 96, "weight": 5}
        assert "topology_keys" not in spec
        assert spec["description"] == "Language models"

    def test_of_the_earlier_chart(self, tmp_path: Path) -> None:
        over = {"services": {"configs": {"pools": {"default": None, "research": {"description": "b"}}}}}
        result = imported(tmp_path, {"services": {"configs": SETTINGS}}, over)
        assert result.code == 0, result.err
        assert read(tmp_path, "pools/research.yaml")["spec"]["description"] == "b"

    @pytest.mark.parametrize("order", [0, 1])
    def test_beside_what_is_printed(self, tmp_path: Path, order: int) -> None:
        settings = {key: value for key, value in SETTINGS.items() if key != "podTemplates"}
        documents: list[Data] = [{"configuration": settings}, TEMPLATES]
        result = imported(tmp_path, *(documents if order else reversed(documents)))
        assert result.code == 0, result.err

    @pytest.mark.parametrize(
        "document", [{"workflow": {"name": "a", "tasks": []}}, {"apiVersion": "v1", "kind": "Secret"}, "text"]
    )
    def test_other_files_are_refused(self, tmp_path: Path, document: Data) -> None:
        result = imported(tmp_path, {"configuration": SETTINGS}, document)
        assert (result.code, "1.json is no configuration of OSMO" in result.err) == (3, True)


def test_reserved_fields_of_a_pod_template_are_listed(tmp_path: Path) -> None:
    template = {
        "metadata": {"labels": {"kai.scheduler/queue": "a", "acme.io/a": "b"}, "annotations": {"pod-group-name": "g"}},
        "spec": {"schedulerName": "kai", "restartPolicy": "Never", "hostname": "a", "terminationGracePeriodSeconds": 9},
    }
    pool = plain_pool(common_pod_template=["h100"])
    result = imported(tmp_path, {"a": pool}, {"h100": template, "only": {"spec": {"subdomain": "a"}}})
    assert result.code == 0, result.err
    body = read(tmp_path, "pools/pod-templates/h100.yaml")["template"]
    assert body == {
        "metadata": {"labels": {"acme.io/a": "b"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 9},
    }
    reserved = (
        "metadata.labels.kai.scheduler/queue, metadata.annotations.pod-group-name, spec.schedulerName, spec.hostname"
    )
    assert f"PodTemplate h100: {reserved}: kubectl-tas sets it itself" in result.out
    assert "PodTemplate only: spec.subdomain: kubectl-tas sets it itself" in result.out


def test_label_policies_are_settings_of_the_config(tmp_path: Path) -> None:
    policy = {"key": "team", "allow_list": ["nlp"], "enforcement": "warn", "assert_message": ""}
    labels = {"policy": [policy, {"key": "stage", "enforcement": "off"}], "pod_label_prefix": "example.com/"}
    documents: list[Data] = [{"pools": {"a": plain_pool()}, "workflow": {"max_num_tasks": 1, "labels_config": labels}}]
    result = imported(tmp_path, *documents)
    assert result.code == 0, result.err
    expected = {
        "policy": [{"key": "team", "allow_list": ["nlp"], "enforcement": "warn"}, {"key": "stage"}],
        "pod_label_prefix": "example.com/",
    }
    assert read(tmp_path, "tas.yaml")["spec"]["labels_config"] == expected
    assert "labels_config" not in result.out
    assert imported(tmp_path, *documents).code == 0
    labels["pod_label_prefix"] = ""
    again = imported(tmp_path, *documents)
    assert (again.code, "Add to spec.labels_config" in again.err) == (1, True)
