"""What the Python reference describes: every public name once, by subject, and of a class what a user calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import dalembert as da

PARTS = ("lagrangian", "hamiltonian", "holonomic", "nonholonomic", "force", "reaction", "gap", "tangent", "invariants",
         "points", "outline", "sensors")  # fmt: skip
#: Members of classes that users call or write; of other classes the documentation of the class says it all.
MEMBERS = {
    "System": PARTS,
    "HamiltonianSystem": ("hamiltonian",),
    "OverdeterminedDAE": ("velocity", "force", "reaction", "constraint"),
    "DifferentialAlgebraicInequality": ("impact",),
    "Trajectory": ("t", "q", "v", "p", "lam", "psi", "y", "z", "u", "h", "energy", "constraint", "hidden", "gap",
                   "impulse", "momenta", "invariants", "sensors", "events", "status", "stats", "warnings", "iterations",
                   "provenance", "system", "method", "interpolate", "member", "save", "to_xarray", "to_pandas"),
    "Multibody": ("body", "particle", "rod", "disc", "weld", "joint", "close_loop", "prescribe", "gear", "spring",
                  "damper", "bushing", "joint_spring", "joint_damper", "bearing", "bearing_friction", "motor", "force",
                  "position_servo", "velocity_servo", "drag", "attraction", "contact", "plane", "rolling", "knife_edge",
                  "system", "save"),
    "Stepper": ("t", "state", "step", "reset", "rates", "sensors", "snapshot", "restore"),
    "Method": ("claims", "order", "name", "guess", "residual", "finish", "continued", "dense", "adjoint"),
    "Step": ("t_end", "end"),
    "SparkTableau": ("order", "unequal_order", "variational", "symmetric", "reversed"),
    "Equilibrium": ("linearised", "eigenvalues", "stability"),
    "Linearisation": ("eigenvalues", "stability", "reduced"),
    "Plan": ("costate",),
    "Recommendation": ("rows",),
    "EnergyBalance": ("largest_defect",),
    "StepResolution": ("largest_step",),
    "Sweep": ("dataset",),
    "View": ("html", "save"),
}  # fmt: skip
#: What one looks for first; the others follow in alphabetical order.
FIRST = ("simulate", "Trajectory", "System", "HamiltonianSystem", "system", "Multibody", "Rattle", "Galerkin",
         "gauss_spark", "lobatto_spark", "MoreauJean", "EventCapturing")  # fmt: skip
#: By subject: which rooms the names come from, and what is described beside the flat names.
SUBJECTS = {
    "Runs": (("dalembert.simulation", "dalembert.trajectory", "dalembert.stepping"), ()),
    "Systems": (("dalembert.problem", "dalembert.formulation"), ()),
    "Methods": (("dalembert.method",), ()),
    "Bodies and joints": (("dalembert.multibody",), ()),
    "Control": (("dalembert.control",), ()),
    "What the numbers say": (
        ("dalembert.diagnostics",),
        ("compare", "end_errors", "reference_solution", "reversed_system", "ObservedOrder", "EndErrors",
         "WorkPrecision", "Drift", "ReversibilityDefect", "MeasuredClaims"),
    ),
    "Pictures and films": (
        ("dalembert.plots",),
        ("plot", "animate", "plot_path", "plot_phase", "plot_energy", "plot_constraints", "plot_residuals",
         "plot_convergence", "plot_work_precision", "plot_energy_errors"),
    ),
    "Studio": (("dalembert.studio",), ()),
    "Gallery": (("dalembert.gallery",), ("Ready", "Start", "system_named", "mechanism")),
    "Errors and warnings": (("dalembert.errors",), ("UnsupportedByEngine",)),
    "Namespaces": (("dalembert.methods", "dalembert.tableaux", "dalembert.invariants"), ()),
}  # fmt: skip


def sections(place_of) -> str:
    """The page below its table; `place_of(name, value)` says where a public name is described."""
    names = sorted(da.__all__, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    places = {name: place_of(name, getattr(da, name)) for name in names}
    parts = [entry("dalembert", "dalembert", ())]
    for subject, (rooms, further) in SUBJECTS.items():
        parts.append(f"## {subject}")
        for name, place in places.items():
            if _room(place) in rooms and place.rpartition(".")[2] == name:  # an alias is described by its other name
                parts.append(anchor(name, place) + entry(place, f"da.{name}", MEMBERS.get(name, ())))
        parts += [entry(f"{rooms[0]}.{name}", f"{rooms[0].replace('dalembert', 'da')}.{name}", ()) for name in further]
    return "\n\n".join(parts)


def anchor(name: str, place: str) -> str:
    """Functions that are called like their modules are described there, and found by their short name too."""
    return f"[](){{#dalembert.{name}}}\n\n" if place.split(".")[-2:] == [name, name] else ""


def entry(place: str, heading: str, members: tuple[str, ...]) -> str:
    """One object, under the name by which it is called."""
    chosen = f"[{', '.join(members)}]" if members else "false"
    return (
        f"::: {place}\n    options:\n      heading: {heading}\n      toc_label: {heading}\n      members: {chosen}"
        + ("\n      inherited_members: true" if members else "")
    )


def _room(place: str) -> str:
    return ".".join(place.split(".")[:2])


def described() -> Iterator[str]:
    """The members named above that no class has: there should be none."""
    for name, members in MEMBERS.items():
        kind = getattr(da, name)
        known = set(dir(kind)) | set(inspect.get_annotations(kind))
        yield from (f"{name}.{member}" for member in members if member not in known and member != "hamiltonian")
