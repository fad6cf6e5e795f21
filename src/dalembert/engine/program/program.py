"""The scalar program: every expression once, constants folded, zeros gone.

A `Program` is a list of scalar operations in topological order; the number of an operation is its identity. Equal
expressions get equal numbers (hash-consing), so that shared work is done once and structural zeros of a Jacobian
vanish by themselves. Derivatives are carried as *linear forms* in named differentials: entry (i, j) of a Jacobian is
the coefficient of dx_j in the form of residual i.

Nothing in here knows a step, a method or mechanics; and nothing knows LLVM: every backend reads the same list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy

CONST, INPUT, LINEAR = "const", "input", "linear"


def _erf(x):
    return scipy.special.erf(x)  # loaded here: it takes a quarter of a second, and few models need it


def _erfc(x):
    return scipy.special.erfc(x)


#: op -> numpy function; also the list of all operations a backend must translate.
NUMPY: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "erf": _erf,
    "erfc": _erfc,
    "rem": np.fmod,  # exact, with the sign of the first
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "abs": np.abs,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "finite": np.isfinite,
    "select": np.where,  # select(condition, if_true, if_false)
}
BOOLEAN = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "finite"})
#: powers up to this are products, which lose half a digit of the last place a factor; the others lose nothing
MOST_FACTORS = 16
COMMUTATIVE = frozenset({"add", "mul", "max", "min", "eq", "ne", "and", "or", "xor"})


class Program:
    """A growing list of scalar operations. All methods that build one return its number."""

    in_arrays = False

    def __init__(self) -> None:
        self.op: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.value: list = []  # the number of a constant, the name of an input, the dict of a linear form
        self.late: list[bool] = []  # whether it depends on unknowns
        self.changing = 0  # parameters, the first ones, that have other values in every step of a run
        self._known: dict = {}
        self.linear_systems: Any = None  # solves those inside traced functions, where there are samples for pivots
        self.most: float = math.inf  # operations above which an elimination gives up
        self.calls: dict = {}  # results of functions that were called, by their arguments
        self.zero = self.const(0.0)
        self.one = self.const(1.0)

    def __len__(self) -> int:
        return len(self.op)

    # -- leaves ---------------------------------------------------------------------------------------------

    def _new(self, op: str, args: tuple[int, ...], value=None) -> int:
        self.op.append(op)
        self.args.append(args)
        self.value.append(value)
        late = self.late
        unknown = op == LINEAR or (op == INPUT and value is not None and value[0] == "x")
        late.append(any([late[a] for a in args]) if args else unknown)
        return len(self.op) - 1

    def const(self, number) -> int:
        number = bool(number) if isinstance(number, bool | np.bool_) else float(number)
        key = (CONST, number, math.copysign(1.0, number), isinstance(number, bool))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(CONST, (), number)
        return found

    def constants(self, values) -> np.ndarray:
        """Constants, numbers or truth values."""
        flat = [self.const(number) for number in np.ravel(values).tolist()]
        return np.array(flat, dtype=np.int64).reshape(np.shape(values))

    def input(self, name) -> int:
        key = (INPUT, name)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(INPUT, (), name)
        return found

    def inputs(self, kind: str, count: int) -> np.ndarray:
        """Inputs (kind, 0) ... (kind, count - 1)."""
        return np.array([self.input((kind, k)) for k in range(count)], dtype=np.int64)

    def linear(self, form: dict) -> int:
        """A linear form {differential: coefficient}; zero if it is empty."""
        form = {key: node for key, node in form.items() if node != self.zero}
        return self._new(LINEAR, (), form) if form else self.zero

    def differentials(self, count: int) -> np.ndarray:
        """The forms dx_0 ... dx_(count - 1)."""
        return np.array([self.linear({j: self.one}) for j in range(count)], dtype=np.int64)

    def form(self, node: int) -> dict:
        """The coefficients of a linear form; empty for the constant zero."""
        return self.value[node] if self.op[node] == LINEAR else {}

    def number(self, node: int) -> float | None:
        """The value of a constant, None for anything else."""
        return self.value[node] if self.op[node] == CONST else None

    # -- operations -----------------------------------------------------------------------------------------

    def apply(self, op: str, *args: int) -> int:
        """Any operation, simplified where it has a rule."""
        rule = self._RULES.get(op)
        return rule(self, *args) if rule is not None else self._plain(op, *args)

    def _plain(self, op: str, *args: int) -> int:
        ops = self.op
        if all(ops[a] == CONST for a in args):
            with np.errstate(all="ignore"):
                return self.const(NUMPY[op](*(self.value[a] for a in args))[()])
        if len(args) == 2 and args[0] > args[1] and op in COMMUTATIVE:
            args = (args[1], args[0])
        key = (op, args)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(op, args)
        return found

    def _term(self, node: int) -> tuple[float, int]:
        """node as (factor, base): -3 x is (-3, x)."""
        op = self.op[node]
        if op == "neg":
            factor, base = self._term(self.args[node][0])
            return -factor, base
        if op == "mul":
            a, b = self.args[node]
            if self.op[a] == CONST:
                return self.value[a], b
            if self.op[b] == CONST:
                return self.value[b], a
        return 1.0, node

    def scaled(self, factor: float, node: int) -> int:
        """factor * node."""
        if factor == 1.0:
            return node
        if factor == -1.0:
            return self.neg(node)
        return self.mul(self.const(factor), node)

    def add(self, a: int, b: int) -> int:
        if a == self.zero:
            return b
        if b == self.zero:
            return a
        ops = self.op
        if ops[a] == LINEAR or ops[b] == LINEAR:
            return self._combine(a, b, self.add, lambda node: node)
        if ops[a] == CONST and ops[b] == CONST:
            return self.const(self.value[a] + self.value[b])
        fa, base_a = self._term(a)
        fb, base_b = self._term(b)
        if base_a == base_b and ops[base_a] != CONST:
            total = fa + fb
            return self.zero if total == 0.0 else self.scaled(total, base_a)
        if ops[b] == "neg":
            return self.sub(a, self.args[b][0])
        if ops[a] == "neg":
            return self.sub(b, self.args[a][0])
        for x, y in ((a, b), (b, a)):  # x + (x' - z) with x, x' multiples of one thing
            if ops[y] == "sub" and self._term(self.args[y][0])[1] == self._term(x)[1]:
                return self.sub(self.add(x, self.args[y][0]), self.args[y][1])
        return self._plain("add", a, b)

    def sub(self, a: int, b: int) -> int:
        if b == self.zero:
            return a
        if a == self.zero:
            return self.neg(b)
        if a == b:
            return self.zero
        ops = self.op
        if ops[a] == LINEAR or ops[b] == LINEAR:
            return self._combine(a, b, self.sub, self.neg)
        if ops[a] == CONST and ops[b] == CONST:
            return self.const(self.value[a] - self.value[b])
        fa, base_a = self._term(a)
        fb, base_b = self._term(b)
        if base_a == base_b and ops[base_a] != CONST:
            total = fa - fb
            return self.zero if total == 0.0 else self.scaled(total, base_a)
        if ops[b] == "neg":
            return self.add(a, self.args[b][0])
        return self._plain("sub", a, b)

    def neg(self, a: int) -> int:
        op = self.op[a]
        if op == CONST:
            return self.const(-self.value[a]) if self.value[a] != 0.0 else self.zero
        if op == "neg":
            return self.args[a][0]
        if op == "sub":
            return self.sub(self.args[a][1], self.args[a][0])
        if op == LINEAR:
            return self.linear({key: self.neg(node) for key, node in self.value[a].items()})
        if op == "mul":
            factor, base = self._term(a)
            if factor != 1.0:
                return self.scaled(-factor, base)
        return self._plain("neg", a)

    def mul(self, a: int, b: int) -> int:
        if a == self.zero or b == self.zero:
            return self.zero
        if a == self.one:
            return b
        if b == self.one:
            return a
        ops = self.op
        if (ops[a] == CONST and self.value[a] == 0.0) or (ops[b] == CONST and self.value[b] == 0.0):  # -0.0
            return self.zero
        if ops[a] == LINEAR:
            return self.linear({key: self.mul(node, b) for key, node in self.value[a].items()})
        if ops[b] == LINEAR:
            return self.linear({key: self.mul(a, node) for key, node in self.value[b].items()})
        if ops[a] == CONST and ops[b] == CONST:
            return self.const(self.value[a] * self.value[b])
        fa, base_a = self._term(a)
        fb, base_b = self._term(b)
        if ops[a] == CONST:
            factor = self.value[a] * fb
            if factor == -1.0:
                return self.neg(base_b)
            return base_b if factor == 1.0 else self._plain("mul", self.const(factor), base_b)
        if ops[b] == CONST:
            return self.mul(b, a)
        if fa * fb != 1.0:
            return self.scaled(fa * fb, self.mul(base_a, base_b))
        if (fa, fb) != (1.0, 1.0):
            return self.mul(base_a, base_b)
        return self._plain("mul", a, b)

    def product(self, a: int, b: int) -> int:
        """a * b, but a constant factor stays inside: `mul` brings it to the front, out of what may be known earlier."""
        numbers = [number for number in (self.number(a), self.number(b)) if number is not None]
        if len(numbers) == 2 or any(abs(number) in (0.0, 1.0) for number in numbers):
            return self.mul(a, b)
        for x, y in ((a, b), (b, a)):  # a sign goes to the front, where a sum takes it up
            if self.op[x] == "neg":
                return self.neg(self.product(self.args[x][0], y))
        return self._plain("mul", a, b)

    def div(self, a: int, b: int) -> int:
        if a == self.zero or b == self.one:
            return a
        if self.op[b] == CONST and self.value[b] != 0.0:
            inverse = 1.0 / self.value[b]
            if math.frexp(abs(self.value[b]))[0] == 0.5:  # a power of two: exact
                return self.mul(self.const(inverse), a)
        if self.op[a] == LINEAR:
            return self.mul(self.reciprocal(b), a)
        if a == b:
            return self.one
        return self._plain("div", a, b)

    def reciprocal(self, a: int) -> int:
        """1 / a."""
        return self.div(self.one, a)

    def power(self, base: int, exponent: int) -> int:
        """base ** exponent for an integer exponent, by repeated squaring (shared between powers)."""
        if exponent < 0:
            return self.reciprocal(self.power(base, -exponent))
        if exponent == 0:
            return self.one
        half = self.power(base, exponent // 2)
        square = self.mul(half, half) if exponent > 1 else self.one
        return self.mul(square, base) if exponent % 2 else square

    def _pow(self, a: int, b: int) -> int:
        exponent = self.number(b)
        if exponent is not None:
            if float(exponent).is_integer() and abs(exponent) <= MOST_FACTORS:
                return self.power(a, int(exponent))
            if exponent == 0.5:
                return self._plain("sqrt", a)
            if exponent == -0.5:
                return self.reciprocal(self._plain("sqrt", a))
        return self._plain("pow", a, b)

    def select(self, condition: int, if_true: int, if_false: int) -> int:
        chosen = self.number(condition)
        if chosen is not None:
            return if_true if chosen else if_false
        if if_true == if_false:
            return if_true
        if LINEAR in (self.op[if_true], self.op[if_false]):
            x, y = self.form(if_true), self.form(if_false)
            keys = dict.fromkeys([*x, *y])
            return self.linear({k: self.select(condition, x.get(k, self.zero), y.get(k, self.zero)) for k in keys})
        if self._is_truth(if_true) and self._is_truth(if_false):
            otherwise = self._plain("and", self._plain("not", condition), if_false)
            return self._plain("or", self._plain("and", condition, if_true), otherwise)
        return self._plain("select", condition, if_true, if_false)

    def _is_truth(self, node: int) -> bool:
        return self.op[node] in BOOLEAN or isinstance(self.number(node), bool)

    def truth(self, node: int) -> int:
        """A truth value, given as one or as the number 0 or 1."""
        if self._is_truth(node):
            return node
        if self.op[node] == "select" and self.args[node][1:] == (self.one, self.zero):
            return self.args[node][0]
        return self._plain("ne", node, self.zero)

    def _eq(self, a: int, b: int) -> int:
        return (
            self._plain("not", self._ne(a, b)) if self._is_truth(a) and self._is_truth(b) else self._plain("eq", a, b)
        )

    def _ne(self, a: int, b: int) -> int:
        return self._plain("xor" if self._is_truth(a) and self._is_truth(b) else "ne", a, b)

    def _combine(self, a: int, b: int, op: Callable, lone: Callable) -> int:
        x, y = dict(self.form(a)), self.form(b)
        for key, node in y.items():
            x[key] = op(x[key], node) if key in x else lone(node)
        return self.linear(x)

    _RULES: dict[str, Callable] = {  # noqa: RUF012 - filled once, below the class it needs
    }

    # -- reading --------------------------------------------------------------------------------------------

    def needed(self, outputs: Iterable[int], *, only_late: bool = False) -> list[int]:
        """The operations that the outputs need, in order; or only those that depend on unknowns."""
        seen: set[int] = set()
        stack = list(outputs)
        while stack:
            node = stack.pop()
            if node not in seen and (not only_late or self.late[node]):
                seen.add(node)
                stack.extend(self.args[node])
        return sorted(seen)


Program._RULES.update(
    add=Program.add, sub=Program.sub, mul=Program.mul, div=Program.div, neg=Program.neg, pow=Program._pow,
    select=Program.select, eq=Program._eq, ne=Program._ne,
)  # fmt: skip


def by_name(tables: dict) -> dict:
    """{(kind, index): values} from {kind: a row an index}."""
    return {(kind, k): row for kind, table in tables.items() for k, row in enumerate(table)}


class Values:
    """Numbers for every operation of a program at sampled inputs; grows with the program.

    `inputs` maps the name of an input to an array with one entry a sample (or a scalar).
    """

    def __init__(self, program: Program, inputs: dict) -> None:
        self._program = program
        self._inputs = inputs
        self._known: list = []

    def __getitem__(self, node: int):
        program, known = self._program, self._known
        if node >= len(known):
            with np.errstate(all="ignore"):
                for k in range(len(known), len(program)):
                    op = program.op[k]
                    if op == CONST:
                        known.append(program.value[k])
                    elif op == INPUT:
                        known.append(self._inputs[program.value[k]])
                    elif op == LINEAR:
                        known.append(None)
                    else:
                        known.append(NUMPY[op](*[known[a] for a in program.args[k]]))
        return known[node]

    def array(self, nodes: np.ndarray) -> np.ndarray:
        """The values of an array of operations; samples, if any, along the last axis."""
        rows = [np.asarray(self[node], dtype=np.float64) for node in np.ravel(nodes).tolist()]
        if not rows:
            return np.zeros(np.shape(nodes))
        stacked = np.stack(np.broadcast_arrays(*rows))
        return stacked.reshape(np.shape(nodes) + stacked.shape[1:])
