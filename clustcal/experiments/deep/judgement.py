"""All verdicts on images and texts: the relations of the two tables, and the statements of the text.

``clustcal claims`` writes them to ``results/deep/verdicts.csv``, and to the ledger which of them a number is part of.
Builds on `relation_verdicts`, `statements` and `further_statements`.
"""

from pathlib import Path

import pandas as pd

from clustcal.experiments.deep import further_statements, other_readings, statements
from clustcal.experiments.deep.network_tables import STAND_INS, find_tables
from clustcal.experiments.deep.relation_verdicts import judge
from clustcal.experiments.deep.verdict_noise import WITHIN
from clustcal.experiments.deep.verdict_strength import can_fail, describe_relation, describe_statement

COLUMNS = (
    *("id", "part", "kind", "dataset", "role", "study", "expected", "ours", "splits", "verdict"),
    *("strength", "difference", "noise"),
    *other_readings.COLUMNS,
)
JUDGED, BESIDE = "judged", "beside"
STATEMENT = "statement"
DECIDED = ("holds", "fails", "undecided", "equal or not")
PATH = Path("deep") / "verdicts.csv"  # in the folder of results


def judge_all(known):
    """Judge all relations and statements.

    Parameters
    ----------
    known : further_statements.Known

    Returns
    -------
    verdicts : DataFrame
        One line per relation and network, and per statement or part of one: ``id``; ``part``; ``kind``, one of
        `relations.KINDS` or "statement"; ``dataset``, the paper's name; ``role``, "judged", or "beside" for the
        networks that are only reported; ``study``; what is ``expected``; ``ours``; the ``splits`` it rests on; the
        ``verdict`` by the rule; and beside it its ``strength`` (see `verdict_strength`), the ``difference`` that it
        rests on and its ``noise`` (see `verdict_noise`), and the verdict under another reading, see `other_readings`.
    """
    tables = find_tables(known.rows)
    frames = []
    for role, study_of in _roles():
        relations = judge({paper: tables[study] for paper, study in study_of.items() if study in tables})
        relations = relations[relations["dataset"].isin(study_of)]
        if role == BESIDE:  # what a network cannot have, such as clusters without features, says nothing
            relations = relations[relations["ours"] != ""]
        strength = [describe_relation(relation) for relation in relations.itertuples()]
        study = relations["dataset"].map(study_of).fillna("")
        frames.append(relations.assign(part="", role=role, study=study, strength=strength))
    lines = statements.judge_statements(statements.STATEMENTS, known.tables)
    lines += statements.judge_statements(further_statements.STATEMENTS, known)
    said = pd.DataFrame(lines).assign(kind=STATEMENT, dataset="", role=JUDGED, study="", expected="", difference="")
    said["strength"] = [describe_statement(line.id, line.part) for line in said.itertuples()]
    verdicts = pd.concat([*frames, said.assign(noise="")], ignore_index=True)
    other = other_readings.judge_arms(known).assign(role=JUDGED)
    return verdicts.merge(other, how="left", on=["id", "part", "role"])[list(COLUMNS)].fillna("")


def write_verdicts(verdicts, results):
    """Write them into a folder of results."""
    (Path(results) / PATH).parent.mkdir(parents=True, exist_ok=True)
    verdicts.to_csv(Path(results) / PATH, index=False, lineterminator="\n")


def read_verdicts(results):
    """Return what `write_verdicts` wrote."""
    return pd.read_csv(Path(results) / PATH, keep_default_na=False, dtype=dict.fromkeys(COLUMNS, str) | {"splits": int})


def compare(stored, fresh):
    """Return one sentence for every stored verdict that does not follow from the results."""
    key = ["id", "part", "study"]
    both = stored.set_index(key)["verdict"].to_frame("stored").join(fresh.set_index(key)["verdict"], how="outer")
    wrong = both.fillna("nothing").query("stored != verdict")
    return [
        f"{' '.join(filter(None, row.Index))}: the verdicts say {row.stored!r}, the results say {row.verdict!r}."
        for row in wrong.itertuples()
    ]


def summarise(verdicts):
    """Count the verdicts on what is judged, by kind.

    Examples
    --------
    >>> from clustcal.experiments.deep.judgement import read_verdicts, summarise
    >>> from clustcal.experiments.results import FOLDER
    >>> int(summarise(read_verdicts(FOLDER)).loc["statement"].sum()) > 30
    True
    """
    judged = verdicts[verdicts["role"] == JUDGED]
    return pd.crosstab(judged["kind"], judged["verdict"]).rename_axis(index=None, columns=None)


def weigh(verdicts):
    """Count the verdicts on what is judged, and what speaks against them.

    Returns
    -------
    counts : DataFrame
        By verdict how many there are; how many of these could not have come out otherwise; of the others how many are
        weak; of the rest, of how many the border of the rule lies within the interval; and how many that leaves.
    """
    judged = verdicts[(verdicts["role"] == JUDGED) & verdicts["verdict"].isin(DECIDED)]
    could = can_fail(judged["strength"])
    is_weak = could & (judged["strength"] != "")
    is_near = could & ~is_weak & (judged["noise"] == WITHIN)
    columns = {
        "all": pd.Series(True, judged.index),
        "could not differ": ~could,
        "weak": is_weak,
        "within noise": is_near,
        "left": could & ~is_weak & ~is_near,
    }
    counts = pd.DataFrame({name: mask.groupby(judged["verdict"]).sum() for name, mask in columns.items()})
    return counts.reindex(list(DECIDED), fill_value=0).astype(int).rename_axis(None)


def count_by_cell(verdicts):
    """Return in words which verdicts the relations of a number of the two tables have, by the id of the number.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustcal.experiments.deep.judgement import count_by_cell
    >>> ids = ["text/Emotion/TS/NLL/sign against base", "text/Emotion/TS/NLL/ratio to base"]
    >>> verdicts = pd.DataFrame({"id": ids, "kind": "", "role": "judged", "verdict": ["holds", "fails"]})
    >>> count_by_cell(verdicts)
    {'text/Emotion/TS/NLL': 'holds 1, fails 1'}
    """
    relations = verdicts[(verdicts["role"] == JUDGED) & (verdicts["kind"] != STATEMENT)]
    cells = relations["id"].str.rpartition("/")[0]
    return {
        cell: ", ".join(f"{verdict} {count}" for verdict, count in found.value_counts(sort=False).items())
        for cell, found in relations["verdict"].groupby(cells, sort=False)
    }


def _roles():
    """Yield a role and the studies that have it, by the paper's name of the data set."""
    yield JUDGED, {paper: one.judged for paper, one in STAND_INS.items()}
    for place in range(max(len(one.beside) for one in STAND_INS.values())):
        yield BESIDE, {paper: one.beside[place] for paper, one in STAND_INS.items() if len(one.beside) > place}
