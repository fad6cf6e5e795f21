"""The kernel for GPUs, on machines without one: its LLVM is run on the processor, thread after thread, and its PTX is
looked at. `python -m benchmarks.gpu` runs the same on a GPU."""

from __future__ import annotations

import ctypes
import pathlib
import types

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.code import ptx as ptx_step
from dalembert.engine.code.ptx import to_ptx
from dalembert.engine.machine.compilation import compile_text
from dalembert.engine.runners import cuda
from dalembert.errors import UnsupportedByEngine
from dalembert.gallery import DoublePendulum, McLachlanPerlmutterParticles, Pendulum, PolarPendulum
from dalembert.stepping import ensemble

_REGISTERS = ("ctaid", "ntid", "tid")


class Processor:
    """What the engine uses of CuPy, with numpy arrays and the kernel compiled for the processor."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.float64, self.asnumpy = np.float64, np.asarray
        device = types.SimpleNamespace(compute_capability="90", id=0)
        runtime = types.SimpleNamespace(
            getDeviceProperties=lambda _: {"name": b"a processor"}, memGetInfo=lambda: (2**20, 2**20)
        )
        self.cuda = types.SimpleNamespace(Device=lambda: device, runtime=runtime)

    def __getattr__(self, name: str):
        return getattr(np, name)

    def RawModule(self, path: str):
        assert ".entry ensemble" in pathlib.Path(path).read_text()
        return types.SimpleNamespace(get_function=lambda _: _HostKernel(self.texts[-1]))


class _HostKernel:
    attributes = {"num_regs": 0, "local_size_bytes": 0}  # noqa: RUF012 - as CuPy has it

    def __init__(self, text: str) -> None:
        for name in _REGISTERS:
            text = text.replace(
                f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()",
                f"@{name} = global i32 1\ndefine i32 @read.{name}() {{\n %x = load i32, ptr @{name}\n ret i32 %x\n}}",
            ).replace(f"@llvm.nvvm.read.ptx.sreg.{name}.x()", f"@read.{name}()")
        text = text.replace("ptx_kernel void", "void").replace("@__nv_", "@")
        text += "define void @place(ptr %m) {\n %v = load i32, ptr %m\n store i32 %v, ptr @ctaid\n"
        text += " store i32 0, ptr @tid\n ret void\n}\n"
        self._code, _ = compile_text(text, effort=2)
        pointer, integer, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        arguments = [pointer] * len(cuda.ARRAYS) + [integer, number, number, integer, integer]
        self._kernel = self._code.function("ensemble", *arguments)
        self._place = self._code.function("place", pointer)

    def __call__(self, grid, block, arguments) -> None:
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        assert all(a.flags.c_contiguous for a in arrays)
        for m in range(grid[0] * block[0]):
            thread = np.array(m, dtype=np.int32)
            self._place(thread.ctypes.data)
            self._kernel(*[a.ctypes.data for a in arrays], *[a.item() for a in arguments[len(arrays) :]])


@pytest.fixture
def processor(monkeypatch):
    fake = Processor()

    def remembered(text, capability):
        fake.texts.append(text)
        return to_ptx(text, capability)

    monkeypatch.setattr(cuda, "gpu", lambda: fake)
    monkeypatch.setattr(cuda, "to_ptx", remembered)
    ensemble._ensemble.cache_clear()
    yield fake
    ensemble._ensemble.cache_clear()


def _starts(system, members):
    start = system.start()
    q0 = np.repeat([start.q0], members, axis=0)
    return q0, np.linspace(0.5, 1.0, members)[:, None] * np.asarray(start.v0)


@pytest.mark.parametrize(
    ("system", "method"),
    [(Pendulum(), da.Rattle()), (McLachlanPerlmutterParticles(), da.lobatto_spark(2, "AB")),
     (DoublePendulum(), da.Galerkin(2))],
    ids=["pendulum", "particles", "double pendulum"],
)  # fmt: skip
def test_a_thread_takes_the_steps_of_the_native_engine(processor, system, method):
    q0, v0 = _starts(system, 5)
    options = {"t": (0.0, 0.6), "h": 0.01, "save_every": 4}
    there = da.simulate(system, method, q0, v0, **options, engine="cuda")
    here = da.simulate(system, method, q0, v0, **options)
    assert there.stats["engine"] == "cuda (ensemble)"
    assert there.stats["device"] == "a processor"
    assert there.q.shape == here.q.shape == (5, 16, len(q0[0]))
    for name in ("q", "p", "v"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=0, atol=1e-13)
    assert np.max(there.constraint) < 1e-14
    assert np.max(there.hidden) < 1e-13


def test_parameters_and_several_launches(processor, tune):
    tune(launch_operations=5_000)
    q0, v0 = _starts(Pendulum(), 3)
    system = Pendulum(gravity=np.array([1.0, 5.0, 9.81]))
    options = {"t": (0.0, 1.0), "h": 0.01, "save_every": 5}
    there = da.simulate(system, da.Rattle(), q0, v0, **options, engine="cuda")
    here = da.simulate(system, da.Rattle(), q0, v0, **options)
    np.testing.assert_allclose(there.q, here.q, rtol=0, atol=1e-13)


def test_a_member_that_fails_is_reported_and_the_others_go_on(processor):
    class Domain(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v + jnp.sqrt(q[0])

    q0, v0 = np.array([[0.05], [9.0]]), np.array([[-3.0], [0.1]])
    run = da.simulate(Domain(), da.Rattle(), q0, v0, t=(0.0, 1.0), h=0.1, engine="cuda", on_failure="return")
    assert run.status.tolist()[1] == 0
    assert run.status.tolist()[0] != 0
    assert np.all(np.isfinite(run.q))


def test_functions_of_the_mathematics_library_are_linked_or_asked_for(processor):
    system = PolarPendulum()
    q0, v0 = _starts(system, 2)
    options = {"t": (0.0, 0.1), "h": 0.01}
    try:
        ptx_step._libdevice()
    except UnsupportedByEngine:
        with pytest.raises(da.InputError, match=r'libdevice\.10\.bc.* Use engine="auto"'):
            da.simulate(system, da.Rattle(), q0, v0, **options, engine="cuda")
    else:
        run = da.simulate(system, da.Rattle(), q0, v0, **options, engine="cuda")
        here = da.simulate(system, da.Rattle(), q0, v0, **options)
        np.testing.assert_allclose(run.q, here.q, rtol=0, atol=1e-13)


def test_without_a_gpu_it_says_what_is_missing(monkeypatch):
    def nothing():
        raise UnsupportedByEngine("CuPy finds no GPU (no device)")

    monkeypatch.setattr(cuda, "gpu", nothing)
    q0, v0 = _starts(Pendulum(), 2)
    with pytest.raises(da.InputError, match=r'cannot run on a GPU: CuPy finds no GPU .*Use engine="auto"'):
        da.simulate(Pendulum(), da.Rattle(), q0, v0, t=(0.0, 0.1), h=0.01, engine="cuda")


def test_a_single_run_is_not_for_the_gpu():
    with pytest.raises(da.InputError, match='engine="cuda" is for batches'):
        da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 0.1), h=0.01, engine="cuda")
