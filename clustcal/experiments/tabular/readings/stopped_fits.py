"""Clustered calibration whose fits stop after a few iterations of L-BFGS, as a general-purpose optimiser may.

The paper does not say how it minimises. A fit that starts from zeros and ends early is shrunk by that alone, so what
the shrinkage adds depends on when it ends.
"""

import numpy as np
from scipy.optimize import minimize

from clustcal.calibrators.clustered import mixture


def stopped_forecast(calibrator, cal, test, iterations):
    """Fit a clustered calibrator with fits that stop, and apply it to the test part.

    Parameters
    ----------
    calibrator : ClusteredCalibration
        Fitted to the calibration part: its clusters and family are used, not its parameters or its prior.
    cal, test : Part
        See :class:`clustcal.experiments.tabular.units.Part`.
    iterations : int
        Of L-BFGS, from zeros: for the global fit, and for the fit of each cluster.

    Returns
    -------
    Q : ndarray of shape (n, 2)
    """
    family = calibrator.calibrator_.family(2)
    X, X_test = (family.features(np.column_stack([1 - part.P, part.P])) for part in (cal, test))
    W = calibrator.memberships(cal.Z)
    theta_0 = stopped_fit(family, X, cal.y, np.ones(len(cal.y)), 0.0, 0.0, "mean", iterations)
    theta = [stopped_fit(family, X, cal.y, w, theta_0, calibrator.shrinkage, calibrator.loss, iterations) for w in W.T]
    return mixture(family, theta, X_test, calibrator.memberships(test.Z))


def stopped_fit(family, X, y, w, prior, shrinkage, loss, iterations):
    """Minimise the weighted NLL plus shrinkage * |theta - prior|^2 from zeros, for so many iterations at most."""
    scale = 1 / w.sum() if loss == "mean" else 1.0

    def objective(theta):
        nll, gradient, _ = family.nll(theta[None], X, y, w[:, None])
        away = theta - prior
        return scale * nll[0] + shrinkage * away @ away, scale * gradient[0] + 2 * shrinkage * away

    bounds = list(zip(family.lower, family.upper, strict=True))
    start = np.clip(np.zeros_like(family.identity), family.lower, family.upper)
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations}).x
