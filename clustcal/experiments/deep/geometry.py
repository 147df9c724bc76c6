"""How the representations of networks lie in space, and whether their clusters differ in reliability.

``python -m clustcal.experiments.deep.geometry [STUDY ...]`` writes ``results/deep/geometry.csv``, with Stroke beside
the networks; it can be stopped, and then goes on. Everything is measured on the half of the rows that calibrates, of
every split and layer:

- anisotropy: the mean cosine of pairs of rows drawn at random, of the rows as they are and of the rows minus their
  mean; the share of the variance in the first principal components;
- how well clusters are separated: the silhouette, by cosine distance, of hard clusters of the directions;
- spread of reliability: the standard deviation over clusters, weighted by their size, of mean outcome minus mean
  forecast after a global calibrator, and the same for random partitions of the same sizes.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from clustcal import PlattScaling, SoftKMeans, VectorScaling
from clustcal.datasets import load_scores
from clustcal.experiments.deep import design, measured
from clustcal.experiments.deep.outputs import FILE, cache_folder, load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "geometry.csv"
STROKE = "stroke"
PAIRS = 10_000
SILHOUETTE_ROWS = 5_000
PARTITIONS = 200
COMPONENTS = (1, 2, 10)
# Of which networks layers are looked at: all of the study with representations.
NETWORKS = tuple(name for name in design.STUDIES if name != "tiny-imagenet-1000")


def measure(unit, load=load_outputs):
    """Return the row of one study, seed, layer and K.

    Parameters
    ----------
    unit : dict
        ``name``, of a study or "stroke", ``seed``, ``layer`` and ``n_clusters``.
    load : callable
        From the name of a network to its `Outputs`.
    """
    with threadpool_limits(1):
        P, y, Z = _calibration_half(unit, load)
        clusters = measure_clusters(Z, find_gaps(P, y), unit["n_clusters"], unit["seed"])
        return [{"n": len(Z), "width": Z.shape[1]} | measure_shape(Z, unit["seed"]) | clusters]


def measure_shape(Z, seed=0):
    """Return how far rows point in one direction.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
    seed : int
        Of the pairs.

    Returns
    -------
    shape : dict
        ``mean_cosine`` and ``mean_cosine_centred`` of 10,000 pairs of different rows; ``variance_1``, ``variance_2``
        and ``variance_10``, the shares of the variance in as many principal components.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.experiments.deep.geometry import measure_shape
    >>> one_direction = np.outer(np.arange(1.0, 50.0), [3.0, 4.0])
    >>> shape = measure_shape(one_direction)
    >>> round(shape["mean_cosine"], 6), round(shape["variance_1"], 6)
    (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    first = rng.integers(len(Z), size=PAIRS)
    second = (first + rng.integers(1, len(Z), size=PAIRS)) % len(Z)  # never the row itself
    centred = Z - Z.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    shape = {
        name: float((unit[first] * unit[second]).sum(axis=1).mean())
        for name, unit in {"mean_cosine": normalize(Z), "mean_cosine_centred": normalize(centred)}.items()
    }
    return shape | {f"variance_{k}": float(variances[:k].sum() / variances.sum()) for k in COMPONENTS}


def measure_clusters(Z, gaps, n_clusters, seed=0):
    """Return the silhouette of clusters, and how much reliability differs between them.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
    gaps : ndarray of shape (n,)
        Outcome minus forecast of every row.
    n_clusters : int
    seed : int

    Returns
    -------
    found : dict
        ``silhouette``; ``spread``; ``random_spread``, its mean over 200 random partitions of the same sizes;
        ``spread_ratio``, the first over the second; and ``p_value``, the share of partitions, this one among
        them, with at least its spread.
    """
    unit = normalize(Z)
    clusters = SoftKMeans(n_clusters, temperature=0.0, random_state=seed).fit(Z).transform(Z).argmax(axis=1)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(Z))[:SILHOUETTE_ROWS]
    spread = find_spread(gaps, clusters)
    random = np.array([find_spread(gaps, rng.permutation(clusters)) for _ in range(PARTITIONS)])
    return {
        "silhouette": float(silhouette_score(unit[rows], clusters[rows], metric="cosine")),
        "spread": spread,
        "random_spread": float(random.mean()),
        "spread_ratio": spread / float(random.mean()),
        "p_value": (1 + int((random >= spread).sum())) / (1 + PARTITIONS),
    }


def find_spread(gaps, clusters):
    """Return the standard deviation of the clusters' mean gaps, weighted by their sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.experiments.deep.geometry import find_spread
    >>> find_spread(np.array([0.1, 0.3, -0.2, -0.2]), np.array([0, 0, 1, 1]))
    0.2
    """
    sizes = np.bincount(clusters)
    sizes, means = sizes[sizes > 0], (np.bincount(clusters, gaps) / np.maximum(sizes, 1))[sizes > 0]
    return float(np.sqrt(np.average((means - np.average(means, weights=sizes)) ** 2, weights=sizes)))


def find_gaps(P, y):
    """Return outcome minus forecast of every row after a global calibrator fitted to the same rows.

    Of two classes the outcome is y and the calibrator Platt scaling; of more, whether the most probable class is right,
    and vector scaling.
    """
    if P.ndim == 1:
        return y - clone(PlattScaling(prior=None)).fit(P, y).predict_proba(P)[:, 1]
    Q = VectorScaling(classes=np.arange(P.shape[1]), prior=None).fit(P, y).predict_proba(P)
    return (Q.argmax(axis=1) == y) - Q.max(axis=1)


def find_units(names, load=load_outputs):
    """Return the units of some studies, those of few clusters and of the paper's layer first."""
    layers_of = {name: ("coverage",) if name == STROKE else _read_layers(name, load) for name in names}
    return [
        {"name": name, "seed": seed, "layer": layer, "n_clusters": n_clusters}
        for n_clusters in design.N_CLUSTERS
        for name, layers in layers_of.items()
        for layer in layers
        for seed in design.SEEDS
    ]


def read(folder=FOLDER):
    """Return the stored measurements; they may be empty."""
    return measured.read(Path(folder) / "deep" / "geometry.csv")


def _read_layers(name, load):
    return tuple(load(design.STUDIES[name].network).representations)


@lru_cache(maxsize=1)
def _read_part(name, load):
    study = design.STUDIES[name]
    return design.prepare(load(study.network), study.only_classes_that_occur)


def _calibration_half(unit, load):
    if unit["name"] == STROKE:
        scores = load_scores(STROKE, unit["seed"])
        return scores.P_cal, scores.y_cal, scores.Z_cal[unit["layer"]]
    part = _read_part(unit["name"], load)
    cal, _ = design.halve(part._replace(Z={unit["layer"]: part.Z[unit["layer"]]}), unit["seed"])
    return cal.P, cal.y, cal.Z[unit["layer"]]


def main(arguments=None):
    there = [n for n in NETWORKS if (cache_folder() / design.STUDIES[n].network / FILE).exists()]
    find = lambda names: find_units(names or [STROKE, *there])
    said = "default: Stroke, and the studies whose outputs are in the cache"
    measured.run_command(__doc__, PATH, find, measure, arguments, names=said)


if __name__ == "__main__":
    main()
