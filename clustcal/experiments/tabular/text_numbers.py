"""The numbers of the running text on tabular data, each under the name that ``paper.csv`` gives it.

Builds on `tables`: a figure is read off the table that the sentence around it speaks of.
"""

import numpy as np
import pandas as pd
from scipy import stats

from clustcal.experiments.methods import BASELINE, format_settings
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.tables import CAPACITY, METHOD, PAIRED_METRICS

# Of so many best methods, the number of clustered ones is counted, by metric.
TOP = {"NLL": 8, "Brier": 8, "ECE": 10}
LEARNED = ("SHAP", "Coverage")
VARIED = ("Adult", "WiDS")  # the data sets of the paper's sensitivity test and ablation


def text_figures(rows, variants=None, selection="test"):
    """Compute every figure of the running text.

    Parameters
    ----------
    rows : DataFrame
        Rows of the paper's methods; see :func:`clustcal.experiments.tabular.tables.as_paper_rows`.
    variants : DataFrame, optional
        Rows of the variants, for sensitivity and ablation. Without them these are left out.
    selection : {"test", "calibration"}, default="test"
        See :func:`clustcal.experiments.tabular.tables.pairs`.

    Returns
    -------
    figures : Series
        Indexed by name.
    """
    figures = {
        **overall_figures(tables.performance(rows)),
        **capacity_figures(tables.capacity(rows)),
        **significance_figures(rows, selection),
        **consistency_figures(rows),
        **({} if variants is None else variation_figures(rows, variants)),
    }
    return pd.Series(figures, dtype=float)


def statements(rows):
    """Judge what the paper says in words of clustered calibration on tabular data.

    Parameters
    ----------
    rows : DataFrame
        Rows of the paper's methods on any data sets, under any names.

    Returns
    -------
    table : DataFrame
        One line per statement: ``statement``; ``paper`` and ``ours``, what is found there; and ``holds``, whether ours
        is so without exception. The paper's counts of pairs are taken as shares of ours.
    """
    lines = [*_ranking_statements(rows), *_pair_statements(rows), *_capacity_statements(rows)]
    return pd.DataFrame(lines, columns=["statement", "paper", "ours", "holds"]).astype({"holds": bool})


def overall_figures(table):
    """What the text reads off the main table, as `tables.performance` returns it."""
    nll = table["NLL"]
    globals_ = [("Platt", BASELINE), ("Beta", BASELINE)]
    clustered = nll[[(name, Z) for name in ("Platt", "Beta") for Z in LEARNED]]
    gain = 100 * (1 - clustered / nll[globals_].min())
    ts_gain = 100 * (1 - nll["TS"].drop(BASELINE) / nll["TS", BASELINE])
    return {
        "base/NLL": nll["base", BASELINE],
        "global/NLL": nll[globals_].mean(),
        "global/NLL-reduction": 100 * (1 - nll[globals_].mean() / nll["base", BASELINE]),
        "global/AUC": table.loc[globals_, "AUC"].mean(),
        "clustered/NLL-low": clustered.min(),
        "clustered/NLL-high": clustered.max(),
        "clustered/gain-low": gain.min(),
        "clustered/gain-high": gain.max(),
        "clustered-TS/gain-low": ts_gain.min(),
        "clustered-TS/gain-high": ts_gain.max(),
    }


def capacity_figures(table):
    """What the text reads off the table of capacities, as `tables.capacity` returns it: gains, wins, their growth."""
    nll = table["NLL_non"] - table["NLL_cl"]
    auc = table["AUC_cl"] - table["AUC_non"]
    relative = {"NLL": 100 * nll / table["NLL_non"], "AUC": 100 * auc / table["AUC_non"]}
    wins = {"NLL": 100 * (nll > 0).mean(), "AUC": 100 * (auc > 0).mean()}
    figures = {
        "capacity/NLL-gain-low": relative["NLL"].min(),
        "capacity/NLL-gain-high": relative["NLL"].max(),
        "capacity/AUC-wins": (auc > 0).sum(),
        "consistency/NLL-wins": wins["NLL"],
    }
    for metric, gain in (("NLL", nll), ("AUC", auc)):
        figures |= {
            f"slope/{metric}-wins": wins[metric],
            f"summary/{metric}-wins": wins[metric],
            f"slope/{metric}-median": gain.median(),
            f"slope/{metric}-median-relative": relative[metric].median(),
            f"slope/{metric}-R2": _r_squared(gain),
        }
    for n, gain in relative["AUC"].groupby(level="n_estimators"):
        figures |= {f"capacity/AUC-gain/{n}/low": gain.min(), f"capacity/AUC-gain/{n}/high": gain.max()}
    return figures


def significance_figures(rows, selection="test"):
    """What the text says of the pairs of best global and best clustered method."""
    table = tables.significance(rows, selection)
    relative = tables.improvement(rows, selection).loc["All"]
    figures = {"pairs": table["pairs"].iloc[0]}
    for metric in PAIRED_METRICS:
        found, mean, ci = table.loc[metric], relative[metric, "mean"], relative[metric, "ci"]
        figures |= {
            f"wins/{metric}": found["wins"],
            f"median/{metric}": found["median"],
            f"median-relative/{metric}": found["median_relative"],
            f"wilcoxon/{metric}": found["p"],
            f"wilcoxon-datasets/{metric}": found["p_datasets"],
            f"improvement/{metric}/mean": mean,
            f"improvement/{metric}/low": mean - ci,
            f"improvement/{metric}/high": mean + ci,
        }
    return figures


def consistency_figures(rows):
    """How many clustered methods are among the best of every capacity."""
    means = tables.average(rows, [*CAPACITY, *METHOD], PAIRED_METRICS)
    counts = {metric: _clustered_among_best(means[metric], top) for metric, top in TOP.items()}
    six_best = _clustered_among_best(means["NLL"], 6)
    auc = means["AUC"].reset_index()
    is_clustered = auc["representation"] != BASELINE
    worst_clustered = auc[is_clustered].groupby(CAPACITY)["AUC"].min()
    best_other = auc[~is_clustered].groupby(CAPACITY)["AUC"].max()
    return {
        "consistency/NLL-top-6": six_best.mode().max(),  # "all configurations except one"
        "consistency/NLL-top-8-least": counts["NLL"].min(),
        "consistency/Brier-top-8": counts["Brier"].min(),
        "consistency/ECE-top-10": counts["ECE"].min(),
        "consistency/AUC-wins": 100 * (worst_clustered > best_other).mean(),
    }


def variation_figures(rows, variants):
    """What K = 7 does to all clustered methods, and no shrinkage to those with SHAP and coverage, on two data sets."""
    variants = variants[variants["dataset"].isin(VARIED)]
    changes = {
        "K7": tables.variation(rows, variants, format_settings({"n_clusters": 7})),
        "no-shrinkage": tables.variation(rows, variants, format_settings({"shrinkage": 0.0}), LEARNED),
    }
    figures = {}
    for name, change in changes.items():
        figures |= {
            f"{name}/AUC": change.loc["AUC", "mean"],
            f"{name}/AUC-increase": change.loc["AUC", "increase"],
            f"{name}/NLL": change.loc["NLL", "mean"],
            f"{name}/NLL-improve": change.loc["NLL", "decrease"],
        }
    return figures


def overhead_figures(rows):
    """What the text says of the cost of tabular calibration, in seconds, times and percent."""
    table = tables.overhead(rows)
    of_global = table.xs(BASELINE, level="representation")["fit"]
    clustered = table.drop(BASELINE, level="representation")
    usual = clustered.drop(("Platt", "Coverage"))
    by_representation = clustered.groupby(level="representation")
    figures = {
        "global/low": of_global.min(),
        "global/high": of_global.max(),
        "clustered/low": usual["fit"].min(),
        "clustered/high": usual["fit"].max(),
        "ratio/low": usual["ratio"].min(),
        "ratio/high": usual["ratio"].max(),
        "percent/low": 100 * (usual["ratio"].min() - 1),
        "percent/high": 100 * (usual["ratio"].max() - 1),
        "Platt-coverage": clustered.loc[("Platt", "Coverage"), "fit"],
        "Platt-coverage/ratio": clustered.loc[("Platt", "Coverage"), "ratio"],
        "k-means/low": by_representation["clustering"].mean().min(),
        "k-means/high": by_representation["clustering"].mean().max(),
    }
    extraction = by_representation["extraction"].mean()
    figures |= {f"extraction/{name}": extraction[name] for name in LEARNED}
    return pd.Series(figures, dtype=float)


def _ranking_statements(rows):
    nll = tables.performance(rows)["NLL"]
    is_clustered = nll.index.get_level_values("representation") != BASELINE
    by_representation = nll[is_clustered].unstack("representation")
    two, globals_ = by_representation.loc[["Platt", "Beta"]], nll[[("Platt", BASELINE), ("Beta", BASELINE)]]
    is_two = is_clustered & nll.index.get_level_values("calibrator").isin(two.index)
    by_dataset = tables.average(rows, ["dataset", *METHOD], ["NLL"])["NLL"].unstack("dataset")
    calibrated = by_dataset.loc[globals_.index].max() < by_dataset.loc[("base", BASELINE)]
    learned = by_representation[list(LEARNED)].max(axis=1) < by_representation["Data"]
    return [
        _count("Platt and Beta beat no calibration", "all data sets", calibrated, "data sets"),
        ("the method of the lowest NLL is clustered", "yes", " with ".join(nll.index[0]), is_clustered[0]),
        _count("clustered Platt and Beta are the first six by NLL", "6 of 6", is_two[: two.size]),
        _count("clustered Platt and Beta beat both global ones", "6 of 6", two.to_numpy() < globals_.min()),
        _count("clustered TS beats TS", "3 of 3", by_representation.loc["TS"] < nll["TS", BASELINE]),
        _count("SHAP and coverage both beat plain features", "all families", learned, "families"),
    ]


def _pair_statements(rows):
    gains = {selection: tables.gains(tables.pairs(rows, selection)) for selection in tables.SELECTIONS}
    won = {selection: gain > 0 for selection, gain in gains.items()}
    p = tables.significance(rows).loc["ECE", "p"]
    in_brier = _count("and nearly every pair in Brier score", "34 of 36", won["test"]["Brier"])
    return [
        _count("clustered wins every pair in NLL, chosen on test data", "36 of 36", won["test"]["NLL"]),
        _count("the same in AUC", "36 of 36", won["test"]["AUC"]),
        (*in_brier[:-1], won["test"]["Brier"].mean() >= 34 / 36),
        _count("clustered wins every pair in NLL, chosen on calibration data", "-", won["calibration"]["NLL"]),
        ("changes of ECE are not significant", "p = 0.62", f"p = {p:.2g}", p > 0.05),
    ]


def _capacity_statements(rows):
    table = tables.capacity(rows)
    gain = table["AUC_cl"] - table["AUC_non"]
    share = consistency_figures(rows)["consistency/AUC-wins"]
    return [
        ("gains in AUC grow with capacity", "yes", f"R² = {_r_squared(gain):.2f}", _slope(gain) > 0),
        ("every clustered AUC is above every other", "100 %", f"{share:.0f} % of capacities", share == 100),
    ]


def _count(statement, paper, found, things=""):
    """A statement about all of several cases, which holds if it is true of each."""
    return statement, paper, f"{int(np.sum(found))} of {np.size(found)} {things}".rstrip(), np.all(found)


def _clustered_among_best(means, top):
    """Count the clustered methods among the lowest ``top`` values of every capacity."""
    frame = means.reset_index()
    best = frame.sort_values(means.name).groupby(CAPACITY).head(top)
    return (best["representation"] != BASELINE).groupby([best[column] for column in CAPACITY]).sum()


def _r_squared(gain):
    """R squared of the gain on capacity; NaN where there is one capacity only."""
    return np.nan if len(set(_size(gain))) < 2 else stats.linregress(_size(gain), gain).rvalue ** 2


def _slope(gain):
    return stats.linregress(_size(gain), gain).slope


def _size(gain):
    """Capacity as one number, the product of the number and the depth of trees."""
    return np.prod([gain.index.get_level_values(name) for name in CAPACITY], axis=0)
