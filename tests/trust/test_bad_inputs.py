"""Random bad inputs over the whole public surface: a typed error with a message, or a right result; never a hang.

The fast tests make some hundred calls; `make test-long` makes more than five thousand and prints what came of them.
"""

import contextlib
import io
import random
import re

import pytest
from bad_inputs import Tally, Target, random_calls, try_call
from bad_models import bad_command, model_calls
from public_targets import public_targets

import dalembert as da
from dalembert.cli.app import run

#: Names that are not called with arguments of a user's: records, base classes, methods without arguments.
NOT_CALLED = {
    "CATALOGUE", "SCHEMES", "gallery", "plots", "system", "Claims", "ConsistentStart", "ConstraintRank", "Plan",
    "PhasedPlan", "from_sympy",
    "ContactEvent", "ContactLaw", "Crossing", "Crossings", "DiscreteLagrangian", "DiscretePrinciple", "EnergyBalance",
    "Equilibrium", "Events", "Frictionless", "Interpolated",
    "Fit", "gym",
    "PredictiveControl",
    "Linearisation", "Regulator", "Sensitivity", "StepperState", "Tracker", "View",
    "McLachlanPerlmutter", "Method", "ModifiedLobatto", "NewtonCoulomb", "Recommendation", "State", "Step",
    "StepResolution", "Sweep", "Status", "GaussSpark", "LobattoSpark", "diagnostics", "errors", "invariants", "methods",
    "tableaux",
    "System", "HamiltonianSystem", "OverdeterminedDAE",
    "DifferentialAlgebraicInequality", "Rattle", "Shake", "Trajectory",
}  # fmt: skip
#: Targets of which one call compiles for seconds.
SLOW = ("sensitivity", "monodromy", "lyapunov_spectrum",
        "symplectic_defect", "measure_claims", "work_precision", "recommend", "sweep", "observed_order of runs",
        "radau_iia", "lobatto_iiia", "half_explicit", "reversibility_defect", "discrete_principle", "boundary_value",
        "optimal_control", "Measured", "fit",
        "events", "EventCapturing", "animate", "DAE", "Composition", "MoreauJean", "plots.", "Trajectory.plot",
        "SchatzmanPaoli", "Galerkin", "spark", "Spark", "gauss", "Adjoint", "EnergyMomentum", "SymplecticEuler",
        "discrete_lagrangian",
        "rolling-disc", "ball-on-turntable")  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place for the files that calls write, with some that are no runs in it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.nc").write_text("no run")
    (tmp_path / "text.zarr").write_text("no store")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def command(words: list[str]) -> None:
    """Run a command line; a complaint is one line, and names no exception of Python's."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = run(words)
    text = said.getvalue()
    assert status in (0, 1, 2), f"status {status}: {text}"
    assert not status or (text.startswith("error: ") and text.count("\n") == 1), text
    assert not re.search(r"unexpected \w*(Error|Exception)", text), text


def commands(tally: Tally, count: int, seed: int, quick: bool = False) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        words = bad_command(chance)
        if not (quick and words[0] in ("converge", "compare", "check")):
            try_call(tally, f"command {words[0]!r}", lambda w=words: command(w), repr(words))


def models(tally: Tally, count: int, seed: int) -> None:
    for call, text in model_calls(count, seed):
        try_call(tally, "system", call, text)


def quick_targets() -> list[Target]:
    return [target for target in public_targets() if not any(name in target.name for name in SLOW)]


def test_everything_public_is_called():
    called = {re.split(r"[ ,.:]", target.name)[0] for target in public_targets()} | {"system"}
    kinds = {name: getattr(da, name) for name in da.__all__ if isinstance(getattr(da, name), type)}
    errors = {name for name, kind in kinds.items() if issubclass(kind, Exception)}
    assert set(da.__all__) - NOT_CALLED - errors <= called


def test_bad_inputs(folder):
    tally = Tally()
    random_calls(tally, quick_targets(), 360, seed=7)
    models(tally, 25, seed=7)
    commands(tally, 40, seed=7, quick=True)
    assert not tally.defects, "\n".join(tally.defects)
    assert tally.calls > 400
    assert tally.outcomes["refused"] > 250


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_bad_inputs_of_everything(folder, seed, capsys):
    tally = Tally()
    random_calls(tally, public_targets(), 1600, seed)
    models(tally, 200, seed)
    commands(tally, 200, seed)
    with capsys.disabled():
        print("\n" + tally.report(f"bad inputs, seed {seed}"))
    assert not tally.defects, "\n".join(tally.defects)
