"""Local errors of the symplectic Euler methods on problem (4.1), theorems 3.1 to 3.3: one step from the solution."""

import warnings

import equinox as eqx
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.friction_surface import NonlinearReaction

SIZES = (0.02, 0.01, 0.005)


def local_orders(method):
    """The orders of z(t0 + h) - z1 and of y(t0 + h) - y1."""
    system, errors = NonlinearReaction(), []
    y0, z0 = system.start_values()
    for h in SIZES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.InconsistentMethodWarning)
            run = da.simulate(system, method, y0=y0, z0=z0, t=(0.0, h), h=h)
        exact = system.exact(np.array([h]))
        errors.append([np.max(np.abs(run.z[-1] - exact.p[0])), np.max(np.abs(run.y[-1] - exact.q[0]))])
    return np.polyfit(np.log(SIZES), np.log(errors), 1)[0]


@pytest.mark.parametrize(
    ("extension", "conjugate", "order"),
    [("true", False, 2.0), ("true", True, 2.0), ("natural", False, 1.0), ("natural", True, 1.0)],
)
def test_local_orders(extension, conjugate, order):
    """z1 - z(t0 + h) is O(h^2) for the true methods and only O(h) for the natural ones; y1 is O(h^2) for all."""
    found = local_orders(da.SymplecticEuler(extension, conjugate))
    assert found == pytest.approx([order, 2.0], abs=0.2)


def test_local_order_of_a_symmetric_method_with_the_same_reaction():
    assert local_orders(da.Rattle()) == pytest.approx([3.0, 3.0], abs=0.2)


class OtherArguments(da.SymplecticEuler):
    """The true method (3.5) with z0, Z1 or z1 in its reactions, as the paper allows after (3.5)."""

    first: str = eqx.field(static=True, default="z0")  # of r(y0, ., Psi_0)
    last: str = eqx.field(static=True, default="z1")  # of both r(y1, ., .)

    def _increments(self, x, step):
        m, h, (y0, z0, v0, _, psi, *_) = step.mechanics, step.h, step.start
        z = {"z0": z0, "Z1": x.Z, "z1": x.z1}
        begin, end = z[self.first], z[self.last]
        force = h * m.rate(step.t, y0, x.V, x.Z)
        first = -h * self.alpha * m.reactions(step.t, y0, v0, begin, x.P0, psi)
        at_end = [-m.reactions(step.t_end, x.y1, x.v1, end, P, psi) for P in (x.P1, x.P0)]
        return force + first, h * (at_end[0] - self.alpha * at_end[1])


@pytest.mark.parametrize(("first", "last"), [(a, b) for a in ("z0", "Z1", "z1") for b in ("z0", "Z1", "z1")])
def test_the_reactions_may_take_any_z(first, last):
    """Order 1, whatever they take: local errors O(h^2) in y and z."""
    found = local_orders(OtherArguments(first=first, last=last))
    assert found == pytest.approx([2.0, 2.0], abs=0.25)


def test_other_arguments_are_the_method_where_they_are_the_same():
    system = NonlinearReaction()
    y0, z0 = system.start_values()
    ends = [
        da.simulate(system, method, y0=y0, z0=z0, t=(0.0, 0.1), h=0.01)
        for method in (OtherArguments(), da.SymplecticEuler())
    ]
    np.testing.assert_array_equal(ends[0].z, ends[1].z)


class InsteadOfZ(da.OverdeterminedDAE):
    """Problem (4.1) as d/dt p(y, z) = f + r with p = z + z^3 / 10 + y^2 / 20, for which no formula gives z: the state
    is Z = p(y, z), and `solved` finds z by Newton's method inside the functions."""

    def solved(self, y, Z):
        z = Z - y**2 / 20
        for _ in range(8):
            z = z - (z + z**3 / 10 + y**2 / 20 - Z) / (1 + 3 * z**2 / 10)
        return z

    def velocity(self, y, z):
        return NonlinearReaction().velocity(y, self.solved(y, z))

    def force(self, y, z):
        inside = self.solved(y, z)
        rate = NonlinearReaction().force(y, inside)
        return (1 + 3 * inside**2 / 10) * rate + y / 10 * NonlinearReaction().velocity(y, inside)

    def reaction(self, y, z, psi):
        inside = self.solved(y, z)
        return (1 + 3 * inside**2 / 10) * NonlinearReaction().reaction(y, inside, psi)

    def constraint(self, y):
        return NonlinearReaction().constraint(y)


def test_a_function_of_y_and_z_in_the_place_of_z():
    """After (3.1e): d/dt p(y, z) = f + r is with Z = p(y, z) a system (3.1), for which the true method has order 1."""
    y0, errors, steps = np.ones(2), [], (50, 100, 200)
    for count in steps:
        run = da.simulate(InsteadOfZ(), da.SymplecticEuler(), y0=y0, z0=[1.15, 1.15], t=(0.0, 0.5), h=0.5 / count)
        z = NonlinearReaction().exact(np.array([0.5])).p[0]
        errors.append(np.max(np.abs(run.z[-1] - (z + z**3 / 10 + z**2 / 20))))  # y = z on the solution
        assert np.max(run.constraint) < 1e-13
    assert -np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)
