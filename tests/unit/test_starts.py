"""How much is loaded when: `import dalembert` and `dalembert --help` load next to nothing, a run what a run needs."""

import subprocess
import sys

import pytest

import dalembert as da

#: Each takes between a tenth and one second to load.
HEAVY = ("pandas", "xarray", "rich", "optimistix", "lineax", "matplotlib", "numba", "scipy.special", "scipy.optimize")
RUN = """
class Pendulum(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]
    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1)

run = da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0, 0.1), h=0.01)
run.energy, run.constraint, run.lam
"""


def loaded(program: str) -> set[str]:
    """The modules that a program has loaded at its end."""
    text = f"import sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stderr.split())


def test_the_import_loads_no_room_and_not_even_jax():
    found = loaded("import dalembert")
    assert found & {*HEAVY, "jax", "numpy", "equinox", "llvmlite", "scipy"} == set()
    assert {name for name in found if name.startswith("dalembert.")} == {"dalembert.later", "dalembert.optional"}


def test_a_run_loads_what_a_run_needs():
    found = loaded("import dalembert as da" + RUN)
    assert "jax" in found
    assert found & set(HEAVY) == set()
    assert {name for name in found if name.startswith(("dalembert.plots", "dalembert.gallery"))} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_loads_no_numbers(arguments: list[str]):
    found = loaded(f"from dalembert.cli.app import run\nassert run({arguments}) == 0")
    assert found & {*HEAVY, "jax", "numpy", "equinox", "llvmlite", "scipy"} == set()


@pytest.mark.parametrize(
    "order", ["import dalembert\nimport jax", "import jax\nimport dalembert", "import dalembert.plots"]
)
def test_numbers_have_64_bits_whoever_loads_jax(order: str):
    loaded(order + "\nimport jax.numpy\nassert jax.numpy.ones(2).dtype == 'float64'")


def test_every_public_name_is_there():
    assert {name for name in da.__all__ if getattr(da, name) is None} == set()
    assert set(da.__all__) <= set(dir(da))


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="module 'dalembert' has no attribute 'simulat'"):
        da.simulat  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Rattel'"):
        from dalembert import Rattel  # noqa: F401 # pyright: ignore


def test_methods_of_other_rooms_are_found_without_loading_the_package_by_name():
    loaded(
        "from dalembert.trajectory.record import Trajectory\nfrom dalembert.multibody import Multibody\n"
        "assert Trajectory.plot.__name__ == 'plot' and Multibody.assemble.__name__ == 'assemble_model'\n"
        "assert callable(Trajectory._repr_html_)"
    )
