"""Overdetermined differential-algebraic systems of mechanics, with reactions nonlinear in the multipliers."""

from __future__ import annotations

from typing import Any, ClassVar

from .system import REQUIRED, AbstractSystem


class OverdeterminedDAE(AbstractSystem):
    """An overdetermined differential-algebraic system of index 2::

        y' = velocity(y, z)
        z' = force(y, z) + reaction(y, z, psi)
        0  = constraint(y),      0 = constraint_y(y) velocity(y, z)

    y and z have the same length; psi has as many entries as the constraint, and may enter the reaction nonlinearly
    (friction that depends on the normal force). g_y v_z r_psi must be invertible. Without `constraint` and `reaction`
    it is an ordinary differential equation.
    """

    gives_velocity: ClassVar[bool] = True

    def velocity(self, y, z) -> Any:
        """y', of the shape of y."""
        raise NotImplementedError

    # The signatures differ from those of a mechanical system on purpose: these are the functions of the DAE.
    def force(self, y, z) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The part of z' that does not depend on psi, of the shape of z."""
        raise NotImplementedError

    def reaction(self, y, z, psi) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The part of z' that depends on psi, of the shape of z."""
        raise NotImplementedError

    def constraint(self, y) -> Any:
        """g(y): a scalar or an array of shape (m,)."""
        raise NotImplementedError

    @classmethod
    def provides(cls, part: str) -> bool:
        """Whether the class defines `constraint`, which is its holonomic part, or `reaction` or `invariants`."""
        if part in ("holonomic", "constraint"):
            return cls.constraint is not OverdeterminedDAE.constraint
        if part == "reaction":
            return cls.reaction is not OverdeterminedDAE.reaction
        return part in ("invariants", "points", "outline") and super().provides(part)

    @property
    def parts(self) -> tuple[str, ...]:
        """One part of its own: only methods for overdetermined systems treat it."""
        return ("overdetermined", *(part for part in ("invariants",) if self.provides(part)))

    def holonomic(self, t, q) -> Any:
        return self.constraint(q)


class DifferentialAlgebraicInequality(OverdeterminedDAE):
    """The same with a unilateral constraint::

        y' = velocity(y, z)
        z' = force(y, z) + reaction(y, z, psi)
        0 <= constraint(y)  _|_  psi >= 0

    Where the constraint closes with a velocity, that velocity is reversed times `restitution` (0: it stays closed).
    The reaction must vanish with psi, and its derivative by psi be finite at psi = 0 (write a friction c psi^r as
    `jnp.where(psi > 0, ...)`).
    """

    @classmethod
    def provides(cls, part: str) -> bool:
        if part == "holonomic":
            return False
        return super().provides("constraint") if part == "gap" else super().provides(part)

    @property
    def parts(self) -> tuple[str, ...]:
        return ("inequality", *(part for part in ("invariants",) if self.provides(part)))

    def gap(self, t, q) -> Any:
        return self.constraint(q)

    def impact(self, y, z, impulse) -> Any:
        """The jump of z by impulses, shape (m,), where the constraint closes. The reaction by default, which is right
        if it is proportional to psi; friction c psi^r with r < 1 has no part in an impact."""
        return self.reaction(y, z, impulse)


REQUIRED.extend([(OverdeterminedDAE, "velocity", "y, z"), (OverdeterminedDAE, "force", "y, z")])
