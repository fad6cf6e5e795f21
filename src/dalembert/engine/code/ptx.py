"""The step of an ensemble for a GPU: the straight-line code of `llvm_step.py` as one thread a member, to PTX by LLVM.

    kernel ensemble(state, compensation, history, contraction, parameters, weights, table, saved, last, counters,
                    iterations, members, t0, h, steps, every)

Arrays lie components first, members last, so that the threads of a warp read neighbours. A thread copies its member
into variables of its own, takes all the steps there (after inlining LLVM keeps them in registers) and copies it back;
only what is saved leaves the thread on the way. A member that fails stops with its status; the others go on.
"""

from __future__ import annotations

import functools
import os
import pathlib
import sysconfig

import llvmlite.binding as llvm

from ...errors import UnsupportedByEngine
from ..contract import HISTORY, OK
from ..machine.arithmetic import Arithmetic
from ..step.step_program import StepProgram
from .straight_line import StepEmitter

#: threads of a block
BLOCK = 64
#: A step with so few operations fits into the registers that so many blocks on one multiprocessor leave to each
#: thread (128 of them); ptxas by itself takes more and has fewer threads to hide what each waits for.
SMALL_STEP, BLOCKS_OF_SMALL_STEPS = 200, 8
_LIBDEVICE = "__nv_"
#: what the kernel is given for all members, in the order of its arguments
ARRAYS = (
    "state", "compensation", "history", "contraction", "parameters", "weights", "table", "saved", "last", "counters",
    "iterations",
)  # fmt: skip


class PtxEmitter(StepEmitter):
    """Writes the kernel `ensemble` around the function `run` of one member."""

    linkage = "internal void"

    def __init__(self, step: StepProgram, compensated: bool) -> None:
        super().__init__(step, Arithmetic(library=_LIBDEVICE), compensated)

    def tally(self, saved: str, total: str) -> None:
        w = self.w
        before = w.new("load i64, ptr %iterations")
        w.put(f"store i64 {w.new(f'add i64 {before}, {total}')}, ptr %iterations")

    def save(self, row: str) -> None:
        w, n_state = self.w, self.step.functions.n_state
        members = w.new("load i64, ptr %worst")  # the only place where a member has to know how many there are
        first = w.new(f"mul i64 {row}, {n_state}")
        for k in range(n_state):
            place = w.new(f"mul i64 {w.new(f'add i64 {first}, {k}')}, {members}")
            w.store(w.load("%state", k), "%saved", place)

    def sizes(self) -> dict[str, int]:
        """How many numbers a member has in each array that is copied in and out."""
        functions, unknowns = self.step.functions, len(self.step.unknowns)
        return {
            "state": functions.n_state,
            "compensation": functions.n_summed,
            "history": HISTORY * len(self.step.remembered),
            "contraction": len(self.step.reduced.blocks),
            "parameters": functions.n_parameters,
            "weights": unknowns + 1,
            "last": 2,
            "counters": 4,
            "iterations": 1,
        }

    def text(self) -> str:
        return super().text().replace("i64 %every) {", "i64 %every) alwaysinline {", 1) + self._kernel()

    def _kernel(self) -> str:
        lines: list[str] = []
        put, sizes = lines.append, self.sizes()
        for name, size in sizes.items():
            kind = "i64" if name in ("counters", "iterations") else "double"
            put(f"%own.{name} = alloca [{max(size, 1)} x {kind}]")
        put("%own.time = alloca [2 x double]")
        put("%own.worst = alloca i64")
        put("%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()")
        put("%width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()")
        put("%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        put("%base = mul i32 %block, %width")
        put("%index = add i32 %base, %thread")
        put("%m = zext i32 %index to i64")
        put("%inside = icmp ult i64 %m, %members")
        put("br i1 %inside, label %member, label %leave")
        lines.append("member:")
        put("%status.row = mul i64 %members, 3")
        put("%status.at = add i64 %status.row, %m")
        put("%status.all = getelementptr i64, ptr %counters, i64 %status.at")
        put("%status = load i64, ptr %status.all")
        put(f"%well = icmp eq i64 %status, {OK}")  # a member that failed before stays where it is
        put("br i1 %well, label %work, label %leave")
        lines.append("work:")
        put("store double %t0, ptr %own.time")
        put("%second = getelementptr double, ptr %own.time, i64 1")
        put("store double %h, ptr %second")
        put("store i64 %members, ptr %own.worst")
        for name, size in sizes.items():
            for k in range(size):
                lines += self._copy(name, k, inward=True)
        put("%own.saved = getelementptr double, ptr %saved, i64 %m")
        passed = ", ".join(f"ptr %{'table' if name == 'table' else f'own.{name}'}" for name in self.pointers)
        put(f"call void @run({passed}, i64 %steps, i64 %every)")
        for name in ("state", "compensation", "history", "contraction", "last", "counters", "iterations"):
            for k in range(sizes[name]):
                lines += self._copy(name, k, inward=False)
        put("br label %leave")
        lines.append("leave:")
        put("ret void")
        arguments = ", ".join(f"ptr noalias %{name}" for name in ARRAYS)
        special = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in ("ctaid", "ntid", "tid"))
        body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
        is_small = self.step.statistics["operations_per_step"] <= SMALL_STEP
        least = f' "nvvm.minctasm"="{BLOCKS_OF_SMALL_STEPS}"' if is_small else ""
        return (
            f"\n{special}\ndefine ptx_kernel void @ensemble({arguments}, i64 %members, double %t0, double %h, "
            f'i64 %steps, i64 %every) "nvvm.maxntid"="{BLOCK}"{least} {{\n{body}\n}}\n'
        )

    @staticmethod
    def _copy(name: str, k: int, *, inward: bool) -> list[str]:
        kind = "i64" if name in ("counters", "iterations") else "double"
        tag = f"%{name}.{k}.{'in' if inward else 'out'}"
        here, there = f"{tag}.own", f"{tag}.all"
        source, target = (there, here) if inward else (here, there)
        return [
            f"{tag}.row = mul i64 %members, {k}",
            f"{tag}.at = add i64 {tag}.row, %m",
            f"{there} = getelementptr {kind}, ptr %{name}, i64 {tag}.at",
            f"{here} = getelementptr {kind}, ptr %own.{name}, i64 {k}",
            f"{tag} = load {kind}, ptr {source}",
            f"store {kind} {tag}, ptr {target}",
        ]


@functools.cache
def _target() -> llvm.Target:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda")


def to_ptx(text: str, capability: tuple[int, int] = (8, 0)) -> str:
    """PTX for a module, for GPUs of this compute capability and later ones."""
    major, minor = min(capability, (9, 0))
    machine = _target().create_target_machine(cpu=f"sm_{major}{minor}", features="+ptx78", opt=3)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = "nvptx64-nvidia-cuda", str(machine.target_data)
    if f"@{_LIBDEVICE}" in text:
        module.link_in(llvm.parse_bitcode(_libdevice().read_bytes()))
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.slp_vectorization = options.loop_vectorization = options.loop_unrolling = False
    for function in module.functions:
        if not function.is_declaration and function.name != "ensemble":
            function.linkage = "internal"
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


@functools.cache
def _libdevice() -> pathlib.Path:
    """The mathematics library for GPUs, which comes with CUDA's compiler."""
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    places = [pathlib.Path(root) / "nvvm/libdevice" for root in [*roots, "/usr/local/cuda"]]
    packages = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    places += sorted(packages.glob("*/nvvm/libdevice"))
    for place in places:
        if (place / "libdevice.10.bc").is_file():
            return place / "libdevice.10.bc"
    raise UnsupportedByEngine(
        "sines and other functions on a GPU need libdevice.10.bc; install CUDA's compiler "
        "(pip install nvidia-cuda-nvcc-cu12) or set CUDA_HOME"
    )
