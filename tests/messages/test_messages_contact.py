"""What a user reads when contact data are wrong."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class Ball(da.System):
    restitution: float = 0.5
    friction: float = 0.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def gap(self, t, q):
        return q[1:]


class RoughBall(Ball):
    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])


def simulate(system=None, method=None, q0=(0.0, 1.0), v0=(0.0, 0.0), **options):
    return da.simulate(system or Ball(), method or da.MoreauJean(), q0=q0, v0=v0, t=(0.0, 0.1), h=0.01, **options)


def test_penetration_at_the_start():
    with pytest.raises(da.InconsistentStart, match=r"penetrates contact gap\[0\]: gap = -0.2, expected at least 0"):
        simulate(q0=(0.0, -0.2))


def test_penetration_that_is_accepted():
    with pytest.warns(da.ContactWarning, match=r"penetrates contact gap\[0\]: gap = -0.004\. That is accepted"):
        run = simulate(q0=(1.0, -0.004), penetration=0.01)
    assert run.q[0, 1] == -0.004
    assert run.status
    with pytest.raises(da.InconsistentStart, match="penetrates"):
        simulate(q0=(1.0, -0.02), penetration=0.01)
    with pytest.warns(da.ContactWarning, match="accepted"):
        batch = simulate(q0=[[1.0, -0.004], [1.0, 0.5]], v0=[[0.0, 0.0]] * 2, penetration=0.01)
    assert np.all(batch.status == 0)
    with pytest.raises(da.InputError, match="leave out penetration, and move q0 apart, or pass project=True"):
        simulate(method=da.EventCapturing(), penetration=0.01)
    with pytest.raises(da.InputError, match=r"has no gap\(t, q\), so nothing penetrates"):
        da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], penetration=0.01)
    with pytest.raises(da.InputError, match="penetration must be a positive number"):
        simulate(penetration=-1.0)


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_restitution_out_of_range(value):
    with pytest.raises(da.InputError, match=r"restitution .*must be"):
        simulate(Ball(restitution=value))


def test_negative_friction():
    with pytest.raises(da.InputError, match=r"friction of RoughBall must be at least 0, got -0\.3"):
        simulate(RoughBall(friction=-0.3))


def test_friction_without_directions():
    with pytest.raises(da.ModelError, match=r"friction but no tangent\(t, q\)"):
        simulate(Ball(friction=0.3))


def test_friction_directions_of_a_wrong_shape():
    class Wrong(Ball):
        def tangent(self, t, q):
            return jnp.zeros((3, 2))

    with pytest.raises(da.ModelError, match=r"tangent\(t, q\) must return an array of shape \(1, 2\)"):
        simulate(Wrong())


def test_one_number_for_each_contact():
    class Two(Ball):
        restitution = (0.1, 0.2, 0.3)

    with pytest.raises(da.InputError, match=r"array of shape \(1,\), one for each contact; got shape \(3,\)"):
        simulate(Two())


def test_plain_class_attributes_count():
    class Plain(Ball):
        restitution = 1.0

    class Quiet(Ball):
        restitution = 0.0

    ends = [simulate(kind(), q0=(0.0, 0.0), v0=(0.0, 0.0)).q[-1, 1] for kind in (Plain, Quiet)]
    assert all(abs(end) < 0.1 for end in ends)
    with pytest.warns(da.ContactWarning):
        up = simulate(Plain(), q0=(0.0, 0.0), v0=(0.0, -3.0)).v[1, 1]
    assert up > 2.5


def test_an_approaching_start_is_an_impact_and_is_said():
    with pytest.warns(da.ContactWarning, match=r"gap\[0\] is closed at the start and approaches with velocity -1"):
        simulate(q0=(0.0, 0.0), v0=(0.0, -1.0))


def test_a_smooth_method_refuses_contacts():
    with pytest.raises(da.MethodDoesNotFit, match="Rattle does not treat gap"):
        simulate(method=da.Rattle())


@pytest.mark.parametrize(("name", "value"), [("theta", 1.5), ("gamma", -0.1), ("theta", "half")])
def test_parameters_of_moreau_jean(name, value):
    with pytest.raises(da.InputError, match=f"{name} of MoreauJean must be a number between 0 and 1"):
        da.MoreauJean(**{name: value})
