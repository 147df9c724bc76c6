"""What the runs of the alternatives say by their protocol: gains, paired differences, intervals, verdicts.

Builds on `alternatives_study` for the rows; the rules stand in ``results/alternatives/protocol.yml``.
"""

import numpy as np
import pandas as pd

from clustcal import metrics
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.results import FOLDER

BASELINES = ("Platt", "Beta")  # the better of them, by the log-loss of the test part
PRIMARY, SHAP, RAW, CLUSTERS, PERMUTED = (
    "ridge SHAP+coverage",
    "ridge SHAP",
    "ridge raw",
    "clusters CV",
    "ridge permuted",
)
BESIDE = ("breast_cancer",)  # reported, and in no mean over sets
SAME_PATIENTS = {"diabetes130-los": "diabetes130"}
# Mean gains of the trial after which the design was picked, by data set and in percent, with PRIMARY.
TRIAL = {
    "credit_approval": 3.0,
    "stroke": 6.2,
    "support2": 1.9,
    "credit_card_default": 3.2,
    "adult": 3.6,
    "diabetes130": 1.6,
    "diabetes130-los": 0.76,
}
ENOUGH_ROWS, LEAST_OF_PERMUTED, LEAST_OF_A_SET = 1000, -0.1, -0.5
CLOSE = 0.25  # points of gain within which a cheap representation counts as good as SHAP values
CONFIRMED, REFUTED, OPEN, NOT_CONFIRMED = "confirmed", "refuted", "open", "not confirmed"


def read_rows(folder=FOLDER, arm=study.PLAIN, base_model=study.MAIN_MODEL):
    """Return the stored rows of one arm and one base model, those of complete data sets alone.

    A data set is complete when each of `BASELINES` and the primary method has all seeds of the protocol.
    """
    return of_complete_sets(study.open_store(folder).read(arm=arm), arm, base_model)


def of_complete_sets(rows, arm=study.PLAIN, base_model=study.MAIN_MODEL):
    """Return, of stored rows of any arms and base models, what `read_rows` reads of one."""
    rows = rows[(rows["arm"] == arm) & (rows["base_model"] == base_model) & rows["seed"].isin(study.SEEDS)]
    needed = rows[rows["method"].isin([*BASELINES, PRIMARY])]
    runs = needed.drop_duplicates(["dataset", "seed", "method"]).groupby("dataset").size()
    complete = runs.index[runs == len(study.SEEDS) * (len(BASELINES) + 1)]
    return rows[rows["dataset"].isin(complete)].reset_index(drop=True)


def gains(rows):
    """Return the gain of every method on every split, in percent of the log-loss of the better of Platt and Beta.

    Returns
    -------
    gains : DataFrame
        Indexed by data set and seed, a column per method; NaN where a method has no row.
    """
    nll = rows.pivot_table(index=["dataset", "seed"], columns="method", values="nll")
    return 100 * (1 - nll.div(nll[list(BASELINES)].min(axis=1), axis=0))


def by_set(values, test_to_train=protocol.TEST_TO_TRAIN, order=study.DATASETS):
    """Return mean, interval and verdict of one quantity for every data set.

    Parameters
    ----------
    values : Series
        Indexed by data set and seed.
    test_to_train : float
        Of splits that overlap, see :func:`clustcal.metrics.t_interval`.
    order : sequence of str
        All data sets that there may be.

    Returns
    -------
    table : DataFrame
        Indexed by data set: ``mean``, ``low`` and ``high`` (95 % t interval, corrected for splits that overlap), the
        smallest split ``worst``, and ``verdict``.
    """
    lines = {}
    for name, of_set in values.dropna().groupby(level="dataset"):
        lines[name] = judge_mean(of_set, test_to_train) | {"worst": of_set.min()}
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.reindex([name for name in order if name in table.index]).rename_axis("dataset")


def over_sets(values):
    """Return mean, interval and verdict of one quantity over data sets, each of them one observation.

    Parameters
    ----------
    values : Series
        Indexed by data set and seed.

    Returns
    -------
    line : dict
        ``mean``, ``low``, ``high``, ``verdict`` and ``sets``, their number.
    """
    means = means_of_sets(values)
    return judge_mean(means) | {"sets": len(means)}


def means_of_sets(values):
    """Return the mean of one quantity for every data set that counts, two targets on the same patients averaged.

    Parameters
    ----------
    values : Series
        Indexed by data set and seed.

    Returns
    -------
    means : Series
        Indexed by data set.
    """
    means = values.dropna().groupby(level="dataset").mean().drop(list(BESIDE), errors="ignore")
    return means.groupby(means.index.map(lambda name: SAME_PATIENTS.get(name, name))).mean()


def hangs_on(values):
    """Return the data sets without any one of which the verdict of `over_sets` on these values is another."""
    means = means_of_sets(values)
    verdict = judge_mean(means)["verdict"]
    return [name for name in means.index if judge_mean(means.drop(name))["verdict"] != verdict]


def judge_mean(values, test_to_train=0.0):
    """Return mean, 95 % t interval and verdict of values that are one observation each.

    Parameters
    ----------
    values : array-like of shape (n,)
    test_to_train : float
        Of splits that overlap, see :func:`clustcal.metrics.t_interval`.

    Returns
    -------
    line : dict
        ``mean``, ``low``, ``high``, and ``verdict``: confirmed or refuted where the interval has one sign, else open. A
        single value has an interval without ends.
    """
    values = np.asarray(values, dtype=float)
    half = metrics.t_interval(values, test_to_train=test_to_train).half_width if len(values) > 1 else np.inf
    mean = values.mean() if len(values) else np.nan
    verdict = CONFIRMED if mean - half > 0 else REFUTED if mean + half < 0 else OPEN
    return {"mean": mean, "low": mean - half, "high": mean + half, "verdict": verdict}


def judge_cheap(line):
    """Return the word of the protocol for a cheap method, given its difference to the primary one over sets.

    Parameters
    ----------
    line : mapping
        With ``low`` and ``high``, the ends of the interval.

    Returns
    -------
    word : str
    """
    words = {(True, False): "as good", (True, True): "slightly worse", (False, True): "worse", (False, False): OPEN}
    return words[bool(line["low"] > -CLOSE), bool(line["high"] < 0)]


def compare(table):
    """Return the comparisons of the protocol over data sets.

    Parameters
    ----------
    table : DataFrame
        As `gains` returns it.

    Returns
    -------
    comparisons : DataFrame
        Indexed by what is compared; columns as `over_sets` returns them.
    """
    pairs = {
        PRIMARY: table[PRIMARY],
        SHAP: table[SHAP],
        f"{PRIMARY} - {CLUSTERS}": table[PRIMARY] - table[CLUSTERS],
        f"{SHAP} - {RAW}": table[SHAP] - table[RAW],
        f"ridge SHAP+raw - {SHAP}": table["ridge SHAP+raw"] - table[SHAP],
        PERMUTED: table[PERMUTED],
        f"{PRIMARY}, caution 0 - {PRIMARY}": table[f"{PRIMARY}, caution 0"] - table[PRIMARY],
    }
    return pd.DataFrame.from_dict({name: over_sets(values) for name, values in pairs.items()}, orient="index")


def verdicts(rows):
    """Return the verdict on each statement that the protocol names, as a dict; preliminary while sets are missing."""
    table = gains(rows)
    found = compare(table)["verdict"]
    positive = lambda name: CONFIRMED if found[name] == CONFIRMED else NOT_CONFIRMED
    large = rows.loc[rows["n_calibration"] >= ENOUGH_ROWS, "dataset"].unique()
    large = table[table.index.get_level_values("dataset").isin(large)]
    is_safe = (
        len(large) > 0
        and over_sets(large[PERMUTED])["mean"] >= LEAST_OF_PERMUTED
        and by_set(large[PRIMARY])["mean"].min() >= LEAST_OF_A_SET
    )
    return {
        "primary": positive(PRIMARY),
        "it is what the model knows": positive(f"{SHAP} - {RAW}"),
        "it beats clusters": positive(f"{PRIMARY} - {CLUSTERS}"),
        "it is safe": CONFIRMED if is_safe else NOT_CONFIRMED,
    }
