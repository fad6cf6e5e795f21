"""Known digits of rigid bodies with every method that fits, in both formulations: the heavy top, Bricard's linkage, a
falling chain; and motions in closed form: a free body, a top in steady precession.

Digits of the top are those of Euler's equations, by DOP853 at 3e-14; those of Bricard's linkage (IFToMM A04) come from
an independent integration.
"""

import numpy as np
import pytest
from scipy.special import ellipj

import dalembert as da
from dalembert.method import METHODS

FORMULATIONS = ("directors", "joints")
TOP = {
    0.2: (0.605550561377, 0.598957681795, -0.523983027430),
    0.5: (-0.702468297057, -0.021165184702, -0.711400257652),
    1.0: (0.173343964098, 0.640088592070, -0.748490791134),
}
TIP = (0.5105014612, -1.6491675994, 0.1401231146)


def heavy_top(coordinates):
    model = da.Multibody(name="HeavyTop")
    top = model.body("top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), com=(0, 1, 0))
    model.joint("tip", model.ground, top, da.Spherical(), at=(0, 0, 0))
    start = model.assemble(coordinates=coordinates, spin={"top": (0, 150, -4.61538)})
    return model.system(coordinates), start


@pytest.mark.long
@pytest.mark.parametrize("coordinates", FORMULATIONS)
def test_all_digits_of_the_heavy_top(coordinates):
    system, start = heavy_top(coordinates)
    run = da.simulate(system, da.gauss_spark(3), start.q0, start.v0, t=(0, 1), h=5e-4)
    for t, place in TOP.items():
        np.testing.assert_allclose(run.body("top").centre[round(t / 5e-4)], place, atol=1e-10)


#: The largest of three step sizes, by the order.
FIRST_STEP = {1: 2e-4, 2: 5e-4, 4: 5e-4, 6: 2e-3, 8: 4e-3, 12: 8e-3}
FITTING = [
    name for name, entry in METHODS.items()
    if "holonomic" in entry.method.handles and entry.method.order in FIRST_STEP
    and not isinstance(entry.method, da.EnergyMomentum | da.EventCapturing)
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("coordinates", FORMULATIONS)
@pytest.mark.parametrize("name", FITTING)
def test_orders_of_the_catalogue_on_the_heavy_top(name, coordinates):
    """The error at t = 0.2 falls with the claimed order or faster, down to the last digits of the reference."""
    system, start = heavy_top(coordinates)
    method, errors = METHODS[name].method, []
    for part in (1, 2, 4):
        h = FIRST_STEP[method.order] / part
        run = da.simulate(system, method, start.q0, start.v0, t=(0, 0.2), h=h, save_every=round(0.2 / h))
        errors.append(np.max(np.abs(run.body("top").centre[-1] - TOP[0.2])))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.max(slopes) > method.order - 0.3 or errors[-1] < 3e-12, (errors, slopes)
    assert errors[-1] < 0.1


@pytest.mark.long
@pytest.mark.parametrize("coordinates", FORMULATIONS)
@pytest.mark.parametrize(
    ("method", "h"),
    [
        (da.SymplecticEuler(), 2e-3),
        (da.Rattle(), 5e-3),
        (da.Shake(), 5e-3),
        (da.Galerkin(2), 2e-2),
        (da.Galerkin(3), 4e-2),
        (da.gauss_spark(2), 2e-2),
        (da.gauss_spark(3), 4e-2),
        (da.Composition(da.Rattle(), "kahan-li6"), 2e-2),
    ],
    ids=repr,
)
def test_orders_on_bricards_linkage(method, h, coordinates):
    """With a constraint that follows from the others; the digits end at 5e-11."""
    ready = da.gallery.mechanism("bricard")
    start, errors = ready.model.assemble(coordinates=coordinates), []
    system = ready.model.system(coordinates)
    for step in (h, h / 2):
        run = da.simulate(system, method, start.q0, start.v0, t=(0, 1), h=step, redundant="allow")
        bar = run.body("bar 3")
        place = bar.position[-1] + bar.rotation[-1] @ np.array([0, 0, 0.5])
        errors.append(np.max(np.abs(place - TIP)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=0.1) or errors[1] < 6e-11


@pytest.mark.long
@pytest.mark.parametrize(
    ("coordinates", "method", "band"),
    [("joints", da.Rattle(), 0.011), ("directors", da.Rattle(), 0.011), ("directors", da.EnergyMomentum(), 1e-12)],
)
def test_a_chain_of_ten_links_over_a_hundred_thousand_steps(coordinates, method, band):
    """The energy stays in a band (DART's variational integrator: 1.1 percent) without a slope."""
    model = da.Multibody(name="Chain")
    before = model.ground
    for k in range(10):
        shape = da.Box((0.04, 0.04, 0.2), at=(0, 0, -0.1))
        link = model.body(f"link {k}", density=1000, shape=shape, at=(0, 0, -0.2 * k))
        model.joint(f"hinge {k}", before, link, da.Revolute("y"))
        before = link
    start = model.assemble(coordinates=coordinates, **{"hinge 0": 1.0})
    run = da.simulate(
        model.system(coordinates), method, start.q0, start.v0, t=(0, 100), h=1e-3, save_every=20
    )  # fmt: skip
    kinetic = sum(values for name, values in run.energies().items() if name.startswith("kinetic"))
    change = (run.energy - run.energy[0]) / np.max(kinetic)
    assert np.ptp(change) < band
    assert abs(np.polyfit(run.t, change, 1)[0]) * 100 < 0.05 * band
    assert np.max(run.constraint) < 1e-13


def test_a_free_body_turns_as_jacobis_functions():
    """J1 < J2 < J3, from (A, 0, C): w = (A cn p t, B sn p t, C dn p t), near the separatrix, where it turns over."""
    model = da.Multibody(gravity=(0, 0, 0), name="Free")
    body = model.body("body", density=1000, shape=da.Box((0.3, 0.2, 0.05)), at=(0, 0, 0))
    j1, j2, j3 = np.diag(body.inertia)
    c = 2.0
    p = np.sqrt((j3 - j2) * (j3 - j1) / (j1 * j2)) * c
    a = 0.999 * np.sqrt(j3 * (j3 - j2) / (j1 * (j2 - j1))) * c
    b = (j3 - j1) * c * a / (j2 * p)
    modulus = (j2 - j1) * a * b / (j3 * c * p)
    assert 0.99 < modulus < 1
    start = model.assemble(spin={"body": (a, 0, c)})
    run = da.simulate(model.system(), da.gauss_spark(3), start.q0, start.v0, t=(0, 5), h=0.01)
    motion = run.body("body")
    found = np.einsum("nij,ni->nj", motion.rotation, motion.angular_velocity)
    sn, cn, dn, _ = ellipj(p * run.t, modulus)
    np.testing.assert_allclose(found, np.stack([a * cn, b * sn, c * dn], axis=1), atol=2e-9)
    assert found[:, 1].max() > 0.9 * b
    assert found[:, 0].min() < -0.9 * a  # it has turned over
    for conserved in (motion.momentum, motion.angular_momentum):
        assert np.max(np.ptp(conserved, axis=0)) < 1e-13 * np.linalg.norm(motion.angular_momentum[0])
    assert np.ptp(run.energy) < 1e-9 * run.energy[0]


@pytest.mark.parametrize("coordinates", FORMULATIONS)
def test_steady_precession_of_a_top(coordinates):
    """With the lean theta and the rate W of precession: J1 W^2 cos theta - J3 w3 W + m g l = 0."""
    mass, length, about, across, lean, rate = 2.0, 0.3, 0.02, 0.05, 0.7, 1.5
    pivot = across + mass * length**2
    spin = (mass * 9.81 * length + pivot * rate**2 * np.cos(lean)) / (about * rate)
    model = da.Multibody(name="Top")
    top = model.body("top", mass, (across, across, about), com=(0, 0, length), at=(0, 0, 0), rotation=(0, lean, 0))
    model.joint("tip", model.ground, top, da.Spherical(), at=(0, 0, 0))
    axis = np.array([np.sin(lean), 0, np.cos(lean)])
    turning = rate * np.array([0, 0, 1.0]) + (spin - rate * np.cos(lean)) * axis
    start = model.assemble(coordinates=coordinates, spin={"top": turning})
    run = da.simulate(model.system(coordinates), da.gauss_spark(3), start.q0, start.v0, t=(0, 0.5), h=1e-3)
    centre, angle = run.body("top").centre, rate * run.t
    wanted = length * np.stack([np.sin(lean) * np.cos(angle), np.sin(lean) * np.sin(angle),
                                np.full_like(angle, np.cos(lean))], axis=1)  # fmt: skip
    np.testing.assert_allclose(centre, wanted, atol=1e-9)
