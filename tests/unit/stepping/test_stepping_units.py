"""The same mechanical problem in other units is judged, moved and simulated alike, to roundoff."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

#: units of length, mass and time, in metres, kilograms and seconds
UNITS = [(1e-9, 1.0, 1.0), (1e3, 1.0, 1.0), (1.0, 1e-3, 1.0), (1.0, 1.0, 1e6), (1e9, 1e-3, 1e6)]
SCALED = pytest.mark.parametrize(("L", "M", "T"), UNITS)


class Rod(da.System):
    length: float = 1.0
    mass: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * v @ v - self.mass * self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


class Ball(da.System):
    mass: float = 1.0
    gravity: float = 9.81
    restitution: float = 0.7

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * v @ v - self.mass * self.gravity * q[1]

    def gap(self, t, q):
        return q[1:]


def rod(L, M, T):
    return Rod(length=L, mass=M, gravity=9.81 * L / T**2)


def ball(L, M, T):
    return Ball(mass=M, gravity=9.81 * L / T**2)


@SCALED
@pytest.mark.parametrize("off", [1e-2, 1e-8])
def test_what_is_refused(L, M, T, off):
    arguments = {"t": (0.0, T), "h": 0.01 * T}
    with pytest.raises(da.InconsistentStart, match="position level"):
        da.simulate(rod(L, M, T), da.Rattle(), [(1 + off) * L, 0.0], [0.0, 0.0], **arguments)
    with pytest.raises(da.InconsistentStart, match="velocity level"):
        da.simulate(rod(L, M, T), da.Rattle(), [L, 0.0], [off * L / T, L / T], **arguments)
    q0 = np.array([[L, 0.0], [(1 + off) * L, 0.0]])
    with pytest.raises(da.InconsistentStart, match="member 1 of the batch"):
        da.simulate(rod(L, M, T), da.Rattle(), q0, np.zeros((2, 2)), **arguments)


@SCALED
@pytest.mark.parametrize("off", [1e-2, 1e-8, 2e-10])
def test_projection(L, M, T, off):
    plain = da.consistent(Rod(), [1 + off, off], [off, 0.3])
    start = da.consistent(rod(L, M, T), np.array([1 + off, off]) * L, np.array([off, 0.3]) * L / T)
    np.testing.assert_allclose(start.q / L, plain.q, rtol=0, atol=1e-15)
    np.testing.assert_allclose(start.v / L * T, plain.v, rtol=0, atol=1e-15)
    assert abs(0.5 * (start.q @ start.q - L**2)) <= 1e-15 * L**2
    assert start.moved_q > 0.5 * off * L


@SCALED
def test_motion(L, M, T):
    q0, v0 = np.array([1.0, 0.0]), np.array([0.0, 0.5])
    plain = da.simulate(Rod(), da.Rattle(), q0, v0, t=(0, 1), h=0.01)
    run = da.simulate(rod(L, M, T), da.Rattle(), q0 * L, v0 * L / T, t=(0, T), h=0.01 * T)
    np.testing.assert_allclose(run.q / L, plain.q, rtol=0, atol=1e-12)
    assert run.status.message == plain.status.message


@SCALED
def test_impacts(L, M, T):
    q0, v0 = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    for method in (da.MoreauJean(), da.SchatzmanPaoli()):
        plain = da.simulate(Ball(), method, q0, v0, t=(0, 1), h=0.01)
        run = da.simulate(ball(L, M, T), method, q0 * L, v0 * L / T, t=(0, T), h=0.01 * T)
        np.testing.assert_allclose(run.q / L, plain.q, rtol=0, atol=1e-12)
    if T == 1.0:  # the width of an impact is C h^(p+1), in which C has a unit of its own
        plain = da.simulate(Ball(), da.EventCapturing(), q0, v0, t=(0, 1), h=0.05)
        run = da.simulate(ball(L, M, T), da.EventCapturing(), q0 * L, v0 * L, t=(0, 1), h=0.05)
        np.testing.assert_allclose(run.q / L, plain.q, rtol=0, atol=1e-11)
        assert [str(kind) for kind in run.events.kind] == [str(kind) for kind in plain.events.kind]


@SCALED
def test_small_penetrations(L, M, T):
    """Of a ball beside the origin: taken with a warning, refused, or moved apart."""
    system, arguments = ball(L, M, T), {"t": (0.0, 0.1 * T), "h": 0.01 * T}
    rest = np.zeros(2)
    for method in (da.MoreauJean(), da.SchatzmanPaoli()):
        with pytest.warns(da.ContactWarning, match=r"penetrates contact gap\[0\]: gap = -"):
            da.simulate(system, method, np.array([1.0, -5e-7]) * L, rest, **arguments)
        with pytest.raises(da.InconsistentStart, match=r"penetrates .* pass project=True"):
            da.simulate(system, method, np.array([1.0, -2e-6]) * L, rest, **arguments)
    with pytest.raises(da.InconsistentStart, match=r"penetrates .* pass project=True"):
        da.simulate(system, da.EventCapturing(), np.array([1.0, -5e-7]) * L, rest, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (da.MoreauJean(), da.EventCapturing()):
            run = da.simulate(system, method, np.array([1.0, -0.2]) * L, rest, **arguments, project=True)
            assert np.max(np.abs(run.q[0] / L - [1.0, 0.0])) < 1e-12


class Falling(da.System):
    """A ball with one coordinate: its gap is the only length."""

    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[0]

    def gap(self, t, q):
        return q


@pytest.mark.parametrize("L", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("method", [da.MoreauJean(), da.SchatzmanPaoli()])
def test_small_penetration_where_the_gap_is_the_only_length(L, method):
    """Next to the motion within a step, h |v| + h^2 |a| = 1e-3 L."""
    system, arguments = Falling(10.0 * L), {"t": (0.0, 0.1), "h": 0.01}
    with pytest.warns(da.ContactWarning, match=r"penetrates contact gap\[0\]: gap = -"):
        run = da.simulate(system, method, [-9e-10 * L], [0.0], **arguments)
    assert np.max(np.abs(run.q)) < 2e-9 * L
    with pytest.raises(da.InconsistentStart, match=r"penetrates .* pass project=True"):
        da.simulate(system, method, [-2e-9 * L], [0.0], **arguments)
    with pytest.warns(da.ContactWarning, match=r"penetrates contact gap\[0\]: gap = -"):
        da.simulate(system, method, [-9e-10 * L], [0.5 * L], **arguments)


def test_small_penetration_where_there_is_no_length_and_nothing_moves():
    arguments = {"v0": [0.0], "t": (0.0, 0.1), "h": 0.01}
    with pytest.warns(da.ContactWarning, match=r"penetrates contact gap\[0\]: gap = -"):
        da.simulate(Falling(0.0), da.MoreauJean(), [-5e-7], **arguments)
    with pytest.raises(da.InconsistentStart, match=r"penetrates .* pass project=True"):
        da.simulate(Falling(0.0), da.MoreauJean(), [-2e-6], **arguments)


class Box(da.System):
    """A square of side 2 with four corners over the ground, in x, y and the angle."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v[:2] @ v[:2] + v[2] ** 2 / 3) - q[1]

    def gap(self, t, q):
        s, c = jnp.sin(q[2]), jnp.cos(q[2])
        return jnp.stack([q[1] + s * x + c * y for x in (-1.0, 1.0) for y in (-1.0, 1.0)])


def test_box_that_penetrates_with_two_corners_is_lifted():
    start = da.consistent(Box(), [0.0, 0.9, 0.0], np.zeros(3))
    assert start.q == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    low = np.cos(0.5) + np.sin(0.5)
    tilted = da.consistent(Box(), [0.0, 0.9, 0.5], np.zeros(3))
    assert np.min(Box().gap(0.0, tilted.q)) >= -1e-12
    moved = tilted.q - [0.0, 0.9, 0.5]
    assert moved[:2] @ moved[:2] + moved[2] ** 2 / 3 < (low - 0.9) ** 2  # nearer than straight up


class Turning(da.System):
    """A disc that falls and turns: its moment of inertia is smaller than its mass by the square of a length."""

    radius: float = 1.0
    mass: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * self.mass * (v[:2] @ v[:2]) + 0.25 * self.mass * self.radius**2 * v[2] ** 2


@pytest.mark.parametrize("length", [1e-9, 1e-30, 1e9])
def test_bodies_of_any_size_are_regular(length):
    run = da.simulate(Turning(length), da.Rattle(), [0.0, 0.0, 0.0], [length, 0.0, 1.0], t=(0.0, 1.0), h=0.1)
    assert run.q[-1] == pytest.approx([length, 0.0, 1.0], rel=1e-12)


def test_inertia_that_is_roundoff_is_none():
    class Rounded(da.System):
        first: float = 0.1
        second: float = 0.2
        both: float = 0.3

        def lagrangian(self, t, q, v):
            nothing = self.first + self.second - self.both
            return 0.5 * (v[0] ** 2 + nothing * v[1] ** 2 + jnp.cos(q[0]) ** 2 * v[2] ** 2)

    with pytest.raises(da.ModelError, match=r"no inertia for q\[1\], q\[2\]"):
        da.simulate(Rounded(), da.Rattle(), [np.pi / 2, 0.0, 0.0], [0.0, 0.0, 0.0], t=(0.0, 1.0), h=0.1)
