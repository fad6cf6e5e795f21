"""Runs the notebooks of examples/ and keeps what they show: `python docs/make_notebooks.py [NAME ...]`.

Needs nbclient and ipykernel, which requirements-oracles.lock has.
"""

from __future__ import annotations

import base64
import io
import os
import pathlib
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "notebooks"
#: What may differ from machine to machine, and is not kept.
NOT_KEPT = ("execution", "language_info")


def executed(path: pathlib.Path):
    """The notebook after a run from its first cell to its last, in an empty folder."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # the kernel has its own
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env=environment)
    return notebook


def smaller(picture: str) -> str:
    """A picture with 64 colours, a third of the bytes."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as drawn:
        drawn.convert("RGB").quantize(64).save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def main(names: list[str]) -> None:
    """Run those named, or all."""
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = executed(path)
        for cell in notebook.cells:
            cell.metadata.clear()
            for output in cell.get("outputs", []):
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = smaller(output.data["image/png"])
        notebook.metadata = {key: value for key, value in notebook.metadata.items() if key not in NOT_KEPT}
        nbformat.write(notebook, path)
        print(f"{path.stem}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
