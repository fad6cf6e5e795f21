"""The loop over steps in LLVM: guess, Newton on each block, acceptance, saving. How a step is computed is left open.

One function `run`, everything mutable behind pointers:

    numbers: time = (t0, h), state, compensation, history, contraction, parameters, weights (1 / scale of each Newton
             unknown, and the growth that is too much), table (extrapolation), saved, last (update of the last
             iteration, growth; for lanes also whether and after how many steps they failed)
    integers: counters = (known, step, saved count, status), iterations, worst

Two kinds of code fill it in: straight lines, one instruction an operation (`llvm_step.py`), and loops over operations
that look alike (`llvm_rolled.py`).
"""

from __future__ import annotations

import abc

from ..contract import (
    FIRST_CONTRACTION,
    GUARDED,
    HISTORY,
    MAX_ITERATIONS,
    NOT_CONVERGED,
    NOT_FINITE,
    ROUGH_ITERATIONS,
    SINGULAR,
    TOLERANCE,
)
from ..machine.arithmetic import Arithmetic, Writer

#: kappa follows a larger measurement at once and a smaller one slowly
KAPPA_MEMORY, KAPPA_RETURN = 0.998, 0.9
#: Where a residual has kinks, Newton stops when the update itself is this small.
KINKED_TOLERANCE = 1e-14
#: A solution within so much of the extrapolated one, in units of the unknowns' scales, is the one meant: another one
#: lies farther away than the unknowns are large.
NEAR = 0.01
#: The same where the polynomial of the step before is continued, which begins closer, also to a solution not meant.
NEAR_ON_A_POLYNOMIAL = 0.001
#: Newton that moved so far, in the same units, may have come to any solution, also to one whose determinant has the
#: sign of the one meant: such a step is followed from small ones.
FAR = 10.0
POINTERS = (
    "time", "state", "compensation", "history", "contraction", "parameters", "weights", "table", "saved", "last",
    "counters", "iterations", "worst",
)  # fmt: skip


class StepLoop(abc.ABC):
    """Writes the function `run`; what depends on the step program is written by the methods below."""

    pointers: tuple[str, ...] = POINTERS
    linkage = "void"
    contract = False  # whether LLVM chooses the products that become part of an addition
    lag = 0  # the newest row of the history is no value that is extrapolated, but what such values are added to

    def __init__(
        self, arithmetic: Arithmetic, compensated: bool, blocks: int, unknowns: int, smooth: bool = True
    ) -> None:
        self.arithmetic, self.compensated, self.smooth = arithmetic, compensated, smooth
        self.n_blocks, self.n_unknowns = blocks, unknowns
        self.w = Writer(arithmetic, contract=self.contract)
        self.eps = 2.0**-11 if arithmetic.extended else 1.0  # roundoff relative to that of float64

    # -- the step -----------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin_run(self) -> None:
        """What is known once a run; storage for the unknowns."""

    @abc.abstractmethod
    def begin_step(self, t: str) -> None:
        """What is known from the state."""

    @abc.abstractmethod
    def guess(self) -> None:
        """The unknowns as the method guesses them."""

    @abc.abstractmethod
    def extrapolate(self, weights: list[str]) -> None:
        """The unknowns from the history."""

    @abc.abstractmethod
    def iterate(self, block: int, active: str) -> tuple[str, str]:
        """One Newton update of a block where `active`; its scaled size, and whether it is not a number."""

    def linear(self, block: int) -> bool:
        """Whether a block is linear in its own unknowns: an update leaves the roundoff of its own size."""
        return False

    @abc.abstractmethod
    def settle(self, block: int) -> None:
        """What is known once a block is solved."""

    @abc.abstractmethod
    def advance(self) -> str:
        """The new state, not stored yet; whether it is finite."""

    def misled(self) -> str | None:
        """Whether Newton found a solution that is not the one meant; None where there is but one."""
        return None

    def guarded(self) -> str | None:
        """Whether something happens inside the step, so that it is not to be taken; None where nobody asks."""
        return None

    @abc.abstractmethod
    def accept(self, good: str) -> None:
        """Store the new state."""

    @abc.abstractmethod
    def leave(self) -> None:
        """What is to be done before the function returns."""

    @abc.abstractmethod
    def remember(self) -> None:
        """Shift the history and store the newest solution."""

    @abc.abstractmethod
    def save(self, row: str) -> None:
        """Copy the state to the saved states, row `row`."""

    # -- around it ----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole module."""
        self._entry()
        self._begin()
        for b in range(self.n_blocks):
            self._newton(b)
        self._finish()
        arguments = ", ".join(f"ptr noalias %{name}" for name in self.pointers)
        body = "\n".join(self.w.lines)
        declarations = "\n".join(sorted(self.w.declarations))
        return f"{declarations}\n\ndefine {self.linkage} @run({arguments}, i64 %steps, i64 %every) {{\n{body}\n}}\n"

    def _entry(self) -> None:
        w = self.w
        kind, truth = self.arithmetic.number, self.arithmetic.truth
        w.label("entry")
        self.t0, self.h = w.load("%time", 0), w.load("%time", 1)
        self.begin_run()
        self.count, self.update, self.alive = (w.new(f"alloca {one}") for one in ("i64", kind, truth))
        self.before, self.growth, self.total = (w.new(f"alloca {one}") for one in (kind, kind, "i64"))
        self.active, self.wrong = w.new(f"alloca {truth}"), w.new(f"alloca {truth}")
        self.moved = w.new(f"alloca {kind}")
        self.left, self.todo = w.new("alloca i64"), w.new("alloca i64")
        alive = self.arithmetic.truth_constant(True)
        if self.arithmetic.width > 1:  # lanes that failed before stay where they are
            alive = w.compare("oeq", w.load("%last", 2), self.arithmetic.constant(0.0))
        w.put(f"store {truth} {alive}, ptr {self.alive}")
        done = self._counter(1)
        phase = w.new(f"urem i64 {done}, %every")
        w.put(f"store i64 {w.new(f'sub i64 %every, {phase}')}, ptr {self.left}")
        w.put(f"store i64 %steps, ptr {self.todo}")
        w.put("br label %again")
        w.label("again")
        remaining = w.new(f"load i64, ptr {self.todo}")
        w.put(f"br i1 {w.new(f'icmp sgt i64 {remaining}, 0')}, label %begin, label %exit")
        w.label("exit")
        self.leave()
        w.put("ret void")

    def _counter(self, index: int) -> str:
        place = self.w.new(f"getelementptr i64, ptr %counters, i64 {index}")
        return self.w.new(f"load i64, ptr {place}")

    def _set_counter(self, index: int, value: str) -> None:
        place = self.w.new(f"getelementptr i64, ptr %counters, i64 {index}")
        self.w.put(f"store i64 {value}, ptr {place}")

    def _begin(self) -> None:
        w, arithmetic = self.w, self.arithmetic
        kind = arithmetic.number
        w.label("begin")
        self.step_number = w.splat(w.new(f"sitofp i64 {self._counter(1)} to {arithmetic.scalar}"))
        self.begin_step(w.binary("add", self.t0, w.binary("mul", self.step_number, self.h)))
        w.put(f"store i64 0, ptr {self.total}")
        w.put(f"store {kind} {arithmetic.constant(0.0)}, ptr {self.growth}")
        w.put(f"store {kind} {arithmetic.constant(0.0)}, ptr {self.update}")
        w.put(f"store {kind} {arithmetic.constant(0.0)}, ptr {self.moved}")
        self.known = self._counter(0)
        w.put(f"br i1 {w.new(f'icmp sge i64 {self.known}, {2 - self.lag}')}, label %extrapolate, label %guess")
        w.label("guess")
        self.guess()
        w.put("br label %newton0")
        w.label("extrapolate")
        row = w.new(f"mul i64 {w.new(f'sub i64 {self.known}, {self.lag}')}, {HISTORY}")
        self.extrapolate([w.load("%table", w.new(f"add i64 {row}, {k}")) for k in range(HISTORY)])
        w.put("br label %newton0")

    def _newton(self, b: int) -> None:
        """Newton on block b. With d the scaled update and kappa = d_new / d_old^2 as measured, the error left after
        an update is about kappa d^2; the loop ends when that is below the tolerance, so that no iteration is spent on
        confirming convergence."""
        w, arithmetic = self.w, self.arithmetic
        kind, truth, constant = arithmetic.number, arithmetic.truth, arithmetic.constant
        w.label(f"newton{b}")
        w.put(f"store i64 0, ptr {self.count}")
        w.put(f"store {kind} {constant(0.0)}, ptr {self.before}")
        alive = w.new(f"load {truth}, ptr {self.alive}")
        w.put(f"store {truth} {alive}, ptr {self.active}")
        w.put(f"br label %iterate{b}")
        w.label(f"iterate{b}")
        active = w.new(f"load {truth}, ptr {self.active}")
        d, bad = self.iterate(b, active)
        farthest = w.larger(d, w.new(f"load {kind}, ptr {self.moved}"))
        w.put(f"store {kind} {farthest}, ptr {self.moved}")
        k = w.new(f"add i64 {w.new(f'load i64, ptr {self.count}')}, 1")
        w.put(f"store i64 {k}, ptr {self.count}")
        before = w.new(f"load {kind}, ptr {self.before}")
        second = w.compare("ogt", before, constant(0.0))
        kappa = self._contraction(b, d, before, w.logic("and", second, active))
        left = w.binary("mul", w.binary("mul", d, d), kappa)
        converged = w.logic(
            "and", w.compare("ole", left, constant(TOLERANCE * self.eps)), w.compare("ole", d, constant(1e-3))
        )
        if self.linear(b):
            converged = w.compare("ole", d, constant(1e-3))
        if not self.smooth:  # behind a kink the next update may be as large as this one
            converged = w.compare("ole", d, constant(KINKED_TOLERANCE * self.eps))
        slow = w.compare("ogt", d, w.binary("mul", constant(0.5), before))
        stagnant = w.logic("and", w.logic("and", second, slow), w.compare("olt", d, constant(1e-10)))
        finished = w.logic("or", w.logic("or", converged, stagnant), bad)
        still = w.logic("and", active, w.logic("xor", finished, arithmetic.truth_constant(True)))
        w.put(f"store {truth} {still}, ptr {self.active}")
        w.put(f"store {kind} {d}, ptr {self.before}")
        last = w.new(f"load {kind}, ptr {self.update}")
        w.put(f"store {kind} {w.choose(active, d, last)}, ptr {self.update}")
        broken = w.logic("xor", w.logic("and", bad, active), arithmetic.truth_constant(True))
        alive = w.logic("and", w.new(f"load {truth}, ptr {self.alive}"), broken)
        w.put(f"store {truth} {alive}, ptr {self.alive}")
        more = w.new(f"and i1 {w.any(still)}, {w.new(f'icmp slt i64 {k}, {MAX_ITERATIONS}')}")
        w.put(f"br i1 {more}, label %iterate{b}, label %solved{b}")
        w.label(f"solved{b}")
        total = w.new(f"add i64 {w.new(f'load i64, ptr {self.total}')}, {w.new(f'load i64, ptr {self.count}')}")
        w.put(f"store i64 {total}, ptr {self.total}")
        open_lanes = w.new(f"load {truth}, ptr {self.active}")
        keep = w.logic("xor", open_lanes, arithmetic.truth_constant(True))
        w.put(f"store {truth} {w.logic('and', w.new(f'load {truth}, ptr {self.alive}'), keep)}, ptr {self.alive}")
        self.settle(b)
        w.put(f"br label %newton{b + 1}")

    def _contraction(self, b: int, d: str, before: str, known: str) -> str:
        """kappa, measured from two updates of one step where both are `known` and the first is above the noise, else
        carried along."""
        w, constant = self.w, self.arithmetic.constant
        kappa = w.load("%contraction", b)
        measurable = w.compare("ogt", before, constant(1e-9 * self.eps))
        ratio = w.binary("div", w.larger(d, constant(1e-16 * self.eps)), w.binary("mul", before, before))
        at_noise = w.compare("olt", d, constant(1e-13 * self.eps))
        smaller = w.choose(w.compare("olt", ratio, kappa), ratio, kappa)
        measured = w.larger(w.choose(at_noise, smaller, ratio), w.binary("mul", constant(KAPPA_MEMORY), kappa))
        # one that asks for a second update where the first was too small to measure it returns to where it began
        first = constant(FIRST_CONTRACTION)
        returning = w.larger(w.binary("mul", constant(KAPPA_RETURN), kappa), first)
        forgotten = w.choose(w.compare("ogt", kappa, first), returning, kappa)
        kappa = w.choose(known, w.choose(measurable, measured, forgotten), kappa)
        w.store(kappa, "%contraction", b)
        return kappa

    def watch(self, multipliers: list[str]) -> None:
        """Remember the largest multiplier of the eliminations in this step."""
        if not multipliers:
            return
        w, kind = self.w, self.arithmetic.number
        before = w.new(f"load {kind}, ptr {self.growth}")
        largest = w.largest([w.absolute(name) for name in multipliers])
        w.put(f"store {kind} {w.larger(largest, before)}, ptr {self.growth}")

    def _finish(self) -> None:
        w, arithmetic = self.w, self.arithmetic
        kind, truth = arithmetic.number, arithmetic.truth
        w.label(f"newton{self.n_blocks}")
        finite = self.advance()
        alive = w.new(f"load {truth}, ptr {self.alive}")
        growth = w.new(f"load {kind}, ptr {self.growth}")
        calm = w.compare("ole", growth, w.load("%weights", self.n_unknowns))
        good = w.logic("and", w.logic("and", alive, finite), calm)
        good = w.logic("and", good, self._meant())
        sound, happens = good, self.guarded()
        if happens is not None:
            good = w.logic("and", good, w.logic("xor", happens, arithmetic.truth_constant(True)))
        w.put(f"store {truth} {good}, ptr {self.alive}")
        last = w.new(f"load {kind}, ptr {self.update}")
        w.store(last, "%last", 0)
        w.store(growth, "%last", 1)
        if arithmetic.width == 1:
            w.put(f"br i1 {good}, label %accept, label %fail")
            w.label("fail")
            broken = w.logic("or", w.compare("uno", last, last), w.logic("xor", finite, "true"))
            code = w.new(f"select i1 {broken}, i64 {NOT_FINITE}, i64 {NOT_CONVERGED}")
            code = w.new(f"select i1 {calm}, i64 {code}, i64 {SINGULAR}")
            if happens is not None:
                code = w.new(f"select i1 {sound}, i64 {GUARDED}, i64 {code}")
            self._set_counter(3, code)
            self.leave()
            w.put("ret void")
            w.label("accept")
        else:
            self._mark_failed(good)
        self.accept(good)
        self.remember()
        self._count_history()
        self._save()

    def _meant(self) -> str:
        """Whether the solution is the one meant. Where it was extrapolated and Newton moved it but little, it goes on
        from the ones before, and is not asked."""
        w, truth = self.w, self.arithmetic.truth
        yes, no = (self.arithmetic.truth_constant(value) for value in (True, False))
        moved = w.new(f"load {self.arithmetic.number}, ptr {self.moved}")
        near = self.arithmetic.constant(NEAR_ON_A_POLYNOMIAL if self.lag else NEAR)
        far = w.any(w.logic("xor", w.compare("ole", moved, near), yes))
        guessed = w.new(f"icmp slt i64 {self.known}, 2")
        w.put(f"store {truth} {no}, ptr {self.wrong}")
        w.put(f"br i1 {w.new(f'or i1 {far}, {guessed}')}, label %doubt, label %judged")
        w.label("doubt")
        wrong, astray = self.misled(), w.compare("ogt", moved, self.arithmetic.constant(FAR))
        if wrong is not None:
            w.put(f"store {truth} {w.logic('or', wrong, astray)}, ptr {self.wrong}")
        w.put("br label %judged")
        w.label("judged")
        return w.logic("xor", w.new(f"load {truth}, ptr {self.wrong}"), yes)

    def _mark_failed(self, good: str) -> None:
        """Lanes that fail in this step: remember that, and after how many steps."""
        w, constant = self.w, self.arithmetic.constant
        failed_before = w.load("%last", 2)
        fresh = w.logic(
            "and",
            w.compare("oeq", failed_before, constant(0.0)),
            w.logic("xor", good, self.arithmetic.truth_constant(True)),
        )
        w.store(w.choose(fresh, constant(1.0), failed_before), "%last", 2)
        w.store(w.choose(fresh, self.step_number, w.load("%last", 3)), "%last", 3)

    def _count_history(self) -> None:
        w = self.w
        more = w.new(f"add i64 {self.known}, 1")
        full = w.new(f"icmp slt i64 {more}, {HISTORY}")
        more = w.new(f"select i1 {full}, i64 {more}, i64 {HISTORY}")
        total = w.new(f"load i64, ptr {self.total}")
        most = ROUGH_ITERATIONS * max(1, self.n_blocks) if self.smooth else -1
        rough = w.new(f"icmp sgt i64 {total}, {most}")
        self._set_counter(0, w.new(f"select i1 {rough}, i64 {1 - self.lag}, i64 {more}"))  # next: the method's guess

    def tally(self, saved: str, total: str) -> None:
        """Count the iterations of this step towards the save to come."""
        w = self.w
        place = w.new(f"getelementptr i64, ptr %iterations, i64 {saved}")
        sum_before = w.new(f"load i64, ptr {place}")
        w.put(f"store i64 {w.new(f'add i64 {sum_before}, {total}')}, ptr {place}")
        place = w.new(f"getelementptr i64, ptr %worst, i64 {saved}")
        worst = w.new(f"load i64, ptr {place}")
        more = w.new(f"icmp sgt i64 {total}, {worst}")
        w.put(f"store i64 {w.new(f'select i1 {more}, i64 {total}, i64 {worst}')}, ptr {place}")

    def _save(self) -> None:
        w = self.w
        done = self._counter(1)
        self._set_counter(1, w.new(f"add i64 {done}, 1"))
        remaining = w.new(f"load i64, ptr {self.todo}")
        w.put(f"store i64 {w.new(f'sub i64 {remaining}, 1')}, ptr {self.todo}")
        saved = self._counter(2)
        self.tally(saved, w.new(f"load i64, ptr {self.total}"))
        left = w.new(f"sub i64 {w.new(f'load i64, ptr {self.left}')}, 1")
        w.put(f"store i64 {left}, ptr {self.left}")
        w.put(f"br i1 {w.new(f'icmp eq i64 {left}, 0')}, label %save, label %again")
        w.label("save")
        w.put(f"store i64 %every, ptr {self.left}")
        self.save(saved)
        self._set_counter(2, w.new(f"add i64 {saved}, 1"))
        w.put("br label %again")


def added(w: Writer, old: str, increment: str, carried: str | None) -> tuple[str, str | None]:
    """old + increment and, with the roundoff `carried` so far, the roundoff to carry on (compensated summation)."""
    if carried is None:
        return w.binary("add", old, increment, exact=True), None
    increment = w.binary("add", increment, carried, exact=True)
    total = w.binary("add", old, increment, exact=True)
    part = w.binary("sub", total, old, exact=True)
    low = w.binary("sub", old, w.binary("sub", total, part, exact=True), exact=True)
    return total, w.binary("add", low, w.binary("sub", increment, part, exact=True), exact=True)
