"""Rolled code for a step: loops over operations that look alike, in vectors, for systems too large for straight lines.

The code does not grow with the length of a chain (only with its logarithm), because elimination halves it in every
round. All numbers lie in one working memory, all places that have no stride in one table; both are handed over. The
last turn of a loop overlaps the one before, so that there is no rest; what a loop writes is never what it reads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..contract import HISTORY, LOOK_ONLY
from ..elimination.array_elimination import ArrayBlock
from ..machine.arithmetic import Arithmetic, Writer
from ..program.array_program import CONST, INPUT, LINEAR
from ..program.levels import AT_COMPILATION, FIRST_BLOCK, ONCE_A_RUN, ONCE_A_STEP
from ..step.array_step import ArrayStep
from .loop import POINTERS, StepLoop, added
from .memory_access import LARGEST_SHUFFLE, WorkingMemory
from .placed_solver import placed_solver
from .schedule import CACHE_LINE, Constant, Expression, Loop, Memory, Operand, Stage, Strided, gathered, runs_of

#: loops of one length that become one; LLVM takes very long for bodies of thousands of lines
MOST_TOGETHER = 100


class RolledEmitter(WorkingMemory, StepLoop):
    """Writes the function `run` with two more pointers: the working memory and the table of places."""

    pointers = (*POINTERS, "work", "places")
    contract = True

    def __init__(self, step: ArrayStep, arithmetic: Arithmetic, compensated: bool, width: int) -> None:
        super().__init__(arithmetic, compensated, len(step.reduced.blocks), len(step.unknowns), step.functions.smooth)
        self.step, self.functions = step, step.functions
        self._width = 1 if arithmetic.extended else width
        self._lanes = Writer(Arithmetic(arithmetic.extended, self._width), beside=self.w, contract=True)
        self._labels = 0
        self._plan()

    @property
    def lonely(self) -> int:
        """How many expressions belong to no loop in vectors."""
        stages = [
            self._run,
            self._step,
            self._guess,
            *[body for body, *_ in self._iterations],
            *self._settled,
            self._end,
        ]
        return sum(loop.count for loops in stages for loop in loops if loop.count < self._width)

    def work(self, dtype) -> np.ndarray:
        """The working memory, with the constants in it."""
        memory = np.zeros(self.memory.size + LARGEST_SHUFFLE * self._width + CACHE_LINE, dtype=dtype)
        misplaced = memory.ctypes.data // memory.itemsize % CACHE_LINE
        memory = memory[-misplaced % CACHE_LINE :]
        for node, place in self.memory.constants.items():
            memory[place] = self.step.program.numbers[node]
        for start, numbers in self._fixed:
            memory[start : start + len(numbers)] = numbers
        return memory

    def text(self) -> str:
        """The whole module, with the solvers of bands."""
        return super().text() + "".join(self._functions)

    @functools.cached_property
    def _table(self) -> np.ndarray:
        """The table of places, once all are known."""
        return np.concatenate([np.zeros(1, np.int32), *self.memory.tables])[1:].copy()

    def places(self) -> np.ndarray:
        """The table of places."""
        return self._table

    # -- what is computed where ---------------------------------------------------------------------------------

    def _plan(self) -> None:
        step, program, levels = self.step, self.step.program, self.step.levels
        memory = self.memory = Memory(program)
        # blocks that are solved by functions of their own, and where these leave their largest multiplier, if they do
        self._systems: dict[int, int | None] = {}
        self._fixed: list[tuple[int, np.ndarray]] = []  # numbers that lie in the memory from the start
        self._functions: list[str] = []
        place = self._place_inputs()
        stable = np.zeros(len(program), bool)
        stable[program.needed(np.concatenate([step.finish, step.reduced.growth]))] = True
        in_loop = []
        for b, block in enumerate(step.reduced.blocks):
            nodes = program.needed(np.concatenate([block.update, block.growth]))
            in_loop.append(nodes[levels[nodes] == FIRST_BLOCK + b])
            stable[nodes[levels[nodes] < FIRST_BLOCK + b]] = True
        guess = program.needed(step.guess)
        stable[guess[levels[guess] <= ONCE_A_RUN]] = True
        only_guess = guess[(levels[guess] == ONCE_A_STEP) & ~stable[guess]]
        stages = {level: np.flatnonzero(stable & (levels == level)) for level in range(FIRST_BLOCK + self.n_blocks)}
        phases = [*stages.values(), only_guess, *in_loop]
        stored = self._used_elsewhere(phases)
        stored[np.concatenate([step.guess, step.finish, step.updates, step.growth, *step.reduced.solutions])] = True
        home = self._homes()

        def loops(nodes: np.ndarray, place: np.ndarray) -> list[Loop]:
            return Stage(memory, nodes[program.code[nodes] > LINEAR], stored, place, home).loops

        self._run = loops(stages[ONCE_A_RUN], place)
        self._step = loops(stages[ONCE_A_STEP], place)
        here = place.copy()
        self._guess = loops(only_guess, here) + gathered(memory, step.guess, here, self.x_place)
        self._iterations, self._settled = [], []
        first = 0
        for b, block in enumerate(step.reduced.blocks):
            here = place.copy()
            body = loops(in_loop[b], here)
            changing = block.growth[levels[block.growth] == FIRST_BLOCK + b]
            if block.factored is None:
                body += gathered(memory, block.update, here, self.update_place + first)
            else:
                self._place_system(b, block, here, self.update_place + first)
            watched, copies = self._watched(changing, here)
            self._iterations.append((body + copies, first, len(block.unknowns), watched))
            self._settled.append(loops(stages[FIRST_BLOCK + b], place))
            first += len(block.unknowns)
        direct = step.reduced.growth[levels[step.reduced.growth] > AT_COMPILATION]
        self._directly_watched, copies = self._watched(direct, place)
        self._end = gathered(memory, step.finish, place, self.finish_place) + copies

    def _homes(self) -> np.ndarray:
        """Where values should lie that are the solution of a system, or the end of the step: a column, -1 elsewhere."""
        memory, step = self.memory, self.step
        self.update_place, self.new_x_place = memory.region(self.n_unknowns), memory.region(self.n_unknowns)
        self.finish_place = memory.region(self.functions.n_state)
        solutions = [(memory.region(len(nodes)), nodes) for nodes in step.reduced.solutions]
        updates, first = [], self.update_place
        for block in step.reduced.blocks:
            updates += [(first, block.update)] if block.factored is None else []
            first += len(block.unknowns)
        home = np.full(len(step.program), -1)
        for start, nodes in ((self.finish_place, step.finish), *solutions, *updates):
            home[nodes] = start + np.arange(len(nodes))
        return home

    def _place_system(self, number: int, block: ArrayBlock, place: np.ndarray, target: int) -> None:
        """Room for the solver of a system, and tables of where it finds right side and entries and leaves the
        update."""
        constant = self.step.program.code[block.update] == CONST
        found = np.array(place[block.update], dtype=np.int64)
        found[constant] = self.memory.constant_places(block.update[constant])
        solver = placed_solver(
            f"solve{number}", block.factored, self.memory, self.arithmetic, self._width, found, target
        )
        self._functions.append(solver.text)
        self._fixed.append(solver.fixed)
        self.w.declarations |= solver.declarations
        self._systems[number] = solver.growth

    def _watched(self, multipliers: np.ndarray, place: np.ndarray) -> tuple[list[tuple[int, int]], list[Loop]]:
        """Where multipliers lie side by side, (start, count), and loops that bring the others together."""
        runs, scattered = runs_of(place[multipliers], 2 * self._width)
        if not len(scattered):
            return runs, []
        start = self.memory.region(len(scattered))
        few = multipliers[np.isin(place[multipliers], scattered)]
        _, unlike = np.unique(place[few], return_index=True)
        return [*runs, (start, len(scattered))], gathered(self.memory, few[unlike], place, start)

    def _place_inputs(self) -> np.ndarray:
        """Places of time, step size, parameters, state and unknowns."""
        memory, program, functions = self.memory, self.step.program, self.functions
        sizes = {"t": 1, "h": 1, "parameter": functions.n_parameters, "state": functions.n_state}
        region = {kind: memory.region(size) for kind, size in sizes.items()}
        self.t_place, self.h_place, self.parameter_place, self.state_place = region.values()
        self.x_place = memory.region(self.n_unknowns)
        position = np.zeros(functions.size, np.int64)
        position[self.step.unknowns] = np.arange(self.n_unknowns)
        place = np.full(len(program), -1)
        inputs = np.flatnonzero(program.code.filled == INPUT)
        kinds, indices = program.first[inputs], program.second[inputs]
        for k, kind in enumerate(program.kinds):
            here = kinds == k
            if kind == "x":
                place[inputs[here]] = self.x_place + position[indices[here]]
            elif kind in region:  # others only stood for solutions of linear systems
                place[inputs[here]] = region[kind] + indices[here]
        return place

    def _used_elsewhere(self, phases: list[np.ndarray]) -> np.ndarray:
        """Operations that another phase than their own uses."""
        program = self.step.program
        found = np.zeros(len(program), bool)
        for nodes in phases:
            inside = np.zeros(len(program), bool)
            inside[nodes] = True
            arguments = np.concatenate(program.arguments(nodes))
            arguments = arguments[arguments >= 0]
            found[arguments[~inside[arguments]]] = True
        return found & (program.code.filled != CONST)

    # -- loops --------------------------------------------------------------------------------------------------

    def _for_each(self, count: int, body: Callable[[Writer, str], None]) -> None:
        """body(writer, k) for k = 0 ... count - 1, in vectors where there are enough; the body may be repeated."""
        if count < self._width or count == 1:
            for k in range(count):
                body(self.w, str(k))
            return
        w = self.w
        self._labels += 1
        name, last = f"loop{self._labels}", count - self._width
        w.put(f"store i64 0, ptr {self.index}")
        w.put(f"br label %{name}")
        w.label(name)
        index = w.new(f"load i64, ptr {self.index}")
        body(self._lanes, index)
        following = w.new(f"add i64 {index}, {self._width}")
        beyond = w.new(f"icmp sgt i64 {following}, {last}")
        w.put(f"store i64 {w.new(f'select i1 {beyond}, i64 {last}, i64 {following}')}, ptr {self.index}")
        w.put(f"br i1 {w.new(f'icmp eq i64 {index}, {last}')}, label %{name}end, label %{name}")
        w.label(f"{name}end")

    def _perform(self, loops: list[Loop]) -> None:
        """Loops in order; neighbours of one level and length become one."""
        together: list[Loop] = []
        for loop in loops:
            first = together[0] if together else loop
            if len(together) == MOST_TOGETHER or (loop.level, loop.count) != (first.level, first.count):
                self._perform_together(together)
                together = []
            together.append(loop)
        self._perform_together(together)

    def _perform_together(self, loops: list[Loop]) -> None:
        def body(w: Writer, k: str) -> None:
            known: dict[Operand, str] = {}
            results = []
            for loop in loops:
                for operand in loop.operands:
                    if operand not in known:
                        known[operand] = self._operand(w, operand, k)
                results.append(self._value(w, loop.expression, [known[operand] for operand in loop.operands], {}))
            for loop, value in zip(loops, results, strict=True):
                if loop.truth:
                    value = w.choose(value, w.arithmetic.constant(1.0), w.arithmetic.constant(0.0))
                if loop.stride == 1:
                    self._store(w, value, loop.target, k)
                else:
                    self._spread(w, value, loop.target, loop.stride, k)

        if loops:
            self._for_each(loops[0].count, body)

    def _value(self, w: Writer, expression: Expression, operands: list[str], known: dict) -> str:
        if isinstance(expression, int):
            return operands[expression]
        if id(expression) not in known:
            op, *parts = expression
            known[id(expression)] = w.operation(op, [self._value(w, part, operands, known) for part in parts])
        return known[id(expression)]

    def _operand(self, w: Writer, operand: Operand, k: str) -> str:
        kind = w.arithmetic
        if isinstance(operand, Constant):
            return kind.truth_constant(bool(operand.number)) if operand.truth else kind.constant(operand.number)
        if isinstance(operand, Strided) and operand.stride == 0:
            value = w.splat(self.w.load("%work", operand.start))
        elif isinstance(operand, Strided) and operand.stride == 1:
            value = self._load(w, operand.start, k)
        elif isinstance(operand, Strided):
            value = self._every(w, operand.start, operand.stride, k)
        else:
            value = self._from_table(w, operand.start, k)
        return w.compare("une", value, kind.constant(0.0)) if operand.truth else value

    def _folded(self, count: int, term: Callable[[Writer, str], str], join: Callable[[Writer, str, str], str]) -> str:
        """Many numbers as one: join(writer, number, what came before), from zero on."""
        w, lanes = self.w, self._lanes
        kind = lanes.arithmetic
        w.put(f"store {kind.number} {kind.constant(0.0)}, ptr {self.vector}")
        w.put(f"store {self.arithmetic.number} {self.arithmetic.constant(0.0)}, ptr {self.number}")

        def body(writer: Writer, k: str) -> None:
            place, number = (self.vector if writer is lanes else self.number), writer.arithmetic.number
            so_far = writer.new(f"load {number}, ptr {place}")
            writer.put(f"store {number} {join(writer, term(writer, k), so_far)}, ptr {place}")

        self._for_each(count, body)
        found = w.new(f"load {self.arithmetic.number}, ptr {self.number}")
        for value in self._each_lane(w.new(f"load {kind.number}, ptr {self.vector}")):
            found = join(w, value, found)
        return found

    def _largest(self, count: int, term: Callable[[Writer, str], str]) -> str:
        """The largest of many numbers that are not negative."""
        return self._folded(count, term, Writer.larger)

    def _each_lane(self, vector: str) -> list[str]:
        if self._width == 1:
            return [vector]
        kind = self._lanes.arithmetic.number
        return [self.w.new(f"extractelement {kind} {vector}, i32 {lane}") for lane in range(self._width)]

    # -- parts of the function ----------------------------------------------------------------------------------

    def begin_run(self) -> None:
        w, kind = self.w, self.arithmetic.number
        self.index, self.number, self.probe = w.new("alloca i64"), w.new(f"alloca {kind}"), w.new(f"alloca {kind}")
        self.vector, self.share = w.new(f"alloca {self._lanes.arithmetic.number}"), w.new(f"alloca {kind}")
        # who only wants to look at a step has its updates left out
        w.put(f"store {kind} {self._share_of_updates()}, ptr {self.share}")
        w.store(self.h, "%work", self.h_place)
        self._copy("%work", self.parameter_place, "%parameters", 0, self.functions.n_parameters)
        self._copy("%work", self.state_place, "%state", 0, self.functions.n_state)
        self._perform(self._run)

    def _share_of_updates(self) -> str:
        looks = self.w.new(f"icmp eq i64 {self._counter(3)}, {LOOK_ONLY}")
        none, all_ = (self.arithmetic.constant(value) for value in (0.0, 1.0))
        kind = self.arithmetic.number
        return self.w.new(f"select i1 {looks}, {kind} {none}, {kind} {all_}")

    def begin_step(self, t: str) -> None:
        self.w.store(t, "%work", self.t_place)
        self._perform(self._step)

    def guess(self) -> None:
        self._perform(self._guess)

    def extrapolate(self, weights: list[str]) -> None:
        def body(w: Writer, k: str) -> None:
            total = ""
            for age, weight in enumerate(weights):
                term = w.binary("mul", w.splat(weight), self._load(w, age * self.n_unknowns, k, "%history"))
                total = w.binary("add", total, term) if total else term
            self._store(w, total, self.x_place, k)

        self._for_each(self.n_unknowns, body)

    def iterate(self, block: int, active: str) -> tuple[str, str]:
        loops, first, count, watched = self._iterations[block]
        w, constant = self.w, self.arithmetic.constant
        self._perform(loops)
        if block in self._systems:
            w.put(f"call void @solve{block}(ptr %work, ptr %places)")
            growth = self._systems[block]
            if growth is not None:
                self.watch([w.load("%work", growth)])
        w.put(f"store {self.arithmetic.number} {constant(0.0)}, ptr {self.probe}")
        share = w.new(f"load {self.arithmetic.number}, ptr {self.share}")

        def size(writer: Writer, k: str) -> str:
            change = self._load(writer, self.update_place + first, k)
            taken = writer.binary("mul", writer.splat(share), change, exact=True)
            new = writer.binary("sub", self._load(writer, self.x_place + first, k), taken, exact=True)
            self._store(writer, new, self.new_x_place + first, k)
            return writer.binary("mul", writer.absolute(change), self._load(writer, first, k, "%weights"))

        def updated(writer: Writer, k: str) -> str:
            return self._load(writer, self.update_place + first, k)

        d = self._largest(count, size)
        self._copy("%work", self.x_place + first, "%work", self.new_x_place + first, count)
        self._watch_runs(watched)
        return d, w.compare("une", self._sum_of_zeros(count, updated), constant(0.0))

    def _watch_runs(self, runs: list[tuple[int, int]]) -> None:
        self.watch(
            [
                self._largest(count, lambda w, k, start=start: w.absolute(self._load(w, start, k)))
                for start, count in runs
            ]
        )

    def _sum_of_zeros(self, count: int, term: Callable[[Writer, str], str]) -> str:
        """0 * (sum of numbers): zero if all are finite, else not a number."""

        def zero(writer: Writer, k: str) -> str:
            return writer.binary("mul", term(writer, k), writer.arithmetic.constant(0.0))

        return self._folded(count, zero, lambda writer, value, so_far: writer.binary("add", so_far, value))

    def linear(self, block: int) -> bool:
        return self.step.reduced.blocks[block].linear

    def settle(self, block: int) -> None:
        self._perform(self._settled[block])

    def advance(self) -> str:
        """The state stays where it is until it is known that the new one will be finite."""
        self._perform(self._end)
        self._watch_runs(self._directly_watched)
        summed, replaced = self.functions.n_summed, self.functions.n_state - self.functions.n_summed

        def total(w: Writer, k: str) -> str:
            return w.binary("add", self._load(w, self.state_place, k), self._load(w, self.finish_place, k))

        def new(w: Writer, k: str) -> str:
            return self._load(w, self.finish_place + summed, k)

        zero = self.w.binary("add", self._sum_of_zeros(summed, total), self._sum_of_zeros(replaced, new))
        return self.w.compare("oeq", zero, self.arithmetic.constant(0.0))

    def accept(self, good: str) -> None:
        summed, n_state = self.functions.n_summed, self.functions.n_state

        def body(w: Writer, k: str) -> None:
            carried = self._load(w, 0, k, "%compensation") if self.compensated else None
            increment, old = self._load(w, self.finish_place, k), self._load(w, self.state_place, k)
            total, error = added(w, old, increment, carried)
            self._store(w, total, self.state_place, k)
            if error is not None:
                self._store(w, error, 0, k, "%compensation")

        whole = summed - summed % self._width  # no number twice: what is read is written
        self._for_each(whole, body)
        for k in range(whole, summed):
            body(self.w, str(k))
        self._copy("%work", self.state_place + summed, "%work", self.finish_place + summed, n_state - summed)

    def leave(self) -> None:
        self._copy("%state", 0, "%work", self.state_place, self.functions.n_state)

    def remember(self) -> None:
        n = self.n_unknowns
        self._copy("%history", n, "%history", 0, (HISTORY - 1) * n)
        self._copy("%history", 0, "%work", self.x_place, n)

    def save(self, row: str) -> None:
        first = self.w.new(f"mul i64 {row}, {self.functions.n_state}")
        self._copy("%saved", first, "%work", self.state_place, self.functions.n_state)
