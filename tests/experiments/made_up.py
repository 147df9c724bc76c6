"""A data set that takes no time, and the command line run on it in a process of its own: ``python made_up.py ...``."""

import sys
from functools import partial

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from clustcal import cli
from clustcal.experiments.tabular import units


def make_data(name="stroke", n=200):
    """Return a data set of two numbers and a category, whatever name is asked for."""
    rng = np.random.default_rng(len(name))
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "bmi"])
    X["group"] = pd.Categorical(rng.choice(["a", "b"], n))
    y = (X["age"] + (X["group"] == "a") + rng.normal(size=n) > 0.5).to_numpy().astype(np.int64)
    return Bunch(X=X, y=y, categorical=["group"], name=name)


if __name__ == "__main__":
    units.run = partial(units.run, load=make_data)
    sys.exit(cli.main(sys.argv[1:]))
