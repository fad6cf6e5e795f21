"""The shape that the four figures of the paper share: errors at t = 1 of the natural and the true method."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

import dalembert as da

from ...diagnostics import reference_solution
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Claim, Result, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.5
STEPS = (20, 50, 100, 200, 500, 1000, 2000, 5000)
#: The orders are fitted to the last runs.
FITTED = 4
METHODS = {
    "natural": da.SymplecticEuler("natural", alpha=ALPHA),
    "true": da.SymplecticEuler("true", alpha=ALPHA),
    "natural, conjugate": da.SymplecticEuler("natural", conjugate=True, alpha=ALPHA),
    "true, conjugate": da.SymplecticEuler("true", conjugate=True, alpha=ALPHA),
}


def errors_of(system, component: str) -> dict[str, dict[str, np.ndarray]]:
    """Euclidean errors at t = 1 by method, against the solution and against the limit of the natural method."""
    y0, z0 = system.start_values()
    exact = reference_solution(system, y0, t=(0.0, 1.0), p0=z0)
    limit = reference_solution(da.natural_limit(system, ALPHA), y0, t=(0.0, 1.0), p0=z0)
    targets = {"solution": exact, "limit": limit}
    pair = [np.asarray(target.q if component == "y" else target.p) for target in (exact, limit)]
    gap = float(np.linalg.norm(pair[0] - pair[1]))
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, method in METHODS.items():
        ends = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.InconsistentMethodWarning)  # it is what the experiment is about
            for steps in STEPS:
                run = da.simulate(system, method, y0=y0, z0=z0, t=(0.0, 1.0), h=1 / steps, save_every=steps)
                ends.append(run.y[-1] if component == "y" else run.z[-1])
        found[name] = {
            key: np.linalg.norm(np.array(ends) - np.asarray(target.q if component == "y" else target.p), axis=1)
            for key, target in targets.items()
        } | {"gap": np.array([gap])}
    return found


def fitted(errors: np.ndarray) -> float:
    """The slope of the last errors in double logarithmic axes."""
    h = 1 / np.array(STEPS[-FITTED:])
    return float(np.polyfit(np.log(h), np.log(errors[-FITTED:]), 1)[0])


def result_of(system, component: str) -> Result:
    """The table of errors and the paper's claims."""
    found = errors_of(system, component)
    claims: list[Claim] = []
    for which in ("", ", conjugate"):
        true, natural = found[f"true{which}"], found[f"natural{which}"]
        label = f"the {'conjugate ' if which else ''}"
        slope = fitted(true["solution"])
        claims.append(
            judged(
                abs(slope - 1) < 0.1,
                f"{label.capitalize()}true symplectic Euler method converges in {component} with order 1.",
                f"slope {slope:.2f}, error {true['solution'][-1]:.2e} with h = {1 / STEPS[-1]:g}",
            )
        )
        toward, left, gap = fitted(natural["limit"]), natural["solution"][-1], natural["gap"][0]
        claims.append(
            judged(
                # it converges to its limit, which stays away from the solution by more than what is left to go
                abs(toward - 1) < 0.1 and gap > 3 * natural["limit"][-1],
                f"{label.capitalize()}natural symplectic Euler method does not converge in {component}.",
                f"error {left:.2e} with h = {1 / STEPS[-1]:g}; distance to the solution of the inconsistent equation "
                f"{natural['limit'][-1]:.2e}, falling with slope {toward:.2f}; that solution is {gap:.2e} away",
            )
        )
    columns = {"h": 1 / np.array(STEPS)}
    for name, targets in found.items():
        columns |= {f"{name}: error": targets["solution"], f"{name}: to the limit": targets["limit"]}
    return Result({"errors": columns}, claims)


def draw_errors(result: Result, component: str) -> Figure:
    """Errors against h in double logarithmic axes."""
    data = result.data["errors"]
    h = np.asarray(data["h"])
    with style():
        figure = new_figure(7.6, 4.8, ".")
        axes = figure.add_subplot()
        curves = (
            ("natural: error", PALETTE[1], "o", "-", "natural"),
            ("natural: to the limit", PALETTE[1], "o", ":", "natural, to its limit"),
            ("true: error", PALETTE[0], "s", "-", "true"),
            ("true, conjugate: error", PALETTE[2], "^", "--", "true, conjugate"),
        )
        for key, colour, marker, line, label in curves:
            # open and larger: it often lies below another curve
            look = {"markersize": 10, "markerfacecolor": "none"} if line == ":" else {"markersize": 6}
            axes.loglog(h, np.asarray(data[key]), line, marker=marker, color=colour, label=label, **look)
        axes.loglog(h, np.asarray(data["true: error"])[-1] * h / h[-1] / 2.5, color=GREY, linewidth=1, label="slope 1")
        axes.set_xlabel("$h$")
        axes.set_ylabel(f"error of ${component}$ at $t = 1$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
