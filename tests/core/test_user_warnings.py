"""A warning names the line of the user's program, whatever the depth at which the package found its reason."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clustcal
from clustcal import (
    BetaCalibration,
    CalibratedClassifier,
    ClusteredCalibration,
    RidgeCalibration,
    SoftKMeans,
    VectorScaling,
    metrics,
)
from clustcal.core.user_warnings import warn_user

P, Y = np.linspace(0.01, 0.99, 40), np.repeat([0, 1], 20)
ONE_DIRECTION = np.ones((40, 2))


@pytest.mark.parametrize(
    ("warns", "message"),
    [
        (lambda: BetaCalibration(prior=None).fit(P, Y), "separate the classes"),
        (lambda: RidgeCalibration().fit(P, Y, P[:, None]), "separate the classes"),
        (lambda: SoftKMeans(2).fit(ONE_DIRECTION), "only 1 different directions"),
        (lambda: ClusteredCalibration(n_clusters=2).fit(P, np.tile([0, 1], 20), ONE_DIRECTION), "only 1 different"),
        (lambda: VectorScaling().fit(np.full((40, 3), 1 / 3), Y), "no label of the classes"),
        (lambda: SoftKMeans(2).fit_transform(ONE_DIRECTION), "only 1 different directions"),
        (lambda: make_pipeline(StandardScaler(with_std=False), SoftKMeans(2)).fit(ONE_DIRECTION), "only 1 different"),
        (lambda: CalibratedClassifier(GaussianNB(), cv=2).fit(P[:, None], Y[:, None]), "column-vector"),
        (lambda: metrics.debiased_ece(Y, P, n_bins=40), "bins of one row"),
    ],
)
def test_the_place_is_that_of_the_call(warns, message):
    with pytest.warns(UserWarning, match=message) as caught:
        warns()
    assert {warning.filename for warning in caught if message in str(warning.message)} == {__file__}


def test_a_folder_beside_the_package_is_a_program_of_a_user():
    neighbour = f"{Path(clustcal.__file__).parent}_plugin.py"
    names = {"warn_user": warn_user}
    exec(compile("def warns(): warn_user('so it is')", neighbour, "exec"), names)
    with pytest.warns(UserWarning, match="so it is") as caught:
        names["warns"]()
    assert caught[0].filename == neighbour


def test_a_category_can_be_given():
    with pytest.warns(RuntimeWarning, match="so it is"):
        warn_user("so it is", RuntimeWarning)
