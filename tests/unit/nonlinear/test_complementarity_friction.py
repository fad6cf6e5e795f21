"""Coulomb friction: the law itself, closed forms, redundant contacts."""

import numpy as np
import pytest

from dalembert.errors import ContactWarning, InputError
from dalembert.nonlinear import BlockMatrix, block_matrix, friction_residual, solve_friction, solve_lcp


def assert_law(W, b, mu, dimension, r, tolerance=1e-9):
    """Signorini and Coulomb, contact by contact, in units in which the blocks on the diagonal are of order one."""
    mu = np.broadcast_to(mu, len(b) // dimension)
    u = W @ r + b
    scale = np.sqrt(np.maximum(np.diag(W).reshape(-1, dimension).mean(axis=1), 1e-300))[:, None]
    r, u = r.reshape(-1, dimension) * scale, u.reshape(-1, dimension) / scale
    slack = tolerance * max(1e-300, np.max(np.abs(b.reshape(-1, dimension) / scale)), np.max(np.abs(r)))
    for r_i, u_i, mu_i in zip(r, u, mu, strict=True):
        friction, speed = np.linalg.norm(r_i[1:]), np.linalg.norm(u_i[1:])
        assert r_i[0] >= -slack
        assert u_i[0] >= -slack
        assert min(r_i[0], u_i[0]) <= slack
        assert friction <= mu_i * r_i[0] + slack
        if speed > 1e3 * slack:
            np.testing.assert_allclose(r_i[1:], -mu_i * r_i[0] * u_i[1:] / speed, atol=1e-2 * slack / tolerance**0.5)
            np.testing.assert_allclose(r_i[1:] * speed, -mu_i * r_i[0] * u_i[1:], atol=slack * max(1.0, speed))


def skew(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def rigid_bodies(rng, count, dimension):
    """Rows of contact velocities by body velocities over sqrt(mass), for random contacts of up to three bodies."""
    bodies, size = int(rng.integers(1, 4)), 6 if dimension == 3 else 3
    H = np.zeros((count, dimension, bodies, size))
    for i in range(count):
        frame = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        first, second = int(rng.integers(bodies)), int(rng.integers(-1, bodies))
        for body, sign in ((first, 1.0), (second, -1.0)):
            if body >= 0 and (sign > 0 or body != first):
                x = rng.standard_normal(dimension)
                spin = -skew(x) if dimension == 3 else np.array([[-x[1]], [x[0]]])
                H[i, :, body] += sign * frame @ np.hstack([np.eye(dimension), spin])
    return H.reshape(count * dimension, -1) / np.sqrt(10.0 ** rng.uniform(-1, 1, bodies * size))


def box_on_corners(half_height=0.3, points=2):
    """A box of mass one, 2 x 2 x 2h, on a grid of points of its lower face: rank 6."""
    spots = np.linspace(-1.0, 1.0, points)
    rows = [np.hstack([np.eye(3), -skew(np.array([x, y, -half_height]))])[[2, 0, 1]] for x in spots for y in spots]
    moments = np.array([1.0 + half_height**2, 1.0 + half_height**2, 2.0]) / 3.0
    return np.vstack(rows) / np.sqrt(np.concatenate([np.ones(3), moments]))


def random_problem(rng, dimension, kind):
    count = int(rng.integers(1, 7))
    mu = rng.choice([0.0, 0.1, 0.5, 1.5], size=count)
    if kind == "definite":
        A = rng.standard_normal((count * dimension, count * dimension + 1))
        return A @ A.T, rng.standard_normal(count * dimension), mu
    if kind == "bodies":
        H = rigid_bodies(rng, count, dimension)
    elif kind == "duplicated":
        H = np.tile(rigid_bodies(rng, count, dimension), (2, 1))
        mu = np.tile(mu, 2)
    else:
        chain = np.eye(count) - np.eye(count, k=-1)
        H = np.kron(chain / np.sqrt(10.0 ** rng.uniform(-2, 2, count)), np.eye(dimension))
    return H @ H.T, H @ rng.standard_normal(H.shape[1]), mu


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["definite", "bodies", "duplicated", "stack"])
def test_fuzz_the_law(kind, dimension):
    rng = np.random.default_rng(7)
    for _ in range(60):
        W, b, mu = random_problem(rng, dimension, kind)
        found = solve_friction(W, b, mu, dimension)
        assert found.converged, (found, mu)
        assert found.residual <= 1e-12
        assert found.residual == pytest.approx(friction_residual(W, b, mu, dimension, found.r), abs=1e-13)
        np.testing.assert_allclose(found.u, W @ found.r + b, atol=1e-11 * np.max(np.abs(b)) * max(1, np.max(np.abs(W))))
        assert_law(W, b, mu, dimension, found.r)


def test_fuzz_pivoting_in_the_plane():
    rng = np.random.default_rng(8)
    for k in range(80):
        W, b, mu = random_problem(rng, 2, ("definite", "bodies", "duplicated", "stack")[k % 4])
        found = solve_friction(W, b, mu, 2, method="lemke")
        assert found.converged
        assert_law(W, b, mu, 2, found.r)


@pytest.mark.parametrize("method", ["auto", "newton", "gauss_seidel", "accelerated"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_particle_on_a_plane(method, dimension):
    """Mass m with the velocity (v_n, v_t): friction takes away at most mu times the normal velocity lost."""
    m, mu = 2.5, 0.4
    W, down = np.eye(dimension) / m, -0.7
    direction = np.array([1.0]) if dimension == 2 else np.array([0.6, -0.8])

    def solve(v_n, speed):
        return solve_friction(W, np.concatenate([[v_n], speed * direction]), mu, dimension, method=method)

    separating = solve(0.2, 3.0)
    assert separating.r.tolist() == [0.0] * dimension
    assert separating.u == pytest.approx(np.concatenate([[0.2], 3.0 * direction]), abs=1e-15)

    sticking = solve(down, 0.25)
    assert sticking.r == pytest.approx(-m * np.concatenate([[down], 0.25 * direction]), rel=1e-12)
    assert sticking.u == pytest.approx(np.zeros(dimension), abs=1e-13)

    sliding = solve(down, 3.0)
    assert sliding.r == pytest.approx(-m * down * np.concatenate([[1.0], -mu * direction]), rel=1e-12)
    assert sliding.u == pytest.approx(np.concatenate([[0.0], (3.0 + mu * down) * direction]), abs=1e-12)
    assert separating.converged
    assert sticking.converged
    assert sliding.converged


def test_slanted_rod_jams():
    """W couples normal and tangential; for mu above W_nn / |W_nt| sliding that way cannot be stopped, sticking can."""
    W, b = np.array([[1.0, -0.9], [-0.9, 1.0]]), np.array([-1.0, -0.5])
    found = solve_friction(W, b, 3.0, 2)
    assert found.converged
    np.testing.assert_allclose(found.r, np.linalg.solve(W, -b), rtol=1e-12)


@pytest.mark.parametrize("method", ["auto", "newton", "gauss_seidel", "accelerated"])
def test_elliptic_mass_in_space(method):
    """W_tt is not a multiple of the identity: r_t opposes u_t, which is not parallel to b_t."""
    W = np.array([[2.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 3.0]])
    b = np.array([-1.0, 2.0, 1.0])
    found = solve_friction(W, b, 0.3, 3, method=method)
    assert found.converged
    assert abs(found.u[0]) <= 1e-13
    assert np.linalg.norm(found.r[1:]) == pytest.approx(0.3 * found.r[0], rel=1e-12)
    assert found.r[1] * found.u[2] - found.r[2] * found.u[1] == pytest.approx(0.0, abs=1e-13)
    assert found.r[1:] @ found.u[1:] < 0.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_without_friction_it_is_linear_complementarity(dimension):
    rng = np.random.default_rng(9)
    for _ in range(20):
        H = rigid_bodies(rng, 5, dimension)
        W, b = H @ H.T, H @ rng.standard_normal(H.shape[1])
        found = solve_friction(W, b, 0.0, dimension)
        normal = slice(0, None, dimension)
        reference = solve_lcp(W[normal, normal], b[normal])
        assert found.converged
        assert not found.r.reshape(-1, dimension)[:, 1:].any()
        np.testing.assert_allclose(found.u[normal], reference.w, atol=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.5])
@pytest.mark.parametrize(
    "velocity", [[0, 0, -0.1, 0, 0, 0], [1.0, 0.5, -0.1, 0, 0, 0], [0.01, 0, -0.1, 0, 0, 2.0], [1, 0, -1, 1, -2, 0.5]]
)
def test_box_on_four_corners(velocity, mu):
    H = box_on_corners()
    W, b = H @ H.T, H @ np.array(velocity, dtype=float)
    assert np.linalg.matrix_rank(W) == 6
    found = solve_friction(W, b, mu, 3)
    assert found.converged
    assert_law(W, b, mu, 3, found.r)
    after = np.array(velocity) + H.T @ found.r
    if not np.any(velocity[3:]) and np.hypot(velocity[0], velocity[1]) * 0.3 < 0.1:
        np.testing.assert_allclose(after, 0.0, atol=1e-12)


def test_sliding_box_loses_the_momentum_of_the_law():
    """It neither tips nor turns: all corners slide alike, and the friction is mu times the weight."""
    H, mu = box_on_corners(), 0.2
    velocity = np.array([1.0, 0.5, -0.1, 0.0, 0.0, 0.0])
    found = solve_friction(H @ H.T, H @ velocity, mu, 3)
    direction = np.array([1.0, 0.5]) / np.hypot(1.0, 0.5)
    expected = np.concatenate([[1.0, 0.5] - mu * 0.1 * direction, np.zeros(4)])
    np.testing.assert_allclose(velocity + H.T @ found.r, expected, atol=1e-12)


def test_heavy_on_light():
    masses = 10.0 ** np.array([0.0, 2.0, 4.0, 6.0])
    H = np.kron((np.eye(4) - np.eye(4, k=-1)) / np.sqrt(masses), np.eye(3))
    fall = np.kron(np.sqrt(masses), [-0.01, 0.001, 0.0])
    found = solve_friction(H @ H.T, H @ fall, 0.5, 3)
    assert found.converged
    np.testing.assert_allclose(found.r[::3], 0.01 * np.cumsum(masses[::-1])[::-1], rtol=1e-10)


def test_blocks_of_a_chain_of_many_contacts():
    """A row of particles on a plane, tied pairwise by mass coupling: the dense and the sparse matrix agree."""
    count, rng = 400, np.random.default_rng(10)
    coupling = np.eye(count) - 0.4 * np.eye(count, k=1) - 0.4 * np.eye(count, k=-1)
    W = np.kron(coupling, np.eye(3))
    b = rng.standard_normal(3 * count)
    sparse = block_matrix(W, 3)
    assert len(sparse.columns) == 3 * count - 2
    found, dense = solve_friction(sparse, b, 0.5, 3), solve_friction(W, b, 0.5, 3)
    assert found.converged
    assert_law(W, b, 0.5, 3, found.r)
    np.testing.assert_allclose(found.r, dense.r, atol=1e-13)
    again = solve_friction(sparse, b, 0.5, 3, method="newton")
    assert again.converged
    np.testing.assert_allclose(again.r, found.r, atol=1e-9)


def test_start_at_the_solution():
    W, b, mu = random_problem(np.random.default_rng(11), 3, "definite")
    found = solve_friction(W, b, mu, 3)
    again = solve_friction(W, b, mu, 3, r0=found.r)
    assert again.converged
    assert again.iterations == 0


@pytest.mark.parametrize("method", ["auto", "newton", "gauss_seidel", "accelerated"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_infeasible_problems_are_reported(method, dimension):
    squeezed = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(dimension))
    pressed = np.tile(-np.eye(dimension)[0], 2)
    for W, b in [(squeezed, pressed), (np.zeros_like(squeezed), pressed)]:
        found = solve_friction(W, b, 0.3, dimension, method=method, max_sweeps=500)
        assert not found.converged
        assert found.residual > 1e-12
        assert np.all(np.isfinite(found.r))
        assert np.all(np.isfinite(found.u))


def test_residual_does_not_depend_on_units():
    rng = np.random.default_rng(12)
    W, b, mu = random_problem(rng, 3, "definite")
    r = rng.standard_normal(len(b))
    reference = friction_residual(W, b, mu, 3, r)
    assert reference > 1e-3
    s = np.repeat(10.0 ** rng.uniform(-3, 3, len(mu)), 3)
    assert friction_residual(W * np.outer(s, s) * 1e5, 7.0 * b * s, mu, 3, 7e-5 * r / s) == pytest.approx(
        reference, rel=1e-9
    )


def test_no_contacts():
    assert solve_friction(np.zeros((0, 0)), [], 0.3, 3).converged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), np.ones(3), 0.3, 4), "dimension 2 or 3, got 4"),
        ((np.eye(4), np.ones(4), 0.3, 3), r"multiple of 3 rows, got the shape \(4, 4\)"),
        ((np.ones((2, 3)), np.ones(2), 0.3, 2), r"square W"),
        ((np.array([[1.0, 0.5], [0.0, 1.0]]), np.ones(2), 0.3, 2), "symmetric W"),
        ((np.eye(2), np.ones(3), 0.3, 2), r"b of shape \(2,\), got \(3,\)"),
        ((np.eye(2), [1.0, np.nan], 0.3, 2), "finite values of b"),
        ((np.full((2, 2), np.nan), np.ones(2), 0.3, 2), "finite entries of W"),
        ((np.eye(2), np.ones(2), -0.3, 2), "mu >= 0, got -0.3"),
        ((np.eye(2), np.ones(2), [0.3, 0.3], 2), r"mu of shape \(1,\), got \(2,\)"),
        ((np.eye(2), np.ones(2), 0.3, 2, np.ones(3)), r"r0 of shape \(2,\)"),
        ((np.eye(2), np.ones(2), 0.3, 2, None, 0.0), "positive tolerance"),
        ((np.eye(2), np.ones(2), 0.3, 2, None, 1e-12, "magic"), "method among auto"),
        ((np.eye(3), np.ones(3), 0.3, 3, None, 1e-12, "lemke"), "dimension 2 for the method 'lemke'"),
        ((BlockMatrix([0, 1], [0], np.ones((1, 3, 3))), np.ones(2), 0.3, 2), "blocks of the shape"),
        ((BlockMatrix([0, 2], [0], np.ones((1, 2, 2))), np.ones(2), 0.3, 2), "starts that increase from 0 to 1"),
        ((BlockMatrix([0, 1], [1], np.ones((1, 2, 2))), np.ones(2), 0.3, 2), "columns that increase"),
        ((BlockMatrix([0, 1, 2], [0, 0], np.ones((2, 2, 2))), np.ones(4), 0.3, 2), "none in row 1"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        solve_friction(*arguments)


def test_an_inexact_matrix_is_made_symmetric_with_a_warning():
    W, b = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([-1.0, 0.3])
    inexact = W + np.array([[0.0, 3e-7], [0.0, 0.0]])
    with pytest.warns(ContactWarning, match="asymmetric by 3.0e-07 of its largest entry"):
        found = solve_friction(inexact, b, 0.5, 2)
    exact = solve_friction((inexact + inexact.T) / 2, b, 0.5, 2)
    assert found.converged
    assert found.r == pytest.approx(exact.r, abs=1e-15)
