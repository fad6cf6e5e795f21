"""Many trajectories of one system on a GPU: the kernel of `ptx_step.py`, loaded and launched through CuPy.

The same interface as `EnsembleRun`. The state of all members stays on the GPU between chunks; what was saved comes back
after each.
"""

from __future__ import annotations

import copy
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedByEngine
from ..code.ptx import ARRAYS, BLOCK, PtxEmitter, to_ptx
from ..contract import FIRST_CONTRACTION, OK, StepFunctions, extrapolation_weights
from ..program.passes import told
from ..scales.scaling import NewtonScaling
from ..step.step_program import build_step_program
from ..tuning import tuning

#: The part of the free memory of the card that saved states may take.
SHARE_OF_MEMORY = 0.5


def gpu() -> Any:
    """The CuPy module, if there is a GPU to use it with; else the reason is raised."""
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UnsupportedByEngine(
            "CuPy is not installed (pip install 'dalembert[cuda]', or the cupy that fits your CUDA)"
        ) from error
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise UnsupportedByEngine(f"CuPy finds no GPU ({error})") from error
    return cupy


class CudaRun:
    """A kernel for one step program; keeps the state of all members on the GPU between chunks."""

    name = "cuda (ensemble)"

    def __init__(
        self,
        functions: StepFunctions,
        states: np.ndarray,
        t0: float,
        h: float,
        parameters: np.ndarray,
        compensated: bool,
    ) -> None:
        self._cupy = gpu()
        self.functions = functions
        self.step = build_step_program(functions, states[0], t0, h, parameters[0])
        emitter = PtxEmitter(self.step, compensated)
        self._sizes = emitter.sizes()
        device = self._cupy.cuda.Device()
        capability = str(device.compute_capability)
        ptx = to_ptx(emitter.text(), (int(capability[:-1]), int(capability[-1])))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ensemble.ptx"
            path.write_text(ptx)
            module = self._cupy.RawModule(path=str(path))
            self._kernel = module.get_function("ensemble")  # loads the module
        self._card = self._cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
        self._scaling = NewtonScaling(self.step, self._cupy)

    def report(self) -> dict:
        """Sizes, the card, and how the kernel uses it."""
        attributes = self._kernel.attributes
        return {
            **self.step.statistics,
            "passes": told(self.step.log),
            "device": self._card,
            "registers": attributes["num_regs"],
            "local_bytes": attributes["local_size_bytes"],
        }

    @property
    def chunk_steps(self) -> int:
        """Steps a chunk takes before it returns to Python."""
        return max(1, tuning().launch_operations // max(1, self.step.statistics["operations_per_step"] * self._members))

    def most_saves(self) -> int:
        """Saved states of all members that fit into the memory of the card at once."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return max(1, int(SHARE_OF_MEMORY * free) // (8 * self.functions.n_state * self._members))

    def begin(self, states: np.ndarray, parameters: np.ndarray) -> CudaRun:
        """A runner with the same kernel for one batch, beside others if need be."""
        run = copy.copy(self)
        run._lay_out(states, parameters)
        return run

    def _lay_out(self, states: np.ndarray, parameters: np.ndarray) -> None:
        """Bring the members, (members, n), to the GPU, components first."""
        self._members = len(states)
        filled = {"state": states.T, "parameters": parameters.T, "contraction": FIRST_CONTRACTION}
        self._arrays: dict[str, Any] = {}
        for name, size in self._sizes.items():
            kind = np.int64 if name in ("counters", "iterations") else np.float64
            array = np.zeros((size, self._members), dtype=kind)
            array[...] = filled.get(name, 0)
            self._arrays[name] = self._cupy.asarray(array)
        self._arrays["table"] = self._cupy.asarray(extrapolation_weights())

    def pieces(self, steps: int) -> Iterator[int]:
        """The steps of a chunk in pieces: a launch takes them all."""
        yield steps

    def run(self, t0: float, h: float, steps: int, save_every: int, chunk_begins: bool) -> tuple[np.ndarray, int]:
        """Saved states (members, saves, n_state) and the Newton iterations spent."""
        cupy, arrays = self._cupy, self._arrays
        counters = arrays["counters"]
        done = int(counters[1].max())
        last = arrays["history"][: len(self.step.unknowns)] if done else None
        weights = self._scaling(arrays["state"], last, t0 + done * h, h, arrays["parameters"])
        arrays["weights"] = cupy.ascontiguousarray(weights)
        saves = (done + steps) // save_every - done // save_every
        arrays["saved"] = cupy.empty((max(saves, 1), self.functions.n_state, self._members))
        arrays["iterations"][...] = 0
        counters[2] = 0
        numbers = (np.int64(self._members), np.float64(t0), np.float64(h), np.int64(steps), np.int64(save_every))
        blocks = -(-self._members // BLOCK)
        self._kernel((blocks,), (BLOCK,), (*(arrays[name] for name in ARRAYS), *numbers))
        saved = cupy.asnumpy(arrays.pop("saved")[:saves])
        counters = cupy.asnumpy(counters)
        for k in np.flatnonzero(counters[3] != OK):  # a member that failed stays where it is
            saved[counters[2, k] :, :, k] = cupy.asnumpy(arrays["state"][:, k])
        return np.moveaxis(saved, -1, 0), int(arrays["iterations"].sum())

    @property
    def failed(self) -> np.ndarray:
        """For each member the steps it took before it failed, -1 if it did not."""
        counters = self._cupy.asnumpy(self._arrays["counters"])
        return np.where(counters[3] != OK, counters[1], -1)
