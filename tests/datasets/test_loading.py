"""`load` and `list_datasets`: one call, one form, counts that are checked."""

import csv
import gzip
import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from clustcal.datasets import list_datasets, load, registry

loading = import_module("clustcal.datasets.loading")
OPEN = [
    "adult", "bank_marketing", "credit_approval", "credit_card_default", "diabetes130", "diabetes130-any",
    "diabetes130-los", "stroke", "support2", "mimic-los-demo",
]  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    """Let `load("stroke")` read a frame of three rows."""

    def toy(**expected):
        X = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": pd.Categorical(["u", "v", "u"])})
        dataset = replace(registry.get_dataset("stroke"), **expected)
        monkeypatch.setattr(registry, "get_dataset", lambda name: dataset)
        monkeypatch.setattr(loading, "fetch", lambda name: {})
        monkeypatch.setitem(loading.READERS, "stroke", lambda paths: (X, np.array([0, 1, 1])))
        return X

    return toy


def test_importing_the_package_imports_neither_pooch_nor_tqdm():
    code = "import sys, clustcal.datasets; print([m for m in ('pooch', 'tqdm', 'requests') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_registered_data_set_has_a_reader():
    assert set(loading.READERS) == set(registry.dataset_names())


def test_a_bunch_says_everything(toy):
    X = toy(rows=3, features=2, positives=2)
    data = load("stroke")
    assert data.X is data.data is X
    assert data.target is data.y
    assert_array_equal(data.y, [0, 1, 1])
    assert data.categorical == ["b"]
    assert data.target_name == "stroke"
    assert data.name == "stroke"
    assert data.source.startswith("https://www.kaggle.com/")
    assert "educational use" in data.licence
    assert data.title
    assert data.description
    assert data.citation


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"rows": 4, "features": 2, "positives": 2}, "3 rows instead of 4"),
        ({"rows": 3, "features": 5, "positives": 2}, "2 features instead of 5"),
        ({"rows": 3, "features": 2, "positives": 1000}, "2 positives instead of 1,000"),
    ],
    ids=["rows", "features", "positives"],
)
def test_other_counts_than_registered_are_refused(toy, expected, said):
    toy(**expected)
    with pytest.raises(ValueError, match=f"'stroke' are not the expected ones: {said}"):
        load("stroke")


def test_counts_that_are_not_fixed_are_not_checked(toy):
    toy(rows=None, features=2, positives=None)
    assert len(load("stroke").y) == 3


@pytest.mark.parametrize("name", ["titanic", "", None, 7])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=r"is not a known data set; expected one of adult, .*, wids"):
        load(name)


def test_demo_belongs_to_mimic_only():
    with pytest.raises(ValueError, match=r"demo=True was given for 'adult'; expected it only for 'mimic-los'"):
        load("adult", demo=True)


@pytest.mark.parametrize("demo", [None, False])
def test_without_mimic_the_error_says_where_to_ask_and_put_it(empty_folder, demo):
    with pytest.raises(FileNotFoundError) as error:
        load("mimic-los", demo=demo)
    assert "https://physionet.org/content/mimiciv/" in str(error.value)
    assert str(empty_folder / "mimic_iv" / "icu" / "icustays.csv.gz") in str(error.value)


def test_without_wids_the_error_says_where_to_ask_and_put_it(empty_folder):
    with pytest.raises(FileNotFoundError) as error:
        load("wids")
    assert "https://physionet.org/content/widsdatathon2020/" in str(error.value)
    assert "https://www.kaggle.com/competitions/widsdatathon2020" in str(error.value)
    assert str(empty_folder / "wids" / "training_v2.csv") in str(error.value)


def test_the_list_holds_every_data_set_with_its_counts(empty_folder):
    table = list_datasets()
    assert table.index.tolist() == registry.dataset_names()
    assert table.loc["adult", ["rows", "features", "positives"]].tolist() == [48842, 14, 11687]
    assert table.loc["mimic-los", ["rows", "positives"]].isna().all()
    assert not table["available"].any()


def test_the_list_sees_a_users_own_copy(empty_folder):
    (empty_folder / "wids").mkdir(parents=True)
    (empty_folder / "wids" / "training_v2.csv").write_text("anything")
    assert list_datasets()["available"].pipe(lambda column: column[column].index.tolist()) == ["wids"]


# ------------------------------------------------------------------------------------------------ on the raw data


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows", "features", "positives"),
    [
        ("adult", 48_842, 14, 11_687),
        ("bank_marketing", 45_211, 15, 5_289),
        ("credit_approval", 690, 15, 307),
        ("credit_card_default", 30_000, 23, 6_636),
        ("diabetes130", 101_766, 47, 11_357),
        ("diabetes130-any", 101_766, 47, 11_357 + 35_545),
        ("diabetes130-los", 101_766, 12, 28_688),
        ("stroke", 5_110, 10, 249),
        ("support2", 9_105, 30, 2_360),
        ("mimic-los-demo", 140, 14, 31),
    ],
)
def test_published_counts(raw_data, name, rows, features, positives):
    data = load(name)
    assert data.X.shape == (rows, features)
    assert data.y.sum() == positives


@pytest.mark.data
@pytest.mark.parametrize("name", OPEN)
def test_labels_are_0_and_1(raw_data, name):
    y = load(name).y
    assert y.dtype == np.int64
    assert np.unique(y).tolist() == [0, 1]


@pytest.mark.data
@pytest.mark.parametrize("name", OPEN)
def test_columns_are_numbers_or_categories_of_text(raw_data, name):
    data = load(name)
    numbers = data.X.select_dtypes("number").columns
    assert set(numbers).isdisjoint(data.categorical)
    assert len(numbers) + len(data.categorical) == data.X.shape[1]
    for column in data.categorical:
        assert all(isinstance(category, str) and category for category in data.X[column].cat.categories)


@pytest.mark.data
@pytest.mark.parametrize("name", ["adult", "support2", "mimic-los-demo"])
def test_the_papers_preprocessing_runs_on_a_bunch(raw_data, name):
    data = load(name)
    encode = make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder(), StandardScaler())
    scale = make_pipeline(SimpleImputer(strategy="most_frequent"), StandardScaler())
    numbers = data.X.columns.drop(data.categorical)
    Z = make_column_transformer((encode, data.categorical), (scale, numbers)).fit_transform(data.X)
    assert Z.shape == data.X.shape
    assert np.isfinite(Z).all()


@pytest.mark.data
def test_missing_values_are_those_of_the_published_descriptions(raw_data):
    assert load("adult").X.isna().any(axis=1).sum() == 3_620
    missing = load("credit_approval").X.isna().sum()
    assert missing[missing > 0].to_dict() == {"A1": 12, "A2": 12, "A4": 6, "A5": 6, "A6": 9, "A7": 9, "A14": 13}
    assert load("stroke").X["bmi"].isna().sum() == 201


@pytest.mark.data
def test_length_of_stay_agrees_with_a_plain_count_of_the_rows(raw_data):
    with zipfile.ZipFile(raw_data / "diabetes130" / "dataset_diabetes.zip") as archive:
        text = io.TextIOWrapper(archive.open("dataset_diabetes/diabetic_data.csv"))
        long_stays = [int(row["time_in_hospital"]) > 5 for row in csv.DictReader(text)]
    assert_array_equal(load("diabetes130-los").y, long_stays)


@pytest.mark.data
def test_the_demo_agrees_with_a_plain_count_of_the_stays(raw_data):
    with gzip.open(raw_data / "mimic_iv_demo" / "icu" / "icustays.csv.gz", "rt") as text:
        stays = sorted(csv.DictReader(text), key=lambda row: int(row["stay_id"]))
    data = load("mimic-los-demo")
    assert_array_equal(data.y, [float(row["los"]) > 5 for row in stays])
    assert data.X["first_careunit"].tolist() == [row["first_careunit"] for row in stays]


@pytest.mark.data
def test_demo_is_what_it_was_asked_for(raw_data):
    data = load("mimic-los", demo=True)
    assert data.name == "mimic-los-demo"
    assert len(data.y) == 140


@pytest.mark.data
def test_the_demo_stands_in_for_mimic_only_with_a_warning(raw_data, tmp_path, monkeypatch):
    (tmp_path / "mimic_iv_demo").symlink_to(raw_data / "mimic_iv_demo")
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    with pytest.warns(UserWarning, match="loading the open demo of 140 ICU stays instead"):
        assert load("mimic-los").name == "mimic-los-demo"


@pytest.mark.data
@pytest.mark.filterwarnings("error")
def test_a_full_copy_is_preferred_to_the_demo(raw_data, tmp_path, monkeypatch):
    (tmp_path / "mimic_iv_demo").symlink_to(raw_data / "mimic_iv_demo")
    (tmp_path / "mimic_iv").symlink_to(raw_data / "mimic_iv_demo")  # the demo has the layout of the full set
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    assert load("mimic-los").name == "mimic-los"


@pytest.mark.data
def test_an_unpacked_copy_reads_like_the_packed_one(raw_data, tmp_path, monkeypatch):
    for packed in (raw_data / "mimic_iv_demo").rglob("*.csv.gz"):
        plain = tmp_path / "mimic_iv" / packed.parent.name / packed.stem
        plain.parent.mkdir(parents=True, exist_ok=True)
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
    packed = load("mimic-los-demo")
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    plain = load("mimic-los", demo=False)
    pd.testing.assert_frame_equal(plain.X, packed.X)
    assert_array_equal(plain.y, packed.y)
