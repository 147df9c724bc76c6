"""XGBoost models of categorical columns: rows of other frames are read by the categories of the training rows."""

import numpy as np
import pandas as pd
import pytest

from clustcal.representations import LeafCoverage, PathContributions, ShapValues, StagedMargins

xgboost = pytest.importorskip("xgboost")

RNG = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
FRAME["kind"] = pd.Categorical(RNG.choice(list("stuvw"), N))
Y = (FRAME["a"] + 3 * FRAME["kind"].isin(["s", "v"]) + RNG.logistic(size=N) > 1).to_numpy().astype(int)
TRAIN, STOP = slice(400), slice(400, N)

FEWER = FRAME[STOP][FRAME[STOP]["kind"] != "s"].copy()
FEWER["kind"] = pd.Categorical(FEWER["kind"].astype(str))
REORDERED = FRAME[STOP].assign(kind=FRAME[STOP]["kind"].cat.reorder_categories(list("wutsv")))
OTHER_FRAMES = {"same": FRAME[STOP], "fewer": FEWER, "reordered": REORDERED}
RANGES = {"stopped": None, "range": (0, 4)}


@pytest.fixture(scope="module", params=["fresh", "loaded"])
def model(request, tmp_path_factory):
    """A model that stopped long before its last round, so that the rounds to use are a slice of the booster."""
    trees = xgboost.XGBClassifier(
        n_estimators=200, learning_rate=0.2, enable_categorical=True, early_stopping_rounds=3, n_jobs=1
    )
    trees.fit(FRAME[TRAIN], Y[TRAIN], eval_set=[(FRAME[STOP], Y[STOP])], verbose=False)
    assert 4 < trees.best_iteration + 1 < trees.get_booster().num_boosted_rounds()
    if request.param == "fresh":
        return trees
    path = tmp_path_factory.mktemp("model") / "trees.json"
    trees.save_model(path)
    loaded = xgboost.XGBClassifier(n_jobs=1)
    loaded.load_model(path)
    return loaded


@pytest.mark.parametrize("rows", OTHER_FRAMES.values(), ids=OTHER_FRAMES)
@pytest.mark.parametrize("rounds", RANGES.values(), ids=RANGES)
class TestOtherFrames:
    @pytest.mark.parametrize("kind", [PathContributions, ShapValues, StagedMargins])
    def test_sums_are_the_margin_of_the_model(self, model, rows, rounds, kind):
        fitted = kind(model, iteration_range=rounds).fit(FRAME[TRAIN])
        sums = fitted.transform(rows).sum(axis=1) + getattr(fitted, "base_value_", 0)
        margin = model.predict(rows, output_margin=True, iteration_range=rounds)
        np.testing.assert_allclose(sums, margin, atol=1e-5)

    def test_leaves_are_those_that_the_model_tells(self, model, rows, rounds):
        coverage = LeafCoverage(model, 3, iteration_range=rounds).fit(FRAME[TRAIN])
        np.testing.assert_array_equal(coverage.leaves(rows), model.apply(rows, iteration_range=rounds))


@pytest.mark.skipif(not hasattr(xgboost.Booster, "get_categories"), reason="XGBoost 3.0 reads any frame by its codes")
@pytest.mark.parametrize("kind", [PathContributions, ShapValues, StagedMargins, LeafCoverage])
def test_a_category_that_the_model_has_not_seen_is_an_error_as_in_predict_proba(model, kind):
    unseen = FEWER.assign(kind=pd.Categorical(["z"] * len(FEWER)))
    with pytest.raises(xgboost.core.XGBoostError, match="category"):
        model.predict_proba(unseen)
    with pytest.raises(xgboost.core.XGBoostError, match="category"):
        kind(model).fit(FRAME[TRAIN]).transform(unseen)


def test_woodelf_is_not_asked(model):
    many = pd.concat([REORDERED] * 12)  # more rows than it takes for WOODELF to be worth while
    shap = ShapValues(model).fit(many)
    margin = model.predict(many, output_margin=True)
    np.testing.assert_allclose(shap.transform(many).sum(axis=1) + shap.base_value_, margin, atol=1e-5)
    with pytest.raises(ValueError, match="does not serve categorical features"):
        ShapValues(model, method="woodelf").fit(many)


@pytest.mark.parametrize("kind", [PathContributions, ShapValues, StagedMargins])
@pytest.mark.parametrize("types", [["q", "q", "c"], None], ids=["codes", "numbers"])
def test_arrays_of_codes_and_frames_of_numbers_have_none_and_need_none(kind, types):
    codes = FRAME.assign(kind=FRAME["kind"].cat.codes.astype(float))
    rows = codes if types is None else codes.to_numpy()
    trees = xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, feature_types=types, n_jobs=1).fit(rows, Y)
    fitted = kind(trees, iteration_range=(0, 5)).fit(rows)
    sums = fitted.transform(rows).sum(axis=1) + getattr(fitted, "base_value_", 0)
    margin = trees.predict(rows, output_margin=True, iteration_range=(0, 5))
    np.testing.assert_allclose(sums, margin, atol=1e-5)
