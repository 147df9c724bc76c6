"""Parameters of a family by minimum weighted NLL: batched Newton, or a trust region where there are many.

Builds on `families`. One call fits all K columns of W; a global fit is the case of one column.
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

# Half the squared Newton decrement estimates the loss still to be gained. Convergence is quadratic: the step taken
# at this gain leaves an error far below what float64 resolves in the loss.
GAIN_TOLERANCE = 1e-12
MAX_ITER = 200
# A mean NLL this small means that the scores separate the classes, and that no finite optimum exists.
SEPARATED = 1e-8
# Above this many rows Newton starts from the optimum of a subsample, so that few passes over all rows are needed.
SUBSAMPLE = 20_000
TRUST_REGION = {"gtol": 1e-6, "maxiter": 500, "initial_trust_radius": 10.0, "max_trust_radius": 1e4}


@dataclass
class Fit:
    """Parameters ``theta`` (K, p), their mean loss (K,), and the number of iterations."""

    theta: np.ndarray
    loss: np.ndarray
    n_iter: int


def fit(family, X, codes, W, *, prior=None, shrinkage=0.0, start=None, tol=GAIN_TOLERANCE):
    """Minimise, for every cluster, the mean weighted NLL plus shrinkage * |theta_k - prior|^2.

    This is Eq. (CCL-Loss) of the paper divided by the cluster's weight; its reading as a sum is the same call with
    ``shrinkage`` divided by that weight.

    Parameters
    ----------
    family : BinaryFamily or SoftmaxFamily
    X : ndarray of shape (n, ...)
        ``family.features(P)``.
    codes : ndarray of shape (n,), int
        The column of P that happened.
    W : ndarray of shape (n, K)
        Weights of the rows in every cluster. A cluster without weight keeps the prior.
    prior : ndarray of shape (p,), optional
        What to shrink to; the identity if left out.
    shrinkage : float or ndarray of shape (K,), default=0.0
    start : ndarray of shape (K, p), optional
        Where to start, if the optimum is nearly known; the prior if left out.
    tol : float, default=1e-12
        Newton's last step starts where less than this is still to be gained in the loss; larger values serve to
        compare fits that are not kept.

    Returns
    -------
    Fit
    """
    prior = family.identity if prior is None else prior
    is_near = start is not None
    start = start if is_near else np.tile(prior, (W.shape[1], 1))
    if not family.has_hessian:
        return _trust_region(family, X, codes, W, prior, shrinkage, start)
    step = len(X) // SUBSAMPLE
    if step > 1 and not is_near:
        some = slice(None, None, step)
        rough = _newton(family, _objective(family, X[some], codes[some], W[some], prior, shrinkage), start, tol)
        start = np.where((rough.loss > SEPARATED)[:, None], rough.theta, start)
    found = _newton(family, _objective(family, X, codes, W, prior, shrinkage), start, tol)
    _warn_of_infinite_optimum(family, found, W)
    return found


def _objective(family, X, codes, W, prior, shrinkage):
    """Return theta -> (loss, gradient, hessian) of the mean NLL with shrinkage, for all clusters."""
    mass = W.sum(axis=0)
    scale = 1 / np.where(mass > 0, mass, 1.0)
    shrinkage = np.broadcast_to(shrinkage, mass.shape)

    def evaluate(theta):
        loss, gradient, hessian = family.nll(theta, X, codes, W)
        away = theta - prior
        loss = loss * scale + shrinkage * (away**2).sum(axis=1)
        gradient = gradient * scale[:, None] + 2 * shrinkage[:, None] * away
        if hessian is not None:
            hessian = hessian * scale[:, None, None] + 2 * shrinkage[:, None, None] * np.eye(prior.size)
        return loss, gradient, hessian

    return evaluate


def _newton(family, evaluate, start, tol):
    """Projected Newton with step halving, for all clusters at once."""
    lower, upper = family.lower, family.upper
    theta = np.clip(start, lower, upper)
    loss, gradient, hessian = evaluate(theta)
    if (loss > 1).any():
        # Worse than a coin: saturated scores may leave no slope to follow from here, but one score for all has it.
        flat = np.clip(np.zeros_like(theta), lower, upper)
        theta = np.where((evaluate(flat)[0] < loss)[:, None], flat, theta)
        loss, gradient, hessian = evaluate(theta)
    for iteration in range(1, MAX_ITER + 1):
        step, gain = _newton_step(theta, gradient, hessian, lower, upper)
        if (gain < tol).all() or (loss < SEPARATED).all():
            return Fit(np.clip(theta + step, lower, upper), loss, iteration)
        length = np.ones((len(theta), 1))
        while True:
            trial = np.clip(theta + length * step, lower, upper)
            values = evaluate(trial)
            promised = np.maximum((gradient * (theta - trial)).sum(axis=1), 0.0)
            # Armijo's rule, with an allowance for rounding in the loss.
            worse = ~(values[0] <= loss - 1e-4 * promised + 1e-14 * (1 + np.abs(loss)))
            if not worse.any():
                break
            length[worse] = np.where(length[worse] > 1e-40, length[worse] / 2, 0.0)
        theta, (loss, gradient, hessian) = trial, values
    warnings.warn(f"Newton's method stopped after {MAX_ITER} iterations.", ConvergenceWarning, stacklevel=4)
    return Fit(theta, loss, MAX_ITER)


def _newton_step(theta, gradient, hessian, lower, upper):
    """The Newton step (K, p) over the parameters that no bound holds, and the loss it should gain (K,)."""
    held = ((theta <= lower) & (gradient > 0)) | ((theta >= upper) & (gradient < 0))
    gradient = np.where(held, 0.0, gradient)
    hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, hessian)
    # The pseudo-inverse leaves alone what the data do not determine (constant scores, an absent class).
    step = -(np.linalg.pinv(hessian, rcond=1e-13, hermitian=True) @ gradient[:, :, None])[:, :, 0]
    return step, -(gradient * step).sum(axis=1) / 2


def _trust_region(family, X, codes, W, prior, shrinkage, start):
    """Trust-region Newton with conjugate gradients, one cluster after the other, each from its row of ``start``.

    It needs products with the Hessian only, which cost two passes over the rows. L-BFGS takes three times as long
    here: log-probabilities of many classes make the problem too ill-conditioned for it.
    """
    shrinkage = np.broadcast_to(shrinkage, W.shape[1])
    found = [
        minimize(
            **_one_cluster(family, X, codes, W[:, [k]], prior, shrinkage[k]),
            x0=theta,
            jac=True,
            method="trust-ncg",
            options=TRUST_REGION,
        )
        for k, theta in enumerate(start)
    ]
    for one in found:
        if not one.success:
            warnings.warn(f"The trust-region method stopped early: {one.message}", ConvergenceWarning, stacklevel=4)
    return Fit(
        theta=np.array([one.x for one in found]),
        loss=np.array([one.fun for one in found]),
        n_iter=max(one.nit for one in found),
    )


def _one_cluster(family, X, codes, w, prior, shrinkage):
    """Loss with gradient, and products with the Hessian, for the parameters (p,) of one cluster."""
    evaluate = _objective(family, X, codes, w, prior, shrinkage)
    scale = 1 / max(w.sum(), np.finfo(float).tiny)

    def loss_and_gradient(theta):
        loss, gradient, _ = evaluate(theta[None])
        return loss[0], gradient[0]

    @lru_cache(maxsize=1)  # many products are asked for at the same parameters
    def product_at(theta_bytes):
        return family.hessian_product(np.frombuffer(theta_bytes), X, w[:, 0])

    def hessian_product(theta, v):
        return scale * product_at(theta.tobytes())(v) + 2 * shrinkage * v

    return {"fun": loss_and_gradient, "hessp": hessian_product}


def _warn_of_infinite_optimum(family, found, W):
    fitted = W.any(axis=0)
    at_bound = (found.theta[fitted] >= family.upper).any()
    if at_bound or (found.loss[fitted] < SEPARATED).any():
        warnings.warn(
            "The scores separate the classes, so the best parameters are infinite; finite ones are used.",
            ConvergenceWarning,
            stacklevel=4,
        )
