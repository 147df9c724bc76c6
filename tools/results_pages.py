"""The ledger, the deviations and the errata as text of the book, for the pages that consist of them.

A page has the place for it:

    ```{from-results} deviations
    ```

`insert` puts the text there before a page is read, so that headings and links are those of the page itself, in the book
as in its notebooks. `BLOCKS` lists what can be asked for. The README, which no program reads before it is shown, holds
the state of the reproduction as text: ``python tools/results_pages.py`` brings it up to date.
"""

import re
import textwrap
from html import escape
from pathlib import Path

import pandas as pd
import results_at_a_glance

from clustcal.experiments.deep.judgement import JUDGED as JUDGED_NETWORK
from clustcal.experiments.deep.judgement import read_verdicts
from clustcal.experiments.deep.verdict_strength import can_fail
from clustcal.experiments.entries import make_title, read_entries
from clustcal.experiments.ledger import (
    GROUPS,
    JUDGED,
    OTHER_MODEL,
    RECOMPUTED_BY,
    VERDICTS,
    as_printed,
    find_chapter,
    read_ledger,
)
from clustcal.experiments.results import FOLDER
from clustcal.experiments.verdicts import AGREES

# Words of ids that do not explain themselves.
WORDS = {
    "ci": "half width of interval",
    "q25": "25th percentile",
    "q75": "75th percentile",
    "avg_glucose_level": "glucose",
    "non": "not clustered",
    "cl": "clustered",
}


COLUMNS = (
    "Where",
    "Number",
    "Verdict",  # before the numbers: a phone shows three columns
    "Printed",
    "Ours ± SD",
    "If as noisy",
    "Class weights",
    "Open data",
    "Kind",
    "Function",
)
OPENING, README_WIDTH = "The paper prints ", 132  # of the statement in the README
RELATION_VERDICTS = ("holds", "fails", "undecided", "equal or not")
SCRIPT = (
    '<link rel="stylesheet" href="../_static/ledger-table.css"><script defer src="../_static/ledger-table.js"></script>'
)
PLACE = re.compile(r"^```\{from-results\} *(.+)\n```$", re.MULTILINE)


def insert(app, page, source):
    """Put text from the results where a page asks for it (event ``source-read`` of Sphinx)."""
    source[0] = PLACE.sub(lambda found: BLOCKS[found[1]](), source[0])


def state_reproduction(ledger, verdicts):
    """Say in a few sentences how much of the paper is reproduced: what the ledger holds, and no more.

    Parameters
    ----------
    ledger : DataFrame
        As :func:`clustcal.experiments.ledger.read_ledger` returns it.
    verdicts : DataFrame
        On images and texts, as :func:`clustcal.experiments.deep.judgement.read_verdicts` returns them.

    Returns
    -------
    text : str
        In one line.
    """
    once = ledger[ledger["same_as"] == ""]
    settings, others = once[once["kind"] == "setting"], once[once["kind"] != "setting"]
    of_networks = verdicts[(verdicts["role"] == JUDGED_NETWORK) & can_fail(verdicts["strength"])]
    count = others["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    return (
        f"The paper prints {len(ledger)} numbers, {len(once)} when one that stands in a table and in the text counts "
        f"once. {len(settings)} of these are settings, of which ours follow {_agree(settings).sum()}; they are left "
        "out in what follows. "
        f"{_state_judged(others[others['verdict'].isin(JUDGED)])} "
        f"On images and texts {count[OTHER_MODEL]} stand beside ours from other networks, whose levels cannot "
        f"be compared; {_state_relations(of_networks['verdict'].value_counts())} "
        f"{_state_rest(count['blocked'], count['not attempted'])}"
    )


def _state_rest(blocked, left):
    if not left:
        return f"The other {blocked} need data that not everybody may have."
    return f"Of the rest, {blocked} need data that not everybody may have, and {left} have not been attempted."


def _state_judged(judged):
    measured, other = judged[judged["kind"] == "measured"], judged[judged["kind"] != "measured"]
    wide = measured["strength"].str.startswith(("weak", "cannot"))
    better = (measured["verdict"] == "better").sum()
    return (
        f"{len(judged)} others could be judged so far. In runs of our own {len(measured)} were measured: "
        f"{_agree(measured).sum()} agree within tolerances that were fixed beforehand "
        f"({(_agree(measured) & wide).sum()} of them weakly: zero, or any value at all, would have agreed too), "
        f"{(~_agree(measured)).sum()} differ ({better} of them on the better side). "
        f"Of {len(other)} that were counted or computed {_agree(other).sum()} agree."
    )


def _state_relations(found):
    holds, fails, undecided, equal = (int(found.get(word, 0)) for word in RELATION_VERDICTS)
    return (
        f"of {holds + fails + undecided + equal} relations and statements judged in their place that can "
        f"come out either way, by rules written down beforehand, {holds} hold (many of them weak: the scoreboard says "
        f"which), {fails} fail, and {undecided + equal} are undecided or equal on one side."
    )


def _agree(claims):
    return claims["verdict"].isin(AGREES)


def list_entries(entries, field):
    """Return the contents of a page of entries, as Markdown: a link to each, and one of its fields."""
    return "\n".join(f"- [{make_title(entry['id'])}](#{entry['id']}): {_as_text(entry[field])}" for entry in entries)


def write_deviations(entries):
    """Return all deviations as Markdown, each under a heading of its own.

    Parameters
    ----------
    entries : list of dict
        As `read_entries` returns them.

    Returns
    -------
    text : str
    """
    fields = {"subject": "About", "paper": "The paper", "ours": "Here", "why": "Why", "effect": "Effect"}
    return "\n\n".join(_write_entry(entry, fields) for entry in entries)


def write_errata(entries, ledger):
    """Return all errata as Markdown, each under a heading of its own, with the lines of the ledger that it concerns.

    Parameters
    ----------
    entries : list of dict
        As `read_entries` returns them.
    ledger : DataFrame
        As :func:`clustcal.experiments.ledger.read_ledger` returns it.

    Returns
    -------
    text : str
    """
    fields = {"place": "Where", "printed": "Printed", "instead": "Instead", "evidence": "Evidence"}
    lines = ledger.set_index("id")
    texts = []
    for entry in entries:
        text = _write_entry(entry, fields)
        if entry.get("numbers"):
            numbers = "; ".join(f"{name.replace('_', ' ')} {_flat(value)}" for name, value in entry["numbers"].items())
            text += f"\n\n**Numbers.** {_as_text(numbers)}."
        if entry["claims"]:
            judged = [f"- {_as_text(name)}: {_as_text(_verdict(lines.loc[name]))}" for name in entry["claims"]]
            text += "\n\n" + "\n".join(["**In the ledger**", "", *judged])
        texts.append(text)
    return "\n\n".join(texts)


def write_ledger(ledger, searched=True):
    """Return the ledger as one HTML table.

    Parameters
    ----------
    ledger : DataFrame
    searched : bool, default=True
        Whether the script of the page may search, filter and sort it; without scripts it is a plain table.

    Returns
    -------
    text : str
    """
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    body = "".join(_write_line(line) for line in ledger.itertuples())
    table = f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    kind, label = ("ledger ledger-searched", "The ledger") if searched else ("ledger", "The ledger, in part")
    # It scrolls in its box, and the keyboard must reach it.
    box = f'<div class="{kind}" tabindex="0" role="region" aria-label="{label}">{table}</div>'
    return box + (SCRIPT if searched else "")


def write_statements(statements, verdicts):
    """Return the statements of the paper on images and texts as one HTML table: rule, ours and verdict.

    Parameters
    ----------
    statements : list of dict
        Of ``results/deep/relations.yml``.
    verdicts : DataFrame
        As :func:`clustcal.experiments.deep.judgement.read_verdicts` returns them.

    Returns
    -------
    text : str
    """
    says = {statement["id"]: statement for statement in statements}
    columns = ("The paper says", "Rule", "Part", "Ours", "Verdict", "Cannot show", "Another reading")
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = ""
    for name, parts in verdicts[verdicts["id"].isin(says)].groupby("id", sort=False):
        rows = f' rowspan="{len(parts)}"' if len(parts) > 1 else ""
        said = f'<th scope="row"{rows}>{escape(says[name]["says"])}</th><td{rows}>{escape(says[name]["rule"])}</td>'
        for line in parts.itertuples():
            other = f"{line.arm}: {line.arm_verdict} ({line.arm_ours})" if line.arm else ""
            texts = (line.part, line.ours, line.verdict, line.strength, other)
            cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
            body += f"<tr>{said}{cells}</tr>"
            said = ""
    table = f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    # A table that is wider than the page scrolls, and the keyboard must reach it.
    label = "Statements of the paper and our verdicts"
    return f'<div class="statements" tabindex="0" role="region" aria-label="{label}">{table}</div>'


def _write_entry(entry, fields):
    lines = [f"**{words}.** {_as_text(entry[field])}" for field, words in fields.items()]
    return "\n\n".join([f"### {make_title(entry['id'])}", *lines])


def _flat(value):
    """Set a number, a list or a dict of numbers in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_flat(number)}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(_flat(number) for number in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)


def _as_text(value):
    """Set running text so that Markdown takes every sign of it for itself, but for code between backticks."""
    parts = str(value).strip().replace("+-", "±").split("`")
    if len(parts) % 2 == 0:  # a backtick without its second is a sign like others
        parts = ["`".join(parts)]
    escape_signs = lambda part: re.sub(r"([\\`*_{}\[\]<>#|$~^@])", r"\\\1", part)
    return "".join(f"`{part}`" if n % 2 else escape_signs(part) for n, part in enumerate(parts))


def _verdict(line):
    ours = f", ours {as_printed(line.ours, line.half_digit)}" if not pd.isna(line.ours) else ""
    return f"printed {_printed(line)}{ours}: {line.verdict}"


def _printed(line):
    return f"{line.printed} {line.unit}".strip()


def _name(name):
    """Say which number of its group this is."""
    parts = [
        part for word in name.split("/")[1:] for part in ([word] if word in WORDS else re.split("_(?=non|cl)", word))
    ]
    return ", ".join(WORDS.get(part, part) for part in parts)


def _write_line(line):
    """Write one number as a row; what has no column unfolds under its name, and the search finds it too."""
    group = line.id.split("/")[0]
    ours = as_printed(line.ours, line.half_digit) + (
        f" ± {as_printed(line.sd, line.half_digit)}" if line.sd > 0 else ""
    )
    name = _name(line.id)
    weighted = f"{as_printed(line.weighted, line.half_digit)} {line.weighted_verdict}".strip()
    open_data = as_printed(line.open, line.half_digit)
    chapter = find_chapter(line.id)
    where = f'<a href="../{chapter}.html">{escape(GROUPS[group])}</a>' if chapter else GROUPS[group]
    function = RECOMPUTED_BY.get(line.recompute, "").removeprefix("clustcal.").removeprefix("experiments.")
    cells = [
        escape(line.verdict),
        # "Adult, features" need not be "14 features".
        escape(line.printed if line.unit in name else _printed(line)),
        escape(ours),
        escape(line.noise_verdict),
        escape(weighted),
        escape(open_data),
        escape(line.kind),
        f"<code>{function.replace('.', '.<wbr>')}</code>" if function else "",
    ]
    more = [f"As read here: {line.metric}", line.place, line.reason, line.strength]
    if line.relations:
        more.append(f"Its relations: {line.relations}")
    if line.reading_verdict:
        more.append(f"under the chosen reading {as_printed(line.reading, line.half_digit)} {line.reading_verdict}")
    unfolds = f"<code>{escape(line.id)}</code> {escape(' '.join(f'{text}.' for text in more if text))}"
    what = f'<td>{where}</td><th scope="row"><details><summary>{escape(name)}</summary>{unfolds}</details></th>'
    return f"<tr>{what}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _entries(name):
    return read_entries(FOLDER / f"{name}.yml")


def _ledger():
    return read_ledger(FOLDER / "claims.csv")


BLOCKS = {
    "statements on images and texts": lambda: write_statements(
        read_entries(FOLDER / "deep" / "relations.yml")["statements"], read_verdicts(FOLDER)
    ),
    "contents of deviations": lambda: list_entries(_entries("deviations"), "subject"),
    "contents of errata": lambda: list_entries(_entries("errata"), "place"),
    "deviations": lambda: write_deviations(_entries("deviations")),
    "errata": lambda: write_errata(_entries("errata"), _ledger()),
    "ledger": lambda: write_ledger(_ledger()),
    "results at a glance": results_at_a_glance.write,
    "state of the reproduction": lambda: state_reproduction(_ledger(), read_verdicts(FOLDER)),
    "ledger, where it differs": lambda: write_ledger(_ledger().query("verdict == 'differs'"), searched=False),
}


def update_readme(path):
    """Put the state of the reproduction, as the ledger has it, in the place of what the README says of it."""
    text = path.read_text(encoding="utf-8")
    start = text.index(OPENING)
    stop = text.index("\n\n", start)
    stated = textwrap.fill(BLOCKS["state of the reproduction"](), README_WIDTH)
    path.write_text(text[:start] + stated + text[stop:], encoding="utf-8")


if __name__ == "__main__":
    update_readme(Path(__file__).resolve().parents[1] / "README.md")
