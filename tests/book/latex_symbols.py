r"""Read the symbols in a formula: letters with their accents, fonts, stars and subscripts.

A symbol is written in one way, whatever the source: ``\hat p_{i}`` and ``\hat{p}_i`` are both ``\hat{p}_{i}``.
Numbers, operators, brackets and the names of standard functions are no symbols.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|[A-Za-z]|\d+|.", re.DOTALL)
GREEK = re.compile(
    r"\\(alpha|beta|gamma|delta|(var)?epsilon|zeta|eta|(var)?theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon"
    r"|(var)?phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|ell)"
)
SINGLE = re.compile(r"[A-Za-z]|\\[A-Za-z]+(\{[A-Za-z]+\}|[A-Za-z])?")  # a letter, with a font or not
ACCENTS = {"hat", "widehat", "bar", "overline", "tilde", "widetilde", "dot", "vec"}
SAME_ACCENT = {"widehat": "hat", "overline": "bar", "widetilde": "tilde"}
FONTS = {"mathcal", "mathbb", "mathbf", "mathrm", "mathsf", "operatorname", "boldsymbol"}
WORDS = {"text", "textbf", "textit", "mbox", "begin", "end", "label", "tag", "hspace", "color"}


@dataclass(frozen=True)
class Symbol:
    """A letter or name with its accents and star, and its subscript ("" if it has none)."""

    name: str
    subscript: str = ""
    words: bool = False  # whether the subscript is a word rather than an index

    def __str__(self):
        return f"{self.name}_{{{self.subscript}}}" if self.subscript else self.name


def formulas(text):
    """Return the formulas of a text in Markdown, without those in its code."""
    text = re.sub(r"^(`{3,})(?!\{math\}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\{math\}`([^`]+)`", r"$\1$", text)
    text = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    return [display or inline for display, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$]+?)\$", text, re.DOTALL)]


def symbols(formula):
    """Return the symbols of a formula, those inside of subscripts included."""
    reader = Reader([token for token in TOKEN.findall(formula) if not token.isspace()])
    reader.read_until(None)
    return reader.found


class Reader:
    """Goes through the tokens of a formula from left to right."""

    def __init__(self, tokens):
        self.tokens, self.position, self.found = tokens, 0, set()

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self):
        self.position += 1
        return self.tokens[self.position - 1]

    def argument(self):
        """Take the next group or single token; return its tokens."""
        if self.peek() != "{":
            token = self.take()
            command = token[1:].rstrip("*")
            return [token, *self.bracketed()] if command in ACCENTS | FONTS | WORDS else [token]
        return self.bracketed()[1:-1]

    def ahead(self):
        """Return the tokens of the argument of the next command, without taking them."""
        start, self.position = self.position, self.position + 1
        tokens, self.position = self.argument(), start
        return tokens

    def bracketed(self):
        """Take a group with its braces, or one token."""
        tokens, depth = [], 0
        while True:
            token = self.take()
            tokens.append(token)
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                return tokens

    def read_until(self, end):
        while self.peek() is not None and self.peek() != end:
            self.read_one()

    def read_one(self):
        token = self.peek()
        if token in {"^", "_"}:  # behind a bracket or an operator, as in \sum_{i = 1}^n
            self.take()
            self.found |= symbols_of(self.argument())
        elif is_word(token):
            self.take()
            self.argument()
        elif token[1:] in ACCENTS and not SINGLE.fullmatch("".join(self.ahead())):
            self.take()  # a line over a whole expression is an operation, the mean of it
            self.found |= symbols_of(self.argument())
        elif starts_symbol(token):
            self.symbol()
        else:
            self.take()

    def symbol(self):
        name = self.name()
        subscript, words = "", False
        while self.peek() in {"^", "_", "'"}:
            mark = self.take()
            if mark == "'":
                continue
            tokens = self.argument()
            self.found |= set() if mark == "_" and is_label(tokens) else symbols_of(tokens)
            if mark == "_":
                subscript, words = "".join(tokens), is_label(tokens)
                subscript = re.sub(r"\\(text|mathrm)\{(.*)\}", r"\2", subscript)
            elif tokens in (["\\star"], ["*"], ["\\ast"]):
                name += "^\\star"
        self.found.add(Symbol(name, subscript, words))

    def name(self):
        """Take a letter, or a font or an accent with what it is put on; return it in the one way to write it."""
        token = self.take()
        command = token[1:].rstrip("*")
        if command in ACCENTS:
            inner = Reader(self.argument())
            inner.read_until(None)
            return f"\\{SAME_ACCENT.get(command, command)}{{{', '.join(sorted(map(str, inner.found)))}}}"
        if command in FONTS:
            letters = "".join(self.argument())
            return (
                letters if command in {"mathrm", "operatorname"} and len(letters) > 1 else f"\\{command}{{{letters}}}"
            )
        return token


def symbols_of(tokens):
    reader = Reader(tokens)
    reader.read_until(None)
    return reader.found


def is_word(token):
    return token.startswith("\\") and token[1:].rstrip("*") in WORDS


def starts_symbol(token):
    return token.isalpha() or GREEK.fullmatch(token) or token[1:].rstrip("*") in ACCENTS | FONTS


def is_label(tokens):
    """Whether a subscript is a word, which tells one symbol from another; any other one counts or picks."""
    return tokens[0] in {"\\text", "\\mathrm", "\\operatorname"}
