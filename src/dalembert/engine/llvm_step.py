"""The step loop in LLVM: guess, Newton on each block, finish, compensated summation, saving.

One function `run`, everything mutable behind pointers:

    numbers: time = (t0, h), state, compensation, history, contraction, parameters, weights (1 / scale of each Newton
             unknown, and the growth that is too much), table (extrapolation), saved, last (update of the last
             iteration, growth; for lanes also whether and after how many steps they failed)
    integers: counters = (known, step, saved count, status), iterations, worst

An operation is computed once a run, once a step, or in the Newton loop of its block, whichever its inputs allow.
"""

from __future__ import annotations

from .contract import (
    HISTORY,
    MAX_ITERATIONS,
    NOT_CONVERGED,
    NOT_FINITE,
    ROUGH_ITERATIONS,
    SINGULAR,
    TOLERANCE,
)
from .elimination import AT_COMPILATION, FIRST_BLOCK, ONCE_A_RUN, ONCE_A_STEP
from .llvm_arithmetic import Arithmetic, Writer
from .program import CONST, INPUT
from .step_program import StepProgram

#: kappa follows a larger measurement at once and a smaller one slowly
KAPPA_MEMORY = 0.9
_POINTERS = (
    *(
        "time",
        "state",
        "compensation",
        "history",
        "contraction",
        "parameters",
        "weights",
        "table",
        "saved",
        "last",
    ),
    *("counters", "iterations", "worst"),
)


class StepEmitter:
    """Writes the function `run` for one step program."""

    def __init__(self, step: StepProgram, arithmetic: Arithmetic, compensated: bool) -> None:
        self.step, self.compensated = step, compensated
        self.program, self.levels = step.program, step.levels
        self.w = Writer(arithmetic)
        self.arithmetic = arithmetic
        self.eps = 2.0**-11 if arithmetic.extended else 1.0  # roundoff relative to that of float64
        self.fixed: dict[int, str] = {}  # operation -> name, where it is computed once (run, step, after its block)

    def text(self) -> str:
        """The whole module."""
        self._plan()
        self._entry()
        self._step_begin()
        for b in range(len(self.step.reduced.blocks)):
            self._newton(b)
        self._finish()
        arguments = ", ".join(f"ptr noalias %{name}" for name in _POINTERS)
        body = "\n".join(self.w.lines)
        declarations = "\n".join(sorted(self.w.declarations))
        return f"{declarations}\n\ndefine void @run({arguments}, i64 %steps, i64 %every) {{\n{body}\n}}\n"

    # -- what is computed where ---------------------------------------------------------------------------------

    def _plan(self) -> None:
        step, needed, levels = self.step, self.program.needed, self.levels
        blocks = step.reduced.blocks
        stable: set[int] = set(needed([*step.finish.tolist(), *step.reduced.growth]))
        self.loop: list[list[int]] = []
        for b, block in enumerate(blocks):
            nodes = needed([*block.update, *block.growth])
            self.loop.append([k for k in nodes if levels[k] == FIRST_BLOCK + b])
            stable |= {k for k in nodes if levels[k] < FIRST_BLOCK + b}
        guess = needed(step.guess.tolist())
        stable |= {k for k in guess if levels[k] <= ONCE_A_RUN}
        self.guess_only = [k for k in guess if levels[k] == ONCE_A_STEP and k not in stable]
        self.stable: dict[int, list[int]] = {}
        for k in sorted(stable):
            self.stable.setdefault(levels[k], []).append(k)

    def _value(self, node: int, names: dict[int, str]) -> str:
        if self.levels[node] == AT_COMPILATION:
            number = self.program.value[node] if self.program.op[node] == CONST else None
            if isinstance(number, bool):
                return self.arithmetic.truth_constant(number)
            if number is not None:
                return self.arithmetic.constant(number)
        return names[node]

    def _compute(self, nodes: list[int], names: dict[int, str]) -> None:
        """Emit operations in order; `names` holds what is known and grows."""
        op, args = self.program.op, self.program.args
        for node in nodes:
            if op[node] in (CONST, INPUT) or node in names:
                continue
            names[node] = self.w.operation(op[node], [self._value(a, names) for a in args[node]])

    # -- parts of the function ------------------------------------------------------------------------------------

    def _entry(self) -> None:
        w, step = self.w, self.step
        kind = self.arithmetic.number
        w.label("entry")
        self.t0, self.h = w.load("%time", 0), w.load("%time", 1)
        self.fixed[int(step.inputs.h)] = self.h
        for k, node in enumerate(step.inputs.parameters.tolist()):
            self.fixed[node] = w.load("%parameters", k)
        self._compute(self.stable.get(ONCE_A_RUN, []), self.fixed)
        self.x = {j: w.new(f"alloca {kind}") for j in step.unknowns}
        self.count, self.update, self.alive = (
            w.new("alloca i64"),
            w.new(f"alloca {kind}"),
            w.new(f"alloca {self.arithmetic.truth}"),
        )
        self.before, self.growth, self.total = (
            w.new(f"alloca {kind}"),
            w.new(f"alloca {kind}"),
            w.new("alloca i64"),
        )
        self.active = w.new(f"alloca {self.arithmetic.truth}")
        self.left, self.todo = w.new("alloca i64"), w.new("alloca i64")
        alive = self.arithmetic.truth_constant(True)
        if self.arithmetic.width > 1:  # lanes that failed before stay where they are
            alive = w.compare("oeq", w.load("%last", 2), self.arithmetic.constant(0.0))
        w.put(f"store {self.arithmetic.truth} {alive}, ptr {self.alive}")
        done = self._counter(1)
        phase = w.new(f"urem i64 {done}, %every")
        w.put(f"store i64 {w.new(f'sub i64 %every, {phase}')}, ptr {self.left}")
        w.put(f"store i64 %steps, ptr {self.todo}")
        w.put("br label %again")
        w.label("again")
        remaining = w.new(f"load i64, ptr {self.todo}")
        w.put(f"br i1 {w.new(f'icmp sgt i64 {remaining}, 0')}, label %begin, label %exit")
        w.label("exit")
        w.put("ret void")

    def _counter(self, index: int) -> str:
        place = self.w.new(f"getelementptr i64, ptr %counters, i64 {index}")
        return self.w.new(f"load i64, ptr {place}")

    def _set_counter(self, index: int, value: str) -> None:
        place = self.w.new(f"getelementptr i64, ptr %counters, i64 {index}")
        self.w.put(f"store i64 {value}, ptr {place}")

    def _step_begin(self) -> None:
        w, step, arithmetic = self.w, self.step, self.arithmetic
        kind = arithmetic.number
        w.label("begin")
        number = w.new(f"sitofp i64 {self._counter(1)} to {arithmetic.scalar}")
        if arithmetic.width > 1:
            first = w.new(f"insertelement {kind} poison, double {number}, i32 0")
            number = w.new(f"shufflevector {kind} {first}, {kind} poison, <{arithmetic.width} x i32> zeroinitializer")
        self.step_number = number
        t = w.binary("add", self.t0, w.binary("mul", number, self.h))
        self.fixed[int(step.inputs.t)] = t
        self.state = [w.load("%state", k) for k in range(step.functions.n_state)]
        self.fixed.update(zip(step.inputs.state.tolist(), self.state, strict=True))
        self._compute(self.stable.get(ONCE_A_STEP, []), self.fixed)
        w.put(f"store i64 0, ptr {self.total}")
        w.put(f"store {kind} {arithmetic.constant(0.0)}, ptr {self.growth}")
        w.put(f"store {kind} {arithmetic.constant(0.0)}, ptr {self.update}")
        known = self._counter(0)
        self.known = known
        w.put(f"br i1 {w.new(f'icmp sge i64 {known}, 2')}, label %extrapolate, label %guess")
        w.label("guess")
        names = dict(self.fixed)
        self._compute(self.guess_only, names)
        for j, node in zip(step.unknowns, step.guess.tolist(), strict=True):
            w.put(f"store {kind} {self._value(node, names)}, ptr {self.x[j]}")
        w.put("br label %newton0")
        w.label("extrapolate")
        row = w.new(f"mul i64 {known}, {HISTORY}")
        weights = [w.load("%table", w.new(f"add i64 {row}, {k}")) for k in range(HISTORY)]
        for position, j in enumerate(step.unknowns):
            past = [w.load("%history", k * len(step.unknowns) + position) for k in range(HISTORY)]
            total = w.binary("mul", weights[0], past[0])
            for k in range(1, HISTORY):
                total = w.binary("add", total, w.binary("mul", weights[k], past[k]))
            w.put(f"store {kind} {total}, ptr {self.x[j]}")
        w.put("br label %newton0")

    def _newton(self, b: int) -> None:
        """Newton on block b. With d the scaled update and kappa = d_new / d_old^2 as measured, the error left after
        an update is about kappa d^2; the loop ends when that is below the tolerance, so that no iteration is spent on
        confirming convergence."""
        w, arithmetic, block = self.w, self.arithmetic, self.step.reduced.blocks[b]
        kind, truth, constant = arithmetic.number, arithmetic.truth, arithmetic.constant
        next_label = f"newton{b + 1}"
        w.label(f"newton{b}")
        w.put(f"store i64 0, ptr {self.count}")
        w.put(f"store {kind} {constant(0.0)}, ptr {self.before}")
        alive = w.new(f"load {truth}, ptr {self.alive}")
        w.put(f"store {truth} {alive}, ptr {self.active}")
        w.put(f"br label %iterate{b}")
        w.label(f"iterate{b}")
        index_of = {j: int(self.step.inputs.x[j]) for j in block.unknowns}
        names = dict(self.fixed)
        current = {j: w.new(f"load {kind}, ptr {self.x[j]}") for j in block.unknowns}
        names.update({index_of[j]: current[j] for j in block.unknowns})
        self._compute(self.loop[b], names)
        active = w.new(f"load {truth}, ptr {self.active}")
        d, bad = constant(0.0), arithmetic.truth_constant(False)
        positions = {j: k for k, j in enumerate(self.step.unknowns)}
        for j, node in zip(block.unknowns, block.update, strict=True):
            change = self._value(node, names)
            new = w.binary("sub", current[j], change)
            w.put(f"store {kind} {w.choose(active, new, current[j])}, ptr {self.x[j]}")
            scaled = w.binary("mul", w.absolute(change), w.load("%weights", positions[j]))
            d = w.larger(scaled, d)
            bad = w.logic("or", bad, w.compare("uno", scaled, scaled))
        self._watch([self._value(node, names) for node in block.growth if self.levels[node] == FIRST_BLOCK + b])
        k = w.new(f"add i64 {w.new(f'load i64, ptr {self.count}')}, 1")
        w.put(f"store i64 {k}, ptr {self.count}")
        before = w.new(f"load {kind}, ptr {self.before}")
        # kappa: measured from two updates of one step where the first is above the noise, else carried along
        kappa = w.load("%contraction", b)
        measurable = w.compare("ogt", before, constant(1e-9 * self.eps))
        ratio = w.binary("div", w.larger(d, constant(1e-16 * self.eps)), w.binary("mul", before, before))
        at_noise = w.compare("olt", d, constant(1e-13 * self.eps))
        smaller = w.choose(w.compare("olt", ratio, kappa), ratio, kappa)
        measured = w.larger(w.choose(at_noise, smaller, ratio), w.binary("mul", constant(KAPPA_MEMORY), kappa))
        second = w.compare("ogt", before, constant(0.0))
        kappa = w.choose(w.logic("and", w.logic("and", second, measurable), active), measured, kappa)
        w.store(kappa, "%contraction", b)
        left = w.binary("mul", w.binary("mul", d, d), kappa)
        converged = w.logic(
            "and", w.compare("ole", left, constant(TOLERANCE * self.eps)), w.compare("ole", d, constant(1e-3))
        )
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
        for j in block.unknowns:
            self.fixed[index_of[j]] = w.new(f"load {kind}, ptr {self.x[j]}")
        self._compute(self.stable.get(FIRST_BLOCK + b, []), self.fixed)
        w.put(f"br label %{next_label}")

    def _watch(self, multipliers: list[str]) -> None:
        """Remember the largest multiplier of the eliminations in this step."""
        if not multipliers:
            return
        w, kind = self.w, self.arithmetic.number
        largest = w.new(f"load {kind}, ptr {self.growth}")
        for name in multipliers:
            largest = w.larger(w.absolute(name), largest)
        w.put(f"store {kind} {largest}, ptr {self.growth}")

    def _finish(self) -> None:
        w, step, arithmetic = self.w, self.step, self.arithmetic
        kind, truth, constant = arithmetic.number, arithmetic.truth, arithmetic.constant
        w.label(f"newton{len(step.reduced.blocks)}")
        direct = [node for node in step.reduced.growth if self.levels[node] > AT_COMPILATION]
        self._watch([self._value(node, self.fixed) for node in direct])
        outputs = [self._value(node, self.fixed) for node in step.finish.tolist()]
        n_summed = step.functions.n_summed
        fresh, errors, probe = [], [], constant(0.0)
        for k, value in enumerate(outputs):
            if k < n_summed:
                increment = value
                if self.compensated:
                    increment = w.binary("add", value, w.load("%compensation", k), exact=True)
                old = self.state[k]
                total = w.binary("add", old, increment, exact=True)
                if self.compensated:
                    part = w.binary("sub", total, old, exact=True)
                    low = w.binary("sub", old, w.binary("sub", total, part, exact=True), exact=True)
                    errors.append(w.binary("add", low, w.binary("sub", increment, part, exact=True), exact=True))
                value = total
            fresh.append(value)
            probe = w.binary("add", probe, w.binary("mul", value, constant(0.0)))
        finite = w.compare("oeq", probe, constant(0.0))
        alive = w.new(f"load {truth}, ptr {self.alive}")
        growth = w.new(f"load {kind}, ptr {self.growth}")
        calm = w.compare("ole", growth, w.load("%weights", len(step.unknowns)))
        good = w.logic("and", w.logic("and", alive, finite), calm)
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
            self._set_counter(3, code)
            w.put("ret void")
            w.label("accept")
        else:
            self._mark_failed(good)
        for k, value in enumerate(fresh):
            w.store(w.choose(good, value, self.state[k]) if arithmetic.width > 1 else value, "%state", k)
        for k, value in enumerate(errors):
            w.store(value, "%compensation", k)
        self._remember()
        self._save(good)

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

    def _remember(self) -> None:
        """Shift the history and store the newest solution."""
        w, unknowns, kind = self.w, self.step.unknowns, self.arithmetic.number
        for position, j in enumerate(unknowns):
            for k in range(HISTORY - 1, 0, -1):
                w.store(
                    w.load("%history", (k - 1) * len(unknowns) + position),
                    "%history",
                    k * len(unknowns) + position,
                )
            w.store(w.new(f"load {kind}, ptr {self.x[j]}"), "%history", position)
        more = w.new(f"add i64 {self.known}, 1")
        full = w.new(f"icmp slt i64 {more}, {HISTORY}")
        more = w.new(f"select i1 {full}, i64 {more}, i64 {HISTORY}")
        total = w.new(f"load i64, ptr {self.total}")
        rough = w.new(f"icmp sgt i64 {total}, {ROUGH_ITERATIONS * max(1, len(self.step.reduced.blocks))}")
        self._set_counter(0, w.new(f"select i1 {rough}, i64 1, i64 {more}"))

    def _save(self, good: str) -> None:
        w, step = self.w, self.step
        done = self._counter(1)
        self._set_counter(1, w.new(f"add i64 {done}, 1"))
        remaining = w.new(f"load i64, ptr {self.todo}")
        w.put(f"store i64 {w.new(f'sub i64 {remaining}, 1')}, ptr {self.todo}")
        saved = self._counter(2)
        total = w.new(f"load i64, ptr {self.total}")
        place = w.new(f"getelementptr i64, ptr %iterations, i64 {saved}")
        sum_before = w.new(f"load i64, ptr {place}")
        w.put(f"store i64 {w.new(f'add i64 {sum_before}, {total}')}, ptr {place}")
        place = w.new(f"getelementptr i64, ptr %worst, i64 {saved}")
        worst = w.new(f"load i64, ptr {place}")
        more = w.new(f"icmp sgt i64 {total}, {worst}")
        w.put(f"store i64 {w.new(f'select i1 {more}, i64 {total}, i64 {worst}')}, ptr {place}")
        left = w.new(f"sub i64 {w.new(f'load i64, ptr {self.left}')}, 1")
        w.put(f"store i64 {left}, ptr {self.left}")
        w.put(f"br i1 {w.new(f'icmp eq i64 {left}, 0')}, label %save, label %again")
        w.label("save")
        w.put(f"store i64 %every, ptr {self.left}")
        row = w.new(f"mul i64 {saved}, {step.functions.n_state}")
        for k in range(step.functions.n_state):
            w.store(w.load("%state", k), "%saved", w.new(f"add i64 {row}, {k}"))
        self._set_counter(2, w.new(f"add i64 {saved}, 1"))
        w.put("br label %again")
