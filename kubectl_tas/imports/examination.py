"""Compares clusters and a checkout with what the repository needs of them: each check says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kubectl_tas import __version__
from kubectl_tas.base import process
from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE, read_plain
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.shard_changes import differing_fields
from kubectl_tas.compile import compile_fleet
from kubectl_tas.edit.scaffold import REQUIREMENTS
from kubectl_tas.imports.from_cluster import release_of_images
from kubectl_tas.live.cluster_state import SHARDS
from kubectl_tas.live.kubectl import ForbiddenError, NoSuchResourceError
from kubectl_tas.live.objects import RUNS_KAI
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.labels import MANAGED_BY
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

OK, NOTE, PROBLEM, UNKNOWN = "ok", "note", "problem", "unknown"
"""States of a check. Only a problem makes the command fail."""
Read = Callable[[str], Sequence[Mapping[str, Any]]]
"""Returns all objects of a resource in a cluster, or raises TasError."""
_GROVE_IMAGE = re.compile(r"grove-operator[^:\s]*:v?([0-9][\w.-]*)")
_CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", "Jenkinsfile", ".ci/run", ".circleci/config.yml")
_PLUGIN = re.compile(r"kubectl[- ]tas")
_MAX_NAMED = 5
_CONNECT = "Name the cluster with --context and --kubeconfig, and look at: kubectl get nodes."
_INSTALL = "Install what makes this kind of object."


@json_fields("subject about state message todo")
class Check(NamedTuple):
    """One thing that was looked at."""

    subject: str
    """repository, kubectl, or cluster and the name of a backend."""
    about: str
    state: str
    """ok, note, problem, or unknown if nobody could tell."""
    message: str
    todo: str = ""
    """The step to take. Empty if nothing has to be done."""


@json_fields("version:1 checks")
class Checks(NamedTuple):
    """All that ``doctor`` looked at."""

    checks: Sequence[Check]


def examined_cluster(fleet: Fleet, backend: FleetBackend, read: Read, *, has_errors: bool) -> Iterator[Check]:
    """Yields the checks of the cluster of a backend. A cluster that does not answer is one check. If the files have
    errors, nobody can tell which objects they make.
    """
    subject = f"cluster {backend.name}"
    try:
        kinds = {_name_of(definition) for definition in read("customresourcedefinitions.apiextensions.k8s.io")}
    except ForbiddenError as error:
        kinds = None
        yield Check(subject, "rights", NOTE, error.message, "Ask for the right to read CustomResourceDefinitions.")
    except TasError as error:
        yield Check(subject, "connection", UNKNOWN, error.message, _CONNECT)
        return
    else:
        yield Check(subject, "connection", OK, "the cluster answers")
    rendered = () if has_errors else (_queues(fleet, backend, read), _guard(fleet, backend, read))
    if has_errors:
        message = "queues and the guard are not compared: the files have errors"
        yield Check(subject, "queues", UNKNOWN, message, "Run: kubectl tas validate.")
    checks_of_kai = (_crds(backend, kinds), _releases(backend, read), _shards(fleet, backend, read))
    checks_of_objects = (_classes(fleet, backend, read), _webhooks(backend, read), _levels(fleet, backend, read))
    for checks in (*checks_of_kai, *checks_of_objects, *rendered):
        try:
            yield from (check._replace(subject=subject) for check in checks)
        except ForbiddenError as error:
            todo = "Ask for the right to list it; docs/access.md has a role."
            yield Check(subject, "rights", UNKNOWN, error.message, todo)
        except TasError as error:
            todo = _INSTALL if isinstance(error, NoSuchResourceError) else _CONNECT
            yield Check(subject, "connection", UNKNOWN, error.message, todo)


def _name_of(document: Mapping[str, Any]) -> str:
    return str((document.get("metadata") or {}).get("name"))


def _crds(backend: FleetBackend, kinds: set[str] | None) -> Iterator[Check]:
    if kinds is None or not backend.is_kai:
        return
    needed = {"queues.scheduling.run.ai", "podgroups.scheduling.run.ai"}
    topology_api = backend.release.topology_api if backend.release is not None else None
    if topology_api is not None:
        needed.add(f"topologies.{topology_api.partition('/')[0]}")
    if missing := sorted(needed - kinds):
        message = f"the cluster has no {', '.join(missing)}"
        todo = f"Install KAI Scheduler {backend.spec.scheduler.version} with its CustomResourceDefinitions."
        yield Check("", "KAI", PROBLEM, message, todo)
    else:
        yield Check("", "KAI", OK, f"the cluster has {shortened(sorted(needed))}")
    if "podcliquesets.grove.io" in kinds:
        yield Check("", "Grove", OK, "the cluster has podcliquesets.grove.io")


def _releases(backend: FleetBackend, read: Read) -> Iterator[Check]:
    deployments = read("deployments.apps")
    release, version = release_of_images(deployments), str(backend.spec.scheduler.version)
    if not backend.is_kai:
        return
    if not release:
        todo = "Ask who installed KAI, and compare it with scheduler.version of the backend."
        yield Check("", "KAI", UNKNOWN, f"no image of a {RUNS_KAI} tells the release of KAI", todo)
    elif release == version or release.startswith(f"{version}."):
        yield Check("", "KAI", OK, f"KAI is {release}, as {CONFIG_FILE} says")
    else:
        todo = f'Write scheduler.version: "{release}" in the backend {backend.name} of {CONFIG_FILE}, or change KAI.'
        message = f"KAI is {release}; {CONFIG_FILE} says {version}, so manifests are for another release"
        yield Check("", "KAI", PROBLEM, message, todo)
    images = re.findall(r"[^\s\"']+grove-operator[^\s\"']*", str(deployments))
    of_grove = next((match[1] for match in map(_GROVE_IMAGE.search, images) if match), "")
    declared = backend.spec.grove.version
    if of_grove and declared and of_grove.lstrip("v") != declared:
        todo = f'Write grove.version: "{of_grove}" in the backend {backend.name} of {CONFIG_FILE}, or change Grove.'
        yield Check("", "Grove", PROBLEM, f"Grove is {of_grove}; {CONFIG_FILE} says {declared}", todo)


def _queues(fleet: Fleet, backend: FleetBackend, read: Read) -> Iterator[Check]:
    if not backend.is_kai:
        return
    live = {_name_of(queue): queue for queue in read("queues.scheduling.run.ai")}
    rendered = _rendered(fleet, backend, "Queue")
    absent = [name for name in rendered if name not in live]
    if absent:
        todo = "Render, commit, and let what applies the manifests apply them: kubectl tas render."
        yield Check("", "queues", PROBLEM, f"the cluster lacks {shortened(absent, _MAX_NAMED)}", todo)
    ours = (f"{fleet.config.queuePrefix}-",)
    undeclared = sorted(set(live) - set(rendered))
    orphaned = [name for name in undeclared if (live[name].get("metadata") or {}).get("labels", {}).get(MANAGED_BY)]
    foreign = [name for name in undeclared if name not in orphaned]
    if orphaned:
        todo = "Take them away once nothing runs there, or declare them again: kubectl delete queue NAME."
        yield Check("", "queues", NOTE, f"no file makes {shortened(orphaned, _MAX_NAMED)} any more", todo)
    if foreign:
        suffix = " (with our prefix)" if any(name.startswith(ours) for name in foreign) else ""
        todo = "Their work takes GPUs that no pool counts. Declare them: kubectl tas import cluster."
        yield Check("", "queues", NOTE, f"not ours{suffix}: {shortened(foreign, _MAX_NAMED)}", todo)
    if not (absent or orphaned or foreign):
        yield Check("", "queues", OK, f"the cluster has all {len(rendered)} queues and no other")


def _rendered(fleet: Fleet, backend: FleetBackend, *kinds: str) -> list[str]:
    artifacts = (artifact for artifact in compile_fleet(fleet) if artifact.backend == backend.name and artifact.apply)
    return [artifact.manifest.metadata.name for artifact in artifacts if artifact.manifest.kind in kinds]


def _shards(fleet: Fleet, backend: FleetBackend, read: Read) -> Iterator[Check]:
    pool_by_shard = {pool.shard: pool.name for pool in fleet.pools if pool.backend.name == backend.name}
    try:
        shards = read(SHARDS)
    except NoSuchResourceError:
        shards = []
    yield from _other_shards(fleet, backend, shards)
    if not shards and not any(pool_by_shard):
        return
    served = {(shard.get("spec") or {}).get("partitionLabelValue") or None for shard in shards}
    for value, pool in sorted(pool_by_shard.items(), key=lambda pair: str(pair[0])):
        if value not in served:
            reason = f"no SchedulingShard serves pool {pool}, which has no nodePool"
            if value:
                reason = f"no SchedulingShard has the nodePool {value} of pool {pool}"
            todo = f"Make a SchedulingShard with partitionLabelValue: {value or ''}, or correct nodePool of the pool."
            yield Check("", "shards", PROBLEM, f"{reason}: its work stays Pending", todo)
    if set(pool_by_shard) <= served:
        yield Check("", "shards", OK, "a SchedulingShard serves each pool")


def _other_shards(fleet: Fleet, backend: FleetBackend, live: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    declared_names = {shard.name for shard in fleet.shards}
    first_of_value: dict[str, str] = {}
    for shard in live:
        value = str((shard.get("spec") or {}).get("partitionLabelValue") or "")
        first, second = first_of_value.setdefault(value, _name_of(shard)), _name_of(shard)
        if first != second:
            message = f"SchedulingShards {first} and {second} have one partitionLabelValue: both place the same pods"
            others = [name for name in (first, second) if name not in declared_names]
            todo = f"Delete one of them: kubectl delete schedulingshard {others[0] if others else second}."
            todo += " If KAI's chart makes it, first set defaultShard.enabled: false." if "default" in others else ""
            yield Check("", "shards", PROBLEM, message, todo)
    spec_by_name = {_name_of(shard): shard.get("spec") or {} for shard in live}
    for declared in (shard for shard in fleet.shards if backend in shard.backends):
        path, name = declared.declared.origin.path, declared.name
        is_rendered = fleet.config.shards == "rendered"
        todo = f"Apply {'the rendered one' if is_rendered else 'the file, or render it with spec.shards: rendered'}."
        if name not in spec_by_name:
            message = f"the cluster has no SchedulingShard {name}, which {path} declares"
            yield Check("", "shards", PROBLEM, message, todo)
        elif differing := differing_fields(spec_by_name[name], declared.spec):
            told = shortened([f"{field.path} is {field.before}, not {field.after}" for field in differing], _MAX_NAMED)
            yield Check("", "shards", PROBLEM, f"SchedulingShard {name} is not as in {path}: {told}", todo)


def _classes(fleet: Fleet, backend: FleetBackend, read: Read) -> Iterator[Check]:
    live = {_name_of(each): each.get("value") for each in read("priorityclasses.scheduling.k8s.io")}
    names = {str(getattr(fleet.config.priorityClasses, priority)): value for priority, value in PRIORITY_VALUES.items()}
    absent = [name for name in names if name not in live]
    if absent:
        todo = "Apply the rendered PriorityClasses, or correct spec.priorityClasses of the Config."
        yield Check("", "PriorityClasses", PROBLEM, f"the cluster lacks {', '.join(absent)}", todo)
    for name, value in names.items():
        if name in live and live[name] != value:
            todo = "A value cannot change: delete the class and apply the rendered one, or choose another name."
            message = f"{name} has the value {live[name]}, and {value} is expected"
            yield Check("", "PriorityClasses", PROBLEM, message, todo)
    if not absent and all(live[name] == value for name, value in names.items()):
        yield Check("", "PriorityClasses", OK, f"the cluster has {', '.join(names)}")


def _webhooks(backend: FleetBackend, read: Read) -> Iterator[Check]:
    if not backend.is_kai:
        return
    groups = [
        str(group)
        for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
        for configuration in read(f"{resource}.admissionregistration.k8s.io")
        for hook in configuration.get("webhooks") or ()
        for rule in hook.get("rules") or ()
        for group in rule.get("apiGroups") or ()
    ]
    if "scheduling.run.ai" in groups:
        yield Check("", "webhooks", OK, "KAI's webhooks check queues and PodGroups")
    else:
        todo = "Look at KAI's admission: kubectl get validatingwebhookconfigurations."
        yield Check("", "webhooks", NOTE, "no webhook checks KAI's queues and PodGroups", todo)


def _levels(fleet: Fleet, backend: FleetBackend, read: Read) -> Iterator[Check]:
    pools = [pool for pool in fleet.pools if pool.backend.name == backend.name and pool.levels]
    if not pools:
        return
    nodes = [(_name_of(node), (node.get("metadata") or {}).get("labels") or {}) for node in read("nodes")]
    for pool in pools:
        selector = pool.nodes.selector
        pool_nodes = [(name, labels) for name, labels in nodes if selector.items() <= labels.items()]
        for level in pool.levels:
            lacking = [name for name, labels in pool_nodes if level.label not in labels]
            if not lacking:
                continue
            todo = f"Label the nodes with {level.label}, or remove the level {level.key}: kubectl tas topology suggest."
            share = f"{len(lacking)} of {len(pool_nodes)} nodes of pool {pool.name} lack {level.label}"
            message = f"{share} ({shortened(lacking, _MAX_NAMED)}): KAI places no work with a level there"
            yield Check("", "levels", PROBLEM if len(lacking) == len(pool_nodes) else NOTE, message, todo)
        if not pool_nodes:
            todo = "Correct spec.nodes.selector of the pool, or label nodes."
            yield Check("", "levels", PROBLEM, f"pool {pool.name} has no node", todo)
        elif all(level.label in labels for _, labels in pool_nodes for level in pool.levels):
            yield Check("", "levels", OK, f"all {len(pool_nodes)} nodes of pool {pool.name} have its levels")


def _guard(fleet: Fleet, backend: FleetBackend, read: Read) -> Iterator[Check]:
    if not fleet.config.guard:
        message = "the guard is off: only review keeps quotas"
        yield Check("", "guard", NOTE, message, "Set spec.guard: true in tas.yaml.")
        return
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        resource = "policies" if kind.endswith("Policy") else "policybindings"
        live = {_name_of(policy) for policy in read(f"validatingadmission{resource}.admissionregistration.k8s.io")}
        absent = [name for name in _rendered(fleet, backend, kind) if name not in live]
        if absent:
            message = f"the cluster lacks the {kind} {shortened(absent, _MAX_NAMED)}"
            yield Check("", "guard", PROBLEM, message, "Apply the rendered manifests.")
        else:
            yield Check("", "guard", OK, f"the cluster has each {kind} of the guard")


def examined_checkout(root: Path, fleet: Fleet) -> Iterator[Check]:
    """Yields the checks of the repository's folder: git, hooks, CI, and the lock of the tool."""
    subject = "repository"
    has_config = (root / CONFIG_FILE).is_file()
    todo = "" if has_config else "Write one: kubectl tas init."
    message = f"{CONFIG_FILE} is there" if has_config else f"there is no {CONFIG_FILE}, so defaults count"
    yield Check(subject, CONFIG_FILE, OK if has_config else NOTE, message, todo)
    try:
        done = process.run(["git", "-C", str(root), "rev-parse", "--show-toplevel", "--git-path", "hooks"])
    except TasError as error:
        yield Check(subject, "git", PROBLEM, error.message, error.hint or "")
        return
    lines = done.out.decode("utf-8", "replace").splitlines()
    if done.code or len(lines) < 2:
        yield Check(subject, "git", PROBLEM, "the folder is in no git repository", "Run: git init, and commit.")
        return
    top, hooks = Path(lines[0]), root / lines[1]
    yield Check(subject, "git", OK, f"the repository is {top}")
    yield from _hooks(subject, top, hooks)
    yield from _automation(subject, top)
    yield from _lock(subject, top)
    output = root / fleet.config.output
    if not output.is_dir():
        message = f"{fleet.config.output}/ is not there, so nothing can be applied"
        yield Check(subject, "manifests", PROBLEM, message, "Run: kubectl tas render, and commit.")


def _hooks(subject: str, top: Path, hooks: Path) -> Iterator[Check]:
    if _PLUGIN.search(_text(top / ".pre-commit-config.yaml")) is None:
        message = ".pre-commit-config.yaml does not run kubectl-tas"
        yield Check(subject, "hooks", NOTE, message, "Write one: kubectl tas init (docs/ci.md).")
    elif not (hooks / "pre-commit").is_file():
        yield Check(subject, "hooks", NOTE, "the pre-commit hook is not installed here", "Run: pre-commit install.")
    else:
        yield Check(subject, "hooks", OK, "pre-commit runs kubectl-tas")


def _automation(subject: str, top: Path) -> Iterator[Check]:
    workflows = top / ".github" / "workflows"
    files = [*(top / name for name in _CI_FILES), *(sorted(workflows.glob("*.y*ml")) if workflows.is_dir() else ())]
    calling = [file for file in files if _PLUGIN.search(_text(file))]
    if calling:
        yield Check(subject, "CI", OK, f"{calling[0].relative_to(top)} runs kubectl-tas")
    else:
        todo = "Write one: kubectl tas init --ci github, or gitlab (docs/ci.md)."
        yield Check(subject, "CI", PROBLEM, "no file of CI runs kubectl-tas, so nothing checks a pull request", todo)


def _lock(subject: str, top: Path) -> Iterator[Check]:
    text = _text(top / REQUIREMENTS)
    if not text:
        yield Check(subject, "lock", NOTE, f"{REQUIREMENTS} is not there", "Write it: kubectl tas init.")
        return
    if not any(line.strip() and not line.startswith(("#", "-", " ")) for line in text.splitlines()):
        todo = "Write the line that kubectl tas init prints (docs/ci.md)."
        yield Check(subject, "lock", PROBLEM, f"{REQUIREMENTS} names no package, so CI installs nothing", todo)
        return
    locked = re.search(r"^kubectl-tas==([^\s;\\]+)", text, re.MULTILINE)
    if "--hash=" not in text:
        todo = "Write the hashes of a release into it (docs/ci.md)."
        yield Check(subject, "lock", NOTE, f"{REQUIREMENTS} has no hashes", todo)
    if locked is not None and locked[1] != __version__:
        todo = f"Install what CI runs: pip install --require-hashes -r {REQUIREMENTS}."
        message = f"CI runs kubectl-tas {locked[1]}, and this is {__version__}"
        yield Check(subject, "lock", PROBLEM, message, todo)
    else:
        yield Check(subject, "lock", OK, f"{REQUIREMENTS} names what CI installs")


def _text(path: Path) -> str:
    """Returns the text of a file. Empty if the file does not exist."""
    if not path.is_file():
        return ""
    return read_plain(str(path), MEBIBYTE, hint="Look at it by hand.").decode("utf-8", "replace")
