"""Steps with contacts."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.engine import finish_compiling
from dalembert.gallery.impacts import BouncingBall
from dalembert.gallery.many_contacts import BoxStack

from .tables import Table, microseconds

MEMBERS = 10_000


def contact_table(repeats: int, share: float) -> Table:
    """Microseconds a step of Moreau-Jean, and per trajectory in a batch; of event capturing too."""
    table = Table("Contacts", ("microseconds a step", "time", "steps", "worst drift or penetration"))
    steps = max(200, int(share * 1_000_000))
    ball = [_ball(da.MoreauJean(), steps, save_every=steps // 200) for _ in range(repeats)]
    table.rows.append(_row("bouncing ball, Moreau-Jean", ball, steps, -np.min(_ball(da.MoreauJean(), steps).gap)))
    heights = np.linspace(0.5, 1.5, MEMBERS)[:, None]
    many = max(100, int(share * 2_000))
    options = {"t": (0.0, 5.0), "h": 5.0 / many, "save_every": many}
    batch = [da.simulate(BouncingBall(), da.MoreauJean(), heights, 0 * heights, **options) for _ in range(repeats)]
    best = min(run.stats["wall_seconds"] for run in batch) / many / MEMBERS
    table.rows.append((f"{MEMBERS} balls at once, each", microseconds(1e6 * best), str(many), "-"))
    stack = BoxStack(boxes=10)
    start, count = stack.start(), max(50, int(share * 1_000))
    boxes = []
    for _ in range(2 + repeats):  # the first compiles, the second has its code made fast
        boxes.append(da.simulate(stack, da.MoreauJean(), start.q0, start.v0, t=(0.0, 0.01 * count), h=0.01))
        finish_compiling()
    drift = float(np.max(np.abs(boxes[0].q - np.asarray(start.q0))))
    table.rows.append(_row("ten boxes at rest, friction", boxes, count, drift))
    table.rows += _event_rows(repeats, share)
    table.notes.append(
        "The bouncing ball falls from 1 with gravity 2 until t = 5; it rests from t = 3 on. Event capturing is of "
        "order 4 (Lobatto IIIA): steps of a flight; steps of a ball that loses nothing and bounces in every fortieth, "
        "impacts included; and a whole run to t = 5 with its accumulation."
    )
    return table


def _event_rows(repeats: int, share: float) -> list[tuple[str, ...]]:
    """Event capturing: a smooth step, a step among impacts, and a short run."""
    steps, impacts = max(400, int(share * 1_000_000)), max(100, int(share * 20_000))
    elastic = BouncingBall(gravity=2.1, restitution=1.0)
    period, method = 2 * np.sqrt(2 / 2.1), da.EventCapturing(da.lobatto_iiia(3))

    def timed(h: float, count: int):
        runs = []
        for _ in range(1 + repeats):  # the first compiles
            runs.append(da.simulate(elastic, method, [1.0], [0.0], t=(0.0, h * count), h=h))
            finish_compiling()
        return runs[1:]

    flights, bounces = timed(0.4 * period / steps, steps), timed(period / 40.3, int(40.3 * impacts))
    flight = min(run.stats["wall_seconds"] for run in flights) / steps
    among = min(run.stats["wall_seconds"] for run in bounces) / int(40.3 * impacts)
    few = max(50, int(share * 500))
    name = "bouncing ball, event capturing"
    return [
        (f"{name}, a smooth step", microseconds(1e6 * flight), str(steps), f"{np.ptp(flights[0].energy):.1e}"),
        (
            f"{name}, an impact in forty",
            microseconds(1e6 * among),
            f"{int(40.3 * impacts)}",
            f"{np.ptp(bounces[0].energy):.1e}",
        ),
        _row(f"{name}, a run of", [_ball(method, few) for _ in range(1 + repeats)][1:], few, 0.0),
    ]


def _ball(method, steps: int, **options):
    return da.simulate(BouncingBall(), method, [1.0], [0.0], t=(0.0, 5.0), h=5.0 / steps, **options)


def _row(name: str, runs, steps: int, worst: float) -> tuple[str, ...]:
    best = min(run.stats["wall_seconds"] for run in runs)
    return name, microseconds(1e6 * best / steps), str(steps), f"{max(worst, 0.0):.1e}"
