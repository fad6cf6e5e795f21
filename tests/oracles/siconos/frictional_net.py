"""Four particles joined by linear springs fall on a rough floor: the same problem in siconos (python3-siconos).

Run with the interpreter siconos was built for; prints positions, velocities and impulses of all steps as JSON.
"""

import json
import sys

import numpy as np
import siconos.kernel as sk
import siconos.numerics as sn

data = json.load(sys.stdin)
mass, stiffness, gravity = np.array(data["mass"]), np.array(data["stiffness"]), data["gravity"]
h, end = data["h"], data["end"]
n = 3 * len(mass)
body = sk.LagrangianLinearTIDS(data["q0"], data["v0"], np.diag(np.repeat(mass, 3)))
body.setKPtr(np.kron(stiffness, np.eye(3)))
body.setFExtPtr(np.kron(-gravity * mass, [0.0, 0.0, 1.0]))
model = sk.NonSmoothDynamicalSystem(0.0, end)
model.insertDynamicalSystem(body)
contacts = []
for k in range(len(mass)):
    directions = np.zeros((3, n))
    directions[0, 3 * k + 2] = directions[1, 3 * k] = directions[2, 3 * k + 1] = 1.0
    law = sk.NewtonImpactFrictionNSL(data["restitution"], 0.0, data["friction"], 3)
    contact = sk.Interaction(law, sk.LagrangianLinearTIR(directions))
    model.link(contact, body)
    contacts.append(contact)
problem = sk.FrictionContact(3)
problem.numericsSolverOptions().dparam[sn.SICONOS_DPARAM_TOL] = 1e-14
problem.numericsSolverOptions().iparam[sn.SICONOS_IPARAM_MAX_ITER] = 100000
run = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, h), sk.MoreauJeanOSI(0.5), problem)
run.setNewtonTolerance(1e-14)
q, v, impulse = [list(body.q())], [list(body.velocity())], []
while run.hasNextEvent():
    run.computeOneStep()
    q.append(list(body.q()))
    v.append(list(body.velocity()))
    impulse.append([list(contact.lambda_(1)) for contact in contacts])
    run.nextStep()
json.dump({"q": q, "v": v, "impulse": impulse}, sys.stdout)
