"""Makes the files by which Argo CD or Flux apply the manifests of a repository: for ``init`` and for integrations/."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.resources import read_resource, resource_root
from kubectl_tas.base.yaml import scalar
from kubectl_tas.model.labels import QUEUE

_FOLDER = "templates/gitops"


@dataclass(frozen=True, slots=True)
class Delivery:
    """The manifests for a GitOps tool, and their place in git."""

    name: str
    """Name of the tool's objects."""
    url: str
    """Address of the git repository."""
    branch: str
    """The deployed branch."""
    output: str
    """The output folder, from the top of the git repository."""
    is_sharded: bool
    """Whether each pool has a folder of its own."""
    pools: Mapping[str, Sequence[str]]
    """The pools of each backend, by the backend's name. Each backend has a folder if there are several."""
    prune: bool
    """Whether the tool removes what no file declares any more."""

    def folder_of(self, backend: str) -> str:
        """Returns the folder of a backend's manifests."""
        return f"{self.output}/{backend}" if len(self.pools) > 1 else self.output


def files_of(tool: str, delivery: Delivery, prefix: str) -> dict[str, str]:
    """Returns the files that ``init`` writes for argocd or flux. ``prefix`` is the folder of tas.yaml."""
    if tool == "argocd":
        applied, checks = f"{prefix}argocd/application.yaml", f"{prefix}argocd/health.yaml"
        return {applied: argocd(delivery, applied), checks: argocd_health(checks)}
    several = len(delivery.pools) > 1
    names = {f"{prefix}flux/gpu-pools{f'-{backend}' if several else ''}.yaml": backend for backend in delivery.pools}
    return {name: _flux(delivery, backend, name) for name, backend in names.items()}


def argocd(delivery: Delivery, file: str, *, plugin: bool = False) -> str:
    """Returns an Application, or an ApplicationSet where there are several folders. ``plugin``: Argo CD renders."""
    output, several = delivery.output, len(delivery.pools) > 1
    sharded = delivery.is_sharded
    depth, backend = len(output.split("/")), ""
    directory = re.sub(r"([*?\[\\])", r"\\\1", output)
    if several:
        backend, directory, depth = f"{{{{index .path.segments {depth}}}}}", f"{directory}/*", depth + 1
    step = f"index .path.segments {depth}"
    made_name, is_set = backend, several or sharded
    if sharded:
        made_name += f'-{{{{if eq ({step}) "pools"}}}}pool-{{{{end}}}}{{{{.path.basename}}}}'
    return _template("argocd.yaml.j2").render(
        **_common(delivery),
        file=shlex.quote(file),
        plugin=plugin,
        several=several,
        sharded=sharded,
        set=is_set,
        directories=[scalar(f"{directory}{name}") for name in (("/platform", "/pools/*") if sharded else ("",))],
        made_name=made_name.removeprefix("-"),
        step=f"{{{{{step}}}}}",
        path="." if plugin else "'{{.path.path}}'" if is_set else scalar(output),
        cluster=f"'{backend}'" if several else "in-cluster",
    )


def argocd_health(file: str) -> str:
    """Returns Argo CD's health checks for KAI's kinds, claims, Jobs and Pods."""
    return read_resource(f"{_FOLDER}/health.yaml").replace("<< file >>", shlex.quote(file))


def flux_source(delivery: Delivery) -> str:
    """Returns the GitRepository of a repository."""
    folder_patterns = [re.sub(r"([*?\[\\ ])", r"\\\1", folder_pattern) for folder_pattern in delivery.output.split("/")]
    above = ["/".join(("", *folder_patterns[:depth])) for depth in range(len(folder_patterns))]
    lines = [
        line
        for folder, folder_pattern in zip(above, folder_patterns, strict=True)
        for line in (f"{folder}/*", f"!{folder}/{folder_pattern}")
    ]
    return _template("flux-source.yaml.j2").render(**_common(delivery), ignored=lines)


def flux_part(delivery: Delivery, manifest_folder: str, path: str, *, pool: str = "", note: str = "") -> str:
    """Returns the Kustomization of a folder: platform or pool, or for flat the two of all that work needs and of work.

    Flux dry-runs all objects of a Kustomization before it applies the first (``ApplyAll`` of fluxcd/pkg/ssa, 0.77).
    """
    if manifest_folder == "flat":
        base = _flux_part(delivery, "base", path, "-base", note)
        return f"{base}---\n{_flux_part(delivery, manifest_folder, path, '', '')}"
    suffix = "-platform" if manifest_folder == "platform" else f"-pool-{pool}"
    return _flux_part(delivery, manifest_folder, path, suffix, note)


def _flux_part(delivery: Delivery, manifest_folder: str, path: str, suffix: str, note: str) -> str:
    return _template("flux.yaml.j2").render(
        **_common(delivery, suffix), part=manifest_folder, path=scalar(f"./{path}"), note=note, queue=QUEUE
    )


def _flux(delivery: Delivery, backend: str, file: str) -> str:
    folder = delivery.folder_of(backend)
    cluster = f" in the cluster {backend}" if len(delivery.pools) > 1 else ""
    documents = [f"# Apply it once{cluster}: kubectl apply -f {shlex.quote(file)}\n{flux_source(delivery)}"]
    if delivery.is_sharded:
        documents.append(flux_part(delivery, "platform", f"{folder}/platform"))
        for pool in delivery.pools[backend]:
            documents.append(flux_part(delivery, "pool", f"{folder}/pools/{pool}", pool=pool))
    else:
        documents.append(flux_part(delivery, "flat", folder))
    return "---\n".join(documents)


def _common(delivery: Delivery, suffix: str = "") -> dict[str, str]:
    """Returns what all templates take. A name such as ``2026`` or ``on`` needs quotes, unless it begins another one."""
    return {
        "prefix": delivery.name,
        "repository": scalar(delivery.name, flow=True),
        "name": scalar(f"{delivery.name}{suffix}", flow=True),
        "url": scalar(delivery.url),
        "branch": scalar(delivery.branch, flow=True),
        "output": delivery.output,
        "prune": "true" if delivery.prune else "",
    }


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(resource_root() / _FOLDER, encoding="utf-8"),
        undefined=StrictUndefined,
        autoescape=False,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def _template(name: str) -> Template:
    return _environment().get_template(name)
