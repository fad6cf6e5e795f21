"""`run.warnings`: what can be known cheaply of a run that ended well and may be wrong is said."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli.app import app
from dalembert.gallery import GALLERY


def governor():
    """The flyball governor of IFToMM's library of benchmarks (A05): rods with balls at their ends on a turning shaft,
    a slider, and two stiff springs with dampers between them."""
    model = da.Multibody(gravity=(0, 0, -9.81), name="Governor")
    shaft = model.body("shaft", density=3000, shape=da.Box((0.01, 0.01, 1.0)), at=(0, 0, 0.5))
    slider = model.body("slider", density=3000, shape=da.Box((0.1, 0.1, 0.1)), at=(0, 0, 0.5))
    model.joint("turn", model.ground, shaft, da.Revolute("z"), at=(0, 0, 0))
    model.joint("slide", shaft, slider, da.Prismatic("z"), at=(0, 0, 0.5))
    for side, name in ((1, "right"), (-1, "left")):
        along = np.array([side * np.cos(np.pi / 6), 0.0, -0.5])
        thin = 0.3 / 12 * (1 + 1e-4) * (np.eye(3) - np.outer(along, along)) + 0.3 / 6e4 * np.outer(along, along)
        middle, whole = 0.5 * along, 5.3
        centre = (0.3 * middle + 5 * along) / whole
        inertia = thin + sum(
            m * ((x - centre) @ (x - centre) * np.eye(3) - np.outer(x - centre, x - centre))
            for m, x in ((0.3, middle), (5.0, along))
        )
        hinge = np.array([side * 0.05, 0.0, 1.0])
        entries = [inertia[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        rod = model.body(name, whole, entries, com=centre, at=hinge)
        model.joint(f"hinge {name}", shaft, rod, da.Revolute("y"), at=hinge)
        model.spring(slider.point(side * 0.05, 0, 0), rod.point(*middle), 8e5, damping=4e4, rest=0.5)
    return model


def run_of_governor(h):
    model = governor()
    start = model.assemble(rates={"turn": 2 * np.pi}, coordinates="joints")
    return da.simulate(model.system("joints"), da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=h)


def pendulum(**options):
    system = da.gallery.Pendulum()
    start = system.start()
    return da.simulate(system, da.Rattle(), start.q0, start.v0, **({"t": (0.0, 1.0), "h": 0.01} | options))


@pytest.mark.long
def test_a_stiff_governor_with_steps_that_are_too_large():
    coarse, fine = run_of_governor(0.01), run_of_governor(1e-3)
    assert coarse.status
    assert "turns by 4.03 in a step" in coarse.warnings[0]
    assert fine.body("slider").centre[-1, 2] == pytest.approx(0.52383647557, abs=1e-6)
    assert fine.warnings == ()  # its dampers decay within a step too, but they are in balance with the springs


@pytest.mark.parametrize("speed", [1.0, 1e-6])
def test_fast_decays_are_said_where_they_go_on(speed):
    """A block with a damper of rate 1000 beside a spring that swings: one at speed, one as good as at rest."""
    system = da.system(
        lagrangian=lambda t, q, v: 0.5 * v @ v - 0.5 * q[1] ** 2, force=lambda t, q, v: jnp.array([-1e3 * v[0], 0.0])
    )
    run = da.simulate(system, da.gauss_spark(2), [0.0, 1.0], [speed, 0.0], t=(0.0, 1.0), h=0.02)
    assert ["fastest decay" in text for text in run.warnings] == [True] * (speed == 1.0)
    assert repr(run).count("warning: ") == (speed == 1.0)


def test_times_that_are_not_distinct():
    oscillator = da.gallery.HarmonicOscillator()
    start = oscillator.start()
    far = da.simulate(oscillator, da.Rattle(), start.q0, start.v0, t=(1e15, 1e15 + 1), h=0.01)
    assert far.status
    assert "9 of 101" in far.warnings[0]
    seldom = da.simulate(oscillator, da.Rattle(), start.q0, start.v0, t=(1e15, 1e15 + 1), h=0.01, save_every=50)
    assert "not distinct" in seldom.warnings[0]  # the saved ones are, those of the steps are not


def test_a_taylor_series_through_dead_points():
    system = da.gallery.FourBar(crank=1.0, coupler=3.0, rocker=1.0, ground=3.0, gravity=0.0)
    start = system.start()
    run = da.simulate(system, da.Taylor(8), start.q0, 3 * start.v0, t=(0.0, 0.5), h=0.01, project=True)
    assert run.status
    assert "dependent at t = 0.17" in run.warnings[0]


def test_a_wrong_step_is_seen_by_the_energy():
    run = pendulum()
    assert run.warnings == ()
    first = pendulum(t=(0.0, 0.5))
    then = da.simulate(run.system, da.Rattle(), first.q[-1], 1.05 * first.v[-1], t=(0.51, 1.0), h=0.01)
    arrays = {name: np.concatenate([getattr(first, name), getattr(then, name)]) for name in ("t", "q", "v", "p")}
    wrong = da.Trajectory(arrays | {"iterations": run.iterations}, run.system, dict(run._info), run.status, run.method)
    assert "changed by" in wrong.warnings[0]
    assert "t = 0.5 and 0.51" in wrong.warnings[0]


def test_many_mended_steps():
    run = pendulum()
    info = run._info | {"stats": run.stats | {"rescued_steps": 30, "guess_restarts": 3}}
    arrays = {name: getattr(run, name) for name in ("t", "q", "v", "p")}
    mended = da.Trajectory(arrays, run.system, info, run.status, run.method).warnings
    assert len(mended) == 1
    assert mended[0].startswith("30 of 100 steps were found by continuation")


@pytest.mark.parametrize("name", ["pendulum", "double-pendulum", "driven-pendulum", "four-bar", "kepler"])
def test_good_runs_have_none(name):
    system = GALLERY[name]()
    start = system.start()
    run = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 300 * start.h), h=start.h)
    assert run.warnings == ()
    assert "warning" not in repr(run)


def stiff(stiffness):
    return da.system(lagrangian=lambda t, q, v: 0.5 * v @ v - 0.5 * stiffness * q[0] ** 2 - 0.5 * q[1] ** 2)


def stiff_run(**options):
    return da.simulate(stiff(900.0), da.gauss_spark(2), [0.01, 1.0], [0.0, 0.0], t=(0.0, 1.0), h=0.1, **options)


def test_files_and_stores_keep_them(tmp_path):
    run = stiff_run()
    assert len(run.warnings) == 1
    loaded = da.load(run.save(tmp_path / "run.nc"))
    assert loaded.warnings == run.warnings
    assert repr(loaded).count("warning: ") == 1
    assert json.loads(loaded.to_xarray().attrs["dalembert"])["warnings"] == list(run.warnings)
    stored = stiff_run(checkpoint=tmp_path / "run.zarr")
    assert stored.warnings == run.warnings
    assert da.load(tmp_path / "run.zarr").warnings == run.warnings


def test_batches_and_traced_runs():
    batch = da.simulate(
        stiff(900.0), da.Rattle(), np.array([[0.0, 1.0], [0.0, 2.0]]), np.zeros((2, 2)), t=(0.0, 0.5), h=0.1
    )
    assert [text[:10] for text in batch.warnings] == ["Member 0: ", "Member 1: "]
    assert len(batch.member(1).warnings) == 1

    def last(x):
        run = da.simulate(stiff(900.0), da.Rattle(), jnp.array([0.01, x]), jnp.zeros(2), t=(0.0, 0.5), h=0.05)
        assert run.warnings == ()
        return run.q[-1, 1]

    assert np.isfinite(jax.jit(last)(1.0))


def test_notebooks_and_the_command_line_show_them(tmp_path):
    assert "fastest oscillation" in stiff_run()._repr_html_()
    file = tmp_path / "model.py"
    file.write_text(
        "import dalembert as da\n"
        "class Stiff(da.System):\n"
        "    def lagrangian(self, t, q, v): return 0.5 * v @ v - 450 * q[0] ** 2 - 0.5 * q[1] ** 2\n"
    )
    command = ["simulate", f"{file}:Stiff", "--q0", "0,1", "--v0", "0,0", "--t-end", "1", "--h", "0.1"]
    said = CliRunner().invoke(app, command).output
    assert "fastest oscillation" in " ".join(said.split())
