"""Whole robots against MuJoCo: kinematics, energies and mass matrices of random poses to 1e-12, motions to 1e-7.

Floating bases and balls have directors here and quaternions there. MuJoCo's own derivatives of places and rotations
lead from its velocities to the rates of directors, so that mass matrices can be compared entry by entry.
Needs the package mujoco: `pip install mujoco`.
"""

import numpy as np
import pytest
from mjcf_robots import ROBOTS

import dalembert as da
from dalembert.multibody import GROUND
from dalembert.multibody.mjcf import from_compiled
from dalembert.stepping import Family, flat_parameters
from dalembert.trajectory.mechanism import _observed

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.oracle


class Twin:
    """A robot in MuJoCo, and its coordinates in a system of ours at the same state."""

    def __init__(self, text: str, coordinates: str, gravity: bool = True) -> None:
        self.compiled = mujoco.MjModel.from_xml_string(text)
        self.compiled.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        if not gravity:
            self.compiled.opt.gravity[:] = 0.0
        self.model = from_compiled(self.compiled)
        self.system = self.model.system(coordinates, limits=False)
        self.data = mujoco.MjData(self.compiled)
        # bodies between the joints of one body are ours alone
        self.frames = {frame.body: frame for frame in reversed(self.system.frames) if " behind " not in frame.name}

    def at(self, q, v) -> None:
        self.data.qpos[:], self.data.qvel[:] = q, v
        mujoco.mj_forward(self.compiled, self.data)

    def pose(self, body: int):
        """Centre of mass and directors (columns) of a body of ours, by MuJoCo, and its number there."""
        frame = self.frames[body]
        number = self.compiled.body(frame.name).id
        turn = self.data.xmat[number].reshape(3, 3)
        directors = turn @ np.stack([axis.array() for axis in frame.frame.axes])
        return self.data.xpos[number] - directors @ frame.frame.position.array(), directors, number

    def coordinates(self):
        """Our q, and the matrix B with v = B qvel."""
        q, B = np.zeros(self.system.size), np.zeros((self.system.size, self.compiled.nv))
        for placement in self.system.plan:
            start = placement.start
            if placement.how == "coordinates":
                joint = self.compiled.joint(self.system.joints[placement.joint].name)
                q[start] = self.data.qpos[joint.qposadr[0]] - self.compiled.qpos0[joint.qposadr[0]]
                B[start, joint.dofadr[0]] = 1.0
                continue
            x, directors, number = self.pose(placement.body)
            moves, turns = np.zeros((3, self.compiled.nv)), np.zeros((3, self.compiled.nv))
            mujoco.mj_jac(self.compiled, self.data, moves, turns, x, number)
            if placement.how == "free":
                q[start : start + 3], B[start : start + 3] = x, moves
                start += 3
            for k in self.system.bodies[placement.body].kept:
                d = directors[:, k]
                q[start : start + 3] = d
                B[start : start + 3] = np.cross(turns.T, d).T
                start += 3
        for k, (number, _) in enumerate(self.system.followed_coordinates):  # angles of joints with rotors
            joint, place = self.compiled.joint(self.system.joints[number].name), self.system._placed_size + k
            q[place] = self.data.qpos[joint.qposadr[0]] - self.compiled.qpos0[joint.qposadr[0]]
            B[place, joint.dofadr[0]] = 1.0
        return q, B

    def mass(self) -> np.ndarray:
        found = np.zeros((self.compiled.nv, self.compiled.nv))
        mujoco.mj_fullM(self.compiled, self.data, found)
        return found

    def observed(self, name: str, q, v) -> np.ndarray:
        vectors = np.broadcast_to(flat_parameters(self.system), (len(q), Family(self.system).size))
        return _observed(Family(self.system), name)(np.zeros(len(q)), q, v, vectors)


def random_state(compiled, random):
    """Any pose: hinges up to 2 rad, slides up to 0.2, quaternions of all directions."""
    q, v = np.zeros(compiled.nq), random.standard_normal(compiled.nv)
    for j in range(compiled.njnt):
        at, kind = int(compiled.jnt_qposadr[j]), int(compiled.jnt_type[j])
        if kind in (0, 1):
            place = at + 3 if kind == 0 else at
            q[at:place] = random.standard_normal(place - at)
            turn = random.standard_normal(4)
            q[place : place + 4] = turn / np.linalg.norm(turn)
        else:
            q[at] = random.uniform(-2, 2) * (1.0 if kind == 3 else 0.1)
    return q, v


@pytest.mark.parametrize("coordinates", ["joints", "directors"])
@pytest.mark.parametrize("name", ROBOTS)
def test_twenty_random_poses(name, coordinates):
    twin, random = Twin(ROBOTS[name], coordinates), np.random.default_rng(0)
    n, kinetic = twin.compiled.nv, len(twin.system.bodies) + len(twin.system.armature_joints)
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    for _ in range(20):
        twin.at(*random_state(twin.compiled, random))
        q, B = twin.coordinates()
        # T of sums of two unit velocities gives every entry of the mass matrix
        sums = np.zeros((len(pairs), n))
        for k, (i, j) in enumerate(pairs):
            sums[k, i] += 1.0
            sums[k, j] += 1.0
        v = np.concatenate([twin.data.qvel[None] @ B.T, sums @ B.T])
        energies = twin.observed("energies", np.broadcast_to(q, v.shape), v)
        found = np.sum(energies[:, :kinetic], axis=1)
        mass, diagonal = np.zeros((n, n)), np.zeros(n)
        for (i, j), T in zip(pairs, found[1:], strict=True):
            if i == j:
                diagonal[i] = T / 4  # T(2 e_i) = 2 M_ii
        for (i, j), T in zip(pairs, found[1:], strict=True):
            mass[i, j] = mass[j, i] = 2 * diagonal[i] if i == j else T - diagonal[i] - diagonal[j]
        theirs = twin.mass()
        np.testing.assert_allclose(mass, theirs, rtol=0, atol=1e-12 * np.max(np.abs(theirs)))
        assert found[0] == pytest.approx(twin.data.energy[1], rel=1e-12)
        potential = np.sum(energies[0, kinetic:])
        size = np.sum(np.abs(energies[0, kinetic:]))
        assert abs(potential - twin.data.energy[0]) < 1e-12 * size
        poses = twin.observed("poses", q[None], 0 * q[None]).reshape(2, -1, 4, 3)[0]
        for number, pose in enumerate(poses):
            if number not in twin.frames:
                continue
            x, directors, _ = twin.pose(number)
            np.testing.assert_allclose(pose[0], x, atol=1e-12)
            np.testing.assert_allclose(pose[1:].T, directors, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "coordinates", "method", "h"),
    [
        ("six axis arm", "joints", da.Galerkin(3), 5e-3),
        ("scara", "joints", da.Galerkin(3), 5e-3),
        ("two arms", "directors", da.Composition(da.Rattle(), "kahan-li6"), 2e-3),
        ("quadruped", "directors", da.Composition(da.Rattle(), "kahan-li6"), 2e-3),
        ("humanoid", "directors", da.Composition(da.Rattle(), "kahan-li6"), 2e-3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_motions(name, coordinates, method, h):
    """The centres of all bodies after one second, against RK4 with a small step."""
    twin = Twin(ROBOTS[name], coordinates)
    compiled, data = twin.compiled, twin.data
    compiled.opt.integrator, compiled.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    compiled.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    twin.at(compiled.qpos0, 0.5 * np.cos(np.arange(compiled.nv)))
    q, B = twin.coordinates()
    run = da.simulate(twin.system, method, q, B @ data.qvel, t=(0, 1), h=h)
    for _ in range(10_000):
        mujoco.mj_step(compiled, data)
    mujoco.mj_forward(compiled, data)
    for number in twin.frames.keys() - {GROUND}:
        element = twin.system.bodies[number]
        np.testing.assert_allclose(run.body(element.name).centre[-1], twin.pose(number)[0], atol=1e-7)
