"""Jay: Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems."""

from ..experiment import Paper

PAPER = Paper(
    number=3,
    key="jay",
    citation="L. O. Jay, Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems, 2009",
    title="SPARK methods for nonholonomic systems",
    about="Specialised partitioned additive Runge-Kutta methods of any order that satisfy a discrete "
    "Lagrange-d'Alembert principle. The paper judges them by the energy over long times.",
)
