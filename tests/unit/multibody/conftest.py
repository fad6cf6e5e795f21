"""Models that several tests use."""

import numpy as np
import pytest

import dalembert as da


@pytest.fixture
def four_bar():
    """Crank 1, coupler 3, rocker 2.5 on a ground of 3.5, in the plane, drawn with the crank at 60 degrees."""
    return four_bar_model()


def four_bar_model() -> da.Multibody:
    model = da.Multibody(gravity=(0, -9.81, 0), name="FourBar")
    B, D = np.array([0.5, np.sqrt(3) / 2, 0]), np.array([3.5, 0, 0])
    C = np.array([2.4, 2.4, 0])  # near the place where coupler and rocker meet: drawings need not be exact
    crank = model.body("crank", density=100, shape=da.Box((1, 0.1, 0.1), at=(0.5, 0, 0)), rotation=(0, 0, np.pi / 3))
    coupler = model.body(
        "coupler", density=100, shape=da.Box((3, 0.1, 0.1), at=(1.5, 0, 0)), at=B, rotation=turn(C - B)
    )
    rocker = model.body(
        "rocker", density=100, shape=da.Box((2.5, 0.1, 0.1), at=(1.25, 0, 0)), at=D, rotation=turn(C - D)
    )
    model.joint("A", model.ground, crank, da.Revolute("z"), at=(0, 0, 0))
    model.joint("B", crank.point(1, 0, 0), coupler, da.Revolute("z"))
    model.joint("D", model.ground, rocker, da.Revolute("z"))
    model.joint("C", coupler.point(3, 0, 0), rocker.point(2.5, 0, 0), da.PointOnLine("z"))
    return model


def turn(direction) -> tuple[float, float, float]:
    return 0.0, 0.0, float(np.arctan2(direction[1], direction[0]))
