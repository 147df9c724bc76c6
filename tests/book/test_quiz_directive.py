"""Quizzes: every answer has its reason; they work by mouse and keyboard, without scripts, in both colour schemes."""

import re
from io import StringIO

import pytest
from axe_checks import faults_of_colour, faults_of_structure
from book_sources import ROOT, chapters, source
from bs4 import BeautifulSoup
from notebook_markdown import Page
from quiz_directive import FEWEST, MOST, quiz
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

QUESTION = """\
{number}. Is $1 + 1 = {number}$ or *not*,
   as they say?

   - [ ] Never
     It can be: take `2`.
   - [x] It depends
     For two it is.
     Otherwise it is not.
"""
QUESTIONS = [QUESTION.format(number=number) for number in (1, 2, 3, 4)]


def as_page(*questions):
    return "# A page\n\n```{quiz}\n" + "\n".join(questions) + "```\n"


def build(folder, text):
    """Build one page in the style of the book; return its environment, its HTML file and the warnings of Sphinx."""
    (folder / "source").mkdir()
    (folder / "source" / "index.md").write_text(text, encoding="utf-8")
    warnings = StringIO()
    settings = {
        "extensions": ["myst_parser", "quiz_directive"],
        "source_suffix": {".md": "markdown"},  # another builder of this process may have left its own
        "myst_enable_extensions": ["dollarmath"],
        "html_theme": "sphinx_book_theme",
        "html_static_path": [str(ROOT / "book/_static"), str(ROOT / "book/_assets")],
        "html_css_files": ["book.css"],
        "mathjax_path": "mathjax/tex-svg-full.js",
        "mathjax3_config": {"options": {"enableMenu": False}},
    }
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            folder / "source", None, folder / "html", folder / "trees", "html", settings, status=None, warning=warnings
        )
        app.build()
    return app.env, folder / "html" / "index.html", warnings.getvalue()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    environment, page, warnings = build(tmp_path_factory.mktemp("quiz"), as_page(*QUESTIONS))
    assert warnings == ""
    return environment, page


@pytest.fixture(scope="module")
def soup(built):
    return BeautifulSoup(built[1].read_text(encoding="utf-8"), "html.parser")


# --- The page ---


def test_a_question_is_a_fieldset_with_its_legend(soup):
    fieldsets = soup.select("form.quiz > fieldset")
    assert len(fieldsets) == 4
    for number, fieldset in enumerate(fieldsets, 1):
        legend = fieldset.find(recursive=False)
        assert legend.name == "legend"
        assert legend.get_text().startswith(f"{number}. Is ")
        assert legend.select("em")
        assert legend.select("span.math")


def test_an_answer_is_a_radio_button_in_its_label_and_has_its_reason(soup):
    first, second = soup.select_one("fieldset").select(".quiz-answer")
    for answer, words in ((first, "Never"), (second, "It depends")):
        label = answer.select_one("label")
        assert label.get_text(strip=True) == words
        assert label.select_one("input")["type"] == "radio"
    assert first.select_one("p.quiz-reason").get_text() == "Not quite. It can be: take 2."
    assert second.select_one("p.quiz-reason").get_text() == "Right. For two it is.\nOtherwise it is not."
    assert [one["class"] for one in (first, second)] == [["quiz-answer", "quiz-wrong"], ["quiz-answer", "quiz-right"]]


def test_radio_buttons_of_a_question_form_a_group_of_their_own(soup):
    groups = [{button["name"] for button in fieldset.select("input")} for fieldset in soup.select("fieldset")]
    assert all(len(group) == 1 for group in groups)
    assert len(set.union(*groups)) == 4
    assert len({(button["name"], button["value"]) for button in soup.select("fieldset input")}) == 8


def test_no_answer_is_chosen_and_nothing_tells_the_right_one_but_its_class(soup):
    assert soup.select("form.quiz [checked]") == []
    assert {tuple(sorted(button.attrs)) for button in soup.select("fieldset input")} == {("name", "type", "value")}


def test_the_page_has_the_style_sheet_and_no_script_of_ours(soup):
    assert [link for link in soup.select("link[rel=stylesheet]") if "quiz.css" in link["href"]]
    assert not [script for script in soup.select("script[src]") if "quiz" in script["src"]]


def test_a_page_without_a_quiz_does_not_load_its_style(tmp_path):
    _, page, warnings = build(tmp_path, "# A page\n\nNo quiz.\n")
    assert warnings == ""
    assert "quiz.css" not in page.read_text(encoding="utf-8")


# --- In the browser ---


@pytest.fixture(params=["light", "dark"])
def page(built, browser, request):
    browser.open(built[1].as_uri(), width=390, scheme=request.param)
    return browser


def reasons_on(page):
    script = "[...document.querySelectorAll('.quiz-reason')].map((e) => e.checkVisibility())"
    return [place for place, visible in enumerate(page.run(script)) if visible]


def test_reasons_show_on_answering_by_mouse(page):
    assert reasons_on(page) == []
    page.page.get_by_text("It depends").nth(1).click()
    assert reasons_on(page) == [3]
    page.page.get_by_text("Never").nth(1).click()
    page.page.get_by_text("Never").nth(2).click()
    assert reasons_on(page) == [2, 4]
    page.page.get_by_role("button", name="Clear my answers").click()
    assert reasons_on(page) == []


def test_keyboard_answers_and_the_focus_is_seen(page):
    page.page.locator("fieldset input").first.focus()
    page.page.keyboard.press("Space")
    assert reasons_on(page) == [0]
    page.page.keyboard.press("ArrowDown")
    assert reasons_on(page) == [1]
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.page.keyboard.press("Tab")
    assert page.run("document.activeElement.name") == page.run(
        "document.querySelectorAll('fieldset')[1].elements[0].name"
    )
    page.page.keyboard.press("Enter")  # sends no form
    assert reasons_on(page) == [1]


def test_words_can_be_read_in_their_colours_when_all_is_answered(page, axe):
    for right in (True, False):
        page.run(f"document.querySelectorAll('.quiz-{'right' if right else 'wrong'} input').forEach((e) => e.click())")
        assert len(reasons_on(page)) == 4
        assert faults_of_colour(page, axe, set()) == []


def test_quiz_has_no_serious_fault_of_structure(built, browser, axe):
    browser.open(built[1].as_uri())
    faults = faults_of_structure(browser, axe)
    assert [fault for fault in faults if "quiz" in fault[1]] == []


def test_quiz_fits_a_phone(page):
    page.run("document.querySelectorAll('.quiz input').forEach((e) => e.click())")
    assert page.run("[...document.querySelectorAll('.quiz *')].every((e) => e.getBoundingClientRect().right <= 390)")


def test_an_answer_is_large_enough_for_a_thumb(page):
    heights = page.run("[...document.querySelectorAll('.quiz label')].map((e) => e.getBoundingClientRect().height)")
    assert min(heights) >= 32


def test_without_scripts_it_works_all_the_same(built, browser):
    context = browser.browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(built[1].as_uri())
        reasons = page.locator(".quiz-reason")
        assert not reasons.nth(1).is_visible()
        page.get_by_text("It depends").first.click()
        assert reasons.nth(1).is_visible()
        assert not reasons.nth(0).is_visible()
    finally:
        context.close()


def test_print_keeps_the_reasons_folded(page):
    page.page.emulate_media(media="print")
    assert reasons_on(page) == []
    assert page.run("document.querySelector('.quiz-choice').checkVisibility()")
    page.page.emulate_media(media="screen")


# --- The notebook ---


def test_in_a_notebook_the_answers_are_folded_below_each_question(built):
    environment, _ = built
    doctree = environment.get_doctree("index")
    parts = Page(doctree, "index", environment).block(next(doctree.findall(quiz)), 1)
    assert [part.kind for part in parts] == ["text"] * 4
    assert parts[0].source == (
        "**1.** Is $1 + 1 = 1$ or *not*, as they say?\n\n"
        "- a) Never\n- b) It depends\n\n"
        "<details><summary>Answer</summary>\n\n"
        "- **a) Not quite.** It can be: take `2`.\n- **b) Right.** For two it is. Otherwise it is not.\n\n"
        "</details>"
    )


# --- The source ---

ONE = QUESTIONS[0]
FAULTS = {
    "The content of a quiz is not one numbered list of questions.": ["- A bullet\n"],
    "The quiz has 3 questions; expected 4 to 6.": QUESTIONS[:3],
    "The quiz has 7 questions; expected 4 to 6.": [QUESTION.format(number=number) for number in range(1, 8)],
    "Question 1 of the quiz is not a paragraph, a blank line and a list of answers.": [
        "1. No answers\n",
        *QUESTIONS[1:],
    ],
    "Question 1 of the quiz has 1 answer; expected 2 or more.": [
        ONE.replace("   - [ ] Never\n     It can be: take `2`.\n", ""),
        *QUESTIONS[1:],
    ],
    "Question 2 of the quiz has 2 right answers, marked [x]; expected one.": [
        ONE,
        QUESTIONS[1].replace("[ ]", "[x]"),
        *QUESTIONS[2:],
    ],
    "Question 1 of the quiz has 0 right answers, marked [x]; expected one.": [
        ONE.replace("[x]", "[ ]"),
        *QUESTIONS[1:],
    ],
    "Answer 1 of question 1 does not begin with [x] or [ ], which says whether it is right.": [
        ONE.replace("[ ] Never", "Never"),
        *QUESTIONS[1:],
    ],
    "Answer 1 of question 1 has no reason on the lines below it.": [
        ONE.replace("     It can be: take `2`.\n", ""),
        *QUESTIONS[1:],
    ],
    "Answer 1 of question 1 is not one paragraph: the answer on the first line, its reason on those below.": [
        ONE.replace("     It can be", "\n     It can be"),
        *QUESTIONS[1:],
    ],
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_source_that_is_wrong_gets_one_sentence(tmp_path, sentence):
    _, _, warnings = build(tmp_path, as_page(*FAULTS[sentence]))
    (line,) = [line for line in warnings.splitlines() if line.strip() and "ERROR" in line]
    assert sentence in line
    assert re.search(r"index\.md:\d+: ", line)


# --- The chapters ---


@pytest.mark.parametrize("chapter", chapters())
def test_every_chapter_with_exercises_has_one_quiz_before_them(chapter):
    text = source(chapter).read_text(encoding="utf-8")
    needs_one = "\n## Exercises\n" in text
    assert len(re.findall(r"^```\{quiz\}$", text, re.MULTILINE)) == needs_one
    assert len(re.findall(r"\n## Quiz\n\n```\{quiz\}\n(?s:.*?)\n```\n\n## Exercises\n", text)) == needs_one


def quiz_of(chapter):
    found = re.search(
        r"^```\{quiz\}\n(.*?)^```$", source(chapter).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


@pytest.mark.parametrize("chapter", [chapter for chapter in chapters() if quiz_of(chapter)])
def test_the_place_of_the_right_answer_varies(chapter):
    """Or a reader learns the place."""
    questions = re.split(r"^\d\. ", quiz_of(chapter), flags=re.MULTILINE)[1:]
    assert FEWEST <= len(questions) <= MOST
    places = [re.findall(r"^   - \[([ x])\]", question, re.MULTILINE).index("x") for question in questions]
    assert len(set(places)) > 1
    assert max(map(places.count, places)) < len(places)


def places(chapter):
    """Of each question the place of the right answer, from 1."""
    questions = re.split(r"^\d\. ", quiz_of(chapter), flags=re.MULTILINE)[1:]
    return [re.findall(r"^   - \[([ x])\]", question, re.MULTILINE).index("x") + 1 for question in questions]


def seen(answer):
    """An answer about as long as a reader sees it: without the marks of a formula, a name of a value as a number."""
    answer = re.sub(r"\{[a-z:]+\}`[^`]*`", "0.00", answer)
    return re.sub(r"\\\\?[a-zA-Z]+|[$*`{}^_]", "", answer)


def lengths(chapter):
    """Of each question how long the right answer is, and the wrong ones."""
    for question in re.split(r"^\d\. ", quiz_of(chapter), flags=re.MULTILINE)[1:]:
        answers = re.findall(r"^   - \[([ x])\] (.*)$", question, re.MULTILINE)
        (right,) = [len(seen(answer)) for mark, answer in answers if mark == "x"]
        yield right, [len(seen(answer)) for mark, answer in answers if mark == " "]


WITH_QUIZ = [chapter for chapter in chapters() if quiz_of(chapter)]


def test_the_place_tells_nothing_over_all_quizzes():
    """Each place is right about as often as the others, and the first and last question give nothing away."""
    of_three = [place for chapter in WITH_QUIZ for place in places(chapter)]
    shares = [of_three.count(place) / len(of_three) for place in (1, 2, 3)]
    assert min(shares) > 0.26
    assert max(shares) < 0.41
    ends = [(places(chapter)[0], places(chapter)[-1]) for chapter in WITH_QUIZ]
    assert max(map(ends.count, ends)) < 0.3 * len(ends)  # a ninth by chance


def test_no_order_of_right_answers_comes_three_times():
    orders = [tuple(places(chapter)) for chapter in WITH_QUIZ]
    assert max(map(orders.count, orders)) <= 2


def test_taking_the_longest_or_the_shortest_answer_is_right_about_as_often_as_chance():
    every = [pair for chapter in WITH_QUIZ for pair in lengths(chapter)]
    longest = sum(right > max(wrong) for right, wrong in every) / len(every)
    shortest = sum(right < min(wrong) for right, wrong in every) / len(every)
    assert 0.15 < longest < 0.4
    assert 0.15 < shortest < 0.4
    assert longest + shortest > 0.45  # nor is the one in the middle right much more often than every other time


@pytest.mark.parametrize("chapter", WITH_QUIZ)
def test_the_right_answer_does_not_stand_out_by_its_length(chapter):
    """At most 1.5 times as long as the longest wrong one, where that is long enough to count."""
    found = list(lengths(chapter))
    assert [pair for pair in found if pair[0] > 1.5 * max(*pair[1], 20)] == []
    assert sum(right > max(wrong) for right, wrong in found) <= len(found) / 2


@pytest.mark.parametrize("chapter", WITH_QUIZ)
def test_no_answer_argues_for_itself(chapter):
    """A "since" stands in the reason below: where wrong answers alone have one, it tells them from the right one."""
    answers = re.findall(r"^   - \[[ x]\] (.*)$", quiz_of(chapter), re.MULTILINE)
    assert [answer for answer in answers if re.search(r"\b(since|because)\b|, as ", answer)] == []
