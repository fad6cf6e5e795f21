"""The symplectic Euler method with complementarity: a mass that leaves a rough surface and lands on it again."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.gallery.friction_surface import MassOnCubic
from dalembert.gallery.unilateral import MassOverCubic

CUBIC, GRAVITY = 0.01, 9.81


def reference(y0, z0, end):
    """The same motion piece by piece: sliding with the multiplier in closed form, flight, frictionless landing."""

    def lift(t, u):
        return GRAVITY + 6 * CUBIC * u[0] * u[2] ** 2

    def height(t, u):
        return u[1] - CUBIC * u[0] ** 3

    def slide(t, u):
        normal, v = np.array([-3 * CUBIC * u[0] ** 2, 1.0]), u[2:]
        psi = lift(t, u) / (normal @ normal)
        push = normal * psi - 0.1 * (np.linalg.norm(normal) * max(psi, 0.0)) ** 0.85 * v / np.linalg.norm(v)
        return [*v, *(push - [0.0, GRAVITY])]

    def fly(t, u):
        return [u[2], u[3], 0.0, -GRAVITY]

    for event in (lift, height):
        event.terminal, event.direction = True, -1
    t, u, changes = 0.0, np.array([*y0, *z0]), []
    sliding = lift(t, u) > 0
    while t < end:
        rates, event = (slide, lift) if sliding else (fly, height)
        piece = solve_ivp(
            rates, (t, end), u, rtol=1e-11, atol=1e-12, events=event, max_step=0.01, first_step=1e-5 * end
        )
        t, u = piece.t[-1], piece.y[:, -1].copy()
        if piece.status == 1:
            changes.append(t)
            if not sliding:
                normal = np.array([-3 * CUBIC * u[0] ** 2, 1.0])
                u[2:] -= normal * (normal @ u[2:]) / (normal @ normal)
            sliding = not sliding
    return u[:2], changes


@pytest.mark.parametrize(("y1", "speed", "end", "what"), [(-5.0, 6.5, 1.5, "lands"), (6.0, -14.0, 1.0, "takes off")])
def test_order_one_through_taking_off_and_landing(y1, speed, end, what):
    system = MassOverCubic()
    y0, z0 = system.start_values(y1, speed)
    exact, changes = reference(y0, z0, end)
    assert len(changes) == 1
    errors = []
    for steps in (200, 400, 800, 1600):
        run = da.simulate(system, da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, end), h=end / steps)
        errors.append(np.max(np.abs(run.y[-1] - exact)))
        flying = run.t[1:][run.psi[1:, 0] == 0]
        assert abs((flying[-1] if what == "lands" else flying[0]) - changes[0]) < 5 * end / steps
        assert run.gap.min() > -1e-13
        assert run.psi.min() >= 0
        assert np.max(run.psi[run.gap[:, 0] > 1e-9]) == 0
    slope = np.polyfit(np.log([200, 400, 800, 1600]), np.log(errors), 1)[0]
    assert -1.2 < slope < -0.8


def test_while_it_slides_it_is_the_equality():
    bilateral, unilateral = MassOnCubic(), MassOverCubic()
    y0, z0 = unilateral.start_values(8.0, -2.0)
    runs = [
        da.simulate(system, da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, 0.5), h=0.01)
        for system in (bilateral, unilateral)
    ]
    np.testing.assert_allclose(runs[0].y, runs[1].y, atol=1e-12)
    # the one is the multiplier of the continuous equations, the other that of the step
    np.testing.assert_allclose(runs[0].psi[1:], runs[1].psi[1:], rtol=2e-2)


def test_the_natural_extension_is_refused():
    system = MassOverCubic()
    y0, z0 = system.start_values()
    with pytest.raises(da.MethodDoesNotFit, match='only the extension "true" treats inequalities'):
        da.simulate(system, da.SymplecticEuler("natural"), y0=y0, z0=z0, t=(0.0, 1.0), h=0.01)


def test_a_start_below_the_surface_is_refused():
    with pytest.raises(da.InconsistentStart, match=r"penetrates contact gap\[0\]"):
        da.simulate(MassOverCubic(), da.SymplecticEuler(), y0=[0.0, -1.0], z0=[1.0, 0.0], t=(0.0, 1.0), h=0.01)


class SmoothCubic(da.System):
    """`MassOverCubic` without friction, as a mechanical system with a contact."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - GRAVITY * q[1]

    def gap(self, t, q):
        return (q[1] - CUBIC * q[0] ** 3)[None]


def test_without_friction_it_is_the_contact_of_event_capturing():
    system = MassOverCubic(friction_coefficient=0.0)
    y0, z0 = system.start_values(-5.0, 6.5)
    captured = da.simulate(
        SmoothCubic(), da.EventCapturing(da.radau_iia(3)), q0=y0, v0=z0, t=(0.0, 1.0), h=0.02, save_every=50
    )
    assert [event.kind for event in captured.events] == ["impact", "closing"]
    errors = []
    for steps in (400, 1600):
        run = da.simulate(system, da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, 1.0), h=1 / steps)
        errors.append(np.max(np.abs(run.y[-1] - captured.q[-1])))
    assert errors[1] < 0.35 * errors[0] < 0.02
