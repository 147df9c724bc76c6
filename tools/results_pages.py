"""The ledger, the deviations and the errata as text of the book, for the pages that consist of them.

A page has the place for it:

    ```{from-results} deviations
    ```

`insert` puts the text there before a page is read, so that headings and links are those of the page itself, in the book
as in its notebooks. `BLOCKS` lists what can be asked for.
"""

import re
from html import escape

import pandas as pd

from clustcal.experiments.entries import make_title, read_entries
from clustcal.experiments.ledger import GROUPS, VERDICTS, as_printed, read_ledger
from clustcal.experiments.results import FOLDER

# Words of ids that do not explain themselves.
WORDS = {
    "ci": "half width of interval",
    "q25": "25th percentile",
    "q75": "75th percentile",
    "avg_glucose_level": "glucose",
    "non": "not clustered",
    "cl": "clustered",
}


PLACE = re.compile(r"^```\{from-results\} *(.+)\n```$", re.MULTILINE)


def insert(app, page, source):
    """Put text from the results where a page asks for it (event ``source-read`` of Sphinx)."""
    source[0] = PLACE.sub(lambda found: BLOCKS[found[1]](), source[0])


def state_reproduction(ledger):
    """Say in two sentences how much of the paper is reproduced: what the ledger holds, and no more.

    Parameters
    ----------
    ledger : DataFrame
        As :func:`clustcal.experiments.ledger.read_ledger` returns it.

    Returns
    -------
    text : str
        In one line.
    """
    count = {verdict: int((ledger["verdict"] == verdict).sum()) for verdict in VERDICTS}
    judged = ledger[ledger["ours"].notna()]
    measured = judged["sd"].notna()
    agree = judged["verdict"].isin(["match", "within tolerance"])
    return (
        f"Of the {len(ledger)} numbers that the paper prints, {len(judged)} could be judged so far. "
        f"{measured.sum()} of these were measured in runs of our own: {(agree & measured).sum()} agree within "
        f"tolerances that were fixed beforehand, {(~agree & measured).sum()} differ. Of {(~measured).sum()} that were "
        f"counted, computed or are settings {(agree & ~measured).sum()} agree. Of the others {count['blocked']} need "
        f"data under use agreements, and {count['not attempted']} have not been attempted, above all those on images "
        "and texts."
    )


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


def write_ledger(ledger):
    """Return the ledger as HTML: for every group of numbers a table that opens on demand.

    Parameters
    ----------
    ledger : DataFrame

    Returns
    -------
    text : str
    """
    group = ledger["id"].str.split("/").str[0]
    return "\n".join(_write_group(name, lines) for name, lines in ledger.groupby(group, sort=False))


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
    """Set running text so that Markdown takes every sign of it for itself."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^@])", r"\\\1", str(value).strip().replace("+-", "±"))


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


def _write_group(name, lines):
    counts = lines["verdict"].value_counts()
    score = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    columns = ["Number", "Printed", "Ours ± SD", "Verdict", "With open data"]
    has_open = lines["open"].notna().any()
    head = "".join(f'<th scope="col">{column}</th>' for column in (columns if has_open else columns[:-1]))
    body = "".join(_write_line(line, has_open) for line in lines.itertuples())
    return (
        f'<details class="ledger"><summary style="padding: 0.3rem 0"><b>{escape(GROUPS[name])}</b>: {score}</summary>'
        f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>'
    )


def _write_line(line, has_open):
    ours = as_printed(line.ours, line.half_digit)
    spread = f" ± {as_printed(line.sd, line.half_digit)}" if line.sd > 0 else ""
    name = _name(line.id)
    # "Adult, features" need not be "14 features".
    cells = [line.printed if line.unit in name else _printed(line), ours + spread, line.verdict]
    if has_open:
        cells.append(as_printed(line.open, line.half_digit))
    what = f'<th scope="row" title="{escape(line.metric)}">{escape(name)}</th>'
    return f"<tr>{what}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _entries(name):
    return read_entries(FOLDER / f"{name}.yml")


def _ledger():
    return read_ledger(FOLDER / "claims.csv")


BLOCKS = {
    "contents of deviations": lambda: list_entries(_entries("deviations"), "subject"),
    "contents of errata": lambda: list_entries(_entries("errata"), "place"),
    "deviations": lambda: write_deviations(_entries("deviations")),
    "errata": lambda: write_errata(_entries("errata"), _ledger()),
    "ledger": lambda: write_ledger(_ledger()),
    "state of the reproduction": lambda: state_reproduction(_ledger()),
    "ledger, where it differs": lambda: write_ledger(_ledger().query("verdict == 'differs'")),
}
