"""Measures processor time and memory of commands on a large repository, as ratios within one run.

Writes a repository into a temporary folder, with two commits that differ in one workflow. Each row is a ratio of median
processor times. A command counts with all its processes. It is compared with ruamel.yaml's C-based safe loader, which
loads the same files in one process, or with ``python -c pass``. ``validate`` of as many indexed Jobs, in files of their
own, is compared with kubeconform: the one on the PATH, or one that ``go install`` gets.

    python bench/fleet.py                                   # 600 workflows; some minutes
    python bench/fleet.py --workflows 5000 --pools 100      # a large fleet
    python bench/fleet.py --only diff                       # the rows with "diff" in their names
    python bench/fleet.py --schemas '/schemas/{{.ResourceKind}}{{.KindSuffix}}.json'      # schemas for kubeconform
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {{name: pool-{pool:03}}}
spec:
  description: Benchmark pool {pool}
  resources:
    gpu: {{guarantee: {quota}, maximum: -1, weight: 1}}
  topology_keys:
  - {{key: zone, label: topology.kubernetes.io/zone}}
  - {{key: spine, label: topology.kubernetes.io/spine}}
  - {{key: rack, label: topology.kubernetes.io/rack}}
  - {{key: gpu-clique, label: nvidia.com/gpu.clique}}
"""
SUBPOOL = """\
apiVersion: tas/v1alpha1
kind: Subpool
metadata: {{name: sub-{subpool}}}
spec: {{parent: pool-{pool:03}, quota: {quota}}}
"""
WORKFLOW = """\
workflow:
  name: train-{workflow:05}
  pool: pool-{pool:03}--sub-{subpool}
  priority: {priority}
  groups:
  - name: workers
    tasks:
{tasks}resources:
{resources}"""
TASK = """\
    - name: model{model}-shard{shard}
      image: nvcr.io/nvidia/pytorch:25.10-py3
      command: [torchrun, train.py]
      args: [--shard, "{shard}"]
      resource: model-{model}
"""
RESOURCE = """\
  model-{model}:
    cpu: 8
    memory: 64Gi
    gpu: {gpus}
    topology:
    - {{key: {key}, group: model-{model}-group}}
    - {{key: zone, group: workflow-group}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep-{job:05}
  labels: {{kubectl-tas/pool: pool-000--sub-0, kubectl-tas/priority: LOW}}
spec:
  completions: {pods}
  parallelism: {pods}
  completionMode: Indexed
  backoffLimit: 0
  template:
    metadata:
      labels: {{app: sweep-{job:05}}}
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:25.10-py3
        command: [torchrun, train.py]
        args: [--seed, "{job}"]
        env:
        - {{name: NCCL_DEBUG, value: INFO}}
        resources:
          limits: {{nvidia.com/gpu: {gpus}, cpu: "16", memory: 64Gi}}
"""
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of an installed tool: Python compiles a module once, not at each start."""
LOAD = """
import pathlib, sys
from ruamel.yaml import YAML
for path in sorted(pathlib.Path(sys.argv[1]).glob("[psw]*/*.yaml")):
    list(YAML(typ="safe").load_all(path.read_bytes()))
"""
EVENTS = """
import pathlib, sys
from _ruamel_yaml import CParser
for path in sorted(pathlib.Path(sys.argv[1]).glob("[psw]*/*.yaml")):
    parser = CParser(path.read_text())
    while parser.check_event():
        parser.get_event()
"""


def write_repository(root: Path, pools: int, workflows: int, seed: int = 1) -> None:
    """Writes ``pools`` pools with 3 subpools each, and ``workflows`` workflows of 4, 8 or 12 tasks."""
    chance = random.Random(seed)
    quota = 100 * (workflows // pools + 1)
    for folder in ("pools", "subpools", "workflows"):
        (root / folder).mkdir(parents=True)
    (root / "tas.yaml").write_text("apiVersion: tas/v1alpha1\nkind: Config\n")
    for pool in range(pools):
        (root / f"pools/pool-{pool:03}.yaml").write_text(POOL.format(pool=pool, quota=3 * quota))
        for subpool in range(3):
            text = SUBPOOL.format(pool=pool, subpool=subpool, quota=quota)
            (root / f"subpools/pool-{pool:03}-sub-{subpool}.yaml").write_text(text)
    for workflow in range(workflows):
        shards, key, gpus = chance.choice((2, 4, 6)), chance.choice(("gpu-clique", "rack")), chance.choice((1, 4, 8))
        text = WORKFLOW.format(
            workflow=workflow,
            pool=chance.randrange(pools),
            subpool=chance.randrange(3),
            priority=chance.choice(("HIGH", "NORMAL", "LOW")),
            tasks="".join(TASK.format(model=model, shard=shard) for model in (1, 2) for shard in range(shards)),
            resources="".join(RESOURCE.format(model=model, key=key, gpus=gpus) for model in (1, 2)),
        )
        (root / f"workflows/train-{workflow:05}.yaml").write_text(text)


def write_jobs(root: Path, jobs: int, seed: int = 1) -> None:
    """Writes a pool, and ``jobs`` indexed Jobs in files of their own."""
    write_repository(root, 1, 0)
    chance = random.Random(seed)
    for job in range(jobs):
        text = JOB.format(job=job, pods=chance.choice((2, 4, 8)), gpus=chance.choice((1, 4, 8)))
        (root / f"workflows/sweep-{job:05}.yaml").write_text(text)


EDIT = """
import asyncio, os, sys
from pathlib import Path
from lsprotocol import types
from pygls.lsp.client import LanguageClient

file = Path(sys.argv[1], "workflows/train-00000.yaml")
text, uri = file.read_text(), file.as_uri()

def taken(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

async def idle(pid):
    before = -1
    while taken(pid) != before:
        before = taken(pid)
        await asyncio.sleep(5)
    return before

async def main():
    client, published = LanguageClient("bench", "1"), asyncio.Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params):
        if (params.uri, params.version) == (uri, 2):
            published.set()

    await client.start_io(sys.executable, "-m", "kubectl_tas", "lsp")
    pid = client._server.pid
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=file.parent.as_uri()))
    client.initialized(types.InitializedParams())
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text)))
    before = await idle(pid)
    change = types.TextDocumentContentChangeWholeDocument(text.replace("train.py", "edited.py"))
    document = types.VersionedTextDocumentIdentifier(2, uri)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
    await published.wait()
    print(taken(pid) - before, await idle(pid) - before)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()

asyncio.run(main())
"""
"""A client of the language server. Prints the server's processor time until one edit is answered, then fully judged."""


@dataclass(frozen=True)
class Taken:
    """Resources that a command used."""

    processor: float
    """Seconds of all processes of the command."""
    wall: float
    largest: float
    """Peak memory in MiB of the largest process."""
    together: float
    """Peak memory in MiB of all processes together; shared memory counts once. 0 if the system does not report it."""


def measured(command: list[str], environment: dict[str, str]) -> Taken:
    """Runs a command to its end. Exits if the command fails."""
    started, together, pid = time.perf_counter(), 0.0, 0
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not pid:
        looked = time.perf_counter()
        together = max(together, sum(map(memory, family(process.pid))))
        time.sleep(max(0.01, 20 * (time.perf_counter() - looked)))  # a look takes a processor, and holds the process up
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > ("diff" in command):  # it exits 1 where anything differs
        sys.exit(f"{' '.join(command)}: {process.stderr.read().decode() if process.stderr else ''}")
    return Taken(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, together)


def family(pid: int) -> list[int]:
    """Returns a process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    except OSError:
        return []


def memory(pid: int) -> float:
    """Returns the memory of a process in MiB, with its part of shared memory; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def in_order(root: str, folder: str = "") -> Iterator[str]:
    """Yields the files below a folder, by path from ``root``, in the order of git's index. It holds one folder at a
    time, since the measured memory of a command is never less than the memory of this process.
    """
    for path in sorted(f"{folder}{item.name}{'/' * item.is_dir()}" for item in os.scandir(f"{root}/{folder}")):
        if not path.endswith("/"):
            yield path
        elif path != ".git/":
            yield from in_order(root, path)


class Fleet:
    """A repository, with the data that commands keep between runs."""

    def __init__(self, folder: Path, pools: int, workflows: int, seed: int) -> None:
        self.root, self.small, self.site = folder / "root", folder / "small", folder / "site"
        self.jobs = folder / "jobs"
        self._kept, self._new, self._aside = folder / "kept", folder / "new", folder / "aside"
        self._aside.mkdir()
        self._edits = 0
        write_repository(self.root, pools, workflows, seed)
        write_repository(self.small, 1, 2, seed)
        write_jobs(self.jobs, workflows, seed)
        self.run(["render"])
        self.git("init", "--quiet")
        self.git("config", "gc.auto", "0")  # git would go on in the background, also while the folder is removed
        self.git("config", "maintenance.auto", "false")
        self._add()
        self._commit("first")
        self.edit("workflows/train-00000.yaml", "train.py")
        self.run(["render"])
        self.git("add", ".")
        self._commit("second")

    def run(self, words: list[str], *, is_cold: bool = False) -> Taken:
        """Runs a command in the repository."""
        if is_cold:
            shutil.rmtree(self._new, ignore_errors=True)
        os.chdir(self.root)
        kept = str(self._new if is_cold else self._kept)
        return measured([sys.executable, "-m", "kubectl_tas", *words], {**ENVIRONMENT, "XDG_CACHE_HOME": kept})

    def put_aside(self) -> None:
        """Moves the manifests away without deleting them. ext4 reuses the number of a deleted file only after a minute
        or more, and checks each such number whenever it makes a file.
        """
        (self.root / "manifests").rename(self._aside / str(len(list(self._aside.iterdir()))))

    def edit(self, path: str, word: str) -> None:
        """Gives a file a content that it never had."""
        self._edits += 1
        file = self.root / path
        file.write_text(file.read_text().replace(word, f"{word}-{self._edits}", 1))

    def _add(self) -> None:
        """Adds all files like ``git add .``, but as one pack: 900,000 loose manifests would take a disk block each."""
        packing, listing = (
            subprocess.Popen(["git", "-C", self.root, *words], stdin=subprocess.PIPE)
            for words in (["fast-import", "--quiet"], ["update-index", "--index-info"])
        )
        assert packing.stdin
        assert listing.stdin
        for path in in_order(str(self.root)):
            content = (self.root / path).read_bytes()
            packing.stdin.write(b"blob\ndata %d\n%s\n" % (len(content), content))
            name = hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()
            listing.stdin.write(b"100644 %s\t%s\n" % (name.encode(), path.encode()))
        packing.communicate()
        listing.communicate()
        if packing.returncode or listing.returncode:
            sys.exit("git did not take the files of the benchmark")

    def _commit(self, message: str) -> None:
        self.git("-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "-m", message)

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.root), *words], check=True)


@dataclass(frozen=True)
class Row:
    """A command, and the state of the repository when it runs."""

    name: str
    command: str
    goal: float
    """Goal for the ratio; 0 if there is none."""
    before: str = "kept"
    """cold: nothing is kept; kept: data of an earlier run; workflow, pool: also, one of these was edited."""
    unit: str = "loads"
    """What the command is compared with: ``loads``, ``starts`` of Python, or ``kubeconforms``."""

    def take(self, fleet: Fleet) -> Taken:
        """Runs the command once."""
        words = self.command.format(small=fleet.small, site=fleet.site, jobs=fleet.jobs).split()
        fleet.git("checkout", "--quiet", "--", ".")
        fleet.git("clean", "--quiet", "-fd")  # what an edit was rendered to
        if self.before == "cold":
            shutil.rmtree(fleet.site, ignore_errors=True)
            if words[0] == "render":
                fleet.put_aside()
        elif self.unit == "loads":
            fleet.run(words)
        if self.before == "workflow":
            fleet.edit("workflows/train-00000.yaml", "train.py")
        elif self.before == "pool":
            fleet.edit("pools/pool-000.yaml", "Benchmark")
        return fleet.run(words, is_cold=self.before == "cold")


ROWS = (
    Row("validate, cold", "validate", 0.35, "cold"),
    Row("render, cold", "render", 1.0, "cold"),
    Row("validate, nothing changed", "validate", 0.1),
    Row("render, nothing changed", "render", 0.1),
    Row("check, nothing changed", "check", 0.1),
    Row("validate, one workflow changed", "validate", 0.12, "workflow"),
    Row("render, one workflow changed", "render", 0.12, "workflow"),
    Row("validate --base, one workflow changed", "validate --base HEAD~1", 0.12, "workflow"),
    Row("render, one pool changed", "render", 0.0, "pool"),
    Row("diff --base, cold", "diff --base HEAD~1", 1.5, "cold"),
    Row("diff --base, one workflow changed", "diff --base HEAD~1", 0.2, "workflow"),
    Row("report", "report --to {site}", 0.8, "cold"),
    Row("validate of Jobs, cold", "validate -C {jobs}", 2.0, "cold", unit="kubeconforms"),
    Row("validate of six files", "validate -C {small}", 12.0, unit="starts"),
    Row("--version", "--version", 4.0, unit="starts"),
    Row("rule CODE", "rule quota-shared", 8.0, unit="starts"),
)


def kubeconform(folder: Path, jobs: Path, schemas: str) -> list[str] | None:
    """Returns the command that checks the Jobs by schemas on disk; None without kubeconform or its schema of Jobs."""
    found = shutil.which("kubeconform")
    if found is None and shutil.which("go"):
        subprocess.run(["go", "install", KUBECONFORM], env={**ENVIRONMENT, "GOBIN": str(folder)}, check=False)
        found = str(folder / "kubeconform") if (folder / "kubeconform").exists() else None
    (folder / "schemas").mkdir()
    options = ["-strict", "-n", "2", "-cache", str(folder / "schemas"), "-schema-location", schemas, str(jobs)]
    if found is None or subprocess.run([found, *options], check=False, capture_output=True).returncode:
        return None
    return [found, *options]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--workflows", 600), ("--pools", 20), ("--seed", 1), ("--runs", 3)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--only", metavar="NAME", default="")
    parser.add_argument("--schemas", metavar="LOCATION", default="default", help="-schema-location of kubeconform")
    options = parser.parse_args()
    rows = [row for row in ROWS if options.only in row.name]
    loads, events, starts, conforms, edits = [], [], [], [], []
    taken: dict[str, list[Taken]] = {row.name: [] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder), options.pools, options.workflows, options.seed)
        conform = kubeconform(Path(folder), fleet.jobs / "workflows", options.schemas)
        rows = [row for row in rows if conform or row.unit != "kubeconforms"]
        for _ in range(options.runs):
            loads.append(measured([sys.executable, "-c", LOAD, str(fleet.root)], ENVIRONMENT))
            events.append(measured([sys.executable, "-c", EVENTS, str(fleet.root)], ENVIRONMENT))
            starts.append(measured([sys.executable, "-c", "pass"], ENVIRONMENT))
            if conform:
                conforms.append(measured(conform, ENVIRONMENT))
            for row in rows:
                taken[row.name].append(row.take(fleet))
            if "editor".startswith(options.only):
                output = subprocess.check_output([sys.executable, "-c", EDIT, str(fleet.root)], text=True)
                edits.append([float(word) for word in output.split()])
        os.chdir("/")
    load, floor, start = (statistics.median(item.processor for item in each) for each in (loads, events, starts))
    units = {"loads": load, "starts": start, "kubeconforms": statistics.median(x.processor for x in conforms or loads)}
    wall = statistics.median(item.wall for item in loads)
    print(f"{options.workflows} workflows, {options.pools} pools, seed {options.seed}, medians of {options.runs} runs")
    print(f"load: {load:.2f} s of processor time; python -c pass: {start:.3f} s; {os.cpu_count()} processors")
    print(
        f"kubeconform: {units['kubeconforms']:.2f} s\n" if conform else "no kubeconform, or no schema of Jobs for it\n"
    )
    print("| command | ratio | goal | largest process, MiB | all processes, MiB |\n| --- | --- | --- | --- | --- |")
    print(f"| libyaml's events of the same files, in one process | {floor / load:.2f} loads | | | |")
    for row in rows:
        runs = taken[row.name]
        ratio = statistics.median(item.processor for item in runs) / units[row.unit]
        most = [max(item.largest for item in runs), max(item.together for item in runs)]
        goal = f"{row.goal:g}" if row.goal else ""
        print(f"| {row.name} | {ratio:.2f} {row.unit} | {goal} | {most[0]:.0f} | {most[1] or float('nan'):.0f} |")
        if row.name == "render, cold":
            ratio = statistics.median(item.wall for item in runs) / wall
            print(f"| {row.name}: time on the clock | {ratio:.2f} loads | {goal} | | |")
    if "editor".startswith(options.only):
        answered, judged = (statistics.median(column) for column in zip(*edits, strict=True))
        print(f"| the editor: one edit, until it is answered | {answered:.2f} s | 0.1 | | |")
        print(f"| the editor: until all files are judged, in the background | {judged:.2f} s | | | |")
    print("\nThe goal for memory is 400 MiB.")


if __name__ == "__main__":
    main()
