"""Bodies: inertia is checked, shapes have their mass properties, and messages name the body."""

import numpy as np
import pytest

import dalembert as da


def sampled(shape, inside, half, count=60):
    """Volume, centre and Euler's tensor by midpoints of a grid, for comparison."""
    axis = (np.arange(count) + 0.5) / count * 2 - 1
    points = np.stack(np.meshgrid(*(axis * h for h in half), indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[inside(points)]
    cell = 8 * np.prod(half) / count**3
    return len(points) * cell, points.T @ points * cell


@pytest.mark.parametrize(
    ("shape", "inside", "half"),
    [
        (da.Sphere(0.7), lambda p: np.sum(p**2, axis=1) < 0.49, (0.7, 0.7, 0.7)),
        (da.Box((1.0, 0.6, 0.4)), lambda p: np.ones(len(p), bool), (0.5, 0.3, 0.2)),
        (da.Cylinder(0.5, 1.2), lambda p: p[:, 0] ** 2 + p[:, 1] ** 2 < 0.25, (0.5, 0.5, 0.6)),
        (
            da.Capsule(0.4, 0.9),
            lambda p: p[:, 0] ** 2 + p[:, 1] ** 2 + np.maximum(np.abs(p[:, 2]) - 0.45, 0) ** 2 < 0.16,
            (0.4, 0.4, 0.85),
        ),
        (
            da.Ellipsoid((0.3, 0.5, 0.8)),
            lambda p: np.sum((p / np.array([0.3, 0.5, 0.8])) ** 2, axis=1) < 1,
            (0.3, 0.5, 0.8),
        ),
        (da.ConvexMesh(da.Box((1.0, 0.6, 0.4)).corners()), lambda p: np.ones(len(p), bool), (0.5, 0.3, 0.2)),
    ],
    ids=["sphere", "box", "cylinder", "capsule", "ellipsoid", "mesh"],
)
def test_mass_properties_of_shapes_are_their_integrals(shape, inside, half):
    volume, euler = sampled(shape, inside, half)
    assert shape.volume() == pytest.approx(volume, rel=0.01)
    np.testing.assert_allclose(shape.moments(), euler, atol=0.01 * np.max(euler))


def test_a_turned_and_shifted_mesh_is_the_turned_and_shifted_box():
    corners = da.Box((1.0, 0.6, 0.4)).corners() + np.array([3.0, -1.0, 2.0])  # off its own frame's origin too
    placed = {"at": (0.1, 0.2, 0.3), "rotation": (0.3, -0.4, 1.1)}
    mass, centre, inertia = da.ConvexMesh(corners, **placed).mass_properties(7.0)
    box_mass, box_centre, box_inertia = da.Box((1.0, 0.6, 0.4), **placed).mass_properties(7.0)
    assert mass == pytest.approx(box_mass)
    np.testing.assert_allclose(inertia, box_inertia, atol=1e-12)
    assert np.linalg.norm(centre - box_centre) == pytest.approx(np.sqrt(14.0))


def test_an_impossible_inertia_is_refused_with_the_nearest_one():
    model = da.Multibody()
    with pytest.raises(da.InputError, match=r"body 'link'.*moments 1, 1, 3.*\(1\.5, 1\.5, 3, 0, 0, 0\)"):
        model.body("link", mass=1.0, inertia=(1.0, 1.0, 3.0))
    nearest = da.nearest_inertia((1.0, 1.0, 3.0))
    assert model.body("other", mass=1.0, inertia=nearest).kept == (0, 1)  # no mass along its third axis: a disc


def test_thin_bodies_have_fewer_directors():
    model = da.Multibody()
    assert model.particle("particle", 1.0).kept == ()
    assert model.rod("rod", 1.0, 2.0, axis="x").kept == (0,)
    assert model.disc("disc", 1.0, 2.0, axis="y").kept == (0, 2)
    assert model.body("body", 1.0, (1.0, 1.2, 1.3)).kept == (0, 1, 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m: m.body("b"), "body 'b' needs mass="),
        (lambda m: m.body("b", mass=-1.0), "mass of body 'b' must be a finite number >= 0"),
        (lambda m: m.body("b", mass=1.0, inertia=(1, 2)), "inertia of body 'b' must be three principal moments"),
        (lambda m: m.body("b", density=1.0), "a density goes with a shape"),
        (lambda m: m.body("b", 1.0, shape="box"), "shape of body 'b' must be a shape"),
        (lambda m: m.body("ground", 1.0), "the name 'ground' is taken"),
        (lambda m: m.body("b", 1.0, rotation=(1, 0, 0, 0, 0)), "rotation of body 'b' must be a 3 x 3 matrix"),
        (lambda m: m.joint("j", m.ground, da.Multibody().particle("p", 1.0), da.Fixed()), "belongs to another model"),
        (lambda m: m.joint("j", m.ground, m.particle("p", 1.0), "hinge"), "kind of joint 'j' must be a joint such as"),
        (lambda m: m.motor("j", lambda t, x: 0.0), "there is no joint 'j'"),
        (lambda m: m.system(), "has no bodies"),
        (lambda m: da.Revolute("w"), 'axis of a joint must be "x", "y", "z"'),
        (lambda m: da.SixAxis("xq"), "locked of SixAxis"),
        (lambda m: da.Sphere(-1.0), "radius of Sphere must be a positive number"),
        (lambda m: da.ConvexMesh(np.eye(3)), "points of ConvexMesh must have shape"),
    ],
)
def test_what_is_wrong_is_named(wrong, message):
    with pytest.raises((da.InputError, da.ModelError), match=message):
        wrong(da.Multibody())
