"""From requests to runs and pictures: parameters, starts, scripts that repeat the numbers, exported pages."""

import base64
import gzip
import json
import re
import threading

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import SYSTEMS, mechanism
from dalembert.studio.assets import MODULES, OFFLINE, served, text_of, thumbnails
from dalembert.studio.computing import compute, points_of
from dalembert.studio.exhibit import (
    Launch,
    gallery_exhibit,
    parameters_of,
    run_exhibit,
    system_exhibit,
    with_parameters,
)
from dalembert.studio.export import export_html
from dalembert.studio.messages import Drag, Neighbours, RunRequest
from dalembert.studio.pictures import invariants_message, picture_message, pose_message, shown_rows, unpacked
from dalembert.studio.script import script_of
from dalembert.studio.worker import Superseded, Worker


@pytest.fixture(scope="module")
def pendulum():
    return gallery_exhibit("pendulum")


def request(exhibit, **changes) -> RunRequest:
    return RunRequest(**{"identity": 1, "parameters": {}, "method": exhibit.method} | changes)


class Free(da.System):
    """Two angles, which are no places."""

    stiffness: object = eqx.field(default_factory=lambda: np.array([1.0, 2.0]))

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * jnp.sum(self.stiffness * q**2)


# -- bodies of systems -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rolling-disc", "vertical-rolling-disc"])
def test_the_rim_of_a_disc_is_round_and_touches_the_plane(name):
    exhibit = gallery_exhibit(name)
    computed = compute(exhibit, request(exhibit, t_end=0.5))
    header, arrays = unpacked(picture_message(exhibit, computed))
    centre = arrays["points"][:, 0 if name.startswith("v") else 1]
    rim = arrays["outline points"][:, : len(header["scene"]["faces"][0])]
    np.testing.assert_allclose(np.linalg.norm(rim - centre[:, None], axis=2), 1.0, atol=1e-5)
    assert np.all(rim[..., 2] > -1e-5)
    assert np.max(np.min(rim[..., 2], axis=1)) < 0.01  # between two corners, the disc lies a little lower


def test_every_outline_of_the_gallery_has_the_corners_of_its_faces():
    for name in SYSTEMS:
        exhibit = gallery_exhibit(name)
        header, arrays = unpacked(pose_message(exhibit))
        corners = {k for face in header["scene"]["faces"] for k in face}
        assert exhibit.system.provides("outline") == bool(corners), name
        assert not corners or corners == set(range(arrays["outline points"].shape[1])), name
        assert np.all(np.isfinite(arrays["points"])), name
        radii = header["scene"]["radii"]
        assert radii is None or len(radii) == arrays["points"].shape[1], name


def test_a_face_without_its_corner_is_named():
    class Wrong(da.System):
        faces = ((0, 7),)

        def lagrangian(self, t, q, v):
            return 0.5 * v @ v

        def points(self, t, q):
            return q[None]

        def outline(self, t, q):
            return jnp.stack([q, q])

    exhibit = system_exhibit("wrong", Wrong(), Launch(np.zeros(2), np.zeros(2), 0.0, 1.0, 0.1))
    with pytest.raises(da.InputError, match=r"Wrong.faces must hold tuples .* numbers of corners, 0 to 1; got"):
        pose_message(exhibit)


def test_a_run_from_a_file_is_drawn_like_the_system_of_the_gallery_that_it_is_of(tmp_path):
    for system, drawn in ((da.gallery.Pendulum(length=2.0), True), (Free(), False)):
        start = (np.array([2.0, 0.0]), np.zeros(2))
        path = da.simulate(system, da.Rattle(), *start, t=(0.0, 0.1), h=0.01).save(tmp_path / "run.nc")
        exhibit = run_exhibit("run", da.load(path))
        header, arrays = unpacked(picture_message(exhibit, compute(exhibit, request(exhibit))))
        assert (header["scene"] is not None) == drawn
        assert not drawn or header["scene"]["bars"] == [[None, 0]]
        assert not drawn or arrays["points"].shape == (11, 1, 3)
        assert header["forces"] is None


# -- parameters --------------------------------------------------------------------------------------------------


def test_parameters_of_a_system_and_of_parts_of_it():
    assert [p.name for p in parameters_of(da.gallery.Pendulum())] == ["length", "gravity", "mass"]
    chain = {p.name: p for p in parameters_of(da.gallery.Chain())}
    assert chain["links"].whole
    assert not chain["mass"].whole
    changed = with_parameters(Free(), {"stiffness[1]": 5.0})
    assert np.asarray(changed.stiffness).tolist() == [1.0, 5.0]
    model = mechanism("four-bar").model.system()
    name = next(p.name for p in parameters_of(model) if p.name.endswith(".mass"))
    assert eqx.tree_equal(with_parameters(model, {name: 2.0}), model) is not True


def test_a_parameter_is_checked_by_its_system(pendulum):
    with pytest.raises(da.InputError, match="Pendulum has no parameter 'size'; it has: length, gravity, mass"):
        compute(pendulum, request(pendulum, parameters={"size": 1.0}))
    with pytest.raises(da.InputError, match="links"):
        with_parameters(da.gallery.Chain(), {"links": 1e9})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "moreau"}, "no method 'moreau' for Pendulum"),
        ({"h": 1e-9}, "more than the studio takes at once"),
        ({"t_end": -1.0}, "the end must lie after the start"),
        ({"q0": (1.0,), "v0": (0.0,)}, "q0 and v0 must have 2 coordinates, got 1 and 1"),
        ({"drag": Drag(3, (0.0, 1.0))}, "there is no point 3: Pendulum has 1 of them"),
    ],
)
def test_requests_that_mean_nothing(pendulum, changes, words):
    with pytest.raises(da.InputError, match=words):
        compute(pendulum, request(pendulum, **changes))


# -- pictures ----------------------------------------------------------------------------------------------------


def test_the_picture_holds_the_run(pendulum):
    computed = compute(pendulum, request(pendulum, h=0.05, t_end=1.0, neighbours=Neighbours(2, 1e-3), beside="shake"))
    header, arrays = unpacked(picture_message(pendulum, computed))
    run = computed.run
    assert np.array_equal(arrays["t"], run.t.astype(np.float32))
    assert np.allclose(arrays["points"][:, 0], np.stack([run.q[:, 0], 0 * run.t, run.q[:, 1]], axis=1), atol=1e-6)
    curves = {curve["name"]: arrays[curve["array"]] for curve in header["curves"]}
    assert np.allclose(curves["E - E(0)"], run.energy - run.energy[0], atol=1e-9)
    assert np.array_equal(curves["max |g|"], np.asarray(run.constraint, np.float32))
    assert header["scene"]["bars"] == [[None, 0]]
    assert header["beside"] == "shake"
    assert "E - E(0) (shake)" in curves
    assert arrays["fan 0"].shape == arrays["points"].shape
    assert 0 < np.max(np.abs(arrays["fan 0"] - arrays["points"])) < 0.02
    header, arrays = unpacked(invariants_message(pendulum, computed))
    assert header["kind"] == "more"


def test_long_runs_are_thinned_without_losing_peaks(pendulum):
    computed = compute(pendulum, request(pendulum, h=0.0005))
    rows = shown_rows(computed.run, pendulum)
    header, arrays = unpacked(picture_message(pendulum, computed))
    assert len(arrays["t"]) == len(rows) <= 1500 < len(computed.run.t)
    assert {0, len(computed.run.t) - 1} <= set(rows)
    name = next(curve["array"] for curve in header["curves"] if curve["name"] == "max |g|")
    assert arrays[name].max() == np.float32(np.max(computed.run.constraint))


def test_forces_come_where_they_are_wanted(pendulum):
    header, arrays = unpacked(picture_message(pendulum, compute(pendulum, request(pendulum, h=0.1))))
    assert header["forces"] is None
    header, arrays = unpacked(picture_message(pendulum, compute(pendulum, request(pendulum, h=0.1, reactions=True))))
    states = len(arrays["t"])
    assert arrays["force starts"].tolist() == list(range(states + 1))
    assert arrays["force vectors"].shape == (states, 3)
    assert header["forces"]["reactions"]
    assert not header["forces"]["contacts"]
    largest = np.max(np.linalg.norm(arrays["force vectors"], axis=1))
    assert header["forces"]["largest"] == pytest.approx(largest, rel=1e-6)
    page = export_html(pendulum, compute(pendulum, request(pendulum, h=0.1)), invariants=False)
    data = json.loads(re.search(r'id="run">(.*?)</script>', page)[1])[0]
    assert "force vectors" in unpacked(gzip.decompress(base64.b64decode(data)))[1]


def test_spheres_have_their_sizes():
    exhibit = system_exhibit(
        "ball", da.Spheres([0.2]), Launch(np.array([0, 0, 0.2, 0, 0, 0]), np.zeros(6), 0, 0.1, 0.01)
    )
    header, arrays = unpacked(picture_message(exhibit, compute(exhibit, request(exhibit, contacts=True))))
    assert header["scene"]["radii"] == [0.2]
    assert set(arrays["force kinds"]) == {2}


def test_a_system_that_says_nothing_of_points_gets_no_scene():
    exhibit = system_exhibit("free", Free(), Launch(np.ones(2), np.zeros(2), 0.0, 1.0, 0.1))
    header, _ = unpacked(picture_message(exhibit, compute(exhibit, request(exhibit))))
    assert header["scene"] is None
    assert {curve["name"] for curve in header["curves"]} >= {"q₀", "q₁"}


def test_bodies_have_faces_and_up_is_against_gravity():
    model = da.Multibody(gravity=(0, -9.81, 0))
    bar = model.body("bar", density=100, shape=da.Box((1, 0.1, 0.1), at=(0.5, 0, 0)))
    model.joint("hinge", model.ground, bar, da.Revolute("z"), at=(0, 0, 0))
    exhibit = system_exhibit("bar", model.system(), Launch(np.array([0.3]), np.zeros(1), 0.0, 0.1, 0.01))
    header, arrays = unpacked(picture_message(exhibit, compute(exhibit, request(exhibit))))
    assert header["scene"]["up"] == [0.0, 1.0, 0.0]
    assert [len(faces) for faces in header["scene"]["solids"]] == [12]
    corners = arrays["points"][0].astype(float)
    for faces in header["scene"]["solids"]:  # the volume inside, by faces that look outward
        a, b, c = (corners[[face[k] for face in faces]] for k in range(3))
        assert np.sum(np.cross(a, b) * c) / 6 > 0.009


def test_a_dragged_start_is_near_the_pointer_and_on_the_constraints():
    exhibit = gallery_exhibit("double-pendulum")
    target = np.array([0.5, 0.5, -0.9])
    computed = compute(exhibit, request(exhibit, h=0.1, t_end=0.1, drag=Drag(1, tuple(target))))
    places = points_of(exhibit.system, computed.run.t, computed.run.q)[0]
    assert np.linalg.norm(places[1] - target) < 1e-3
    assert np.max(computed.run.constraint) < 1e-12
    far = compute(exhibit, request(exhibit, h=0.1, t_end=0.1, drag=Drag(1, (0.0, 0.0, -9.0))))
    places = points_of(exhibit.system, far.run.t, far.run.q)[0]
    assert np.linalg.norm(places[1] - [0, 0, -2]) < 0.05  # as far as the links reach


# -- scripts and pages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("pendulum", {"parameters": {"length": 1.1}, "h": 0.013, "t_end": 3.0}),
        ("double-pendulum", {"q0": (1.0, 0.0, 0.1, 1.0, 0.6, -0.8), "v0": (0.0,) * 6, "t_end": 1.0}),
        ("bouncing-ball", {"parameters": {"restitution": 0.7}, "t_end": 2.0}),
    ],
)
def test_the_script_repeats_the_numbers(name, changes, tmp_path, monkeypatch):
    exhibit = gallery_exhibit(name)
    computed = compute(exhibit, request(exhibit, **changes))
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    exec(compile(script_of(computed.call), "script.py", "exec"), space)
    assert np.array_equal(space["run"].q, computed.run.q)
    assert np.array_equal(space["run"].p, computed.run.p)
    assert np.array_equal(da.load("run.nc").energy, computed.run.energy)


def test_the_script_sets_parameters_inside_parts(tmp_path, monkeypatch):
    code = ("import test_studio_runs", "", "system = test_studio_runs.Free()")
    monkeypatch.setitem(__import__("sys").modules, "test_studio_runs", __import__("sys").modules[__name__])
    exhibit = system_exhibit("free", Free(), Launch(np.ones(2), np.zeros(2), 0.0, 1.0, 0.1), code)
    computed = compute(exhibit, request(exhibit, parameters={"stiffness[1]": 3.5}))
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    exec(compile(script_of(computed.call), "script.py", "exec"), space)
    assert np.array_equal(space["run"].q, computed.run.q)
    with pytest.raises(da.InputError, match="was given as an object"):
        script_of(compute(system_exhibit("free", Free(), exhibit.launch), request(exhibit)).call)


def test_an_exported_page_loads_nothing(pendulum):
    page = export_html(pendulum, compute(pendulum, request(pendulum, h=0.1)), invariants=False)
    outside = re.findall(
        r"""(?:src|href)\s*=\s*["'](?!data:)([^"']+)""", re.sub(r"<script.*?</script>", "", page, flags=re.S)
    )
    assert outside == []
    assert "default-src 'none'" in page
    names = json.loads(re.search(r'<script type="importmap">(.*?)</script>', page)[1])["imports"]
    assert set(names) == set(OFFLINE)
    assert len(page) < 2_000_000


def test_views_in_notebooks(tmp_path):
    shown = da.view(da.gallery.Pendulum(), t=(0.0, 1.0), h=0.1)
    assert isinstance(shown, da.View)
    assert 'sandbox="allow-scripts allow-downloads"' in shown._repr_html_()
    assert shown.save(tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert shown.run.view().run is shown.run
    with pytest.raises(da.InputError, match=r"such as run\.html"):
        shown.save(tmp_path / "run.txt")
    with pytest.raises(da.InputError, match="Free brings no starting values"):
        da.view(Free())
    with pytest.raises(da.InputError, match="q0 and v0, or neither"):
        da.view(Free(), [1.0, 2.0])


# -- assets ------------------------------------------------------------------------------------------------------


def test_every_module_is_served_under_the_names_by_which_it_is_imported():
    for name, file in MODULES.items():
        assert file in served()
        if file.startswith("vendor/"):
            continue
        text = text_of(file)
        assert len(text.splitlines()) <= 400, name
        assert set(re.findall(r'from "([^"]+)"', text)) <= set(MODULES), name
    for name in OFFLINE:
        assert set(re.findall(r'^import .* from "([^"]+)"', text_of(MODULES[name]), re.M)) <= set(OFFLINE), name


def test_every_system_of_the_gallery_has_a_thumbnail():
    assert set(thumbnails()) == set(SYSTEMS)


# -- the worker --------------------------------------------------------------------------------------------------


def test_of_one_page_the_newest_request_wins():
    worker, begun, done = Worker(), threading.Event(), []
    finished = threading.Event()

    def long(check):
        begun.set()
        while True:
            check(0.0)

    worker.submit("page", long)
    assert begun.wait(5)
    worker.submit("page", lambda check: (done.append("new"), finished.set()))
    assert finished.wait(5)
    worker.close()
    assert done == ["new"]


def test_a_run_in_progress_is_given_up():
    exhibit = gallery_exhibit("double-pendulum")
    taken = []

    def check(steps):
        taken.append(steps)
        raise Superseded

    with pytest.raises(Superseded):
        compute(exhibit, request(exhibit, h=5e-6), check)
    assert len(taken) == 1
    assert taken[0] < 2_000_000


def test_what_may_wait_is_done_when_nothing_else_is_asked_for():
    worker, done, begun, finished = Worker(), [], threading.Event(), threading.Event()

    def first(check):
        worker.submit_later("page", lambda check: done.append("given up"), 0.2)
        begun.set()

    worker.submit("page", first)
    worker.submit("other", lambda check: worker.submit_later("other", lambda check: done.append("rest"), 0.01))
    worker.submit("third", lambda check: worker.submit_later("third", lambda check: finished.set(), 0.3))
    assert begun.wait(5)
    worker.submit("page", lambda check: done.append("newer"))
    assert finished.wait(5)
    worker.close()
    assert sorted(done) == ["newer", "rest"]
