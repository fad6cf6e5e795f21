"""The equations by automatic differentiation against the same equations by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.formulation import Acceleration, Holonomic, mechanics_of
from dalembert.gallery import (
    BeadOnMovingWire,
    DrivenPendulum,
    HamiltonianSphericalPendulum,
    HarmonicOscillator,
    Kepler,
    Pendulum,
    PolarPendulum,
    SphericalPendulum,
)
from dalembert.problem import prepared

T = jnp.asarray(0.7)
Q, V, P = jnp.array([0.6, -0.5]), jnp.array([1.1, 0.4]), jnp.array([0.3, -0.8])


def of(system):
    return mechanics_of(prepared(system))


def close(found, wanted):
    assert np.asarray(found) == pytest.approx(np.asarray(wanted), rel=1e-13, abs=1e-13)


def test_lagrangian_with_constant_mass():
    m = of(DrivenPendulum(length=1.3, gravity=9.81, mass=2.0, damping=0.5, amplitude=3.0, frequency=2.0))
    close(m.legendre(T, Q, V, P), P - 2.0 * V)
    close(m.rate(T, Q, V, P), [3.0 * np.cos(1.4) - 0.5 * V[0], -2.0 * 9.81 - 0.5 * V[1]])
    close(m.energy(T, Q, V, P), V @ V + 2.0 * 9.81 * Q[1])
    close(m.constraint(T, Q), [0.5 * (Q @ Q - 1.69)])
    close(m.hidden(T, Q, V), [Q @ V])
    close(m.constraint_force(T, Q, jnp.array([4.0])), 4.0 * Q)


def test_lagrangian_with_mass_that_depends_on_position():
    """L = m/2 (r'^2 + r^2 phi'^2) - m g r sin(phi)."""
    m = of(PolarPendulum(mass=2.0, offset=1.5))
    r, phi = Q
    close(m.legendre(T, Q, V, P), P - 2.0 * jnp.array([V[0], r**2 * V[1]]))
    force = jnp.array([2.0 * r * V[1] ** 2 - 19.62 * jnp.sin(phi), -19.62 * r * jnp.cos(phi)])
    close(m.rate(T, Q, V, P), force)
    close(m.hidden(T, Q, V), [(r - 1.5 * jnp.cos(phi)) * V[0] + 1.5 * r * jnp.sin(phi) * V[1]])
    w = jnp.array([0.2, -0.9])
    close(m.mass_residual(w, 2.0 * jnp.array([w[0], r**2 * w[1]]), T, Q, V, P), [0.0, 0.0])


def test_hamiltonian():
    q, v, p = jnp.array([0.6, -0.5, 0.2]), jnp.array([1.1, 0.4, -0.3]), jnp.array([0.3, -0.8, 0.1])
    m = of(HamiltonianSphericalPendulum(mass=2.0))
    close(m.legendre(T, q, v, p), v - p / 2.0)
    close(m.rate(T, q, v, p), [0.0, 0.0, -19.62])
    close(m.energy(T, q, v, p), 0.25 * (p @ p) + 19.62 * q[2])


def test_time_dependent_constraint_has_its_time_derivative():
    """g = cos(wt) y - sin(wt) x; g_q v + g_t = cos(wt) (v_y - w x) - sin(wt) (v_x + w y)."""
    m = of(BeadOnMovingWire(rate=2.0))
    c, s = np.cos(1.4), np.sin(1.4)
    close(m.constraint(T, Q), [c * Q[1] - s * Q[0]])
    close(m.hidden(T, Q, V), [c * (V[1] - 2.0 * Q[0]) - s * (V[0] + 2.0 * Q[1])])
    close(m.constraint_force(T, Q, jnp.array([3.0])), [-3.0 * s, 3.0 * c])


def test_system_without_constraints_or_forces():
    m = of(Kepler())
    assert m.constraint(T, Q).shape == m.hidden(T, Q, V).shape == (0,)
    close(m.constraint_force(T, Q, jnp.zeros(0)), [0.0, 0.0])
    close(m.external_force(T, Q, V), [0.0, 0.0])


def acceleration_of(system, t, q, v, p, m: int) -> Acceleration:
    """The zero of the acceleration residual, which is linear."""
    mechanics = of(system)
    zero = Acceleration(jnp.zeros_like(q), jnp.zeros_like(q), jnp.zeros(m), jnp.zeros(0))
    flat, unravel = jax.flatten_util.ravel_pytree(zero)

    @jax.jit
    def solve(t, q, v, p):
        def residual(x):
            return jax.flatten_util.ravel_pytree(mechanics.acceleration_residual(unravel(x), t, q, v, p))[0]

        return jnp.linalg.solve(jax.jacfwd(residual)(flat), -residual(flat))

    return unravel(solve(t, q, v, p))


def test_acceleration_of_the_pendulum():
    """lam = m (|v|^2 - g y) / l^2 and m q'' = -m g e_y - q lam."""
    q, v = jnp.array([0.6, -0.8]), 1.7 * jnp.array([0.8, 0.6])
    found = acceleration_of(Pendulum(mass=2.0), T, q, v, 2.0 * v, 1)
    lam = 2.0 * (1.7**2 + 9.81 * 0.8)
    close(found.lam, [lam])
    close(found.p_rate, [-0.6 * lam, -19.62 + 0.8 * lam])
    close(found.v_rate, found.p_rate / 2.0)


def test_acceleration_on_a_moving_wire():
    """q'' = (s'' - w^2 s) e + 2 w s' n with s'' = w^2 s - g sin(wt)."""
    system = BeadOnMovingWire(rate=2.0, gravity=9.81)
    t, s, ds = 0.7, 0.9, -0.3
    e, n = jnp.array([np.cos(1.4), np.sin(1.4)]), jnp.array([-np.sin(1.4), np.cos(1.4)])
    q, v = s * e, ds * e + 2.0 * s * n
    found = acceleration_of(system, jnp.asarray(t), q, v, v, 1)
    close(found.v_rate, -9.81 * np.sin(1.4) * e + 4.0 * ds * n)
    close(found.lam, [-(4.0 * ds + 9.81 * np.cos(1.4))])


def test_acceleration_of_lagrangian_and_hamiltonian_agree():
    start = SphericalPendulum().start()
    one = acceleration_of(SphericalPendulum(), T, start.q0, start.v0, start.v0, 1)
    two = acceleration_of(HamiltonianSphericalPendulum(), T, start.q0, start.v0, start.v0, 1)
    for a, b in zip(one, two, strict=True):
        close(a, b)


def test_acceleration_in_a_moving_mass_matrix():
    """Polar coordinates without constraint: r'' = r phi'^2, phi'' = -2 r' phi' / r for a free particle."""
    free = da.system(lambda t, q, v: 0.5 * (v[0] ** 2 + (q[0] * v[1]) ** 2))
    p = jnp.array([V[0], Q[0] ** 2 * V[1]])
    found = acceleration_of(free, T, Q, V, p, 0)
    close(found.v_rate, [Q[0] * V[1] ** 2, -2 * V[0] * V[1] / Q[0]])


@pytest.mark.parametrize("rows", [(0,), (2, 0)])
def test_rows_keep_some_of_the_constraints(rows):
    system = da.system(lambda t, q, v: 0.5 * v @ v, holonomic=lambda t, q: jnp.array([q[0], q[1], q[0] + q[1]]))
    full, part = Holonomic(system), Holonomic(system, rows)
    close(part.value(T, Q), full.value(T, Q)[np.array(rows)])
    close(part.hidden(T, Q, V), full.hidden(T, Q, V)[np.array(rows)])
    lam = jnp.arange(1.0, len(rows) + 1)
    spread = jnp.zeros(3).at[np.array(rows)].set(lam)
    close(part.force(T, Q, lam), full.force(T, Q, spread))


def test_scalar_constraint_counts_as_one_row():
    assert Holonomic(Pendulum()).value(T, Q).shape == (1,)
    assert Holonomic(HarmonicOscillator()).value(T, Q).shape == (0,)
