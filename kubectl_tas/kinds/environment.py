"""Finds the variables, mount paths and annotations that a mapping of a workload gives to containers, in every spelling
that operators have for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kubectl_tas.model.base import KeyPath

LISTS = {
    "env": "containers of all kinds",
    "envs": "DynamoGraphDeployment 1.2: spec, and each service",
}
"""Keys with a list of variables, each a mapping with name, and with value or valueFrom."""
MAPPINGS = {
    "envVars": "SparkApplication 2.3: driver and executor",
    "envSecretKeyRefs": "SparkApplication 2.3: driver and executor; each value is a key of a Secret",
}
"""Keys with a mapping from the name of each variable to its value, or to the place of its value."""
SETTINGS = {
    "sparkConf": "SparkApplication 2.3: spec; sparkConfOption of submission.go hands each to spark-submit",
    "javaOptions": "SparkApplication 2.3: driver and executor, with settings as -Dspark.NAME=VALUE",
}
"""Keys with settings of Spark 3.5 (docs/running-on-kubernetes.md, docs/configuration.md)."""
MOUNT_PATHS = {
    "mountPath": "volumeMounts of all kinds",
    "mountPoint": "DynamoGraphDeployment 1.2: volumeMounts",
    "sshAuthMountPath": "MPIJob",
}
"""Keys with a path in a container."""
JAVA = frozenset({"SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
"""Variables with options for Java, which a Java machine or Spark's own scripts read."""
_PODS = r"spark[.]kubernetes[.](?:driver|executor)[.]"
_VARIABLE = re.compile(r"spark[.](?:executorEnv|kubernetes[.]driverEnv)[.](.+)")
_SECRET = re.compile(rf"{_PODS}secretKeyRef[.](.+)")
_MOUNT = re.compile(rf"{_PODS}(?:secrets[.].+|volumes[.].+[.]mount[.]path)")
_ANNOTATION = re.compile(rf"{_PODS}annotation[.](.+)")
_OPTION = re.compile(r"-D(spark[.][^=\s]+)=(\S*)")
ENDING = "VISIBLE_DEVICES"
"""End of the variables by which container runtimes give devices. As a key, such a name can only be a variable."""
_LISTED, _MAPPED = frozenset((*LISTS, *MAPPINGS)), frozenset(MAPPINGS)
VARIABLES = frozenset({*LISTS, *MAPPINGS, *SETTINGS, "envFrom"})
MOUNTS = frozenset({*MOUNT_PATHS, *SETTINGS})


class Variable(NamedTuple):
    """A variable of a container, or a setting."""

    path: KeyPath
    """Path of the value, below the mapping that sets it."""
    name: str
    value: object
    """The value. None if another object has it."""
    is_elsewhere: bool = False
    """Whether another object has the value."""


def variables(holder: Mapping[str, Any]) -> Iterator[Variable]:
    """Yields the variables that a mapping sets, except for those that ``envFrom`` takes from other objects."""
    listed_variables = [*_listed_variables(holder)]
    yield from listed_variables
    yield from (_set((name,), value) for name, value in holder.items() if ENDING in name)
    if SETTINGS.keys().isdisjoint(holder) and not any(variable.name in JAVA for variable in listed_variables):
        return
    for setting in settings(holder):
        if match := _VARIABLE.fullmatch(setting.name):
            yield setting._replace(name=match[1])
        elif match := _SECRET.fullmatch(setting.name):
            yield Variable(setting.path, match[1], None, is_elsewhere=True)


def mounts(holder: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yields the paths in a container that a mapping mounts, each with the path of its field below the mapping."""
    for key in MOUNT_PATHS:
        if isinstance(holder.get(key), str):
            yield (key,), holder[key]
    yield from ((setting.path, str(setting.value)) for setting in settings(holder) if _MOUNT.fullmatch(setting.name))


def pod_annotations(holder: Mapping[str, Any]) -> Iterator[Variable]:
    """Yields the annotations of pods that a mapping sets in other words."""
    for setting in settings(holder):
        if match := _ANNOTATION.fullmatch(setting.name):
            yield setting._replace(name=match[1])


def settings(holder: Mapping[str, Any]) -> Iterator[Variable]:
    """Yields the settings of Spark in a mapping, and those in options for Java."""
    spark_settings = holder.get("sparkConf")
    for name, value in spark_settings.items() if isinstance(spark_settings, dict) else ():
        yield _set(("sparkConf", name), value)
        if str(name).endswith("JavaOptions"):
            yield from _options(("sparkConf", name), value)
    yield from _options(("javaOptions",), holder.get("javaOptions"))
    yield from java_settings(holder)


def java_settings(holder: Mapping[str, Any]) -> Iterator[Variable]:
    """Yields the settings of Spark in variables with options for Java."""
    for variable in () if _LISTED.isdisjoint(holder) else _listed_variables(holder):
        if variable.name in JAVA:
            yield from _options(variable.path, variable.value)


def unquoted(text: str) -> str:
    """Returns options for Java without quotes and backslashes, which may stand anywhere."""
    return re.sub(r"[\"'\\]", "", text)


def _listed_variables(holder: Mapping[str, Any]) -> Iterator[Variable]:
    for key in LISTS if not _LISTED.isdisjoint(holder) else ():
        for index, variable in enumerate(holder[key]) if isinstance(holder.get(key), list) else ():
            if isinstance(variable, dict):
                field = "valueFrom" if variable.get("valueFrom") else "value"
                value = None if field == "valueFrom" else variable.get("value")
                yield Variable((key, index, field), str(variable.get("name", "")), value, field == "valueFrom")
    for key in MAPPINGS if not _MAPPED.isdisjoint(holder) else ():
        for name, value in holder[key].items() if isinstance(holder.get(key), dict) else ():
            is_elsewhere = isinstance(value, dict)
            yield Variable((key, name), str(name), None, is_elsewhere) if is_elsewhere else _set((key, name), value)


def _set(path: KeyPath, value: object) -> Variable:
    """Returns what spark-submit reads of ``--conf NAME=VALUE``: its name ends at the first =."""
    name, is_cut, value_start = str(path[-1]).partition("=")
    return Variable(path, name, f"{value_start}={value}" if is_cut else value)


def _options(path: KeyPath, text: object) -> Iterator[Variable]:
    """Yields the settings of Spark among options for Java."""
    if isinstance(text, str):
        yield from (Variable(path, match[1], match[2]) for match in _OPTION.finditer(unquoted(text)))
