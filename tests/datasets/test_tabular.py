"""The readers of the tabular sets, on files of a few rows whose right reading is plain to see."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clustcal.datasets import tabular

DIABETES_HEADER = (
    "encounter_id,patient_nbr,race,gender,age,weight,admission_type_id,discharge_disposition_id,admission_source_id,"
    "time_in_hospital,payer_code,medical_specialty,num_lab_procedures,num_procedures,num_medications,number_outpatient,"
    "number_emergency,number_inpatient,diag_1,diag_2,diag_3,number_diagnoses,max_glu_serum,A1Cresult,insulin,change,"
    "diabetesMed,readmitted"
)  # the drug columns but one are left out
DIABETES_ROWS = [
    "1,11,?,Female,[0-10),?,6,25,1,1,?,?,41,0,1,0,0,0,250.83,?,?,1,None,None,No,No,No,NO",
    "2,12,Caucasian,Male,[10-20),[75-100),1,1,7,6,MC,Cardiology,59,0,18,2,1,3,276,250,255,9,>200,>8,Up,Ch,Yes,<30",
    "3,12,Asian,Male,[70-80),?,1,11,7,5,MC,?,11,5,13,0,0,0,V57,250,255,6,None,Norm,Steady,No,Yes,>30",
]

SUPPORT2 = {
    "age": " 62.8", "death": "0", "sex": "male", "hospdead": "0", "slos": "  5", "d.time": "2029",
    "dzgroup": "Lung Cancer", "dzclass": "Cancer", "num.co": "0", "edu": "11", "income": "$11-$25k",
    "scoma": "  0", "charges": "  9715.0", "totcst": "", "totmcst": "", "avtisst": " 7.0", "race": "other",
    "sps": "33.9", "aps": " 20", "surv2m": "0.26", "surv6m": "0.04", "hday": "  1", "diabetes": "0",
    "dementia": "0", "ca": "metastatic", "prg2m": "0.5", "prg6m": "2.5e-01", "dnr": "no dnr", "dnrday": "  5",
    "meanbp": " 97.0", "wblc": "  6.0", "hrt": " 69", "resp": "22", "temp": "36.0", "pafi": "388.0",
    "alb": " 1.8", "bili": " 0.2", "crea": " 1.2", "sod": "141", "ph": "7.46", "glucose": "", "bun": "",
    "urine": "", "adlp": " 7", "adls": " 7", "sfdm2": "", "adlsc": "7.0",
}  # fmt: skip


def write(path, *lines):
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def adult(tmp_path):
    person = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Own-child, White, Male, 2174, 0, 40, Cuba, "
    )
    train = [person + "<=50K", person + ">50K", person.replace("Cuba", "?") + ">50K", ""]
    test = ["|1x3 Cross validator", person + ">50K.", person + "<=50K.", ""]
    paths = {
        "adult.data": write(tmp_path / "adult.data", *train),
        "adult.test": write(tmp_path / "adult.test", *test),
    }
    return tabular.read_adult(paths)


@pytest.fixture
def diabetes(tmp_path):
    path = tmp_path / "dataset_diabetes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("dataset_diabetes/diabetic_data.csv", "\n".join([DIABETES_HEADER, *DIABETES_ROWS]))
    return {"dataset_diabetes.zip": path}


def test_adult_joins_both_files_and_both_spellings_of_the_label(adult):
    X, y = adult
    assert X.shape == (5, 14)
    assert_array_equal(y, [0, 1, 1, 1, 0])


def test_adult_reads_question_marks_as_missing(adult):
    X, _ = adult
    assert X["native-country"].isna().tolist() == [False, False, True, False, False]
    assert X["native-country"].cat.categories.tolist() == ["Cuba"]


def test_adult_keeps_numbers_as_numbers(adult):
    X, _ = adult
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    assert X.select_dtypes("number").columns.tolist() == numbers
    assert X.loc[0, numbers].tolist() == [39, 77516, 13, 2174, 0, 40]


def test_credit_approval(tmp_path):
    rows = ["b,30.83,0,u,g,w,v,1.25,t,t,01,f,g,00202,0,+", "a,?,4.46,?,g,q,h,3.04,t,f,06,f,g,?,560,-"]
    X, y = tabular.read_credit_approval({"crx.data": write(tmp_path / "crx.data", *rows)})
    assert_array_equal(y, [1, 0])
    assert X.columns.tolist() == [f"A{i}" for i in range(1, 16)]
    assert X.select_dtypes("number").columns.tolist() == ["A2", "A3", "A8", "A11", "A14", "A15"]
    assert_array_equal(X["A14"], [202, np.nan])
    assert X["A4"].isna().tolist() == [False, True]


def test_credit_card_default_drops_the_number_and_reads_codes_as_categories(tmp_path):
    header = '"ID","LIMIT_BAL","SEX","EDUCATION","MARRIAGE","AGE","PAY_0","default.payment.next.month"'
    path = write(tmp_path / "card.csv", header, "1,20000,2,2,1,24,-2,1", "2,120000,1,3,2,26,0,0")
    X, y = tabular.read_credit_card_default({"UCI_Credit_Card.csv": path})
    assert_array_equal(y, [1, 0])
    assert X.columns.tolist() == ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0"]
    assert X.select_dtypes("category").columns.tolist() == ["SEX", "EDUCATION", "MARRIAGE"]
    assert X["SEX"].tolist() == ["2", "1"]


def test_diabetes_readmission_counts_only_the_first_30_days(diabetes):
    _, y = tabular.read_diabetes130(diabetes)
    assert_array_equal(y, [0, 1, 0])


def test_diabetes_keeps_all_but_identifiers_and_target(diabetes):
    X, _ = tabular.read_diabetes130(diabetes)
    dropped = set(DIABETES_HEADER.split(",")) - set(X.columns)
    assert dropped == {"encounter_id", "patient_nbr", "readmitted"}


def test_diabetes_reads_a_test_not_made_as_a_value(diabetes):
    X, _ = tabular.read_diabetes130(diabetes)
    assert X["max_glu_serum"].tolist() == ["None", ">200", "None"]


def test_diabetes_reads_question_marks_as_missing_and_codes_as_categories(diabetes):
    X, _ = tabular.read_diabetes130(diabetes)
    assert X["race"].isna().tolist() == [True, False, False]
    assert X["discharge_disposition_id"].tolist() == ["25", "1", "11"]
    assert X["diag_1"].tolist() == ["250.83", "276", "V57"]


def test_diabetes_any_readmission_is_positive(diabetes):
    X, y = tabular.read_diabetes130_any(diabetes)
    pd.testing.assert_frame_equal(X, tabular.read_diabetes130(diabetes)[0])
    assert (y >= tabular.read_diabetes130(diabetes)[1]).all()
    assert_array_equal(y, [0, 1, 1])


def test_diabetes_length_of_stay_is_positive_above_5_days(diabetes):
    _, y = tabular.read_diabetes130_los(diabetes)  # 1, 6 and 5 days
    assert_array_equal(y, [0, 1, 0])


def test_diabetes_length_of_stay_has_nothing_that_the_stay_decides(diabetes):
    X, _ = tabular.read_diabetes130_los(diabetes)
    assert X.columns.tolist() == [
        "race", "gender", "age", "weight", "admission_type_id", "admission_source_id", "payer_code",
        "medical_specialty", "number_outpatient", "number_emergency", "number_inpatient", "diag_1",
    ]  # fmt: skip


def test_stroke_tells_missing_from_unknown(tmp_path):
    header = (
        "id,gender,age,hypertension,heart_disease,ever_married,work_type,Residence_type,avg_glucose_level,bmi,"
        "smoking_status,stroke"
    )
    rows = [
        "9046,Male,67,0,1,Yes,Private,Urban,228.69,36.6,Unknown,1",
        "51676,Female,0.5,0,0,No,children,Rural,202.21,N/A,smokes,0",
    ]
    X, y = tabular.read_stroke({"healthcare-dataset-stroke-data.csv": write(tmp_path / "stroke.csv", header, *rows)})
    assert_array_equal(y, [1, 0])
    assert "id" not in X
    assert X.shape[1] == 10
    assert_array_equal(X["bmi"], [36.6, np.nan])
    assert X["smoking_status"].tolist() == ["Unknown", "smokes"]


def test_support2_has_nothing_known_after_day_3(tmp_path):
    rows = [
        ",".join(SUPPORT2),
        ",".join(SUPPORT2.values()),
        ",".join({**SUPPORT2, "hospdead": "1", "race": ""}.values()),
    ]
    X, y = tabular.read_support2({"support2.csv": write(tmp_path / "support2.csv", *rows)})
    assert_array_equal(y, [0, 1])
    assert set(SUPPORT2) - set(X.columns) == {
        "hospdead", "death", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst", "sfdm2", "dnr", "dnrday",
        "aps", "sps", "surv2m", "surv6m", "prg2m", "prg6m",
    }  # fmt: skip


def test_support2_reads_padded_numbers_and_empty_fields(tmp_path):
    rows = [",".join(SUPPORT2), ",".join({**SUPPORT2, "race": ""}.values())]
    X, _ = tabular.read_support2({"support2.csv": write(tmp_path / "support2.csv", *rows)})
    assert X.loc[0, ["age", "meanbp", "alb"]].tolist() == [62.8, 97.0, 1.8]
    assert X.loc[0, ["glucose", "race"]].isna().all()
    assert pd.api.types.is_float_dtype(X["urine"])


@pytest.mark.parametrize(("name", "separator"), [("bank-full.csv", ";"), ("bank-full.csv.xz", ",")])
def test_bank_marketing_drops_the_length_of_the_call_and_keeps_unknown(tmp_path, name, separator):
    columns = "age,job,marital,education,default,balance,housing,loan,contact,day,month,duration,campaign,pdays"
    lines = [
        columns + ",previous,poutcome,y",
        "58,management,married,tertiary,no,2143,yes,no,unknown,5,may,261,1,-1,0,unknown,no",
        "44,admin.,single,secondary,no,29,yes,no,cellular,5,may,151,1,90,2,success,yes",
    ]
    pd.DataFrame([line.split(",") for line in lines]).to_csv(tmp_path / name, sep=separator, index=False, header=False)
    X, y = tabular.read_bank_marketing({name: tmp_path / name})
    assert_array_equal(y, [0, 1])
    assert X.shape == (2, 15)
    assert "duration" not in X
    assert X["contact"].tolist() == ["unknown", "cellular"]
    assert X["contact"].dtype == "category"
    assert X["pdays"].tolist() == [-1, 90]
