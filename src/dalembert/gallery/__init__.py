"""Ready systems with starting values, invariants and, where known, exact motions.

Every class can be run by its name: `system_named("pendulum")()` has a method `start()`.
"""

from __future__ import annotations

from ..arguments import one_of
from .bead import BeadOnMovingWire, BeadOnRotatingHoop
from .blades import ChaplyginSleigh, Skate
from .blocks import BlockArch, DominoRow
from .central import HarmonicOscillator, Kepler
from .chain import Chain, DoublePendulum
from .contacts import BallInBox, PendulumAndWall, SlidingBlock
from .friction_surface import MassOnCubic, MassOnSurface, NonlinearReaction
from .impacts import BouncingBall, ImpactOscillator
from .linkage import FourBar, SliderCrank
from .many_contacts import BeadColumn, BoxStack, NewtonCradle, PainleveRod, RockingBlock
from .mechanisms import Mechanism, mechanism, mechanisms
from .nonholonomic import AppellHamel, NonholonomicParticle
from .particles import McLachlanPerlmutterParticles
from .pendulum import DrivenPendulum, Pendulum, PolarPendulum
from .ready import Ready, Start
from .rolling import BallOnTurntable, RollingDisc
from .spherical_pendulum import HamiltonianSphericalPendulum, SphericalPendulum
from .spinning import EulerDisc, TippeTop
from .springs_and_bars import FourParticles, HeavyTop, Lattice
from .wheels import MobileRobot, VerticalRollingDisc

GALLERY: dict[str, type[Ready]] = {
    "pendulum": Pendulum,
    "driven-pendulum": DrivenPendulum,
    "polar-pendulum": PolarPendulum,
    "spherical-pendulum": SphericalPendulum,
    "hamiltonian-spherical-pendulum": HamiltonianSphericalPendulum,
    "double-pendulum": DoublePendulum,
    "chain": Chain,
    "bead-on-moving-wire": BeadOnMovingWire,
    "bead-on-rotating-hoop": BeadOnRotatingHoop,
    "four-bar": FourBar,
    "slider-crank": SliderCrank,
    "harmonic-oscillator": HarmonicOscillator,
    "kepler": Kepler,
    "nonholonomic-particle": NonholonomicParticle,
    "appell-hamel": AppellHamel,
    "skate": Skate,
    "chaplygin-sleigh": ChaplyginSleigh,
    "vertical-rolling-disc": VerticalRollingDisc,
    "mobile-robot": MobileRobot,
    "mclachlan-perlmutter-particles": McLachlanPerlmutterParticles,
    "ball-on-turntable": BallOnTurntable,
    "rolling-disc": RollingDisc,
}

#: Systems with contact, for the methods that treat it; what smooth methods claim is not measured on them.
CONTACT_GALLERY: dict[str, type[Ready]] = {
    "bouncing-ball": BouncingBall,
    "impact-oscillator": ImpactOscillator,
    "ball-in-box": BallInBox,
    "newton-cradle": NewtonCradle,
    "bead-column": BeadColumn,
    "pendulum-and-wall": PendulumAndWall,
    "sliding-block": SlidingBlock,
    "rocking-block": RockingBlock,
    "box-stack": BoxStack,
    "painleve-rod": PainleveRod,
    "domino-row": DominoRow,
    "block-arch": BlockArch,
    "euler-disc": EulerDisc,
    "tippe-top": TippeTop,
}

#: Systems written for one family of methods, on which the tests of that family measure it.
FAMILY_GALLERY: dict[str, type[Ready]] = {
    "four-particles": FourParticles,
    "lattice": Lattice,
    "heavy-top": HeavyTop,
}
#: Overdetermined systems with reactions that are nonlinear in the multiplier, for `SymplecticEuler`.
OVERDETERMINED_GALLERY: dict[str, type[Ready]] = {
    "nonlinear-reaction": NonlinearReaction,
    "mass-on-cubic": MassOnCubic,
    "mass-on-surface": MassOnSurface,
}
#: All of them.
SYSTEMS: dict[str, type[Ready]] = GALLERY | CONTACT_GALLERY | FAMILY_GALLERY | OVERDETERMINED_GALLERY


def system_named(name: str) -> type[Ready]:
    """The class called `name`."""
    if not isinstance(name, str) or name.lower() not in SYSTEMS:
        raise one_of("system", name, SYSTEMS)
    return SYSTEMS[name.lower()]


__all__ = [
    "CONTACT_GALLERY",
    "FAMILY_GALLERY",
    "GALLERY",
    "OVERDETERMINED_GALLERY",
    "SYSTEMS",
    "AppellHamel",
    "BallInBox",
    "BallOnTurntable",
    "BeadColumn",
    "BeadOnMovingWire",
    "BeadOnRotatingHoop",
    "BlockArch",
    "BouncingBall",
    "BoxStack",
    "Chain",
    "ChaplyginSleigh",
    "DominoRow",
    "DoublePendulum",
    "DrivenPendulum",
    "EulerDisc",
    "FourBar",
    "FourParticles",
    "HamiltonianSphericalPendulum",
    "HarmonicOscillator",
    "HeavyTop",
    "ImpactOscillator",
    "Kepler",
    "Lattice",
    "McLachlanPerlmutterParticles",
    "Mechanism",
    "MobileRobot",
    "NewtonCradle",
    "NonholonomicParticle",
    "PainleveRod",
    "Pendulum",
    "PendulumAndWall",
    "PolarPendulum",
    "Ready",
    "RockingBlock",
    "RollingDisc",
    "Skate",
    "SliderCrank",
    "SlidingBlock",
    "SphericalPendulum",
    "Start",
    "TippeTop",
    "VerticalRollingDisc",
    "mechanism",
    "mechanisms",
    "system_named",
]
