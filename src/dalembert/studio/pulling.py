"""A run in real time, in which a point is drawn towards the pointer.

The pull is a spring between a point x_k(q) of the system and a place a, with critical damping of what it moves::

    F(q, v) = sum_k w_k x_k,q^T (kappa (a - x_k) - c x_k,q v)

w_k is 1 for the point that is held and 0 for the others; nothing is held where all are 0. F is added to the forces of
the system, so that every method treats it like any other force. w, a, kappa and c are inputs of the system: what is
compiled once serves all points and places.

The spring follows the hand with the rate omega::

    kappa = m omega^2,  c = 2 m omega,  1 / m = the largest eigenvalue of x_k,q M^-1 x_k,q^T

m is what the point weighs for the hand where it is lightest, without the constraints, and omega is small against 1 / h.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import DalembertError, InputError
from ..method import Method
from ..problem import AbstractSystem, HamiltonianSystem, Input, System, prepared
from ..simulation import Stepper
from .computing import corners_of, places_in, points_of
from .messages import PullRequest

#: The hand is followed within about 1 / FOLLOWING seconds, in steps that resolve it.
FOLLOWING, RESOLVED = 12.0, 0.3
#: Pictures in a second, and the longest time that one of them catches up with.
PICTURES, LONGEST_GAP = 60.0, 0.1
#: Seconds after which a run that nobody touches ends.
PATIENCE = 600.0


class Place(NamedTuple):
    """Where a live run begins."""

    t: float
    q: np.ndarray
    v: np.ndarray


class Picture(NamedTuple):
    """What is shown of a moment: the points, (points, 2 or 3), the energy, and the corners of bodies' outlines."""

    t: float
    points: np.ndarray
    energy: float
    corners: np.ndarray | None = None


@functools.cache
def _pulled_kind(kind: type, points: int, dimension: int) -> type:
    """The class with one more force, whose inputs are the weights, the place, kappa and c."""

    def force(self, t, q, v, u):
        weights, place, (kappa, c) = u[:points], u[points : points + dimension], u[points + dimension :]
        x, rate = jax.jvp(lambda q: places_in(self, t, q), (q,), (v,))
        _, back = jax.vjp(lambda q: places_in(self, t, q), q)
        (pull,) = back(weights[:, None] * (kappa * (place - x) - c * rate))
        return kind.force(self, t, q, v) + pull if kind.provides("force") else pull  # pyright: ignore

    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__annotations__": {"inputs": ClassVar}}
    made: Any = type(kind)(
        kind.__name__, (kind,), {**names, "force": force, "inputs": {"pull": Input(points + dimension + 2)}}
    )
    return made


def pulled(system: AbstractSystem, points: int, dimension: int) -> AbstractSystem:
    """The system with a pull at one of its points as its input; inputs of its own are zero."""
    if not isinstance(system, System | HamiltonianSystem):
        raise InputError(f"{type(system).__name__} has no forces that a pull could be added to.")
    found = object.__new__(_pulled_kind(type(system), points, dimension))
    for name, value in vars(system).items():
        object.__setattr__(found, name, value)
    return found


@eqx.filter_jit
def _lightness(system: Any, t, q, v, k):
    """x_k,q M^-1 x_k,q^T."""
    slope = jax.jacfwd(lambda q: places_in(system, t, q)[k])(q)
    if system.gives_velocity:
        inverse = jax.hessian(system.hamiltonian, argnums=2)(t, q, v)
        return slope @ inverse @ slope.T
    mass = jax.hessian(system.lagrangian, argnums=2)(t, q, v)
    return slope @ jnp.linalg.pinv(mass, rtol=1e-10, hermitian=True) @ slope.T


@eqx.filter_jit
def _energy(system: Any, t, q, v, p):
    return system.hamiltonian(t, q, p) if system.gives_velocity else p @ v - system.lagrangian(t, q, v)


class Hand:
    """A system in motion, and the place to which one of its points is drawn."""

    def __init__(self, system: AbstractSystem, method: Method, h: float, place: Place) -> None:
        first = points_of(system, np.array([place.t]), place.q[None])[0]
        self._system, self._h = prepared(system), h
        self._count, self._dimension = first.shape
        self._stepper = Stepper(pulled(system, *first.shape), method, h, place.q, place.v, t0=place.t, project=True)

    @property
    def step_size(self) -> float:
        """The size of its steps."""
        return self._h

    def hold(self, point: int | None, to: tuple[float, ...]) -> None:
        """Draw this point towards a place, or let go."""
        u = np.zeros(self._count + self._dimension + 2)
        if point is not None:
            if point >= self._count:
                raise InputError(f"there is no point {point}: {type(self._system).__name__} has {self._count} of them.")
            if len(to) != self._dimension:
                raise InputError(f"the points have {self._dimension} coordinates, got {len(to)}.")
            state = self._stepper.state
            light = np.asarray(_lightness(self._system, state.t, state.q, state.v, point))
            lightest = float(np.max(np.linalg.eigvalsh(light)))
            if not 0 < lightest < np.inf:
                raise InputError(f"point {point} does not move with the coordinates: nothing can be pulled there.")
            omega = min(FOLLOWING, RESOLVED / self._h)
            u[point] = 1.0
            u[self._count :] = *to, omega**2 / lightest, 2 * omega / lightest
        self._stepper.step(u, 1)

    def go_on(self, steps: int) -> None:
        """Take steps with the place as it is."""
        if steps:
            self._stepper.step(steps=steps)

    def picture(self) -> Picture:
        """What there is to see now."""
        state = self._stepper.state
        t, q = np.array([state.t]), state.q[None]
        corners = corners_of(self._system, t, q)
        energy = float(_energy(self._system, state.t, state.q, state.v, state.p))
        points = points_of(self._system, t, q)[0]
        return Picture(state.t, points, energy, None if corners is None else corners[0])


class LiveRun:
    """A hand's motion against the clock, in a thread of its own; pictures go to `show`, a failure ends it and is told
    to `tell`."""

    def __init__(self, show, tell, speed: float = 1.0) -> None:
        self._show, self._tell, self._speed = show, tell, speed
        self._change = threading.Condition()
        self._wanted: PullRequest | None = None
        self._ended = False
        self._thread: threading.Thread | None = None

    def want(self, request: PullRequest) -> None:
        """Hold another place, or let go, from the next picture on."""
        with self._change:
            self._wanted, self._ended = request, self._ended or request.stop
            self._change.notify_all()

    def end(self) -> None:
        """No picture is sent after the next one."""
        with self._change:
            self._ended = True
            self._change.notify_all()

    @property
    def ended(self) -> bool:
        """Whether it has ended, or has been told to."""
        return self._ended

    def begin(self, hand: Hand) -> None:
        """Go on with this hand until the end."""
        self._thread = threading.Thread(target=self._work, args=(hand,), name="dalembert studio, live", daemon=True)
        self._thread.start()

    def _work(self, hand: Hand) -> None:
        try:
            self._follow(hand)
        except DalembertError as reason:
            self._tell(str(reason))
        finally:
            self._ended = True

    def _follow(self, hand: Hand) -> None:
        before = touched = time.monotonic()
        owed = 0.0  # time of the motion that the clock is ahead
        while not self._ended:
            with self._change:
                self._change.wait(1 / PICTURES if self._wanted is None else 0.0)
                request, self._wanted = self._wanted, None
            if self._ended:
                return
            now = time.monotonic()
            owed += self._speed * min(now - before, LONGEST_GAP)
            before = now
            if request is not None:
                touched = now
                hand.hold(request.point, request.to)
                owed -= hand.step_size
            elif now - touched > PATIENCE:
                raise InputError(f"nothing was pulled for {PATIENCE:g} seconds: the live run has ended.")
            steps = max(0, int(owed / hand.step_size))
            hand.go_on(steps)
            owed -= steps * hand.step_size
            self._show(hand.picture())
            if request is not None:  # a hand that moves asks more often than pictures are needed
                time.sleep(1 / PICTURES)
