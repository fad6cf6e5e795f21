"""Code that solves a system by its fronts: one function of loops, whatever the number of fronts and their sizes.

Everything about the fronts stands in the table of places: for each a record (`RECORD`), and lists of where the entries
of the matrix go, and the rows and columns of its children. A front lies in rows of whole vectors, those of its pivots
first, kept until the solution is known, and those of its border in memory that is used again once the parent took them
up. The right side is one more column.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..elimination.fronts import Fronts
from ..machine.arithmetic import Arithmetic, Writer
from .front_layout import Layout

#: What the record of a front holds: how many pivots, how many rows in all, the length of a row, where the rows of the
#: pivots and of the border lie, the place of the first pivot, and where the lists of its border, of its entries and of
#: its children begin and end.
RECORD = (
    "pivots", "rows", "length", "upper", "lower", "first", "border", "entries", "entries_end", "children",
    "children_end",
)  # fmt: skip
#: Vectors of a row up to which a pivot's row is kept in registers; longer ones are read again for every other row.
MOST_VECTORS = 6


@dataclass(frozen=True)
class FrontPlaces:
    """Where the solver finds and leaves its numbers in the working memory, and its tables in the table of places."""

    storage: int  # the rows of all fronts
    inverses: int
    solution: int  # in the order of the pivots
    local: int  # the solution as one front sees it
    growth: int  # the largest multiplier of a border
    scales: int  # of the entries, in the order of the fronts, and of the right sides
    records: int  # in the table: `RECORD` of every front
    entry_from: int
    entry_to: int
    right_from: int
    right_to: int
    target: int


class FrontSolver:
    """A function `name(work, places)` that solves one system, in LLVM's language."""

    def __init__(self, name: str, fronts: Fronts, arithmetic: Arithmetic, lanes: int) -> None:
        self._name, self.fronts, self._arithmetic, self._width = name, fronts, arithmetic, lanes
        self.layout = Layout(fronts, lanes)
        self.order, self._starts, self._targets = self.layout.entries()

    @property
    def longest(self) -> int:
        """The length of the longest row."""
        return int(self.layout.lengths.max(initial=0))

    @property
    def scales(self) -> np.ndarray:
        """By what entries and right sides are multiplied."""
        scales = self.fronts.scales
        return np.concatenate([scales[self.fronts.entry_rows[self.order]], scales])

    def targets(self, storage: int) -> tuple[np.ndarray, np.ndarray]:
        """Where entries and right sides go, in the working memory."""
        return self._targets + storage, self.layout.right_targets() + storage

    def records(self, storage: int, table: int) -> np.ndarray:
        """The records of all fronts and the lists behind them, as they lie in the table of places from `table` on."""
        layout, fronts = self.layout, self.fronts
        count = len(fronts.pivots)
        lists: list[np.ndarray] = []
        end = table + count * len(RECORD)

        def listed(numbers: np.ndarray) -> int:
            nonlocal end
            lists.append(np.asarray(numbers, dtype=np.int64))
            end += len(numbers)
            return end - len(numbers)

        records = np.zeros((count, len(RECORD)), np.int64)
        for k, children in enumerate(layout.children()):
            border = listed(fronts.borders[k])
            taken = [
                (table + child * len(RECORD), listed(rows + storage), listed(columns))
                for child, rows, columns in children
            ]
            start = listed(np.array(taken, dtype=np.int64).ravel())
            records[k] = (
                layout.pivots[k], layout.rows[k], layout.lengths[k], layout.upper[k] + storage,
                layout.lower[k] + storage, layout.firsts[k], border, self._starts[k], self._starts[k + 1], start, end,
            )  # fmt: skip
        return np.concatenate([records.ravel(), *lists])

    def text(self, places: FrontPlaces) -> tuple[str, set[str]]:
        """The function, and the declarations it needs."""
        return _Text(self._name, self, places, self._arithmetic, self._width).text()


class _Text:
    """Writes the function."""

    def __init__(self, name: str, solver: FrontSolver, places: FrontPlaces, arithmetic: Arithmetic, width: int) -> None:
        self._name, self._solver, self._p, self._width = name, solver, places, width
        self._arithmetic = arithmetic
        self.w = Writer(arithmetic, contract=True)
        self.lanes = Writer(Arithmetic(arithmetic.extended, width), beside=self.w, contract=True)
        self._labels = itertools.count(1)
        vectors = sorted(set((solver.layout.lengths // width).tolist()))
        self._short = [number for number in vectors if number <= MOST_VECTORS]
        self._is_long = len(self._short) < len(vectors)

    def text(self) -> tuple[str, set[str]]:
        w, count = self.w, len(self._solver.fronts.pivots)
        w.label("entry")
        self._best, self._growth = (w.new(f"alloca {self._arithmetic.number}") for _ in range(2))
        self._chosen = w.new("alloca i64")
        self._sum = w.new(f"alloca {self.lanes.arithmetic.number}")
        self._set(self._growth, self._zero)
        with self._each("0", str(count)) as front:
            self._factor(self._record(front))
        with self._each("0", str(count)) as front:
            self._solve_back(self._record(w.new(f"sub i64 {count - 1}, {front}")))
        w.store(w.new(f"load {self._arithmetic.number}, ptr {self._growth}"), "%work", self._p.growth)
        w.put("ret void")
        body = "\n".join(w.lines)
        head = f"define internal void @{self._name}(ptr noalias %work, ptr noalias %places)"
        return f"\n{head} {{\n{body}\n}}\n", w.declarations

    # -- a front ------------------------------------------------------------------------------------------------

    def _factor(self, front: dict[str, str]) -> None:
        """Assemble a front, and eliminate its pivots."""
        w = self.w
        border = w.new(f"sub i64 {front['rows']}, {front['pivots']}")
        self._clear(front["upper"], self._times(front["pivots"], front["length"]))
        self._clear(front["lower"], self._times(border, front["length"]))
        with self._each(front["entries"], front["entries_end"]) as e:
            self._take(e, self._plus(e, self._p.scales), self._p.entry_from, self._p.entry_to)
        with self._each("0", front["pivots"]) as k:
            place = self._plus(front["first"], k)
            scale = self._plus(place, self._p.scales + len(self._solver.order))
            self._take(place, scale, self._p.right_from, self._p.right_to)
        with self._each(front["children"], front["children_end"], 3) as child:
            self._take_up(front, *(self._entry(self._plus(child, k)) for k in range(3)))
        for vectors in self._short:
            with self._when(w.new(f"icmp eq i64 {front['length']}, {vectors * self._width}")):
                self._eliminate_in_registers(front, border, vectors)
        if self._is_long:
            with (
                self._when(w.new(f"icmp sgt i64 {front['length']}, {MOST_VECTORS * self._width}")),
                self._each("0", front["pivots"]) as k,
            ):
                start = w.new(f"and i64 {k}, {-self._width}")
                self._eliminate(front, border, k, start, None)

    def _take(self, index: str, scale: str, source: int, target: int) -> None:
        """One number of the matrix or of the right side, scaled."""
        w = self.w
        value = w.load("%work", self._entry(self._plus(index, source)))
        scaled = w.binary("mul", value, w.load("%work", scale))
        w.store(scaled, "%work", self._entry(self._plus(index, target)))

    def _take_up(self, front: dict[str, str], record: str, rows: str, columns: str) -> None:
        """Add what a child leaves."""
        w = self.w
        child = {name: self._entry(self._plus(record, RECORD.index(name))) for name in RECORD[:5]}
        border = w.new(f"sub i64 {child['rows']}, {child['pivots']}")
        with self._each("0", border) as i:
            target = self._entry(self._plus(rows, i))
            row = self._plus(child["lower"], self._times(i, child["length"]))
            source = self._plus(row, child["pivots"])
            with self._each("0", border) as j:
                column = self._entry(self._plus(columns, j))
                self._add(self._plus(source, j), self._plus(target, column))
            right = self._plus(row, child["rows"])
            self._add(right, self._plus(target, front["rows"]))

    def _add(self, source: str, target: str) -> None:
        w = self.w
        w.store(w.binary("add", w.load("%work", target), w.load("%work", source)), "%work", target)

    def _eliminate_in_registers(self, front: dict[str, str], border: str, vectors: int) -> None:
        """All pivots of a front with so many vectors in a row: code of its own for every vector that a pivot is in."""
        for begin in range(vectors):
            first, last = str(begin * self._width), str((begin + 1) * self._width)
            in_vector = self.w.new(f"icmp slt i64 {front['pivots']}, {last}")
            end = self.w.new(f"select i1 {in_vector}, i64 {front['pivots']}, i64 {last}")
            with self._each(first, end) as k:
                self._eliminate(front, border, k, first, vectors - begin)

    def _eliminate(self, front: dict[str, str], border: str, k: str, start: str, vectors: int | None) -> None:
        """One pivot: the largest entry of its column among the rows of pivots, which is brought up. Rows are changed
        from `start` on, where so many vectors are left."""
        w, length = self.w, front["length"]
        own = self._plus(front["upper"], self._times(k, length))
        following = self._plus(k, 1)
        self._exchange(front, own, k, start, vectors)
        inverse = w.binary("div", self._arithmetic.constant(1.0), w.load("%work", self._plus(own, k)))
        at = self._plus(front["first"], k)
        w.store(inverse, "%work", self._plus(at, self._p.inverses))
        pivot = None if vectors is None else [self._load(c) for c in self._parts(own, start, vectors)]
        with self._rows(front["upper"], following, front["pivots"], length) as row:
            self._subtract(front, row, own, k, start, inverse, pivot)
        with self._rows(front["lower"], "0", border, length) as row:
            factor = self._subtract(front, row, own, k, start, inverse, pivot)
            self._set(self._growth, w.larger(w.absolute(factor), self._get(self._growth)))

    def _exchange(self, front: dict[str, str], own: str, k: str, start: str, vectors: int | None) -> None:
        """Bring up the row with the largest entry."""
        w, length = self.w, front["length"]
        self._set(self._best, w.absolute(w.load("%work", self._plus(own, k))))
        w.put(f"store i64 {own}, ptr {self._chosen}")
        with self._rows(front["upper"], self._plus(k, 1), front["pivots"], length) as row:
            size = w.absolute(w.load("%work", self._plus(row, k)))
            best = self._get(self._best)
            is_larger = w.compare("ogt", size, best)
            self._set(self._best, w.choose(is_larger, size, best))
            chosen = w.new(f"load i64, ptr {self._chosen}")
            w.put(f"store i64 {w.new(f'select i1 {is_larger}, i64 {row}, i64 {chosen}')}, ptr {self._chosen}")
        chosen = w.new(f"load i64, ptr {self._chosen}")
        with self._when(w.new(f"icmp ne i64 {chosen}, {own}")):
            if vectors is None:
                with self._each(start, length, self._width) as c:
                    self._swap(self._plus(own, c), self._plus(chosen, c))
            else:
                for mine, theirs in zip(
                    self._parts(own, start, vectors), self._parts(chosen, start, vectors), strict=True
                ):
                    self._swap(mine, theirs)

    def _swap(self, mine: str, theirs: str) -> None:
        one, other = self._load(mine), self._load(theirs)
        self._store(one, theirs)
        self._store(other, mine)

    def _parts(self, row: str, start: str, vectors: int) -> list[str]:
        """Where the vectors of a row lie."""
        first = self._plus(row, start)
        return [self._plus(first, part * self._width) for part in range(vectors)]

    def _subtract(
        self, front: dict[str, str], row: str, own: str, k: str, start: str, inverse: str, pivot: list[str] | None
    ) -> str:
        """A multiple of the pivot's row from another, so that the pivot's column becomes zero; by which factor."""
        w, lanes = self.w, self.lanes

        def reduce(target: str, part: str) -> None:
            self._store(lanes.binary("sub", self._load(target), lanes.binary("mul", factors, part)), target)

        factor = w.binary("mul", w.load("%work", self._plus(row, k)), inverse)
        factors = lanes.splat(factor)
        if pivot is not None:
            for target, part in zip(self._parts(row, start, len(pivot)), pivot, strict=True):
                reduce(target, part)
            return factor
        with (
            self._when(w.compare("une", factor, self._zero)),
            self._each(start, front["length"], self._width) as c,
        ):
            reduce(self._plus(row, c), self._load(self._plus(own, c)))
        return factor

    def _solve_back(self, front: dict[str, str]) -> None:
        """The unknowns of a front, those of its border being known: first what these contribute to every row, then one
        unknown after the other, from the last on."""
        w, p, kind = self.w, self._p, self.lanes.arithmetic
        border = w.new(f"sub i64 {front['rows']}, {front['pivots']}")
        start = w.new(f"and i64 {front['pivots']}, {-self._width}")
        with self._each(start, front["length"], self._width) as c:
            self._store(kind.constant(0.0), self._plus(c, p.local))
        local = self._plus(front["pivots"], p.local)
        with self._each("0", border) as i:
            place = self._entry(self._plus(front["border"], i))
            w.store(w.load("%work", self._plus(place, p.solution)), "%work", self._plus(local, i))
        with self._rows(front["upper"], "0", front["pivots"], front["length"]) as row:
            w.put(f"store {kind.number} {kind.constant(0.0)}, ptr {self._sum}")
            with self._each(start, front["length"], self._width) as c:
                known = self._load(self._plus(c, p.local))
                product = self.lanes.binary("mul", self._load(self._plus(row, c)), known)
                so_far = w.new(f"load {kind.number}, ptr {self._sum}")
                w.put(f"store {kind.number} {self.lanes.binary('add', so_far, product)}, ptr {self._sum}")
            right = self._plus(row, front["rows"])
            w.store(w.binary("sub", w.load("%work", right), self._summed()), "%work", right)
        last = w.new(f"sub i64 {front['pivots']}, 1")
        with self._each("0", front["pivots"]) as i:
            k = w.new(f"sub i64 {last}, {i}")
            at = self._plus(front["first"], k)
            right = self._plus(self._plus(front["upper"], self._times(k, front["length"])), front["rows"])
            found = w.binary("mul", w.load("%work", right), w.load("%work", self._plus(at, p.inverses)))
            w.store(found, "%work", self._plus(at, p.solution))
            w.store(found, "%work", self._entry(self._plus(at, p.target)))
            with self._rows(front["upper"], "0", k, front["length"]) as row:
                other = self._plus(row, front["rows"])
                product = w.binary("mul", w.load("%work", self._plus(row, k)), found)
                w.store(w.binary("sub", w.load("%work", other), product), "%work", other)

    # -- what all of it is written in ---------------------------------------------------------------------------

    @property
    def _zero(self) -> str:
        return self._arithmetic.constant(0.0)

    def _plus(self, a: str, b: str | int) -> str:
        return self.w.new(f"add i64 {a}, {b}")

    def _times(self, a: str, b: str | int) -> str:
        return self.w.new(f"mul i64 {a}, {b}")

    def _get(self, variable: str) -> str:
        return self.w.new(f"load {self._arithmetic.number}, ptr {variable}")

    def _set(self, variable: str, value: str) -> None:
        self.w.put(f"store {self._arithmetic.number} {value}, ptr {variable}")

    def _entry(self, index: str) -> str:
        """An entry of the table of places."""
        place = self.w.new(f"getelementptr i32, ptr %places, i64 {index}")
        return self.w.new(f"sext i32 {self.w.new(f'load i32, ptr {place}')} to i64")

    def _record(self, front: str) -> dict[str, str]:
        start = self._plus(self._times(front, len(RECORD)), self._p.records)
        return {name: self._entry(self._plus(start, k)) for k, name in enumerate(RECORD)}

    def _load(self, place: str) -> str:
        """A vector of the working memory."""
        pointer = self.w.new(f"getelementptr {self._arithmetic.scalar}, ptr %work, i64 {place}")
        return self.w.new(f"load {self.lanes.arithmetic.number}, ptr {pointer}, align {self._arithmetic.alignment}")

    def _store(self, value: str, place: str) -> None:
        pointer = self.w.new(f"getelementptr {self._arithmetic.scalar}, ptr %work, i64 {place}")
        kind = self.lanes.arithmetic.number
        self.w.put(f"store {kind} {value}, ptr {pointer}, align {self._arithmetic.alignment}")

    def _clear(self, start: str, count: str) -> None:
        zero = self.lanes.arithmetic.constant(0.0)
        with self._each("0", count, self._width) as k:
            self._store(zero, self._plus(start, k))

    def _summed(self) -> str:
        w, kind, width = self.w, self.lanes.arithmetic.number, self._width
        total = w.new(f"load {kind}, ptr {self._sum}")
        if width == 1:
            return total
        scalar = self._arithmetic.scalar
        full = f"@llvm.vector.reduce.fadd.v{width}f64"
        w.declarations.add(f"declare {scalar} {full}({scalar}, {kind})")
        return w.new(f"call reassoc {scalar} {full}({scalar} -0.0, {kind} {total})")

    @contextlib.contextmanager
    def _each(self, first: str, last: str, step: int = 1) -> Iterator[str]:
        """A loop over indices."""
        w, n = self.w, next(self._labels)
        w.put(f"br label %before{n}")
        w.label(f"before{n}")
        w.put(f"br label %head{n}")
        w.label(f"head{n}")
        index = w.new(f"phi i64 [ {first}, %before{n} ], [ %next{n}, %again{n} ]")
        w.put(f"br i1 {w.new(f'icmp slt i64 {index}, {last}')}, label %body{n}, label %done{n}")
        w.label(f"body{n}")
        yield index
        w.put(f"br label %again{n}")
        w.label(f"again{n}")
        w.put(f"%next{n} = add i64 {index}, {step}")
        w.put(f"br label %head{n}")
        w.label(f"done{n}")

    @contextlib.contextmanager
    def _rows(self, start: str, first: str, last: str, length: str) -> Iterator[str]:
        """A loop over rows: where each begins."""
        with self._each(first, last) as i:
            yield self._plus(start, self._times(i, length))

    @contextlib.contextmanager
    def _when(self, condition: str) -> Iterator[None]:
        w, n = self.w, next(self._labels)
        w.put(f"br i1 {condition}, label %then{n}, label %after{n}")
        w.label(f"then{n}")
        yield
        w.put(f"br label %after{n}")
        w.label(f"after{n}")
