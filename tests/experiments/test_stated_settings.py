"""The settings that the paper states, held against what our studies run with."""

import pytest

from clustcal.experiments import methods, protocol, stated_settings
from clustcal.experiments.deep import design
from clustcal.experiments.paper import load_claims

CLAIMS = load_claims().set_index("id")
STATED = CLAIMS[CLAIMS["recompute"] == "settings"]


def test_every_stated_setting_has_ours_and_nothing_else_does():
    assert set(stated_settings.compute()) == set(STATED.index)


@pytest.mark.parametrize("name", STATED.index)
def test_ours_is_what_the_paper_states(name):
    assert stated_settings.compute()[name].value == STATED.loc[name, "value"]


def test_a_study_that_is_changed_shows(monkeypatch):
    monkeypatch.setitem(protocol.BOOSTING, "learning_rate", 0.3)
    monkeypatch.setattr(methods, "N_CLUSTERS", 5)
    monkeypatch.setattr(design, "FOLDS", 3)
    found = stated_settings.compute()
    names = ("settings/learning_rate", "settings/clusters", "settings/grid/folds")
    assert [found[name].value for name in names] == [0.3, 5, 3]
