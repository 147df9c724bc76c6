"""Dirichlet calibration by its authors' own library beside ours, on 100 classes and on six.

``python -m clustcal.experiments.deep.reference_dirichlet`` writes ``results/deep/reference_dirichlet.csv``; it can be
stopped, and then goes on. It needs the package dirichletcal (0.5.3, by the authors of the method), which wants
Python 3.12 and brings JAX, so that it is no dependency of ours.

Their loss is the mean log-loss plus the penalty times the squared norm of all parameters, as in ours; but by default
they take the last row of the parameters off all rows before they square, so that the penalty is no longer the same for
all classes. Both forms are run: "reference" has the same penalty as ours, "reference, last row off" is their default.
"""

import argparse
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "reference_dirichlet.csv"
STUDIES = ("cifar100-overconfident", "emotion")  # the first is judged
LAST_ROW_OFF = {"reference": False, "reference, last row off": True}
METHODS = ("base", "ours", *LAST_ROW_OFF)


def measure(unit, load=load_outputs):
    """Return the row of one split and method."""
    one = design.STUDIES[unit["name"]]
    cal, test = design.halve(design.prepare(load(one.network), one.only_classes_that_occur), unit["seed"])
    started = process_time()
    with threadpool_limits(1):
        Q_cal, Q_test = calibrate(unit["method"], cal, test)
    seconds = process_time() - started
    nll_cal = float(-np.log(Q_cal[np.arange(len(cal.y)), cal.y]).mean())
    more = {"seconds": seconds, "largest_difference": np.nan}
    if unit["method"] in LAST_ROW_OFF:
        more["largest_difference"] = float(np.abs(Q_test - calibrate("ours", cal, test)[1]).max())
    return [{"n": len(cal.y), "nll_cal": nll_cal} | study.judge(test.y, Q_test) | more]


def calibrate(method, cal, test, penalty=design.PENALTY):
    """Fit a method to some rows.

    Parameters
    ----------
    method : {"base", "ours", "reference", "reference, last row off"}
    cal, test : Part
    penalty : float

    Returns
    -------
    Q_cal, Q_test : ndarray
        What it says about both, of shape (n, L).
    """
    if method == "base":
        return cal.P, test.P
    if method == "ours":
        fitted = design.get_families(cal.P.shape[1])["Dirichlet"].set_params(l2=penalty).fit(cal.P, cal.y)
    else:
        from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

        fitted = FullDirichletCalibrator(reg_lambda=penalty, ref_row=LAST_ROW_OFF[method]).fit(cal.P, cal.y)
    return fitted.predict_proba(cal.P), fitted.predict_proba(test.P)


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "reference_dirichlet.csv")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(STUDIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(design.SEEDS))
    parser.add_argument("--to", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    parts = product(options.names, options.seeds, METHODS)
    units = [{"name": name, "seed": seed, "method": method} for name, seed, method in parts]
    print(f"{measured.extend(options.to, units, measure)} units measured: {options.to}")


if __name__ == "__main__":
    main()
