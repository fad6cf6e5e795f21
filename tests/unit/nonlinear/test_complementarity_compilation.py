"""Compiled code comes when it is needed, and without a folder to keep it in."""

import subprocess
import sys

from dalembert.nonlinear.compilation import compiled


def test_importing_the_library_does_not_import_numba():
    program = "import sys, dalembert; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_code_that_cannot_be_kept_still_runs():
    names = {}
    exec("def twice(x):\n    return 2.0 * x\n", names)  # without a file there is no folder for its machine code
    assert compiled(names["twice"])(1.5) == 3.0
