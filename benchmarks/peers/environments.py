"""An environment a program, made when it is first needed, with the versions that its requirements file names."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys
from dataclasses import dataclass

from ..pages import ROOT

HERE = pathlib.Path(__file__).resolve().parent
CACHE = ROOT / ".peers"
INSTALLATION_LIMIT = 600
SYSTEM_PYTHON = pathlib.Path("/usr/bin/python3")


@dataclass(frozen=True)
class Peer:
    """A program; `what` says what it is given, `keeps` what it does not keep."""

    name: str
    what: str
    keeps: str
    environment: str | None = None  # the name of its requirements; None: no packages of its own

    @property
    def script(self) -> pathlib.Path:
        return HERE / "programs" / f"run_{self.name.replace('-', '_')}.py"


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "dalembert", "Lagrangian and constraints as they are; Taylor series, projected",
            "constraints at both levels to roundoff; not the energy",
        ),
        Peer(
            "dalembert-symplectic", "the same; methods that are symplectic",
            "constraints at both levels to roundoff, the energy without drift",
        ),
        Peer("heyoka", "the equations reduced by hand", "not the constraints, not the energy: both drift", "heyoka"),
        Peer("diffrax", "the equations reduced by hand", "not the constraints, not the energy: both drift", "diffrax"),
        Peer("casadi", "IDAS, index 1", "not the constraints, not the energy: both drift", "casadi"),
        Peer(
            "scikit-sundae", "IDA, stabilised index 2",
            "constraints at both levels to its tolerance; not the energy", "scikit-sundae",
        ),
        Peer(
            "scipy-dae", "Radau IIA, stabilised index 2",
            "constraints at both levels to its tolerance; not the energy", "scipy-dae",
        ),
        Peer("exudyn", "mass points and joints", "the velocity level; the position level drifts", "exudyn"),
        Peer(
            "mujoco", "joint coordinates; contact is soft",
            "links cannot stretch; not the energy, no restitution, penetration", "mujoco",
        ),
        Peer("siconos", "contact systems", "impacts to order 1"),
        Peer("c", "RATTLE by hand, order 2", "constraints at both levels; sums without compensation"),
    )
}  # fmt: skip


def python_of(peer: Peer) -> str:
    """The interpreter that runs a program; installs what it needs. `RuntimeError` says why that failed."""
    if peer.name == "siconos":
        if not SYSTEM_PYTHON.exists():
            raise RuntimeError("no /usr/bin/python3, whose siconos would be used")
        return str(SYSTEM_PYTHON)
    if peer.environment is None:
        return sys.executable
    requirements = HERE / f"requirements-{peer.environment}.txt"
    folder = CACHE / peer.environment
    python, mark = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return str(python)
    CACHE.mkdir(exist_ok=True)
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
    ]
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLATION_LIMIT)
        except subprocess.TimeoutExpired:
            raise RuntimeError("its installation took too long") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["unknown reason"])[-1]
            raise RuntimeError(f"it cannot be installed: {last[:150]}")
    mark.write_text(wanted, encoding="utf-8")
    return str(python)
