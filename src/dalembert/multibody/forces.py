"""Force elements. Each is a measure of the configuration and a law along it.

With s(q) what an element measures (a length, a joint angle, the place of a point), its potential U(s) and its law
f(t, s, s') the generalised force is -U_q + s_q^T f: the power of the law is f . s', whatever the coordinates are.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from .configuration import BodyPoint, Configuration, Relative
from .joints import JointElement

#: The gravitational constant, m^3 / (kg s^2).
GRAVITATION = 6.6743e-11


class ForceElement(eqx.Module):
    """A force on bodies, by what it measures."""

    name: str = eqx.field(static=True)

    #: Whether there is a law besides the potential, and how many invariants the potential has.
    dissipative: ClassVar[bool] = True
    sizes: ClassVar[int] = 1

    def measure(self, configuration: Configuration, joints: tuple[JointElement, ...]) -> Any:
        """s, an array of one axis."""
        raise NotImplementedError

    def potential(self, s) -> Any:
        """U(s), a scalar."""
        return 0.0

    def law(self, t, s, rate) -> Any:
        """f(t, s, s') besides the force of the potential."""
        return jnp.zeros_like(s)

    @property
    def has_law(self) -> bool:
        """Whether `law` is more than zero."""
        return self.dissipative

    @property
    def on_joint(self) -> int | None:
        """The joint on whose first coordinate it acts."""
        return None

    @property
    def reads(self) -> tuple[int, int] | None:
        """The joint coordinate (joint, number) whose value its potential or its law depends on."""
        return None

    @property
    def bears_on(self) -> int | None:
        """The joint whose reaction it depends on."""
        return None

    def invariants(self, configuration: Configuration) -> Any:
        """Functions of the poses, at most quadratic, of which the potential is a sum of terms; None if it is not."""
        return None

    def terms(self, pi) -> Any:
        """The potential as terms, each a function of its own invariant."""
        return jnp.zeros_like(pi)


class Spring(ForceElement):
    """Between two points: stiffness k (length - rest) and a damper d length', or laws of one's own.

    `energy(extension)` is a potential in place of k/2 extension^2, `law_of(extension, rate)` a further tension.
    """

    first: BodyPoint
    second: BodyPoint
    stiffness: Any
    rest: Any
    damping: Any
    energy: Callable | None = eqx.field(static=True)
    force: Callable | None = eqx.field(static=True)
    damped: bool = eqx.field(static=True)

    @property
    def has_law(self) -> bool:
        return self.damped or self.force is not None

    def _squared(self, configuration: Configuration):
        between = configuration.point(self.second) - configuration.point(self.first)
        return between @ between

    def measure(self, configuration, joints):
        return jnp.sqrt(self._squared(configuration))[None]

    def potential(self, s):
        extension = s[0] - self.rest
        return 0.5 * self.stiffness * extension**2 if self.energy is None else self.energy(extension)

    def law(self, t, s, rate):
        tension = self.damping * rate[0] if self.damped else 0.0
        if self.force is not None:
            tension = tension + self.force(s[0] - self.rest, rate[0])
        return -jnp.asarray(tension, jnp.float64).reshape(1)

    def invariants(self, configuration):
        return self._squared(configuration)[None]

    def terms(self, pi):
        extension = jnp.sqrt(pi) - self.rest
        return 0.5 * self.stiffness * extension**2 if self.energy is None else self.energy(extension)


class _AtJoint(ForceElement):
    """Along one coordinate of a joint."""

    joint: int = eqx.field(static=True)
    coordinate: int = eqx.field(static=True)

    @property
    def on_joint(self) -> int | None:
        return self.joint if self.coordinate == 0 else None

    def measure(self, configuration, joints):
        return jnp.asarray(configuration.joint_values(self.joint, joints[self.joint])[self.coordinate])[None]


class JointSpring(_AtJoint):
    """A torsional spring, or one along a slide: k (angle - rest), or a potential `energy(angle - rest)`."""

    stiffness: Any
    rest: Any
    energy: Callable | None = eqx.field(static=True)

    dissipative: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, int] | None:
        return self.joint, self.coordinate

    def potential(self, s):
        extension = s[0] - self.rest
        return 0.5 * self.stiffness * extension**2 if self.energy is None else self.energy(extension)


class JointDamper(_AtJoint):
    """Viscous friction, -damping rate, and dry friction, smoothed: -friction tanh(rate / smoothing)."""

    damping: Any
    friction: Any
    smoothing: Any
    dry: bool = eqx.field(static=True)

    def law(self, t, s, rate):
        found = -self.damping * rate
        return found - self.friction * jnp.tanh(rate / self.smoothing) if self.dry else found


class BearingFriction(_AtJoint):
    """Friction of a loaded bearing, -coefficient radius |F| tanh(rate / smoothing), F the force of the joint's own
    constraints: a part of the reaction that is not linear in the multipliers."""

    coefficient: Any
    radius: Any
    smoothing: Any

    dissipative: ClassVar[bool] = False

    @property
    def bears_on(self) -> int | None:
        return self.joint

    def friction(self, rate, squared):
        """The torque at a rate, |F|^2 given."""
        # |F| has no derivative at F = 0, where the torque is zero
        loaded = squared > 0.0
        load = jnp.where(loaded, jnp.sqrt(jnp.where(loaded, squared, 1.0)), 0.0)
        return -self.coefficient * self.radius * load * jnp.tanh(rate / self.smoothing)


class Motor(_AtJoint):
    """A torque (or a force along a slide) that is a function of time and of what the joint does.

    `torque(t, x)` with x.angle and x.rate (x.position on a slide) and the motor's own values by name; limited to
    [-effort, effort] where an effort is given.
    """

    torque: Callable = eqx.field(static=True)
    effort: Any
    names: tuple[str, ...] = eqx.field(static=True)
    values: tuple[Any, ...]

    @property
    def reads(self) -> tuple[int, int] | None:
        return (self.joint, self.coordinate) if self._reads_the_angle() else None

    def _reads_the_angle(self) -> bool:
        """Whether the law looks at the angle at all: a torque of time or of the rate does not."""
        looked = []

        def law(t, s):
            x = _Noted(looked, angle=s, position=s, rate=s, **dict(zip(self.names, self.values, strict=True)))
            return jnp.asarray(self.torque(t, x), jnp.float64)

        number = jax.ShapeDtypeStruct((), jnp.float64)
        try:
            jax.eval_shape(law, number, number)
        except Exception:  # a user's own function: what is wrong is said where the system is traced
            return True
        return bool(looked)

    def law(self, t, s, rate):
        known = dict(zip(self.names, self.values, strict=True))
        x = SimpleNamespace(angle=s[0], position=s[0], rate=rate[0], **known)
        torque = jnp.asarray(self.torque(t, x), jnp.float64).reshape(1)
        return torque if self.effort is None else jnp.clip(torque, -self.effort, self.effort)


class _Noted(SimpleNamespace):
    """What a motor's law is given, with a note where it asks for the angle (or the position)."""

    def __init__(self, looked: list[str], **values) -> None:
        super().__init__(_looked=looked, **values)

    def __getattribute__(self, name: str):
        if name in ("angle", "position"):
            super().__getattribute__("_looked").append(name)
        return super().__getattribute__(name)


class PointForce(ForceElement):
    """A force in space at a point of a body: `force(t, position, velocity)`, three numbers."""

    point: BodyPoint
    force: Callable = eqx.field(static=True)

    def measure(self, configuration, joints):
        return configuration.point(self.point)

    def law(self, t, s, rate):
        return jnp.asarray(self.force(t, s, rate), jnp.float64)


class ConstantForce(ForceElement):
    """A force in space that does not change, at a point of a body: U = -F . r."""

    point: BodyPoint
    force: Any

    dissipative: ClassVar[bool] = False
    sizes: ClassVar[int] = 3

    def measure(self, configuration, joints):
        return configuration.point(self.point)

    def potential(self, s):
        return -self.force @ s

    def invariants(self, configuration):
        return configuration.point(self.point)

    def terms(self, pi):
        return -self.force * pi


class Drag(ForceElement):
    """Aerodynamic drag at a point: -coefficient |u| u, u its velocity against the wind."""

    point: BodyPoint
    coefficient: Any
    wind: Any

    def measure(self, configuration, joints):
        return configuration.point(self.point)

    def law(self, t, s, rate):
        u = rate - self.wind
        squared = u @ u
        # |u| has no derivative at rest, |u| u has: it is zero there
        speed = jnp.where(squared > 0.0, jnp.sqrt(jnp.where(squared > 0.0, squared, 1.0)), 0.0)
        return -self.coefficient * speed * u


class Attraction(ForceElement):
    """Gravity between the centres of mass of two bodies: U = -G m_1 m_2 / distance."""

    first: BodyPoint
    second: BodyPoint
    strength: Any

    dissipative: ClassVar[bool] = False

    def _squared(self, configuration: Configuration):
        between = configuration.point(self.second) - configuration.point(self.first)
        return between @ between

    def measure(self, configuration, joints):
        return jnp.sqrt(self._squared(configuration))[None]

    def potential(self, s):
        return -self.strength / s[0]

    def invariants(self, configuration):
        return self._squared(configuration)[None]

    def terms(self, pi):
        return -self.strength / jnp.sqrt(pi)


class Bushing(ForceElement):
    """An elastic joint between two frames: -k_i s_i - d_i s_i' along the axes e_i of the first body.

    s is the shift, and for the turn the axis times the sine of the angle, sum_i e_i x f_i / 2.
    """

    joint: JointElement
    stiffness: Any
    damping: Any
    damped: bool = eqx.field(static=True)

    sizes: ClassVar[int] = 6

    @property
    def has_law(self) -> bool:
        return self.damped

    def measure(self, configuration, joints):
        relative: Relative = configuration.relative(self.joint)
        shift = [relative.shift(k) for k in range(3)]
        turns = [
            0.5 * (relative.cosine((k + 2) % 3, (k + 1) % 3) - relative.cosine((k + 1) % 3, (k + 2) % 3))
            for k in range(3)
        ]
        return jnp.stack(shift + turns)

    def potential(self, s):
        return 0.5 * jnp.sum(self.stiffness * s**2)

    def law(self, t, s, rate):
        return -self.damping * rate

    def invariants(self, configuration):
        return self.measure(configuration, ())

    def terms(self, pi):
        return 0.5 * self.stiffness * pi**2
