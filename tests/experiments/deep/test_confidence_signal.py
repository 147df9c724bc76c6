"""What clusters add to a bin-wise calibrator is found where there is something, by cross-validation."""

from functools import partial

import pytest

from clustcal.experiments.deep import confidence_signal, measured


class TestConfidenceSignal:
    def test_the_chosen_cell_is_held_against_the_binwise_method_alone(self, outputs, tmp_path):
        unit = {"name": "emotion", "seed": 0, "family": "TS"}
        compute = partial(confidence_signal.measure, load=lambda name: outputs)
        measured.extend(tmp_path / "deep" / "confidence_signal.csv", [unit], compute, progress=False)
        rows = confidence_signal.read(tmp_path)
        assert len(rows) == 1 + 16
        (gain,) = confidence_signal.find_gains(rows).itertuples()
        best = rows.loc[rows["nll_cv"].idxmin()]
        assert (gain.n_clusters, gain.shrinkage) == (best["n_clusters"], best["shrinkage"])
        assert gain.gain == pytest.approx(1 - best["nll"] / rows.loc[0, "nll"])

    def test_clusters_that_know_more_than_the_confidence_gain(self, outputs):
        """Of one group the forecasts are right, of the other noise: bins of the confidence cannot part them."""
        rows = confidence_signal.measure({"name": "emotion", "seed": 0, "family": "Vector"}, load=lambda name: outputs)
        assert min(row["nll"] for row in rows[1:]) < 0.99 * rows[0]["nll"]
