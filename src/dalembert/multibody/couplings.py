"""Constraints on joint coordinates: prescribed motion, gears, racks.

Where a joint's angle is measured at the poses of its bodies its turns are not known. A row for it is the sine of what
must vanish, which does not care for whole turns: sin(angle - f(t)) = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import ModelError
from .configuration import BodyPoint, Configuration
from .contacts import ContactElement, sliding_velocity
from .joints import JointElement, Rows
from .vectors import Triple

#: The teeth of a gear between measured angles: ratios p / q with q up to here.
MOST_TEETH = 24


class Coupling(eqx.Module):
    """A constraint on coordinates of joints."""

    name: str = eqx.field(static=True)

    #: Whether it constrains velocities (`velocity_rows`) and no coordinates.
    nonholonomic: ClassVar[bool] = False

    def rows(self, t, configuration: Configuration, joints: tuple[JointElement, ...]) -> Rows:
        """The constraints by name."""
        return []

    def velocity_rows(self, t, system, q, v) -> Rows:
        """Constraints on the velocity by name."""
        return []


class Rolling(Coupling):
    """Two surfaces that touch and roll on each other without slipping: their distance is 0, and so is the velocity of
    their touching points against each other."""

    contact: ContactElement

    nonholonomic: ClassVar[bool] = True

    def rows(self, t, configuration, joints):
        return [("touching", self.contact.gap(configuration, joints))]

    def velocity_rows(self, t, system, q, v):
        slip = sliding_velocity(self.contact, system, q, v)
        return [(f"rolling {k + 1}", slip[k]) for k in range(2)]


class KnifeEdge(Coupling):
    """A point of a body moves along the blade only: its velocity has no part along an axis of the body."""

    point: BodyPoint
    across: Triple

    nonholonomic: ClassVar[bool] = True

    def velocity_rows(self, t, system, q, v):
        rate = jax.jvp(lambda q: system.configuration(q).point(self.point), (q,), (v,))[1]
        return [("edge", rate @ system.configuration(q).poses[self.point.body].along(self.across))]


class JointCoordinate(eqx.Module):
    """One coordinate of a joint, by numbers."""

    joint: int = eqx.field(static=True)
    coordinate: int = eqx.field(static=True)
    is_angle: bool = eqx.field(static=True)

    def value(self, configuration: Configuration, joints) -> Any:
        """Its value; an angle that is measured is known up to whole turns."""
        return configuration.joint_values(self.joint, joints[self.joint])[self.coordinate]

    def turns_unknown(self, configuration: Configuration) -> bool:
        """Whether it is an angle that is measured."""
        return self.is_angle and self.joint not in configuration.values


class PrescribedMotion(Coupling):
    """A coordinate of a joint is a function of time."""

    at: JointCoordinate
    motion: Callable = eqx.field(static=True)

    def rows(self, t, configuration, joints):
        wanted = jnp.asarray(self.motion(t), jnp.float64)
        defect = self.at.value(configuration, joints) - wanted
        return [("prescribed motion", jnp.sin(defect) if self.at.turns_unknown(configuration) else defect)]


class Gear(Coupling):
    """second = ratio first + offset, for two coordinates of joints: gears, belts, mimic joints, rack and pinion."""

    first: JointCoordinate
    second: JointCoordinate
    ratio: float = eqx.field(static=True)
    offset: Any

    def rows(self, t, configuration, joints):
        first, second = (at.value(configuration, joints) for at in (self.first, self.second))
        unknown = [at.turns_unknown(configuration) for at in (self.first, self.second)]
        if not any(unknown):
            return [("ratio", second - self.ratio * first - self.offset)]
        if unknown == [False, True]:
            return [("ratio", jnp.sin(second - self.ratio * first - self.offset))]
        if unknown == [True, False] and not self.second.is_angle:
            return [("ratio", jnp.sin(first - (second - self.offset) / self.ratio))]
        teeth = Fraction(self.ratio).limit_denominator(MOST_TEETH)
        if abs(float(teeth) - self.ratio) > 1e-12 * abs(self.ratio):
            raise ModelError(
                f"gear {self.name!r}: the ratio {self.ratio:.17g} is not a fraction with a denominator up to "
                f"{MOST_TEETH}, and directors do not count the turns of an angle. Use "
                'model.system(coordinates="joints"), where both joints belong to the tree, or round the ratio.'
            )
        p, q = teeth.numerator, teeth.denominator
        return [("ratio", jnp.sin(q * second - p * first - q * self.offset))]
