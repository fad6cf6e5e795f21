"""Three problems of optimal control with CasADi and Ipopt: Hermite-Simpson equations of the explicit ODE.

python plans_casadi.py PROBLEM STEPS     prints the cost, the seconds of the first and of another call, as JSON
"""

import json
import sys
import time

import casadi as ca
import numpy as np


def hermite_simpson(rate, cost, start, end, T, guess, inputs, steps):
    """The least cost of x' = rate(x, u) with u at nodes and midpoints; `guess` are states (steps + 1, ...).

    T is a number, or (least, greatest, guess) for the least time: then u is constant in each step, because on the
    singular arc of this problem values of single steps are not determined. Entries None of the end are free.
    """
    problem, n, free = ca.Opti(), len(start), isinstance(T, tuple)
    x, middle = problem.variable(n, steps + 1), problem.variable(inputs, steps)
    u = middle if free else problem.variable(inputs, steps + 1)
    length = problem.variable() if free else T
    first, last = (middle, middle) if free else (u[:, :-1], u[:, 1:])
    one, control, late = ca.MX.sym("x", n), ca.MX.sym("u", inputs), ca.MX.sym("y", n)
    mid, other, h = ca.MX.sym("m", inputs), ca.MX.sym("w", inputs), ca.MX.sym("h")
    begin, after = rate(one, control), rate(late, other)
    inside = (one + late) / 2 + h / 8 * (begin - after)
    defect = late - one - h / 6 * (begin + 4 * rate(inside, mid) + after)
    total = h / 6 * (cost(control) + 4 * cost(mid) + cost(other))
    step = ca.Function("step", [one, control, late, mid, other, h], [defect, total]).map(steps)
    defects, costs = step(x[:, :-1], first, x[:, 1:], middle, last, ca.repmat(length / steps, 1, steps))
    problem.subject_to(ca.vec(defects) == 0)
    problem.minimize(length if free else ca.sum2(costs))
    problem.subject_to(x[:, 0] == ca.DM(start))
    for k, value in enumerate(end):
        if value is not None:
            problem.subject_to(x[k, steps] == value)
    problem.set_initial(x, np.asarray(guess).T)
    if free:
        problem.subject_to(problem.bounded(T[0], length, T[1]))
        problem.set_initial(length, T[2])
        problem.set_initial(middle, 1.0)
    problem.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes", "tol": 1e-11})
    return problem.solve()


def orbit(steps):
    T, turn, radius = 5.0, 3.5, 1.5
    s = np.linspace(0.0, 1.0, steps + 1)[:, None]
    path = (1 + (radius - 1) * s) * np.concatenate([np.cos(turn * s), np.sin(turn * s)], axis=1)
    end = [*path[-1], -np.sin(turn) / np.sqrt(radius), np.cos(turn) / np.sqrt(radius)]
    guess = np.concatenate([path, np.gradient(path, T / steps, axis=0)], axis=1)
    return hermite_simpson(
        lambda x, u: ca.vertcat(x[2:], u - x[:2] / ca.sumsqr(x[:2]) ** 1.5), lambda u: ca.dot(u, u),
        [1.0, 0.0, 0.0, 1.0], end, T, guess, 2, steps,
    )  # fmt: skip


def brachistochrone(steps):
    def cycloid(t):
        return [t - np.sin(t), 1 - np.cos(t), 1 - np.cos(t), np.sin(t)]

    t = np.linspace(0.5, 2.5, steps + 1)
    return hermite_simpson(
        lambda x, u: ca.vertcat(x[2:], u * x[3], 1 - u * x[2]), lambda u: u**2, cycloid(0.5),
        [*cycloid(2.5)[:2], None, None], (0.5, 10.0, 2.0), np.stack(cycloid(t), axis=1), 1, steps,
    )  # fmt: skip


def oscillator(steps):
    guess = np.stack([np.linspace(0.0, 1.0, steps + 1), np.zeros(steps + 1)], axis=1)
    return hermite_simpson(
        lambda x, u: ca.vertcat(x[1], u - x[0]), lambda u: u**2 / 2, [0.0, 0.0], [1.0, 0.0], 2.0, guess, 1, steps
    )


PROBLEMS = {"oscillator": oscillator, "orbit": orbit, "brachistochrone": brachistochrone}

if __name__ == "__main__":
    solve, steps, seconds = PROBLEMS[sys.argv[1]], int(sys.argv[2]), []
    for _ in range(int(sys.argv[3])):
        begun = time.process_time()
        found = solve(steps)
        seconds.append(time.process_time() - begun)
    problem = found.opti
    lower, upper, rows = (np.asarray(found.value(part)) for part in (problem.lbg, problem.ubg, problem.g))
    defect = float(np.max(np.abs(rows - lower)[lower == upper]))
    print(json.dumps({"cost": float(found.value(problem.f)), "seconds": seconds, "defect": defect}))
