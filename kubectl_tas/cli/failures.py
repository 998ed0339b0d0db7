"""Reports an exception that ended a run, chooses the exit code, and suggests commands to users of kubectl."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Sequence

import click

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.terminal import UNREAD, say, show

_MEANT = {"--gpu": "--quota", "--guarantee": "--quota"}
"""Options that people try, with the option that a command has for it."""
INTERRUPTED = 130
"""The exit code of a shell for a program that SIGINT ended."""


def told(error: BaseException, context: click.Context | None, words: Sequence[str]) -> int:
    """Prints the meaning of ``error``, and returns the exit code. ``context`` belongs to the command line ``words``.

    ``context`` is None if the command line could not be read. Raises ``error`` itself if it is a bug and
    KUBECTL_TAS_DEBUG is set.
    """
    if isinstance(error, click.ClickException):
        code = _refuse(error, words)
        if context is not None and UNREAD in context.meta:
            lacking = context.meta[UNREAD]
            if lacking.text:
                say(f"Incomplete: {lacking.text}.", err=True)
            lacking.tell()
        return code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        say("interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, TasError):
        return _fail(error.message, error.hint)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    if os.environ.get("KUBECTL_TAS_DEBUG"):
        raise error
    hint = "This is a bug. Run again with KUBECTL_TAS_DEBUG=1 and report what it prints."
    return _fail(f"internal error: {type(error).__name__}: {error}", hint)


def _refuse(error: click.ClickException, words: Sequence[str]) -> int:
    """Prints the error in the command line as click does, and returns its exit code."""
    if isinstance(error, click.NoSuchOption):
        error = of_option(error, words) or error
    if isinstance(error, HabitError):
        return _fail(error.message, error.hint, error.exit_code)
    if isinstance(error, click.NoSuchOption):
        from kubectl_tas.base.words import closest  # only a slip waits for it

        parameters = error.ctx.command.params if error.ctx else ()
        meant = _MEANT.get(error.option_name, "")
        if any(meant in parameter.opts for parameter in parameters):
            message = f"No such option '{error.option_name}'. Did you mean {meant}?"
            error = click.NoSuchOption(error.option_name, message, ctx=error.ctx)
        else:
            near = closest(error.option_name, error.possibilities or ())
            error = click.NoSuchOption(error.option_name, possibilities=[near] if near else None, ctx=error.ctx)
    shown = io.StringIO()
    error.show(shown)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        show(shown.getvalue(), stream=sys.stderr)
        return error.exit_code
    show(shown.getvalue().partition("Error: ")[0], stream=sys.stderr)
    say(f"Error: {error.format_message()}", err=True)
    return error.exit_code


def _fail(message: str, hint: str = "", code: int = 3) -> int:
    """Prints a failure of the tool, and returns its exit code."""
    say(f"error: {message}", err=True)
    if hint:
        say(f"  = help: {hint}", err=True)
    return code


_LISTS = {
    "": "pool list",
    "pool": "pool list {}",
    "subpool": "subpool list",
    "queue": "pool list -o wide",
    "topology": "topology list",
    "workflow": "workflow list",
    "node": "pool plan",
}
_DETAILS = {
    "": "explain {}",
    "pool": "pool describe {}",
    "subpool": "pool describe {}",
    "queue": "pool describe {}",
    "topology": "topology describe {}",
    "node": "topology suggest --live",
}
_EDITS = {"": "validate", "pool": "pool rename {}", "subpool": "subpool update {}"}
_WAITS = {"": "why {}"}
VERBS = {
    "get": _LISTS,
    "list": _LISTS,
    "ls": _LISTS,
    "describe": _DETAILS,
    "apply": {"": "render --to - | kubectl apply -f -"},
    "build": {"": "render --to -"},
    "lint": {"": "validate"},
    "create": {"": "validate", "subpool": "subpool create {}"},
    "delete": {"": "render", "pool": "pool remove {}", "subpool": "subpool retire {}"},
    "edit": _EDITS,
    "patch": _EDITS,
    "drain": {"": "subpool drain"},
    "events": _WAITS,
    "logs": _WAITS,
    "top": {"": "pool list --live"},
    "api-resources": {"": "schema"},
    "plan": {"": "pool plan {}"},
    "share": {"": "pool share {}"},
    "retire": {"": "subpool retire {}"},
    "suggest": {"": "topology suggest"},
}
"""The command for each verb of kubectl, by the kind named with the verb; ``{}`` stands for names."""
FIRST = {
    ("create", ""): "Write its file",
    ("delete", ""): "Delete its file",
    ("edit", ""): "Edit its file",
    ("patch", ""): "Edit its file",
}
"""A step for the user before the command."""
KINDS = {
    **dict.fromkeys(("pool", "pools"), "pool"),
    **dict.fromkeys(("subpool", "subpools"), "subpool"),
    **dict.fromkeys(("queue", "queues"), "queue"),
    **dict.fromkeys(("node", "nodes", "no"), "node"),
    **dict.fromkeys(("topology", "topologies", "clustertopology", "clustertopologies"), "topology"),
    **dict.fromkeys(("workflow", "workflows", "workload", "workloads", "work", "job", "jobs"), "workflow"),
    **dict.fromkeys(("pod", "pods", "po", "podgroup", "podgroups", "pcs", "podcliqueset", "podcliquesets"), "workflow"),
}
"""The kind that each word means."""
EARLY = ("--context", "--kubeconfig", "--namespace", "-n", "--backend", "--output", "-o", "--base")
"""Options with a value that kubectl accepts before the command."""
VALUED = (*EARLY, "-C", "-f", "--filename", "-l", "--selector")
"""Options whose value is not a name."""


class HabitError(click.UsageError):
    """A command line in kubectl's style, with the right one as hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def of_command(words: Sequence[str]) -> HabitError | None:
    """Returns the error for a command line that begins with a verb of kubectl; None for any other."""
    verb, *rest = words
    known = VERBS.get(verb)
    if known is None:
        return None
    plain = [word for word, before in zip(rest, words, strict=False) if before not in VALUED and word[:1] != "-"]
    named = [part for word in plain for part in word.split("/", 1) if part]
    kind = KINDS.get(named[0].lower(), "") if named else ""
    names = " ".join(map(shlex.quote, named[1:] if kind else named))
    key = kind if kind in known else ""
    typed = known[key].replace("{}", names or ("" if known is _LISTS else "NAME")).strip()
    before = FIRST.get((verb, key))
    run = f"kubectl tas {typed}"
    return HabitError(f'no command "{verb}"', f"{before}, then run: {run}" if before else f"Run: {run}")


def of_nested(group: str, words: Sequence[str]) -> HabitError | None:
    """Returns the error for a verb of kubectl behind a group, such as ``pool get``; None for any other word."""
    habit = of_command([words[0], group, *words[1:]]) if group in KINDS else None
    return habit and HabitError(f'no command "{group} {words[0]}"', habit.hint)


def of_option(error: click.NoSuchOption, words: Sequence[str]) -> HabitError | None:
    """Returns the error for an option of kubectl in the command line ``words``; None if kubectl has no such option."""
    option = error.option_name
    place = next((at for at, word in enumerate(words) if word == option or word.startswith(f"{option}=")), None)
    if place is None:
        return None
    if option in EARLY:
        end = place + (1 if "=" in words[place] else 2)
        moved = [*words[:place], *words[end:], *words[place:end]]
        if error.ctx is not None and isinstance(error.ctx.command, click.Group) and end < len(words):
            return HabitError(f"{option} goes behind the command", f"Run: {_line(moved)}")
        return None
    rest = [*words[:place], *words[place + 1 :]]
    if option in ("-A", "--all-namespaces"):
        return HabitError(f"{option} is not needed: commands read all namespaces", f"Run: {_line(rest)}")
    if option in ("-w", "--watch"):
        return HabitError(f"no {option} here: only `subpool drain` watches", f"Run: watch -n 30 {_line(rest)}")
    return None


def _line(words: Sequence[str]) -> str:
    return shlex.join(("kubectl", "tas", *words))
