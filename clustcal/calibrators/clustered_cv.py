"""Clustered calibration whose parameters are chosen by cross-validation, on the calibration set alone.

Builds on `clustered`, for the fits, and on `solvers`, which here walk along a path of shrinkages. The chosen parameters
are those of one `ClusteredCalibration`, which is fitted to all rows at the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from numbers import Integral
from operator import attrgetter
from typing import Literal

import numpy as np
import pandas as pd
import sklearn.utils
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from clustcal.calibrators.base import CalibrationSet
from clustcal.calibrators.clustered import ClusteredCalibration, mixture
from clustcal.calibrators.containing import Containing
from clustcal.calibrators.parametric import ParametricCalibrator
from clustcal.calibrators.soft_kmeans import (
    MANY_ROWS,
    REFINEMENTS,
    SQUARED_DISTANCES,
    SoftKMeans,
    soft_memberships,
    squared_distances,
)
from clustcal.core import solvers
from clustcal.core.array_types import AnySeed, Floats, Folds, Integers, Matrix, Membership, Representation, Splits
from clustcal.core.folds import check_number_of_folds, make_folds
from clustcal.core.parameters import (
    check_at_least_0,
    check_one_of,
    check_true_or_false,
    check_whole_number,
    shown,
)
from clustcal.core.probabilities import EPS, Scores
from clustcal.core.random_states import as_random_state, check_random_state

__all__ = ["ClusteredCalibrationCV"]

SELECTIONS = ("one_se", "best")
# Losses of candidates are compared at about 1e-5; the fits behind them need no more than this.
TOLERANCE = 1e-7
# With few rows the choice depends on how they fell into folds; up to this many held-out rows, drawing again is cheap.
REPEAT_UP_TO = 5000


class ClusteredCalibrationCV(Containing):
    r"""Clustered calibration that chooses K, the shrinkage and the temperature of the memberships by itself.

    Every combination is judged by its log-loss on rows that it was not fitted to, in K-fold cross-validation within the
    calibration set. The global calibrator (one cluster) is always among the candidates unless ``include_global`` is
    False, so that by this estimate the result is never worse than it.

    Parameters
    ----------
    calibrator : parametric calibrator or list of them, default=None
        The family, or families to choose from, unfitted. Left out: `PlattScaling` for two classes,
        `TemperatureScaling` for more.
    n_clusters : sequence of int, default=(2, 4, 8)
        Candidates for K.
    shrinkages : sequence of float, default=(0.25, 0.05, 0.01, 0.002)
        Candidates for :math:`\lambda`. The paper's value is 0.05.
    temperatures : sequence of float, default=(1.0, 0.3, 0.1, 0.03)
        Candidates for the temperature of the memberships. The paper's value is 1; most of what can be gained comes from
        lower ones.
    membership : {"cosine", "chord"}, default="cosine"
        See `SoftKMeans`.
    cv : int, splitter or iterable, default=5
        The number of folds, which are drawn at random with an equal share of each class; or whatever else
        scikit-learn takes for ``cv``, such as ``list(GroupKFold(5).split(P, y, patients))``.
    n_repeats : int, default=None
        How often folds are drawn, if ``cv`` is their number; the losses of a row are averaged. None: as often as it
        takes to hold out 5,000 rows in all, but from 1 to 5 times.
    selection : {"one_se", "best"}, default="one_se"
        ``"best"`` takes the candidate of the lowest mean log-loss. ``"one_se"`` takes the simplest candidate whose mean
        excess over the best is within one standard error of that excess, unless a still simpler one has a lower
        log-loss. See the notes.
    include_global : bool, default=True
        Whether K = 1, the global calibrator, is among the candidates.
    random_state : int, RandomState instance, Generator or None, default=None
        For the folds and K-means.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default those of ``calibrator``, or else the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

    Attributes
    ----------
    cv_results_ : DataFrame
        One row per candidate, from the simplest to the least simple: its parameters, its mean ``log_loss`` on
        validation rows, the mean ``excess`` of this over the best candidate, and the standard error ``excess_se``.
    best_index_ : int
        The row of the chosen candidate.
    best_params_ : dict
        ``calibrator``, ``n_clusters``, ``shrinkage``, ``temperature``; ``n_clusters`` is 1 where the global calibrator
        was chosen.
    best_estimator_ : ClusteredCalibration
        Fitted to all rows with these parameters. Its attributes ``classes_``, ``calibrator_``, ``global_theta_``,
        ``theta_``, ``clusters_``, ``centroids_``, ``n_iter_`` and its method ``memberships`` can be had from here.

    See Also
    --------
    ClusteredCalibration : the same for parameters that are given.

    Notes
    -----
    **Standard error.** Log-losses differ far more between rows than between candidates. Next to the standard error of a
    candidate's own mean log-loss every difference looks like chance, and the global calibrator would always be
    chosen. What matters is whether a candidate does worse than the best one on the same rows. With :math:`\delta_i`
    the difference of their log-losses on row i and weights :math:`w_i`,

    .. math:: \bar\delta = \frac{\sum_i w_i \delta_i}{\sum_i w_i}, \qquad
        \mathrm{SE} = \frac{\sqrt{\sum_i w_i^2 (\delta_i - \bar\delta)^2}}{\sum_i w_i} .

    Rows, and not folds, are the sample: five folds are too few for an error. Rows are taken as independent, which
    ignores that fits of different folds share training rows.

    **Simplicity.** A candidate is simpler than another if it has fewer clusters; among equals, if its family has fewer
    parameters; then, if its memberships are softer (higher temperature); then, if it shrinks more. So all global
    calibrators come first.

    **Weights.** A weight of 2 counts in every fit and every mean as two rows do. Two differences remain: the two rows
    could be dealt to different folds, and the standard error counts observations, so that it does not change when all
    weights are multiplied by a constant.

    **Cost.** K-means runs once per K on all rows; in each fold it goes on from there with the fold's rows, and is
    then used for all temperatures, shrinkages and families. The fit at one shrinkage starts from the fit at the
    next stronger one.

    References
    ----------
    T. Hastie, R. Tibshirani, J. Friedman, "The elements of statistical learning", 2nd ed., section 7.10, 2009, for the
    rule of one standard error.

    Examples
    --------
    >>> from clustcal import ClusteredCalibrationCV
    >>> from clustcal.datasets import make_subpopulations
    >>> data = make_subpopulations(2000, n_groups=2, random_state=0)
    >>> calibrator = ClusteredCalibrationCV(n_clusters=(2,), random_state=0).fit(data.P, data.y, data.Z)
    >>> calibrator.best_params_["n_clusters"]  # rather than 1, the global calibrator
    2
    >>> calibrator.theta_.shape
    (2, 2)
    """

    needs_representation = True

    def __init__(
        self,
        calibrator: ParametricCalibrator | list[ParametricCalibrator] | None = None,
        n_clusters: Sequence[int] = (2, 4, 8),
        shrinkages: Sequence[float] = (0.25, 0.05, 0.01, 0.002),
        temperatures: Sequence[float] = (1.0, 0.3, 0.1, 0.03),
        membership: Membership = "cosine",
        cv: Splits = 5,
        n_repeats: int | None = None,
        selection: Literal["one_se", "best"] = "one_se",
        include_global: bool = True,
        random_state: AnySeed = None,
        classes: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.calibrator = calibrator
        self.n_clusters = n_clusters
        self.shrinkages = shrinkages
        self.temperatures = temperatures
        self.membership = membership
        self.cv = cv
        self.n_repeats = n_repeats
        self.selection = selection
        self.include_global = include_global
        self.random_state = random_state
        self.classes = classes
        self.from_logits = from_logits

    calibrator_ = property(attrgetter("best_estimator_.calibrator_"))
    global_theta_ = property(attrgetter("best_estimator_.global_theta_"))
    theta_ = property(attrgetter("best_estimator_.theta_"))
    clusters_ = property(attrgetter("best_estimator_.clusters_"))
    centroids_ = property(attrgetter("best_estimator_.centroids_"))
    n_iter_ = property(attrgetter("best_estimator_.n_iter_"))

    def _fit(self, data: CalibrationSet) -> None:
        """Choose the parameters by cross-validation, and fit with them to all rows."""
        seed = as_random_state(self.random_state)
        if not isinstance(seed, Integral):
            # One seed for K-means here and in the final fit, so that what was validated is what is fitted.
            seed = int(sklearn.utils.check_random_state(seed).randint(2**31 - 1))
        candidates = self._candidates(data.n_classes)
        folds = self._repeated_folds(data, seed)
        smallest = min(len(train) for train, _ in folds)
        SoftKMeans(max(self.n_clusters)).check_number_of_rows(smallest, "rows that a fold trains on")
        losses = self._validation_losses(candidates, data, folds, seed)
        results = _compare(candidates, losses, data.weights)
        best = _choose(results, self.selection)
        params = candidates.loc[best].to_dict()
        fitted = ClusteredCalibration(membership=self.membership, random_state=seed, **params)._fit_to(data)
        self.cv_results_, self.best_index_, self.best_params_, self.best_estimator_ = results, best, params, fitted

    def memberships(self, Z: Representation) -> Floats:
        """Return the memberships of every row in the K chosen clusters, shape (n, K); rows sum to 1."""
        check_is_fitted(self)
        return self.best_estimator_.memberships(Z)

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        return self.best_estimator_._calibrate(scores, Z)

    def _candidates(self, n_classes: int) -> pd.DataFrame:
        """Return a frame of parameters, one row per candidate, from the simplest to the least simple."""
        calibrators = self._parametrics(n_classes)
        rows = []
        for n_clusters in sorted({*self.n_clusters, *([1] if self.include_global else [])}):
            for calibrator in sorted(calibrators, key=lambda each: each.family(n_classes).identity.size):
                softness = product(sorted(set(self.temperatures))[::-1], sorted(set(self.shrinkages))[::-1])
                for temperature, shrinkage in list(softness)[: 1 if n_clusters == 1 else None]:
                    rows.append((calibrator, n_clusters, temperature, shrinkage))
        return pd.DataFrame(rows, columns=["calibrator", "n_clusters", "temperature", "shrinkage"])

    def _validation_losses(self, candidates: pd.DataFrame, data: CalibrationSet, folds: Folds, seed: int) -> Floats:
        """Return the mean log-loss of every row when it is held out, shape (candidates, n); NaN where it never is."""
        Z, weights = normalize(data.Z), data.weights
        centroids = {
            n_clusters: SoftKMeans(n_clusters, random_state=seed)._fit(Z, weights).centroids_
            for n_clusters in candidates["n_clusters"].unique()
        }
        losses = np.zeros((len(candidates), len(data)))
        for train, held_out in folds:
            fits = {
                calibrator: _FoldFit(calibrator, data, train, held_out)
                for calibrator in candidates["calibrator"].unique()
            }
            for n_clusters, of_k in candidates.groupby("n_clusters"):
                moved = _centroids_of_fold(centroids[n_clusters], Z[train], weights[train])
                distances = squared_distances(Z, moved, self.membership)
                for (calibrator, temperature), path in of_k.groupby(["calibrator", "temperature"], sort=False):
                    W = soft_memberships(distances, temperature)
                    losses[np.ix_(path.index, held_out)] += fits[calibrator].losses_along(path["shrinkage"], W)
        times = np.bincount(np.concatenate([held_out for _, held_out in folds]), minlength=len(data))
        return losses / np.where(times > 0, times, np.nan)

    def _repeated_folds(self, data: CalibrationSet, seed: int) -> Folds:
        codes, weights = data.codes, data.weights
        if not isinstance(self.cv, Integral):
            return make_folds(self.cv, codes, weights)
        n_repeats = int(np.clip(REPEAT_UP_TO // len(codes), 1, 5)) if self.n_repeats is None else self.n_repeats
        return [fold for r in range(n_repeats) for fold in make_folds(self.cv, codes, weights, seed + r)]

    def _check_parameters(self) -> None:
        self._check_calibrators()
        for name in ("n_clusters", "shrinkages", "temperatures"):
            values = getattr(self, name)
            if np.ndim(values) != 1 or len(values) == 0:
                raise ValueError(f"{name} is {shown(values)}; expected a sequence of at least one number.")
            for value in values:
                check_at_least_0(name, value)
        for n_clusters in self.n_clusters:
            check_whole_number("n_clusters", n_clusters)
        check_one_of("membership", self.membership, SQUARED_DISTANCES)
        if self.n_repeats is not None:
            check_whole_number("n_repeats", self.n_repeats)
        check_one_of("selection", self.selection, SELECTIONS)
        check_true_or_false("include_global", self.include_global)
        check_random_state(self.random_state)

    def _check_number_of_rows(self, n: int, which: str = "rows") -> None:
        if not isinstance(self.cv, Integral):
            return  # how many rows each part has, only the splitter knows
        check_number_of_folds(self.cv, n)
        n_folds = int(self.cv)
        largest_part = -(-n // n_folds)
        SoftKMeans(max(self.n_clusters)).check_number_of_rows(
            n - largest_part, f"{which} that {n_folds - 1} folds hold"
        )

    def _given(self) -> list[ParametricCalibrator]:
        given = self.calibrator if isinstance(self.calibrator, (list, tuple)) else [self.calibrator]
        if not given:
            raise ValueError("calibrator is an empty list; expected at least one calibrator.")
        return [self.default() if calibrator is None else calibrator for calibrator in given]


class _FoldFit:
    """One family on one fold: what all its candidates share there."""

    def __init__(
        self, calibrator: ParametricCalibrator, data: CalibrationSet, train: Integers, held_out: Integers
    ) -> None:
        self.family = family = calibrator.family(data.n_classes)
        self.train, self.held_out = train, held_out
        X = data.scores.features(family)
        self.X, self.codes, self.weights = X[train], data.codes[train], data.weights[train, None]
        self.X_held_out, self.codes_held_out = X[held_out], data.codes[held_out]
        found, self.penalty = calibrator._find(family, self.X, data.take(train))
        self.global_theta = found.theta[0]

    def losses_along(self, shrinkages: Iterable[float], W: Floats) -> Floats:
        """Return the log-loss of the held-out rows for each shrinkage, from strong to weak, given all memberships W."""
        theta = None
        losses = []
        for shrinkage in shrinkages:
            theta = solvers.fit(
                self.family,
                self.X,
                self.codes,
                W[self.train] * self.weights,
                prior=self.global_theta,
                shrinkage=shrinkage,
                penalty=self.penalty,
                divided=True,
                start=theta,
                tol=TOLERANCE,
            ).theta
            Q = mixture(self.family, theta, self.X_held_out, W[self.held_out])
            q = Q[np.arange(len(Q)), self.codes_held_out]
            losses.append(-np.log(np.maximum(q, EPS)))
        return np.array(losses)


def _centroids_of_fold(centroids: Floats, Z: Matrix, weights: Floats) -> Floats:
    """Return the centroids to which K-means moves from those of all rows, on the rows of a fold."""
    iterations = {"max_iter": REFINEMENTS} if Z.shape[0] > MANY_ROWS else {}
    kmeans = KMeans(len(centroids), init=centroids, n_init=1, **iterations)
    with warnings.catch_warnings():
        # Where all rows have fewer directions than clusters, that was said of all rows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(Z, sample_weight=weights).cluster_centers_


def _compare(candidates: pd.DataFrame, losses: Floats, weights: Floats) -> pd.DataFrame:
    """Return the candidates with their mean losses, and how far and how surely each is behind the best."""
    counted = np.isfinite(losses[0])
    losses, weights = losses[:, counted], weights[counted]
    share = weights / weights.sum()
    mean = losses @ share
    behind = losses - losses[mean.argmin()]
    excess = behind @ share
    behind -= excess[:, None]
    standard_error = np.sqrt(behind**2 @ share**2)
    return candidates.assign(log_loss=mean, excess=excess, excess_se=standard_error)


def _choose(results: pd.DataFrame, selection: str) -> int:
    """Return the row to choose; candidates stand from simple to less simple, so the first that qualifies is it."""
    tolerance = results["excess_se"] if selection == "one_se" else 0.0
    # What is worse than a simpler candidate is never chosen, however noisy its excess.
    qualifies = (results["excess"] <= tolerance) & (results["excess"] <= results["excess"].cummin())
    return int(qualifies.to_numpy().argmax())
