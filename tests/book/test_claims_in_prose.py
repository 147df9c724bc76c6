"""Sentences of the book that leave no exception ("no", "all", "always", "within"): each has a cell that asserts it, or a
reason why none has to. `python tools/claims_in_prose.py` lists them with their guards."""

import nbformat
import pytest
from book_sources import chapters
from claims_in_prose import REASONS, chapter_sentences, guards, pages, plain, read_page, read_register, sentences, table

REGISTER = read_register()
HOW = (
    "A sentence of {page} leaves no exception and nothing guards it:\n\n    {text}\n\n"
    "If a result could make it false, assert it in a cell: `assert condition, \"the opening of the sentence\"`, with `...` "
    "for a glued number. If not, list its opening with a reason in tests/book/claims_without_cell.yml."
)


@pytest.mark.parametrize("page", pages())
def test_every_sentence_that_leaves_no_exception_has_a_guard_or_a_reason(page):
    for sentence, guard in table(page, REGISTER):
        assert guard is not None, HOW.format(page=page, text=sentence.text)


@pytest.mark.parametrize("chapter", chapters())
def test_every_guard_belongs_to_a_sentence(chapter):
    """A sentence that was reworded or taken out leaves its assertion behind, and this finds it."""
    found, asserted = read_page(chapter)
    lost = [guard.opening for guard in asserted if not any(each.starts_with(guard.opening) for each in found)]
    assert lost == []


@pytest.mark.parametrize("chapter", chapters())
def test_every_guard_can_fail(chapter):
    assert [guard.opening for guard in read_page(chapter)[1] if not guard.can_fail] == []


@pytest.mark.parametrize("page", REGISTER)
def test_every_listed_sentence_is_still_there_and_guarded_by_no_cell(page):
    without_cell = [sentence for sentence, guard in table(page, REGISTER) if guard != "cell"]
    stale = [opening for opening in REGISTER[page] if not any(each.starts_with(opening) for each in without_cell)]
    assert stale == []


@pytest.mark.parametrize("page", REGISTER)
def test_every_reason_is_one_of_those_explained(page):
    assert set(REGISTER[page].values()) <= set(REASONS)


def test_generated_sentences_have_something_that_the_code_makes():
    for page, listed in REGISTER.items():
        for sentence, guard in table(page, REGISTER):
            assert guard != "generated" or sentence.is_generated, f"{page}: {sentence.text}"
        assert page in pages(), f"there is no page {page}, which {list(listed)[:1]} is said to be on"


# --- The tool itself -----------------------------------------------------------------------------------------------------------

CHAPTER = """\
# All about it

No table, no heading: this line counts. And this one, too.
- *Every mistake.* It is {glue:text}`share:.0f` % of all {cite:p}`somebody2020`.

| all | rows |
|---|---|

$$
\\text{all of it} = 1
$$

:::{prf:lemma} Always
:label: lem-always
It holds for all $x$.
:::

:::{prf:proof}
Every step is clear.
:::

:::{exercise}
:label: ex-all
Are all of them right?
:::

```{solution-start} ex-all
:class: dropdown
```

```python
all_of_them = "never"
```

All of them are, within [limits](page.md).

```{solution-end}
```
"""


def test_sentences_are_those_of_prose_without_headings_tables_formulas_proofs_and_questions():
    assert [sentence.text for sentence in sentences(CHAPTER)] == [
        "No table, no heading: this line counts.",
        "And this one, too.",
        "Every mistake.",
        "It is ... % of all.",
        "All of them are, within limits.",
    ]


QUIZ = """\
```{quiz}
1. Are all of them right?
   All of them?

   - [ ] None
     All of them are.
     That is so, always.
```

All is said.
"""


def test_of_a_quiz_the_reasons_are_claims():
    assert [sentence.text for sentence in sentences(QUIZ)] == [
        "All of them are.",
        "That is so, always.",
        "All is said.",
    ]


def test_words_in_formulas_and_code_do_not_count():
    assert plain("Here $\\forall x$ and `all(x)` are code").words == []
    assert plain("Nothing is *always* right").words == ["Nothing", "always"]
    assert plain("a nobel or an installation").words == []


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Only clustering can change the order.", ["Only"]),
        ("It is the only one of the nine.", ["the only"]),
        ("Of ten bins only {glue:text}`n` have a fit of their own.", ["only"]),
        ("Each map depends on the score only.", []),
        ("Both metrics agree.", ["Both"]),
        ("It beats both, and is larger in both panels.", ["beats both", "in both"]),
        ("Beta fits both features.", []),
        ("Any two pictures are alike.", ["Any"]),
        ("It is better than any other.", ["than any"]),
        ("Run any row again.", []),
        ("A coin would do, by chance; it clearly and reliably stands up.", ["coin", "chance", "clearly", "reliably", "stands up"]),
    ],
)
def test_words_that_weigh_a_result_are_found_where_they_do(sentence, words):
    assert plain(sentence).words == words


def test_a_sentence_with_a_glued_value_is_generated():
    assert plain("It wins {glue:text}`n` of 30").is_generated
    assert not plain("It wins 30 of 30").is_generated


def test_guards_are_assertions_with_a_message_and_captions_are_prose():
    figure = {"mystnb": {"figure": {"caption": "All points lie on it."}, "image": {"alt": "A line.\nNo point is off it."}}}
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("assert x > 1, 'All points lie'\nassert y", metadata=figure),
            nbformat.v4.new_code_cell("assert True, 'It cannot'"),
            nbformat.v4.new_markdown_cell("It cannot fail."),
        ]
    )
    assert [sentence.text for sentence in chapter_sentences(notebook)] == [
        "All points lie on it.",
        "A line.",
        "No point is off it.",
        "It cannot fail.",
    ]
    assert [(guard.opening, guard.can_fail) for guard in guards(notebook)] == [("All points lie", True), ("It cannot", False)]
