"""How far printed numbers give away how they were made: papers with known settings, and a reader who has to guess.

A *signature* is what a table shows of one setting: one row per seed, one column per printed number. `confusion` lets
each seed of each setting be a paper in turn, and guesses its setting from the other seeds. The rest makes signatures of
the rows of our studies.
"""

import numpy as np
import pandas as pd

from clustcal.experiments.methods import BASELINE
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.readings.cluster_tables import CELLS, READING
from clustcal.experiments.tabular.runs import keep_complete

RUN = ["dataset", "n_estimators", "max_depth"]


def confusion(signatures, decimals=None):
    """Guess the setting of every paper from runs with other seeds.

    Parameters
    ----------
    signatures : dict of str to array-like of shape (n_seeds, n_numbers)
        By setting, what a paper with this setting and one seed prints. All have the same shape.
    decimals : int, optional
        To how many decimals papers print; by default all.

    Returns
    -------
    table : DataFrame
        In line r and column c the share of papers with setting r for which c is guessed: the setting whose mean over
        the other seeds is nearest, in units of each number's standard deviation over seeds, pooled over settings. A
        number that does not vary over seeds is left out.

    Raises
    ------
    ValueError
        If signatures have other shapes, or fewer than three seeds.

    Examples
    --------
    >>> from clustcal.experiments.tabular.readings.forensics import confusion
    >>> table = confusion({"small": [[1.0], [1.1], [0.9]], "large": [[2.0], [2.2], [1.9]]})
    >>> table.loc["small", "small"], table.loc["large", "small"]
    (np.float64(1.0), np.float64(0.0))
    """
    names, stacked = list(signatures), [np.asarray(values, dtype=float) for values in signatures.values()]
    if len({values.shape for values in stacked}) != 1 or stacked[0].ndim != 2 or len(stacked[0]) < 3:
        shapes = [values.shape for values in stacked]
        raise ValueError(f"signatures has the shapes {shapes}; expected one shape (n_seeds, n_numbers), n_seeds >= 3.")
    values = np.stack(stacked)  # (settings, seeds, numbers)
    spread = np.sqrt(values.var(axis=1, ddof=1).mean(axis=0))
    varies = spread > 0
    counts = np.zeros((len(names), len(names)))
    for seed in range(values.shape[1]):
        known = np.delete(values, seed, axis=1).mean(axis=1)
        for truth, paper in enumerate(values[:, seed]):
            printed = paper if decimals is None else paper.round(decimals)
            away = ((printed - known)[:, varies] / spread[varies]) ** 2
            counts[truth, away.sum(axis=1).argmin()] += 1
    shares = counts / values.shape[1]
    return pd.DataFrame(shares, pd.Index(names, name="truth"), pd.Index(names, name="guess"))


def recovered(table):
    """Return how often the setting is found, and how often a reader who draws one at random would find it."""
    return float(np.diag(table).mean()), 1 / len(table)


def arm_signatures(rows, metric="ada_ece", methods=("base", "TS")):
    """Return what a paper shows of the arm: a metric of unclustered methods, a mean over its data sets and capacities.

    Parameters
    ----------
    rows : dict of str to DataFrame
        Rows of the study by arm; data sets that an arm lacks are left out of all.

    Returns
    -------
    signatures : dict of str to DataFrame
        A line per seed, a column per method.
    """
    complete = {arm: keep_complete(of_arm) for arm, of_arm in rows.items()}
    common = set.intersection(*(set(of_arm["dataset"]) for of_arm in complete.values()))
    signatures = {}
    for arm, of_arm in complete.items():
        is_shown = of_arm["dataset"].isin(common) & of_arm["calibrator"].isin(methods)
        shown = of_arm[is_shown & (of_arm["representation"] == BASELINE) & (of_arm["settings"] == "")]
        signatures[arm or "printed"] = shown.pivot_table(metric, "seed", "calibrator")
    return signatures


def cluster_signatures(rows, arm="", capacity=(300, 8)):
    """Return what the table of stroke clusters shows of its reading: its 28 cells, a line per seed."""
    chosen = rows[(rows["arm"] == arm) & (rows["n_estimators"] == capacity[0]) & (rows["max_depth"] == capacity[1])]
    return {
        f"{representation}, {'length 1' if normalize == 'True' else 'raw'}": of_reading.pivot_table(
            list(CELLS), "seed", "cluster"
        )
        for (representation, normalize), of_reading in chosen.groupby(list(READING))
    }


def gain_signatures(rows, choose):
    """Return what gains in log-loss show of a setting: one for each family, in percent, a mean over data sets.

    Parameters
    ----------
    rows : DataFrame
        Rows of one arm, the global methods among them.
    choose : callable
        From a row's representation and settings to the name of its setting, or None to leave it out.

    Returns
    -------
    signatures : dict of str to DataFrame
        A line per seed, a column per family.
    """
    is_global = rows["representation"] == BASELINE
    key = [*RUN, "seed", "calibrator"]
    before = rows[is_global].set_index(key)["nll"]
    clustered = rows[~is_global].assign(
        setting=[choose(*pair) for pair in rows.loc[~is_global, ["representation", "settings"]].itertuples(index=False)]
    )
    clustered = clustered[clustered["setting"].notna()]
    reference = before.loc[pd.MultiIndex.from_frame(clustered[key])].to_numpy()
    gains = clustered.assign(gain=tables.percent_better(clustered["nll"].to_numpy(), reference, "NLL"))
    return {
        name: of_setting.pivot_table("gain", "seed", "calibrator")
        for name, of_setting in gains.groupby("setting", sort=False)
    }


def gains_by_set(rows, family="Platt"):
    """Return the mean gain in percent of one family under every reading, by data set, nothing else changed.

    Parameters
    ----------
    rows : DataFrame
        As for `gain_signatures`.
    family : str

    Returns
    -------
    gains : DataFrame
        In lines the readings, in columns the data sets; nan where a reading was not run.
    """
    plain = rows[rows["settings"] == ""]
    of_sets = {name: gain_signatures(part, lambda reading, _: reading) for name, part in plain.groupby("dataset")}
    means = {name: {reading: each[family].mean() for reading, each in one.items()} for name, one in of_sets.items()}
    return pd.DataFrame(means)
