"""Random mechanical models as source text: the Lagrangian, forces, constraints and contacts of a `da.System`.

Expressions (`random_expressions.py`) are in coordinates x, velocities w and a time s of size about one; fields of the
system give the units of length, mass and time, so that one class is the same motion in any units.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from random_expressions import Expressions

import dalembert as da

#: How often the derivatives of the forces exist: always; not at kinks; and forces themselves may jump.
SMOOTH, KINKS, JUMPS = "smooth", "kinks", "jumps"

#: Quadratic forms that other parts of a kind are added to, so that the mass matrix is positive definite.
BODIES = ("points", "points", "points", "director", "angles", "directors")


@dataclasses.dataclass(frozen=True)
class Model:
    """The terms of one random model, its start in units of one, and its units of length, mass and time."""

    label: str
    x0: tuple[float, ...]
    w0: tuple[float, ...]
    units: tuple[float, float, float] = (1.0, 1.0, 1.0)
    smoothness: str = SMOOTH
    kinetic: tuple[str, ...] = ()
    potential: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    holonomic: tuple[str, ...] = ()
    nonholonomic: tuple[str, ...] = ()
    gap: tuple[str, ...] = ()
    tangent: tuple[str, ...] = ()
    restitution: float = 0.0
    friction: float = 0.0
    helpers: tuple[str, ...] = ()  # lines before the terms: functions that these call

    #: What may be left out to find the smallest model that still fails.
    TERMS = ("kinetic", "potential", "force", "holonomic", "nonholonomic", "gap")

    def source(self) -> str:
        """The class `Random`, to be run after `PREAMBLE`."""
        scaled = "s, x, w = t / self.time, q / self.length, v * (self.time / self.length)"
        lines = [
            "class Random(da.System):",
            "    length: float",
            "    mass: float",
            "    time: float",
            "    exponent: float",
            "    weights: Any",
            f"    restitution = {self.restitution}",
            f"    friction = {self.friction}",
            "",
            "    def lagrangian(self, t, q, v):",
            f"        {scaled}",
            *(f"        {line}" for line in self.helpers),
            f"        kinetic = {_sum(self.kinetic)}",
            f"        potential = {_sum(self.potential)}",
            "        return self.mass * (self.length / self.time) ** 2 * (kinetic - potential)",
        ]
        if self.force:
            lines += ["", "    def force(self, t, q, v):", f"        {scaled}"]
            lines += [f"        return self.mass * self.length / self.time**2 * ({_sum(self.force)})"]
        for name, arguments, unit in (
            ("holonomic", "t, q", "self.length"),
            ("nonholonomic", "t, q, v", "self.length / self.time"),
            ("gap", "t, q", "self.length"),
            ("tangent", "t, q", "1.0"),
        ):
            rows = getattr(self, name)
            if rows:
                used = scaled if "v" in arguments else scaled.replace(", w =", " =").rsplit(", v", 1)[0]
                lines += ["", f"    def {name}(self, {arguments}):", f"        {used}"]
                joined = "jnp.stack" if name == "tangent" else "jnp.hstack"
                lines += [f"        return {unit} * {joined}([", *(f"            {row}," for row in rows), "        ])"]
        return "\n".join(lines) + "\n"

    def system(self, units: tuple[float, float, float] | None = None) -> da.System:
        """The system, in its own units or in others."""
        return class_from(self.source())(*(units or self.units), **PARAMETERS)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """q0, v0 in the model's own units."""
        length, _, time = self.units
        return np.array(self.x0) * length, np.array(self.w0) * (length / time)


#: Fields that expressions use.
PARAMETERS = {"exponent": 1.7, "weights": np.array([0.3, -0.5, 0.2])}

PREAMBLE = """from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da

jax.config.update("jax_enable_x64", True)
"""


@functools.lru_cache(maxsize=4)
def class_from(source: str) -> type[da.System]:
    """The class `Random` of a source; one for all units, so that code compiled for it is used again."""
    namespace: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "da": da, "Any": Any}
    exec(compile(source, "<random model>", "exec"), namespace)
    return namespace["Random"]


def _sum(terms: tuple[str, ...]) -> str:
    return " + ".join(f"({term})" for term in terms) or "0.0"


class NoModel(Exception):
    """The draw gave no model that is fit for a comparison."""


def smooth_model(seed: int) -> Model:
    """Without contacts: a random Lagrangian with forces and constraints."""
    chance = np.random.default_rng(seed)
    kinks = bool(chance.random() < 0.3)
    body = str(chance.choice(BODIES))
    n = {"director": 4, "directors": 12}.get(body) or int(chance.integers(2, 5))
    plain, rough = Expressions(chance, n), Expressions(chance, n, kinks)
    kinetic, helpers, holonomic, x0 = _body(body, chance, n)
    kinetic += _some(chance, 2, lambda: _kinetic(plain, n))
    potential = ["0.4 * x @ x", *_some(chance, 3, lambda: f"{rough.number(0.3)} * {rough.scalar(_depth(chance))}")]
    force, jumps = _forces(chance, rough, n, kinks)
    free = n - len(holonomic)
    more = int(chance.choice([0, 0, 1, 2])) if body == "points" else int(chance.random() < 0.4)
    holonomic += [_constraint(chance, plain, n) for _ in range(min(more, free - 1))]
    free = n - len(holonomic)
    rolling = int(chance.choice([0, 0, 0, 1, 2]))
    nonholonomic = tuple(_velocity_constraint(chance, plain, n) for _ in range(min(rolling, free - 1)))
    smoothness = JUMPS if jumps else KINKS if kinks else SMOOTH
    label = f"smooth model {seed}"
    w0 = tuple(np.round(chance.uniform(-0.7, 0.7, n), 2).tolist())
    model = Model(
        label, tuple(x0), w0, _units(chance), smoothness, tuple(kinetic), tuple(potential), tuple(force),
        tuple(holonomic), nonholonomic, helpers=tuple(helpers),
    )  # fmt: skip
    return consistent(model)


def contact_model(seed: int) -> Model:
    """Point masses or a general mass matrix above curved or plane obstacles, with or without friction."""
    chance = np.random.default_rng(seed)
    n = int(chance.integers(2, 4))
    plain = Expressions(chance, n)
    contacts = int(chance.choice([1, 1, 2]))
    # the last coordinates are heights above obstacles that bend a little
    gaps = [
        f"x[{n - 1 - k}] + {_bend(chance, plain)}" + ("" if chance.random() < 0.7 else " + 0.1 * jnp.sin(2.0 * s)")
        for k in range(contacts)
    ]
    x0 = np.round(chance.uniform(-0.4, 0.4, n), 2)
    x0[n - contacts :] = np.round(chance.uniform(0.3, 0.7, contacts), 2)
    friction = float(np.round(chance.uniform(0.1, 0.7), 2)) if chance.random() < 0.5 else 0.0
    tangent = tuple(f"jnp.array({np.eye(n)[0].tolist()})" for _ in range(contacts)) if friction else ()
    potential = [f"{plain.positive(1.0, 5.0)} * jnp.sum(x[{n - contacts}:])"]
    potential += _some(chance, 2, lambda: f"0.3 * {plain.scalar(_depth(chance))}")
    force = ["-0.3 * w"] if chance.random() < 0.4 else []
    return Model(
        f"contact model {seed}", tuple(x0.tolist()), tuple(np.round(chance.uniform(-0.7, 0.7, n), 2).tolist()),
        _units(chance), JUMPS, ("0.5 * w @ w", *_some(chance, 1, lambda: _quadratic(plain, n))), tuple(potential),
        tuple(force), gap=tuple(gaps), tangent=tangent, friction=friction,
        restitution=float(np.round(chance.choice([0.0, 0.5, 0.8, 1.0]), 2)),
    )  # fmt: skip


def large_model(seed: int) -> Model:
    """Point masses on rigid links, in a chain or a tree, with random potentials: for loops, bands, sparse matrices."""
    chance = np.random.default_rng(seed)
    plain = Expressions(chance, 2)
    points = int(chance.integers(12, 60))
    tree = bool(chance.random() < 0.4)
    parents = [max(-1, k - int(chance.integers(1, 5))) if tree else k - 1 for k in range(points)]
    angles = chance.uniform(-0.4, 0.4, points)
    places = [np.zeros(2)]
    for k, parent in enumerate(parents):
        places.append(places[parent + 1] + np.array([np.cos(angles[k]), np.sin(angles[k])]))
    each = f"x.reshape({points}, 2)"
    rooted = f"jnp.concatenate([jnp.zeros((1, 2)), {each}])[np.array({parents}) + 1]"
    potential = [f"{plain.positive(0.5, 3.0)} * jnp.sum({each}[:, 1])"]
    potential += _some(chance, 2, lambda: f"0.2 * jnp.sum(jax.vmap(lambda x: {plain.scalar(1)})({each}))")
    weights = np.round(chance.uniform(0.5, 2.0, points), 2).repeat(2).tolist()
    return Model(
        f"large model {seed}", tuple(np.ravel(places[1:]).tolist()), (0.0,) * (2 * points),
        kinetic=(f"0.5 * jnp.array({weights}) @ w**2",), potential=tuple(potential),
        force=("-0.2 * w",) if chance.random() < 0.5 else (),
        holonomic=(f"0.5 * (jnp.sum(({each} - {rooted}) ** 2, axis=1) - 1.0)",),
    )  # fmt: skip


def consistent(model: Model) -> Model:
    """With constants in the constraints so that they hold at the start, and the nearest velocity that fits them."""
    system = model.system((1.0, 1.0, 1.0))
    zero, x0, w0 = jnp.zeros(()), jnp.array(model.x0), jnp.array(model.w0)
    if model.holonomic:
        off = np.asarray(jax.jit(lambda t, x: system.holonomic(t, x))(zero, x0))
        rows = tuple(
            row if value == 0.0 else f"{row} - {float(value)!r}"
            for row, value in zip(model.holonomic, off, strict=True)
        )
        model = dataclasses.replace(model, holonomic=rows)
        system = model.system((1.0, 1.0, 1.0))
    if not (model.holonomic or model.nonholonomic):
        return model

    def velocity_rows(w):
        """Constraints on the velocity at the start, affine in w."""
        rows = []
        if model.holonomic:
            rows.append(jax.jvp(system.holonomic, (zero, x0), (jnp.ones(()), w))[1])
        if model.nonholonomic:
            rows.append(system.nonholonomic(zero, x0, w))
        return jnp.concatenate(rows)

    matrix = np.asarray(jax.jit(jax.jacfwd(velocity_rows))(w0))
    rate = np.asarray(jax.jit(velocity_rows)(jnp.zeros_like(w0)))
    sizes = np.linalg.norm(matrix, axis=1)
    if np.min(sizes) == 0 or np.linalg.svd(matrix / sizes[:, None], compute_uv=False)[-1] < 0.2:
        raise NoModel("its constraints are nearly dependent")
    w = np.array(model.w0)
    w = w - np.linalg.lstsq(matrix, matrix @ w + rate, rcond=None)[0]
    return dataclasses.replace(model, w0=tuple(w.tolist()))


# -- parts ---------------------------------------------------------------------------------------------------


def _depth(chance) -> int:
    return int(chance.choice([0, 1, 1, 2]))


def _some(chance, most: int, draw) -> list[str]:
    return [draw() for _ in range(int(chance.integers(0, most + 1)))]


def _units(chance) -> tuple[float, float, float]:
    if chance.random() < 0.5:
        return 1.0, 1.0, 1.0
    length, mass, time = (float(f"{10.0**power:.3g}") for power in chance.uniform(-6, 6, 3))
    return length, mass, time


def _body(kind: str, chance, n: int) -> tuple[list[str], list[str], list[str], list[float]]:
    """Kinetic energy, helpers, constraints of the coordinates themselves, and a start."""
    if kind == "director":  # a body in the plane: its centre and a unit vector
        angle = chance.uniform(0, 6)
        kinetic = [f"0.5 * w @ (jnp.array([1.0, 1.0, {0.3:.2f}, 0.3]) * w)"]
        x0 = [*chance.uniform(-0.5, 0.5, 2), np.cos(angle), np.sin(angle)]
        return kinetic, [], ["0.5 * (x[2:] @ x[2:] - 1.0)"], x0
    if kind == "directors":  # a body in space: its centre and three orthonormal vectors
        rotation = np.linalg.qr(chance.standard_normal((3, 3)))[0]
        inertia = np.round(chance.uniform(0.2, 1.0, 3), 2).repeat(3).tolist()
        pairs = [(i, j) for i in range(3) for j in range(i, 3)]
        rows = [f"x[3:].reshape(3, 3)[{i}] @ x[3:].reshape(3, 3)[{j}]" for i, j in pairs]
        rows = [f"0.5 * ({row} - 1.0)" if i == j else row for row, (i, j) in zip(rows, pairs, strict=True)]
        kinetic = [f"0.5 * jnp.concatenate([jnp.ones(3), jnp.array({inertia})]) @ w**2"]
        return kinetic, [], rows, [*chance.uniform(-0.5, 0.5, 3), *rotation.ravel()]
    start = np.round(chance.uniform(-0.8, 0.8, n), 2).tolist()
    if kind == "angles":  # a chain of links in the plane, by the angles of its links
        places = "places = lambda x: jnp.cumsum(jnp.stack([jnp.sin(x), -jnp.cos(x)]), axis=1)"
        kinetic = ["0.5 * jnp.sum(jax.jvp(places, (x,), (w,))[1] ** 2)"]
        return [*kinetic, "0.1 * w @ w"], [places], [], start
    return ["0.5 * w @ w"], [], [], start


def _quadratic(e: Expressions, n: int) -> str:
    """Positive semidefinite in w."""
    vector = e.vector_of(n, 1)
    return e.one(
        [
            lambda: f"0.5 * {e.positive()} * ({vector} @ w) ** 2",
            lambda: f"0.5 * jnp.sum((({e.array(n, n)} * {vector}) @ w) ** 2)",
            lambda: f"0.5 * w @ jnp.diag(1.0 + {vector} ** 2) @ w",
            lambda: f"0.5 * jnp.einsum('i,i,i->', 1.2 + jnp.sin({vector}), w, w)",
        ]
    )()


def _kinetic(e: Expressions, n: int) -> str:
    """Convex in w, or linear: gyroscopic forces."""
    return e.one(
        [
            lambda: _quadratic(e, n),
            lambda: _quadratic(e, n),
            lambda: f"{e.vector_of(n, 1)} @ w",
            lambda: "jnp.sqrt(1.0 + w @ w)",
            lambda: "jnp.sum(jnp.cosh(0.4 * w))",
        ]
    )()


def _forces(chance, e: Expressions, n: int, kinks: bool) -> tuple[list[str], bool]:
    """Forces, and whether they jump."""
    smooth = [
        lambda: f"-{e.positive()} * w",
        lambda: f"-{e.positive()} * w * jnp.sqrt(0.1 + w @ w)",
        lambda: f"-{e.positive()} * jnp.tanh(w / 0.3)",
        lambda: f"0.5 * {e.vector_of(n, 1)}",
        lambda: f"0.3 * (lambda x: {e.vector_of(n, 1)})(jnp.tanh(w))",
        lambda: f"jnp.sin({e.positive()} * s) * {e.array(n)}",
        lambda: f"{e.array(n, n)} @ w",
    ]
    kinked = [
        lambda: f"-{e.positive()} * jnp.abs(w) * w",
        lambda: f"-jnp.clip(w, -0.3, 0.3) * {e.positive()}",
        lambda: f"jnp.interp(s, jnp.array([0.0, 0.17, 0.31]), jnp.array([0.2, -0.5, 0.4])) * {e.array(n)}",
    ]
    jumping = [
        lambda: f"0.1 * jnp.floor(6.0 * s) * {e.array(n)}",
        lambda: f"0.1 * jnp.round(5.0 * s) * {e.array(n)}",
        lambda: f"jnp.where(s > {e.positive(0.1, 0.4)}, {e.array(n)}, 0.0)",
    ]
    jumps = kinks and chance.random() < 0.3
    rules = smooth + (kinked if kinks else []) + (jumping if jumps else [])
    drawn = _some(chance, 2, lambda: e.one(rules)())
    return drawn, jumps


def _constraint(chance, e: Expressions, n: int) -> str:
    moving = "" if chance.random() < 0.7 else f" + 0.2 * jnp.sin({e.positive()} * s)"
    direction = chance.standard_normal(n)
    direction = np.round(direction / np.linalg.norm(direction), 2).tolist()
    row = f"jnp.array({direction}) @ x + 0.3 * jnp.tanh({e.scalar(_depth(chance))}){moving}"
    factor = 1.0 if chance.random() < 0.7 else float(f"{10.0 ** chance.uniform(-3, 3):.2g}")
    return row if factor == 1.0 else f"{factor} * ({row})"


def _velocity_constraint(chance, e: Expressions, n: int) -> str:
    direction = np.round(chance.standard_normal(n), 2).tolist()
    affine = "" if chance.random() < 0.6 else f" + 0.3 * jnp.sin({e.scalar(0)} + s)"
    return f"(jnp.array({direction}) + 0.4 * jnp.tanh({e.vector_of(n, 1)})) @ w{affine}"


def _bend(chance, e: Expressions) -> str:
    """Of an obstacle: a plane or something curved."""
    return e.one(
        [
            lambda: "0.0",
            lambda: f"{e.number(0.1, 0.3)} * x[0]",
            lambda: f"0.1 * jnp.sin(2.0 * x[0] + {e.number()})",
            lambda: f"0.1 * {e.positive()} * jnp.cos({e.scalar(0)})",
        ]
    )()
