"""What cannot come out otherwise is marked, by arithmetic that is worked out here on made-up scores."""

import numpy as np
import pytest

from clustcal import ClusteredCalibration, TemperatureScaling
from clustcal.experiments.deep import design, further_statements, statements
from clustcal.experiments.deep.relations import find_relations
from clustcal.experiments.deep.verdict_strength import FEW_K, STATEMENTS, can_fail, describe_relation


@pytest.fixture(scope="module")
def strengths():
    relations = find_relations()
    return relations.set_index("id").assign(strength=[describe_relation(line) for line in relations.itertuples()])


def test_temperatures_and_their_mixtures_keep_the_most_probable_class():
    """The reason for which accuracies of temperature scaling cannot differ from those of the base."""
    rng = np.random.default_rng(0)
    P, y, Z = rng.dirichlet(np.ones(4), 300), rng.integers(4, size=300), rng.normal(size=(300, 5))
    one = ClusteredCalibration(TemperatureScaling(prior=None), 3, 0.05, temperature=0.1, random_state=0).fit(P, y, Z)
    assert np.ptp(one.theta_) > 0  # the clusters have temperatures of their own
    assert (one.predict_proba(P, Z).argmax(axis=1) == P.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("text/Emotion/TS/Acc/sign against base", "cannot fail"),  # printed equal
        ("images/CIFAR-100/TS clustered/Acc/sign against global", "cannot fail"),
        ("text/IMDB/Platt/NLL/sign against base", "weak"),
        ("text/IMDB/Platt/Acc/sign against base", ""),
        ("images/CIFAR-100/Dirichlet/NLL/sign against base", ""),  # printed higher
        ("text/Emotion/Vector clustered/NLL/ratio to global", "weak"),  # printed .0063
        ("text/Emotion/TS clustered/NLL/ratio to global", ""),  # printed -.0127
        ("images/CIFAR-100/Vector clustered/K/choice", "weak"),
        ("images/CIFAR-100/Vector clustered/shrinkage/choice", ""),
        ("images/CIFAR-100/TS clustered/K/choice", ""),
        ("text/Emotion/Acc/first", "weak"),  # five of nine
        ("text/Emotion/NLL/first", ""),
    ],
)
def test_a_relation_is_marked(strengths, name, starts):
    found = strengths.loc[name, "strength"]
    assert found.startswith(starts) if starts else found == ""


def test_a_choice_is_marked_where_the_design_leaves_few_clusterings():
    run = [design.get_cells(100, ("pooled",), seed) for seed in design.SEEDS]
    for family in ("Vector", "Dirichlet", "TS"):
        chosen_from = {K for cells in run[1:] for _, K, families in cells if family in families}
        assert (("CIFAR-100", f"{family} clustered") in FEW_K) == (chosen_from <= {4, 10})


def test_every_mark_of_a_statement_is_about_one_that_is_judged():
    judged = {*statements.STATEMENTS, *further_statements.STATEMENTS}
    assert {name for name, _ in STATEMENTS} <= judged


def test_what_cannot_fail_is_parted_from_what_is_weak(strengths):
    could = can_fail(strengths["strength"])
    assert not could["text/Emotion/TS/Acc/sign against base"]
    assert could["text/Emotion/Acc/first"]
