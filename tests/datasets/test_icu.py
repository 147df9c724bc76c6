"""The intensive-care readers, on a hospital of three patients and on a file with the columns of WiDS 2020."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clustcal.datasets import icu

# Patient 1 has two admissions; the second (12) has two ICU stays. Patient 2 comes straight to the ICU. Patient 3 has
# a stay of unknown length, and an earlier admission whose end lies before its beginning.
MIMIC = {
    "hosp/patients": """
        subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod
        1,F,60,2150,2011 - 2013,
        2,M,91,2160,2011 - 2013,2160-02-01
        3,F,40,2170,2011 - 2013,
        9,M,30,2100,2011 - 2013,
    """,
    "hosp/admissions": """
        subject_id,hadm_id,admittime,dischtime,admission_type,admission_location,discharge_location,insurance,marital_status,race
        1,11,2150-01-01 10:00:00,2150-01-05 10:00:00,URGENT,PACU,HOME,Medicare,SINGLE,WHITE
        1,12,2152-03-01 08:00:00,2152-03-30 08:00:00,EW EMER.,EMERGENCY ROOM,DIED,Other,,WHITE
        2,21,2160-01-10 12:00:00,2160-01-20 12:00:00,ELECTIVE,PHYSICIAN REFERRAL,HOME,Other,MARRIED,UNKNOWN
        3,30,2169-12-01 00:00:00,2169-11-30 00:00:00,URGENT,PACU,HOME,Other,SINGLE,ASIAN
        3,31,2170-05-01 00:00:00,2170-05-20 00:00:00,URGENT,PACU,HOME,Other,SINGLE,ASIAN
        9,91,2100-01-01 00:00:00,2100-01-02 00:00:00,URGENT,PACU,HOME,Other,SINGLE,ASIAN
    """,
    "hosp/services": """
        subject_id,hadm_id,transfertime,prev_service,curr_service
        1,11,2150-01-01 10:00:00,,MED
        1,12,2152-03-01 08:00:00,,MED
        1,12,2152-03-02 20:00:00,MED,SURG
        2,21,2160-01-10 12:00:00,,CSURG
        2,21,2160-01-11 12:00:00,CSURG,MED
        3,31,2170-05-01 00:00:00,,NSURG
    """,
    "hosp/transfers": """
        subject_id,hadm_id,transfer_id,eventtype,careunit,intime,outtime
        1,,1,ED,Emergency Department,2152-02-20 05:00:00,2152-02-20 09:00:00
        1,12,2,ED,Emergency Department,2152-03-01 05:00:00,2152-03-01 08:00:00
        1,12,3,admit,Medicine,2152-03-01 08:00:00,2152-03-02 08:00:00
        1,12,4,transfer,MICU,2152-03-02 08:00:00,2152-03-08 20:00:00
        1,12,5,transfer,Surgery,2152-03-08 20:00:00,2152-03-10 08:00:00
        1,12,6,transfer,SICU,2152-03-10 08:00:00,2152-03-11 08:00:00
        1,12,7,discharge,,2152-03-30 08:00:00,
        2,21,8,admit,CVICU,2160-01-10 12:00:00,2160-01-15 12:00:00
        3,31,9,admit,MICU,2170-05-01 00:00:00,2170-05-02 00:00:00
        3,31,10,transfer,MICU,2170-05-03 00:00:00,2170-05-09 00:00:00
    """,
    "hosp/diagnoses_icd": """
        subject_id,hadm_id,seq_num,icd_code,icd_version
        1,11,1,4139,9
        1,11,2,V707,9
        1,12,1,41401,9
        3,30,1,I10,10
        3,31,1,I10,10
    """,
    "icu/icustays": """
        subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los
        1,12,300,MICU,MICU,2152-03-02 08:00:00,2152-03-08 20:00:00,6.5
        1,12,100,SICU,SICU,2152-03-10 08:00:00,2152-03-11 08:00:00,1.0
        2,21,200,CVICU,CVICU,2160-01-10 12:00:00,2160-01-15 12:00:00,5.0
        3,31,400,MICU,MICU,2170-05-01 00:00:00,,
        3,31,401,MICU,MICU,2170-05-03 00:00:00,2170-05-09 00:00:00,6.0
    """,
}  # stay_id: 100 (second stay of patient 1), 200, 300 (first stay of patient 1), 400 (left out), 401


def tables(content=MIMIC):
    return {name: "\n".join(line.strip() for line in text.strip().splitlines()) for name, text in content.items()}


@pytest.fixture
def mimic(tmp_path):
    """Write the tables, with changes, and read them."""

    def read(folder=".", ending=".csv.gz", change=lambda name, text: text):
        paths = {}
        for name, text in tables().items():
            path = tmp_path / folder / (name + ending)
            path.parent.mkdir(parents=True, exist_ok=True)
            content = change(name, text).encode()
            path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
            paths[f"{name}.csv.gz"] = path
        return icu.read_mimic_los(paths)

    return read


def test_mimic_has_14_features_and_a_row_per_stay_of_known_length(mimic):
    X, y = mimic()
    assert X.shape == (4, 14)
    assert X.columns.tolist() == icu.MIMIC_FEATURES
    assert len(y) == 4


def test_mimic_target_is_more_than_5_days(mimic):
    _, y = mimic()  # in the order of stay_id: 1.0, 5.0, 6.5 and 6.0 days
    assert_array_equal(y, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("feature", "values"),
    [
        ("age", [62, 91, 62, 40]),
        ("hours_before_icu", [216, 0, 24, 48]),
        ("previous_icu_stays", [1, 0, 0, 1]),
        ("previous_admissions", [1, 0, 1, 0]),
        ("previous_diagnoses", [2, 0, 2, 0]),
        ("gender", ["F", "M", "F", "F"]),
        ("race", ["WHITE", "UNKNOWN", "WHITE", "ASIAN"]),
        ("insurance", ["Other"] * 4),
        ("admission_type", ["EW EMER.", "ELECTIVE", "EW EMER.", "URGENT"]),
        ("admission_location", ["EMERGENCY ROOM", "PHYSICIAN REFERRAL", "EMERGENCY ROOM", "PACU"]),
        ("first_careunit", ["SICU", "CVICU", "MICU", "MICU"]),
        ("service", ["SURG", "CSURG", "MED", "NSURG"]),
        ("previous_unit", ["Surgery", "Direct admission", "Medicine", "MICU"]),
    ],
)
def test_mimic_feature(mimic, feature, values):
    X, _ = mimic()
    assert X[feature].tolist() == values


def test_mimic_reads_an_empty_field_as_missing(mimic):
    X, _ = mimic()
    assert X["marital_status"].isna().tolist() == [True, False, True, False]


def test_mimic_columns_are_numbers_or_categories(mimic):
    X, _ = mimic()
    assert X.select_dtypes("category").columns.tolist() == icu.MIMIC_CATEGORICAL
    assert X.drop(columns=icu.MIMIC_CATEGORICAL).select_dtypes("number").shape[1] == 5


@pytest.mark.parametrize(
    ("table", "later", "other"),
    [
        ("hosp/services", "2160-01-11 12:00:00,CSURG,MED", "2160-01-11 12:00:00,CSURG,PSYCH"),
        ("hosp/transfers", "Surgery,2152-03-08 20:00:00", "Psychiatry,2152-03-12 20:00:00"),
        ("hosp/transfers", "1,12,7,discharge,,2152-03-30 08:00:00,", "1,12,7,transfer,SICU,2152-03-29 08:00:00,"),
        ("hosp/admissions", "2160-01-20 12:00:00", "2160-03-20 12:00:00"),
        ("hosp/admissions", "DIED", "HOME"),
        ("hosp/diagnoses_icd", "1,12,1,41401,9", "1,12,1,41401,9\n1,12,2,4139,9\n2,21,1,4139,9"),
        ("hosp/patients", "2160-02-01", ""),
        ("icu/icustays", "MICU,MICU,2152-03-02", "MICU,SICU,2152-03-02"),
    ],
    ids=["service", "transfer", "discharge", "end", "death", "diagnoses", "date of death", "last unit"],
)
def test_mimic_features_of_a_stay_ignore_what_comes_later(mimic, table, later, other):
    assert later in tables()[table]
    X, _ = mimic()
    changed, _ = mimic(change=lambda name, text: text.replace(later, other) if name == table else text)
    before = [1, 2]  # stays 200 and 300; what changes is later than the beginning of both
    for feature in X:
        assert X[feature][before].tolist() == changed[feature][before].tolist(), feature


def test_mimic_does_not_count_an_admission_as_its_own_history(mimic):
    # A discharge recorded too early, before the second ICU stay of that admission begins.
    X, _ = mimic(change=lambda name, text: text.replace("2152-03-30 08:00:00,EW", "2152-03-09 08:00:00,EW"))
    assert X["previous_admissions"].tolist() == [1, 0, 1, 0]
    assert X["previous_diagnoses"].tolist() == [2, 0, 2, 0]


def test_mimic_reads_plain_csv_alike(mimic):
    pd.testing.assert_frame_equal(mimic(ending=".csv")[0], mimic()[0])


def test_mimic_reads_the_former_name_of_race(mimic):
    X, _ = mimic(change=lambda name, text: text.replace(",race", ",ethnicity"))
    assert X["race"].tolist() == ["WHITE", "UNKNOWN", "WHITE", "ASIAN"]


def test_mimic_does_not_depend_on_the_order_of_rows(mimic):
    def reverse(name, text):
        header, *rows = text.splitlines()
        return "\n".join([header, *reversed(rows)])

    pd.testing.assert_frame_equal(mimic(change=reverse)[0], mimic()[0])


def test_mimic_names_a_column_that_is_not_there(mimic):
    with pytest.raises(ValueError, match=r"services\.csv\.gz has no column 'curr_service'"):
        mimic(change=lambda name, text: text.replace("curr_service", "service_now"))


# ------------------------------------------------------------------------------------------------------- WiDS 2020


# The columns of training_v2.csv: before and after the lowest and highest values of the first hour and the first day.
WIDS_BEFORE = """
    encounter_id patient_id hospital_id hospital_death age bmi elective_surgery ethnicity gender height
    hospital_admit_source icu_admit_source icu_id icu_stay_type icu_type pre_icu_los_days readmission_status weight
    albumin_apache apache_2_diagnosis apache_3j_diagnosis apache_post_operative arf_apache bilirubin_apache
    bun_apache creatinine_apache fio2_apache gcs_eyes_apache gcs_motor_apache gcs_unable_apache gcs_verbal_apache
    glucose_apache heart_rate_apache hematocrit_apache intubated_apache map_apache paco2_apache
    paco2_for_ph_apache pao2_apache ph_apache resprate_apache sodium_apache temp_apache urineoutput_apache
    ventilated_apache wbc_apache
"""
WIDS_MEASURED = """
    diasbp_invasive diasbp diasbp_noninvasive heartrate mbp_invasive mbp mbp_noninvasive resprate spo2
    sysbp_invasive sysbp sysbp_noninvasive temp albumin bilirubin bun calcium creatinine glucose hco3 hemaglobin
    hematocrit inr lactate platelets potassium sodium wbc arterial_pco2 arterial_ph arterial_po2 pao2fio2ratio
"""
WIDS_AFTER = """
    apache_4a_hospital_death_prob apache_4a_icu_death_prob aids cirrhosis diabetes_mellitus hepatic_failure
    immunosuppression leukemia lymphoma solid_tumor_with_metastasis apache_3j_bodysystem apache_2_bodysystem
"""


def wids_columns():
    measured = WIDS_MEASURED.split()
    ranges = [f"{span}_{name}_{end}" for span in ("d1", "h1") for name in measured for end in ("max", "min")]
    return [*WIDS_BEFORE.split(), *ranges, *WIDS_AFTER.split()]


TEXT = ["ethnicity", "gender", "hospital_admit_source", "icu_admit_source", "icu_stay_type", "icu_type",
        "apache_3j_bodysystem", "apache_2_bodysystem"]  # fmt: skip


@pytest.fixture
def wids_file(tmp_path):
    """A file with the columns of WiDS and four rows, by default of ones."""

    def write(**columns):
        frame = pd.DataFrame(1.0, index=range(4), columns=wids_columns()).astype(dict.fromkeys(TEXT, object))
        frame[TEXT] = "some"
        frame["hospital_death"] = [0, 1, 0, 1]
        path = tmp_path / "training_v2.csv"
        frame.assign(**columns).to_csv(path, index=False)
        return {"training_v2.csv": path}

    return write


def test_the_schema_has_the_186_columns_that_the_paper_counts():
    assert len(wids_columns()) == len(set(wids_columns())) == 186


def test_wids_drops_the_target_and_four_identifiers(wids_file):
    X, y = icu.read_wids(wids_file())
    assert_array_equal(y, [0, 1, 0, 1])
    assert X.shape == (4, 181)
    dropped = set(wids_columns()) - set(X.columns)
    assert dropped == {"hospital_death", "encounter_id", "patient_id", "hospital_id", "icu_id"}


@pytest.mark.parametrize("mark", ["", "NA"])
def test_wids_reads_empty_and_NA_as_missing(wids_file, mark):
    X, _ = icu.read_wids(wids_file(age=[40, mark, 50, 60], ethnicity=["Asian", "Asian", mark, "Asian"]))
    assert_array_equal(X["age"], [40, np.nan, 50, 60])
    assert X["ethnicity"].isna().tolist() == [False, False, True, False]


def test_wids_reads_text_and_diagnosis_codes_as_categories(wids_file):
    X, _ = icu.read_wids(wids_file(apache_3j_diagnosis=[502.01, 203.01, 502.01, 1206.03]))
    assert set(X.select_dtypes("category")) == {*TEXT, "apache_2_diagnosis", "apache_3j_diagnosis"}
    assert X["apache_3j_diagnosis"].tolist() == ["502.01", "203.01", "502.01", "1206.03"]
    assert X.select_dtypes("number").shape[1] == 181 - 10


def test_wids_reads_a_forecast_of_minus_one_as_missing(wids_file):
    X, _ = icu.read_wids(wids_file(apache_4a_hospital_death_prob=[0.1, -1, 0.0, ""]))
    assert_allclose(X["apache_4a_hospital_death_prob"], [0.1, np.nan, 0.0, np.nan])


def test_wids_refuses_the_unlabelled_file(wids_file):
    paths = wids_file()
    frame = pd.read_csv(paths["training_v2.csv"]).drop(columns="hospital_death")
    frame.to_csv(paths["training_v2.csv"], index=False)
    with pytest.raises(ValueError, match="has no column 'hospital_death'"):
        icu.read_wids(paths)
