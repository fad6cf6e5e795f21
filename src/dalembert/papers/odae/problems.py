"""The two test problems of the paper, in words."""

_METHODS = r"""
Natural and true symplectic Euler with $\alpha = 1/2$, and both conjugates, with constant steps; Euclidean errors at
$t = 1$. The dotted line is the distance of the natural method to the solution of the inconsistent equation that it
follows (section 3.4 of the paper), which we integrate with `natural_limit`.
"""

SETUPS = {
    "NonlinearReaction": r"""
An artificial problem with the solution $y_1 = z_1 = e^{2t}$, $y_2 = z_2 = e^{-t}$, $\psi = e^t$, whose reaction holds
$\psi^2$ in one component and $\psi$ in the other. The printed equation for $z_2'$ can be read in several ways that
share this solution; ours is stated with the class `NonlinearReaction`.
"""
    + _METHODS,
    "MassOnCubic": r"""
A mass slides on the cubic $y_2 = b y_1^3$ with friction $c |N|^{0.85}$, where $N$ is the normal force: $m = 1$,
$b = 0.01$, $g = 9.81$, $c = 0.1$, from $y = (10, 10)$, $z = (-3.6, -10.8)$. The multiplier, $\psi(0) = 1.7586$,
is a known function of the state whatever the friction.
"""
    + _METHODS,
}
