"""The paper's tabular tables and figures: each a function from results rows to a DataFrame or a Series.

Rows are those of `store`, under the data set names that the table is to show (`as_paper_rows`). Means are taken over
seeds first, then over data sets and capacities, so that every data set counts the same.
"""

import numpy as np
import pandas as pd

from clustcal import metrics
from clustcal.datasets import list_datasets
from clustcal.experiments.methods import BASELINE, GLOBAL
from clustcal.experiments.protocol import TEST_TO_TRAIN
from clustcal.experiments.tabular.grid import PAPER_DATASETS, get_entries

CAPACITY = ["n_estimators", "max_depth"]
METHOD = ["calibrator", "representation"]
CASE = ["dataset", *CAPACITY]
# The paper's word for a metric, our column, and whether more is better. Its "ECE" is AdaECE, its "LCE" our MLCE.
MAIN_METRICS = {"NLL": "nll", "AUC": "auc", "Brier": "brier", "ECE": "ada_ece", "LCE": "mlce"}
HIGHER_IS_BETTER = ("AUC", "Accuracy")
PAIRED_METRICS = ("NLL", "AUC", "Brier", "ECE")
SELECTIONS = {"test": "NLL", "calibration": "NLL on calibration"}


def as_paper_rows(rows, names=PAPER_DATASETS, group="paper"):
    """Keep the rows of one group of methods and of some data sets, and give these the names of the paper.

    Parameters
    ----------
    rows : DataFrame
        As :meth:`clustcal.experiments.store.Store.read` returns them.
    names : dict of str to str, default=PAPER_DATASETS
        What each data set is to be called, and its name in the rows.
    group : {"paper", "cv", "variants"}, default="paper"

    Returns
    -------
    rows : DataFrame
        With the metrics named as in the paper (``NLL``, ``AUC``, ``Brier``, ``ECE``, ``LCE``, ``Accuracy``).
    """
    keys = pd.MultiIndex.from_tuples([entry.key for entry in get_entries(group)])
    chosen = pd.MultiIndex.from_frame(rows[[*METHOD, "settings"]]).isin(keys) & rows["dataset"].isin(names.values())
    columns = {column: name for name, column in MAIN_METRICS.items()}
    columns |= {"accuracy": "Accuracy", "nll_calibration": "NLL on calibration"}
    kept = rows[chosen].rename(columns={"ece": "fixed-bin ECE", "lce": "mean LCE"}).rename(columns=columns)
    return kept.assign(dataset=kept["dataset"].map({ours: paper for paper, ours in names.items()}))


def average(rows, by, columns):
    """Average over seeds within data set and capacity, then over whatever else is not in ``by``.

    Parameters
    ----------
    rows : DataFrame
    by : list of str
        Some of ``"dataset"``, `CAPACITY` and `METHOD`.
    columns : sequence of str

    Returns
    -------
    means : DataFrame
    """
    return rows.groupby([*CASE, *METHOD])[list(columns)].mean().groupby(by).mean()


def datasets(claims):
    """Return the table of data sets: ours beside the paper's.

    Parameters
    ----------
    claims : DataFrame
        As `paper.load_claims` returns them; the paper's numbers are read from there.

    Returns
    -------
    table : DataFrame
        One line per data set of the paper, with ``ours`` its name here.
    """
    printed = claims.set_index("id")["value"]
    ours = list_datasets()
    lines = {
        paper: {
            "ours": name,
            "features": printed[f"datasets/{paper}/features"],
            "our features": ours.loc[name, "features"],
            "samples": printed[f"datasets/{paper}/samples"],
            "our samples": ours.loc[name, "rows"],
            "our positives": ours.loc[name, "positives"],
        }
        for paper, name in PAPER_DATASETS.items()
    }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("dataset")


def performance(rows):
    """Return the main table: methods by their mean log-loss, best first, with the five metrics."""
    return average(rows, METHOD, list(MAIN_METRICS)).sort_values("NLL", kind="stable")


def capacity(rows):
    """Return the best non-clustered and the best clustered value of four metrics for every capacity.

    The best method is chosen for each metric and each of the two kinds on its own, by its mean over data sets.
    """
    means = average(rows, [*CAPACITY, *METHOD], PAIRED_METRICS).reset_index()
    kind = np.where(means["representation"] == BASELINE, "non", "cl")
    best = means.groupby([*CAPACITY, kind])[list(PAIRED_METRICS)].agg(
        {metric: "max" if metric in HIGHER_IS_BETTER else "min" for metric in PAIRED_METRICS}
    )
    table = best.unstack()
    table.columns = [f"{metric}_{kind}" for metric, kind in table.columns]
    return table[[f"{metric}_{kind}" for metric in PAIRED_METRICS for kind in ("non", "cl")]]


def pairs(rows, selection="test"):
    """Return the best global and the best clustered parametric method of every data set and capacity.

    Both are chosen among Platt, Beta and TS, by mean log-loss over the seeds, and all metrics are then those of the
    chosen two.

    Parameters
    ----------
    rows : DataFrame
    selection : {"test", "calibration"}, default="test"
        Where the log-loss that chooses is measured. The paper says "validation", and its protocol has a calibration and
        a test part only. On the calibration part the more flexible method tends to look better.

    Returns
    -------
    pairs : DataFrame
        Indexed by data set and capacity; columns are pairs of a metric, and ``"global"`` or ``"clustered"``.
    """
    if selection not in SELECTIONS:
        raise ValueError(f"selection is {selection!r}; expected one of {tuple(SELECTIONS)}.")
    column = SELECTIONS[selection]
    chosen = rows[rows["calibrator"].isin(GLOBAL)]
    wanted = list(dict.fromkeys([*PAIRED_METRICS, column]))
    means = chosen.groupby([*CASE, *METHOD])[wanted].mean().reset_index()
    means["kind"] = np.where(means["representation"] == BASELINE, "global", "clustered")
    best = means.loc[means.groupby([*CASE, "kind"])[column].idxmin()]
    return best.set_index([*CASE, "kind"])[list(PAIRED_METRICS)].unstack()


def gains(paired):
    """Return by how much the clustered method of each pair is better, in the units of the metrics."""
    columns = {
        metric: _sign(metric) * (paired[metric]["clustered"] - paired[metric]["global"]) for metric in PAIRED_METRICS
    }
    return pd.DataFrame(columns)


def relative_gains(paired):
    """Return by how many percent of the global method's value the clustered one is better."""
    before = pd.DataFrame({metric: paired[metric]["global"] for metric in PAIRED_METRICS})
    return 100 * gains(paired) / before


def percent_better(after, before, metric):
    """Return by how many percent of the value before the one after is better, by this metric of the paper."""
    return 100 * _sign(metric) * (after - before) / before


def family_gains(rows, metric="NLL"):
    """Return by how many percent each clustered method is better than the global one of its family, run by run.

    Nothing is chosen: a pair is one family on one split at one capacity.

    Parameters
    ----------
    rows : DataFrame
        Rows of the group ``"paper"``, with those of ``"variants"`` where these are wanted; see `as_paper_rows`.
    metric : str, default="NLL"

    Returns
    -------
    gains : Series
        In percent of the global method's value; indexed by data set, `CAPACITY`, seed, `METHOD` and settings.
    """
    run = [*CASE, "seed", "calibrator"]
    values = rows[rows["calibrator"].isin(GLOBAL)].set_index([*run, "representation", "settings"])[metric]
    before = values.xs((BASELINE, ""), level=("representation", "settings"))
    after = values.drop(BASELINE, level="representation")
    before = before.reindex(after.index.droplevel(["representation", "settings"])).to_numpy()
    return percent_better(after, before, metric).rename("gain")


def improvement(rows, selection="test"):
    """Return the relative improvement of every data set: mean over capacities and half width of its 95 % t interval.

    ``All`` is over the pairs of all data sets.

    Returns
    -------
    table : DataFrame
        In percent; columns are pairs of a metric, and ``"mean"`` or ``"ci"``.
    """
    relative = relative_gains(pairs(rows, selection))
    groups = dict(list(relative.groupby(level="dataset"))) | {"All": relative}
    lines = {}
    for name, group in groups.items():
        intervals = {metric: metrics.t_interval(group[metric]) for metric in PAIRED_METRICS if len(group) > 1}
        lines[name] = {(metric, "mean"): found.mean for metric, found in intervals.items()}
        lines[name] |= {(metric, "ci"): found.half_width for metric, found in intervals.items()}
    table = pd.DataFrame.from_dict(lines, orient="index").rename_axis("dataset")
    return table.reindex(columns=[(metric, part) for metric in PAIRED_METRICS for part in ("mean", "ci")])


def significance(rows, selection="test"):
    """Return the paired comparison of the best global with the best clustered method, metric by metric.

    Returns
    -------
    table : DataFrame
        Indexed by metric: ``pairs``, ``wins`` of the clustered method, ``median`` gain, ``median_relative`` (in
        percent), the exact Wilcoxon ``p`` over the pairs and ``p_datasets`` over data sets, after a mean over their
        capacities.
    """
    paired = pairs(rows, selection)
    absolute, relative = gains(paired), relative_gains(paired)
    by_dataset = absolute.groupby(level="dataset").mean()
    return pd.DataFrame.from_dict(
        {
            metric: {
                "pairs": len(absolute),
                "wins": int((absolute[metric] > 0).sum()),
                "median": absolute[metric].median(),
                "median_relative": relative[metric].median(),
                "p": _wilcoxon(absolute[metric]),
                "p_datasets": _wilcoxon(by_dataset[metric]),
            }
            for metric in PAIRED_METRICS
        },
        orient="index",
    ).rename_axis("metric")


def best_method(rows, metric="NLL"):
    """Return the rows of the method that is best at every data set and capacity, by its mean over the seeds.

    Parameters
    ----------
    rows : DataFrame
        Rows of the methods to choose among.
    metric : str, default="NLL"

    Returns
    -------
    rows : DataFrame
        One row per data set, capacity and seed.
    """
    means = (_sign(metric) * rows.groupby([*CASE, *METHOD])[metric].mean()).reset_index()
    return rows.merge(means.loc[means.groupby(CASE)[metric].idxmax(), [*CASE, *METHOD]])


def compare(rows, reference, metric="NLL", by=("dataset", *METHOD)):
    """Return by how many percent of a reference methods are better, run by run on the same split and classifier.

    Parameters
    ----------
    rows : DataFrame
        Rows of the methods.
    reference : DataFrame
        One row per data set, capacity and seed, such as those of `best_method`.
    metric : str, default="NLL"
    by : sequence of str
        A line for each value of these: some of ``"dataset"``, `CAPACITY` and `METHOD`.

    Returns
    -------
    table : DataFrame
        ``mean``; ``ci``, half width of its 95 % t interval over seeds, of which each is a mean over whatever else is
        not in ``by``, with the correction for splits that overlap; ``runs``, and ``wins`` among them.

    Raises
    ------
    ValueError
        If the reference has two rows for one run.
    """
    run = [*CASE, "seed"]
    if reference.duplicated(run).any():
        raise ValueError("reference has two rows of one data set, capacity and seed; expected one.")
    before = reference[[*run, metric]].rename(columns={metric: "before"})
    together = rows.merge(before, on=run)
    gain = together.assign(gain=percent_better(together[metric], together["before"], metric))
    by_seed = gain.groupby([*by, "seed"])["gain"].mean()
    half_width = lambda values: metrics.t_interval(values, test_to_train=TEST_TO_TRAIN).half_width
    table = by_seed.groupby(list(by)).agg(mean="mean", ci=half_width)
    runs = gain.groupby(list(by))["gain"].agg(runs="size", wins=lambda values: int((values > 0).sum()))
    return table.join(runs)


def spread(table, rows):
    """Return the standard deviation over seeds of every cell of a table.

    Parameters
    ----------
    table : callable
        Makes the table of rows; here, of those of each seed alone.
    rows : DataFrame

    Returns
    -------
    table : DataFrame
        In the form of ``table(rows)``, though its lines may be in another order.
    """
    each = {seed: table(of_seed) for seed, of_seed in rows.groupby("seed")}
    lines = list(range(1, 1 + next(iter(each.values())).index.nlevels))
    return pd.concat(each).groupby(level=lines).std(ddof=1)


def correlations(rows):
    """Return Spearman correlations over methods within each capacity, averaged over the capacities.

    Returns
    -------
    table : DataFrame
        Calibration metrics (ECE, NLL, LCE) in lines; AUC, Accuracy and Brier in columns.
    """
    columns = [*MAIN_METRICS, "Accuracy"]
    means = average(rows, [*CAPACITY, *METHOD], columns).reset_index()
    table = metrics.spearman_table(means, by=CAPACITY, columns=columns)
    return table.loc[["ECE", "NLL", "LCE"], ["AUC", "Accuracy", "Brier"]]


def overhead(rows):
    """Return what the parametric methods cost: seconds, mean over data sets, capacities and seeds.

    Returns
    -------
    table : DataFrame
        Indexed by calibrator and representation: ``fit`` (for clustered methods once the clusters are given), the
        ``ratio`` to the global method, and ``clustering`` (K-means) and ``extraction`` of the representation.
    """
    columns = {
        "fit_seconds": "fit",
        "clustering_seconds": "clustering",
        "extraction_seconds": "extraction",
        "predict_seconds": "predict",
    }
    table = average(rows[rows["calibrator"].isin(GLOBAL)], METHOD, list(columns)).rename(columns=columns)
    of_global = table.xs(BASELINE, level="representation")["fit"]
    ratio = table["fit"] / of_global.reindex(table.index.get_level_values("calibrator")).to_numpy()
    table.insert(1, "ratio", ratio)
    return table


def costs(rows):
    """Return where the hours of the study went, by data set: sums over units, of rows as they are in the store.

    Returns
    -------
    table : DataFrame
        Hours of one core: ``training`` of the classifier, ``extraction`` of representations, ``methods`` (fitting, with
        K-means, and predicting), the ``kernel`` of local calibration errors, and ``all`` together with the metrics and
        the rest; beside them the number of ``units`` and ``seconds_per_unit``.
    """
    unit, of_methods = ["dataset", "max_depth", "seed"], ["fit_seconds", "clustering_seconds", "predict_seconds"]
    whole = rows.groupby([*unit, "unit_seconds"])[["training_seconds", "kernel_seconds"]].first().reset_index()
    extracted = rows.drop_duplicates([*unit, "n_estimators", "representation"]).groupby([*unit, "representation"])
    # SHAP seconds include those of fewer trees; the other representations start anew for every number of trees.
    by_representation = extracted["extraction_seconds"].agg(["sum", "max"]).reset_index("representation")
    is_shap = by_representation["representation"] == "SHAP"
    extraction = by_representation["sum"].where(~is_shap, by_representation["max"]).groupby(level="dataset").sum()
    by_dataset = whole.groupby("dataset")
    seconds = pd.DataFrame(
        {
            "training": by_dataset["training_seconds"].sum(),
            "extraction": extraction,
            "methods": rows.groupby("dataset")[of_methods].sum().sum(axis=1),
            "kernel": by_dataset["kernel_seconds"].sum(),
            "all": by_dataset["unit_seconds"].sum(),
        }
    )
    units = by_dataset.size()
    return (seconds / 3600).assign(units=units, seconds_per_unit=seconds["all"] / units)


def growth(rows):
    """Return the seconds of each step beside the number of rows, by data set: means over depths and seeds.

    Parameters
    ----------
    rows : DataFrame
        Rows as they are in the store.

    Returns
    -------
    table : DataFrame
        Data sets from the smallest, with their ``rows``. ``training`` of the classifier; then for its largest number of
        trees the extraction of ``SHAP`` and ``coverage`` of the calibration and the test part, and ``K-means``, the
        ``fit`` of the paper's clustered methods and their ``prediction``, mean over these methods; the
        ``kernel`` of local calibration errors, its seconds divided by the number of methods that shared it.
    """
    unit = ["dataset", "max_depth", "seed", "unit_seconds"]
    sharing = rows.groupby(unit)["nll"].transform("size")
    trees = rows.groupby("dataset")["n_estimators"].transform("max")
    is_clustered = rows["calibrator"].isin(GLOBAL) & (rows["representation"] != BASELINE) & (rows["settings"] == "")
    clustered = rows[is_clustered & (rows["n_estimators"] == trees)]
    by_representation = clustered.groupby(["representation", "dataset"])["extraction_seconds"].mean()
    of_method = clustered.groupby("dataset")[["clustering_seconds", "fit_seconds", "predict_seconds"]].mean()
    parts = ["n_train", "n_calibration", "n_test"]
    table = pd.DataFrame(
        {
            "rows": rows.groupby("dataset")[parts].first().sum(axis=1),
            "training": rows.groupby("dataset")["training_seconds"].mean(),
            "SHAP": by_representation.get("SHAP"),
            "coverage": by_representation.get("Coverage"),
            "K-means": of_method["clustering_seconds"],
            "fit": of_method["fit_seconds"],
            "prediction": of_method["predict_seconds"],
            "kernel": (rows["kernel_seconds"] / sharing).groupby(rows["dataset"]).mean(),
        }
    )
    return table.sort_values("rows")


def variation(rows, variants, settings, representations=("SHAP", "Coverage", "Data")):
    """Return what one changed setting does to the clustered methods, in percent of the paper's setting.

    Parameters
    ----------
    rows, variants : DataFrame
        Rows of the groups ``"paper"`` and ``"variants"``, see `as_paper_rows`.
    settings : str
        Such as ``"n_clusters=7"``.
    representations : sequence of str

    Returns
    -------
    table : DataFrame
        Indexed by NLL and AUC: ``mean`` relative change over data sets, capacities and methods, and the share
        ``increase`` and ``decrease`` of these configurations whose value, mean over seeds, rises or falls.
    """
    index = [*CASE, *METHOD]
    changed = variants[(variants["settings"] == settings) & variants["representation"].isin(representations)]
    after = changed.groupby(index)[["NLL", "AUC"]].mean()
    before = rows.groupby(index)[["NLL", "AUC"]].mean().reindex(after.index)
    change = 100 * (after - before) / before
    return pd.DataFrame(
        {"mean": change.mean(), "increase": 100 * (change > 0).mean(), "decrease": 100 * (change < 0).mean()}
    )


def _sign(metric):
    return 1 if metric in HIGHER_IS_BETTER else -1


def _wilcoxon(differences):
    if not differences.any():
        return np.nan
    return metrics.paired_wilcoxon(differences, np.zeros(len(differences))).pvalue
