"""Provides a repository without errors, with one file of each kind, for tests of slips."""

from __future__ import annotations

PODS = """\
metadata:
  labels: {app: x}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: trainer:1
    command: [run]
    resources:
      limits: {nvidia.com/gpu: 1, memory: 1Gi}
"""


def pods(indent: int, restart: str = "Never") -> str:
    """A pod template, indented."""
    text = PODS.replace("Never", restart)
    return "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())


def head(version: str, kind: str, name: str) -> str:
    """The beginning of a workload."""
    return f"""\
apiVersion: {version}
kind: {kind}
metadata:
  name: {name}
  labels:
    kubectl-tas/pool: team--speech
    kubectl-tas/priority: LOW
"""


TYPED = """\
spec:
  runPolicy:
    schedulingPolicy: {{minAvailable: 2}}
  {field}:
    {leader}:
      replicas: 1
      template:
{pods}    Worker:
      replicas: 2
      template:
{pods}"""


def typed(kind: str, field: str, leader: str, container: str, version: str = "kubeflow.org/v1") -> str:
    """A job of Kubeflow's, whose operator looks for a container of a certain name."""
    template = pods(8).replace("name: main", f"name: {container}")
    return head(version, kind, kind.lower()) + TYPED.format(field=field, leader=leader, pods=template)


RAY = f"""\
headGroupSpec:
  rayStartParams: {{}}
  template:
{pods(4)}workerGroupSpecs:
- groupName: workers
  replicas: 2
  minReplicas: 2
  maxReplicas: 2
  rayStartParams: {{}}
  template:
{pods(4)}"""


def ray(indent: int) -> str:
    """The spec of a Ray cluster, indented."""
    return "".join(f"{' ' * indent}{line}\n" for line in RAY.splitlines())


FILES = {
    "tas.yaml": """\
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends:
  - name: prod
    namespace: ml
    scheduler:
      type: kai
      version: "0.17"
  queuePrefix: osmo
  gitops: none
  priorityClasses:
    HIGH: osmo-high
  kinds:
  - apiVersion: ml.example.com/v1
    kind: Training
    pods:
    - {template: "spec.roles[].template", replicas: "spec.roles[].replicas"}
    podGroups: one
    minimum: all
  rules: {release-fault: off}  # KAI 0.17.0 panics for kinds without a plugin beside a Karta
""",
    "pools/team.yaml": """\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: team
spec:
  backend: prod
  description: Training
  resources:
    gpu:
      guarantee: 200
      maximum: -1
      weight: 1
  topology_keys:
  - key: zone
    label: topology.kubernetes.io/zone
  - key: rack
    label: topology.kubernetes.io/rack
""",
    "pools/serving.yaml": """\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: serving
spec:
  resources:
    gpu:
      guarantee: 100
  topology: fabric
""",
    "pools/karta.yaml": """\
apiVersion: run.ai/v1alpha1
kind: Karta
metadata:
  name: training
  labels:
    run.ai/karta-group: ml.example.com
    run.ai/karta-version: v1
    run.ai/karta-kind: Tuning
spec:
  structureDefinition:
    rootComponent:
      name: training
      kind: {group: ml.example.com, version: v1, kind: Tuning}
      statusDefinition: {statusMappings: {}}
    childComponents:
    - name: worker
      ownerRef: training
      specDefinition: {podTemplateSpecPath: .spec.worker.template}
      scaleDefinition: {replicasPath: .spec.worker.replicas}
      podSelector:
        componentTypeSelector: {keyPath: .metadata.labels.role, value: worker}
  optimizationInstructions:
    gangScheduling:
      podGroup:
        name: training
        subGroups:
        - componentName: worker
""",
    "subpools/speech.yaml": """\
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: speech
spec:
  parent: team
  quota: 100
  state: ACTIVE
""",
    "topologies/fabric.yaml": """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata:
  name: fabric
spec:
  levels:
  - domain: zone
    key: topology.kubernetes.io/zone
  - domain: rack
    key: topology.kubernetes.io/rack
""",
    "workflows/train.yaml": """\
workflow:
  name: train
  pool: team--speech
  priority: HIGH
  groups:
  - name: workers
    tasks:
    - name: main
      image: trainer:1
      command: [run]
      environment:
        DEBUG: "1"
        MAIN: "{{host:main}}"
      resource: node
resources:
  node:
    cpu: 4
    memory: 16Gi
    gpu: 4
    topology:
    - key: rack
      group: model
      requirementType: required
""",
    "workflows/serve.yaml": """\
workflow:
  name: serve
  pool: serving
  tasks:
  - name: main
    image: server:1
    command: [run]
resources:
  default:
    gpu: 4
    topology:
    - key: rack
      group: model
""",
    "workflows/fetch.yaml": """\
workflow:
  name: fetch
  pool: serving
  timeout:
    exec_timeout: 8h
  tasks:
  - name: copy
    image: server:1
    command: [run]
    inputs:
    - url: s3://data
    outputs:
    - url: s3://out
    files:
    - path: /a
      contents: x
    - path: /b
      localpath: y
    credentials:
      wandb: {WANDB_API_KEY: api_key}
      github: /secrets/github
    checkpoint:
    - path: /c
      url: s3://c
      frequency: 10m
    exitActions:
      RESCHEDULE: 1
    kpis:
    - index: loss
      path: k.json
""",
    "workflows/y": "content",
    "workflows/job.yaml": head("batch/v1", "Job", "job")
    + """\
  annotations:
    kai.scheduler/topology: osmo-pool-ml-team-topology
    kai.scheduler/topology-required-placement: rack
    kai.scheduler/batch-min-member: "2"
spec:
  parallelism: 2
  completions: 2
  template:
"""
    + pods(4),
    "workflows/cronjob.yaml": head("batch/v1", "CronJob", "cronjob")
    + "spec:\n  schedule: 0 * * * *\n  concurrencyPolicy: Forbid\n"
    + "  jobTemplate:\n    spec:\n      parallelism: 1\n      template:\n"
    + pods(8),
    "workflows/deployment.yaml": head("apps/v1", "Deployment", "deployment")
    + "spec:\n  replicas: 1\n  selector:\n    matchLabels: {app: x}\n  template:\n"
    + pods(4, "Always"),
    "workflows/statefulset.yaml": head("apps/v1", "StatefulSet", "statefulset")
    + "spec:\n  replicas: 1\n  serviceName: x\n  selector:\n    matchLabels: {app: x}\n  template:\n"
    + pods(4, "Always"),
    "workflows/pytorchjob.yaml": typed("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch"),
    "workflows/tfjob.yaml": typed("TFJob", "tfReplicaSpecs", "Chief", "tensorflow"),
    "workflows/xgboostjob.yaml": typed("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost"),
    "workflows/jaxjob.yaml": head("kubeflow.org/v1", "JAXJob", "jaxjob")
    + "spec:\n  jaxReplicaSpecs:\n    Worker:\n      replicas: 1\n      template:\n"
    + pods(8).replace("name: main", "name: jax"),
    "workflows/mpijob.yaml": typed("MPIJob", "mpiReplicaSpecs", "Launcher", "mpi", "kubeflow.org/v2beta1"),
    "workflows/leaderworkerset.yaml": head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkerset")
    + "spec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n    workerTemplate:\n"
    + pods(6, "Always"),
    "workflows/jobset.yaml": head("jobset.x-k8s.io/v1alpha2", "JobSet", "jobset")
    + "spec:\n  replicatedJobs:\n  - name: a\n    replicas: 1\n    template:\n      spec:\n        parallelism: 1\n"
    + "        completions: 1\n        template:\n"
    + pods(10),
    "workflows/raycluster.yaml": head("ray.io/v1", "RayCluster", "raycluster") + "spec:\n" + ray(2),
    "workflows/rayjob.yaml": head("ray.io/v1", "RayJob", "rayjob")
    + "spec:\n  entrypoint: python tune.py\n  rayClusterSpec:\n"
    + ray(4),
    "workflows/rayservice.yaml": head("ray.io/v1", "RayService", "rayservice")
    + "spec:\n  rayClusterConfig:\n"
    + ray(4),
    "workflows/trainjob.yaml": head("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjob")
    + "spec:\n  runtimeRef:\n    name: torch-distributed\n  trainer:\n    numNodes: 2\n",
    "workflows/podcliqueset.yaml": head("grove.io/v1alpha1", "PodCliqueSet", "podcliqueset")
    + """\
spec:
  replicas: 1
  template:
    topologyConstraint:
      topologyName: fabric
      pack:
        required: rack
    cliques:
    - name: main
      spec:
        roleName: main
        replicas: 2
        minAvailable: 1
        podSpec:
          containers:
          - name: main
            image: server:1
""",
    "workflows/podgroup.yaml": """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: hand
  namespace: ml
spec:
  queue: osmo-pool-ml-team--speech
  topologyConstraint:
    topology: osmo-pool-ml-team-topology
    requiredTopologyLevel: topology.kubernetes.io/zone
  subGroups:
  - name: leaf
    minMember: 1
""",
    "workflows/member.yaml": """apiVersion: v1
kind: Pod
metadata:
  name: hand-0
  labels:
    kai.scheduler/subgroup-name: leaf
  annotations:
    pod-group-name: hand
spec:
  containers:
  - name: main
    image: trainer:1
""",
    "workflows/notebook.yaml": f"""{head("kubeflow.org/v1", "Notebook", "lab")}\
spec:
  template:
    spec:
      containers:
      - name: main
        image: lab:1
        resources:
          limits: {{nvidia.com/gpu: 1}}
""",
    "workflows/service.yaml": """apiVersion: v1
kind: Service
metadata:
  name: serve
  namespace: ml
spec:
  selector: {app: x}
  ports:
  - port: 80
    targetPort: 8000
""",
    "workflows/list.yaml": """apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
  data:
    mode: fast
""",
    "workflows/shared.yaml": """apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: checkpoints
  namespace: ml
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests: {storage: 1Ti}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: trainer
  namespace: ml
""",
    "workflows/web.yaml": head("apps/v1", "Deployment", "web")
    + """\
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      serviceAccountName: trainer
      containers:
      - name: main
        image: server:1
        ports:
        - name: http
          containerPort: 8000
        env:
        - name: CPUS
          valueFrom:
            resourceFieldRef: {containerName: main, resource: limits.cpu}
        envFrom:
        - configMapRef: {name: settings}
        volumeMounts:
        - {name: state, mountPath: /state}
      volumes:
      - name: state
        persistentVolumeClaim: {claimName: checkpoints}
""",
    "workflows/beside.yaml": """apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: ml
spec:
  selector: {app: web}
  ports:
  - name: http
    port: 80
    targetPort: http
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
  namespace: ml
spec:
  minAvailable: 2
  selector:
    matchLabels: {app: web}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web
  namespace: ml
spec:
  podSelector:
    matchLabels: {app: web}
  policyTypes: [Ingress]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: deployment
  namespace: ml
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: deployment
  maxReplicas: 1
  metrics:
  - type: ContainerResource
    containerResource:
      name: memory
      container: main
      target: {type: Utilization, averageUtilization: 80}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: ml
spec:
  rules:
  - http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: web
            port: {name: http}
""",
    "workflows/steps.yaml": head("jobset.x-k8s.io/v1alpha2", "JobSet", "steps")
    + '  annotations: {kai.scheduler/batch-min-member: "1"}\n'
    + "spec:\n  replicatedJobs:\n  - name: prepare\n    template:\n      spec:\n        template:\n"
    + pods(10)
    + "  - name: learn\n    dependsOn:\n    - name: prepare\n      status: Complete\n    template:\n      spec:\n"
    + "        podFailurePolicy:\n          rules:\n          - action: FailJob\n            onExitCodes:\n"
    + "              containerName: main\n              operator: In\n              values: [42]\n        template:\n"
    + pods(10),
    "workflows/domain.yaml": """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: nvlink}
spec:
  numNodes: 2
  channel:
    allocationMode: Single
    resourceClaimTemplate: {name: nvlink-channel}
---
"""
    + head("batch/v1", "Job", "nvlink")
    + """\
  annotations:
    kai.scheduler/topology-required-placement: rack
spec:
  parallelism: 2
  completions: 2
  template:
    metadata:
      labels: {app: nvlink}
    spec:
      restartPolicy: Never
      resourceClaims:
      - name: channel
        resourceClaimTemplateName: nvlink-channel
      containers:
      - name: main
        image: trainer:1
        command: [run]
        resources:
          limits: {nvidia.com/gpu: 1, memory: 1Gi}
          claims: [{name: channel}]
""",
    "workflows/training.yaml": head("ml.example.com/v1", "Training", "training")
    + "spec:\n  roles:\n  - name: worker\n    replicas: 2\n    template:\n"
    + pods(6),
    "workflows/argo.yaml": head("argoproj.io/v1alpha1", "Workflow", "argo")
    + """\
spec:
  entrypoint: main
  templates:
  - name: main
    container:
      image: trainer:1
      resources: {limits: {nvidia.com/gpu: 1}}
""",
    "workflows/spark.yaml": head("sparkoperator.k8s.io/v1beta2", "SparkApplication", "spark")
    + """\
spec:
  type: Python
  sparkVersion: 3.5.3
  mainApplicationFile: local:///app/features.py
  sparkConf:
    spark.eventLog.enabled: "true"
  driver:
    cores: 1
  executor:
    instances: 2
    gpu: {name: nvidia.com/gpu, quantity: 1}
""",
    "workflows/kserve.yaml": head("serving.kserve.io/v1beta1", "InferenceService", "kserve")
    + """\
spec:
  predictor:
    minReplicas: 1
    maxReplicas: 1
    model:
      modelFormat: {name: huggingface}
      resources: {limits: {nvidia.com/gpu: 1}}
""",
    "workflows/objects.yaml": """apiVersion: v1
kind: Service
metadata:
  name: gateway
  labels: {app: gateway}
spec:
  type: LoadBalancer
  selector: {app: x}
  externalTrafficPolicy: Local
  externalIPs: [192.0.2.7]
  loadBalancerSourceRanges: [10.0.0.0/8]
  ports:
  - {name: http, port: 80, targetPort: 8000, nodePort: 30080}
  - {name: rpc, port: 81, targetPort: rpc}
---
apiVersion: v1
kind: Service
metadata: {name: peers}
spec:
  clusterIP: None
  selector: {app: x}
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec:
  type: ExternalName
  externalName: store.example.com
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: words
  annotations: {example.com/owner: us}
data:
  words.txt: hello
binaryData:
  words.bin: aGVsbG8=
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 10Gi
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec:
  minAvailable: 50%
  selector:
    matchLabels: {app: x}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: inside}
spec:
  podSelector:
    matchLabels: {app: x}
  policyTypes: [Ingress, Egress]
  ingress:
  - ports:
    - {protocol: TCP, port: 8000, endPort: 8010}
    from:
    - ipBlock:
        cidr: 10.0.0.0/8
        except: [10.1.0.0/16]
    - podSelector:
        matchExpressions:
        - {key: app, operator: In, values: [x]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front}
spec:
  tls:
  - hosts: [chat.example.com]
  rules:
  - host: chat.example.com
    http:
      paths:
      - path: /chat
        pathType: Prefix
        backend:
          service:
            name: gateway
            port: {number: 80}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: deployment}
  minReplicas: 1
  maxReplicas: 1
  metrics:
  - type: Resource
    resource:
      name: memory
      target: {type: Utilization, averageUtilization: 60}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
      selectPolicy: Max
      policies:
      - {type: Percent, value: 10, periodSeconds: 60}
""",
}
