"""Tests that values that an API server accepts in objects beside workloads give no findings."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from kubectl_tas.facts import spellings
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
        ("0.0.0.0", "an unspecified"),
        ("127.0.0.1", "a loopback"),
        ("::1", "a loopback"),
        ("169.254.0.1", "a link-local"),
        ("fe80::1", "a link-local"),
        ("224.0.0.1", "a link-local"),
        ("ff02::1", "a link-local"),
    ],
)
def test_addresses_that_are_not_outside(text: str, kind: str) -> None:
    refused = (f"must not be {kind} address", "Write an address that others can reach.")
    assert spellings.external_ip_refused(text) == refused


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
            "topology.kubernetes.io/zone, not \"Example.com/a\" (Write its key alone: letters, digits, '-', '_' and "
            "'.', perhaps behind a domain and '/'.)"
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
    "a metric whose target is written with %": (
        metric("type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80%}}"),
        [
            "w.yaml:8:92 wrong-type: spec.metrics[0].resource.target.averageUtilization must be a whole number, not "
            '"80%" (Write 80.)'
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
    "the values of a Service": (
        service(
            "externalTrafficPolicy: All",
            "internalTrafficPolicy: All",
            "ipFamilies: [IPv5]",
            "ipFamilyPolicy: Dual",
            "loadBalancerClass: a b",
            "loadBalancerSourceRanges: [10.0.0.1]",
            "sessionAffinity: Client",
            "trafficDistribution: Near",
            "sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}",
            "type: LoadBalancer",
            PORTS,
        ),
        [
            'w.yaml:5:26 invalid-value: spec.externalTrafficPolicy must be one of Cluster, Local, not "All" ()',
            'w.yaml:6:26 invalid-value: spec.internalTrafficPolicy must be one of Cluster, Local, not "All" ()',
            (
                'w.yaml:7:16 invalid-value: spec.ipFamilies[0] must be one of IPv4, IPv6, not "IPv5" (Did you '
                'mean "IPv4"?)'
            ),
            (
                "w.yaml:8:19 invalid-value: spec.ipFamilyPolicy must be one of SingleStack, PreferDualStack, "
                'RequireDualStack, not "Dual" ()'
            ),
            (
                "w.yaml:9:22 invalid-value: spec.loadBalancerClass must be a name such as example.com/name, not "
                "\"a b\" (Write letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.)"
            ),
            (
                "w.yaml:10:30 invalid-value: spec.loadBalancerSourceRanges[0] must be a range of IP addresses "
                'such as 10.0.0.0/8, not "10.0.0.1" (Add a prefix: 10.0.0.1/32 is this address alone, 10.0.0.1/8 '
                "is a network.)"
            ),
            (
                'w.yaml:11:20 invalid-value: spec.sessionAffinity must be one of ClientIP, None, not "Client" '
                '(Did you mean "ClientIP"?)'
            ),
            (
                "w.yaml:12:24 invalid-value: spec.trafficDistribution must be one of PreferClose, "
                'PreferSameZone, PreferSameNode, not "Near" ()'
            ),
            (
                "w.yaml:13:3 fields-conflict: spec.sessionAffinityConfig needs sessionAffinity: ClientIP (Write "
                "both, or remove it.)"
            ),
            (
                "w.yaml:13:54 invalid-value: spec.sessionAffinityConfig.clientIP.timeoutSeconds must be at most "
                "86400, not 86401 (Use 86400 or less.)"
            ),
        ],
    ),
    "the values of a port": (
        service("ports: [{port: 0, name: A, nodePort: 65536, protocol: tcp, appProtocol: a b, targetPort: a--b}]"),
        [
            "w.yaml:5:18 invalid-value: spec.ports[0].port must be at least 1, not 0 (Use 1 or more.)",
            (
                "w.yaml:5:27 invalid-value: spec.ports[0].name must be at most 63 lower-case letters, digits and "
                "'-', a letter or digit first and last, not \"A\" (Write one such as http.)"
            ),
            (
                "w.yaml:5:30 fields-conflict: spec.ports[0] has a nodePort, and this Service has type ClusterIP "
                "(Remove it, or write type: NodePort.)"
            ),
            "w.yaml:5:40 invalid-value: spec.ports[0].nodePort must be at most 65535, not 65536 (Use 65535 or less.)",
            (
                'w.yaml:5:57 invalid-value: spec.ports[0].protocol must be one of TCP, UDP, SCTP, not "tcp" (Did '
                'you mean "TCP"?)'
            ),
            (
                "w.yaml:5:75 invalid-value: spec.ports[0].appProtocol must be a name such as example.com/name, "
                "not \"a b\" (Write letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.)"
            ),
            (
                "w.yaml:5:92 invalid-value: spec.ports[0].targetPort must be at most 15 lower-case letters, "
                "digits and single '-', with a letter among them, not \"a--b\" (Write a short one such as http.)"
            ),
        ],
    ),
    "numbers of a Service that are too far": (
        service(
            "sessionAffinity: ClientIP",
            "sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}",
            "type: NodePort",
            "ports: [{port: 65536, nodePort: -1, targetPort: 65536}]",
        ),
        [
            (
                "w.yaml:6:54 invalid-value: spec.sessionAffinityConfig.clientIP.timeoutSeconds must be at least "
                "1, not 0 (Use 1 or more.)"
            ),
            "w.yaml:8:18 invalid-value: spec.ports[0].port must be at most 65535, not 65536 (Use 65535 or less.)",
            "w.yaml:8:35 invalid-value: spec.ports[0].nodePort must be at least 0, not -1 (Use 0 or more.)",
            (
                "w.yaml:8:51 invalid-value: spec.ports[0].targetPort must be from 1 to 65535, not 65536 (Write "
                "the port that the pods listen on.)"
            ),
        ],
    ),
    "the largest numbers of a Service": (
        service(
            "type: NodePort",
            "sessionAffinity: ClientIP",
            "sessionAffinityConfig: {clientIP: {timeoutSeconds: 86400}}",
            "ports:",
            "- {port: 65535, name: a, nodePort: 65535, targetPort: 65535, protocol: SCTP}",
            "- {port: 65535, name: b, nodePort: 65535, targetPort: 65535, protocol: UDP}",
        ),
        [],
    ),
    "the smallest numbers of a Service": (
        service(
            "type: NodePort",
            "sessionAffinity: ClientIP",
            "sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}",
            "ports:",
            "- {port: 1, name: a, nodePort: 0, targetPort: 1}",
            "- {port: 2, name: b, nodePort: 0, targetPort: 1}",
        ),
        [],
    ),
    "the values of a scaler": (
        scaler(
            TARGET,
            "minReplicas: -1",
            "maxReplicas: 0",
            "behavior:",
            "  scaleUp:",
            "    policies: [{type: Pod, value: 0, periodSeconds: 0}]",
            "    selectPolicy: Most",
            "    stabilizationWindowSeconds: 3601",
            "    tolerance: x",
            "  scaleDown:",
            "    policies: [{type: Pods, value: 1, periodSeconds: 1801}]",
            "    stabilizationWindowSeconds: -1",
        ),
        [
            "w.yaml:6:16 invalid-value: spec.minReplicas must be at least 0, not -1 (Use 0 or more.)",
            "w.yaml:7:16 invalid-value: spec.maxReplicas must be at least 1, not 0 (Use 1 or more.)",
            (
                "w.yaml:10:25 invalid-value: spec.behavior.scaleUp.policies[0].type must be one of Pods, "
                'Percent, not "Pod" (Did you mean "Pods"?)'
            ),
            (
                "w.yaml:10:37 invalid-value: spec.behavior.scaleUp.policies[0].value must be at least 1, not 0 "
                "(Use 1 or more.)"
            ),
            (
                "w.yaml:10:55 invalid-value: spec.behavior.scaleUp.policies[0].periodSeconds must be at least 1, "
                "not 0 (Use 1 or more.)"
            ),
            (
                "w.yaml:11:21 invalid-value: spec.behavior.scaleUp.selectPolicy must be one of Max, Min, "
                'Disabled, not "Most" ()'
            ),
            (
                "w.yaml:12:35 invalid-value: spec.behavior.scaleUp.stabilizationWindowSeconds must be at most "
                "3600, not 3601 (Use 3600 or less.)"
            ),
            (
                "w.yaml:13:18 invalid-value: spec.behavior.scaleUp.tolerance must be a quantity such as 500m or "
                '64Gi, not "x" (Write a number and a unit without a blank between them, such as 64Gi.)'
            ),
            (
                "w.yaml:15:56 invalid-value: spec.behavior.scaleDown.policies[0].periodSeconds must be at most "
                "1800, not 1801 (Use 1800 or less.)"
            ),
            (
                "w.yaml:16:35 invalid-value: spec.behavior.scaleDown.stabilizationWindowSeconds must be at least "
                "0, not -1 (Use 0 or more.)"
            ),
        ],
    ),
    "numbers of a scaler at their bounds": (
        scaler(
            TARGET,
            "minReplicas: 1",
            "maxReplicas: 1",
            "behavior:",
            "  scaleUp:",
            "    policies: [{type: Percent, value: 1, periodSeconds: 1800}]",
            "    selectPolicy: Min",
            "    stabilizationWindowSeconds: 3600",
            "    tolerance: 100m",
            "  scaleDown:",
            "    policies: [{type: Pods, value: 1, periodSeconds: 1}]",
            "    selectPolicy: Disabled",
            "    stabilizationWindowSeconds: 0",
        ),
        [],
    ),
    "a share of CPU of an older scaler": (
        scaler(TARGET, "maxReplicas: 1", "targetCPUUtilizationPercentage: 0").replace(
            "autoscaling/v2", "autoscaling/v1"
        ),
        [
            (
                "w.yaml:7:35 invalid-value: spec.targetCPUUtilizationPercentage must be at least 1, not 0 (Use 1 "
                "or more.)"
            ),
        ],
    ),
    "targets of metrics": (
        scaler(
            TARGET,
            "maxReplicas: 1",
            "metrics:",
            "- {type: ContainerResource, containerResource: {name: cpu, container: m, target: {type: Utilization}}}",
            "- {type: External, external: {metric: {name: q}, target: {type: Value, value: 1, averageValue: 1}}}",
            "- {type: External, external: {metric: {name: q}, target: {type: Value}}}",
            "- {type: Object, object: {describedObject: {kind: A, name: a}, metric: {name: b}, target: {type: Value}}}",
            "- {type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, averageUtilization: 1}}}",
            "- {type: Resource, resource: {name: cpu, target: {type: Value, averageUtilization: 1, averageValue: 1}}}",
            "- {type: Resource, resource: {name: cpu, target: {type: Values, averageUtilization: 0}}}",
            "- {type: External, external: {metric: {name: q}, target: {type: Value, value: 0}}}",
        ),
        [
            (
                "w.yaml:8:76 fields-conflict: spec.metrics[0].containerResource.target has no averageUtilization "
                "or averageValue (Write averageUtilization.)"
            ),
            (
                "w.yaml:9:74 fields-conflict: spec.metrics[1].external.target has both averageValue and value "
                "(Keep one of them.)"
            ),
            (
                "w.yaml:10:52 fields-conflict: spec.metrics[2].external.target has no averageValue or value "
                "(Write averageValue.)"
            ),
            (
                "w.yaml:11:85 fields-conflict: spec.metrics[3].object.target has no averageValue or value (Write "
                "averageValue.)"
            ),
            "w.yaml:12:44 fields-conflict: spec.metrics[4].pods.target has no averageValue (Write averageValue.)",
            (
                "w.yaml:13:89 fields-conflict: spec.metrics[5].resource.target has both averageUtilization and "
                "averageValue (Keep one of them.)"
            ),
            (
                "w.yaml:14:59 invalid-value: spec.metrics[6].resource.target.type must be one of Utilization, "
                'Value, AverageValue, not "Values" (Did you mean "Value"?)'
            ),
            (
                "w.yaml:14:87 invalid-value: spec.metrics[6].resource.target.averageUtilization must be at least "
                "1, not 0 (Use 1 or more.)"
            ),
            (
                "w.yaml:15:81 invalid-value: spec.metrics[7].external.target.value must be more than 0, not 0 "
                "(Write a positive amount.)"
            ),
        ],
    ),
    "types of metrics without their fields": (
        scaler(
            TARGET,
            "maxReplicas: 1",
            "metrics:",
            "- type: ContainerResource",
            "- type: External",
            "- type: Object",
            "- type: Pods",
            "- type: Resource",
        ),
        [
            (
                'w.yaml:8:5 missing-field: the field "containerResource" is missing in spec.metrics[0] (Add '
                "containerResource.)"
            ),
            'w.yaml:9:5 missing-field: the field "external" is missing in spec.metrics[1] (Add external.)',
            'w.yaml:10:5 missing-field: the field "object" is missing in spec.metrics[2] (Add object.)',
            'w.yaml:11:5 missing-field: the field "pods" is missing in spec.metrics[3] (Add pods.)',
            'w.yaml:12:5 missing-field: the field "resource" is missing in spec.metrics[4] (Add resource.)',
        ],
    ),
    "the values of a policy": (
        obj(
            "NetworkPolicy",
            "spec:",
            "  podSelector: {matchLabels: {a b: x y}}",
            "  policyTypes: [Ingres]",
            "  ingress:",
            "  - ports: [{port: 0, endPort: 65536, protocol: TPC}, {port: 'a b'}, {port: '80'}, {port: 8.5}]",
            "  - ports: [{endPort: 3}, {port: a, endPort: 3}, {port: 4, endPort: 3}, {port: 4, endPort: 4}]",
            version="networking.k8s.io/v1",
        ),
        [
            (
                "w.yaml:5:31 invalid-value: a key in spec.podSelector.matchLabels must be a label such as "
                "topology.kubernetes.io/zone, not \"a b\" (Write its key alone: letters, digits, '-', '_' and "
                "'.', perhaps behind a domain and '/'.)"
            ),
            (
                "w.yaml:5:36 invalid-value: spec.podSelector.matchLabels.a b must be the value of a label: "
                "letters, digits, '-', '_' and '.', a letter or digit at both ends, not \"x y\" (Write '-' or "
                "'_' in place of other characters, such as blanks, '/', ':' and '@'.)"
            ),
            (
                'w.yaml:6:17 invalid-value: spec.policyTypes[0] must be one of Ingress, Egress, not "Ingres" '
                '(Did you mean "Ingress"?)'
            ),
            (
                "w.yaml:8:20 invalid-value: spec.ingress[0].ports[0].port must be from 1 to 65535, not 0 (Write "
                "the port that the pods listen on.)"
            ),
            (
                "w.yaml:8:32 invalid-value: spec.ingress[0].ports[0].endPort must be at most 65535, not 65536 "
                "(Use 65535 or less.)"
            ),
            (
                "w.yaml:8:49 invalid-value: spec.ingress[0].ports[0].protocol must be one of TCP, UDP, SCTP, not "
                '"TPC" (Did you mean "TCP"?)'
            ),
            (
                "w.yaml:8:62 invalid-value: spec.ingress[0].ports[1].port must be at most 15 lower-case letters, "
                "digits and single '-', with a letter among them, not \"a b\" (Write a short one such as http.)"
            ),
            (
                "w.yaml:8:77 invalid-value: spec.ingress[0].ports[2].port must be a number or the name of a "
                'port, not "80" (Remove the quotes.)'
            ),
            (
                "w.yaml:8:91 wrong-type: spec.ingress[0].ports[3].port must be text or a whole number, not 8.5 "
                '(Put it in quotes: "8.5".)'
            ),
            (
                "w.yaml:9:14 fields-conflict: spec.ingress[1].ports[0].endPort needs port as a number (Write the "
                "first port of the range in port, or remove endPort.)"
            ),
            (
                "w.yaml:9:37 fields-conflict: spec.ingress[1].ports[1].endPort needs port as a number, not a "
                "(Write the first port of the range in port, or remove endPort.)"
            ),
            (
                "w.yaml:9:60 fields-conflict: spec.ingress[1].ports[2].endPort is 3, less than port, 4 (Write 4 "
                "or more.)"
            ),
        ],
    ),
    "the values of an Ingress": (
        ingress(
            "ingressClassName: A B",
            "tls: [{hosts: ['a b'], secretName: A}]",
            "rules:",
            "- http: {paths: []}",
            "- http:",
            "    paths:",
            "    - {pathType: Prefixes, path: /, backend: {}}",
            "    - {pathType: Exact, path: /, backend: {service: {name: a.b, port: {}}}}",
            "    - pathType: Exact",
            "      path: /",
            "      backend: {service: {name: a, port: {number: 0, name: A}}, resource: {kind: A, name: a}}",
        ),
        [
            (
                "w.yaml:5:21 invalid-value: spec.ingressClassName must be the name of an object: lower-case "
                "letters, digits, '-' and '.', not \"A B\" (Write the name as it is in the cluster.)"
            ),
            (
                "w.yaml:6:18 invalid-value: spec.tls[0].hosts[0] must be a DNS name such as chat.example.com, "
                'not "a b" (Write the name alone.)'
            ),
            (
                "w.yaml:6:38 invalid-value: spec.tls[0].secretName must be the name of an object: lower-case "
                "letters, digits, '-' and '.', not \"A\" (Write the name as it is in the cluster.)"
            ),
            "w.yaml:8:19 invalid-value: spec.rules[0].http.paths must not be empty (Write one, such as path: /.)",
            (
                "w.yaml:11:20 invalid-value: spec.rules[1].http.paths[0].pathType must be one of Exact, Prefix, "
                'ImplementationSpecific, not "Prefixes" (Did you mean "Prefix"?)'
            ),
            (
                "w.yaml:11:39 fields-conflict: spec.rules[1].http.paths[0].backend has nothing behind it (Write "
                "one of resource, service.)"
            ),
            (
                "w.yaml:12:62 invalid-value: spec.rules[1].http.paths[1].backend.service.name must be the name "
                "of a Service: lower-case letters, digits and '-', a letter first, not \"a.b\" (Write its name "
                "alone, without its namespace.)"
            ),
            (
                "w.yaml:12:67 fields-conflict: spec.rules[1].http.paths[1].backend.service.port has no port "
                "(Write one of name, number.)"
            ),
            (
                "w.yaml:15:9 fields-conflict: spec.rules[1].http.paths[2].backend has resource and service "
                "(Write one of resource, service.)"
            ),
            (
                "w.yaml:15:38 fields-conflict: spec.rules[1].http.paths[2].backend.service.port has name and "
                "number (Write one of name, number.)"
            ),
            (
                "w.yaml:15:53 invalid-value: spec.rules[1].http.paths[2].backend.service.port.number must be at "
                "least 1, not 0 (Use 1 or more.)"
            ),
            (
                "w.yaml:15:62 invalid-value: spec.rules[1].http.paths[2].backend.service.port.name must be at "
                "most 15 lower-case letters, digits and single '-', with a letter among them, not \"A\" (Write a "
                "short one such as http.)"
            ),
        ],
    ),
    "hosts": (
        ingress(
            "rules:",
            *(
                f"- host: '{host}'"
                for host in (
                    "*",
                    "*.",
                    "HTTPS://Chat.Example.com:443/a",
                    "chat_x.example.com",
                    "://",
                    "*.example.com",
                    "",
                )
            ),
        ),
        [
            (
                "w.yaml:6:11 invalid-value: spec.rules[0].host may have '*' as its first part alone, not \"*\" "
                "(Write one such as *.example.com.)"
            ),
            (
                "w.yaml:7:11 invalid-value: spec.rules[1].host may have '*' as its first part alone, not \"*.\" "
                "(Write one such as *.example.com.)"
            ),
            (
                "w.yaml:8:11 invalid-value: spec.rules[2].host must be a DNS name such as chat.example.com, not "
                '"HTTPS://Chat.Example.com:443/a" (Write chat.example.com.)'
            ),
            (
                "w.yaml:9:11 invalid-value: spec.rules[3].host must be a DNS name such as chat.example.com, not "
                '"chat_x.example.com" (Write chat-x.example.com.)'
            ),
            (
                "w.yaml:10:11 invalid-value: spec.rules[4].host must be a DNS name such as chat.example.com, not "
                '"://" (Write the name alone.)'
            ),
        ],
    ),
    "parts of paths": (
        ingress(
            "rules:",
            "- http:",
            "    paths:",
            *(
                f"    - {{pathType: Prefix, path: /a{part}, backend: {{resource: {{kind: A, name: a}}}}}}"
                for part in ("//b", "/./b", "/../b", "%2fb", "%2Fb", "/..", "/.", "/.b")
            ),
        ),
        [
            (
                "w.yaml:8:34 invalid-value: spec.rules[0].http.paths[0].path must not have // where pathType is "
                'Prefix, not "/a//b" (Write the path as clients send it.)'
            ),
            (
                "w.yaml:9:34 invalid-value: spec.rules[0].http.paths[1].path must not have /./ where pathType is "
                'Prefix, not "/a/./b" (Write the path as clients send it.)'
            ),
            (
                "w.yaml:10:34 invalid-value: spec.rules[0].http.paths[2].path must not have /../ where pathType "
                'is Prefix, not "/a/../b" (Write the path as clients send it.)'
            ),
            (
                "w.yaml:11:34 invalid-value: spec.rules[0].http.paths[3].path must not have %2f where pathType "
                'is Prefix, not "/a%2fb" (Write the path as clients send it.)'
            ),
            (
                "w.yaml:12:34 invalid-value: spec.rules[0].http.paths[4].path must not have %2F where pathType "
                'is Prefix, not "/a%2Fb" (Write the path as clients send it.)'
            ),
            (
                "w.yaml:13:34 invalid-value: spec.rules[0].http.paths[5].path must not have /.. where pathType "
                'is Prefix, not "/a/.." (Write the path as clients send it.)'
            ),
            (
                "w.yaml:14:34 invalid-value: spec.rules[0].http.paths[6].path must not have /. where pathType is "
                'Prefix, not "/a/." (Write the path as clients send it.)'
            ),
        ],
    ),
    "the values of a claim": (
        claim("accessModes: []", "volumeMode: block", "storageClassName: A", "resources: {requests: {}}"),
        [
            "w.yaml:5:16 invalid-value: spec.accessModes must not be empty (Write one, such as [ReadWriteOnce].)",
            (
                'w.yaml:6:15 invalid-value: spec.volumeMode must be one of Filesystem, Block, not "block" (Did '
                'you mean "Block"?)'
            ),
            (
                "w.yaml:7:21 invalid-value: spec.storageClassName must be the name of an object: lower-case "
                "letters, digits, '-' and '.', not \"A\" (Write the name as it is in the cluster.)"
            ),
            'w.yaml:8:15 missing-field: the field "storage" is missing in spec.resources.requests (Add storage.)',
        ],
    ),
    "short names of modes": (
        claim("accessModes: [ROX, RWO, RWX]", "volumeMode: Block", "resources: {requests: {storage: 0}}"),
        [
            (
                "w.yaml:5:17 invalid-value: spec.accessModes[0] must be one of ReadWriteOnce, ReadOnlyMany, "
                'ReadWriteMany, ReadWriteOncePod, not "ROX" (Write ReadOnlyMany.)'
            ),
            (
                "w.yaml:5:22 invalid-value: spec.accessModes[1] must be one of ReadWriteOnce, ReadOnlyMany, "
                'ReadWriteMany, ReadWriteOncePod, not "RWO" (Write ReadWriteOnce.)'
            ),
            (
                "w.yaml:5:27 invalid-value: spec.accessModes[2] must be one of ReadWriteOnce, ReadOnlyMany, "
                'ReadWriteMany, ReadWriteOncePod, not "RWX" (Write ReadWriteMany.)'
            ),
            (
                "w.yaml:7:35 invalid-value: spec.resources.requests.storage must be more than 0, not 0 (Write "
                "one such as 10Gi.)"
            ),
        ],
    ),
    "the values of a budget": (
        obj(
            "PodDisruptionBudget",
            "spec:",
            "  minAvailable: -1",
            "  maxUnavailable: 101%",
            "  unhealthyPodEvictionPolicy: Never",
            version="policy/v1",
        ),
        [
            (
                "w.yaml:5:17 invalid-value: spec.minAvailable must be at least 0, not -1 (Write a number of "
                "pods, or a percentage.)"
            ),
            "w.yaml:6:3 fields-conflict: spec has both minAvailable and maxUnavailable (Keep one of them.)",
            'w.yaml:6:19 invalid-value: spec.maxUnavailable must be at most 100%, not "101%" (Write 100% or less.)',
            (
                "w.yaml:7:31 invalid-value: spec.unhealthyPodEvictionPolicy must be one of IfHealthyBudget, "
                'AlwaysAllow, not "Never" ()'
            ),
        ],
    ),
    "a budget of more pods than a number can say": (
        obj("PodDisruptionBudget", "spec: {minAvailable: 2147483648}", version="policy/v1"),
        [
            (
                "w.yaml:4:22 invalid-value: spec.minAvailable must be at most 2147483647, not 2147483648 (Use "
                "2147483647 or less.)"
            ),
        ],
    ),
    "a budget of a number in quotes": (
        obj("PodDisruptionBudget", "spec: {maxUnavailable: '50'}", version="policy/v1"),
        [
            (
                "w.yaml:4:24 invalid-value: spec.maxUnavailable must be a number of pods or a percentage, not "
                '"50" (Write one such as 1 or 50%, the number without quotes.)'
            ),
        ],
    ),
    "the ports of an EndpointSlice": (
        obj(
            "EndpointSlice",
            "addressType: IPV4",
            "endpoints: []",
            "ports: [{name: A, protocol: tcp, appProtocol: a b}]",
            version="discovery.k8s.io/v1",
        ),
        [
            (
                'w.yaml:4:14 invalid-value: addressType must be one of IPv4, IPv6, FQDN, not "IPV4" (Did you '
                'mean "IPv4"?)'
            ),
            (
                "w.yaml:6:16 invalid-value: ports[0].name must be at most 63 lower-case letters, digits and '-', "
                'a letter or digit first and last, not "A" (Write one such as http.)'
            ),
            (
                'w.yaml:6:29 invalid-value: ports[0].protocol must be one of TCP, UDP, SCTP, not "tcp" (Did you '
                'mean "TCP"?)'
            ),
            (
                'w.yaml:6:47 invalid-value: ports[0].appProtocol must be a name such as example.com/name, not "a '
                "b\" (Write letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.)"
            ),
        ],
    ),
    "the keys of a ConfigMap": (
        obj("ConfigMap", "data: {a/b: x, c: x}", "binaryData: {c: '*', ..: aGVsbG8=}"),
        [
            (
                'w.yaml:4:8 invalid-value: a key in data must be a plain file name, not "a/b" (A key becomes the '
                "name of a file: write letters, digits, '-', '_' and '.', without '/'.)"
            ),
            'w.yaml:5:14 fields-conflict: the key "c" is in data and in binaryData (Rename one, or remove one.)',
            (
                'w.yaml:5:17 invalid-value: binaryData.c must be base64, not "*" (Write it in base64; text that '
                "is not encoded belongs in data.)"
            ),
            (
                'w.yaml:5:22 invalid-value: a key in binaryData must be a plain file name, not ".." (A key '
                "becomes the name of a file: write letters, digits, '-', '_' and '.', without '/'.)"
            ),
        ],
    ),
    "what a name in DNS lacks": (
        service(
            "type: ExternalName",
            "clusterIP: 10.0.0.1",
            "clusterIPs: [10.0.0.1]",
            "ipFamilies: [IPv4]",
            "ipFamilyPolicy: SingleStack",
            "externalName: a",
            "externalTrafficPolicy: Local",
            "allocateLoadBalancerNodePorts: true",
        ),
        [
            "w.yaml:6:3 fields-conflict: a Service of type ExternalName has no clusterIP (Remove it.)",
            "w.yaml:7:3 fields-conflict: a Service of type ExternalName has no clusterIPs (Remove it.)",
            "w.yaml:8:3 fields-conflict: a Service of type ExternalName has no ipFamilies (Remove it.)",
            "w.yaml:9:3 fields-conflict: a Service of type ExternalName has no ipFamilyPolicy (Remove it.)",
            (
                "w.yaml:11:3 fields-conflict: spec.externalTrafficPolicy is for type LoadBalancer or NodePort, "
                "and this Service has type ExternalName (Remove it, or write type: LoadBalancer.)"
            ),
            (
                "w.yaml:12:3 fields-conflict: spec.allocateLoadBalancerNodePorts is for type LoadBalancer, and "
                "this Service has type ExternalName (Remove it, or write type: LoadBalancer.)"
            ),
        ],
    ),
    "what a Service without a balancer lacks": (
        service(
            "externalTrafficPolicy: Local",
            "loadBalancerSourceRanges: [10.0.0.0/8]",
            "loadBalancerClass: a/b",
            "allocateLoadBalancerNodePorts: true",
            "healthCheckNodePort: 30001",
            PORTS,
        ),
        [
            (
                "w.yaml:5:3 fields-conflict: spec.externalTrafficPolicy is for type LoadBalancer or NodePort, "
                "and this Service has type ClusterIP (Remove it, or write type: LoadBalancer.)"
            ),
            (
                "w.yaml:6:3 fields-conflict: spec.loadBalancerSourceRanges is for type LoadBalancer, and this "
                "Service has type ClusterIP (Remove it, or write type: LoadBalancer.)"
            ),
            (
                "w.yaml:7:3 fields-conflict: spec.loadBalancerClass is for type LoadBalancer, and this Service "
                "has type ClusterIP (Remove it, or write type: LoadBalancer.)"
            ),
            (
                "w.yaml:8:3 fields-conflict: spec.allocateLoadBalancerNodePorts is for type LoadBalancer, and "
                "this Service has type ClusterIP (Remove it, or write type: LoadBalancer.)"
            ),
            (
                "w.yaml:9:3 fields-conflict: spec.healthCheckNodePort is for type LoadBalancer, and this Service "
                "has type ClusterIP (Remove it, or write type: LoadBalancer.)"
            ),
        ],
    ),
    "addresses that differ": (
        service("clusterIP: 10.0.0.1", "clusterIPs: [10.0.0.2]", PORTS),
        [
            (
                "w.yaml:6:3 fields-conflict: spec.clusterIPs begins with 10.0.0.2, and spec.clusterIP is "
                "10.0.0.1 (Write the same address first, or remove one of the fields.)"
            ),
        ],
    ),
    "ports that two entries have": (
        service(
            "type: NodePort",
            "ports:",
            "- {port: 80, nodePort: 30000, name: a}",
            "- {port: 80, nodePort: 30000, name: a, protocol: TCP}",
            "- {port: 80, nodePort: 30000, name: u, protocol: UDP}",
        ),
        [
            "w.yaml:8:6 fields-conflict: two entries of spec.ports have the port 80 (Change or remove one of them.)",
            (
                "w.yaml:8:16 fields-conflict: two entries of spec.ports have the nodePort 30000 (Change or "
                "remove one of them.)"
            ),
            "w.yaml:8:33 fields-conflict: two entries of spec.ports have the name a (Change or remove one of them.)",
        ],
    ),
    "annotations that are too long": (
        obj("ConfigMap", "data: {}", metadata=f", annotations: {{a: b, c: {'ü' * 2**17}}}"),
        [
            (
                "w.yaml:3:41 invalid-value: metadata.annotations has 262147 bytes, more than the 262144 that an "
                "API server takes (Shorten this one, or keep it in a ConfigMap.)"
            ),
        ],
    ),
    "data that are too long": (
        obj("ConfigMap", "data: {a: b}", f"binaryData: {{b: {'QUJD' * 2**19}}}"),
        [
            (
                "w.yaml:5:14 invalid-value: this ConfigMap has 1572865 bytes, more than the 1048576 that an API "
                "server takes (Divide it, or keep large files in a volume.)"
            ),
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
