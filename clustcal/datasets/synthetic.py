"""The teaching set: scores that are wrong in a different way in each group, and whose right values are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch

from clustcal.core.array_types import Floats

# (slope, intercept) of the groups, in turn, unless others are asked for
PATTERN = ((0.4, 0.0), (2.0, 0.0), (1.0, -1.0), (1.0, 1.0))


def make_subpopulations(
    n_samples: int = 2000,
    n_groups: int = 3,
    *,
    slopes: ArrayLike | None = None,
    intercepts: ArrayLike | None = None,
    group_sizes: ArrayLike | None = None,
    n_features: int = 8,
    separation: float = 4.0,
    score_scale: float = 1.5,
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    r"""Make scores that are miscalibrated in a different direction in each group.

    Think of a risk model used in several hospitals. It gives every patient a score p. In one hospital its scores are
    too extreme, in another too timid, in a third too high throughout; which hospital a patient is in shows in the
    patient's features, but not in the score. A single correction for all cannot be right for each of them.
    As we made the world, we know the probability that each score should have been:

    .. math::

        g_i \sim \text{groups}, \qquad
        \operatorname{logit} p_i \sim \mathcal N(0, s^2), \qquad
        p^\star_i = \sigma\bigl(a_{g_i} \operatorname{logit} p_i + b_{g_i}\bigr), \qquad
        y_i \sim \operatorname{Bernoulli}(p^\star_i),

    with a slope :math:`a_g` and an intercept :math:`b_g` per group, and features

    .. math::

        z_i = r\, u_{g_i} + \varepsilon_i, \qquad \varepsilon_i \sim \mathcal N(0, I),

    where the directions :math:`u_g` are orthogonal and of length one. So groups differ in direction, which is what
    clustering by cosine distance sees, and Platt scaling is exactly right within a group.

    How to read a group's parameters:

    ================== ======================= ==============================================
    slope below 1      over-confident          scores are too close to 0 and 1
    slope above 1      under-confident         scores are too close to 1/2
    intercept below 0  scores too high         things happen less often than they say
    intercept above 0  scores too low          things happen more often than they say
    ================== ======================= ==============================================

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows, n.
    n_groups : int, default=3
        Number of groups, at most `n_features`.
    slopes, intercepts : array-like of shape (n_groups,), default=None
        The parameters :math:`a_g` and :math:`b_g`, on the logit scale. If both are None, the groups are in turn
        over-confident (0.4, 0), under-confident (2, 0), too high (1, -1), too low (1, 1), and so on from the start. If
        one is given, the other is neutral: all slopes 1, or all intercepts 0.
    group_sizes : array-like of shape (n_groups,), default=None
        Relative sizes of the groups; None: all alike. The group of a row is drawn at random.
    n_features : int, default=8
        Number of columns of Z.
    separation : float, default=4.0
        The distance r of the group centres from the origin, in standard deviations of the noise. At 0 the features say
        nothing about the group; at 4 hardly a row is in doubt.
    score_scale : float, default=1.5
        The standard deviation s of the logit of the scores.
    random_state : int, numpy Generator or None, default=None
        The seed. The same seed gives the same data.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        P : ndarray of shape (n, 2)
            The scores as class probabilities, columns 1 - p and p: what a calibrator is fitted on.
        p : ndarray of shape (n,)
            The scores of class 1.
        y : ndarray of shape (n,), int64
            The labels, 0 or 1.
        true_probability : ndarray of shape (n,)
            The probability that each label was drawn with: what a perfect calibrator would answer.
        Z : ndarray of shape (n, n_features)
            The representation in which the groups are visible.
        group : ndarray of shape (n,), int64
            The group of each row: known here, hidden in practice.
        theta : ndarray of shape (n_groups, 2)
            Slope and intercept of each group.
        group_names : list of str
            What is wrong with the scores of each group, in words.
        X : DataFrame of shape (n, 1 + n_features)
            The same as features for a model of your own: ``score_logit`` and the columns ``z0``, ``z1``, ... of Z.

    Raises
    ------
    ValueError
        If a size is not positive, `n_groups` exceeds `n_features`, a parameter has another length than
        `n_groups` or is not finite, or a scale is negative.

    Examples
    --------
    >>> from clustcal.datasets import make_subpopulations
    >>> data = make_subpopulations(n_samples=1000, random_state=0)
    >>> data.P.shape, data.Z.shape
    ((1000, 2), (1000, 8))
    >>> data.group_names
    ['over-confident', 'under-confident', 'too high']

    Where the scores of the third group say 0.5, the event happens with probability sigmoid(-1) = 0.27:

    >>> data.theta[2]
    array([ 1., -1.])
    """
    _check_at_least(1, n_samples=n_samples, n_groups=n_groups, n_features=n_features)
    _check_at_least(0, separation=separation, score_scale=score_scale)
    if n_groups > n_features:
        raise ValueError(
            f"n_groups={n_groups} is more than n_features={n_features}; expected no more groups than features, because "
            "each group has a direction of its own."
        )
    theta = _group_parameters(slopes, intercepts, n_groups)
    sizes = _per_group("group_sizes", 1.0 if group_sizes is None else group_sizes, n_groups)
    if sizes.min() < 0 or sizes.sum() == 0:
        raise ValueError(f"group_sizes holds {sizes.tolist()}; expected non-negative numbers that are not all zero.")

    rng = np.random.default_rng(random_state)
    group = rng.choice(n_groups, size=n_samples, p=sizes / sizes.sum())
    score_logit = rng.normal(scale=score_scale, size=n_samples)
    true_probability = expit(theta[group, 0] * score_logit + theta[group, 1])
    y = rng.binomial(1, true_probability)
    directions = _orthogonal_directions(n_groups, n_features, rng)
    Z = separation * directions[group] + rng.normal(size=(n_samples, n_features))
    p = expit(score_logit)
    return Bunch(
        P=np.column_stack([1 - p, p]),
        p=p,
        y=y,
        true_probability=true_probability,
        Z=Z,
        group=group,
        theta=theta,
        group_names=[_describe(slope, intercept) for slope, intercept in theta],
        X=pd.DataFrame({"score_logit": score_logit, **{f"z{j}": Z[:, j] for j in range(n_features)}}),
    )


def _group_parameters(slopes: ArrayLike | None, intercepts: ArrayLike | None, n_groups: int) -> Floats:
    """Slope and intercept of every group, shape (n_groups, 2)."""
    if slopes is None and intercepts is None:
        return np.array([PATTERN[g % len(PATTERN)] for g in range(n_groups)])
    slopes = _per_group("slopes", 1.0 if slopes is None else slopes, n_groups)
    intercepts = _per_group("intercepts", 0.0 if intercepts is None else intercepts, n_groups)
    return np.column_stack([slopes, intercepts])


def _per_group(name: str, values: ArrayLike, n_groups: int) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_groups, values)
    if values.shape != (n_groups,):
        raise ValueError(f"{name} has shape {values.shape}; expected one number per group, shape ({n_groups},).")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds {values.tolist()}; expected finite numbers.")
    return values


def _orthogonal_directions(n_groups: int, n_features: int, rng: np.random.Generator) -> Floats:
    """Unit vectors at right angles to each other, turned at random, shape (n_groups, n_features)."""
    basis, _ = np.linalg.qr(rng.normal(size=(n_features, n_groups)))
    return basis.T


def _describe(slope: float, intercept: float) -> str:
    confidence = {-1: "over-confident", 0: "", 1: "under-confident"}[int(np.sign(slope - 1))]
    bias = {-1: "too high", 0: "", 1: "too low"}[int(np.sign(intercept))]
    return " and ".join(filter(None, [confidence, bias])) or "calibrated"


def _check_at_least(lowest: float, **values: float) -> None:
    for name, value in values.items():
        if not value >= lowest:
            raise ValueError(f"{name}={value!r}; expected at least {lowest}.")
