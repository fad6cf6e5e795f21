"""What the user calls: a run, runs over a grid of values, the motion between two positions."""

from .boundary import boundary_value
from .controlled import InputNodes, Sampled
from .environment import gym
from .interpolated import interpolated
from .simulate import simulate
from .step_function import step_function
from .stepper import Stepper, StepperState
from .sweep import Sweep, sweep

__all__ = [
    "InputNodes",
    "Sampled",
    "Stepper",
    "StepperState",
    "Sweep",
    "boundary_value",
    "gym",
    "interpolated",
    "simulate",
    "step_function",
    "sweep",
]
