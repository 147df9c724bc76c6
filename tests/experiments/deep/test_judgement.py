"""All verdicts together: judged networks and those beside them, written, read and compared."""

import pandas as pd
import pytest

from clustcal.experiments.deep import further_statements, judgement
from tests.experiments.deep.made_up_rows import make_rows


def test_nothing_is_judged_without_results(tmp_path):
    known = further_statements.Known(tmp_path)
    verdicts = judgement.judge_all(known)
    assert set(verdicts["verdict"]) == {"blocked", "not attempted"}
    judgement.write_verdicts(verdicts, tmp_path)
    again = judgement.read_verdicts(tmp_path)
    assert judgement.compare(again, verdicts) == []
    again.loc[0, "verdict"] = "holds"
    assert judgement.compare(again, verdicts) == [
        f"{again.loc[0, 'id']} {again.loc[0, 'study']}: the verdicts say 'holds', the results say 'not attempted'."
    ]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Of a network that stands for the paper's, and of one that is beside another."""
    known = further_statements.Known(tmp_path_factory.mktemp("results"))
    nll = lambda calibrator, layer, n_clusters, shrinkage, temperature, seed: 0.2 + (0.1 if calibrator == "Base" else 0)
    frames = [make_rows("emotion", 6, nll), make_rows("cifar100-wideresnet", 100, nll, layers=())]
    known.rows = pd.concat(frames, ignore_index=True)
    return judgement.judge_all(known)


def test_networks_beside_the_judged_ones_have_rows_of_their_own(verdicts):
    beside = verdicts[verdicts["role"] == "beside"]
    assert set(beside["study"]) == {"cifar100-wideresnet"}
    assert not beside["id"].str.contains("clustered").any()  # it has no layers
    line = beside.set_index("id").loc["images/CIFAR-100/TS/NLL/sign against base"]
    assert line[["expected", "ours", "verdict", "splits"]].tolist() == ["lower", "lower", "holds", 5]


def test_only_what_is_judged_is_counted(verdicts):
    counts = judgement.summarise(verdicts)
    judged = verdicts[verdicts["role"] == "judged"]
    assert counts.to_numpy().sum() == len(judged)
    cells = judgement.count_by_cell(verdicts)
    assert cells["text/Emotion/TS/NLL"] == "holds 1, fails 1"  # the sign, and a third less where 5 % is printed
    assert cells["images/CIFAR-100/TS/NLL"] == "not attempted 2"
