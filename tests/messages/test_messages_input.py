"""Arguments of the wrong shape, type or value: what the user reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q0": [[[1.0, 0.0]]]}, r"q0 must have shape \(n,\) with n >= 1, got \(1, 1, 2\)"),
        ({"q0": 1.0}, r"q0 must have shape \(n,\) with n >= 1, got \(\)"),
        ({"q0": []}, r"q0 must have shape \(n,\) with n >= 1, got \(0,\)"),
        ({"q0": None}, r"q0 is missing; give an array of shape \(n,\)"),
        ({"q0": "abc"}, r"q0 must be an array of floats, got <U3 \('abc'\)"),
        ({"q0": [[1.0], [1.0, 2.0]]}, "q0 must be an array of floats"),
        ({"q0": np.array([1j, 0])}, "q0 must be an array of floats, got complex128"),
        ({"q0": [True, False]}, "q0 must be an array of floats, got bool"),
        ({"v0": [0.0, 0.0, 0.0]}, r"v0 must have the shape of q0, \(2,\), got \(3,\)"),
        ({"v0": None, "p0": [0.0]}, r"p0 must have the shape of q0, \(2,\), got \(1,\)"),
        ({"q0": [np.nan, 0.0]}, "q0 must be finite, got nan at index 0"),
        ({"v0": [0.0, np.inf]}, "v0 must be finite, got inf at index 1"),
    ],
)
def test_starting_values(simulate, changes, message):
    with pytest.raises(da.InputError, match=message):
        simulate(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p0": [0.0, 0.0]}, r"give exactly one of v0 \(velocity\) and p0 \(momentum\)"),
        ({"v0": None}, r"give exactly one of v0 \(velocity\) and p0 \(momentum\)"),
    ],
)
def test_both_or_neither_of_velocity_and_momentum(simulate, changes, message):
    with pytest.raises(da.InputError, match=message):
        simulate(**changes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_parameter_that_is_not_finite(simulate, pendulum_class, value):
    with pytest.raises(da.InputError, match=f"parameter length must be finite, got {value}"):
        simulate(pendulum_class(length=value))


def test_parameter_array_that_is_not_finite(simulate):
    system = da.system(lambda t, q, v, masses: 0.5 * jnp.sum(masses * v * v), masses=np.array([1.0, np.nan]))
    with pytest.raises(da.InputError, match="parameter masses must be finite"):
        simulate(system)


@pytest.mark.parametrize("value", ["2", None, True])
def test_parameter_that_is_no_number(simulate, pendulum_class, value):
    with pytest.raises(da.InputError, match=f"parameter length of Pendulum must be a number, got {value!r}"):
        simulate(pendulum_class(length=value))


@pytest.mark.parametrize("h", [0, -0.1, np.nan, np.inf, "a", None])
def test_step_size_that_is_not_positive(simulate, h):
    with pytest.raises(da.InputError, match="h must be a positive number, got "):
        simulate(h=h)


def test_step_size_that_does_not_divide_the_interval_names_two_that_do(simulate):
    message = (
        r"h = 0.03 does not divide the interval \[0, 1\]: 33.3333 steps. "
        r"Use h = 0.0294117647058823\d* \(34 steps\) or h = 0.0303030303030303\d* \(33 steps\), or move t1."
    )
    with pytest.raises(da.InputError, match=message) as caught:
        simulate(h=0.03)
    text = str(caught.value)
    for steps in (34, 33):
        h = float(text.partition(f" ({steps} steps)")[0].rpartition("h = ")[2])
        assert len(simulate(h=h)) == steps + 1


def test_step_size_longer_than_the_interval(simulate):
    with pytest.raises(da.InputError, match=r"h = 5 does not divide .* or h = 1 \(1 step\), or move t1"):
        simulate(h=5.0)


def test_traced_step_size(simulate):
    with pytest.raises(da.InputError, match="h must be a number, not a traced value"):
        jax.jit(lambda h: simulate(h=h).q)(0.1)


@pytest.mark.parametrize("t", [(0.0, 0.0), (0.0, np.nan), (0.0, np.inf)])
def test_interval_without_length(simulate, t):
    with pytest.raises(
        da.InputError, match=r"t must be a pair \(t0, t1\) of finite numbers with two different times, got"
    ):
        simulate(t=t)


@pytest.mark.parametrize("t", [(0.0,), 5.0, "ab", None, (0.0, 1.0, 2.0)])
def test_interval_that_is_no_pair(simulate, t):
    with pytest.raises(da.InputError, match=r"t must be a pair \(t0, t1\) of numbers, got "):
        simulate(t=t)


@pytest.mark.parametrize("save_every", [0, -1, 1.5, True, "2"])
def test_save_every_that_is_no_positive_integer(simulate, save_every):
    with pytest.raises(da.InputError, match="save_every must be a positive integer, got "):
        simulate(save_every=save_every)


@pytest.mark.parametrize(("save_every", "nearest"), [(3, 2), (20, 10)])
def test_save_every_that_would_lose_the_end(simulate, save_every, nearest):
    message = f"save_every = {save_every} does not divide the 10 steps, .* would not be saved; {nearest} would"
    with pytest.raises(da.InputError, match=message):
        simulate(save_every=save_every)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "gpu"}, 'engine must be "auto", "native", "xla" or "cuda", got \'gpu\''),
        ({"redundant": "yes"}, 'redundant must be "refuse" or "allow", got \'yes\''),
        ({"on_failure": "ignore"}, 'on_failure must be "raise" or "return", got \'ignore\''),
    ],
)
def test_unknown_choice(simulate, changes, message):
    with pytest.raises(da.InputError, match=message):
        simulate(**changes)


def test_class_instead_of_instance(simulate, pendulum_class):
    with pytest.raises(da.InputError, match=r"got the class Pendulum; create an instance: Pendulum\(\)"):
        simulate(pendulum_class)
    with pytest.raises(da.InputError, match=r"got the class Rattle; create an instance: Rattle\(\)"):
        simulate(method=da.Rattle)


@pytest.mark.parametrize("system", ["pendulum", 3, [1.0]])
def test_something_that_is_no_system(simulate, system):
    with pytest.raises(da.InputError, match=r"expected a da.System or da.HamiltonianSystem, got"):
        simulate(system)


def test_something_that_is_no_method(simulate, pendulum_class):
    with pytest.raises(da.InputError, match=r"expected a method such as da.Rattle\(\), got str"):
        simulate(method="rattle")
    with pytest.raises(da.InputError, match=r"expected a method such as da.Rattle\(\), got Pendulum"):
        da.simulate(da.Rattle(), pendulum_class(), q0=[1.0, 0.0], v0=[0.0, 0.0])


def test_integers_are_taken_for_floats(simulate, pendulum_class):
    floats = simulate(pendulum_class(length=1.0, gravity=10.0))
    integers = simulate(pendulum_class(length=1, gravity=10), q0=[1, 0], v0=[0, 0], t=(0, 1))
    for name in ("t", "q", "v", "p", "lam", "energy"):
        np.testing.assert_array_equal(getattr(integers, name), getattr(floats, name))
        assert getattr(integers, name).dtype == np.float64


def test_what_was_passed_in_is_not_changed(simulate, pendulum_class):
    system, q0 = pendulum_class(length=1), np.array([1, 0])
    simulate(system, q0=q0)
    assert system.length == 1
    assert isinstance(system.length, int)
    np.testing.assert_array_equal(q0, [1, 0])


def test_every_error_is_a_dalembert_error_and_a_standard_one():
    assert issubclass(da.InputError, da.DalembertError)
    assert issubclass(da.InputError, ValueError)
    assert issubclass(da.ModelError, ValueError)
    assert issubclass(da.StepFailure, RuntimeError)
    assert issubclass(da.MethodDoesNotFit, da.InputError)
    assert issubclass(da.InconsistentStart, da.InputError)
    assert issubclass(da.RedundantConstraints, da.ModelError)


# -- found by random bad inputs --------------------------------------------------------------------------------


HUGE = 10**400


def test_an_integer_too_large_for_a_parameter():
    class Heavy(da.System):
        mass: float = 1.0

        def lagrangian(self, t, q, v):
            return 0.5 * self.mass * v @ v

    with pytest.raises(da.InputError, match=r"mass of Heavy must be a .*number, got an integer of \d+ bits"):
        da.simulate(Heavy(HUGE), da.Rattle(), [0.0], [1.0])


def test_an_array_for_a_choice_in_a_batch():
    with pytest.raises(da.InputError, match='redundant must be "refuse" or "allow"'):
        da.simulate(
            da.gallery.Pendulum(), da.Rattle(), np.ones((3, 2)), np.ones((3, 2)), redundant=np.array([1.0, 2.0])
        )


def test_a_lone_number_for_coordinates_of_a_plot(simulate):
    with pytest.raises(da.InputError, match="coordinates must be numbers of coordinates"):
        da.plots.plot_phase(simulate(), coordinates=np.array(1.0))


def test_symplectic_defect_of_a_step_beyond_all_numbers():
    start = da.gallery.Pendulum().start()
    with pytest.raises(da.InputError, match="use a smaller h"):
        da.symplectic_defect(da.gallery.Pendulum(), da.Rattle(), start.q0, start.v0, h=1e308)


def test_the_start_of_a_sweep_takes_the_names_of_the_grid(tmp_path):
    with pytest.raises(da.InputError, match=r"start must take the values of the grid by name, start\(length\)"):
        da.sweep(
            da.gallery.Pendulum(), da.Rattle(), {"length": [1.0, 2.0]}, start=lambda: None,
            t=(0.0, 1.0), h=0.1, store=tmp_path / "sweep.zarr",
        )  # fmt: skip
