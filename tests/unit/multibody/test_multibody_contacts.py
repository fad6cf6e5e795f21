"""Contacts: distances and sliding of every pair, stops of joints, rolling and edges."""

import numpy as np
import pytest

import dalembert as da
from dalembert.engine import RowFunction
from dalembert.stepping import Family, flat_parameters

SHAPES = {
    "sphere": da.Sphere(0.3, at=(0.1, 0.2, 0.0)),
    "capsule": da.Capsule(0.2, 0.7, at=(0.1, 0, 0), rotation=(0.3, 0.2, 0)),
    "box": da.Box((0.4, 0.6, 0.8), rotation=(0.1, 0.5, 0.2)),
    "cylinder": da.Cylinder(0.3, 0.5, rotation=(0.4, 0.1, 0)),
    "ellipsoid": da.Ellipsoid((0.2, 0.3, 0.5), at=(0, 0.1, 0)),
}


def surface_points(shape, count=200_000):
    """Many points of a shape, in the frame of its body."""
    random = np.random.default_rng(0)
    n = random.standard_normal((count, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    match shape:
        case da.Sphere():
            local = shape.radius * n
        case da.Capsule():
            local = shape.radius * n + np.outer(random.choice([-0.5, 0.5], count) * shape.length, [0, 0, 1])
        case da.Box():
            local = shape.corners()
        case da.Cylinder():
            angle, side = random.uniform(0, 2 * np.pi, count), random.choice([-0.5, 0.5], count)
            local = np.stack([shape.radius * np.cos(angle), shape.radius * np.sin(angle), side * shape.length], axis=1)
        case _:
            local = np.array(shape.radii) * n
    return local @ np.array(shape.rotation).T + np.array(shape.at)


def at_state(system, q, v):
    """Gaps, their rates and sliding velocities."""

    def flat(q, v, parameters):
        import jax
        import jax.numpy as jnp

        member = Family(system).at(parameters)
        gap, rate = jax.jvp(lambda q: member.gap(0.0, q), (q,), (v,))
        return jnp.concatenate([gap, rate, jnp.ravel(member.tangent(0.0, q) @ v)])

    found = RowFunction(flat)(q[None], v[None], flat_parameters(system)[None])[0]
    n = len(system.contacts)
    return found[:n], found[n : 2 * n], found[2 * n :].reshape(n, 2)


@pytest.mark.parametrize("name", SHAPES)
def test_distances_to_planes_are_those_of_the_lowest_points(name):
    shape, turn = SHAPES[name], (0.7, -0.4, 0.3)
    model = da.Multibody()
    body = model.body("body", 1.0, (1.0, 1.1, 1.2), at=(0.2, 0.1, 2.0), rotation=turn)
    model.contact(body.surface(shape), model.plane(normal=(1, 2, 3), at=(0, 0, 0.1)), friction=0.3)
    spin, velocity = np.array([0.3, -1.0, 2.0]), np.array([1.0, 0.5, -0.2])
    start = model.assemble(coordinates="directors", spin={"body": spin}, velocity={"body": velocity})
    gaps, rates, slides = at_state(model.system("directors"), start.q0, start.v0)
    normal = np.array([1, 2, 3]) / np.sqrt(14)
    points = surface_points(shape) @ body.turn.T + body.place
    heights = (points - np.array([0, 0, 0.1])) @ normal
    lowest = int(np.argmin(heights))
    assert np.min(gaps) == pytest.approx(heights[lowest], abs=2e-4)
    # the velocity of the material point there; a rotation of the tangents keeps the length of the slide
    moving = velocity + np.cross(spin, points[lowest] - body.place)
    k = int(np.argmin(gaps))
    assert rates[k] == pytest.approx(moving @ normal, abs=0.02)
    assert np.linalg.norm(slides[k]) == pytest.approx(np.linalg.norm(moving - (moving @ normal) * normal), abs=0.02)


def pair_gap(first, second, place, turn=(0, 0, 0)):
    """The distance of two shapes, the second at a place."""
    model = da.Multibody()
    a = model.body("a", 1.0, (1, 1, 1), at=(0, 0, 0), rotation=(0.2, 0.1, 0.5))
    b = model.body("b", 1.0, (1, 1, 1), at=place, rotation=turn)
    model.contact(a.surface(first), b.surface(second))
    start = model.assemble(coordinates="directors", velocity={"a": (0.4, 0.1, 0.2)})
    gap, rate, slide = at_state(model.system("directors"), start.q0, start.v0)
    # a body that moves without turning: its velocity is seen whole
    assert np.hypot(rate[0], np.linalg.norm(slide[0])) == pytest.approx(np.linalg.norm([0.4, 0.1, 0.2]))
    return gap[0], a, b


def test_pairs_of_shapes():
    ball, other = da.Sphere(0.3), da.Sphere(0.4)
    assert pair_gap(ball, other, (1, 2, 2))[0] == pytest.approx(3 - 0.7)
    assert pair_gap(da.Box((1, 1, 1)), ball, (0, 0, 2))[0] == pytest.approx(1.2, abs=0.1)
    crossed, a, b = pair_gap(da.Capsule(0.1, 1.0), da.Capsule(0.2, 2.0), (0.1, 1.0, 0.3), (1.1, 0.3, 0))
    s = np.linspace(-1, 1, 801)
    first, second = (np.outer(s * half, body.turn[:, 2]) + body.place for half, body in ((0.5, a), (1.0, b)))
    nearest = np.min(np.linalg.norm(first[:, None] - second[None], axis=2))
    assert crossed == pytest.approx(nearest - 0.3, abs=1e-4)


def test_a_sphere_on_a_box_at_faces_edges_and_corners():
    box = da.Box((1.0, 2.0, 3.0))
    for place, expected in (((2, 0, 0), 1.5), ((2, 2, 0), np.hypot(1.5, 1)), ((2, 2, 2), np.sqrt(1.5**2 + 1 + 0.25))):
        model = da.Multibody()
        ball = model.body("ball", 1.0, (1, 1, 1), at=place)
        crate = model.body("crate", 1.0, (1, 1, 1), at=(0, 0, 0))
        model.contact(crate.surface(box), ball.surface(da.Sphere(0.2)))
        start = model.assemble(coordinates="directors")
        assert at_state(model.system("directors"), start.q0, start.v0)[0][0] == pytest.approx(expected - 0.2)


def test_a_ball_slides_until_it_rolls():
    model = da.Multibody()
    ball = model.body("ball", density=100, shape=da.Sphere(0.1), at=(0, 0, 0.1))
    model.contact(ball, model.plane(), friction=0.3, name="floor")
    start = model.assemble(velocity={"ball": (1, 0, 0)})
    run = da.simulate(model.system(), da.MoreauJean(), start.q0, start.v0, t=(0, 0.3), h=2e-3)
    assert run.body("ball").velocity[-1] == pytest.approx([5 / 7, 0, 0], abs=1e-4)
    assert run.body("ball").angular_velocity[-1] == pytest.approx([0, 50 / 7, 0], abs=1e-3)
    np.testing.assert_allclose(run.contact("floor").gap, 0.0, atol=1e-9)
    weight = 100 * 4 / 3 * np.pi * 1e-3 * 9.81
    np.testing.assert_allclose(run.contact("floor").impulse[1:, 0], weight * 2e-3, rtol=1e-8)


@pytest.mark.parametrize("coordinates", ["joints", "directors"])
def test_stops_of_joints(coordinates):
    model = da.Multibody()
    bar = model.body("bar", 1.0, (0.1, 0.1, 0.01), com=(0, 0, -0.5))
    model.joint("hinge", model.ground, bar, da.Revolute("y"), limits=(-0.3, 0.3), limit_restitution=0.5)
    start = model.assemble(coordinates=coordinates, rates={"hinge": 2.0})
    run = da.simulate(model.system(coordinates), da.MoreauJean(), start.q0, start.v0, t=(0, 0.5), h=1e-3)
    angle = run.joint("hinge").angle
    assert angle.max() == pytest.approx(0.3, abs=3e-3)
    assert angle.min() > -0.3 - 3e-3
    with pytest.raises(da.MethodDoesNotFit):
        da.simulate(model.system(coordinates), da.Rattle(), start.q0, start.v0, t=(0, 0.5), h=1e-3)


def test_a_rolling_disc_has_the_motion_of_the_gallery():
    """The disc of the gallery, in quaternions, against the same in directors: same energies and centres."""
    ready = da.gallery.RollingDisc()
    state = ready.start()
    e, w = np.asarray(state.q0[3:]), np.asarray(da.gallery.rotation.spatial_rate(state.q0[3:], state.v0[3:]))
    model = da.Multibody()
    disc = model.body("disc", 1.0, (0.25, 0.25, 0.5), at=np.asarray(state.q0[:3]), rotation=e)
    # the rim of a cylinder without thickness
    model.rolling("floor", disc.surface(da.Cylinder(1.0, 1e-12)), model.plane())
    assert model.system().parts == ("holonomic", "nonholonomic")
    start = model.assemble(spin={"disc": w}, velocity={"disc": np.asarray(state.v0[:3])})
    method = da.gauss_spark(2)
    run = da.simulate(model.system(), method, start.q0, start.v0, t=(0, 0.5), h=0.01, project=True)
    other = da.simulate(ready, method, state.q0, state.v0, t=(0, 0.5), h=0.01)
    np.testing.assert_allclose(run.body("disc").centre[-1], other.q[-1, :3], atol=1e-6)
    assert run.energy[0] == pytest.approx(other.energy[0], rel=1e-9)
    assert np.ptp(run.energy) < 1e-7


def test_a_knife_edge_does_not_slip():
    model = da.Multibody()
    skate = model.body("skate", 1.0, (0.1, 0.1, 0.2), at=(0, 0, 0))
    model.joint("ice", model.ground, skate, da.Planar("z"))
    model.knife_edge("blade", skate.point(0, 0, 0), across="y")
    start = model.assemble(rates={"ice": (1.0, 0.0, 0.7)})
    run = da.simulate(model.system(), da.gauss_spark(2), start.q0, start.v0, t=(0, 1), h=0.02)
    body = run.body("skate")
    across = body.rotation[:, :, 1]
    np.testing.assert_allclose(np.sum(across * body.velocity, axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(body.position[-1, 0], np.sin(0.7) / 0.7, atol=1e-8)  # it runs in a circle


def test_pairs_that_are_not_known_are_named():
    model = da.Multibody()
    a, b = (model.body(name, density=1.0, shape=da.Ellipsoid((1, 2, 3)), at=(0, 0, 5)) for name in "ab")
    with pytest.raises(da.InputError, match="contact 'contact 1': Ellipsoid and Ellipsoid is no known pair"):
        model.contact(a, b)
    with pytest.raises(da.InputError, match="expects surfaces"):
        model.contact(model.particle("p", 1.0), model.plane())


def test_a_pin_stays_in_its_bearing():
    model = da.Multibody(gravity=(0, -9.81, 0))
    bar = model.body("bar", 1.0, (0.1, 0.1, 0.1), com=(0, -0.5, 0), at=(0, 0, 0))
    model.joint("plane", model.ground, bar, da.Planar("z"))
    model.bearing("pin", model.ground.point(0, 0, 0), bar.point(0, 0, 0), clearance=0.01, restitution=0.3)
    start = model.assemble(rates={"plane": (0.3, 0.0, 1.0)})
    run = da.simulate(model.system(), da.MoreauJean(position_correction=True), start.q0, start.v0, t=(0, 0.5), h=1e-3)
    offset = np.linalg.norm(run.body("bar").position, axis=1)
    assert 0.0099 < offset.max() < 0.0105
    assert run.contact("pin").impulse.sum() > 0
