"""From a request to runs: parameters, start, method and step size are checked, then `simulate` does the work."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import DalembertError, InputError
from ..method import METHODS, Method
from ..plots.geometry import corners_at, points_at
from ..problem import AbstractSystem, prepared
from ..simulation import simulate
from ..stepping import consistent
from ..trajectory import Trajectory
from .exhibit import Exhibit, Launch, fits, fitting_methods, with_parameters
from .messages import MOST_STEPS, Drag, RunRequest

#: Saved states: more are thinned out by `save_every`, so that memory and pictures stay small.
MOST_STATES = 20_000
MOST_NUMBERS = 20_000_000
#: Steps of Gauss and Newton for a dragged point.
DRAG_STEPS = 20

Report = Callable[[float], None]


@dataclass(frozen=True)
class Call:
    """The arguments of `simulate`: what a script needs to repeat a run bit for bit."""

    exhibit: Exhibit
    system: AbstractSystem
    parameters: dict[str, float]
    method_name: str
    method: Method
    launch: Launch
    steps: int
    save_every: int
    project: bool

    @property
    def t(self) -> tuple[float, float]:
        """The interval, a whole number of steps long."""
        return self.launch.t0, self.launch.t0 + self.steps * self.launch.h


@dataclass(frozen=True)
class Computed:
    """What a request has led to.

    Attributes:
        request: what was asked.
        call: the arguments of the run; None for a run from a file.
        run: the run.
        beside: a run with another method, and its name.
        fan: runs from neighbouring starts.
        remark: what kept a part of the request from being fulfilled.
    """

    request: RunRequest
    call: Call | None
    run: Trajectory
    beside: Trajectory | None = None
    fan: tuple[Trajectory, ...] = field(default=())
    remark: str = ""


def nothing_to_report(taken: float) -> None:
    """For runs that nobody waits for."""


def compute(exhibit: Exhibit, request: RunRequest, report: Report = nothing_to_report) -> Computed:
    """The runs of a request. `report` is called between chunks of steps; what it raises ends the work."""
    if exhibit.system is None or exhibit.run is not None:
        assert exhibit.run is not None
        return Computed(request, None, exhibit.run)
    call = call_of(exhibit, request)
    run = run_of(call, report)
    beside, remark = None, ""
    if request.beside is not None:
        try:
            beside = run_of(with_method(call, request.beside), report)
        except DalembertError as reason:
            remark = f"{request.beside}: {reason}"
    return Computed(request, call, run, beside, tuple(_fan(call, request, report)), remark)


def run_of(call: Call, report: Report = nothing_to_report) -> Trajectory:
    """The run of a call; a step that fails ends it, and its status says why."""
    launch = call.launch
    return simulate(
        call.system, call.method, launch.q0, launch.v0, t=call.t, h=launch.h, save_every=call.save_every,
        project=call.project, on_failure="return", progress=report,
    )  # fmt: skip


def call_of(exhibit: Exhibit, request: RunRequest) -> Call:
    """The arguments of the run that a request means."""
    assert exhibit.system is not None
    system = with_parameters(exhibit.system, request.parameters)
    prepared(system)  # names a parameter that is not finite
    launch = exhibit.start(system)
    project = exhibit.launch is not None or request.q0 is not None
    if request.q0 is not None and request.v0 is not None:
        if not len(request.q0) == len(request.v0) == len(launch.q0):
            raise InputError(
                f"q0 and v0 must have {len(launch.q0)} coordinates, got {len(request.q0)} and {len(request.v0)}."
            )
        launch = dataclasses.replace(launch, q0=np.array(request.q0), v0=np.array(request.v0))
    if request.drag is not None:
        q0 = dragged(system, launch, request.drag)
        launch, project = dataclasses.replace(launch, q0=q0), True
    launch = dataclasses.replace(
        launch, h=request.h or launch.h, t_end=launch.t_end if request.t_end is None else request.t_end
    )
    if launch.t_end <= launch.t0:
        raise InputError(f"the end must lie after the start at t = {launch.t0:g}, got {launch.t_end:g}.")
    steps = max(1, round((launch.t_end - launch.t0) / launch.h))
    if steps > MOST_STEPS:
        raise InputError(f"{steps:,} steps are more than the studio takes at once ({MOST_STEPS:,}): make h larger.")
    states = max(2, min(MOST_STATES, MOST_NUMBERS // len(launch.q0)))
    call = Call(
        exhibit, system, request.parameters, "", method_for(system, request.method), launch, steps,
        -(-steps // states), project,
    )  # fmt: skip
    return dataclasses.replace(call, method_name=request.method)


def with_method(call: Call, name: str) -> Call:
    """The same call with another method."""
    return dataclasses.replace(call, method_name=name, method=method_for(call.system, name))


def method_for(system: AbstractSystem, name: str) -> Method:
    """A method by its name, that fits the system."""
    if name in METHODS and fits(system, METHODS[name].method):
        return METHODS[name].method
    fitting = ", ".join(fitting_methods(system))
    raise InputError(f"no method {name!r} for {type(system).__name__}; expected one of: {fitting}.")


def _fan(call: Call, request: RunRequest, report: Report):
    """Runs from starts at the wanted distance in directions that are the same at every call."""
    if request.neighbours is None:
        return
    directions = np.random.default_rng(1).standard_normal((request.neighbours.count, len(call.launch.q0)))
    for direction in directions:
        q0 = call.launch.q0 + request.neighbours.distance * direction / np.linalg.norm(direction)
        yield run_of(dataclasses.replace(call, launch=dataclasses.replace(call.launch, q0=q0), project=True), report)


# -- points, and the start that is dragged -------------------------------------------------------------------------


def has_points(system: AbstractSystem | None) -> bool:
    """Whether a system says where its points are: by `points`, or by bars between places that are its coordinates."""
    return system is not None and (system.provides("points") or bool(system.bars) or _is_placed(system))


def _is_placed(system: AbstractSystem) -> bool:
    """Systems of the gallery without `points` have places in the plane or in space as coordinates."""
    return type(system).__module__.startswith("dalembert.gallery.") and not system.provides("points")


def places_in(system: Any, t, q) -> Any:
    """The points of one state, (points, 2 or 3), as an expression of JAX."""
    return system.points(t, q) if system.provides("points") else jnp.reshape(q, (-1, 2 if len(q) % 2 == 0 else 3))


def corners_of(system: AbstractSystem, t, q) -> np.ndarray | None:
    """The corners of the bodies' outlines at many states, (N, corners, 2 or 3); None where there are none."""
    return corners_at(prepared(system), t, q) if system.provides("outline") else None


def points_of(system: AbstractSystem, t, q) -> np.ndarray:
    """The points of many states, (N, points, 2 or 3)."""
    if system.provides("points"):
        return points_at(prepared(system), t, q)
    q = np.asarray(q, dtype=float)
    size = 2 if q.shape[1] % 2 == 0 else 3
    if q.shape[1] % size:
        raise InputError(f"{q.shape[1]} coordinates are no points; define points(t, q) in the system.")
    return q.reshape(len(q), -1, size)


@eqx.filter_jit
def _point_and_slope(system: Any, t, q, k):
    def place(q):
        return system.points(t, q)[k]

    return place(q), jax.jacfwd(place)(q)


def dragged(system: AbstractSystem, launch: Launch, drag: Drag) -> np.ndarray:
    """The position on the constraints in which a point is near a place.

    Gauss and Newton for |x_k(q) - a|^2 with small steps, each followed by the projection onto the constraints in the
    mass metric; the search ends where the point comes no nearer.
    """
    target, q = np.array(drag.to), np.array(launch.q0, dtype=float)
    slope = functools.partial(_place_and_slope, system, launch.t0, drag.point)
    place, jacobian = slope(q)
    if len(place) != len(target):
        raise InputError(f"the points of {type(system).__name__} have {len(place)} coordinates, got {len(target)}.")
    best, distance, share = q, np.linalg.norm(place - target), 1.0
    for _ in range(DRAG_STEPS):
        trial = best + share * np.linalg.pinv(jacobian, rcond=1e-9) @ (target - place)
        try:
            trial = np.asarray(consistent(system, trial, launch.v0, launch.t0).q)
        except DalembertError:
            share *= 0.5
            continue
        found, slopes = slope(trial)
        now = np.linalg.norm(found - target)
        if now < distance:
            gained = distance - now
            best, distance, place, jacobian = trial, now, found, slopes
            if gained < 1e-3 * max(distance, 1e-9):
                break
        else:
            share *= 0.5
            if share < 0.1:
                break
    return best


def _place_and_slope(system: AbstractSystem, t: float, k: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = points_of(system, np.array([t]), q[None])[0]
    if k >= len(places):
        raise InputError(f"there is no point {k}: {type(system).__name__} has {len(places)} of them.")
    if system.provides("points"):
        place, slope = _point_and_slope(prepared(system), jnp.asarray(t), jnp.asarray(q), k)
        return np.asarray(place), np.asarray(slope)
    size = places.shape[1]
    return places[k], np.eye(len(q))[size * k : size * (k + 1)]
