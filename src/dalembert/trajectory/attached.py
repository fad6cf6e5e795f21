"""What a trajectory can do that other rooms know: loaded when it is first asked for, because data flows down."""

from __future__ import annotations

from ..later import Later


class Attached:
    """Pictures from `plots`; joints, bodies, contacts and energies of a multibody model from `mechanism`; the work that
    was done from `energy_balance`."""

    plot = Later()
    animate = Later()
    _repr_html_ = Later()
    joint = Later()
    body = Later()
    contact = Later()
    energies = Later()
    motions = Later()
    energy_balance = Later()
