"""mujoco: joint coordinates, so that links cannot stretch; its Runge-Kutta method of order 4, steps of one size."""

from __future__ import annotations

import mujoco
import numpy as np
from measure import NotApplicable, Solver, main
from problems import BALL_GRAVITY, GRAVITY, Problem

STEPS_A_SECOND = [64 * 2**k for k in range(13)]
#: mujoco has no point masses; bodies get this moment of inertia, which moves the solution by about as much
INERTIA, SMALLER_INERTIA = 1e-9, 1e-13


def pendulum(problem: Problem) -> str:
    return f"""<mujoco><option gravity="0 0 -{GRAVITY}" integrator="RK4"/><worldbody><body>
      <joint type="hinge" axis="0 -1 0"/>
      <inertial pos="1 0 0" mass="1" diaginertia="{SMALLER_INERTIA} {SMALLER_INERTIA} {SMALLER_INERTIA}"/>
    </body></worldbody></mujoco>"""


def chain(problem: Problem) -> str:
    text = ""
    for _ in range(problem.links):
        text += f"""<body pos="{1 if text else 0} 0 0"><joint type="ball"/>
          <inertial pos="1 0 0" mass="1" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>"""
    text += "</body>" * problem.links
    return f"""<mujoco><option gravity="0 0 -{GRAVITY}" integrator="RK4"/><worldbody>{text}</worldbody></mujoco>"""


def ball(problem: Problem) -> str:
    return f"""<mujoco><option gravity="0 0 -{BALL_GRAVITY}" integrator="RK4"/><worldbody>
      <geom type="plane" size="1 1 1" solref="-100000 -136"/>
      <body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.1" mass="1" solref="-100000 -136"/></body>
    </worldbody></mujoco>"""


MODELS = {"pendulum": pendulum, "chain": chain, "ball": ball}


def turned(direction: np.ndarray) -> np.ndarray:
    """The quaternion that turns e_x to a direction."""
    half = np.array([1.0, 0.0, 0.0]) + direction
    half /= np.linalg.norm(half)
    return np.array([half[0], *np.cross([1.0, 0.0, 0.0], half)])


class Mujoco(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"Runge-Kutta of order 4": STEPS_A_SECOND}
        self.note = "contact is soft: no restitution, the ball penetrates" if problem.kind == "ball" else ""
        self.written_by_user = (MODELS[problem.kind], turned)
        self.model = mujoco.MjModel.from_xml_string(MODELS[problem.kind](problem))
        self.data = mujoco.MjData(self.model)

    def begin(self, setting: int) -> None:
        self.model.opt.timestep = 1.0 / setting
        mujoco.mj_resetData(self.model, self.data)
        if self.problem.kind != "chain":
            return
        links = np.diff(self.problem.q0.reshape(-1, 3), axis=0, prepend=np.zeros((1, 3)))
        rates = np.diff(self.problem.v0.reshape(-1, 3), axis=0, prepend=np.zeros((1, 3)))
        before, spin_before = np.array([1.0, 0, 0, 0]), np.zeros(3)
        for i, (link, rate) in enumerate(zip(links, rates, strict=True)):
            whole, inverse, relative, local = turned(link), np.zeros(4), np.zeros(4), np.zeros(3)
            spin = np.cross(link, rate)
            mujoco.mju_negQuat(inverse, before)
            mujoco.mju_mulQuat(relative, inverse, whole)
            back = np.zeros(4)
            mujoco.mju_negQuat(back, whole)
            mujoco.mju_rotVecQuat(local, spin - spin_before, back)
            self.data.qpos[4 * i : 4 * i + 4], self.data.qvel[3 * i : 3 * i + 3] = relative, local
            before, spin_before = whole, spin

    def state(self):
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        if self.problem.kind == "ball":
            return np.array([1.0 + self.data.qpos[0]]), self.data.qvel.copy()
        q = self.data.xipos[1:].copy()
        v = np.zeros_like(q)
        jacobian = np.zeros((3, self.model.nv))
        for i in range(len(q)):
            mujoco.mj_jacBodyCom(self.model, self.data, jacobian, None, i + 1)
            v[i] = jacobian @ self.data.qvel
        return (q[0, [0, 2]], v[0, [0, 2]]) if self.problem.kind == "pendulum" else (q.ravel(), v.ravel())

    def prepare(self, method, setting):
        import time

        def run():
            self.begin(setting)
            begun = time.perf_counter()
            mujoco.mj_step(self.model, self.data, round(self.problem.end * setting))
            return time.perf_counter() - begun, self.state()[0]

        return run

    def states(self, method, setting, times):
        self.begin(setting)
        rows, taken = [self.state()], 0
        for t in times[1:]:
            steps = round(t * setting)
            if steps > taken:
                mujoco.mj_step(self.model, self.data, steps - taken)
                taken = steps
            rows.append(self.state())
        q, v = zip(*rows, strict=True)
        return np.array(q), np.array(v)


def make(problem: Problem) -> Solver:
    if problem.kind == "four":
        raise NotApplicable("no springs of this law")
    if problem.kind == "particles":
        raise NotApplicable("no general nonholonomic constraint")
    if problem.links >= 1000:
        raise NotApplicable("a tree of 1000 ball joints is beyond its recursion")
    return Mujoco(problem)


if __name__ == "__main__":
    main(make, mujoco.__version__)
