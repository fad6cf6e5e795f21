"""Energy-momentum methods where a constraint or a potential goes through several invariants, and named symmetries."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.formulation import acts_entrywise, squared_distances
from dalembert.gallery import GALLERY
from dalembert.gallery.springs_and_bars import momenta


def change(values):
    values = np.asarray(values)
    return np.max(np.abs(values - values[0]))


class BentMolecule(da.System):
    """Three particles: springs from the first to the others, and a right or other angle between them::

    V = 5 (sqrt(aa) - 1)^2 (1 + bb / 4) + 5 (sqrt(bb) - 1)^2,      ab / sqrt(aa bb) = cosine
    """

    cosine: float = 0.5

    def lagrangian(self, t, q, v):
        potential = jnp.sum(self.potential_of(self.potential_invariants(q)))
        return 0.5 * (v @ (np.repeat([1.0, 2.0, 1.5], 3) * v)) - potential

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def potential_invariants(self, q):
        return squared_distances(q, ((0, 1), (0, 2)))

    def potential_of(self, pi):  # the first term is one of both
        return 5 * (jnp.sqrt(pi) - 1) ** 2 * jnp.stack([1 + pi[1] / 4, jnp.ones(())])

    def constraint_invariants(self, q):
        x = q.reshape(3, 3)
        a, b = x[1] - x[0], x[2] - x[0]
        return jnp.stack([a @ a, b @ b, a @ b])

    def constraint_of(self, zeta):
        return jnp.stack([zeta[2] / jnp.sqrt(zeta[0] * zeta[1]) - self.cosine])

    def invariants(self, t, q, p):
        return momenta(q, p)


class MixedRods(da.System):
    """The double pendulum in space with its two lengths constrained by their sum and their difference."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * (q[2] + q[5])

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def potential_invariants(self, q):
        return jnp.stack([q[2] + q[5]])

    def potential_of(self, pi):
        return 9.81 * pi

    def constraint_invariants(self, q):
        return jnp.stack([q[:3] @ q[:3], (q[3:] - q[:3]) @ (q[3:] - q[:3])])

    def constraint_of(self, zeta):
        lengths = jnp.sqrt(zeta)
        return jnp.stack([lengths[0] + lengths[1] - 2.0, lengths[0] - lengths[1]])


class PlainRods(MixedRods):
    def constraint_of(self, zeta):
        return jnp.sqrt(zeta) - 1.0


MOLECULE = da.consistent(
    BentMolecule(), [0, 0, 0, 1, 0, 0, 0.5, np.sqrt(0.75), 0], [0.1, 0.2, -0.3, 0.4, 0.5, 0.6, -0.3, 0.1, 0.8]
)


@pytest.mark.parametrize("velocity_level", [False, True])
def test_a_constraint_of_three_invariants_keeps_everything(velocity_level):
    method = da.EnergyMomentum(velocity_level=velocity_level)
    run = da.simulate(BentMolecule(), method, MOLECULE.q, MOLECULE.v, t=(0.0, 5.0), h=0.01)
    assert change(run.energy) < 1e-13
    assert change(run.invariants["linear momentum"]) < 1e-13
    assert change(run.invariants["angular momentum"]) < 1e-13
    assert np.max(run.constraint) < 1e-13
    assert (np.max(run.hidden) < 1e-13) == velocity_level
    assert change(run.q) > 0.5  # it moves


@pytest.mark.parametrize("velocity_level", [False, pytest.param(True, marks=pytest.mark.long)])
def test_its_order_is_two(velocity_level):
    target = reference_solution(BentMolecule(), MOLECULE.q, MOLECULE.v, (0.0, 0.5))
    method, errors = da.EnergyMomentum(velocity_level=velocity_level), []
    for count in (20, 40, 80):
        run = da.simulate(BentMolecule(), method, MOLECULE.q, MOLECULE.v, t=(0.0, 0.5), h=0.5 / count)
        errors.append([np.max(np.abs(run.q[-1] - target.q)), np.max(np.abs(run.p[-1] - target.p))])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert orders == pytest.approx(np.full((2, 2), 2.0), abs=0.2)


def test_rods_by_sum_and_difference_move_as_rods():
    """The same constraint manifold stated otherwise: zeta does not change along a step, and the motion is the same."""
    q0, v0 = [1.0, 0, 0, 1.0, 1.0, 0], [0, 0.3, 1.0, 0, 0.3, -0.5]
    runs = [
        da.simulate(system, da.EnergyMomentum(), q0, v0, t=(0.0, 2.0), h=0.01) for system in (MixedRods(), PlainRods())
    ]
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-11
    assert change(runs[0].energy) < 1e-12
    assert change(runs[0].momenta["angular momentum about z"]) < 1e-13


class BentHamiltonian(da.HamiltonianSystem):
    """The molecule with a mass that depends on its angle, through invariants of q and p."""

    def phase_invariants(self, q, p):
        y = p.reshape(3, 3)
        return jnp.concatenate([jnp.sum(y**2, axis=1), self.constraint_invariants(q)])

    def hamiltonian_of(self, pi):
        return 0.5 * pi[0] + 0.25 * pi[1] * (1 + 0.2 * pi[5] ** 2) + pi[2] / 3 + 2 * (pi[3] - 1) ** 2 + pi[4] ** 2

    def hamiltonian(self, t, q, p):
        return self.hamiltonian_of(self.phase_invariants(q, p))

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def constraint_invariants(self, q):
        x = q.reshape(3, 3)
        a, b = x[1] - x[0], x[2] - x[0]
        return jnp.stack([a @ a, b @ b, a @ b])

    def constraint_of(self, zeta):
        return jnp.stack([zeta[2] / jnp.sqrt(zeta[0] * zeta[1]) - 0.5])

    def invariants(self, t, q, p):
        return momenta(q, p)


@pytest.mark.long
def test_a_mass_matrix_that_moves_and_a_constraint_of_three_invariants():
    start = da.consistent(BentHamiltonian(), MOLECULE.q, p0=MOLECULE.p)
    run = da.simulate(
        BentHamiltonian(), da.EnergyMomentum(velocity_level=True), start.q, p0=start.p, t=(0.0, 2.0), h=0.02
    )
    assert change(run.energy) < 1e-12
    assert change(run.invariants["angular momentum"]) < 1e-12
    assert np.max(run.hidden) < 1e-12


def test_many_mixed_constraints_are_refused_with_what_to_write():
    class Many(MixedRods):
        def constraint_invariants(self, q):
            return jnp.sum(q.reshape(-1, 3) ** 2, axis=1)

        def constraint_of(self, zeta):
            return jnp.cumsum(zeta) - jnp.arange(1.0, 401.0)

        def potential_invariants(self, q):
            return jnp.stack([jnp.sum(q[2::3])])

        def lagrangian(self, t, q, v):
            return 0.5 * (v @ v) - 9.81 * jnp.sum(q[2::3])

    q0 = np.tile([1.0, 0.0, 0.0], 400)
    with pytest.raises(da.MethodDoesNotFit, match=r"400 constraints .* one of the 400 .* act on every entry alone"):
        da.simulate(Many(), da.EnergyMomentum(), q0, 0 * q0, t=(0.0, 0.01), h=0.01)


@pytest.mark.parametrize(
    ("phi", "alone"),
    [
        (lambda z: jnp.sqrt(z) - jnp.arange(4.0), True),
        (lambda z: jnp.concatenate([z[:1] ** 2, jnp.sin(z[1:])]), True),
        (lambda z: jnp.stack([z[0], z[1] * z[1], 3 / z[2], 0.0]), True),
        (lambda z: jnp.stack([jnp.where(z[k] > 0, z[k], z[k] ** 3) for k in range(4)]), True),
        (lambda z: jnp.stack([z[0], z[1], z[2], z[0]]), False),
        (lambda z: z[::-1], False),
        (lambda z: z * z[0], False),
        (lambda z: jnp.cumsum(z), False),
        (lambda z: z - jnp.mean(z), False),
        (lambda z: z[:2], False),
        (lambda z: jnp.sum(z), False),
    ],
)
def test_what_acts_on_every_entry_alone_is_seen(phi, alone):
    assert acts_entrywise(phi, jnp.ones(4)) is alone


class Hyperbolic(da.System):
    """L = v1 v2 - (q1 q2)^2: unchanged by q1 -> e^s q1, q2 -> e^-s q2, which is no rotation."""

    def lagrangian(self, t, q, v):
        return v[0] * v[1] - jnp.sum(self.potential_of(self.potential_invariants(q)))

    def potential_invariants(self, q):
        return jnp.stack([q[0] * q[1]])

    def potential_of(self, pi):
        return pi**2


class HyperbolicHamiltonian(da.HamiltonianSystem):
    def hamiltonian(self, t, q, p):
        return p[0] * p[1] + (q[0] * q[1]) ** 2


class OnAScrew(da.System):
    """A particle and a spring to a point that it turns about; the motion of a screw: rotation and translation."""

    def lagrangian(self, t, q, v):
        turned = jnp.cos(2 * q[2]) * q[0] + jnp.sin(2 * q[2]) * q[1]
        return 0.5 * (v @ v) - 3 * (turned - 1) ** 2


SQUEEZE = {"squeeze": (np.diag([1.0, -1.0]), np.zeros(2))}
SCREW = {"screw": (np.array([[0, -2.0, 0], [2.0, 0, 0], [0, 0, 0]]), np.array([0, 0, 1.0]))}


def test_named_affine_actions_are_symmetries_where_they_hold():
    for system in (Hyperbolic(), HyperbolicHamiltonian()):
        assert [s.name for s in da.symmetries(system, [1.0, 0.5], [0.3, 0.2], actions=SQUEEZE)] == ["squeeze"]
    assert "squeeze" not in [s.name for s in da.symmetries(GALLERY["kepler"](), [1.0, 0.5], actions=SQUEEZE)]
    assert [s.name for s in da.symmetries(OnAScrew(), [1.0, 0.2, 0.3], actions=SCREW)] == ["screw"]
    other = {"screw": (-SCREW["screw"][0], SCREW["screw"][1])}  # of the other hand
    assert da.symmetries(OnAScrew(), [1.0, 0.2, 0.3], actions=other) == []


def test_momenta_of_named_actions_are_kept():
    (squeeze,) = da.symmetries(Hyperbolic(), [1.0, 0.5], actions=SQUEEZE)
    for method in (da.EnergyMomentum(), da.gauss_spark(2)):
        run = da.simulate(Hyperbolic(), method, [1.0, 0.5], [0.3, 0.2], t=(0.0, 5.0), h=0.02)
        assert change(squeeze.momentum(run.q, run.p)) < 1e-12
    run = da.simulate(Hyperbolic(), da.EnergyMomentum("gonzalez"), [1.0, 0.5], [0.3, 0.2], t=(0.0, 5.0), h=0.02)
    assert change(squeeze.momentum(run.q, run.p)) > 1e-7
    (screw,) = da.symmetries(OnAScrew(), [1.0, 0.2, 0.3], actions=SCREW)
    run = da.simulate(OnAScrew(), da.gauss_spark(3), [1.0, 0.2, 0.3], [0.1, 0.5, 1.0], t=(0.0, 5.0), h=0.01)
    assert change(screw.momentum(run.q, run.p)) < 1e-8  # symplectic methods keep what is linear in q and in p


@pytest.mark.parametrize(
    ("actions", "named"),
    [
        ([1.0], "must be a dict"),
        ({"turn": np.eye(2)}, r"must be a pair \(A, b\)|shapes"),
        ({"turn": (np.eye(3), np.zeros(3))}, r"shapes \(2, 2\) and \(2,\), got \(3, 3\) and \(3,\)"),
    ],
)
def test_actions_that_are_none_are_refused(actions, named):
    with pytest.raises(da.InputError, match=named):
        da.symmetries(Hyperbolic(), [1.0, 0.5], actions=actions)


class Rotor(da.HamiltonianSystem):
    """A pendulum of two angles whose mass depends on their difference: no sum T(p) + V(q)."""

    def hamiltonian(self, t, q, p):
        c = jnp.cos(q[0] - q[1])
        return (p[0] ** 2 + 2 * p[1] ** 2 - 2 * c * p[0] * p[1]) / (2 * (2 - c**2)) - 2 * jnp.cos(q[0]) - jnp.cos(q[1])


def test_the_two_ways_to_take_partial_derivatives():
    """Both keep the energy and have order 2; one derivative in (q, p) is not the mean of two."""
    q0, p0 = [1.0, 0.5], [0.2, -0.3]
    target = reference_solution(Rotor(), q0, t=(0.0, 1.0), p0=p0)
    ends = []
    for gradient in ("gonzalez", "phase-space"):
        errors = []
        for count in (20, 40):
            run = da.simulate(Rotor(), da.EnergyMomentum(gradient), q0, p0=p0, t=(0.0, 1.0), h=1.0 / count)
            assert change(run.energy) < 1e-14
            errors.append(np.max(np.abs(run.q[-1] - target.q)))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
        ends.append(run.q[-1])
    assert np.max(np.abs(ends[0] - ends[1])) > 1e-5
