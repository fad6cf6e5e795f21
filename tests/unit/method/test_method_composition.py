"""Compositions reach their order on the constraints; adjoints are inverse to the method backwards."""

import dataclasses

import mpmath
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY
from dalembert.method import SCHEMES, Method, Sequence, Substep
from dalembert.method.composition import adjoint


def verlet_end(fractions, steps):
    """q at t = 2 of the pendulum q'' = -sin q by composed Stoermer-Verlet steps, with 30 digits."""
    with mpmath.workdps(30):
        q, p, h = mpmath.mpf(1), mpmath.mpf("0.5"), mpmath.mpf(2) / steps
        for _ in range(steps):
            for fraction in map(mpmath.mpf, fractions):
                p -= fraction * h / 2 * mpmath.sin(q)
                q += fraction * h * p
                p -= fraction * h / 2 * mpmath.sin(q)
        return q


@pytest.fixture(scope="module")
def pendulum_end():
    return verlet_end(SCHEMES["sofroniou-spaletta10"].fractions(2), 120)


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_are_symmetric_and_have_their_order(name, pendulum_end):
    scheme = SCHEMES[name]
    fractions = scheme.fractions(2)
    assert fractions == fractions[::-1]
    assert sum(fractions) == pytest.approx(1.0, abs=1e-15)
    steps = (8, 16) if scheme.order(2) >= 8 else (16, 32)  # coefficients have 16 digits
    errors = [abs(verlet_end(fractions, n) - pendulum_end) for n in steps]
    assert float(mpmath.log(errors[0] / errors[1], 2)) == pytest.approx(scheme.order(2), abs=0.15)


@pytest.mark.parametrize(
    ("base", "scheme", "steps"),
    [
        (da.Rattle(), "yoshida4", (40, 80, 160)),
        (da.Rattle(), "kahan-li6", (20, 40, 80)),
        (da.Rattle(), "kahan-li8", (10, 14, 20)),
        (da.gauss_spark(1), "suzuki4", (20, 40, 80)),
        (da.gauss_spark(2), "triple-jump", (20, 40, 80)),
        (da.euler_spark("I"), "adjoint", (40, 80, 160)),
        (da.euler_spark("I"), "yoshida4", (80, 160, 320)),
    ],
    ids=str,
)
def test_compositions_reach_their_order(base, scheme, steps):
    system = GALLERY["spherical-pendulum"]()
    start, method = system.start(), da.Composition(base, scheme)
    reference = da.simulate(system, da.Galerkin(6), start.q0, start.v0, t=(0.0, 1.0), h=1 / 80)
    errors = []
    for count in steps:
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 1.0), h=1 / count)
        errors.append(np.max(np.abs(run.q[-1] - reference.q[-1])))
        assert np.max(run.constraint) < 1e-14
        assert np.max(run.hidden) < 1e-13
    slope = da.observed_order([1 / n for n in steps], errors).slope
    assert slope == pytest.approx(method.order, abs=0.25)


def test_a_composition_equals_its_steps_taken_one_by_one():
    system = GALLERY["spherical-pendulum"]()
    start, h = system.start(), 0.1
    whole = da.simulate(system, da.Composition(da.Rattle(), "suzuki4"), start.q0, start.v0, t=(0.0, h), h=h)
    q, p = np.asarray(start.q0), None
    state = {"v0": start.v0}
    forward = 1 / (4 - 4 ** (1 / 3))
    # the middle fraction is negative: run it on the system backwards in time, which is the same for RATTLE
    for fraction in (forward, forward, 1 - 4 * forward, forward, forward):
        sign = np.sign(fraction)
        given = {"v0": sign * np.asarray(state["v0"])} if "v0" in state else {"p0": sign * p}
        part = da.simulate(system, da.Rattle(), q, t=(0.0, abs(fraction) * h), h=abs(fraction) * h, **given)
        q, p, state = part.q[-1], sign * part.p[-1], {"p0": None}
    assert np.max(np.abs(whole.q[-1] - q)) < 1e-14
    assert np.max(np.abs(whole.p[-1] - p)) < 1e-13


def test_phases_and_one_large_step_agree():
    system = GALLERY["pendulum"]()
    start = system.start()
    method = da.Composition(da.Rattle(), "yoshida4")
    runs = [
        da.simulate(system, method, start.q0, start.v0, t=(0.0, 2.0), h=0.05, engine=engine)
        for engine in ("native", "xla")
    ]
    assert runs[0].stats["phases"] == 3
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12
    assert np.max(np.abs(runs[0].p - runs[1].p)) < 1e-12


def test_saving_some_states_of_a_composition():
    system = GALLERY["pendulum"]()
    start = system.start()
    method = da.Composition(da.Rattle(), "yoshida4")
    every = da.simulate(system, method, start.q0, start.v0, t=(0.0, 3.0), h=0.05)
    some = da.simulate(system, method, start.q0, start.v0, t=(0.0, 3.0), h=0.05, save_every=4)
    assert np.array_equal(every.q[::4], some.q)
    assert every.iterations.sum() == some.iterations.sum() == some.stats["newton_iterations"]


class Closed(Method):
    """A method that does not tell its adjoint."""

    inner: Method

    @property
    def claims(self):
        return dataclasses.replace(self.inner.claims, symmetric=False)

    @property
    def handles(self):
        return self.inner.handles

    def adjoint(self):
        return None

    def guess(self, step):
        return self.inner.guess(step)

    def residual(self, x, step):
        return self.inner.residual(x, step)

    def finish(self, x, step):
        return self.inner.finish(x, step)


@pytest.mark.parametrize("name", ["pendulum", "harmonic-oscillator", "bead-on-rotating-hoop"])
@pytest.mark.parametrize("method", [da.Rattle(), da.euler_spark("I"), da.lobatto_spark(3, "ABC")], ids=str)
def test_the_adjoint_by_its_equations_is_the_closed_form(method, name):
    system = GALLERY[name]()
    start = system.start()
    runs = [
        da.simulate(system, m, start.q0, start.v0, t=(0.0, 0.5), h=0.05)
        for m in (da.Adjoint(Closed(method)), da.Adjoint(method))
    ]
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12
    assert np.max(np.abs(runs[0].p - runs[1].p)) < 1e-12


def test_the_adjoint_of_a_nonholonomic_method_by_its_equations():
    particle = da.system(
        lambda t, q, v: 0.5 * v @ v - q[0] ** 2 - q[1] ** 2, nonholonomic=lambda t, q, v: v[2] - q[1] * v[0]
    )
    method = da.euler_spark("II")
    q0, v0 = [1.0, 0.3, 0.0], [0.2, 1.0, 0.06]
    runs = [
        da.simulate(particle, m, q0, v0, t=(0.0, 0.5), h=0.05)
        for m in (da.Adjoint(Closed(method)), da.euler_spark("I"))
    ]
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-13
    assert np.max(runs[0].hidden) < 1e-14


def test_adjoints_as_simple_as_they_can_be():
    assert adjoint(da.Rattle()) == da.Rattle()
    assert adjoint(da.Adjoint(Closed(da.Rattle()))) == Closed(da.Rattle())
    assert isinstance(adjoint(Closed(da.Rattle())), da.Adjoint)
    twice = da.lobatto_spark(3, "ABC").adjoint().adjoint().tableau
    once = da.lobatto_spark(3, "ABC").tableau
    for key in ("A", "b", "c", "A_hat", "A_tilde"):
        assert np.allclose(getattr(twice, key).array, getattr(once, key).array, atol=1e-15)


class Pair(Sequence):
    """Two methods with half a step each."""

    first: Method
    second: Method

    @property
    def substeps(self):
        return Substep(self.first, 0.5), Substep(self.second, 0.5)

    @property
    def claims(self):
        return da.Claims(order=1)


def test_modified_lobatto_is_lobatto_where_the_constraint_is_affine_in_q():
    particle = da.system(
        lambda t, q, v: 0.5 * v @ v - q[0] ** 2 - q[1] ** 2, nonholonomic=lambda t, q, v: v[2] - q[1] * v[0]
    )
    arguments = ([1.0, 0.3, 0.0], [0.2, 1.0, 0.06])
    one, other, pair = (
        da.simulate(particle, m, *arguments, t=(0.0, 5.0), h=0.1)
        for m in (da.ModifiedLobatto(), da.lobatto_spark(2, "AB"), Pair(da.euler_spark("I"), da.euler_spark("II")))
    )
    assert np.max(np.abs(one.q - other.q)) < 1e-12
    assert np.max(np.abs(one.v - other.v)) < 1e-12
    assert np.array_equal(one.q, pair.q)


def test_bad_arguments():
    with pytest.raises(da.InputError, match="unknown composition scheme 'yoshida5'"):
        da.Composition(da.Rattle(), "yoshida5")
    with pytest.raises(da.InputError, match=r"composes symmetric methods of order 2; .* has order 4"):
        da.Composition(da.gauss_spark(2), "yoshida4")
    with pytest.raises(da.InputError, match=r"Composition expects a method such as da.Rattle\(\), got str"):
        da.Composition("rattle", "yoshida4")
    with pytest.raises(da.InputError, match="Adjoint expects a method"):
        da.Adjoint(3)
