"""What `add_a_method.md` and `add_a_system.md` say is done on a copy of the library: a class, a line, nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CATALOGUE_LINE = (
    '    "projected-euler": Entry(ProjectedEuler(), "the method of the page", "Hairer, Lubich, Wanner 2006"),\n'
)
START = """
    def start(self):
        q0 = [np.sin(0.3), np.cos(0.3), 0.3]
        return Start(jnp.array(q0), jnp.zeros(3), t_end=0.8, h=0.002)
"""


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__", "pictures")
    for name in ("src", "tests", "benchmarks", "docs"):
        shutil.copytree(root / name, tmp_path / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def classes(page: Path) -> str:
    """The first block of code on a page that defines a class."""
    return next(code for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
                if "\nclass " in code)  # fmt: skip


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(copy: Path, *command: str) -> str:
    found = subprocess.run(
        [sys.executable, *command], cwd=copy, env=os.environ | {"PYTHONPATH": str(copy / "src")}, capture_output=True,
        text=True, timeout=600, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    return found.stdout


@pytest.mark.long
def test_a_method_is_one_class_and_one_line(copy: Path, root: Path):
    package = copy / "src" / "dalembert" / "method"
    text = classes(root / "docs" / "add_a_method.md").replace("import dalembert as da", "from . import base as da")
    (package / "projected_euler.py").write_text(text, encoding="utf-8")
    edit(
        package / "catalogue.py",
        "from .rattle import",
        "from .projected_euler import ProjectedEuler\nfrom .rattle import",
    )
    edit(
        package / "catalogue.py",
        "\nCATALOGUE: dict[str, Entry] = {\n",
        f"\nCATALOGUE: dict[str, Entry] = {{\n{CATALOGUE_LINE}",
    )
    measured = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/claims/test_catalogue_claims.py",
                   "-k", "projected-euler")  # fmt: skip
    assert int(re.search(r"(\d+) passed", measured)[1]) >= 4  # pyright: ignore
    table = run(
        copy, "-c", "import sys; sys.path.insert(0, 'docs'); import make_tables; print(make_tables.claims_table())"
    )
    assert "da.ProjectedEuler()" in table
    audited = "import sys; sys.path.insert(0, 'docs'); import make_audit as a; print([c for c in a.all_cases()])"
    assert "('projected-euler', 'double-pendulum')" in run(copy, "-c", audited)
    assert "projected-euler" in run(copy, "-m", "dalembert", "list")


@pytest.mark.long
def test_a_system_is_one_class_and_one_line(copy: Path, root: Path):
    package = copy / "src" / "dalembert" / "gallery"
    text = classes(root / "docs" / "add_a_system.md").replace(
        "import dalembert as da", "from ..problem import System\nfrom .ready import Ready, Start"
    )
    text = text.replace("class Ladder(da.System):", "class Ladder(Ready, System):") + START
    (package / "ladder.py").write_text(text, encoding="utf-8")
    edit(package / "__init__.py", "from .linkage import", "from .ladder import Ladder\nfrom .linkage import")
    edit(
        package / "__init__.py",
        "\nGALLERY: dict[str, type[Ready]] = {\n",
        '\nGALLERY: dict[str, type[Ready]] = {\n    "ladder": Ladder,\n',
    )
    claims = "tests/claims/test_catalogue_claims.py"
    measured = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", claims, "-k",
                   "test_claims and ladder and (rattle or galerkin-2 or gauss-spark-2)")  # fmt: skip
    assert int(re.search(r"(\d+) passed", measured)[1]) == 3  # pyright: ignore
    assert "Ladder" in run(copy, "-m", "dalembert", "check", "ladder")
