"""The plan of the course: it holds the chapters of its track once each, and its hours are those of what is in it."""

import re

import pytest
from book_sources import ROOT, built, pages, source
from bs4 import BeautifulSoup
from course_plan import BLOCKS, assignment_hours, exercise_numbers, read_plan, tracks, week_hours, write_weeks
from reading_times import stated

WEEKS = read_plan()["weeks"]
PAGE = (ROOT / "book" / "course" / "plan.md").read_text(encoding="utf-8")


def test_there_are_ten_weeks_and_each_has_a_section():
    assert len(WEEKS) == 10
    titles = re.findall(r"^### Week (\d+): (.+)$", PAGE, re.MULTILINE)
    assert titles == [(str(number), week["title"]) for number, week in enumerate(WEEKS, start=1)]


def test_the_weeks_read_the_chapters_of_the_course_once_each_and_in_their_order():
    assert [page for week in WEEKS for page in week["read"]] == tracks()["course"]


def test_the_tracks_hold_the_chapters_of_the_numbered_parts_and_no_page_of_the_appendix():
    course, paper = tracks()["course"], tracks()["paper"]
    shared = {page for page in course if page.startswith("theory/")} | {"start/quickstart"}
    assert set(course) & set(paper) == shared
    assert {page.split("/")[0] for page in course} == {"start", "foundations", "using", "theory"}
    assert {page.split("/")[0] for page in paper} == {"start", "theory", "method", "reproduction", "beyond"}
    assert set(course) | set(paper) <= set(pages())


@pytest.mark.parametrize("number", range(1, 11))
def test_exercises_of_a_week_stand_in_its_chapters(number):
    week = WEEKS[number - 1]
    assert 3 <= len(week["exercises"]) <= 4
    texts = "".join(source(page).read_text(encoding="utf-8") for page in week["read"])
    assert [label for label in week["exercises"] if f":::{{exercise}}\n:label: {label}\n" not in texts] == []


@pytest.mark.parametrize("number", range(1, 11))
def test_hours_of_a_week_are_those_that_chapters_and_assignments_state(number):
    hours = week_hours(number)
    said = sum(stated(page)[0] for page in WEEKS[number - 1]["read"])
    assert 60 * hours["reading"] == pytest.approx(said, abs=5 * len(WEEKS[number - 1]["read"]))
    assert 4 < sum(hours.values()) < 10


def test_every_hour_of_an_assignment_is_in_the_plan():
    given = [week["assignment"] for week in WEEKS if "assignment" in week]
    assert given == ["01-measuring", "02-calibrators", "03-decisions", "04-theory"]
    assert sum(week_hours(number)["assignment"] for number in range(1, 11)) == sum(map(assignment_hours, given))
    read = ""
    for week in WEEKS:
        read += "".join(week["read"])
        if "assignment" in week:
            master = (ROOT / "assignments" / f"{week['assignment']}.md").read_text(encoding="utf-8")
            needed = re.findall(r"\*([^*]+)\*", re.search(r"^Read before: (.+)$", master, re.MULTILINE)[1])
            titles = {re.search(r"^# (.+)$", source(page).read_text(encoding="utf-8"), re.MULTILINE)[1]: page
                      for page in tracks()["course"]}  # fmt: skip
            assert [name for name in needed if name in titles and titles[name] not in read] == []


def test_the_table_adds_up():
    rows = [line.strip("| ").split(" | ") for line in write_weeks().splitlines()[2:]]
    total = float(rows[-1][-1].strip("*"))
    assert total == pytest.approx(sum(float(row[-1]) for row in rows[:-1]), abs=1)


def test_every_place_of_a_page_has_its_table():
    asked = [name for file in (ROOT / "book").rglob("*.md") for name in re.findall(
        r"^```\{from-course\} *(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)]  # fmt: skip
    assert sorted(asked) == sorted(BLOCKS)


@pytest.mark.skipif("course/plan" not in built(), reason="the plan is not in the book")
def test_numbers_of_exercises_are_those_of_their_pages(site):
    article = BeautifulSoup((site / "course" / "plan.html").read_text(encoding="utf-8"), "html.parser").select_one(
        "article"
    )
    numbers = {label: number for week in WEEKS for label, number in exercise_numbers(week).items()}
    for label, number in numbers.items():
        (link,) = [a for a in article.find_all("a", href=True) if a["href"].endswith(f"#{label}")]
        target = (site / "course" / link["href"].partition("#")[0]).resolve()
        caption = (
            BeautifulSoup(target.read_text(encoding="utf-8"), "html.parser")
            .find(id=label)
            .select_one(".caption-number")
        )
        assert link.get_text() == number
        assert caption.get_text().split()[-1] == number.split()[-1]
