"""Results rows made by hand, for the tests of tables, figures and ledger."""

from itertools import product

import numpy as np
import pandas as pd

from clustcal.experiments.paper import load_claims
from clustcal.experiments.protocol import MAX_DEPTHS, N_ESTIMATORS, SEEDS
from clustcal.experiments.store import COLUMNS
from clustcal.experiments.tabular.grid import get_entries

# Log-loss by method: on Adult and on Stroke, each with 100 trees of depth 6 and with 300 of depth 8.
NLL = {
    ("Platt", "Baseline"): (0.40, 0.50, 0.20, 0.30),
    ("Platt", "SHAP"): (0.39, 0.48, 0.19, 0.27),
    ("TS", "Baseline"): (0.42, 0.49, 0.25, 0.35),
    ("TS", "SHAP"): (0.41, 0.51, 0.18, 0.36),
    ("base", "Baseline"): (0.60, 0.60, 0.30, 0.30),
}
ECE = dict(zip(NLL, (0.05, 0.06, 0.075, 0.08, 0.09), strict=True))
FIT_SECONDS = dict(zip(NLL, (0.01, 0.03, 0.02, 0.03, 0.0), strict=True))
CASES = [("adult", 100, 6), ("adult", 300, 8), ("stroke", 100, 6), ("stroke", 300, 8)]


def make_small_rows():
    """Two data sets, two capacities, five methods, two seeds whose log-losses lie 0.002 around the table's."""
    rows = []
    for (name, Z), values in NLL.items():
        for (dataset, n, depth), nll in zip(CASES, values, strict=True):
            for seed in (0, 1):
                key = {"dataset": dataset, "n_estimators": n, "max_depth": depth, "seed": seed}
                found = {"nll": nll + 0.002 * (2 * seed - 1), "auc": 1 - nll, "brier": nll / 2, "ada_ece": ECE[name, Z]}
                found |= {"mlce": 1 - nll, "accuracy": 1 - ECE[name, Z], "nll_calibration": 1 - nll}
                seconds = {"fit_seconds": FIT_SECONDS[name, Z], "predict_seconds": 0.001}
                seconds |= {"training_seconds": 2.0, "kernel_seconds": 1.0, "unit_seconds": 10.0}
                if Z == "SHAP":
                    seconds |= {"clustering_seconds": 0.1, "extraction_seconds": n / 100}
                rows.append(key | {"calibrator": name, "representation": Z, "settings": ""} | found | seconds)
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def make_paper_rows(datasets):
    """The full grid, in which every method has the values of the paper's main table everywhere."""
    printed = load_claims().set_index("id")["value"]
    columns = {"nll": "NLL", "auc": "AUC", "brier": "Brier", "ada_ece": "ECE", "mlce": "LCE"}
    rows = []
    for entry in get_entries("paper"):
        name, Z, _ = entry.key
        found = {column: printed[f"performance/{name}/{Z}/{metric}"] for column, metric in columns.items()}
        found |= {"accuracy": 1 - found["ada_ece"], "nll_calibration": found["nll"], "fit_seconds": 0.01}
        found |= {"extraction_seconds": 0.5, "clustering_seconds": 0.02, "predict_seconds": 0.001}
        for dataset, n, depth, seed in product(datasets, N_ESTIMATORS, MAX_DEPTHS, SEEDS):
            key = {"dataset": dataset, "n_estimators": n, "max_depth": depth, "seed": seed}
            rows.append(key | {"calibrator": name, "representation": Z, "settings": ""} | found)
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def make_variants(rows, settings, shift):
    """Copies of the clustered rows under changed settings, with a log-loss higher by this share."""
    clustered = rows[rows["representation"] != "Baseline"]
    return clustered.assign(settings=settings, nll=clustered["nll"] * (1 + np.asarray(shift)))
