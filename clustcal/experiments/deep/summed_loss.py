"""What a shrinkage of 5 does, if the loss that it is weighed against is a mean over rows or a sum.

``python -m clustcal.experiments.deep.summed_loss [STUDY ...]`` writes ``results/deep/summed_loss.csv``; it can be
stopped, and then goes on. In the paper's table of text results clustered temperature scaling with K = 4 and a shrinkage
of 5 is far from the global one. Against a mean loss such a shrinkage leaves hardly anything of the clusters; against a
sum over thousands of rows it is next to nothing. Both are fitted here in the same clusters, at the layer of the paper.
"""

from pathlib import Path

from sklearn.base import clone
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from clustcal import SoftKMeans
from clustcal.calibrators.clustered import mixture
from clustcal.calibrators.soft_kmeans import soft_memberships, squared_distances
from clustcal.core import solvers
from clustcal.core.probabilities import as_probabilities
from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.network_tables import PAPER_TEMPERATURE, STAND_INS
from clustcal.experiments.deep.outputs import FILE, cache_folder, load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "summed_loss.csv"
N_CLUSTERS, SHRINKAGE = 4, 5.0  # of the paper's lines on IMDB


def measure(unit, load=load_outputs):
    """Return the rows of one study and split: every family, global and in clusters under both losses."""
    one = design.STUDIES[unit["name"]]
    cal, test = design.halve(design.prepare(load(one.network), one.only_classes_that_occur), unit["seed"])
    layer = next(iter(cal.Z))
    with threadpool_limits(1):
        kmeans = SoftKMeans(N_CLUSTERS, random_state=unit["seed"]).fit(cal.Z[layer])
        W_cal, W_test = (
            soft_memberships(
                squared_distances(normalize(part.Z[layer]), kmeans.centroids_, kmeans.membership), PAPER_TEMPERATURE
            )
            for part in (cal, test)
        )
        families = design.get_families(design.count_classes(cal.P))
        rows = []
        for name in families:
            if name != "Dirichlet-TS":
                fitted = clone(families[name]).fit(cal.P, cal.y)
                for form, Q in fit_forms(fitted, cal, test, W_cal, W_test).items():
                    rows.append({"family": name, "loss": form, "layer": layer, "nll": study.judge(test.y, Q)["nll"]})
        return rows


def fit_forms(fitted, cal, test, W_cal, W_test, shrinkage=SHRINKAGE):
    """Return what three forms of a family say about the rows to test on.

    Parameters
    ----------
    fitted : parametric calibrator
        The global one, fitted to `cal`.
    cal, test : Part
    W_cal, W_test : ndarray of shape (n, K)
        Memberships.
    shrinkage : float

    Returns
    -------
    Q : dict of str to ndarray
        ``"global"``; ``"mean"``, where the shrinkage is weighed against the mean loss of a cluster; and ``"sum"``,
        where it is weighed against the sum.
    """
    family = fitted.family(as_probabilities(cal.P).shape[1])
    X_cal, X_test = (family.features(as_probabilities(part.P)) for part in (cal, test))
    found = {"global": fitted.predict_proba(test.P)}
    for form, weight in {"mean": shrinkage, "sum": shrinkage / W_cal.sum(axis=0)}.items():
        theta = solvers.fit(family, X_cal, cal.y, W_cal, prior=fitted.theta_, shrinkage=weight).theta
        found[form] = mixture(family, theta, X_test, W_test)
    return found


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "summed_loss.csv")


def main(arguments=None):
    judged = [one.judged for one in STAND_INS.values() if one.judged]
    there = [n for n in judged if (cache_folder() / design.STUDIES[n].network / FILE).exists()]
    find = lambda names: [{"name": name, "seed": seed} for name in names or there for seed in design.SEEDS]
    said = "default: the judged studies whose outputs are in the cache"
    measured.run_command(__doc__, PATH, find, measure, arguments, names=said)


if __name__ == "__main__":
    main()
