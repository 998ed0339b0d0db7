"""Where files and credentials of tasks are mounted, word by word."""

from __future__ import annotations

import pytest

from tests.support.cli import pool
from tests.support.judged import told

FLOW = """\
workflow:
  name: w
  pool: team
  tasks:
  - name: t
    image: i
    command: [c]
    {}
    resource: r
resources:
  r: {{gpu: 1}}
"""


def files(item: str) -> str:
    return FLOW.format(f"files: [{{{item}}}]")


def credentials(item: str) -> str:
    return FLOW.format(f"credentials: {{{item}}}")


ROWS = {
    "a file": (
        files("path: /a, contents: x"),
        [],
    ),
    "a file with a colon in its path": (
        files("path: '/a:b', contents: x"),
        [
            (
                "w.yaml:8:20 mount-path: the file \"/a:b\" has '..' or ':' in its path, which Kubernetes refuses "
                "(Write it without.)"
            )
        ],
    ),
    "a file above": (
        files("path: /a/../b, contents: x"),
        [
            (
                "w.yaml:8:20 mount-path: the file \"/a/../b\" has '..' or ':' in its path, which Kubernetes refuses "
                "(Write it without.)"
            )
        ],
    ),
    "a file at the root": (
        files("path: /, contents: x"),
        [
            (
                'w.yaml:8:20 mount-path: the file "/" is the path of a folder (Add the name that the file is to have '
                "there.)"
            )
        ],
    ),
    "a file that is the root": (
        files("path: /., contents: x"),
        [
            (
                'w.yaml:8:20 mount-path: the file "/." is the path of a folder (Add the name that the file is to '
                "have there.)"
            )
        ],
    ),
    "a file in a folder without a name": (
        files("path: /a/, contents: x"),
        [
            (
                'w.yaml:8:20 mount-path: the file "/a/" is the path of a folder (Add the name that the file is to '
                "have there.)"
            )
        ],
    ),
    "a Secret at the root": (
        credentials("c: /"),
        [
            (
                'w.yaml:8:22 mount-path: the Secret "/" would hide all that the image has there (Give it a folder of '
                "its own, such as /secret.)"
            )
        ],
    ),
    "a Secret that is the root": (
        credentials("c: /."),
        [
            (
                'w.yaml:8:22 mount-path: the Secret "/." would hide all that the image has there (Give it a folder '
                "of its own, such as /secret.)"
            )
        ],
    ),
    "a Secret that hides the image": (
        credentials("c: /etc"),
        [
            (
                'w.yaml:8:22 mount-path: the Secret "/etc" would hide all that the image has there (Give it a folder '
                "of its own, such as /etc/secret.)"
            )
        ],
    ),
    "a Secret in a folder of its own": (
        credentials("c: /etc/wandb"),
        [],
    ),
    "contents that are no base64": (
        files("path: /a, contents: '!', base64: true"),
        [
            (
                'w.yaml:8:34 task-data: files[0] of the task "t" is no base64 (Write it in base64, or remove base64: '
                "true.)"
            )
        ],
    ),
    "a local file that is no base64": (
        files("path: /a, localpath: x.bin, base64: true"),
        [
            (
                'w.yaml:8:35 task-data: files[0] of the task "t" is no base64 (Write it in base64, or remove base64: '
                "true.)"
            )
        ],
    ),
    "a local file that is not there": (
        files("path: /a, localpath: gone, base64: true"),
        [
            (
                'w.yaml:8:35 local-file: the localpath "gone" means workflows/gone: this file does not exist '
                "(Correct the path, which begins at the folder of the workflow's file.)"
            )
        ],
    ),
}


def mounted(text: str) -> list[str]:
    found = told({"pools/team.yaml": pool(), "workflows/w.yaml": text, "workflows/x.bin": "# no base64"})
    return [line.removeprefix("workflows/") for line in found]


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_mounts(text: str, expected: list[str]) -> None:
    assert mounted(text) == expected
