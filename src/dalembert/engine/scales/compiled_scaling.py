"""The scales of Newton's unknowns, for one trajectory and in one call of compiled code.

It computes what `NewtonScaling` computes with arrays. A chunk of steps begins with it, and a short run is one chunk of
less than a millisecond: some thirty calls of numpy would take half of that.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..code.step_memory import pointer_to
from ..machine.arithmetic import Arithmetic, Writer
from ..machine.effort import TieredCode
from ..program.program import BOOLEAN, CONST, INPUT
from ..step.step_program import StepProgram
from ..tuning import tuning
from .scaling import PROBE, moving_increments, parts_of_state, scale_groups


class CompiledScaling:
    """1 / scale of every Newton unknown, and as the last number the growth that is too much."""

    def __init__(self, step: StepProgram) -> None:
        functions = step.functions
        self._position = {unknown: k for k, unknown in enumerate(np.asarray(step.unknowns).tolist())}
        sizes = (1, 1, functions.n_state, functions.n_parameters, len(self._position))
        kinds = ("t", "h", "state", "parameter", "x")
        self._first: dict[str, int] = dict(zip(kinds, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._text = _Text(step, self._first, self._position)
        takes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        self.code = TieredCode(self._text.whole(), None, takes, effort=1, soon=True, name="scales")
        self._length = sum(sizes)

    def __call__(self, state, x, t: float, h: float, parameters) -> np.ndarray:
        """`x` holds the last solution, None before the first step."""
        inputs, first = np.zeros(self._length), self._first
        inputs[0], inputs[1] = t, h
        inputs[first["state"] : first["parameter"]] = state
        inputs[first["parameter"] : first["x"]] = parameters
        if x is not None:
            inputs[first["x"] :] = x
        result = np.empty(len(self._position) + 1)
        self.write(pointer_to(inputs), x is not None, pointer_to(result))
        return result

    def write(self, inputs: int, known: bool, result: int) -> None:
        """The same in place, for the addresses of t, h, state, parameters and x one after the other, and of the result.
        Where x is not known, the method's guess is put there."""
        self.code.function(inputs, known, result)


class _Text:
    """The module: functions of the inputs (t, h, state, parameters, Newton's unknowns), and what uses them."""

    def __init__(self, step: StepProgram, first: dict[str, int], position: dict[int, int]) -> None:
        self._step, self._first, self._position = step, first, position
        self._n, self._n_summed = len(position), step.functions.n_summed
        self._groups = scale_groups(step)
        self._parts = parts_of_state(step)
        self._growth = np.asarray(step.growth, dtype=np.int64).tolist()
        self._declarations: set[str] = {"declare double @llvm.fabs.f64(double)"}

    def whole(self) -> str:
        summed = moving_increments(self._step).tolist()
        split = {"growth": self._split(self._growth), "summed": self._split(summed)}
        self._early = sorted(set().union(*(early for early, _ in split.values())))
        everything, guess = self._step.program.needed, np.asarray(self._step.guess).tolist()
        functions = [
            self._values("guess", guess, everything(guess)),
            self._values("before", self._early, everything(self._early)),
        ]
        places = {node: k for k, node in enumerate(self._early)}
        for name, nodes in (("growth", self._growth), ("summed", summed)):
            early, rest = split[name]
            functions.append(self._values(name, nodes, rest, {node: places[node] for node in early}))
        return "\n".join([*sorted(self._declarations), self._table(), *functions, self._scales()])

    def _table(self) -> str:
        rows = ", ".join(f"i64 {row}" for row in self._groups.tolist())
        return f"@group = private constant [{max(1, self._n)} x i64] [{rows or 'i64 0'}]"

    def _split(self, nodes: list[int]) -> tuple[set[int], list[int]]:
        """What these operations need: what does not depend on unknowns is computed once, the rest again and again (to
        see how far unknowns move the state). Truth values are not kept; they belong to the rest."""
        program = self._step.program
        early, rest, waiting = set(), set(), list(nodes)
        while waiting:
            node = waiting.pop()
            if program.late[node] or program.op[node] in BOOLEAN or program.op[node] == CONST:
                if node not in rest:
                    rest.add(node)
                    waiting += program.args[node]
            else:
                early.add(node)
        return early, sorted(rest)

    def _values(self, name: str, nodes: list[int], needed: list[int], known: dict[int, int] | None = None) -> str:
        """A function that writes the values of some operations; what is known, it reads."""
        program, arithmetic = self._step.program, Arithmetic()
        w, names = Writer(arithmetic), {}
        for node, place in (known or {}).items():
            names[node] = w.load("%known", place)
        for node in needed:
            op = program.op[node]
            if op == CONST:
                number = program.value[node]
                is_truth = isinstance(number, bool | np.bool_)
                names[node] = arithmetic.truth_constant(bool(number)) if is_truth else arithmetic.constant(number)
            elif op == INPUT:
                kind, index = program.value[node]
                place = self._position[index] if kind == "x" else index
                names[node] = w.load("%inputs", self._first[kind] + place)
            else:
                names[node] = w.operation(op, [names[a] for a in program.args[node]])
        for k, node in enumerate(nodes):
            w.store(names[node], "%outputs", k)
        self._declarations |= w.declarations
        arguments = f"ptr %inputs{'' if known is None else ', ptr %known'}, ptr %outputs"
        return "\n".join([f"define internal void @{name}({arguments}) {{", *w.lines, "  ret void\n}"])

    def _scales(self) -> str:
        """The rules of `NewtonScaling`, in its order.

        Long: the text of one LLVM function, read from its first block to its last.
        """
        n, summed, state = self._n, self._n_summed, self._first["state"]
        groups = int(self._groups.max(initial=-1)) + 1
        counters = ["k", "own", "row", "push", "back", "out"] + [
            f"{what}{part}" for part in range(len(self._parts)) for what in ("size", "move")
        ]
        arrays = {"values": max(summed, len(self._growth), 1), "here": summed, "size": len(self._parts), "kept": n}
        arrays |= {"early": len(self._early), "all": groups, "scale": groups, "limit": 1, "reach": 1, "most": 1}
        room = [f"  %{name}.at = alloca i64" for name in counters]
        room += [f"  %{name} = alloca [{max(1, length)} x double]" for name, length in arrays.items()]
        limit = _loop(
            "k",
            len(self._growth),
            _load("grown", "%values", "%k")
            + "  %grown.size = call double @llvm.fabs.f64(double %grown)\n"
            + "  %grown.finite = fcmp olt double %grown.size, 0x7FF0000000000000\n"
            + "  %grown.used = select i1 %grown.finite, double %grown.size, double 0.0\n"
            + _raise("limit", "%grown.used", "%limit", "0"),
        )
        own = _loop(
            "own",
            n,
            _load("group.own", "@group", "%own", "i64")
            + _load("old", "%x", "%own")
            + "  %old.size = call double @llvm.fabs.f64(double %old)\n"
            + _raise("all", "%old.size", "%all", "%group.own"),
        )
        sizes = "".join(
            _store("0.0", "%size", str(part), f"size{part}.zero")
            + _loop(
                f"size{part}",
                end - start,
                f"  %size{part}.k = add i64 %size{part}, {state + start}\n"
                + _load(f"held{part}", "%inputs", f"%size{part}.k")
                + f"  %held{part}.size = call double @llvm.fabs.f64(double %held{part})\n"
                + _raise(f"part{part}", f"%held{part}.size", "%size", str(part)),
            )
            for part, (start, end) in enumerate(self._parts)
        )
        rows = _loop("row", groups, self._one_group()) if n else ""
        out = _loop(
            "out",
            n,
            _load("group.out", "@group", "%out", "i64")
            + _load("chosen", "%scale", "%group.out")
            + "  %weight = fdiv double 1.0, %chosen\n"
            + _store("%weight", "%result", "%out", "weight"),
        )
        zeros = "".join(_store("0.0", "%all", str(row), f"all{row}") for row in range(groups))
        return f"""
define void @scales(ptr %inputs, i64 %known, ptr %result) {{
{chr(10).join(room)}
  %x = getelementptr double, ptr %inputs, i64 {self._first["x"]}
  %is.known = icmp ne i64 %known, 0
  br i1 %is.known, label %begin, label %guessed
guessed:
  call void @guess(ptr %inputs, ptr %x)
  br label %begin
begin:
  call void @before(ptr %inputs, ptr %early)
  call void @growth(ptr %inputs, ptr %early, ptr %values)
  store double 1.0, ptr %limit
{limit}
  %grown.most = load double, ptr %limit
  %grown.limit = fmul double %grown.most, {Arithmetic().constant(tuning().growth_limit)}
{_store("%grown.limit", "%result", str(n), "limit.out")}
{zeros}{own}
  call void @summed(ptr %inputs, ptr %early, ptr %here)
{sizes}{rows}{out}
  ret void
}}
"""

    def _one_group(self) -> str:
        """How far its unknowns can move before a part of the state moves by its own size.

        Long: the text of one LLVM function, read from its first block to its last.
        """
        inf = "0x7FF0000000000000"
        moves = "".join(
            "  store double 0.0, ptr %most\n"
            + _loop(
                f"move{part}",
                end - start,
                f"  %move{part}.k = add i64 %move{part}, {start}\n"
                + _load(f"new{part}", "%values", f"%move{part}.k")
                + _load(f"before{part}", "%here", f"%move{part}.k")
                + f"  %change{part} = fsub double %new{part}, %before{part}\n"
                + f"  %change{part}.size = call double @llvm.fabs.f64(double %change{part})\n"
                + _raise(f"change{part}", f"%change{part}.size", "%most", "0"),
            )
            + f"  %most{part} = load double, ptr %most\n"
            + _load(f"size{part}.all", "%size", str(part))
            + f"""
  %would{part} = fmul double %probe, %size{part}.all
  %reach{part} = fdiv double %would{part}, %most{part}
  %moves{part} = fcmp ogt double %most{part}, 0.0
  %sized{part} = fcmp ogt double %size{part}.all, 0.0
  %old{part} = load double, ptr %reach
  %nearer{part} = fcmp olt double %reach{part}, %old{part}
  %fit{part} = and i1 %moves{part}, %sized{part}
  %use{part} = and i1 %fit{part}, %nearer{part}
  %best{part} = select i1 %use{part}, double %reach{part}, double %old{part}
  store double %best{part}, ptr %reach
"""
            for part, (start, end) in enumerate(self._parts)
        )
        push = _loop(
            "push",
            self._n,
            _load("group.push", "@group", "%push", "i64")
            + _load("still", "%x", "%push")
            + _store("%still", "%kept", "%push", "kept")
            + "  %moved = fadd double %still, %probe\n"
            + "  %is.mine = icmp eq i64 %group.push, %row\n"
            + "  %pushed = select i1 %is.mine, double %moved, double %still\n"
            + _store("%pushed", "%x", "%push", "pushed"),
        )
        back = _loop(
            "back", self._n, _load("kept.back", "%kept", "%back") + _store("%kept.back", "%x", "%back", "back")
        )
        return f"""{_load("mine", "%all", "%row")}
  %mine.some = fcmp ogt double %mine, 0.0
  %mine.part = fmul double %mine, {Arithmetic().constant(PROBE)}
  %probe = select i1 %mine.some, double %mine.part, double {Arithmetic().constant(PROBE)}
{push}
  call void @summed(ptr %inputs, ptr %early, ptr %values)
{back}
  store double {inf}, ptr %reach
{moves}
  %reached = load double, ptr %reach
  %reached.finite = fcmp olt double %reached, {inf}
  %reached.used = select i1 %reached.finite, double %reached, double 0.0
  %mine.larger = fcmp ogt double %mine, %reached.used
  %scale.first = select i1 %mine.larger, double %mine, double %reached.used
  %scale.positive = fcmp ogt double %scale.first, 0.0
  %scale.finite = fcmp olt double %scale.first, {inf}
  %scale.good = and i1 %scale.positive, %scale.finite
  %scale.used = select i1 %scale.good, double %scale.first, double 1.0
{_store("%scale.used", "%scale", "%row", "scale")}"""


def _load(name: str, array: str, index: str, kind: str = "double") -> str:
    place = f"  %{name}.from = getelementptr {kind}, ptr {array}, i64 {index}\n"
    return place + f"  %{name} = load {kind}, ptr %{name}.from\n"


def _store(value: str, array: str, index: str, name: str) -> str:
    place = f"  %{name}.to = getelementptr double, ptr {array}, i64 {index}\n"
    return place + f"  store double {value}, ptr %{name}.to\n"


def _raise(name: str, value: str, array: str, index: str) -> str:
    """array[index] = max(array[index], value)"""
    return (
        _load(f"{name}.old", array, index)
        + f"  %{name}.more = fcmp ogt double {value}, %{name}.old\n"
        + f"  %{name}.max = select i1 %{name}.more, double {value}, double %{name}.old\n"
        + f"  store double %{name}.max, ptr %{name}.old.from\n"
    )


def _loop(index: str, count: int, body: str) -> str:
    return f"""
  store i64 0, ptr %{index}.at
  br label %{index}.head
{index}.head:
  %{index} = load i64, ptr %{index}.at
  %{index}.more = icmp slt i64 %{index}, {count}
  br i1 %{index}.more, label %{index}.body, label %{index}.end
{index}.body:
{body}
  %{index}.next = add i64 %{index}, 1
  store i64 %{index}.next, ptr %{index}.at
  br label %{index}.head
{index}.end:
"""
