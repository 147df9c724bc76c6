"""The bibliography holds the works that the book cites, all of them and no other."""

import re

from book_sources import ROOT

BOOK = ROOT / "book"


def entries():
    return re.findall(r"^@\w+\{([^,\s]+),", (BOOK / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)


def cited():
    texts = "\n".join(page.read_text(encoding="utf-8") for page in BOOK.rglob("*.md"))
    return {key.strip() for keys in re.findall(r"\{cite:[a-z]+\}`([^`]+)`", texts) for key in keys.split(",")}


def test_every_cited_work_has_an_entry():
    assert sorted(cited() - set(entries())) == []


def test_every_entry_is_cited():
    assert sorted(set(entries()) - cited()) == []


def test_no_work_has_two_entries():
    assert len(entries()) == len(set(entries()))
