"""Dirichlet calibration by its authors' library, where it is installed, and ours."""

import numpy as np
import pytest

from clustcal.experiments.deep import design, reference_dirichlet


class TestReferenceDirichlet:
    def test_ours_is_the_method_of_the_study(self, outputs):
        cal, test = design.halve(design.prepare(outputs), 0)
        _, Q = reference_dirichlet.calibrate("ours", cal, test)
        np.testing.assert_array_equal(Q, design.get_families(3)["Dirichlet"].fit(cal.P, cal.y).predict_proba(test.P))
        assert reference_dirichlet.calibrate("base", cal, test)[1] is test.P

    def test_the_authors_library_agrees_with_ours(self, outputs):
        pytest.importorskip("dirichletcal")
        cal, test = design.halve(design.prepare(outputs), 0)
        ours, theirs = (reference_dirichlet.calibrate(method, cal, test)[1] for method in ("ours", "reference"))
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
