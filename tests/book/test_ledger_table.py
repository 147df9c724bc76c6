"""The table of the ledger: it finds, filters and sorts what it says, by mouse and by keyboard."""

import json

import pytest
from book_sources import ROOT

from clustcal.experiments.ledger import read_ledger
from clustcal.experiments.results import FOLDER

SCRIPT = ROOT / "book/_assets/ledger-table.js"
SHOWN = "[...document.querySelectorAll('.ledger-searched tbody tr')].filter((row) => !row.hidden)"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("48,842 samples", 48842),
        ("0.30123 ± 0.00200", 0.30123),
        ("\N{MINUS SIGN}4.500", -4.5),
        ("≈2.9e-11", 2.9e-11),
        ("≈+0.0035", 0.0035),
        ("within tolerance", "within tolerance"),
        ("", ""),
    ],
)
def test_a_cell_is_sorted_by_its_first_number_or_its_text(evaluate, text, key):
    assert evaluate(f"ledgerKey({json.dumps(text)})") == key


def test_numbers_stand_before_texts_and_nothing_stands_last(evaluate):
    for direction, expected in ((1, [-4.5, 2, "a", "b", ""]), (-1, [2, -4.5, "b", "a", ""])):
        keys = json.dumps(["b", "", 2, "a", -4.5])
        assert evaluate(f"{keys}.sort((a, b) => compareLedgerKeys(a, b, {direction}))") == expected


@pytest.fixture
def page(site, browser):
    browser.open((site / "appendix/scoreboard.html").as_uri())
    return browser


def test_the_table_is_searched_and_filtered(page):
    stored = read_ledger(FOLDER / "claims.csv")
    assert page.run(f"{SHOWN}.length") == len(stored)
    page.page.get_by_label("Verdict").select_option("differs")
    assert page.run(f"{SHOWN}.length") == (stored["verdict"] == "differs").sum()
    page.page.get_by_label("Search", exact=True).last.fill("points runs")
    assert page.run(f"{SHOWN}.map((row) => row.querySelector('summary').textContent)") == ["points"]
    assert page.run("document.querySelector('.ledger-count').textContent") == f"1 of {len(stored)} numbers"


def test_the_table_is_sorted_by_keyboard(page):
    page.page.get_by_label("Where").select_option("Tabular: all methods")
    button = page.page.locator(".ledger-searched thead button", has_text="Printed")
    for direction in ("ascending", "descending"):
        button.focus()
        page.page.keyboard.press("Enter")
        assert page.run("document.querySelector('.ledger-searched [aria-sort]').ariaSort") == direction
        printed = page.run(f"{SHOWN}.map((row) => parseFloat(row.cells[3].textContent))")
        assert printed == sorted(printed, reverse=direction == "descending")
    assert page.errors == []
