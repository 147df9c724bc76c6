"""The ledger, the deviations and the errata as text of the book, for the pages that consist of them.

Builds on `ledger` for the numbers; the entries are read from the two files of `results` that are kept by hand.
"""

import math
import re
from html import escape
from pathlib import Path

import pandas as pd

from clustcal.experiments.ledger import VERDICTS

# The numbers of the ledger by the first word of their ids, in words.
GROUPS = {
    "toy": "Toy example: table",
    "toy-text": "Toy example: text",
    "datasets": "Data sets",
    "performance": "Tabular: all methods",
    "capacity": "Tabular: by capacity",
    "improvement": "Tabular: gain by data set",
    "stroke-clusters": "Stroke: clusters",
    "rejection": "Stroke: rejection",
    "images": "Images",
    "text": "Text",
    "correlations": "Correlations: table",
    "protocol": "Size of the study",
    "figures": "Tabular: text",
    "stroke-text": "Stroke: text",
    "deep-text": "Images and text: text",
    "correlations-text": "Correlations: text",
    "overhead": "Overhead",
}
# Words of ids that do not explain themselves.
WORDS = {
    "ci": "half width of interval",
    "q25": "25th percentile",
    "q75": "75th percentile",
    "avg_glucose_level": "glucose",
    "non": "not clustered",
    "cl": "clustered",
}
# Words of titles that are not written in lower case.
SPELLINGS = {"auc": "AUC", "ece": "ECE", "imdb": "IMDB", "lce": "LCE", "lore": "LoRe", "los": "LOS", "mlce": "MLCE"}
FEWEST_DECIMALS = 4  # of a number so small that it is better written with an exponent
MINUS = "\N{MINUS SIGN}"


def read_entries(path):
    """Read the deviations or the errata.

    Parameters
    ----------
    path : path
        ``deviations.yml`` or ``errata.yml`` of the folder of results.

    Returns
    -------
    entries : list of dict
        The fields of each entry as the head of the file explains them.

    Raises
    ------
    ImportError
        If PyYAML is not installed; the extra ``book`` has it.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("Reading this file needs PyYAML: pip install pyyaml.") from error
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def make_title(name):
    """Return the heading of the entry with this id, from which a page makes the id again as the anchor of its link.

    Examples
    --------
    >>> from clustcal.experiments.pages import make_title
    >>> make_title("lce-is-mlce")
    'LCE is MLCE'
    """
    words = [SPELLINGS.get(word, word) for word in name.split("-")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


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


def as_printed(value, half_digit):
    """Return a number with one digit more than the paper prints; nothing where there is none.

    Examples
    --------
    >>> from clustcal.experiments.pages import as_printed
    >>> as_printed(0.298349, half_digit=0.00005), as_printed(2.91e-11, half_digit=5e-13)
    ('0.29835', '2.9e-11')
    """
    if pd.isna(value):
        return ""
    decimals = max(0, round(-math.log10(2 * half_digit)))
    small = 0 < abs(value) < 10.0**-FEWEST_DECIMALS and decimals > FEWEST_DECIMALS
    # A count has no more digits than it is printed with, unless ours is a mean of counts.
    text = f"{value:.1e}" if small else f"{value:,.{decimals + (decimals > 0 or value != round(value))}f}"
    return text.replace("-", MINUS) if text.startswith("-") else text


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
