"""The page docs/papers.md from docs/papers.toml: `python docs/make_papers.py`.

Every numbered equation, theorem, figure and table of the five papers with its place in the code and its test. A test
compares the page with the data, resolves every name in it, and counts that no number is left out.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pathlib
import re
import sys
import tomllib
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.pages import fill  # noqa: E402

PAGE, DATA = ROOT / "docs" / "papers.md", ROOT / "docs" / "papers.toml"
EXPERIMENT = "reproduce "


class Entry(NamedTuple):
    """One row: a place in a paper, what stands there, code and tests, or why there is no code."""

    paper: str
    at: str
    what: str
    code: tuple[str, ...]
    test: tuple[str, ...]
    reason: str


def papers() -> dict[str, str]:
    """The titles by key."""
    return {key: paper["title"] for key, paper in _data().items()}


def entries() -> list[Entry]:
    """All rows, in the order of the file."""
    return [
        Entry(
            key, row["at"], row["what"], tuple(row.get("code", ())), tuple(row.get("test", ())), row.get("reason", "")
        )
        for key, paper in _data().items()
        for row in paper["entries"]
    ]


def _data() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


# -- what the entries point to --------------------------------------------------------------------------------------


def code_error(place: str) -> str | None:
    """Why a place such as "method/rattle.py::Rattle.residual" is none; None if it is one."""
    file, _, name = place.partition("::")
    if not (ROOT / "src" / "dalembert" / file).is_file():
        return f"{place}: there is no file src/dalembert/{file}"
    found: Any = importlib.import_module("dalembert." + file.removesuffix(".py").replace("/", "."))
    for part in name.split(".") if name else ():
        fields = getattr(found, "__dataclass_fields__", {})
        if not hasattr(found, part) and part not in fields:
            return f"{place}: {found.__name__} has no {part}"
        found = getattr(found, part, None)
    return None


def test_error(test: str) -> str | None:
    """Why "test_file::test_function" or "reproduce name" is no test or experiment; None if it is one."""
    if test.startswith(EXPERIMENT):
        from dalembert.papers import EXPERIMENTS

        known = test.removeprefix(EXPERIMENT) in EXPERIMENTS
        return None if known else f"{test}: there is no such experiment"
    file, _, function = test.partition("::")
    if file not in _tests():
        return f"{test}: there is no file {file}.py in tests"
    return None if function in _tests()[file][1] else f"{test}: {file}.py has no {function}"


@functools.cache
def _tests() -> dict[str, tuple[str, set[str]]]:
    """The files with tests by name: where they are, and their test functions."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        found[path.stem] = (path.relative_to(ROOT).as_posix(), {name for name in names if name.startswith("test_")})
    return found


def numbers(at: str) -> list[str]:
    """The numbers that a row covers: "(2.1)" of "(2.1)", "(4)", "(5)" of "(4)-(5)", "theorem 1" of itself."""
    match = re.match(r"\((?:(\d+)\.)?(\d+)\)(?:-\((?:\d+\.)?(\d+)\))?$", at)
    if match is None:
        return [at]
    section = f"{match[1]}." if match[1] else ""
    return [f"({section}{k})" for k in range(int(match[2]), int(match[3] or match[2]) + 1)]


# -- the page -------------------------------------------------------------------------------------------------------


def table(key: str) -> str:
    """The rows of one paper."""
    lines = ["| in the paper | what | in the code | shown by |", "| --- | --- | --- | --- |"]
    for entry in entries():
        if entry.paper != key:
            continue
        if entry.reason:
            lines.append(f"| {entry.at} | {entry.what} | *none*: {entry.reason} | {_shown(entry.test)} |")
        else:
            code = ", ".join(_code(place) for place in entry.code)
            lines.append(f"| {entry.at} | {entry.what} | {code} | {_shown(entry.test)} |")
    return "\n".join(lines)


def _code(place: str) -> str:
    file, _, name = place.partition("::")
    return f"`{name}` in `{file}`" if name else f"`{file}`"


def _shown(tests: tuple[str, ...]) -> str:
    return ", ".join(_test(test) for test in tests) or "-"


def _test(test: str) -> str:
    if test.startswith(EXPERIMENT):
        return f"`dalembert {test}`"
    file, _, function = test.partition("::")
    return f"`{function}` in `{_tests()[file][0].removeprefix('tests/')}`"


def text() -> str:
    """All papers, a section each."""
    return "\n\n".join(f"## {title}\n\n{table(key)}" for key, title in papers().items())


def main() -> None:
    """Write the page."""
    fill(PAGE, "papers", text())


if __name__ == "__main__":
    main()
