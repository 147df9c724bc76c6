"""The verdict on one number: how far our value of it may be from the printed one, and what it is called."""

from typing import NamedTuple

import numpy as np
from scipy import stats

N_SEEDS = 5  # of the paper, and of ours
AGREES = ("match", "within tolerance")
JUDGED = (*AGREES, "better", "differs")
OTHER_MODEL = "other model"  # ours stands beside it, and cannot be expected to agree
VERDICTS = (*JUDGED, OTHER_MODEL, "not attempted", "blocked")
ROUNDING = 1e-9  # of the comparison with half a printed digit


class Computed(NamedTuple):
    """Our value of a number; its standard deviation over seeds and its jackknife error, where it has them."""

    value: float
    sd: float = np.nan
    error: float = np.nan


def judge(printed, ours, tolerance, half_digit, better=""):
    """Return the verdict on one number.

    Parameters
    ----------
    printed, ours : float
    tolerance : float
        See `find_tolerance`.
    half_digit : float
        Half of the last printed digit of the paper's number.
    better : {"lower", "higher", ""}
        Which way is better, if any.

    Returns
    -------
    verdict : {"match", "within tolerance", "better", "differs"}
        ``"match"``: ours rounds to the printed number. ``"within tolerance"``: not that, but within the tolerance.
        ``"better"``: farther away, on the better side. ``"differs"``: all else.

    Examples
    --------
    >>> from clustcal.experiments.verdicts import judge
    >>> judge(0.30, 0.304, tolerance=0.01, half_digit=0.005, better="lower")
    'match'
    >>> judge(0.30, 0.308, tolerance=0.01, half_digit=0.005, better="lower")
    'within tolerance'
    >>> judge(0.30, 0.25, tolerance=0.01, half_digit=0.005, better="lower")
    'better'
    >>> judge(0.30, 0.35, tolerance=0.01, half_digit=0.005, better="lower")
    'differs'
    """
    distance = abs(ours - printed)
    if distance <= half_digit * (1 + ROUNDING):
        return "match"
    if distance <= tolerance * (1 + ROUNDING):
        return "within tolerance"
    is_better = {"lower": ours < printed, "higher": ours > printed}.get(better, False)
    return "better" if is_better else "differs"


def find_tolerance(claim, found):
    """Return how far our value may be from the printed one, by the rule of the claim; NaN if there is no value."""
    if found is None:
        return np.nan
    if claim.rule == "factor 2":
        # From half to twice the printed number: as a distance, on the side where ours lies.
        return abs(claim.value) * (1.0 if found.value > claim.value else 0.5)
    if claim.rule == "half digit":
        return claim.half_digit
    return float(np.nanmax([claim.half_digit, 2 * found.sd]))


def find_noise(found, half_digit, of_one_split=False):
    """Return how far our value may be from the printed one by chance alone, if the paper's seeds are as noisy as ours.

    Both numbers scatter then with the jackknife error e of ours, or the paper's with ``e sqrt(5)`` where it comes from
    one split. The distance over its standard deviation has a t distribution with four degrees of freedom.

    Parameters
    ----------
    found : Computed or None
    half_digit : float
    of_one_split : bool, default=False
        Whether the paper's number is of one split, and not a mean over five.

    Returns
    -------
    distance : float
        At least half of the last printed digit; NaN where nothing is known of our error.

    Examples
    --------
    >>> from clustcal.experiments.verdicts import Computed, find_noise
    >>> round(find_noise(Computed(0.3, sd=0.02, error=0.01), 0.005), 4)
    0.0393
    """
    if found is None or np.isnan(found.error):
        return np.nan
    splits = N_SEEDS if of_one_split else 1
    reach = stats.t.ppf(0.975, N_SEEDS - 1) * np.sqrt(1 + splits) * found.error
    return max(half_digit, float(reach))
