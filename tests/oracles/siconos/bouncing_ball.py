"""The bouncing ball in siconos (Debian's python3-siconos); prints positions, velocities and impulses as JSON."""

import json
import sys

import numpy as np
import siconos.kernel as sk

data = json.load(sys.stdin)
ball = sk.LagrangianLinearTIDS([1.0], [0.0], np.eye(1))
ball.setFExtPtr([-data["gravity"]])
contact = sk.Interaction(sk.NewtonImpactNSL(data["restitution"]), sk.LagrangianLinearTIR(np.array([[1.0]])))
model = sk.NonSmoothDynamicalSystem(0.0, data["end"])
model.insertDynamicalSystem(ball)
model.link(contact, ball)
run = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, data["h"]), sk.MoreauJeanOSI(0.5), sk.LCP())
q, v, impulse = [ball.q()[0]], [ball.velocity()[0]], []
while run.hasNextEvent():
    run.computeOneStep()
    q.append(ball.q()[0])
    v.append(ball.velocity()[0])
    impulse.append(contact.lambda_(1)[0])
    run.nextStep()
json.dump({"q": q, "v": v, "impulse": impulse}, sys.stdout)
