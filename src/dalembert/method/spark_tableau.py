"""The coefficients of a SPARK method, what they satisfy, and the ready-made families.

A tableau holds A (velocities), A^ (forces), A~ (reactions), the weights b, b^, b~, the nodes c and the rows omega that
weigh the constraints at the stages. Holonomic constraints are imposed at nodes of their own (`HolonomicPart`).
What a method may claim follows from what its coefficients satisfy:

    (6.2)  b^ = b,  b^_i a_ij + b_j a^_ji = b^_i b_j          a discrete Lagrange-d'Alembert principle holds
    (6.3)  c, A, A^, A~ invariant under i -> s + 1 - i        symmetric
    [omega A~; b~] nonsingular                                the reactions are determined

References: Jay, Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems (2009); Jay, Math. Comput. 75
(2006) 641-654; Jay, SIAM J. Numer. Anal. 45 (2007) 1814-1842.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

from ..arguments import shown
from ..errors import InputError
from .polynomials import interpolation
from .tableau import DIGITS, basis_integrals, exact_nodes, quadrature, runge_kutta_matrix, symplectic_partner

#: Conditions on coefficients hold if they are met to this.
CONDITION_TOLERANCE = 1e-12


class Coefficients:
    """An array of numbers that can be compared and hashed (methods are keys of caches)."""

    def __init__(self, values) -> None:
        self.array = np.array(values, dtype=np.float64)
        self.array.setflags(write=False)

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, Coefficients)
            and self.array.shape == other.array.shape
            and self.array.tobytes() == other.array.tobytes()
        )

    def __hash__(self) -> int:
        return hash(self.array.tobytes())

    def __repr__(self) -> str:
        return repr(self.array.tolist())


@dataclass(frozen=True)
class HolonomicPart:
    """Where and how holonomic constraints enter a SPARK method.

    g = 0 at the positions q0 + h sum_j Abar_ij V_j of the nodes i = 1..r (the last is the end of the step); the
    reaction at node j enters stage i with Atil_ij = bt_j (1 - Abar_ji / b_i), which keeps the pair variational.
    """

    nodes: Coefficients
    weights: Coefficients
    positions: Coefficients  # Abar, (r + 1, s)
    momenta: Coefficients  # Atil, (s, r + 1)


@dataclass(frozen=True)
class SparkTableau:
    """The coefficients of a SPARK method; checked when created.

    Args:
        A: velocities in the positions of the stages, (s, s).
        b: weights, (s,).
        c: nodes, (s,).
        A_hat: forces in the momenta of the stages; default: the symplectic partner of A.
        A_tilde: reactions in the momenta of the stages; default: A_hat.
        b_hat, b_tilde: weights of forces and reactions; default: b.
        omega: weights of the constraints at the stages, (s - 1, s), with k = 0 at the end of the step; or (s, s), then
            the end is left free. Default: b_j c_j^(i-1).
        holonomic: nodes of holonomic constraints; default: Lobatto nodes and the polynomial through the V_j.
        name: how the method calls itself.
    """

    A: Any
    b: Any
    c: Any
    A_hat: Any = None
    A_tilde: Any = None
    b_hat: Any = None
    b_tilde: Any = None
    omega: Any = None
    holonomic: Any = field(default=None, repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        def fill(key, value) -> np.ndarray:
            try:
                wrapped = value if isinstance(value, Coefficients) else Coefficients(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"{key} of a SPARK tableau must be an array of numbers, got {value!r}.") from error
            if not np.all(np.isfinite(wrapped.array)):
                raise InputError(f"{key} of a SPARK tableau must be finite, got {wrapped}.")
            object.__setattr__(self, key, wrapped)
            return wrapped.array

        b = fill("b", self.b)
        if b.ndim != 1 or len(b) == 0:
            raise InputError(f"b of a SPARK tableau must have shape (s,), got {b.shape}.")
        s = len(b)
        A, c = fill("A", self.A), fill("c", self.c)
        b_hat = fill("b_hat", b if self.b_hat is None else self.b_hat)
        fill("b_tilde", b_hat if self.b_tilde is None else self.b_tilde)
        expected = {"A": (s, s), "c": (s,), "b_hat": (s,), "b_tilde": (s,)}
        self._check_shapes(expected)
        if self.A_hat is None and np.any(b == 0):
            raise InputError("a SPARK tableau with a zero weight b_i has no symplectic partner; give A_hat.")
        A_hat = fill("A_hat", symplectic_partner(A, b, b_hat) if self.A_hat is None else self.A_hat)
        fill("A_tilde", A_hat if self.A_tilde is None else self.A_tilde)
        fill("omega", _default_omega(b, c) if self.omega is None else self.omega)
        omega: Any = self.omega
        rows = s if omega.array.shape[:1] == (s,) else s - 1
        self._check_shapes({"A_hat": (s, s), "A_tilde": (s, s), "omega": (rows, s)})
        if self.holonomic is None:
            distinct = np.all(b != 0) and len(set(c.tolist())) == s
            object.__setattr__(self, "holonomic", lobatto_nodes_part(b, c) if distinct else no_holonomic_part(s))
        elif not isinstance(self.holonomic, HolonomicPart):
            raise InputError(
                f"holonomic of a SPARK tableau must be a HolonomicPart or None, got {shown(self.holonomic)}."
            )
        self._check_solvable()

    def _check_shapes(self, expected: dict) -> None:
        for key, shape in expected.items():
            found = getattr(self, key).array.shape
            if found != shape:
                raise InputError(
                    f"{key} of a SPARK tableau with {shape[-1]} stages must have shape {shape}, got {found}."
                )

    def _check_solvable(self) -> None:
        omega, matrix = self.omega.array, self.A_tilde.array
        rows = [omega @ matrix] + ([self.b_tilde.array[None]] if self.ends_on_constraint else [])
        condition = np.linalg.cond(np.concatenate(rows))
        if not condition < 1e10:
            what = "[Omega A~; b~]" if self.ends_on_constraint else "Omega A~"
            raise InputError(
                f"the reactions of this SPARK tableau are not determined: {what} is singular (condition "
                f"{condition:.1e}). Lobatto IIIA is one such A~; use IIIB, IIIC, IIIC*, IIID or Gauss coefficients."
            )

    # -- what the coefficients satisfy ---------------------------------------------------------------------------

    @property
    def stages(self) -> int:
        return len(self.b.array)

    @property
    def ends_on_constraint(self) -> bool:
        """Whether k = 0 is imposed at the end of the step."""
        return self.omega.array.shape[0] == self.stages - 1

    @functools.cached_property
    def variational(self) -> bool:
        """(6.2): the method follows from a discrete Lagrange-d'Alembert principle."""
        b, b_hat, A, A_hat = (getattr(self, key).array for key in ("b", "b_hat", "A", "A_hat"))
        defect = b_hat[:, None] * A + b[None, :] * A_hat.T - b_hat[:, None] * b[None, :]
        return bool(np.allclose(b, b_hat, atol=CONDITION_TOLERANCE) and np.max(np.abs(defect)) < CONDITION_TOLERANCE)

    @functools.cached_property
    def symmetric(self) -> bool:
        """(6.3): invariant under reversal of the stages."""
        pairs = (("A", "b"), ("A_hat", "b_hat"), ("A_tilde", "b_tilde"))
        defects = [self.c.array[::-1] + self.c.array - 1]
        for matrix_key, weights_key in pairs:
            matrix, weights = getattr(self, matrix_key).array, getattr(self, weights_key).array
            defects += [matrix[::-1, ::-1] + matrix - weights[None, :], weights[::-1] - weights]
        return max(float(np.max(np.abs(d))) for d in defects) < CONDITION_TOLERANCE and self.ends_on_constraint

    @functools.cached_property
    def consistent_multipliers(self) -> bool:
        """Whether the multipliers of holonomic constraints are those of the motion to first order: at every node of g
        forces and reactions act on the position as on the motion, sum_jk Abar_ij a^_jk = sum_jk Abar_ij Atil_jk =
        ct_i^2 / 2, and distinct nodes c allow to interpolate between the stages."""
        part, c = self.holonomic, self.c.array
        if not len(part.nodes.array) or len(set(c.tolist())) < len(c):
            return False
        twice = [part.positions.array @ np.sum(x.array, axis=1) for x in (self.A_hat, part.momenta)]
        return all(np.max(np.abs(x - part.nodes.array**2 / 2)) < CONDITION_TOLERANCE for x in twice)

    @functools.cached_property
    def to_holonomic_nodes(self) -> np.ndarray:
        """The Lagrange basis of the nodes c at the nodes of g, (r + 1, s)."""
        return interpolation(self.c.array, self.holonomic.nodes.array)

    def reversed(self) -> SparkTableau:
        """The tableau of the adjoint method: a*_ij = b_{s+1-j} - a_{s+1-i, s+1-j}, c*_i = 1 - c_{s+1-i}."""

        def mirrored(matrix, weights):
            return weights.array[::-1][None, :] - matrix.array[::-1, ::-1]

        part = self.holonomic
        nodes, weights = 1 - part.nodes.array[::-1], part.weights.array[::-1]
        positions = self.b.array[::-1][None, :] - part.positions.array[::-1, ::-1]
        return SparkTableau(
            A=mirrored(self.A, self.b),
            b=self.b.array[::-1],
            c=1 - self.c.array[::-1],
            A_hat=mirrored(self.A_hat, self.b_hat),
            A_tilde=mirrored(self.A_tilde, self.b_tilde),
            b_hat=self.b_hat.array[::-1],
            b_tilde=self.b_tilde.array[::-1],
            omega=self.omega.array[:, ::-1],
            holonomic=_holonomic_part(nodes, weights, positions, self.b.array[::-1]) if len(nodes) else part,
            name=f"Adjoint({self.name})" if self.name else "",
        )

    @functools.cached_property
    def order(self) -> int:
        """min over the three matrices of (p, eta + zeta + 1, 2 eta + 2), where B(p), C(eta), D(zeta) are the
        simplifying assumptions they satisfy; with k at the stages alone, that of Gauss methods for index 2."""
        c = self.c.array
        pairs = (("A", "b"), ("A_hat", "b_hat"), ("A_tilde", "b_tilde"))
        order = min(_order(getattr(self, m).array, getattr(self, w).array, c) for m, w in pairs)
        if self.ends_on_constraint:
            return order
        return min(order, self.stages + self.stages % 2)

    @property
    def unequal_order(self) -> int:
        """With steps of different sizes. Where k holds at the stages alone its error at the end is carried on with the
        factor R(infinity) = (-1)^s: for odd s two errors of order s cancel, if the steps are equal."""
        return self.order if self.ends_on_constraint else min(self.order, self.stages)


def _default_omega(b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.array([b * c**i for i in range(len(b) - 1)]).reshape(len(b) - 1, len(b))


def _order(A: np.ndarray, b: np.ndarray, c: np.ndarray) -> int:
    s = len(b)

    def count(holds, most: int) -> int:
        found = 0
        while found < most and holds(found + 1):
            found += 1
        return found

    quadrature_order = count(lambda k: abs(b @ c ** (k - 1) - 1 / k) < CONDITION_TOLERANCE, 2 * s)
    eta = count(lambda k: np.max(np.abs(A @ c ** (k - 1) - c**k / k)) < CONDITION_TOLERANCE, s)
    zeta = count(lambda k: np.max(np.abs((b * c ** (k - 1)) @ A - b * (1 - c**k) / k)) < CONDITION_TOLERANCE, s)
    return min(quadrature_order, eta + zeta + 1, 2 * eta + 2)


def no_holonomic_part(stages: int) -> HolonomicPart:
    """No nodes: the method cannot treat holonomic constraints."""
    return HolonomicPart(*map(Coefficients, (np.zeros(0), np.zeros(0), np.zeros((0, stages)), np.zeros((stages, 0)))))


def lobatto_nodes_part(b: np.ndarray, c: np.ndarray) -> HolonomicPart:
    """Holonomic constraints at the s + 1 Lobatto nodes of the polynomial whose derivative passes through the V_j."""
    lobatto = quadrature("lobatto", len(c) + 1)
    with mpmath.workdps(DIGITS):
        positions = basis_integrals(tuple(mpmath.mpf(float(x)) for x in c), exact_nodes("lobatto", len(c) + 1))
    return _holonomic_part(lobatto.nodes, lobatto.weights, positions, b)


def _holonomic_part(nodes, weights, positions, b) -> HolonomicPart:
    momenta = symplectic_partner(positions, b, weights)
    return HolonomicPart(*map(Coefficients, (nodes, weights, positions, momenta)))


# -- families --------------------------------------------------------------------------------------------------


def gauss_tableau(s: int, standard: bool = False) -> SparkTableau:
    """Gauss coefficients for all three parts, order 2s; `standard` imposes k = 0 at the stages and not at the end."""
    gauss, lobatto = quadrature("gauss", s), quadrature("lobatto", s + 1)
    A = runge_kutta_matrix("gauss", s)
    positions = basis_integrals(exact_nodes("gauss", s), exact_nodes("lobatto", s + 1))
    return SparkTableau(
        A=A,
        b=gauss.weights,
        c=gauss.nodes,
        A_hat=A,
        omega=np.eye(s) if standard else None,
        holonomic=_holonomic_part(lobatto.nodes, lobatto.weights, positions, gauss.weights),
        name=f"{'standard_gauss' if standard else 'gauss_spark'}({s})",
    )


def lobatto_tableau(s: int, families: str) -> SparkTableau:
    """Lobatto coefficients: one letter for all, two for (A, A^ = A~), three for (A, A^, A~); "*" belongs to the C
    before it. Order 2s - 2. Holonomic constraints are imposed with the IIIA-IIIB pair, whatever the others use."""
    letters = families.replace("C*", "c") if isinstance(families, str) else ""
    if not letters or any(letter not in "ABCcD" for letter in letters) or len(letters) > 3:
        raise InputError(
            f'expected one to three of the Lobatto families A, B, C, C*, D, such as "AB" or "ABD", got {families!r}.'
        )
    chosen = ["C*" if letter == "c" else letter for letter in letters]
    first, second, third = (chosen + [chosen[-1]] * 2)[:3]
    rule = quadrature("lobatto", s)
    return SparkTableau(
        A=runge_kutta_matrix(first, s),
        b=rule.weights,
        c=rule.nodes,
        A_hat=runge_kutta_matrix(second, s),
        A_tilde=runge_kutta_matrix(third, s),
        holonomic=_holonomic_part(rule.nodes, rule.weights, runge_kutta_matrix("A", s), rule.weights),
        name=f'lobatto_spark({s}, "{families}")',
    )


def euler_tableau(kind: str) -> SparkTableau:
    """The symplectic Euler methods: "I" with forces and reactions at the start, "II" at the end of the step."""
    if not isinstance(kind, str) or kind not in ("I", "II"):
        raise InputError(f'expected euler_spark("I") or euler_spark("II"), got {kind!r}.')
    at_end = float(kind == "II")
    return SparkTableau(
        A=[[at_end]],
        b=[1.0],
        c=[at_end],
        A_hat=[[1.0 - at_end]],
        name=f'euler_spark("{kind}")',
    )
