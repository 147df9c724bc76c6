"""The command line: what each command does, says and returns."""

import json
import subprocess
import sys
from functools import partial

import pandas as pd
import pytest

from clustcal import cli
from clustcal.experiments import ledger
from clustcal.experiments.store import Store
from tests.experiments.made_up import make_data

RUN = ["reproduce", "tabular", "--datasets", "stroke", "--n-estimators", "3", "--depths", "2", "--jobs", "1", "--quiet"]


@pytest.fixture
def made_up(monkeypatch):
    """Studies run on a made-up data set."""
    pytest.importorskip("xgboost")
    from clustcal.experiments.tabular import units

    monkeypatch.setattr(units, "run", partial(units.run, load=make_data))


def options(*arguments):
    return cli.make_parser().parse_args(["reproduce", "tabular", *arguments])


def test_defaults_are_the_papers_protocol():
    found = options()
    assert (found.seeds, found.n_estimators, found.depths) == ([0, 1, 2, 3, 4], [100, 300, 1000], [6, 8])
    assert found.methods == ["paper", "cv"]
    assert not found.fresh


def test_fresh_and_resume_exclude_each_other(capsys):
    with pytest.raises(SystemExit):
        options("--fresh", "--resume")
    assert "not allowed with argument" in capsys.readouterr().err


def test_data_lists_what_there_is(capsys):
    assert cli.main(["data"]) == 0
    shown = capsys.readouterr().out
    assert "48842" in shown
    assert "credit_card_default" in shown


def test_data_that_cannot_be_had_is_an_error_in_one_sentence(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    assert cli.main(["data", "wids"]) == 1
    assert capsys.readouterr().err.startswith("clustcal: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "titanic"], "datasets has 'titanic'; expected some of adult, "),
        (["--datasets", "stroke", "--methods", "Plat"], "methods has 'Plat'; expected paper, cv, variants, "),
    ],
)
def test_unknown_names_are_refused(arguments, message, capsys, tmp_path):
    assert cli.main(["reproduce", "tabular", *arguments, "--results", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_tabular_writes_rows_and_goes_on_where_it_stopped(made_up, capsys, tmp_path):
    arguments = [*RUN, "--methods", "Platt", "base", "--results", str(tmp_path)]
    assert cli.main([*arguments, "--seeds", "0"]) == 0
    assert "1 units computed, 0 were there already" in capsys.readouterr().out
    assert cli.main([*arguments, "--seeds", "0", "1"]) == 0
    assert "1 units computed, 1 were there already" in capsys.readouterr().out
    rows = Store(tmp_path / "tabular").read("stroke")
    assert len(rows) == 2 * 5
    assert set(rows["seed"]) == {0, 1}


def test_fresh_moves_old_results_aside(made_up, capsys, tmp_path):
    arguments = [*RUN, "--methods", "base", "--results", str(tmp_path), "--seeds"]
    cli.main([*arguments, "0"])
    assert cli.main([*arguments, "1", "--fresh"]) == 0
    assert Store(tmp_path / "tabular").read()["seed"].tolist() == [1]
    (old,) = (tmp_path / "tabular" / "superseded").iterdir()
    assert pd.read_csv(old)["seed"].tolist() == [0]


def test_units_of_another_process_are_named(made_up, capsys, tmp_path):
    claim = Store(tmp_path / "tabular").claim("stroke-2-0")
    assert cli.main([*RUN, "--methods", "base", "--results", str(tmp_path), "--seeds", "0"]) == 0
    assert "1 units are being computed by another process." in capsys.readouterr().out
    claim.release()


def test_claims_writes_the_ledger_and_prints_the_score(capsys, tmp_path):
    assert cli.main(["claims", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "within tolerance" in shown
    assert len(ledger.read_ledger(tmp_path / "claims.csv")) > 600


def test_check_passes_on_what_claims_wrote_and_fails_on_a_changed_verdict(capsys, tmp_path):
    cli.main(["claims", "--results", str(tmp_path)])
    assert cli.main(["claims", "--check", "--results", str(tmp_path)]) == 0
    stored = ledger.read_ledger(tmp_path / "claims.csv")
    stored.loc[stored["id"] == "toy/after/NLL", "verdict"] = "better"
    ledger.write_ledger(stored, tmp_path / "claims.csv")
    assert cli.main(["claims", "--check", "--results", str(tmp_path)]) == 1
    assert "toy/after/NLL: the ledger says 'better', the results say 'match'." in capsys.readouterr().err


def test_check_writes_nothing(tmp_path, capsys):
    assert cli.main(["claims", "--check", "--results", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
    assert "claims.csv" in capsys.readouterr().err


def test_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "clustcal", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: clustcal")


def test_command_line_starts_without_heavy_libraries():
    code = "import clustcal.cli, json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"dask", "distributed", "pooch", "shap", "torch", "tqdm", "transformers", "woodelf", "xgboost"}
    assert heavy.isdisjoint(json.loads(done.stdout))
