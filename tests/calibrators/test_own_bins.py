"""Numbers of bins by rule and edges of one's own, in every calibrator that has bins."""

import numpy as np
import pytest

from clustcal import BinwiseCalibration, HistogramBinning, LocalRecalibration

EDGES = [0, 0.25, 0.5, 1]


@pytest.mark.parametrize("n_bins", ["auto", EDGES, np.array(EDGES)], ids=["auto", "list", "array"])
@pytest.mark.parametrize("calibrator", [HistogramBinning, BinwiseCalibration, LocalRecalibration])
def test_every_calibrator_with_bins_takes_auto_and_edges(calibrator, n_bins):
    """Edges (0, .25, .5, 1) of 300 rows; the cube root of 300 is 6.7."""
    rng = np.random.default_rng(0)
    p, Z = rng.random(300), rng.random((300, 2))
    y = (rng.random(300) < p).astype(int)
    given = calibrator(n_bins=n_bins).fit(p, y, Z).predict_proba(p, Z)
    same = calibrator(n_bins=7 if isinstance(n_bins, str) else EDGES).fit(p, y, Z).predict_proba(p, Z)
    np.testing.assert_array_equal(given, same)
    with pytest.raises(ValueError, match="expected edges that increase from 0 to 1"):
        calibrator(n_bins=[0, 2]).fit(p, y, Z)


def test_a_histogram_with_own_edges_has_the_frequencies_between_them():
    p, y = [0.1, 0.2, 0.25, 0.3, 0.5, 0.9], [0, 0, 1, 1, 0, 1]
    Q = HistogramBinning(n_bins=EDGES, prior=(0, 0)).fit(p, y).predict_proba([0.25, 0.4, 0.6])
    assert Q[:, 1] == pytest.approx([1 / 3, 1 / 2, 1])
