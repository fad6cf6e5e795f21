"""`interpolated`: a table as a function of time, which the engine compiles."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..arguments import choice, floats, shown
from ..errors import InputError

#: The kinds by the degree of their pieces.
DEGREES = {"constant": 0, "linear": 1, "cubic": 3}


class Table(eqx.Module):
    """Polynomials between the times of a table: sum_j c_j (t - t_k)^j for t_k <= t < t_(k+1).

    The numbers are parameters: another table of the same length is not compiled anew.
    """

    times: Any
    coefficients: Any  # (pieces, degree + 1, values)
    is_scalar: bool = eqx.field(static=True)

    def __call__(self, t) -> Any:
        """The value at t; before the first and after the last time that of the end."""
        inside = jnp.clip(t, self.times[0], self.times[-1])
        piece = jnp.sum(jnp.asarray(self.times)[1:-1] <= inside)
        x, c = inside - jnp.asarray(self.times)[piece], jnp.asarray(self.coefficients)[piece]
        value = c[-1]
        for k in range(c.shape[0] - 2, -1, -1):
            value = value * x + c[k]
        return value[0] if self.is_scalar else value


def interpolated(t, values, kind: str = "linear") -> Table:
    """A function of time through a table: for forces, prescribed motions and controls, compiled with them.

    >>> wind = interpolated([0.0, 1.0, 2.0], [0.0, 3.0, 0.0])
    >>> float(wind(0.5))
    1.5

    Args:
        t: the times, (N,), ascending.
        values: the values there, (N,), or (N, k) for k numbers at once.
        kind: "constant" (each value holds until the next time), "linear", or "cubic" (a spline with two continuous
            derivatives, whose third is continuous at the second and the last but one time).

    Before the first and after the last time the value is that of the end. A step of high order keeps its order only
    where the table is smooth: let steps end at its times, or use "cubic".
    """
    choice("kind", kind, DEGREES)
    times, table = floats("t", t, finite=True), floats("values", values, finite=True)
    if times.ndim != 1 or len(times) < 2 or np.any(np.diff(times) <= 0):
        raise InputError(f"t must be two or more ascending times, got shape {times.shape}: {shown(t)}.")
    if table.ndim not in (1, 2) or len(table) != len(times):
        raise InputError(f"values must have shape ({len(times)},) or ({len(times)}, k), got {table.shape}.")
    rows = table.reshape(len(times), -1)
    if kind == "constant":
        coefficients = np.concatenate([rows[:-1, None], rows[-1:, None]])
        times = np.append(times, 2 * times[-1] - times[-2])
    elif kind == "linear":
        coefficients = np.stack([rows[:-1], np.diff(rows, axis=0) / np.diff(times)[:, None]], axis=1)
    else:
        from scipy.interpolate import CubicSpline  # here: it takes half a second to load, and few models need it

        coefficients = np.moveaxis(CubicSpline(times, rows).c[::-1], 0, 1)
    return Table(times, np.ascontiguousarray(coefficients), table.ndim == 1)
