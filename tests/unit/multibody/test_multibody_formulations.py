"""Both formulations of one model move alike: at the same state they have the same accelerations, to roundoff."""

import numpy as np
import pytest

import dalembert as da
from dalembert.multibody import row_names
from dalembert.stepping import Family, equation_rows, flat_parameters, independent_rows
from dalembert.stepping.shared_equations import _accelerations
from dalembert.trajectory.mechanism import _observed


def poses(system, q, v):
    """(2, bodies, 4, 3): centres and directors, and their rates."""
    rows = _observed(Family(system), "poses")(np.zeros(1), q[None], v[None], flat_parameters(system)[None])
    return rows.reshape(2, -1, 4, 3)


def acceleration(system, q, v, t=0.0):
    """The acceleration of the coordinates."""
    vectors, times = np.asarray(flat_parameters(system))[None], np.array([t])
    p = -equation_rows(system, "legendre by p", np.zeros((1, len(v))), times, q[None], v[None], parameters=vectors)
    rows = independent_rows(system, t, q, "allow")
    x = _accelerations(Family(system), rows, True)(np.zeros((1, 0)), times, q[None], v[None], p, vectors)
    return x[0, : len(q)]


def curve_acceleration(system, q, v, t=0.0):
    """The acceleration of centres and directors: the second difference along q + s v + s^2/2 a, extrapolated."""
    a = acceleration(system, q, v, t)

    def second(s):
        ahead, behind = (poses(system, q + e * s * v + s**2 / 2 * a, v)[0] for e in (1, -1))
        return (ahead - 2 * poses(system, q, v)[0] + behind) / s**2

    return (4 * second(5e-4) - second(1e-3)) / 3


def agreement(model, values, rates, t=0.0):
    """The largest difference of poses, rates and accelerations between the formulations, relative to their sizes."""
    found = []
    for coordinates in ("directors", "joints"):
        start = model.assemble(**values, rates=rates, coordinates=coordinates, t=t)
        system = model.system(coordinates)
        state = start.q0, start.v0
        found.append((poses(system, *state), curve_acceleration(system, *state, t)))
    scales = [max(1.0, np.nanmax(np.abs(part))) for part in found[0]]
    return max(np.nanmax(np.abs(a - b)) / s for a, b, s in zip(*found, scales, strict=True))


KINDS = (
    da.Revolute("z"), da.Prismatic((1, 2, -1)), da.Cylindrical("x"), da.Universal("x", "z"), da.Spherical(),
    da.Planar("y"), da.Screw("y", 0.3), da.Fixed(), da.Revolute((1, 1, 0.5)), da.Floating(),
)  # fmt: skip


def random_tree(seed, kinds=KINDS):
    """Bodies with general inertia, one joint of every kind, followed in both directions."""
    random = np.random.default_rng(seed)
    model = da.Multibody(gravity=random.standard_normal(3))
    bodies = [model.ground]
    for k, kind in enumerate(kinds):
        half = random.standard_normal((3, 5))
        euler = half @ half.T
        body = model.body(
            f"b{k}", mass=random.uniform(1, 2), inertia=np.trace(euler) * np.eye(3) - euler,
            com=random.standard_normal(3), at=random.standard_normal(3), rotation=random.standard_normal(4),
        )  # fmt: skip
        ends = [bodies[random.integers(len(bodies))], body]
        ends = ends if random.uniform() < 0.5 else ends[::-1]
        model.joint(f"j{k}", *ends, kind, at=random.standard_normal(3))
        bodies.append(body)
    return model, random


@pytest.mark.parametrize("kinds", [KINDS[:2], KINDS[3:5], KINDS[5:7]], ids=["01", "34", "56"])
def test_small_trees(kinds):
    model, random = random_tree(3, kinds)
    values = {
        f"j{k}": random.uniform(-0.6, 0.6, len(kind.coordinates)) for k, kind in enumerate(kinds) if kind.coordinates
    }
    assert agreement(model, values, {name: random.standard_normal(len(value)) for name, value in values.items()}) < 3e-8


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees(seed):
    model, random = random_tree(seed)
    model.joint_damper("j0", 0.7, friction=0.2, smoothing=0.5)
    model.joint_spring("j1", 30.0, rest=0.1)
    model.motor("j2", lambda t, x: x.gain * (0.3 - x.position) - 0.1 * x.rate, coordinate="position", gain=2.0)
    model.spring(model.bodies["b3"].point(0.1, 0.2, 0.3), model.bodies["b9"], 20.0, damping=1.0, rest=0.4)
    model.force(model.bodies["b5"].point(0, 0, 1), lambda t, r, v: -0.3 * v)
    model.drag(model.bodies["b6"].point(1, 0, 0), 0.4, wind=(1.0, 2.0, 0.0))
    model.attraction(model.bodies["b7"], model.bodies["b8"], constant=3.0)
    model.bushing(model.bodies["b9"], model.bodies["b4"], (1, 2, 3, 4, 5, 6), damping=(0.1,) * 6)
    values = {
        f"j{k}": random.uniform(-0.6, 0.6, len(kind.coordinates)) for k, kind in enumerate(KINDS) if kind.coordinates
    }
    rates = {name: random.standard_normal(len(value)) for name, value in values.items()}
    assert agreement(model, values, rates) < 3e-8


def test_loops(four_bar):
    four_bar.motor("A", lambda t, x: 3.0 * (1.0 - x.rate))
    assert agreement(four_bar, {"A": 0.4}, {"A": 2.0}) < 1e-8


def test_gears_and_prescribed_motion():
    model = da.Multibody()
    base = model.body("base", 1.0, (0.1, 0.2, 0.25), at=(0, 0, 1))
    wheel = model.body("wheel", 0.5, (0.02, 0.02, 0.03), at=(0, 0.5, 1))
    rack = model.body("rack", 0.7, (0.02, 0.02, 0.03), at=(0, 0.5, 1.4))
    arm = model.body("arm", 0.6, (0.02, 0.02, 0.03), com=(0.3, 0, 0), at=(1, 0.5, 1))
    model.joint("lift", model.ground, base, da.Prismatic("z"))
    model.joint("turn", base, wheel, da.Revolute("x"))
    model.joint("slide", base, rack, da.Prismatic("y"))
    model.joint("swing", base, arm, da.Revolute("z"), armature=0.4)
    model.gear("teeth", "turn", "slide", -0.2, 0.01)
    model.gear("belt", "turn", "swing", 1.5, 0.3)
    model.prescribe("lift", lambda t: 0.3 * t**2 + 0.1 * t)
    assert agreement(model, {"turn": 0.4}, {"turn": -1.3}, t=0.5) < 1e-8
    start = model.assemble(turn=0.4, rates={"turn": -1.3}, t=0.5)
    assert start.joints["slide"][0] == pytest.approx(-0.2 * 0.4 + 0.01)
    assert start.joints["swing"][0] == pytest.approx(1.5 * 0.4 + 0.3)
    assert start.rates["lift"][0] == pytest.approx(0.4)


TOP = {0.2: (0.605550561377, 0.598957681795, -0.523983027430), 0.5: (-0.702468297057, -0.021165184702, -0.711400257652)}


@pytest.mark.parametrize("coordinates", ["directors", "joints"])
def test_heavy_top(coordinates):
    """The top of Bruels, Cardona, Arnold (doi:10.1016/j.mechmachtheory.2011.07.017), whose inertia is that of a disc.
    Places of the centre from Euler's equations, DOP853 at 3e-14."""
    model = da.Multibody(name="HeavyTop")
    top = model.body("top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), com=(0, 1, 0))
    model.joint("tip", model.ground, top, da.Spherical(), at=(0, 0, 0))
    start = model.assemble(coordinates=coordinates, spin={"top": (0, 150, -4.61538)})
    run = da.simulate(model.system(coordinates), da.Galerkin(3), start.q0, start.v0, t=(0, 0.5), h=1e-3)
    for t, place in TOP.items():
        np.testing.assert_allclose(run.body("top").centre[round(t / 1e-3)], place, atol=3e-10)
    assert np.ptp(run.energy) < 1e-9 * abs(run.energy[0])


def test_rows_have_names(four_bar):
    assert [name for name in row_names(four_bar.system("directors")) if name.startswith("B")] == [
        "B: position x", "B: position y", "B: position z", "B: axis 1", "B: axis 2",
    ]  # fmt: skip
    assert row_names(four_bar.system("joints")) == ("C: position x", "C: position y")


def test_messages_name_joints(four_bar):
    system, start = four_bar.system("directors"), four_bar.assemble(coordinates="directors")
    with pytest.raises(da.InconsistentStart, match="FourBar: the start violates crank: length of director 1"):
        da.simulate(system, da.Rattle(), 1.1 * start.q0, start.v0, t=(0, 1), h=0.1)
    four_bar.joint("hold", four_bar.ground, four_bar.bodies["crank"], da.PointOnPlane("z"), at=(0, 0, 0))
    system = four_bar.system("directors")
    with pytest.raises(da.RedundantConstraints, match="hold: position z") as caught:
        da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0, 1), h=0.1)
    assert "holonomic[" not in str(caught.value)


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)


def bricard() -> da.Multibody:
    """IFToMM benchmark A04: five bars of 1 x 0.1 x 0.1 and 1 kg between six hinges, from rest."""
    model = da.Multibody(gravity=(0, -9.81, 0), name="Bricard")
    before = model.ground
    for k in range(5):
        size = np.where(CORNERS[k + 1] != CORNERS[k], 1.0, 0.1)
        bar = model.body(f"bar {k}", density=100.0, shape=da.Box(size), at=(CORNERS[k] + CORNERS[k + 1]) / 2)
        model.joint(f"P{k}", before, bar, da.Revolute("yzxyzx"[k]), at=CORNERS[k])
        before = bar
    model.joint("P5", before, model.ground, da.Revolute("x"), at=CORNERS[5])
    return model


def test_bricard():
    model = bricard()
    report = model.check()
    assert (report.freedoms, report.constraints, len(report.redundant)) == (1, 30, 1)
    start = model.assemble(coordinates="joints")
    run = da.simulate(model.system("joints"), da.Galerkin(3), start.q0, start.v0, t=(0, 1), h=0.01, redundant="allow")
    bar = run.body("bar 2")
    place = bar.position[-1] + bar.rotation[-1] @ (CORNERS[3] - (CORNERS[2] + CORNERS[3]) / 2)
    np.testing.assert_allclose(place, (0.5105014612, -1.6491675994, 0.1401231146), atol=2e-9)
    assert run.energy[0] == pytest.approx(-29.43)
    assert np.ptp(run.energy) < 1e-8


def free_chain(bodies: int, random) -> da.Multibody:
    """A tree of bodies with general inertia and hinges, without gravity, floating."""
    model, found = da.Multibody(gravity=(0, 0, 0)), []
    for k in range(bodies):
        half = random.standard_normal((3, 5))
        euler = half @ half.T / 10
        body = model.body(
            f"b{k}", mass=random.uniform(1, 2), inertia=np.trace(euler) * np.eye(3) - euler,
            at=random.standard_normal(3), rotation=random.standard_normal(4),
        )  # fmt: skip
        if found:
            above = found[(k - 1) // 2]
            model.joint(f"j{k}", above, body, da.Revolute(random.standard_normal(3)), at=random.standard_normal(3))
        found.append(body)
    return model


@pytest.mark.parametrize("bodies", [3, pytest.param(15, marks=pytest.mark.long)])
def test_energy_momentum_keeps_energy_and_momenta_of_a_floating_tree(bodies):
    random = np.random.default_rng(4)
    model = free_chain(bodies, random)
    model.spring(model.bodies["b0"].point(0.1, 0, 0), model.bodies["b2"].point(0, 0.2, 0), 30.0, rest=0.3)
    rates = {f"j{k}": random.standard_normal() for k in range(1, bodies)}
    start = model.assemble(rates=rates, spin={"b0": (0.5, 0.2, -0.3)}, coordinates="directors")
    system = model.system("directors")
    assert system.provides("constraint_of")
    run = da.simulate(system, da.EnergyMomentum(), start.q0, start.v0, t=(0, 1), h=0.01)
    assert np.ptp(run.energy) < 1e-12 * abs(run.energy[0])
    parts = [run.body(f"b{k}") for k in range(bodies)]
    spin = sum(b.angular_momentum + np.cross(b.centre, b.momentum) for b in parts)
    size = max(1.0, np.max(np.abs(spin)))
    assert np.max(np.ptp(sum(b.momentum for b in parts), axis=0)) < 1e-12 * size
    # p, not v, carries the exact momentum where the velocities are only near the constraints
    assert np.max(np.ptp(angular_momentum(system, run), axis=0)) < 1e-12 * size


def angular_momentum(system, run):
    """sum x cross p_x + d cross p_d over all vectors of coordinates."""
    q, p = (part.reshape(len(run.t), -1, 3) for part in (run.q, run.p))
    return np.sum(np.cross(q, p), axis=1)
