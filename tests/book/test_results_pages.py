"""Entries and ledger as text: complete, safe to set, and with anchors that links can rely on."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
import results_pages as pages
from book_sources import pages as pages_of_the_book, source
from bs4 import BeautifulSoup

from clustcal.experiments import entries, ledger
from clustcal.experiments.results import FOLDER

ERRATUM = {
    "id": "lce-column",
    "place": "Main table",
    "printed": "LCE between 0.54 and 0.75",
    "instead": "MLCE",
    "evidence": "By |p - q| and p_A, *not* [this](that).",
    "numbers": {"rows": 3780, "nll": [0.299, 0.2989], "by_part": {"a": 1, "b": 0.5}},
    "claims": ["protocol/points"],
}
DEVIATION = {"id": "mean-loss", "subject": "Loss", "paper": "A sum.", "ours": "The mean.", "why": "So.", "effect": "?"}


@pytest.fixture
def claims():
    """Four lines of the ledger: judged with and without a spread, blocked, and not attempted."""
    lines = [
        ("protocol/points", "5,780", "runs", 0.5, 3780.0, None, "differs", None),
        ("performance/Platt/SHAP/NLL", "0.2983", "nat", 0.00005, 0.3012345, 0.002, "within tolerance", None),
        ("performance/TS/Data/NLL", "0.3441", "nat", 0.00005, None, None, "blocked", 0.35),
        ("images/A & B/TS/NLL", "0.3156", "nat", 0.00005, None, None, "not attempted", None),
    ]
    names = ["id", "printed", "unit", "half_digit", "ours", "sd", "verdict", "open"]
    frame = pd.DataFrame(lines, columns=names).astype({"ours": float, "sd": float, "open": float})
    frame = frame.assign(metric='log-loss of "P"', place="Table: 1", kind="measured", recompute="performance", strength="")
    frame.loc[0, "strength"] = "cannot fail"
    frame["reason"], frame["reading"], frame["reading_verdict"] = "", np.nan, ""
    frame.loc[0, ["reading", "reading_verdict"]] = [3780.0, "differs"]
    frame.loc[2, "reason"] = "needs LOS"
    frame["relations"] = ["", "", "", "holds 2, fails 1"]
    frame["noise_verdict"], frame["weighted"], frame["weighted_verdict"] = "", np.nan, ""
    frame.loc[1, ["noise_verdict", "weighted", "weighted_verdict"]] = ["differs", 0.31, "differs"]
    return frame


class TestEntries:
    @pytest.mark.parametrize("file", ["deviations.yml", "errata.yml"])
    def test_anchor_of_every_title_is_the_id(self, file):
        """As GitHub and MyST make anchors: lower case, hyphens for spaces, no other signs."""
        for entry in entries.read_entries(FOLDER / file):
            title = entries.make_title(entry["id"])
            assert re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") == entry["id"]

    def test_title_of_every_entry_links_to_its_heading(self):
        contents = pages.list_entries([ERRATUM], "place")
        assert contents == "- [LCE column](#lce-column): Main table"
        assert "### LCE column\n" in pages.write_errata([ERRATUM | {"claims": []}], pd.DataFrame({"id": []}))

    def test_an_erratum_says_where_what_instead_and_why(self, claims):
        text = pages.write_errata([ERRATUM], claims)
        for part in (
            "**Where.** Main table",
            "**Printed.** LCE between 0.54 and 0.75",
            "**Instead.** MLCE",
            "**Evidence.**",
        ):
            assert part in text

    def test_signs_of_running_text_are_no_markup(self, claims):
        assert r"By \|p - q\| and p\_A, \*not\* \[this\](that)." in pages.write_errata([ERRATUM], claims)

    def test_numbers_stand_in_a_line(self, claims):
        text = pages.write_errata([ERRATUM], claims)
        assert "**Numbers.** rows 3,780; nll 0.299, 0.2989; by part a 1, b 0.5.\n" in text

    def test_lines_of_the_ledger_stand_under_their_erratum(self, claims):
        assert "- protocol/points: printed 5,780 runs, ours 3,780: differs" in pages.write_errata([ERRATUM], claims)

    def test_an_erratum_without_numbers_has_no_empty_list(self, claims):
        bare = {key: value for key, value in ERRATUM.items() if key != "numbers"} | {"claims": []}
        text = pages.write_errata([bare], claims)
        assert "Numbers" not in text
        assert "In the ledger" not in text

    def test_a_deviation_has_all_its_fields(self):
        text = pages.write_deviations([DEVIATION])
        assert text.startswith("### Mean loss\n")
        for part in (
            "**About.** Loss",
            "**The paper.** A sum.",
            "**Here.** The mean.",
            "**Why.** So.",
            "**Effect.** ?",
        ):
            assert part in text


class TestLedger:
    def test_a_line_has_what_is_printed_ours_and_the_verdicts(self, claims):
        rows = BeautifulSoup(pages.write_ledger(claims), "html.parser").find_all("tr")
        texts = [[(cell.summary or cell).get_text() for cell in row.find_all(["th", "td"])] for row in rows]
        assert texts[0] == list(pages.COLUMNS)
        assert texts[1][:5] == ["Size of the study", "points", "differs", "5,780 runs", "3,780"]
        assert texts[2] == [
            *("Tabular: all methods", "Platt, SHAP, NLL", "within tolerance", "0.2983 nat", "0.30123 ± 0.00200"),
            *("differs", "0.31000 differs", "", "measured", "tabular.tables.performance"),
        ]
        assert texts[3][1:8] == ["TS, Data, NLL", "blocked", "0.3441 nat", "", "", "", "0.35000"]

    def test_a_line_leads_to_its_chapter(self, claims):
        found = BeautifulSoup(pages.write_ledger(claims), "html.parser")
        folder = "../reproduction"
        chapters = ["protocol-and-data", "tabular-results", "tabular-results", "images"]
        expected = [f"{folder}/{chapter}.html" for chapter in chapters]
        assert [link["href"] for link in found.select("tbody a")] == expected

    def test_every_chapter_that_is_linked_exists(self):
        for _, chapter in ledger.CHAPTERS:
            assert source(chapter).exists()

    def test_every_number_has_a_chapter(self):
        assert all(ledger.find_chapter(name) for name in ledger.read_ledger(FOLDER / "claims.csv")["id"])

    def test_its_id_is_on_the_page_for_those_who_cannot_point(self, claims):
        found = BeautifulSoup(pages.write_ledger(claims), "html.parser")
        assert [name.get_text() for name in found.select("details > code")] == list(claims["id"])

    def test_signs_are_escaped_and_a_warning_is_said(self, claims):
        text = pages.write_ledger(claims)
        assert "A &amp; B" in text
        assert "log-loss of &quot;P&quot;. Table: 1. cannot fail." in text

    def test_what_has_no_column_can_be_searched(self, claims):
        """The reason of a number that is not judged, and the verdict under the chosen reading."""
        text = pages.write_ledger(claims)
        assert "Table: 1. needs LOS." in text
        assert "under the chosen reading 3,780 differs." in text

    def test_the_whole_ledger_stays_light(self):
        stored = ledger.read_ledger(FOLDER / "claims.csv")
        text = pages.write_ledger(stored)
        assert text.count("<tr>") == len(stored) + 1
        assert len(text.encode()) < 500_000

    def test_only_the_table_that_is_searched_brings_a_script(self, claims):
        assert "<script" in pages.write_ledger(claims)
        assert "<script" not in pages.write_ledger(claims, searched=False)

    def test_words_of_ids_are_explained(self, claims):
        ids = ["capacity/100/6/NLL_non", "capacity/100/6/AUC_cl", "improvement/All/NLL/ci", "rejection/0.1"]
        text = pages.write_ledger(claims.assign(id=ids))
        names = [cell.get_text() for cell in BeautifulSoup(text, "html.parser").select("th[scope=row] summary")]
        assert names == [
            "100, 6, NLL, not clustered",
            "100, 6, AUC, clustered",
            "All, NLL, half width of interval",
            "0.1",
        ]


class TestPlaces:
    def test_a_place_becomes_its_text_and_the_rest_of_the_page_stays(self):
        page = ["# Title\n\n```{from-results} contents of errata\n```\n\nEnd.\n"]
        pages.insert(None, "a/page", page)
        contents = pages.list_entries(entries.read_entries(FOLDER / "errata.yml"), "place")
        assert page == [f"# Title\n\n{contents}\n\nEnd.\n"]

    def test_every_block_stands_on_a_page_and_every_place_names_a_block(self):
        asked = [name for page in pages_of_the_book() for name in pages.PLACE.findall(source(page).read_text(encoding="utf-8"))]
        assert sorted(asked) == sorted(pages.BLOCKS)
