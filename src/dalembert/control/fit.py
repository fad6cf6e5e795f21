"""`fit`: parameters, starts and biases from measured motions.

With the outputs y_i of a run at the times of the measurements, the deviations sigma_i of their noise and unknowns z
(parameters, starts, biases), the sum of r_i^2 is minimised, r_i = (measured_i - y_i(z)) / sigma_i, by Levenberg's and
Marquardt's method, with J = dr/dz from the derivatives of the steps::

    (J^T J + mu D) dz = -J^T r,      D = diag(J^T J)

At the minimum the covariance of z is (J^T J)^-1; without noise given, times |r|^2 / (measurements - unknowns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from scipy.linalg import block_diag

from ..arguments import count, floats, positive, shown
from ..errors import DalembertError, InputError, StepFailure
from ..later import Later
from ..method import Method
from ..problem import AbstractSystem, holding, is_parameter, prepared, undriven
from ..stepping import parameter_places
from ..trajectory import Trajectory
from .measured import Measured, Motion

#: The iteration ends where the sum of squares can fall by no more than this part of it.
LAST_DESCENT = 1e-12
#: Singular values of the scaled Jacobian below this part of the largest: the measurements do not tell the direction.
UNIDENTIFIABLE = 1e-7
#: A column of the Jacobian below this part of the largest: the measurements do not depend on the unknown.
UNSEEN = 1e-13
MOST_DAMPING = 1e12


@dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes:
        parameters: the values by name.
        deviations: their standard deviations by name.
        covariance: of all unknowns, in the order of `names`.
        names: of the unknowns: parameters, and "q0[0]", "v0[0]" (along the directions that the constraints leave),
            "bias[0]", with the number of the motion in front where there are several.
        system: with the parameters that were found.
        runs: the motions computed with them.
        residuals: (measured - computed) / noise, one array (N, outputs) for every motion.
        noise: the standard deviation of each output; estimated where none was given.
        warnings: what the measurements do not tell.
    """

    parameters: dict[str, np.ndarray]
    deviations: dict[str, np.ndarray]
    covariance: np.ndarray = field(repr=False)
    names: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    system: AbstractSystem = field(repr=False)
    runs: tuple[Trajectory, ...] = field(repr=False)
    times: tuple[np.ndarray, ...] = field(repr=False)
    residuals: tuple[np.ndarray, ...] = field(repr=False)
    noise: np.ndarray
    iterations: int
    warnings: tuple[str, ...]

    #: A figure of the residuals against time, from `plots`.
    plot = Later()


@holding
def fit(
    system: AbstractSystem, method: Method, data: Measured | Sequence[Measured], parameters: Sequence[str], noise=None,
    *, h: float, free: Sequence[str] = (), max_iterations: int = 50,
) -> Fit:  # fmt: skip
    """Find parameters of a system from measured motions, by least squares.

    Args:
        system: with first values of the parameters.
        method: with which the motions are computed.
        data: one `Measured`, or several with the same outputs.
        parameters: names of fields of the system.
        noise: the standard deviation of the outputs, a number or (outputs,); None to estimate it.
        h: the step size; shortened so that it divides the length of a motion. Between states, outputs are those of the
            cubic through both ends.
        free: "q0", "v0" and "bias" to find the starts, or offsets of the outputs, of every motion too.
        max_iterations: of the method of Levenberg and Marquardt.
    """
    problem = _Problem(prepared(undriven(system)), method, data, parameters, noise, h, free)
    limit = count("max_iterations", max_iterations)
    z, residual, jacobian, iterations = _least_squares(problem, limit)
    return problem.result(z, residual, jacobian, iterations)


def _least_squares(problem: _Problem, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    z, damping = problem.first, 1e-4
    residual, jacobian = problem(z)
    for iteration in range(1, limit + 1):
        scales = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        scaled, size = jacobian / scales, residual @ residual
        while True:
            rows = np.concatenate([scaled, np.sqrt(damping) * np.eye(len(z))])
            step = np.linalg.lstsq(rows, -np.concatenate([residual, np.zeros(len(z))]), rcond=None)[0] / scales
            predicted = size - np.sum((residual + jacobian @ step) ** 2)
            if predicted <= LAST_DESCENT * size:
                return z, residual, jacobian, iteration
            try:
                new = problem.residual(z + step)
                found = new @ new
            except DalembertError:  # no motion with such parameters
                found = np.inf
            if np.isfinite(found) and found < size:
                break
            damping = max(damping, 1e-8) * 8
            if damping > MOST_DAMPING:
                return z, residual, jacobian, iteration
        z, damping = z + step, damping / 10 if size - found > 0.5 * predicted else damping
        residual, jacobian = problem(z)
        if size - found <= LAST_DESCENT * size:
            return z, residual, jacobian, iteration
    raise StepFailure(
        f"fit: no minimum after {limit} iterations, the last sum of squares is {residual @ residual:.6g}. Begin with "
        "better values of the parameters, or raise max_iterations."
    )


class _Problem:
    """Residuals and their derivatives as functions of the unknowns."""

    def __init__(self, system, method, data, parameters, noise, h, free) -> None:
        self.system, self.method, self.h = system, method, positive("h", h)
        records = [data] if isinstance(data, Measured) else list(data) if isinstance(data, tuple | list) else []
        if not records or not all(isinstance(record, Measured) for record in records):
            raise InputError(f"data must be a da.Measured or several of them, got {shown(data, 80)}.")
        self.motions = [Motion(system, record, self.h) for record in records]
        self.outputs = self.motions[0].values.shape[1]
        if any(motion.values.shape[1] != self.outputs for motion in self.motions):
            raise InputError("all motions must have the same number of outputs.")
        self.places = _places(system, parameters)
        known = ("q0", "v0", "bias")
        if not isinstance(free, tuple | list) or not all(isinstance(name, str) and name in known for name in free):
            raise InputError(f'free must be a sequence of "q0", "v0" and "bias", got {shown(free)}.')
        self.free = tuple(name for name in ("q0", "v0", "bias") if name in free)
        self.noise = None
        if noise is not None:
            self.noise = np.broadcast_to(_noise(noise, self.outputs), (self.outputs,))
        self.which = tuple(k for place in self.places.values() for k in range(place.start, place.stop))
        first = self.motions[0].along
        self.own = {"q0": first["q0"].shape[1], "v0": first["v0"].shape[1], "bias": self.outputs}
        self.names = self._names()
        self.first = self._first()
        measurements = sum(motion.values.size for motion in self.motions)
        if measurements < len(self.first):
            raise InputError(f"{measurements} measurements cannot tell {len(self.first)} unknowns.")

    def _names(self) -> tuple[str, ...]:
        names = []
        for name, place in self.places.items():
            size = place.stop - place.start
            names += [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
        for number in range(len(self.motions)):
            before = f"{number}: " if len(self.motions) > 1 else ""
            names += [f"{before}{name}[{k}]" for name in self.free for k in range(self.own[name])]
        return tuple(names)

    def _first(self) -> np.ndarray:
        leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(self.system) if is_parameter(leaf)]
        vector = np.concatenate(leaves) if leaves else np.zeros(0)
        parts = [vector[list(self.which)]]
        moved = [np.zeros(self.own[name]) for name in self.free]
        return np.concatenate(parts + moved * len(self.motions))

    def _split(self, z: np.ndarray) -> tuple[np.ndarray, list[dict[str, np.ndarray]]]:
        """The parameters, and what is free of every motion."""
        theta, rest = z[: len(self.which)], z[len(self.which) :]
        own = sum(self.own[name] for name in self.free)
        found = []
        for k in range(len(self.motions)):
            part, ends = rest[k * own : (k + 1) * own], np.cumsum([self.own[name] for name in self.free])
            found.append(dict(zip(self.free, np.split(part, ends[:-1]) if self.free else [], strict=True)))
        return theta, found

    def system_at(self, theta: np.ndarray) -> AbstractSystem:
        """The system with these parameters."""
        leaves, definition = jax.tree.flatten(self.system)
        vector = np.concatenate([np.ravel(leaf) for leaf in leaves if is_parameter(leaf)])
        vector[list(self.which)] = theta
        used, changed = 0, []
        for leaf in leaves:
            if is_parameter(leaf):
                size = np.size(leaf)
                changed.append(vector[used : used + size].reshape(np.shape(leaf)))
                used += size
            else:
                changed.append(leaf)
        return prepared(jax.tree.unflatten(definition, changed))

    def residual(self, z: np.ndarray) -> np.ndarray:
        """r."""
        theta, own = self._split(z)
        system, parts = self.system_at(theta), []
        for motion, part in zip(self.motions, own, strict=True):
            run = motion.run(system, self.method, motion.begin(system, self.which, part))
            predicted = motion.predicted(run)[0] + part.get("bias", 0.0)
            parts.append(np.ravel((motion.values - predicted) / self._scale))
        return np.concatenate(parts)

    @property
    def _scale(self) -> Any:
        return 1.0 if self.noise is None else self.noise

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r and J."""
        theta, own = self._split(z)
        system, residuals, rows = self.system_at(theta), [], []
        width, begin = sum(self.own[name] for name in self.free), len(self.which)
        for number, (motion, part) in enumerate(zip(self.motions, own, strict=True)):
            start = motion.begin(system, self.which, part)
            moved = [motion.along[name] if name in self.free else np.zeros((motion.n, 0)) for name in ("q0", "v0")]
            at_start = start.slope @ block_diag(np.eye(len(theta)), *moved)
            run = motion.run(system, self.method, start)
            predicted, slope = motion.predicted(run, self.which, at_start)
            predicted = predicted + part.get("bias", 0.0)
            residuals.append(np.ravel((motion.values - predicted) / self._scale))
            whole = np.zeros((*predicted.shape, len(z)))
            whole[:, :, : len(theta)] = slope[:, :, : len(theta)]
            first = begin + number * width
            whole[:, :, first : first + slope.shape[2] - len(theta)] = slope[:, :, len(theta) :]
            if "bias" in self.free:
                whole[:, :, first + width - self.outputs : first + width] = np.eye(self.outputs)
            scale = np.broadcast_to(np.asarray(self._scale), (self.outputs,))[:, None]
            rows.append(-(whole / scale).reshape(-1, len(z)))
        return np.concatenate(residuals), np.concatenate(rows)

    def result(self, z: np.ndarray, residual: np.ndarray, jacobian: np.ndarray, iterations: int) -> Fit:
        """The record of a minimum."""
        theta, own = self._split(z)
        system = self.system_at(theta)
        runs = tuple(
            motion.run(system, self.method, motion.begin(system, self.which, part))
            for motion, part in zip(self.motions, own, strict=True)
        )
        split = np.split(residual, np.cumsum([motion.values.size for motion in self.motions])[:-1])
        residuals = [part.reshape(-1, self.outputs) for part in split]
        noise, factor = self.noise, 1.0
        if noise is None:
            freedom = max(len(residual) - len(z), 1)
            factor = residual @ residual / freedom
            noise = np.full(self.outputs, np.sqrt(factor))
            residuals = [part / np.sqrt(factor or 1.0) for part in residuals]
        covariance, warnings = self._covariance(jacobian)
        covariance = factor * covariance
        values, deviations, begin = {}, {}, 0
        for name, place in self.places.items():
            size = place.stop - place.start
            part = slice(begin, begin + size)
            values[name], begin = z[part] if size > 1 else z[begin], begin + size
            spread = np.sqrt(np.diag(covariance)[part])
            deviations[name] = spread if size > 1 else spread[0]
        return Fit(
            values, deviations, covariance, self.names, z, system, runs, tuple(m.times for m in self.motions),
            tuple(residuals), noise, iterations, warnings,
        )  # fmt: skip

    def _covariance(self, jacobian: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """(J^T J)^-1, and the directions that the measurements do not tell."""
        scales = np.linalg.norm(jacobian, axis=0)
        seen = scales > UNSEEN * np.max(scales, initial=0.0)
        warnings = [f"the measurements do not depend on {self.names[k]}" for k in np.flatnonzero(~seen)]
        _, sizes, right = np.linalg.svd(jacobian[:, seen] / scales[seen], full_matrices=False)
        names = [self.names[k] for k in np.flatnonzero(seen)]
        for vector in right[sizes <= UNIDENTIFIABLE * np.max(sizes, initial=0.0)]:
            together = [names[k] for k in np.flatnonzero(np.abs(vector) > 0.1 * np.max(np.abs(vector)))]
            warnings.append(f"the measurements do not tell {' and '.join(together)} apart")
        half = right.T / np.maximum(sizes, 1e-150)
        covariance = np.full((len(scales), len(scales)), np.inf)
        covariance[np.ix_(seen, seen)] = (half @ half.T) / np.outer(scales[seen], scales[seen])
        return covariance, tuple(warnings)


def _noise(noise: Any, outputs: int) -> np.ndarray:
    found = floats("noise", noise, finite=True)
    if found.shape not in ((), (outputs,)) or np.any(found <= 0):
        raise InputError(f"noise must be a positive number or have shape ({outputs},), got {shown(noise)}.")
    return found


def _places(system: AbstractSystem, parameters: Any) -> dict[str, slice]:
    """Where the named parameters lie in the vector of all."""
    known = parameter_places(system)
    if isinstance(parameters, str) or not isinstance(parameters, tuple | list) or not parameters:
        raise InputError(f"parameters must be names of fields, of {', '.join(known)}; got {shown(parameters)}.")
    wrong = [name for name in parameters if not isinstance(name, str) or name not in known]
    if wrong or len(set(parameters)) < len(parameters):
        raise InputError(f"parameters must be different names of fields, of {', '.join(known)}; got "
                         f"{shown(parameters)}.")  # fmt: skip
    return {name: known[name] for name in parameters}
