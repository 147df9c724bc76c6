"""What renormalising over the classes that occur does to the log-loss, on the same rows as what comes after it.

``python -m clustcal.experiments.deep.absent_classes`` writes ``results/deep/absent_classes.csv``; it can be stopped,
and then goes on. The network knows 1,000 classes and Tiny ImageNet has 200 of them: on the test half of every split
its softmax over all and over the 200, and the second after temperature and vector scaling.
"""

from itertools import product
from pathlib import Path

from sklearn.base import clone
from threadpoolctl import threadpool_limits

from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "absent_classes.csv"
NETWORK = "tiny-imagenet"
FORMS = ("1,000 classes", "200 classes", "200 classes, TS", "200 classes, Vector")


def measure(unit, load=load_outputs):
    """Return the row of one split and form."""
    only = not unit["form"].startswith("1,000")
    cal, test = design.halve(design.prepare(load(NETWORK)._replace(representations={}), only), unit["seed"])
    Q, family = test.P, unit["form"].partition(", ")[2]
    if only and family:
        with threadpool_limits(1):
            one = clone(design.get_families(design.count_classes(cal.P))[family])
            Q = one.fit(cal.P, cal.y).predict_proba(test.P)
    found = study.judge(test.y, Q)
    return [{"n": len(test.y), "n_classes": Q.shape[1]} | {name: found[name] for name in ("nll", "brier", "accuracy")}]


def find_units():
    """Return all units, those of the costly form last."""
    return [{"form": form, "seed": seed} for form, seed in product(FORMS, design.SEEDS)]


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "absent_classes.csv")


def main(arguments=None):
    measured.run_command(__doc__, PATH, lambda _: find_units(), measure, arguments)


if __name__ == "__main__":
    main()
