"""What a user can meet. Every message says what was expected, what came, and what to do."""


class DalembertError(Exception):
    """Everything this library raises on purpose derives from this class."""


class InputError(DalembertError, ValueError):
    """An argument has the wrong shape, type or value."""


class ModelError(DalembertError, ValueError):
    """A system is not well formed: wrong return shapes, singular mass matrix, a file that does not import."""


class InconsistentStart(InputError):
    """The starting values violate a constraint at position or velocity level."""


class RedundantConstraints(ModelError):
    """The rows of the constraint Jacobian depend on each other."""


class MethodDoesNotFit(InputError):
    """The method cannot treat this kind of system."""


class UnsupportedByEngine(DalembertError):
    """The native engine met something that it does not translate; the XLA engine takes over."""


class MissingPackage(DalembertError, ModuleNotFoundError):
    """An optional package is not installed; the message names the extra of this library that has it."""


class StepFailure(DalembertError, RuntimeError):
    """A step could not be completed; `.trajectory` holds everything up to it."""

    def __init__(self, message: str, trajectory=None):
        super().__init__(message)
        self.trajectory = trajectory


class CheckpointFailure(DalembertError, RuntimeError):
    """A checkpoint could not be written, for want of space for example; those before it are intact."""


class ForkedProcess(DalembertError, RuntimeError):
    """JAX is needed in a process that was forked from one in which it had run, where it would hang."""


class InconsistentMethodWarning(UserWarning):
    """The method does not converge to the motion of the system."""


class RetracedWarning(UserWarning):
    """The functions of a system read something that cannot be followed: nothing compiled is used again."""


class SlowEngineWarning(UserWarning):
    """The compiled engine does not translate an operation of the model; XLA runs it, about a thousand times slower."""


class ContactWarning(UserWarning):
    """A contact is closed and approaching at the start: an impact at once."""
