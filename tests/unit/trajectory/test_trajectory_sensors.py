"""Sensors: named functions of the motion, its accelerations, multipliers and inputs, along a run and at a step."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da


class Swing(da.System):
    """A bob on a rod of 2 m, pushed along x."""

    length: float = 2.0
    inputs: ClassVar = ("push",)

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)

    def force(self, t, q, v, u):
        return jnp.stack([u[0], jnp.zeros(())])

    def sensors(self, t, q, v, a, lam, u):
        along = q / self.length
        return {
            "imu": a + jnp.array([0.0, 9.81]),
            "tension": lam[0] * self.length,
            "power": u[0] * v[0],
            "along": along,
        }


def test_sensors_along_a_run_and_at_a_step(tmp_path):
    push = np.linspace(0.0, 3.0, 20)[:, None]
    run = da.simulate(Swing(), da.Rattle(), [2.0, 0.0], [0.0, 0.0], t=(0.0, 0.2), h=0.01, control=push)
    read = run.sensors
    assert {name: part.shape for name, part in read.items()} == {
        "imu": (21, 2), "tension": (21,), "power": (21,), "along": (21, 2)
    }  # fmt: skip
    # what an accelerometer feels on a rod is its tension and the push
    felt = -read["tension"][:, None] * read["along"] + run.u * [1.0, 0.0]
    assert np.allclose(read["imu"], felt, atol=1e-10)
    assert np.allclose(read["power"], run.u[:, 0] * run.v[:, 0])
    stepper = da.Stepper(Swing(), da.Rattle(), 0.01, [2.0, 0.0], [0.0, 0.0])
    for row in push:
        stepper.step(row)
    for name, value in stepper.sensors().items():
        assert np.allclose(value, read[name][-1], atol=1e-9)
    loaded = da.load(run.save(tmp_path / "run.nc"))
    assert np.array_equal(loaded.sensors["tension"], read["tension"])
    assert "sensor_imu" in run.to_xarray()


def test_without_sensors_and_with_wrong_ones():
    pendulum = da.gallery.Pendulum()
    start = pendulum.start()
    run = da.simulate(pendulum, da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=0.1)
    assert run.sensors == {}
    plain = da.system(lambda t, q, v: 0.5 * v @ v, sensors=lambda t, q, v, a, lam, u: {"not a name": q[0]})
    run = da.simulate(plain, da.Rattle(), [1.0], [0.0], t=(0.0, 0.1), h=0.1)
    with pytest.raises(da.ModelError, match="must return a dict of named"):
        _ = run.sensors
