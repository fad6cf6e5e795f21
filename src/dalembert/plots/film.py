"""Films of planar and spatial point systems: gif by pillow, mp4 by ffmpeg where it is installed."""

from __future__ import annotations

import base64
import contextlib
import html
import itertools
import pathlib
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy

from ..arguments import count, number, positive
from ..errors import InputError
from ..trajectory import Trajectory, check_single
from .arrows import ForcesInTime, wanted_forces
from .bodies import Bodies, bodies_of, colour_of
from .figures import frame_axes, frame_bodies, frame_space
from .geometry import Geometry, geometry_of, has_own_points
from .series import MOST_NAMED, family_colors
from .style import GREY, checked_target, new_figure, style, write_atomically

FILM_TYPES = (".gif", ".mp4")
#: Seconds a film lasts if nothing else is asked for: as long as the motion, within these bounds.
SHORTEST, LONGEST = 2.0, 12.0
#: Browsers play a gif with less than 20 ms a frame slower, not faster.
MOST_GIF_FRAMES = 50
#: Frames of a whole film: more are hours of work, and were hardly meant.
MOST_FRAMES = 100_000
TRAIL_PIECES = 60
#: A film goes with bodies that travel more than so many of their own sizes.
FAR = 1.5


class Film(type(pathlib.Path())):
    """The path of a film; at the end of a cell a notebook shows the film itself."""

    def _repr_html_(self) -> str | None:
        if not self.is_file():
            return None
        data = base64.b64encode(self.read_bytes()).decode("ascii")
        if self.suffix.lower() == ".gif":
            return f'<img alt="{html.escape(self.name)}" src="data:image/gif;base64,{data}">'
        return f'<video controls loop style="max-width:100%" src="data:video/mp4;base64,{data}"></video>'


def animate(
    run,
    path,
    fps: float = 30,
    *,
    seconds: float | None = None,
    trail: float | None = None,
    dimension: int | None = None,
    bars=None,
    pixels: int = 600,
    forces: str = "contacts",
) -> Film:
    """Write a film of the moving points, with a fading trail, and return its path, as which a notebook shows the film.

    Args:
        run: a `Trajectory`.
        path: a name ending in .gif, or in .mp4 if ffmpeg is installed.
        fps: frames a second.
        seconds: how long the film lasts; as long as the motion by default, but 2 to 12 s.
        trail: how much time of the motion the trail shows; an eighth by default, at most 1.5 s of the film.
        dimension: 2 or 3: consecutive coordinates that make a point, where the system defines no `points`.
        bars: pairs of point numbers to be joined, or "chain"; the system's own by default.
        pixels: the width of the picture.
        forces: "contacts", "reactions" of constraints, "all" or "none": red arrows at the points that are pushed,
            violet ones for constraints, rods between spheres. Not drawn at points that are not the system's own.

    Many arguments: what is optional about a film, each by its name.
    """
    check_single(run, "animate")
    wanted = wanted_forces(forces)
    target = checked_target(path, FILM_TYPES, "a film")
    _check_numbers(fps, seconds, trail, pixels, target)
    ffmpeg = _ffmpeg(target)
    geometry = geometry_of(run, dimension, bars)
    if geometry is None:
        raise InputError(
            f"cannot animate {run.q.shape[1]} coordinates: they do not divide into points. "
            "Define points(t, q) in the system; run.plot() shows the coordinates over time."
        )
    t = np.asarray(run.t)
    span = abs(float(t[-1] - t[0]))
    if seconds is None:
        seconds = min(max(span, SHORTEST), LONGEST)
    if trail is None:
        trail = min(span / 8, 1.5 * span / seconds)
    frames = max(1, round(seconds * fps)) if span > 0 else 1
    times = np.linspace(t[0], t[-1], frames)
    if not has_own_points(run, dimension):
        wanted = wanted_forces("none")
    shot = _Shot(run, geometry, times, trail, ForcesInTime(run, geometry, times, wanted))
    for remark in shot.forces.remarks:
        warnings.warn(remark, stacklevel=2)
    with style():
        pictures = _pictures(shot, range(frames), pixels)
        if ffmpeg is None:
            sample = next(_pictures(shot, [shot.forces.fullest], pixels))
            write_atomically(target, lambda part: _write_gif(part, pictures, sample, fps))
        else:
            write_atomically(target, lambda part: _write_mp4(part, pictures, fps, ffmpeg))
    return Film(target)


def _check_numbers(fps, seconds, trail, pixels, target: pathlib.Path) -> None:
    positive("fps", fps)
    if seconds is not None:
        positive("seconds", seconds)
    if trail is not None:
        number("trail", trail, 0.0)
    if target.suffix.lower() == ".gif" and fps > MOST_GIF_FRAMES:
        raise InputError(f"a gif holds at most {MOST_GIF_FRAMES} frames a second, got fps={fps!r}.")
    count("pixels", pixels, 64, 4096)
    if seconds is not None and seconds * fps > MOST_FRAMES:
        raise InputError(f"a film has at most {MOST_FRAMES} frames, got seconds={seconds!r} at fps={fps!r}.")


def _ffmpeg(target: pathlib.Path) -> str | None:
    """The program that writes an mp4, or None for a gif."""
    if target.suffix.lower() == ".gif":
        return None
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError(
            f"cannot write {target}: ffmpeg is not installed. Save the film as {target.with_suffix('.gif')} "
            "instead, or install ffmpeg."
        )
    return program


# -- pictures ------------------------------------------------------------------------------------------------


def _at(run, geometry: Geometry, times: np.ndarray) -> np.ndarray:
    """The points at any times: interpolated with the velocity where points are coordinates, else linearly."""
    ascending = slice(None) if run.t[-1] >= run.t[0] else slice(None, None, -1)
    t, q, v = (np.asarray(part)[ascending] for part in (run.t, run.q, run.v))
    if len(t) == 1:
        return np.repeat(geometry.points, len(times), axis=0)
    if geometry.points.size == q.size and np.shares_memory(geometry.points, q):
        if np.size(run.impulse):  # velocities jump: no cubic fits
            return _linear(t, q, times).reshape(len(times), *geometry.points.shape[1:])
        return scipy.interpolate.CubicHermiteSpline(t, q, v)(times).reshape(len(times), *geometry.points.shape[1:])
    flat = geometry.points[ascending].reshape(len(t), -1)
    return _linear(t, flat, times).reshape(len(times), *geometry.points.shape[1:])


def _linear(t: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rows between the rows of `values`."""
    right = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    weight = ((times - t[right - 1]) / (t[right] - t[right - 1]))[:, None]
    return (1 - weight) * values[right - 1] + weight * values[right]


class _Shot(NamedTuple):
    """What a film shows: a run at times, trails over some time before, and forces."""

    run: Trajectory
    geometry: Geometry
    times: np.ndarray
    trail: float
    forces: ForcesInTime


def _pictures(shot: _Shot, frames: Iterable[int], pixels: int) -> Iterator[np.ndarray]:
    """The frames, (height, width, 3); what does not move is drawn once; trails reach back to the first time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from .arrow_artist import add_arrows

    run, geometry, times, trail, forces = shot
    spatial, bodies = geometry.dimension == 3, bodies_of(run)
    sides = np.ptp(geometry.limits(), axis=1)
    height = pixels * (0.9 if spatial else float(np.clip(sides[1] / sides[0] + 0.12, 0.5, 1.3)))
    dpi = pixels / 6.0
    # video codecs want even numbers
    figure = new_figure(2 * round(pixels / 2) / dpi, 2 * round(height / 2) / dpi, "off screen")
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot(projection="3d" if spatial else None)
    if bodies is not None:
        frame_bodies(axes, bodies)
        moving = _MovingBodies(axes, bodies)
    else:
        frame_axes(axes, geometry, zoom=0.9)
        moving = _MovingPoints(axes, run, geometry)
    arrows = add_arrows(axes)
    label = axes.set_title("$t$ = 0", loc="left", fontsize=16)
    artists = [*moving.artists, arrows, label]
    for artist in artists:
        artist.set_animated(True)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    digits = _digits(times)
    for frame in frames:
        time = times[frame]
        back = min(trail, abs(time - times[0]))
        pieces = np.linspace(time - back if run.t[-1] >= run.t[0] else time + back, time, TRAIL_PIECES + 1)
        moving.update(pieces)
        arrows.show(forces.at(frame, _at(run, geometry, pieces[-1:])[0]))
        label.set_text(f"$t$ = {time:.{digits}f}")
        if moving.follows:
            canvas.draw()
            background = canvas.copy_from_bbox(figure.bbox)
        canvas.restore_region(background)
        for artist in artists:
            figure.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _digits(times: np.ndarray) -> int:
    """Decimals that tell one frame from the next, at least one."""
    if len(times) < 2:
        return 2
    return int(np.clip(np.ceil(-np.log10(abs(times[1] - times[0]))), 1, 9))


class _Trails:
    """Paths of points in the last moments, fading."""

    def __init__(self, axes, colors, dimension: int) -> None:
        from matplotlib.collections import LineCollection
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        collection = Line3DCollection if dimension == 3 else LineCollection
        # with many points only the last one leaves a trail
        trailing = range(len(colors)) if len(colors) <= MOST_NAMED else [len(colors) - 1]
        fading = np.linspace(0.0, 0.75, TRAIL_PIECES) ** 1.5
        empty = np.zeros((TRAIL_PIECES, 2, dimension))
        self._lines = {}
        for k in trailing:
            lines = collection(list(empty), linewidths=2.0, zorder=3)
            lines.set_color([(*_rgb(colors[k]), alpha) for alpha in fading])
            self._lines[k] = axes.add_collection(lines)

    @property
    def artists(self) -> list:
        return list(self._lines.values())

    def update(self, recent: np.ndarray) -> None:
        """`recent`: the points over the time of the trail, (pieces + 1, points, dimension)."""
        for k, lines in self._lines.items():
            lines.set_segments(np.stack([recent[:-1, k], recent[1:, k]], axis=1))
            if recent.shape[2] == 3:
                lines.do_3d_projection()  # which the axes would do if all of them were drawn anew


class _MovingBodies:
    """The artists of bodies: their surfaces, and trails of their centres of mass."""

    def __init__(self, axes, bodies: Bodies) -> None:
        from .rendering import Surfaces

        self._axes, self._bodies, self._surfaces = axes, bodies, Surfaces(axes)
        #: Whether the picture goes with the model, which would be small in a picture of its whole way.
        self.follows = bodies.travel > FAR
        self._trails = _Trails(axes, [colour_of(k) for k in range(bodies.centres.shape[1])], 3)

    @property
    def artists(self) -> list:
        return [self._surfaces, *self._trails.artists]

    def update(self, times: np.ndarray) -> None:
        """Draw the last of some times, with a trail over all of them."""
        poses = self._bodies.at(times)
        last = len(times) - 1
        limits = self._bodies.around(poses, last) if self.follows else self._bodies.limits
        self._surfaces.surface = self._bodies.surface(poses, last, limits)
        if self.follows:
            frame_space(self._axes, limits)
        self._trails.update(poses.x[:, :-1])


class _MovingPoints:
    """The artists of points: trails, bars, dots."""

    follows = False

    def __init__(self, axes, run, geometry: Geometry) -> None:
        self._run, self._geometry = run, geometry
        colors = family_colors(geometry.count)
        self._trails = _Trails(axes, colors, geometry.dimension)
        nothing = [[0.0]] * geometry.dimension
        self._bars = [axes.plot(*nothing, color="#30363B", linewidth=2.2, zorder=4)[0] for _ in geometry.bars]
        size = 9 if geometry.count <= MOST_NAMED else 5
        self._dots = [
            axes.plot(*nothing, "o", color=color, markeredgecolor="white", markersize=size, zorder=5)[0]
            for color in colors
        ]
        at_origin = any(end is None for bar in geometry.bars for end in bar)
        self._fixed = axes.plot(*nothing, "s", color=GREY, markersize=7, zorder=5) if at_origin else []

    @property
    def artists(self) -> list:
        return [*self._trails.artists, *self._bars, *self._fixed, *self._dots]

    def update(self, times: np.ndarray) -> None:
        """Draw the last of some times, with a trail over all of them."""
        recent = _at(self._run, self._geometry, times)
        self._trails.update(recent)
        now = Geometry(recent[-1:], self._geometry.bars, self._geometry.labels)
        for line, ends in zip(self._bars, now.bar_ends(0), strict=True):
            _place(line, ends)
        for line, point in zip(self._dots, recent[-1], strict=True):
            _place(line, point[None])


def _place(line, places: np.ndarray) -> None:
    if places.shape[1] == 3:
        line.set_data_3d(*places.T)
    else:
        line.set_data(*places.T)


def _rgb(color) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(color)


# -- files ---------------------------------------------------------------------------------------------------


def _write_gif(part: pathlib.Path, pictures: Iterator[np.ndarray], sample: np.ndarray, fps: float) -> None:
    from PIL import Image

    # one palette for all frames, from a picture with everything in it: flat colours, no flicker, small files
    palette = Image.fromarray(sample).quantize(colors=256, method=Image.Quantize.MEDIANCUT)
    entries = np.array(palette.getpalette()).reshape(-1, 3)
    entries[np.min(entries, axis=1) > 240] = 255  # white paper stays white
    palette.putpalette(entries.ravel().tolist())
    frames = (Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    milliseconds = max(20, round(100 / fps) * 10)  # a gif counts in hundredths of a second
    next(frames).save(
        part, format="GIF", save_all=True, append_images=frames, duration=milliseconds, loop=0, optimize=False
    )


def _write_mp4(part: pathlib.Path, pictures: Iterator[np.ndarray], fps: float, ffmpeg: str) -> None:
    first = next(pictures)
    height, width = first.shape[:2]
    command = [
        ffmpeg, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", f"{fps:g}", "-i", "-", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(part),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its own message is in the log
            for picture in itertools.chain([first], pictures):
                process.stdin.write(picture.tobytes())
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        if process.wait() != 0:
            log.seek(0)
            reason = log.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise InputError(f"ffmpeg could not write the film: {reason[-1]}")
