"""Fuzzes with repositories that reach new code, judged as in ``mutate``: ``python -m fuzz.coverage_guided``.

Needs atheris (``pip install '.[fuzz]'``). libFuzzer runs in a child process. The parent reports its findings, and
restarts it after an input that hangs or uses too much memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

MARK = b"\n#=== "
"""Separator before the path of every file but the first, in a repository packed into bytes."""
MAX_BYTES = 30_000
HANG = 5.0
"""Seconds of processor time after which an input counts as hanging."""
STUCK = 30
"""Wall clock seconds after which libFuzzer gives up on an input."""
MEMORY = 1024 + 256
"""Memory limit of the child in MiB: 1 GiB for an input, and the memory of the child itself."""
TOLD_EVERY = 100
TIMEOUT, OUT_OF_MEMORY = 70, 71
"""Exit codes of libFuzzer."""


def pack(files: Mapping[str, bytes]) -> bytes:
    """Packs a repository into bytes."""
    return MARK.join(path.encode("utf-8", "surrogateescape") + b"\n" + files[path] for path in sorted(files))


def unpack(data: bytes) -> dict[str, bytes]:
    """Unpacks a repository from bytes. Any bytes are valid."""
    files = {}
    for part in data.split(MARK):
        path, _, content = part.partition(b"\n")
        files[path.decode("utf-8", "replace").strip("/") or "workflows/none.yaml"] = content
    return files


def child(options: argparse.Namespace) -> None:
    """Runs libFuzzer until its time is over. Does not return."""
    import atheris

    with atheris.instrument_imports(include=["kubectl_tas"]):
        from fuzz import mutations, oracle
    folder: Path = options.folder
    counts: Counter[str] = Counter()
    found: dict[str, dict[str, str]] = {}

    def tell() -> None:
        text = json.dumps({"counts": counts, "found": found})
        (folder / "told.new").write_text(text)
        (folder / "told.new").replace(folder / "told")

    def note(key: str, kind: str, detail: str, data: bytes) -> None:
        counts[kind] += 1
        if key not in found:
            found[key] = {"kind": kind, "detail": detail, "input": data.decode("latin-1")}
            tell()

    def judge(data: bytes) -> None:
        begun = time.process_time()
        judgement = oracle.judge(unpack(data))
        counts["inputs"] += 1
        counts[judgement.outcome] += 1
        for failure in judgement.failures:
            note(failure.key, failure.kind, failure.detail, data)
        if time.process_time() - begun > HANG:
            note("hang: it ends", "hang", f"over {HANG:g} seconds", data)
        if counts["inputs"] % TOLD_EVERY == 0:
            gc.collect()
            tell()

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        """Damages one file as ``mutate`` does half of the time, otherwise uses libFuzzer's own mutation."""
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, max_size))
        files = unpack(data)
        path = random.choice(sorted(files))
        files[path] = mutations.damage(random, path, files[path])[1]
        return pack(files)[:max_size]

    arguments = [
        "fuzz",
        f"-seed={options.seed}",
        f"-max_total_time={options.seconds}",
        f"-timeout={STUCK}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={folder}/",
        "-verbosity=0",
        "-print_final_stats=1",
        str(folder / "corpus"),
    ]
    atheris.Setup(arguments, judge, custom_mutator=mutate)
    gc.disable()
    atheris.Fuzz()


def fuzz(options: argparse.Namespace, folder: Path) -> tuple[Counter[str], dict[str, dict[str, str]]]:
    """Runs children until the time is over. Returns their counts, and the first input of each failure."""
    from fuzz import corpus

    (folder / "corpus").mkdir()
    for index, item in enumerate(corpus.repositories()):
        (folder / "corpus" / f"seed-{index:03}").write_bytes(pack(item.files))
    counts: Counter[str] = Counter()
    found: dict[str, dict[str, str]] = {}
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        left = max(1, round(until - time.monotonic()))
        command = [sys.executable, "-m", "fuzz.coverage_guided", "--child", str(folder)]
        command += ["--seconds", str(left), "--seed", str(options.seed)]
        with (folder / "log").open("w") as log:
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        told = folder / "told"
        if told.is_file():
            read: Any = json.loads(told.read_text())
            counts.update(read["counts"])
            found = read["found"] | found
            told.unlink()
        if code:
            kind = {TIMEOUT: "hang", OUT_OF_MEMORY: "memory"}.get(code, "crash")
            left_over = sorted(path for path in folder.iterdir() if path.name.startswith(("timeout", "oom", "crash")))
            data = left_over[0].read_bytes() if left_over else b""
            for path in left_over:
                path.unlink()
            counts[kind] += 1
            log_text = (folder / "log").read_text(errors="replace")
            found.setdefault(
                f"{kind}: exit code {code}", {"kind": kind, "detail": log_text[-1500:], "input": data.decode("latin-1")}
            )
            if not left_over:
                break
        options.seed += 1
    return counts, found


def tell(counts: Counter[str], found: Mapping[str, Mapping[str, str]], seconds: float) -> None:
    """Prints the counts, and the first input for each distinct failure."""
    from fuzz.oracle import KINDS, OUTCOMES

    print(f"{counts['inputs']:,} inputs in {seconds:.0f} s, {counts['inputs'] / max(seconds, 0.001):.0f} a second")
    for name in OUTCOMES:
        print(f"  {counts[name]:>9,}  {name}")
    print("failures")
    for kind in KINDS:
        print(f"  {counts[kind]:>9,}  {kind}")
    for key, item in sorted(found.items()):
        print(f"\n{key}\n  " + item["detail"][-1500:].replace("\n", "\n  "))
        for path, content in unpack(item["input"].encode("latin-1")).items():
            print(f"  --- {path}\n      {content[:3000]!r}")


def main(arguments: list[str] | None = None) -> int:
    """Exits with 1 after a failure, and with 2 without atheris."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.coverage_guided", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=120, metavar="N")
    parser.add_argument("--child", dest="folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if find_spec("atheris") is None:
        print("atheris is not installed; run: pip install --editable '.[fuzz]'", file=sys.stderr)
        return 2
    if options.folder is not None:
        child(options)
        return 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        counts, found = fuzz(options, Path(folder))
    tell(counts, found, time.monotonic() - begun)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
