"""What the user calls: a run, runs over a grid of values, the motion between two positions."""

from .boundary import boundary_value
from .controlled import InputNodes, Sampled
from .environment import gym
from .interpolated import interpolated
from .sensitivities import Sensitivity, monodromy, sensitivity
from .simulate import simulate
from .step_function import step_function
from .stepper import Stepper, StepperState
from .sweep import Sweep, sweep

__all__ = [
    "InputNodes",
    "Sampled",
    "Sensitivity",
    "Stepper",
    "StepperState",
    "Sweep",
    "boundary_value",
    "gym",
    "interpolated",
    "monodromy",
    "sensitivity",
    "simulate",
    "step_function",
    "sweep",
]
