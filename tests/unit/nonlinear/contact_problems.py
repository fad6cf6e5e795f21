"""Problems of single steps of runs: W by blocks, b and the coefficients of friction, stored beside this file.

`python -m tests.unit.nonlinear.contact_problems` from the root of the repository makes them anew.
"""

from __future__ import annotations

import pathlib

import numpy as np

from dalembert.nonlinear import BlockMatrix

FOLDER = pathlib.Path(__file__).with_name("contact_problems")


def load(path: pathlib.Path) -> tuple[BlockMatrix, np.ndarray, np.ndarray]:
    """W, b, mu; the blocks below the diagonal are the transposes of those above."""
    with np.load(path) as stored:
        rows, columns, blocks, b, mu = (stored[name] for name in ("rows", "columns", "blocks", "b", "mu"))
    below = rows != columns
    all_rows, all_columns = np.concatenate([rows, columns[below]]), np.concatenate([columns, rows[below]])
    all_blocks = np.concatenate([blocks, np.swapaxes(blocks[below], 1, 2)])
    order = np.lexsort((all_columns, all_rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(all_rows, minlength=len(mu)))])
    return BlockMatrix(starts, all_columns[order].astype(np.int64), all_blocks[order]), b, mu


def store(name: str, W: BlockMatrix, b: np.ndarray, mu) -> None:
    """Keep what `load` reads."""
    rows = np.repeat(np.arange(len(W.starts) - 1), np.diff(W.starts))
    upper = rows <= W.columns
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(
        FOLDER / f"{name}.npz", rows=rows[upper].astype(np.int32), columns=W.columns[upper].astype(np.int32),
        blocks=W.blocks[upper], b=np.ravel(b), mu=np.broadcast_to(mu, len(W.starts) - 1),
    )  # fmt: skip


def make() -> None:
    """Take them out of runs."""
    from benchmarks.heaps import heap

    import dalembert as da
    from dalembert.nonlinear import sphere_contacts
    from dalembert.stepping import sphere_run

    for name, across, layers, friction, steps in (
        ("falling_spheres", 3, 5, 0.3, 50), ("resting_spheres", 3, 5, 0.3, 200), ("rough_spheres", 4, 4, 0.8, 150),
    ):  # fmt: skip
        system, centres = heap(across, layers, friction=friction)
        count, method = len(centres), da.MoreauJean(gamma=1.0)
        q0, v0 = np.concatenate([centres.ravel(), np.zeros(3 * count)]), np.zeros(6 * count)
        run = da.simulate(system, method, q0, v0, t=(0.0, 0.005 * steps), h=0.005, save_every=steps)
        work = sphere_run.SphereSteps(system, method, 0.005)
        centres, velocity = run.q[-1].reshape(2, count, 3)[0], np.column_stack(run.v[-1].reshape(2, count, 3))
        pairs = work.closed(centres, velocity)
        normal, _ = sphere_contacts.geometry(pairs, centres, work.bodies)
        free = velocity + 0.005 * np.array([0, 0, -9.81, 0, 0, 0])
        W, b, _ = work.problem(pairs, normal, np.zeros(len(pairs)), free)
        store(name, W, b, friction)

    _of_steps_with_gaps()


def _of_steps_with_gaps() -> None:
    """The largest problem that a run of each of these systems solves."""
    import dalembert as da
    from dalembert.nonlinear import block_matrix
    from dalembert.stepping import contact_run, contact_step

    taken: list[tuple] = []
    solve = contact_step.nonlinear.solve_friction

    def spy(W, b, mu, d, *rest, **more):
        taken.append((np.array(W), np.array(b), np.array(mu), d))
        return solve(W, b, mu, d, *rest, **more)

    contact_step.nonlinear.solve_friction = spy
    contact_run.MANY_IMPULSES = 1
    try:
        stack = da.gallery.BoxStack(boxes=10)
        quadruped, fixed, _, _ = da.gallery.mechanism("quadruped")
        for name, run_it in (
            ("box_stack", lambda: _run(stack, stack.start(), 30, 0.01)),
            (
                "landing_quadruped",
                lambda: _run(quadruped.system("joints"), quadruped.assemble(**fixed, coordinates="joints"), 150, 0.002),
            ),
        ):
            taken.clear()
            run_it()
            W, b, mu, d = max(taken, key=lambda one: len(one[1]))
            store(name, block_matrix(W, d), b, mu)
    finally:
        contact_step.nonlinear.solve_friction = solve


def _run(system, start, steps: int, h: float) -> None:
    import dalembert as da

    da.simulate(system, da.MoreauJean(), start.q0, start.v0, t=(0.0, steps * h), h=h, on_failure="return")


if __name__ == "__main__":
    make()
