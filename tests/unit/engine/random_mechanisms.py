"""Mechanisms of joints of all kinds, in trees and with loops, in no special position."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.gallery import Start


def random_mechanism(seed: int) -> tuple[da.Multibody, Start]:
    """Bodies in a tree of random shape; every second one has two loops closed by joints that leave it freedom. And a
    start in directors."""
    random = np.random.default_rng(seed)
    model = da.Multibody(gravity=9.81 * _unit(random))
    kinds = (
        da.Revolute(tuple(_unit(random))), da.Prismatic(tuple(_unit(random))), da.Cylindrical(tuple(_unit(random))),
        da.Universal("x", "z"), da.Spherical(), da.Planar(tuple(_unit(random))), da.Screw("y", 0.3), da.Fixed(),
        da.Floating(), da.Continuous("z"),
    )  # fmt: skip
    bodies, chosen = [model.ground], random.permutation(len(kinds))[: random.integers(4, 8)]
    for k, kind in enumerate(chosen.tolist()):
        half = 0.3 * random.standard_normal((3, 5))
        euler = half @ half.T
        body = model.body(
            f"b{k}", mass=random.uniform(1, 2), inertia=np.trace(euler) * np.eye(3) - euler,
            com=0.2 * random.standard_normal(3), at=random.standard_normal(3), rotation=random.standard_normal(4),
        )  # fmt: skip
        ends = [bodies[random.integers(len(bodies))], body]
        model.joint(f"j{k}", *ends[:: random.choice([-1, 1])], kinds[kind], at=random.standard_normal(3))
        bodies.append(body)
    if seed % 2:
        free = model.body("free", 1.0, (0.3, 0.4, 0.5), at=random.standard_normal(3))
        for k, kind in enumerate((da.Distance(), da.PointOnPlane("y"))):
            other = bodies[random.integers(1, len(bodies))]
            model.joint(f"loop {k}", other.point(*random.standard_normal(3)), free.point(0.1, 0.2 * k, 0.3), kind)
    start = model.assemble(coordinates="directors")
    return model, Start(start.q0, start.v0, 1.0, 1e-3)


def _unit(random: np.random.Generator) -> np.ndarray:
    vector = random.standard_normal(3)
    return vector / np.linalg.norm(vector)
