"""What of a workflow file is a template, and what OSMO fills in when the workflow runs."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\{\{([ ]*)(uuid|workflow_id|output|(?:input|host):(?:[^{}]*[^{} ]|[ ]))[ ]*\}\}")
"""What OSMO fills in when a workflow runs, which is text to its templates: the blanks in front, and the token. No two
parts of the pattern match one blank, so a long run of them is read once.
"""
DEFAULTS = re.compile(r"""^["']?default-values["']?[ \t]*:""", re.MULTILINE)
"""The root key with the values that a template has of its own."""
_MARKS = ("{{", "{%", "{#", "default-values")
_ROOT = re.compile(r"""^(?:\{\s*)?["']?(?:workflow|default-values)["']?[ \t]*:""", re.MULTILINE)
_MARK = re.compile(r"(?<!\$)\{#|\{\{|\{%")
"""What begins a tag. A shell's ``${#`` does too, but makes no template of a workflow that has no other."""


def expanded_by_osmo(text: str) -> str:
    """The text of a file as OSMO reads it: where it may have tags, such as tokens, it goes through Jinja, which leaves
    the last line break out (``is_templated_workflow`` of OSMO's src/lib/utils/workflow.py). A block scalar at the end
    lacks it then.
    """
    if any(mark in text for mark in _MARKS) and "\n---" not in text and _ROOT.search(text):
        return text.removesuffix("\n").removesuffix("\r")
    return text


def template_root(text: str) -> int | None:
    """Where the root key of a template of workflows stands in the text of a file; None where it is no template.

    A template has default-values, or tags that OSMO does not fill in when the workflow runs. A workload that has such
    tags is none.
    """
    if not any(mark in text for mark in _MARKS):
        return None
    root = _ROOT.search(text)
    tagged = root is not None and (DEFAULTS.search(text) or _MARK.search(TOKEN.sub("", text)))
    return root.start() if root is not None and tagged else None
