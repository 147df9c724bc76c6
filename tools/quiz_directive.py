"""The directive `quiz` of the book: questions to answer by a click or a key, with a reason for every answer.

    ```{quiz}
    1. A question, whose lines
       go on like this?

       - [ ] A wrong answer, on one line.
         Why it is wrong.
       - [x] The right answer, on one line.
         Why it is right.
    ```

A page shows native radio buttons; a style sheet shows the reason of the answer that is chosen (`:has(:checked)`), so
that no script is needed. In a browser too old for that, and in one without style sheets, all reasons can be read. A
notebook has the answers folded below each question (`notebook_markdown.py`).
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FEWEST, MOST = 4, 6
STYLE = "quiz.css"
VERDICTS = {True: "Right.", False: "Not quite."}


class quiz(nodes.General, nodes.Element):
    """A quiz: its children are questions."""


class quiz_question(nodes.General, nodes.Element):
    """A question: a stem, then answers."""


class quiz_stem(nodes.General, nodes.TextElement):
    """What is asked."""


class quiz_answer(nodes.General, nodes.Element):
    """An answer, ``right`` or not: a choice, then the reason."""


class quiz_choice(nodes.General, nodes.TextElement):
    """The words of an answer."""


class quiz_reason(nodes.General, nodes.TextElement):
    """Why an answer is right or wrong."""


class Quiz(SphinxDirective):
    """Read the list of questions; a source that is not as described above gets one sentence that says where."""

    has_content = True

    def run(self):
        self.assert_has_content()
        source = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, source)
        if len(source.children) != 1 or not isinstance(source[0], nodes.enumerated_list):
            raise self.error("The content of a quiz is not one numbered list of questions.")
        questions = source[0].children
        if not FEWEST <= len(questions) <= MOST:
            raise self.error(f"The quiz has {_count(questions, 'question')}; expected {FEWEST} to {MOST}.")
        made = quiz(number=self.env.new_serialno("quiz") + 1)
        made += [self.question(item, number) for number, item in enumerate(questions, 1)]
        self.set_source_info(made)
        return [made]

    def question(self, item, number):
        where = f"Question {number} of the quiz"
        kinds = [type(child) for child in item.children]
        if kinds != [nodes.paragraph, nodes.bullet_list]:
            raise self.error(f"{where} is not a paragraph, a blank line and a list of answers.")
        asked, answers = item.children
        made = quiz_question(number=number)
        made += quiz_stem("", "", *asked.children)
        made += [self.answer(one, f"Answer {place} of question {number}") for place, one in enumerate(answers, 1)]
        if len(answers) < 2:
            raise self.error(f"{where} has {_count(answers, 'answer')}; expected 2 or more.")
        n_right = sum(one["right"] for one in made.children[1:])
        if n_right != 1:
            raise self.error(f"{where} has {_count(range(n_right), 'right answer')}, marked [x]; expected one.")
        return made

    def answer(self, item, where):
        if len(item.children) != 1 or not isinstance(item[0], nodes.paragraph):
            raise self.error(f"{where} is not one paragraph: the answer on the first line, its reason on those below.")
        first, *rest = item[0].children or [nodes.Text("")]
        mark = re.match(r"\[([ x])\]\s+", first.astext()) if isinstance(first, nodes.Text) else None
        if mark is None:
            raise self.error(f"{where} does not begin with [x] or [ ], which says whether it is right.")
        words = [nodes.Text(first.astext()[mark.end() :]), *rest]
        ends = next((place for place, word in enumerate(words) if word == "\n"), len(words))
        choice, reason = words[:ends], words[ends + 1 :]
        if not reason:
            raise self.error(f"{where} has no reason on the lines below it.")
        made = quiz_answer(right=mark[1] == "x")
        made += [quiz_choice("", "", *choice), quiz_reason("", "", *reason)]
        return made


def _count(things, name):
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


# --- As HTML ---


def visit_quiz(self, node):
    # A form gives its buttons names of their own and can be cleared; "dialog" sends it nowhere.
    self.body.append('<form class="quiz" method="dialog" autocomplete="off" aria-label="Quiz">\n')


def depart_quiz(self, node):
    self.body.append('<button type="reset">Clear my answers</button>\n</form>\n')


def visit_question(self, node):
    self.body.append('<fieldset class="quiz-question">\n')


def depart_question(self, node):
    self.body.append("</fieldset>\n")


def visit_stem(self, node):
    self.body.append(f'<legend><span class="quiz-number">{node.parent["number"]}.</span> ')


def depart_stem(self, node):
    self.body.append("</legend>\n")


def visit_answer(self, node):
    self.body.append(f'<div class="quiz-answer quiz-{"right" if node["right"] else "wrong"}">\n')


def depart_answer(self, node):
    self.body.append("</div>\n")


def visit_choice(self, node):
    question = node.parent.parent
    group = f"quiz-{question.parent['number']}-{question['number']}"
    value = question.index(node.parent)
    self.body.append(f'<label><input type="radio" name="{group}" value="{value}"> <span class="quiz-choice">')


def depart_choice(self, node):
    self.body.append("</span></label>\n")


def visit_reason(self, node):
    verdict = VERDICTS[node.parent["right"]]
    self.body.append(f'<div aria-live="polite"><p class="quiz-reason"><strong>{verdict}</strong> ')


def depart_reason(self, node):
    self.body.append("</p></div>\n")


def add_style(app, pagename, templatename, context, doctree):
    """Load the style sheet on the pages that have a quiz."""
    if doctree is not None and next(doctree.findall(quiz), None) is not None:
        app.add_css_file(STYLE)


def setup(app):
    app.add_node(quiz, html=(visit_quiz, depart_quiz))
    app.add_node(quiz_question, html=(visit_question, depart_question))
    app.add_node(quiz_stem, html=(visit_stem, depart_stem))
    app.add_node(quiz_answer, html=(visit_answer, depart_answer))
    app.add_node(quiz_choice, html=(visit_choice, depart_choice))
    app.add_node(quiz_reason, html=(visit_reason, depart_reason))
    app.add_directive("quiz", Quiz)
    app.connect("html-page-context", add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
