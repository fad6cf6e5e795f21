"""What notebooks see, with a kernel that is only imitated: figures once, films, a bar without ipywidgets."""

import importlib.util
import sys
import types

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as da
from dalembert import notebook
from dalembert.plots import animate
from dalembert.studio.exhibit import about


@pytest.fixture
def shown(monkeypatch) -> list[dict]:
    """What a kernel is asked to display."""
    data: list[dict] = []
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.SimpleNamespace(display=lambda given, raw: data.append(given))
    monkeypatch.setitem(sys.modules, "IPython", module)
    return data


@pytest.fixture
def run():
    return da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0, 0.1), h=0.01)


def test_without_a_kernel_figures_are_those_of_pyplot(run):
    assert not notebook.in_notebook()
    figure = run.plot("energy")
    assert not hasattr(figure, "_ipython_display_")
    plt.close(figure)


def test_a_figure_is_shown_once_in_its_cell_and_again_when_asked_for(run, shown):
    figure = run.plot("energy")
    figure._ipython_display_()  # as the last line of the cell
    figure._ipython_display_()  # as all open figures, at the end of the cell
    assert [set(data) for data in shown] == [{"image/png", "text/plain"}]
    plt.close(figure)
    figure._ipython_display_()  # in a later cell
    assert len(shown) == 2


def test_backends_with_widgets_show_their_figures_themselves(run, shown, monkeypatch):
    monkeypatch.setattr(plt, "get_backend", lambda: "module://ipympl.backend_nbagg_widget")
    figure = run.plot("energy")
    figure._ipython_display_()
    assert shown == []
    plt.close(figure)


def test_a_film_is_a_path_that_shows_itself(run, tmp_path):
    film = animate(run, tmp_path / "film.gif", fps=4, seconds=0.5, pixels=64)
    assert film == tmp_path / "film.gif"
    assert film._repr_html_().startswith('<img alt="film.gif" src="data:image/gif;base64,R0lGOD')
    film.unlink()
    assert film._repr_html_() is None


def test_a_bar_without_ipywidgets(shown, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "ipywidgets" else find(name, *a))
    assert notebook.needs_text_bar()
    da.simulate(da.gallery.Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0, 1), h=0.01, progress=True)
    lines = capsys.readouterr().out.split("\r")
    assert lines[1].startswith("simulate .............................. 0/100 steps")
    assert lines[-1].startswith(f"simulate {'#' * 30} 100/100 steps")
    assert lines[-1].endswith("\n")


def test_a_bar_of_a_sweep_without_ipywidgets(shown, monkeypatch, capsys, tmp_path):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "ipywidgets" else find(name, *a))
    grid = {"gravity": np.array([1.0, 2.0])}
    arguments = {"t": (0, 0.1), "h": 0.01, "executor": "here", "piece": 1, "progress": True}
    da.sweep(da.gallery.Pendulum(), da.Rattle(), grid, tmp_path / "sweep.zarr", **arguments)
    assert "2/2 pieces" in capsys.readouterr().out


@pytest.mark.parametrize("method", [entry.method for entry in da.CATALOGUE.values()], ids=lambda method: method.name)
def test_no_card_ends_in_colons(method):
    assert "::" not in method._repr_html_()


def test_no_card_of_a_system_ends_in_colons():
    for kind in da.gallery.SYSTEMS.values():
        assert "::" not in kind()._repr_html_(), kind
        assert "::" not in about(kind), kind
