"""The discrete equations, one family a file."""

from .base import Advance, Claims, Method, Step, Substep
from .catalogue import CATALOGUE, CONTACT_CATALOGUE, FAMILY_CATALOGUE, METHODS, method_named
from .composition import Adjoint, Composition, Sequence
from .composition_schemes import SCHEMES
from .contact_laws import ContactLaw, Frictionless, NewtonCoulomb
from .description import keeps, treats
from .discrete_lagrangian import DiscreteLagrangian, discrete_lagrangian
from .energy_momentum import EnergyMomentum
from .event_capturing import EventCapturing
from .galerkin import Galerkin
from .galerkin_lagrangian import GalerkinLagrangian
from .langevin import Langevin
from .moreau_jean import MoreauJean, SchatzmanPaoli
from .rattle import Rattle, Shake
from .runge_kutta import RungeKutta, gauss_legendre, half_explicit, lobatto_iiia, radau_iia
from .spark import Spark, euler_spark, gauss_spark, lobatto_spark, standard_gauss
from .spark_pairs import McLachlanPerlmutter, ModifiedLobatto
from .spark_tableau import HolonomicPart, SparkTableau
from .symplectic_euler import AdjointSymplecticEuler, SymplecticEuler
from .taylor import Taylor

__all__ = [
    "CATALOGUE",
    "CONTACT_CATALOGUE",
    "FAMILY_CATALOGUE",
    "METHODS",
    "SCHEMES",
    "Adjoint",
    "AdjointSymplecticEuler",
    "Advance",
    "Claims",
    "Composition",
    "ContactLaw",
    "DiscreteLagrangian",
    "EnergyMomentum",
    "EventCapturing",
    "Frictionless",
    "Galerkin",
    "GalerkinLagrangian",
    "HolonomicPart",
    "Langevin",
    "McLachlanPerlmutter",
    "Method",
    "ModifiedLobatto",
    "MoreauJean",
    "NewtonCoulomb",
    "Rattle",
    "RungeKutta",
    "SchatzmanPaoli",
    "Sequence",
    "Shake",
    "Spark",
    "SparkTableau",
    "Step",
    "Substep",
    "SymplecticEuler",
    "Taylor",
    "discrete_lagrangian",
    "euler_spark",
    "gauss_legendre",
    "gauss_spark",
    "half_explicit",
    "keeps",
    "lobatto_iiia",
    "lobatto_spark",
    "method_named",
    "radau_iia",
    "standard_gauss",
    "treats",
]
