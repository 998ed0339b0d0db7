"""Tests what is said of files as they are read: YAML, the Config, folders that count, and files that tasks name."""

from __future__ import annotations

import pytest

from tests.support.cli import pool
from tests.support.judged import told, told_of

UNQUOTED = "Write a name, or put the key in quotes."
UNTAGGED = "Write the value without it; put text in quotes."
NUL = "file-not-text: the control character U+0000 is not text (Remove it; no variable, argument or name can hold it.)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a: "\\0"\n', f"1:4 {NUL}"),
        ('"\\0": b\n', f"1:1 {NUL}"),
        (
            "a: &x [*x]\n",
            "1:4 yaml-alias: this part contains itself, by an alias of its own anchor "
            "(Remove the alias, or write the part out.)",
        ),
        ("a: !!str b\n", f"1:4 yaml-tag: the tag !!str is not read ({UNTAGGED})"),
        ("a: !x b\n", f"1:4 yaml-tag: the tag !x is not read ({UNTAGGED})"),
        ("a: ! b\n", f"1:4 yaml-tag: the tag ! is not read ({UNTAGGED})"),
        ("!!str a: b\n", f"1:1 yaml-tag: the tag !!str is not read ({UNTAGGED})"),
        ("{a: b}: c\n", f"1:1 yaml-key: a key must be a name, not a mapping ({UNQUOTED})"),
        ("[a]: b\n", f"1:1 yaml-key: a key must be a name, not a list ({UNQUOTED})"),
        ("{[a]: b}\n", f"1:2 yaml-key: a key must be a name, not a list ({UNQUOTED})"),
        (
            "a: {{ x }}\n",
            "1:4 yaml-key: '{{' begins a mapping within a mapping, and nothing fills in a placeholder here "
            "(Write the value in the placeholder's place.)",
        ),
        (
            "a: {{ inputs.parameters.x }}\n",
            "1:4 yaml-key: '{{' begins a mapping within a mapping; a placeholder needs quotes "
            "(Put the whole value in quotes.)",
        ),
        ("<<: 3\n", "1:5 yaml-key: a merge key must name a mapping (Write an alias of a mapping: <<: *anchor.)"),
        ("a: 1\na: 2\n", '2:1 yaml-duplicate-key: the key "a" is here twice (Remove one of them.)'),
        (
            f"{'[' * 65}{']' * 65}\n",
            "1:64 yaml-depth: nested more than 64 levels deep (Close the brackets, or nest less.)",
        ),
    ],
)
def test_yaml_that_is_not_read(text: str, found: str) -> None:
    assert told_of(text) == [f"w.yaml:{found}"]


def config(spec: str) -> str:
    return f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"


NO_FOLDER = "is not a folder below the repository root (Write a path relative to the folder of tas.yaml, without '..'.)"
OWN = "(Choose a folder of its own, such as manifests.)"


@pytest.mark.parametrize(
    ("spec", "files", "found"),
    [
        (
            "{output: .x}",
            {},
            'tas.yaml:3:16 invalid-value: the output ".x" is a hidden folder, which other programs read ' + OWN,
        ),
        ("{output: .}", {}, f"tas.yaml:3:16 invalid-value: the output is the repository itself {OWN}"),
        ("{output: ../x}", {}, f'tas.yaml:3:16 invalid-value: "../x" {NO_FOLDER}'),
        ("{sources: [/x]}", {}, f'tas.yaml:3:18 invalid-value: "/x" {NO_FOLDER}'),
        (
            "{adminSources: [pools, nope]}",
            {},
            "tas.yaml:3:30 admin-source-unread: no file of nope is read, so nothing in it counts "
            "(Correct its name, or add it to spec.sources.)",
        ),
        (
            "{sources: [pools, values]}",
            {},
            'tas.yaml:3:25 source-missing: the folder "values" does not exist '
            "(Correct the name, or create the folder.)",
        ),
        (
            "{}\n---\napiVersion: tas/v1alpha1\nkind: Config\nspec: {}",
            {},
            "tas.yaml:6:7 config-misplaced: tas.yaml has a second Config (Make one of the two.)",
        ),
        (
            "{}",
            {"pools/c.yaml": config("{}")},
            "pools/c.yaml:2:7 config-misplaced: a Config counts only in tas.yaml "
            "(Move it to tas.yaml at the root, or remove it.)",
        ),
        (
            "{adminSources: [pools]}",
            {"workflows/p.yaml": pool("other")},
            'workflows/p.yaml:2:7 outside-admin-sources: the Pool "other" affects other teams, so it is allowed '
            "only in pools, not in workflows "
            '(Move it to pools, or add "workflows" to spec.adminSources of tas.yaml.)',
        ),
        (
            "{adminSources: [pools, subpools]}",
            {"p.yaml": pool("other")},
            'p.yaml:2:7 outside-admin-sources: the Pool "other" affects other teams, so it is allowed '
            "only in pools or subpools, not in . "
            '(Move it to pools, or add "." to spec.adminSources of tas.yaml.)',
        ),
        (
            "{adminSources: []}",
            {},
            'pools/team.yaml:2:7 outside-admin-sources: the Pool "team" affects other teams, so it is allowed '
            "only in tas.yaml, not in pools "
            '(Move it to tas.yaml, or add "pools" to spec.adminSources of tas.yaml.)',
        ),
        (
            "{adminSources: [pools]}",
            {"/x.yaml": pool("other")},
            '/x.yaml:2:7 outside-admin-sources: the Pool "other" affects other teams, so it is allowed '
            "only in pools (Take it out of what is "
            "submitted; `validate - --stdin-filename PATH` says which file it is to be.)",
        ),
    ],
)
def test_folders_and_the_config(spec: str, files: dict[str, str], found: str) -> None:
    lines = told({"tas.yaml": config(spec), "pools/team.yaml": pool(), **files})
    assert [line for line in lines if " output-in-sources: " not in line] == [found]


def test_a_template_is_in_no_file_with_the_config() -> None:
    assert told({"tas.yaml": "# own\nworkflow: {name: '{{ n }}'}\n", "pools/team.yaml": pool()}) == [
        "tas.yaml:2:1 template-unsupported: the Config and a template do not share a file "
        "(Move it to a file of its own, in a folder that is read.)"
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *(
            (
                path,
                f'the localpath "{path}" leads out of the repository '
                "(Copy the file into the repository, and name it from the folder of the workflow's file.)",
            )
            for path in ("../../x", "/etc/x")
        ),
        (
            "nope",
            'the localpath "nope" means workflows/nope: this file does not exist '
            "(Correct the path, which begins at the folder of the workflow's file.)",
        ),
    ],
)
@pytest.mark.parametrize("is_grouped", [False, True])
def test_files_that_tasks_name(path: str, found: str, is_grouped: bool) -> None:
    tasks = f"[{{name: t, image: i, files: [{{path: /b, contents: b}}, {{path: /a, localpath: {path}}}]}}]"
    tasks = f"groups: [{{name: g, tasks: {tasks}}}]" if is_grouped else f"tasks: {tasks}"
    text = f"workflow:\n  name: w\n  pool: team\n  {tasks}\n"
    column = text.splitlines()[3].index(path) + 1
    assert told_of(text) == [f"w.yaml:4:{column} local-file: {found}"]
