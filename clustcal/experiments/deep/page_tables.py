"""Tables of images and texts as the chapters show them: rounded, in words where there is nothing yet.

Builds on `network_tables` for ours beside the paper's, and on `judgement` for verdicts.
"""

import pandas as pd

from clustcal.experiments.deep import design, judgement
from clustcal.experiments.deep.further_statements import find_paper_layer
from clustcal.experiments.deep.network_tables import CLUSTERED, PAPER_TEMPERATURE
from clustcal.experiments.deep.verdict_noise import find_interval
from clustcal.experiments.results import FOLDER

NOT_RUN = "not run"
ONE_SPLIT = "(one split)"
READINGS = {
    "uniform": "equal width",
    "quantile": "equal mass",
    "top-label": "of the most probable class",
    "positive": "of P(y = 1)",
}
NONE = "-"


def show_scores(compared, dataset, digits=3):
    """Return NLL, Brier score and AdaECE of a data set of the paper, ours beside it, as text.

    Parameters
    ----------
    compared : DataFrame
        As `tables.compare` returns it.
    dataset : str
        The paper's name.
    digits : int
        After the decimal point, as the paper prints.

    Returns
    -------
    shown : DataFrame of str
        One line per method; ours is a mean over the splits with its standard deviation over them. Of one split that is
        said.
    """
    part = compared.loc[dataset]
    shown = {}
    for name in ("NLL", "Brier", "ECE"):
        shown[name, "paper"] = part[name, "paper"].map(lambda value: f"{value:.{digits}f}")
        pairs = zip(part[name, "ours"], part[name, "sd"], strict=True)
        shown[name, "ours"] = pd.Series([_with_spread(*pair, digits) for pair in pairs], part.index)
    return pd.DataFrame(shown)


def show_choices(compared, dataset):
    """Return K, shrinkage and layer of the clustered methods of a data set, ours beside the paper's, as text."""
    part = compared.loc[dataset]
    part = part[part.index.str.endswith(CLUSTERED)]
    shown = {(name, kind): part[name, kind].map(_number) for name in ("K", "shrinkage") for kind in ("paper", "ours")}
    shown["layer", "ours"] = part["layer", "ours"].map(lambda layer: layer if isinstance(layer, str) else NOT_RUN)
    return pd.DataFrame(shown)


def show_accuracy(compared, dataset):
    """Return the accuracy of a data set, ours beside the paper's, as text."""
    part = compared.loc[dataset]
    ours = [
        _with_spread(*pair, 3, shows_spread=False) for pair in zip(part["Acc", "ours"], part["Acc", "sd"], strict=True)
    ]
    return pd.DataFrame({"paper": part["Acc", "paper"].map("{:.3f}".format), "ours": ours}, index=part.index)


def count_run(compared, dataset):
    """Return how many of the printed methods of a data set have rows of ours."""
    return int(compared.loc[dataset]["NLL", "ours"].notna().sum())


def read_rules(folder=FOLDER):
    """Return what each statement of the text says and the rule that judges it, by its id."""
    import yaml

    rules = yaml.safe_load((folder / "deep" / "relations.yml").read_text(encoding="utf-8"))
    return {line["id"]: line for line in rules["statements"]}


def show_statements(ids, folder=FOLDER):
    """Return statements of the paper's text with the verdicts on them, a line for each part that is judged apart.

    Parameters
    ----------
    ids : sequence of str
        Of ``results/deep/relations.yml``.
    folder : path
        Of the results.

    Returns
    -------
    shown : DataFrame of str
        ``says``, ``part``, ``ours`` and ``verdict``; what the verdict ``cannot show``; and the verdict under another
        ``reading``, which is named, where there is one.
    """
    rules, verdicts = read_rules(folder), judgement.read_verdicts(folder)
    lines = []
    for name in ids:
        for row in verdicts[verdicts["id"] == name].itertuples():
            line = {"says": rules[name]["says"], "part": row.part or NONE, "ours": row.ours, "verdict": row.verdict}
            other = f"{row.arm}: {row.arm_verdict} ({row.arm_ours})" if row.arm and row.arm_ours else NONE
            lines.append(line | {"cannot show": row.strength or NONE, "another reading": other})
    return pd.DataFrame(lines)


def show_readings(bins, compared, dataset, study):
    """Return by how many percent bins lower the log-loss of a family, under every reading of the ten bins.

    Parameters
    ----------
    bins : DataFrame
        As `binwise_bins.read` returns it.
    compared : DataFrame
        As `tables.compare` returns it.
    dataset, study : str
        The paper's name, and ours.

    Returns
    -------
    shown : DataFrame of str
        One line per reading, with the paper's first; a column for each bin-wise method of the paper's table: a mean
        over the splits and the half width of a 95 % interval that takes into account that splits share rows.
    """
    nll = compared.loc[dataset]["NLL", "paper"]
    methods = [method for method in nll.index if method.startswith("Binwise-")]
    lines = {"the paper": {m: f"{100 * (1 - nll[m] / nll[m.removeprefix('Binwise-')]):.1f}" for m in methods}}
    found = bins[bins["name"] == study]
    for (kind, strategy), part in found.groupby(["kind", "strategy"], sort=False):
        label = f"{READINGS[strategy]} {READINGS[kind]}"
        gains = part.set_index(["method", "seed"])["gain"]
        intervals = {method: find_interval(100 * gains[method].to_numpy()) for method in methods}
        lines[label] = {method: f"{mean:.2f} ± {half:.2f}" for method, (mean, half) in intervals.items()}
    return pd.DataFrame(lines).T


def find_bin_gains(bins, tables):
    """Return the rows of `binwise_bins` with the ``gain`` of each, a share of the log-loss of its global form."""
    found = bins[bins["name"].isin(list(tables))]
    base = {(name, row.method, row.seed): row.nll for name, table in tables.items() for row in table.itertuples()}
    families = found["method"].str.removeprefix("Binwise-")
    keys = zip(found["name"], families, found["seed"], strict=True)
    return found.assign(gain=1 - found["nll"] / [base[key] for key in keys])


def count_relations(folder=FOLDER):
    """Return how many relations of each kind have which verdict, of the networks that are judged."""
    return judgement.summarise(judgement.read_verdicts(folder)).drop(index=judgement.STATEMENT, errors="ignore")


def find_surface(rows, study, family, temperature=PAPER_TEMPERATURE):
    """Return the log-loss of a clustered method over the 16 cells of K and shrinkage, in percent above the lowest.

    Parameters
    ----------
    rows : DataFrame
        As `tables.read_rows` returns them.
    study, family : str
    temperature : float
        Of the memberships.

    Returns
    -------
    surface : DataFrame
        K by shrinkage, at the layer of the paper; a mean over the splits, and NaN where a cell
        lacks a split that others have. Empty where there are no rows.
    """
    mine = rows[(rows["dataset"] == study) & (rows["calibrator"] == family) & (rows["layer"] != "")]
    if mine.empty:
        return pd.DataFrame()
    mine = mine[(mine["layer"] == find_paper_layer(mine)) & (mine["temperature"] == temperature)]
    nll = mine.pivot_table(index="n_clusters", columns="shrinkage", values="nll")
    splits = mine.pivot_table(index="n_clusters", columns="shrinkage", values="nll", aggfunc="size")
    nll = nll.where(splits == splits.max().max()).reindex(index=list(design.N_CLUSTERS))
    return 100 * (nll / nll.min().min() - 1)


def find_ranges(rows, study, families, temperature=PAPER_TEMPERATURE):
    """Return how far the log-loss of clustered methods ranges over the 16 cells, as percents of the lowest.

    Returns
    -------
    ranges : DataFrame
        By family the mean over the splits of the range within a split, with the least and the largest of them; at the
        layer of the paper.
    """
    mine = rows[(rows["dataset"] == study) & (rows["layer"] != "") & (rows["temperature"] == temperature)]
    mine = mine[(mine["layer"] == find_paper_layer(mine)) & mine["calibrator"].isin(families)]
    nll = mine.groupby(["calibrator", "seed"])["nll"]
    found = (100 * (nll.max() / nll.min() - 1)).groupby("calibrator").agg(["mean", "min", "max"])
    return found.loc[list(families)]


def find_local_gains(table, families):
    """Return by how many percent clusters change the log-loss of each family, with the splits as repetitions.

    Parameters
    ----------
    table : DataFrame
        As `tables.choose_cells` returns it.
    families : sequence of str

    Returns
    -------
    gains : DataFrame
        ``gain (%)`` and the half width ``±`` of a 95 % interval that takes into account that splits share rows.
    """
    nll = table.pivot_table(index="seed", columns="method", values="nll")
    lines = {}
    for family in families:
        gain = 100 * (1 - nll[family + CLUSTERED] / nll[family])
        lines[family] = dict(zip(("gain (%)", "±"), find_interval(gain.to_numpy()), strict=True))
    return pd.DataFrame(lines).T


def _with_spread(value, spread, digits, *, shows_spread=True):
    if pd.isna(value):
        return NOT_RUN
    if pd.isna(spread):  # no standard deviation of one split; means of five beside it are of other rows
        return f"{value:.{digits}f} {ONE_SPLIT}"
    return f"{value:.{digits}f}" + (f" ± {spread:.{digits}f}" if shows_spread else "")


def _number(value):
    return NOT_RUN if pd.isna(value) else f"{value:g}"
