"""What the commands print and write."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.cli.app import COMMANDS
from dalembert.cli.checking import _energy_rows, _judge, pass_rows
from dalembert.gallery import CONTACT_GALLERY, GALLERY
from dalembert.method import CATALOGUE, CONTACT_CATALOGUE


def value_of(text: str, name: str) -> str:
    """The value beside a name in a table of two columns."""
    lines = [line for line in text.splitlines() if line.startswith(name)]
    assert lines, f"{name} is not in\n{text}"
    return lines[0][len(name) :].strip()


def test_version(dalembert):
    assert dalembert("--version").out == f"dalembert {version('dalembert')}\n"


def test_help_without_arguments(dalembert):
    answer = dalembert()
    assert answer.status == 0
    for command in ("list", "simulate", "check", "converge", "demo"):
        assert command in answer.out


def test_help_warns_that_model_files_are_executed(dalembert):
    for command in ("simulate", "check", "converge"):
        text = " ".join(dalembert(command, "--help").out.split())
        assert "A model file is a Python program: it is executed with your rights. Run only files you trust." in text


def test_module_is_the_program():
    done = subprocess.run([sys.executable, "-m", "dalembert", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"dalembert {version('dalembert')}\n")


def test_list_fits_on_a_screen_and_names_everything(dalembert, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = dalembert("list").out.splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert {*CATALOGUE, *CONTACT_CATALOGUE, *GALLERY, *CONTACT_GALLERY} <= set(words)


def test_list_of_methods_has_one_in_a_line(dalembert, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = dalembert("list", "--method").out
    for name, entry in (CATALOGUE | CONTACT_CATALOGUE).items():
        words = next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()
        assert words[1] == str(entry.method.order)
        assert ("c" in words) == ("gap" in entry.method.handles)
        assert ("S" in words) == entry.method.claims.symplectic
    assert "kepler" not in text


def test_list_looks_for_words_and_says_more_of_one_name(dalembert):
    found = dalembert("list", "-m", "nonholonomic", "jay").out
    assert "gauss-spark-2" in found
    assert "rattle" not in found
    assert "constraints at position and velocity level, symplectic, symmetric" in dalembert("list", "rattle").out
    assert "dalembert simulate kepler" in dalembert("list", "kepler").out
    assert dalembert("list", "no-such-thing").status == 2


def test_answers_as_json(dalembert, tmp_path):
    found = json.loads(dalembert("simulate", "pendulum", "--t-end", 0.1, "--out", tmp_path / "a.nc", "--json").out)
    run = da.load(tmp_path / "a.nc")
    assert found["status"]["ok"] is True
    assert found["q"] == list(run.q[-1])
    assert found["files"] == {"run": str(tmp_path / "a.nc")}
    listed = json.loads(dalembert("list", "--json").out)
    assert set(listed["methods"]) == set(da.methods.ALL)
    assert listed["methods"]["rattle"]["python"] == "da.Rattle()"
    orders = json.loads(dalembert("converge", "pendulum", "--levels", 3, "--t-end", 0.5, "--json").out)["orders"]
    assert orders["q"] == pytest.approx(2, abs=0.1)
    checked = json.loads(dalembert("check", "pendulum", "--json").out)
    assert checked["problems"] == []
    assert checked["findings"]["Constraints"]["rank"] == "1 of 1"


def test_a_method_of_ones_own(dalembert, tmp_path):
    """By class, by the only name in a file, as an instance with arguments, in every command that takes one."""
    file = tmp_path / "methods.py"
    file.write_text(
        "import dalembert as da\nfrom dalembert import Galerkin, Rattle\n\n\nclass Mine(Rattle):\n    pass\n\n\n"
        "third = Galerkin(3)\n"
    )
    for name, shown in ((f"{file}:Mine", "Mine()"), (f"{file}:third", "Galerkin(3)")):
        answer = dalembert("simulate", "pendulum", "-m", name, "--t-end", 0.1)
        assert answer.out.startswith(f"Pendulum with {shown}")
    assert dalembert("check", "pendulum", "-m", f"{file}:Mine").status == 0
    assert "Mine()" in dalembert("converge", "pendulum", "-m", f"{file}:Mine", "--levels", 2, "--t-end", 0.2).out
    for name, message in (
        (str(file), f"say which method of {file} is meant"),
        (f"{file}:da", "expected a class derived from da.Method"),
        (f"{file}:Other", "defines no 'Other'; its methods: Mine, third"),
        (f"{tmp_path / 'none.py'}:Mine", "no such file"),
    ):
        assert message in dalembert("simulate", "pendulum", "-m", name, "--t-end", 0.1).error


def test_simulate_prints_what_was_kept(dalembert):
    answer = dalembert("simulate", "spherical-pendulum", "--t-end", "1")
    assert (answer.status, answer.error) == (0, "")
    assert answer.out.startswith("SphericalPendulum with Rattle()")
    assert value_of(answer.out, "ended") == "ok: 100 steps"
    assert value_of(answer.out, "steps") == "100 (101 states saved)"
    assert "steps/s" in value_of(answer.out, "speed")
    assert float(value_of(answer.out, "max |g|")) < 1e-8
    assert float(value_of(answer.out, "max |g_q v + g_t|")) < 1e-13
    assert float(value_of(answer.out, "drift of angular_momentum_z")) < 1e-13
    assert "max |E - E(0)| = " in value_of(answer.out, "energy")


def test_simulate_systems_with_contact(dalembert, tmp_path):
    answer = dalembert("simulate", "bouncing-ball", "--method", "moreau-jean", "--plot", tmp_path / "ball.png")
    assert (answer.status, answer.error) == (0, "")
    assert abs(float(value_of(answer.out, "smallest gap"))) < 0.01  # h
    answer = dalembert("simulate", "impact-oscillator", "--method", "event-capturing-lobatto-6", "--h", "0.05")
    assert (answer.status, value_of(answer.out, "events")) == (0, "5")


def test_check_a_system_with_contact(dalembert):
    text = dalembert("check", "bouncing-ball").out
    assert value_of(text, "contacts") == "1, without friction directions, smallest gap 1"
    assert "What MoreauJean() keeps" in text
    assert "No problems found." in text
    assert value_of(dalembert("check", "sliding-block").out, "contacts") == "1, friction in the plane, smallest gap 0"


def test_smooth_method_for_a_system_with_contact_is_refused(dalembert):
    answer = dalembert("simulate", "bouncing-ball")
    assert answer.status == 2
    assert "Rattle does not treat gap, which BouncingBall defines" in answer.error


def test_simulate_writes_run_figure_and_film(dalembert, tmp_path):
    run, figure, film = (tmp_path / name for name in ("run.nc", "run.png", "run.gif"))
    answer = dalembert(
        "simulate", "pendulum", "--method", "shake", "--h", "0.05", "--t-end", "1", "--save-every", "2",
        "--out", run, "--plot", figure, "--animate", film,
    )  # fmt: skip
    assert answer.status == 0
    loaded = da.load(run)
    assert loaded.provenance["method"] == "Shake()"
    assert len(loaded) == 11
    assert figure.read_bytes()[1:4] == b"PNG"
    assert film.read_bytes()[:3] == b"GIF"
    for path in (run, figure, film):
        assert str(path) in answer.out


def test_simulate_is_what_the_library_computes(dalembert, tmp_path):
    dalembert(
        "simulate", "pendulum", "--param", "length=2", "--param", "gravity=10.0",
        "--q0", "0,-2", "--v0", "1,0",
        "--t0", "1", "--t-end", "2", "--h", "0.1", "--out", tmp_path / "run.nc",
    )  # fmt: skip
    loaded = da.load(tmp_path / "run.nc")
    system = GALLERY["pendulum"](length=2.0, gravity=10.0)
    run = da.simulate(system, da.Rattle(), q0=[0.0, -2.0], v0=[1.0, 0.0], t=(1.0, 2.0), h=0.1)
    np.testing.assert_array_equal(loaded.q, run.q)
    np.testing.assert_array_equal(loaded.t, run.t)
    assert loaded.provenance["parameters"]["length"] == 2.0


def test_simulate_a_model_file(dalembert, model, tmp_path):
    words = ("--q0", "-1,0", "--v0", "-0,-1.5", "--h", "0.1", "--t-end", "0.5", "--out", tmp_path / "run.nc")
    answer = dalembert("simulate", f"{model}:Pendulum", *words)
    assert (answer.status, answer.error) == (0, "")
    loaded = da.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(loaded.q[0], [-1.0, 0.0])
    np.testing.assert_array_equal(loaded.v[0], [0.0, -1.5])


def test_simulate_an_instance_with_another_parameter(dalembert, model, tmp_path):
    words = ("--q0", "1", "--p0", "0", "--param", "stiffness=9", "--h", "0.01", "--t-end", "1")
    answer = dalembert("simulate", f"{model}:spring", *words, "--out", tmp_path / "run.nc")
    assert answer.status == 0
    assert da.load(tmp_path / "run.nc").q[-1, 0] == pytest.approx(np.cos(3.0), abs=1e-3)


def test_simulate_with_an_array_for_a_parameter(dalembert, model):
    words = ("--q0", "0,0", "--v0", "1,1", "--param", "masses=1,2.5", "--param", "label=two", "--t-end", "1")
    assert dalembert("simulate", f"{model}:Masses", *words).status == 0


def test_simulate_projects_when_asked(dalembert):
    words = ("simulate", "pendulum", "--q0", "2,0", "--v0", "1,1", "--t-end", "0.1")
    assert dalembert(*words).status == 2
    assert dalembert(*words, "--project").status == 0


def test_simulate_shows_progress(dalembert):
    assert "100/100 steps" in dalembert("simulate", "pendulum", "--t-end", "1", "--progress").out


def test_check_of_the_gallery(dalembert):
    answer = dalembert("check", "double-pendulum", "--method", "rattle")
    assert (answer.status, answer.error) == (0, "")
    expected = {
        "given by": "a Lagrangian L(t, q, v)", "coordinates": "6", "holonomic constraints": "2",
        "rank": "2 of 2",
        "degrees of freedom": "4", "mass matrix L_vv": "regular, positive definite, condition number 1",
    }  # fmt: skip
    for name, value in expected.items():
        assert value_of(answer.out, name) == value
    assert "consistent" in answer.out
    assert "order 2.0" in value_of(answer.out, "energy")
    assert value_of(answer.out, "angular_momentum_z").endswith("kept to roundoff")
    assert value_of(answer.out, "unknowns").startswith("40: V0 (6)")
    assert value_of(answer.out, "equations").startswith("40: ")
    assert "No problems found." in answer.out


def test_check_explains_how_a_step_became_code(dalembert):
    plain = dalembert("check", "double-pendulum", "--method", "rattle").out
    assert "became code" not in plain
    text = dalembert("check", "double-pendulum", "--method", "rattle", "--explain").out
    assert "became code" in text
    assert "unknowns 40" in value_of(text, "trace")
    assert "unknowns 40 -> " in value_of(text, "substitute")
    assert value_of(text[text.index("became code") :], "compile").endswith(" ms")


def test_check_says_that_an_engine_without_code_has_no_passes():
    run = SimpleNamespace(stats={"engine": "xla", "engine_reason": "asked for"})
    ((name, text),) = pass_rows(run)  # pyright: ignore[reportArgumentType]
    assert name == "passes"
    assert text == "none: the engine 'xla' compiles no step itself (asked for)"


def test_check_weighs_energy_against_what_drives_and_damps(dalembert, tmp_path):
    answer = dalembert("check", "driven-pendulum")
    assert answer.status == 0
    assert "not kept" not in answer.out
    assert "kept up to the error" in value_of(answer.out, "energy less their work")
    path = tmp_path / "damped.py"
    path.write_text(
        "import dalembert as da\n"
        "class Damped(da.System):\n"
        "    def lagrangian(self, t, q, v):\n        return 0.5 * v @ v - 0.5 * q @ q\n"
        "    def force(self, t, q, v):\n        return -0.1 * v\n"
    )
    answer = dalembert("check", f"{path}:Damped", "--q0", "1", "--v0", "0", "--h", "0.01")
    assert "forces, or what depends on time" in value_of(answer.out, "energy")
    assert "kept up to the error" in value_of(answer.out, "energy less their work")


def test_check_knows_that_contacts_take_energy(dalembert):
    answer = dalembert("check", "bouncing-ball")
    assert "falls by 1.5e+00: contacts take energy" in value_of(answer.out, "energy")


def test_check_still_tells_what_is_not_kept():
    """Energy that drifts without forces, and forces that are not the whole reason."""
    h = 0.01
    t = h * np.arange(11.0)
    assert _judge(1e-3, 1e-3, 1.0) == "not kept"

    class Damped(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * (v @ v)

        def force(self, t, q, v):
            return -0.1 * v

    # a run whose energy grows although its force damps
    runs = [
        SimpleNamespace(
            system=Damped(), t=t, q=np.zeros((11, 1)), v=np.ones((11, 1)), p=np.ones((11, 1)), lam=np.zeros((11, 0)),
            psi=np.zeros((11, 0)), energy=0.5 + t, impulse=np.zeros((11, 0)),
        )
        for _ in range(2)
    ]  # fmt: skip
    rows = dict(_energy_rows(*runs, change=0.1))  # pyright: ignore[reportArgumentType]
    assert rows["energy less their work"].endswith("not kept")


def test_check_tells_that_constraints_move(dalembert):
    assert value_of(dalembert("check", "bead-on-moving-wire").out, "holonomic constraints") == "1, depending on time"


def test_check_of_a_system_without_constraints(dalembert):
    answer = dalembert("check", "kepler")
    assert answer.status == 0
    assert value_of(answer.out, "degrees of freedom") == "2"


def test_check_of_an_inconsistent_start(dalembert, model):
    answer = dalembert("check", f"{model}:Pendulum", "--q0", "1,1", "--v0", "1,1")
    assert answer.status == 1
    assert value_of(answer.out, "at position level") == "max |g| = 5.0e-01 (holonomic[0])"
    assert value_of(answer.out, "at velocity level") == "max |g_q v + g_t| = 2.0e+00 (holonomic[0])"
    assert "--project would move q by 2.9e-01 to (0.70711, 0.70711)" in answer.out
    assert answer.error.startswith("error: 1 problem found: the start is inconsistent")


def test_check_of_dependent_constraints_and_a_singular_mass(dalembert, tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(
        "import dalembert as da\nimport jax.numpy as jnp\n\n\nclass Bad(da.System):\n"
        "    def lagrangian(self, t, q, v):\n        return 0.5 * v[0] ** 2 + 0.5 * v[1] ** 2\n"
        "    def holonomic(self, t, q):\n        return jnp.stack([q[0], 2.0 * q[0]])\n"
    )
    answer = dalembert("check", path, "--q0", "0,0,0", "--v0", "0,0,0")
    assert answer.status == 1
    assert value_of(answer.out, "rank") == "1 of 2"
    assert value_of(answer.out, "degrees of freedom") == "2"
    assert value_of(answer.out, "mass matrix L_vv") == "singular"
    assert "2 problems found" in answer.error
    assert "no inertia for q[2]" in answer.error
    assert "has rank 1" in answer.error


def test_check_allows_dependent_constraints(dalembert, tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(
        "import dalembert as da\nimport jax.numpy as jnp\n\n\nclass Twice(da.System):\n"
        "    def lagrangian(self, t, q, v):\n        return 0.5 * v @ v - q[1]\n"
        "    def holonomic(self, t, q):\n        g = q @ q - 1.0\n        return jnp.stack([g, 2.0 * g])\n"
    )
    start = ("--q0", "1,0", "--v0", "0,1", "--h", "0.01")
    assert dalembert("check", f"{path}:Twice", *start).status == 1
    answer = dalembert("check", f"{path}:Twice", *start, "--method", "rattle", "--redundant", "allow")
    assert answer.status == 0
    assert value_of(answer.out, "rank") == "1 of 2"
    off = dalembert("check", f"{path}:Twice", "--q0", "1.1,0", "--v0", "0,1", "--redundant", "allow")
    assert "--project would move q by 1.0e-01" in off.out


def test_converge_prints_errors_and_orders(dalembert, tmp_path):
    path = tmp_path / "orders.png"
    answer = dalembert("converge", "pendulum", "--h0", "0.04", "--levels", "3", "--t-end", "1", "--plot", path)
    assert answer.status == 0
    assert "against the exact solution" in answer.out
    rows = [line.split() for line in answer.out.splitlines() if line.strip().startswith("0.0")]
    assert [row[:2] for row in rows] == [["0.04", "25"], ["0.02", "50"], ["0.01", "100"]]
    for name in ("q", "p", "lam"):
        line = next(line for line in answer.out.splitlines() if line.startswith(f"observed order of {name} "))
        assert float(line.split()[4]) == pytest.approx(2.0, abs=0.1)
        assert line.endswith("(claimed: 2)")
    assert path.read_bytes()[1:4] == b"PNG"


def test_converge_of_a_model_file_uses_a_reference(dalembert, model):
    words = ("--q0", "1,0", "--p0", "0,1", "--t-end", "0.5", "--h0", "0.05", "--levels", "2")
    answer = dalembert("converge", f"{model}:Pendulum", *words)
    assert answer.status == 0
    assert "against a tight reference solution" in answer.out


def test_simulate_a_system_without_energy(dalembert):
    out = dalembert("simulate", "mass-on-cubic", "--method", "symplectic-euler").out
    assert "energy" not in out
    assert float(value_of(out, "max |g|")) < 1e-13


def test_resume_a_run_with_contacts(dalembert, tmp_path):
    store = tmp_path / "ball.zarr"
    call = ["simulate", "bouncing-ball", "--method", "moreau-jean", "--t-end", "0.5", "--h", "0.01"]
    assert dalembert(*call, "--checkpoint", str(store)).status == 0
    assert dalembert("resume", str(store)).status == 0


def test_the_list_of_commands_names_what_there_is(dalembert):
    """It is written down, so that no command is loaded for it."""
    out = dalembert("-h").out
    for name, (module, said) in COMMANDS.items():
        command = getattr(import_module(f"dalembert.cli.{module}"), f"{name}_command")
        assert command.__doc__
        assert name in out
        assert said in out
        assert dalembert(name, "-h").out == dalembert(name, "--help").out != ""
