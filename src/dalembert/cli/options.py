"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the system; repeatable."),
]
Q0 = Annotated[str | None, typer.Option("--q0", metavar="X,Y,...", help="The position at the start.")]
V0 = Annotated[str | None, typer.Option("--v0", metavar="X,Y,...", help="The velocity at the start.")]
P0 = Annotated[str | None, typer.Option("--p0", metavar="X,Y,...", help="The momentum, instead of the velocity.")]
T0 = Annotated[float, typer.Option("--t0", help="The time at the start.")]
TEnd = Annotated[float | None, typer.Option("--t-end", help="The time at the end.")]
StepSize = Annotated[float | None, typer.Option("--h", help="The step size; it must divide the interval.")]
Project = Annotated[bool, typer.Option("--project", help="Move inconsistent starting values onto the constraints.")]
Redundant = Annotated[str, typer.Option("--redundant", help="Dependent constraints: refuse or allow.")]
Engine = Annotated[str, typer.Option("--engine", help="auto, native or xla.")]
