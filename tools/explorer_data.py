"""Write the data of the explorers, from the scores that ship with the package (`python tools/explorer_data.py`).

An explorer runs in the reader's browser, where the package is not. What it needs of real scores is written here, in
whole numbers: thousandths of directions, of centroids and of logits.
"""

import json
from pathlib import Path

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from clustcal import BetaCalibration, PlattScaling, SoftKMeans, datasets

ASSETS = Path(__file__).resolve().parent.parent / "book/_assets"
NUMBERS_OF_CLUSTERS = range(2, 9)
# Thresholds of the explorer of costs, in thousandths.
THRESHOLDS = np.arange(1001)


def thousandths(values):
    return np.rint(1000 * np.asarray(values)).astype(int).tolist()


def stroke_rows():
    """Return scores, labels, directions of SHAP values and the centroids for each number of clusters (Stroke)."""
    scores = datasets.load_scores("stroke")
    parts = {
        "calibration": (scores.P_cal, scores.y_cal, scores.Z_cal["shap"]),
        "test": (scores.P_test, scores.y_test, scores.Z_test["shap"]),
    }
    made = {
        part: {
            "logits": thousandths(logit(p)),
            "labels": y.tolist(),
            "directions": thousandths(normalize(Z).ravel()),
        }
        for part, (p, y, Z) in parts.items()
    }
    centroids = {
        K: thousandths(SoftKMeans(K, random_state=0).fit(scores.Z_cal["shap"]).centroids_) for K in NUMBERS_OF_CLUSTERS
    }
    return made | {"centroids": centroids}


def stroke_counts():
    """Return how many people, and how many strokes, are above each threshold: raw and calibrated scores (Stroke).

    The test parts of the five splits are put together, as in the chapter "What calibration means".
    """
    splits = [datasets.load_scores("stroke", seed=seed) for seed in range(5)]
    y = np.concatenate([s.y_test for s in splits])
    forecasts = {
        "raw": [s.P_test for s in splits],
        "calibrated": [BetaCalibration(prior=None).fit(s.P_cal, s.y_cal).predict_proba(s.P_test)[:, 1] for s in splits],
    }
    counts = {}
    for name, parts in forecasts.items():
        above = np.concatenate(parts)[:, None] > THRESHOLDS / 1000
        counts[name] = {"people": above.sum(axis=0).tolist(), "strokes": above[y == 1].sum(axis=0).tolist()}
    return {"people": len(y), "strokes": int(y.sum())} | counts


def adult_groups():
    """Return how many people with and without a high income are at or above each threshold, men and women (Adult).

    The forecast is that of the chapter "Groups and fairness": Platt scaling with a term for each group.
    """
    scores = datasets.load_scores("adult")
    names = scores.feature_names["data"]
    people = {part: scores[f"Z_{part}"]["data"] for part in ("cal", "test")}
    platt = PlattScaling().fit(scores.P_cal, scores.y_cal)

    def design(part):
        race = people[part][:, names.index("race")]
        codes = np.unique(people["cal"][:, names.index("race")])
        indicators = [people[part][:, names.index("sex")] <= 0] + [race == codes[k] for k in (4, 2, 1, 0, 3)]
        return np.column_stack([logit(platt.predict_proba(scores[f"P_{part}"])[:, 1]), *indicators]).astype(float)

    forecast = LogisticRegression(C=1.0).fit(design("cal"), scores.y_cal).predict_proba(design("test"))[:, 1]
    of_women = people["test"][:, names.index("sex")] <= 0
    made = {}
    for name, mine in {"men": ~of_women, "women": of_women}.items():
        chosen = forecast[mine][:, None] >= THRESHOLDS[::10] / 1000
        high = scores.y_test[mine] == 1
        made[name] = {
            "positives": int(high.sum()),
            "negatives": int((~high).sum()),
            "chosenPositives": chosen[high].sum(axis=0).tolist(),
            "chosenNegatives": chosen[~high].sum(axis=0).tolist(),
        }
    return made


FILES = {
    "stroke-rows": ("strokeRows", stroke_rows),
    "stroke-counts": ("strokeCounts", stroke_counts),
    "adult-groups": ("adultGroups", adult_groups),
}


def read(name):
    """Return the data of a file that has been written."""
    text = (ASSETS / f"{name}.js").read_text(encoding="utf-8")
    return json.loads(text[text.index("= ") + 2 : text.rindex(";")])


def main():
    for file, (variable, make) in FILES.items():
        text = json.dumps(make(), separators=(",", ":"))
        note = "// Written by tools/explorer_data.py from the scores that ship with the package."
        (ASSETS / f"{file}.js").write_text(f"{note}\nglobalThis.{variable} = {text};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
