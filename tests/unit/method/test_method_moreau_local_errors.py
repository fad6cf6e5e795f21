"""Local errors of Moreau's scheme on the ball, by the corrected formulas (25)-(27), lemma 1 and propositions 1 to 3.

With an impact at t_k + sigma h, v the velocity and q the height at t_k, f = -g::

    p = 0:   e_v = -(1 + rho) (v + h f sigma)
             e_q = -q - h (rho (1 - sigma) + 1) v - f h^2 (rho (1 - sigma) sigma - (1 - sigma)^2 / 2 + theta)
    p > 0:   e_v = h f (1 - sigma - rho sigma)
             e_q = -q - h ((1 + rho) (1 - theta) - rho sigma) v - f h^2 (rho (1 - sigma) sigma - (1 - sigma)^2 / 2)
"""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, ImpactOscillator

FALL = -3.0


def local_error(h, sigma, *, rho=0.5, theta=0.5, gamma=0.5, gravity=2.0):
    """The start (q, v) of a step with an impact after sigma h, with the velocity FALL, and its errors e_q and e_v."""
    v = FALL + gravity * sigma * h
    q = -(v * sigma * h - gravity / 2 * (sigma * h) ** 2)
    later = (1 - sigma) * h
    exact_q, exact_v = -rho * FALL * later - gravity / 2 * later**2, -rho * FALL - gravity * later
    ball = BouncingBall(gravity=gravity, restitution=rho)
    run = da.simulate(ball, da.MoreauJean(theta, gamma), [q], [v], t=(0.0, h), h=h)
    return q, v, float(exact_q - run.q[-1, 0]), float(exact_v - run.v[-1, 0])


def by_formula(pressed, h, sigma, q, v, rho, theta, f):
    bent = rho * (1 - sigma) * sigma - (1 - sigma) ** 2 / 2
    if not pressed:
        return (
            -q - h * (rho * (1 - sigma) + 1) * v - f * h**2 * (bent + theta),
            -(1 + rho) * (v + h * f * sigma),
        )
    return (
        -q - h * ((1 + rho) * (1 - theta) - rho * sigma) * v - f * h**2 * bent,
        h * f * (1 - sigma - rho * sigma),
    )


@pytest.mark.parametrize(("rho", "theta"), [(0.5, 0.5), (0.8, 1.0), (0.0, 0.7)])
def test_local_errors_of_the_ball(rho, theta):
    """Example 3: gamma = 1/2 forecasts impacts in the first half of a step, gamma = 0 none at all."""
    for sigma in (0.1, 0.3, 0.45, 0.6, 0.9):
        for gamma in (0.0, 0.5):
            q, v, *errors = local_error(0.1, sigma, rho=rho, theta=theta, gamma=gamma)
            pressed = q + gamma * 0.1 * v <= 0
            assert pressed == (gamma == 0.5 and sigma < 0.5)
            assert errors == pytest.approx(by_formula(pressed, 0.1, sigma, q, v, rho, theta, -2.0), abs=1e-13)


def test_the_local_error_at_the_accumulation():
    """(27): e_v = rho v(3 - h) = h - 3 / 2^(n0 + 1) for a step from 3 - h to 3 + h whose impact is forecast; printed is
    -2 h - 3 / 2^n0, 28 times that here."""
    h, n0 = 1.3 / 64, 6
    begin = BouncingBall().exact(np.array([3 - h]))
    q, v = float(begin.q[0, 0]), float(begin.v[0, 0])
    run = da.simulate(BouncingBall(), da.MoreauJean(), [q], [v], t=(0.0, 2 * h), h=2 * h)
    assert run.impulse[-1, 0] > 0
    error = -float(run.v[-1, 0])
    assert error == pytest.approx(h - 3 / 2 ** (n0 + 1), abs=1e-12)
    assert error == pytest.approx(-0.003125, abs=1e-12)


@pytest.mark.parametrize("theta", [0.3, 0.5, 0.8])
def test_the_bound_of_lemma_1_is_sharp(theta):
    """Without gravity v_1 is exact and e_q is the error of the theta rule for a step function: at most C(theta) h times
    its variation (1 + rho) |v|, and that is reached as the impact moves to one end of the step."""
    parts = []
    for sigma in (1e-6, 0.1, 0.3, 0.49, 0.7, 1 - 1e-6):
        *_, e_q, e_v = local_error(0.1, sigma, theta=theta, gamma=1.0, gravity=0.0)
        assert abs(e_v) < 1e-13
        parts.append(abs(e_q) / (0.1 * 1.5 * abs(FALL)))
    bound = max(theta, 1 - theta)
    assert max(parts) <= bound * (1 + 1e-9)
    assert max(parts) == pytest.approx(bound, rel=1e-5)


def slopes(errors, sizes):
    return np.polyfit(np.log(sizes), np.log(np.abs(errors)), 1)[0]


def test_orders_of_the_local_errors_at_an_impact():
    """Propositions 1 and 3: e_q = O(h), and e_v = O(h) where the impact is forecast, else O(1)."""
    sizes = [0.1, 0.05, 0.025, 0.0125]
    forecast = np.array([local_error(h, 0.3)[2:] for h in sizes])
    missed = np.array([local_error(h, 0.3, gamma=0.0)[2:] for h in sizes])
    assert slopes(forecast, sizes) == pytest.approx([1.0, 1.0], abs=0.1)
    assert slopes(missed, sizes) == pytest.approx([1.0, 0.0], abs=0.1)


@pytest.mark.parametrize(("theta", "order"), [(1.0, 2.0), (0.5, 3.0)])
def test_orders_of_the_local_errors_in_smooth_motion(theta, order):
    """Proposition 2: e_q = e_v = O(h^2); one order more with theta = 1/2."""
    free = ImpactOscillator(stop=-10.0)
    sizes, errors = [0.004, 0.002, 0.001], []
    for h in sizes:
        run = da.simulate(free, da.MoreauJean(theta), [1.0], [-1.0], t=(0.0, h), h=h)
        exact = free.exact(np.array([h]), np.array([1.0]), np.array([-1.0]))
        errors.append([float(exact.q[0, 0] - run.q[-1, 0]), float(exact.v[0, 0] - run.v[-1, 0])])
    assert slopes(np.array(errors), sizes) == pytest.approx([order, order], abs=0.2)
