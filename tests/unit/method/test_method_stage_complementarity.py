"""(63), (64) of Acary: complementarity at every stage of a Runge-Kutta method, compared with fixed modes and events.

A mass of 1 on the ground q = 0 under F = 4 t - 2 - 5 q: it is lifted at t = 1/2. With the conditions
0 <= V'_i = F_i + lam_i _|_ lam_i >= 0 at the stages nothing is located: a step has stages on both sides of the release.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

END, LIFTED, K = 2.0, 0.5, 5.0
#: No release falls on these grids.
STEPS = (23, 37, 59)


def force(t, q):
    return 4 * t - 2 - K * q


def exact(t):
    """q'' + 5 q = 4 (t - 1/2) from rest at the release."""
    w, s = np.sqrt(K), np.maximum(np.asarray(t) - LIFTED, 0.0)
    return 4 / K * (s - np.sin(w * s) / w)


class Lifted(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 0.5 * K * (q @ q)

    def force(self, t, q, v):
        return jnp.array([4 * t - 2])

    def gap(self, t, q):
        return q


def with_complementarity_at_the_stages(tableau, steps):
    """(64): the index set of the start of a step, and V'_i = max(F_i, 0) at its stages where it is closed."""
    A, b, c = np.array(tableau.matrix), np.array(tableau.weights), np.array(tableau.nodes)
    h, q, v, found = END / steps, 0.0, 0.0, [0.0]
    for k in range(steps):
        closed, rate = q <= 1e-14 and abs(v) <= 1e-14, np.zeros(len(b))
        for _ in range(100):
            last = rate
            places = q + h * (A @ (v + h * A @ rate))
            rate = force((k + c) * h, places)
            rate = np.maximum(rate, 0.0) if closed else rate
            if np.max(np.abs(rate - last)) < 1e-15:
                break
        q, v = q + h * b @ (v + h * A @ rate), v + h * b @ rate
        found.append(q)
    return np.array(found)


def largest_errors(found):
    return np.array([np.max(np.abs(q - exact(np.linspace(0.0, END, len(q))))) for q in found])


@pytest.mark.parametrize("stages", [2, 3])
def test_the_order_is_lost_where_stages_lie_on_both_sides(stages):
    """Order 2 whatever the order 2 s - 1 of the method: the kink of the force costs h^2 in v, once."""
    tableau = da.radau_iia(stages)
    errors = largest_errors([with_complementarity_at_the_stages(tableau, n) for n in STEPS])
    assert -np.polyfit(np.log(STEPS), np.log(errors), 1)[0] < 2.6
    runs = [da.simulate(Lifted(), da.EventCapturing(tableau), [0.0], [0.0], t=(0.0, END), h=END / n) for n in STEPS]
    located = largest_errors([run.q[:, 0] for run in runs])
    assert -np.polyfit(np.log(STEPS), np.log(located), 1)[0] > 2 * stages - 1.3
    assert np.all(errors > 5 * located)
    for run in runs:
        assert list(run.events.kind) == ["opening"]
        assert run.events.time[0] == pytest.approx(LIFTED, abs=1e-6)


def test_both_are_one_where_nothing_happens_within_a_step():
    """The release on the grid: the same stages, the same numbers."""
    tableau = da.radau_iia(3)
    run = da.simulate(Lifted(), da.EventCapturing(tableau), [0.0], [0.0], t=(0.0, END), h=END / 40)
    np.testing.assert_allclose(run.q[:, 0], with_complementarity_at_the_stages(tableau, 40), atol=1e-12)
