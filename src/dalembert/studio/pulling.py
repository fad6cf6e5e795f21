"""A run in real time, in which a point is drawn towards the pointer.

The pull is a spring between a point x_k(q) of the system and a place a, with critical damping of what it moves::

    F(q, v) = x_k,q^T (kappa (a - x_k) - c x_k,q v)

added to the forces of the system, so that every method treats it like any other force. kappa and c are parameters of
the same family of systems: what is compiled once serves all points and places.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..method import METHODS
from ..problem import AbstractSystem
from .exhibit import Exhibit
from .messages import PullRequest

_ = (dataclasses, functools, time, eqx, jax, jnp, np, METHODS, AbstractSystem)


def pull(
    exhibit: Exhibit, request: PullRequest, check: Callable[[float], None], send: Callable[[str, Any], None]
) -> None:
    raise InputError("pulling is not there yet.")
