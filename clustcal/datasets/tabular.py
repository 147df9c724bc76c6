"""Read the raw files of the tabular data sets: Adult, Bank Marketing, the two credit sets, Diabetes 130, Stroke,
SUPPORT2.

Each reader takes the paths that `fetch` returns and gives a frame of features and a 0/1 array. What is dropped, and
why, is said in the registry. Every column is a number, with NaN where a value is missing, or categorical.
"""

from collections import defaultdict
from zipfile import ZipFile

import numpy as np
import pandas as pd

ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
ADULT_CATEGORICAL = [
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
]  # fmt: skip

BANK_CATEGORICAL = ["job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome"]

CREDIT_APPROVAL_COLUMNS = [f"A{i}" for i in range(1, 17)]
CREDIT_APPROVAL_CATEGORICAL = ["A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13"]

CREDIT_CARD_CATEGORICAL = ["SEX", "EDUCATION", "MARRIAGE"]

DIABETES_TABLE = "dataset_diabetes/diabetic_data.csv"
DIABETES_IDENTIFIERS = ["encounter_id", "patient_nbr"]
DIABETES_NUMERIC = [
    "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_outpatient",
    "number_emergency", "number_inpatient", "number_diagnoses",
]  # fmt: skip
DIABETES_AT_ADMISSION = [
    "race", "gender", "age", "weight", "admission_type_id", "admission_source_id", "payer_code", "medical_specialty",
    "number_outpatient", "number_emergency", "number_inpatient", "diag_1",
]  # fmt: skip
LONG_STAY = 5  # days; a long stay has more

STROKE_CATEGORICAL = ["gender", "ever_married", "work_type", "Residence_type", "smoking_status"]

SUPPORT2_CATEGORICAL = ["sex", "dzgroup", "dzclass", "income", "race", "ca"]
SUPPORT2_KNOWN_LATER = [
    "death", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst", "sfdm2", "dnr", "dnrday",
]  # fmt: skip
SUPPORT2_FORECASTS = ["aps", "sps", "surv2m", "surv6m", "prg2m", "prg6m"]


def read_adult(paths):
    """Adult: both files of the original split, in order."""
    read = {"header": None, "names": ADULT_COLUMNS, "skipinitialspace": True, **_missing("?")}
    # The second file starts with a line of its own and ends its labels in a full stop.
    frame = pd.concat(
        [pd.read_csv(paths["adult.data"], **read), pd.read_csv(paths["adult.test"], skiprows=1, **read)],
        ignore_index=True,
    )
    return _split(frame, "income", lambda income: income.str.rstrip(".") == ">50K", ADULT_CATEGORICAL)


def read_credit_approval(paths):
    """Credit Approval: masked names and values, the decision in the last column."""
    frame = pd.read_csv(paths["crx.data"], header=None, names=CREDIT_APPROVAL_COLUMNS, **_missing("?"))
    return _split(frame, "A16", lambda decision: decision == "+", CREDIT_APPROVAL_CATEGORICAL)


def read_credit_card_default(paths):
    """Default of credit card clients: codes become categories, the running number goes."""
    frame = pd.read_csv(paths["UCI_Credit_Card.csv"], dtype=dict.fromkeys(CREDIT_CARD_CATEGORICAL, str))
    frame = frame.drop(columns="ID")
    return _split(frame, "default.payment.next.month", lambda default: default == 1, CREDIT_CARD_CATEGORICAL)


def read_diabetes130(paths):
    """Diabetes 130, readmission within 30 days."""
    frame, categorical = _diabetes(paths)
    return _split(frame, "readmitted", lambda readmitted: readmitted == "<30", categorical)


def read_diabetes130_any(paths):
    """Diabetes 130, readmission at any time: the other target that is usual for these data."""
    frame, categorical = _diabetes(paths)
    return _split(frame, "readmitted", lambda readmitted: readmitted != "NO", categorical)


def read_diabetes130_los(paths):
    """Diabetes 130, more than 5 days in hospital, from what is known at admission."""
    frame, categorical = _diabetes(paths)
    frame = frame[[*DIABETES_AT_ADMISSION, "time_in_hospital"]]
    categorical = [column for column in categorical if column in DIABETES_AT_ADMISSION]
    return _split(frame, "time_in_hospital", lambda days: days > LONG_STAY, categorical)


def read_bank_marketing(paths):
    """Bank Marketing, without the length of the call that ends in the answer."""
    (path,) = paths.values()
    frame = pd.read_csv(path, sep=";" if path.name == "bank-full.csv" else ",", **_missing(""))
    return _split(frame.drop(columns="duration"), "y", lambda answer: answer == "yes", BANK_CATEGORICAL)


def read_stroke(paths):
    """Stroke: `N/A` in bmi is missing, `Unknown` in smoking_status is a value."""
    frame = pd.read_csv(paths["healthcare-dataset-stroke-data.csv"], **_missing("N/A"))
    return _split(frame.drop(columns="id"), "stroke", lambda stroke: stroke == 1, STROKE_CATEGORICAL)


def read_support2(paths):
    """SUPPORT2: death in hospital from what is known on day 3, without the forecasts of others."""
    frame = pd.read_csv(paths["support2.csv"], skipinitialspace=True, **_missing(""))
    frame = frame.drop(columns=SUPPORT2_KNOWN_LATER + SUPPORT2_FORECASTS)
    return _split(frame, "hospdead", lambda dead: dead == 1, SUPPORT2_CATEGORICAL)


def _missing(mark):
    # Only the file's own mark: pandas would also take 'None' or 'NA' for missing, which are values in some files.
    return {"na_values": [mark], "keep_default_na": False}


def _split(frame, target, is_positive, categorical):
    """Features with their categories, and the 0/1 target."""
    y = is_positive(frame[target]).to_numpy(dtype=np.int64)
    return frame.drop(columns=target).astype(dict.fromkeys(categorical, "category")), y


def _diabetes(paths):
    """The encounters without identifiers, and the names of the categorical columns."""
    types = defaultdict(lambda: str, dict.fromkeys(DIABETES_NUMERIC, "int64"))  # codes are text, not numbers
    columns = lambda column: column not in DIABETES_IDENTIFIERS
    with ZipFile(paths["dataset_diabetes.zip"]) as archive, archive.open(DIABETES_TABLE) as table:
        frame = pd.read_csv(table, usecols=columns, dtype=types, **_missing("?"))
    return frame, [column for column in frame if column not in (*DIABETES_NUMERIC, "readmitted")]
