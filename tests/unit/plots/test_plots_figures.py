"""Figures: every kind of run gives one, labelled, saved atomically; what cannot be drawn says why."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as da
from dalembert import plots
from dalembert.plots.geometry import geometry_of
from dalembert.plots.series import FLOOR, draw_residuals, windows

FIGURES = [plots.plot, plots.plot_path, plots.plot_phase, plots.plot_energy, plots.plot_constraints]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("figure", FIGURES)
def test_figure_is_saved(chain, tmp_path, figure):
    path, before = tmp_path / "figure.png", plt.get_fignums()
    figure(chain, path)
    assert path.read_bytes().startswith(PNG)
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("ending", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("jpg", b"\xff\xd8"), ("PNG", PNG)]
)
def test_other_formats(chain, tmp_path, ending, begins):
    path = tmp_path / f"figure.{ending}"
    plots.plot_energy(chain, path)
    assert path.read_bytes().startswith(begins)


@pytest.mark.parametrize("figure", FIGURES)
def test_without_a_path_it_is_a_figure_of_pyplot(chain, figure):
    drawn = figure(chain)
    assert plt.get_fignums() == [drawn.number]


def test_settings_of_the_user_are_left_alone(chain, tmp_path):
    before = dict(plt.rcParams)
    plots.plot(chain, tmp_path / "figure.png")
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("name", ["figure.bmp", "figure", "figure.gif", "figure.png.txt"])
def test_unknown_ending_is_refused_before_anything_is_drawn(chain, tmp_path, name):
    with pytest.raises(da.InputError, match=r"cannot save a figure to .*: expected a name ending in .png, .pdf, .svg"):
        plots.plot(chain, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_named(chain, tmp_path):
    with pytest.raises(da.InputError, match=r"the folder .*missing does not exist"):
        plots.plot(chain, tmp_path / "missing" / "figure.png")


def test_overview_has_a_panel_for_everything_there_is(chain, make, systems, circle_points):
    labels = [axes.get_ylabel() for axes in plots.plot(chain).axes]
    assert labels == ["$y$", "$p_i$", "$E(t) - E(0)$", "residual", r"$\lambda_i$", "change"]
    free = make(systems["free"], circle_points(50))
    labels = [axes.get_ylabel() for axes in plots.plot(free).axes]
    assert labels[:2] == ["$q_1$", "$p_i$"]
    assert labels[2].startswith("$E(t) - E(0)")
    assert labels[3:] == ["change"]  # the momenta of a free particle


def test_all_axes_are_labelled(chain):
    for axes in plots.plot(chain).axes:
        assert axes.get_ylabel()
    for figure in (plots.plot_path, plots.plot_phase, plots.plot_energy, plots.plot_constraints):
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure(chain).axes)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("states", [1, 2, 40])
def test_any_number_of_coordinates_and_states(make, systems, n, states):
    q = np.cumsum(np.ones((states, n)), axis=0)
    figure = plots.plot(make(systems["free"], q))
    figure.canvas.draw()
    names = {type(axes).__name__ for axes in figure.axes}
    assert ("Axes3D" in names) == (n == 3)


def test_failed_run_is_drawn_and_says_so(make, systems, circle_points):
    for states in (1, 3):
        figure = plots.plot(make(systems["chain"], circle_points(states), ok=False, t_end=0.5))
        assert figure.get_suptitle() == f"stopped at $t$ = {0.5 if states > 1 else 0:g}"
        figure.canvas.draw()


def test_no_constraints_to_plot(make, systems, circle_points):
    with pytest.raises(da.InputError, match="this run has no constraints to plot"):
        plots.plot_constraints(make(systems["free"], circle_points(10)))


def test_traced_run_is_refused(chain):
    def draw(scale):
        run = jax.tree.map(lambda leaf: leaf * scale.astype(leaf.dtype), chain)
        plots.plot(run)
        return scale

    with pytest.raises(da.InputError, match="a traced trajectory has no numbers yet; plot it outside jit"):
        jax.jit(draw)(jnp.asarray(1.0))


@pytest.mark.parametrize("figure", FIGURES)
def test_batch_of_runs_is_refused(chain, figure):
    batch = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), chain)
    with pytest.raises(da.InputError, match=r"holds a batch of runs \(q has shape \(2, 101, 4\)\); plot one of them"):
        figure(batch)


def test_phase_portrait_of_chosen_coordinates(chain):
    axes = plots.plot_phase(chain, coordinates=[3]).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$q_{3}$", "$p_{3}$")
    with pytest.raises(da.InputError, match="coordinates must be an integer between 0 and 3, got 4"):
        plots.plot_phase(chain, coordinates=[4])


def test_zeros_lie_on_the_floor_of_the_logarithmic_axis(chain):
    axes = plots.plot_constraints(chain).axes[0]
    assert axes.get_yscale() == "log"
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()])
    assert np.min(drawn) == FLOOR
    assert axes.get_ylim()[0] < FLOOR


def test_residuals_that_are_all_zero_or_tiny():
    axes = plt.figure().add_subplot()
    draw_residuals(axes, np.linspace(0.0, 1.0, 30), {"zero": np.zeros(30)})
    assert axes.get_ylim()[0] > 0
    axes = plt.figure().add_subplot()
    draw_residuals(axes, np.linspace(0.0, 1.0, 30), {"tiny": np.full(30, 1e-25)})
    assert axes.get_ylim()[0] < 1e-25


def test_energy_at_roundoff_is_not_magnified(make, systems):
    still = make(systems["free"], np.ones((50, 2)), v=np.ones((50, 2)))
    low, high = plots.plot_energy(still).axes[0].get_ylim()
    assert high - low >= 1e-16


def test_power_of_ten_stands_in_the_label(make, systems, circle_points):
    run = make(systems["free"], circle_points(80), v=1.0 + 1e-7 * circle_points(80))
    label = plots.plot_energy(run).axes[0].get_ylabel()
    assert label.startswith("$E(t) - E(0)")
    assert r"[10^{-7}]" in label


def test_long_oscillation_becomes_a_band(make, systems):
    t = np.linspace(0.0, 2.0, 50_001)
    q = np.stack([np.sin(5000 * t), np.cos(5000 * t)], axis=1)
    axes = plots.plot_energy(make(systems["free"], q, v=q[:, :1] * np.array([[1.0, 0.0]]))).axes[0]
    assert len(axes.collections) == 1
    assert all(len(line.get_xdata()) <= 300 for line in axes.get_lines())


def test_windows_hold_the_extremes():
    t, y = np.linspace(0.0, 1.0, 1001), np.random.default_rng(1).random(1001)
    times, low, high = windows(t, y, 50)
    assert len(times) == len(low) == len(high) == 50
    assert (times[0], times[-1]) == (0.0, 1.0)
    assert np.min(low) == np.min(y)
    assert np.max(high) == np.max(y)


def test_convergence_figure(tmp_path):
    hs = np.array([0.1, 0.05, 0.025, 0.0125])
    path = tmp_path / "orders.png"
    figure = plots.plot_convergence(hs, {"q": hs**2, "p": np.array([1e-2, 1e-3, 0.0, np.nan])}, path, order=2)
    assert path.read_bytes().startswith(PNG)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert set(lines) == {"q", "p", "order 2"}
    assert len(lines["p"].get_xdata()) == 2


# -- points and bars -----------------------------------------------------------------------------------------


def test_points_are_guessed_from_consecutive_coordinates(make, systems):
    for n, dimension, count in ((2, 2, 1), (3, 3, 1), (4, 2, 2), (6, 2, 3), (9, 3, 3)):
        geometry = geometry_of(make(systems["free"], np.ones((4, n))))
        assert geometry is not None
        assert (geometry.dimension, geometry.count, geometry.bars) == (dimension, count, ())
    assert geometry_of(make(systems["free"], np.ones((4, 5)))) is None
    six = geometry_of(make(systems["free"], np.ones((4, 6))), dimension=3)
    assert six is not None
    assert six.count == 2


def test_dimension_that_does_not_divide(make, systems):
    with pytest.raises(da.InputError, match="4 coordinates are not points of dimension 3"):
        geometry_of(make(systems["free"], np.ones((4, 4))), dimension=3)
    with pytest.raises(da.InputError, match="dimension must be an integer between 2 and 3, got 4"):
        geometry_of(make(systems["free"], np.ones((4, 4))), dimension=4)


def test_chain_has_bars_from_the_origin(chain):
    geometry = geometry_of(chain)
    assert geometry is not None
    assert geometry.bars == ((None, 0), (0, 1))
    np.testing.assert_allclose(geometry.bar_ends(0), [[[0, 0], [0, -1]], [[0, -1], [0, -2]]], atol=1e-15)
    assert np.all(geometry.limits()[:, 0] < 0)


def test_system_says_where_its_points_are(make, systems):
    run = make(systems["drawn"], np.ones((4, 5)))
    geometry = geometry_of(run)
    assert geometry is not None
    assert geometry.points.shape == (4, 3, 3)
    np.testing.assert_array_equal(geometry.points[:, 2, 2], run.t)
    assert geometry.bar_ends(0).shape == (2, 2, 3)
    plots.plot_path(run).canvas.draw()


def test_points_of_the_wrong_shape(make, systems):
    class Flat(type(systems["free"])):
        def points(self, t, q):
            return q

    with pytest.raises(da.InputError, match=r"Flat.points\(t, q\) must return shape \(points, 2\) or .*, got \(2,\)"):
        plots.plot(make(Flat(), np.ones((4, 2))))


@pytest.mark.parametrize("bars", ["rope", ((0,),), 3, (("a", 1),)])
def test_bars_that_are_no_pairs(chain, bars):
    with pytest.raises(da.InputError, match='bars must be pairs of point numbers or "chain", got'):
        geometry_of(chain, bars=bars)


def test_bars_to_a_point_that_is_not_there(chain):
    with pytest.raises(da.InputError, match="bars join point 2, but there are only 2 points, 0 to 1"):
        geometry_of(chain, bars=((0, 2),))


def test_points_and_bars_of_a_system_made_from_functions():
    system = da.system(
        lambda t, q, v: 0.5 * v @ v, points=lambda t, q, arm: jnp.stack([q, arm * q]), bars=((0, 1),), arm=2.0
    )
    assert system.provides("points")
    assert system.parts == ()
    run = da.simulate(system, da.Rattle(), q0=[1.0, 0.0], v0=[0.0, 1.0], t=(0.0, 1.0), h=0.5)
    geometry = geometry_of(run)
    assert geometry is not None
    np.testing.assert_allclose(geometry.points[-1], [[1.0, 1.0], [2.0, 2.0]])
    assert geometry.bars == ((0, 1),)


def test_loaded_run_is_drawn_without_its_system(chain, tmp_path):
    loaded = da.load(chain.save(tmp_path / "run.nc"))
    figure = plots.plot(loaded)
    figure.canvas.draw()
    assert len(figure.axes) == 6
