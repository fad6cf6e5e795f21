"""What tables 1 and 2 share: all entries measured, judged entry by entry, drawn as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Claim, Result, Table, judged
from .orders import DIVERGENT, Measured, Motion, agrees, double_pendulum, measure, pendulum, ripple_pendulum
from .printed import ORDERS_OF_THE_RULE, QUANTITIES, Entry, entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = {"q": "q", "p": "p", "lam": "λ"}
#: The largest degree whose projected runs are measured in the quick and in the full version.
PROJECTED_DEGREES = {True: 3, False: 5}
#: Entries measured on the double pendulum: (s, w), each with the smallest rule that the table has and the next one.
DOUBLE_QUICK = ((1, 1), (2, 2), (3, 2))
DOUBLE_FULL = (*DOUBLE_QUICK, (3, 3), (4, 2), (4, 3), (4, 4))

Found = dict[Entry, Measured]


def compute(rule: str, quick: bool) -> Result:
    """Measure the table on the planar pendulum, a part of it on the double pendulum, projected runs too."""
    all_entries = entries(rule)
    found = {_key(entry): (entry, measure(pendulum(), entry, check_positions=not quick)) for entry in all_entries}
    claims = [_agreement(name, list(found.values())) for name in QUANTITIES]
    data: dict[str, Table] = {"orders": _order_rows(pendulum(), found.values()), "errors": _error_rows(found.values())}
    claims += [_positions_formula(rule, list(found.values())), _parity_formula(list(found.values()))]
    claims.append(_projection(rule, quick))
    motions = {"double pendulum": (double_pendulum, _double_entries(all_entries, quick))}
    if not quick:
        motions["rippled field"] = (ripple_pendulum, [entry for entry in all_entries if entry.s <= 4])
    for label, (motion, some) in motions.items():
        more = [(entry, measure(motion(), entry)) for entry in some]
        data[f"orders, {label}"] = _order_rows(motion(), more)
        claims.append(_other_motion(motion(), more))
    return Result(data, claims)


def _key(entry: Entry) -> tuple[int, int, int]:
    return entry.s, entry.w, entry.rule_order


def _first_orders(entry: Entry, count: int) -> bool:
    return entry.rule_order in list(ORDERS_OF_THE_RULE[entry.rule][entry.s])[:count]


def _double_entries(all_entries: list[Entry], quick: bool) -> list[Entry]:
    pairs = DOUBLE_QUICK if quick else DOUBLE_FULL
    return [entry for entry in all_entries if (entry.s, entry.w) in pairs and _first_orders(entry, 2)]


# -- judging -----------------------------------------------------------------------------------------------------


def _name(entry: Entry) -> str:
    return f"s = {entry.s}, w = {entry.w}, r = {entry.nodes}"


def _judge(pairs: Iterable[tuple[Entry, Measured]], names: Iterable[str]) -> tuple[int, list[str], list[str], str]:
    """How many entries agree, those that do not, those not measurable, and the largest deviation in words."""
    good, bad, unknown, worst = 0, [], [], (0.0, "")
    for entry, measured in pairs:
        for name in names:
            slope, printed = measured.slopes[name], entry.orders[name]
            verdict = agrees(slope, printed)
            if verdict is None or slope is None:
                unknown.append(f"{LETTERS[name]} at {_name(entry)}")
                continue
            good += verdict
            if not verdict:
                bad.append(f"{LETTERS[name]} at {_name(entry)}: printed {printed or 'd'}, measured {slope:.2f}")
            elif printed is not None:
                worst = max(
                    worst, (abs(slope - printed), f"{slope:.2f} for {printed} ({LETTERS[name]}, {_name(entry)})")
                )
    return good, bad, unknown, worst[1]


def _agreement(name: str, pairs: list[tuple[Entry, Measured]]) -> Claim:
    good, bad, unknown, worst = _judge(pairs, [name])
    lost = sorted({count for _, measured in pairs for count in measured.lost})
    words = [f"{good} of {len(pairs)} entries agree", f"farthest: {worst}"]
    words += [f"do not agree: {', '.join(bad)}"] if bad else []
    words += [f"not measurable: {', '.join(unknown)}"] if unknown else []
    note = (
        f"Runs with {', '.join(map(str, lost))} steps sometimes found another solution of the discrete equations; "
        "they are left out."
        if lost
        else ""
    )
    return judged(
        not bad, f"The printed orders of {LETTERS[name]} hold on the planar pendulum.", "; ".join(words), note=note
    )


def _positions_formula(rule: str, pairs: list[tuple[Entry, Measured]]) -> Claim:
    wrong = []
    shaded = [(entry, measured) for entry, measured in pairs if entry.shaded]
    for entry, measured in shaded:
        slope, expected = measured.slopes["q"], min(2 * entry.s, entry.rule_order, 2 * entry.w)
        if slope is not None and not agrees(slope, expected):
            wrong.append(f"{_name(entry)}: {slope:.2f} for {expected}")
    bound = "2r" if rule == "gauss" else "2r − 2"
    return judged(
        not wrong,
        f"For s = w and s = w + 1 the order of q is min(2s, {bound}, 2w).",
        f"{len(shaded) - len(wrong)} of {len(shaded)} combinations" + (f"; not {', '.join(wrong)}" if wrong else ""),
    )


def _parity_formula(pairs: list[tuple[Entry, Measured]]) -> Claim:
    wrong, count = [], 0
    for entry, measured in pairs:
        if not entry.shaded or entry.rule_order < 2 * entry.s:
            continue
        even = entry.w % 2 == 0
        expected = {"p": entry.w + (2 if even else 1), "lam": entry.w + (0 if even else 1)}
        for name, order in expected.items():
            count += 1
            slope = measured.slopes[name]
            if slope is not None and not agrees(slope, order):
                wrong.append(f"{LETTERS[name]} at {_name(entry)}: {slope:.2f} for {order}")
    return judged(
        not wrong,
        "For s = w and s = w + 1 with a rule of order at least 2s, even w gives p the order w + 2 and λ the order w; "
        "odd w gives both the order w + 1.",
        f"{count - len(wrong)} of {count} orders" + (f"; not {', '.join(wrong)}" if wrong else ""),
        note="The multiplier at t = 0 is left out: for odd w it has the order w only.",
    )


def _projection(rule: str, quick: bool) -> Claim:
    words, holds = [], True
    for s in range(1, PROJECTED_DEGREES[quick] + 1):
        entry = Entry(s, s, rule, 2 * s, dict.fromkeys(QUANTITIES, 2 * s))
        measured = measure(pendulum(), entry, project=True)
        _, bad, _, _ = _judge([(entry, measured)], QUANTITIES)
        holds = holds and not bad
        words.append(
            f"s = {s}: " + ", ".join(f"{slope:.2f}" for slope in measured.slopes.values() if slope is not None)
        )
    return judged(
        holds,
        "Projecting the momentum onto the hidden constraints and computing λ from (70) gives p and λ the order of q.",
        "orders of q, p, λ with w = s: " + "; ".join(words),
    )


def _other_motion(motion: Motion, pairs: list[tuple[Entry, Measured]]) -> Claim:
    good, bad, unknown, worst = _judge(pairs, QUANTITIES)
    words = [f"{good} of {3 * len(pairs)} entries agree", f"farthest: {worst}"]
    words += [f"do not agree: {', '.join(bad)}"] if bad else []
    words += [f"not measurable: {', '.join(unknown)}"] if unknown else []
    return judged(not bad, f"The printed orders hold on another system: {motion.name}.", "; ".join(words))


# -- tables and drawing ------------------------------------------------------------------------------------------


def _order_rows(motion: Motion, pairs: Iterable[tuple[Entry, Measured]]) -> dict[str, list]:
    columns: dict[str, list] = {
        key: []
        for key in ("motion", "s", "w", "rule", "rule order", "r", "quantity", "printed", "measured", "runs", "agrees")
    }
    for entry, measured in pairs:
        for name in QUANTITIES:
            slope, printed = measured.slopes[name], entry.orders[name]
            verdict = agrees(slope, printed)
            row = (
                motion.name, entry.s, entry.w, entry.rule, entry.rule_order, entry.nodes, name,
                "d" if printed is None else str(printed), slope, measured.points[name],
                "not measurable" if verdict is None else "yes" if verdict else "no",
            )  # fmt: skip
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def _error_rows(pairs: Iterable[tuple[Entry, Measured]]) -> dict[str, list]:
    columns: dict[str, list] = {key: [] for key in ("s", "w", "rule order", "steps", *QUANTITIES)}
    for entry, measured in pairs:
        for k, steps in enumerate(measured.steps):
            row = (entry.s, entry.w, entry.rule_order, steps, *(measured.errors[name][k] for name in QUANTITIES))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


#: Grey as in the paper: s = w and s = w + 1.
SHADE = "#D7DCE0"
KEY = (
    "Numbers: measured orders. d: divergent. Grey: $s = w$ and $s = w + 1$. ?: not measurable. "
    "Bold orange: not the printed order."
)


def draw_table(result: Result, rule: str) -> Figure:
    """As in the paper. Columns: degree s and order oL of the rule; rows: order oZ of the constraints, w, quantity."""
    from matplotlib.patches import Rectangle

    orders = result.data["orders"]
    columns = [(s, order) for s in range(1, 7) for order in ORDERS_OF_THE_RULE[rule][s]]
    place = {column: k for k, column in enumerate(columns)}
    with style():
        figure = new_figure(1.8 + 0.5 * len(columns), 8.2, ".")
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_navigate(False)  # a table: nothing to zoom into
        for s, w, order, name, measured, agree in zip(
            *(orders[key] for key in ("s", "w", "rule order", "quantity", "measured", "agrees")), strict=True
        ):
            x, y = place[s, order], 3 * (w - 1) + QUANTITIES.index(name)
            if s in (w, w + 1):
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=SHADE, edgecolor="none"))
            text = "?" if measured is None else "d" if measured < DIVERGENT else f"{measured:.1f}"
            colour, weight = (PALETTE[1], "bold") if agree == "no" else ("black", "normal")
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=12.5, color=colour, fontweight=weight)
        _frame(axes, columns)
        axes.text(0, 18.35, KEY, ha="left", va="top", fontsize=13)
        axes.set_xlim(-3.2, len(columns))
        axes.set_ylim(19.0, -2.1)
    return figure


def _frame(axes: Axes, columns: list[tuple[int, int]]) -> None:
    """Heads of rows and columns, and the lines between them."""
    for x, text in ((-2.6, "oZ"), (-1.7, "$w$")):
        axes.text(x, -0.5, text, ha="center", va="center")
    for y, text in ((-1.4, "oL"), (-0.5, "$s$")):
        axes.text(-0.7, y, text, ha="center", va="center")
    for k, (s, order) in enumerate(columns):
        axes.text(k + 0.5, -1.4, str(order), ha="center", va="center", fontsize=13)
        axes.text(k + 0.5, -0.5, str(s), ha="center", va="center", fontsize=13)
        if k and columns[k - 1][0] != s:
            axes.plot([k, k], [-1.9, 18], color=GREY, linewidth=0.6)
    for w in range(1, 7):
        y = 3 * (w - 1)
        axes.plot([-3.1, len(columns)], [y, y], color="black" if w == 1 else GREY, linewidth=1.0 if w == 1 else 0.6)
        axes.text(-2.6, y + 1.5, str(2 * w), ha="center", va="center", fontsize=13)
        axes.text(-1.7, y + 1.5, str(w), ha="center", va="center", fontsize=13)
        for k in range(3):
            axes.text(-0.7, y + k + 0.5, ("$q$", "$p$", r"$\lambda$")[k], ha="center", va="center")
    axes.plot([-3.1, len(columns)], [18, 18], color="black", linewidth=1.0)
    axes.plot([0, 0], [-1.9, 18], color="black", linewidth=1.0)
