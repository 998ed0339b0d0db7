"""Makes a case from a seed and a number: a damaged repository."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import yaml

from fuzz import corpus, readers

MAX_BYTES = 120_000
"""Maximum number of bytes of a mutated file. Another test covers larger files."""
MAX_LONG = 5_000

SCALARS = (
    # words and numbers that YAML 1.1 and 1.2 read apart
    *(
        "y",
        "n",
        "yes",
        "No",
        "on",
        "OFF",
        "010",
        "0o17",
        "0o8",
        "0b11",
        "0x1F",
        "1_000",
        "1e3",
        "1.e+3",
        "1E400",
        "1:30",
    ),
    *(
        "190:20:30",
        "2024-01-01",
        "2001-12-14t21:59:43.10-05:00",
        ".inf",
        "-.INF",
        ".nan",
        "+1",
        "-0",
        "08",
        "0.10",
        "._1",
    ),
    *("=", "<<", "~", "null", "Null", "NULL", "", "true", "True", "TRUE", "false", "!!str 1", "!!binary aGk=", "!e x"),
    # numbers at the borders
    *("0", "1", "-1", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808"),
    *(
        "18446744073709551616",
        "999999999999999999",
        "1000000000000000000",
        "2000000000",
        "1" * 400,
        "1.5",
        "4.0",
        "-2147483649",
    ),
    # quoted and escaped
    *(
        '""',
        "''",
        '" "',
        '"\\0"',
        '"\\x1b[31m"',
        '"\\e]0;x\\a"',
        '"\\r"',
        '"a\\nb"',
        '"\\N"',
        '"\\u2028"',
        '"\\ud83d\\ude00"',
    ),
    *(
        '"\\ud800"',
        '"\\uFEFF"',
        '"\\u0085"',
        '"\\t"',
        '"\\\\"',
        "'it''s'",
        "'010'",
        "'y'",
        '"---"',
        '"\\u202e"',
        '"{{ x }}"',
    ),
    # unicode
    *(
        "é",
        "日本語",
        "\u202eabc",
        "\u200b",
        "İ",
        "ß",
        "ﬁ",
        "\u00a0",
        "\u0085",
        "\u2028",
        "😀",
        "e\u0301",
        "\ufeff",
        "K",
    ),
    # YAML's own signs
    *(
        "*a",
        "&a x",
        "*",
        "&",
        "!",
        "!!",
        "%",
        "@",
        "`",
        "|",
        ">",
        "|-",
        ">+2",
        "- x",
        "? x",
        "[",
        "{",
        "[]",
        "{}",
        "{a: b}",
    ),
    *("[a, b]", "{image: python:3.13}", "{a:b}", "#", "x # y", ": ", "a: b", "'", '"', "---", "...", "\t", "&a [*a]"),
    # names
    *(
        "a--b",
        "A",
        "-",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        ".git",
        "a\\b",
        "a b",
        "CON",
        "team",
        "default",
        "a" * 63,
    ),
    *(
        "a" * 64,
        "a" * 253,
        "a" * 300,
        "x" * MAX_LONG,
        "a.b",
        "kai.scheduler/queue",
        "x/y/z",
        "%s",
        "{0}",
        "${X}",
        "$(id)",
    ),
    *(
        "33%",
        "0%",
        "101%",
        "1e3%",
        "5Gi",
        "5GiB",
        "0.5",
        "500m",
        "1k",
        "-1Gi",
        "1Ei",
        "10s",
        "0s",
        "99999h",
        "HIGH",
        "Gang",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        16,
        64,
        2**31 - 1,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        10**18,
        10**30,
        0.5,
        4.0,
        1e300,
    ),
    *(
        "",
        " ",
        "a",
        "y",
        "010",
        "1e3",
        "\0",
        "\r",
        "\n",
        "\x1b[2J",
        "\u0085",
        "\u2028",
        "\ud800",
        "é",
        "a" * 300,
        "x" * MAX_LONG,
    ),
    *(
        "2024-01-01",
        "<<",
        "null",
        "1",
        "-1",
        "true",
        "a--b",
        "../x",
        "*",
        "33%",
        "0%",
        "=",
        "~",
        "0o17",
        "1_0",
        "😀",
        "---",
        "- a",
    ),
    *([], {}, [[]], [{}], [None], {"": "x"}, {"a": None}, {"<<": {"a": 1}}, {"y": 1}, {"1": 2}, [1, "1"], {"a": [1]}),
)
BLOCKS = (
    *(
        "|\n  a\n  b",
        "|-\n  ---\n  a",
        ">\n  a\n\n  b",
        "|2\n    a",
        "|+\n  a\n\n",
        ">-\n  a\n   b",
        '"a\n  b"',
        "'a\n\n  b'",
        "a\n  b",
    ),
    *(
        "\n  a: 1\n  <<: {a: 2, b: 3}",
        "\n  a: &m {c: 1}\n  d: {<<: *m}",
        "\n  - 1\n  - [a, {b: c}]",
        "\n  ? a\n  : b",
        "|\n  a\r  b",
    ),
    *(
        '"a\\\n  b"',
        "|\n  \u2028",
        "{a: 1, a: 2}",
        "{<<: [{a: 1}, {a: 2}]}",
        "&x 1",
        "\n  &y a: *x",
        "# c\n  a",
        "|\n  x\u0085  y",
        ">\n\n  a",
    ),
)
KEYS = (
    *(
        "",
        "<<",
        "=",
        "y",
        "1",
        "null",
        "~",
        "a b",
        "a" * 64,
        "é",
        "metadata",
        "spec",
        "name",
        "labels",
        "kind",
        "namespace",
    ),
    *(
        "apiVersion",
        "annotations",
        "status",
        "generateName",
        "\x1b[m",
        "a\nb",
        "---",
        "010",
        "on",
        "kai.scheduler/queue",
    ),
)
NAMES = (
    *(
        "a\nb.yaml",
        "\x1b[31m.yaml",
        "é.yaml",
        "a b.yaml",
        "#.yaml",
        "a: b.yaml",
        ".hidden.yaml",
        "a.json",
        "a.yml",
        "a.YAML",
    ),
    *(
        "x" * 240 + ".yaml",
        "\u202e.yaml",
        "-rf.yaml",
        "%.yaml",
        "a\\b.yaml",
        "'.yaml",
        '".yaml',
        "kustomization.yaml",
        "\udcff.yaml",
    ),
)
BYTES: tuple[bytes, ...] = (
    b"\0",
    b"\r",
    b"\n",
    b"\t",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x1b",
    b"\xed\xa0\x80",
)
BYTES += (
    b"- ",
    b": ",
    b"#",
    b"'",
    b'"',
    b"---\n",
    b"...\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"&a ",
    b"*a",
    b"!!x ",
    b"%YAML 1.1\n---\n",
)
BYTES += (
    b"\n<<: *a\n",
    b"| \n",
    b"\\",
    b"\r\n",
    b"{{",
    b"\xf0\x9f\x98\x80",
    b"? ",
    b"---x: y\n",
    b"--- # c\n",
    b"\x7f",
    b" ",
)

_TOKEN = re.compile(r"[\w./-]+|\s+|.", re.DOTALL)
_VALUE = re.compile(r"(?P<head>(?:[:\-] |[\[{,] ?))(?P<value>[^\s,\]}#][^\n,\]}#]*)")
_KEY = re.compile(r"(?P<lead>^[ -]*|[{,] *)(?P<key>[\w./\"'-]+)(?P<colon>:(?= |$))", re.MULTILINE)

Mutator = Callable[[Random, str], str]


@dataclass(frozen=True)
class Case:
    """A repository to judge."""

    number: int
    origin: str
    """Name of the repository that was damaged."""
    steps: tuple[str, ...]
    """The mutations of the case."""
    files: dict[str, bytes]
    base: dict[str, bytes]
    cluster: bytes
    commands: bool
    """Whether whole commands run, and not only validation and rendering in memory."""


COMMANDS = 0.04
"""The share of cases with whole commands."""


CLEAN = 0.7
"""The share of cases that start from a repository without findings. Others seldom render."""


def case(seed: int, number: int) -> Case:
    """Returns the case with this number. It depends only on the seed and the number."""
    random = Random(f"{seed}:{number}")
    pool = corpus.clean() if random.random() < CLEAN else corpus.repositories()
    origin = min(random.choices(pool, k=random.choice((1, 3))), key=corpus.size)  # small ones are tried more often
    files, base, cluster = dict(origin.files), dict(origin.base), origin.cluster
    commands = random.random() < COMMANDS
    steps = []
    for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3, 5))):
        path = random.choice(sorted(files))
        name, content = damage(random, path, files[path])
        files[path] = content[:MAX_BYTES]
        steps.append(f"{name} {path}")
    if random.random() < 0.02:
        path = random.choice(sorted(files))
        new = f"{path.rpartition('/')[0] or 'workflows'}/{random.choice(NAMES)}"
        files[new] = files.pop(path)
        steps.append(f"rename {path}")
    if commands:
        base, cluster = _beside(random, files, base, cluster)
    return Case(number, origin.name, tuple(steps), files, base, cluster, commands)


def _beside(
    random: Random, files: dict[str, bytes], base: dict[str, bytes], cluster: bytes
) -> tuple[dict[str, bytes], bytes]:
    """Returns the earlier revision and the cluster state for commands, some of them damaged."""
    base = dict(base or random.choice((files, random.choice(corpus.repositories()).files)))
    if random.random() < 0.6:
        path = random.choice(sorted(base))
        base[path] = damage(random, path, base[path])[1][:MAX_BYTES]
    cluster = cluster or random.choice(corpus.clusters())
    if random.random() < 0.8:
        cluster = damage(random, "cluster.json", cluster)[1]
    return base, cluster


def damage(random: Random, path: str, content: bytes) -> tuple[str, bytes]:
    """Returns the name of a random mutation and the mutated content."""
    if random.random() < 0.12:
        return "bytes", _bytes(random, content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes", _bytes(random, content)
    mutator = random.choices(MUTATORS, WEIGHTS)[0]
    changed = mutator(random, text) if mutator is not _data else _data(random, text, json_=path.endswith(".json"))
    return mutator.__name__.strip("_"), changed.encode("utf-8", "surrogatepass")


def _bytes(random: Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << random.randrange(8)
            case 1:
                data[at:at] = random.choice(BYTES)
            case 2:
                del data[at : at + random.choice((1, 2, 8, 64))]
            case 3:
                data[at:at] = data[at : at + random.choice((1, 8, 64))]
            case _:
                data[at : at + 1] = bytes((random.randrange(256),))
    return bytes(data)


def _tokens(random: Random, text: str) -> str:
    tokens = _TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 2, 4))):
        if not tokens:
            break
        at = random.randrange(len(tokens))
        match random.randrange(4):
            case 0:
                tokens[at] = random.choice(SCALARS)
            case 1:
                del tokens[at]
            case 2:
                tokens.insert(at, random.choice(tokens))
            case _:
                other = random.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def _lines(random: Random, text: str) -> str:
    lines = text.split("\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(lines))
        match random.randrange(7):
            case 0 if len(lines) > 1:
                del lines[at : at + random.choice((1, 1, 2, 5))]
            case 1:
                lines[at:at] = lines[at : at + random.choice((1, 1, 3))]
            case 2:
                lines[at] = random.choice(("  ", " ", "\t", "- ", "# ", "? ")) + lines[at]
            case 3:
                lines[at] = lines[at][random.choice((1, 2)) :]
            case 4:
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 5:
                lines[at : at + 1] = [lines[at][: random.randrange(len(lines[at]) + 1)], lines[at]]
            case _:
                lines.insert(
                    at, random.choice(random.choice(corpus.documents()).decode("utf-8", "replace").split("\n"))
                )
        lines = lines or [""]
    return "\n".join(lines)


def _scalars(random: Random, text: str) -> str:
    """Replaces values by other words."""
    found = list(_VALUE.finditer(text))
    if not found:
        return text
    for match in sorted(
        random.sample(found, min(len(found), random.choice((1, 1, 1, 2, 3)))), key=_start, reverse=True
    ):
        old, new = match["value"], random.choice(SCALARS)
        match random.randrange(8):
            case 0:
                new = random.choice(
                    (f'"{old}"', f"'{old}'", f"!!str {old}", f"! {old}", f"&a {old}", f"{old} # x", f"{old}\t")
                )
            case 1:
                new = random.choice(found)["value"]
            case 2:
                new = old + random.choice(("0", "--x", "-", " ", ":", "/", ".", "é", "\r", "\u0085", "x" * 60))
        text = text[: match.start("value")] + new + text[match.end("value") :]
    return text


def _keys(random: Random, text: str) -> str:
    """Changes the spelling of a key, or replaces it by another key."""
    found = list(_KEY.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    key, other = match["key"], random.choice(found)["key"]
    choices = (
        f'"{key}"',
        f"'{key}'",
        f"!!str {key}",
        f"! {key}",
        f"&k {key}",
        f"? {key}\n",
        key.upper(),
        f"{key}s",
        key[:-1],
        f"{key} ",
    )
    new = random.choice((other, random.choice(choices), random.choice(choices), random.choice(KEYS)))
    return text[: match.start("key")] + new + text[match.end("key") :]


def _merges(random: Random, text: str) -> str:
    """Adds an anchor, and elsewhere an alias or a merge key."""
    lines = text.split("\n")
    keyed = [at for at, line in enumerate(lines) if line.rstrip().endswith(":")]
    if not keyed:
        return text
    anchor = random.choice(keyed)
    lines[anchor] = f"{lines[anchor].rstrip()} &m"
    at = random.randrange(anchor, len(lines))
    indent = re.match(r" *(?:- )?", lines[at])
    space = " " * (len(indent[0]) if indent else 0)
    new = random.choice(
        ("<<: *m", "<<: [*m, *m]", "'<<': *m", "x: *m", "<<: {name: y}", "<<: {queue: other, labels: {a: b}}")
    )
    lines.insert(at + random.choice((0, 1)), space + new)
    return "\n".join(lines)


def _free(random: Random, text: str) -> str:
    """Adds an entry to a mapping, usually to one that accepts any keys."""
    lines = text.split("\n")
    heads = [at for at, line in enumerate(lines) if line.rstrip().endswith(":")]
    loose = [
        at
        for at in heads
        if lines[at].strip() in ("annotations:", "labels:", "environment:", "metadata:", "env:", "args:")
    ]
    if not heads:
        return text
    at = random.choice(loose if loose and random.random() < 0.6 else heads)
    following = lines[at + 1] if at + 1 < len(lines) else ""
    body = following.lstrip(" ")
    indent = " " * (len(following) - len(body))
    value = random.choice(SCALARS) if random.random() < 0.8 else random.choice(BLOCKS).replace("\n", f"\n{indent}")
    key = f"x{random.randrange(9)}" if random.random() < 0.6 else random.choice(KEYS + SCALARS)
    entry = f"- {value}" if body.startswith("- ") else f"{key}: {value}"
    lines.insert(at + 1, indent + entry)
    return "\n".join(lines)


def _splice(random: Random, text: str) -> str:
    """Joins the beginning of one document with the end of another, or one document after the other."""
    other = random.choice(corpus.documents()).decode("utf-8", "replace")
    match random.randrange(4):
        case 0:
            return f"{text}\n---\n{other}"
        case 1:
            lines, others = text.split("\n"), other.split("\n")
            return "\n".join(lines[: random.randrange(len(lines) + 1)] + others[random.randrange(len(others)) :])
        case 2:
            at, begin = random.randrange(len(text) + 1), random.randrange(len(other) + 1)
            return text[:at] + other[begin : begin + random.choice((10, 100, 1000))] + text[at:]
        case _:
            return text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]


def _style(random: Random, text: str) -> str:
    """Rewrites the text with other line ends, markers, directives or indentation, or as JSON."""
    match random.randrange(12):
        case 0:
            return text.replace("\n", "\r\n")
        case 1:
            return text.replace("\n", "\r", random.choice((1, 3, -1)))
        case 2:
            return "\ufeff" + text
        case 3:
            return (
                random.choice(
                    ("%YAML 1.1\n---\n", "%YAML 1.2\n---\n", "%TAG ! tag:x,2000:\n---\n", "---\n", "--- # c\n", "# c\n")
                )
                + text
            )
        case 4:
            return text + random.choice(
                ("...\n", "\n---\n", "--- ", "\n# end", "\x00", "\t", "---\n---\n", "...\n# x\n---\n{}\n")
            )
        case 5:
            return text.replace(
                "\n", random.choice(("\n\n", "\u0085", "\u2028", " \n", " # c\n", "\t\n")), random.choice((1, 5, -1))
            )
        case 6:
            return text.replace("  ", random.choice((" ", "   ", "\t", "    ")))
        case 7:
            return text.rstrip("\n")
        case 8:
            return re.sub(r"(?<=\n)([ -]*)([\w./-]+): *([\w./-]+)(?=\n)", lambda found: _dressed(random, found), text)
        case _:
            loaded = _loaded(text)
            return text if loaded is None else _dumped(loaded, random)


def _dressed(random: Random, found: re.Match[str]) -> str:
    """Rewrites an entry, usually with the same meaning."""
    lead, key, value = found.groups()
    choices = (
        f"{key}: {value}",
        f'"{key}": {value}',
        f"{key}:   {value} # c",
        f"{key}:\n{' ' * len(lead)}  {value}",
        f"? {key}\n{' ' * len(lead)}: {value}",
    )
    return lead + random.choice((choices[0], *choices))


def _data(random: Random, text: str, *, json_: bool = False) -> str:
    """Changes data: another type at a key path, a removed, doubled or renamed key, or a branch of another document."""
    loaded = _loaded(text)
    if loaded is None:
        return _scalars(random, text)
    documents: list[Any] = json.loads(loaded)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(documents))
        if not places:
            return ""
        holder, step = random.choice(places)
        value = holder[step]
        match random.randrange(8):
            case 0 | 1 | 2:
                holder[step] = json.loads(json.dumps(random.choice(VALUES)))
            case 3:
                del holder[step]
            case 4 if isinstance(holder, dict):
                holder[random.choice(KEYS)] = holder.pop(step)
            case 4 | 5:
                holder[step] = random.choice(
                    ([value], {"a": value}, [value, value], str(value), {str(value)[:80]: value})
                )
            case 6:
                taken, where = random.choice(list(_places(_other(random))) or [([None], 0)])
                holder[step] = taken[where]
            case _:
                if isinstance(value, list) and value:
                    value += json.loads(json.dumps(value)) * random.choice((1, 1, 3, 20))
                elif isinstance(value, dict):
                    value[random.choice(KEYS)] = json.loads(json.dumps(random.choice(VALUES)))
                elif isinstance(value, int):
                    holder[step] = value * random.choice((-1, 10, 1000, 10**6, 10**9)) + random.choice((-1, 0, 1))
    if json_ and documents:
        return json.dumps(documents[0], ensure_ascii=random.random() < 0.5, indent=random.choice((None, 2)))
    return _dumped(json.dumps(documents), random)


def _start(match: re.Match[str]) -> int:
    return match.start()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every container below ``value``, with each of its keys or indices."""
    steps = value if isinstance(value, dict) else range(len(value))
    for step in steps:
        yield value, step
        if isinstance(value[step], (dict, list)):
            yield from _places(value[step])


def _other(random: Random) -> Any:
    loaded = _loaded(random.choice(corpus.documents()).decode("utf-8", "replace"))
    return json.loads(loaded) if loaded else []


@lru_cache(maxsize=2048)
def _loaded(text: str) -> str | None:
    """Returns the documents of a text as JSON; None if the text is not YAML."""
    try:
        loaded = json.dumps([readers.read(node, readers.YAML_12) for node in readers.compose(text)])
    except (readers.UnreadableError, ValueError, RecursionError):
        return None
    return loaded if len(loaded) <= MAX_BYTES else None


class _Dumper(yaml.CSafeDumper):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dumped(loaded: str, random: Random) -> str:
    """Writes documents as YAML in one of several styles."""
    documents = json.loads(loaded)
    if random.random() < 0.1:
        return "\n---\n".join(json.dumps(item) for item in documents)
    try:
        text: str = yaml.dump_all(
            documents,
            Dumper=_Dumper,
            default_flow_style=random.choice((False, False, False, None, True)),
            default_style=random.choice((None, None, None, None, "'", '"')),
            allow_unicode=random.random() < 0.5,
            sort_keys=False,
            width=random.choice((40, 120, 10**6)),
        )
    except (yaml.YAMLError, UnicodeEncodeError):
        return "\n---\n".join(json.dumps(item) for item in documents)
    return text


MUTATORS: tuple[Mutator, ...] = (_tokens, _lines, _scalars, _keys, _merges, _free, _splice, _style, _data)
WEIGHTS = (8, 10, 18, 6, 7, 20, 6, 8, 20)
