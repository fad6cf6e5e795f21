"""Models that are wrong: functions that return nonsense, raise, or leave their domain on the way; and bad commands."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from bad_inputs import UsersOwn
from bad_values import bad_value

import dalembert as da


def _raise(error: BaseException) -> Any:
    raise error


#: What a function of a model may return instead of a scalar or an array: functions of (t, q) or (t, q, v).
WRONG_RETURNS: list[Callable[..., Any]] = [
    lambda *a: None,
    lambda *a: "text",
    lambda *a: 1,
    lambda *a: True,
    lambda *a: 1.0,
    lambda *a: 1j,
    lambda *a: [],
    lambda *a: {},
    lambda *a: object(),
    lambda *a: jnp.nan * a[1][0],
    lambda *a: jnp.inf * jnp.sum(a[1] ** 2),
    lambda *a: jnp.zeros((2, 2)),
    lambda *a: jnp.zeros(0),
    lambda *a: jnp.zeros((1, 2, 3)),
    lambda *a: jnp.sum(a[1]) * 1j,
    lambda *a: a[1].astype(jnp.int32),
    lambda *a: jnp.array(["a"]) if False else a[1][7],
    lambda *a: jnp.sqrt(-1.0 - jnp.sum(a[1] ** 2)),
    lambda *a: jnp.log(a[1][0] - 100.0),
    lambda *a: 1.0 / (a[1] @ a[1] - a[1] @ a[1]),
    lambda *a: 0.0 * a[1][0] if a[1][0] > 0 else a[1][1],
    lambda *a: float(a[1][0]),
    lambda *a: np.sin(np.asarray(a[1])),
    lambda *a: a[1] @ jnp.ones(5),
    lambda *a: _raise(ZeroDivisionError("division by zero")),
    lambda *a: _raise(KeyError("mass")),
    lambda *a: _raise(UsersOwn("mine")),
    lambda *a: _raise(RecursionError("too deep")),
    lambda *a: (a[1][0], a[1][1]),
    lambda *a: a[1],
    lambda *a: 1e200 * jnp.sum(a[1] ** 3),
    lambda *a: jnp.sum(a[1]),
    lambda: 0.0,
    lambda *a, **k: print,
]

PARTS = ["lagrangian", "hamiltonian", "holonomic", "nonholonomic", "force", "gap", "tangent", "reaction", "invariants",
         "points", "restitution", "friction", "bars"]  # fmt: skip


def _lagrangian(t, q, v):
    return 0.5 * v @ v - 9.81 * q[1]


def _circle(t, q):
    return 0.5 * (q @ q - 1.0)


#: Well formed, and unfit: dependent or contradicting constraints, no inertia, domains that end on the way.
UNFIT: list[dict[str, Any]] = [
    {"holonomic": lambda t, q: jnp.array([q @ q - 1.0, 2.0 * (q @ q) - 2.0])},
    {"holonomic": lambda t, q: jnp.array([q @ q - 1.0, q @ q - 4.0])},
    {"holonomic": lambda t, q: (q @ q - 1.0) ** 2},
    {"holonomic": lambda t, q: q},
    {"holonomic": lambda t, q: 0.0 * q[0]},
    {"holonomic": lambda t, q: 1.0 + 0.0 * q[0]},
    {"holonomic": lambda t, q: jnp.sqrt(q[0] - 2.0)},
    {"holonomic": lambda t, q: jnp.abs(q[1]) ** 0.5},
    {"lagrangian": lambda t, q, v: -9.81 * q[1]},
    {"lagrangian": lambda t, q, v: 0.5 * v[0] ** 2},
    {"lagrangian": lambda t, q, v: 0.5 * (v[0] + v[1]) ** 2},
    {"lagrangian": lambda t, q, v: -0.5 * v @ v},
    {"lagrangian": lambda t, q, v: v[0] + v[1]},
    {"lagrangian": lambda t, q, v: 0.5 * v @ v + jnp.sqrt(0.95 - q[0])},
    {"lagrangian": lambda t, q, v: 0.5 * v @ v + 1e3 * jnp.log(jnp.abs(q[1]))},
    {"lagrangian": lambda t, q, v: 0.5 * v @ v - 1e30 * q[0] ** 4},
    {"lagrangian": lambda t, q, v: 0.5 * jnp.sum(jnp.abs(v) ** 1.5)},
    {"lagrangian": lambda t, q, v: 0.5 * v @ v / (1.0 - t)},
    {"lagrangian": lambda t, q, v: 0.5 * v @ v * jnp.where(t < 0.5, 1.0, jnp.nan)},
    {"force": lambda t, q, v: jnp.full(2, jnp.nan)},
    {"force": lambda t, q, v: 1e308 * q * 10.0},
    {"force": lambda t, q, v: -v / (0.3 - t)},
    {"force": lambda t, q, v: jnp.array([1.0 / q[1], 0.0])},
    {"nonholonomic": lambda t, q, v: v},
    {"nonholonomic": lambda t, q, v: v @ v},
    {"nonholonomic": lambda t, q, v: q[0]},
    {"gap": lambda t, q: q[1] - 1.0},
    {"gap": lambda t, q: jnp.full(2, jnp.nan)},
    {"gap": lambda t, q: q[1] + 5.0, "restitution": 7.0},
    {"gap": lambda t, q: q[1] + 5.0, "restitution": float("nan")},
    {"gap": lambda t, q: q[1] + 5.0, "friction": 0.5},
    {"gap": lambda t, q: q[1] + 5.0, "friction": -1.0, "tangent": lambda t, q: jnp.array([[1.0, 0.0]])},
    {"gap": lambda t, q: q[1] + 5.0, "tangent": lambda t, q: jnp.zeros((1, 2)), "friction": 0.5},
    {"gap": lambda t, q: jnp.zeros(0)},
    {"reaction": lambda t, q, v, psi: 1e6 * psi[0] * v},
]

METHODS: list[Callable[[], da.Method]] = [
    da.Rattle, da.Shake, lambda: da.Galerkin(1), lambda: da.gauss_spark(1), lambda: da.lobatto_spark(2),
    lambda: da.euler_spark("I"), lambda: da.EnergyMomentum("gonzalez"), da.MoreauJean, da.SchatzmanPaoli,
    da.EventCapturing, da.SymplecticEuler, lambda: da.Composition(da.Rattle(), "yoshida4"),
]  # fmt: skip


def bad_model(chance: random.Random) -> dict[str, Any]:
    """The parts of a pendulum, some of them spoiled."""
    parts: dict[str, Any] = {"lagrangian": _lagrangian, "holonomic": _circle}
    kind = chance.random()
    if kind < 0.4:
        parts |= chance.choice(UNFIT)
        if chance.random() < 0.4:
            parts.pop("holonomic")
    elif kind < 0.85:
        part = chance.choice(PARTS)
        parts[part] = chance.choice(WRONG_RETURNS)
    else:
        parts[chance.choice([*PARTS, "mass", "lagrangian"])] = bad_value("number", chance)
    if "hamiltonian" in parts and chance.random() < 0.8:
        parts.pop("lagrangian", None)
    return parts


def run_model(parts: dict[str, Any], method: Callable[[], da.Method], options: dict[str, Any]) -> da.Trajectory:
    """Build the system and take ten steps."""
    return da.simulate(da.system(**parts), method(), [1.0, 0.0], [0.0, 0.5], t=(0.0, 1.0), h=0.1, **options)


def model_calls(count: int, seed: int) -> Iterator[tuple[Callable[[], Any], str]]:
    """Runs of bad models, and how each of them is described."""
    chance = random.Random(seed)
    for _ in range(count):
        parts, method = bad_model(chance), chance.choice(METHODS)
        options = {
            "on_failure": chance.choice(["raise", "return"]), "project": chance.random() < 0.3,
            "retry": chance.random() < 0.2, "redundant": chance.choice(["refuse", "refuse", "allow"]),
        }  # fmt: skip
        text = f"{method()!r}, {options}, {parts!r:.200}"
        yield lambda p=parts, m=method, o=options: run_model(p, m, o), text


# -- the command line ------------------------------------------------------------------------------------------

WORDS = ["", " ", "pendulum", "chain", "Pendulum", "../../etc/passwd", "model.py:X", "model.py", "x.py:", ":", "$(ls)",
         "; ls", "kepler", "bouncing-ball", "rattle", "-", "--", "\x00", "a\nb", "é", "1", "nan", "inf", "-1", "1e400",
         "0.1", "true", "run.zarr", "folder", "text.nc", "{}", "[1]"]  # fmt: skip
OPTIONS = ["--h", "--t-end", "--t0", "--q0", "--v0", "--p0", "--param", "--method", "--save-every", "--out", "--plot",
           "--animate", "--checkpoint", "--checkpoint-every", "--engine", "--redundant", "--levels", "--nope", "-m",
           "--project", "--retry", "--methods"]  # fmt: skip
VALUES = ["", "nan", "inf", "-inf", "0", "-1", "1e-300", "1e300", "1e999", "abc", "1,2,3", "1,,2", "a,b", "[]", "x=1",
          "length=0", "length=-1", "length=1e300", "length=[1,2]", "length='a'", "mass=nan", "gravity=1j", "=",
          "links=0", "links=-3", "links=1e3", "0.1,0.2", "1,0", "0,1", "../x.nc", "/x.png", "x.gif", "run.nc", "folder",
          "\x00", "rattle", "moreau-jean", "shake,shake", ",", "refuse", "native", "10", "7",
          "99999999999999999999"]  # fmt: skip


def bad_command(chance: random.Random) -> list[str]:
    """A command line with something wrong in it; the runs it may start are short."""
    command = chance.choice(["simulate", "check", "converge", "compare", "resume", "list", chance.choice(WORDS)])
    system = chance.choice(["pendulum", "kepler", "bouncing-ball", chance.choice(WORDS)])
    words = [command, system] if chance.random() < 0.95 else [command]
    if command == "simulate":
        words += ["--t-end", "0.2", "--h", "0.1"]
    if command in ("converge", "compare"):
        words += ["--t-end", "0.2", "--h", "0.1", "--levels", "2"]
    for _ in range(chance.choice([0, 1, 1, 2])):
        words.append(chance.choice(OPTIONS))
        if chance.random() < 0.9:
            words.append(chance.choice(VALUES))
    return words
