"""First uses of the glossary's words become links; code, headings, formulas and later uses stay as they are."""

import re

import glossary_links


def test_the_first_use_is_linked_and_no_other():
    page = "<p>A symplectic method. Another symplectic one &lt; all.</p>"
    assert glossary_links.linked(page) == (
        '<p>A <a class="term" href="glossary.html#symplectic">symplectic</a> method. '
        "Another symplectic one &lt; all.</p>"
    )


def test_code_headings_formulas_and_links_stay():
    page = (
        '<h2 id="a">symplectic</h2><p><code>symplectic</code> <a href="x">symplectic</a> <br/>'
        '<span class="arithmatex">\\(symplectic\\)</span></p><table><tr><td>symplectic</td></tr></table>'
    )
    assert glossary_links.linked(page) == page
    assert "term" in glossary_links.linked(page + "<p>symplectic</p>")


def test_the_longer_word_wins():
    assert 'glossary.html#nonholonomic">nonholonomic</a>' in glossary_links.linked("<p>nonholonomic</p>")


def test_every_term_has_its_anchor_in_the_glossary(root):
    anchors = set(re.findall(r"\{ #([\w-]+) \}", (root / "docs" / "glossary.md").read_text(encoding="utf-8")))
    assert set(glossary_links.TERMS) <= anchors
