"""Where the engine takes one way or another: numbers that were measured, none of which changes what a run means.

Tolerances, by which results are judged, stay beside the rules that use them. A test varies these with `tuned`::

    with tuned(rolled_from=0):
        ...

Code that is kept from before does not know of that: take a system or a start of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tuning:
    """The numbers, by the part of a program's way that asks for them."""

    # -- which code: straight lines, loops, a band, fronts (runners/translation.py, compiled.py, step/array_step.py) --
    #: Unknowns of the method from which on the step is rolled into loops.
    rolled_from: int = 300
    #: Unknowns from which on a smaller step is too, if straight lines would need more operations than this: no
    #: longer in the cache of the processor, they take two to three times as long as a band.
    bands_from: int = 100
    most_straight_operations: int = 32_000
    #: Unknowns up to which a step with a guard is compiled.
    guarded_up_to: int = 800
    #: Above this many operations LLVM only allocates registers well, which from there on is as fast; above the
    #: second not even that: its time grows faster than the program. (30 000 operations: 3.3 s with all passes,
    #: 0.4 s without.)
    quick_compilation: int = 9_000
    quicker_compilation: int = 20_000
    #: Operations that belong to no loop, and the part of all of them, from which on rolling a step up is not
    #: worth while: each is an instruction or two of its own.
    most_lonely: int = 6_000
    lonely_part: float = 1 / 8
    #: Rolled code takes about a quarter of the time per operation; its chunks may be as much longer.
    operations_at_once: int = 4
    #: Unknowns from which on a piece of the system is looked at first.
    piece_first_from: int = 5_000
    #: Entries of a row with which a piece may fail; with fewer its ends may be at fault.
    most_fill: int = 12
    #: The Markowitz cost of substitutions that leave a band narrow.
    band_cost: int = 9
    #: Operations that are made for every unknown of a method, in the end and on the way; more or fewer only take
    #: time.
    operations_an_unknown: int = 40
    #: Multiplications per unknown above which a sparse factorisation is quicker than a band: RATTLE on a net of
    #: 40 knots a side takes 10 to 20 ms per step in a band, 340 ms on the sparse engine; Galerkin(3) on one of
    #: 10 knots, which is wider, 9 against 7 ms.
    band_work: int = 40_000
    #: The same for fronts, whose dense parts are worked through in vectors: with 98,000 of them Galerkin(3) on a net
    #: of 20 knots a side takes 280 ms per step, 910 on the sparse engine (both on a busy machine).
    front_work: int = 150_000
    #: A band takes its operations on vectors in a half to a quarter of the time that fronts take: they lie in a
    #: row, and zeros are left out. (Chains, 100 times 12 unknowns: 3900 per microsecond and 2000; nets, 20 x 20:
    #: 11,000 and 2800.)
    band_speed: float = 2.0
    #: Unknowns from which on fronts, which take seconds to find, are not looked for where there is a band.
    fronts_up_to: int = 20_000
    #: What a front, a pivot and a row cost beside their numbers, in operations on a vector; two fronts become
    #: one where that is cheaper.
    front_cost: int = 60
    pivot_cost: int = 25
    row_cost: int = 4

    # -- elimination: which pivots, and when it is given up (elimination/) --
    #: A substituted unknown's coefficient should reach this fraction of the largest entry of its column (rows
    #: scaled); one that never changes may be as small as the second number, but comes last.
    substitution_threshold: float = 0.05
    last_threshold: float = 1e-4
    #: The second number where one link of thousands speaks for all. (A mass in an equation that is scaled by its
    #: multiplier is 1e-4 of its column.)
    last_threshold_of_groups: float = 1e-5
    #: A pivot must reach this fraction of the largest entry of its column (rows scaled), in every sample.
    pivot_threshold: float = 0.1
    #: Multipliers of the elimination this many times larger than where the pivots were chosen: these no longer
    #: suit.
    growth_limit: float = 1e6
    #: Pivots that one run or sweep may choose anew: each time takes as long as the first translation.
    most_pivot_changes: int = 20
    #: More Newton blocks than this in a row are solved as one.
    most_blocks: int = 8
    #: Rounds of pivots for every halving of the system; more mean that its parts are not alike. A band is
    #: quicker before that: chains, trees and lattices take up to two, nets four.
    most_rounds: int = 6
    few_rounds: int = 3
    #: A round that takes a smaller share of the rows, while more than a few are left, means the same.
    smallest_share: float = 1 / 16
    few_rows: int = 64
    #: Runs of neighbouring equations among those substituted, above which loops fall to pieces.
    most_pieces: int = 200
    #: Entries per row with which a part of a system is tried in loops, even if the whole was seen not to fall
    #: into them.
    few_entries: int = 4

    # -- functions that are evaluated, not stepped (functions/function.py) --
    #: Arguments with more numbers than this may be traced in arrays, and are where an operation of JAX makes more
    #: numbers than this on average. (On arrays it takes 100 microseconds, and 4 for every number alone.)
    in_arrays_from: int = 200
    numbers_an_array: int = 25
    #: Evaluations at one point after which a program is written out as a function of Python's, which takes as
    #: long.
    written_out_after: int = 20
    #: Matrices with so many rows are solved densely: a sparse factorisation begins with more overhead than that.
    dense_up_to: int = 60

    # -- how much at once (runners/, derivatives/, machine/) --
    #: Operations after which a chunk returns to Python (a fixed number, so that a run never depends on the
    #: clock).
    chunk_operations: int = 200_000_000
    #: Steps of more operations are not compiled for lanes: one instruction each takes LLVM half a minute from there on.
    most_operations_in_lanes: int = 100_000
    #: Scales are measured anew at least after so many single steps.
    scales_kept: int = 1024
    #: The first run with some code, if it takes fewer steps, gets code that is there soon (`machine/effort.py`).
    short_run: int = 50_000
    #: Numbers of saved states that a chunk of a single run, and one of a batch, may hold.
    run_numbers: int = 4_000_000
    batch_numbers: int = 16_000_000
    #: XLA: steps, and numbers a step may touch times steps, after which a chunk returns to Python: some tenths
    #: of a second, in which Ctrl-C is not heard.
    xla_steps: int = 1_000
    xla_numbers: int = 1_000_000
    #: Bytes that the record of a run for its derivative may take.
    record_bytes: int = 200_000_000
    #: Bytes of blocks of memory that are kept for the next run that saves as much.
    spare_bytes: int = 100_000_000
    #: Bytes of all records that wait for a derivative, and of those that one was computed from and another may be.
    records_held: int = 400_000_000
    records_spent: int = 16_000_000
    #: Operations of all members after which a launch on a GPU returns, some seconds of a large card: Ctrl-C is
    #: heard between them.
    launch_operations: int = 10_000_000_000_000
    #: Characters of a text from which on LLVM takes more than half a second, by its effort: 0.2, 1.2 and 0.7 s a
    #: million.
    long_text: tuple[int, int, int] = (3_000_000, 600_000, 800_000)


_current = Tuning()


def tuning() -> Tuning:
    """The numbers in use."""
    return _current


@contextmanager
def tuned(**changes) -> Iterator[None]:
    """Other numbers for a while, in this process."""
    global _current
    before, _current = _current, replace(_current, **changes)
    try:
        yield
    finally:
        _current = before
