"""The derivatives of a step are steps again: what is solved is linear, and goes through the same passes.

A step of size h solves R(x; t, h, s, theta) = 0 and ends at S = (s, 0) + F(x; t, h, s, theta), where F holds increments
of the first parts of the state and new values of the others. With J = R_x, a dot for a tangent and a bar for an
adjoint,

    tangent     J xdot + R_t tdot + R_h hdot + R_s sdot + R_theta thetadot = 0
                Sdot = (sdot, 0) + F_x xdot + F_t tdot + F_h hdot + F_s sdot + F_theta thetadot

    adjoint     J^T w = F_x^T Sbar
                sbar = (Sbar, 0) + F_s^T Sbar - R_s^T w,    the same for t, h and theta, which are summed over the steps

Both are written by `jax.jvp` and `jax.vjp` of R and F at the solved (s, x), which are numbers that change from step to
step. In a run step k begins at t = t0 + a H and has the size h = c H, where H is the step size of the run and a and c
are numbers: of equal steps k and 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from ..contract import Phase, StepFunctions


@dataclass(frozen=True)
class Data:
    """What the derivative of a step reads besides what it carries, one after the other: the solved step, and what does
    not change in a run."""

    n_state: int
    size: int
    reads: tuple[int, ...]  # the unknowns that are there; on the others the derivative does not depend
    n_parameters: int
    directions: bool  # whether the tangents of theta, t0 and H follow

    @property
    def fixed(self) -> int:
        """Where that begins which does not change in a run."""
        return self.n_state + len(self.reads)

    @property
    def length(self) -> int:
        return self.fixed + (2 if self.directions else 1) * (self.n_parameters + 2)

    def parts(self, data) -> tuple:
        """s, x, and theta, t0, H together; with directions also the tangent of these three."""
        edges = np.cumsum([self.n_state, len(self.reads), self.n_parameters + 2])
        s, x, *fixed = jnp.split(data, edges if self.directions else edges[:2])
        if len(self.reads) < self.size:
            place = np.full(self.size, len(self.reads))
            place[list(self.reads)] = np.arange(len(self.reads))
            x = jnp.append(x, 0.0)[place]
        return s, x, *fixed


def repeated(functions: StepFunctions) -> tuple[StepFunctions, tuple[float, ...]]:
    """The step that a run repeats, and the parts of h that it takes: of a composition the one that all of its phases
    are, with their parts; where these differ, the composition as one step with the unknowns of all."""
    phases = functions.phases
    if len({phase.functions for phase in phases}) == 1:
        return phases[0].functions, tuple(phase.fraction for phase in phases)
    return _as_one(functions) if phases else functions, (1.0,)


@functools.lru_cache(maxsize=64)
def _as_one(functions: StepFunctions) -> StepFunctions:
    return replace(functions, phases=())


def all_unknowns(functions: StepFunctions) -> tuple[int, ...]:
    """The places of all unknowns."""
    return tuple(range(functions.size))


def recording(functions: StepFunctions, reads: tuple[int, ...]) -> StepFunctions:
    """The same step, whose state also holds what these of its unknowns were found to be."""
    n, whole, places = functions.n_state, len(reads) == functions.size, np.array(reads, dtype=np.int64)

    def shortened(function):
        return lambda *given: function(*given[:-2], given[-2][:n], given[-1])

    def finish(x, *rest):
        return jnp.concatenate([shortened(functions.finish)(x, *rest), x if whole else x[places]])

    misled, rescue = functions.misled, functions.rescue
    return StepFunctions(
        guess=shortened(functions.guess),
        residual=shortened(functions.residual),
        finish=finish,
        unknowns=functions.unknowns,
        equations=functions.equations,
        blocks=functions.blocks,
        n_state=n + len(reads),
        summed_blocks=functions.summed_blocks,
        n_parameters=functions.n_parameters,
        smooth=functions.smooth,
        exact=None if functions.exact is None else shortened(functions.exact),
        rescue=None if rescue is None else shortened(rescue),
        explicit=functions.explicit,
        misled=None if misled is None else lambda end, *rest: shortened(misled)(end[:n], *rest),
        continued=None if functions.continued is None else shortened(functions.continued),
    )


def tangent(functions: StepFunctions, reads: tuple[int, ...]) -> StepFunctions:
    """The tangent of a step. Its state is sdot, its unknown xdot; of the solved unknowns it is given these."""
    data = Data(functions.n_state, functions.size, reads, functions.n_parameters, directions=True)

    def moved(function, x_dot, t, h, s_dot, given):
        s, x, fixed, fixed_dot = data.parts(given)
        _, (t_dot, h_dot) = jax.jvp(functools.partial(_time_and_size, t, h, fixed), (fixed[-2:],), (fixed_dot[-2:],))
        arguments, tangents = (x, t, h, s, fixed[:-2]), (x_dot, t_dot, h_dot, s_dot, fixed_dot[:-2])
        return jax.jvp(function, arguments, tangents)[1]

    return _linear(
        functions,
        residual=functools.partial(moved, _residual_of(functions)),
        finish=functools.partial(moved, functions.finish),
        n_state=functions.n_state,
        summed_blocks=functions.summed_blocks,
        n_parameters=data.length,
        changing=data.fixed,
    )


def adjoint(functions: StepFunctions, reads: tuple[int, ...]) -> StepFunctions:
    """The adjoint of a step, taken backwards. Its state is sbar and the sums of thetabar, t0bar and Hbar; its unknown
    is w; of the solved unknowns it is given these."""
    data = Data(functions.n_state, functions.size, reads, functions.n_parameters, directions=False)
    summed, n, (by_unknowns, by_others) = functions.n_summed, functions.n_state, _pulled_back(functions)

    def equations(w, t, h, state, given):
        return by_unknowns(w, state[:n], t, h, *data.parts(given))[0]

    def finish(w, t, h, state, given):
        end_bar, sums = state[:n], state[n:]
        s_bar, fixed_bar = by_others(w, end_bar, t, h, *data.parts(given))
        return jnp.concatenate([s_bar.at[:summed].add(end_bar[:summed]), sums + fixed_bar])

    n_all = n + functions.n_parameters + 2
    return _linear(
        functions, residual=equations, finish=finish, n_state=n_all, summed_blocks=(), n_parameters=data.length,
        changing=data.fixed,
    )  # fmt: skip


@functools.lru_cache(maxsize=64)
def _pulled_back(functions: StepFunctions) -> tuple[Callable, Callable]:
    """R_x^T w - F_x^T Sbar, and F^T Sbar - R^T w by s and by theta, t0 and H, as functions of (w, Sbar, t, h, s, x,
    fixed). They are traced once, since several ask for them: what a derivative reads, and what is made of it."""
    residual = _residual_of(functions)

    def both(x, *rest):
        return residual(x, *rest), functions.finish(x, *rest)

    def by_unknowns(w, end_bar, t, h, s, x, fixed):
        _, pull = jax.vjp(lambda x: both(x, t, h, s, fixed[:-2]), x)
        return pull((w, -end_bar))

    def by_others(w, end_bar, t, h, s, x, fixed):
        def by_all(s, moved):
            now, size = _time_and_size(t, h, fixed, moved[-2:])
            return both(x, now, size, s, moved[:-2])

        _, pull = jax.vjp(by_all, s, fixed)
        return pull((-w, end_bar))

    size, n, fixed = functions.size, functions.n_state, functions.n_parameters + 2
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((size,), (n,), (), (), (n,), (size,), (fixed,))]
    return jaxpr_as_fun(jax.make_jaxpr(by_unknowns)(*shapes)), jaxpr_as_fun(jax.make_jaxpr(by_others)(*shapes))


def _residual_of(functions: StepFunctions):
    """The residual with its true derivatives."""
    return functions.residual if functions.exact is None else functions.exact


def _time_and_size(t, h, fixed, begin):
    """t and h of a step as functions of `begin` = (t0, H), with their derivatives: t = t0 + a H, h = c H. The numbers
    a and c are what they are at the (t0, H) of the run."""
    t0, whole = fixed[-2], fixed[-1]
    return t + (begin[0] - t0) + (t - t0) / whole * (begin[1] - whole), h + h / whole * (begin[1] - whole)


def _linear(functions: StepFunctions, **changed) -> StepFunctions:
    """A step whose equations are linear in its unknowns, which have the names and groups of those of `functions`."""
    return StepFunctions(
        guess=lambda t, h, state, given: jnp.zeros(functions.size),
        unknowns=functions.unknowns,
        equations=functions.equations,
        blocks=functions.blocks,
        linear=True,
        **changed,
    )


def paired(functions: StepFunctions, state, state_dot):
    """(s, sdot) as the state of the pair: what is advanced by increments comes first."""
    summed = functions.n_summed
    return jnp.concatenate([state[:summed], state_dot[:summed], state[summed:], state_dot[summed:]])


def parted(functions: StepFunctions, pair) -> tuple:
    """s and sdot of a pair, or of many along the last axis but one."""
    n, summed = functions.n_state, functions.n_summed
    a, b, c, d = jnp.split(pair, [summed, 2 * summed, summed + n], axis=-1)
    return jnp.concatenate([a, c], axis=-1), jnp.concatenate([b, d], axis=-1)


@functools.lru_cache(maxsize=32)
def with_tangent(functions: StepFunctions) -> StepFunctions:
    """The step of the pair (s, sdot): a step like any other, with derivatives of its own. Its parameters are those of
    the step, t0 and H, and the dots of all these; its unknowns x and xdot."""
    size, fixed, exact = functions.size, functions.n_parameters + 2, _residual_of(functions)

    def both(function, pair, t, h, state, given):
        """A function of a step, and how it moves with all on which it depends."""
        (s, s_dot), (x, x_dot) = parted(functions, state), (pair[:size], pair[size:])
        base, base_dot = given[:fixed], given[fixed:]
        _, (t_dot, h_dot) = jax.jvp(functools.partial(_time_and_size, t, h, base), (base[-2:],), (base_dot[-2:],))
        return jax.jvp(function, (x, t, h, s, base[:-2]), (x_dot, t_dot, h_dot, s_dot, base_dot[:-2]))

    def alone(function):
        return lambda *given: function(*given[:-2], parted(functions, given[-2])[0], given[-1][: fixed - 2])

    def residual(pair, *rest):
        return jnp.concatenate([alone(functions.residual)(pair[:size], *rest), both(exact, pair, *rest)[1]])

    misled = functions.misled
    return StepFunctions(
        guess=lambda *rest: jnp.concatenate([alone(functions.guess)(*rest), jnp.zeros(size)]),
        residual=residual,
        finish=lambda *given: paired(functions, *both(functions.finish, *given)),
        unknowns=(*functions.unknowns, *(f"tangent of {name}" for name in functions.unknowns)),
        equations=(*functions.equations, *(f"tangent of {name}" for name in functions.equations)),
        blocks=functions.blocks * 2,
        n_state=2 * functions.n_state,
        summed_blocks=functions.summed_blocks * 2,
        n_parameters=2 * fixed,
        phases=tuple(Phase(with_tangent(phase.functions), phase.fraction) for phase in functions.phases),
        smooth=functions.smooth,
        exact=None if functions.exact is None else lambda *given: jnp.concatenate(both(exact, *given)),
        explicit=functions.explicit,
        misled=None if misled is None else lambda end, *rest: alone(misled)(parted(functions, end)[0], *rest),
    )
