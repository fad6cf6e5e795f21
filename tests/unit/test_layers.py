"""Inside the rooms: no module needs itself by way of others, and the engine's folders follow the way of a program."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "dalembert"
SOURCE = Path(__file__).resolve().parents[2] / "src" / PACKAGE

# In the order of the engine's README, after two files: each imports from itself and from those before it.
ENGINE = (
    "contract",
    "tuning",
    "machine",
    "program",
    "values",
    "trace",
    "elimination",
    "functions",
    "step",
    "code",
    "scales",
    "runners",
    "derivatives",
)


def modules(source: Path) -> dict[str, Path]:
    """Every module by its full name."""
    found = {}
    for file in sorted(source.rglob("*.py")):
        parts = (PACKAGE, *file.relative_to(source).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module but those under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from running(node)


def imports(source: Path) -> dict[str, set[str]]:
    """What each module imports when it runs, wherever in the file it stands, in a function as well. What is imported
    for the types alone is not."""
    known = modules(source)

    def nearest(name: str) -> str:
        while name and name not in known:
            name = name.rpartition(".")[0]
        return name

    found = {}
    for name, file in known.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        targets: set[str] = set()
        for node in running(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                start = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*start, *([node.module] if node.module else [])])
                targets |= {nearest(f"{base}.{alias.name}") for alias in node.names}
            elif isinstance(node, ast.Import):
                targets |= {nearest(alias.name) for alias in node.names}
        found[name] = targets - {name, ""}
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A way from some module back to itself, or nothing."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for target in sorted(graph.get(name, ())):
            found = walk(target, [*way, name])
            if found:
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


def folder_violations(graph: dict[str, set[str]]) -> list[str]:
    """Imports inside the engine that point to a folder further on."""

    def place(name: str) -> int | None:
        parts = name.split(".")
        return ENGINE.index(parts[2]) if len(parts) > 2 and parts[1] == "engine" else None

    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        for target in sorted(targets)
        if (here := place(name)) is not None and (there := place(target)) is not None and there > here
    ]


def test_no_module_needs_itself():
    graph = imports(SOURCE)
    assert len(graph) > 200
    assert circle(graph) == []


def test_a_circle_is_found_even_inside_a_function(tmp_path: Path):
    source = tmp_path / PACKAGE
    source.mkdir()
    (source / "__init__.py").write_text("")
    (source / "a.py").write_text("from .b import x\n")
    (source / "b.py").write_text("def f():\n    from . import a\n")
    assert circle(imports(source)) == ["dalembert.a", "dalembert.b", "dalembert.a"]


def test_the_engines_folders_follow_the_way_of_a_program():
    graph = imports(SOURCE)
    assert folder_violations(graph) == []
    folders = {path.stem for path in (SOURCE / "engine").iterdir() if path.name not in ("__init__.py", "__pycache__")}
    assert folders - {"README"} == set(ENGINE)


@pytest.mark.parametrize(
    ("name", "target", "wrong"),
    [
        ("dalembert.engine.program.program", "dalembert.engine.code.loop", True),
        ("dalembert.engine.code.loop", "dalembert.engine.program.program", False),
        ("dalembert.engine.code.loop", "dalembert.engine.code.rolled", False),
    ],
)
def test_an_import_that_points_on_is_found(name: str, target: str, wrong: bool):
    assert bool(folder_violations({name: {target}})) is wrong


@pytest.mark.parametrize("folder", ENGINE[2:])
def test_every_folder_says_what_it_may_import(folder: str):
    text = ast.get_docstring(ast.parse((SOURCE / "engine" / folder / "__init__.py").read_text(encoding="utf-8")))
    assert text
    assert "import" in text.lower()
