"""The tables that follow from the code are those the code gives, and the pictures they show exist."""

import re

import make_tables
import pytest
import reference
from benchmarks.pages import block_of, filled

import dalembert as da
from dalembert import gallery


@pytest.mark.parametrize("page", ["README.md", "docs/methods.md"])
def test_claims(page, root):
    text = (root / page).read_text(encoding="utf-8")
    assert block_of(text, "claims") == make_tables.claims_table(), "run: python docs/make_tables.py"


def test_gallery(root):
    text = (root / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert block_of(text, "thumbnails") == make_tables.thumbnails(), "run: python docs/make_tables.py"
    assert block_of(text, "gallery") == make_tables.gallery_sections(), "run: python docs/make_tables.py"
    assert block_of(text, "contact_gallery") == make_tables.contact_sections(), "run: python docs/make_tables.py"
    assert block_of(text, "family_gallery") == make_tables.family_sections(), "run: python docs/make_tables.py"


def test_every_system_has_a_section_and_a_picture(root):
    text = (root / "docs" / "gallery.md").read_text(encoding="utf-8")
    registries = [value for name, value in vars(gallery).items() if name.isupper() and isinstance(value, dict)]
    assert len(registries) >= 4
    for name, kind in (pair for registry in registries for pair in registry.items()):
        assert f"\n### {kind.__name__}\n" in text, name
        assert f"](pictures/gallery_{name}.png)" in text, name


def test_api_page_lists_every_public_name(root):
    text = (root / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in da.__all__ if f"\n| [`da.{name}`][" not in text] == []
    assert block_of(text, "names") == make_tables.names_table(), "run: python docs/make_tables.py"
    assert block_of(text, "reference") == make_tables.reference_sections(), "run: python docs/make_tables.py"


def test_every_public_name_is_described_under_its_own_name(root):
    text = (root / "docs" / "api.md").read_text(encoding="utf-8")
    twice = {"GaussSpark", "LobattoSpark"}  # other names of what is described already
    assert [name for name in da.__all__ if f"\n      heading: da.{name}\n" not in text and name not in twice] == []


def test_the_members_that_the_reference_names_exist():
    assert list(reference.described()) == []


def test_functions_called_like_their_modules_are_described(root):
    """Of two things with one name the page would take the module."""
    text = (root / "docs" / "api.md").read_text(encoding="utf-8")
    for place in re.findall(r"\]\[([\w.]+)\]", block_of(text, "names")):
        if len(set(place.split(".")[-2:])) == 1:
            assert f"\n::: {place}\n" in text, place


def test_every_public_name_has_a_sentence():
    for line in make_tables.names_table().splitlines()[2:]:
        assert len(line.rsplit(" | ", 1)[1].split()) >= 3, line


def test_measured_numbers_bear_out_the_claims(root):
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in block_of((root / "docs" / "methods.md").read_text(encoding="utf-8"), "measured").splitlines()
    ]
    table = {label: [float(x) for x in cells] for label, *cells in rows[2:]}
    claims = [entry.method.claims for entry in da.CATALOGUE.values()]
    assert rows[0][1:] == [f"`da.{entry.method.name}`" for entry in da.CATALOGUE.values()]
    (label,) = (label for label in table if label.startswith("order of q at t = "))
    for orders in (table[label], table["order of p"], table["order of λ"]):
        assert all(abs(order - claim.order) <= 0.2 for order, claim in zip(orders, claims, strict=True))
    for k, claim in enumerate(claims):
        assert table["largest g, 100 000 steps of h = 0.01"][k] <= 1e-14
        assert table["largest g_q v + g_t"][k] <= 1e-14 or "velocity" not in claim.constraints
        assert table["symplectic defect of one step of h = 0.05"][k] <= 1e-10


def test_pictures_exist(root):
    for page in (root / "docs").glob("*.md"):
        for picture in re.findall(r"\]\((pictures/[^)]+)\)", page.read_text(encoding="utf-8")):
            assert (root / "docs" / picture).is_file(), f"{page.name}: {picture}"


def test_a_block_is_replaced_and_nothing_else():
    text = "a\n<!-- begin x -->old<!-- end x -->\nb <!-- begin y -->kept<!-- end y -->"
    new = filled(text, "x", "new")
    assert block_of(new, "x") == "new"
    assert block_of(new, "y") == "kept"
    assert new.startswith("a\n")
    with pytest.raises(LookupError, match="no block 'z'"):
        block_of(text, "z")
