"""How long chapters take: what they hold is counted, and each kind of content has a rate.

    python tools/reading_times.py [--write]

The command prints the counts of every chapter and what follows from them; with ``--write`` it also puts the time into
the line ``Time: ... minutes`` of every chapter with exercises. The plan of the course takes its hours from here.

Reading stops at ``## Exercises``. Proofs, captions and the quiz are read; what is folded (solutions, code that only
draws), cells that are removed, and the list of references are not.
"""

import argparse
import re
from dataclasses import astuple, dataclass, fields

from book_sources import ROOT, chapters, source

# Seconds for one of each. Words: 140 a minute, what Carver (1990, "Reading rate") finds where a text is to be kept in
# mind; plain reading is at 238 (Brysbaert 2019, Journal of Memory and Language 109). The others are our assumptions: a
# formula in a sentence and a line of code are a glance, a formula on its own line and an output are a stop.
SECONDS = {"words": 60 / 140, "formulas": 3, "displayed": 45, "lines": 4, "outputs": 40, "questions": 60, "panels": 300}
MINUTES_OF_AN_EXERCISE = 15
TIME = re.compile(
    r"^Time: (?P<reading>\d+) minutes(?:; the exercises take about (?P<practice>\d+) more)?", re.MULTILINE
)

FENCE = re.compile(r"^ *(?P<fence>`{3,}|:{3,})(?:\{(?P<name>[a-z:-]+)\} *(?P<argument>.*))?$")
NOT_READ = {"bibliography", "raw", "eval-rst", "from-results", "toctree", "open-notebook"}


@dataclass(frozen=True)
class Content:
    """What there is to read in a chapter, and how many exercises stand after it."""

    words: int = 0
    formulas: int = 0  # in sentences
    displayed: int = 0  # on lines of their own
    lines: int = 0  # of code that is shown
    outputs: int = 0  # of cells
    questions: int = 0  # of the quiz
    panels: int = 0  # to play with
    exercises: int = 0

    def __add__(self, other):
        return Content(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def reading(self):
        """Minutes, to the next five."""
        seconds = sum(rate * getattr(self, what) for what, rate in SECONDS.items())
        return max(5, 5 * round(seconds / 300))

    @property
    def practice(self):
        """Minutes for all exercises."""
        return MINUTES_OF_AN_EXERCISE * self.exercises


def blocks(text):
    """Yield (name of the directive or "", its lines) for every part of a page that stands outside of others.

    Directives of words hold others (a formula, a cell): what is in them is given in parts, as if it stood outside.
    """
    lines = iter(text.splitlines())
    plain = []
    for line in lines:
        found = FENCE.match(line)
        if not found or found["fence"].startswith(":") or found["name"] in (None, "quiz", "admonition"):
            plain.append("" if found else line)
            continue
        yield "", plain
        plain = []
        inside = []
        for inner in lines:
            if inner.strip() == found["fence"]:
                break
            inside.append(inner)
        yield found["name"], inside
    yield "", plain


def without_front_matter(text):
    return text.split("---\n", 2)[2] if text.startswith("---\n") else text


def count_words(lines):
    """Count words, formulas and displayed formulas of running text in Markdown."""
    text = "\n".join(lines)
    text = re.sub(r"^ *:[a-z-]+:.*$|^\([a-z-]+\)=$|^ *<.*$", "", text, flags=re.MULTILINE)
    displayed = len(re.findall(r"\$\$.+?\$\$", text, re.DOTALL))
    text = re.sub(r"\$\$.+?\$\$(?: \([a-z0-9-]+\))?|^ *- \[[ x]\]", " ", text, flags=re.DOTALL | re.MULTILINE)
    formulas = len(re.findall(r"\$[^$]+\$", text))
    text = re.sub(r"\$[^$]+\$", " ", text)
    text = re.sub(r"\{[a-z:]+\}`([^`]*)`|!?\[([^\]]*)\]\([^)]*\)", r"\1\2", text)
    return Content(words=len(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text)), formulas=formulas, displayed=displayed)


def count_cell(lines):
    """Count what is read of a cell: its lines, unless they are folded, its caption, and its output."""
    text = "\n".join(lines)
    tags = re.search(r"^:?tags: *\[(.*)\]$", text, re.MULTILINE)
    tags = tags[1] if tags else ""
    if "remove-cell" in tags:
        return Content()
    caption = re.search(r"^    caption: *\|?\n((?:      .*\n)+)", text, re.MULTILINE)
    code = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)
    code = [line for line in code.splitlines() if line.strip() and not line.startswith(":")]
    shows = bool(code) and not re.match(r"(from|import|assert|def|class|glue)\b|[\w, .\[\]\"']+ = ", code[-1])
    return count_words([caption[1]] if caption else []) + Content(
        lines=0 if "hide-input" in tags or "remove-input" in tags else len(code), outputs=int(shows)
    )


def count(text):
    """Count what a chapter holds.

    Parameters
    ----------
    text : str
        The source of the chapter.

    Returns
    -------
    content : Content
    """
    text = without_front_matter(text)
    exercises = len(re.findall(r"^:{3,}\{exercise\}", text, re.MULTILINE))
    read = re.split(r"^## (?:Exercises|References)$", text, maxsplit=1, flags=re.MULTILINE)[0]
    # A short exercise within the text is read with it; its solution is folded.
    read = re.sub(r"^```\{solution-start\}.*?^```\{solution-end\}\n```$", "", read, flags=re.DOTALL | re.MULTILINE)
    quiz = re.search(r"^```\{quiz\}\n.*?^```$", read, re.DOTALL | re.MULTILINE)
    questions = len(re.findall(r"^\d+\. ", quiz[0], re.MULTILINE)) if quiz else 0
    panels = len(re.findall(r'^<section [^>]*class="(?:explorer|ece)', read, re.MULTILINE))
    total = Content(questions=questions, panels=panels, exercises=exercises)
    for name, lines in blocks(read):
        if name in ("", "math"):
            total += count_words(lines if name == "" else ["$$", *lines, "$$"])
        elif name == "code-cell":
            total += count_cell(lines)
        elif name not in NOT_READ:
            raise ValueError(f"directive is {name!r}; expected one that tools/reading_times.py can count")
    return total


def times(root=ROOT):
    """Return what every chapter holds, by its name, in reading order."""
    return {page: count(source(page, root).read_text(encoding="utf-8")) for page in chapters(root)}


def stated(page, root=ROOT):
    """Return the minutes that a chapter says reading and exercises take; None for what it does not say."""
    found = TIME.search(source(page, root).read_text(encoding="utf-8"))
    return tuple(minutes and int(minutes) for minutes in found.groups()) if found else (None, None)


def with_time(text):
    """Return the source of a chapter with the time that it takes."""
    content = count(text)
    line = f"Time: {content.reading} minutes; the exercises take about {content.practice} more"
    return TIME.sub(line, text, count=1) if content.exercises else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="put the times into the chapters")
    write = parser.parse_args().write
    total = Content()
    print(f"{'':44}{'stated':>8}{'reading':>8}  " + " ".join(f"{field.name:>9}" for field in fields(Content)))
    for page, content in times().items():
        numbers = " ".join(f"{number:9}" for number in astuple(content))
        print(f"{page:44}{stated(page)[0] or 0:8}{content.reading:8}  {numbers}")
        total += content
        if write:
            file = source(page)
            file.write_text(with_time(file.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{'all':44}{'':8}{total.reading:8}  " + " ".join(f"{number:9}" for number in astuple(total)))


if __name__ == "__main__":
    main()
