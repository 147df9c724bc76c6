"""What follows from the paper's own tables, by hand."""

import numpy as np
import pytest

from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import from_paper


@pytest.fixture(scope="module")
def values():
    return from_paper.compute(load_claims())


def test_figures_by_hand(values):
    assert values["protocol/points"] == 6 * 21 * 6 * 5
    assert values["figures/global/NLL"] == pytest.approx((0.2998 + 0.2997) / 2)
    assert values["figures/clustered/gain-high"] == pytest.approx(100 * (1 - 0.2983 / 0.2997))
    gains_in_auc = np.array([4, 13, 21, 36, 54, 77]) * 1e-4
    assert values["figures/slope/AUC-median"] == pytest.approx(np.median(gains_in_auc))
    assert values["figures/improvement/NLL/low"] == pytest.approx(0.49 - 0.19)
    assert values["overhead/deep/ratio/low"] == pytest.approx(0.91 / 0.44)  # temperature scaling
    assert values["overhead/deep/ratio/high"] == pytest.approx(4.64 / 1.74)  # Platt / vector scaling


def test_rounding_is_that_of_the_printed_digits():
    """A mean of six numbers that are each off by at most half a digit is off by at most that."""
    claims = load_claims()
    rounding = from_paper.worst_rounding(claims)
    half = claims.set_index("id")["half_digit"]["improvement/Adult/NLL/mean"]
    assert 0 < rounding["improvement/All/NLL/mean"] <= half * (1 + 1e-9)
    assert rounding["protocol/points"] == 0


def test_everything_computed_is_a_number_of_the_paper(values):
    assert set(values) <= set(load_claims()["id"])
    assert len(values) > 50
