"""Tests a hostile repository in an editor: its texts appear as text, never as a link, a picture or a command."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.hostile.test_terminal import EVIL, RAW, broken, quoted
from tests.support.cli import pool, write
from tests.support.editor import Editor, editor

LINK = "[Mend it](command:workbench.action.quit)"
"""VS Code makes a link of this in notifications, which runs the command where somebody clicks on it."""
LINKED = re.compile(r"\[[^\]]+\]\(")
FENCED = re.compile(r"^(`{3,}|~{3,})text\n.*?^\1$", re.MULTILINE | re.DOTALL)
"""A block of Markdown in which nothing is marked up."""
EVIL_NAME = f"{EVIL}{LINK}\n```\n~~~~\n~~~~~\n# ![i](https://example.com/i.png)<img src=x>"


def run(root: Path, what: Callable[[Editor], Awaitable[None]]) -> None:
    async def session() -> None:
        async with editor(root) as found:
            await what(found)

    asyncio.run(session())


async def hovers(it: Editor, path: str) -> list[str]:
    """What is shown over each word of a file."""
    lines = (it.root / path).read_text().split("\n")
    columns = (3, 6, 9, 12, 20)
    return [await it.hover(path, line, column) for line in range(min(len(lines), 12)) for column in columns]


def test_findings_are_printable(repository: Path) -> None:
    broken(repository)

    async def session(it: Editor) -> None:
        it.open("pools/team.yaml")
        await it.until(lambda: it.rules("pools/evil.yaml"))
        found = [item for items in it.published.values() for item in items]
        assert any("\\x1b[2J" in item.message for item in found)
        for item in found:
            for text in (item.message, *(other.message for other in item.related_information or ())):
                assert RAW.search(text) is None, text

    run(repository, session)


def test_hovers_mark_nothing_up(repository: Path) -> None:
    evil = quoted(EVIL_NAME)
    write(
        repository,
        {
            "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n",
            "pools/evil.yaml": pool(evil),
            "pools/team.yaml": pool(spec=f"  description: {evil}\n"),
            "workflows/w.yaml": f"workflow:\n  name: w\n  pool: {evil}\n  tasks: [{{name: {evil}, image: i}}]\n",
            "workflows/v.yaml": f"workflow:\n  name: {evil}\n  pool: team\n  tasks: [{{name: {evil}}}]\n",
        },
    )

    async def session(it: Editor) -> None:
        shown = []
        for path in ("pools/evil.yaml", "pools/team.yaml", "workflows/w.yaml", "workflows/v.yaml"):
            it.open(path)
            shown += await hovers(it, path)
        assert any("\\x1b[2J" in text for text in shown)
        for text in shown:
            left = FENCED.sub("", text)
            assert not re.search(r"Mend it|<img|example\.com/i\.png", left), text
            assert RAW.search(text) is None

    run(repository, session)


def test_notifications_have_no_links(repository: Path) -> None:
    """The output folder has a name that is one, and is refused."""
    (repository / "pools").mkdir()
    (repository / LINK).symlink_to("pools")
    write(repository, {"tas.yaml": f'apiVersion: tas/v1alpha1\nkind: Config\nspec: {{output: "{LINK}"}}\n'})

    async def session(it: Editor) -> None:
        it.open("tas.yaml")
        await it.until(lambda: it.messages)
        assert "workbench.action.quit" in it.messages[0]
        assert not LINKED.search(it.messages[0])

    run(repository, session)


def test_titles_of_fixes_are_printable(repository: Path) -> None:
    name = quoted("team\x1bs")
    write(
        repository,
        {
            "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n",
            "pools/team.yaml": pool("teams"),
            "workflows/w.yaml": f"workflow:\n  name: w\n  pool: {name}\n  tasks: [{{name: t, image: i}}]\n",
        },
    )

    async def session(it: Editor) -> None:
        it.open("workflows/w.yaml")
        await it.until(lambda: it.rules("workflows/w.yaml"))
        for action in await it.actions("workflows/w.yaml", 2, 12):
            assert RAW.search(action.title) is None

    run(repository, session)


def test_refusals_of_renames_have_no_links(repository: Path) -> None:
    """VS Code shows them as notifications."""
    files = {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()}
    write(repository, files)

    async def session(it: Editor) -> None:
        it.open("pools/team.yaml")
        where = types.Position(3, 9)
        with pytest.raises(JsonRpcException) as refused:
            await it.ask(types.TEXT_DOCUMENT_RENAME, "pools/team.yaml", position=where, new_name=f"{LINK}\x1b[2J")
        assert "workbench.action.quit" in str(refused.value)
        assert not LINKED.search(str(refused.value))
        assert RAW.search(str(refused.value)) is None

    run(repository, session)
