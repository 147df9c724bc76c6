"""Sentences of the book that leave no exception ("no", "all") or weigh a result ("clearly"), and the cell that
guards each.

    python tools/claims_in_prose.py [PAGE ...]

Such a sentence about results can be falsified by the table beside it, as soon as data, code or seeds change. So a cell
of its chapter asserts it, and the message of the assertion is the opening of the sentence, glued numbers as "...":

    assert (table["gain"] > 0).all(), "Every method gains"

What cannot be false by a result (a definition, a proof beside it, advice) is listed with the reason in
`tests/book/claims_without_cell.yml`. The command prints the sentences of all pages, or of some, with their guards.
"""

import argparse
import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

import jupytext
import yaml
from book_sources import ROOT, chapters

REGISTER = "tests/book/claims_without_cell.yml"
# Pages that run no code, and whose claims tests guard.
PAGES_WITHOUT_CODE = {"README": "README.md", "index": "book/index.md", "roadmap": "book/roadmap.md"}
REASONS = {
    "definition": "it says what a word, a symbol or a method means",
    "procedure": "it says what was done, or what code does, and no outcome",
    "theory": "it is proved, derived or computed by hand on the page, or a property of the formula beside it",
    "cited": "it says what the paper or another source says",
    "advice": "it tells the reader what to do",
    "hypothetical": "it is a question, or about an imagined case",
    "generated": "the code makes the word or the number that it depends on",
    "unclaimed": "it says what is not claimed, not known or not done here",
    "tested": "a test of the package or of the book fails if it is false",
    "elsewhere": "another chapter or section shows it and guards it",
    "heading": "it announces the sentence after it, which has the claim",
    "timed": "it is about a clock, which no two runs agree on",
}
WORDS = (
    "no", "none", "nobody", "nothing", "nowhere", "never", "neither", "cannot", "all", "always", "every", "everybody",
    "everyone", "everything", "everywhere", "throughout", "certain", "certainly", "within", "hold", "holds", "prove",
    "proves", "proved", "reproduces", "reliably", "consistently", "clearly", "significant", "significantly", "chance",
    "coin", "coins", "stand up", "stands up",
)  # fmt: skip
# Words that mostly say nothing of a result ("both features are 0.5") and are looked at where they do: as the first
# word of a sentence, in a comparison, before a number that the code makes.
PHRASES = (
    r"(?<!.)only", r"the only", r"only(?= \.\.\.)", r"(?<!.)both", r"(?:in|beats?|than|by) both", r"(?<!.)any",
    r"(?:than|hardly|beats?) any",
)  # fmt: skip
WORD = re.compile(rf"\b({'|'.join(WORDS + PHRASES)})\b", re.IGNORECASE)
# What stands in these directives is proved, asked or hidden from readers.
SKIPPED = re.compile(r"(prf:(?!example).*|exercise|raw|bibliography|math|toctree|figure|code-block)$")
# In a quiz questions and answers are asked; the reasons, which are indented below the answers, are claims.
REASON = re.compile(r" {5,}(?!- )\S")
GLUED = "..."


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page as a guard quotes it, and whether the code makes a part of it."""

    text: str
    is_generated: bool

    @property
    def words(self):
        """The words that leave no exception, outside of formulas and code."""
        return WORD.findall(re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", " ", self.text))

    def starts_with(self, opening):
        return self.text.startswith(opening)


@dataclass(frozen=True)
class Guard:
    """An assertion with a message: the opening of the sentence that it guards."""

    opening: str
    condition: ast.expr

    @property
    def can_fail(self):
        return any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(self.condition))


def sentences(text):
    """Return the sentences of a Markdown text: no headings, tables, formulas, proofs and questions of exercises."""
    found, fence = [], []
    for line in text.splitlines():
        marks = re.match(r"^\s*(:{3,}|`{3,})(?:\{([a-z:-]+)\})?(.*)$", line)
        if marks:
            opens = marks[2] or (marks[1][0] == "`" and marks[3].strip() and not fence)
            fence.append(marks[2] or "code-block") if opens else fence and fence.pop()
            continue
        is_prose = not re.match(r"^\s*([|#:+]|\$\$|\\|[}{]|<|\(.*\)=$)", line) or line.lstrip().startswith("{glue")
        if fence and fence[-1] == "quiz":
            is_prose = bool(REASON.match(line))
        if line.strip() and is_prose and not any(SKIPPED.match(name) for name in fence):
            found += [plain(part) for part in _split(line)]
    return [sentence for sentence in found if sentence.text]


def _split(line):
    """Split a line into sentences: after a stop, question or exclamation mark before a capital, a number or a sign."""
    return re.split(r"(?<=[.?!])(?:[*)\"”]*)\s+(?=[*(\"“{$]*[A-Z0-9$…{])", line)


def _unwrapped(text):
    """Join the lines of each paragraph: the pages without code are wrapped, chapters have a sentence on each line."""
    return re.sub(r"(?<=[^\s.:|>])\n(?=[^\s|#:`<>-])", " ", text)


def plain(markdown):
    """Return one sentence as a reader sees it: no marks of lists and emphasis, no roles, ``...`` for a glued value."""
    is_generated = "{glue:" in markdown or "{{" in markdown
    text = re.sub(r"\{glue:[a-z]+\}`[^`]*`", GLUED, markdown)
    text = re.sub(r"\{\{.*?\}\}", GLUED, text)
    text = re.sub(r"\s*\{cite:p\}`[^`]*`", "", text)
    text = re.sub(r"\{cite:t\}`([a-z-]+)[^`]*`", lambda cited: cited[1].capitalize(), text)
    text = re.sub(r"\{[a-z:]+\}`([^`]*)`", r"\1", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*(?:[-*+]|\d+\.)\s+|\*+", "", text)
    return Sentence(re.sub(r"\s+", " ", text).strip(' ()"'), is_generated)


def chapter_sentences(notebook):
    """Return the sentences of a chapter, those of the captions and of the descriptions of its figures included."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found += sentences(cell.source)
        else:
            shown = cell.metadata.get("mystnb", {})
            for text in (shown.get("figure", {}).get("caption", ""), shown.get("image", {}).get("alt", "")):
                found += sentences(text or "")
    return found


def guards(notebook):
    """Return the assertions of a chapter that have a message."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assert) and isinstance(node.msg, ast.Constant):
                found.append(Guard(node.msg.value, node.test))
    return found


@cache
def read_page(page, root=ROOT):
    """Return the sentences of a page and its guards."""
    if page in PAGES_WITHOUT_CODE:
        return sentences(_unwrapped((root / PAGES_WITHOUT_CODE[page]).read_text(encoding="utf-8"))), []
    notebook = jupytext.read(root / "book" / f"{page}.md")
    return chapter_sentences(notebook), guards(notebook)


def read_register(root=ROOT):
    """Return the sentences that no cell guards, as {page: {opening: reason}}."""
    stored = yaml.safe_load((root / REGISTER).read_text(encoding="utf-8")) or {}
    return {
        page: {opening: reason for reason, openings in of_page.items() for opening in openings}
        for page, of_page in stored.items()
    }


def pages(root=ROOT):
    return [*PAGES_WITHOUT_CODE, *chapters(root)]


def table(page, register, root=ROOT):
    """Return, for every sentence of a page with such a word, what guards it: ``cell``, a reason, or None."""
    found, asserted = read_page(page, root)
    listed = register.get(page, {})

    def guard(sentence):
        if any(sentence.starts_with(each.opening) for each in asserted):
            return "cell"
        return next((reason for opening, reason in listed.items() if sentence.starts_with(opening)), None)

    return [(sentence, guard(sentence)) for sentence in found if sentence.words]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("pages", nargs="*", help="such as start/quickstart; by default all")
    parser.add_argument("--open", action="store_true", help="only the sentences that nothing guards")
    chosen = parser.parse_args()
    register, total = read_register(), Counter()
    for page in chosen.pages or pages():
        print(f"\n{page}")
        for sentence, guard in table(page, register):
            total[guard or "NOTHING"] += 1
            if guard is None or not chosen.open:
                print(f"  [{guard or 'NOTHING'}] {sentence.text}")
    print(f"\n{total.total()} sentences: {', '.join(f'{n} {guard}' for guard, n in total.most_common())}")


if __name__ == "__main__":
    main()
