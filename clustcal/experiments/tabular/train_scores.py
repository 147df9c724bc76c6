"""Make the shipped scores from raw data: ``python -m clustcal.experiments.tabular.train_scores stroke adult``.

`clustcal.datasets.load_scores` reads what this command writes. The same versions on the same machine give the same
bytes.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import euclidean_distances
from sklearn.preprocessing import normalize as to_unit_length

import clustcal
from clustcal import SoftKMeans
from clustcal.datasets import load
from clustcal.datasets.shipped_scores import FOLDER, score_file, write_checksums, write_scores
from clustcal.experiments import protocol
from clustcal.experiments.provenance import library_versions

N_ESTIMATORS = 300
MAX_DEPTH = 8
STEP = 1 / 256  # to which SHAP values and features are rounded
MIN_CLUSTER = 20  # figures of smaller clusters are withheld


@dataclass(frozen=True)
class Recipe:
    """What to ship of a data set."""

    seeds: tuple[int, ...]
    coverage_step: float  # to which coverage is rounded, for the size of the file
    rows_are_open: bool  # False: nothing may be shipped that spells out a row
    quartiles_of: tuple[str, ...] = ()  # features to describe the clusters by


OPEN = Recipe(seeds=(0,), coverage_step=1 / 64, rows_are_open=True)
RECIPES = {
    "adult": OPEN,
    "credit_approval": OPEN,
    "credit_card_default": OPEN,
    "diabetes130": OPEN,
    "diabetes130-los": OPEN,
    "support2": OPEN,
    "stroke": Recipe(
        seeds=protocol.SEEDS,
        coverage_step=1 / 128,
        rows_are_open=False,
        quartiles_of=("age", "bmi", "avg_glucose_level"),
    ),
}


def make_scores(data, seed, recipe):
    """Train the classifier of one holdout and say what it makes of the calibration and the test part.

    Parameters
    ----------
    data : Bunch
        As :func:`clustcal.datasets.load` returns it.
    seed : int
        Of the split, the training, the SVD and K-means.
    recipe : Recipe

    Returns
    -------
    arrays : dict of str to ndarray
        Probabilities, labels and representations, by the names of `clustcal.datasets.shipped_scores.write_scores`.
    metadata : dict
        Everything else that :func:`clustcal.datasets.load_scores` returns.
    """
    parts = protocol.split(data.y, seed)
    model = protocol.train_model(data, parts.train, n_estimators=N_ESTIMATORS, max_depth=MAX_DEPTH, seed=seed)
    rows = {"cal": data.X.iloc[parts.calibration], "test": data.X.iloc[parts.test]}
    labels = {"cal": data.y[parts.calibration], "test": data.y[parts.test]}
    Z = {name: _represent(name, model, rows, seed) for name in protocol.REPRESENTATIONS}
    clusters = describe_clusters(Z, rows, labels, seed, recipe.quartiles_of) if recipe.quartiles_of else None
    if not recipe.rows_are_open:
        Z["shap"] = turn_to_principal_axes(*Z["shap"])
        Z["data"] = keep_cluster_geometry(*Z["data"], seed)
    arrays = {f"P_{part}": model.predict_proba(X)[:, 1] for part, X in rows.items()}
    arrays |= {f"y_{part}": y for part, y in labels.items()}
    arrays |= {f"Z_{part}_{name}": Z[name][i] for i, part in enumerate(rows) for name in Z}
    names = list(model[:-1].get_feature_names_out()) if recipe.rows_are_open else None
    return arrays, _metadata(data, seed, recipe, names, clusters)


def describe_clusters(Z, rows, labels, seed, features, normalize=True):
    """Describe the clusters of every representation by aggregates: size, quartiles and rate of positives.

    Parameters
    ----------
    Z : dict of str to pair of ndarray
        Every representation of the calibration and of the test part. K-means is fitted on the former.
    rows : dict of str to DataFrame
        Features of the two parts, as they are in the raw data; missing values are left out of quartiles.
    labels : dict of str to ndarray
    seed : int
    features : sequence of str
        Columns to give quartiles of.
    normalize : bool, default=True
        Whether directions are clustered, see :class:`clustcal.SoftKMeans`.

    Returns
    -------
    clusters : DataFrame
        One line per representation and cluster, clusters in falling order of their rate. For
        clusters of fewer than 20 rows only the size is given.
    """
    X = pd.concat(list(rows.values()), ignore_index=True)[list(features)]
    y = np.concatenate(list(labels.values()))
    lines = []
    for name, (Z_cal, Z_test) in Z.items():
        clusters = SoftKMeans(protocol.N_CLUSTERS, random_state=seed, normalize=normalize).fit(Z_cal)
        # Where lengths count, the nearest centroid is K-means' own, and not the one of the most similar direction.
        nearness = clusters.transform if normalize else lambda Z, of=clusters: -euclidean_distances(Z, of.centroids_)
        nearest = np.concatenate([nearness(Z_cal), nearness(Z_test)]).argmax(axis=1)
        found = [_describe(X[nearest == k], y[nearest == k]) for k in range(protocol.N_CLUSTERS)]
        found.sort(key=lambda line: -(line["rate"] if line["rate"] is not None else np.inf))
        lines += [{"representation": name, "cluster": k, **line} for k, line in enumerate(found)]
    return pd.DataFrame(lines)


def turn_to_principal_axes(Z_cal, Z_test):
    """Turn both parts to the principal axes of the first: angles and distances stay, columns lose their meaning."""
    _, _, axes = np.linalg.svd(Z_cal, full_matrices=True)
    return Z_cal @ axes.T, Z_test @ axes.T


def keep_cluster_geometry(Z_cal, Z_test, seed):
    """Keep of every row its cosines with the centroids of K-means, and nothing else.

    In the space of directions the part of a row within the span of the K centroids stays, in other axes; the part
    orthogonal to them becomes a random direction of the same length. Soft memberships are the same as before,
    K-means finds the same centroids but for noise, and m features cannot be solved for from K numbers.
    """
    centroids = SoftKMeans(protocol.N_CLUSTERS, random_state=seed).fit(Z_cal).centroids_
    span, _ = np.linalg.qr(centroids.T)
    rng = np.random.default_rng(seed)
    return _randomise_outside(Z_cal, span, rng), _randomise_outside(Z_test, span, rng)


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.tabular.train_scores", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(RECIPES)}")
    parser.add_argument("--output", type=Path, default=Path(str(FOLDER)), help="folder for the files")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in RECIPES:
            parser.error(f"names has {name!r}; expected some of {', '.join(RECIPES)}.")
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or RECIPES:
        data, recipe = load(name), RECIPES[name]
        for seed in recipe.seeds:
            arrays, metadata = make_scores(data, seed, recipe)
            path = options.output / score_file(name, seed)
            write_scores(path, arrays, metadata, metadata["parameters"]["steps"])
            print(f"{path} ({path.stat().st_size:,} bytes)")
    write_checksums(options.output)


def _represent(name, model, rows, seed):
    representation = protocol.make_representation(name, model, seed).fit(rows["cal"])
    return representation.transform(rows["cal"]), representation.transform(rows["test"])


def _describe(X, y):
    """Return size, rate and quartiles of one cluster."""
    line = {"size": len(y), "rate": None}
    withheld = len(y) < MIN_CLUSTER
    if not withheld:
        line["rate"] = float(y.mean())
    for feature in X:
        low, high = (None, None) if withheld else X[feature].quantile([0.25, 0.75])
        line |= {f"{feature}_q25": low, f"{feature}_q75": high}
    return line


def _randomise_outside(Z, span, rng):
    within = to_unit_length(Z) @ span
    length = np.sqrt(np.maximum(0, 1 - (within**2).sum(axis=1, keepdims=True)))
    directions = to_unit_length(rng.standard_normal((len(Z), Z.shape[1] - span.shape[1])))
    return np.hstack([within, length * directions])


def _metadata(data, seed, recipe, names, clusters):
    return {
        "description": f"{data.title}: probabilities of an XGBoost classifier ({N_ESTIMATORS} trees of depth "
        f"{MAX_DEPTH}, seed {seed}) on the calibration and the test part, and three representations of their rows. "
        + _what_representations_are(recipe),
        "source": data.source,
        "licence": data.licence,
        "citation": data.citation,
        "target_name": data.target_name,
        "feature_names": {} if names is None else {"shap": names, "data": names},
        "clusters": None if clusters is None else clusters.to_dict(orient="split", index=False),
        "parameters": {
            "name": data.name,
            "seed": seed,
            "n_estimators": N_ESTIMATORS,
            "max_depth": MAX_DEPTH,
            **protocol.BOOSTING,
            "n_components": protocol.N_COMPONENTS,
            "n_clusters": protocol.N_CLUSTERS,
            "steps": {"coverage": recipe.coverage_step, "shap": STEP, "data": STEP},
            "versions": {"clustcal": clustcal.__version__} | library_versions(),
        },
    }


def _what_representations_are(recipe):
    if recipe.rows_are_open:
        return "Z['shap'] are SHAP values in log-odds, Z['data'] the prepared features."
    return (
        "No row of the data is in here: Z['shap'] are SHAP values in log-odds turned to other axes, and Z['data'] "
        "keeps only the cosines with the four centroids of K-means on the prepared features, beside random numbers."
    )


if __name__ == "__main__":
    main()
