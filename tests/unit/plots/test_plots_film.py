"""Films: gif always, mp4 where ffmpeg is; messages where there is nothing to show."""

import shutil

import numpy as np
import pytest
from PIL import Image

import dalembert as da
from dalembert.plots import animate
from dalembert.plots.film import _at
from dalembert.plots.geometry import geometry_of


def frames_of(path) -> list[np.ndarray]:
    with Image.open(path) as film:
        frames = []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("RGB")))
        return frames


def test_gif_of_a_planar_system(chain, tmp_path):
    path = animate(chain, tmp_path / "film.gif", fps=10, seconds=0.5, pixels=200)
    assert [file.name for file in tmp_path.iterdir()] == ["film.gif"]
    frames = frames_of(path)
    assert len(frames) == 5
    assert frames[0].shape[1] == 200
    assert all(tuple(frame[1, -2]) == (255, 255, 255) for frame in frames)
    assert not np.array_equal(frames[0], frames[-1])
    with Image.open(path) as film:
        assert film.info["duration"] == 100
        assert film.info["loop"] == 0


def test_gif_of_a_spatial_system(make, systems, tmp_path):
    t = np.linspace(0.0, 1.0, 30)
    run = make(systems["free"], np.stack([np.cos(t), np.sin(t), t], axis=1))
    frames = frames_of(animate(run, tmp_path / "film.gif", fps=10, seconds=0.3, pixels=200))
    assert len(frames) == 3
    assert not np.array_equal(frames[0], frames[-1])


def test_gif_with_the_systems_own_points(make, systems, tmp_path):
    run = make(systems["drawn"], np.cumsum(np.ones((20, 5)), axis=0))
    assert animate(run, tmp_path / "film.gif", fps=10, seconds=0.2, pixels=128).is_file()


def test_many_points(make, systems, circle_points, tmp_path):
    run = make(systems["chain"], circle_points(20, links=9))
    assert animate(run, str(tmp_path / "film.gif"), fps=5, seconds=0.4, pixels=128).is_file()


def test_length_of_the_film(make, systems, circle_points, tmp_path):
    for t_end, seconds in ((0.1, 2.0), (3.0, 3.0), (500.0, 12.0)):
        run = make(systems["chain"], circle_points(10), t_end=t_end)
        frames = frames_of(animate(run, tmp_path / "film.gif", fps=2, pixels=64))
        assert len(frames) == round(2 * seconds)


def test_run_of_one_state_is_a_still(make, systems, circle_points, tmp_path):
    run = make(systems["chain"], circle_points(1), ok=False)
    assert len(frames_of(animate(run, tmp_path / "film.gif", pixels=64))) == 1


def test_points_between_states_stay_on_the_circle(make, systems, circle_points):
    angle = np.linspace(0.0, 3.0, 30)
    velocity = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    run = make(systems["chain"], circle_points(30), v=velocity)
    between = _at(run, geometry_of(run), np.linspace(0.0, 2.0, 117))
    np.testing.assert_allclose(np.linalg.norm(between[:, 0], axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("n", [1, 5, 7])
def test_coordinates_that_are_no_points(make, systems, tmp_path, n):
    run = make(systems["free"], np.ones((4, n)))
    with pytest.raises(da.InputError, match=rf"cannot animate {n} coordinates: .*Define points\(t, q\)"):
        animate(run, tmp_path / "film.gif")


@pytest.mark.parametrize("name", ["film.avi", "film", "film.png"])
def test_unknown_ending(chain, tmp_path, name):
    with pytest.raises(da.InputError, match=r"cannot save a film to .*: expected a name ending in .gif, .mp4, got"):
        animate(chain, tmp_path / name)


def test_missing_folder(chain, tmp_path):
    with pytest.raises(da.InputError, match=r"the folder .*missing does not exist"):
        animate(chain, tmp_path / "missing" / "film.gif")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fps": 0}, "fps must be a positive number, got 0"),
        ({"fps": 100}, "a gif holds at most 50 frames a second, got fps=100"),
        ({"seconds": -1.0}, "seconds must be a positive number, got -1.0"),
        ({"trail": -1.0}, "trail must be a finite number >= 0, got -1.0"),
        ({"pixels": 10}, "pixels must be an integer between 64 and 4096, got 10"),
        ({"dimension": 5}, "dimension must be an integer between 2 and 3, got 5"),
    ],
)
def test_numbers_out_of_range(chain, tmp_path, options, message):
    with pytest.raises(da.InputError, match=message):
        animate(chain, tmp_path / "film.gif", **options)


def test_mp4_without_ffmpeg_says_to_use_gif(chain, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(da.InputError, match=r"ffmpeg is not installed. Save the film as .*film.gif instead"):
        animate(chain, tmp_path / "film.mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4(chain, tmp_path):
    path = animate(chain, tmp_path / "film.mp4", fps=10, seconds=0.5, pixels=201)
    assert path.read_bytes()[4:8] == b"ftyp"
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_ffmpeg_that_fails_is_quoted(chain, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho 'no such codec' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    with pytest.raises(da.InputError, match="ffmpeg could not write the film: no such codec"):
        animate(chain, tmp_path / "film.mp4", fps=5, seconds=0.4, pixels=64)
    assert not (tmp_path / "film.mp4").exists()
