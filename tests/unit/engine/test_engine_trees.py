"""Trees and nets in any position are alike from body to body: they fall into loops, or into a band."""

import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.trees_and_nets import Net
from engine_runners import functions_and_start

import dalembert as da
from dalembert.engine import EngineOptions, choose_engine
from dalembert.engine.runners.sparse import SparseRun
from dalembert.engine.step.array_step import build_array_step

BODIES = 127
PARENT = (np.arange(1, BODIES) - 1) // 2
DIRECTIONS = np.random.default_rng(0).normal(size=(BODIES, 3))


class Tree(da.System):
    """Every body hangs on two rods from another one, in any direction; nothing holds the first."""

    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[2::3].sum()

    def holonomic(self, t, q):
        r = q.reshape(-1, 3)
        return 0.5 * (jnp.sum((r[1:] - r[PARENT]) ** 2, axis=1) - 1.0)

    def start(self):
        q = np.zeros((BODIES, 3))
        for body, parent in enumerate(PARENT, start=1):
            q[body] = q[parent] + DIRECTIONS[body] / np.linalg.norm(DIRECTIONS[body])
        return da.gallery.Start(q.ravel(), np.zeros(3 * BODIES), 0.1, 0.001)


@pytest.mark.parametrize("h", [0.001, 0.0004, -0.0007])
def test_all_bodies_of_a_tree_are_eliminated_alike(h):
    """Of momenta and multipliers in one equation it is the momenta that are substituted, everywhere: their coefficients
    never change. Which multipliers have a steady one depends on where a body happens to be."""
    functions, state, parameters = functions_and_start(Tree(), da.Rattle())
    step = build_array_step(functions, state, 0.0, h, parameters)
    assert {functions.unknowns[j].split("[")[0] for j in step.unknowns} == {"L0"}
    assert step.statistics["newton_unknowns"] == [BODIES - 1]


@pytest.mark.parametrize("method", [da.Rattle(), da.Composition(da.Rattle(), "suzuki4")])
def test_a_net_is_compiled_and_agrees_with_the_sparse_engine(method):
    functions, state, parameters = functions_and_start(Net(side=12), method)
    native = choose_engine(functions, state, 0.0, 0.01, parameters, EngineOptions(engine="native"))
    assert native.report()["code"] == "rolled"
    sparse = SparseRun(functions, True).begin("asked for")
    ends = [one.run(one.first_carry(state), 0.0, 0.01, 20, 10, parameters, 20).saved for one in (native, sparse)]
    assert ends[0].shape == ends[1].shape == (2, len(state))
    moved = functions.n_summed  # without multipliers, of which roundoff is divided by h^2
    np.testing.assert_allclose(ends[0][:, :moved], ends[1][:, :moved], atol=1e-11)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


def test_of_the_two_bands_of_a_net_the_linear_one_is_not_iterated():
    """The velocities of RATTLE, once positions are known: where steps go on from each other one solution is enough."""
    functions, state, parameters = functions_and_start(Net(side=12), da.Rattle())
    native = choose_engine(functions, state, 0.0, 0.001, parameters, EngineOptions(engine="native"))
    blocks = native.step.reduced.blocks
    assert all(block.factored is not None for block in blocks)
    assert [block.linear for block in blocks] == [False, True]
    chunk = native.run(native.first_carry(state), 0.0, 0.001, 40, 10, parameters, 40)
    assert (
        chunk.iterations[-1] < 25
    )  # of ten steps: ten for velocities, some more for positions; 30 if both are iterated
