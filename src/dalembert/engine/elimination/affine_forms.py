"""Less inside the loop: Newton's iteration in forms c_0 + c_1 v_1 + c_2 v_2 + ... whose c_k do not change in it.

A position that a multiplier x moves is traced as q - (h / m) (p - d x), three operations on the way from x, and its
derivative is built from factors in the order in which the chain rule came by them. As a form it is c_0 + c_1 x: one
multiply-add in the loop, and the c_k are computed once a step. A small system spends its time waiting for exactly this
chain of operations, each of which needs the one before.

Every operation of the loop becomes a form. Sums add the forms of their terms, a factor that does not change multiplies
the c_k, everything else (products of two things that change, functions) becomes a v of its own. A form of several terms
that is used more than once is computed once and then counts as one v. What is added up is what was added up before, in
another order: results agree to roundoff of the terms.
"""

from __future__ import annotations

from typing import NamedTuple

from ..program.levels import FIRST_BLOCK, ONCE_A_RUN, Levels
from ..program.program import CONST, INPUT, Program
from .elimination import Reduced

#: Loops with more operations are left alone: they wait for arithmetic, not for each other, and the pass takes time.
MOST_OPERATIONS = 8_000
#: A form with more terms is not multiplied out.
MOST_TERMS = 2
#: The part of the operations that may be left. Loops that gain less keep the order in which their differences were
#: taken: (q_1 - q_0) / h has more correct digits than q_1 / h - q_0 / h, which a collocation method's multipliers need.
WORTH_WHILE = 0.65
#: Loops in which fewer operations than this share have an argument that does not change gain less; they are not tried.
PROMISING = 0.55
#: So many iterations of a step are taken to repay what is computed once a step.
ITERATIONS = 2


class _Form(NamedTuple):
    """run * step * (constant + sum of c v): factors are kept apart until there is something to add."""

    constant: int
    terms: dict[int, int]  # v -> c
    run: int  # a factor known once a run
    step: int  # a factor known once a step, or when earlier blocks are solved


def shorten_loops(reduced: Reduced) -> None:
    """Rewrite the update of every block where that leaves less to compute."""
    for index, block in enumerate(reduced.blocks):
        roots = [*block.update, *block.growth]
        new = _Rewriting(reduced.program, reduced.levels(), FIRST_BLOCK + index, roots).result()
        if new is not None:
            block.update, block.growth = new[: len(block.update)], new[len(block.update) :]


class _Rewriting:
    def __init__(self, program: Program, levels: Levels, level: int, roots: list[int]) -> None:
        self._program, self._levels, self._level, self._roots = program, levels, level, roots
        self._loop = self._inside(roots)
        self._uses: dict[int, int] = {}
        for node in [a for k in self._loop for a in program.args[k]] + roots:
            self._uses[node] = self._uses.get(node, 0) + 1
        self._forms: dict[int, _Form] = {}
        self._built: dict[int, int] = {}

    def result(self) -> list[int] | None:
        """The roots in other words; None if that is not worth while."""
        if not 0 < len(self._loop) <= MOST_OPERATIONS or not self._promising():
            return None
        for node in self._loop:
            self._forms[node] = self._form(node)
        new = [self._value(root) for root in self._roots]
        is_shorter = len(self._inside(new)) <= WORTH_WHILE * len(self._loop)
        return new if is_shorter and self._cost(new) < self._cost(self._roots) else None

    def _promising(self) -> bool:
        arguments = [self._program.args[k] for k in self._loop if self._program.op[k] != INPUT]
        steady = sum(not all(map(self._changes, some)) for some in arguments)
        return steady >= PROMISING * len(arguments)

    # -- what it costs ----------------------------------------------------------------------------------------------

    def _inside(self, roots: list[int]) -> list[int]:
        """The operations of the loop, unknowns included."""
        return [k for k in self._program.needed(roots) if self._levels[k] == self._level]

    def _cost(self, roots: list[int]) -> int:
        ops = self._program.op
        counted = [k for k in self._program.needed(roots) if ops[k] not in (CONST, INPUT)]
        inside = sum(self._levels[k] == self._level for k in counted)
        once_a_step = sum(1 < self._levels[k] < self._level for k in counted)
        return ITERATIONS * inside + once_a_step

    # -- forms ------------------------------------------------------------------------------------------------------

    def _changes(self, node: int) -> bool:
        return self._levels[node] == self._level

    def _form(self, node: int) -> _Form:
        program = self._program
        op, arguments = program.op[node], program.args[node]
        if op == "add":
            return self._sum(arguments, program.add)
        if op == "sub":
            return self._sum(arguments, program.sub)
        if op == "neg":
            return self._scaled(self._entering(arguments[0]), program.const(-1.0))
        if op == "mul":
            return self._product(*arguments)
        if op == "div":
            return self._quotient(*arguments)
        if op == INPUT:
            return self._alone(node)
        return self._alone(program.apply(op, *(self._value(a) for a in arguments)))

    def _alone(self, v: int, run: int | None = None, step: int | None = None) -> _Form:
        one = self._program.one
        return _Form(self._program.zero, {v: one}, one if run is None else run, one if step is None else step)

    def _is_alone(self, form: _Form) -> bool:
        return form.constant == self._program.zero and len(form.terms) == 1

    def _entering(self, node: int) -> _Form:
        """The form in which an operation enters another one: itself, if it is not computed for others anyway."""
        form = self._forms[node]
        return form if self._is_alone(form) or self._uses[node] == 1 else self._alone(self._value(node))

    def _scaled(self, form: _Form, factor: int) -> _Form:
        multiply = self._program.mul  # which brings numbers to the front, where sums of coefficients meet them
        if self._levels[factor] <= ONCE_A_RUN:
            return form._replace(run=multiply(form.run, factor))
        return form._replace(step=multiply(form.step, factor))

    def _multiplied_out(self, node: int) -> _Form:
        """What an operation adds to a sum, without factors of its own."""
        program = self._program
        one = program.one
        if not self._changes(node):
            return _Form(node, {}, one, one)
        form = self._entering(node)
        factor = program.mul(form.run, form.step)
        if factor == one:
            return form
        if len(form.terms) > MOST_TERMS and program.op[factor] != CONST:
            bare = self._emitted(form._replace(run=one, step=one))
            return _Form(program.zero, {bare: factor}, one, one)
        terms = {v: program.mul(c, factor) for v, c in form.terms.items()}
        return _Form(program.mul(form.constant, factor), terms, one, one)

    def _sum(self, arguments: tuple[int, ...], combine) -> _Form:
        (first, second), zero = map(self._multiplied_out, arguments), self._program.zero
        terms = dict(first.terms)
        for v, c in second.terms.items():
            terms[v] = combine(terms.get(v, zero), c)
        kept = {v: c for v, c in terms.items() if c != zero}
        return _Form(combine(first.constant, second.constant), kept, first.run, first.step)

    def _split(self, node: int) -> _Form:
        """c v: as much of an operation in c as does not change, and a single v."""
        form = self._entering(node)
        if self._is_alone(form):
            ((v, c),) = form.terms.items()
            return self._scaled(self._alone(v, form.run, form.step), c)
        return self._alone(
            self._emitted(form._replace(run=self._program.one, step=self._program.one)), form.run, form.step
        )

    def _product(self, a: int, b: int) -> _Form:
        if not self._changes(a):
            return self._scaled(self._entering(b), a)
        if not self._changes(b):
            return self._scaled(self._entering(a), b)
        first, second = self._split(a), self._split(b)
        (v,), (w,) = first.terms, second.terms
        multiply = self._program.mul
        return self._alone(
            self._program.product(v, w), multiply(first.run, second.run), multiply(first.step, second.step)
        )

    def _quotient(self, a: int, b: int) -> _Form:
        program = self._program
        if not self._changes(b):
            return self._scaled(self._entering(a), program.reciprocal(b))
        below = self._split(b)
        (w,) = below.terms
        if self._changes(a):
            above = self._split(a)
            (v,) = above.terms
        else:
            above, v = self._scaled(self._alone(program.one), a), program.one
        return self._alone(program.div(v, w), program.div(above.run, below.run), program.div(above.step, below.step))

    # -- back to operations -----------------------------------------------------------------------------------------

    def _value(self, node: int) -> int:
        if not self._changes(node):
            return node
        if node not in self._built:
            self._built[node] = self._emitted(self._forms[node])
        return self._built[node]

    def _emitted(self, form: _Form) -> int:
        """c_0 + c_1 v_1 + ..., each addition with the product it adds one instruction."""
        program, total = self._program, form.constant
        for v, c in form.terms.items():
            factor = program.number(c)
            if factor == -1.0:
                total = program.sub(total, v)
            else:
                total = program.add(total, program.product(c, v))
        return program.product(total, program.mul(form.run, form.step))
