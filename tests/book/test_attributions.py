"""Who is said to have shown what: a sentence about one of these subjects cites the work that has it, and none says who
was first, which would need a search of the literature that this book has not made."""

import re

import pytest
from book_sources import chapters, source

# What a sentence is about, and the work that it then cites.
SUBJECTS = {
    "the decomposition of all proper scores": (
        r"\b(every|any|all|each) (other )?(strictly )?proper scores?\b.*\b(sum of|parts?|splits?|decompos\w+)\b",
        "brocker2009reliability",
    ),
    "refinement as a loss": (r"\brefinement loss\b", "kull2015novel"),
    "top-label calibration": (r"^- \*\*top-label calibrated\*\*", "gupta2022top"),
    "intervals over splits that overlap": (r"\bvariance \$s\^2 / J\$ of a mean", "nadeau2003inference"),
}
PRIORITY = re.compile(
    r"\b(first|originally) (shown|proved|proposed|introduced|described|done|used|defined)\b"
    r"|\b(introduced|invented) by\b|\b(is|was|are|were) the first to\b|\bgoes back to\b|\bdue to \{cite|\bsince \{cite",
    re.IGNORECASE,
)

# What stood in the book before, and must not come back.
MURPHY_FOR_ALL = (
    "Every proper score is a sum of two parts with opposite signs, and of a constant that belongs to the task "
    "{cite:p}`murphy1973new`: *reliability*, the calibration error in the score's own distance."
)
REFINEMENT = "Uncertainty minus resolution is the *refinement loss* of {cite:t}`degroot1983comparison`."
FIRST = "It was first done for decisions whose costs differ {cite:p}`zadrozny2001learning`."
SINCE = "Such a forecaster is called well calibrated since {cite:t}`dawid1982well`."


def is_about(line, subject):
    return re.search(SUBJECTS[subject][0], line, re.IGNORECASE)


def wrong_attributions(line):
    """Return the subjects of a line whose work it does not cite, and ``"priority"`` if it says who was first."""
    found = [name for name, (_, work) in SUBJECTS.items() if is_about(line, name) and work not in line]
    return found + ["priority"] * bool("{cite" in line and PRIORITY.search(line))


@pytest.mark.parametrize("chapter", chapters())
def test_sentences_cite_the_work_that_has_what_they_say(chapter):
    lines = source(chapter).read_text(encoding="utf-8").splitlines()
    assert {line: found for line in lines if (found := wrong_attributions(line)) and not line.startswith(":::")} == {}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_subject_is_somewhere_in_the_book(subject):
    lines = [line for page in chapters() for line in source(page).read_text(encoding="utf-8").splitlines()]
    assert any(is_about(line, subject) for line in lines)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (MURPHY_FOR_ALL, ["the decomposition of all proper scores"]),
        (REFINEMENT, ["refinement as a loss"]),
        (FIRST, ["priority"]),
        (SINCE, ["priority"]),
        ("Fit the temperature first, then the bins {cite:p}`kumar2019verified`.", []),
    ],
)
def test_wrong_attributions_are_found(line, found):
    assert wrong_attributions(line) == found
