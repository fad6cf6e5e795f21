"""How numbers are written in LLVM: float64, vectors of float64, or 80-bit floats; and every operation in each.

The emitter of the step loop is written once, in terms of this class.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

#: operations that are calls into the C mathematics library
_LIBRARY = {
    **{name: name for name in ("cbrt", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos")},
    **{name: name for name in ("atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow")},
    **{"rem": "fmod", "erf": "erf", "erfc": "erfc"},
}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "round": "rint"}
_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_LOGIC = {"and": "and", "or": "or", "xor": "xor"}


@dataclass(frozen=True)
class Arithmetic:
    """The number type of generated code. `width` > 1 means one trajectory a lane."""

    extended: bool = False
    width: int = 1
    library: str = ""  # what the names of the mathematics library begin with

    @property
    def scalar(self) -> str:
        return "x86_fp80" if self.extended else "double"

    @property
    def number(self) -> str:
        return self.scalar if self.width == 1 else f"<{self.width} x double>"

    @property
    def truth(self) -> str:
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        return "f80" if self.extended else ("f64" if self.width == 1 else f"v{self.width}f64")

    @property
    def alignment(self) -> int:
        return 16 if self.extended else 8

    def constant(self, value: float) -> str:
        """A number as LLVM writes it, to the last bit."""
        text = _extended_hex(value) if self.extended else f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return text if self.width == 1 else f"splat (double {text})"

    def truth_constant(self, value: bool) -> str:
        text = "true" if value else "false"
        return text if self.width == 1 else f"splat (i1 {text})"


def _extended_hex(value: float) -> str:
    """x86 80-bit: sign and exponent (16 bits), then the significand with its leading one (64 bits)."""
    sign = 0x8000 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return "0xK7FFFC000000000000000"
    if math.isinf(value):
        return f"0xK{sign | 0x7FFF:04X}8000000000000000"
    if value == 0.0:
        return f"0xK{sign:04X}0000000000000000"
    fraction, exponent = math.frexp(abs(value))
    return f"0xK{sign | (exponent - 1 + 16383):04X}{int(fraction * 2**53) << 11:016X}"


class Writer:
    """Lines of LLVM, with fresh names and the declarations they need."""

    def __init__(self, arithmetic: Arithmetic, beside: Writer | None = None, contract: bool = False) -> None:
        """`beside` another writer: to the same lines, in another arithmetic. `contract` leaves it to LLVM which
        products become part of an addition; else that is said, and numbers do not depend on how hard LLVM tries."""
        self.arithmetic = arithmetic
        self._contract = " contract" if contract else ""
        self.lines: list[str] = beside.lines if beside else []
        self.declarations: set[str] = beside.declarations if beside else set()
        self._names: Iterator[int] = beside._names if beside else itertools.count(1)

    def put(self, line: str) -> None:
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def new(self, expression: str) -> str:
        """Assign an expression to a fresh name."""
        name = f"%v{next(self._names)}"
        self.put(f"{name} = {expression}")
        return name

    # -- numbers ---------------------------------------------------------------------------------------------

    def binary(self, op: str, a: str, b: str, exact: bool = False) -> str:
        """a op b; `exact` forbids contraction into a fused multiply-add."""
        flag = "" if exact or op == "div" else self._contract
        return self.new(f"{_BINARY[op]}{flag} {self.arithmetic.number} {a}, {b}")

    def product_sum(self, a: str, b: str, c: str) -> str:
        """a b + c, one instruction where the processor has it."""
        return self.intrinsic("fmuladd", a, b, c)

    def negative(self, a: str) -> str:
        return self.new(f"fneg {self.arithmetic.number} {a}")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.new(f"fcmp {how} {self.arithmetic.number} {a}, {b}")

    def choose(self, condition: str, a: str, b: str) -> str:
        kind = self.arithmetic
        return self.new(f"select {kind.truth} {condition}, {kind.number} {a}, {kind.number} {b}")

    def logic(self, op: str, a: str, b: str) -> str:
        return self.new(f"{op} {self.arithmetic.truth} {a}, {b}")

    def absolute(self, a: str) -> str:
        return self.intrinsic("fabs", a)

    def larger(self, a: str, b: str) -> str:
        """max(a, b), keeping b if a is not a number (norms check for that separately)."""
        return self.choose(self.compare("ogt", a, b), a, b)

    def largest(self, numbers: list[str]) -> str:
        """The largest of several numbers, in pairs, so that one comparison does not wait for all the others."""
        while len(numbers) > 1:
            pairs = [numbers[k : k + 2] for k in range(0, len(numbers), 2)]
            numbers = [self.larger(*reversed(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
        return numbers[0]

    def intrinsic(self, name: str, *arguments: str) -> str:
        kind = self.arithmetic.number
        full = f"@llvm.{name}.{self.arithmetic.suffix}"
        self.declarations.add(f"declare {kind} {full}({', '.join([kind] * len(arguments))})")
        return self.new(f"call {kind} {full}({', '.join(f'{kind} {a}' for a in arguments)})")

    def library(self, name: str, *arguments: str) -> str:
        """A call into the C library, lane by lane for vectors."""
        arithmetic, kind = self.arithmetic, self.arithmetic.scalar
        full = f"@{arithmetic.library}{name}{'l' if arithmetic.extended else ''}"
        self.declarations.add(
            f"declare {kind} {full}({', '.join([kind] * len(arguments))}) nounwind willreturn memory(none)"
        )
        if arithmetic.width == 1:
            return self.new(f"call {kind} {full}({', '.join(f'{kind} {a}' for a in arguments)})")
        result = "poison"
        for lane in range(arithmetic.width):
            items = [self.new(f"extractelement {arithmetic.number} {a}, i32 {lane}") for a in arguments]
            value = self.new(f"call {kind} {full}({', '.join(f'{kind} {a}' for a in items)})")
            result = self.new(f"insertelement {arithmetic.number} {result}, double {value}, i32 {lane}")
        return result

    def load(self, pointer: str, index: int | str) -> str:
        kind = self.arithmetic
        place = self.new(f"getelementptr {kind.number}, ptr {pointer}, i64 {index}")
        return self.new(f"load {kind.number}, ptr {place}, align {kind.alignment}")

    def store(self, value: str, pointer: str, index: int | str) -> None:
        kind = self.arithmetic
        place = self.new(f"getelementptr {kind.number}, ptr {pointer}, i64 {index}")
        self.put(f"store {kind.number} {value}, ptr {place}, align {kind.alignment}")

    def splat(self, value: str) -> str:
        """A scalar in every lane."""
        kind = self.arithmetic
        if kind.width == 1:
            return value
        first = self.new(f"insertelement {kind.number} poison, double {value}, i32 0")
        return self.new(
            f"shufflevector {kind.number} {first}, {kind.number} poison, <{kind.width} x i32> zeroinitializer"
        )

    def any(self, truth: str) -> str:
        """One truth value: does it hold in any lane?"""
        width = self.arithmetic.width
        if width == 1:
            return truth
        self.declarations.add(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)")
        return self.new(f"call i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1> {truth})")

    # -- operations of a program -----------------------------------------------------------------------------

    def operation(self, op: str, arguments: list[str]) -> str:
        """Translate one operation of a scalar program."""
        kind = self.arithmetic
        if op in _BINARY:
            return self.binary(op, arguments[0], arguments[1])
        if op == "neg":
            return self.negative(arguments[0])
        if op in _INTRINSIC:
            return self.intrinsic(_INTRINSIC[op], *arguments)
        if op in _LIBRARY:
            return self.library(_LIBRARY[op], *arguments)
        if op in ("max", "min"):
            if kind.extended:  # LLVM has no such instruction for 80-bit numbers
                a, b = arguments
                chosen = self.choose(self.compare({"max": "ogt", "min": "olt"}[op], a, b), a, b)
                return self.choose(self.compare("uno", a, b), self.binary("add", a, b), chosen)
            return self.intrinsic({"max": "maximum", "min": "minimum"}[op], *arguments)
        if op in _COMPARE:
            return self.compare(_COMPARE[op], *arguments)
        if op in _LOGIC:
            return self.logic(_LOGIC[op], *arguments)
        if op == "not":
            return self.logic("xor", arguments[0], kind.truth_constant(True))
        if op == "select":
            return self.choose(*arguments)
        zero = kind.constant(0.0)
        if op == "sign":
            (a,) = arguments
            positive = self.choose(self.compare("ogt", a, zero), kind.constant(1.0), a)
            return self.choose(self.compare("olt", a, zero), kind.constant(-1.0), positive)
        if op == "finite":
            return self.compare("olt", self.absolute(arguments[0]), kind.constant(math.inf))
        raise NotImplementedError(op)
