"""Two second-order methods for nonholonomic systems, as halves of the symplectic Euler SPARK methods.

    ModifiedLobatto       euler_spark("I") with h/2, then euler_spark("II") with h/2
    McLachlanPerlmutter   euler_spark("II") with h/2, then euler_spark("I") with h/2

The first is the 2-stage Lobatto IIIA-B SPARK method with k = 0 imposed at the middle of the step instead of in the mean
of both ends; the two agree where k is affine in q. The second is McLachlan and Perlmutter's 2-stage Lobatto IIIB-A
method (J. Nonlinear Sci. 16 (2006) 283-328). In a run both take the same half steps alternately: one is the other,
seen from the middles of its steps.
"""

from __future__ import annotations

from typing import ClassVar

from .base import Claims, Substep
from .composition import Sequence
from .spark import euler_spark

_CLAIMS = Claims(
    order=2,
    symmetric=True,
    symplectic=True,
    momentum=True,
    bounded_energy=True,
    constraints=("position", "velocity"),
    multiplier_order=2,
)


class ModifiedLobatto(Sequence):
    """The modified 2-stage Lobatto IIIA-B SPARK method: Euler I, then Euler II, each with half the step."""

    claims: ClassVar[Claims] = _CLAIMS

    @property
    def substeps(self) -> tuple[Substep, ...]:
        return Substep(euler_spark("I"), 0.5), Substep(euler_spark("II"), 0.5)


class McLachlanPerlmutter(Sequence):
    """McLachlan and Perlmutter's 2-stage Lobatto IIIB-A method: Euler II, then Euler I, each with half the step."""

    claims: ClassVar[Claims] = _CLAIMS

    @property
    def substeps(self) -> tuple[Substep, ...]:
        return Substep(euler_spark("II"), 0.5), Substep(euler_spark("I"), 0.5)
