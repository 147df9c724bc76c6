"""The plan of the course as tables of the book: weeks with their hours, and what the two tracks read.

A page has the place for one of them:

    ```{from-course} weeks
    ```

`book/course/weeks.yml` says what a week has; hours are counted from the chapters (`reading_times.py`) and read from the
assignments. ``python tools/course_plan.py`` prints both tables.
"""

import re
from functools import cache

import yaml
from book_sources import ROOT, pages, source, table_of_contents
from reading_times import MINUTES_OF_AN_EXERCISE, Content, count

PLACE = re.compile(r"^```\{from-course\} *(.+)\n```$", re.MULTILINE)
COURSE = ("Part I", "Part II", "Part III")  # with the quickstart


@cache
def read_plan():
    """Return the plan of the course as `book/course/weeks.yml` has it."""
    return yaml.safe_load((ROOT / "book" / "course" / "weeks.yml").read_text(encoding="utf-8"))


def content(page):
    """Return what a page holds, to be read and to be done."""
    return count(source(page).read_text(encoding="utf-8"))


def title(page):
    """Return the heading of a page."""
    return re.search(r"^# (.+)$", source(page).read_text(encoding="utf-8"), re.MULTILINE)[1]


def assignment_hours(name):
    """Return the hours that an assignment says it takes."""
    text = (ROOT / "assignments" / f"{name}.md").read_text(encoding="utf-8")
    return int(re.search(r"^Time: about (\d+) hours", text, re.MULTILINE)[1])


def week_hours(number):
    """Return the hours of a week by what they are for.

    Parameters
    ----------
    number : int
        Of the week, from 1.

    Returns
    -------
    hours : dict of float
        ``reading`` (with the quizzes), ``exercises``, ``assignment`` and ``class``. An assignment is handed out a week
        before it is handed in, so half of its hours belong to each of the two weeks.
    """
    weeks = read_plan()["weeks"]
    week = weeks[number - 1]
    due = [one["assignment"] for one in weeks[number - 1 : number + 1] if "assignment" in one]
    return {
        "reading": sum(content(page).reading for page in week["read"]) / 60,
        "exercises": len(week["exercises"]) * MINUTES_OF_AN_EXERCISE / 60,
        "assignment": sum(map(assignment_hours, due)) / 2,
        "class": read_plan()["class_hours"],
    }


def write_weeks():
    """Return the table of the weeks as Markdown, with the hours of each and of the course."""
    rows = ["| Week | Read, and answer the quiz | Exercises | Hand in | Hours |", "|--:|---|---|---|--:|"]
    total, weeks = 0, read_plan()["weeks"]
    for number, week in enumerate(weeks, start=1):
        hours = week_hours(number)
        total += sum(hours.values())
        read = "; ".join(f"[{title(page)}](../{page}.md)" for page in week["read"])
        exercises = ", ".join(f"{{ref}}`{words} <{label}>`" for label, words in exercise_numbers(week).items())
        assignment = f"assignment {int(week['assignment'][:2])}" if "assignment" in week else ""
        if assignment and week is weeks[-1]:
            assignment += " (a week after the lecture)"
        rows.append(
            f"| {number} | {read} ({hours['reading']:.1f} h) | {exercises} ({hours['exercises']:.1f} h) | {assignment} "
            f"| {sum(hours.values()):.1f} |"
        )
    rows.append(f"| | | | **all** | **{total:.0f}** |")
    return "\n".join(rows)


def chapter_numbers():
    """Return the number of every chapter that has one: they are counted through all numbered parts."""
    numbered = [part for part in table_of_contents()["parts"] if part.get("numbered")]
    chapters = [chapter["file"] for part in numbered for chapter in part["chapters"]]
    return {page: number for number, page in enumerate(chapters, start=1)}


def exercise_numbers(week):
    """Return the numbers of the exercises of a week, such as ``3.2``, by their labels."""
    found, numbers = {}, chapter_numbers()
    for page in week["read"]:
        labels = re.findall(r"^:::\{exercise\}\n:label: (\S+)$", source(page).read_text(encoding="utf-8"), re.MULTILINE)
        before = f"{numbers[page]}." if page in numbers else f"{title(page)} "
        found |= {label: f"{before}{labels.index(label) + 1}" for label in week["exercises"] if label in labels}
    return {label: found[label] for label in week["exercises"]}


def part_pages(*captions):
    """Return the chapters of the parts whose captions begin so."""
    names = {caption.split(":")[0] for caption in captions}
    return pages([part for part in table_of_contents()["parts"] if part["caption"].split(":")[0] in names])


def tracks():
    """Return the chapters of the two tracks, each in reading order."""
    return {
        "course": ["start/quickstart", *part_pages(*COURSE)],
        "paper": ["start/quickstart", *part_pages(*read_plan()["paper"])],
    }


def write_tracks():
    """Return a table of the two tracks as Markdown: chapters, hours of reading, exercises and their hours."""
    rows = ["| Track | Chapters | Reading, h | Exercises | All exercises, h |", "|---|--:|--:|--:|--:|"]
    for name, chapters in tracks().items():
        held = sum((content(page) for page in chapters), Content())
        reading = sum(content(page).reading for page in chapters) / 60
        rows.append(f"| {name} | {len(chapters)} | {reading:.0f} | {held.exercises} | {held.practice / 60:.0f} |")
    return "\n".join(rows)


BLOCKS = {"weeks": write_weeks, "tracks": write_tracks}


def insert(app, page, source):
    """Put a table of the course where a page asks for it (event ``source-read`` of Sphinx)."""
    if PLACE.search(source[0]):
        for dependency in ("book/course/weeks.yml", "_toc.yml"):
            app.env.note_dependency(str(ROOT / dependency))
        for chapter in {chapter for track in tracks().values() for chapter in track}:
            app.env.note_dependency(app.env.doc2path(chapter))
    source[0] = PLACE.sub(lambda found: BLOCKS[found[1]](), source[0])


def setup(app):
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    for write in BLOCKS.values():
        print(write(), end="\n\n")
