"""The mathematical pendulum in Jacobi elliptic functions, to which several exact motions of the gallery lead.

    theta'' = -omega^2 sin(theta),      k^2 = (theta' / 2 omega)^2 + sin^2(theta / 2)

    k < 1, oscillation: sin(theta/2) = k sn(u, k^2),  theta' = 2 k omega cn(u, k^2),      u = omega t + u0
    k >= 1, rotation:   sin(theta/2) = sn(u, 1/k^2),  theta' = +-2 k omega dn(u, 1/k^2),  u = +-k omega t + u0

(Whittaker, Analytical Dynamics, section 44; NIST Digital Library of Mathematical Functions, 22.19(i).)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy


class Swing(NamedTuple):
    """The motion at given times: sin and cos of the angle, and its rate."""

    sine: np.ndarray
    cosine: np.ndarray
    rate: np.ndarray


def pendulum_swing(t, angle: float, rate: float, omega: float) -> Swing:
    """The angle and its rate at the times t, from (angle, rate) at t = 0."""
    t = np.asarray(t, dtype=np.float64)
    half = 0.5 * np.arctan2(np.sin(angle), np.cos(angle))
    scaled = rate / (2 * omega)
    k = np.hypot(scaled, np.sin(half))
    if k == 0.0:
        return Swing(np.zeros_like(t), np.ones_like(t), np.zeros_like(t))
    if k < 1.0:
        start = scipy.special.ellipkinc(np.arctan2(np.sin(half), scaled), k**2)
        sn, cn, dn, _ = scipy.special.ellipj(omega * t + start, k**2)
        half_sine, half_cosine, new_rate = k * sn, dn, 2 * k * omega * cn
    else:
        direction = np.sign(scaled) * k * omega
        start = scipy.special.ellipkinc(half, 1 / k**2)
        half_sine, half_cosine, dn, _ = scipy.special.ellipj(direction * t + start, 1 / k**2)
        new_rate = 2 * direction * dn
    return Swing(2 * half_sine * half_cosine, 1 - 2 * half_sine**2, new_rate)
