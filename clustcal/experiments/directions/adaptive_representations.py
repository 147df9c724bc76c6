"""Direction 2: richer representations, and representations that are learned with the calibrator.

Boosted trees: an embedding by influence, experts with a learned gate, trees on residuals, boosting from Platt scaling;
against clusters and a ridge on SHAP values and leaf coverage. Text: summaries of attention and of attributions.
"""

from dataclasses import replace
from time import process_time

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from clustcal import ClusteredCalibration, PlattScaling, RidgeCalibration, SoftKMeans, TemperatureScaling, metrics
from clustcal.core.folds import make_folds
from clustcal.core.probabilities import logits
from clustcal.datasets import load_scores
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.lineup import Case, boosted
from clustcal.experiments.directions.direction_study import MAIN_MODEL, SEEDS

TREES, TEXT = "trees", "attention"
DATASETS = {
    **dict.fromkeys(("credit_approval", "stroke", "affairs", "support2"), ((TREES,), SEEDS)),
    "emotion": ((TEXT,), (0, 1, 2, 3, 4)),
}
K, TEMPERATURE = 4, 0.1
STRENGTHS = ((0.1, 0.03), (1.0, 0.3), (1.0, 3.0))  # penalty of the gate and pull of the experts; folds choose
FOLDS = 3


def compute(data, unit):
    """Return log-loss, Brier score, AdaECE and seconds of every method."""
    return on_text(unit.seed) if unit.arm == TEXT else on_trees(data, unit.seed)


def on_trees(data, seed):
    """Calibrate one boosted model by every method."""
    parts = protocol.split(data.y, seed)
    model = base_models.train(data, parts.train, MAIN_MODEL, seed)
    X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    P_cal, P_test = (model.predict_proba(X)[:, 1].astype(float) for X in (X_cal, X_test))
    pairs, _ = base_models.represent(model, X_cal, X_test, seed)
    pairs["influence"] = influence_embedding(model, X_cal, X_test, seed)
    Z_cal, Z_test = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    case = Case(P_cal, data.y[parts.calibration], P_test, Z_cal, Z_test, seed, data, parts, MAIN_MODEL, "")
    y_test = data.y[parts.test]
    return {name: _judge(y_test, method, case) for name, method in METHODS.items()}


def influence_embedding(model, X_cal, X_test, seed, n_components=64):
    r"""Embed rows so that inner products are influences: leaves, weighed by what one gradient in them moves.

    A training row with gradient g moves the margin of a row in the same leaf of tree t by
    :math:`\eta g / (H + 1)`, H being the Hessian of the leaf and :math:`\eta` the learning rate. So with
    :math:`\sqrt{\eta / (H + 1)}` in the column of each leaf that a row falls in, the product of two rows is the
    influence of one on the other per unit of gradient, summed over trees. Truncated SVD shortens the columns.

    Parameters
    ----------
    model : Pipeline
        Ends in an XGBoost classifier.

    Returns
    -------
    Z_cal, Z_test : ndarray of shape (n, n_components + 1)
        The last column is the influence of the row on itself.
    """
    rows = [influence_columns(model, X) for X in (X_cal, X_test)]
    svd = TruncatedSVD(min(n_components, len(X_cal) - 1), random_state=seed).fit(rows[0])
    return tuple(np.column_stack([svd.transform(C), np.asarray(C.multiply(C).sum(axis=1))]) for C in rows)


def influence_columns(model, X):
    """Return the weighed leaves as a sparse matrix (n, leaves of all trees)."""
    classifier = model[-1]
    table = classifier.get_booster().trees_to_dataframe()
    table = table[table["Feature"] == "Leaf"]
    leaves = classifier.apply(model[:-1].transform(X)).astype(int)
    width = int(table["Node"].max()) + 1
    column = np.full(leaves.shape[1] * width, -1)
    column[table["Tree"].to_numpy() * width + table["Node"].to_numpy()] = np.arange(len(table))
    regularisation = classifier.get_params().get("reg_lambda") or 1.0
    rate = classifier.get_params()["learning_rate"]
    weight = np.sqrt(rate / (table["Cover"].to_numpy() + regularisation))
    where = column[leaves + width * np.arange(leaves.shape[1])]
    n, n_trees = leaves.shape
    return sparse.csr_matrix(
        (weight[where].ravel(), where.ravel(), np.arange(0, n * n_trees + 1, n_trees)), shape=(n, len(table))
    )


def platt(case):
    return PlattScaling().fit(case.P_cal, case.y_cal).predict_proba(case.P_test)[:, 1]


def clusters(name):
    """The paper's clusters, with the narrower memberships that usually gain more."""

    def forecast(case):
        calibrator = ClusteredCalibration(PlattScaling(), K, temperature=TEMPERATURE, random_state=case.seed)
        Z_cal, Z_test = (to_cluster(name, Z) for Z in (case.Z_cal, case.Z_test))
        return calibrator.fit(case.P_cal, case.y_cal, Z_cal).predict_proba(case.P_test, Z_test)[:, 1]

    return forecast


def to_cluster(name, Z):
    """Return the columns of a representation whose directions are clustered; of influence without that on itself.

    That is the squared length of a row before the SVD, and would turn all rows to one direction.
    """
    return Z[name][:, :-1] if name == "influence" else Z[name]


def clusters_in_logits(name):
    """Clusters of K-means mixed before the sigmoid, by the ridge."""

    def forecast(case):
        soft = SoftKMeans(K, temperature=TEMPERATURE, random_state=case.seed).fit(to_cluster(name, case.Z_cal))
        return _groups_in_logits(case, *(soft.transform(to_cluster(name, Z)) for Z in (case.Z_cal, case.Z_test)))

    return forecast


def ridge(*names):
    def forecast(case):
        Z_cal, Z_test = ([Z[name] for name in names] for Z in (case.Z_cal, case.Z_test))
        return RidgeCalibration().fit(case.P_cal, case.y_cal, Z_cal).predict_proba(case.P_test, Z_test)[:, 1]

    return forecast


def gated(name):
    """Experts and gate learned together; folds choose how strongly both are held."""

    def forecast(case):
        s, Z = logits(case.P_cal), case.Z_cal[name]
        folds = make_folds(FOLDS, case.y_cal, np.ones(len(s)), case.seed)
        losses = np.zeros(len(STRENGTHS))
        for train, test in folds:
            for k, strengths in enumerate(STRENGTHS):
                fitted = GatedPlatt(*strengths, case.seed).fit(s[train], case.y_cal[train], Z[train])
                losses[k] += _loss(case.y_cal[test], fitted(s[test], Z[test]))
        best = STRENGTHS[int(np.argmin(losses))]
        return GatedPlatt(*best, case.seed).fit(s, case.y_cal, Z)(logits(case.P_test), case.Z_test[name])

    return forecast


def residual_tree(case):
    """Groups are the leaves of a tree fitted to residuals on one half; the ridge corrects them on the other."""
    inputs = lambda P, Z: np.column_stack([logits(P), Z["shap"]])
    grow, correct = train_test_split(
        np.arange(len(case.y_cal)), test_size=0.5, stratify=case.y_cal, random_state=case.seed
    )
    first = PlattScaling().fit(case.P_cal[grow], case.y_cal[grow])
    residual = case.y_cal - first.predict_proba(case.P_cal)[:, 1]
    tree = DecisionTreeRegressor(max_leaf_nodes=K, min_samples_leaf=max(10, len(grow) // 20), random_state=case.seed)
    X_cal, X_test = inputs(case.P_cal, case.Z_cal), inputs(case.P_test, case.Z_test)
    tree.fit(X_cal[grow], residual[grow])
    leaves = tree.apply(X_cal)
    names = np.unique(leaves)
    W_cal, W_test = ((found[:, None] == names).astype(float) for found in (leaves, tree.apply(X_test)))
    # Slope and intercept come from the same half as the corrections: the other has seen the groups.
    half = replace(case, P_cal=case.P_cal[correct], y_cal=case.y_cal[correct])
    return _groups_in_logits(half, W_cal[correct], W_test)


METHODS = {
    "Platt": platt,
    **{f"clusters {name}": clusters(name) for name in ("shap", "coverage", "raw", "influence")},
    **{f"clusters in logits {name}": clusters_in_logits(name) for name in ("shap", "coverage", "influence")},
    **{f"ridge {name}": ridge(name) for name in ("shap", "coverage", "raw", "influence")},
    "ridge shap+coverage": ridge("shap", "coverage"),
    "ridge shap+influence": ridge("shap", "influence"),
    "gate shap": gated("shap"),
    "residual tree": residual_tree,
    "boosting from Platt": boosted,
}


class GatedPlatt:
    r"""Experts of slope and intercept with a gate that is linear in Z, all learned by one likelihood.

    .. math:: \mathrm{logit} \, q = \sum_k w_k(z) (a_k s + b_k), \qquad w(z) = \mathrm{softmax}(V z + c)

    The mean log-loss plus ``penalty`` / 2 times the mean square of V, and ``pull`` / 2 times the squared distances of
    the experts from their common mean, is minimised from the gate that K-means gives.
    """

    def __init__(self, penalty, pull, seed=0):
        self.penalty, self.pull, self.seed = penalty, pull, seed

    def fit(self, s, y, Z):
        """Fit to logits of scores (n,), labels (n,) and a representation (n, m)."""
        self._centre, self._unit = Z.mean(axis=0), Z.std(axis=0).mean() or 1.0
        X = self._columns(Z)
        soft = SoftKMeans(K, temperature=TEMPERATURE, random_state=self.seed).fit(Z)
        W = np.clip(soft.transform(Z), 1e-3, 1)
        # The linear gate that is nearest to the memberships of K-means in logs.
        target = np.log(W) - np.log(W).mean(axis=1, keepdims=True)
        gate = np.linalg.solve(X.T @ X + len(s) * 0.1 * np.eye(X.shape[1]), X.T @ target).T
        global_fit = _logistic(s, y)
        start = np.concatenate([np.tile(global_fit, K), gate.ravel()])
        found = minimize(self._objective, start, (s, y, X), jac=True, method="L-BFGS-B", options={"maxiter": 100})
        self._theta, self._gate = found.x[: 2 * K].reshape(K, 2), found.x[2 * K :].reshape(K, -1)
        return self

    def __call__(self, s, Z):
        """Return calibrated probabilities (n,)."""
        w = softmax(self._columns(Z) @ self._gate.T, axis=1)
        return expit((w * (np.outer(s, self._theta[:, 0]) + self._theta[:, 1])).sum(axis=1))

    def _columns(self, Z):
        return np.column_stack([np.ones(len(Z)), (Z - self._centre) / self._unit])

    def _objective(self, parameters, s, y, X):
        theta, gate = parameters[: 2 * K].reshape(K, 2), parameters[2 * K :].reshape(K, -1)
        w = softmax(X @ gate.T, axis=1)
        experts = np.outer(s, theta[:, 0]) + theta[:, 1]
        z = (w * experts).sum(axis=1)
        away = theta - theta.mean(axis=0)
        loss = np.mean(np.logaddexp(0, z) - y * z) + self.pull / 2 * (away**2).sum()
        loss += self.penalty / 2 * np.mean(gate[:, 1:] ** 2)
        r = (expit(z) - y) / len(y)
        of_theta = np.column_stack([(w * (r * s)[:, None]).sum(axis=0), (w * r[:, None]).sum(axis=0)])
        of_theta += self.pull * away
        of_gate = (w * (experts - z[:, None]) * r[:, None]).T @ X
        of_gate[:, 1:] += self.penalty * gate[:, 1:] / gate[:, 1:].size
        return loss, np.concatenate([of_theta.ravel(), of_gate.ravel()])


def on_text(seed):
    """Calibrate the network of Emotion by its hidden states, and by summaries of its attention and attributions."""
    from clustcal.experiments.directions.attention_summaries import summarise_emotion

    scores, summaries = load_scores("emotion", seed), summarise_emotion()
    position = {row: k for k, row in enumerate(summaries["rows"])}
    found = {}
    representations = {"hidden": (scores.Z_cal["cls"], scores.Z_test["cls"])}
    for name in ("attention", "attribution"):
        representations[name] = tuple(
            summaries[name][[position[row] for row in rows]] for rows in (scores.rows_cal, scores.rows_test)
        )
    fits = {"temperature": lambda: (TemperatureScaling(), None, None)}
    for name, (Z_cal, Z_test) in representations.items():
        fits[f"clusters {name}"] = lambda Z_cal=Z_cal, Z_test=Z_test: (
            ClusteredCalibration(TemperatureScaling(), K, temperature=TEMPERATURE, random_state=seed), Z_cal, Z_test
        )  # fmt: skip
        fits[f"ridge {name}"] = lambda Z_cal=Z_cal, Z_test=Z_test: (RidgeCalibration(), Z_cal, Z_test)
    everything = [[pair[side] for pair in representations.values()] for side in (0, 1)]
    fits["ridge hidden+attention+attribution"] = lambda: (RidgeCalibration(), *everything)
    for name, make in fits.items():
        calibrator, Z_cal, Z_test = make()
        start = process_time()
        Q = calibrator.fit(scores.P_cal, scores.y_cal, Z_cal).predict_proba(scores.P_test, Z_test)
        found[name] = {"seconds": process_time() - start} | _measures(scores.y_test, Q)
    return found


def _groups_in_logits(case, W_cal, W_test):
    """Correct slope and intercept in groups (n, K), by the ridge."""
    sides = [[W, W * logits(P)[:, None]] for W, P in ((W_cal, case.P_cal), (W_test, case.P_test))]
    return RidgeCalibration().fit(case.P_cal, case.y_cal, sides[0]).predict_proba(case.P_test, sides[1])[:, 1]


def _judge(y, method, case):
    start = process_time()
    q = method(case)
    return {"seconds": process_time() - start} | _measures(y, q)


def _measures(y, q):
    return {"nll": metrics.log_loss(y, q), "brier": metrics.brier(y, q), "ada_ece": metrics.ada_ece(y, q)}


def _loss(y, q):
    return metrics.log_loss(y, q, labels=[0, 1])


def _logistic(s, y):
    """Return slope and intercept of Platt scaling with its prior."""
    fitted = PlattScaling(from_logits=True).fit(s, y)
    at = logits(fitted.predict_proba([0.0, 1.0])[:, 1])
    return np.array([at[1] - at[0], at[0]])
