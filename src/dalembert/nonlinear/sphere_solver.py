"""The impulses between many spheres: sweeps that form no matrix, accelerated. Importing this module imports numba.

One sweep takes every contact in turn and gives it the impulse that answers its own velocity, all others being as they
are (projected Gauss-Seidel, in closed form: see `sphere_contacts`). Two sweeps, forth and back, are one iteration of a
fixed point, which Anderson's method accelerates (`anderson`): what holds a heap is handed on from sphere to sphere, a
contact a sweep, and so takes thousands of plain sweeps.

Normals are those at the middle of the step, which depend on the impulses; they are fixed while the contacts are solved
and found anew after it, until the laws hold in the geometry that they lead to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .anderson import empty_memory, go_on
from .compilation import compiled
from .sphere_contacts import geometry, mobilities

#: The energy by which residuals are measured is at most so many times that of the free velocities.
LARGEST_GROWTH = 1e6
#: Residuals of earlier iterates that are combined.
DEPTH = 6
#: The residual is computed after every iteration of so many sweeps, and later every so many sweeps.
ALWAYS, SELDOM = 20, 8
#: In one geometry the residual is made so much smaller before the geometry is found anew, but not below this part of
#: the aim.
LESS, PART = 1e-2, 0.5
#: The numbers of a contact, side by side in memory: normal, rho U_n-, mu, a, b, and of its first and second body the
#: radius r, 1/m and r/I. A plane has r = 1/m = r/I = 0.
N_X, N_Y, N_Z, EXTRA, MU, A, B, R_1, R_2, M_1, M_2, T_1, T_2 = range(13)


class Contacts(NamedTuple):
    """The contacts of a step in one geometry. Velocities, (N + 1, 6), have rows (v, w); the last is that of planes."""

    first: np.ndarray  # (contacts,), rows of bodies; unsigned, which spares numba a look at their sign
    second: np.ndarray
    numbers: np.ndarray  # (contacts, 13)


@compiled
def contacts_of(pairs, bodies, coefficient):
    """All that does not depend on the geometry."""
    count, spheres = len(pairs), len(bodies.radius)
    first, second, numbers = np.empty(count, np.uint64), np.empty(count, np.uint64), np.zeros((count, 13))
    numbers[:, A], numbers[:, B] = mobilities(pairs, bodies)
    for c in range(count):
        i, j = pairs[c]
        first[c], second[c], numbers[c, MU] = i if i >= 0 else spheres, j, coefficient
        if i >= 0:
            numbers[c, R_1], numbers[c, M_1] = bodies.radius[i], bodies.inverse_mass[i]
            numbers[c, T_1] = bodies.radius[i] * bodies.inverse_inertia[i]
        numbers[c, R_2], numbers[c, M_2] = bodies.radius[j], bodies.inverse_mass[j]
        numbers[c, T_2] = bodies.radius[j] * bodies.inverse_inertia[j]
    return Contacts(first, second, numbers)


@compiled
def _relative(data, v_1, v_2):
    """U of one contact by its numbers and the rows of its bodies."""
    r_1, r_2 = data[R_1], data[R_2]
    x, y, z = r_2 * v_2[3] + r_1 * v_1[3], r_2 * v_2[4] + r_1 * v_1[4], r_2 * v_2[5] + r_1 * v_1[5]
    return (
        v_2[0] - v_1[0] - (y * data[N_Z] - z * data[N_Y]),
        v_2[1] - v_1[1] - (z * data[N_X] - x * data[N_Z]),
        v_2[2] - v_1[2] - (x * data[N_Y] - y * data[N_X]),
    )


@compiled
def _push(data, v_1, v_2, x, y, z):
    """The change of the velocities by an impulse on the second body of a contact, and its opposite on the first."""
    n_x, n_y, n_z = data[N_X], data[N_Y], data[N_Z]
    p, q, r = n_y * z - n_z * y, n_z * x - n_x * z, n_x * y - n_y * x  # n x P
    m, turn = data[M_2], data[T_2]
    v_2[0] += m * x
    v_2[1] += m * y
    v_2[2] += m * z
    v_2[3] -= turn * p
    v_2[4] -= turn * q
    v_2[5] -= turn * r
    m, turn = data[M_1], data[T_1]
    v_1[0] -= m * x
    v_1[1] -= m * y
    v_1[2] -= m * z
    v_1[3] -= turn * p
    v_1[4] -= turn * q
    v_1[5] -= turn * r


@compiled
def with_impulses(contacts, impulse, free):
    """The velocities that impulses make of the free ones."""
    velocity = free.copy()
    for c in range(len(impulse)):
        v_1, v_2 = velocity[contacts.first[c]], velocity[contacts.second[c]]
        _push(contacts.numbers[c], v_1, v_2, impulse[c, 0], impulse[c, 1], impulse[c, 2])
    return velocity


@compiled
def put_into_cones(contacts, impulse):
    """Impulses, (contacts, 3), turned to new normals; what pulls, or pushes sideways more than friction, is cut."""
    for c in range(len(impulse)):
        data, p = contacts.numbers[c], impulse[c]
        n_x, n_y, n_z = data[N_X], data[N_Y], data[N_Z]
        along = n_x * p[0] + n_y * p[1] + n_z * p[2]
        x, y, z = p[0] - along * n_x, p[1] - along * n_y, p[2] - along * n_z
        along, length = max(along, 0.0), np.sqrt(x * x + y * y + z * z)
        part = min(1.0, data[MU] * along / length) if length > 0.0 else 0.0
        p[0], p[1], p[2] = along * n_x + part * x, along * n_y + part * y, along * n_z + part * z


@compiled
def _wanted(data, p, u_x, u_y, u_z, a, b):
    """The impulse of one contact, now p, that answers its velocity, all others being as they are.

    Many arguments: compiled by numba, where a tuple for each contact would cost what the arithmetic does.
    """
    n_x, n_y, n_z, p_x, p_y, p_z = data[N_X], data[N_Y], data[N_Z], p[0], p[1], p[2]
    u_n, p_n = u_x * n_x + u_y * n_y + u_z * n_z, p_x * n_x + p_y * n_y + p_z * n_z
    new = max(p_n - (u_n + data[EXTRA]) / a, 0.0)
    x = p_x - p_n * n_x - (u_x - u_n * n_x) / b
    y = p_y - p_n * n_y - (u_y - u_n * n_y) / b
    z = p_z - p_n * n_z - (u_z - u_n * n_z) / b
    square, limit = x * x + y * y + z * z, data[MU] * new
    if square > limit * limit:
        part = limit / np.sqrt(square)
        x, y, z = part * x, part * y, part * z
    return new * n_x + x, new * n_y + y, new * n_z + z


@compiled
def sweep_spheres(contacts, impulse, velocity, sweeps):
    """Gauss-Seidel over the contacts, forth and back by turns; `impulse` and `velocity` are overwritten."""
    count = len(impulse)
    for done in range(sweeps):
        for m in range(count):
            c = np.uint64(m if done % 2 == 0 else count - 1 - m)
            data, p = contacts.numbers[c], impulse[c]
            v_1, v_2 = velocity[contacts.first[c]], velocity[contacts.second[c]]
            u_x, u_y, u_z = _relative(data, v_1, v_2)
            x, y, z = _wanted(data, p, u_x, u_y, u_z, data[A], data[B])
            d_x, d_y, d_z = x - p[0], y - p[1], z - p[2]
            if d_x != 0.0 or d_y != 0.0 or d_z != 0.0:
                _push(data, v_1, v_2, d_x, d_y, d_z)
                p[0], p[1], p[2] = x, y, z


@compiled
def residual_of_spheres(contacts, impulse, velocity, size):
    """The largest |x - P(x - u)| over the square root of an energy, as `friction_residual` measures it, with s^2 the
    mean of a, b, b: x = s P, u = U / s, and `size` is g = max |U_free / s|."""
    worst, largest = 0.0, 0.0
    for c in range(len(impulse)):
        data, p = contacts.numbers[c], impulse[c]
        square = (data[A] + 2.0 * data[B]) / 3.0
        u_x, u_y, u_z = _relative(data, velocity[contacts.first[c]], velocity[contacts.second[c]])
        x, y, z = _wanted(data, p, u_x, u_y, u_z, square, square)
        s = np.sqrt(square)
        worst = max(worst, s * abs(x - p[0]), s * abs(y - p[1]), s * abs(z - p[2]))
        largest = max(largest, s * abs(p[0]), s * abs(p[1]), s * abs(p[2]))
    return worst / np.sqrt(min(max(size * largest, size**2), LARGEST_GROWTH * size**2))


@compiled
def size_of(contacts, free):
    """g = max |U_free / s|, or 1 where nothing moves."""
    size = 0.0
    for c in range(len(contacts.numbers)):
        data = contacts.numbers[c]
        s = np.sqrt((data[A] + 2.0 * data[B]) / 3.0)
        u_x, u_y, u_z = _relative(data, free[contacts.first[c]], free[contacts.second[c]])
        size = max(size, abs(u_x) / s, abs(u_y) / s, abs(u_z) / s, abs(data[EXTRA]) / s)
    return size if size > 0.0 else 1.0


@compiled
def solve_spheres(contacts, impulse, free, aim, most):
    """Accelerated sweeps until the residual is at most `aim`, or until there were `most` of them; `impulse` is
    overwritten. Gives the velocities, the residual, and the sweeps taken."""
    scales = np.repeat(np.sqrt((contacts.numbers[:, A] + 2.0 * contacts.numbers[:, B]) / 3.0), 3)
    memory, size = empty_memory(DEPTH, impulse.size), size_of(contacts, free)
    x, image, taken, done = impulse.copy(), np.empty_like(impulse), impulse.copy(), 0
    velocity = with_impulses(contacts, x, free)
    least = residual = residual_of_spheres(contacts, x, velocity, size)
    while residual > aim and done < most:
        image[:] = x
        sweep_spheres(contacts, image, velocity, 2)
        done += 2
        go_on(memory, x.ravel(), image.ravel(), scales)
        put_into_cones(contacts, x)
        velocity = with_impulses(contacts, x, free)
        if done < ALWAYS or done % SELDOM == 0 or done >= most:
            residual = residual_of_spheres(contacts, x, velocity, size)
            if residual < least:
                least = residual
                taken[:] = x
    impulse[:] = taken
    return with_impulses(contacts, impulse, free), least, done


@compiled
def improve(pairs, centres, start, free, impulse, law, bodies, step, aim, most):
    """Impulses in the geometry of the middle of the step that they lead to; `impulse` is overwritten. `law` is
    (restitution, friction), `step` is (h, theta).

    Gives normals and rho U_n- in that geometry, the velocities at the end, the residual there, and the sweeps taken.

    Many arguments: compiled by numba, which takes arrays and numbers, no records of its callers.
    """
    spheres, (restitution, coefficient), (h, theta) = len(centres), law, step
    contacts, still = contacts_of(pairs, bodies, coefficient), np.zeros((1, 6))
    start, free = np.concatenate((start, still)), np.concatenate((free, still))
    normal, _ = geometry(pairs, centres, bodies)
    contacts.numbers[:, : N_Z + 1] = normal
    end, middle, done = with_impulses(contacts, impulse, free), np.empty_like(centres), 0
    while True:
        for i in range(spheres):
            for k in range(3):
                middle[i, k] = centres[i, k] + theta * h * ((1.0 - theta) * start[i, k] + theta * end[i, k])
        normal, _ = geometry(pairs, middle, bodies)
        contacts.numbers[:, : N_Z + 1] = normal
        for c in range(len(pairs)):
            data = contacts.numbers[c]
            x, y, z = _relative(data, start[contacts.first[c]], start[contacts.second[c]])
            data[EXTRA] = restitution * (x * data[N_X] + y * data[N_Y] + z * data[N_Z])
        put_into_cones(contacts, impulse)
        end = with_impulses(contacts, impulse, free)
        residual = residual_of_spheres(contacts, impulse, end, size_of(contacts, free))
        if residual <= aim or done >= most:
            return (normal, contacts.numbers[:, EXTRA].copy()), end[:spheres].copy(), residual, done
        end, _, more = solve_spheres(contacts, impulse, free, max(PART * aim, LESS * residual), most - done)
        done += more
