"""Systems from expressions of SymPy against the same systems in Python."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from sympy.physics import mechanics

import dalembert as da

M, G, LENGTH = sympy.symbols("m g length")
NUMBERS = {M: 2.0, "g": 9.81, LENGTH: 1.5}


def angle_system(**parts):
    angle = mechanics.dynamicsymbols("angle")
    energy = M * LENGTH**2 * angle.diff() ** 2 / 2
    return da.from_sympy(energy + M * G * LENGTH * sympy.cos(angle), [angle], parameters=NUMBERS, **parts), angle


def test_functions_of_time_are_coordinates():
    system, _ = angle_system()
    same = da.system(lambda t, q, v: 2.25 * v @ v + 2.0 * 9.81 * 1.5 * jnp.cos(q[0]))
    runs = [da.simulate(one, da.Galerkin(3), [1.0], [0.0], t=(0.0, 2.0), h=0.01) for one in (system, same)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)
    assert next(iter(runs[0].to_pandas().columns)) == "q_angle"
    assert (system.m, system.g, system.length) == (2.0, 9.81, 1.5)


def test_symbols_with_constraints_and_forces():
    x, y, vx, vy = sympy.symbols("x y vx vy")
    lagrangian = M * (vx**2 + vy**2) / 2 - M * G * y
    circle, drag = x**2 + y**2 - LENGTH**2, [-0.1 * vx, -0.1 * vy]
    system = da.from_sympy(lagrangian, [x, y], [vx, vy], holonomic=circle, force=drag, parameters=NUMBERS)
    same = da.system(
        lambda t, q, v: v @ v - 2.0 * 9.81 * q[1], holonomic=lambda t, q: q @ q - 1.5**2, force=lambda t, q, v: -0.1 * v
    )
    runs = [da.simulate(one, da.Rattle(), [1.5, 0.0], [0.0, 0.0], t=(0.0, 2.0), h=0.01) for one in (system, same)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)
    assert runs[0].stats["engine"] == "native"


def test_nonholonomic_constraints_and_time():
    x, y, turn, t = *mechanics.dynamicsymbols("x y turn"), sympy.Symbol("t")
    lagrangian = (x.diff() ** 2 + y.diff() ** 2 + turn.diff() ** 2) / 2 + sympy.sin(t) * x
    blade = sympy.sin(turn) * x.diff() - sympy.cos(turn) * y.diff()
    system = da.from_sympy(lagrangian, [x, y, turn], nonholonomic=[blade])
    run = da.simulate(system, da.gauss_spark(2), [0.0, 0.0, 0.0], [1.0, 0.0, 0.5], t=(0.0, 1.0), h=0.01)
    assert np.max(run.hidden) < 1e-13


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"force": [1, 2]}, "force must have one expression for each of the 1 coordinates, got 2"),
        ({"parameters": {M: 1.0}}, "lagrangian contains g, length; give numbers"),
        ({"parameters": {"names": 1.0}}, "a parameter cannot be called 'names'"),
        ({"v": [sympy.Symbol("v")]}, "leave out v"),
        ({"holonomic": "a b"}, "must be made of expressions"),
    ],
)
def test_what_cannot_be_used_is_refused(change, message):
    angle = mechanics.dynamicsymbols("angle")
    lagrangian = M * LENGTH**2 * angle.diff() ** 2 / 2 + M * G * LENGTH * sympy.cos(angle)
    with pytest.raises(da.InputError, match=message):
        da.from_sympy(lagrangian, [angle], **({"parameters": NUMBERS} | change))


def test_velocities_in_holonomic_constraints_and_unknown_functions():
    system, angle = angle_system()
    with pytest.raises(da.InputError, match="holonomic contains velocities"):
        angle_system(holonomic=angle.diff())
    with pytest.raises(da.InputError, match=r"contains other\(t\), which is no coordinate"):
        angle_system(holonomic=mechanics.dynamicsymbols("other"))
    assert system.parts == ()
