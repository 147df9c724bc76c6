"""Read the intensive-care data sets, which a user brings: MIMIC-IV (also its open demo) and the WiDS Datathon 2020.

The 14 features of ``mimic-los`` are what is known at the moment a stay in intensive care begins:

====================== ==================== =====================================================================
feature                table                what it is
====================== ==================== =====================================================================
age                    patients             years; from an anchor age that MIMIC sets to 91 above 89
gender                 patients
race                   admissions           as recorded (``ethnicity`` in releases before 2.0)
marital_status         admissions
insurance              admissions
admission_type         admissions           urgency and kind of the hospital admission
admission_location     admissions           where the patient was before the hospital
first_careunit         icustays             the unit that the patient enters
service                services             the service in charge at that moment
previous_unit          transfers            where in the hospital the patient was just before
hours_before_icu       admissions, icustays hours from hospital admission to ICU admission (can be just below 0)
previous_icu_stays     icustays             earlier ICU stays of the patient, of this or another admission
previous_admissions    admissions           hospital admissions of the patient that had ended before this one began
previous_diagnoses     diagnoses_icd        diagnosis codes of the last of these; 0 if there is none
====================== ==================== =====================================================================

Nothing comes from later: not the last unit, the discharge, a death, or the diagnoses of the current admission, which
are coded at its end. One doubt remains: MIMIC gives one admission_type per admission, and for a patient under
observation it may have been settled after the first hours.
"""

import numpy as np
import pandas as pd

MIMIC_FEATURES = [
    "age", "gender", "race", "marital_status", "insurance", "admission_type", "admission_location", "first_careunit",
    "service", "previous_unit", "hours_before_icu", "previous_icu_stays", "previous_admissions", "previous_diagnoses",
]  # fmt: skip
MIMIC_CATEGORICAL = [
    "gender", "race", "marital_status", "insurance", "admission_type", "admission_location", "first_careunit",
    "service", "previous_unit",
]  # fmt: skip
DIRECT = "Direct admission"  # previous_unit of a patient who came from outside the hospital
LONG_STAY = 5  # days; a long stay has more

WIDS_TARGET = "hospital_death"
WIDS_IDENTIFIERS = ["encounter_id", "patient_id", "hospital_id", "icu_id"]
WIDS_CATEGORICAL = [
    "ethnicity", "gender", "hospital_admit_source", "icu_admit_source", "icu_stay_type", "icu_type",
    "apache_2_diagnosis", "apache_3j_diagnosis", "apache_3j_bodysystem", "apache_2_bodysystem",
]  # fmt: skip
WIDS_FORECASTS = ["apache_4a_hospital_death_prob", "apache_4a_icu_death_prob"]


def read_mimic_los(paths):
    """MIMIC-IV: one row per ICU stay of known length, in the order of stay_id.

    The tables of the full release have millions of rows; only the columns needed are read, and rows of patients who
    were never in intensive care are dropped at once.
    """
    stays = _icu_stays(paths)
    stays = stays.merge(_patients(paths), on="subject_id", how="left", validate="many_to_one")
    admissions = _admissions(paths, stays)
    stays = stays.merge(admissions, on=["subject_id", "hadm_id"], how="left", validate="many_to_one")
    stays["age"] = stays["anchor_age"] + stays["intime"].dt.year - stays["anchor_year"]
    stays["hours_before_icu"] = (stays["intime"] - stays["admittime"]) / pd.Timedelta(hours=1)
    stays = _latest(stays, "intime", _services(paths, stays), "transfertime", "hadm_id")
    stays = _latest(stays, "intime", _transfers(paths, stays), "unit_intime", "hadm_id", exact=False)
    stays["previous_unit"] = stays["previous_unit"].astype(object).fillna(DIRECT)
    stays = _latest(stays, "admittime", _history(paths, admissions), "dischtime", "subject_id")
    counts = ["previous_admissions", "previous_diagnoses"]
    stays[counts] = stays[counts].fillna(0).astype(np.int64)

    stays = stays.sort_values("stay_id", ignore_index=True)
    y = (stays["los"] > LONG_STAY).to_numpy(dtype=np.int64)
    return stays[MIMIC_FEATURES].astype(dict.fromkeys(MIMIC_CATEGORICAL, "category")), y


def read_wids(paths):
    """WiDS 2020: the first 24 hours of an ICU stay, without identifiers."""
    path = paths["training_v2.csv"]
    frame = _table(path, dtype=dict.fromkeys(WIDS_CATEGORICAL, str), na_values=["NA"])
    _check_columns(path, frame, [WIDS_TARGET, *WIDS_IDENTIFIERS, *WIDS_CATEGORICAL, *WIDS_FORECASTS])
    y = frame[WIDS_TARGET].to_numpy(dtype=np.int64)
    X = frame.drop(columns=[WIDS_TARGET, *WIDS_IDENTIFIERS]).astype(dict.fromkeys(WIDS_CATEGORICAL, "category"))
    X[WIDS_FORECASTS] = X[WIDS_FORECASTS].where(X[WIDS_FORECASTS] >= 0)
    return X, y


def _icu_stays(paths):
    columns = ["subject_id", "hadm_id", "stay_id", "first_careunit", "intime", "los"]
    stays = _columns(paths["icu/icustays.csv.gz"], columns, dates=["intime"], text=["first_careunit"])
    # Stays of one patient do not overlap: those that began earlier have ended.
    stays = stays.sort_values(["intime", "stay_id"])
    stays["previous_icu_stays"] = stays.groupby("subject_id").cumcount()
    return stays[stays["los"].notna()]


def _patients(paths):
    columns = ["subject_id", "gender", "anchor_age", "anchor_year"]
    return _columns(paths["hosp/patients.csv.gz"], columns, text=["gender"])


def _admissions(paths, stays):
    """All hospital admissions of the patients who have an ICU stay."""
    text = ["admission_type", "admission_location", "insurance", "marital_status", "race"]
    dates = ["admittime", "dischtime"]
    columns = ["subject_id", "hadm_id", *dates, *text]
    path = paths["hosp/admissions.csv.gz"]
    admissions = _columns(path, columns, dates=dates, text=text, rename={"ethnicity": "race"})
    return admissions[admissions["subject_id"].isin(stays["subject_id"])]


def _services(paths, stays):
    columns = {"hadm_id": "hadm_id", "transfertime": "transfertime", "curr_service": "service"}
    services = _columns(paths["hosp/services.csv.gz"], [*columns], dates=["transfertime"], text=["curr_service"])
    return _of_admissions(services.rename(columns=columns), stays)


def _transfers(paths, stays):
    columns = {"hadm_id": "hadm_id", "intime": "unit_intime", "careunit": "previous_unit"}
    transfers = _columns(paths["hosp/transfers.csv.gz"], [*columns], dates=["intime"], text=["careunit"])
    return _of_admissions(transfers.rename(columns=columns).dropna(), stays)


def _history(paths, admissions):
    """For each admission, as of its end: how many the patient has had, and how many diagnoses were coded for it."""
    codes = _columns(paths["hosp/diagnoses_icd.csv.gz"], ["hadm_id"])["hadm_id"].value_counts()
    # An admission that ends before it begins is an error of the records; it must not count as its own history.
    ended = admissions[admissions["dischtime"] > admissions["admittime"]].sort_values(["dischtime", "hadm_id"])
    return pd.DataFrame(
        {
            "subject_id": ended["subject_id"],
            "dischtime": ended["dischtime"],
            "previous_admissions": ended.groupby("subject_id").cumcount() + 1,
            "previous_diagnoses": ended["hadm_id"].map(codes).fillna(0),
        }
    )


def _of_admissions(frame, stays):
    """The rows of admissions that have an ICU stay (outside an admission, hadm_id is empty)."""
    return frame[frame["hadm_id"].isin(stays["hadm_id"])].astype({"hadm_id": "int64"})


def _latest(stays, moment, events, time, by, exact=True):
    """Give each stay the last event of the same admission or patient at or before (not exact: before) a moment."""
    return pd.merge_asof(
        stays.sort_values([moment, "stay_id"]).drop(columns=time, errors="ignore"),
        events.sort_values(time, kind="stable"),
        left_on=moment,
        right_on=time,
        by=by,
        allow_exact_matches=exact,
    )


def _columns(path, columns, *, dates=(), text=(), rename=()):
    """Some columns of a table of MIMIC, under their present names."""
    rename = dict(rename)
    wanted = {*columns, *rename}
    frame = _table(
        path,
        usecols=lambda column: column in wanted,
        dtype=dict.fromkeys([*text, *rename], "category"),
        parse_dates=list(dates),
    ).rename(columns=rename)
    _check_columns(path, frame, columns)
    return frame[columns]


def _table(path, na_values=(), **options):
    # Empty means missing; words such as 'None' or 'UNKNOWN' are values.
    return pd.read_csv(path, na_values=["", *na_values], keep_default_na=False, **options)


def _check_columns(path, frame, columns):
    missing = [column for column in columns if column not in frame]
    if missing:
        raise ValueError(f"{path} has no column {', '.join(map(repr, missing))}; is it the file the loader expects?")
