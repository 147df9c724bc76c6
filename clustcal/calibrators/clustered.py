"""Clustered calibration (Algorithm 1 of the paper): soft clusters of a representation, one calibrator for each.

Builds on `parametric` for the global fit and on `solvers` for the cluster fits, which are the same problem with other
weights and with shrinkage towards the global parameters.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from clustcal.calibrators.base import CalibrationSet
from clustcal.calibrators.containing import Containing
from clustcal.calibrators.parametric import ParametricCalibrator
from clustcal.calibrators.soft_kmeans import SoftKMeans
from clustcal.core import solvers
from clustcal.core.array_types import AnySeed, Floats, Matrix, Membership, Representation
from clustcal.core.parameters import check_at_least_0, check_one_of
from clustcal.core.probabilities import Scores

__all__ = ["ClusteredCalibration"]

LOSSES = ("mean", "sum")


def mixture(family: Any, theta: Floats, X: Floats, W: Floats) -> Floats:
    """Return sum_k w_k c_k for cluster parameters theta (K, p), features X and memberships W (n, K): shape (n, L)."""
    Q: Floats = sum(w[:, None] * family.predict(theta_k, X) for w, theta_k in zip(W.T, theta, strict=True))
    return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove


class ClusteredCalibration(Containing):
    r"""Clustered calibration: a soft mixture of calibrators, one per cluster, shrunk towards a global one.

    Algorithm 1 of the paper. K-means clusters the representation, memberships :math:`w_k` are soft, and in every
    cluster the parameters minimise Eq. (CCL-Loss),

    .. math:: \mathcal{L}_k(\theta_k) = \sum_i w_k(x_i) \, \ell(c_{\theta_k}(\hat p_i), y_i)
        + \lambda \lVert \theta_k - \theta_0 \rVert_2^2 .

    The calibrated probability is :math:`\sum_k w_k(x) \, c_{\theta_k}(\hat p(x))`.

    Parameters
    ----------
    calibrator : PlattScaling, TemperatureScaling, VectorScaling or any other parametric calibrator
        The family, unfitted. Left out: `PlattScaling` for two classes, `TemperatureScaling` for more.
    n_clusters : int, default=4
        K.
    shrinkage : float, default=0.05
        :math:`\lambda`. 0 fits the clusters independently; as it grows all become the global calibrator. The prior of
        the calibrator, if it has one, is shared by the clusters in proportion to their weights, so that equal clusters
        are the global fit; the paper's clusters have none, which is ``PlattScaling(prior=None)`` and so on.
    membership : {"cosine", "chord"}, default="cosine"
        See `SoftKMeans`.
    temperature : float, default=1.0
        Of the memberships, see `SoftKMeans`. The paper's value is 1; smaller values usually gain more.
    loss : {"mean", "sum"}, default="mean"
        Whether the NLL in :math:`\mathcal{L}_k` is a mean over the cluster (its weights scaled to sum to 1) or the
        sum that the paper prints. With the sum :math:`\lambda = 0.05` has almost no effect on thousands of rows, which
        contradicts the paper's ablation.
    random_state : int, RandomState instance, Generator or None, default=None
        For K-means.
    normalize : bool, default=True
        Whether directions are clustered, as in Algorithm 1, or the representation as it is; see `SoftKMeans`.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default those of ``calibrator``, or else the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    calibrator_ : calibrator
        The global fit.
    global_theta_ : ndarray of shape (p,)
        Its parameters :math:`\theta_0`.
    theta_ : ndarray of shape (K, p)
        The parameters of every cluster.
    clusters_ : SoftKMeans
        The fitted clustering.
    centroids_ : ndarray of shape (K, m)
    n_iter_ : int
        Iterations of the solver for the cluster fits.

    Examples
    --------
    >>> from clustcal import ClusteredCalibration, PlattScaling, metrics
    >>> from clustcal.datasets import make_subpopulations
    >>> data = make_subpopulations(4000, random_state=0)
    >>> calibrator = ClusteredCalibration(PlattScaling(), temperature=0.1, random_state=0)
    >>> Q = calibrator.fit(data.P, data.y, data.Z).predict_proba(data.P, data.Z)
    >>> metrics.log_loss(data.y, Q) < metrics.log_loss(data.y, PlattScaling().fit(data.P, data.y).predict_proba(data.P))
    True
    """

    needs_representation = True

    def __init__(
        self,
        calibrator: ParametricCalibrator | None = None,
        n_clusters: int = 4,
        shrinkage: float = 0.05,
        membership: Membership = "cosine",
        temperature: float = 1.0,
        loss: Literal["mean", "sum"] = "mean",
        random_state: AnySeed = None,
        normalize: bool = True,
        classes: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.calibrator = calibrator
        self.n_clusters = n_clusters
        self.shrinkage = shrinkage
        self.membership = membership
        self.temperature = temperature
        self.loss = loss
        self.random_state = random_state
        self.normalize = normalize
        self.classes = classes
        self.from_logits = from_logits

    def _fit(self, data: CalibrationSet) -> None:
        """Fit the global calibrator, the clusters, and a calibrator in each of them."""
        self._check_number_of_rows(len(data))
        calibrator = self._parametric(data.n_classes)._fit_to(data)
        clusters = self._clusters()._fit(data.Z, data.weights)
        found = self._fit_clusters(data, calibrator, clusters._memberships(data.Z) * data.weights[:, None])
        self.calibrator_, self.clusters_ = calibrator, clusters
        self.theta_, self.n_iter_ = found.theta, found.n_iter

    def _clusters(self) -> SoftKMeans:
        return SoftKMeans(
            self.n_clusters,
            self.membership,
            self.temperature,
            random_state=self.random_state,
            normalize=self.normalize,
        )

    def memberships(self, Z: Representation) -> Floats:
        """Return the memberships of every row in the K clusters, shape (n, K); rows sum to 1."""
        check_is_fitted(self)
        return self.clusters_.transform(Z)

    @property
    def centroids_(self) -> Floats:
        return self.clusters_.centroids_

    @property
    def global_theta_(self) -> Floats:
        return self.calibrator_.theta_

    def _fit_clusters(self, data: CalibrationSet, calibrator: ParametricCalibrator, W: Floats) -> solvers.Fit:
        """Fit a calibrator in every cluster, shrunk towards the global one."""
        family = calibrator.family(data.n_classes)
        shrinkage = self.shrinkage
        if self.loss == "sum":
            # Both terms over the cluster's weight: the same optimum as the sum, for the solver of the mean.
            shrinkage = shrinkage / np.maximum(W.sum(axis=0), np.finfo(float).tiny)
        X = data.scores.features(family)
        return solvers.fit(
            family,
            X,
            data.codes,
            W,
            prior=calibrator.theta_,
            shrinkage=shrinkage,
            penalty=calibrator._penalty,
            divided=True,
        ).warn()

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        family = self.calibrator_.family(len(self.classes_))
        return mixture(family, self.theta_, scores.features(family), self.clusters_._memberships(Z))

    def _check_parameters(self) -> None:
        self._check_calibrators()
        self._clusters().check_parameters()
        check_at_least_0("shrinkage", self.shrinkage)
        check_one_of("loss", self.loss, LOSSES)

    def _check_number_of_rows(self, n: int, which: str = "rows") -> None:
        self._clusters().check_number_of_rows(n, which)
