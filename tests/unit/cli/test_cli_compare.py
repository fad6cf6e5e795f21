"""`dalembert compare`: the table, the two figures, programs of others, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import Curve, ForeignSolver, compare, energy_errors, foreign_solvers
from dalembert.diagnostics import foreign as foreign_module
from dalembert.gallery import BouncingBall, HarmonicOscillator, Pendulum, Skate
from dalembert.plots import plot_energy_errors, plot_work_precision


def test_compare_prints_a_table_and_draws_two_figures(dalembert, tmp_path):
    answer = dalembert(
        "compare", "pendulum", "--methods", "rattle, shake", "--levels", "2", "--t-end", "0.4", "--h", "0.1",
        "--out", tmp_path,
    )  # fmt: skip
    assert (answer.status, answer.error) == (0, "")
    assert answer.out.startswith("Pendulum to t = 0.4, errors against the exact solution")
    for word in ("rattle", "shake", "scipy DOP853", "0.05", "tol 1e-09", "ms", "constraints", "energy"):
        assert word in answer.out
    for name in ("pendulum_work_precision.png", "pendulum_energy.png"):
        assert (tmp_path / name).read_bytes()[1:4] == b"PNG"
        assert str(tmp_path / name) in answer.out


def test_compare_finds_methods_by_itself(dalembert, tmp_path):
    words = ("--levels", "1", "--t-end", "0.5", "--no-foreign", "--out", tmp_path)
    answer = dalembert("compare", "skate", *words)
    assert (answer.status, answer.error) == (0, "")
    assert answer.out.startswith("recommended: ")
    assert "(tolerance 1.0e-06)" in answer.out
    assert sum("spark" in line or "taylor" in line for line in answer.out.splitlines()[1:]) == 3


def test_compare_a_system_with_contact(dalembert, tmp_path):
    answer = dalembert(
        "compare", "bouncing-ball", "-m", "moreau-jean,schatzman-paoli", "--levels", "1", "--out", tmp_path
    )
    assert answer.status == 0
    assert "programs of others are left out" in answer.out
    assert "DOP853" not in answer.out


def test_contact_without_an_exact_motion_is_measured_against_event_capturing(dalembert, tmp_path):
    """The rod slides without impacts, where Moreau's scheme with theta = 1/2 is of order 2."""
    words = ("-m", "moreau-jean", "--levels", "2", "--t-end", "0.1", "--h", "0.005", "--out", tmp_path)
    answer = dalembert("compare", "painleve-rod", *words)
    assert (answer.status, answer.error) == (0, "")
    assert "errors against event capturing of order 6" in answer.out
    coarse, fine = (float(line.split()[-4]) for line in answer.out.splitlines()[2:4])
    assert 3.0 < coarse / fine < 5.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pendulum", "-m", "rattle,leapfrog"), "unknown method 'leapfrog'; expected one of:"),
        (("pendulums",), "unknown system 'pendulums'; expected a file"),
        (("pendulum", "-m", "rattle,rattle"), "--methods names 'rattle' twice."),
        (("pendulum", "-m", ",,"), "--methods must be names separated by commas"),
        (("skate", "-m", "rattle"), "Rattle does not treat nonholonomic, which Skate defines"),
        (("bouncing-ball", "-m", "rattle"), "Rattle does not treat gap, which BouncingBall defines"),
        (("pendulum", "--levels", "0"), "--levels must lie between 1 and 16, got 0."),
        (("pendulum", "--out", f"{__file__}/folder"), "folder: Not a directory."),
    ],
)
def test_what_cannot_be_compared_is_refused(dalembert, words, message):
    answer = dalembert("compare", *words)
    assert answer.status == 2
    assert message in answer.error


# -- programs of others --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", foreign_solvers())
@pytest.mark.parametrize("system", [Pendulum(), Skate()], ids=lambda system: type(system).__name__)
def test_programs_of_others_find_the_same_motion(program, system):
    start, times = system.start(), np.linspace(0.0, 0.5, 6)
    solver = ForeignSolver(program, system, start.q0, start.v0, times)
    exact = system.exact(times)
    errors = [np.max(np.abs(solver(tolerance).q - exact.q)) for tolerance in (1e-4, 1e-8)]
    assert errors[0] < 1e-2
    assert errors[1] < 1e-6


def test_scipy_is_always_there_and_others_where_installed(monkeypatch):
    assert "scipy DOP853" in foreign_solvers()
    monkeypatch.setattr(foreign_module.importlib.util, "find_spec", lambda name: name if name == "scipy" else None)
    assert foreign_solvers() == ("scipy DOP853",)


def test_programs_of_others_know_no_contact():
    with pytest.raises(da.InputError, match="scipy DOP853 integrates smooth motions; BouncingBall has contacts"):
        ForeignSolver("scipy DOP853", BouncingBall(), [1.0], [0.0], [0.0, 1.0])


class Collapse(da.System):
    """Ends at t = 1/2, where nothing is defined any more."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v

    def force(self, t, q, v):
        return jnp.where(t < 0.5, 0.0, jnp.nan) * jnp.ones_like(q)


def test_failures_are_marked():
    system, methods = Collapse(), {"rattle": da.Rattle()}
    reference = da.State(*(jnp.zeros(1) for _ in range(5)))
    arguments = (system, methods, [0.0], [1.0], (0.0, 1.0))
    curves = compare(*arguments, [0.1], reference, foreign=["scipy DOP853"], tolerances=(1e-5,), repeats=1)
    assert np.isnan([curve.errors[0] for curve in curves]).all()
    times, errors = energy_errors(*arguments, 0.1, foreign=["scipy DOP853"])
    assert list(errors) == ["rattle"]
    assert np.isnan(errors["rattle"][-1])
    assert errors["rattle"][0] == 0.0
    assert len(times) == 11


# -- numbers and figures -------------------------------------------------------------------------------------------


def test_numbers_of_a_comparison():
    system = HarmonicOscillator()
    start = system.start()
    reference = system.exact(np.array([1.0])).row(-1)
    (curve,) = compare(system, {"one": da.Rattle()}, start.q0, start.v0, (0.0, 1.0), [0.1, 0.05], reference)
    assert (curve.name, curve.is_foreign) == ("one", False)
    assert curve.errors[0] / curve.errors[1] == pytest.approx(4.0, rel=0.1)
    assert np.all(curve.seconds > 0)
    assert curve.violations.tolist() == [0.0, 0.0]
    run = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.1)
    assert curve.drifts[0] == pytest.approx(np.max(np.abs(run.energy - run.energy[0])), rel=1e-9)


def test_figures_name_their_curves():
    numbers = np.array([1e-3, np.nan, 0.0])
    curves = [
        Curve("ours", False, numbers, numbers, numbers, numbers, numbers),
        Curve("theirs", True, numbers, numbers, numbers, numbers, numbers),
    ]
    figure = plot_work_precision(curves)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours", "theirs"]
    assert len(axes.lines[0].get_xdata()) == 1
    figure = plot_energy_errors([0.0, 1.0, 2.0], {"ours": [0.0, 1e-3, np.nan]})
    assert "ours" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    with pytest.raises(da.InputError, match="cannot save a figure"):
        plot_work_precision(curves, "figure.txt")
