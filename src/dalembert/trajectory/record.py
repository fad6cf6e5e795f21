"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import count, shown
from ..arguments import path as checked_path
from ..errors import InputError, ModelError
from ..formulation import Symmetry, mechanics_of
from ..method import Method
from ..problem import (
    AbstractSystem,
    Dependencies,
    DifferentialAlgebraicInequality,
    OverdeterminedDAE,
    parameter_record,
    reads_of_system,
    split_parameters,
)
from ..stepping import (
    CROSSING_INFO,
    EVENT_PREFIX,
    OBSERVABLES,
    Crossings,
    Events,
    Run,
    Status,
    is_traced,
    least_norm,
    member,
    multipliers,
    observe,
    observe_batch,
    of_member,
    read_only,
    recognised,
    redundant_multipliers,
    status_of_code,
)
from ..storage.formats import is_saved_group, read
from ..storage.stored_arrays import StoredArrays, read_store
from ..storage.versions import versions
from .conversion import Converted
from .interpolation import Interpolated, interpolate
from .invariants import momenta_of, stated_invariants, symmetries_of, unstated_momenta
from .warned import warnings_of


@jax.tree_util.register_pytree_node_class
class Trajectory(Converted):
    """What `simulate` returns. Arrays have time first; derived quantities are computed when asked for.

    Attributes:
        t: times, (N,).
        q: positions, (N, n).
        v: velocities, (N, n).
        p: momenta, (N, n).
        lam: multipliers of the holonomic constraints, (N, m).
        psi: multipliers of the nonholonomic constraints, (N, k).
        impulse: contact impulses during the step before each state, conjugate to `gap` and `tangent`: the normal ones,
            (N, contacts), or normal and tangential ones, (N, contacts, 2) in the plane, (N, contacts, 3) in space.
        status: how the run ended; false in a condition if a step failed.
        stats: engine, steps, iterations, times, versions: everything needed to repeat the run.
    """

    def __init__(
        self, arrays: Mapping[str, Any], system: AbstractSystem | None, info: dict[str, Any], status,
        method: Method | None = None,
    ) -> None:  # fmt: skip
        self._arrays, self._method = read_only(arrays), method
        self._parameters, self._structure = (None, None) if system is None else split_parameters(system)
        self._info = info
        self._status = status
        self._reads = None if system is None else self._equations(system)

    # -- building ----------------------------------------------------------------------------------------------

    @classmethod
    def _from_run(cls, run: Run) -> Trajectory:
        info = {
            "method": run.method.name,
            "multiplier": run.method.multiplier,
            "order": run.method.order,
            "smooth": run.smooth,
            "rows": run.rows,
            "h": run.h,
            "system": type(run.system).__name__,
            "names": run.system.dimension_names(run.layout.m, run.layout.k),
            "stats": run.stats | versions(),
        }
        if run.stored is not None:
            events = {} if run.events is None else run.events.arrays()
            return cls(StoredArrays(run.stored, events | run.more), run.system, info, run.status, run.method)
        state = run.layout.unflatten(run.states)
        keep = jnp.asarray if is_traced(run.states) else np.asarray
        arrays = {"t": keep(run.t), "q": keep(state.q), "v": keep(state.v), "p": keep(state.p)}
        arrays["raw_lam"], arrays["raw_psi"] = keep(state.lam), keep(state.psi)
        if run.layout.contacts:
            shape = (run.layout.contacts, run.layout.directions) if run.layout.directions > 1 else (-1,)
            arrays["impulse"] = keep(state.impulse).reshape(*state.impulse.shape[:-1], *shape)
        if run.iterations is not None:
            arrays["iterations"] = run.iterations
        extra = {"worst_iterations": run.worst_iterations, "u": run.inputs}
        arrays |= {name: values for name, values in extra.items() if values is not None}
        arrays |= run.events.arrays() if run.events is not None else {}
        arrays |= run.more
        if run.crossings is not None:
            arrays |= run.crossings.arrays()
            info |= run.crossings.about()
        return cls(arrays, run.system, info, run.status, run.method)

    def tree_flatten(self):
        traced_status = not isinstance(self._status, Status)
        children = (dict(self._arrays), self._parameters, self._status if traced_status else None)
        return children, _Static(
            self._info, None if traced_status else self._status, self._structure, self._method, self._reads
        )

    @classmethod
    def tree_unflatten(cls, static, children):
        run = cls.__new__(cls)
        run._arrays, run._parameters, status = children
        run._structure, run._info, run._method = static.structure, static.info, static.method
        run._reads = static.reads
        run._status = static.status if static.status is not None else status
        return run

    # -- arrays ------------------------------------------------------------------------------------------------

    @property
    def system(self) -> AbstractSystem | None:
        """The system with its parameters; None for a run that was loaded from a file."""
        return None if self._structure is None else eqx.combine(self._parameters, self._structure)

    @property
    def method(self) -> Method | None:
        """The method that took the steps; None for a run that was loaded from a file."""
        return self._method

    @property
    def t(self):
        return self._arrays["t"]

    @property
    def q(self):
        return self._arrays["q"]

    @property
    def v(self):
        return self._arrays["v"]

    @property
    def p(self):
        return self._arrays["p"]

    @property
    def impulse(self):
        return self._arrays.get("impulse", np.zeros((len(self.t), 0)))

    @property
    def events(self) -> Events | Crossings:
        """What happened: the events that were asked for; of event capturing what the contacts did: impacts, closings,
        openings, stick and slip."""
        if CROSSING_INFO in self._info:
            return Crossings.from_arrays(dict(self._arrays), self._info[CROSSING_INFO]["names"])
        if not any(name.startswith(EVENT_PREFIX) for name in self._arrays):
            raise InputError(f"{self._info['method']} records no events: ask for some, da.simulate(..., events=[...]); "
                             "da.EventCapturing() finds those of contacts.")  # fmt: skip
        if np.ndim(self.q) == 3:
            raise batch_error(self, "ask for the events of one of them")
        return Events.from_arrays(self._arrays)

    @property
    def y(self):
        """q, as an `OverdeterminedDAE` calls it."""
        return self.q

    @property
    def z(self):
        """p, as an `OverdeterminedDAE` calls it."""
        return self.p

    @property
    def status(self) -> Any:
        """How the run ended: a `Status`; inside jit, vmap and grad, and for a batch of runs, the plain codes."""
        if isinstance(self._status, Status) or is_traced(self._status) or np.ndim(self._status):
            return self._status
        t = np.asarray(self.t)
        steps = round(float(t[-1] - t[0]) / self._info["h"])
        return status_of_code(int(self._status), steps, float(t[-1]))

    @property
    def iterations(self):
        """Newton iterations between each saved state and the one before."""
        if "iterations" not in self._arrays:
            raise InputError("a batch does not count each member's Newton iterations; run.stats has those of all.")
        return self._arrays["iterations"]

    @functools.cached_property
    def lam(self):
        """Multipliers of the holonomic constraints, in d/dt L_v = L_q + F - g_q^T lam.

        Those of the continuous equations at the recorded state, or the method's own where it says so
        (`multiplier = "discrete"`); with redundant constraints the ones of minimum norm.
        """
        if "lam" in self._arrays:
            return self._arrays["lam"]
        lam = self._multipliers[0]
        return (
            lam if self._info["rows"] is None else least_norm(self._require_system("multipliers"), self.t, self.q, lam)
        )

    @functools.cached_property
    def psi(self):
        """Multipliers of the nonholonomic constraints, in d/dt L_v = L_q + F - k_v^T psi; as for `lam`.

        Of an `OverdeterminedDAE` those of its constraint, which are `lam` too.
        """
        if isinstance(self.system, DifferentialAlgebraicInequality):
            return self.impulse / self._info["h"]
        if isinstance(self.system, OverdeterminedDAE):
            return self.lam
        return self._arrays["psi"] if "psi" in self._arrays else self._multipliers[1]

    @functools.cached_property
    def _multipliers(self) -> tuple[Any, Any]:
        """lam and psi: of the continuous equations, or the method's own."""
        none = np.zeros((len(self.t), 0))  # files leave out what is empty
        raw = self._arrays.get("raw_lam", none), self._arrays.get("raw_psi", none)
        if self._info["multiplier"] == "discrete" or not (raw[0].shape[-1] or raw[1].shape[-1]):
            return raw
        system, rows = self._require_system("multipliers"), self._info["rows"]
        states = (self.t, self.q, self.v, self.p)
        if is_traced(states, system):
            found = jax.vmap(mechanics_of(system, rows).acceleration)(*states)
            return found.lam, found.psi
        if np.ndim(self.q) == 3 and isinstance(self.q, np.ndarray):
            members = [self.member(k)._multipliers for k in range(len(self.q))]
            return tuple(read_only(np.stack(part)) for part in zip(*members, strict=True))  # pyright: ignore[reportReturnType]
        self._check_single_run("lam")
        if rows is not None:
            return redundant_multipliers(system, rows, *states, raw[0].shape[1])
        both = read_only(multipliers(system, None, *states, parameters=self._parameters_by_row(system)))
        return both[:, : raw[0].shape[1]], both[:, raw[0].shape[1] :]

    @functools.cached_property
    def energy(self):
        """v . L_v - L, or H; an `OverdeterminedDAE` has none."""
        if isinstance(self.system, OverdeterminedDAE):
            raise InputError("an OverdeterminedDAE has no energy; define invariants(t, y, z) to watch quantities.")
        return self._observe("energy")[..., 0]

    @functools.cached_property
    def constraint(self):
        """max |g| of the holonomic constraints; zero if there are none."""
        return self._observe("constraint")[..., 0]

    @functools.cached_property
    def gap(self):
        """Distances of all contacts, (N, contacts); negative where a method lets them penetrate."""
        return self._arrays["gap"] if "gap" in self._arrays else self._observe("gap")

    @functools.cached_property
    def hidden(self):
        """max |g_q v + g_t| of the holonomic and |k| of the nonholonomic constraints."""
        return self._observe("hidden")[..., 0]

    @functools.cached_property
    def momenta(self) -> dict[str, Any]:
        """The momenta that translations and rotations of the system conserve, found numerically (`da.symmetries`)."""
        check_single(self, "ask")
        return momenta_of(self)

    @functools.cached_property
    def _symmetries(self) -> list[Symmetry]:
        return symmetries_of(self, self._require_system("momenta of symmetries"))

    @functools.cached_property
    def invariants(self) -> dict[str, Any]:
        """The system's own `invariants(t, q, p)`, by name, time first; and the `momenta` that are not among them."""
        stored = {k.removeprefix("invariant_"): x for k, x in self._arrays.items() if k.startswith("invariant_")}
        if stored or self._structure is None:
            return stored
        system = self._require_system("invariants")
        stated = stated_invariants(self, system)
        if is_traced(self.t, self.q) or np.ndim(self.q) != 2:
            return stated
        return {name: self.momenta[name] for name in unstated_momenta(self, system)} | stated

    def interpolate(self, t, own: bool = False) -> Interpolated:
        """q, v and lam at times inside the run, to the order of the method; one time or an array of them.

        `own=True` asks for the polynomials of the method inside a step, which are of a lower order.
        """
        check_single(self, "interpolate")
        return interpolate(self, t, own)

    def _observe(self, name: str):
        """One of the observables for all saved states, (N, ...), or (members, N, ...)."""
        if name in self._arrays:
            return self._arrays[name][..., None]
        system = self._require_system("derived quantities")
        states = (self.t, self.q, self.v, self.p)
        if is_traced(states, system):
            return jax.vmap(functools.partial(OBSERVABLES[name], mechanics_of(system)))(*states)
        if np.ndim(self.q) == 3 and isinstance(self.q, np.ndarray):  # not out of jax.vmap, where any field may differ
            return read_only(observe_batch(system, name, *states))
        self._check_single_run(name)
        return read_only(observe(system, name, *states))

    def _check_single_run(self, name: str) -> None:
        if np.ndim(self.q) != 2:
            raise batch_error(self, f"ask one of them, or use jax.vmap(lambda run: run.{name})(run)")

    def _require_system(self, what: str) -> AbstractSystem:
        """The system, whose equations are those of the run."""
        system = self.system
        if system is None:
            raise InputError(f"{what} need the system, which a loaded file does not hold; they are not in the file.")
        now = self._equations(system)
        if self._reads is not None and not self._reads.agrees(now):
            raise ModelError(
                f"{what} would not be those of this run: the equations of {type(system).__name__} are others by now "
                f"({self._reads.difference(now)}). Repeat the run, or ask before the model is changed."
            )
        return system

    def _equations(self, system: AbstractSystem) -> Dependencies:
        """By what the equations of a system are recognised."""
        reads = reads_of_system(system)
        if reads.unclear is None:
            return reads
        batch = np.ndim(self._arrays["q"]) == 3 and not is_traced(self._arrays["q"], system)
        return recognised(member(system, 0) if batch else system, np.shape(self._arrays["q"])[-1])

    @property
    def stats(self) -> dict[str, Any]:
        """Engine, steps, Newton iterations, wall and compile time, versions."""
        return self._info["stats"]

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about the run, in plain sentences; found when asked for, from some of its saved states."""
        return tuple(self._info["warnings"]) if "warnings" in self._info else warnings_of(self)

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything needed to repeat the run."""
        parameters = self._info.get("parameters")
        if parameters is None and self.system is not None:
            parameters = parameter_record(self.system)
        return {
            "system": self._info["system"],
            "parameters": parameters,
            "method": self._info["method"],
            "h": self._info["h"],
            **self.stats,
        }

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        n = self.q.shape[-1]
        if np.ndim(self.q) == 3:
            runs, states, _ = self.q.shape
            done = "traced" if is_traced(self._status) else f"{np.sum(np.asarray(self._status) == 0):,} of them ok"
            what = f"{self._info['system']}, {self._info['method']}"
            return f"Trajectory({what}, {runs:,} runs of {states:,} states of {n} coordinates, {done})"
        what = f"{self._info['system']}, {self._info['method']}"
        said = "".join(f"\n  warning: {text}" for text in self.warnings)
        return f"Trajectory({what}, {len(self)} states of {n} coordinates, {self.status}){said}"

    def member(self, index: int) -> Trajectory:
        """One run of a batch, as a trajectory of its own."""
        if is_traced(self.q) or np.ndim(self.q) != 3:
            raise InputError(
                f"member(...) needs a batch of runs; q has shape {np.shape(self.q)}, one run has two axes."
            )
        index = count("index of a member", index, -len(self.q), len(self.q) - 1)
        arrays = of_member(self._arrays, index % len(self.q))
        code = int(np.asarray(self._status)[index])
        system = self._require_system("the members of a batch")
        if any(np.ndim(leaf) and len(leaf) == len(self.q) for leaf in jax.tree.leaves(self._parameters)):
            system = member(system, index)
        status = status_of_code(
            code, round(float(arrays["t"][-1] - arrays["t"][0]) / self._info["h"]), float(arrays["t"][-1])
        )
        return Trajectory(arrays, system, self._info, status, self._method)


def check_single(run: Trajectory, verb: str) -> None:
    """Refuse a trajectory that has no numbers, or that holds more than one run."""
    if not isinstance(run, Trajectory):
        raise InputError(f"expected a Trajectory to {verb}, as da.simulate returns it, got {shown(run, 80)}.")
    if is_traced(run.t, run.q):
        raise InputError(f"a traced trajectory has no numbers yet; {verb} it outside jit, vmap and grad.")
    if np.ndim(run.q) != 2:
        raise batch_error(run, f"{verb} one of them")


def has_energy(run: Trajectory) -> bool:
    """An overdetermined DAE has none, and a loaded run may lack it."""
    try:
        return len(run.energy) > 0
    except InputError:
        return False


def batch_error(run: Trajectory, advice: str) -> InputError:
    """What to say where one run is needed and a batch was given."""
    return InputError(
        f"this trajectory holds a batch of runs (q has shape {np.shape(run.q)}); {advice}. "
        "run.member(0) is the first one."
    )


class _Static:
    """Description carried through JAX transformations as static data, equal only to itself."""

    def __init__(self, info, status, structure, method, reads) -> None:
        self.info = info
        self.status = status
        self.structure = structure
        self.method = method
        self.reads = reads


def load(path) -> Trajectory:
    """Read a trajectory written by `Trajectory.save`, or what a run with checkpoints has written up to now. A file is
    data only: nothing in it is executed."""
    path = checked_path(path, "cannot load")
    if path.is_dir() and not is_saved_group(path):
        stored, info, status = read_store(path)
        return Trajectory(stored, None, info, status)
    arrays, info, status = read(path)
    return Trajectory(arrays, None, info, Status(**status) if isinstance(status, dict) else status)
