"""The front page: its code runs as pasted and makes its picture; its links and pictures exist."""

import re
import subprocess
import sys

import pytest
from PIL import Image, ImageChops, ImageStat

#: The pictures on the front page, and the lines of code that make each of them.
LINES = {"pendulum": 10, "necklace": 12}


@pytest.fixture
def readme(root) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def code_of(readme: str) -> dict[str, str]:
    return dict(zip(LINES, re.findall(r"```python\n(.*?)```", readme, re.DOTALL), strict=True))


@pytest.mark.parametrize("name", LINES)
def test_code_pasted_gives_the_picture(readme, root, tmp_path, name):
    done = subprocess.run(
        [sys.executable, "-c", code_of(readme)[name]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / f"{name}.png") as made, Image.open(root / f"docs/pictures/{name}.png") as shown:
        assert made.size == shown.size, f"run: python docs/make_pictures.py {name}"
        # blurred: the motion is chaotic, and roundoff differs from machine to machine
        made, shown = (picture.convert("L").resize((60, 48), Image.Resampling.BOX) for picture in (made, shown))
        assert ImageStat.Stat(ImageChops.difference(made, shown)).mean[0] < 3


def test_code_is_as_short_as_it_says(readme):
    assert "A pendulum in ten lines" in readme
    for name, code in code_of(readme).items():
        assert sum(bool(line.strip()) for line in code.splitlines()) == LINES[name]


def test_commands_are_on_the_first_screen(readme):
    first_screen = "\n".join(readme.splitlines()[:30])
    assert "make run" in first_screen
    assert "make test" in first_screen


def test_links_and_pictures_exist(readme, root):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", readme):
        assert target.startswith("https://") or (root / target).exists(), target


def test_number_of_exact_systems(readme):
    from dalembert.gallery import GALLERY

    exact = sum(kind().exact(0.0) is not None for kind in GALLERY.values())
    assert exact == 10
    assert "ten of them with their exact motion" in readme


def test_number_of_examples(readme, root):
    assert len(list((root / "examples").glob("*.py"))) == 25
    assert "twenty-five scripts" in readme
