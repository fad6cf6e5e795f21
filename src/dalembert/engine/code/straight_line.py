"""Straight-line code for a step: one instruction an operation, as small systems want it.

An operation is computed once a run, once a step, or in the Newton loop of its block, whichever its inputs allow.
"""

from __future__ import annotations

import collections
import functools

from ..contract import HISTORY
from ..machine.arithmetic import Arithmetic
from ..program.levels import AT_COMPILATION, FIRST_BLOCK, ONCE_A_RUN, ONCE_A_STEP
from ..program.program import CONST, INPUT
from ..step.step_program import StepProgram
from .loop import StepLoop, added

#: A long sum is taken in so many parts, which do not wait for each other.
SIDE_BY_SIDE = 4


class StepEmitter(StepLoop):
    """Writes the function `run` for one step program."""

    def __init__(self, step: StepProgram, arithmetic: Arithmetic, compensated: bool) -> None:
        super().__init__(arithmetic, compensated, len(step.reduced.blocks), len(step.unknowns), step.functions.smooth)
        self.step, self.lag = step, int(len(step.continued) > 0)
        self.program, self.levels = step.program, step.levels
        self.fixed: dict[int, str] = {}  # operation -> name, where it is computed once (run, step, after its block)
        self._plan()

    # -- what is computed where ---------------------------------------------------------------------------------

    def _plan(self) -> None:
        step, needed, levels = self.step, self.program.needed, self.levels
        blocks = step.reduced.blocks
        self._count_uses()
        beside = step.values[step.remembered[len(step.unknowns) :]].tolist()
        guard = [] if step.guard is None else [step.guard]
        stable: set[int] = set(needed([*step.finish.tolist(), *step.reduced.growth, *beside, *guard]))
        self.loop: list[list[int]] = []
        for b, block in enumerate(blocks):
            nodes = needed([*block.update, *block.growth])
            self.loop.append([k for k in nodes if levels[k] == FIRST_BLOCK + b])
            stable |= {k for k in nodes if levels[k] < FIRST_BLOCK + b}
        guess = needed(step.guess.tolist())
        stable |= {k for k in guess if levels[k] <= ONCE_A_RUN}
        self.guess_only = [k for k in guess if levels[k] == ONCE_A_STEP and k not in stable]
        self.continuation = needed(step.continued.tolist())
        stable |= {k for k in self.continuation if levels[k] <= ONCE_A_RUN}
        doubt = [] if step.misled is None else needed([step.misled])
        stable |= {k for k in doubt if levels[k] <= ONCE_A_RUN}
        self.doubt_only = [k for k in doubt if k not in stable]
        self.stable: dict[int, list[int]] = {}
        for k in sorted(stable):
            self.stable.setdefault(levels[k], []).append(k)

    def _count_uses(self) -> None:
        """How often each operation is used, by others or as a result."""
        step, blocks = self.step, self.step.reduced.blocks
        results = [*step.finish.tolist(), *step.guess.tolist(), *step.reduced.growth]
        results += [node for block in blocks for node in (*block.update, *block.growth)]
        results += [node for node in (step.misled, step.guard) if node is not None]
        results += step.values[step.remembered[len(step.unknowns) :]].tolist()
        results += step.continued.tolist()
        used = [a for node in self.program.needed(results) for a in self.program.args[node]]
        self.uses = collections.Counter(used + results)

    def _value(self, node: int, names: dict[int, str]) -> str:
        if self.levels[node] == AT_COMPILATION:
            number = self.program.value[node] if self.program.op[node] == CONST else None
            if isinstance(number, bool):
                return self.arithmetic.truth_constant(number)
            if number is not None:
                return self.arithmetic.constant(number)
        return names[node]

    def _compute(self, nodes: list[int], names: dict[int, str]) -> None:
        """Emit operations in order; `names` holds what is known and grows. A product that only one sum uses is a part
        of it: one instruction, and one rounding."""
        op, args = self.program.op, self.program.args
        here = {node for node in nodes if op[node] not in (CONST, INPUT) and node not in names}
        inside: dict[int, int] = {}  # sum -> product
        for node in nodes:
            if node in here and op[node] in ("add", "sub"):
                products = [a for a in args[node] if op[a] == "mul" and a in here and self.uses[a] == 1]
                inside.update({node: products[0]} if products else {})
        parts = set(inside.values())
        for node in nodes:
            if node in here and node not in parts:
                values = [self._value(a, names) for a in args[node] if a not in parts or inside.get(node) != a]
                if node not in inside:
                    names[node] = self.w.operation(op[node], values)
                    continue
                a, b = (self._value(factor, names) for factor in args[inside[node]])
                (c,) = values
                if op[node] == "sub" and inside[node] == args[node][0]:
                    c = self.w.negative(c)
                elif op[node] == "sub":
                    a = self.w.negative(a)
                names[node] = self.w.product_sum(a, b, c)

    # -- parts of the function ----------------------------------------------------------------------------------

    def begin_run(self) -> None:
        w, step = self.w, self.step
        self.fixed[int(step.inputs.h)] = self.h
        for k, node in enumerate(step.inputs.parameters.tolist()):
            self.fixed[node] = w.load("%parameters", k)
        self._compute(self.stable.get(ONCE_A_RUN, []), self.fixed)
        self.x = {j: w.new(f"alloca {self.arithmetic.number}") for j in step.unknowns}
        self.foreseen = {j: w.new(f"alloca {self.arithmetic.number}") for j in step.unknowns if self.lag}

    def begin_step(self, t: str) -> None:
        w, step = self.w, self.step
        self.fixed[int(step.inputs.t)] = t
        self.state = [w.load("%state", k) for k in range(step.functions.n_state)]
        self.fixed.update(zip(step.inputs.state.tolist(), self.state, strict=True))
        self._compute(self.stable.get(ONCE_A_STEP, []), self.fixed)

    def guess(self) -> None:
        names = dict(self.fixed)
        self._compute(self.guess_only, names)
        kind = self.arithmetic.number
        for j, node in zip(self.step.unknowns, self.step.guess.tolist(), strict=True):
            self.w.put(f"store {kind} {self._value(node, names)}, ptr {self.x[j]}")
            if self.lag:
                self.w.put(f"store {kind} {self.arithmetic.constant(0.0)}, ptr {self.foreseen[j]}")

    def extrapolate(self, weights: list[str]) -> None:
        """The history as a polynomial in the number of the step. Where the step is continued by N, the newest row holds
        x_{n-1} and the others by how much N missed, e_k = x_k - N x_{k-1}; they change slowly, so that x_n begins from
        N x_{n-1} + (e_{n-1}, e_{n-2}, ... extrapolated)."""
        w, kind, width = self.w, self.arithmetic.number, len(self.step.remembered)
        continued = self._continued() if self.lag else {}
        for position, j in enumerate(self.step.unknowns):
            first = self.lag * width + position
            past = [w.load("%history", first + k * width) for k in range(HISTORY - self.lag)]
            if self.lag:
                w.put(f"store {kind} {continued[j]}, ptr {self.foreseen[j]}")
                total = w.product_sum(weights[0], past[0], continued[j])
            else:
                total = w.binary("mul", weights[0], past[0])
            for k in range(1, len(past)):
                total = w.product_sum(weights[k], past[k], total)
            w.put(f"store {kind} {total}, ptr {self.x[j]}")

    def _continued(self) -> dict[int, str]:
        """N x_{n-1}, of the unknowns that Newton finds."""
        step, names = self.step, dict(self.fixed)
        for position, j in enumerate(step.remembered):
            names[int(step.inputs.x[j])] = self.w.load("%history", position)
        self._compute(self.continuation, names)
        return {j: self._value(node, names) for j, node in zip(step.unknowns, step.continued.tolist(), strict=True)}

    def iterate(self, block: int, active: str) -> tuple[str, str]:
        w, arithmetic, equations = self.w, self.arithmetic, self.step.reduced.blocks[block]
        kind = arithmetic.number
        names = dict(self.fixed)
        current = {j: w.new(f"load {kind}, ptr {self.x[j]}") for j in equations.unknowns}
        names.update({int(self.step.inputs.x[j]): current[j] for j in equations.unknowns})
        self._compute(self.loop[block], names)
        sizes, bad = [arithmetic.constant(0.0)], arithmetic.truth_constant(False)
        positions = {j: k for k, j in enumerate(self.step.unknowns)}
        for j, node in zip(equations.unknowns, equations.update, strict=True):
            change = self._value(node, names)
            new = w.binary("sub", current[j], change)
            w.put(f"store {kind} {w.choose(active, new, current[j])}, ptr {self.x[j]}")
            scaled = w.binary("mul", w.absolute(change), w.load("%weights", positions[j]))
            sizes.append(scaled)
            bad = w.logic("or", bad, w.compare("uno", scaled, scaled))
        changing = [node for node in equations.growth if self.levels[node] == FIRST_BLOCK + block]
        self.watch([self._value(node, names) for node in changing])
        return w.largest(sizes), bad

    def settle(self, block: int) -> None:
        for j in self.step.reduced.blocks[block].unknowns:
            value = self.w.new(f"load {self.arithmetic.number}, ptr {self.x[j]}")
            self.fixed[int(self.step.inputs.x[j])] = value
        self._compute(self.stable.get(FIRST_BLOCK + block, []), self.fixed)

    def advance(self) -> str:
        w, step, constant = self.w, self.step, self.arithmetic.constant
        direct = [node for node in step.reduced.growth if self.levels[node] > AT_COMPILATION]
        self.watch([self._value(node, self.fixed) for node in direct])
        outputs = [self._value(node, self.fixed) for node in step.finish.tolist()]
        self.fresh, self.errors, probes = [], [], [constant(0.0)] * SIDE_BY_SIDE
        for k, value in enumerate(outputs):
            if k < step.functions.n_summed:
                value, error = added(w, self.state[k], value, w.load("%compensation", k) if self.compensated else None)
                self.errors += [error] if error is not None else []
            self.fresh.append(value)
            own = k % SIDE_BY_SIDE
            probes[own] = w.product_sum(value, constant(0.0), probes[own])
        return w.compare("oeq", functools.reduce(functools.partial(w.binary, "add"), probes), constant(0.0))

    def misled(self) -> str | None:
        if self.step.misled is None:
            return None
        names = dict(self.fixed)
        self._compute(self.doubt_only, names)
        return self._value(self.step.misled, names)

    def guarded(self) -> str | None:
        return None if self.step.guard is None else self._value(self.step.guard, self.fixed)

    def accept(self, good: str) -> None:
        w = self.w
        for k, value in enumerate(self.fresh):
            w.store(w.choose(good, value, self.state[k]) if self.arithmetic.width > 1 else value, "%state", k)
        for k, value in enumerate(self.errors):
            w.store(value, "%compensation", k)

    def leave(self) -> None:
        """Nothing: the state is stored where it is accepted."""

    def remember(self) -> None:
        w, step, kind = self.w, self.step, self.arithmetic.number
        width = len(step.remembered)
        for position, j in enumerate(step.unknowns):
            for k in range(HISTORY - 1, self.lag, -1):
                newer = w.load("%history", (k - 1) * width + position)
                w.store(newer, "%history", k * width + position)
            solution = w.new(f"load {kind}, ptr {self.x[j]}")
            if self.lag:
                missed = w.binary("sub", solution, w.new(f"load {kind}, ptr {self.foreseen[j]}"))
                w.store(missed, "%history", width + position)
            w.store(solution, "%history", position)
        for position, j in enumerate(step.remembered[len(step.unknowns) :], len(step.unknowns)):
            w.store(self._value(int(step.values[j]), self.fixed), "%history", position)

    def save(self, row: str) -> None:
        w, saved = self.w, self.step.functions.saved
        first = w.new(f"mul i64 {row}, {saved}")
        for k in range(saved):
            w.store(w.load("%state", k), "%saved", w.new(f"add i64 {first}, {k}"))
