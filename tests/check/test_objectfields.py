"""Tests that values that an API server accepts in objects beside workloads give no findings."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

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
ACCEPTED = {
    "an annotation of a claim": held("{name: data, annotations: {Example.com/A: x}}"),
    "a metric of an object with two targets": metric(
        "type: Object, object: {describedObject: {kind: Service, name: a}, metric: {name: b}, "
        "target: {type: Value, value: 1, averageValue: 2}}"
    ),
    "a scaler to zero by what is outside": scaler(
        TARGET,
        "maxReplicas: 4",
        "minReplicas: 0",
        metric="{type: External, external: {metric: {name: q}, target: {type: Value, value: 1}}}",
    ),
    "a scaler to zero by an object": scaler(
        TARGET,
        "maxReplicas: 4",
        "minReplicas: 0",
        metric="{type: Object, object: {describedObject: {kind: Service, name: a}, metric: {name: b}, "
        "target: {type: Value, value: 1}}}",
    ),
    "two modes of a claim": claim("accessModes: [ReadWriteOnce, ReadOnlyMany]", STORAGE),
    "a class without a name": claim(RWX, STORAGE, 'storageClassName: ""'),
    "a claim whose name is no name of a volume": claim(RWX, STORAGE).replace("name: a", "name: a.b"),
    "an Ingress of an empty class": ingress(
        'ingressClassName: ""', "defaultBackend: {resource: {kind: Bucket, name: web}}"
    ),
    "no path of a controller's own": path("pathType: ImplementationSpecific"),
    "an odd path of a controller's own": path("pathType: ImplementationSpecific, path: /a//b"),
    "the port of health that nobody chose": service(
        "type: LoadBalancer", "healthCheckNodePort: 0", "externalTrafficPolicy: Cluster", PORTS
    ),
    "the port of health of local traffic": service(
        "type: LoadBalancer", "healthCheckNodePort: 30001", "externalTrafficPolicy: Local", PORTS
    ),
    "sessions with their affinity": service(
        "sessionAffinity: ClientIP", "sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}", PORTS
    ),
    "an address of the family": endpoints("IPv4", "[10.0.0.1]"),
    "names are no addresses": endpoints("FQDN", "[a.example.com]"),
    "a Service that KubeRay makes has its ports": HEAD,
    "a finalizer": obj("ConfigMap", "data: {}", metadata=", finalizers: [example.com/a]"),
    "the largest numbers of a Service": service(
        "type: NodePort",
        "sessionAffinity: ClientIP",
        "sessionAffinityConfig: {clientIP: {timeoutSeconds: 86400}}",
        "ports:",
        "- {port: 65535, name: a, nodePort: 65535, targetPort: 65535, protocol: SCTP}",
        "- {port: 65535, name: b, nodePort: 65535, targetPort: 65535, protocol: UDP}",
    ),
    "the smallest numbers of a Service": service(
        "type: NodePort",
        "sessionAffinity: ClientIP",
        "sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}",
        "ports:",
        "- {port: 1, name: a, nodePort: 0, targetPort: 1}",
        "- {port: 2, name: b, nodePort: 0, targetPort: 1}",
    ),
    "numbers of a scaler at their bounds": scaler(
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
}
REFUSED = {
    "an annotation of a claim that is no name": held("{name: data, annotations: {example.com/a b: x}}"),
    "a label of a claim in upper case": held("{name: data, labels: {Example.com/A: x}}"),
    "the name of a claim is a number": held("{name: 7}"),
    "the name of a claim is no name of a volume": held("{name: a.b}"),
    "a Service whose label cannot be": service("selector: {a b: x}", PORTS),
    "a Service whose label has no value": service("selector: {a: x y}", PORTS),
    "a label in a domain in upper case": obj("ConfigMap", "data: {}", metadata=", labels: {Example.com/a: x}"),
    "a ConfigMap of bytes that are no text": obj("ConfigMap", "binaryData: {a: 7}"),
    "a metric of an unknown type": metric(f"type: Resourse, {RESOURCE}"),
    "a metric of another type": metric(f"type: Pods, {RESOURCE}"),
    "a metric of two types": metric(
        f"type: Resource, {RESOURCE}, pods: {{metric: {{name: a}}, target: {{type: AverageValue, averageValue: 1}}}}"
    ),
    "a metric whose target is empty": metric("type: Resource, resource: {name: cpu, target: {type: Utilization}}"),
    "a metric whose target is written with %": metric(
        "type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80%}}"
    ),
    "a metric whose target is no mapping": metric("type: Resource, resource: {name: cpu, target: 60}"),
    "a metric whose target is misspelled": metric(
        "type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilisation: 60}}"
    ),
    "a metric of no amount": metric(
        "type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: x}}"
    ),
    "a scaler of nothing": scaler("scaleTargetRef: web", "maxReplicas: 4"),
    "a scaler to zero by its pods": scaler(
        TARGET, "maxReplicas: 4", "minReplicas: 0", metric=f"{{type: Resource, {RESOURCE}}}"
    ),
    "a mode that stands alone": claim("accessModes: [ReadWriteOncePod, ReadWriteOnce]", STORAGE),
    "an unknown mode": claim("accessModes: [ReadWriteMny]", STORAGE),
    "the short name of a mode": claim("accessModes: [RWOP]", STORAGE),
    "requests are no mapping": claim(RWX, "resources: {requests: 1Gi}"),
    "an Ingress of nothing": ingress("ingressClassName: nginx"),
    "an Ingress whose rules are misspelled": ingress("rule: []"),
    "a prefix without a path": path("pathType: Prefix"),
    "a prefix whose path is misspelled": path("pathType: Prefix, Path: /a"),
    "a path of a controller's own": path("pathType: ImplementationSpecific, path: 'a'"),
    "a path that ends above": path("pathType: Exact, path: /a/.."),
    "a path that ends below": path("pathType: Exact, path: /a/."),
    "a peer that is misspelled": policy("{podSelecter: {}}"),
    "a range and a selector in one entry": policy("{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}"),
    "a range that is no text": policy("{ipBlock: {cidr: 10, except: [10.1.0.0/16]}}"),
    "an exception that is no text": policy("{ipBlock: {cidr: 10.0.0.0/8, except: [10]}}"),
    "an exception of another family": policy("{ipBlock: {cidr: 10.0.0.0/8, except: ['2001:db8::/32']}}"),
    "an exception of all": policy("{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}"),
    "a Service whose spec is misspelled": obj("Service", "Spec: {ports: [{port: 80}]}"),
    "a Service whose ports are misspelled": service("port: [{port: 80}]"),
    "a headless list of a LoadBalancer": service("type: LoadBalancer", "clusterIPs: [None]", PORTS),
    "the port of health of other traffic": service("type: LoadBalancer", "healthCheckNodePort: 30001", PORTS),
    "three addresses": service("clusterIPs: [10.0.0.1, '2001:db8::1', x]", PORTS),
    "two addresses of a family": service("clusterIPs: [10.0.0.1, 10.0.0.2]", PORTS),
    "no address and an address": service("clusterIPs: [None, 10.0.0.2]"),
    "an address that is no text": service("clusterIPs: [10.0.0.1, 7]", PORTS),
    "a port that says nothing": service("ports: [{port: 80, name: a}, {}]"),
    "one port with a name and one without": service("ports: [{port: 80, name: a}, {port: 81, name: ''}]"),
    "addresses that are no text": endpoints("IPv4", "[7]"),
    "an address of another family": endpoints("IPv4", "['2001:db8::1']"),
    "an address of nobody": endpoints("IPv4", "[127.0.0.1]"),
    "a finalizer that is no name": obj("ConfigMap", "data: {}", metadata=", finalizers: ['a b']"),
    "the values of a Service": service(
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
    "the values of a port": service(
        "ports: [{port: 0, name: A, nodePort: 65536, protocol: tcp, appProtocol: a b, targetPort: a--b}]"
    ),
    "numbers of a Service that are too far": service(
        "sessionAffinity: ClientIP",
        "sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}",
        "type: NodePort",
        "ports: [{port: 65536, nodePort: -1, targetPort: 65536}]",
    ),
    "the values of a scaler": scaler(
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
    "a share of CPU of an older scaler": scaler(TARGET, "maxReplicas: 1", "targetCPUUtilizationPercentage: 0").replace(
        "autoscaling/v2", "autoscaling/v1"
    ),
    "targets of metrics": scaler(
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
    "types of metrics without their fields": scaler(
        TARGET,
        "maxReplicas: 1",
        "metrics:",
        "- type: ContainerResource",
        "- type: External",
        "- type: Object",
        "- type: Pods",
        "- type: Resource",
    ),
    "the values of a policy": obj(
        "NetworkPolicy",
        "spec:",
        "  podSelector: {matchLabels: {a b: x y}}",
        "  policyTypes: [Ingres]",
        "  ingress:",
        "  - ports: [{port: 0, endPort: 65536, protocol: TPC}, {port: 'a b'}, {port: '80'}, {port: 8.5}]",
        "  - ports: [{endPort: 3}, {port: a, endPort: 3}, {port: 4, endPort: 3}, {port: 4, endPort: 4}]",
        version="networking.k8s.io/v1",
    ),
    "the values of an Ingress": ingress(
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
    "hosts": ingress(
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
    "parts of paths": ingress(
        "rules:",
        "- http:",
        "    paths:",
        *(
            f"    - {{pathType: Prefix, path: /a{part}, backend: {{resource: {{kind: A, name: a}}}}}}"
            for part in ("//b", "/./b", "/../b", "%2fb", "%2Fb", "/..", "/.", "/.b")
        ),
    ),
    "the values of a claim": claim(
        "accessModes: []", "volumeMode: block", "storageClassName: A", "resources: {requests: {}}"
    ),
    "short names of modes": claim(
        "accessModes: [ROX, RWO, RWX]", "volumeMode: Block", "resources: {requests: {storage: 0}}"
    ),
    "the values of a budget": obj(
        "PodDisruptionBudget",
        "spec:",
        "  minAvailable: -1",
        "  maxUnavailable: 101%",
        "  unhealthyPodEvictionPolicy: Never",
        version="policy/v1",
    ),
    "a budget of more pods than a number can say": obj(
        "PodDisruptionBudget", "spec: {minAvailable: 2147483648}", version="policy/v1"
    ),
    "a budget of a number in quotes": obj("PodDisruptionBudget", "spec: {maxUnavailable: '50'}", version="policy/v1"),
    "the ports of an EndpointSlice": obj(
        "EndpointSlice",
        "addressType: IPV4",
        "endpoints: []",
        "ports: [{name: A, protocol: tcp, appProtocol: a b}]",
        version="discovery.k8s.io/v1",
    ),
    "the keys of a ConfigMap": obj("ConfigMap", "data: {a/b: x, c: x}", "binaryData: {c: '*', ..: aGVsbG8=}"),
    "what a name in DNS lacks": service(
        "type: ExternalName",
        "clusterIP: 10.0.0.1",
        "clusterIPs: [10.0.0.1]",
        "ipFamilies: [IPv4]",
        "ipFamilyPolicy: SingleStack",
        "externalName: a",
        "externalTrafficPolicy: Local",
        "allocateLoadBalancerNodePorts: true",
    ),
    "what a Service without a balancer lacks": service(
        "externalTrafficPolicy: Local",
        "loadBalancerSourceRanges: [10.0.0.0/8]",
        "loadBalancerClass: a/b",
        "allocateLoadBalancerNodePorts: true",
        "healthCheckNodePort: 30001",
        PORTS,
    ),
    "addresses that differ": service("clusterIP: 10.0.0.1", "clusterIPs: [10.0.0.2]", PORTS),
    "ports that two entries have": service(
        "type: NodePort",
        "ports:",
        "- {port: 80, nodePort: 30000, name: a}",
        "- {port: 80, nodePort: 30000, name: a, protocol: TCP}",
        "- {port: 80, nodePort: 30000, name: u, protocol: UDP}",
    ),
    "annotations that are too long": obj(
        "ConfigMap", "data: {}", metadata=f", annotations: {{a: b, c: {'ü' * 2**17}}}"
    ),
    "data that are too long": obj("ConfigMap", "data: {a: b}", f"binaryData: {{b: {'QUJD' * 2**19}}}"),
}


def told(text: str) -> list[str]:
    """What is said of the fields of an object, wherever what it names is."""
    rules = ["companion-kind", "growth-uncounted", "reference-elsewhere", "selects-others", "selects-too-few"]
    companions = "[{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}]"
    return told_of(text, rules=f"{{{', '.join(f'{rule}: off' for rule in rules)}}}", companions=companions)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    assert told(ACCEPTED[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, snapshot: Any) -> None:
    assert "\n".join(told(REFUSED[name])) == snapshot
