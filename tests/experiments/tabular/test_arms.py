"""The arm is chosen by two numbers, and these are not judged under it."""

import numpy as np

from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import arms
from clustcal.experiments.tabular.grid import PAPER_DATASETS, STAND_INS
from tests.experiments.tabular.rows import make_paper_rows

OPEN = list((PAPER_DATASETS | STAND_INS).values())


def test_arm_with_the_papers_bias_is_chosen():
    rows, claims = make_paper_rows(OPEN), load_claims()
    unbiased = rows.assign(ada_ece=np.where(rows["calibrator"].isin(["base", "TS"]), 0.4, 1.0) * rows["ada_ece"])
    assert arms.choose_arm({"": unbiased, "weighted": rows}, claims) == "weighted"
    assert arms.choose_arm({"": rows, "weighted": unbiased}, claims) == ""
    distances = arms.arm_distances({"": unbiased, "weighted": rows}, claims)
    np.testing.assert_allclose([distances[""], distances["weighted"]], [-np.log(0.4), 0], atol=1e-9)


def test_nothing_but_the_two_numbers_matters():
    rows, claims = make_paper_rows(OPEN), load_claims()
    other = rows.assign(nll=2 * rows["nll"], auc=0.5, brier=0.3, mlce=0.1)
    assert arms.arm_distances({"": other}, claims)[""] < 1e-9


def test_two_lists_share_nothing_and_choosing_numbers_exist():
    claims = load_claims()
    judged = {claim.id for claim in claims.itertuples() if arms.is_judged_by_arm(claim)}
    assert set(arms.CHOOSING) <= set(claims["id"])
    assert not judged & set(arms.CHOOSING)
    assert len(judged) > 200


def test_only_data_sets_of_every_arm_are_compared():
    rows, claims = make_paper_rows(OPEN), load_claims()
    fewer = rows[rows["dataset"] != "adult"]
    assert set(arms.common_rows({"": rows, "weighted": fewer})[""]["dataset"]) == set(PAPER_DATASETS) - {"Adult"}
    off = rows.assign(ada_ece=np.where(rows["dataset"] == "adult", 9.0, rows["ada_ece"]))
    assert arms.arm_distances({"": off, "weighted": fewer}, claims)[""] < 1e-9


def test_the_papers_own_values_agree_entirely_and_others_by_their_ratio():
    rows, claims = make_paper_rows(OPEN), load_claims()
    is_platt = (rows["calibrator"] == "Platt") & (rows["representation"] == "Baseline")
    other = rows.assign(nll=np.where(is_platt, 1.0, np.e) * rows["nll"])
    table = arms.agreement({"": rows, "weighted": other}, claims)
    assert table.loc["NLL", ("rank correlation", "printed")] == 1
    assert table.loc["NLL", ("log ratio", "printed")] < 1e-9
    np.testing.assert_allclose(table.loc["NLL", ("log ratio", "weighted")], 20 / 21)  # all but Platt itself
    assert table.loc["ECE", ("log ratio", "weighted")] < 1e-9
