"""A shrinkage weighs less against a sum than against a mean."""

import numpy as np

from clustcal.experiments.deep import design, summed_loss


class TestSummedLoss:
    def test_against_a_sum_a_shrinkage_is_that_much_weaker(self, outputs):
        """With n rows and one cluster lambda against the sum is lambda / n against the mean: by the solver itself."""
        cal, test = design.halve(design.prepare(outputs), 0)
        fitted = design.get_families(3)["Vector"].fit(cal.P[::2], cal.y[::2])  # not the optimum of all rows
        ones = np.ones((300, 1))
        found = summed_loss.fit_forms(fitted, cal, test, ones, ones, shrinkage=3.0)
        weaker = summed_loss.fit_forms(fitted, cal, test, ones, ones, shrinkage=3.0 / 300)
        np.testing.assert_allclose(found["sum"], weaker["mean"], atol=1e-7)
        moved = {form: np.abs(found[form] - found["global"]).max() for form in ("mean", "sum")}
        assert moved["sum"] > 5 * moved["mean"] > 0

    def test_a_unit_has_every_family_in_three_forms(self, outputs):
        rows = summed_loss.measure({"name": "emotion", "seed": 0}, load=lambda name: outputs)
        assert [(row["family"], row["loss"]) for row in rows] == [
            (family, loss) for family in ("Vector", "Dirichlet", "TS") for loss in ("global", "mean", "sum")
        ]
