"""What a page of the studio shows: a system with its parameters and its start, or a run from a file.

Nothing here reads files: the command line opens what the user names, the page can only choose among what was opened.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .. import gallery
from ..errors import InputError, MethodDoesNotFit
from ..gallery import SYSTEMS, Ready
from ..method import METHODS, Method
from ..problem import AbstractSystem, is_parameter
from ..stepping import check_fit
from ..trajectory import Trajectory

#: Components of an array that become sliders of their own; longer arrays are data.
MOST_COMPONENTS = 12
MOST_PARAMETERS = 60
DEFAULT_END, DEFAULT_STEP = 10.0, 0.01
#: The first of these that fits a system is the one that its page begins with.
FIRST_CHOICES = ("rattle", "lobatto-spark-2", "moreau-jean", "symplectic-euler")


@dataclass(frozen=True)
class Launch:
    """Where a run begins, how far it goes, and with which step size."""

    q0: np.ndarray
    v0: np.ndarray
    t0: float
    t_end: float
    h: float


@dataclass(frozen=True)
class Exhibit:
    """One page.

    Attributes:
        key: its name in addresses.
        title: its name for readers.
        about: the first paragraph of its documentation.
        system: what moves; of a run from a file, by what it is drawn, None where that is not known.
        launch: the start; None for a system that brings its own.
        code: lines of Python that define `system` with the parameters it has here; none where that cannot be written.
        method: the name of the method to begin with.
        run: a run that is shown as it is.
    """

    key: str
    title: str
    about: str
    system: AbstractSystem | None
    launch: Launch | None = None
    code: tuple[str, ...] = ()
    method: str = ""
    run: Trajectory | None = None

    def start(self, system: AbstractSystem) -> Launch:
        """The start of a system of this kind."""
        if self.launch is not None:
            return self.launch
        if not isinstance(system, Ready):
            raise InputError(
                f"{self.title} brings no starting values: give q0 and v0, for example --q0 1,0 --v0 0,0 on the "
                "command line."
            )
        start = system.start()
        return Launch(np.asarray(start.q0), np.asarray(start.v0), 0.0, float(start.t_end), float(start.h))


def gallery_exhibit(name: str) -> Exhibit:
    """The page of a system of the gallery."""
    kind = SYSTEMS[name]
    code = (f"system = da.gallery.{kind.__name__}()",) if kind.__name__ in gallery.__all__ else (
        "from dalembert.gallery import system_named", "", f"system = system_named({name!r})()",
    )  # fmt: skip
    system = kind()
    return Exhibit(name, title_of(kind), about(kind), system, code=code, method=first_method(system))


def system_exhibit(
    key: str, system: AbstractSystem, launch: Launch | None = None, code: tuple[str, ...] = (), method: str = ""
) -> Exhibit:
    """The page of any system."""
    if launch is None and not isinstance(system, Ready):
        raise InputError(
            f"{type(system).__name__} brings no starting values: give q0 and v0, for example da.view(system, q0, v0) "
            "or --q0 1,0 --v0 0,0 on the command line."
        )
    kind = type(system)
    return Exhibit(key, title_of(kind), about(kind), system, launch, code, method or first_method(system))


def run_exhibit(key: str, run: Trajectory) -> Exhibit:
    """The page of a run as it was recorded."""
    facts = run.provenance
    text = f"A run of {facts['system']} with {facts['method']}, shown as it was recorded."
    system = _of_the_gallery(run) if run.system is None else run.system
    return Exhibit(key, str(facts["system"]), text, system, method=str(facts["method"]), run=in_order(run))


def _of_the_gallery(run: Trajectory) -> AbstractSystem | None:
    """By what a run from a file is drawn: the system of the gallery with its name, parameters and coordinates."""
    name, parameters = run.provenance.get("system"), run.provenance.get("parameters")
    kind = next((kind for kind in SYSTEMS.values() if kind.__name__ == name), None)
    if kind is None or not isinstance(parameters, dict):
        return None
    system = kind()
    known = {parameter.name for parameter in parameters_of(system) if not parameter.whole}
    fits = known == set(parameters) and np.size(system.start().q0) == run.q.shape[1]
    return with_parameters(system, parameters) if fits else None


def in_order(run: Trajectory) -> Trajectory:
    """The run with its states in the order of time, as they are played: a run back in time has them the other way."""
    if run.t[-1] >= run.t[0]:
        return run
    arrays = {name: values[::-1] for name, values in run._arrays.items()}
    return Trajectory(arrays, run.system, run._info, run.status, run.method)


def title_of(kind: type) -> str:
    """`DoublePendulum` as "Double pendulum"."""
    words, name = "", kind.__name__
    for before, letter in zip(" " + name, name, strict=False):
        words += f" {letter.lower()}" if letter.isupper() and before.islower() else letter
    return words.replace("_", " ").strip()


def about(kind: type) -> str:
    """The first paragraph of the documentation of a class."""
    text = inspect.cleandoc(kind.__doc__ or "") if "__doc__" in vars(kind) else ""
    text = " ".join(text.split("\n\n")[0].split())
    if text.startswith(f"{kind.__name__}("):  # the list of its fields, which `dataclass` writes where nobody wrote
        return ""
    return text.removesuffix("::") + "." if text.endswith("::") else text


def fitting_methods(system: AbstractSystem) -> dict[str, Method]:
    """The methods of the catalogue that treat every part of a system."""
    return {name: entry.method for name, entry in METHODS.items() if fits(system, entry.method)}


def fits(system: AbstractSystem, method: Method) -> bool:
    """Whether a method treats every part of a system."""
    try:
        check_fit(system, method)
    except MethodDoesNotFit:
        return False
    return True


def first_method(system: AbstractSystem) -> str:
    """The name of the method that a page begins with."""
    fitting = fitting_methods(system)
    if not fitting:
        raise MethodDoesNotFit(
            f"no method of the catalogue treats {type(system).__name__} ({', '.join(system.parts)}). "
            "`dalembert list` shows what each one treats."
        )
    return next((name for name in FIRST_CHOICES if name in fitting), next(iter(fitting)))


# -- parameters --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A number of a system that may be changed.

    Attributes:
        name: how Python reaches it from the system, such as `length`, `masses[1]` or `bodies[0].mass`.
        value: what it is now.
        whole: whether it is a count, whose change makes another problem.
    """

    name: str
    value: float
    whole: bool


def parameters_of(system: AbstractSystem) -> tuple[Parameter, ...]:
    """Every float parameter, and the counts of parts."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(system)[0]:
        name = jax.tree_util.keystr(path).lstrip(".")
        if is_parameter(leaf) and np.ndim(leaf) == 0:
            found.append(Parameter(name, float(leaf), False))
        elif is_parameter(leaf) and np.ndim(leaf) == 1 and len(leaf) <= MOST_COMPONENTS:
            found += [Parameter(f"{name}[{k}]", float(x), False) for k, x in enumerate(leaf)]
    counts = {field.name for field in dataclasses.fields(system) if field.type in (int, "int") and field.init}
    found += [Parameter(name, getattr(system, name), True) for name in sorted(counts)]
    return tuple(found[:MOST_PARAMETERS])


def with_parameters(system: AbstractSystem, values: dict[str, float]) -> AbstractSystem:
    """The system with other values of some parameters; an `InputError` names one that it does not have."""
    known = {parameter.name: parameter for parameter in parameters_of(system)}
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InputError(
            f"{type(system).__name__} has no parameter {unknown[0]!r}; it has: {', '.join(known) or 'none'}."
        )
    changed = {name: value for name, value in values.items() if value != known[name].value}
    plain = {name: int(x) if known[name].whole else x for name, x in changed.items() if name.isidentifier()}
    if plain:  # by the constructor, which checks them
        system = dataclasses.replace(system, **plain)
    deep = {name: x for name, x in changed.items() if not name.isidentifier()}
    return _with_deep_parameters(system, deep) if deep else system


def _with_deep_parameters(system: AbstractSystem, values: dict[str, float]) -> AbstractSystem:
    def other(path, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path).lstrip(".")
        if name in values:
            return np.float64(values[name]) if np.ndim(leaf) or not isinstance(leaf, float) else values[name]
        own = {k: values[f"{name}[{k}]"] for k in range(len(leaf)) if f"{name}[{k}]" in values} if np.ndim(leaf) else {}
        if own:
            leaf = np.array(leaf, dtype=float)
            leaf[list(own)] = list(own.values())
        return leaf

    return jax.tree_util.tree_map_with_path(other, system)
