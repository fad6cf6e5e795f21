"""Linear systems of few diagonals, for Newton's iteration on what does not fall into loops.

The equations of a collocation method on a chain fill up when they are eliminated in halves; link after link they do
not. With equations and unknowns in an order that keeps neighbours together (reverse Cuthill-McKee on the graph of
both), entry (i, j) is zero but for i - below <= j <= i + above, and Gaussian elimination with row exchanges takes

    below (below + above)

multiplications a row, side by side in memory. Row i is scaled once for all, taken up when the elimination first needs
it, and kept in `below + width` numbers, of which number j - i + below belongs to column j; exchanges can reach
`below` columns further. Pivots are chosen anew in every iteration, so that none goes bad on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from ..tuning import tuning
from .fronts import VECTOR


@dataclass(frozen=True)
class Band:
    """Where the entries of a matrix lie once rows and columns are in order."""

    size: int
    below: int
    above: int
    rows: np.ndarray  # the row of the matrix in each row of the band
    columns: np.ndarray  # the column of the matrix in each column of the band
    entries: np.ndarray  # the entries of the matrix, row after row of the band
    starts: np.ndarray  # where the entries of each row of the band begin, and the end
    at: np.ndarray  # of these entries, column - row + below
    scales: np.ndarray  # by which each row of the band is multiplied

    @property
    def work(self) -> int:
        """Multiplications for one solution."""
        return self.size * (self.below + 2) * (self.below + self.above + 1)

    @property
    def cost(self) -> float:
        """Predicted time of one solution, in operations on a vector."""
        pivot, row = tuning().pivot_cost, tuning().row_cost
        return self.size * (pivot + (self.below + 1) * (row - -(self.below + self.above + 1) // VECTOR))


def band_of(rows: np.ndarray, columns: np.ndarray, scales: np.ndarray, most_work: int | None = None) -> Band | None:
    """The band of a matrix with these entries and scales of its rows, or None if it is too wide to be worth while."""
    size, most_work = len(scales), tuning().band_work if most_work is None else most_work
    ones = np.ones(len(rows), np.int8)
    graph = sparse.csr_array((ones, (rows, size + columns)), shape=(2 * size, 2 * size))
    order = csgraph.reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    row_order, column_order = order[order < size], order[order >= size] - size
    row_place, column_place = np.empty(size, np.int64), np.empty(size, np.int64)
    row_place[row_order], column_place[column_order] = np.arange(size), np.arange(size)
    row, column = row_place[rows], column_place[columns]
    offset = column - row
    below, above = max(0, -int(offset.min())), max(0, int(offset.max()))
    if (below + 2) * (below + above + 1) > most_work:
        return None
    entries = np.lexsort((column, row))
    starts = np.searchsorted(row[entries], np.arange(size + 1))
    at = offset[entries] + below
    return Band(size, below, above, row_order, column_order, entries, starts, at, scales[row_order])


@dataclass(frozen=True)
class Places:
    """Where a solver finds and leaves its numbers in the working memory, and its tables in the table of places."""

    storage: int  # the rows
    inverses: int
    right: int
    solution: int  # with zeros behind it
    scales: int
    starts: int  # in the table: the band's, and for every entry and row where it comes from and goes to
    at: int
    entry_from: int
    right_from: int
    target: int


class BandedSolver:
    """A function `name(work, places)` that solves one system, in LLVM's language."""

    def __init__(self, name: str, band: Band, number: str, lanes: int) -> None:
        """`number` is the type of a number; `lanes` of them are computed with at a time."""
        self._name, self._band, self._number, self._lanes = name, band, number, lanes
        self._vectors = -(-(band.below + band.above + 1) // lanes)
        self.width = self._vectors * lanes
        self._row = band.below + self.width

    @property
    def storage(self) -> int:
        """How many numbers the rows take."""
        return (self._band.size + 1) * self._row + self._lanes

    @property
    def solution(self) -> int:
        """How many numbers the solution takes, with the zeros behind it."""
        return self._band.size + self.width

    def text(self, places: Places) -> str:
        """The functions; `declarations` are those they need."""
        return self._row_text(places) + self._solve_text(places)

    @property
    def declarations(self) -> set[str]:
        found = {f"declare {self._number} @llvm.fabs.{self._suffix}({self._number})"}
        if self._lanes > 1:
            number, lanes = self._number, self._lanes
            found.add(f"declare {number} @llvm.vector.reduce.fadd.v{lanes}{self._suffix}({number}, {self._vector})")
        return found

    @property
    def _suffix(self) -> str:
        return {"double": "f64", "x86_fp80": "f80"}[self._number]

    @property
    def _vector(self) -> str:
        return self._number if self._lanes == 1 else f"<{self._lanes} x {self._number}>"

    @property
    def _zero(self) -> str:
        if self._lanes > 1:
            return "zeroinitializer"
        return "0.0" if self._number == "double" else "0xK00000000000000000000"

    @property
    def _scalar_zero(self) -> str:
        return "0.0" if self._number == "double" else "0xK00000000000000000000"

    @property
    def _one(self) -> str:
        return "1.0" if self._number == "double" else "0xK3FFF8000000000000000"

    def _row_text(self, p: Places) -> str:
        """Row i: zeros, then its entries and its right side, scaled."""
        n, v = self._number, self._vector
        zeros = "".join(
            f"  %z{k} = getelementptr {n}, ptr %row, i64 {k * self._lanes}\n"
            f"  store {v} {self._zero}, ptr %z{k}, align 8\n"
            for k in range(-(-self._row // self._lanes))
        )
        return f"""
define internal void @{self._name}.row(ptr noalias %work, ptr noalias %places, i64 %i) {{
entry:
  %offset = mul i64 %i, {self._row}
  %storage = getelementptr {n}, ptr %work, i64 {p.storage}
  %row = getelementptr {n}, ptr %storage, i64 %offset
{zeros}  %scales = getelementptr {n}, ptr %work, i64 {p.scales}
  %scale.at = getelementptr {n}, ptr %scales, i64 %i
  %scale = load {n}, ptr %scale.at
  %right.table = getelementptr i32, ptr %places, i64 {p.right_from}
  %right.entry = getelementptr i32, ptr %right.table, i64 %i
  %right.place = load i32, ptr %right.entry
  %right.from = getelementptr {n}, ptr %work, i32 %right.place
  %right.value = load {n}, ptr %right.from
  %right.scaled = fmul {n} %right.value, %scale
  %rights = getelementptr {n}, ptr %work, i64 {p.right}
  %right.at = getelementptr {n}, ptr %rights, i64 %i
  store {n} %right.scaled, ptr %right.at
  %starts = getelementptr i32, ptr %places, i64 {p.starts}
  %first.at = getelementptr i32, ptr %starts, i64 %i
  %first = load i32, ptr %first.at
  %last.at = getelementptr i32, ptr %first.at, i64 1
  %last = load i32, ptr %last.at
  %ats = getelementptr i32, ptr %places, i64 {p.at}
  %froms = getelementptr i32, ptr %places, i64 {p.entry_from}
  br label %head
head:
  %e = phi i32 [ %first, %entry ], [ %e.next, %body ]
  %more = icmp slt i32 %e, %last
  br i1 %more, label %body, label %done
body:
  %at.place = getelementptr i32, ptr %ats, i32 %e
  %at = load i32, ptr %at.place
  %from.place = getelementptr i32, ptr %froms, i32 %e
  %from = load i32, ptr %from.place
  %value.at = getelementptr {n}, ptr %work, i32 %from
  %value = load {n}, ptr %value.at
  %scaled = fmul {n} %value, %scale
  %target = getelementptr {n}, ptr %row, i32 %at
  store {n} %scaled, ptr %target
  %e.next = add i32 %e, 1
  br label %head
done:
  ret void
}}
"""

    def _solve_text(self, p: Places) -> str:
        """Elimination with row exchanges, column by column, and the solution backwards.

        Long: the text of one LLVM function, read from its first block to its last.
        """
        n, v, size, below = self._number, self._vector, self._band.size, self._band.below
        parts = range(self._vectors)

        def pointers(name: str, base: str) -> str:
            return "".join(f"  %{name}{k} = getelementptr {n}, ptr {base}, i64 {k * self._lanes}\n" for k in parts)

        def loads(name: str, source: str) -> str:
            return "".join(f"  %{name}{k} = load {v}, ptr %{source}{k}, align 8\n" for k in parts)

        def stores(name: str, target: str) -> str:
            return "".join(f"  store {v} %{name}{k}, ptr %{target}{k}, align 8\n" for k in parts)

        updates = "".join(
            f"  %product{k} = fmul contract {v} %factors, %pivot{k}\n"
            f"  %reduced{k} = fsub contract {v} %other{k}, %product{k}\n"
            for k in parts
        )
        sums = "".join(
            f"  %part{k} = fmul contract {v} %kept{k}, %known{k}\n"
            + (f"  %sum{k} = fadd contract {v} %sum{k - 1}, %part{k}\n" if k else "")
            for k in parts
        ).replace("%sum0", "%part0")
        total = f"%sum{self._vectors - 1}" if self._vectors > 1 else "%part0"
        return f"""
define internal void @{self._name}(ptr noalias %work, ptr noalias %places) {{
entry:
  %storage = getelementptr {n}, ptr %work, i64 {p.storage}
  %inverses = getelementptr {n}, ptr %work, i64 {p.inverses}
  %rights = getelementptr {n}, ptr %work, i64 {p.right}
  %solution = getelementptr {n}, ptr %work, i64 {p.solution}
  %targets = getelementptr i32, ptr %places, i64 {p.target}
  br label %begin
begin:
  %i0 = phi i64 [ 0, %entry ], [ %i0.next, %begin.take ]
  %begin.more = icmp slt i64 %i0, {min(below, size)}
  br i1 %begin.more, label %begin.take, label %columns
begin.take:
  call void @{self._name}.row(ptr %work, ptr %places, i64 %i0)
  %i0.next = add i64 %i0, 1
  br label %begin
columns:
  %k = phi i64 [ 0, %begin ], [ %k.next, %column.done ]
  %column.more = icmp slt i64 %k, {size}
  br i1 %column.more, label %column, label %back
column:
  %new = add i64 %k, {below}
  %is.new = icmp slt i64 %new, {size}
  br i1 %is.new, label %take, label %search
take:
  call void @{self._name}.row(ptr %work, ptr %places, i64 %new)
  %after.new = add i64 %new, 1
  br label %search
search:
  %beyond = phi i64 [ {size}, %column ], [ %after.new, %take ]
  %column.at = getelementptr {n}, ptr %storage, i64 %k
  %diagonal.row = mul i64 %k, {self._row - 1}
  %diagonal.column = add i64 %diagonal.row, {below}
  %diagonal = getelementptr {n}, ptr %column.at, i64 %diagonal.column
  %diagonal.value = load {n}, ptr %diagonal
  %diagonal.size = call {n} @llvm.fabs.{self._suffix}({n} %diagonal.value)
  %below.first = add i64 %k, 1
  br label %compare
compare:
  %i1 = phi i64 [ %below.first, %search ], [ %i1.next, %compared ]
  %best = phi {n} [ %diagonal.size, %search ], [ %best.next, %compared ]
  %chosen = phi i64 [ %k, %search ], [ %chosen.next, %compared ]
  %at1 = phi ptr [ %diagonal, %search ], [ %at1.next, %compared ]
  %compare.more = icmp slt i64 %i1, %beyond
  br i1 %compare.more, label %compared, label %exchange
compared:
  %at1.next = getelementptr {n}, ptr %at1, i64 {self._row - 1}
  %candidate = load {n}, ptr %at1.next
  %candidate.size = call {n} @llvm.fabs.{self._suffix}({n} %candidate)
  %larger = fcmp ogt {n} %candidate.size, %best
  %best.next = select i1 %larger, {n} %candidate.size, {n} %best
  %chosen.next = select i1 %larger, i64 %i1, i64 %chosen
  %i1.next = add i64 %i1, 1
  br label %compare
exchange:
  %right.k = getelementptr {n}, ptr %rights, i64 %k
{pointers("own", "%diagonal")}  %is.other = icmp ne i64 %chosen, %k
  br i1 %is.other, label %swap, label %pivoted
swap:
  %away = sub i64 %chosen, %k
  %away.numbers = mul i64 %away, {self._row - 1}
  %chosen.at = getelementptr {n}, ptr %diagonal, i64 %away.numbers
{pointers("theirs", "%chosen.at")}{loads("mine", "own")}{loads("yours", "theirs")}
{stores("mine", "theirs")}{stores("yours", "own")}  %right.chosen = getelementptr {n}, ptr %rights, i64 %chosen
  %right.mine = load {n}, ptr %right.k
  %right.yours = load {n}, ptr %right.chosen
  store {n} %right.mine, ptr %right.chosen
  store {n} %right.yours, ptr %right.k
  br label %pivoted
pivoted:
  %pivot.value = load {n}, ptr %diagonal
  %inverse = fdiv {n} {self._one}, %pivot.value
  %inverse.at = getelementptr {n}, ptr %inverses, i64 %k
  store {n} %inverse, ptr %inverse.at
  %solution.k = getelementptr {n}, ptr %solution, i64 %k
  store {n} {self._scalar_zero}, ptr %solution.k
  %right.pivot = load {n}, ptr %right.k
{loads("pivot", "own")}  br label %eliminate
eliminate:
  %i2 = phi i64 [ %below.first, %pivoted ], [ %i2.next, %eliminated ]
  %at2 = phi ptr [ %diagonal, %pivoted ], [ %at2.next, %eliminated ]
  %eliminate.more = icmp slt i64 %i2, %beyond
  br i1 %eliminate.more, label %look, label %column.done
look:
  %at2.next = getelementptr {n}, ptr %at2, i64 {self._row - 1}
  %entry.value = load {n}, ptr %at2.next
  %is.entry = fcmp une {n} %entry.value, {self._scalar_zero}
  br i1 %is.entry, label %subtract, label %eliminated
subtract:
  %factor = fmul {n} %entry.value, %inverse
{self._splat("factors", "%factor")}{pointers("place", "%at2.next")}{loads("other", "place")}
{updates}{stores("reduced", "place")}  %right.i = getelementptr {n}, ptr %rights, i64 %i2
  %right.old = load {n}, ptr %right.i
  %right.product = fmul contract {n} %factor, %right.pivot
  %right.new = fsub contract {n} %right.old, %right.product
  store {n} %right.new, ptr %right.i
  br label %eliminated
eliminated:
  %i2.next = add i64 %i2, 1
  br label %eliminate
column.done:
  %k.next = add i64 %k, 1
  br label %columns
back:
  %u = phi i64 [ {size - 1}, %columns ], [ %u.next, %backward ]
  %back.more = icmp sge i64 %u, 0
  br i1 %back.more, label %backward, label %done
backward:
  %u.row = mul i64 %u, {self._row}
  %u.at = add i64 %u.row, {below}
  %kept.at = getelementptr {n}, ptr %storage, i64 %u.at
  %known.at = getelementptr {n}, ptr %solution, i64 %u
{pointers("kept.at", "%kept.at")}{pointers("known.at", "%known.at")}
{loads("kept", "kept.at")}{loads("known", "known.at")}{sums}
{self._summed(total)}  %u.right.at = getelementptr {n}, ptr %rights, i64 %u
  %u.right = load {n}, ptr %u.right.at
  %u.rest = fsub {n} %u.right, %summed
  %u.inverse.at = getelementptr {n}, ptr %inverses, i64 %u
  %u.inverse = load {n}, ptr %u.inverse.at
  %found = fmul {n} %u.rest, %u.inverse
  store {n} %found, ptr %known.at
  %u.target.at = getelementptr i32, ptr %targets, i64 %u
  %u.target = load i32, ptr %u.target.at
  %u.place = getelementptr {n}, ptr %work, i32 %u.target
  store {n} %found, ptr %u.place
  %u.next = sub i64 %u, 1
  br label %back
done:
  ret void
}}
"""

    def _splat(self, name: str, value: str) -> str:
        if self._lanes == 1:
            return f"  %{name} = fadd {self._number} {value}, {self._scalar_zero}\n"
        first = f"  %{name}.first = insertelement {self._vector} poison, {self._number} {value}, i32 0\n"
        mask = f"<{self._lanes} x i32> zeroinitializer"
        return first + f"  %{name} = shufflevector {self._vector} %{name}.first, {self._vector} poison, {mask}\n"

    def _summed(self, vector: str) -> str:
        n = self._number
        if self._lanes == 1:
            return f"  %summed = fadd {n} {vector}, {self._scalar_zero}\n"
        call = f"@llvm.vector.reduce.fadd.v{self._lanes}{self._suffix}({n} -0.0, {self._vector} {vector})"
        return f"  %summed = call reassoc {n} {call}\n"
