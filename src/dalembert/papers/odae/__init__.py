"""Jay: symplectic Euler for overdetermined DAEs."""

from ..experiment import Paper

PAPER = Paper(
    number=1,
    key="odae",
    citation="L. O. Jay, Consistent extensions of the symplectic Euler method for a class of overdetermined DAEs",
    title="Symplectic Euler for overdetermined DAEs",
    about="The symplectic Euler method for holonomic constraints has a natural extension to reactions that depend "
    "nonlinearly on the multiplier, which is inconsistent, and a true one, which converges.",
)
