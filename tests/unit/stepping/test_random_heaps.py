"""Random heaps of spheres: whatever a run says of its contacts, another evaluation of their laws says too."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ContactWarning

STEP = 0.005


def random_heap(seed, most):
    """Spheres of different sizes, friction and restitution that fall into a box or a funnel."""
    random = np.random.default_rng(seed)
    count = int(random.integers(10, most + 1))
    radius = random.uniform(0.05, 0.1, count)
    across = int(random.integers(2, max(3, int(count**0.5)) + 1))
    k, half = np.arange(count), 0.11 * across
    centres = 0.22 * np.stack([k % across + 0.5, k // across % across + 0.5, k // across**2 + 0.6], axis=1)
    centres += np.array([-half, -half, 0.0]) + random.uniform(-0.009, 0.009, (count, 3))
    lean = random.choice([0.0, 0.4])
    sides = np.array([[np.cos(a), np.sin(a), lean] for a in np.pi / 2 * np.arange(4)]) / np.hypot(1.0, lean)
    planes = np.column_stack([np.vstack([[0, 0, 1], sides]), [0.0, *[-(half + 0.02) / np.hypot(1.0, lean)] * 4]])
    system = da.Spheres(
        radius=radius, mass=1e3 * radius**3 * random.uniform(0.5, 2.0, count), planes=planes,
        friction=float(random.choice([0.0, 0.2, 0.5, 1.0])), restitution=float(random.choice([0.0, 0.0, 0.5])),
    )  # fmt: skip
    velocity = random.normal(scale=0.3, size=(2, count, 3))
    return system, np.concatenate([centres.ravel(), np.zeros(3 * count)]), velocity.ravel()


def residual_of_step(system, run, k):
    """How far the k-th state is from the laws of its contacts and from the balance of momentum, in the units of
    `da.nonlinear`, from dense arrays."""
    count, touching = system.count, run.touching(k)
    radius, mass = np.asarray(system.radius), np.asarray(system.mass)
    weights = np.concatenate([np.repeat(mass, 3), np.repeat(0.4 * mass * radius**2, 3)])
    before, after = run.v[k - 1], run.v[k]
    push, gravity = np.zeros((2, count, 3)), np.zeros((2, count, 3))
    gravity[0, :, 2] = -9.81 * STEP
    velocities = []
    for (i, j), n, P in zip(touching.pairs, touching.normal, touching.impulse, strict=True):
        own = np.zeros((3, 2, count, 3))
        for body, sign in ((j, 1.0), (i, -1.0)):
            if body >= 0:
                own[:, 0, body] = sign * np.eye(3)
                own[:, 1, body] = radius[body] * np.cross(np.eye(3), n)  # -(w x n)_k = w . (e_k x n)
                push[0, body] += sign * P
                push[1, body] -= radius[body] * np.cross(n, P)
        velocities.append(own.reshape(3, -1))
    balance = np.max(np.abs(weights * (after - before - gravity.ravel()) - push.ravel()), initial=0.0)
    worst, largest, size = 0.0, 0.0, 0.0
    for rows, n, P in zip(velocities, touching.normal, touching.impulse, strict=True):
        s = np.sqrt(np.trace(rows / weights @ rows.T) / 3)
        extra = system.restitution * (n @ rows @ before)
        u = rows @ after / s
        p = s * P
        normal = max(0.0, n @ (p - u) - extra / s)
        sideways = p - u - n * (n @ (p - u))
        length = np.linalg.norm(sideways)
        sideways *= min(1.0, system.friction * normal / length) if length > 0 else 0.0
        worst = max(worst, np.max(np.abs(p - normal * n - sideways)))
        largest = max(largest, np.max(np.abs(p)))
        size = max(size, np.max(np.abs(rows @ (before + gravity.ravel()) / s)), abs(extra) / s)
    size = size or 1.0
    return worst / np.sqrt(min(max(size * largest, size**2), 1e6 * size**2)), balance


def check(seed, most, steps):
    """The run of one heap says of its residuals what is true, and warns of those above the tolerance."""
    system, q0, v0 = random_heap(seed, most)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = da.simulate(system, da.MoreauJean(gamma=1.0), q0, v0, t=(0.0, steps * STEP), h=STEP, on_failure="return")
    found = [residual_of_step(system, run, k) for k in range(1, len(run.t))]
    worst, balance = np.max(found, axis=0)
    assert balance < 1e-12 * len(q0)
    assert worst == pytest.approx(run.stats["complementarity_residual"], rel=1e-3, abs=1e-12)
    warned = any(issubclass(one.category, ContactWarning) for one in said)
    assert warned == (worst > 1e-6)
    assert run.stats["steps_above_tolerance"] == sum(residual > 1.0001e-6 for residual, _ in found)
    return bool(run.status), worst


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_random_heap_says_what_its_residuals_are(seed):
    converged, worst = check(seed, 25, 40)
    assert converged
    assert worst <= 1e-6


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 50))
def test_random_heaps_fail_loudly_or_not_at_all(seed):
    converged, worst = check(seed, 200, 120)
    assert not converged or worst <= 1e-4
