"""`measure_claims` on systems that no table names: it finds out by itself on what to measure."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import Case, Setting
from dalembert.diagnostics.claims import _size_of_terms
from dalembert.gallery import Kepler, PolarPendulum


class Swing(da.System):
    """A pendulum in other units: 40 mm long, moved in milliseconds."""

    length: float = 40.0
    gravity: float = 9.81e-3

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return q @ q - self.length**2


class Slowed(Swing):
    def force(self, t, q, v):
        return -0.002 * v


HANGING = np.array([24.0, -32.0]), np.zeros(2)
SETTING = Setting(end=60.0, h=2.0)


def test_every_claim_that_applies_is_measured():
    found = da.measure_claims(da.Rattle(), Swing(), *HANGING, setting=SETTING, symplectic=False)
    assert found.hold, found
    assert not found.unmeasured
    assert set(found.found) == {
        "order of q", "order of p", "order of lam", "constraint at position level", "constraint at velocity level",
        "symmetric", "bounded energy", "order with unequal steps",
    }  # fmt: skip
    assert found.value("order of q") == pytest.approx(2, abs=0.2)
    assert "order of lam" in str(found)


def test_energy_is_not_asked_for_where_a_force_takes_it():
    found = da.measure_claims(da.Rattle(), Slowed(), *HANGING, setting=SETTING, symplectic=False)
    assert found.hold, found
    assert "bounded energy" not in found.found


def test_a_system_of_the_gallery_brings_its_start_and_its_exact_motion():
    found = da.measure_claims(da.Galerkin(2), Kepler(), symplectic=False)
    assert found.hold, found
    assert {"order of q", "order of p", "order with unequal steps", "symmetric", "momentum"} == set(found.found)


def test_a_claim_that_is_not_kept_is_broken(monkeypatch):
    monkeypatch.setattr(da.Shake, "claims", da.Claims(order=3, constraints=("position", "velocity"), symmetric=True))
    found = da.measure_claims(da.Shake(), PolarPendulum(), symplectic=False)
    assert not found.hold
    assert {text.partition(":")[0] for text in found.broken} == {
        "order of q", "order of p", "order with unequal steps", "constraint at velocity level", "symmetric",
    }  # fmt: skip
    assert "FAILS" in str(found)


def test_residuals_are_compared_to_the_terms_that_cancel():
    """In millimetres the constraint is a million times larger than in metres, and so is its roundoff."""
    run = Case(da.Rattle(), Swing(), *HANGING, SETTING).long_run()
    assert np.max(run.constraint) > 1e-13
    assert np.max(run.constraint) < 1e-13 * 40**2


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_the_size_of_the_terms_is_that_of_the_gradient_times_what_moves(level):
    case = Case(da.Rattle(), Swing(), *HANGING, SETTING)
    run = case.long_run()
    largest = np.max(np.abs(run.q if level == "position" else run.v), axis=0)
    assert _size_of_terms(case, level) == pytest.approx(2 * np.abs(HANGING[0]) @ largest, rel=1e-12)


def test_starting_values_are_asked_for():
    with pytest.raises(da.InputError, match="measure_claims needs starting values: Swing has none"):
        da.measure_claims(da.Rattle(), Swing())
    with pytest.raises(da.InputError, match=r"a method such as da\.Rattle"):
        da.measure_claims("rattle", Swing())  # pyright: ignore


def test_an_own_method_is_measured_as_those_of_the_library():
    class Explicit(da.Method):
        """The explicit Euler method; it claims order 2 and bounded energy."""

        claims = da.Claims(order=2, bounded_energy=True)

        def guess(self, step):
            return {"v": step.start.v}

        def residual(self, x, step):
            m, start = step.mechanics, step.start
            p1 = start.p + step.h * m.rate(step.t, start.q, start.v, start.p)
            return {"velocity": m.legendre(step.t_end, start.q + step.h * start.v, x["v"], p1)}

        def finish(self, x, step):
            m, start = step.mechanics, step.start
            rate = m.rate(step.t, start.q, start.v, start.p)
            return step.end(dq=step.h * start.v, dp=step.h * rate, v=x["v"])

    free = da.system(lagrangian=lambda t, q, v: 0.5 * v @ v - 0.5 * q @ q - 0.1 * jnp.sum(q**4))
    found = da.measure_claims(Explicit(), free, [1.0], [0.0], setting=Setting(h=0.01, long_steps=8000))
    assert {text.partition(":")[0] for text in found.broken} >= {"order of q", "order of p", "bounded energy"}
