"""Figure 8.4: a random walk of the energy error of three methods of order 2 on a chaotic system."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax
import numpy as np

import dalembert as da

from ...gallery import McLachlanPerlmutterParticles
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, erratum, judged
from . import PAPER

SETUP = r"""
Seven coordinates, $T = |v|^2 / 2$, $U = (|q|^2 + q_5^2 q_6^2 + q_2^2 q_5^2 + q_3^2 q_6^2 + q_4^2 q_7^2) / 2$: a
chaotic system of McLachlan and Perlmutter. Ten motions start with one energy, $E_0 = 3.06$: $q_0 = (\cos \alpha, 0.6,
0.4, 0.2, 1, 1, 1)$, $v_0 = (0, \sin \alpha, 0, 0, 0, 0, 0)$, $\alpha = j \pi / 18$.

Three methods of order 2 with $h = 0.05$ run over $[0, 50000]$; every 100 steps the mean of $(E - E_0)^2 / h^4$ over
the motions is recorded. The printed constraint $v_1 + q_5 v_5 + q_6 v_6 + q_7 v_7 = 0$ can be integrated: $q_1 +
(q_5^2 + q_6^2 + q_7^2) / 2$ is constant, so that system is holonomic. The constraint of McLachlan and Perlmutter is
$v_1 + q_2 v_5 + q_3 v_6 + q_4 v_7 = 0$. Both are run. The full version adds 200 starting values, for the law of
growth.
"""
END, STEP, SAVE_EVERY = 50_000.0, 0.05, 100
MEMBERS = 10
#: Ten chaotic motions leave the law of growth open; so many (quick, full) decide, within these bounds of the exponent.
MANY_MEMBERS = {True: 50, False: 200}
EXPONENTS = {True: (0.6, 1.4), False: (0.75, 1.25)}
METHODS = {
    "Lobatto IIIA-B": da.lobatto_spark(2, "AB"),
    "modified IIIA-B": da.ModifiedLobatto(),
    "McLachlan-Perlmutter": da.McLachlanPerlmutter(),
}
CONSTRAINTS = {"corrected": False, "printed": True}
#: The energy error has a bounded part, which oscillates, and one that wanders. The first is the mean over this part of
#: the interval at its start; the exponent of the second is fitted to means over blocks from `FITTED` on.
START, FITTED, BLOCKS = 0.01, 0.1, 30
#: Two methods behave alike if their rates of growth differ by less than this factor, and by less than so many standard
#: errors.
ALIKE, CHANCE = 2.0, 3.0
#: The table of means over many starting values, and the windows over which the figure takes means.
MANY, WINDOWS = "many starting values", 100


def starting_values(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities on one energy surface, (members, 7)."""
    angle = np.linspace(0.0, np.pi / 2, members)
    q0 = np.tile([0.0, 0.6, 0.4, 0.2, 1.0, 1.0, 1.0], (members, 1))
    v0 = np.zeros((members, 7))
    q0[:, 0], v0[:, 1] = np.cos(angle), np.sin(angle)
    return q0, v0


def squares(
    system, method, members: int, end: float, save_every: int = SAVE_EVERY
) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, (E - E0)^2 / h^4 of every member, and the largest difference of a starting energy to 3.06."""
    q0, v0 = starting_values(members)
    run = da.simulate(system, method, q0, v0, t=(0.0, end), h=STEP, save_every=save_every)
    energy = np.asarray(jax.vmap(lambda one: one.energy)(run))
    spread = float(np.max(np.abs(energy[:, 0] - 3.06)))
    return np.asarray(run.t)[0], (energy - energy[:, :1]) ** 2 / STEP**4, spread


def growth_exponent(t: np.ndarray, values: np.ndarray) -> float:
    """c in values = bounded part + b t^c."""
    bounded = np.mean(values[1 : max(2, int(START * len(t)))])
    first = int(FITTED * len(t))
    times, means = (
        np.array([np.mean(block) for block in np.array_split(x[first:], BLOCKS)]) for x in (t, values - bounded)
    )
    grown = means > 0
    if np.count_nonzero(grown) < BLOCKS // 2:
        return 0.0
    return float(np.polyfit(np.log(times[grown]), np.log(means[grown]), 1)[0])


class Rate(NamedTuple):
    """Growth of the mean of (E - E0)^2 / h^4 in a unit of time, and its standard error over the starting values."""

    value: float
    error: float

    def differs_from(self, other: Rate) -> float:
        """The difference in units of its standard error."""
        return abs(self.value - other.value) / float(np.hypot(self.error, other.error))


def rate_of(t: np.ndarray, values: np.ndarray) -> Rate:
    """b in values = bounded part + b t, one estimate a member: the line through the origin over the whole run."""
    bounded = np.mean(values[:, 1 : max(2, int(START * len(t)))])
    slopes = (values - bounded) @ t / (t @ t)
    return Rate(float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))))


def later_to_earlier(values: np.ndarray) -> float:
    """The mean over the last fifth of the interval by that over the first."""
    fifth = len(values) // 5
    return float(np.mean(values[-fifth:]) / np.mean(values[:fifth]))


def run(quick: bool) -> Result:
    data: dict = {}
    exponents, ratios = {}, {kind: {} for kind in CONSTRAINTS}
    spread = 0.0
    for kind, printed in CONSTRAINTS.items():
        system = McLachlanPerlmutterParticles(integrable=printed)
        columns = {}
        for name, method in METHODS.items():
            t, values, one = squares(system, method, MEMBERS, END)
            columns[name] = np.mean(values, axis=0)
            ratios[kind][name], spread = later_to_earlier(columns[name]), max(spread, one)
            if kind == "corrected":
                exponents[name] = growth_exponent(t, columns[name])
        data[kind] = {"t": t, **columns}
    data["summary"] = {
        "method": list(METHODS),
        "exponent, corrected": list(exponents.values()),
        **{f"last / first fifth, {kind}": list(ratios[kind].values()) for kind in CONSTRAINTS},
    }
    many, columns, rates, members = {}, {}, {}, MANY_MEMBERS[quick]
    for name, method in METHODS.items():
        t, values, _ = squares(McLachlanPerlmutterParticles(), method, members, END, 1000)
        columns[name], rates[name] = np.mean(values, axis=0), rate_of(t, values)
        many[f"{name} from {members} starting values"] = growth_exponent(t, columns[name])
    data[MANY] = {"t": t, **columns}
    data["growth"] = {
        "method": list(METHODS),
        "starting values": [members] * len(METHODS),
        "rate": [rate.value for rate in rates.values()],
        "its standard error": [rate.error for rate in rates.values()],
    }
    return Result(data, _claims(exponents, many, EXPONENTS[quick], ratios, rates, spread))


def _claims(exponents: dict, many: dict, allowed: tuple, ratios: dict, rates: dict[str, Rate], spread: float) -> list:
    low, high = allowed
    growth = ", ".join(f"{name}: $t^{{{value:.2f}}}$" for name, value in (exponents | many).items())
    walks = all(low < value < high for value in many.values())
    bounded = all(0.8 < value < 1.25 for value in ratios["printed"].values())
    values = [rate.value for rate in rates.values()]
    apart = max(one.differs_from(other) for one, other in itertools.combinations(rates.values(), 2))
    return [
        judged(spread < 1e-12, "All starting values have the energy 3.06.", f"largest difference {spread:.1e}"),
        judged(
            walks,
            "The mean of (E − E₀)² / h⁴ grows like O(t), as in a random walk.",
            f"beyond the bounded part, fitted: {growth}",
            correction="This holds with the constraint of McLachlan and Perlmutter, v₁ + q₂v₅ + q₃v₆ + q₄v₇ = 0.",
        ),
        erratum(
            not bounded,
            "The constraint as printed, v₁ + q₅v₅ + q₆v₆ + q₇v₇ = 0, shows that growth.",
            "mean over the last fifth of the interval by that over the first: "
            + ", ".join(f"{name} {value:.2f}" for name, value in ratios["printed"].items())
            + "; with the corrected constraint "
            + ", ".join(f"{value:.1f}" for value in ratios["corrected"].values()),
            "The printed constraint is holonomic, and the error stays bounded. Probably an index was lost in printing.",
        ),
        judged(
            max(values) < ALIKE * min(values) and apart < CHANCE,
            "The three methods behave very similarly.",
            "growth of the mean in a unit of time, with its standard error over the starting values: "
            + ", ".join(f"{name} ({1e5 * one.value:.1f} ± {1e5 * one.error:.1f}) · 10⁻⁵" for name, one in rates.items())
            + f"; the largest difference is {apart:.1f} standard errors",
            note=f"Similar means: the largest rate is less than {ALIKE:g} times the smallest, and no two rates differ "
            f"by more than chance explains ({CHANCE:g} standard errors). The paper's ten motions cannot show more: "
            "the mean of ten squares of a random walk has a standard error of 45 %, and their curves end far apart.",
        ),
    ]


def draw(result: Result):
    panels = {MANY: "corrected, many motions", "corrected": "corrected, ten motions", "printed": "printed, ten motions"}
    with style():
        figure = new_figure(13.0, 4.6, ".")
        axes = figure.subplots(1, len(panels))
        for one, (key, title) in zip(axes, panels.items(), strict=True):
            table = result.data[key]
            t, values = _means([np.asarray(table[name]) for name in ("t", *METHODS)])
            for j, name in enumerate(METHODS):
                one.plot(t, values[j], color=PALETTE[j], label=name, linestyle=("-", "--", "-.")[j], linewidth=1.7)
            if key == MANY:
                rate = float(np.mean(np.asarray(result.data["growth"]["rate"])))
                one.plot(t, rate * t, ":", color=GREY, label="$O(t)$")
            one.set_xlim(0, t[-1])
            one.set_ylim(bottom=0)
            one.set_xlabel("$t$")
            one.set_title(title)
        axes[0].set_ylabel(r"$\mu\,((E - E_0)^2)\, /\, h^4$")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _means(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Means over `WINDOWS` windows: what oscillates within one would hide which curve is which."""
    t, *values = ([np.mean(part) for part in np.array_split(column[1:], WINDOWS)] for column in columns)
    return np.array(t), [np.array(one) for one in values]


EXPERIMENT = Experiment(
    name="jay-fig-8.4",
    paper=PAPER,
    title="Random walk of the energy error on the McLachlan-Perlmutter particles",
    setup=SETUP,
    run=run,
    draw=draw,
)
