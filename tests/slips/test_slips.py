"""Slips as people make them: each has a finding at its line that says what is wrong, and none elsewhere.

A row is a file, what stands there, what stands there after the slip, and key words of the message and the help. The
finding is expected on the line where the changed text begins.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.slips.repository import FILES
from tests.support.cli import kubectl_tas, write

Row = tuple[str, str, str, str]

CONFIG: tuple[Row, ...] = (
    ("tas", "kind: Config", "kind: Confg", "Config"),
    ("tas", "spec:", "sepc:", "sepc spec"),
    ("tas", "  backends:", "  backend:", "backend backends"),
    ("tas", "  - name: prod", "  - nmae: prod", "nmae name"),
    ("tas", "    namespace: ml", "    namespcae: ml", "namespcae namespace"),
    ("tas", "    scheduler:", "    schedular:", "schedular scheduler"),
    ("tas", "      type: kai", "      typ: kai", "typ type"),
    ("tas", "      type: kai", "      type: kia", "kia kai"),
    ("tas", '      version: "0.17"', '      vresion: "0.17"', "vresion version"),
    ("tas", '      version: "0.17"', '      version: "latest"', "version latest"),
    ("tas", "  queuePrefix: osmo", "  queueprefix: osmo", "queueprefix queuePrefix"),
    ("tas", "  gitops: none", "  gitops: argo", "argo argocd"),
    ("tas", "  gitops: none", "  guards: enforce", "guards guard"),
    ("tas", "    HIGH: osmo-high", "    HIHG: osmo-high", "HIHG HIGH"),
    ("tas", '      version: "0.17"', "      version: 1.0.0-rc1", "1.0.0-rc1 numbers alone 0.17"),
    ("tas", "  gitops: none", "  drainInterval: 15 minutes", "15 minutes 15m number blank"),
    ("tas", "  gitops: none", "  drainInterval: 900", "900 15m number"),
    ("tas", "  gitops: none", "  guard: on", "true, false, warn, enforce on text"),
    ("tas", "  gitops: none", "  guard: strict", "true, false, warn, enforce refused"),
    ("tas", '      version: "0.17"', "      name: default-scheduler", "default-scheduler kube-scheduler quota"),
    ("tas", '      version: "0.17"', "      name: kai-schduler", "kai-schduler kai-scheduler"),
    ("tas", "  gitops: none", "  rules: {no-such: off}", "no-such rule"),
    ("tas", "  gitops: none\n", "  rules: {no-such: off, node: [1]}\n", "no-such node rule"),
)
POOLS: tuple[Row, ...] = (
    ("pools/team", "kind: Pool", "kind: Pol", "Pol Pool"),
    (
        "pools/team",
        "    gpu:",
        "    memory: {guarantee: 100}\n    gpu:",
        "100 quantity with a unit 64Gi Add the unit",
    ),
    ("pools/team", "metadata:", "metdata:", "metdata metadata"),
    ("pools/team", "  name: team", "  nmae: team", "nmae name"),
    ("pools/team", "  backend: prod", "  bakcend: prod", "bakcend backend"),
    ("pools/team", "  backend: prod", "  backend: prdo", "backend prdo prod"),
    ("pools/team", "  description: Training", "  descripton: Training", "descripton description"),
    ("pools/team", "  description: Training", "  namespace: ml", "namespace namespaces"),
    ("pools/team", "  description: Training", "  namespaces: ml", "namespaces list"),
    ("pools/team", "  description: Training", "  nodes: {selctor: {a: b}}", "selctor selector"),
    ("pools/team", "  description: Training", "  nodes: {selector: {a: true}}", "selector true"),
    ("pools/team", "  description: Training", "  nodes: {tolerations: [{key: a, effect: NoExec}]}", "NoExec NoExecute"),
    ("pools/team", "  description: Training", "  nodepool: h100", "nodepool nodePool"),
    ("pools/team", "  description: Training", "  parent: servng", "servng serving"),
    ("pools/team", "  description: Training", "  parent: team", "team its own parent"),
    ("pools/team", "  description: Training", "  parent: serving--chat", "serving--chat serving"),
    ("pools/team", "  description: Training", "  partent: serving", "partent parent"),
    ("pools/team", "  resources:", "  resource:", "resource resources"),
    ("pools/team", "    gpu:", "    gpus:", "gpus gpu"),
    ("pools/team", "      guarantee: 200", "      gaurantee: 200", "gaurantee guarantee"),
    ("pools/team", "      guarantee: 200", "      guarantee: 200 GPUs", "200 GPUs whole number"),
    ("pools/team", "      maximum: -1", "      maxmum: -1", "maxmum maximum"),
    ("pools/team", "      maximum: -1", "      maximum: 20", "maximum guarantee"),
    ("pools/team", "      weight: 1", "      wieght: 1", "wieght weight"),
    ("pools/team", "  topology_keys:", "  topology_key:", "topology_key topology_keys"),
    ("pools/team", "  - key: zone", "  - kye: zone", "kye key"),
    ("pools/team", "    label: topology.kubernetes.io/zone", "    lable: topology.kubernetes.io/zone", "lable label"),
    ("pools/team", "  - key: rack", "  - key: zone", "zone"),
    ("pools/serving", "  topology: fabric", "  topology: farbic", "farbic fabric topology"),
    ("pools/serving", "  topology: fabric", "  toplogy: fabric", "toplogy topology"),
    ("pools/team", "  name: team", "  name: Team", "Team lower-case"),
    ("pools/team", "      guarantee: 200", "      guarantee: 50%", "50% number share subpool"),
    ("pools/team", "  description: Training", "  subpools: []", "subpools document of its own kind Subpool"),
    ("pools/team", "    label: topology.kubernetes.io/rack", "    label: rack=a", "rack=a key alone"),
    ("pools/team", "      maximum: -1", "      maximum: 0", "maximum 200 or more"),
    ("pools/team", "    label: topology.kubernetes.io/rack", "    label: topology.kubernetes.io/region", "region zone"),
)
SUBPOOLS: tuple[Row, ...] = (
    ("subpools/speech", "kind: Subpool", "kind: SubPool", "SubPool Subpool"),
    ("subpools/speech", "  name: speech", "  name: speech--x", "speech--x --"),
    ("subpools/speech", "  name: speech", "  name: _speech", "_speech reserved"),
    ("subpools/speech", "  name: speech", "  name: Speech", "Speech lower-case"),
    ("subpools/speech", "  parent: team", "  parnet: team", "parnet parent"),
    ("subpools/speech", "  parent: team", "  parent: taem", "taem team"),
    ("subpools/speech", "  quota: 100", "  qouta: 100", "qouta quota"),
    ("subpools/speech", "  quota: 100", "  quota: 300", "300 200"),
    ("subpools/speech", "  quota: 100", "  quota: 33 %", "33 %"),
    ("subpools/speech", "  quota: 100", "  quota: -1", "-1"),
    ("subpools/speech", "  quota: 100", '  quota: "101%"', "101% at most 100%"),
    ("subpools/speech", "  quota: 100", "  quota: 0.33", "0.33 whole share"),
    ("subpools/speech", "  name: speech", "  name: team--speech", "spec.parent write speech."),
    ("subpools/speech", "  state: ACTIVE", "  namespaces: [mi]", "mi ml"),
    ("subpools/speech", "  state: ACTIVE", "  namespaces: [mi]", "mi ml"),
    ("subpools/speech", "  quota: 100", '  quota: "101%"', "101% at most 100%"),
    ("subpools/speech", "  quota: 100", "  quota: 0.33", "0.33 whole share"),
    ("subpools/speech", "  name: speech", "  name: team--speech", "spec.parent write speech."),
    ("subpools/speech", "  state: ACTIVE", "  stat: ACTIVE", "stat state"),
    ("subpools/speech", "  state: ACTIVE", "  state: active", "active ACTIVE"),
)
TOPOLOGIES: tuple[Row, ...] = (
    ("topologies/fabric", "kind: ClusterTopology", "kind: ClusterToplogy", "ClusterToplogy ClusterTopology"),
    ("topologies/fabric", "  levels:", "  level:", "level levels"),
    ("topologies/fabric", "  - domain: zone", "  - domian: zone", "domian domain"),
    ("topologies/fabric", "    key: topology.kubernetes.io/rack", "    key: topology.kubernetes.io/zone", "zone"),
    ("topologies/fabric", "  - domain: rack", "  - domain: zone", "zone"),
    ("topologies/fabric", "    key: topology.kubernetes.io/rack", "    key: rack label", "rack label key alone"),
)
WORKFLOWS: tuple[Row, ...] = (
    ("workflows/train", "workflow:", "worklfow:", "workflow"),
    ("workflows/train", "workflow:", "apiVersion: tas/v1alpha1\nworkflow:", "apiVersion OSMO workflow remove"),
    ("workflows/train", "workflow:", "kind: Workflow\nspec:", "root key is workflow"),
    ("workflows/train", "  name: train", "  nmae: train", "nmae name"),
    ("workflows/train", "  pool: team--speech", "  pol: team--speech", "pol pool"),
    ("workflows/train", "  pool: team--speech", "  pool: team-speech", "team-speech team--speech"),
    ("workflows/train", "  pool: team--speech", "  pool: team--speach", "team--speach team--speech"),
    ("workflows/train", "  pool: team--speech", "  pool: team--shared", "team--shared name the pool"),
    ("workflows/train", "  priority: HIGH", "  prority: HIGH", "prority priority"),
    ("workflows/train", "  priority: HIGH", "  priority: high", "high HIGH"),
    ("workflows/train", "  groups:", "  group:", "group groups"),
    ("workflows/train", "  - name: workers", "  - naem: workers", "naem name"),
    ("workflows/train", "    tasks:", "    task:", "task tasks"),
    ("workflows/train", "      image: trainer:1", "      imgae: trainer:1", "imgae image"),
    ("workflows/train", "      command: [run]", "      comand: [run]", "comand command"),
    ("workflows/train", "      command: [run]", "      command: run", "command list"),
    ("workflows/train", "      environment:", "      env:", "env environment"),
    ("workflows/train", "      resource: node", "      resources: node", "resources resource"),
    ("workflows/train", "      resource: node", "      resource: nod", "nod node"),
    ("workflows/train", "resources:", "resource:", "resource resources"),
    ("workflows/train", "    cpu: 4", "    cpus: 4", "cpus cpu"),
    ("workflows/train", "    memory: 16Gi", "    mem: 16Gi", "mem memory"),
    ("workflows/train", "    memory: 16Gi", "    memory: 16GB", "16GB Gi unit"),
    ("workflows/train", "  priority: HIGH", "  priority: URGENT", "URGENT HIGH, NORMAL, LOW preempted"),
    ("workflows/train", "  priority: HIGH", "  labels: {owner: jane doe}", "owner jane doe value of a label blanks"),
    ("workflows/train", "    - key: rack", "    - key: topology.kubernetes.io/rack", "node label write rack"),
    ("workflows/train", "    topology:", "    toplogy:", "toplogy topology"),
    ("workflows/train", "    - key: rack", "    - label: rack", "label"),
    ("workflows/train", "    - key: rack", "    - key: rak", "rak rack"),
    ("workflows/train", "      group: model", "      gruop: model", "gruop group"),
    ("workflows/train", "requirementType: required", "requirmentType: required", "requirmentType requirementType"),
    ("workflows/train", "requirementType: required", "requirementType: require", "require required"),
    ("workflows/serve", "  default:", "  defualt:", "defualt default"),
    ("workflows/fetch", "exec_timeout: 8h", "exec-timeout: 8h", "exec-timeout exec_timeout"),
    ("workflows/fetch", "- url: s3://data", "- ulr: s3://data", "ulr url"),
    ("workflows/fetch", "contents: x", "content: x", "content contents"),
    ("workflows/fetch", "localpath: y", "localPath: y", "localPath localpath"),
    ("workflows/fetch", "url: s3://out", "regex: .*", "outputs url"),
    ("workflows/fetch", "frequency: 10m", "frequency: 10 minutes", "frequency 30m"),
    ("workflows/fetch", "frequency: 10m", "freqency: 10m", "freqency frequency"),
    ("workflows/fetch", "RESCHEDULE: 1", "RESTART: 1", "RESTART RESCHEDULE"),
    ("workflows/fetch", "index: loss", "name: loss", "name index"),
)
WORKLOADS: tuple[Row, ...] = (
    ("workflows/job", "kind: Job", "kind: Jbo", "Jbo Job"),
    ("workflows/job", "kind: Job", "kind: Deploymnet", "Deploymnet Deployment"),
    ("workflows/job", "kind: Job", "kind: DaemonSet", "DaemonSet every node"),
    ("workflows/job", "batch/v1", "batch/v1beta1", "batch/v1beta1"),
    ("workflows/job", "metadata:", "Metadata:", "Metadata metadata"),
    ("workflows/job", "  labels:", "  lables:", "lables labels"),
    ("workflows/job", "  parallelism: 2", "  paralelism: 2", "paralelism parallelism"),
    ("workflows/job", "  template:", "  templat:", "templat template"),
    ("workflows/job", "      labels: {app: x}", "      lables: {app: x}", "lables labels"),
    ("workflows/job", "      restartPolicy: Never", "      restartPolcy: Never", "restartPolcy restartPolicy"),
    ("workflows/job", "      restartPolicy: Never", "      restartPolicy: Always", "restartPolicy Always"),
    ("workflows/job", "      containers:", "      container:", "container containers"),
    ("workflows/job", "        image: trainer:1", "        imag: trainer:1", "imag image"),
    ("workflows/job", "        command: [run]", "        cmd: [run]", "cmd"),
    ("workflows/job", "        resources:", "        resource:", "resource resources"),
    ("workflows/job", "          limits: ", "          limit: ", "limit limits"),
    ("workflows/job", "memory: 1Gi}", "memroy: 1Gi}", "memroy memory"),
    ("workflows/cronjob", "  schedule:", "  schedul:", "schedul schedule"),
    ("workflows/cronjob", "  jobTemplate:", "  jobTemplte:", "jobTemplte jobTemplate"),
    ("workflows/cronjob", "      parallelism: 1", "      paralellism: 1", "paralellism parallelism"),
    ("workflows/cronjob", "            resources:", "            resuorces:", "resuorces resources"),
    ("workflows/deployment", "  replicas: 1", "  repilcas: 1", "repilcas replicas"),
    ("workflows/deployment", "  selector:", "  selectors:", "selectors selector"),
    ("workflows/deployment", "matchLabels: {app: x}", "matchLabels: {app: y}", "app y"),
    ("workflows/statefulset", "  serviceName: x", "  servcieName: x", "servcieName serviceName"),
    ("workflows/statefulset", "        image: trainer:1", "        iamge: trainer:1", "iamge image"),
    ("workflows/pytorchjob", "  runPolicy:", "  runPolcy:", "runPolcy runPolicy"),
    ("workflows/pytorchjob", "minAvailable: 2", "minAvailible: 2", "minAvailible minAvailable"),
    ("workflows/pytorchjob", "minAvailable: 2", "minAvailable: 20", "20 2"),
    ("workflows/pytorchjob", "  pytorchReplicaSpecs:", "  pytorchReplicaSpec:", "pytorchReplicaSpec"),
    ("workflows/pytorchjob", "    Master:", "    Matser:", "Matser Master"),
    ("workflows/pytorchjob", "      replicas: 1", "      repilcas: 1", "repilcas replicas"),
    ("workflows/tfjob", "    Chief:", "    Cheif:", "Cheif Chief"),
    ("workflows/tfjob", "  tfReplicaSpecs:", "  tfReplicasSpecs:", "tfReplicasSpecs tfReplicaSpecs"),
    ("workflows/xgboostjob", "    Worker:", "    Wroker:", "Wroker Worker"),
    ("workflows/jaxjob", "      template:", "      tempalte:", "tempalte template"),
    ("workflows/mpijob", "    Launcher:", "    Launhcer:", "Launhcer Launcher"),
    ("workflows/leaderworkerset", "    size: 2", "    sise: 2", "sise size"),
    ("workflows/leaderworkerset", "    workerTemplate:", "    workerTemplat:", "workerTemplat workerTemplate"),
    ("workflows/leaderworkerset", "  leaderWorkerTemplate:", "  leaderworkerTemplate:", "leaderWorkerTemplate"),
    ("workflows/jobset", "  replicatedJobs:", "  replicatedJob:", "replicatedJob replicatedJobs"),
    ("workflows/jobset", "        parallelism: 1", "        paralelism: 1", "paralelism parallelism"),
    ("workflows/raycluster", "  headGroupSpec:", "  headGroupSepc:", "headGroupSepc headGroupSpec"),
    ("workflows/raycluster", "    minReplicas: 2", "    minReplica: 2", "minReplica minReplicas"),
    ("workflows/raycluster", "    replicas: 2", "    replicas: 1", "replicas (1) minReplicas"),
    ("workflows/rayjob", "    workerGroupSpecs:", "    workerGroupsSpecs:", "workerGroupsSpecs workerGroupSpecs"),
    ("workflows/rayjob", "    - groupName: workers", "    - groupname: workers", "groupname groupName"),
    ("workflows/rayservice", "  rayClusterConfig:", "  rayClusterConfg:", "rayClusterConfg rayClusterConfig"),
    ("workflows/trainjob", "  runtimeRef:", "  runtimeref:", "runtimeref runtimeRef"),
    ("workflows/trainjob", "    numNodes: 2", "    numNode: 2", "numNode numNodes"),
)
JOB, CRON = "workflows/job", "workflows/cronjob"
IMAGE, COMMAND, NEVER = "        image: trainer:1", "        command: [run]", "      restartPolicy: Never"
LIMITS = "          limits: {nvidia.com/gpu: 1, memory: 1Gi}"
AFFINITY = (
    "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    f"{{nodeSelectorTerms: [{{matchExpressions: [ONE]}}]}}}}}}\n{NEVER}"
)
SCHEDULE = "  schedule: 0 * * * *"
PODS: tuple[Row, ...] = (
    (JOB, f"      - name: main\n{IMAGE}", "      - name: main", "image missing"),
    (JOB, "      - name: main\n        image", "      - image", "name missing"),
    (JOB, COMMAND, f"      - name: main\n        image: x\n{COMMAND}", "main twice"),
    (
        "workflows/podcliqueset",
        "          - name: main\n            image: server:1",
        "          - name: main",
        "image",
    ),
    (
        "workflows/raycluster",
        "        - name: main\n          image: trainer:1",
        "        - name: main",
        "image missing",
    ),
    (JOB, IMAGE, '        image: ""', "image empty"),
    (JOB, NEVER, "      restartPolicy: never", "mean Never"),
    (
        JOB,
        f"{NEVER}\n      containers:\n      - name: main\n",
        f"      volume: [{{name: d, emptyDir: {{}}}}]\n{NEVER}\n      containers:\n      - name: main\n"
        "        volumeMounts: [{name: d, mountPath: /d}]\n",
        "volume volumes",
    ),
    (
        JOB,
        NEVER,
        AFFINITY.replace("ONE", "{key: a, operator: Gt, values: 5}"),
        "values list",
    ),
    (JOB, "memory: 1Gi}", "memory: 16GB}", "write 16G or 16Gi"),
    (JOB, "memory: 1Gi}", "memory: 16 Gi}", "write 16Gi"),
    (JOB, "memory: 1Gi}", "memory: 16gi}", "write 16Gi"),
    (JOB, "memory: 1Gi}", "cpu: 1.5 cores}", "write 1.5"),
    (JOB, "memory: 1Gi}", "cpu: -1}", "negative"),
    (JOB, "memory: 1Gi}", "memory: 512m}", "512M 512Mi"),
    (JOB, "memory: 1Gi}", "memory: lots}", "quantity"),
    (JOB, "nvidia.com/gpu: 1,", "nvidia.com/gpu: 0.5,", "whole"),
    (JOB, LIMITS, f"          requests: {{memory: 2Gi}}\n{LIMITS}", "memory 2Gi limit 1Gi"),
    (JOB, LIMITS, f"          requests: {{nvidia.com/gpu: 2}}\n{LIMITS}", "gpu 2 limit 1"),
    (JOB, NEVER, f"      volumes: [{{name: tmp, emptyDir: {{sizeLimit: 64GB}}}}]\n{NEVER}", "64G 64Gi"),
    (JOB, NEVER, f"      volumes: [{{name: tmp, emptyDir: }}]\n{NEVER}", "emptyDir: {}"),
    (JOB, NEVER, f"      volumes: [{{name: a, emptyDir: {{}}, hostPath: {{path: /}}}}]\n{NEVER}", "hostPath more"),
    (JOB, COMMAND, f"        volumeMounts: [{{name: data, mountPath: /d}}]\n{COMMAND}", "volume data"),
    (JOB, COMMAND, f"        volumeDevices: [{{name: data, devicePath: /d}}]\n{COMMAND}", "volume data"),
    (JOB, COMMAND, f"        imagePullPolicy: always\n{COMMAND}", "mean Always"),
    (JOB, COMMAND, f"        terminationMessagePolicy: Logs\n{COMMAND}", "FallbackToLogsOnError"),
    (JOB, COMMAND, f"        ports: [{{containerPort: 70000}}]\n{COMMAND}", "65535"),
    (JOB, COMMAND, f"        ports: [{{containerPort: 80, protocol: tcp}}]\n{COMMAND}", "mean TCP"),
    (JOB, COMMAND, f"        ports: [{{containerPort: 80, name: prometheus-metrics}}]\n{COMMAND}", "15"),
    (
        JOB,
        COMMAND,
        f"        ports: [{{containerPort: 80, name: a}}, {{containerPort: 81, name: a}}]\n{COMMAND}",
        "port a twice",
    ),
    (JOB, COMMAND, f"        readinessProbe: {{periodSeconds: 5}}\n{COMMAND}", "readinessProbe httpGet"),
    (
        JOB,
        COMMAND,
        f"        env: [{{name: A, value: b, valueFrom: {{fieldRef: {{fieldPath: x}}}}}}]\n{COMMAND}",
        "both",
    ),
    (JOB, COMMAND, f"        readinessProbe: {{httpget: {{port: 80}}}}\n{COMMAND}", "httpget httpGet"),
    (JOB, NEVER, f"      dnsPolicy: clusterFirst\n{NEVER}", "mean ClusterFirst"),
    (JOB, NEVER, f"      tolerations: [{{key: a, operator: exists}}]\n{NEVER}", "mean Exists"),
    (JOB, NEVER, f"      tolerations: [{{key: a, operator: Exists, value: b}}]\n{NEVER}", "Exists value"),
    (JOB, NEVER, f"      tolerations: [{{key: a, effect: NoScheduled}}]\n{NEVER}", "mean NoSchedule"),
    (JOB, NEVER, f"      tolerations: [{{value: a}}]\n{NEVER}", "key"),
    (JOB, NEVER, f"      priority: 100\n{NEVER}", "priorityClassName remove"),
    (JOB, NEVER, f"      schedulingGates: [{{name: example.com/wait}}]\n{NEVER}", "scheduling gates"),
    (
        JOB,
        NEVER,
        AFFINITY.replace("ONE", "{key: a, operator: Is, values: [b]}"),
        "operator In",
    ),
    (
        JOB,
        NEVER,
        AFFINITY.replace("ONE", "{key: a, operator: In}"),
        "values",
    ),
)
ENV = "        env: [{name: A, valueFrom: "
CLAIM = "volumeClaimTemplates: [{metadata: {name: d}"
ASKS: tuple[Row, ...] = (
    (JOB, COMMAND, f"{ENV}{{}}}}]\n{COMMAND}", "valueFrom nothing secretKeyRef"),
    (JOB, COMMAND, f"{ENV}{{secretKeyRef: {{key: k}}}}}}]\n{COMMAND}", "name missing secretKeyRef"),
    (JOB, COMMAND, f"{ENV}{{secretKyRef: {{name: s, key: k}}}}}}]\n{COMMAND}", "secretKyRef secretKeyRef"),
    (JOB, COMMAND, f"        envFrom: [{{prefix: A_}}]\n{COMMAND}", "envFrom configMapRef"),
    (JOB, COMMAND, f"        lifecycle: {{preStop: {{}}}}\n{COMMAND}", "preStop exec"),
    (JOB, NEVER, f"      volumes: [{{name: a, configMap: {{}}}}]\n{NEVER}", "name missing configMap"),
    (JOB, NEVER, f"      nodeSelector: {{kubernetes.io/hotsname: a}}\n{NEVER}", "hotsname kubernetes.io/hostname"),
    (JOB, NEVER, AFFINITY.replace("ONE", "{key: kubernetes.io/acrh, operator: Exists}"), "acrh kubernetes.io/arch"),
    (JOB, NEVER, AFFINITY.replace("{matchExpressions: [ONE]}", "{}"), "no condition node"),
    (JOB, NEVER, AFFINITY.replace("{matchExpressions: [ONE]}", ""), "term"),
    (
        JOB,
        NEVER,
        "      topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, "
        f"topologyKey: topology.kubernetes.io/zoen}}]\n{NEVER}",
        "zoen topology.kubernetes.io/zone",
    ),
    (JOB, NEVER, f"      resources: {{limits: {{nvidia.com/gpu: 1}}}}\n{NEVER}", "pod nvidia.com/gpu container"),
    (
        "pools/team",
        "  description: Training",
        "  nodes: {selector: {kubernetes.io/acrh: amd64}}",
        "kubernetes.io/acrh kubernetes.io/arch",
    ),
    (
        "workflows/statefulset",
        "  serviceName: x",
        "  volumeClaimTemplates: [{metadata: {name: d}}]",
        "spec missing volumeClaimTemplates",
    ),
    (
        "workflows/statefulset",
        "  serviceName: x",
        "  volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]",
        "accessModes missing",
    ),
    (
        "workflows/statefulset",
        "  serviceName: x",
        f"  {CLAIM}, spec: {{accessModes: [ReadOnlyMany], resources: {{requests: {{}}}}}}}}]",
        "storage missing",
    ),
)
JOBS: tuple[Row, ...] = (
    (JOB, "  completions: 2", "  completionMode: Indexed", "completions 2"),
    (JOB, "  completions: 2", "  backoffLimit: -1", "backoffLimit least 0"),
    (JOB, "  completions: 2", "  ttlSecondsAfterFinished: -1", "least 0"),
    (JOB, "  completions: 2", "  activeDeadlineSeconds: -1", "least 0"),
    (JOB, "  completions: 2", "  backoffLimitPerIndex: 1", "Indexed"),
    (JOB, "  completions: 2", "  completionMode: indexed", "mean Indexed"),
    (JOB, "  completions: 2", "  selector: {matchLabels: {app: x}}", "selector remove"),
    ("workflows/jobset", "        parallelism: 1\n        completions: 1", "        parallelism: 2", "completions 2"),
    (CRON, SCHEDULE, "  schedule: 0 * * *", "5 4"),
    (CRON, SCHEDULE, "  schedule: 0 0 3 * * 1", "5 6"),
    (CRON, SCHEDULE, "  schedule: 0 24 * * *", "24 hour 23"),
    (CRON, SCHEDULE, "  schedule: 0 3 * * 7", "0 Sunday"),
    (CRON, SCHEDULE, "  schedule: 0 3 * * Monday", "mon"),
    (CRON, SCHEDULE, "  schedule: '*/0 * * * *'", "minute"),
    (CRON, SCHEDULE, "  schedule: '@dayly'", "@daily"),
    (CRON, SCHEDULE, "  schedule: TZ=UTC 0 3 * * *", "timeZone"),
    (CRON, SCHEDULE, f"  timeZone: Local\n{SCHEDULE}", "Etc/UTC"),
    (CRON, SCHEDULE, f"  concurrencyPolicy: forbid\n{SCHEDULE}", "mean Forbid"),
    (CRON, SCHEDULE, f"  successfulJobsHistoryLimit: -1\n{SCHEDULE}", "least 0"),
)
ELASTIC = "elasticPolicy: {maxReplicas: 1}"
OPERATORS: tuple[Row, ...] = (
    ("workflows/pytorchjob", "          - name: pytorch", "          - name: main", "pytorch main"),
    ("workflows/pytorchjob", "      replicas: 1", "      replicas: 2", "one master not 2"),
    ("workflows/mpijob", "      replicas: 1", "      replicas: 2", "one launcher not 2"),
    ("workflows/pytorchjob", "  runPolicy:", f"  {ELASTIC}\n  runPolicy:", "1 of 2 workers maxReplicas: 2"),
    (
        "workflows/pytorchjob",
        "  runPolicy:",
        "  elasticPolicy: {maxReplicas: 2, metrics: [{type: Resource}]}\n  runPolicy:",
        "resource missing metrics[0]",
    ),
    (
        "workflows/pytorchjob",
        "  runPolicy:",
        "  elasticPolicy: {maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Value}}}]}\n"
        "  runPolicy:",
        "averageUtilization",
    ),
    ("workflows/jaxjob", "    Worker:", "    Coordinator: {}\n    Worker:", "Coordinator Worker"),
    ("workflows/trainjob", "spec:\n  runtimeRef:\n    name: torch\n", "spec:\n", "runtimeRef missing"),
    (
        "workflows/trainjob",
        "  runtimeRef:\n    name: torch\n",
        "  runtimeRef:\n    kind: TrainingRuntime\n",
        "name missing runtimeRef",
    ),
    ("workflows/jobset", "  replicatedJobs:", "  startupPolicy: {}\n  replicatedJobs:", "startupPolicyOrder missing"),
    ("workflows/rayjob", "spec:\n  entrypoint: python tune.py\n", "spec:\n", "entrypoint submit"),
    ("workflows/rayjob", "  entrypoint: python tune.py", "  entrypiont: python tune.py", "entrypiont entrypoint"),
    ("workflows/tfjob", "          - name: tensorflow", "          - name: pytorch", "tensorflow"),
    (
        "workflows/pytorchjob",
        "  pytorchReplicaSpecs:",
        "  elasticPolicy: {minReplicas: 3, maxReplicas: 2}\n  pytorchReplicaSpecs:",
        "3 2 maxReplicas",
    ),
    (
        "workflows/raycluster",
        "    minReplicas: 2\n    maxReplicas: 2",
        "    minReplicas: 2\n    maxReplicas: 1",
        "1 maxReplicas",
    ),
    ("workflows/rayjob", "  rayClusterSpec:", "  submissionMode: HttpMode\n  rayClusterSpec:", "mean HTTPMode"),
    ("workflows/leaderworkerset", "    size: 2", "    restartPolicy: Never\n    size: 2", "RecreateGroupOnPodRestart"),
    ("workflows/trainjob", "    numNodes: 2", "    resourcesPerNode: {limits: {memory: 64GB}}", "64G 64Gi"),
)
LIVE = "    kubectl-tas/priority: LOW"
EXPORTS: tuple[Row, ...] = (
    (JOB, "  labels:", '  resourceVersion: "12"\n  labels:', "export resourceVersion delete"),
    (JOB, "  labels:", "  uid: 0b1c\n  labels:", "export uid"),
    (JOB, "  labels:", "  managedFields: [{manager: kubectl}]\n  labels:", "managedFields"),
    (JOB, "  labels:", "  generation: 2\n  labels:", "generation API server writes"),
    (JOB, "spec:\n  parallelism", "status: {ready: 0}\nspec:\n  parallelism", "status delete"),
    (JOB, "labels: {app: x}", "labels: {app: x, controller-uid: 0b1c}", "controller-uid export"),
    (JOB, "labels: {app: x}", "labels: {app: x, job-name: other}", "job-name export"),
)
GROVE_AND_PODGROUPS: tuple[Row, ...] = (
    ("workflows/podcliqueset", "  labels:", "  lables:", "lables labels"),
    (
        "workflows/podcliqueset",
        "    topologyConstraint:",
        "    toplogyConstraint:",
        "toplogyConstraint topologyConstraint",
    ),
    ("workflows/podcliqueset", "      topologyName: fabric", "      topologyname: fabric", "topologyname topologyName"),
    ("workflows/podcliqueset", "      topologyName: fabric", "      topologyName: fabrik", "fabrik fabric"),
    ("workflows/podcliqueset", "        required: rack", "        requird: rack", "requird required"),
    ("workflows/podcliqueset", "        required: rack", "        required: rak", "rak rack"),
    ("workflows/podcliqueset", "    cliques:", "    clique:", "clique cliques"),
    ("workflows/podcliqueset", "    cliques:", "    podCliques:", "podCliques cliques"),
    (
        "workflows/podcliqueset",
        "    cliques:",
        "    cliqueStartupType: InOrder\n    cliques:",
        "InOrder CliqueStartupTypeInOrder",
    ),
    (
        "workflows/podcliqueset",
        "        minAvailable: 1",
        "        startsAfter: [main]",
        "main starts after itself",
    ),
    ("workflows/podcliqueset", "      topologyName:", "      clusterTopologyName:", "called topologyName"),
    ("workflows/podcliqueset", "        minAvailable: 1", "        minAvailable: 5", "5 2"),
    ("workflows/podcliqueset", "          containers:", "          container:", "container containers"),
    ("workflows/podcliqueset", "            image: server:1", "            imgae: server:1", "imgae image"),
    (
        "workflows/podcliqueset",
        "        roleName: main",
        "        startsAfter: [mian]\n        roleName: main",
        "mian main",
    ),
    (
        "workflows/podcliqueset",
        "        roleName: main",
        "        startsAfter: [main]\n        roleName: main",
        "after itself",
    ),
    ("workflows/podgroup", "kind: PodGroup", "kind: Podgroup", "Podgroup PodGroup"),
    ("workflows/podgroup", "  queue: ", "  queu: ", "queu queue"),
    ("workflows/podgroup", "osmo-pool-ml-team--speech", "osmo-pool-ml-team--speach", "osmo-pool-ml-team--speach"),
    ("workflows/podgroup", "  subGroups:", "  subGroup:", "subGroup subGroups"),
    ("workflows/podgroup", "  - name: leaf", "  - nam: leaf", "nam name"),
    ("workflows/podgroup", "    minMember: 1", "    minMembers: 1", "minMembers minMember"),
    ("workflows/podgroup", "    requiredTopologyLevel:", "    requiredToplogyLevel:", "requiredTopologyLevel"),
    ("workflows/podgroup", "topology.kubernetes.io/zone", "topology.kubernetes.io/zoen", "zoen"),
)
KEYS: tuple[Row, ...] = (
    ("workflows/job", "    kubectl-tas/pool: team", "    kubectl-tas/pol: team", "kubectl-tas/pol kubectl-tas/pool"),
    ("workflows/job", "    kubectl-tas/pool: team", "    kubectl_tas/pool: team", "kubectl_tas/pool label"),
    (
        "workflows/job",
        "    kubectl-tas/priority: LOW",
        "    kubectl-tas/prority: LOW",
        "kubectl-tas/prority kubectl-tas/priority",
    ),
    ("workflows/job", "    kubectl-tas/priority: LOW", "    kubectl-tas/priority: low", "low LOW"),
    ("workflows/job", "    kai.scheduler/topology:", "    kai.scheduler/toplogy:", "kai.scheduler/topology"),
    ("workflows/job", "    kai.scheduler/topology:", "    kai-scheduler/topology:", "kai.scheduler/topology"),
    (
        "workflows/job",
        "kai.scheduler/topology-required-placement",
        "kai.scheduler/topology-require-placement",
        "required",
    ),
    ("workflows/job", "topology-required-placement: rack", "topology-required-placement: rak", "rak rack"),
    ("workflows/job", "kai.scheduler/batch-min-member", "kai.scheduler/batch-min-members", "batch-min-member"),
    ("workflows/job", 'batch-min-member: "2"', 'batch-min-member: "two"', "two"),
    ("workflows/job", 'batch-min-member: "2"', "batch-min-member: 2", "text quote"),
    (
        "workflows/job",
        'kai.scheduler/batch-min-member: "2"',
        'kai.scheduler/skip-podgrouper: "true"',
        "never run PodGrouper",
    ),
    (
        "workflows/raycluster",
        "        labels: {app: x}",
        "        annotations: {kai.scheduler/segment-size: '2'}",
        "segments ignored RayCluster",
    ),
    (
        "workflows/job",
        "    kubectl-tas/priority: LOW",
        "    kai.scheduler/topology-preferred-placement: rack",
        "annotations",
    ),
    ("workflows/job", '    kai.scheduler/batch-min-member: "2"', "    kai.scheduler/queue: a", "labels"),
    (
        "workflows/podcliqueset",
        "    kubectl-tas/priority: LOW",
        "    grove.io/podganag: x",
        "grove.io/podganag grove.io/podgang",
    ),
    (JOB, LIVE, "    kubectl-tas.io/priority: LOW", "kubectl-tas.io/priority kubectl-tas/priority"),
    (JOB, LIVE, "    kueue.x-k8s.io/queue-name: team", "Kueue remove"),
    ("workflows/deployment", "labels: {app: x}\n    spec", "labels: {app: x, runai/queu: a}\n    spec", "runai/queu"),
)
YAML: tuple[Row, ...] = (
    ("workflows/train", "  priority: HIGH", "\tpriority: HIGH", "tab"),
    ("workflows/train", "  pool: team--speech", "  pool:\u00a0team--speech", "U+00A0 plain space"),
    ("workflows/train", "  pool: team--speech", "  pool: “team--speech”", "U+201C plain quote"),
    ("workflows/train", "  pool: team--speech", "  pool:team--speech", "without ':'"),
    ("workflows/train", "  priority: HIGH", "  pool: team", "pool twice"),
    ("workflows/train", "      command: [run]", "      command: [run]]", "line fit"),
    ("workflows/train", "  name: train", "  name: 'train", "quote"),
    ("workflows/train", "  pool: team--speech", "  pool: {{ pool }}", "pool defined default-values"),
    ("workflows/train", "workflow:", "{{- if .Values.x }}\nworkflow:", "go template jinja"),
    ("workflows/train", "  name: train", "  name: *train", "alias"),
    ("workflows/train", "  name: train", "  name: !!str train", "tag"),
    ("workflows/train", "  name: train", "  name: 12", "text quotes"),
    ("workflows/train", '        DEBUG: "1"', "        DEBUG: [1]", "DEBUG"),
    ("workflows/train", "    gpu: 4", "    gpu: four", "four whole number"),
    ("workflows/train", "    gpu: 4", "    gpu: 1.5", "1.5 whole number"),
)
COMPANIONS: tuple[Row, ...] = (
    ("workflows/service", "kind: Service", "kind: Servcie", "Servcie Service"),
    ("workflows/service", "apiVersion: v1", "apiVersion: v2", "Service v1 v2"),
    ("workflows/service", "  namespace: ml", "  namespace: lm", "lm ml"),
    ("workflows/service", "  selector:", "  selecter:", "selecter selector"),
    ("workflows/service", "  - port: 80", "  - prot: 80", "prot port"),
    ("workflows/service", "    targetPort: 8000", "    targetport: 8000", "targetport targetPort"),
    (
        "workflows/service",
        "spec:\n  selector: {app: x}\n  ports:\n  - port: 80\n    targetPort: 8000\n",
        "spec:\n  selector: {app: x}\n",
        "service ports",
    ),
    ("workflows/list", "items:", "itmes:", "itmes items"),
    ("workflows/list", "kind: List", "kind: ConfigMapList", "ConfigMapList kind: List"),
    ("workflows/list", "    name: settings", "    nmae: settings", "nmae name"),
    ("workflows/list", "    mode: fast", "    mode: 1", "mode quotes"),
    ("workflows/member", "subgroup-name: leaf", "subgroup-name: laef", "laef leaf"),
    ("workflows/member", "    kai.scheduler/subgroup-name:", "    kai.scheduler/subgrup-name:", "subgrup-name"),
    ("workflows/notebook", "    spec:", "    sepc:", "sepc spec"),
    ("workflows/notebook", "        image: lab:1", "        imag: lab:1", "imag image"),
)
ALL = {
    "Config": CONFIG,
    "pools": POOLS,
    "subpools": SUBPOOLS,
    "topologies": TOPOLOGIES,
    "workflows": WORKFLOWS,
    "workloads": WORKLOADS,
    "pods": PODS,
    "what pods ask for": ASKS,
    "jobs": JOBS,
    "operators": OPERATORS,
    "exports": EXPORTS,
    "Grove and PodGroups": GROVE_AND_PODGROUPS,
    "objects beside workloads, Lists, Pods and Notebooks": COMPANIONS,
    "labels and annotations": KEYS,
    "YAML": YAML,
}
SLIPS = [
    pytest.param(*row, id=f"{row[0].rpartition('/')[2]}: {row[2].strip()}") for rows in ALL.values() for row in rows
]


@pytest.mark.parametrize(("file", "old", "new", "words"), SLIPS)
def test_finding_at_its_line(tmp_path: Path, file: str, old: str, new: str, words: str) -> None:
    path, text = f"{file}.yaml", FILES[f"{file}.yaml"]
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    found = findings(tmp_path, {**FILES, path: text.replace(old, new, 1)})
    assert {(item["location"]["path"], item["location"]["line"]) for item in found} == {(path, line)}, found
    said = " ".join(f"{item['message']} {item['hint']}" for item in found).casefold()
    assert [word for word in words.casefold().split() if word not in said] == [], said


def test_none_without_a_slip(tmp_path: Path) -> None:
    assert findings(tmp_path, FILES) == []


def findings(root: Path, files: dict[str, str]) -> list[dict[str, object]]:
    """What ``validate`` says of a repository, notes aside; it fails with ``--strict`` where that is anything."""
    result = kubectl_tas("validate", "--strict", "-o", "json", "-C", write(root, files))
    found = [item for item in json.loads(result.out)["diagnostics"] if item["severity"] != "info"]
    assert result.code == (1 if found else 0)
    return found
