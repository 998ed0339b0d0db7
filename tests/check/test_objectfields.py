"""Tests that values that an API server accepts in objects beside workloads give no findings."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from kubectl_tas import spellings
from tests.slips.repository import FILES
from tests.slips.test_slips import findings

BESIDE = "workflows/objects.yaml"
LOAD_BALANCER = "  type: LoadBalancer\n"
BALANCED = "  externalTrafficPolicy: Local\n  externalIPs: [192.0.2.7]\n  loadBalancerSourceRanges: [10.0.0.0/8]\n"
TAKEN = {
    "a range with blanks": ("[10.0.0.0/8]", '[" 10.0.0.0/8 "]'),
    "a range with bits behind its prefix": ("cidr: 10.0.0.0/8", "cidr: 10.0.0.1/8"),
    "a range of IPv6": ("        cidr: 10.0.0.0/8\n        except: [10.1.0.0/16]", "        cidr: 2001:db8::/32"),
    "an address of the cluster's": (LOAD_BALANCER, f"{LOAD_BALANCER}  clusterIP: 10.0.0.1\n"),
    "an address of each family": (
        LOAD_BALANCER,
        f"{LOAD_BALANCER}  clusterIP: 10.0.0.1\n  clusterIPs: [10.0.0.1, 2001:db8::1]\n",
    ),
    "a NodePort": (LOAD_BALANCER + "  selector: {app: x}\n" + BALANCED, "  type: NodePort\n  selector: {app: x}\n"),
    "addresses from outside of a ClusterIP": (
        LOAD_BALANCER + "  selector: {app: x}\n" + BALANCED + FILES[BESIDE].split(BALANCED)[1].split("---")[0],
        "  externalTrafficPolicy: Local\n  externalIPs: [192.0.2.7]\n  ports: [{port: 80}]\n",
    ),
    "a port of two protocols": ("port: 81,", "port: 80, protocol: UDP,"),
    "one port without a name": ("  clusterIP: None\n", "  clusterIP: None\n  ports: [{port: 80, targetPort: 0}]\n"),
    "a long name of a port": ("name: rpc,", "name: a-long-name-of-a-port,"),
    "a name with a dot at its end": ("store.example.com", "store.example.com."),
    "any host below a domain": ("host: chat.example.com", 'host: "*.example.com"'),
    "any host": ("host: chat.example.com\n    http", "http"),
    "a path of its controller's": ("path: /chat\n        pathType: Prefix", "pathType: ImplementationSpecific"),
    "a budget of no pod": ("minAvailable: 50%", "maxUnavailable: 0"),
    "a budget of all pods": ("minAvailable: 50%", "minAvailable: 100%"),
    "a port by its name": ("port: 8000, endPort: 8010", "port: http"),
    "selectors of a namespace and its pods": ("- podSelector:", "- namespaceSelector: {}\n      podSelector:"),
    "base64 on several lines": ("aGVsbG8=", "|\n    aGVs\n    bG8="),
    "a ConfigMap of 1 MiB": ("aGVsbG8=", b64encode(bytes(2**20 - len("hello"))).decode()),
    "annotations of 256 KiB": ("owner: us", "owner: " + "x" * (2**18 - len("example.com/owner"))),
    "an access mode for one pod": ("[ReadWriteMany]", "[ReadWriteOncePod]"),
    "a claim of a small volume": ("storage: 10Gi", "storage: 1"),
}


@pytest.mark.parametrize(("old", "new"), TAKEN.values(), ids=TAKEN)
def test_taken(tmp_path: Path, old: str, new: str) -> None:
    assert old in FILES[BESIDE]
    assert findings(tmp_path, {**FILES, BESIDE: FILES[BESIDE].replace(old, new, 1)}) == []


@pytest.mark.parametrize(("spec", "words"), [("", "a Service needs ports"), ("spec: [1]\n", "must be a mapping")])
def test_a_service_without_fields(tmp_path: Path, spec: str, words: str) -> None:
    service = f"apiVersion: v1\nkind: Service\nmetadata: {{name: bare}}\n{spec}"
    (found,) = findings(tmp_path, {**FILES, "workflows/bare.yaml": service})
    assert words in str(found["message"])


@pytest.mark.parametrize("text", ["10.0.0.1", "010.0.0.1", "::1", "2001:db8::1", "::ffff:10.0.0.1"])
def test_addresses(text: str) -> None:
    assert spellings.address_refused(text) is None


@pytest.mark.parametrize(
    "text", ["", "10.0.0", "10.0.0.256", "10.0.0.1/8", "10.0.0.1 ", "fe80::1%eth0", "localhost", "1e1.0.0.1", "::1::"]
)
def test_no_addresses(text: str) -> None:
    assert spellings.address_refused(text) is not None


@pytest.mark.parametrize(
    "text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "10.0.0.0/-1", "/8", "::/129", "a/8"]
)
def test_no_ranges(text: str) -> None:
    assert spellings.range_refused(text) is not None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0.0.0.0", "unspecified"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("224.0.0.1", "link-local"),
        ("ff02::1", "link-local"),
    ],
)
def test_addresses_that_are_not_outside(text: str, kind: str) -> None:
    found = spellings.external_ip_refused(text)
    assert found is not None
    assert kind in found[0]


@pytest.mark.parametrize(
    ("kind", "address", "words"),
    [
        ("IPv4", "10.0.0.300", "must be an IPv4 address"),
        ("IPv6", "10.0.0.1", "must be an IPv6 address"),
        ("IPv4", "127.0.0.1", "must not be a loopback address"),
        ("IPv5", "10.0.0.1", "must be one of IPv4, IPv6, FQDN"),
    ],
)
def test_endpoints(tmp_path: Path, kind: str, address: str, words: str) -> None:
    config = f"{FILES['tas.yaml']}  companions: [{{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}}]\n"
    slice_ = (
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: store}\n"
        f"addressType: {kind}\nendpoints: [{{addresses: ['{address}']}}]\nports: [{{port: 80}}]\n"
    )
    config += "  rules: {companion-kind: off}\n"
    (found,) = findings(tmp_path, {**FILES, "tas.yaml": config, "workflows/endpoints.yaml": slice_})
    assert words in str(found["message"])
