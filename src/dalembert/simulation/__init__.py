"""What the user calls: a run, runs over a grid of values, the motion between two positions."""

from .boundary import boundary_value
from .simulate import simulate
from .stepper import Stepper, StepperState
from .sweep import Sweep, sweep

__all__ = ["Stepper", "StepperState", "Sweep", "boundary_value", "simulate", "sweep"]
