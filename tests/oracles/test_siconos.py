"""Moreau-Jean against siconos, another program. Its answers are stored; `-m oracle` computes them again where it is
installed (Debian: python3-siconos)."""

import json
import pathlib
import shutil
import subprocess

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da

HERE = pathlib.Path(__file__).parent / "siconos"
BALL = {"gravity": 2.0, "restitution": 0.5, "h": 5 / 997, "end": 5.0}
SPRINGS = [[2.0, -1.0, 0.0, -1.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [-1.0, 0.0, -1.0, 2.0]]
NET = {
    "mass": [1.0, 2.0, 0.5, 1.5],
    "stiffness": [[20.0 * entry for entry in row] for row in SPRINGS],
    "gravity": 9.81,
    "restitution": 0.3,
    "friction": 0.4,
    "q0": [0.0, 0.0, 0.3, 1.0, 0.1, 0.5, 1.2, 1.0, 0.2, -0.1, 0.9, 0.7],
    "v0": [1.0, 0.5, 0.0, 0.0, -1.0, 0.0, 2.0, 0.0, -1.0, 0.0, 0.3, 0.0],
    "h": 2 / 499,
    "end": 2.0,
}


class Ball(da.System):
    gravity: float = 2.0
    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[0]

    def gap(self, t, q):
        return q


class Net(da.System):
    friction: float = 0.4
    restitution: float = 0.3

    def lagrangian(self, t, q, v):
        x, mass = q.reshape(4, 3), jnp.array(NET["mass"])
        kinetic = 0.5 * jnp.sum(mass[:, None] * v.reshape(4, 3) ** 2)
        return kinetic - 0.5 * jnp.sum(x * (jnp.array(NET["stiffness"]) @ x)) - NET["gravity"] * mass @ x[:, 2]

    def gap(self, t, q):
        return q.reshape(4, 3)[:, 2]

    def tangent(self, t, q):
        rows = np.zeros((4, 2, 12))
        for k in range(4):
            rows[k, 0, 3 * k] = rows[k, 1, 3 * k + 1] = 1.0
        return jnp.asarray(rows)


def of_siconos(script: str, problem: dict) -> dict:
    """What siconos answers now."""
    python = next((p for p in ("/usr/bin/python3", "python3") if shutil.which(p) and _has_siconos(p)), None)
    if python is None:
        pytest.skip("siconos is not installed")
    done = subprocess.run(
        [python, str(HERE / f"{script}.py")], input=json.dumps(problem), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout[done.stdout.index("{") :])


def _has_siconos(python: str) -> bool:
    return subprocess.run([python, "-c", "import siconos.kernel"], capture_output=True, check=False).returncode == 0


def stored(name: str) -> dict:
    return json.loads((HERE / f"{name}.json").read_text())


def run_of(name: str):
    if name == "bouncing_ball":
        return da.simulate(Ball(), da.MoreauJean(), q0=[1.0], v0=[0.0], t=(0.0, 5.0), h=BALL["h"])
    return da.simulate(Net(), da.MoreauJean(), q0=NET["q0"], v0=NET["v0"], t=(0.0, 2.0), h=NET["h"])


@pytest.mark.parametrize(("name", "tolerance"), [("bouncing_ball", 1e-13), ("frictional_net", 1e-9)])
def test_moreau_jean_agrees_with_siconos(name, tolerance):
    answer, run = stored(name), run_of(name)
    every, count = answer["every"], len(run)
    assert np.max(run.impulse) > 0.1, "no impact: nothing is compared"
    np.testing.assert_allclose(
        run.q[::every], np.array(answer["q"]).reshape(-1, run.q.shape[1]), rtol=0, atol=tolerance
    )
    np.testing.assert_allclose(
        run.v[::every], np.array(answer["v"]).reshape(-1, run.q.shape[1]), rtol=0, atol=tolerance
    )
    assert count == answer["states"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "problem", "tolerance"), [("bouncing_ball", BALL, 1e-13), ("frictional_net", NET, 1e-9)]
)
def test_moreau_jean_agrees_with_siconos_as_installed(name, problem, tolerance):
    answer, run = of_siconos(name, problem), run_of(name)
    for letter in ("q", "v"):
        theirs, ours = np.array(answer[letter]).reshape(-1, run.q.shape[1]), getattr(run, letter)
        np.testing.assert_allclose(ours[: len(theirs)], theirs[: len(ours)], rtol=0, atol=tolerance)
    impulse = np.array(answer["impulse"]).reshape(len(answer["impulse"]), *run.impulse.shape[1:])
    np.testing.assert_allclose(run.impulse[1 : len(impulse) + 1], impulse[: len(run) - 1], rtol=0, atol=tolerance)
