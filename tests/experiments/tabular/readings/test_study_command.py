"""The command of the studies of readings: its options, its name and its last word."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from clustcal.experiments.tabular.readings import cluster_tables, own_local_errors, reading_study
from clustcal.experiments.tabular.readings.study_command import say_outcome, study_parser


def test_options_have_defaults_and_are_read():
    parser = study_parser("package.module", "What it does.")
    assert vars(parser.parse_args([])) == {"jobs": 1, "results": Path("results")}
    assert vars(parser.parse_args(["--jobs", "2", "--results", "here"])) == {"jobs": 2, "results": Path("here")}


def test_data_sets_can_be_chosen_and_others_are_refused_by_name(capsys):
    parser = study_parser("package.module", "What it does.", ("adult", "stroke"))
    assert parser.parse_args([]).datasets == ["adult", "stroke"]
    assert parser.parse_args(["--datasets", "stroke"]).datasets == ["stroke"]
    with pytest.raises(SystemExit):
        parser.parse_args(["--datasets", "adlut"])
    assert "'adlut' (choose from" in capsys.readouterr().err


def test_the_last_word_counts_units_and_names_the_folder(capsys):
    say_outcome(SimpleNamespace(done=3, complete=4), SimpleNamespace(folder=Path("results") / "readings"))
    said = capsys.readouterr().out
    assert said == f"3 units computed, 4 were there already: {Path('results') / 'readings'}\n"


@pytest.mark.parametrize("module", [cluster_tables, own_local_errors, reading_study])
def test_help_names_the_command_as_it_is_called(module, capsys):
    with pytest.raises(SystemExit):
        module.main(["--help"])
    said = capsys.readouterr().out
    assert said.split()[:4] == ["usage:", "python", "-m", module.__name__]
    assert "--jobs N" in said
