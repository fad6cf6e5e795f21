"""exudyn: mass points and distance constraints, its implicit trapezoidal rule of index 2, steps of one size."""

from __future__ import annotations

import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813
import numpy as np
from measure import NotApplicable, Solver, main
from problems import GRAVITY, MASSES, RODS, SPRINGS, Problem

STEPS_A_SECOND = [50 * 2**k for k in range(14)]


def particles_of(mbs, problem: Problem, masses):
    """Mass points with their markers."""
    q, v = problem.q0, problem.v0
    if problem.kind == "pendulum":  # its plane is the x-z plane here
        q, v = np.array([q[0], 0.0, q[1]]), np.array([v[0], 0.0, v[1]])
    nodes, markers = [], []
    for mass, position, velocity in zip(masses, q.reshape(-1, 3), v.reshape(-1, 3), strict=True):
        nodes.append(
            mbs.AddNode(items.NodePoint(referenceCoordinates=list(position), initialVelocities=list(velocity)))
        )
        body = mbs.AddObject(items.MassPoint(mass=mass, nodeNumber=nodes[-1]))
        markers.append(mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body)))
    return nodes, markers


def chain(mbs, problem: Problem):
    nodes, markers = particles_of(mbs, problem, np.ones(max(1, problem.links)))
    for marker in markers:
        mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=[0, 0, -GRAVITY]))
    last = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=mbs.AddObject(items.ObjectGround())))
    for marker in markers:
        mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=[last, marker], distance=1.0))
        last = marker
    return nodes


def four(mbs, problem: Problem):
    nodes, markers = particles_of(mbs, problem, MASSES)
    for i, j, stiffness in SPRINGS:

        def force(mbs, t, number, stretch, rate, k, d, offset, stiffness=stiffness):
            length = 1.0 + stretch
            return stiffness * (length**2 - 1.0) * length

        mbs.AddObject(
            items.ObjectConnectorSpringDamper(
                markerNumbers=[markers[i], markers[j]], referenceLength=1.0, springForceUserFunction=force
            )
        )
    for i, j in RODS:
        mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=[markers[i], markers[j]], distance=1.0))
    return nodes


MODELS = {"pendulum": chain, "chain": chain, "four": four}


class Exudyn(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"trapezoidal rule, index 2": STEPS_A_SECOND}
        self.written_by_user = (MODELS[problem.kind], particles_of)

    def system(self):
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        nodes = MODELS[self.problem.kind](mbs, self.problem)
        mbs.Assemble()
        return container, mbs, nodes

    def solve(self, mbs, setting: int, end: float):
        options = exu.SimulationSettings()
        options.timeIntegration.numberOfSteps = round(setting * end)
        options.timeIntegration.endTime = end
        options.solution.file.write = False
        options.timeIntegration.verboseMode = 0
        options.timeIntegration.newton.relativeTolerance = 1e-10
        options.timeIntegration.newton.absoluteTolerance = 1e-12
        options.timeIntegration.newton.useModifiedNewton = self.problem.links > 50
        if self.problem.links > 50:
            options.linearSolverType = exu.LinearSolverType.EigenSparse
        mbs.SolveDynamic(options, solverType=exu.DynamicSolverType.TrapezoidalIndex2, showHints=False)

    def state(self, mbs, nodes):
        kinds = (exu.OutputVariableType.Position, exu.OutputVariableType.Velocity)
        q, v = (np.array([mbs.GetNodeOutput(n, kind) for n in nodes]) for kind in kinds)
        if self.problem.kind == "pendulum":
            q, v = q[:, [0, 2]], v[:, [0, 2]]
        return q.ravel(), v.ravel()

    def prepare(self, method, setting):
        import time

        def run():
            _keep, mbs, nodes = self.system()
            begun = time.perf_counter()
            self.solve(mbs, setting, self.problem.end)
            return time.perf_counter() - begun, self.state(mbs, nodes)[0]

        return run

    def states(self, method, setting, times):
        rows = [(self.problem.q0, self.problem.v0)]
        _keep, mbs, nodes = self.system()

        def note(mbs, t):
            if t >= times[min(len(rows), len(times) - 1)] - 1e-9:
                rows.append(self.state(mbs, nodes))
            return True

        mbs.SetPostStepUserFunction(note)
        self.solve(mbs, setting, self.problem.end)
        q, v = zip(*rows, strict=True)
        return np.array(q), np.array(v)


def make(problem: Problem) -> Solver:
    if problem.kind == "particles":
        raise NotApplicable("no general nonholonomic constraint")
    if problem.kind == "ball":
        raise NotApplicable("contact by penalty only")
    return Exudyn(problem)


if __name__ == "__main__":
    main(make, exu.__version__)
