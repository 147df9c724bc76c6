"""The pages made from the ledger, the deviations and the errata: in the built site, nothing of them is missing."""

import pytest
from bs4 import BeautifulSoup

from clustcal.experiments.ledger import read_ledger
from clustcal.experiments.entries import read_entries
from clustcal.experiments.results import FOLDER


@pytest.fixture
def article(site):
    """The text of a page of the appendix."""

    def read(name):
        html = (site / "appendix" / f"{name}.html").read_text(encoding="utf-8")
        return BeautifulSoup(html, "html.parser").find("article")

    return read


@pytest.mark.parametrize("name", ["deviations", "errata"])
def test_every_entry_has_an_anchor_of_its_id_that_the_contents_link_to(article, name):
    text = article(name)
    ids = [entry["id"] for entry in read_entries(FOLDER / f"{name}.yml")]
    assert [anchor for anchor in ids if text.find(id=anchor) is None] == []
    assert {f"#{anchor}" for anchor in ids} <= {link["href"] for link in text.find_all("a", href=True)}


def test_the_whole_ledger_is_on_the_scoreboard(article):
    stored = read_ledger(FOLDER / "claims.csv")
    assert len(article("scoreboard").select(".ledger-searched tbody tr")) == len(stored)
    differing = article("scoreboard").select(".ledger:not(.ledger-searched) tbody tr")
    assert len(differing) == (stored["verdict"] == "differs").sum()
