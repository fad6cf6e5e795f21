"""Is the model well formed? Shapes, regularity of the Lagrangian, rank of the constraints; every finding by name."""

from __future__ import annotations

import contextlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.sparse as sparse
from jax.core import Tracer
from jax.extend.core import jaxpr_as_fun

from ..engine import DIFFERENTIATED, Function, Unkeyed, operations_of, row_lengths, solve_linear
from ..errors import DalembertError, ModelError, RedundantConstraints
from ..formulation import mechanics_of
from ..problem import (
    AbstractSystem,
    DifferentialAlgebraicInequality,
    HamiltonianSystem,
    OverdeterminedDAE,
    System,
    check_contact_data,
    in_words,
)
from .scales import constraints_at, row_names
from .shared_equations import Family, equation, flat_parameters, for_family, parameter_places
from .step import Layout

#: A singular value below this, relative to the largest, counts as zero.
RANK_TOLERANCE = 1e-10
#: What JAX raises where Python or numpy needs a number and there is none while tracing.
UNKNOWN_NUMBER = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
#: Above this many rows the rank is judged from the sparse Gram matrix instead of a dense decomposition.
DENSE_ROWS = 400
#: Dependent rows that a message describes one by one.
MOST_FINDINGS = 3
#: A row of the mass matrix that changes by this part of itself where everything changes by the second is roundoff.
NOISE, SHAKEN = 1e-3, 1e-9
#: The square root of the largest entry of a row is divided by so many times.
BALANCINGS = 5
#: With more constraints their independence is first looked for by solving with their Gram matrix, which is sparse.
PROBED_ROWS = 30


def layout_of(system: AbstractSystem, n: int) -> Layout:
    """Dimensions of the problem, found by tracing; raises `ModelError` where a function returns the wrong shape."""
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(system))
    layout = _layout(system, n) if traced else _family_layout(Family(system), n, Unkeyed(system))
    if layout.contacts:
        check_contact_data(system, layout.contacts)  # numbers, not shapes: they differ within a family
        friction = system.friction
        if not system.provides("tangent") and not isinstance(friction, Tracer) and np.any(np.asarray(friction) > 0):
            raise ModelError(
                f"{type(system).__name__} has friction but no tangent(t, q): give the friction directions as rows, an "
                f"array of shape ({layout.contacts}, {n}) in the plane or ({layout.contacts}, 2, {n}) in space."
            )
    return layout


@for_family()
def _family_layout(family: Family, n: int, system: Unkeyed) -> Layout:
    """Traced as the steps will be, with the parameters as arguments; what only works with their numbers is refused."""
    found = []
    parameters = jax.ShapeDtypeStruct((family.size,), jnp.float64)
    try:
        jax.eval_shape(lambda x: found.append(_layout(family.at(x), n)), parameters)
    except ModelError as error:
        if isinstance(error.__cause__, UNKNOWN_NUMBER):
            _layout(system.value, n)  # which fails too where t, q or v are used so
            raise _parameter_as_number(system.value, error) from error.__cause__
        raise
    return found[0]


def _parameter_as_number(system: AbstractSystem, error: ModelError) -> ModelError:
    """A function decides by the number of a parameter, which stands for any number in the equations."""
    where = str(error).partition(" failed when traced")[0]
    names = list(parameter_places(system))
    some = ", ".join(names[:MOST_FINDINGS]) + (", ..." if len(names) > MOST_FINDINGS else "")
    assert isinstance(error.__cause__, Exception)
    return ModelError(
        f"{where} needs the number in a parameter ({some}) while its equations are traced: {_reason(error.__cause__)}. "
        "Fields of floats may take any value in the same equations: declare the field as int, bool or str and give it "
        "such a value (structure), or use jax.numpy and choose with jnp.where."
    )


def _layout(system: AbstractSystem, n: int) -> Layout:
    name = type(system).__name__
    t, q = jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct((n,), jnp.float64)
    if isinstance(system, OverdeterminedDAE):
        return _overdetermined_layout(system, n)
    if isinstance(system, HamiltonianSystem):
        _expect(f"{name}.hamiltonian(t, q, p)", _shape(system.hamiltonian, t, q, q, name=name), (), n)
        _shape(mechanics_of(system).gradients, t, q, q, name=name, label="hamiltonian")
    else:
        assert isinstance(system, System)
        _expect(f"{name}.lagrangian(t, q, v)", _shape(system.lagrangian, t, q, q, name=name), (), n)
        _shape(mechanics_of(system).gradients, t, q, q, name=name, label="lagrangian")
    if system.provides("force"):
        _expect(f"{name}.force(t, q, v)", _shape(system.force, t, q, q, name=name), (n,), n)
    m = k = 0
    if system.provides("holonomic"):
        m = _rows(f"{name}.holonomic(t, q)", _shape(system.holonomic, t, q, name=name))
    if system.provides("nonholonomic"):
        k = _rows(f"{name}.nonholonomic(t, q, v)", _shape(system.nonholonomic, t, q, q, name=name))
    if system.provides("reaction"):
        if not (m or k):
            raise ModelError(f"{name} defines a reaction but no constraint; a force without multipliers is a `force`.")
        psi = jax.ShapeDtypeStruct((k or m,), jnp.float64)
        _expect(f"{name}.reaction(t, q, v, psi)", _shape(system.reaction, t, q, q, psi, name=name), (n,), n)
    if system.provides("invariants"):
        found = _shape(system.invariants, t, q, q, name=name)
        if not isinstance(found, dict):
            raise ModelError(f"{name}.invariants(t, q, p) must return a dict of named values, got {_kind(found)}.")
    contacts, directions = _contacts(system, n, t, q)
    return Layout(n, m, k, contacts, directions)


def _contacts(system: AbstractSystem, n: int, t, q) -> tuple[int, int]:
    """The number of contacts and of the directions of an impulse."""
    name = type(system).__name__
    if not system.provides("gap"):
        if system.provides("tangent"):
            raise ModelError(f"{name} defines tangent(t, q) but no gap(t, q); friction needs a contact.")
        return 0, 1
    contacts = _rows(f"{name}.gap(t, q)", _shape(system.gap, t, q, name=name))
    if not system.provides("tangent"):
        return contacts, 1
    found = _shape(system.tangent, t, q, name=name)
    if not hasattr(found, "shape") or found.shape not in ((contacts, n), (contacts, 1, n), (contacts, 2, n)):
        raise ModelError(
            f"{name}.tangent(t, q) must return an array of shape ({contacts}, {n}) in the plane or "
            f"({contacts}, 2, {n}) in space, got {_kind(found)}."
        )
    return contacts, 2 if len(found.shape) == 2 else 1 + found.shape[1]


def _overdetermined_layout(system: OverdeterminedDAE, n: int) -> Layout:
    name, y = type(system).__name__, jax.ShapeDtypeStruct((n,), jnp.float64)
    for part in ("velocity", "force"):
        _expect(f"{name}.{part}(y, z)", _shape(getattr(system, part), y, y, name=name), (n,), n)
    if system.provides("constraint") != system.provides("reaction"):
        raise ModelError(f"{name} must define both constraint(y) and reaction(y, z, psi), or neither of them.")
    if not system.provides("constraint"):
        return Layout(n, 0, 0)
    m = _rows(f"{name}.constraint(y)", _shape(system.constraint, y, name=name))
    psi = jax.ShapeDtypeStruct((m,), jnp.float64)
    _expect(f"{name}.reaction(y, z, psi)", _shape(system.reaction, y, y, psi, name=name), (n,), n)
    if isinstance(system, DifferentialAlgebraicInequality):
        return Layout(n, 0, 0, contacts=m)
    return Layout(n, m, 0)


def _shape(function, *arguments, name: str, label: str | None = None):
    """What a function returns, as shapes. With a `label` it is the derivative of the function of that name, whose
    indices were checked when that was traced itself."""
    checked = _indices_checked() if label is None else contextlib.nullcontext()
    label = label or getattr(function, "__name__", "function")
    try:
        with checked:
            traced, arrays, others = eqx.filter_make_jaxpr(lambda *a: function(*a))(*arguments)
    except DalembertError:
        raise
    except Exception as error:  # whatever the user's function raises becomes one readable sentence
        sizes = ", ".join(str(a.shape) for a in arguments[1:])
        raise ModelError(
            f"{name}.{label} failed when traced with coordinates of shape {sizes}: "
            f"{_reason(error)}. Use jax.numpy inside it, and check that q0 has the right length."
        ) from error
    if any(operation not in DIFFERENTIATED for operation in operations_of(traced.jaxpr)):  # whether it can shows here
        try:
            jax.eval_shape(jax.jacfwd(jaxpr_as_fun(traced), argnums=tuple(range(len(arguments)))), *arguments)
        except Exception as error:
            raise ModelError(
                f"{name}.{label} cannot be differentiated, as the equations of a step need it: {_reason(error)}. "
                "Write it with jax.numpy, or give that function a derivative with jax.custom_jvp (and a callback a "
                "vmap_method)."
            ) from error
    return eqx.combine(arrays, others)


def _reason(error: Exception) -> str:
    """What was raised, in one line."""
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no message"
    return f"{type(error).__name__}: {reason.removesuffix(' (normalize_indices=True)')}"  # JAX's own affair


@contextlib.contextmanager
def _indices_checked():
    """JAX reads q[7] of three coordinates as q[2]; here it is an error."""
    before = jax.config.jax_check_static_indices  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_check_static_indices", True)
    try:
        yield
    finally:
        jax.config.update("jax_check_static_indices", before)


def _kind(found) -> str:
    """What a function returned, in words."""
    if isinstance(found, int | float | complex):
        return f"the plain number {found!r}"
    return f"shape {found.shape}" if hasattr(found, "shape") else type(found).__name__


def _expect(label: str, found, shape: tuple, n: int) -> None:
    if not hasattr(found, "shape") or found.shape != shape:
        kind = "a scalar" if shape == () else f"an array of shape {shape}"
        raise ModelError(f"{label} must return {kind} for q of shape ({n},), got {_kind(found)}.")
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise ModelError(f"{label} must return floats, got {found.dtype}.")


def _rows(label: str, found) -> int:
    if not hasattr(found, "shape") or len(found.shape) > 1:
        raise ModelError(f"{label} must return a scalar or an array of shape (m,), got {_kind(found)}.")
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise ModelError(f"{label} must return floats, got {found.dtype}.")
    return int(np.prod(found.shape, dtype=int))


def check_regular(system: AbstractSystem, t, q, v, p) -> None:
    """Refuse a Lagrangian whose mass matrix L_vv (or a Hamiltonian whose H_pp) is singular at the start."""
    is_hamiltonian = isinstance(system, HamiltonianSystem)
    matrix, shaken = _mass_matrices(system, *((p, t, q, v) if is_hamiltonian else (v, t, q, p)))
    what = "H_pp of the Hamiltonian" if is_hamiltonian else "the mass matrix L_vv"
    name = type(system).__name__
    if not np.all(np.isfinite(matrix.data)):
        raise ModelError(
            f"{name}: {what} is not finite at the start (t={float(t):g}); check q0, v0 and the parameters."
        )
    sizes = _largest_in_rows(matrix)
    empty = np.flatnonzero(
        (sizes == 0) | (_largest_in_rows(sparse.csr_matrix(matrix - shaken)) > NOISE * sizes)
    ).tolist()
    if matrix.nnz == 0 or empty:
        coordinates = ", ".join(f"q[{k}]" for k in (empty or range(len(q))))
        raise ModelError(
            f"{name} is not regular: {what} is singular; no inertia for {coordinates}. "
            "Give the coordinate a mass, or remove it."
        )
    probe, (matrix, units) = np.random.default_rng(0).standard_normal(len(q)), _in_own_units(matrix)
    answer = solve_linear(matrix, matrix @ probe)
    if not np.all(np.isfinite(answer)) or np.max(np.abs(answer - probe)) > 1e-3:
        if len(q) <= DENSE_ROWS:
            null = np.linalg.svd(matrix.toarray())[2][-1]
            hint = "; its null direction is " + _combination(null * units, "q")
        else:
            hint = ""
        raise ModelError(f"{name} is not regular: {what} is singular{hint}. Give every direction an inertia.")


def _mass_matrices(system: AbstractSystem, x, *rest) -> list[sparse.csr_matrix]:
    """The derivatives of the Legendre transformation by x, and where everything that it depends on differs a little."""
    name = "legendre by p" if isinstance(system, HamiltonianSystem) else "legendre by v"
    random, found = np.random.default_rng(0), []
    for part in (0.0, SHAKEN):
        numbers = [np.asarray(a, dtype=np.float64) for a in (x, *rest, flat_parameters(system))]
        numbers = [a * (1 + part * random.uniform(-1, 1, a.shape)) for a in numbers]
        found.append(equation(system, name, parameters=numbers[-1])(*numbers[:-1])[1])
    return found


def _largest_in_rows(matrix: sparse.csr_matrix) -> np.ndarray:
    """max_j |M_ij| for every row i; from the entries, since for a small matrix scipy's way takes a hundred times as
    long."""
    largest = np.zeros(matrix.get_shape()[0])
    np.maximum.at(largest, _row_of_entries(matrix), np.abs(matrix.data))
    return largest


def _row_of_entries(matrix: sparse.csr_matrix) -> np.ndarray:
    return np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))


def _in_own_units(matrix: sparse.csr_matrix) -> tuple[sparse.csr_matrix, np.ndarray]:
    """D M D with the largest entry of every row about one, and the diagonal of D: so it is the same for a mechanism in
    metres and in nanometres, whose masses and moments of inertia differ by the square of a length."""
    units, scaled = np.ones(matrix.get_shape()[0]), matrix.copy()
    rows, columns = _row_of_entries(matrix), matrix.indices
    for _ in range(BALANCINGS):
        units = units / np.sqrt(_largest_in_rows(scaled))
        scaled.data = units[rows] * matrix.data * units[columns]
    return scaled, units


def constraint_jacobian(system: AbstractSystem, t, q) -> tuple[np.ndarray, sparse.csr_matrix]:
    """g and g_q at one point."""
    found = constraints_at(system, t, q)
    return found.value, found.gradients


def independent_rows(
    system: AbstractSystem, t, q, redundant: str, tolerance: float = RANK_TOLERANCE
) -> tuple[int, ...] | None:
    """None if all holonomic constraints are independent; else an independent subset ("allow") or a refusal."""
    if not system.provides("holonomic"):
        return None
    value, jacobian = constraint_jacobian(system, t, q)
    m, n = (int(size) for size in jacobian.shape)  # pyright: ignore[reportGeneralTypeIssues]
    name = type(system).__name__
    if not (np.all(np.isfinite(value)) and np.all(np.isfinite(jacobian.data))):
        raise ModelError(
            f"{name}.holonomic or its derivative is not finite at the start (t={float(t):g}); "
            "check q0 and the parameters."
        )
    lengths = row_lengths(jacobian)
    if m > PROBED_ROWS:
        scaled = sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ jacobian
        probe = np.random.default_rng(0).standard_normal(m)
        gram = sparse.csc_matrix(scaled @ scaled.T)
        answer = solve_linear(gram, gram @ probe)
        if np.all(np.isfinite(answer)) and np.max(np.abs(answer - probe)) < 1e-3:
            return None
    dense = jacobian.toarray() / np.where(lengths > 0, lengths, 1.0)[:, None]
    if m == 0:
        return None
    _, triangle, order = scipy.linalg.qr(dense.T, mode="economic", pivoting=True)  # pyright: ignore
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > tolerance * max(1.0, diagonal[0])))
    if rank == m:
        return None
    if redundant == "allow" and rank:  # constraints without any gradient fix nothing
        return tuple(sorted(int(row) for row in order[:rank]))
    raise RedundantConstraints(in_words(system, _redundancy_message(name, dense, order, rank, m, n)))


def check_velocity_rank(system: AbstractSystem, rows, t, q, v) -> None:
    """Refuse nonholonomic constraints that depend on each other, or on the holonomic ones, at the start."""
    if not system.provides("nonholonomic"):
        return
    value, matrix = equation(system, "nonholonomic")(v, t, q)
    name, labels = type(system).__name__, [f"nonholonomic[{k}]" for k in range(len(value))]
    if not (np.all(np.isfinite(value)) and np.all(np.isfinite(matrix.data))):
        raise ModelError(
            f"{name}.nonholonomic or its derivative by v is not finite at the start (t={float(t):g}); "
            "check q0, v0 and the parameters."
        )
    if system.provides("holonomic"):
        _, jacobian = constraint_jacobian(system, t, q)
        kept = list(range(jacobian.shape[0])) if rows is None else list(rows)  # pyright: ignore
        matrix = sparse.vstack([jacobian.tocsr()[kept], matrix])
        labels = [f"holonomic[{k}]" for k in kept] + labels
    dense = matrix.toarray()
    lengths = np.linalg.norm(dense, axis=1)
    dense = dense / np.where(lengths > 0, lengths, 1.0)[:, None]
    _, singular, right = np.linalg.svd(dense.T)
    if np.min(singular) <= RANK_TOLERANCE:
        involved = [label for label, weight in zip(labels, right[-1], strict=True) if abs(weight) > 1e-7]
        raise RedundantConstraints(
            f"{name}: the constraints on the velocity are dependent at the start: {', '.join(involved)}. "
            "Remove one of them, or start from another configuration."
        )


def check_reaction(system: OverdeterminedDAE, t, y, z) -> None:
    """Refuse a reaction that does not determine psi: g_y v_z r_psi must be invertible at the start (with psi = 1)."""
    if not system.provides("holonomic"):  # an inequality may be open at the start
        return
    name = type(system).__name__
    g_y = constraint_jacobian(system, t, y)[1].toarray()
    v_z = Function(lambda z, y: system.velocity(y, z))(z, y)[1].toarray()
    r_psi = Function(lambda psi, y, z: system.reaction(y, z, psi))(np.ones(len(g_y)), y, z)[1].toarray()
    matrix = g_y @ v_z @ r_psi
    size = np.linalg.norm(g_y) * np.linalg.norm(v_z) * np.linalg.norm(r_psi)
    if not np.all(np.isfinite(matrix)) or np.linalg.svd(matrix, compute_uv=False)[-1] <= RANK_TOLERANCE * size:
        raise ModelError(
            f"{name}: g_y v_z r_psi = {np.array2string(matrix, precision=3)} is singular at the start (with psi = 1): "
            "the constraint does not determine psi. The reaction must push against every constraint: check "
            "reaction(y, z, psi), or start from other values."
        )


def _redundancy_message(name: str, dense, order, rank: int, m: int, n: int) -> str:
    basis, findings = sorted(int(r) for r in order[:rank]), []
    for row in sorted(int(r) for r in order[rank:]):
        if not np.any(dense[row]):
            findings.append(f"holonomic[{row}] has a zero gradient")
            continue
        weights = np.linalg.lstsq(dense[basis].T, dense[row], rcond=None)[0]
        partners = [basis[k] for k in np.nonzero(np.abs(weights) > 1e-7)[0]]
        findings.append(f"holonomic[{row}] depends on {row_names(partners)}")
    if len(findings) > MOST_FINDINGS:
        others = row_names(sorted(int(r) for r in order[rank:])[MOST_FINDINGS:])
        findings[MOST_FINDINGS:] = [f"and so do {others} on others"]
    return (
        f"{name}: the constraint Jacobian ({m} x {n}) has rank {rank} at the start, expected {m}: "
        + "; ".join(findings)
        + '. Remove the dependent rows, start from another configuration, or pass redundant="allow" '
        "(all of them are kept, with multipliers of minimum norm)."
    )


def _combination(vector: np.ndarray, letter: str) -> str:
    vector = vector / vector[np.argmax(np.abs(vector))]
    return " ".join(f"{value:+.2g} {letter}[{k}]" for k, value in enumerate(vector) if abs(value) > 1e-6)
