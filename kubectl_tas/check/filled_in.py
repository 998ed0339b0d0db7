"""Finds expressions that an operator fills in, where the text decides what a pod may use."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.late import late_pattern
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.kinds import environment
from kubectl_tas.kinds.backdoors import Part
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

FILLED_IN = Rule.error(
    "filled-in",
    "An expression stands in a name, a path or a key that decides what a pod may use.",
    "Operators fill in expressions after validate has judged the file: Argo everywhere in a template, keys too; KServe "
    "in a container; Tekton in mount paths and prefixes. So the name of a variable can become NVIDIA_VISIBLE_DEVICES, "
    "and a mount path can become a device. Write the text itself. Expressions may stand in images, commands, arguments "
    "and the values of variables.",
    protects=Waiving.CONFIG,
)
_EXPRESSION = late_pattern(r"\{\{|\$[({]")
"""Beginnings of expressions. Argo Workflows 3.7: util/template/replace.go; KServe 0.16: ``ReplacePlaceholders`` of
pkg/controller/v1beta1/inferenceservice/utils/utils.go; Tekton 1.15: pkg/container/container_replacements.go.
"""


def expressions_of(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Finds expressions in keys, in names of variables and in mount paths. In names of objects and in amounts,
    check.fields refuses them.
    """
    owner, path, mapping = section_part
    texts: list[tuple[str, KeyPath, object]] = []
    if owner == "key":
        texts.append(("the key", path, mapping))
    elif owner == "mount":
        texts += (("the mount path", (*path, *below), target) for below, target in environment.mounts(mapping))
    elif owner == "container":
        for variable in environment.variables(mapping):
            field = "name" if variable.path[-1] in ("value", "valueFrom") else variable.path[-1]
            texts.append(("the name of a variable", (*path, *variable.path[:-1], field), variable.name))
        for source in Fields(origin, path, mapping).each("envFrom"):
            texts.append(("the prefix of variables", (*source.path, "prefix"), source.get("prefix")))
            config_map = source.below("configMapRef")
            if "$(" in str(config_map.get("name")):  # of Tekton; check.fields refuses others
                texts.append(("the name of a ConfigMap", (*config_map.path, "name"), config_map.get("name")))
    for called, steps, text in texts:
        if isinstance(text, str) and _EXPRESSION.search(text):
            message = f'{called}, "{text}", has an expression, which is filled in after validate has judged it'
            yield Diagnostic(
                FILLED_IN, message, origin.locate(steps, key=owner == "key"), hint="Write the text itself."
            )
