"""Every symbol in the formulas of the book is on the page on notation."""

import re

import jupytext
import pytest
from book_sources import chapters, source
from latex_symbols import Symbol, formulas, symbols


def listed():
    """Return the symbols in the first column of the tables of the page on notation, words such as ECE included."""
    found = set()
    for line in source("appendix/notation").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            first = line.split("|")[1]
            found |= {Symbol(word) for word in re.findall(r"[A-Za-z]+", re.sub(r"\$.*?\$", "", first))}
            found |= used_in(first)
    return found


def used_in(text):
    return {symbol for formula in formulas(text) for symbol in symbols(formula)}


def used(chapter):
    """Return the symbols in the text and in the captions of a chapter."""
    cells = jupytext.read(source(chapter)).cells
    figures = [cell.metadata.get("mystnb", {}).get("figure", {}) for cell in cells]
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return {symbol for text in texts + [figure.get("caption", "") for figure in figures] for symbol in used_in(text)}


@pytest.mark.parametrize("chapter", chapters())
def test_every_symbol_of_a_chapter_is_on_the_page_on_notation(chapter):
    """An index makes no new symbol, a word below the line does: theta_3 is a theta, n_test is not n."""
    known = listed()
    names = {symbol.name for symbol in known}
    unknown = {s for s in used(chapter) if s.name not in names or (s.words and s not in known)}
    assert sorted(map(str, unknown)) == []


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\hat p_{i} = f(x_i)", {r"\hat{p}_{i}", "f", "x_{i}", "i"}),
        (r"\hat{p}_i", {r"\hat{p}_{i}", "i"}),
        (r"\tilde{\mathcal R}(g_0^\star)", {r"\tilde{\mathcal{R}}", r"g^\star_{0}"}),
        (r"\sum_{i=1}^{n} \frac{\lvert B_i \rvert}{n}", {"i", "n", "B_{i}"}),
        (r"\mathrm{ECE}_{\mathcal{B}}(Q) \le 0.5", {r"ECE_{\mathcal{B}}", r"\mathcal{B}", "Q"}),
        (r"n_{\text{test}} \log x", {"n_{test}", "x"}),
        (r"\theta_k^{(t+1)} - x'", {r"\theta_{k}", "k", "t", "x"}),
        (r"\begin{aligned} a &= \text{all of } b \\ \end{aligned} \tag{3}", {"a", "b"}),
        (r"\overline{(w_k - \bar w_k) x}", {"w_{k}", r"\bar{w}_{k}", "k", "x"}),
        (r"c_{\theta_k}(p)", {r"c_{\theta_k}", r"\theta_{k}", "k", "p"}),
    ],
)
def test_symbols_of_a_formula(formula, expected):
    assert set(map(str, symbols(formula))) == expected


def test_formulas_of_a_text_are_inline_and_displayed_ones_without_those_in_code():
    text = "Let $a$ be\n\n$$\nb = c\n$$\n\nin `$d$` and\n\n```python\nprint('$e$')\n```\n\n:::{note}\n{math}`f`\n:::\n"
    assert [formula.strip() for formula in formulas(text)] == ["a", "b = c", "f"]
