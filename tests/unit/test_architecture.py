"""The rooms of the package: imports point one way, and no file grows too long."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import dalembert

PACKAGE = "dalembert"
SOURCE = Path(__file__).resolve().parents[2] / "src" / PACKAGE
LONGEST_FILE = 450
#: A function beyond one of these says why in its docstring, after "Long: " or "Many arguments: ".
MOST_LINES, MOST_ARGUMENTS = 60, 8

# From top to bottom. A room may import from itself and from any room above it.
ROOMS = (
    "errors",
    "interruption",
    "later",
    "optional",
    "notebook",
    "arguments",
    "problem",
    "multibody",
    "formulation",
    "method",
    "nonlinear",
    "engine",
    "stepping",
    "storage",
    "trajectory",
    "simulation",
    "control",
    "diagnostics",
    "gallery",
    "plots",
    "papers",
    "report",
    "studio",
    "cli",
)
MECHANICS = ("problem", "multibody", "formulation", "method")
KNOW_NO_MECHANICS = ("nonlinear", "engine")
#: The package itself, and public namespaces that only name what is elsewhere.
MAY_IMPORT_EVERYTHING = ("__init__", "__main__", "methods", "tableaux", "invariants")
MAY_IMPORT_THE_WHOLE = ("papers",)


@dataclass(frozen=True)
class Import:
    """One import of something in the package; `room` is None where the package as a whole is imported."""

    line: int
    room: str | None


def source_files(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py"))


def room_of(file: Path, source: Path) -> str:
    return file.relative_to(source).with_suffix("").parts[0]


def is_submodule(name: str, source: Path) -> bool:
    return (source / f"{name}.py").is_file() or (source / name).is_dir()


def imports_of(file: Path, source: Path) -> Iterator[Import]:
    """Every import of the package in a file, wherever in the file it stands."""
    folder = (PACKAGE, *file.relative_to(source).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), filename=str(file))):
        match node:
            case ast.Import(names=names):
                paths = [tuple(alias.name.split(".")) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                start = folder[: len(folder) - level + 1] if level else ()
                base = (*start, *(module.split(".") if module else ()))
                paths = [(*base, alias.name) for alias in names]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                paths = [tuple(name.split("."))]
            case _:
                continue
        for path in paths:
            if path[0] != PACKAGE:
                continue
            inside = len(path) > 1 and is_submodule(path[1], source)
            yield Import(node.lineno, path[1] if inside else None)


def complaint(room: str, target: str | None) -> str | None:
    """Why a module of `room` may not import `target`, or None where it may."""
    if target is None:
        return None if room in MAY_IMPORT_THE_WHOLE else f"{room} imports the package as a whole"
    if target not in ROOMS:
        return f"{room} imports {target}, which is not a room"
    if room in KNOW_NO_MECHANICS and target in MECHANICS:
        return f"{room} imports {target}, but knows no mechanics"
    if ROOMS.index(target) > ROOMS.index(room):
        return f"{room} imports {target}, which lies below it"
    return None


def import_violations(source: Path) -> list[str]:
    violations = []
    for file in source_files(source):
        name, room = file.relative_to(source).as_posix(), room_of(file, source)
        if room in MAY_IMPORT_EVERYTHING:
            continue
        if room not in ROOMS:
            violations.append(f"{name}: {room} is not a room")
            continue
        for found in imports_of(file, source):
            reason = complaint(room, found.room)
            if reason is not None:
                violations.append(f"{name}:{found.line}: {reason}")
    return violations


def length_violations(source: Path) -> list[str]:
    violations = []
    for file in source_files(source):
        lines = len(file.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            violations.append(f"{file.relative_to(source).as_posix()}: {lines} lines, at most {LONGEST_FILE} allowed")
    return violations


def test_source_is_found():
    assert source_files(SOURCE), f"no Python files under {SOURCE}"


def test_imports_point_one_way():
    assert source_files(SOURCE), f"no Python files under {SOURCE}"
    assert import_violations(SOURCE) == []


def test_no_file_is_too_long():
    assert source_files(SOURCE), f"no Python files under {SOURCE}"
    assert length_violations(SOURCE) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small package in which every import is allowed."""
    source = tmp_path / PACKAGE
    files = {
        "__init__.py": "from dalembert.cli import main\nfrom .stepping.simulate import simulate\n",
        "__main__.py": "import dalembert\n",
        "errors.py": "import enum\n",
        "problem/__init__.py": "from .system import System\n",
        "problem/system.py": "import jax.numpy as jnp\nfrom dalembert import errors\n",
        "method/__init__.py": "",
        "method/rattle.py": "from ..problem import System\nimport dalembert.errors\n",
        "nonlinear/newton.py": "from .. import errors\n",
        "engine/runners/native.py": "from ..nonlinear.newton import solve\n",
        "stepping/simulate.py": "def f():\n    from dalembert.method.rattle import Rattle\n",
        "papers/first.py": "import dalembert as da\nfrom dalembert import simulate\n",
        "gallery/pendulum.py": "from dalembert.problem import System\n",
        "cli.py": "from importlib import import_module\nx = import_module('dalembert.papers')\n",
    }
    for name, text in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return source


def test_allowed_imports_pass(tree: Path):
    assert import_violations(tree) == []
    assert length_violations(tree) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "problem/bad.py",
            "import dalembert.cli",
            "problem/bad.py:1: problem imports cli, which lies below it",
        ),
        ("problem/bad.py", "from ..method import rattle", "problem imports method, which lies below it"),
        (
            "problem/deep/bad.py",
            "from ...method import rattle",
            "problem imports method, which lies below it",
        ),
        ("problem/__init__.py", "from .. import cli", "problem imports cli, which lies below it"),
        (
            "method/bad.py",
            "\ndef f():\n    from dalembert.stepping.simulate import simulate",
            "method/bad.py:3: method imports stepping, which lies below it",
        ),
        ("method/bad.py", "from dalembert import cli", "method imports cli, which lies below it"),
        (
            "method/bad.py",
            "import importlib\nimportlib.import_module('dalembert.cli')",
            "method imports cli, which lies below it",
        ),
        ("errors.py", "from .problem import System", "errors imports problem, which lies below it"),
        (
            "nonlinear/bad.py",
            "from ..problem import System",
            "nonlinear imports problem, but knows no mechanics",
        ),
        ("engine/bad.py", "import dalembert.method.rattle", "engine imports method, but knows no mechanics"),
        ("gallery/bad.py", "import dalembert as da", "gallery imports the package as a whole"),
        ("stepping/bad.py", "from dalembert import System", "stepping imports the package as a whole"),
        ("stepping/bad.py", "from .. import *", "stepping imports the package as a whole"),
        ("helpers.py", "", "helpers.py: helpers is not a room"),
    ],
)
def test_forbidden_import_is_detected(tree: Path, name: str, text: str, expected: str):
    path = tree / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    violations = import_violations(tree)
    assert len(violations) == 1
    assert expected in violations[0]


def test_long_file_is_detected(tree: Path):
    (tree / "report.py").write_text("x = 1\n" * LONGEST_FILE, encoding="utf-8")
    assert length_violations(tree) == []
    (tree / "report.py").write_text("x = 1\n" * (LONGEST_FILE + 1), encoding="utf-8")
    assert length_violations(tree) == ["report.py: 451 lines, at most 450 allowed"]


def test_empty_tree_has_no_files(tmp_path: Path):
    assert source_files(tmp_path) == []


def functions_of_the_source() -> list[tuple[str, ast.FunctionDef]]:
    """Every function with its place, `file: name`."""
    return [
        (f"{path.relative_to(SOURCE)}: {node.name}", node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def lines_of_code(function: ast.FunctionDef) -> int:
    """Its lines without those of its docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def is_interface(function: ast.FunctionDef, place: str) -> bool:
    """Whether its arguments are what users write: those of a command, or of a public name."""
    return place.startswith("cli/") or function.name in dalembert.__all__ or function.name in ("__init__", "joint")


def test_long_functions_and_those_with_many_arguments_say_why():
    without_reason = []
    for place, function in functions_of_the_source():
        reason = ast.get_docstring(function) or ""
        arguments = function.args
        count = len([a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if a.arg != "self"])
        if lines_of_code(function) > MOST_LINES and "Long: " not in reason:
            without_reason.append(f"{place} has {lines_of_code(function)} lines")
        if count > MOST_ARGUMENTS and "Many arguments: " not in reason and not is_interface(function, place):
            without_reason.append(f"{place} has {count} arguments")
    assert not without_reason, without_reason
