"""Tables that are measured beside the study can be stopped, and go on."""

import pytest

from clustcal.experiments.deep import measured


class TestExtend:
    def test_what_was_stopped_goes_on_after_the_last_whole_unit(self, tmp_path):
        units = [{"name": name, "seed": seed} for name in "ab" for seed in (0, 1)]
        calls = []

        def compute(unit):
            calls.append(tuple(unit.values()))
            if len(calls) == 3:
                raise KeyboardInterrupt
            return [{"k": k, "value": unit["seed"] / 3} for k in (1, 2)]

        path = tmp_path / "deep" / "table.csv"
        with pytest.raises(KeyboardInterrupt):
            measured.extend(path, units, compute, progress=False)
        assert len(measured.read(path)) == 4
        assert measured.extend(path, units, compute, progress=False) == 2
        assert calls == [("a", 0), ("a", 1), ("b", 0), ("b", 0), ("b", 1)]
        assert measured.read(path)["value"].tolist() == pytest.approx([0, 0, 1 / 3, 1 / 3] * 2, abs=1e-6)

    def test_numbers_of_units_are_known_again(self, tmp_path):
        units = [{"name": "a", "shrinkage": 1.0}, {"name": "b", "shrinkage": 0.05}]
        compute = lambda unit: [{"value": 0}]
        assert measured.extend(tmp_path / "table.csv", units[:1], compute, progress=False) == 1
        assert measured.extend(tmp_path / "table.csv", units, compute, progress=False) == 1
        assert measured.extend(tmp_path / "table.csv", units, compute, progress=False) == 0

    def test_without_a_file_the_table_is_empty(self, tmp_path):
        assert measured.read(tmp_path / "nothing.csv").empty


def test_the_command_extends_a_table_by_the_units_of_the_names(tmp_path, capsys):
    path = tmp_path / "lengths.csv"
    find = lambda names: [{"name": name} for name in names or ["default"]]
    length = lambda unit: [{"length": len(unit["name"])}]
    for arguments in (["ab", "abc"], []):
        measured.run_command("Lengths.", path, find, length, arguments, names="some names")
    assert measured.read(path).to_dict("list") == {"name": ["ab", "abc", "default"], "length": [2, 3, 7]}
    elsewhere = tmp_path / "elsewhere.csv"
    measured.run_command("Lengths.", path, find, length, ["--to", str(elsewhere)])
    assert capsys.readouterr().out.splitlines()[-1] == f"1 units measured: {elsewhere}"
    with pytest.raises(SystemExit):
        measured.run_command("Lengths.", path, find, length, ["ab"])  # without ``names`` it takes none
