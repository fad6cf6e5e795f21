"""Any quantity of a run against time, by name."""

import numpy as np
import pytest

import dalembert as da


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    system = da.gallery.Pendulum()
    start = system.start()
    return da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0, 1), h=0.05)


@pytest.fixture(scope="module")
def skate() -> da.Trajectory:
    system = da.gallery.Skate()
    start = system.start()
    return da.simulate(system, da.gauss_spark(1), start.q0, start.v0, t=(0, 1), h=0.05)


def test_a_panel_for_each_quantity_over_the_same_times(run):
    figure = run.plot("q", "v", "energy")
    panels = figure.axes
    assert len(panels) == 3
    np.testing.assert_array_equal(panels[2].lines[0].get_ydata(), run.energy)
    np.testing.assert_array_equal(panels[1].lines[1].get_ydata(), run.v[:, 1])
    assert [bool(panel.get_xlabel()) for panel in panels] == [False, False, True]
    assert panels[0].get_shared_x_axes().joined(panels[0], panels[2])


def test_every_quantity_can_be_drawn(run, skate):
    from dalembert.plots.quantities import known_quantities

    for one in (run, skate):
        names = known_quantities(one)
        assert {"q", "v", "p", "energy", "energy error", "constraint", "hidden"} <= set(names)
        assert len(one.plot(*names).axes) == len(names)
    assert "lam" in known_quantities(run)
    assert "psi" in known_quantities(skate)


@pytest.mark.parametrize("arguments", [("q", "a.png"), ("a.png", "q")])
def test_a_file_among_the_names_is_where_to_save(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    run.plot(*arguments)
    run.plot("q", path=tmp_path / "b.png")
    run.plot(tmp_path / "c.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png", "c.pdf"]


def test_another_name_is_refused_with_the_nearest(run):
    with pytest.raises(da.InputError, match=r"this run has no quantity 'enrgy'; it has q, .*Did you mean 'energy'\?"):
        run.plot("enrgy")
    with pytest.raises(da.InputError, match="plot expects names of quantities and one path"):
        run.plot("q", "a.png", path="b.png")


def test_nonholonomic_runs_show_residuals_and_multipliers(skate):
    labels = [axes.get_ylabel() for axes in skate.plot().axes]
    assert "residual" in labels
    assert any("psi" in label for label in labels)
    assert len(da.plots.plot_constraints(skate).axes) == 1


def test_coordinates_that_nobody_calls_points_are_curves():
    class Two(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - 0.5 * q @ q

    run = da.simulate(Two(), da.Rattle(), [1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0], t=(0, 1), h=0.1)
    assert run.plot().axes[0].get_ylabel() == "$q_i$"
    assert run.plot(dimension=2).axes[0].get_ylabel() == "$y$"


def test_work_precision_is_drawn_as_it_comes(tmp_path):
    system = da.gallery.HarmonicOscillator()
    start = system.start()
    found = da.work_precision(system, [da.Rattle(), da.Galerkin(2)], start.q0, start.v0, (0, 1), [0.1, 0.05])
    figure = da.plots.plot_work_precision(found, tmp_path / "work.png")
    assert [line.get_label() for line in figure.axes[0].lines] == ["Rattle()", "Galerkin(2)"]
    assert (tmp_path / "work.png").exists()
