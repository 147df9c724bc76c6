"""Write a resolved page of the book as plain Markdown and code cells, for notebooks that run outside the book.

Sphinx has read the page and resolved its numbers, references and citations; what is left is to write each element of
its tree as Markdown that every notebook front end shows. An element that is not known here stops the build.
"""

import re
from dataclasses import dataclass

from docutils import nodes
from quiz_directive import VERDICTS

SKIPPED = ("comment", "index", "substitution_definition", "target")


@dataclass(frozen=True)
class Part:
    """A piece of a page: a block of Markdown ("text"), a "heading" (perhaps one that starts folded), or "code"."""

    kind: str
    source: str
    folded: bool = False


class Page:
    """One page, with what its elements need to know of it: its section number, and which of its elements are linked."""

    def __init__(self, doctree, docname, env):
        self.doctree, self.docname = doctree, docname
        self.numbers = env.toc_fignumbers.get(docname, {})
        self.section = env.toc_secnumbers.get(docname, {}).get("", ())
        self.n_figures = 0
        # Titles of solutions lead to their exercises, which stand right before them.
        references = [one for one in doctree.findall(nodes.reference) if not isinstance(one.parent, nodes.title)]
        self.linked = {reference["refid"] for reference in references if "refid" in reference} | {
            reference["refuri"][1:] for reference in references if reference.get("refuri", "").startswith("#")
        }

    def parts(self):
        """Return the parts of the page in their order."""
        return self.blocks(self.doctree, 0)

    # Blocks: each element becomes a list of parts.

    def blocks(self, node, level):
        """Return the parts of all children of an element that stands under a heading of the given level."""
        return [part for child in node.children for part in self.block(child, level)]

    def block(self, node, level):
        name = type(node).__name__
        if name in SKIPPED:
            return []
        if name.endswith("_node") and "countertype" in node:
            return self.theorem(node, level)
        write = getattr(self, f"block_{name}", None)
        if write is None:
            raise NotImplementedError(f"{self.docname}: the notebooks cannot show a {name} yet (notebook_markdown.py)")
        written = write(node, level)
        return written if isinstance(written, list) else [Part("text", self.anchor(node) + written)]

    def text(self, node, level=0):
        """Return the children of an element as one piece of Markdown; no code cell may stand in it."""
        parts = self.blocks(node, level)
        if any(part.kind != "text" for part in parts):
            raise NotImplementedError(f"{self.docname}: a code cell or heading inside a {type(node).__name__}")
        return "\n\n".join(part.source for part in parts)

    def anchor(self, node):
        """Return the anchors that links within the page need in front of an element."""
        return "".join(f'<a id="{name}"></a>' for name in node.get("ids", ()) if name in self.linked)

    def heading(self, level, text, folded=False):
        return Part("heading", f"{'#' * min(level, 6)} {text}", folded)

    def block_section(self, node, level):
        if not isinstance(node.children[0], nodes.title):  # the content of an exercise, a theorem ...
            return self.blocks(node, level)
        number = ".".join(map(str, self.section)) + ". " if level == 0 and self.section else ""
        title = self.heading(level + 1, self.anchor(node) + number + self.inline(node.children[0]))
        return [title, *self.blocks(node, level + 1)]

    def block_title(self, node, level):
        return []  # written by the element that it belongs to

    def block_paragraph(self, node, level):
        return re.sub(r"^([#>+-]|\d+[.)])(?=\s)", escaped_marker, self.inline(node), flags=re.MULTILINE)

    def block_math_block(self, node, level):
        formula = node.astext().strip()
        if r"\\" in formula and not formula.startswith(r"\begin"):
            formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
        if node.get("label"):
            formula += rf" \tag{{{self.number(node, 'displaymath')}}}"
        anchor = self.anchor(node)
        return [Part("text", f"{anchor}\n\n$$\n{formula}\n$$".lstrip())]

    def block_literal_block(self, node, level):
        return f"```{node.get('language', '')}\n{node.astext()}\n```"

    def block_raw(self, node, level):
        return "*(In the book, an interactive panel stands here.)*"

    def block_block_quote(self, node, level):
        return quoted(self.text(node))

    def block_bullet_list(self, node, level):
        return self.items(node, lambda number: "- ")

    def block_enumerated_list(self, node, level):
        return self.items(node, lambda number: f"{number}. ")

    def items(self, node, marker):
        texts = [self.text(item) for item in node.children]
        written = [
            marker(number) + text.replace("\n", "\n" + " " * len(marker(number))).replace("\n   \n", "\n\n")
            for number, text in enumerate(texts, node.get("start", 1))
        ]
        return ("\n\n" if any("\n\n" in text for text in texts) else "\n").join(written)

    def block_table(self, node, level):
        rows = [
            "| " + " | ".join(without_bars(self.text(entry)).replace("\n", " ") for entry in row.children) + " |"
            for row in node.findall(nodes.row)
        ]
        rows.insert(1, "|---" * len(next(node.findall(nodes.row)).children) + "|")
        return "\n".join(rows)

    def block_container(self, node, level):
        if node.get("nb_element") == "cell_code":
            return self.cell(node)
        return self.blocks(node, level)

    def cell(self, node):
        """Return a code cell, and below it the caption and description of the figure that it draws."""
        shown = node["cell_metadata"].get("mystnb", {})
        parts = [Part("code", next(node.findall(nodes.literal_block)).astext())]
        if "figure" in shown:
            self.n_figures += 1
            number = ".".join(map(str, (*self.section[:1], self.n_figures)))
            caption = f"**Fig. {number}.** {shown['figure']['caption'].strip()}"
            alt = shown.get("image", {}).get("alt", "").strip()
            if alt:
                caption += f"\n\n<details><summary>The figure in words</summary>{alt}</details>"
            parts.append(Part("text", caption))
        return parts

    def block_citation(self, node, level):
        entry = next(node.findall(nodes.paragraph))
        return [Part("text", f"- {self.anchor(node)}{self.inline(entry)}".replace("\n", " "))]

    def block_admonition(self, node, level):
        title = node.next_node(nodes.title)
        return quoted(f"**{self.inline(title)}**\n\n{self.text(node)}")

    def block_proof_node(self, node, level):
        (admonition,) = node.children
        proof = self.text(admonition).replace("Proof. ", "*Proof.* ", 1)
        return f"{proof}\n\n∎" if proof.endswith("$$") else f"{proof} ∎"

    def theorem(self, node, level):
        """Return a theorem, lemma, proposition or definition as a quotation under its number and title."""
        number = self.number(node, node["countertype"])
        title = node.next_node(nodes.title)
        return [Part("text", quoted(f"{self.anchor(node)}**{node['realtype'].title()} {number}**"
                                    f"{self.inline(title).rstrip()}\n\n{self.text(node)}"))]  # fmt: skip

    def block_exercise_enumerable_node(self, node, level):
        title = f"{self.anchor(node)}Exercise {self.number(node, 'exercise')}"
        return [self.heading(level + 1, title), *self.blocks(node, level)]

    def block_solution_node(self, node, level):
        title = self.heading(level + 2, node["title"], folded="dropdown" in node["classes"])
        return [title, *self.blocks(node, level)]

    def block_quiz(self, node, level):
        return [self.question(question) for question in node.children]

    def question(self, node):
        """Return a question of a quiz: what is asked, the answers, and below them, folded, what is right and why."""
        stem, *answers = node.children
        choices = [f"- {letter}) {self.inline(one[0])}" for letter, one in zip("abcdefgh", answers, strict=False)]
        reasons = [
            f"- **{letter}) {VERDICTS[one['right']]}** {self.inline(one[1])}".replace("\n", " ")
            for letter, one in zip("abcdefgh", answers, strict=False)
        ]
        asked = f"**{node['number']}.** {self.inline(stem)}".replace("\n", " ")
        folded = "\n".join(["<details><summary>Answer</summary>", "", *reasons, "", "</details>"])
        return Part("text", "\n".join([asked, "", *choices, "", folded]))

    def number(self, node, kind):
        """Return the number of a theorem, an exercise or an equation, as the page of the book shows it."""
        return ".".join(map(str, self.numbers[kind][node["ids"][0]]))

    # Inline elements: each becomes a string.

    def inline(self, node):
        """Return the children of an element as inline Markdown."""
        return "".join(map(self.inline_one, node.children))

    def inline_one(self, node):
        name = type(node).__name__
        if name in SKIPPED:
            return ""
        write = getattr(self, f"inline_{name}", None)
        if write is None:
            raise NotImplementedError(f"{self.docname}: the notebooks cannot show a {name} yet (notebook_markdown.py)")
        return write(node)

    def inline_Text(self, node):
        return escaped(node.astext())

    def inline_emphasis(self, node):
        return f"*{self.inline(node)}*"

    def inline_strong(self, node):
        return f"**{self.inline(node)}**"

    def inline_inline(self, node):
        return self.inline(node)

    def inline_literal(self, node):
        code = node.astext()
        return f"`` {code} ``" if "`" in code else f"`{code}`"

    def inline_math(self, node):
        return f"${' '.join(node.astext().split())}$"

    def inline_reference(self, node):
        address = f"#{node['refid']}" if "refid" in node else node["refuri"]
        if node.get("internal"):
            address = re.sub(r"(?<=.)#.*", "", address)  # places in other files have no address of their own
        address = re.sub(r"[()<> ]", lambda found: f"%{ord(found[0]):02X}", address)
        return f"[{self.inline(node).strip()}]({address})"


def escaped(text):
    """Return text so that Markdown does not take any of it for markup."""
    text = re.sub(r"([*`$]|\\(?=[^\w\s])|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!]))", r"\\\1", text)
    return text.replace("](", r"]\(")


def escaped_marker(found):
    """Return the start of a line so that Markdown does not take it for that of a heading, a list or a quotation."""
    return f"{found[0][:-1]}\\{found[0][-1]}"


def without_bars(text):
    """Return a cell of a table so that Markdown does not take a bar in it for the end of the cell."""
    pieces = re.split(r"(\$[^$]*\$)", text)
    pieces[1::2] = [formula.replace(r"\|", r"\Vert ").replace("|", r"\vert ") for formula in pieces[1::2]]
    pieces[::2] = [words.replace("|", r"\|") for words in pieces[::2]]
    return "".join(pieces)


def quoted(text):
    """Return Markdown as a quotation; a displayed formula goes on one line, since front ends take it out first."""
    text = re.sub(r"\$\$\n(.*?)\n\$\$", lambda found: f"$$ {' '.join(found[1].split())} $$", text, flags=re.DOTALL)
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
