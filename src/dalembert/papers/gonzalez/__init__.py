"""Gonzalez: conservative integration with holonomic constraints."""

from ..experiment import Paper

PAPER = Paper(
    number=2,
    key="gonzalez",
    citation="O. Gonzalez, Mechanical systems subject to holonomic constraints: differential-algebraic formulations "
    "and conservative integration, Physica D 132 (1999) 165-174",
    title="Energy-momentum integration",
    about="A one-step method that keeps constraints, energy, linear and angular momentum to roundoff, through discrete "
    "derivatives that respect the symmetries.",
)
