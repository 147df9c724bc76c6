"""Parameters of a family by minimum weighted NLL: batched Newton, or L-BFGS where there are many.

Builds on `families`. One call fits all K columns of W; a global fit is the case of one column.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from clustcal.core.array_types import Booleans, Floats
from clustcal.core.user_warnings import warn_user

# Newton's step s gains g = s'Hs / 2 in the quadratic model, half the squared Newton decrement; it estimates what the
# loss can still fall. Near the optimum the error of the next iterate is of the order of the square of this one's, and
# so is its step: g_next ~ c g^2. A step at a gain below this tolerance leaves an error far below what float64 resolves.
GAIN_TOLERANCE = 1e-12
# The constant c is learned from the last full step, g = c g'^2; what the step at hand leaves is then c g^2, which is
# g^3 / g'^2. Where that is below this share of the tolerance, the step is the last one, and the evaluation that would
# only confirm it is saved; predictions are then within 1e-8 of those of the optimum.
FORESEEN = 1e-5
MAX_ITER = 200
# Newton's equations of more parameters than this are solved by Cholesky's method if no pivot is smaller than this share
# of the largest curvature, else by a pseudo-inverse that takes directions of less than the last share for flat.
MANY_PARAMETERS = 50
SAFE_PIVOT = 1e-9
RCOND = 1e-13
# A mean NLL this small means that the scores separate the classes, and that no finite optimum exists.
SEPARATED = 1e-8
# Above this many numbers in X Newton starts from the optimum of every tenth row, so that few passes over all are
# needed; but only if that part has enough rows, at all and for each parameter.
MANY_NUMBERS = 10_000
PART = 10
ROWS_OF_PART = 500
ROWS_PER_PARAMETER = 50
# The most that a prior weighs against the mean loss of a row.
MOST_PRIOR = 1e6
# In whitened coordinates half the squared gradient estimates the loss still to be gained.
QUASI_NEWTON = {"gtol": 1e-7, "ftol": 0.0, "maxiter": 2000, "maxfun": 4000}
STEEP = 1e-5


@dataclass
class Fit:
    """Parameters ``theta`` (K, p), their mean loss (K,), and the number of iterations.

    ``is_finite`` (K,) is False for clusters whose best parameters are infinite, so that finite ones stand in;
    ``failure`` says why the solver stopped early, if it did, or what else to warn of.
    """

    theta: Floats
    loss: Floats
    n_iter: int
    is_finite: Booleans | None = None
    failure: str | None = None

    def warn(self):
        """Tell the user, from within a `fit`, what is not as it should be; fits that are not kept stay silent."""
        infinite = "The scores separate the classes, so the best parameters are infinite; finite ones are used."
        for message in (self.failure, None if self.is_finite.all() else infinite):
            if message:
                warn_user(message, ConvergenceWarning)
        return self


def fit(family, X, codes, W, *, prior=None, shrinkage=0.0, penalty=None, divided=False, start=None, tol=GAIN_TOLERANCE):
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
    penalty : Prior, optional
        What is added to the summed NLL of every cluster, and so fades as its weight grows.
    divided : bool, default=False
        Whether clusters share one penalty in proportion to their weights, so that many equal clusters have what one
        has, instead of each having all of it.
    start : ndarray of shape (K, p), optional
        Where to start, if the optimum is nearly known. Left out: the prior, or what cheaper fits find if there is none.
    tol : float, default=1e-12
        Newton's last step starts where less than this is still to be gained in the loss; larger values serve to
        compare fits that are not kept.

    Returns
    -------
    Fit
    """
    is_blind = start is None and prior is None
    prior = family.identity if prior is None else prior
    start = np.tile(prior, (W.shape[1], 1)) if start is None else start
    smaller = family.tempered(X) if is_blind else None
    if smaller is not None:
        start = start * _inverse_temperatures(*smaller, codes, W)
    if is_blind and family.has_hessian:
        start = _optimum_of_a_part(family, X, codes, W, prior, shrinkage, start)
    # Weights may be of any size: a prior that outweighs them all is as good as one that outweighs them a million times.
    mass = np.maximum(_mass(W), 1 / MOST_PRIOR)
    share = 1 / np.broadcast_to(np.maximum(W.sum(), 1 / MOST_PRIOR), mass.shape) if divided else 1 / mass
    if family.has_hessian:
        found = _newton(family, _objective(family, X, codes, W, prior, shrinkage, penalty, share), start, tol)
    else:
        found = _quasi_newton(family, X, codes, W, prior, shrinkage, penalty, share, start)
    found.is_finite = (_mass(W) == 0) | ((found.loss >= SEPARATED) & (found.theta < family.upper).all(axis=1))
    return found


def _inverse_temperatures(temperature, U, codes, W):
    """Return the roughly best 1 / T of every cluster, shape (K, 1): the identity times it is a good and cheap start."""
    start = np.ones((W.shape[1], 1))
    start = _optimum_of_a_part(temperature, U, codes, W, temperature.identity, 0.0, start)
    evaluate = _objective(temperature, U, codes, W, temperature.identity, 0.0)
    return _newton(temperature, evaluate, start, 0.1 / len(U)).theta


def _optimum_of_a_part(family, X, codes, W, prior, shrinkage, start):
    """Return the optimum of every tenth row, itself found from that of every hundredth, and so on down to ``start``."""
    if X.size < MANY_NUMBERS or len(X) < PART * max(ROWS_OF_PART, ROWS_PER_PARAMETER * start.shape[1]):
        return start
    part = X[::PART], codes[::PART], W[::PART]
    start = _optimum_of_a_part(family, *part, prior, shrinkage, start)
    # The part's own error is of the size of its inverse number of rows; there is no use in a better optimum.
    found = _newton(family, _objective(family, *part, prior, shrinkage), start, 0.1 / len(part[0]))
    return np.where((found.loss > SEPARATED)[:, None], found.theta, start)


def _objective(family, X, codes, W, prior, shrinkage, penalty=None, share=None):
    """Return theta -> (loss, gradient, hessian) of the mean NLL with shrinkage, for all clusters."""
    mass = _mass(W)
    scale = 1 / np.where(mass > 0, mass, 1.0)
    shrinkage = np.broadcast_to(shrinkage, mass.shape)

    def evaluate(theta):
        loss, gradient, hessian = family.nll(theta, X, codes, W)
        away = theta - prior
        loss = loss * scale + shrinkage * (away**2).sum(axis=1)
        gradient = gradient * scale[:, None] + 2 * shrinkage[:, None] * away
        if hessian is not None:
            hessian = hessian * scale[:, None, None] + 2 * shrinkage[:, None, None] * np.eye(prior.size)
        if penalty is not None:
            more = penalty.cost(theta)
            loss += more[0] * share
            gradient += more[1] * share[:, None]
            if hessian is not None:
                hessian += more[2] * share[:, None, None]
        return loss, gradient, hessian

    return evaluate


def _mass(W):
    """The weight of every cluster; a product, which is many times faster here than W.sum(axis=0)."""
    return np.ones(len(W)) @ W


def _newton(family, evaluate, start, tol):
    """Projected Newton with step halving, for all clusters at once."""
    lower, upper = family.lower, family.upper
    theta = np.clip(start, lower, upper)
    loss, gradient, hessian = evaluate(theta)
    if (loss > max(1.0, np.log(family.n_classes))).any():
        # Worse than chance: saturated scores may leave no slope to follow from here, but one score for all has it.
        flat = np.clip(np.zeros_like(theta), lower, upper)
        values = evaluate(flat)
        better = values[0] < loss
        theta[better] = flat[better]
        for old, new in zip((loss, gradient, hessian), values, strict=True):
            old[better] = new[better]
    previous = np.zeros(len(theta))
    for iteration in range(1, MAX_ITER + 1):
        step, gain = _newton_step(family, theta, gradient, hessian)
        is_last = (gain < tol) | (gain**3 < FORESEEN * tol * previous**2)
        if is_last.all() or (loss < SEPARATED).all():
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
        previous = np.where(length[:, 0] == 1, gain, 0.0)  # a shortened step foretells nothing
    return Fit(theta, loss, MAX_ITER, failure=f"Newton's method stopped after {MAX_ITER} iterations.")


def _newton_step(family, theta, gradient, hessian):
    """The Newton step (K, p) over the parameters that no bound holds, and the loss it should gain (K,)."""
    held = ((theta <= family.lower) & (gradient > 0)) | ((theta >= family.upper) & (gradient < 0))
    gradient = np.where(held, 0.0, gradient)
    if theta.shape[1] < MANY_PARAMETERS:
        hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, hessian)
        # Without what rounding would give to a held parameter, which would then leave its bound.
        step = np.where(held, 0.0, -_pseudo_solved(hessian, gradient))
    else:  # families with so many have no bounds
        step = -np.array([_solved(h, g, family.neutral) for h, g in zip(hessian, gradient, strict=True)])
    return step, -(gradient * step).sum(axis=1) / 2


def _pseudo_solved(hessian, gradient):
    """H^+ g of every cluster: the pseudo-inverse leaves alone what the data do not determine (constant scores, say)."""
    return (np.linalg.pinv(hessian, rcond=RCOND, hermitian=True) @ gradient[..., None])[..., 0]


def _solved(hessian, gradient, neutral):
    """H^+ g of one cluster by Cholesky's method, which is much faster for many parameters, where that is safe."""
    largest = hessian.diagonal().max()
    # The gradient has no part in a neutral direction, so that curvature there changes nothing but the condition.
    if neutral is not None and neutral @ hessian @ neutral < SAFE_PIVOT * largest:
        hessian = hessian + largest * np.outer(neutral, neutral)
    try:
        factor = cho_factor(hessian)
    except LinAlgError:
        return _pseudo_solved(hessian, gradient)
    is_safe = factor[0].diagonal().min() ** 2 > SAFE_PIVOT * largest
    return cho_solve(factor, gradient) if is_safe else _pseudo_solved(hessian, gradient)


def _quasi_newton(family, X, codes, W, prior, shrinkage, penalty, share, start):
    """L-BFGS, one cluster after the other, in coordinates in which the curvature at the start is about 1 everywhere.

    Log-probabilities of many classes make the problem very ill-conditioned in the parameters themselves: in directions
    in which all rows agree the curvature is thousands of times that of others, and L-BFGS would zigzag between them.
    The whitener T is symmetric with T H T near the identity, H being the Hessian at the start. With theta = start + T v
    the gradient in v is T times that in theta, and its squared length is about twice the loss still to be gained.
    """
    found, failure = [], None
    for k, ridge in enumerate(2 * np.broadcast_to(shrinkage, W.shape[1])):
        evaluate = _objective(family, X, codes, W[:, [k]], prior, ridge / 2, penalty, share[[k]])
        whiten = family.whitener(start[k], X, W[:, k], ridge)
        if penalty is not None:
            whiten = _diagonal_whitener(family, start[k], X, W[:, k], ridge + penalty.precision * share[k])

        def loss_and_gradient(moved, evaluate=evaluate, whiten=whiten, start=start[k]):
            loss, gradient, _ = evaluate((start + whiten(moved))[None])
            return loss[0], whiten(gradient[0])

        one = minimize(loss_and_gradient, np.zeros(prior.size), jac=True, method="L-BFGS-B", options=QUASI_NEWTON)
        if not one.success and np.abs(one.jac).max() > STEEP:
            failure = f"L-BFGS stopped early: {one.message}"
        found.append(Fit(start[k] + whiten(one.x), one.fun, one.nit))
    return Fit(
        theta=np.array([one.theta for one in found]),
        loss=np.array([one.loss for one in found]),
        n_iter=max(one.n_iter for one in found),
        failure=failure,
    )


def _diagonal_whitener(family, theta, X, w, ridge):
    """Return the same from the diagonal of the Hessian, where strengths of a prior differ by orders of magnitude."""
    total = w.sum() if w.any() else 1.0
    curvature = family.curvature(theta, X, w) / total + ridge
    scale = 1 / np.sqrt(np.maximum(curvature, np.finfo(float).tiny))
    return lambda v: v * scale
