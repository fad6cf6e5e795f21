"""Event capturing of any order: a Runge-Kutta method between events, Moreau's step across them.

Which contacts are closed, which of these stick and which way the others slide is the mode of the motion. As long as it
does not change, the motion is smooth: `event_equations.py` has its equations, `event_mode.py` the steps that a
Runge-Kutta method takes in it. After a step, y is moved in the metric of the kinetic energy onto the constraints that
hold, by O(h^{p+1}): they are kept to roundoff at position and at velocity level, and the order stays.

Across the event, which lies within hbar = C h^{p+1}, one step of Moreau's with the contact taken as closed
(Acary 2012, doi:10.1016/j.apnum.2012.06.026; Mannshardt 1978, doi:10.1007/BF01397471)::

    U = U- + hbar d/dt U + W P,     0 <= U_N + rho U_N-  _|_  P_N >= 0,     |P_T| <= mu P_N, ...

The loop that looks for events and takes these steps is in `stepping/event_steps.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import positive
from ..errors import InputError
from ..formulation import Mechanics
from .base import Claims, Method, Step
from .event_equations import parts_of, state_vector
from .event_mode import Sizes, SmoothMode
from .runge_kutta import RungeKutta, radau_iia


class EventCapturing(Method):
    """Order p through impacts, accumulations of impacts, lasting contact, release, stick and slip.

    Args:
        smooth: `radau_iia(s)`, `lobatto_iiia(s)`, `gauss_legendre(s)` (symplectic) or `half_explicit(p)`; its order p
            is that of the method.
        constant: C; an event is enclosed in an interval of the length C h^{p+1}.

    Friction is treated in the plane (one friction direction a contact).
    """

    smooth_part: RungeKutta = eqx.field(static=True)
    constant: float = eqx.field(static=True)

    handles: ClassVar[frozenset[str]] = frozenset(
        {"holonomic", "nonholonomic", "force", "gap", "tangent", "invariants"}
    )
    multiplier: ClassVar[str] = "discrete"

    def __init__(self, smooth: RungeKutta | None = None, constant: float = 1.0) -> None:
        smooth = radau_iia(2) if smooth is None else smooth
        if not isinstance(smooth, RungeKutta):
            raise InputError(
                "smooth of EventCapturing must be da.radau_iia(s), da.lobatto_iiia(s), da.gauss_legendre(s) or "
                f"da.half_explicit(p), got {smooth!r}."
            )
        constant = positive("constant of EventCapturing", constant)
        self.smooth_part, self.constant = smooth, float(constant)

    def __repr__(self) -> str:
        constant = "" if self.constant == 1.0 else f", constant={self.constant:g}"
        return f"EventCapturing({self.smooth_part!r}{constant})"

    @property
    def claims(self) -> Claims:
        return Claims(order=self.smooth_part.order, constraints=("position", "velocity"))

    @property
    def smooth(self) -> bool:
        return False

    def in_flight(self, step: Step) -> tuple[SmoothMode, jax.Array]:
        """The steps on which no contact is closed, and y where one of them begins."""
        m, t, q, v = step.mechanics, step.t, step.start.q, step.start.v
        rows = jax.eval_shape(m.constraint, t, q).shape[0]
        columns = jax.eval_shape(m.velocity_constraint, t, q, v).shape[0]
        contacts, directions = jax.eval_shape(m.contact.velocity, t, q, v).shape
        sizes, none = Sizes(len(q), rows, columns, contacts, directions), np.zeros(contacts, bool)
        return SmoothMode(self.smooth_part, sizes, none, none), state_vector(m, step.start)

    def guess(self, step: Step) -> jax.Array:
        mode, y = self.in_flight(step)
        return mode.guess(step.mechanics, step.t, step.h, y)

    def residual(self, x, step: Step) -> dict[str, jax.Array]:
        """The equations of a step on which no contact is closed, those of a run in this mode."""
        mode, y = self.in_flight(step)
        return mode.residual(x, step.mechanics, step.t, step.h, y, jnp.zeros(mode.dimensions.contacts))

    def finish(self, x, step: Step):
        mode, y = self.in_flight(step)
        end = mode.finish(x, step.mechanics, step.t, step.h, y)
        q, v, p = parts_of(step.mechanics, step.t_end, end.y)
        return step.end(dq=q - step.start.q, dp=p - step.start.p, v=v)

    def misfit(self, system) -> str | None:
        if not system.provides("gap"):
            return "it has no gap(t, q), so there are no events; use a smooth method such as da.gauss_spark(2)."
        return None

    def facts(self, mechanics: Mechanics, t, q, v, p) -> dict[str, Any]:
        contacts, directions = jax.eval_shape(mechanics.contact.velocity, t, q, v).shape
        friction = mechanics.contact.friction(contacts)
        return {"friction in space": friction} if directions > 2 else {}

    def misfit_at(self, facts: dict[str, np.ndarray]) -> str | None:
        if np.any(facts.get("friction in space", np.zeros(0)) > 0):
            return (
                "friction in space (two friction directions a contact) is not located as events; use da.MoreauJean(), "
                "or set friction = 0."
            )
        return None
