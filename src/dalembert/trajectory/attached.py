"""What a trajectory can do that other rooms know: filled when the package is imported, because data flows down."""

from __future__ import annotations

from typing import Any, ClassVar


class Attached:
    """Pictures from `plots`; joints, bodies, contacts and energies of a multibody model from `mechanism`."""

    plot: ClassVar[Any]
    animate: ClassVar[Any]
    _repr_html_: ClassVar[Any]
    joint: ClassVar[Any]
    body: ClassVar[Any]
    contact: ClassVar[Any]
    energies: ClassVar[Any]
    motions: ClassVar[Any]
