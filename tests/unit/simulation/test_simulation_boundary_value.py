"""Boundary-value problems: runs recovered from their ends, known answers, conjugate points, and what is refused."""

import time

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import DoublePendulum, DrivenPendulum, HamiltonianSphericalPendulum, Pendulum

FREE = da.system(lambda t, q, v: 0.5 * v @ v - q[0] ** 2 * q[1] - 0.3 * q[1] ** 2)


def forward(system, method, span, steps, start=None):
    q0, v0 = system.start()[:2] if start is None else start
    return da.simulate(system, method, np.asarray(q0), np.asarray(v0), t=(0.0, span), h=span / steps)


def perturbed(run, size=0.01):
    noise = np.random.default_rng(3).standard_normal(run.q.shape)
    return np.asarray(run.q) + size * noise


def recovered(run, **options):
    span, steps = float(run.t[-1]), len(run.t) - 1
    options = {"guess": perturbed(run)} | options
    return da.boundary_value(run.system, run.method, run.q[0], run.q[-1], t=(0.0, span), h=span / steps, **options)


def assert_same(found, run, tolerance=1e-10):
    for name in ("q", "v", "p"):
        assert np.max(np.abs(getattr(found, name) - getattr(run, name))) < tolerance, name
    assert np.max(np.abs(found.lam - run.lam), initial=0.0) < 100 * tolerance


METHODS = [
    da.Galerkin(1),
    da.Galerkin(2),
    da.Galerkin(3),
    da.Galerkin(2, project=False),
    da.Galerkin(2, quadrature="lobatto", constraint_quadrature="radau"),
    da.Rattle(),
    da.Shake(),
    da.gauss_spark(2),
    da.SymplecticEuler(),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_pendulum_is_recovered_from_its_ends(method):
    run = forward(Pendulum(), method, 1.0, 25)
    found = recovered(run)
    assert isinstance(found, da.Trajectory)
    assert_same(found, run)
    assert found.status
    assert found.stats["warning"] is None
    assert 0.01 < found.stats["isolation"] < 1


@pytest.mark.parametrize("method", [da.Galerkin(1), da.Galerkin(2), da.Galerkin(3)], ids=repr)
def test_double_pendulum_is_recovered_from_its_ends(method):
    run = forward(DoublePendulum(), method, 1.0, 40)
    assert_same(recovered(run), run)


@pytest.mark.parametrize("method", [da.Galerkin(1), da.Galerkin(3), da.Rattle()], ids=repr)
def test_unconstrained_motion_is_recovered(method):
    run = forward(FREE, method, 1.0, 20, ([0.4, -0.2], [0.5, 1.0]))
    assert_same(recovered(run), run)
    assert_same(recovered(run, guess=None), run)


def test_forces_and_hamiltonians():
    driven = forward(DrivenPendulum(), da.Galerkin(2), 0.5, 25)
    assert_same(recovered(driven, guess=None), driven)
    spherical = forward(HamiltonianSphericalPendulum(), da.Rattle(), 0.5, 25)
    assert_same(recovered(spherical), spherical)


def test_moving_constraint():
    """A bead on a circle whose radius grows: g depends on time at both ends."""
    bead = da.system(lambda t, q, v: 0.5 * v @ v - q[1], holonomic=lambda t, q: 0.5 * (q @ q - (1.0 + 0.1 * t) ** 2))
    run = forward(bead, da.Galerkin(2), 1.0, 20, ([1.0, 0.0], [0.1, 0.5]))
    assert_same(recovered(run), run)


def test_a_composition_is_one_method_too():
    run = forward(Pendulum(), da.Composition(da.Rattle(), "suzuki4"), 0.5, 5)
    assert_same(recovered(run), run)


def test_oscillator_has_the_known_answer():
    """The midpoint rule follows w' with tan(w' h/2) = w h/2: q_k = (a sin w'(T - t) + b sin w' t) / sin w' T."""
    w, span, steps = 1.3, 2.0, 40
    h = span / steps
    rate = 2 / h * np.arctan(w * h / 2)
    system = da.system(lambda t, q, v, w: 0.5 * v @ v - 0.5 * w**2 * q @ q, w=w)
    a, b = np.array([0.7, -0.2]), np.array([0.1, 0.9])
    found = da.boundary_value(system, da.Galerkin(1), a, b, t=(0.0, span), h=h)
    t = found.t[:, None]
    exact = (a * np.sin(rate * (span - t)) + b * np.sin(rate * t)) / np.sin(rate * span)
    assert np.max(np.abs(found.q - exact)) < 1e-13
    # dv_0/dq_end = w_h (1 + (w h/2)^2) / sin w_h T up to the discrete Legendre transform
    assert found.stats["isolation"] == pytest.approx(abs(np.sin(rate * span)) / (w * span), rel=1e-3)
    free = da.system(lambda t, q, v: 0.5 * v @ v)
    straight = da.boundary_value(free, da.Galerkin(2), a, b, t=(0.0, span), h=h)
    assert np.max(np.abs(straight.q - (a + (b - a) * t / span))) < 1e-14
    assert straight.stats["isolation"] == pytest.approx(1.0)


def test_one_step():
    found = da.boundary_value(Pendulum(), da.Rattle(), [0.0, -1.0], [1.0, 0.0], t=(0.0, 0.1), h=0.1)
    assert found.v[0] == pytest.approx([10.0, 0.0], abs=1e-12)


def test_other_branch_is_a_motion_too():
    """From the straight line Newton may find another motion between the same ends; it satisfies the equations."""
    run = forward(DoublePendulum(), da.Galerkin(2), 1.0, 200)
    found = recovered(run, guess=None)
    again = da.simulate(run.system, run.method, found.q[0], found.v[0], t=(0.0, 1.0), h=1 / 200)
    assert np.max(np.abs(again.q - found.q)) < 1e-9
    assert np.max(np.abs(found.q[-1] - run.q[-1])) < 1e-12
    assert np.max(found.constraint) < 1e-12
    assert np.max(found.hidden) < 1e-11


@pytest.mark.parametrize("degree", [2, 3])
def test_thousand_steps_take_seconds(degree):
    run = forward(DoublePendulum(), da.Galerkin(degree), 2.0, 1000)
    begun = time.perf_counter()
    found = recovered(run)
    assert time.perf_counter() - begun < 30  # about 3 on a quiet machine
    assert_same(found, run)
    assert found.stats["coarse_iterations"] > 0
    assert found.stats["newton_iterations"] <= 6


def conjugate(q_end):
    """The midpoint rule of an oscillator whose half period is the interval, exactly: q(T) = -q(0) for every v_0."""
    span, steps = 2.0, 50
    h = span / steps
    w = 2 / h * np.tan(np.pi * h / (2 * span))
    system = da.system(lambda t, q, v, w: 0.5 * v @ v - 0.5 * w**2 * q @ q, w=w)
    return da.boundary_value(system, da.Galerkin(1), [0.3, -0.1], q_end, t=(0.0, span), h=h)


def test_one_of_many_solutions_is_reported_as_such():
    found = conjugate([-0.3, 0.1])
    assert np.max(np.abs(found.q[-1] - [-0.3, 0.1])) < 1e-12
    assert found.stats["isolation"] < 1e-12
    assert "not isolated" in found.stats["warning"]
    assert "not isolated" in str(found.status)


def test_no_solution_at_conjugate_points():
    with pytest.raises(da.StepFailure, match=r"Jacobian became singular .* conjugate points .* Change the interval"):
        conjugate([0.5, 0.2])


def test_great_circles_between_the_poles():
    sphere = da.system(lambda t, q, v: 0.5 * v @ v, holonomic=lambda t, q: 0.5 * (q @ q - 1.0))
    angle = np.linspace(0.0, np.pi, 41)
    path = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1)
    found = da.boundary_value(sphere, da.Galerkin(2), path[0], [0.0, 0.0, -1.0], t=(0.0, 1.0), h=1 / 40, guess=path)
    assert "not isolated" in found.stats["warning"]
    with pytest.raises(da.InputError, match="cannot be brought onto the constraints"):
        da.boundary_value(sphere, da.Galerkin(2), path[0], [0.0, 0.0, -1.0], t=(0.0, 1.0), h=1 / 40)


def test_no_convergence_says_what_to_try():
    run = forward(DoublePendulum(), da.Galerkin(2), 2.0, 40)
    with pytest.raises(da.StepFailure, match=r"did not converge .* guess=.* shorter interval .* smaller h"):
        recovered(run, max_iterations=1)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            {"q_start": [1.0, 1.0]},
            da.InconsistentStart,
            r"q_start violates holonomic\[0\]: g\(t0, q_start\) = 0.5, exp",
        ),
        ({"q_end": [1.0, 1.0]}, da.InconsistentStart, r"q_end violates holonomic\[0\]: g\(t1, q_end\) = 0.5, expected"),
        ({"q_end": [1.0]}, da.InputError, r"q_end must have the shape of q_start, \(2,\), got \(1,\)"),
        ({"q_end": [np.nan, 0.0]}, da.InputError, "q_end must be finite"),
        ({"guess": np.zeros((3, 2))}, da.InputError, r"expected the shape \(11, 2\), got \(3, 2\)"),
        ({"guess": np.full((11, 2), np.inf)}, da.InputError, "guess must be finite"),
        ({"guess": "near"}, da.InputError, "guess must be an array"),
        ({"h": 0.3}, da.InputError, "does not divide the interval"),
        ({"method": "rattle"}, da.InputError, "expected a method such as"),
        ({"max_iterations": 0}, da.InputError, "max_iterations must be a positive integer"),
    ],
)
def test_wrong_arguments(change, kind, message):
    given = {
        "system": Pendulum(), "method": da.Rattle(), "q_start": [0.0, -1.0], "q_end": [1.0, 0.0], "t": (0.0, 1.0),
        "h": 0.1,
    }  # fmt: skip
    with pytest.raises(kind, match=message):
        da.boundary_value(**(given | change))


def test_nonholonomic_constraints_are_refused():
    knife = da.system(lambda t, q, v: 0.5 * v @ v, nonholonomic=lambda t, q, v: v[0] * q[2] - v[1])
    with pytest.raises(da.MethodDoesNotFit, match="1 nonholonomic ones, which leave fewer starting velocities"):
        da.boundary_value(knife, da.gauss_spark(1), [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], h=0.1)


def test_result_is_saved_and_interpolated_like_any_run(tmp_path):
    found = recovered(forward(Pendulum(), da.Galerkin(2), 1.0, 25))
    loaded = da.load(found.save(tmp_path / "run.nc"))
    assert np.array_equal(loaded.q, found.q)
    assert loaded.stats == found.stats
    assert found.interpolate(0.21).q == pytest.approx(np.asarray(Pendulum().exact(0.21).q), abs=1e-4)
