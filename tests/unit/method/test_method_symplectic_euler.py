"""Symplectic Euler for overdetermined DAEs: orders, limits, adjoints, and what is refused."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.gallery import GALLERY
from dalembert.gallery.friction_surface import MassOnCubic, MassOnSurface, NonlinearReaction
from dalembert.method import AdjointSymplecticEuler, Method, Sequence, Substep

PROBLEMS = {"test": NonlinearReaction, "cubic": MassOnCubic, "surface": MassOnSurface}


@functools.cache
def reference(name):
    system = PROBLEMS[name]()
    y0, z0 = system.start_values()
    return reference_solution(system, y0, t=(0.0, 1.0), p0=z0)


@functools.cache
def natural_reference(name, alpha):
    system = PROBLEMS[name]()
    y0, z0 = system.start_values()
    return reference_solution(da.natural_limit(system, alpha), y0, t=(0.0, 1.0), p0=z0)


def errors(name, method, steps, target=None):
    system, target = PROBLEMS[name](), target or reference(name)
    y0, z0 = system.start_values()
    rows = []
    for count in steps:
        run = da.simulate(system, method, y0=y0, z0=z0, t=(0.0, 1.0), h=1 / count)
        assert np.max(run.constraint) < 1e-13
        assert np.max(run.hidden) < 1e-13
        rows.append([np.max(np.abs(run.y[-1] - target.q)), np.max(np.abs(run.z[-1] - target.p))])
    return np.array(rows)


def slopes(name, method, steps, target=None):
    found = errors(name, method, steps, target)
    return [da.observed_order([1 / n for n in steps], column).slope for column in found.T]


def test_reference_of_the_test_problem_is_its_exact_solution():
    exact = NonlinearReaction().exact(1.0)
    assert np.allclose(reference("test").q, exact.q, atol=1e-10)
    assert np.allclose(reference("test").lam, exact.lam, atol=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("conjugate", [False, True])
def test_the_true_method_has_order_one(name, conjugate):
    for slope in slopes(name, da.SymplecticEuler(conjugate=conjugate), (200, 400, 800)):
        assert slope == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", ["test", pytest.param("cubic", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("conjugate", "alpha"), [(False, 0.5), (True, 0.5), pytest.param(False, 0.3, marks=pytest.mark.long)]
)
@pytest.mark.filterwarnings("ignore::dalembert.InconsistentMethodWarning")
def test_the_natural_method_converges_to_its_limit_and_not_to_the_solution(name, conjugate, alpha):
    limit = natural_reference(name, 1 - alpha if conjugate else alpha)
    gap = np.max(np.abs(limit.q - reference(name).q))
    assert gap > 2e-3
    method = da.SymplecticEuler("natural", conjugate, alpha)
    for slope in slopes(name, method, (200, 400, 800), limit):
        assert slope == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", ["test", "cubic"])
@pytest.mark.parametrize(
    ("scheme", "order", "steps"),
    [
        ("adjoint", 2, (40, 80, 160)),
        ("suzuki4", 4, (20, 40, 80)),
        ("yoshida4", 4, (80, 160, 320)),
        ("kahan-li6", 6, (20, 40, 80)),
    ],
)
def test_compositions_with_the_adjoint(name, scheme, order, steps):
    for slope in slopes(name, da.Composition(da.SymplecticEuler(), scheme), steps):
        assert slope == pytest.approx(order, abs=0.2)


def test_composition_of_order_eight():
    method = da.Composition(da.SymplecticEuler(), "suzuki-umeno8")
    for slope in slopes("test", method, (8, 16, 32)):
        assert slope == pytest.approx(8.0, abs=0.35)


class Halves(Sequence):
    """Two methods with half a step each."""

    first: Method
    second: Method

    @property
    def substeps(self):
        return Substep(self.first, 0.5), Substep(self.second, 0.5)

    @property
    def claims(self):
        return da.Claims(order=1)


@pytest.mark.parametrize("name", ["test", "cubic"])
def test_the_conjugate_is_not_the_adjoint(name):
    pair = Halves(da.SymplecticEuler(), da.SymplecticEuler(conjugate=True))
    for slope in slopes(name, pair, (2000, 4000, 8000)):
        assert slope == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    "name",
    [
        "pendulum",
        "hamiltonian-spherical-pendulum",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("spherical-pendulum", "four-bar")),
    ],
)
def test_both_extensions_agree_and_are_symplectic_where_the_reaction_is_affine(name):
    system = GALLERY[name]()
    start = system.start()
    runs = [
        da.simulate(system, da.SymplecticEuler(extension), start.q0, start.v0, t=(0.0, 0.5), h=0.01)
        for extension in ("true", "natural")
    ]
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12
    defect = da.symplectic_defect(system, da.SymplecticEuler(), start.q0, start.v0, h=0.05)
    assert defect < 1e-10


def test_symplectic_euler_is_euler_spark_where_the_reaction_is_ideal():
    system = GALLERY["double-pendulum"]()
    start = system.start()
    for kind, conjugate in (("I", False), ("II", True)):
        runs = [
            da.simulate(system, m, start.q0, start.v0, t=(0.0, 0.5), h=0.01)
            for m in (da.euler_spark(kind), da.SymplecticEuler(conjugate=conjugate))
        ]
        assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12


def test_a_system_with_a_reaction_is_the_overdetermined_one():
    """The mass on the cubic as a Lagrangian system whose friction depends on lam."""

    def friction(t, q, v, psi):
        normal = jnp.array([3 * 0.01 * q[0] ** 2, -1.0])
        size = ((normal @ normal) * psi[0] ** 2) ** (0.85 / 2)
        return -0.1 * size * v / jnp.sqrt(v @ v)

    sliding = da.system(
        lambda t, q, v: 0.5 * v @ v - 9.81 * q[1],
        holonomic=lambda t, q: 0.01 * q[0] ** 3 - q[1],
        reaction=friction,
    )
    y0, z0 = MassOnCubic().start_values()
    one = da.simulate(sliding, da.SymplecticEuler(), y0, z0, t=(0.0, 1.0), h=0.01)
    other = da.simulate(MassOnCubic(), da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, 1.0), h=0.01)
    assert np.max(np.abs(one.q - other.y)) < 1e-12
    assert np.max(np.abs(one.lam - other.psi)) < 1e-10


def test_the_multiplier_of_the_mass_on_the_cubic():
    system = MassOnCubic()
    y0, z0 = system.start_values()
    run = da.simulate(system, da.SymplecticEuler(), y0=y0, z0=z0, t=(0.0, 1.0), h=0.01)
    assert float(run.psi[0, 0]) == pytest.approx(1.7586, abs=1e-4)
    assert np.max(np.abs(run.psi[:, 0] - system.multiplier(run.y, run.z))) < 1e-12


def test_adjoints_in_closed_form():
    true = da.SymplecticEuler()
    assert isinstance(true.adjoint(), AdjointSymplecticEuler)
    assert true.adjoint().adjoint() == true
    natural = da.SymplecticEuler("natural", alpha=0.3)
    assert natural.adjoint() == da.SymplecticEuler("natural", True, 0.7)


def test_restrictions_on_alpha():
    with pytest.raises(da.InputError, match="alpha = 0 leaves a multiplier undetermined; with the true extension"):
        da.SymplecticEuler(alpha=0.0)
    with pytest.raises(da.InputError, match="it must be neither 0 nor 1"):
        da.SymplecticEuler("natural", alpha=1.0)
    assert da.SymplecticEuler(alpha=1.0).alpha == 1.0
    with pytest.raises(da.InputError, match="alpha must be a finite number, got nan"):
        da.SymplecticEuler(alpha=float("nan"))
    with pytest.raises(da.InputError, match='extension must be "true" or "natural"'):
        da.SymplecticEuler("naive")


def test_the_natural_method_warns_about_a_nonlinear_reaction():
    y0, z0 = MassOnCubic().start_values()
    with pytest.warns(da.InconsistentMethodWarning, match=r"inconsistent .* Use SymplecticEuler\(extension=\"true\"\)"):
        da.simulate(MassOnCubic(), da.SymplecticEuler("natural"), y0=y0, z0=z0, t=(0.0, 0.1), h=0.05)


def test_starts_off_the_manifold_and_wrong_names():
    with pytest.raises(da.InconsistentStart, match=r"violates holonomic\[0\] at position level"):
        da.simulate(NonlinearReaction(), da.SymplecticEuler(), y0=[1.0, 1.1], z0=[1.0, 1.0], t=(0.0, 0.1), h=0.05)
    with pytest.raises(da.InconsistentStart, match="at velocity level"):
        da.simulate(NonlinearReaction(), da.SymplecticEuler(), y0=[1.0, 1.0], z0=[1.0, 1.2], t=(0.0, 0.1), h=0.05)
    with pytest.raises(da.InputError, match="give q0 or y0, not both"):
        da.simulate(NonlinearReaction(), da.SymplecticEuler(), [1.0, 1.0], y0=[1.0, 1.0], z0=[1.0, 1.0])
    with pytest.raises(da.MethodDoesNotFit, match="Taylor does not treat overdetermined"):
        da.simulate(NonlinearReaction(), da.Taylor(4), y0=[1.0, 1.0], z0=[1.0, 1.0])


def test_an_overdetermined_run_has_no_energy():
    run = da.simulate(NonlinearReaction(), da.SymplecticEuler(), y0=[1.0, 1.0], z0=[1.0, 1.0], t=(0.0, 0.1), h=0.05)
    with pytest.raises(da.InputError, match="an OverdeterminedDAE has no energy"):
        _ = run.energy
    assert run.psi.shape == (3, 1)


def test_a_reaction_that_cannot_act_on_the_constraint():
    class Powerless(NonlinearReaction):
        def reaction(self, y, z, psi):
            return 0.0 * psi[0] * z

    with pytest.raises(da.ModelError, match=r"g_y v_z r_psi .* is singular at the start"):
        da.simulate(Powerless(), da.SymplecticEuler(), y0=[1.0, 1.0], z0=[1.0, 1.0], t=(0.0, 0.1), h=0.05)
