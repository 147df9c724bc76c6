"""What the front pages say of the reproduction is what the ledger says."""

from book_sources import ROOT
from results_pages import BLOCKS, state_reproduction, update_readme

from clustcal.experiments.deep.judgement import read_verdicts
from clustcal.experiments.ledger import JUDGED, read_ledger
from clustcal.experiments.results import FOLDER

LEDGER = read_ledger(FOLDER / "claims.csv")
VERDICTS = read_verdicts(FOLDER)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_readme_has_the_sentences_of_the_ledger():
    assert state_reproduction(LEDGER, VERDICTS) in " ".join(read("README.md").split())


def test_the_readme_can_be_brought_up_to_date(tmp_path):
    stale = read("README.md").replace("numbers", "numbres")
    (tmp_path / "README.md").write_text(stale, encoding="utf-8")
    update_readme(tmp_path / "README.md")
    assert (tmp_path / "README.md").read_text(encoding="utf-8").replace("numbres", "numbers") == read("README.md")


def test_welcome_page_takes_them_from_the_ledger():
    assert "```{from-results} state of the reproduction\n```" in read("book/index.md")
    assert BLOCKS["state of the reproduction"]() == state_reproduction(LEDGER, VERDICTS)


def test_no_page_claims_that_the_whole_paper_is_reproduced():
    pages = [ROOT / "README.md", ROOT / "CITATION.cff", *(ROOT / "book").rglob("*.md")]
    assert [page for page in pages if "in full" in page.read_text(encoding="utf-8")] == []


def test_the_counts_are_those_of_the_verdicts():
    text = state_reproduction(LEDGER, VERDICTS)
    once = LEDGER[LEDGER["same_as"] == ""]
    is_setting = once["kind"] == "setting"
    judged = once[once["verdict"].isin(JUDGED) & ~is_setting]
    agree = judged["verdict"].isin(["match", "within tolerance"])
    by_kind = agree.groupby(judged["kind"] == "measured").agg(["sum", "size"])
    assert f"prints {len(LEDGER)} numbers, {len(once)} when" in text
    followed = once.loc[is_setting, "verdict"] == "match"
    assert f"{is_setting.sum()} of these are settings, of which ours follow {followed.sum()};" in text
    assert f"{len(judged)} others could be judged" in text
    assert f"{by_kind.loc[True, 'sum']} agree within" in text
    better = (judged["verdict"] == "better").sum()
    assert f"{by_kind.loc[True, 'size'] - by_kind.loc[True, 'sum']} differ ({better} of" in text
    wide = (judged["kind"] == "measured") & agree & (judged["strength"] != "")
    assert f"({wide.sum()} of them weakly" in text
    assert f"computed {by_kind.loc[False, 'sum']} agree" in text
    rest = once[~is_setting & once["verdict"].isin(["other model", "blocked", "not attempted"])]
    assert len(once) - len(judged) - is_setting.sum() == len(rest)
    beside = once[once["verdict"] == "other model"]
    assert f"On images and texts {len(beside)} stand beside ours" in text
    assert beside["ours"].notna().all()


def test_relations_are_counted_on_the_networks_that_stand_for_the_papers():
    could = ~VERDICTS["strength"].str.startswith("cannot")
    counts = VERDICTS[(VERDICTS["role"] == "judged") & could]["verdict"].value_counts()
    said = counts.reindex(["holds", "fails", "undecided", "equal or not"], fill_value=0)
    text = state_reproduction(LEDGER, VERDICTS)
    assert f"of {said.sum()} relations and statements" in text
    assert f"{said['holds']} hold (" in text
    assert f"{said['fails']} fail, and {said['undecided'] + said['equal or not']} are" in text


def test_a_number_that_is_printed_twice_counts_once():
    assert state_reproduction(LEDGER, VERDICTS) != state_reproduction(LEDGER.assign(same_as=""), VERDICTS)
