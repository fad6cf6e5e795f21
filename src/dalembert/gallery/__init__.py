"""Ready systems with starting values, invariants and, where known, exact motions.

Every class can be run by its name: `system_named("pendulum")()` has a method `start()`.
"""

from __future__ import annotations

from ..errors import InputError
from .bead import BeadOnMovingWire, BeadOnRotatingHoop
from .central import HarmonicOscillator, Kepler
from .chain import Chain, DoublePendulum
from .linkage import FourBar, SliderCrank
from .pendulum import DrivenPendulum, Pendulum, PolarPendulum
from .ready import Ready, Start
from .spherical_pendulum import HamiltonianSphericalPendulum, SphericalPendulum

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
}


def system_named(name: str) -> type[Ready]:
    """The class of the gallery called `name`."""
    try:
        return GALLERY[name.lower()]
    except KeyError:
        raise InputError(f"unknown system {name!r}; expected one of: {', '.join(sorted(GALLERY))}.") from None


__all__ = [
    "GALLERY",
    "BeadOnMovingWire",
    "BeadOnRotatingHoop",
    "Chain",
    "DoublePendulum",
    "DrivenPendulum",
    "FourBar",
    "HamiltonianSphericalPendulum",
    "HarmonicOscillator",
    "Kepler",
    "Pendulum",
    "PolarPendulum",
    "Ready",
    "SliderCrank",
    "SphericalPendulum",
    "Start",
    "system_named",
]
