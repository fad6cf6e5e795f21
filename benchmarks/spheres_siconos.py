"""The spheres of `spheres.py` in siconos; run by the system's Python, a problem in JSON on standard input."""

import json
import sys
import time

import numpy as np
import siconos.kernel as kernel
import siconos.numerics as numerics
from siconos.mechanics.collision import RigidBodyDS, SiconosBox, SiconosContactor, SiconosContactorSet, SiconosSphere
from siconos.mechanics.collision.bullet import SiconosBulletCollisionManager, SiconosBulletOptions

#: thickness and extent of floor and walls
THICK, LONG = 1.0, 6.0


def main() -> None:
    problem = json.load(sys.stdin)
    radius, width, h = problem["radius"], problem["width"], problem["h"]
    model, bodies = kernel.NonSmoothDynamicalSystem(0.0, problem["end"]), []
    inertia = 0.4 * radius**2
    for centre in problem["centres"]:
        body = RigidBodyDS([*centre, 1.0, 0.0, 0.0, 0.0], [0.0] * 6, 1.0, np.eye(3) * inertia)
        body.contactors().push_back(SiconosContactor(SiconosSphere(radius)))
        body.setFExtPtr([0.0, 0.0, -problem["gravity"]])
        model.insertDynamicalSystem(body)
        bodies.append(body)
    options = SiconosBulletOptions()
    options.worldScale = 1.0
    options.contactBreakingThreshold = 0.02 * radius
    options.perturbationIterations = options.minimumPointsPerturbationThreshold = 0
    manager = SiconosBulletCollisionManager(options)
    side, up = width / 2 + THICK / 2, LONG / 3
    walls, kept = [((0, 0, -THICK / 2), (LONG, LONG, THICK))], []
    for sign in (-1, 1):
        walls.append(((sign * side, 0, up), (THICK, LONG, LONG)))
        walls.append(((0, sign * side, up), (LONG, THICK, LONG)))
    for place, size in walls:
        contactors = SiconosContactorSet()
        contactors.push_back(SiconosContactor(SiconosBox(*size)))
        manager.insertStaticContactorSet(contactors, [*place, 1.0, 0.0, 0.0, 0.0])
        kept.append(contactors)
    manager.insertNonSmoothLaw(kernel.NewtonImpactFrictionNSL(0.0, 0.0, problem["friction"], 3), 0, 0)
    contact = kernel.FrictionContact(3, numerics.SICONOS_FRICTION_3D_NSGS)
    solver = contact.numericsSolverOptions()
    solver.iparam[0], solver.dparam[0] = 10_000, problem["tolerance"]
    contact.setMStorageType(1)  # sparse blocks, the quicker of its two
    simulation = kernel.TimeStepping(model, kernel.TimeDiscretisation(0.0, h))
    simulation.insertIntegrator(kernel.MoreauJeanOSI(0.5))
    simulation.insertNonSmoothProblem(contact)
    simulation.insertInteractionManager(manager)
    simulation.setNewtonOptions(kernel.SICONOS_TS_LINEAR)
    seconds, gap = 0.0, np.inf
    while simulation.hasNextEvent():
        begun = time.perf_counter()
        simulation.computeOneStep()
        simulation.nextStep()
        seconds += time.perf_counter() - begun
        gap = min(gap, _smallest_gap(np.array([body.q()[:3] for body in bodies]), radius, width))
    energy = sum(
        0.5 * np.dot(body.velocity()[:3], body.velocity()[:3])
        + 0.5 * inertia * np.dot(body.velocity()[3:], body.velocity()[3:])
        + problem["gravity"] * body.q()[2]
        for body in bodies
    )
    print(json.dumps({"seconds": seconds, "gap": float(gap), "energy": float(energy)}))


def _smallest_gap(centres: np.ndarray, radius: float, width: float) -> float:
    i, j = np.triu_indices(len(centres), 1)
    pairs = np.linalg.norm(centres[j] - centres[i], axis=1) - 2 * radius
    return min(pairs.min(), (centres[:, 2] - radius).min(), (width / 2 - radius - np.abs(centres[:, :2])).min())


if __name__ == "__main__":
    main()
