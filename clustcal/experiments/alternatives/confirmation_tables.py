"""What the pages show of the runs of the alternatives: every table is made of stored rows, and copes with few of them.

Builds on `confirmation` for the rules and on `alternatives_study` for the rows.
"""

import pandas as pd

from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import confirmation
from clustcal.experiments.alternatives.confirmation import BASELINES, BESIDE, PRIMARY
from clustcal.experiments.alternatives.lineup import ALTERNATIVES, GROUPS
from clustcal.experiments.results import FOLDER

MUCH = 0.5  # percent of the log-loss: a loss of more is counted
ALL_ROWS = "all"


def completeness(folder=FOLDER):
    """Return which sets are complete: the number of those that are and that are to be, by arm, base model and group.

    Returns
    -------
    table : DataFrame
        Indexed by arm ("as printed" for the plain one), base model and group of methods: ``complete``, ``of``, and
        ``lacking``, the names of the sets that are not.
    """
    rows = study.open_store(folder).read(arm=None)
    groups = rows["method"].map(lambda name: ALTERNATIVES[name].group)
    runs = rows.groupby(["arm", "base_model", groups, "dataset"]).size()
    needed = {group: sum(one.group == group for one in ALTERNATIVES.values()) for group in GROUPS}
    lines = {}
    for arm in study.ARMS:
        for model in study.BASE_MODELS:
            units = study.AlternativesStudy(models=[model], arms=[arm]).units()
            names = list(dict.fromkeys(unit.dataset for unit in units))
            for group in needed if arm == study.PLAIN else ("post",):
                full = needed[group] * len(study.SEEDS)
                done = [name for name in names if runs.get((arm, model, group, name), 0) == full]
                lacking = ", ".join(name for name in names if name not in done)
                if names:
                    lines[arm or "as printed", model, group] = {
                        "complete": len(done), "of": len(names), "lacking": lacking
                    }  # fmt: skip
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["arm", "base model", "group"])


def beside_trial(table):
    """Return the primary gain by data set, with interval and verdict, beside that of the trial."""
    found = confirmation.by_set(table[PRIMARY])
    found["trial"] = pd.Series(confirmation.TRIAL).reindex(found.index)
    found["of the trial"] = found["mean"] / found["trial"]
    return found


def methods(rows, names=None):
    """Return how every method fares on the data sets that all of them have.

    Parameters
    ----------
    rows : DataFrame
        As `confirmation.read_rows` returns it.
    names : sequence of str, optional
        The methods; by default all that every data set has.

    Returns
    -------
    table : DataFrame
        Indexed by method, the largest mean first: ``mean``, ``low``, ``high`` and ``verdict`` over data sets, as the
        protocol has it; ``sets``; ``worst`` split, and on how many ``splits`` more than 0.5 % were ``lost``;
        ``seconds`` of fitting, predicting and training, ``extraction`` of representations, both processor seconds of a
        mean split.
    """
    table = confirmation.gains(rows)
    table = table[~table.index.get_level_values("dataset").isin(BESIDE)]
    table = table.dropna(axis=1) if names is None else table[list(names)].dropna()
    kept = rows[rows["dataset"].isin(table.index.get_level_values("dataset"))]
    seconds = kept.groupby("method")[["method_seconds", "extraction_seconds"]].mean()
    lines = {
        name: confirmation.over_sets(values)
        | {
            "worst": values.min(),
            "lost": int((values < -MUCH).sum()),
            "splits": len(values),
            "seconds": seconds.loc[name, "method_seconds"],
            "extraction": seconds.loc[name, "extraction_seconds"],
        }
        for name, values in table.items()
    }
    return pd.DataFrame.from_dict(lines, orient="index").sort_values("mean", ascending=False)


def split_gains(rows):
    """Return the gain of every method split in two: less miscalibration, and more discrimination (CORP).

    Both in percent of the log-loss of the baseline; their sum is the gain, as the third part, the uncertainty of the
    labels, is the same for every method of a split.

    Returns
    -------
    calibration, refinement : DataFrame
        Indexed by data set and seed, a column per method.
    """
    wide = {
        part: rows.pivot_table(index=["dataset", "seed"], columns="method", values=part)
        for part in ("nll", "miscalibration", "discrimination")
    }
    chosen = wide["nll"][list(BASELINES)].idxmin(axis=1)
    of_baseline = {part: _pick(table, chosen) for part, table in wide.items()}
    share = lambda part, sign: 100 * sign * wide[part].sub(of_baseline[part], axis=0).div(of_baseline["nll"], axis=0)
    return share("miscalibration", -1), share("discrimination", 1)


def curve(names, folder=FOLDER):
    """Return the gain by number of calibration rows.

    Parameters
    ----------
    names : sequence of str
        Methods.

    Returns
    -------
    table : DataFrame
        Indexed by data set and ``n``: the mean gain of every method over its seeds, and ``half_width`` of the 95 %
        interval of the first. The last ``n`` of a set is the whole calibration part.
    """
    stored, lines = study.open_store(folder).read(arm=None), []
    for arm in (*(f"{study.CURVE}{n}" for n in study.CURVE_ROWS), study.PLAIN):
        rows = confirmation.of_complete_sets(stored, arm)
        if rows.empty:
            continue
        table = confirmation.gains(rows).reindex(columns=list(names))
        intervals = confirmation.by_set(table[names[0]])
        line = table.groupby(level="dataset").mean().join((intervals["high"] - intervals["mean"]).rename("half_width"))
        lines.append(line.assign(n=rows.groupby("dataset")["n_calibration"].first()))
    joined = pd.concat(lines).reset_index().set_index(["dataset", "n"])
    return joined.loc[[name for name in study.DATASETS if name in joined.index.levels[0]]].sort_index(
        level="n", sort_remaining=False
    )


def true_excess(rows, names):
    """Return by how much methods are off the known truth, and by how much less than the baseline.

    Parameters
    ----------
    rows : DataFrame
        Of the arm with known truth.
    names : sequence of str

    Returns
    -------
    table : DataFrame
        Indexed by data set: ``baseline``, the mean excess log-loss of the better of Platt and Beta by the test labels;
        and for every method the share of it that it removes, in percent.
    """
    excess = rows.pivot_table(index=["dataset", "seed"], columns="method", values="excess")
    nll = rows.pivot_table(index=["dataset", "seed"], columns="method", values="nll")
    baseline = _pick(excess, nll[list(BASELINES)].idxmin(axis=1)).groupby(level="dataset").mean()
    of_method = excess[list(names)].groupby(level="dataset").mean()
    table = 100 * (1 - of_method.div(baseline, axis=0))
    table.insert(0, "baseline", baseline)
    return table.loc[[name for name in study.DATASETS if name in table.index]]


def across_models(name=PRIMARY, minus=None, folder=FOLDER):
    """Return the gain of a method over data sets for every base model and for balanced weights, where there are rows.

    Parameters
    ----------
    name : str
        The method.
    minus : str, optional
        Another method, whose gain is taken off split by split.
    folder : path

    Returns
    -------
    table : DataFrame
        Indexed by base model: columns as `confirmation.over_sets` gives them, and the ``worst`` set.
    """
    stored, lines = study.open_store(folder).read(arm=None), {}
    arms = [(model, study.PLAIN) for model in study.BASE_MODELS] + [(study.MAIN_MODEL, study.WEIGHTED)]
    for model, arm in arms:
        rows = confirmation.of_complete_sets(stored, arm, model)
        if {name, minus or name} <= set(rows["method"]):
            table = confirmation.gains(rows)
            values = table[name] - table[minus] if minus else table[name]
            means = confirmation.means_of_sets(values)
            if len(means):
                lines[f"{model}, {arm}" if arm else model] = confirmation.over_sets(values) | {"worst": means.min()}
    return pd.DataFrame.from_dict(lines, orient="index")


def gains_beside_main(pairs, folder=FOLDER):
    """Return gains of methods on any base model over the better of Platt and Beta on the main one, split by split.

    The splits of a seed are the same for all base models, so that the differences are paired.

    Parameters
    ----------
    pairs : dict of str to pair of str
        By name, a base model and a method.
    folder : path

    Returns
    -------
    gains : DataFrame
        Indexed by data set and seed, a column for each name, in percent of the log-loss of the baseline; the splits
        that all of them have.
    """
    of = lambda rows: rows.pivot_table(index=["dataset", "seed"], columns="method", values="nll")
    models = {study.MAIN_MODEL, *(model for model, _ in pairs.values())}
    nll = {model: of(confirmation.read_rows(folder, base_model=model)) for model in models}
    least = nll[study.MAIN_MODEL][list(BASELINES)].min(axis=1)
    found = {name: 100 * (1 - nll[model][method] / least) for name, (model, method) in pairs.items()}
    return pd.DataFrame(found).dropna()


def cheap(table, rows):
    """Return how methods that take next to no time fare beside the primary one, over data sets.

    Parameters
    ----------
    table : DataFrame
        As `confirmation.gains` returns it.
    rows : DataFrame
        Those that it was made of.

    Returns
    -------
    found : DataFrame
        Indexed by method, the largest mean first: ``gain`` of the method; ``mean``, ``low`` and ``high`` of its
        difference to the primary one; ``judged``, the protocol's word for it; ``extraction``, mean processor seconds of
        a split.
    """
    kept = rows[~rows["dataset"].isin(BESIDE)]
    seconds = kept.groupby("method")["extraction_seconds"].mean()
    lines = {}
    for name in (name for name, one in ALTERNATIVES.items() if one.group == "cheap" and name in table):
        line = confirmation.over_sets(table[name] - table[PRIMARY])
        ends = {column: line[column] for column in ("mean", "low", "high")}
        lines[name] = {"gain": confirmation.over_sets(table[name])["mean"], **ends}
        lines[name] |= {"judged": confirmation.judge_cheap(line), "extraction": seconds[name]}
    return pd.DataFrame.from_dict(lines, orient="index").sort_values("mean", ascending=False)


def sets_ahead(table, first, second):
    """Return on how many data sets the first method gains more than the second by its mean, and of how many.

    Two targets on the same patients are one.
    """
    difference = confirmation.means_of_sets(table[first] - table[second])
    return int((difference > 0).sum()), len(difference)


def maps_of_the_score(table):
    """Return the names of the methods that see nothing but the score, fitted on the calibration part or not at all."""
    return [one.name for one in ALTERNATIVES.values() if one.group == "post" and not one.needs and one.name in table]


def best_map(table):
    """Return the gain of the best map of the score on every split, chosen by the test part.

    Parameters
    ----------
    table : DataFrame
        As `confirmation.gains` returns it.

    Returns
    -------
    gain : Series
        Indexed by data set and seed.
    """
    return table[maps_of_the_score(table)].max(axis=1)


def paired(table, first, second):
    """Return the difference of two gains by data set, with the interval of splits that overlap."""
    return confirmation.by_set(table[first] - table[second])


def _pick(table, columns):
    """Return of every row the value in the column that is named for it."""
    return pd.Series([table.loc[index, name] for index, name in columns.items()], table.index)
