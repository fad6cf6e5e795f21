"""A step of event capturing with one bounce, as one set of equations: what the loop of events does in many calls.

All contacts are open, and contact i, the first to close if all went on as they do now, closes after the time tau. With
Phi the Runge-Kutta step and w the width of the interval of the event::

    g_i(Phi_tau(y0)) = 0,                      y_B = Phi_{tau - w/2}(y0)
    U = U- + w U' + W P,                       0 <= U_N + rho U_N-  _|_  P_N >= 0,  |P_T| <= mu P_N       at y_B
    y_C = y_B + w y' + changes by P,           g_i(q_C) >= 0
    y1 = Phi_{h - tau - w/2}(y_C)

Constraints of the system hold in all of this: P acts through the motions that they allow, and y1 is moved onto them as
after every step. There is one contact, so that Coulomb's law is solved by cases: it sticks, or slides one way. Where
anything else happens (`unusual`), the step is not taken: another contact touches, the contact comes to rest, bounces
accumulate, or an event lies before or behind.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..formulation import Mechanics, contact_friction
from .event_equations import free_modes, motion_equations, no_motion, parts_of
from .event_mode import Sizes, SmoothMode, larger
from .runge_kutta import RungeKutta

#: Contacts are taken for touching (or resting), relative to positions (or velocities), up to this.
TOUCHING = 1e-10


class Extent(NamedTuple):
    """The largest position and relative velocity up to now, and the largest speed of an impact of each contact."""

    far: Any
    fast: Any
    impacts: Any


class Bounce(NamedTuple):
    """What happened: the time, the contact as a vector of zeros and a one, velocities and impulse of all contacts."""

    time: Any
    chosen: Any
    before: Any
    after: Any
    impulse: Any


class BounceEnd(NamedTuple):
    """What a step with a bounce gives."""

    y: Any
    lam: Any  # the multipliers at the beginning
    psi: Any
    bounce: Bounce
    extent: Extent
    unusual: Any


class OneBounce:
    """The equations of such a step."""

    def __init__(self, tableau: RungeKutta, sizes: Sizes) -> None:
        none = np.zeros(sizes.contacts, bool)
        self.search = SmoothMode(tableau, sizes, none, none, watched=False, projected=False)
        self.before = SmoothMode(tableau, sizes, none, none, projected=False)
        self.after = SmoothMode(tableau, sizes, none, none)
        self.sizes, (n, m, k, contacts, d) = sizes, sizes
        self._first = 2 * n + m + k  # equations of motion before those of the contacts
        self.groups = {"time": 1}
        for name, mode in (("search", self.search), ("before", self.before), ("after", self.after)):
            self.groups |= {f"{name} {group}": length for group, length in mode.groups.items()}
        self.groups |= {f"response {way}": self._first + contacts * d for way in range(d)}
        self.groups["lift"] = 1

    def _unpacked(self, x) -> tuple:
        """theta = tau / h; the unknowns of the three steps; responses to a unit impulse of the contact; the lift."""
        lengths = [1, *(sum(mode.groups.values()) for mode in (self.search, self.before, self.after))]
        lengths += [length for name, length in self.groups.items() if name.startswith("response")]
        theta, *pieces = (x[a:b] for a, b in itertools.pairwise([*np.cumsum([0, *lengths]).tolist(), len(x)]))
        return theta[0], *pieces[:3], pieces[3:-1], pieces[-1][0]

    def _chosen(self, m: Mechanics, t, h, y):
        """The contact that closes first if velocities stay as they are, and after which part of the step."""
        q, v, _ = parts_of(m, t, y)
        gap, speed = m.contact.gap(t, q), m.contact.velocity(t, q, v)[:, 0]
        closing = (speed < 0) & (gap > 0)
        theta = jnp.where(closing, gap / jnp.where(closing, -speed * h, 1.0), 2.0)
        first = jnp.min(theta)
        chosen, earlier = [], jnp.array(False)
        for k in range(self.sizes.contacts):
            chosen.append((theta[k] == first) & ~earlier)
            earlier = earlier | chosen[-1]
        return jnp.where(jnp.stack(chosen), 1.0, 0.0), jnp.minimum(first, 1.0)

    def guess(self, m: Mechanics, t, h, y):
        """The time as if velocities stayed as they are, and no motion."""
        return jnp.zeros(sum(self.groups.values())).at[0].set(self._chosen(m, t, h, y)[1])

    def residual(self, x, m: Mechanics, t, h, y, width):
        """The system at the head of this file."""
        chosen, _ = self._chosen(m, t, h, y)
        theta, search, before, after, responses, _ = self._unpacked(x)
        none, tau = jnp.zeros(self.sizes.contacts), theta * h
        there = self.search.end(search, m, t, tau, y)
        gap = chosen @ m.contact.gap(t + tau, parts_of(m, t + tau, there)[0])
        equations = [gap[None], self.search.residual(search, m, t, tau, y, none)["motion"]]
        equations.append(self.before.residual(before, m, t, tau - width / 2, y, none)["motion"])
        hit = self._hit(x, m, t, h, y, width)
        equations += self.after.residual(after, m, hit.t, h - tau - width / 2, hit.y, none).values()
        equations += self._unit_impulses(m, responses, hit, chosen)
        gaps = [chosen @ m.contact.gap(hit.t, q) for q in (hit.y[: self.sizes.n], hit.unlifted)]
        equations.append((gaps[0] - jnp.maximum(gaps[1], 0.0))[None])
        return jnp.concatenate(equations)

    def _unit_impulses(self, m: Mechanics, responses, hit: _Hit, chosen) -> list:
        """A x = e: motion by a unit force of the chosen contact, for each of its directions."""
        t, q, v, p = hit.begin
        zero, unravel = ravel_pytree(no_motion(m, t, q, v))
        modes = free_modes(self.sizes.contacts)

        def equations(x):
            return motion_equations(m, unravel(x), t, q, v, p, modes)

        free, found, contacts = equations(zero), [], self.sizes.contacts
        for k, response in enumerate(responses):
            place = self._first + k * contacts
            unit = jnp.zeros(len(zero)).at[place : place + contacts].set(chosen)
            found.append(equations(response) - free - unit)
        return found

    def _hit(self, x, m: Mechanics, t, h, y, width) -> _Hit:
        """Moreau's step over the interval of the event, with one contact closed."""
        chosen, _ = self._chosen(m, t, h, y)
        theta, _, before, _, responses, lift = self._unpacked(x)
        tau, n, (_, _, _, contacts, d) = theta * h, self.sizes.n, self.sizes
        begin = t + tau - width / 2
        end = self.before.end(before, m, t, tau - width / 2, y)
        q, v, p = parts_of(m, begin, end)
        free = self.before.motion_at_the_end(before)
        rates = jax.jvp(m.contact.velocity, (begin, q, v), (jnp.ones_like(t), v, free.v_rate))
        directions = jnp.einsum("c,cdn->dn", chosen, m.contact.directions(begin, q))
        speed, rate = (chosen @ part for part in rates)  # of the contact, (d,)
        by_v = jnp.stack([response[:n] for response in responses])
        by_second = by_v if not m.system.gives_velocity else jnp.stack([r[n : 2 * n] for r in responses])
        delassus = directions @ by_v.T
        without = speed + width * rate
        restitution, friction = (chosen @ part for part in (
            m.contact.restitution(contacts), contact_friction(m, begin, q)))  # fmt: skip
        wanted = without + restitution * jnp.minimum(speed[0], 0.0) * jnp.eye(d)[0]
        impulse, sound = impulse_of_one(delassus, wanted, friction)
        change = width * free.v_rate + impulse @ by_v
        unlifted = q + width * (v + change / 2)
        second = end[n:] + width * (free.p_rate if m.system.gives_velocity else free.v_rate) + impulse @ by_second
        return _Hit(
            begin + width, jnp.concatenate([unlifted + lift * by_v[0], second]), unlifted, (begin, q, v, p), rates[0],
            rates[1], speed, without + delassus @ impulse, impulse, sound,
        )  # fmt: skip

    def finish(self, x, m: Mechanics, t, h, y, width, extent: Extent) -> BounceEnd:
        """The end of the step, and whether something else happens in it."""
        chosen, _ = self._chosen(m, t, h, y)
        theta, _, before, after, _, _ = self._unpacked(x)
        tau, none = theta * h, jnp.zeros(self.sizes.contacts)
        rest = h - tau - width / 2
        hit = self._hit(x, m, t, h, y, width)
        first = self.before.finish(before, m, t, tau - width / 2, y)
        last = self.after.finish(after, m, hit.t, rest, hit.y)
        n = self.sizes.n
        far, fast = extent.far, extent.fast
        for inside, q in ((first.inside, first.y[:n]), (last.inside, last.y[:n])):
            far, fast = larger(inside, h, q, far, fast)
        gap, approach = first.inside.gap[-1], jnp.maximum(-hit.velocities[:, 0], 0.0)
        impacts = jnp.maximum(extent.impacts, chosen * jnp.abs(hit.velocities[:, 0]))
        push = jnp.maximum(-hit.rates[:, 0], 0.0)
        unusual = jnp.stack([
            (theta * h <= width) | (rest <= width),
            self.before.happens(first.inside, tau - width / 2, far, fast, none),
            self.after.happens(last.inside, rest, far, fast, none),
            jnp.any((chosen == 0.0) & (gap <= TOUCHING * far + width * approach)),
            chosen @ (hit.velocities[:, 0] ** 2 - 2 * push * impacts * width) <= 0.0,
            (hit.before[0] >= 0.0) | (hit.after[0] <= TOUCHING * fast),
            ~hit.sound,
        ])  # fmt: skip
        bounce = Bounce(t + tau, chosen, hit.before, hit.after, hit.impulse)
        return BounceEnd(last.y, first.lam, first.psi, bounce, Extent(far, fast, impacts), jnp.any(unusual))


class _Hit(NamedTuple):
    """Moreau's step: the time after it, y, q before it was lifted out of a penetration, where it began, velocities and
    rates of all contacts there; velocities before and after and impulse of the one that hits, and whether its laws are
    fulfilled."""

    t: Any
    y: Any
    unlifted: Any
    begin: tuple
    velocities: Any
    rates: Any
    before: Any
    after: Any
    impulse: Any
    sound: Any


def impulse_of_one(delassus, wanted, friction):
    """The impulse P of one contact in the plane, U = wanted + W P, and whether it fulfils its laws: it is that at which
    the contact sticks, if friction holds it, else that of sliding against it."""
    if len(wanted) == 1:
        return -wanted / delassus[0], wanted[0] < 0.0
    w, coupled, across = delassus[0, 0], delassus[0, 1], delassus[1, 1]
    determinant = w * across - coupled * delassus[1, 0]
    stick = jnp.stack([coupled * wanted[1] - across * wanted[0], delassus[1, 0] * wanted[0] - w * wanted[1]])
    stick = stick / determinant
    held = jnp.abs(stick[1]) <= friction * stick[0]
    way = jnp.where(stick[1] > 0, -1.0, 1.0)  # of U_T, against which friction works
    normal = -wanted[0] / (w - way * friction * coupled)
    slide = jnp.stack([normal, -way * friction * normal])
    impulse = jnp.where(held, stick, slide)
    ahead = way * (wanted[1] + delassus[1] @ impulse) >= 0.0
    single = w > friction * jnp.abs(coupled)  # else there may be other solutions
    return impulse, (impulse[0] > 0.0) & single & (held | ahead)
