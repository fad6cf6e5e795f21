"""The program in this process: exit status, standard output, standard error."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from dalembert.cli.app import run

MODEL = '''
"""Two systems, an instance, and things that are no systems."""
import dalembert as da
import jax.numpy as jnp


class Pendulum(da.System):
    length: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


class Masses(da.System):
    masses: object
    label: str = "none"

    def lagrangian(self, t, q, v):
        return 0.5 * jnp.sum(self.masses * v * v)


spring = da.system(lambda t, q, v, stiffness: 0.5 * v @ v - 0.5 * stiffness * q @ q, stiffness=4.0)
number = 3


def function():
    pass
'''


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    error: str


@pytest.fixture
def dalembert(capsys, monkeypatch):
    """Run a command line, given as words."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words) -> Answer:
        status = run([str(word) for word in words])
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return call


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path
