"""Values that do not belong where they are put, by what the argument is for."""

from __future__ import annotations

import decimal
import pathlib
import random
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import dalembert as da

NAN, INF = float("nan"), float("inf")

#: Wrong wherever they stand; made anew for every case, because a generator is used up.
JUNK: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: "",
    lambda: "abc",
    lambda: "1.0",
    lambda: "\x00",
    lambda: b"bytes",
    lambda: 1j,
    lambda: NAN,
    lambda: INF,
    lambda: -INF,
    lambda: 0,
    lambda: -1,
    lambda: -0.5,
    lambda: 1.5,
    lambda: 1e308,
    lambda: 1e-320,
    lambda: 10**400,
    lambda: -(10**400),
    lambda: [],
    lambda: (),
    lambda: [[]],
    lambda: [[1.0], [1.0, 2.0]],
    lambda: [1.0, "b"],
    lambda: [None, None],
    lambda: {},
    lambda: {"a": 1.0},
    lambda: {1.0, 2.0},
    lambda: object(),
    lambda: lambda *arguments: None,
    lambda: int,
    lambda: ...,
    lambda: slice(None),
    lambda: range(3),
    lambda: (x for x in (1.0, 2.0)),
    lambda: decimal.Decimal("0.1"),
    lambda: pathlib.Path("somewhere"),
    lambda: ValueError("not an argument"),
    lambda: np.array([NAN, 1.0]),
    lambda: np.array([1.0, INF]),
    lambda: np.array(["a", "b"]),
    lambda: np.array([None, 1.0]),
    lambda: np.array([1j, 2.0]),
    lambda: np.zeros(0),
    lambda: np.zeros((2, 0)),
    lambda: np.zeros((2, 2)),
    lambda: np.zeros((1, 2, 3)),
    lambda: np.array(1.0),
    lambda: np.full((3, 3), NAN),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.zeros(2, dtype=[("a", float)]),
    lambda: jnp.array([NAN, 0.0]),
    lambda: jnp.zeros((2, 2, 2)),
    lambda: da.Rattle(),
    lambda: da.Rattle,
    lambda: da.gallery.Pendulum(),
    lambda: da.gallery.Pendulum,
    lambda: da,
]

NUMBERS = [0.0, -0.0, -1.0, -1e-3, 1e-320, 1e-30, 1e-17, 1e30, 1e308, NAN, INF, -INF, 0.1 + 1e-6, 3.0, 7.3]


def _vector(chance: random.Random) -> Any:
    size = chance.choice([0, 1, 2, 2, 2, 3, 7])
    values = [chance.choice([0.0, 1.0, -1.0, 1e300, 1e-300, 5.0, NAN, INF]) for _ in range(size)]
    shape = chance.choice(["list", "tuple", "array", "row", "column", "text", "whole", "nested", "float32", "jax"])
    match shape:
        case "tuple":
            return tuple(values)
        case "array":
            return np.array(values)
        case "row":
            return np.array([values])
        case "column":
            return np.array(values)[:, None]
        case "text":
            return [str(x) for x in values]
        case "whole":
            return [chance.choice([0, 1, -1, 10**30, True]) for _ in range(size)]
        case "nested":
            return [values, values[:-1]]
        case "float32":
            return np.array(np.clip(values, -1e30, 1e30), dtype=np.float32)
        case "jax":
            return jnp.array(values)
        case _:
            return values


def _interval(chance: random.Random) -> Any:
    ends = [0.0, 1.0, -1.0, 1.0, 1e300, -1e300, 1e-300, NAN, INF, -INF, None, "1", 1j, [0.0], 1e16]
    pair = (chance.choice(ends), chance.choice(ends))
    return chance.choice([pair, list(pair), (*pair, 2.0), pair[:1], {*range(2)}, "01", np.array([1.0, 0.0])])


def _integer(chance: random.Random) -> Any:
    return chance.choice([0, -1, -7, 3, 11, 1.0, 2.5, 10**18, -(10**18), NAN, INF, True, "2", np.int64(0), 2**63])


def _path(chance: random.Random) -> Any:
    names = ["", ".", "..", "/", "missing/x", "x.txt", "x", ".nc", "a" * 300 + ".nc", "\x00.png", "x.png/y.nc",
             "x\n.gif", "/proc/x.nc", "/dev/null/x.nc", "folder", "folder/", "text.nc", "text.zarr", "~nobody/x.nc",
             "-x.svg"]  # fmt: skip
    return chance.choice([str, pathlib.Path, lambda name: name.encode(errors="ignore")])(chance.choice(names))


def _choice(chance: random.Random) -> Any:
    words = ["", "GPU", "Refuse", "refuse ", "allow\n", "native,xla", "double", "gauss", "AB", "I", "true", "linear"]
    return chance.choice([*words, 0, 1, True, None, ("auto",), {"auto"}])


def _sizes(chance: random.Random) -> Any:
    values = [chance.choice(NUMBERS + [0.1] * 10) for _ in range(chance.choice([0, 1, 2, 10]))]
    return chance.choice([values, tuple(values), np.array(values), np.array([values]), [str(x) for x in values]])


SPECIAL: dict[str, Callable[[random.Random], Any]] = {
    "number": lambda chance: chance.choice(NUMBERS),
    "vector": _vector,
    "interval": _interval,
    "integer": _integer,
    "path": _path,
    "choice": _choice,
    "flag": lambda chance: chance.choice([0, 1, "no", "yes", 2.0, None, [], [False], "False"]),
    "sizes": _sizes,
    "step": lambda chance: chance.choice([_sizes, lambda c: c.choice(NUMBERS)])(chance),
    "other": lambda chance: None,
}


def bad_value(kind: str, chance: random.Random) -> Any:
    """Something that an argument of this kind should not be, or at least seldom is."""
    if chance.random() < 0.45:
        return chance.choice(JUNK)()
    return SPECIAL[kind](chance)
