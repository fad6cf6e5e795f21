"""What notebooks show: key numbers and a picture, and nothing of the user's that is not escaped."""

import base64
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import BouncingBall, HamiltonianSphericalPendulum, Pendulum
from dalembert.gallery.friction_surface import MassOnCubic

NASTY = '<script>alert("x")</script>&'


def rows_of(page: str) -> dict[str, str]:
    cell = r'<td style="text-align:left">(.*?)</td>'
    return dict(re.findall(f"<tr>{cell}{cell}</tr>", page))


def picture_of(page: str) -> bytes:
    (data,) = re.findall(r'src="data:image/png;base64,([A-Za-z0-9+/=]+)"', page)
    return base64.b64decode(data)


@pytest.fixture
def run():
    return da.simulate(Pendulum(), da.Rattle(), q0=[1.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01)


def test_system():
    page = Pendulum(length=2.0)._repr_html_()
    assert page.startswith("<div><strong>Pendulum</strong><div>A point mass on a rigid rod")
    rows = rows_of(page)
    assert rows["given by"] == "a Lagrangian L(t, q, v)"
    assert rows["parameters"].startswith("length = 2.0, gravity = 9.81")
    assert rows["parts"] == "holonomic"


@pytest.mark.parametrize(
    ("system", "given"),
    [
        (HamiltonianSphericalPendulum(), "a Hamiltonian H(t, q, p)"),
        (MassOnCubic(), "an overdetermined DAE y&#x27; = v(y, z), z&#x27; = f(y, z) + r(y, z, psi)"),
        (BouncingBall(), "a Lagrangian L(t, q, v)"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_kinds_of_systems(system, given):
    assert rows_of(system._repr_html_())["given by"] == given


@pytest.mark.parametrize(
    "method", [da.Rattle(), da.Galerkin(2), da.gauss_spark(2), da.MoreauJean(), da.EventCapturing()], ids=str
)
def test_method(method):
    rows = rows_of(method._repr_html_())
    assert rows["order"] == str(method.order)
    assert "holonomic" in rows["treats"]
    assert "constraints at position and velocity level" in rows["keeps"]


def test_trajectory(run):
    page = run._repr_html_()
    rows = rows_of(page)
    assert "<strong>Pendulum with Rattle()</strong>" in page
    assert rows["ended"] == "ok: 100 steps"
    assert rows["interval"] == "t = 0 to 1, h = 0.01"
    assert rows["states"] == "101 of 2 coordinates"
    assert float(rows["max |g|"]) < 1e-14
    assert rows["energy"].startswith("E(0) = 0, max |E - E(0)| = ")
    assert picture_of(page)[1:4] == b"PNG"
    assert len(page) < 100_000


def test_trajectory_with_steps_of_several_sizes():
    sizes = [0.01, 0.03, 0.02]
    run = da.simulate(Pendulum(), da.Rattle(), q0=[1.0, 0.0], v0=[0.0, 0.0], t=(0.0, None), h=sizes)
    assert rows_of(run._repr_html_())["interval"] == "t = 0 to 0.06, h = 0.01 to 0.03"


def test_trajectory_with_contact():
    run = da.simulate(BouncingBall(), da.MoreauJean(), q0=[1.0], v0=[0.0], t=(0.0, 2.0), h=0.01)
    rows = rows_of(run._repr_html_())
    assert abs(float(rows["smallest gap"])) < 0.02
    assert "max |g|" not in rows


def test_trajectory_without_energy():
    y0, z0 = MassOnCubic().start_values()
    run = da.simulate(MassOnCubic(), da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, 0.1), h=0.01)
    page = run._repr_html_()
    assert "energy" not in rows_of(page)
    assert picture_of(page)[1:4] == b"PNG"


def test_loaded_trajectory(run, tmp_path):
    page = da.load(run.save(tmp_path / "run.nc"))._repr_html_()
    assert "Pendulum with Rattle()" in page
    assert picture_of(page)[1:4] == b"PNG"


def test_failed_trajectory():
    run = da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 10.0), h=1.0, on_failure="return")
    assert "failed" in rows_of(run._repr_html_())["ended"]


def test_batch_and_trace_have_no_picture(run):
    q0 = np.array([[1.0, 0.0], [0.0, -1.0]])
    batch = da.simulate(Pendulum(), da.Rattle(), q0, np.zeros((2, 2)), t=(0.0, 0.1), h=0.01)
    page = batch._repr_html_()
    assert "a batch of runs" in page
    assert "<img" not in page
    pages = []

    @jax.jit
    def traced(q0):
        run = da.simulate(Pendulum(), da.Rattle(), q0, jnp.zeros(2), t=(0.0, 0.1), h=0.01)
        pages.append(run._repr_html_())
        return run.q[-1]

    traced(jnp.array([1.0, 0.0]))
    assert "no numbers yet" in pages[0]


def test_everything_is_escaped():
    system = da.system(lambda t, q, v, label: 0.5 * v @ v, name=NASTY, label=NASTY)
    type(system).__doc__ = NASTY

    class Own(da.Rattle):
        def __repr__(self):
            return NASTY

    run = da.simulate(system, Own(), q0=[0.0], v0=[1.0], t=(0.0, 0.1), h=0.01)
    for shown in (system, Own(), run):
        page = shown._repr_html_()
        assert "<script>" not in page
        assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;" in page


def test_long_values_are_cut():
    page = da.system(lambda t, q, v, masses: 0.5 * v @ v, masses=np.ones(1000))._repr_html_()
    assert len(page) < 1000
    assert rows_of(page)["parameters"].endswith(" ...")
