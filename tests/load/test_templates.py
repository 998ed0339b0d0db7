"""Tests templates of workflows: their values, their instances, and the places of findings in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from kubectl_tas.load.source import MAX_BYTES
from kubectl_tas.load.templates import Templates
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.pyyaml import safe_load, safe_load_all

TEMPLATE = """\
# Submit with --set gpus={{ number }}
default-values:
  gpus: 8
  tag: "1.37"
  shards: [a, b]
  debug: false
  extra: {cpu: 1}

workflow:
  name: train
  pool: team
  resources:
    default: {gpu: {{ gpus }}, cpu: {{ extra.cpu }}, memory: 1Gi}
  tasks:
  {%- for shard in shards %}
  - name: shard-{{ shard }}
    image: busybox:{{ tag }}
    command: [sh]
    args: [-c, "run {{workflow_id}} {{ workflow_id }}/{{ shard }}"]
  {%- endfor %}
"""


def declared(root: Path, template: str = TEMPLATE, **files: str) -> Path:
    texts = {f"{path.replace('__', '/')}.yaml": text for path, text in files.items()}
    return write(root, {"pools/team.yaml": pool("team"), "workflows/train.yaml": template, **texts})


def pods(root: Path, *arguments: str) -> dict[str, Any]:
    """The container of each task's pod that is rendered, by its workflow and task."""
    result = kubectl_tas("render", "--to", "-", "-C", root, *arguments)
    assert result.code == 0, result.err
    found = [item for item in safe_load_all(result.out) if item["kind"] == "Pod"]
    return {item["metadata"]["name"]: item["spec"]["containers"][0] for item in found}


def gpus(root: Path, *arguments: str) -> list[str]:
    return [item["resources"]["limits"]["nvidia.com/gpu"] for item in pods(root, *arguments).values()]


def findings(root: Path, *arguments: str) -> list[dict[str, Any]]:
    result = kubectl_tas("validate", "-o", "json", "-C", root, *arguments)
    return [item for item in json.loads(result.out)["diagnostics"] if item["severity"] != "info"]


def told(root: Path, *arguments: str) -> list[str]:
    """Place, rule and message of all that is found."""
    places = ((item, item["location"]) for item in findings(root, *arguments))
    return [f"{at['path']}:{at['line']}:{at['column']} {item['rule']} {item['message']}" for item, at in places]


def test_values_count_from_the_defaults_to_the_command_line(repository: Path) -> None:
    root = declared(repository)
    assert gpus(root) == ["8", "8"]
    write(root, {"values/train.yaml": "gpus: 4\nshards: [a]\n"})
    assert gpus(root) == ["4"]
    assert gpus(root, "--set", "gpus=2") == ["2"]
    assert gpus(root, "--set", "gpus=2", "--set", "gpus=3") == ["3"]


def test_values_in_the_config(repository: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {values: {train: {gpus: 4}}}\n"
    root = declared(repository, tas=config)
    assert gpus(root) == ["4", "4"]
    write(root, {"values/train.yaml": "gpus: 2\n"})
    assert told(root) == ["tas.yaml:3:24 invalid-value values of train are given twice"]


def test_run_time_tokens_are_no_values(repository: Path) -> None:
    (first, _) = pods(declared(repository)).values()
    assert re.fullmatch(r"run (train-[0-9a-f]{8}) \1/a", first["args"][1])


def test_a_token_with_blanks_is_a_value_where_one_is_defined(repository: Path) -> None:
    (first, _) = pods(
        declared(repository, TEMPLATE.replace("  gpus: 8\n", "  gpus: 8\n  workflow_id: there\n"))
    ).values()
    assert re.fullmatch(r"run train-[0-9a-f]{8} there/a", first["args"][1])


def test_instances_are_workflows_of_their_own(repository: Path) -> None:
    values = "shards: [x]\ninstances:\n- name: small\n  gpus: 1\n- name: large\n  gpus: 8\n"
    root = declared(repository, values__train=values)
    found = pods(root)
    assert [name.partition("-shard")[0] for name in found] == ["large", "small"]
    assert gpus(root) == ["8", "1"]
    explained = kubectl_tas("workflow", "explain", "small", "-C", root)
    assert (explained.code, "small" in explained.out, "large" in explained.out) == (0, True, False)


def test_the_name_of_an_instance_is_found_where_it_is_given(repository: Path) -> None:
    values = "instances:\n- name: same\n- name: same\n"
    (found,) = told(declared(repository, values__train=values))
    assert found.startswith("values/train.yaml:3:9 name-duplicate ")


def test_instances_are_of_one_workflow(repository: Path) -> None:
    two = f"{TEMPLATE}---\nworkflow: {{name: second, pool: team, tasks: [{{name: a, image: b}}]}}\n"
    (found,) = told(declared(repository, two, values__train="instances: [{name: a}]\n"))
    assert found == "values/train.yaml:1:20 invalid-value instances are of one workflow, and the template has 2"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("{{ gpus }}", "{{ gpu }}", "13:20", "template-undefined gpu is not defined; defined: debug, extra, gpus"),
        ("{{ gpus }}", "{{ gpus / 16 }}", "13:20", "wrong-type workflow.resources.default.gpu must be a whole number"),
        ("command: [sh]", "comand: [sh]", "18:5", "unknown-field"),
        ("  pool: team", "  pool: taem", "11:9", "pool-unknown"),
        ("busybox:{{ tag }}", "{{ shards }", "17:5", "template-syntax unexpected '}'"),
        ("busybox:{{ tag }}", '"a" {{ tag }}', "17:16", "yaml-syntax"),
        ("busybox:{{ tag }}", r'{{ "\x01" }}', "17:12", r"template-unsupported the escape \x01 is not available"),
        ("{%- endfor %}", "", "15:3", "template-syntax the block for is not closed"),
        ("{%- endfor %}", "{% if debug %}{% endif %}", "15:3", "template-syntax the block for is not closed"),
        ("{%- endfor %}", "{% if debug %}", "20:3", "template-syntax the block if is not closed"),
        ("command: [sh]", "command:\n    -", "19:6", "wrong-type workflow.tasks[0].command[0] has no value"),
        ("{{ gpus }}", "{{ .Values.gpus }}", "13:20", "template-syntax"),
        ("  gpus: 8", "  gpus: [8", "4:6", "yaml-syntax"),
        ("default-values:", "default-values: 8\nversion: 2\nx:", "2:1", "template-syntax default-values is no mapping"),
        ("workflow:", "default-values:\n  x: 1\nworkflow:", "9:1", "template-syntax the file has default-values twice"),
        ("\nworkflow:", "\nkind: Job\n---\nworkflow:", "9:1", "template-unsupported a template expands to workflows"),
    ],
)
def test_findings_point_at_the_template(repository: Path, old: str, new: str, place: str, words: str) -> None:
    assert TEMPLATE.count(old) == 1
    (found,) = told(declared(repository, TEMPLATE.replace(old, new)))
    assert found.startswith(f"workflows/train.yaml:{place} {words}")


def test_what_a_slip_expands_to_is_shown(repository: Path) -> None:
    (found,) = findings(declared(repository, TEMPLATE.replace("busybox:{{ tag }}", '"a" {{ tag }}')))
    assert found["related"][-1]["message"] == 'expanded, the line is: image: "a" 1.37'


def test_an_empty_line_that_a_slip_expands_to_is_not_shown(repository: Path) -> None:
    text = 'default-values: {a: ""}\nworkflow:\n  name: t\n  pool: team\n  tasks: [\n  {{ a }}\n'
    (found,) = findings(declared(repository, text))
    assert (found["rule"], found["location"]["line"], found["location"]["column"]) == ("yaml-syntax", 6, 3)
    assert found["related"] == []


@pytest.mark.parametrize(("value", "length"), [("eight", 5), ("a{{ gpus }}", 11)])
def test_what_is_wrong_is_underlined_in_the_template(repository: Path, value: str, length: int) -> None:
    root = declared(repository, TEMPLATE.replace("{gpu: {{ gpus }},", f"{{gpu: {value},"))
    result = kubectl_tas("validate", "-C", root)
    assert f"    | {' ' * 19}{'^' * length}\n" in result.out


def test_a_template_of_what_is_no_mapping_gets_no_name(repository: Path) -> None:
    text = "workflow: train-{{ n }}\n"
    (found,) = told(declared(repository, text, values__train="instances: [{name: a, n: 1}]\n"))
    assert found.startswith("workflows/train.yaml:1:11 wrong-type workflow must be a mapping")


def test_a_template_that_expands_to_nothing(repository: Path) -> None:
    (found,) = told(declared(repository, "# {{ a }}\n---\n{% if false %}\nworkflow: {name: a}\n{% endif %}\n"))
    assert found == "workflows/train.yaml:3:1 template-unsupported the template expands to nothing"


def test_a_file_with_default_values_alone_expands_to_nothing(repository: Path) -> None:
    (found,) = told(declared(repository, "default-values: {n: 1}\n"))
    assert found == "workflows/train.yaml:1:1 template-unsupported the template expands to nothing"


def test_default_values_may_be_empty(repository: Path) -> None:
    text = "default-values:\n\nworkflow: {name: 'train-{{ n }}', pool: team, tasks: [{name: a, image: b}]}\n"
    root = declared(repository, text)
    assert told(root) == ["workflows/train.yaml:3:25 template-undefined n is not defined; defined: nothing"]
    assert len(pods(root, "--set", "n=1")) == 1


def test_comments_outside_of_the_workflow_hold_anything(repository: Path) -> None:
    text = TEMPLATE.replace("\nworkflow:", "\n# Say {{ what }} {% you %} like\nworkflow:").replace(
        "# Submit", "---\n# Submit"
    )
    assert told(declared(repository, text)) == []


def test_what_a_macro_gives_is_found_where_it_is_called(repository: Path) -> None:
    text = TEMPLATE.replace("image: busybox:{{ tag }}", "{{ image(tag) }}")
    text = text.replace("workflow:", "{% macro image(tag) %}imag: {{ tag }}{% endmacro %}\nworkflow:")
    assert {item.split()[0] for item in told(declared(repository, text))} == {"workflows/train.yaml:18:5"}


def test_a_go_template_is_told_from_osmos(repository: Path) -> None:
    (found,) = findings(declared(repository, TEMPLATE.replace("{{ gpus }}", "{{ .Values.gpus }}")))
    assert "Helm" in found["hint"]


def test_defaults_that_are_indented(repository: Path) -> None:
    (found,) = findings(declared(repository, TEMPLATE.replace("default-values", "version: 2\nx:\n  default-values")))
    assert "indented" in found["hint"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("gpu: 4\n", 'values/train.yaml:1:6 value-unknown the template uses no value "gpu"'),
        ("gpus: eight\n", "values/train.yaml:1:7 value-type gpus is a number in default-values, here text"),
        ("tag: 1.10\n", "values/train.yaml:1:6 value-type tag is text in default-values, here a number"),
        ("instances:\n- {name: a, debug: 1}\n", "values/train.yaml:2:20 value-type debug is true or false"),
        ("instances:\n- {gpus: 1}\n", "values/train.yaml:2:3 missing-field"),
        ("instances: a\n", "values/train.yaml:1:12 wrong-type"),
        ("[a]\n", "values/train.yaml:1:1 wrong-type"),
        ("gpus: 1\n---\ngpus: 2\n", "values/train.yaml:3:1 invalid-value a values file has one document"),
        ("gpus: 4\ngpus: 5\n", "values/train.yaml:2:1 yaml-duplicate-key"),
    ],
)
def test_values_are_checked(repository: Path, values: str, expected: str) -> None:
    (found,) = told(declared(repository, values__train=values))
    assert found.startswith(expected)


def test_a_values_file_that_is_no_text(repository: Path) -> None:
    root = declared(repository)
    (root / "values").mkdir()
    (root / "values/train.yaml").write_bytes(b"gpus: \xff\n")
    assert told(root) == ["values/train.yaml:1:7 file-not-text the byte 0xff is not UTF-8"]


def test_a_values_file_that_is_too_large(repository: Path) -> None:
    (found,) = findings(declared(repository, values__train="#" * (MAX_BYTES + 1)))
    assert (found["rule"], found["location"]["path"]) == ("file-too-large", "values/train.yaml")


def test_the_names_of_many_values_are_not_compared(repository: Path) -> None:
    files = {f"values__train{number:02}": "gpus: 4\n" for number in range(21)}
    hints = [item["hint"] for item in findings(declared(repository, **files))]
    assert hints == ['Did you mean "train"?'] * 20 + ["Available: train."]


def test_values_without_a_template(repository: Path) -> None:
    (found,) = findings(declared(repository, values__tarin="gpus: 4\n"))
    assert (found["rule"], found["location"]["path"]) == ("values-unused", "values/tarin.yaml")
    assert found["hint"] == 'Did you mean "train"?'


def test_a_template_in_a_folder(repository: Path) -> None:
    root = write(repository, {"pools/team.yaml": pool("team"), "workflows/a/train.yaml": TEMPLATE})
    write(root, {"values/a/train.yaml": "gpus: 4\n"})
    assert gpus(root) == ["4", "4"]


def test_a_template_where_all_folders_are_read(repository: Path) -> None:
    config = 'apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: ["."], adminSources: ["."]}\n'
    root = write(repository, {"tas.yaml": config, "team.yaml": pool("team"), "jobs/train.yaml": TEMPLATE})
    write(root, {"values/jobs/train.yaml": "gpus: 4\n"})
    assert gpus(root) == ["4", "4"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "gpu=4"], 'no template uses the value "gpu". Did you mean "gpus"?'),
        (["--set", "gpus"], "'gpus' is not NAME=VALUE"),
        (
            ["--set", "gpus=many"],
            "gpus is a number in workflows/train.yaml, and --set gives text: set it in a values file",
        ),
        (
            ["--set", "debug=1"],
            "debug is true or false in workflows/train.yaml, and --set gives a number: set it in a values file",
        ),
        (
            ["--set", "tag=1.10"],
            "tag is text in workflows/train.yaml, and 1.10 would be the number 1.1: write --set-string tag=1.10",
        ),
    ],
)
def test_what_cannot_be_set(repository: Path, arguments: list[str], words: str) -> None:
    result = kubectl_tas("validate", "-C", declared(repository), *arguments)
    assert result.code == 2
    assert words in result.err


def test_set_string(repository: Path) -> None:
    first = next(iter(pods(declared(repository), "--set-string", "tag=1.10").values()))
    assert first["image"] == "busybox:1.10"


def test_a_number_for_a_text_is_set_as_it_is_written(repository: Path) -> None:
    first = next(iter(pods(declared(repository), "--set", "tag=8").values()))
    assert first["image"] == "busybox:8"


def test_settings_where_there_is_no_template(repository: Path) -> None:
    root = write(repository, {"pools/team.yaml": pool("team")})
    assert kubectl_tas("validate", "-C", root, "--set", "gpus=4").code == 2


def admit(root: Path, *arguments: str) -> Result:
    return kubectl_tas("admit", root / "workflows/train.yaml", "-C", root, *arguments)


def test_admit_expands(repository: Path) -> None:
    root = declared(repository)
    assert "16 GPUs" in admit(root).out
    assert "4 GPUs" in admit(root, "--set", "gpus=2").out
    refused = admit(root, "--pool", "team")
    assert (refused.code, "is a template" in refused.err) == (3, True)


def test_a_waiver_in_a_loop(repository: Path) -> None:
    waived = TEMPLATE.replace("  - name: shard-", "  # kubectl-tas: ignore[osmo-only] known\n  - name: shard-")
    found = findings(declared(repository, waived))
    assert [(item["rule"], item["location"]["line"]) for item in found] == [("waiver-unused", 16)]


def test_the_same_bytes_on_every_run(repository: Path) -> None:
    root = declared(repository, TEMPLATE.replace("shards %}", "{'b': 1, 'a': 2} %}"))
    runs = {kubectl_tas("render", "--to", "-", "-C", root).out for _ in range(2)}
    assert len(runs) == 1


def test_line_ends_of_windows(repository: Path) -> None:
    root = declared(repository)
    before = pods(root)
    (root / "workflows/train.yaml").write_bytes(TEMPLATE.replace("\n", "\r\n").encode())
    assert pods(root) == before


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Values.a }}'}\n",
        "workflow:\n  name: a\n  pool: team\n  tasks:\n"
        "  - {name: a, image: b, args: ['{{output}}', '{{ host:a }}', '${#a}']}\n",
    ],
)
def test_what_is_no_template(repository: Path, text: str) -> None:
    root = write(repository, {"pools/team.yaml": pool("team"), "workflows/a.yaml": text})
    assert not [item for item in told(root) if "template" in item.split()[1]]


def test_a_template_in_json(repository: Path) -> None:
    text = json.dumps({"workflow": {"name": "a-{{ n }}", "pool": "team", "tasks": [{"name": "a", "image": "b"}]}})
    root = write(repository, {"pools/team.yaml": pool("team"), "workflows/a.json": text})
    assert told(root)[0].endswith("n is not defined; defined: nothing")
    assert len(pods(root, "--set", "n=1")) == 1


def test_a_template_beside_the_config(repository: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\n---\n"
    root = write(repository, {"pools/team.yaml": pool("team"), "tas.yaml": config + TEMPLATE})
    assert told(root)[0].startswith("tas.yaml:5:1 template-unsupported the Config and a template")


SCALARS = {
    "literal": "|\n{0}one {{{{ word }}}}\n\n{0}  two",
    "literal strip": "|-\n{0}one\n{0}two",
    "literal keep": "|+\n{0}one\n{0}two",
    "literal indented": "|2\n{0}  one\n{0}two",
    "literal indented keep": "|2+\n{0}  one\n{0}two",
    "folded": ">\n{0}one\n{0}two\n\n{0}three",
    "folded strip": ">-\n{0}one\n{0}two",
    "folded keep": ">+\n{0}one\n{0}two",
    "folded indented": ">2\n{0}  one\n{0}two",
    "plain": "one\n{0}two\n\n{0}three",
    "quoted": '"one\n{0}two \\\n{0}three\\n\n{0}"',
    "single": "'one\n{0}{{{{ word }}}} it''s\n\n{0}'",
    "tabs": "|\n{0}one\t\n{0}\ttwo\n{0}\t",
    "blanks": "|\n{0}one\n{0}   ",
}
"""A value of each style, whose lines are indented by ``{0}``."""
VALUES = 'default-values:\n  word: "it"\n  text: |+\n    x\n\n  # of the defaults\n'
WORKFLOW = "workflow:\n  name: train\n  tasks:\n  - command: [sh]\n    {0}: "
LAYOUTS = {
    "at the end": "{workflow}\n{values}",
    "at the end, after a blank line": "{workflow}\n\n{values}",
    "at the end, after blank lines": "{workflow}\n\n\n\n{values}",
    "at the end, after lines of blanks": "{workflow}\n  \n            \n{values}",
    "at the end, after a comment": "{workflow}\n# of the values: {{# hidden #}}\n\n{values}",
    "at the end, with a comment below": "{workflow}\n{values}# the end {{{{ nothing }}}}\n",
    "at the end, without a line break": "{workflow}\n{values}  last: 1",
    "behind the end of the document": "{workflow}\n...\n{values}",
    "at the top": "{values}{workflow}\n",
    "at the top, after a comment": "# {{{{ nothing }}}}\n{values}\n# {{% nothing %}}\n{workflow}\n",
    "at the top, without a line break": "{values}{workflow}",
    "at the top, with blank lines below": "{values}{workflow}\n\n\n",
    "between the version and the workflow": "version: 2\n{values}{workflow}\n",
    "between the workflow and the version": "{workflow}\n{values}version: 2\n",
    "below the version": "{workflow}\nversion: 2 # of the format\n{values}",
    "nowhere": "{workflow}\n# {{{{ 1 }}}}\n",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("scalar", SCALARS.values(), ids=SCALARS)
def test_scalars_are_osmos_to_the_byte(scalar: str, layout: str, ends: str) -> None:
    """OSMO gives Jinja the text from ``workflow:`` to the next root key, and reads what Jinja makes of it."""
    for place, indent in (("image", " " * 6), ("args:\n    -", " " * 6)):
        begin = WORKFLOW.format(place).replace(":\n    -:", ":\n    -")
        workflow = begin + scalar.format(indent)
        text = layout.format(workflow=workflow, values=VALUES)
        if "values" not in layout:
            text = text.replace("{{ word }}", "it")
        section = text[text.index("workflow:") :]
        section = re.split(r"^(?:default-values|version):", section, flags=re.MULTILINE)[0]
        expected = safe_load(Environment().from_string(section).render(word="it", text="x\n\n"))
        found = Templates(["workflows"], []).expand("workflows/a.yaml", text.replace("\n", ends))
        assert not found.problems
        assert [item.data["workflow"] for item in found.documents] == [expected["workflow"]]


def test_a_value_of_many_lines_is_osmos_to_the_byte() -> None:
    text = 'default-values:\n  text: |+\n    x\n\n\n  # more\nworkflow:\n  args: ["{{ text | length }}"]\n'
    found = Templates(["workflows"], []).expand("workflows/a.yaml", text)
    assert [item.data for item in found.documents] == [{"workflow": {"args": ["4"]}}]


def test_what_stands_below_the_version_is_read(repository: Path) -> None:
    template = TEMPLATE + "version: 2\n  tasks: []\n"
    assert [item["rule"] for item in findings(declared(repository, template))] == ["yaml-syntax"]


@pytest.mark.parametrize(("written", "counted"), [('"{{ gpus }}"', ["8", "8"]), ('"08"', ["8", "8"]), ('"0"', [])])
def test_gpus_may_be_quoted(repository: Path, written: str, counted: list[str]) -> None:
    found = pods(declared(repository, TEMPLATE.replace("gpu: {{ gpus }}", f"gpu: {written}")))
    limits = [item["resources"]["limits"].get("nvidia.com/gpu") for item in found.values()]
    assert [amount for amount in limits if amount is not None] == counted
    assert any("env" in item for item in found.values()) is (counted == [])


def test_quoted_gpus_are_counted(repository: Path) -> None:
    found = findings(declared(repository, TEMPLATE.replace("gpu: {{ gpus }}", 'gpu: "4000"')))
    assert "4000" in found[0]["message"]


TOKENS = """\
workflow:
  name: train
  pool: team
  tasks:
  - name: a
    image: busybox
    command: [sh, -c]
    args:
    - |
      echo 1
      cp x @
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOKENS.replace("@", "{{output}}"), "/osmo/data/output"),
        (TOKENS.replace("@", "{{output}}").replace("\n", "\r\n"), "/osmo/data/output"),
        (TOKENS.replace("@", "{{output}}").replace("|", "|+") + "\n", "/osmo/data/output\n"),
        (TOKENS.replace("@", "{{output}}") + "\n", "/osmo/data/output\n"),
        (TOKENS.replace("@", "y"), "y\n"),
    ],
)
def test_a_file_with_tokens_loses_its_last_line_break(repository: Path, text: str, expected: str) -> None:
    """OSMO's Jinja leaves it out; a workflow without tags does not go through Jinja."""
    (container,) = pods(declared(repository, text)).values()
    assert container["args"] == [f"echo 1\ncp x {expected}"]
