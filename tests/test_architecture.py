"""Tests the map of rooms: a module imports only from its own room and lower floors, and keeps to its purpose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.golden import ROOT

PACKAGE = "kubectl_tas"
FLOORS = {
    "cli": 10,
    "agents": 9,
    "editor": 9,
    "site": 9,
    "draw": 8,
    "work": 8,
    "imports": 8,
    "compile": 7,
    "check": 7,
    "compare": 7,
    "place": 7,
    "edit": 7,
    "gangs": 6,
    "resolve": 5,
    "load": 5,
    "emit": 5,
    "store": 5,
    "live": 5,
    "model": 4,
    "jinja": 4,
    "report": 4,
    "kinds": 3,
    "model.base": 2,
    "model.labels": 2,
    "facts": 1,
    "base": 0,
    "": 0,
}
"""The floor of every room, and of two modules of `model` that have words alone."""
MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


@cache
def room(module: str) -> str:
    """The room of a module such as ``kubectl_tas.load.source``; empty for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (ROOT / PACKAGE / parts[1]).is_dir() else ""


def dotted(path: Path) -> str:
    """The name of the module in a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file's syntax that tests look at, wherever in it."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """Every module that a file imports, with the line."""
    found: list[tuple[str, int]] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.append(((whole if is_module(whole) else str(node.module)), node.lineno))
    return found


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def climbs(module: str, imported: str) -> bool:
    """Whether one module may not import another: it lies in another room that is no floor below."""
    if imported.split(".")[0] != PACKAGE:
        return False
    return room(module) != room(imported) and floor(imported) >= floor(module)


def floor(module: str) -> int:
    """The floor of a module: its own, or that of its room."""
    return FLOORS.get(module.removeprefix(f"{PACKAGE}."), FLOORS[room(module)])


def within_the_package(path: Path) -> set[str]:
    """The modules of the package that a file imports; a package counts as its own module."""
    return {name for name, _ in imports(path) if name.split(".")[0] == PACKAGE and is_module(name)}


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The modules of one circle of imports, in order; none where there is none."""
    done: set[str] = set()
    for start in sorted(arrows):
        way: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(arrows[start])))]
        while way and start not in done:
            module, following = way[-1]
            target = next((name for name in following if name in arrows and name not in done), None)
            names = [name for name, _ in way]
            if target in names:
                return names[names.index(target) :]
            if target is None:
                done.add(module)
                way.pop()
            else:
                way.append((target, iter(sorted(arrows[target]))))
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Neither at the top of a module nor in a function, nor for types alone."""
    arrows = {dotted(path): within_the_package(path) - {PACKAGE, dotted(path)} for path in MODULES}
    assert circle(arrows) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"], "a circle is not found"


def test_names_are_imported_from_where_they_are_defined() -> None:
    """No module hands on what another one defines."""
    defined: dict[str, set[str]] = {}
    for path in MODULES:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        body += [inner for node in body if isinstance(node, ast.If) for inner in (*node.body, *node.orelse)]
        found = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        for node in body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [part for target in targets if target is not None for part in ast.walk(target)]
            found |= {part.id for part in names if isinstance(part, ast.Name)}
        defined[dotted(path)] = found
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and str(node.module) in defined:
                for alias in node.names:
                    is_own = alias.name in defined[str(node.module)] or is_module(f"{node.module}.{alias.name}")
                    assert is_own, f"{dotted(path)} takes {alias.name} from {node.module}"


def test_every_room_has_a_floor() -> None:
    rooms = {path.parent.name for path in (ROOT / PACKAGE).glob("*/__init__.py")}
    assert rooms <= FLOORS.keys()
    assert len(rooms) > 8


def test_imports_lead_downstairs() -> None:
    entry = f"{PACKAGE}.__main__"  # only starts the command line
    climbing = [
        f"{dotted(path)}:{line} imports {name}"
        for path in MODULES
        for name, line in imports(path)
        if dotted(path) != entry and climbs(dotted(path), name)
    ]
    assert climbing == []


def test_floors_are_told_apart() -> None:
    """The test above can fail."""
    assert climbs("kubectl_tas.check.quota", "kubectl_tas.compile.pods")
    assert climbs("kubectl_tas.load.source", "kubectl_tas.emit.file_plan")
    assert climbs("kubectl_tas.model.pool_kinds", "kubectl_tas.report.text")
    assert climbs("kubectl_tas.facts.kai", "kubectl_tas.model.pool_kinds")
    assert climbs("kubectl_tas.resolve.fleet", "kubectl_tas.cli.session")
    assert not climbs("kubectl_tas.compile.pods", "kubectl_tas.compile.podgroups")
    assert not climbs("kubectl_tas.cli.render", "kubectl_tas.emit.file_plan")
    assert not climbs("kubectl_tas.model.config", "kubectl_tas.facts.kai")
    assert not climbs("kubectl_tas.model.config", "pydantic")
    assert not climbs("kubectl_tas.model.karta", "kubectl_tas.kinds.page")
    assert not climbs("kubectl_tas.kinds.job", "kubectl_tas.model.labels")
    assert climbs("kubectl_tas.kinds.job", "kubectl_tas.model.podtemplate")
    assert climbs("kubectl_tas.facts.kai", "kubectl_tas.kinds.job")
    assert dict(imports(ROOT / PACKAGE / "compile/podgroups.py"))["kubectl_tas.resolve.names"] > 1


def called(function: ast.expr) -> str:
    """The name of a function such as ``os._exit``; empty for what no name is."""
    if isinstance(function, ast.Attribute):
        above = called(function.value)
        return above and f"{above}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


FORBIDDEN = {"print", "input", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}


def test_only_the_command_line_talks_and_exits() -> None:
    talking = []
    for path in MODULES:
        if room(dotted(path)) == "cli":
            continue
        talking += [f"{dotted(path)} imports click" for name, _ in imports(path) if name.split(".")[0] == "click"]
        allowed = {"os._exit"} if path.name == "processes.py" else set()  # a process that only the map over files has
        for node in nodes(path):
            if isinstance(node, ast.Call) and called(node.func) in FORBIDDEN - allowed:
                talking.append(f"{dotted(path)}:{node.lineno} calls {called(node.func)}")
    assert talking == []


@pytest.mark.parametrize(
    "room_name", ["model", "kinds", "report", "draw", "check", "compile", "resolve", "place", "site"]
)
def test_pure_rooms_touch_nothing(room_name: str) -> None:
    """Data in, data out: no files, no processes, no clock, no chance."""
    for path in (ROOT / PACKAGE / room_name).rglob("*.py"):
        forbidden = {"subprocess", "shutil", "tempfile", "random", "time", "socket", "urllib", "os", "secrets", "uuid"}
        used = {name.split(".")[0] for name, _ in imports(path)}
        assert not used & forbidden, f"{dotted(path)} imports {sorted(used & forbidden)}"


def test_classes_are_compiled_when_they_are_used() -> None:
    """By ``kubectl_tas.base.late``: the standard library compiles all of them at every start."""
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                names = {alias.name for alias in node.names}
                assert "dataclass" not in names or dotted(path) == f"{PACKAGE}.base.late", dotted(path)


def test_processes_are_started_in_one_place() -> None:
    starters = {dotted(path) for path in MODULES if "subprocess" in {name for name, _ in imports(path)}}
    assert starters <= {f"{PACKAGE}.base.process"}


def test_no_copy_of_a_crd() -> None:
    """CRDs belong to KAI; only tests read them, from beside the repository."""
    here = Path(__file__)
    for path in sorted(ROOT.rglob("*")):
        if path.is_file() and path.suffix in {".yaml", ".yml", ".json", ".py", ".j2"} and path != here:
            if any(part.startswith(".") or part in {"build", "dist"} for part in path.relative_to(ROOT).parts):
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            assert "kind: CustomResourceDefinition" not in text, path
            assert '"openAPIV3Schema":' not in text, path
            assert "tests" in path.parts or "shared/crds" not in text, path


def test_a_file_name_stands_once() -> None:
    """Who reads a name knows which module is meant."""
    found: dict[str, Path] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            assert found.setdefault(path.name, path) == path, f"{path} has the name of {found[path.name]}"
