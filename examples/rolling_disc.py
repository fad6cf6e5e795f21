"""A coin that rolls without slipping, and leans over: two holonomic and two nonholonomic constraints.

python examples/rolling_disc.py [steps]     writes rolling_disc.png
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da
from dalembert.gallery import RollingDisc

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500

disc = RollingDisc()
lean, precession = jnp.asarray(1.2), 0.8  # angle of the axis to the vertical; turns about the vertical


def start(tumble):
    """On a circle at a constant lean for tumble = 0; otherwise falling over a little."""
    axis = jnp.array([0.0, -jnp.sin(lean), jnp.cos(lean)])
    level = jnp.array([0.0, jnp.cos(lean), jnp.sin(lean)])
    w = disc.steady_spin(lean, precession) * axis + precession * jnp.sin(lean) * level
    return disc.rolling(lean, w + jnp.array([tumble, 0.0, 0.0]))


for tumble in (0.0, 0.4):
    q0, v0 = start(tumble)
    run = da.simulate(disc, da.gauss_spark(2), q0, v0, t=(0, 0.01 * steps), h=0.01)
    slip = jax.vmap(disc.nonholonomic)(run.t, run.q, run.v)
    print(f"height of the centre {run.q[:, 2].min():.3f} to {run.q[:, 2].max():.3f}, ", end="")
    print(f"slip below {np.max(np.abs(slip)):.0e}, energy kept to {np.ptp(run.energy):.0e}")
run.plot("rolling_disc.png")
