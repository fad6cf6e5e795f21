"""Rolling a program up: operations that look alike become one loop.

An operation with a single user is computed inside that user, so that the program falls into small expressions whose
results are stored. Expressions of one shape that can be computed at the same time form a group: one loop over its
members, which lie one after the other in memory. What a member reads lies, for most groups of a regular system, a
fixed stride apart from what the next member reads; where it does not, the group is cut into pieces for which it does,
or the places are kept in a table. Nothing is declared: the regularity of a chain shows as strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..program.array_program import CODE, CONST, OPERATIONS, ArrayProgram
from ..program.columns import distinct
from ..program.levels import ONCE_A_RUN
from ..program.numbering import labelled
from ..program.program import BOOLEAN

#: operations of one expression at most
LARGEST_EXPRESSION = 64
#: share of operations made together that must have users made together, to be computed inside them
USUAL_SHARE = 0.8
#: users inside each of which a cheap operation is computed again
MOST_COPIES = 2
#: numbers in a line of the cache
CACHE_LINE = 8
#: a group may be cut into pieces of this many members on average; else places are kept in a table
SHORTEST_PIECE = 8
#: regularity is looked for among every second, third, ... member (components of vectors)
PERIODS = (*range(2, 25), 27, 30, 33, 36)
NEVER = 1 << 60
_BOOLEAN = np.array([name in BOOLEAN for name in OPERATIONS])
_QUICK = np.array([name in ("mul", "add", "sub") for name in OPERATIONS])


@dataclass(frozen=True)
class Constant:
    """An operand that is the same number for all members."""

    number: float
    truth: bool


@dataclass(frozen=True)
class Strided:
    """An operand of member k at start + k * stride in the working memory; `truth` if it is a stored truth value."""

    start: int
    stride: int
    truth: bool = False


@dataclass(frozen=True)
class Tabled:
    """An operand whose places are listed in the table of places, from `start` on."""

    start: int
    truth: bool = False


Operand = Constant | Strided | Tabled
#: an operation and its arguments, each an expression or the number of an operand
Expression = tuple | int


@dataclass
class Loop:
    """`count` members: expression of operands, results at target + k * stride."""

    count: int
    expression: Expression
    operands: list[Operand]
    target: int
    stride: int = 1
    truth: bool = False
    level: int = 0  # loops of one level do not need each other


@dataclass
class Memory:
    """The working memory and the table of places."""

    program: ArrayProgram
    size: int = 0
    constants: dict[int, int] = field(default_factory=dict)
    tables: list[np.ndarray] = field(default_factory=list)
    table_size: int = 0
    _free: dict[int, int] = field(default_factory=dict)  # start -> size

    def region(self, count: int) -> int:
        """The place of `count` fresh numbers; longer ones begin where a line of the cache does."""
        if count >= CACHE_LINE:
            self.size = -(-self.size // CACHE_LINE) * CACHE_LINE
        self.size += count
        return self.size - count

    def borrow(self, count: int) -> int:
        """The place of `count` numbers that will be given back, so that the memory in use stays in the cache."""
        fitting = [(size, start) for start, size in self._free.items() if count <= size]
        if not fitting:
            return self.region(count)
        size, start = min(fitting)
        del self._free[start]
        used = -(-count // CACHE_LINE) * CACHE_LINE
        if size > used:
            self._free[start + used] = size - used
        return start

    def give_back(self, start: int, count: int) -> None:
        self._free[start] = count

    def constant_places(self, nodes: np.ndarray) -> np.ndarray:
        """Places of constants that differ between members."""
        for node in set(nodes.tolist()) - set(self.constants):
            self.constants[node] = self.region(1)
        return np.array([self.constants[node] for node in nodes.tolist()], dtype=np.int64)

    def table(self, places: np.ndarray) -> int:
        self.tables.append(places.astype(np.int32))
        self.table_size += len(places)
        return self.table_size - len(places)


class Stage:
    """Operations that are computed together (once a run, once a step, in one Newton iteration), as loops.

    `place` is a column over the program: where the value of an operation lies, -1 if nowhere. It holds what earlier
    stages stored and is filled in for what this one stores. `home` is one too: where the value should go, -1 if that
    does not matter. The solution of a system comes in the order of its pivots; whoever reads it, reads it with regular
    strides if it lies in the order of its unknowns.
    """

    def __init__(
        self, memory: Memory, nodes: np.ndarray, stored: np.ndarray, place: np.ndarray, home: np.ndarray
    ) -> None:
        self._memory, self._program, self._place, self._home = memory, memory.program, place, home
        program = memory.program
        self._inside = np.zeros(len(program), bool)
        self._inside[nodes] = True
        self._columns = program.arguments(nodes)
        self._layers = list(self._by_depth(nodes))
        self._fused = self._fusion(nodes, stored)
        kept = ~self._fused[nodes]
        roots, levels = nodes[kept], self._levels(nodes)[kept]
        shapes = self._shapes(nodes)[roots]
        batches, at_home = self._program.batch[roots], home[roots] >= 0
        order = np.lexsort((roots, at_home, shapes, batches, levels))
        roots, levels = roots[order], levels[order]
        keys = (levels, shapes[order], batches[order], at_home[order].astype(np.int8))
        new = np.any([np.diff(key) != 0 for key in keys], axis=0)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1, [len(roots)]])
        last_use = np.where(stored, NEVER, self._last_uses(nodes, roots, levels))
        self.loops: list[Loop] = []
        borrowed: list[tuple[int, int, int]] = []  # (last level of use, start, count)
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            if last > first:
                level, until = int(levels[first]), int(last_use[roots[first:last]].max())
                for old in [old for old in borrowed if old[0] < level]:
                    borrowed.remove(old)
                    memory.give_back(*old[1:])
                target = self._add_group(roots[first:last], level, until < NEVER)
                if until < NEVER and target >= 0:
                    borrowed.append((until, target, last - first))
        for old in borrowed:
            memory.give_back(*old[1:])
        self.loops.sort(key=lambda loop: (loop.level, loop.count))

    # -- expressions --------------------------------------------------------------------------------------------

    def _by_depth(self, nodes: np.ndarray) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Operations that do not need each other, with as many columns of arguments as any of them has; each operation
        comes after what it needs."""
        depth = self._program.depth[nodes]
        if depth.max(initial=0) < 1 << 16:
            depth = depth.astype(np.uint16)  # which numpy sorts by counting
        order = np.argsort(depth, kind="stable")
        edges = np.flatnonzero(np.diff(depth[order])) + 1
        columns = [np.split(column[order], edges) for column in (nodes, *self._columns)]
        for layer, *arguments in zip(*columns, strict=True):
            yield layer, [a for a in arguments if a.max(initial=-1) >= 0]

    def _fusion(self, nodes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Which operations are computed inside their only user."""
        program = self._program
        first, second, third = self._columns
        second = np.where(second == first, -1, second)
        third = np.where((third == first) | (third == second), -1, third)
        used = np.concatenate([first, second, third])
        uses = np.bincount(used[used >= 0], minlength=len(program))
        fused = self._inside & ((uses == 1) | (self._cheap(nodes) & (uses <= MOST_COPIES))) & ~stored
        self._keep_alike(nodes, fused)
        size = np.zeros(len(program), np.int64)
        for layer, arguments in self._layers:
            inner = [np.where(a >= 0, fused[a] * size[a], 0) for a in arguments]
            total = 1 + np.sum(inner, axis=0)
            size[layer] = total
            large = total > LARGEST_EXPRESSION
            if large.any():
                for a in arguments:
                    fused[a[large & (a >= 0)]] = False
                size[layer[large]] = 1
        return fused

    def _cheap(self, nodes: np.ndarray) -> np.ndarray:
        """Operations that are computed sooner than stored and read again: a factor of the run, a sign."""
        program = self._program
        first, second, _ = self._columns
        codes = program.code[nodes]
        early = (program.when[first] <= ONCE_A_RUN) | ((second >= 0) & (program.when[second] <= ONCE_A_RUN))
        found = np.zeros(len(program), bool)
        found[nodes] = (codes == CODE["neg"]) | (_QUICK[codes] & early)
        return found

    def _keep_alike(self, nodes: np.ndarray, fused: np.ndarray) -> None:
        """Operations that were made together are computed inside their users only where most of them have users that
        were made together, too. Else one regular loop would become several with long strides."""
        program, batch = self._program, self._program.batch
        inner = [(a >= 0) & fused[a] for a in self._columns]
        single = np.concatenate([a[here] for a, here in zip(self._columns, inner, strict=True)])
        users = np.concatenate([nodes[here] for here in inner])
        count = int(program.batch.filled[-1]) + 1
        pair = batch[single].astype(np.int64) * count + batch[users]
        which, first = labelled(pair)
        made = np.bincount(batch[nodes], minlength=count)
        usual = np.bincount(which) >= USUAL_SHARE * made[pair[first] // count]
        fused[single[~usual[which]]] = False

    def _shapes(self, nodes: np.ndarray) -> np.ndarray:
        """A number that is equal for expressions of one shape."""
        program, fused = self._program, self._fused
        shape = np.zeros(len(program), np.uint64)
        leaf = np.uint64(1) + _BOOLEAN[program.code.filled].astype(np.uint64)
        for layer, arguments in self._layers:
            own = program.code[layer].astype(np.uint64)
            for position, a in enumerate(arguments):
                part = np.where(fused[a], shape[a], leaf[a]) + np.uint64(position)
                own = np.where(a >= 0, _mixed(own ^ _mixed(part)), own)
            if len(arguments) > 1:
                own[arguments[0] == arguments[1]] += np.uint64(7)
            shape[layer] = own
        return shape

    def _levels(self, nodes: np.ndarray) -> np.ndarray:
        """How many stores come before an operation. Operations that were made together get one level, the latest that
        any of them needs, so that what looks alike stays together."""
        program, batch = self._program, self._program.batch
        user, used, stores = [], [], []
        for a in self._columns:
            there = (a >= 0) & self._inside[a]
            user.append(batch[nodes[there]].astype(np.int64))
            used.append(batch[a[there]].astype(np.int64))
            stores.append((~self._fused[a[there]]).astype(np.int64))
        edges = np.concatenate(user), np.concatenate(used), np.concatenate(stores)
        level: dict[int, int] = {}
        count = int(program.batch.filled[-1]) + 1
        for code in distinct((edges[0] * count + edges[1]) * 2 + edges[2]).tolist():
            one, other, step = code // 2 // count, code // 2 % count, code % 2
            level[one] = max(level.get(one, 0), level.get(other, 0) + step)
        found = np.zeros(count, np.int64)
        found[list(level)] = list(level.values())
        return found[batch[nodes]]

    def _last_uses(self, nodes: np.ndarray, roots: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """The level of the last loop that reads the value of an operation."""
        program = self._program
        read_at = np.zeros(len(program), np.int64)  # the level of the loop in which an operation is computed
        read_at[roots] = levels
        found = np.zeros(len(program), np.int64)
        for layer, arguments in reversed(self._layers):
            for a in arguments:
                there = (a >= 0) & self._inside[a]
                inner = there & self._fused[a]
                np.maximum.at(read_at, a[inner], read_at[layer[inner]])
                np.maximum.at(found, a[there], read_at[layer[there]])
        return found

    # -- loops --------------------------------------------------------------------------------------------------

    def _add_group(self, group: np.ndarray, level: int, for_a_while: bool) -> int:
        """Loops for operations of one shape; where their values begin."""
        if self._home[group[0]] >= 0 and self._add_at_home(group, level):
            return -1
        target = (self._memory.borrow if for_a_while else self._memory.region)(len(group))
        targets = target + np.arange(len(group))
        order = self._add_loops(group, targets, level)
        self._place[group[order]] = targets
        return target

    def _add_at_home(self, group: np.ndarray, level: int) -> bool:
        """The same with the values where they should go, if that takes few loops."""
        group = group[np.argsort(self._home[group])]
        homes = self._home[group]
        cuts = _cuts(homes[None])
        if len(cuts) > 2 + len(group) // SHORTEST_PIECE:
            return False
        for first, last in zip(cuts, [*cuts[1:], len(group)], strict=True):
            self._add_loops(group[first:last], homes[first:last], level, fixed_targets=True)
        self._place[group] = homes
        return True

    def _add_loops(self, group: np.ndarray, targets: np.ndarray, level: int, *, fixed_targets=False) -> np.ndarray:
        leaves: list[np.ndarray] = []
        expression = self._expression(group, leaves)
        truth = bool(_BOOLEAN[self._program.code[group[0]]])
        loops, order = rolled(
            self._memory, expression, leaves, self._place, targets, truth, fixed_targets=fixed_targets
        )
        for loop in loops:
            loop.level = level
        self.loops += loops
        return order

    def _expression(self, members: np.ndarray, leaves: list[np.ndarray]) -> Expression:
        program = self._program
        parts: list[Expression] = []
        arguments = [a for a in program.arguments(members) if a[0] >= 0]
        for position, a in enumerate(arguments):
            if position == 1 and a[0] == arguments[0][0]:
                parts.append(parts[0])
            elif self._fused[a[0]]:
                parts.append(self._expression(a, leaves))
            else:
                leaves.append(a)
                parts.append(len(leaves) - 1)
        return (OPERATIONS[program.code[members[0]]], *parts)


def gathered(memory: Memory, nodes: np.ndarray, place: np.ndarray, target: int) -> list[Loop]:
    """Loops that copy the values of some operations to target, target + 1, ..., but for those that are there."""
    targets = target + np.arange(len(nodes))
    away = np.flatnonzero(place[nodes] != targets)
    if not len(away):
        return []
    if _stride(targets[away]) is None and len(_regular_order([place[nodes[away]]], targets[away], len(away))[1]) == 1:
        away = np.arange(len(nodes))  # too many pieces: rather all of them, also those that are there
    return rolled(memory, 0, [nodes[away]], place, targets[away], False, fixed_targets=True)[0]


def runs_of(places: np.ndarray, shortest: int) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Places in any order as (start, count) of those that lie side by side, and those in no run worth a loop."""
    pieces = np.split(np.unique(places), np.flatnonzero(np.diff(np.unique(places)) != 1) + 1)
    runs = [(int(piece[0]), len(piece)) for piece in pieces if len(piece) >= shortest]
    return runs, np.concatenate([np.zeros(0, np.int64), *[piece for piece in pieces if len(piece) < shortest]])


def rolled(
    memory: Memory, expression: Expression, leaves: list[np.ndarray], place: np.ndarray, targets: np.ndarray,
    truth: bool, *, fixed_targets: bool = False,
) -> tuple[list[Loop], np.ndarray]:  # fmt: skip
    """Loops for members with these leaves (an operation for every member), and the order in which members take the
    targets. Members come in an order that makes the strides last: as they are, or every second, third, ... one."""
    program, count = memory.program, len(targets)
    constants: dict[int, Constant] = {}
    places: dict[int, np.ndarray] = {}
    truths: list[bool] = []
    for k, nodes in enumerate(leaves):
        constant = program.code[nodes] == CONST
        truths.append(bool(_BOOLEAN[program.code[nodes[0]]] or program.truth_value[nodes[0]]))
        if constant.all() and np.all(nodes == nodes[0]):
            constants[k] = Constant(float(program.numbers[nodes[0]]), truths[-1])
            continue
        where = place[nodes]
        where[constant] = memory.constant_places(nodes[constant])
        assert where.min() >= 0, "an operation is used before it is computed"
        places[k] = where
    order, cuts = _regular_order([*places.values()], targets if fixed_targets else None, count)
    if fixed_targets:
        targets = targets[order]
    places = {k: where[order] for k, where in places.items()}
    loops = []
    for first, last in zip(cuts, [*cuts[1:], count], strict=True):
        operands: list[Operand] = []
        for k, is_truth in enumerate(truths):
            if k in constants:
                operands.append(constants[k])
                continue
            piece = places[k][first:last]
            stride = _stride(piece)
            operands.append(
                Tabled(memory.table(piece), is_truth) if stride is None else Strided(int(piece[0]), stride, is_truth)
            )
        stride = _stride(targets[first:last])
        assert stride is not None
        loops.append(Loop(last - first, expression, operands, int(targets[first]), stride or 1, truth))
    return loops, order


def _stride(places: np.ndarray) -> int | None:
    steps = np.diff(places)
    if len(steps) == 0:
        return 0
    return int(steps[0]) if np.all(steps == steps[0]) else None


def _regular_order(places: list[np.ndarray], targets: np.ndarray | None, count: int) -> tuple[np.ndarray, list[int]]:
    """An order of the members, and where new pieces begin so that within a piece every operand has one stride; a
    single piece where that would take too many (places are tabled then)."""
    straight = np.arange(count)
    if not places or count == 1:
        return straight, [0]
    table = np.stack(places if targets is None else [*places, targets])
    best, best_cuts = straight, _cuts(table)
    for period in PERIODS:
        if len(best_cuts) <= period or count < 2 * SHORTEST_PIECE:
            break
        order = np.argsort(straight % period, kind="stable")
        cuts = _cuts(table[:, order])
        if len(cuts) < len(best_cuts):
            best, best_cuts = order, cuts
    if len(best_cuts) > 2 + count // SHORTEST_PIECE:
        return straight, [0]
    return best, best_cuts


def _cuts(places: np.ndarray) -> list[int]:
    """Where new pieces begin, so that within a piece every row has one stride."""
    steps = np.diff(places, axis=1)
    turns = np.flatnonzero(np.any(steps[:, 1:] != steps[:, :-1], axis=0)) + 1  # step k differs from step k - 1
    # the step from k to k + 1 is new: member k still belongs to the piece before, and a turn at k + 1 means nothing
    new = np.concatenate([np.ones(min(1, len(turns)), bool), np.diff(turns) > 1])
    since = np.arange(len(turns)) - np.maximum.accumulate(np.where(new, np.arange(len(turns)), 0))
    cuts = np.concatenate([[0], turns[since % 2 == 0] + 1])
    return cuts[cuts < places.shape[1]].tolist()


def _mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
