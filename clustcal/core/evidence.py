"""Many parameters under a prior whose strengths the data choose: the fit behind calibrators of many classes.

The logits start from those of temperature scaling, and blocks of parameters move them: one number per class times a
feature of that class, or a matrix times features of all classes. Every block has a Gaussian prior around 0, so that
without evidence temperature scaling is left. Builds on scipy alone.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from clustcal.core import priors, solvers
from clustcal.core.families import TemperatureFamily, below_top, say_if_flattest
from clustcal.core.user_warnings import warn_user

# Updates of the strengths, whose logarithms each moves a little further than MacKay's, as they go on in that direction.
# They need the optimum only roughly where rows and classes are many, and half the digits.
UPDATES, OVERSHOOT = 2, 1.5
MANY_NUMBERS = 2_000
# Of the strengths of intercepts and slopes, with L classes: what is expected of the first is the larger of two numbers,
# the second times L; of the others this times a root of L; and how many parameters that knowledge is worth.
INTERCEPTS, SLOPES, WORTH = (20.0, 0.2), 30.0, 3.0
# Of a matrix on log-probabilities: this times L cubed. It is left out where its largest curvature is below a share of
# that, as it could not move anything.
MATRIX, NEGLIGIBLE = 0.8, 0.05
NEVER = 1e12  # times the weight of all rows: the strength of what a block of slopes has already
ROUGH, EXACT = {"gtol": 3e-4, "ftol": 1e-6}, {"gtol": 1e-9, "ftol": 1e-15}
GOOD = {"gtol": 1e-5, "ftol": 1e-9}
LIMITS = {"maxiter": 500, "maxfun": 1000}


@dataclass(frozen=True)
class Slopes:
    """One parameter per class, times a feature of that class: ``features`` (n, L), ``strength`` the precision."""

    features: np.ndarray
    strength: float
    worth: float
    one_by_one = False

    def of_class(self, label):
        """Return the features that the parameters of one class multiply, shape (n, 1)."""
        return self.features[:, [label]]

    def shape(self, n_classes):
        return (n_classes,)

    def logits(self, theta):
        return theta * self.features

    def adjoint(self, residuals):
        return np.einsum("nl,nl->l", residuals, self.features)

    def curvature(self, C):
        return np.einsum("nl,nl->l", C, self.features**2)


class Intercepts(Slopes):
    """One parameter per class, times 1, which is never multiplied."""

    def logits(self, theta):
        return theta

    def adjoint(self, residuals):
        return np.ones(len(residuals)) @ residuals

    def curvature(self, C):
        return np.ones(len(C)) @ C


@dataclass(frozen=True)
class Mixing:
    """A matrix of parameters, times features of all classes: ``features`` (n, m), ``strength`` (L, m).

    ``one_by_one`` says that the features hardly overlap, so that the data determine each parameter on its own.
    """

    features: np.ndarray | sparse.csr_matrix
    strength: np.ndarray
    worth: float
    one_by_one: bool = False

    def of_class(self, label):
        """Return the features that the parameters of one class multiply, shape (n, m)."""
        return self.features

    def shape(self, n_classes):
        return (n_classes, self.features.shape[1])

    def logits(self, theta):
        return self.features @ theta.T

    def adjoint(self, residuals):
        # Sparse features must stand on the left.
        return (self.features.T @ residuals).T

    def curvature(self, C):
        squared = self.features.power(2) if sparse.issparse(self.features) else self.features**2
        return (squared.T @ C).T


@dataclass
class Found:
    """Parameters ``thetas`` of blocks, ``factors`` of their strengths, ``n_iter``, and ``failure``, what to warn of."""

    thetas: list
    factors: np.ndarray
    n_iter: int
    failure: str | None = None

    def warn(self):
        """Tell the user, from within a `fit`, that the optimum is not reached, or lies at a bound."""
        if self.failure:
            warn_user(self.failure, ConvergenceWarning)


def fit(base, blocks, codes, weights):
    r"""Return the most probable parameters of every block, and the factors of their strengths.

    Minimises the weighted NLL of softmax(base + logits of the blocks) plus half of strength times theta squared. The
    strengths of a block are those it was given, times a factor s, the one that the data make most probable: with
    Laplace's approximation of the evidence and a Gamma hyperprior around 1, MacKay's update is

    .. math:: s = \frac{\gamma + a}{\sum_j \tau_j \theta_j^2 + a}, \qquad
        \gamma = \sum_j (1 - s \tau_j \Sigma_{jj}),

    where :math:`\gamma` counts the parameters that the data determine, :math:`\Sigma` is the inverse of the Hessian,
    taken class by class, and a, the ``worth`` of a block, is how many parameters the strengths are worth that it was
    given.

    Parameters
    ----------
    base : ndarray of shape (n, L)
    blocks : list of Slopes and Mixing
    codes : ndarray of shape (n,)
    weights : ndarray of shape (n,)

    Returns
    -------
    Found

    References
    ----------
    D. MacKay, "Bayesian interpolation", Neural Computation, 1992.
    """
    n_classes, is_large = base.shape[1], base.size > MANY_NUMBERS
    given = [np.broadcast_to(block.strength, block.shape(n_classes)) for block in blocks]
    factors = np.ones(len(blocks))
    thetas = [np.zeros(tau.shape) for tau in given]
    n_iter = 0
    rough = _in_half_the_digits(base, blocks) if is_large else (base, blocks)
    C, curvatures = _curvatures(base.copy(), blocks, weights)
    for _ in range(UPDATES):
        strengths = [s * tau for s, tau in zip(factors, given, strict=True)]
        start = thetas, curvatures
        thetas, used, _ = _optimum(*rough, strengths, codes, weights, start, ROUGH if is_large else EXACT)
        n_iter += used
        C, curvatures = _curvatures(_logits(base, blocks, thetas), blocks, weights)
        determined = _determined(blocks, strengths, C, curvatures)
        pulls = [np.sum(tau * theta**2) for tau, theta in zip(given, thetas, strict=True)]
        worth = np.array([block.worth for block in blocks])
        factors *= ((determined + worth) / (np.array(pulls) + worth) / factors) ** OVERSHOOT
    strengths = [s * tau for s, tau in zip(factors, given, strict=True)]
    start = thetas, curvatures
    thetas, used, failure = _optimum(base, blocks, strengths, codes, weights, start, GOOD if is_large else EXACT)
    return Found(thetas, factors, n_iter + used, failure)


def _in_half_the_digits(base, blocks):
    return base.astype(np.float32), [replace(one, features=one.features.astype(np.float32)) for one in blocks]


def _curvatures(Z, blocks, weights):
    """Return the second derivatives of the NLL in the logits Z (n, L), which are lost, and in each block's parameters.

    Those of a block are the diagonal alone, in its shape.
    """
    Z -= Z.max(axis=1, keepdims=True)
    Q = np.exp(Z, out=Z)
    Q /= Q.sum(axis=1, keepdims=True)
    C = weights[:, None] * Q * (1 - Q)
    return C, [block.curvature(C) for block in blocks]


def _determined(blocks, strengths, C, curvatures):
    """Return for every block how many of its parameters the data determine, shape (number of blocks,).

    Those of a class count together, unless a block says that its features hardly overlap.
    """
    dense = [k for k, block in enumerate(blocks) if not block.one_by_one]
    determined = np.zeros(len(blocks))
    for k in set(range(len(blocks))) - set(dense):
        determined[k] = np.sum(curvatures[k] / (curvatures[k] + strengths[k]))
    for hessian, precision in _hessians([blocks[k] for k in dense], [strengths[k] for k in dense], C):
        # In units of the prior's standard deviations, where no number of rows makes the matrix singular.
        curvatures, axes = np.linalg.eigh(hessian / np.sqrt(np.outer(precision, precision)))
        left = axes**2 @ (1 / (1 + np.maximum(curvatures, 0)))
        ends = np.cumsum([np.size(strengths[k][0]) for k in dense])[:-1]
        for k, part in zip(dense, np.split(1 - left, ends), strict=True):
            determined[k] += part.sum()
    return determined


def _hessians(blocks, strengths, C):
    """Yield for every class the Hessian of the NLL in its parameters, and their precisions."""
    slopes = [block for block in blocks if isinstance(block, Slopes)]
    if not blocks:
        return
    if len(slopes) == len(blocks):  # all at once, which is faster where classes are many
        of_pairs = [[np.einsum("nl,nl,nl->l", C, a.features, b.features) for a in slopes] for b in slopes]
        yield from zip(np.array(of_pairs).transpose(2, 0, 1), np.array(strengths).T, strict=True)
        return
    for label in range(C.shape[1]):
        F = np.hstack([block.of_class(label) for block in blocks])
        yield (F * C[:, [label]]).T @ F, np.concatenate([np.atleast_1d(tau[label]) for tau in strengths])


def near_temperature(U, codes, weights, with_matrix=False):
    """Return temperature scaling with intercepts and slopes of every class, and a matrix if one is asked for.

    Returns
    -------
    inverse : float
        1 / T.
    thetas : list of ndarray
        Intercepts (L,), slopes (L,), matrix (L, L) with a diagonal of 0: logits are the tempered U, plus what these
        add to it.
    strengths : list
        Of the same: a number for each of the first two, an array (L, L) for the matrix.
    found : Found
    """
    inverse = inverse_temperature(U, codes, weights)
    base = inverse * U
    blocks = slopes_of_classes(base)
    matrix = matrix_on_logs(base, weights) if with_matrix else None
    blocks += [] if matrix is None else [matrix]
    found = fit(base, blocks, codes, weights)
    found.failure = found.failure or say_if_flattest(inverse)
    thetas = found.thetas
    strengths = [block.strength * s for block, s in zip(blocks, found.factors, strict=True)]
    if with_matrix and matrix is None:
        n_classes = U.shape[1]
        thetas.append(np.zeros((n_classes, n_classes)))
        strengths.append(np.full((n_classes, n_classes), MATRIX * n_classes**3))
    if with_matrix:
        np.fill_diagonal(thetas[2], 0.0)
    return inverse, thetas, strengths, found


def inverse_temperature(U, codes, weights):
    """Return 1 / T of temperature scaling of log-probabilities (n, L), with its default prior."""
    family = TemperatureFamily(U.shape[1])
    found = solvers.fit(family, below_top(U), codes, weights[:, None], penalty=priors.temperature_prior())
    return found.theta[0, 0]


def slopes_of_classes(base):
    """Return the blocks of intercepts and slopes of every class."""
    n_classes = base.shape[1]
    least, per_class = INTERCEPTS
    intercepts = Intercepts(np.broadcast_to(1.0, base.shape), max(least, per_class * n_classes), WORTH)
    return [intercepts, Slopes(base, SLOPES * np.sqrt(n_classes), WORTH)]


def matrix_on_logs(base, weights):
    """Return the block of a matrix on log-probabilities, or None where it could not move anything."""
    n_classes = base.shape[1]
    Q = softmax(base, axis=1)
    usual = MATRIX * n_classes**3
    strength = np.full((n_classes, n_classes), usual)
    hold_diagonal(strength, weights)
    block = Mixing(base, strength, WORTH)
    C = weights[:, None] * Q * (1 - Q)
    can_move = lambda curvature: curvature > NEGLIGIBLE * (curvature + usual)
    # Never less than the largest curvature, and found without a product of matrices.
    at_most = (np.square(base).max(axis=1) @ C).max()
    return block if can_move(at_most) and can_move(block.curvature(C).max()) else None


def hold_diagonal(strength, weights):
    """Make the strengths (L, L) of a matrix so large on the diagonal that it stays 0, whatever rows weigh."""
    np.fill_diagonal(strength, NEVER * max(weights.sum(), 1.0))


def _logits(base, blocks, thetas):
    Z = base.copy()
    for block, theta in zip(blocks, thetas, strict=True):
        Z += block.logits(theta)
    return Z


def _optimum(base, blocks, strengths, codes, weights, start, tolerances):
    """L-BFGS in coordinates in which the diagonal of the Hessian at the start is 1.

    ``start`` holds the parameters to start from, and that diagonal there without the prior. The loss is a mean over
    rows, prior included, so that tolerances mean the same for any number and any weight of them. Returns the
    parameters, the number of iterations, and why it stopped early, None if it did not.
    """
    n_classes, total = base.shape[1], weights.sum()
    thetas, curvatures = start
    rows, share = np.arange(len(base)), (weights / total).astype(base.dtype)
    ones = np.ones(n_classes, base.dtype)
    shapes = [block.shape(n_classes) for block in blocks]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    flat = lambda arrays: np.concatenate([np.ravel(array) for array in arrays]).astype(float)
    precision = flat([np.broadcast_to(tau, shape) for tau, shape in zip(strengths, shapes, strict=True)]) / total
    scale = 1 / np.sqrt(flat(curvatures) / total + precision)

    def split(theta):
        return [part.reshape(shape) for part, shape in zip(np.split(theta, ends), shapes, strict=True)]

    def loss_and_gradient(x):
        theta = x * scale
        Z = _logits(base, blocks, split(theta.astype(base.dtype)))
        Z -= Z.max(axis=1, keepdims=True)
        of_label = Z[rows, codes]
        E = np.exp(Z, out=Z)
        sums = E @ ones
        E *= (share / sums)[:, None]
        E[rows, codes] -= share  # from here on the weighted residual
        loss = float(share @ (np.log(sums) - of_label)) + precision @ theta**2 / 2
        gradient = flat([block.adjoint(E) for block in blocks]) + precision * theta
        return loss, gradient * scale

    found = minimize(loss_and_gradient, flat(thetas) / scale, jac=True, method="L-BFGS-B", options=tolerances | LIMITS)
    is_early = not found.success and np.abs(found.jac).max() > solvers.STEEP
    return split(found.x * scale), found.nit, f"L-BFGS stopped early: {found.message}" if is_early else None
