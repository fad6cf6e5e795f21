"""Energy-momentum methods: what is kept, to which order, and what is refused."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution
from dalembert.formulation import squared_distances
from dalembert.gallery import GALLERY
from dalembert.gallery.springs_and_bars import FourParticles, HeavyTop, Lattice


def change(values):
    values = np.asarray(values)
    return np.max(np.abs(values - values[0]))


@functools.cache
def four_particles(method, h=0.01, end=10.0):
    system = FourParticles()
    start = system.start()
    return da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=h)


@pytest.mark.parametrize("velocity_level", [False, True])
def test_the_invariant_gradient_keeps_everything(velocity_level):
    run = four_particles(da.EnergyMomentum(velocity_level=velocity_level))
    assert change(run.energy) < 1e-13
    assert change(run.invariants["linear momentum"]) < 1e-13
    assert change(run.invariants["angular momentum"]) < 1e-13
    assert np.max(run.constraint) < 1e-14
    if velocity_level:
        assert np.max(run.hidden) < 1e-13
    else:  # it oscillates with an amplitude of O(h^2)
        assert np.max(run.hidden) == pytest.approx(1.7e-5, rel=0.1)


def test_the_amplitude_of_the_hidden_constraint_is_of_second_order():
    sizes = [np.max(four_particles(da.EnergyMomentum(), h).hidden) for h in (0.02, 0.01, 0.005)]
    assert np.log2(sizes[0] / sizes[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(sizes[1] / sizes[2]) == pytest.approx(2.0, abs=0.2)


def test_the_generic_gradient_loses_the_momenta_at_second_order():
    losses = []
    for h in (0.01, 0.005):
        run = four_particles(da.EnergyMomentum("gonzalez"), h)
        assert change(run.energy) < 1e-13
        losses.append([change(run.invariants[name]) for name in ("linear momentum", "angular momentum")])
    losses = np.array(losses)
    assert np.all(losses > 1e-6)
    assert np.log2(losses[0] / losses[1]) == pytest.approx([2.0, 2.0], abs=0.4)


@pytest.mark.parametrize("method", [da.EnergyMomentum(), da.EnergyMomentum(velocity_level=True)], ids=str)
def test_orders_on_the_four_particles(method):
    system = FourParticles()
    start = system.start()
    target = reference_solution(system, start.q0, start.v0, (0.0, 0.1))
    middles = reference_solution(system, start.q0, start.v0, (0.0, 0.1), times=0.1 - 0.05 / np.array([10, 20, 40]))
    errors = []
    for count, middle in zip((10, 20, 40), middles.lam, strict=True):
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 0.1), h=0.1 / count)
        lam = target.lam if method.velocity_level else middle  # lam belongs to the middle of the last step
        pairs = ((run.q, target.q), (run.p, target.p), (run.lam, lam))
        errors.append([np.max(np.abs(found[-1] - exact)) for found, exact in pairs])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert orders[-1] == pytest.approx([2.0, 2.0, 2.0], abs=0.2)


def test_it_runs_backwards():
    system = FourParticles()
    start = system.start()
    for method in (da.EnergyMomentum(), da.EnergyMomentum(velocity_level=True)):
        defect = da.reversibility_defect(system, method, start.q0, start.v0, (0.0, 1.0), 0.02)
        assert defect.q < 1e-12
        assert defect.p < 1e-12


@pytest.mark.parametrize("velocity_level", [False, True])
def test_lattice_and_top(velocity_level):
    for system in (Lattice(cells=2), HeavyTop()):
        start = system.start()
        run = da.simulate(
            system, da.EnergyMomentum(velocity_level=velocity_level), start.q0, start.v0, t=(0.0, 2.0), h=0.02
        )
        assert change(run.energy) < 1e-12
        for name, values in run.invariants.items():
            if name != "axial angular momentum":  # a symmetry of the body, which mixes the invariants
                assert change(values) < 1e-12
        assert np.max(run.constraint) < 1e-14


class Coupled(da.HamiltonianSystem):
    """Two particles on a rod of length one; a Hamiltonian that is not a sum T(p) + V(q), written through invariants."""

    def phase_invariants(self, q, p):
        x, y = q.reshape(2, 3), p.reshape(2, 3)
        return jnp.stack(
            [jnp.sum(y[0] ** 2), jnp.sum(y[1] ** 2), jnp.sum((x[0] - x[1]) ** 2), x[0] @ y[0], x[0] @ x[0]]
        )

    def hamiltonian_of(self, pi):
        return 0.5 * pi[0] * (1 + 0.3 * pi[4]) + 0.25 * pi[1] + 0.1 * pi[3] ** 2 + jnp.cos(pi[4])

    def hamiltonian(self, t, q, p):
        return self.hamiltonian_of(self.phase_invariants(q, p))

    def constraint_invariants(self, q):
        return squared_distances(q, ((0, 1),))

    def constraint_of(self, zeta):
        return jnp.sqrt(zeta) - 1.0

    def holonomic(self, t, q):
        return self.constraint_of(self.constraint_invariants(q))

    def invariants(self, t, q, p):
        return {"angular momentum": jnp.sum(jnp.cross(q.reshape(2, 3), p.reshape(2, 3)), axis=0)}


@pytest.mark.parametrize("gradient", [pytest.param("invariant", marks=pytest.mark.long), "gonzalez"])
def test_a_hamiltonian_that_is_not_a_sum(gradient):
    start = da.consistent(Coupled(), [1.0, 0.2, 0.1, 0.4, 0.9, 0.3], p0=[0.3, -0.2, 0.5, 0.1, 0.4, -0.3])
    runs = []
    for velocity_level in (False, True):
        run = da.simulate(
            Coupled(), da.EnergyMomentum(gradient, velocity_level), start.q, p0=start.p, t=(0.0, 2.0), h=0.05
        )
        assert change(run.energy) < 1e-13
        assert np.max(run.constraint) < 1e-14
        assert (change(run.invariants["angular momentum"]) < 1e-13) == (gradient == "invariant")
        runs.append(run)
    assert np.max(runs[1].hidden) < 1e-13
    assert np.max(runs[0].hidden) > 1e-6


@pytest.mark.parametrize(
    "gradient", ["gonzalez", "mean-value", "phase-space", pytest.param("itoh-abe", marks=pytest.mark.long)]
)
def test_gradients_that_need_no_statement_keep_the_energy(gradient):
    for name in ("pendulum", "kepler", "harmonic-oscillator", "hamiltonian-spherical-pendulum"):
        system = GALLERY[name]()
        start = system.start()
        run = da.simulate(
            system, da.EnergyMomentum(gradient, velocity_level=True), start.q0, start.v0, t=(0.0, 2.0), h=0.02
        )
        assert change(run.energy) < 1e-12
        assert np.max(run.hidden) < 1e-13


def test_work_and_energy_of_a_damped_system():
    system = da.system(
        lambda t, q, v: 0.5 * v @ v - 9.81 * q[1],
        holonomic=lambda t, q: 0.5 * (q @ q - 1.0),
        force=lambda t, q, v: -0.4 * v,
    )
    method = da.EnergyMomentum("gonzalez", dissipative=True)
    run = da.simulate(system, method, [1.0, 0.0], [0.0, 0.0], t=(0.0, 5.0), h=0.02)
    steps = np.diff(run.q, axis=0)
    work = np.cumsum(np.sum(-0.4 * steps / 0.02 * steps, axis=1))
    assert np.max(np.abs(run.energy[1:] - run.energy[0] - work)) < 1e-12
    assert run.energy[-1] < run.energy[0] - 1.0


def test_a_long_run_of_the_four_particles():
    run = da.simulate(
        FourParticles(), da.EnergyMomentum(), FourParticles().start().q0, FourParticles().start().v0, t=(0.0, 200.0),
        h=0.01, save_every=100,
    )  # fmt: skip
    assert change(run.energy) < 1e-12
    assert change(run.invariants["angular momentum"]) < 1e-12


@pytest.mark.long
@pytest.mark.parametrize("velocity_level", [False, True])
def test_a_million_steps_of_the_four_particles(velocity_level):
    """As printed the particles fly away, and at t = 10^4 a float64 tells their distances of one only to 5e-13: in the
    frame of their centre of mass, or with more digits, nothing is lost."""
    system, method = FourParticles(), da.EnergyMomentum(velocity_level=velocity_level)
    start, masses = system.start(), system.masses
    drifting = masses @ np.asarray(start.v0).reshape(4, 3) / np.sum(masses)
    for v0, precision in ((np.asarray(start.v0) - np.tile(drifting, 4), "double"), (start.v0, "extended")):
        run = da.simulate(
            system, method, start.q0, v0, t=(0.0, 1e4), h=0.01, save_every=1000, precision=precision
        )  # fmt: skip
        x, p = run.q.reshape(-1, 4, 3), run.p.reshape(-1, 4, 3)
        strain = [np.sum((x[:, i] - x[:, j]) ** 2, axis=1) - 1 for i, j in system.springs]
        energy = np.sum(p**2 / masses[:, None], axis=(1, 2)) / 2 + 25 * strain[0] ** 2 + 250 * strain[1] ** 2
        assert change(energy) / energy[0] < 1e-11
        assert change(np.sum(p, axis=1)) < 1e-11
        assert change(np.sum(np.cross(x, p), axis=1)) < 1e-11


def test_what_is_refused():
    with pytest.raises(da.InputError, match="gradient must be one of 'invariant', 'gonzalez'"):
        da.EnergyMomentum("midpoint")
    with pytest.raises(da.MethodDoesNotFit, match=r"needs potential_invariants\(q\) and potential_of\(pi\)"):
        da.simulate(GALLERY["pendulum"](), da.EnergyMomentum(), [1.0, 0.0], [0.0, 0.0])
    with pytest.raises(da.MethodDoesNotFit, match="it has a force, which does work"):
        da.simulate(GALLERY["driven-pendulum"](), da.EnergyMomentum("gonzalez"), [1.0, 0.0], [0.0, 0.0])
    start = GALLERY["polar-pendulum"]().start()
    with pytest.raises(da.MethodDoesNotFit, match="is not v\\^T M v / 2 - V\\(q\\) with a constant mass matrix"):
        da.simulate(GALLERY["polar-pendulum"](), da.EnergyMomentum("gonzalez"), start.q0, start.v0)


def test_a_statement_that_is_not_true():
    class Wrong(FourParticles):
        def constraint_of(self, zeta):
            return jnp.sqrt(zeta) - 1.5

        def holonomic(self, t, q):
            return jnp.sqrt(self.constraint_invariants(q)) - 1.0

    start = Wrong().start()
    with pytest.raises(da.MethodDoesNotFit, match=r"is not holonomic\(t, q\)"):
        da.simulate(Wrong(), da.EnergyMomentum(), start.q0, start.v0, t=(0.0, 0.1), h=0.01)


def test_momenta_of_symmetries_are_among_the_invariants():
    """Of a system that states none, and beside those of one that does; not in place of them."""
    free = da.system(lambda t, q, v: 0.5 * v @ v - 0.5 * q[2] ** 2)
    run = da.simulate(free, da.Rattle(), [1.0, 2.0, 3.0], [0.5, 1.0, 0.0], t=(0.0, 1.0), h=0.01)
    assert set(run.invariants) == {"momentum along x", "momentum along y", "angular momentum about z"}
    stated = da.system(
        lambda t, q, v: 0.5 * v @ v,
        invariants=lambda t, q, p: {
            "momentum along x": 2 * p[0],
            "own": q[0] * p[1] - q[1] * p[0],
            "speed": jnp.sqrt(p @ p),
        },
    )
    both = da.simulate(stated, da.Rattle(), [1.0, 2.0], [0.5, 1.0], t=(0.0, 1.0), h=0.01).invariants
    assert set(both) == {"momentum along x", "speed", "own", "momentum along y"}
    assert both["momentum along x"][0] == 1.0


def test_symmetries_are_named():
    particles, start = FourParticles(), FourParticles().start()
    names = [symmetry.name for symmetry in da.symmetries(particles, start.q0, v=start.v0)]
    assert names == [f"momentum along {a}" for a in "xyz"] + [f"angular momentum about {a}" for a in "xyz"]
    double = GALLERY["double-pendulum"]()
    begin = double.start()
    (symmetry,) = da.symmetries(double, begin.q0, v=begin.v0)
    assert symmetry.name == "angular momentum about z"
    run = da.simulate(double, da.Rattle(), begin.q0, begin.v0, t=(0.0, 1.0), h=0.01)
    assert change(symmetry.momentum(run.q, run.p)) < 1e-13
    assert set(run.momenta) == {symmetry.name}
    assert set(run.invariants) == {"angular_momentum_z"}  # the same number under the name that the system gave it
    assert da.symmetries(GALLERY["driven-pendulum"](), [1.0, 0.0]) == []
    with pytest.raises(da.InputError, match="expects q and p of one shape"):
        da.symmetries(double, begin.q0, p=[1.0])


def test_what_couples_everything_through_every_constraint_is_refused_where_it_is_too_much():
    """1000 links would ask for 67 GB; the reason names what to do instead."""
    system = da.gallery.Chain(links=1000)
    start = system.start()
    with pytest.raises(
        da.MethodDoesNotFit, match=r'each of 1000 constraints couples all 3000 .* gradient="mean-value"'
    ):
        da.simulate(system, da.EnergyMomentum(gradient="gonzalez"), start.q0, start.v0, t=(0.0, 0.01), h=0.01)
