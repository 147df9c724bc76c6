"""How far a verdict on a relation is from being another one, in intervals over the splits.

The rules compare means, or ask all five splits for one sign. Beside each verdict stands here the difference that it
rests on, with a 95 % interval that takes into account that the halves share rows (Nadeau and Bengio), and whether the
border of the rule lies in it: then a draw of other splits could turn the verdict round.
"""

import numpy as np

from clustcal import metrics
from clustcal.experiments.deep.network_tables import METRICS

WITHIN, ONE_SPLIT = "within noise", "one split"


def find_interval(values):
    """Return mean and half width of an interval over splits that share rows; NaN as the width of a single one."""
    if len(values) < 2:
        return float(np.mean(values)), np.nan
    interval = metrics.t_interval(values, test_to_train=1.0)  # a half calibrates, a half tests
    return float(interval.mean), float(interval.half_width)


def describe(mean, half_width, low, high, digits=5):
    """Return an interval in words, and whether a verdict that asks for a value from low to high is within noise.

    Examples
    --------
    >>> from clustcal.experiments.deep.verdict_noise import describe
    >>> describe(-0.002, 0.003, -float("inf"), 0)
    ('-0.00200 ± 0.00300', 'within noise')
    >>> describe(-0.004, 0.003, -float("inf"), 0)
    ('-0.00400 ± 0.00300', '')
    """
    if np.isnan(half_width):
        return f"{mean:+.{digits}f}", ONE_SPLIT
    borders = [border for border in (low, high) if np.isfinite(border)]
    is_near = any(mean - half_width <= border <= mean + half_width for border in borders)
    return f"{mean:+.{digits}f} ± {half_width:.{digits}f}", WITHIN if is_near else ""


def describe_sign(one, two, margin=0.0):
    """Return the same of the difference of two methods: its border is 0, or those between which it is called equal."""
    return describe(*find_interval(np.asarray(one) - np.asarray(two)), -margin, margin)


def describe_ratio(one, two, low, high):
    """Return the same of the share by which one method lowers the loss of the other, whose rule has two borders."""
    return describe(*find_interval(1 - np.asarray(one) / np.asarray(two)), low, high)


def describe_place(table, metric, ours, expected, listed):
    """Return the same of the distance from our first (or last) method to the nearest on the other side of the rule.

    Parameters
    ----------
    table : DataFrame
        As `network_tables.choose_cells` returns it.
    metric : str
        The paper's name.
    ours : str
        The method in that place.
    expected, listed : list of str
        The methods with which the rule holds, and all.

    Returns
    -------
    difference, noise : str
    """
    values = table.pivot_table(index="seed", columns="method", values=METRICS[metric])
    others = [method for method in listed if (method in expected) != (ours in expected)]
    if not others:
        return "", ""
    away = (values[others].mean() - values[ours].mean()).abs()
    pair = values[[away.idxmin(), ours]].dropna()
    return describe_sign(pair.iloc[:, 0], pair.iloc[:, 1])
