"""dalembert: simulate constrained mechanical systems and keep their structure."""

import jax as _jax

_jax.config.update("jax_enable_x64", True)  # before anything is traced: every number here is a float64

from . import gallery, plots  # noqa: E402
from .diagnostics import (  # noqa: E402
    DiscretePrinciple,
    discrete_principle,
    drift,
    observed_order,
    reversibility_defect,
    symplectic_defect,
    work_precision,
)
from .errors import (  # noqa: E402
    ContactWarning,
    DalembertError,
    InconsistentMethodWarning,
    InconsistentStart,
    InputError,
    MethodDoesNotFit,
    ModelError,
    RedundantConstraints,
    StepFailure,
)
from .formulation import natural_limit, symmetries  # noqa: E402
from .method import (  # noqa: E402
    CATALOGUE,
    SCHEMES,
    Adjoint,
    Claims,
    Composition,
    ContactLaw,
    DiscreteLagrangian,
    EnergyMomentum,
    Frictionless,
    Galerkin,
    GalerkinLagrangian,
    McLachlanPerlmutter,
    Method,
    ModifiedLobatto,
    MoreauJean,
    NewtonCoulomb,
    Rattle,
    SchatzmanPaoli,
    Shake,
    Spark,
    SparkTableau,
    Step,
    SymplecticEuler,
    discrete_lagrangian,
    euler_spark,
    gauss_spark,
    lobatto_spark,
    standard_gauss,
)
from .problem import HamiltonianSystem, OverdeterminedDAE, State, System, system  # noqa: E402
from .stepping import ConsistentStart, consistent  # noqa: E402
from .trajectory import Interpolated, Trajectory, boundary_value, load, simulate  # noqa: E402

# Data flows from the trajectory to the pictures, so the pictures are attached here, where both are known.
Trajectory.plot = plots.plot
Trajectory.animate = plots.animate

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "SCHEMES",
    "Adjoint",
    "Claims",
    "Composition",
    "ConsistentStart",
    "ContactLaw",
    "ContactWarning",
    "DalembertError",
    "DiscreteLagrangian",
    "DiscretePrinciple",
    "EnergyMomentum",
    "Frictionless",
    "Galerkin",
    "GalerkinLagrangian",
    "HamiltonianSystem",
    "InconsistentMethodWarning",
    "InconsistentStart",
    "InputError",
    "Interpolated",
    "McLachlanPerlmutter",
    "Method",
    "MethodDoesNotFit",
    "ModelError",
    "ModifiedLobatto",
    "MoreauJean",
    "NewtonCoulomb",
    "OverdeterminedDAE",
    "Rattle",
    "RedundantConstraints",
    "SchatzmanPaoli",
    "Shake",
    "Spark",
    "SparkTableau",
    "State",
    "Step",
    "StepFailure",
    "SymplecticEuler",
    "System",
    "Trajectory",
    "boundary_value",
    "consistent",
    "discrete_lagrangian",
    "discrete_principle",
    "drift",
    "euler_spark",
    "gallery",
    "gauss_spark",
    "load",
    "lobatto_spark",
    "natural_limit",
    "observed_order",
    "plots",
    "reversibility_defect",
    "simulate",
    "standard_gauss",
    "symmetries",
    "symplectic_defect",
    "system",
    "work_precision",
]
