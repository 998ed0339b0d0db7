"""Generates documents of the tool's own kinds from their JSON Schemas, and repositories of such documents.

A document may be anything that a schema accepts, and so anything that an editor accepts. A repository of random names
would be refused before rendering, so most values are then set to valid ones: all but one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from kubectl_tas.model.base import MAX_PREFIX
from tests.support.golden import ROOT

Data = dict[str, Any]

KINDS = ("config", "pool", "workflow", "subpool", "clustertopology", "podgroup")
ODD = (
    *("", " ", "\0", "\r", "a\rb", "\r\n", "\n", " a", "a ", "\t", "\x1b[2J", "\x7f", "\x85", "\u2028", "\ufeff"),
    *("\ufffe", "é", "\U0001f680", "null", "~", "yes", "1e3", "010", "0x1f", "1_000", "1:30", "---", "...", "- a"),
    *("a: b", "#", " #", "{{a}}", "{% a %}", "$(A)", "=", "<<", "*a", "&a", "!a", "%a", "@", "`", "x" * 300),
)
"""Strings that readers or writers of YAML may handle wrongly."""
TEXTS = st.sampled_from(ODD) | st.text(max_size=5)
JSON = st.none() | st.booleans() | TEXTS | st.lists(TEXTS, max_size=2) | st.dictionaries(TEXTS, TEXTS, max_size=2)
MANY = 3
"""Maximum number of entries of a list or a mapping, beyond the minimum of the schema."""


@cache
def schema(kind: str) -> Data:
    """Returns the committed JSON Schema of a kind."""
    found: Data = json.loads((ROOT / f"schemas/{kind}.json").read_text())
    return found


@cache
def documents(kind: str) -> st.SearchStrategy[Data]:
    """Documents that the schema of ``kind`` accepts."""
    return of_schema(schema(kind))


def of_schema(whole: Data) -> st.SearchStrategy[Data]:
    """Documents that a schema accepts."""
    return _values(whole, whole.get("$defs", {}))


def _values(of: Data, definitions: Data) -> st.SearchStrategy[Any]:
    """Any value that the schema ``of`` accepts."""
    if "$ref" in of:
        return _values(definitions[of["$ref"].rpartition("/")[2]], definitions)
    if "const" in of:
        return st.just(of["const"])
    if "enum" in of:
        return st.sampled_from(of["enum"])
    if "anyOf" in of:
        return st.one_of([_values(branch, definitions) for branch in of["anyOf"]])
    match of.get("type"):
        case "object":
            return _objects(of, definitions)
        case "array":
            least = of.get("minItems", 0)
            most = min(of.get("maxItems", least + MANY), least + MANY)
            return st.lists(_values(of["items"], definitions), min_size=least, max_size=most)
        case "string":
            return _strings(of)
        case "integer":
            low, high = of.get("minimum", -(2**63)), of.get("maximum", 2**63)
            return st.integers(max(low, -9), min(high, 9)) | st.integers(low, high)
        case "number":
            return st.floats(of.get("minimum"), allow_infinity=False, allow_nan=False)
        case "boolean":
            return st.booleans()
        case None:
            return JSON
        case other:
            raise AssertionError(f"the type {other} is unknown here")


def _objects(of: Data, definitions: Data) -> st.SearchStrategy[Data]:
    fields = {name: _values(field, definitions) for name, field in of.get("properties", {}).items()}
    needed = set(of.get("required", ()))
    known = st.fixed_dictionaries(
        {name: values for name, values in fields.items() if name in needed},
        optional={name: values for name, values in fields.items() if name not in needed},
    )
    others = of.get("additionalProperties", False)
    if not isinstance(others, dict):
        return known
    keys, least = _strings(of.get("propertyNames", {})), of.get("minProperties", 0)
    named = st.dictionaries(keys, _values(others, definitions), min_size=least, max_size=MANY)
    return st.tuples(named, known).map(lambda both: {**both[0], **both[1]})


def _strings(of: Data) -> st.SearchStrategy[str]:
    pattern = re.compile(re.sub(r"\$$", r"\\Z", of.get("pattern", "")))
    low, high = of.get("minLength", 0), of.get("maxLength", 10_000)
    is_key = "/)?" in pattern.pattern  # of a label or annotation: models bound its domain, which no pattern can state

    def accepts(text: str) -> bool:
        is_long = is_key and text.find("/") > MAX_PREFIX
        return low <= len(text) <= high and not is_long and pattern.search(text) is not None

    odd = [text for text in ODD if accepts(text)]
    drawn = (st.from_regex(pattern) if pattern.pattern else TEXTS).filter(accepts)
    return st.sampled_from(odd) | drawn if odd else drawn


ABSENT = object()
Step = tuple[Data, str, Any]
"""A mapping, one of its keys, and the new value. ABSENT means: remove the key."""


def _config(config: Data) -> Iterator[Step]:
    spec = config.setdefault("spec", {})
    backends = spec["backends"] = spec.get("backends", [])[:1] or [{"name": "prod"}]
    scheduler = backends[0].setdefault("scheduler", {})
    yield from ((backends[0], "name", "prod"), (backends[0], "namespace", "ml"))
    yield from ((scheduler, "type", "kai"), (scheduler, "version", "0.17"))
    yield from ((spec, "queuePrefix", "osmo"), (spec, "output", "manifests"), (spec, "sources", ["pools"]))
    yield from ((spec, "companions", ABSENT), (backends[0], "rootQueue", ABSENT))
    yield spec, "priorityClasses", {"HIGH": "high", "NORMAL": "normal", "LOW": "low"}


def _pool(pool: Data) -> Iterator[Step]:
    spec = pool.setdefault("spec", {})
    yield from ((pool["metadata"], "name", "team"), (spec, "backend", "prod"), (spec, "topology", ABSENT))
    yield from (
        (spec, "parent", ABSENT),
        (spec, "namespaces", ["ml"]),
        (spec, "resources", {"gpu": {"guarantee": 2**32}}),
    )
    yield from (
        (spec, "queue", ABSENT),
        (spec, "sharedQueue", ABSENT),
        (spec, "nodePool", ABSENT),
        (spec, "nodes", ABSENT),
    )
    for level, key in zip(spec.get("topology_keys", ()), ("zone", "rack", "host"), strict=False):
        yield level, "key", key


def _subpool(subpool: Data) -> Iterator[Step]:
    spec = subpool["spec"]
    yield from ((subpool["metadata"], "name", "a"), (spec, "parent", "team"), (spec, "quota", 2**31 - 1))
    yield from ((spec, "maximum", ABSENT), (spec, "namespaces", ABSENT), (spec, "queue", ABSENT))


def _workflow(document: Data) -> Iterator[Step]:
    workflow = document["workflow"]
    yield from ((workflow, "name", "train"), (workflow, "pool", "team"), (workflow, "backend", ABSENT))
    groups = workflow.setdefault("groups", [])
    if groups or not workflow.get("tasks"):
        yield workflow, "tasks", ABSENT if groups else [{"name": "only", "image": "busybox"}]
    tasks = [task for part in (*groups, {"tasks": workflow.get("tasks", ())}) for task in part["tasks"]]
    yield from ((item, "name", f"n{index}") for index, item in enumerate((*groups, *tasks)))
    workflow.pop("resources", None)
    resources = document["resources"] = dict(zip("abc", document.get("resources", {}).values(), strict=False))
    names = (*resources, "default")
    yield from ((task, "resource", names[index % len(names)]) for index, task in enumerate(tasks))
    for resource in resources.values():
        yield from ((resource, "gpu", 1), (resource, "topology", ABSENT))


def _cluster_topology(topology: Data) -> Iterator[Step]:
    spec = topology["spec"]
    yield from ((topology["metadata"], "name", "racks"), (spec, "schedulerTopologyBindings", ABSENT))
    for level, domain in zip(spec["levels"], ("zone", "block", "rack", "host"), strict=False):
        yield from ((level, "domain", domain), (level, "key", f"example.com/{domain}"))


def _pod_group(pod_group: Data) -> Iterator[Step]:
    pod_group |= {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}
    metadata, spec = pod_group["metadata"], pod_group["spec"]
    yield from ((metadata, "name", "gang"), (metadata, "namespace", "ml"), (spec, "queue", "osmo-pool-ml-team--shared"))
    for name in ("backoffLimit", "completions", "parallelism", "minSubGroup", "topologyConstraint"):
        yield spec, name, ABSENT
    parts = spec.setdefault("subGroups", [])
    yield spec, "minMember", ABSENT if parts else 1
    for index, part in enumerate(parts):
        yield from ((part, "name", f"s{index}"), (part, "minMember", 1), (part, "parent", ABSENT))
        yield from ((part, "minSubGroup", ABSENT), (part, "topologyConstraint", ABSENT))


_IN_ORDER: dict[str, Callable[[Data], Iterator[Step]]] = {
    "config": _config,
    "pool": _pool,
    "subpool": _subpool,
    "workflow": _workflow,
    "clustertopology": _cluster_topology,
    "podgroup": _pod_group,
}


@st.composite
def repositories(draw: st.DrawFn) -> dict[str, bytes]:
    """Files of a repository: a Config, a pool, a workflow and perhaps more, valid except for one value."""
    kinds = [*KINDS[:3], *draw(st.lists(st.sampled_from(KINDS[3:]), unique=True))]
    found = {kind: draw(documents(kind)) for kind in kinds}
    steps = [step for kind, document in found.items() for step in _IN_ORDER[kind](document)]
    wild = draw(st.integers(0, len(steps)))
    for index, (mapping, key, value) in enumerate(steps):
        if index == wild:
            continue
        if value is ABSENT:
            mapping.pop(key, None)
        else:
            mapping[key] = value
    ending = draw(st.sampled_from(("yaml", "json")))
    return {
        "tas.yaml" if kind == "config" else f"pools/{kind}.{ending}": _written(document)
        for kind, document in found.items()
    }


def _written(document: Data) -> bytes:
    """Returns a document as JSON. It is also YAML, since characters that YAML forbids are escaped."""
    text = json.dumps(document, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text).encode()
