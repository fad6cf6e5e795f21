"""The notebooks of examples/ are there with what they show, and show it again when they are run."""

import json

import page_code
import pytest

NAMES = ("1_pendulum", "2_constraints", "3_rolling", "4_contact", "5_ensemble_and_derivatives")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_been_run(name, root):
    notebook = json.loads((root / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert [output for output in outputs if output.get("name") == "stderr"] == []
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= 1
    for cell in cells:
        assert sum("image/png" in output.get("data", {}) for output in cell["outputs"]) <= 1


def test_no_notebook_is_forgotten(root):
    assert sorted(path.stem for path in (root / "examples" / "notebooks").glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_the_same(name, root):
    pytest.importorskip("nbclient", reason="nbclient is not installed: make test-long installs it")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: make test-long installs it")
    import make_notebooks

    path = root / "examples" / "notebooks" / f"{name}.ipynb"
    shown = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for before, after in zip(shown, make_notebooks.executed(path).cells, strict=True):
        found, expected = after.get("outputs", []), before.get("outputs", [])
        assert [output["output_type"] for output in found] == [output["output_type"] for output in expected]
        for new, old in zip(found, expected, strict=True):
            assert page_code.comparable(text_of(new)) == page_code.comparable(text_of(old))
            assert set(new.get("data", {})) == set(old.get("data", {}))


def text_of(output: dict) -> str:
    """What an output says in words: what was printed, or the plain form of a value."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(text)
