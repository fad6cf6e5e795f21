"""One trial: a random model, a method, and the answers that have to agree.

* The native engine with steps h and h/2 against the independent motion: the finer run may differ by a few times what
  the two runs differ by, since a method of order p is off by their difference / (2^p - 1).
* The native engine against the XLA engine with the step h: the same discrete equations, so roundoff times the
  condition of the equations.
* Now and then also against 80-bit numbers, and against vector lanes.

Numbers are compared in units in which lengths, masses and times are one. A run that is refused or fails with a status
says so, and is counted; one that says "ok" with other numbers is a *silent difference*.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import warnings
from collections import Counter

import jax
import numpy as np
from independent_motion import Motion, TooHard
from operation_trials import disagreements
from random_models import (
    JUMPS,
    KINKS,
    PARAMETERS,
    PREAMBLE,
    Model,
    NoModel,
    contact_model,
    large_model,
    smooth_model,
)

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.method import CATALOGUE
from dalembert.method.catalogue import CONTACT_CATALOGUE, FAMILY_CATALOGUE

END = 0.5

AGREES, REFUSED, FAILED, DIFFERS, UNFIT = "agrees", "refused", "failed", "differs", "unfit"

METHODS = {name: entry.method for name, entry in (CATALOGUE | CONTACT_CATALOGUE | FAMILY_CATALOGUE).items()} | {
    "gonzalez": da.EnergyMomentum("gonzalez"),
    "taylor-5": da.Taylor(5),
    "moreau-jean-1": da.MoreauJean(theta=1.0),
}
#: Methods for smooth motion; those left out treat other kinds of problems, or need parts that no random model has.
SMOOTH_METHODS = tuple(
    name for name in METHODS
    if name not in CONTACT_CATALOGUE and name not in ("symplectic-euler", "energy-momentum", "energy-momentum-velocity")
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a trial ended with, in words, and the model and method that it was about."""

    kind: str
    detail: str
    model: Model | None
    method: str
    steps: int
    engines: tuple[str, ...] = ()

    def script(self) -> str:
        """A script that runs both engines, and prints where they end."""
        if self.model is None:
            return self.detail
        q0, v0 = self.model.start()
        fields = ", ".join(f"{name}={_written(value)}" for name, value in PARAMETERS.items())
        end = END * self.model.units[2]
        return f"""# {self.detail}
{PREAMBLE}
from dalembert.method.catalogue import method_named

{self.model.source()}

length, mass, time = {self.model.units}
system = Random(length, mass, time, {fields})
for engine in ("auto", "xla"):
    run = da.simulate(
        system, {_written_method(self.method)}, {q0.tolist()}, {v0.tolist()}, t=(0.0, {end!r}), h={end / self.steps!r},
        engine=engine, on_failure="return",
    )
    print(engine, run.status, run.q[-1] / length, run.v[-1] * time / length, run.lam[-1:], run.psi[-1:])
"""


def _written(value) -> str:
    return f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(value)


def _written_method(name: str) -> str:
    """A method by its name in the catalogue, or as it is written."""
    return (
        f"method_named({name!r})"
        if name in CATALOGUE | CONTACT_CATALOGUE | FAMILY_CATALOGUE
        else f"da.{METHODS[name]!r}"
    )


class Answer:
    """The end of a run in units of one."""

    def __init__(self, run, model: Model) -> None:
        length, mass, time = model.units
        force = mass * length / time**2
        self.run = run
        self.parts = {
            "q": np.asarray(run.q, float) / length,
            "v": np.asarray(run.v, float) * time / length,
            "lam": np.asarray(run.lam, float) / force if model.holonomic else np.zeros((1, 0)),
            "psi": np.asarray(run.psi, float) / force if model.nonholonomic else np.zeros((1, 0)),
            "energy": np.atleast_1d(np.asarray(run.energy, float) / (force * length))[:, None],
        }


def simulated(model: Model, method: str, steps: int, **options) -> Answer | str:
    """The answer, or what the library said instead."""
    q0, v0 = model.start()
    end = END * model.units[2]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            run = da.simulate(
                model.system(), METHODS[method], q0, v0, t=(0.0, end), h=end / steps, on_failure="return", **options
            )
        except da.MethodDoesNotFit as refusal:
            return f"{UNFIT}: {refusal}"
        except DalembertError as refusal:
            return f"{REFUSED}: {type(refusal).__name__}: {refusal}"
    if not run.status:
        return f"{FAILED}: {run.status.message}"
    if heard:
        return f"{REFUSED}: warned: {heard[0].message}"
    return Answer(run, model)


def smooth_trial(seed: int) -> Outcome:
    """A random model without contacts with a random method that treats it."""
    chance = np.random.default_rng([seed, 1])
    try:
        model = smooth_model(seed)
    except NoModel as reason:
        return Outcome(UNFIT, str(reason), None, "", 0)
    parts = {part for part in ("holonomic", "nonholonomic", "force") if getattr(model, part)}
    fitting = [name for name in SMOOTH_METHODS if parts <= METHODS[name].handles]
    fitting = [name for name in fitting if not ("force" in parts and isinstance(METHODS[name], da.EnergyMomentum))]
    method = str(chance.choice(fitting))
    steps = int(chance.choice([10, 20, 40]))
    extra = str(chance.choice(["", "", "", "", "extended", "lanes", "xla"]))
    return judged(model, method, steps, extra)


def judged(model: Model, method: str, steps: int, extra: str = "") -> Outcome:
    """Compare all answers for one model and method; `extra` names one beside the independent motion."""

    def outcome(kind: str, detail: str, *engines: str) -> Outcome:
        return Outcome(kind, detail, model, method, steps, engines)

    try:
        exact, condition = exact_end(model)
    except TooHard as reason:
        return outcome(UNFIT, str(reason))
    coarse, fine = simulated(model, method, steps), simulated(model, method, 2 * steps)
    for answer in (coarse, fine):
        if isinstance(answer, str):
            return outcome(answer.partition(":")[0], answer)
    assert isinstance(coarse, Answer)
    assert isinstance(fine, Answer)
    wrong = off_the_motion(model, METHODS[method], coarse, fine, exact, condition, END / steps)
    engine = fine.run.stats["engine"]
    if wrong:
        return outcome(DIFFERS, f"{method}, {steps} steps, {engine} against the independent motion: {wrong}", engine)
    others = [("xla", {"engine": "xla"})] if extra == "xla" and engine != "xla" else []
    others += [("extended", {"precision": "extended"})] if extra == "extended" else []
    for name, options in others:
        other = simulated(model, method, steps, **options)
        if isinstance(other, str):
            if name == "extended" and other.startswith(REFUSED):
                continue
            return outcome(other.partition(":")[0], f"{name}: {other}", engine)
        wrong = off_each_other(coarse, other, condition)
        if wrong:
            return outcome(DIFFERS, f"{method}, {steps} steps, {engine} against {name}: {wrong}", engine)
    if extra == "lanes" and engine == "native":
        wrong = off_in_lanes(model, method, steps, coarse, condition)
        if wrong:
            return outcome(DIFFERS, f"{method}, {steps} steps, {engine} against lanes: {wrong}", engine)
    reason = coarse.run.stats.get("engine_reason", "")
    return outcome(AGREES, reason, engine)


def exact_end(model: Model) -> tuple[dict[str, np.ndarray], float]:
    """The end of the independent motion in units of one, and the condition of its equations."""
    motion = Motion(model.system((1.0, 1.0, 1.0)))
    tolerance = 1e-9 if model.smoothness == JUMPS else 1e-12
    q, v = np.split(motion.flight(np.array(model.x0), np.array(model.w0), END, tolerance), 2)
    multipliers = motion.solution(END, q, v)[1]
    rows = len(multipliers) - len(model.nonholonomic)
    parts = {"q": q, "v": v, "lam": multipliers[:rows], "psi": multipliers[rows:],
             "energy": np.array([motion.terms(END, q, v).energy])}  # fmt: skip
    start = motion.condition(0.0, np.array(model.x0), np.array(model.w0))
    return parts, max(start, motion.condition(END, q, v))


def off_the_motion(model: Model, method, coarse: Answer, fine: Answer, exact, condition: float, h: float) -> str:
    """Where the finer run is further from the exact end than the order of the method explains."""
    # where derivatives jump, how a step is cut in two decides about the error of that step
    allowance = {JUMPS: h, KINKS: h**2}.get(model.smoothness, 0.0)
    speed = 1.0 + float(np.max(np.abs(exact["v"])))
    for name, wanted in exact.items():
        if wanted.size == 0 or (name in ("lam", "psi") and method.claims.multiplier_order == 0):
            continue
        one, two = coarse.parts[name][-1], fine.parts[name][-1]
        size = max(1.0, float(np.max(np.abs(wanted))))
        roundoff = (1e-6 if name in ("lam", "psi") else 1e-9) * size * condition
        allowed = 4 * float(np.max(np.abs(one - two))) + allowance * speed * size + roundoff
        off = float(np.max(np.abs(two - wanted)))
        if not off <= allowed:
            return f"{name} = {two} but {wanted} (off by {off:.2e}, explained {allowed:.2e})"
    return ""


def off_each_other(one: Answer, other: Answer, condition: float) -> str:
    """Where two runs of the same discrete equations differ by more than roundoff."""
    for name in one.parts:
        a, b = one.parts[name], other.parts[name]
        if a.size == 0:
            continue
        if a.shape != b.shape:
            return f"{name} has the shapes {a.shape} and {b.shape}"
        size = max(1.0, float(np.max(np.abs(a))))
        off = float(np.max(np.abs(a - b)))
        if not off <= (1e-7 if name in ("lam", "psi") else 1e-10) * size * condition:
            return f"{name} differs by {off:.2e} of {size:.2e} (condition {condition:.0f})"
    return ""


def off_in_lanes(model: Model, method: str, steps: int, single: Answer, condition: float) -> str:
    """Two members that begin alike, each a lane of vector instructions."""
    q0, v0 = model.start()
    end = END * model.units[2]
    run = da.simulate(
        model.system(), METHODS[method], np.stack([q0, q0]), np.stack([v0, v0]), t=(0.0, end), h=end / steps
    )
    for member in range(2):
        q = np.asarray(run.q[member], float) / model.units[0]
        off = float(np.max(np.abs(q - single.parts["q"])))
        if not off <= 1e-10 * condition * max(1.0, float(np.max(np.abs(q)))):
            return f"q of member {member} differs by {off:.2e}"
    return ""


def large_trial(seed: int) -> Outcome:
    """A chain or a tree of many bodies: steps in loops, in bands and with sparse matrices."""
    chance = np.random.default_rng([seed, 5])
    model = large_model(seed)
    method = str(
        chance.choice(["rattle", "rattle", "galerkin-2", "gauss-spark-2", "lobatto-spark-3", "rattle-yoshida4"])
    )
    return judged(model, method, 20)


def expression_trial(seed: int) -> Outcome:
    """Random expressions with their derivatives, as the engine translates them and as JAX computes them."""
    wrong, refused = disagreements(seed)
    return Outcome(DIFFERS if wrong else AGREES, "\n".join(wrong) or f"{refused} refused", None, "", 0)


def contact_trial(seed: int) -> Outcome:
    """A random model with contacts: MoreauJean on both engines, or EventCapturing against scipy's events."""
    chance = np.random.default_rng([seed, 2])
    model = contact_model(seed)
    if chance.random() < 0.5 and not model.friction:
        return judged_by_events(model, int(chance.choice([20, 40])))
    method = str(chance.choice(["moreau-jean", "moreau-jean", "moreau-jean-1"]))
    steps = int(chance.choice([25, 50, 100]))
    answers = [simulated(model, method, steps, engine=engine) for engine in ("native", "xla")]
    for answer in answers:
        if isinstance(answer, str):
            return Outcome(answer.partition(":")[0], answer, model, method, steps)
    one, other = answers
    assert isinstance(one, Answer)
    assert isinstance(other, Answer)
    wrong = off_each_other(one, other, 100.0)
    if wrong:
        return Outcome(DIFFERS, f"{method}, {steps} steps, native against xla: {wrong}", model, method, steps)
    return Outcome(AGREES, "", model, method, steps, ("native",))


def judged_by_events(model: Model, steps: int) -> Outcome:
    """Free flight and single impacts, found by the library and by scipy."""
    method = "event-capturing-radau-5"
    motion = Motion(model.system((1.0, 1.0, 1.0)))
    try:
        y, times = motion.bounces(np.array(model.x0), np.array(model.w0), END, model.restitution)
    except TooHard as reason:
        return Outcome(UNFIT, str(reason), model, method, steps)
    if model.restitution == 0.0 and times:
        return Outcome(UNFIT, "it stays in contact", model, method, steps)
    coarse, fine = simulated(model, method, steps), simulated(model, method, 2 * steps)
    for answer in (coarse, fine):
        if isinstance(answer, str):
            return Outcome(answer.partition(":")[0], answer, model, method, steps)
    assert isinstance(coarse, Answer)
    assert isinstance(fine, Answer)
    q, v = np.split(y, 2)
    for name, wanted in (("q", q), ("v", v)):
        one, two = coarse.parts[name][-1], fine.parts[name][-1]
        off, between = float(np.max(np.abs(two - wanted))), float(np.max(np.abs(one - two)))
        if not off <= 4 * between + 1e-7:
            detail = f"{method}, {steps} steps against scipy, {len(times)} impacts: {name} = {two} but {wanted}"
            return Outcome(DIFFERS, f"{detail} (off by {off:.2e}, {between:.2e} between runs)", model, method, steps)
    return Outcome(AGREES, f"{len(times)} impacts", model, method, steps, ("events",))


def reduced(outcome: Outcome, again, most: int = 40) -> Outcome:
    """The same failure with as few terms as can be found by leaving out one after the other; `again(model)` judges."""
    tries, smaller = 0, True
    while smaller and tries < most:
        smaller = False
        for part in Model.TERMS:
            terms = getattr(outcome.model, part)
            for k in reversed(range(len(terms))):
                if part == "kinetic" and k == 0:
                    continue
                tries += 1
                less = dataclasses.replace(outcome.model, **{part: terms[:k] + terms[k + 1 :]})
                try:
                    found = again(less)
                except Exception:  # without its constraints a model may be anything
                    continue
                if found.kind == outcome.kind:
                    outcome, terms, smaller = found, getattr(found.model, part), True
    return outcome


#: Kinds of trials, by their names.
TRIALS = {"smooth": smooth_trial, "contact": contact_trial, "large": large_trial, "expression": expression_trial}


def words(detail: str) -> str:
    """A message without its numbers, to count what is refused for one reason."""
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", detail)[:110]


def summary(outcomes: list[Outcome]) -> str:
    """How many trials ended how, and what was refused."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    engines = Counter(engine for outcome in outcomes for engine in outcome.engines)
    refused = Counter(
        f"{outcome.kind}: {words(outcome.detail)}" for outcome in outcomes if outcome.kind in (REFUSED, FAILED, UNFIT)
    )
    lines = [f"{dict(kinds)}, engines {dict(engines)}"]
    return "\n".join(lines + [f"{count:4d} {reason}" for reason, count in refused.most_common()])


if __name__ == "__main__":  # python tests/trust/trials.py KIND SEED
    jax.config.update("jax_enable_x64", True)
    found = TRIALS[sys.argv[1]](int(sys.argv[2]))
    print(found.kind, found.detail, found.script(), sep="\n")
