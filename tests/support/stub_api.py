"""An API server for tests that only lists prepared objects, so that the real kubectl can be asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KINDS = {
    "customresourcedefinitions": "CustomResourceDefinition",
    "deployments": "Deployment",
    "queues": "Queue",
    "priorityclasses": "PriorityClass",
    "schedulingshards": "SchedulingShard",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "nodes": "Node",
    "pods": "Pod",
    "events": "Event",
    "podgroups": "PodGroup",
}
"""The kind of each resource."""
NAMESPACED = ("deployments", "pods", "events", "podgroups")
Objects = Mapping[str, Sequence[Mapping[str, Any]]]
"""Objects by resource with its apiVersion, such as ``v1/nodes`` or ``scheduling.run.ai/v2/queues``."""


def _answer(path: str, objects: Objects, forbidden: frozenset[str]) -> tuple[int, Any]:
    versions = sorted({resource.rpartition("/")[0] for resource in objects})
    if path == "/version":
        return 200, {"gitVersion": "v1.35.0", "major": "1", "minor": "35"}
    if path == "/api":
        return 200, {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        groups = [
            {"name": version.partition("/")[0], "versions": [about], "preferredVersion": about}
            for version in versions
            if "/" in version
            for about in ({"groupVersion": version, "version": version.partition("/")[2]},)
        ]
        return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    version = path.removeprefix("/apis/").removeprefix("/api/")
    if version in versions:
        resources = [
            {
                "name": name,
                "singularName": KINDS[name].lower(),
                "namespaced": name in NAMESPACED,
                "kind": KINDS[name],
                "verbs": ["list"],
            }
            for resource in objects
            for above, _, name in (resource.rpartition("/"),)
            if above == version
        ]
        return 200, {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
    if version in forbidden:
        message = f"{version} is forbidden: User x cannot list"
        return 403, {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "code": 403,
            "reason": "Forbidden",
        }
    if version in objects:
        above, _, name = version.rpartition("/")
        items = [{**item, "apiVersion": above, "kind": KINDS[name]} for item in objects[version]]
        return 200, {"kind": f"{KINDS[name]}List", "apiVersion": above, "metadata": {}, "items": items}
    return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}


@contextmanager
def api_server(folder: Path, objects: Objects, forbidden: Sequence[str] = ()) -> Iterator[Path]:
    """Serves the objects, and yields a kubeconfig with the context ``stub``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = _answer(self.path.partition("?")[0], objects, frozenset(forbidden))
            content = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kubeconfig = folder / "kubeconfig"
    cluster = {"server": f"http://127.0.0.1:{server.server_address[1]}"}
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "stub",
                "clusters": [{"name": "stub", "cluster": cluster}],
                "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "x"}}],
                "users": [{"name": "x", "user": {}}],
            }
        )
    )
    try:
        yield kubeconfig
    finally:
        server.shutdown()
        server.server_close()
