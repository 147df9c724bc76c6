"""Whether clusters differ in reliability on rows that fitted nothing, in units that data sets share.

``python -m clustcal.experiments.deep.reliability_spread [STUDY ...]`` writes ``results/deep/reliability_spread.csv``;
it can be stopped, and then goes on. The spread in ``geometry.csv`` is measured on the half of the rows to which the
global calibrator was fitted, and its ratio to that of random partitions grows with the square root of the number of
rows; the rules that judge by it were written so, and stay. Here clusters and calibrator come from the calibration half
and the gaps from the test half; every data set is cut to the rows of the smallest, and gaps are divided by the
standard deviation of the outcome, which differs between a disease of one person in twenty and two equal classes. It
is measured on the shipped scores, so that no network is needed.
"""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from clustcal import PlattScaling, SoftKMeans, VectorScaling
from clustcal.datasets import load_scores
from clustcal.experiments.deep import design, geometry, measured
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "reliability_spread.csv"
N_CLUSTERS = (4, 25)
EQUAL_ROWS = 1022  # of Stroke's test half
DRAWS = 20  # of so many rows, where there are more
PARTITIONS = 200
# By the name of a study or of Stroke its shipped scores.
SCORES = {
    "stroke": "stroke",
    "emotion": "emotion",
    "imdb-overconfident": "imdb",
    "bloodmnist-rebuilt": "bloodmnist",
    "cifar100-overconfident": "cifar100",
}


def measure(unit, load=load_scores):
    """Return the rows of one study, split and layer, one for every K."""
    with threadpool_limits(1):
        scores = load(SCORES[unit["name"]], unit["seed"])
        cal, test = (
            design.Part(scores[f"P_{half}"], scores[f"y_{half}"], scores[f"Z_{half}"]) for half in ("cal", "test")
        )
        gaps, outcome = find_test_gaps(cal, test)
        rows = []
        for n_clusters in N_CLUSTERS:
            kmeans = SoftKMeans(n_clusters, temperature=0.0, random_state=unit["seed"]).fit(cal.Z[unit["layer"]])
            clusters = kmeans.transform(test.Z[unit["layer"]]).argmax(axis=1)
            rows.append({"n_clusters": n_clusters} | measure_spread(gaps, outcome, clusters, unit["seed"]))
        return rows


def measure_spread(gaps, outcome, clusters, seed=0, *, rows=EQUAL_ROWS, draws=DRAWS):
    """Return how much the mean gap differs between clusters, by chance and beyond it.

    Parameters
    ----------
    gaps, outcome : ndarray of shape (n,)
        Outcome minus forecast, and the outcome itself, 0 or 1.
    clusters : ndarray of shape (n,)
    seed : int
    rows, draws : int
        Ratios are means over so many draws of so many rows; of one where there are no more.

    Returns
    -------
    found : dict
        ``n``; ``spread``, that of all rows in units of the standard deviation of the outcome; ``random_spread``, the
        root mean square over random partitions of the same sizes; ``excess``, the root of the difference of their
        squares, negative where that is; and ``equal_ratio``, the spread over that of random partitions among as many
        rows as all data sets have.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.experiments.deep.reliability_spread import measure_spread
    >>> rng = np.random.default_rng(0)
    >>> clusters, outcome = rng.integers(2, size=4000), rng.integers(2, size=4000)
    >>> gaps = outcome - 0.5 + 0.1 * (2 * clusters - 1)
    >>> round(measure_spread(gaps, outcome, clusters)["excess"], 1)  # 0.1 / 0.5
    0.2
    """
    rng = np.random.default_rng(seed)
    unit = np.sqrt(outcome.mean() * (1 - outcome.mean()))
    spread, random = _with_chance(gaps / unit, clusters, rng)
    beyond = spread**2 - np.mean(random**2)
    ratios = []
    for _ in range(draws if len(gaps) > rows else 1):
        some = rng.permutation(len(gaps))[:rows]
        one, by_chance = _with_chance(gaps[some], clusters[some], rng)
        ratios.append(one / by_chance.mean())
    return {
        "n": len(gaps),
        "spread": spread,
        "random_spread": float(np.sqrt(np.mean(random**2))),
        "excess": float(np.sign(beyond) * np.sqrt(abs(beyond))),
        "equal_ratio": float(np.mean(ratios)),
    }


def find_test_gaps(cal, test):
    """Return outcome minus forecast on the test half after a global calibrator of the other half, and the outcome.

    Of two classes the outcome is y and the calibrator Platt scaling; of more, whether the most probable class is right,
    and vector scaling.
    """
    if cal.P.ndim == 1:
        return test.y - PlattScaling(prior=None).fit(cal.P, cal.y).predict_proba(test.P)[:, 1], test.y
    Q = VectorScaling(classes=np.arange(cal.P.shape[1]), prior=None).fit(cal.P, cal.y).predict_proba(test.P)
    right = (Q.argmax(axis=1) == test.y).astype(float)
    return right - Q.max(axis=1), right


def find_units(names, load=load_scores):
    """Return the units of some studies."""
    return [
        {"name": name, "seed": seed, "layer": layer}
        for name in names
        for layer in find_layers(load(SCORES[name], design.SEEDS[0]), name)
        for seed in design.SEEDS
    ]


def find_layers(scores, name):
    """Return the layers of shipped scores; of Stroke the one that the networks are held against."""
    return ("coverage",) if name == "stroke" else tuple(scores.Z_cal)


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "reliability_spread.csv")


def _with_chance(gaps, clusters, rng):
    random = np.array([geometry.find_spread(gaps, rng.permutation(clusters)) for _ in range(PARTITIONS)])
    return geometry.find_spread(gaps, clusters), random


def main(arguments=None):
    find = lambda names: find_units(names or SCORES)
    measured.run_command(__doc__, PATH, find, measure, arguments, names="default: all with shipped scores")


if __name__ == "__main__":
    main()
