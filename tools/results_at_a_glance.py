"""The results of the book in one table for its first page, from the stored runs: what calibration brought, and what
clusters add to it. `results_pages.py` puts it there."""

import pandas as pd

from clustcal import metrics
from clustcal.experiments.protocol import TEST_TO_TRAIN
from clustcal.experiments.tabular.grid import PAPER_DATASETS, STAND_INS
from clustcal.experiments.tabular.runs import read_runs

NAMES = {
    "adult": "Adult: a high income",
    "credit_approval": "Credit Approval: granted",
    "credit_card_default": "Credit cards: default",
    "diabetes130": "Diabetes130: readmitted",
    "diabetes130-los": "Diabetes130: a long stay",
    "stroke": "Stroke",
    "support2": "SUPPORT2: death in hospital",
}
CAPACITY = {"n_estimators": 300, "max_depth": 8}
METHODS = {
    "as the model says": ("base", "Baseline"),
    "Beta": ("Beta", "Baseline"),
    "clustered Beta": ("Beta", "SHAP"),
}


def compare():
    """Return what stands in the table, as numbers.

    Returns
    -------
    table : DataFrame
        One line per data set: the mean log-loss of each of ``METHODS`` over the splits, what clusters gain on Beta
        calibration, and the half width of its 95 % interval, both in thousandths of a nat.
    """
    runs = read_runs([*(STAND_INS.get(name, ours) for name, ours in PAPER_DATASETS.items()), "credit_card_default"])
    for column, value in CAPACITY.items():
        runs = runs[runs[column] == value]
    losses = runs.pivot(index=["dataset", "seed"], columns=["calibrator", "representation"], values="NLL")
    lines = {}
    for dataset, of_splits in losses.groupby("dataset"):
        gain = of_splits[METHODS["Beta"]] - of_splits[METHODS["clustered Beta"]]
        interval = metrics.t_interval(1000 * gain, test_to_train=TEST_TO_TRAIN)
        means = {name: of_splits[method].mean() for name, method in METHODS.items()}
        lines[dataset] = means | {"gain": interval.mean, "half_width": interval.half_width}
    return pd.DataFrame(lines).T


def write():
    """Return the table and a sentence that counts its lines, as Markdown."""
    table = compare()
    head = ["Data", *METHODS, "clusters gain, in thousandths"]
    rows = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for dataset, line in table.iterrows():
        numbers = " | ".join(f"{line[name]:.4f}" for name in METHODS)
        rows.append(f"| {NAMES[dataset]} | {numbers} | {line['gain']:.1f} ± {line['half_width']:.1f} |")
    helps = (table["Beta"] < table["as the model says"]).sum()
    more = (table["gain"] > table["half_width"]).sum()
    less = (table["gain"] < -table["half_width"]).sum()
    return "\n".join(
        [
            *rows,
            "",
            f"Calibration lowers the log-loss on {helps} of these {len(table)} sets. "
            f"Clusters lower it further on {more} by more than the interval of five splits, "
            f"and raise it on {less or 'none'}.",
        ]
    )
