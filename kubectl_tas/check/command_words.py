"""Checks the words of a command: what a shell gets of them, and variables that nothing fills in.

Follows Container.command and Container.args of Kubernetes 1.35 (core/v1: only $(NAME) of a variable of the container is
filled in, and no shell runs) and the ``-c`` of POSIX sh (XCU, sh: one word is the script, the others are $0, $1 ...).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic, Rule
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import did_you_mean, write_instead
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.section import listed, mappings
from kubectl_tas.model.base import KeyPath

COMMAND_DOUBTFUL = Rule.info(
    "command-doubtful",
    "A command uses other GPUs or nodes than its pods have, or does not run as it reads.",
    "torchrun --nproc_per_node=8 in a container with 4 GPUs starts 8 processes, and those without a GPU fail. The same "
    "holds for accelerate, deepspeed, vLLM on one node, and fields of operators such as slotsPerWorker. torchrun "
    "--nnodes=8 waits until 8 pods have come, and the GPUs of fewer pods stay idle. A command is a list: in command: "
    '[python train.py] the program is called "python train.py", which no image has. [sh, -c, python, train.py] runs '
    "python alone. Kubernetes fills in $(NAME) if the container has that variable; only a shell reads $NAME. Two "
    "tasks of one NODE_RANK never find each other. If several processes share a GPU on purpose, ignore the note.",
)
_SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"))
_STARTED = _SHELLS - {"busybox"}
_WITH_VALUE = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))
"""Options of shells that take the next word."""
_NAMES = frozenset(("--", "-", "_", *_SHELLS))
"""Words that scripts get as $0 by custom, since the first word behind a script is no argument of it."""
_READS_WORDS = late_pattern(r"\$\{?[@*#0-9!]|\b(shift|getopts|source)\b|(^|[;&|\s])\.\s|\bfor\s+\w+\s*(;|\n|do\b)")
"""Matches scripts that read the words behind them, or that may hand them to another script."""
_PLAIN = late_pattern(r"(?<!\$)\$(?:(\w+)|\{(\w+)\})")
_FILLED = late_pattern(r"(\$+)\(([A-Za-z_]\w*)\)")
_OF_SERVICES = late_pattern(r"\w+_SERVICE_(HOST|PORT)\w*|\w+_PORT(_[0-9]+_(TCP|UDP|SCTP)\w*)?|KUBERNETES_\w+")
"""Variables that a kubelet makes of the Services of a namespace (FromServices of pkg/kubelet/envvars)."""
_OF_CLOUDS = ("TPU_", "MEGASCALE_")
"""The first letters of variables that webhooks of clouds add to pods of any kind."""


class _Word(NamedTuple):
    """A word of a command."""

    text: str
    path: KeyPath


def check_words(container: Fields) -> Iterator[Diagnostic]:
    """Checks the command of a container. Tasks of OSMO and sections of operators start programs in other ways."""
    command, args = listed(container.value.get("command")), listed(container.value.get("args"))
    text = "\n".join(map(str, (*command, *args)))
    if not (command or args) or "image" not in container.value or "{{" in text:
        return
    starts_shell = container.has("command") and str((command or args)[0]).rpartition("/")[2] in _STARTED
    may_lack = "$" in text and "workflow" not in container.origin.data
    if not starts_shell and not may_lack:
        return
    words = [
        _Word(str(text), (*container.path, field, index))
        for field, texts in (("command", command), ("args", args))
        for index, text in enumerate(texts)
    ]
    if may_lack:
        yield from _variables(container, words)
    if starts_shell:
        # Checks what a shell that starts first gets as its script.
        at, shell = 1, words[0].text
        flag: _Word | None = None
        while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
            text = words[at].text
            if not text.startswith("--") and "c" in text:
                flag = words[at]
            at += 2 if text in _WITH_VALUE or re.fullmatch(r"[-+]\w+o", text) else 1
        if flag is None:
            return
        if at >= len(words):
            message = f"{shell} {flag.text} has no script behind it, so {shell} ends with an error at once"
            hint = f"Write the script as one text behind {flag.text}."
            yield Diagnostic(COMMAND_DOUBTFUL, message, container.origin.locate(flag.path), hint=hint)
            return
        script, others = words[at], words[at + 1 :]
        if not others or (len(others) == 1 and others[0].text in _NAMES) or _READS_WORDS.search(script.text):
            return
        message = f'{shell} runs "{_short(script.text)}" without the words behind it, which are its $0, $1 ...'
        whole = [script.text, *(shlex.quote(other.text) for other in others)]
        hint = "Write script and words as one text."
        if not re.search(r"[\s;&|]", script.text):
            hint = f"Write them as one text: '{' '.join(whole)}'."
        yield Diagnostic(COMMAND_DOUBTFUL, message, container.origin.locate(others[0].path), hint=hint)


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 40 else f"{line[:40]}..."


def _variables(container: Fields, words: list[_Word]) -> Iterator[Diagnostic]:
    """Finds variables that a kubelet does not fill in."""
    if container.has("envFrom"):
        return
    own = {str(item.get("name")) for item in mappings(container.get("env"))}
    page = page_of_document(container.origin.data)
    injected = None if page is None else page.pod_rules.injected
    known = {*own, *(injected or ())}
    has_shell = any(word.text.rpartition("/")[2] in _SHELLS for word in words)
    has_program = container.has("command")
    for word in words:
        for found in _FILLED.finditer(word.text):
            name = found[2]
            if len(found[1]) % 2 == 0 or name in known or _OF_SERVICES.fullmatch(name) or name.startswith(_OF_CLOUDS):
                continue
            meant = did_you_mean(name, sorted(known))
            if not meant and (injected is None or name != name.upper()):
                continue
            message = f"nothing fills in $({name}): the container has no variable of this name"
            hint = meant or "Add it to env of the container."
            yield Diagnostic(COMMAND_DOUBTFUL, message, container.origin.locate(word.path), hint=hint)
        if has_shell or not has_program or re.search(r"\s", word.text):
            continue
        for found in _PLAIN.finditer(word.text):
            name = found[1] or found[2]
            if name in known:
                message = f"nothing fills in {found[0]}: without a shell, Kubernetes fills in $({name}) alone"
                hint_ = write_instead(found[0], f"$({name})")
                yield Diagnostic(COMMAND_DOUBTFUL, message, container.origin.locate(word.path), hint=hint_)
