"""Tests that values that an API server accepts in objects beside workloads give no findings."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from kubectl_tas import spellings
from tests.slips.repository import FILES
from tests.slips.test_slips import findings
from tests.support.judged import told_of

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


def obj(kind: str, *lines: str, version: str = "v1", metadata: str = "") -> str:
    """An object with these lines below ``kind`` and ``metadata``, from line 4 on."""
    own = "".join(f"{line}\n" for line in lines)
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a{metadata}}}\n{own}"


def service(*fields: str) -> str:
    """A Service with these fields of its spec, from line 5 on."""
    return obj("Service", "spec:", *(f"  {field}" for field in fields))


def scaler(*fields: str, metric: str = "") -> str:
    """A HorizontalPodAutoscaler, its fields from line 5 on, then a metric."""
    metrics = ("  metrics:", f"  - {metric}") if metric else ()
    lines = ("spec:", *(f"  {field}" for field in fields), *metrics)
    return obj("HorizontalPodAutoscaler", *lines, version="autoscaling/v2")


TARGET = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}"


def metric(fields: str) -> str:
    """One that scales no pods of this repository, with a metric in line 8."""
    return scaler(TARGET, "maxReplicas: 4", metric=f"{{{fields}}}")


def ingress(*fields: str) -> str:
    return obj("Ingress", "spec:", *(f"  {field}" for field in fields), version="networking.k8s.io/v1")


def path(fields: str) -> str:
    """An Ingress with one path, in line 5."""
    backend = "backend: {resource: {kind: Bucket, name: web}}"
    return ingress(f"rules: [{{http: {{paths: [{{{fields}, {backend}}}]}}}}]")


def claim(*fields: str, metadata: str = "") -> str:
    return obj("PersistentVolumeClaim", "spec:", *(f"  {field}" for field in fields), metadata=metadata)


def policy(peer: str) -> str:
    return obj(
        "NetworkPolicy",
        "spec:",
        "  podSelector: {}",
        "  policyTypes: [Ingress]",
        f"  ingress: [{{from: [{peer}]}}]",
        version="networking.k8s.io/v1",
    )


def endpoints(kind: str, addresses: str) -> str:
    return obj(
        "EndpointSlice",
        f"addressType: {kind}",
        f"endpoints: [{{addresses: {addresses}}}]",
        "ports: []",
        version="discovery.k8s.io/v1",
    )


PORTS = "ports: [{port: 80}]"
STORAGE = "resources: {requests: {storage: 1Gi}}"
RWX = "accessModes: [ReadWriteMany]"
RESOURCE = "resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}"


def held(metadata: str) -> str:
    """A StatefulSet with a claim for each pod, whose metadata is in line 7."""
    return f"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: a, labels: {{kubectl-tas/pool: team}}}}
spec:
  selector: {{matchLabels: {{app: x}}}}
  volumeClaimTemplates:
  - metadata: {metadata}
    spec: {{{RWX}, {STORAGE}}}
  template: {{metadata: {{labels: {{app: x}}}}, spec: {{containers: [{{name: m, image: i}}]}}}}
"""


HEAD = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: a, labels: {kubectl-tas/pool: team}}
spec:
  headGroupSpec:
    headService: {metadata: {name: a-head}, spec: {type: ClusterIP}}
    rayStartParams: {}
    template: {spec: {containers: [{name: m, image: i}]}}
"""
ROWS = {
    "an annotation of a claim": (held("{name: data, annotations: {Example.com/A: x}}"), []),
    "an annotation of a claim that is no name": (
        held("{name: data, annotations: {example.com/a b: x}}"),
        [
            "w.yaml:7:42 invalid-value: a key in spec.volumeClaimTemplates[0].metadata.annotations must be a "
            "name such as example.com/note, not \"example.com/a b\" (Write its key alone: letters, digits, '-', "
            "'_' and '.', perhaps behind a domain and '/'.)"
        ],
    ),
    "a label of a claim in upper case": (
        held("{name: data, labels: {Example.com/A: x}}"),
        [
            "w.yaml:7:37 invalid-value: a key in spec.volumeClaimTemplates[0].metadata.labels must be a label "
            'such as topology.kubernetes.io/zone, not "Example.com/A" (Write its key alone: letters, digits, '
            "'-', '_' and '.', perhaps behind a domain and '/'.)"
        ],
    ),
    "the name of a claim is a number": (
        held("{name: 7}"),
        [
            "w.yaml:7:22 wrong-type: spec.volumeClaimTemplates[0].metadata.name must be text, not 7 (Put it in "
            'quotes: "7".)'
        ],
    ),
    "the name of a claim is no name of a volume": (
        held("{name: a.b}"),
        [
            "w.yaml:7:22 invalid-value: spec.volumeClaimTemplates[0].metadata.name must be at most 63 lower-case "
            "letters, digits and '-', a letter or digit first and last, not \"a.b\" (Write one such as data.)"
        ],
    ),
    "a Service whose label cannot be": (
        service("selector: {a b: x}", PORTS),
        [
            "w.yaml:5:14 invalid-value: a key in spec.selector must be a label such as "
            "topology.kubernetes.io/zone, not \"a b\" (Write its key alone: letters, digits, '-', '_' and '.', "
            "perhaps behind a domain and '/'.)"
        ],
    ),
    "a Service whose label has no value": (
        service("selector: {a: x y}", PORTS),
        [
            "w.yaml:5:17 invalid-value: spec.selector.a must be the value of a label: letters, digits, '-', '_' "
            "and '.', a letter or digit at both ends, not \"x y\" (Write '-' or '_' in place of other characters, "
            "such as blanks, '/', ':' and '@'.)"
        ],
    ),
    "a label in a domain in upper case": (
        obj("ConfigMap", "data: {}", metadata=", labels: {Example.com/a: x}"),
        [
            "w.yaml:3:30 invalid-value: a key in metadata.labels must be a label such as "
            'topology.kubernetes.io/zone, not "Example.com/a" ()'
        ],
    ),
    "a ConfigMap of bytes that are no text": (
        obj("ConfigMap", "binaryData: {a: 7}"),
        ['w.yaml:4:17 wrong-type: binaryData.a must be text, not 7 (Put it in quotes: "7".)'],
    ),
    "a metric of an unknown type": (
        metric(f"type: Resourse, {RESOURCE}"),
        [
            "w.yaml:8:12 invalid-value: spec.metrics[0].type must be one of ContainerResource, External, Object, "
            'Pods, Resource, not "Resourse" (Did you mean "Resource"?)'
        ],
    ),
    "a metric of another type": (
        metric(f"type: Pods, {RESOURCE}"),
        ['w.yaml:8:5 missing-field: the field "pods" is missing in spec.metrics[0] (Add pods.)'],
    ),
    "a metric of two types": (
        metric(
            f"type: Resource, {RESOURCE}, "
            "pods: {metric: {name: a}, target: {type: AverageValue, averageValue: 1}}"
        ),
        [
            "w.yaml:8:98 fields-conflict: spec.metrics[0] has type Resource, which takes no pods (Remove it, or "
            "write type: Pods.)"
        ],
    ),
    "a metric whose target is empty": (
        metric("type: Resource, resource: {name: cpu, target: {type: Utilization}}"),
        [
            "w.yaml:8:44 fields-conflict: spec.metrics[0].resource.target has no averageUtilization or "
            "averageValue (Write averageUtilization.)"
        ],
    ),
    "a metric whose target is no mapping": (
        metric("type: Resource, resource: {name: cpu, target: 60}"),
        [
            "w.yaml:8:52 wrong-type: spec.metrics[0].resource.target must be a mapping, not 60 (Write a mapping: "
            "'key: value' lines.)"
        ],
    ),
    "a metric whose target is misspelled": (
        metric("type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilisation: 60}}"),
        [
            'w.yaml:8:72 unknown-field: unknown field "averageUtilisation" in spec.metrics[0].resource.target '
            '(Did you mean "averageUtilization"?)'
        ],
    ),
    "a metric of an object with two targets": (
        metric(
            "type: Object, object: {describedObject: {kind: Service, name: a}, metric: {name: b}, "
            "target: {type: Value, value: 1, averageValue: 2}}"
        ),
        [],
    ),
    "a metric of no amount": (
        metric("type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: x}}"),
        [
            "w.yaml:8:87 invalid-value: spec.metrics[0].resource.target.averageValue must be a quantity such as "
            '500m or 64Gi, not "x" (Write a number and a unit without a blank between them, such as 64Gi.)'
        ],
    ),
    "a scaler of nothing": (
        scaler("scaleTargetRef: web", "maxReplicas: 4"),
        [
            'w.yaml:5:19 wrong-type: spec.scaleTargetRef must be a mapping, not "web" (Write a mapping: \'key: '
            "value' lines.)"
        ],
    ),
    "a scaler to zero by what is outside": (
        scaler(
            TARGET,
            "maxReplicas: 4",
            "minReplicas: 0",
            metric="{type: External, external: {metric: {name: q}, target: {type: Value, value: 1}}}",
        ),
        [],
    ),
    "a scaler to zero by an object": (
        scaler(
            TARGET,
            "maxReplicas: 4",
            "minReplicas: 0",
            metric="{type: Object, object: {describedObject: {kind: Service, name: a}, metric: {name: b}, "
            "target: {type: Value, value: 1}}}",
        ),
        [],
    ),
    "a scaler to zero by its pods": (
        scaler(TARGET, "maxReplicas: 4", "minReplicas: 0", metric=f"{{type: Resource, {RESOURCE}}}"),
        [
            "w.yaml:7:16 invalid-value: spec.minReplicas must be at least 1 without a metric of type External or "
            "Object, not 0 (Write 1 or more.)"
        ],
    ),
    "two modes of a claim": (claim("accessModes: [ReadWriteOnce, ReadOnlyMany]", STORAGE), []),
    "a mode that stands alone": (
        claim("accessModes: [ReadWriteOncePod, ReadWriteOnce]", STORAGE),
        [
            "w.yaml:5:3 fields-conflict: spec.accessModes has ReadWriteOncePod, which allows no other mode (Remove "
            "it, or the others.)"
        ],
    ),
    "an unknown mode": (
        claim("accessModes: [ReadWriteMny]", STORAGE),
        [
            "w.yaml:5:17 invalid-value: spec.accessModes[0] must be one of ReadWriteOnce, ReadOnlyMany, "
            'ReadWriteMany, ReadWriteOncePod, not "ReadWriteMny" (Did you mean "ReadWriteMany"?)'
        ],
    ),
    "the short name of a mode": (
        claim("accessModes: [RWOP]", STORAGE),
        [
            "w.yaml:5:17 invalid-value: spec.accessModes[0] must be one of ReadWriteOnce, ReadOnlyMany, "
            'ReadWriteMany, ReadWriteOncePod, not "RWOP" (Write ReadWriteOncePod.)'
        ],
    ),
    "requests are no mapping": (
        claim(RWX, "resources: {requests: 1Gi}"),
        [
            'w.yaml:6:25 wrong-type: spec.resources.requests must be a mapping, not "1Gi" (Write a mapping: '
            "'key: value' lines.)"
        ],
    ),
    "a class without a name": (claim(RWX, STORAGE, 'storageClassName: ""'), []),
    "a claim whose name is no name of a volume": (claim(RWX, STORAGE).replace("name: a", "name: a.b"), []),
    "an Ingress of nothing": (
        ingress("ingressClassName: nginx"),
        ["w.yaml:4:1 fields-conflict: spec has neither rules nor defaultBackend (Write one of them.)"],
    ),
    "an Ingress of an empty class": (
        ingress('ingressClassName: ""', "defaultBackend: {resource: {kind: Bucket, name: web}}"),
        [],
    ),
    "an Ingress whose rules are misspelled": (
        ingress("rule: []"),
        ['w.yaml:5:3 unknown-field: unknown field "rule" in spec (Did you mean "rules"?)'],
    ),
    "a prefix without a path": (
        path("pathType: Prefix"),
        [
            "w.yaml:5:27 fields-conflict: spec.rules[0].http.paths[0] has pathType Prefix, which needs a path "
            "that begins with / (Write one, such as path: /.)"
        ],
    ),
    "a prefix whose path is misspelled": (
        path("pathType: Prefix, Path: /a"),
        ['w.yaml:5:46 unknown-field: unknown field "Path" in spec.rules[0].http.paths[0] (Did you mean "path"?)'],
    ),
    "a path of a controller's own": (
        path("pathType: ImplementationSpecific, path: 'a'"),
        [
            "w.yaml:5:62 fields-conflict: spec.rules[0].http.paths[0] has pathType ImplementationSpecific, which "
            "needs a path that begins with / (Write one, such as path: /.)"
        ],
    ),
    "no path of a controller's own": (path("pathType: ImplementationSpecific"), []),
    "a path that ends above": (
        path("pathType: Exact, path: /a/.."),
        [
            "w.yaml:5:51 invalid-value: spec.rules[0].http.paths[0].path must not have /.. where pathType is "
            'Exact, not "/a/.." (Write the path as clients send it.)'
        ],
    ),
    "a path that ends below": (
        path("pathType: Exact, path: /a/."),
        [
            "w.yaml:5:51 invalid-value: spec.rules[0].http.paths[0].path must not have /. where pathType is "
            'Exact, not "/a/." (Write the path as clients send it.)'
        ],
    ),
    "an odd path of a controller's own": (path("pathType: ImplementationSpecific, path: /a//b"), []),
    "a peer that is misspelled": (
        policy("{podSelecter: {}}"),
        [
            'w.yaml:7:22 unknown-field: unknown field "podSelecter" in spec.ingress[0].from[0] (Did you mean '
            '"podSelector"?)'
        ],
    ),
    "a range and a selector in one entry": (
        policy("{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}"),
        [
            "w.yaml:7:51 fields-conflict: spec.ingress[0].from[0] has ipBlock and podSelector, which cannot go "
            "together (Make two entries of them.)"
        ],
    ),
    "a range that is no text": (
        policy("{ipBlock: {cidr: 10, except: [10.1.0.0/16]}}"),
        ['w.yaml:7:38 wrong-type: spec.ingress[0].from[0].ipBlock.cidr must be text, not 10 (Put it in quotes: "10".)'],
    ),
    "an exception that is no text": (
        policy("{ipBlock: {cidr: 10.0.0.0/8, except: [10]}}"),
        [
            "w.yaml:7:59 wrong-type: spec.ingress[0].from[0].ipBlock.except[0] must be text, not 10 (Put it in "
            'quotes: "10".)'
        ],
    ),
    "an exception of another family": (
        policy("{ipBlock: {cidr: 10.0.0.0/8, except: ['2001:db8::/32']}}"),
        [
            "w.yaml:7:59 fields-conflict: spec.ingress[0].from[0].ipBlock.except[0] is 2001:db8::/32, which is "
            "no part of 10.0.0.0/8 (Write a smaller range within cidr, or remove it.)"
        ],
    ),
    "an exception of all": (
        policy("{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}"),
        [
            "w.yaml:7:59 fields-conflict: spec.ingress[0].from[0].ipBlock.except[0] is 10.0.0.0/8, which is no "
            "part of 10.0.0.0/8 (Write a smaller range within cidr, or remove it.)"
        ],
    ),
    "a Service whose spec is misspelled": (
        obj("Service", "Spec: {ports: [{port: 80}]}"),
        ['w.yaml:4:1 unknown-field: unknown field "Spec" (Did you mean "spec"?)'],
    ),
    "a Service whose ports are misspelled": (
        service("port: [{port: 80}]"),
        ['w.yaml:5:3 unknown-field: unknown field "port" in spec (Did you mean "ports"?)'],
    ),
    "a headless list of a LoadBalancer": (
        service("type: LoadBalancer", "clusterIPs: [None]", PORTS),
        [
            "w.yaml:6:3 fields-conflict: spec.clusterIPs is None, which type LoadBalancer cannot have (Remove "
            "it, or write type: ClusterIP.)"
        ],
    ),
    "the port of health that nobody chose": (
        service("type: LoadBalancer", "healthCheckNodePort: 0", "externalTrafficPolicy: Cluster", PORTS),
        [],
    ),
    "the port of health of local traffic": (
        service("type: LoadBalancer", "healthCheckNodePort: 30001", "externalTrafficPolicy: Local", PORTS),
        [],
    ),
    "the port of health of other traffic": (
        service("type: LoadBalancer", "healthCheckNodePort: 30001", PORTS),
        [
            "w.yaml:6:3 fields-conflict: spec.healthCheckNodePort needs externalTrafficPolicy: Local (Write "
            "both, or remove it.)"
        ],
    ),
    "sessions with their affinity": (
        service("sessionAffinity: ClientIP", "sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}", PORTS),
        [],
    ),
    "three addresses": (
        service("clusterIPs: [10.0.0.1, '2001:db8::1', x]", PORTS),
        [
            (
                "w.yaml:5:3 fields-conflict: spec.clusterIPs may have one IPv4 and one IPv6 address, and no more "
                "(Remove the others.)"
            ),
            (
                'w.yaml:5:41 invalid-value: spec.clusterIPs[2] must be an IP address, not "x" (Write one such as '
                "10.0.0.1 or 2001:db8::1.)"
            ),
        ],
    ),
    "two addresses of a family": (
        service("clusterIPs: [10.0.0.1, 10.0.0.2]", PORTS),
        [
            "w.yaml:5:3 fields-conflict: spec.clusterIPs may have one IPv4 and one IPv6 address, and no more "
            "(Remove the others.)"
        ],
    ),
    "no address and an address": (
        service("clusterIPs: [None, 10.0.0.2]"),
        [
            "w.yaml:5:3 fields-conflict: spec.clusterIPs may have one IPv4 and one IPv6 address, and no more "
            "(Remove the others.)"
        ],
    ),
    "an address that is no text": (
        service("clusterIPs: [10.0.0.1, 7]", PORTS),
        ['w.yaml:5:26 wrong-type: spec.clusterIPs[1] must be text, not 7 (Put it in quotes: "7".)'],
    ),
    "a port that says nothing": (
        service("ports: [{port: 80, name: a}, {}]"),
        ['w.yaml:5:32 missing-field: the field "port" is missing in spec.ports[1] (Add port.)'],
    ),
    "one port with a name and one without": (
        service("ports: [{port: 80, name: a}, {port: 81, name: ''}]"),
        ['w.yaml:5:32 missing-field: the field "name" is missing in spec.ports[1] (Add name.)'],
    ),
    "addresses that are no text": (
        endpoints("IPv4", "[7]"),
        ['w.yaml:5:26 wrong-type: endpoints[0].addresses[0] must be text, not 7 (Put it in quotes: "7".)'],
    ),
    "an address of the family": (endpoints("IPv4", "[10.0.0.1]"), []),
    "an address of another family": (
        endpoints("IPv4", "['2001:db8::1']"),
        [
            'w.yaml:5:26 invalid-value: endpoints[0].addresses[0] must be an IPv4 address, not "2001:db8::1" '
            "(Correct it, or addressType.)"
        ],
    ),
    "an address of nobody": (
        endpoints("IPv4", "[127.0.0.1]"),
        [
            "w.yaml:5:26 invalid-value: endpoints[0].addresses[0] must not be a loopback address, not "
            '"127.0.0.1" (Write an address that others can reach.)'
        ],
    ),
    "names are no addresses": (endpoints("FQDN", "[a.example.com]"), []),
    "a Service that KubeRay makes has its ports": (HEAD, []),
    "a finalizer": (obj("ConfigMap", "data: {}", metadata=", finalizers: [example.com/a]"), []),
    "a finalizer that is no name": (
        obj("ConfigMap", "data: {}", metadata=", finalizers: ['a b']"),
        [
            'w.yaml:3:34 invalid-value: metadata.finalizers[0] must be a name such as example.com/name, not "a '
            "b\" (Write letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.)"
        ],
    ),
}


def told(text: str) -> list[str]:
    """What is said of the fields of an object, wherever what it names is."""
    rules = ["companion-kind", "growth-uncounted", "reference-elsewhere", "selects-others", "selects-too-few"]
    companions = "[{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}]"
    return told_of(text, rules=f"{{{', '.join(f'{rule}: off' for rule in rules)}}}", companions=companions)


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_objects(text: str, expected: list[str]) -> None:
    assert told(text) == expected
