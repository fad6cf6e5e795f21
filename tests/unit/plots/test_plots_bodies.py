"""Pictures of models of bodies: surfaces that are closed and hide what is behind them, poses between saved states."""

import numpy as np
import pytest
from PIL import Image

import dalembert as da
from dalembert.plots import plot_path
from dalembert.plots.bodies import bodies_of
from dalembert.plots.meshes import Surface, mesh_of, tiles, tube
from dalembert.plots.rendering import rasterised

SHAPES = {
    "box": da.Box((0.3, 0.2, 0.1), at=(1, 2, 3), rotation=(0.3, 0.2, 0.1)),
    "sphere": da.Sphere(0.5, at=(0, 1, 0)),
    "ellipsoid": da.Ellipsoid((0.5, 0.2, 0.3)),
    "cylinder": da.Cylinder(0.2, 1.0, rotation=(0, 1, 0)),
    "capsule": da.Capsule(0.2, 1.0),
    "mesh": da.ConvexMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_surfaces_enclose_the_volume_of_their_shapes(name):
    shape, mesh = SHAPES[name], mesh_of(SHAPES[name])
    corners = mesh.points[mesh.triangles] - mesh.points.mean(axis=0)
    assert np.sum(np.linalg.det(corners)) / 6 == pytest.approx(shape.volume(), rel=0.03)
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outwards = np.sum(faces * mesh.normals[mesh.triangles].sum(axis=1), axis=1)
    assert np.all(outwards >= 0)
    assert np.any(outwards > 0)


def test_thin_shapes_can_be_seen():
    rod = mesh_of(da.Cylinder(1e-9, 2.0))
    assert np.ptp(rod.points[:, 0]) == pytest.approx(0.04, rel=1e-6)
    assert np.ptp(rod.points[:, 2]) == pytest.approx(2.0)


def test_tubes_are_as_far_from_their_line_as_they_should():
    line = np.stack([np.linspace(0, 1, 5), np.zeros(5), np.zeros(5)], axis=1)
    mesh = tube(line, 0.1, np.array([0.0, 0.0, 1.0]))
    assert np.hypot(mesh.points[:, 1], mesh.points[:, 2]) == pytest.approx(0.1)


def test_tiles_lie_still_while_their_corners_move():
    for low in (0.0, 0.35, 0.7):
        floor = tiles(np.array([low, 0.0]), np.array([low + 2.0, 1.0]), 0.5)
        middle, dark = floor.points[floor.triangles].mean(axis=1), floor.tones < 1
        wanted = (np.floor(middle[:, 0] / 0.5) + np.floor(middle[:, 1] / 0.5)) % 2 == 1
        assert np.array_equal(dark, wanted)


def square(depth: float, colour) -> tuple[np.ndarray, Surface]:
    places = np.array([(2.0, 2.0), (18.0, 2.0), (18.0, 18.0), (2.0, 18.0)])
    surface = Surface(
        np.zeros((4, 3)), np.zeros((4, 3)), np.array([(0, 1, 2), (0, 2, 3)]), np.array([colour, colour]),
        np.array([0, 0]),
    )  # fmt: skip
    return places, surface


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_nearer_hides_what_is_behind_it(order):
    places, _ = square(0, (1, 0, 0))
    moved = places * 0.5 + 5
    colours = np.array([(1.0, 0, 0)] * 2 + [(0, 1.0, 0)] * 2)
    faces = np.array([(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7)])
    rows = np.concatenate([[0, 1] if k == 0 else [2, 3] for k in order])
    surface = Surface(np.zeros((8, 3)), np.zeros((8, 3)), faces[rows], colours[rows], np.array([0, 0, 1, 1])[rows])
    picture = rasterised(
        surface, np.concatenate([places, moved]), np.repeat([2.0, 1.0], 4), np.ones(8), (20, 20)
    )  # fmt: skip
    assert picture[10, 10] == pytest.approx([0, 1, 0, 1])  # the small one in front, whatever comes first
    assert picture[4, 4] == pytest.approx([1, 0, 0, 1])
    assert np.all(picture[0, :, 3] == 0)


def test_what_is_seen_from_inside_is_not_drawn():
    places, surface = square(0, (1, 0, 0))
    picture = rasterised(surface, places[::-1], np.ones(4), np.ones(4), (20, 20))
    assert not picture.any()


@pytest.fixture(scope="module")
def pendulum():
    """Two bars under gravity along -y."""
    model, bar = da.Multibody(gravity=(0, -9.81, 0)), da.Box((0.1, 1.0, 0.1), at=(0, -0.5, 0))
    upper = model.body("upper", density=100, shape=bar)
    lower = model.body("lower", density=100, shape=bar)
    model.joint("hinge", model.ground, upper, da.Revolute("z"), at=(0, 0, 0))
    model.joint("elbow", upper.point(0, -1, 0), lower, da.Revolute("z"))
    start = model.assemble(hinge=0.5, elbow=1.0)
    return da.simulate(model.system(), da.Rattle(), start.q0, start.v0, t=(0, 0.5), h=0.005)


def test_bodies_are_where_the_run_says(pendulum):
    bodies = bodies_of(pendulum)
    poses = bodies.at(np.asarray(pendulum.t))
    for k, name in enumerate(("upper", "lower")):
        assert poses.x[:, k] == pytest.approx(pendulum.body(name).centre, abs=1e-12)
    turns = poses.d @ np.swapaxes(poses.d, -1, -2)
    assert np.max(np.abs(turns - np.eye(3))) < 1e-12
    between = bodies.at(np.array([0.1025]))
    (fine,) = np.flatnonzero(np.isclose(pendulum.t, 0.1))
    ends = pendulum.body("upper").centre[fine : fine + 2]
    assert np.linalg.norm(between.x[0, 0] - ends.mean(axis=0)) < 1e-4


def test_every_drawn_point_lies_in_the_box(pendulum):
    bodies = bodies_of(pendulum)
    poses = bodies.at(np.asarray(pendulum.t)[::20])
    for k in range(len(poses.x)):
        points = bodies.surface(poses, k).points
        assert np.all(points >= bodies.limits[:, 0])
        assert np.all(points <= bodies.limits[:, 1])


def test_a_motion_in_a_plane_is_seen_from_the_front(pendulum):
    assert bodies_of(pendulum).view == (14.0, 15.0, "y")


def test_the_overview_of_a_model_shows_its_joints_and_no_phase_portrait(pendulum, tmp_path):
    figure = pendulum.plot(path=tmp_path / "overview.png")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert "joints" in labels
    assert "$p_i$" not in labels
    picture = np.asarray(Image.open(tmp_path / "overview.png").convert("RGB"), dtype=int)
    left = picture[:, : picture.shape[1] // 2]
    orange = (left[..., 0] > left[..., 1] + 40) & (left[..., 1] > left[..., 2] + 20)
    assert np.count_nonzero(orange) > 3000  # the lower bar, filled


@pytest.mark.parametrize("ending", [".svg", ".pdf"])
def test_bodies_are_drawn_into_files_of_every_type(pendulum, tmp_path, ending):
    place = tmp_path / f"path{ending}"
    plot_path(pendulum, place)
    text = place.read_bytes()
    assert b"<image" in text if ending == ".svg" else b"/Image" in text


def test_a_film_of_a_model_shows_filled_bodies_that_move(pendulum, tmp_path):
    film = pendulum.animate(tmp_path / "film.gif", seconds=0.2, fps=10, pixels=300)
    pictures = []
    with Image.open(film) as found:
        for k in range(found.n_frames):
            found.seek(k)
            pictures.append(np.asarray(found.convert("RGB"), dtype=int))
    coloured = [np.ptp(picture, axis=2) > 40 for picture in pictures]
    assert all(np.count_nonzero(one) > 500 for one in coloured)
    assert np.count_nonzero(coloured[0] != coloured[-1]) > 500


def test_a_film_goes_with_what_travels_far_and_floors_have_tiles():
    model = da.Multibody()
    ball = model.body("ball", density=100, shape=da.Sphere(0.1), at=(0, 0, 0.1))
    model.contact(ball, model.plane())
    start = model.assemble(velocity={"ball": (2, 0, 0)})
    run = da.simulate(model.system(), da.MoreauJean(), start.q0, start.v0, t=(0, 1), h=0.01)
    bodies = bodies_of(run)
    assert bodies.travel > 5
    poses = bodies.at(np.array([0.0, 1.0]))
    boxes = [bodies.around(poses, k) for k in range(2)]
    assert boxes[1][0, 0] > boxes[0][0, 1]  # another piece of the way
    assert all(np.ptp(box, axis=1)[0] < 0.5 for box in boxes)
    assert bodies.limits[2, 0] == 0.0  # the floor lies in the box
    with_floor, without = bodies.surface(poses, 1), bodies.surface(poses, 1, floors=False)
    assert len(with_floor.triangles) > 2 * len(without.triangles)  # tiles, and the shadow


def test_rods_springs_and_bodies_without_shapes_are_drawn():
    model = da.Multibody()
    bob = model.particle("bob", 1.0, at=(0.5, 0, -1))
    model.joint("string", model.ground.point(0, 0, 0), bob, da.Distance())
    arm = model.body("arm", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5), at=(1, 0, 0))
    model.joint("hinge", model.ground, arm, da.Revolute("y"), at=(1, 0, 0))
    model.spring(bob.point(0, 0, 0), arm.point(0, 0, -0.5), 10.0)
    start = model.assemble()
    run = da.simulate(model.system("directors"), da.Rattle(), start.q0, start.v0, t=(0, 0.1), h=0.01)
    bodies = bodies_of(run)
    points = bodies.surface(bodies.at(np.array([0.0])), 0).points
    for place in ((0.25, 0, -0.5), (1, 0, -0.25), (0.75, 0, -0.75)):  # middles of the string, the arm, the spring
        assert np.min(np.linalg.norm(points - place, axis=1)) < 0.06, place
