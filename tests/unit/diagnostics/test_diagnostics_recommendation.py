"""`recommend`: the error is the one asked for, the methods fit the system, and bad input is refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, DrivenPendulum, Pendulum, Skate

FEW = {"rattle": da.Rattle(), "galerkin-3": da.Galerkin(3)}


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_the_error_is_below_the_tolerance(tolerance):
    system, t = Pendulum(), (0.0, 3.0)
    start = system.start()
    choice = da.recommend(system, tolerance, start.q0, start.v0, t, candidates=FEW)
    run = da.simulate(system, choice.method, start.q0, start.v0, t=t, h=choice.h)
    error = np.max(np.abs(run.q[-1] - np.asarray(system.exact(np.array([3.0])).q[-1])))
    assert error <= tolerance
    assert choice.error == pytest.approx(error, rel=0.5) or choice.error <= tolerance
    assert choice.checked
    assert choice.seconds > 0
    assert choice.h * len(run.t[1:]) == pytest.approx(3.0)


def test_a_small_error_wants_a_high_order():
    choice = da.recommend(Pendulum(), 1e-9, candidates=FEW)
    assert choice.name == "galerkin-3"
    assert [c.name for c in choice.candidates] == ["galerkin-3", "rattle"]
    assert choice.candidates[0].steps < choice.candidates[1].steps


def test_it_can_be_unpacked():
    choice = da.recommend(Pendulum(), 1e-3, [1.0, 0.0], [0.0, 0.0], (0.0, 1.0), candidates=FEW)
    assert set(choice) == {"method", "h"}
    run = da.simulate(Pendulum(), **choice, q0=[1.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0))
    assert run.status
    assert choice["method"] is choice.method
    with pytest.raises(KeyError):
        choice["q0"]


def test_it_reads_well():
    choice = da.recommend(Pendulum(), 1e-3, [1.0, 0.0], [0.0, 0.0], (0.0, 1.0), candidates=FEW)
    head, names, *rows = repr(choice).splitlines()
    assert choice.method.name in head
    assert "tolerance 1.0e-03" in head
    assert names.split() == ["method", "h", "steps", "error", "ms"]
    assert len(rows) == 2
    page = choice._repr_html_()
    assert page.count("<tr>") == 3
    assert "rattle" in page


@pytest.mark.parametrize("system", [Skate(), DrivenPendulum()], ids=lambda system: type(system).__name__)
def test_methods_fit_the_system(system):
    start = system.start()
    choice = da.recommend(system, 1e-4, start.q0, start.v0, (0.0, 0.5))
    run = da.simulate(system, **choice, q0=start.q0, v0=start.v0, t=(0.0, 0.5))
    assert run.hidden.max() < 1e-12
    assert len(choice.candidates) > 2


def test_contacts():
    choice = da.recommend(BouncingBall(), 1e-2, t=(0.0, 1.5), candidates={"moreau-jean": da.MoreauJean()})
    run = da.simulate(BouncingBall(), **choice, q0=[1.0], v0=[0.0], t=(0.0, 1.5))
    assert abs(run.q[-1, 0] - BouncingBall().exact(np.array([1.5])).q[-1, 0]) < 1e-2


class Nameless(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * jnp.sum(q**2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 1e-6}, "give q0 and v0: Nameless brings no starting values along"),
        ({"tolerance": 0.0, "q0": [1.0], "v0": [0.0]}, "tolerance must be a positive number, got 0.0"),
        ({"tolerance": 1e-15, "q0": [1.0], "v0": [0.0]}, "tolerance must be at least 1e-13, got 1e-15"),
        ({"tolerance": 1e-3, "q0": [1.0], "v0": [0.0], "t": (1.0, 0.0)}, "t must be"),
        ({"tolerance": 1e-3, "q0": [1.0], "v0": [0.0], "seconds": -1}, "seconds must be a positive number"),
        ({"tolerance": 1e-3, "q0": [1.0], "v0": [0.0], "candidates": []}, "candidates must be a dict of methods"),
        (
            {"tolerance": 1e-3, "q0": [1.0], "v0": [0.0], "candidates": {"a": 1}},
            "candidate 'a' must be a method such as da.Rattle",
        ),
        (
            {"tolerance": 1e-12, "q0": [1.0], "v0": [0.0], "candidates": {"a": da.euler_spark("I")}, "seconds": 0.3},
            "no method reaches the tolerance 1e-12",
        ),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(da.InputError) as error:
        da.recommend(Nameless(), **arguments)
    assert message in str(error.value)


def test_a_method_that_does_not_fit_is_refused():
    with pytest.raises(da.MethodDoesNotFit):
        da.recommend(Skate(), 1e-3, candidates={"rattle": da.Rattle()})
    with pytest.raises(da.InputError, match="system must be a system"):
        da.recommend("pendulum", 1e-3)  # pyright: ignore[reportArgumentType]


class WithCond(da.System):
    """A spring that is twice as stiff on one side, as an operation without Taylor series."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - jax.lax.cond(q[0] > 0, lambda x: x**2, lambda x: 2 * x**2, q[0])


def test_a_candidate_that_cannot_expand_an_operation_is_skipped_and_named():
    methods = {"rattle": da.Rattle(), "taylor-8": da.Taylor(8)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dalembert.diagnostics.recommendation._fitting", lambda *_: methods)
        choice = da.recommend(WithCond(), 1e-3, [1.0], [0.0], (0.0, 0.5), seconds=1.0)
    assert choice.name == "rattle"
    (skipped,) = [found for found in choice.candidates if found.name == "taylor-8"]
    assert skipped.steps == 0
    assert "does not fit: no Taylor series is known for the operation 'cond'" in skipped.note
    with pytest.raises(da.MethodDoesNotFit, match="cond"):  # asked for by name it is refused
        da.recommend(WithCond(), 1e-3, [1.0], [0.0], (0.0, 0.5), candidates=methods, seconds=1.0)


class StifflyDamped(da.System):
    """A pendulum in honey."""

    damping: float = 400.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)

    def force(self, t, q, v):
        return -self.damping * v


def test_substeps_backwards_through_damping_are_said_and_not_recommended():
    composed, start = da.Composition(da.Rattle(), "yoshida4"), ([1.0, 0.0], [0.0, 0.0])
    run = da.simulate(StifflyDamped(), composed, *start, t=(0.0, 1.0), h=0.02, on_failure="return")
    assert "go backwards in time, by up to 1.7 h, where the damping of this system (rate 400)" in run.status.message
    assert "da.Galerkin(2)" in run.status.message
    light = da.simulate(StifflyDamped(damping=0.1), composed, *start, t=(0.0, 1.0), h=0.02)
    assert light.status
    methods = {"rattle": da.Rattle(), "composed": da.Composition(da.Rattle(), "suzuki4")}
    choice = da.recommend(StifflyDamped(), 1e-4, *start, (0.0, 1.0), candidates=methods, seconds=1.0)
    assert choice.name == "rattle"
    assert "composed" in {found.name for found in choice.candidates if found.note}
