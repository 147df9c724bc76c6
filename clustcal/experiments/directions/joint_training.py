"""Direction 4: clusters and calibration inside the training of boosted trees, and a number of clusters under a budget.

All methods have the same rows: 60 % to train, 20 % to calibrate, which also stop or choose where a method does so.
"""

from time import process_time

import numpy as np
from scipy.special import expit
from sklearn.model_selection import train_test_split

from clustcal import ClusteredCalibration, PlattScaling, RidgeCalibration, SoftKMeans, metrics
from clustcal.core.folds import make_folds
from clustcal.core.probabilities import logits
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.base_models import BASE_MODELS, PATIENCE
from clustcal.experiments.alternatives.lineup import Case, retrained_in_folds, stopped_on_calibration
from clustcal.experiments.directions.direction_study import MAIN_MODEL, SEEDS

DATASETS = dict.fromkeys(("credit_approval", "stroke", "affairs", "support2"), (("",), SEEDS))
K, TEMPERATURE = 4, 0.1
EVERY = 10  # rounds between two fits of the calibrators
PULL = 5.0  # rows' worth of the prior that holds clusters together
SLOPES = (0.05, 5.0)  # between which the slope of a row is kept while trees are trained
NUMBERS = (1, 2, 4, 8, 16, 32)  # of clusters to choose from
FOLDS = 5


def compute(data, unit):
    """Return log-loss, Brier score, AdaECE and seconds of every method."""
    seed = unit.seed
    parts = protocol.split(data.y, seed)
    start = process_time()
    model = base_models.train(data, parts.train, MAIN_MODEL, seed)
    training = process_time() - start
    X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    P_cal, P_test = (model.predict_proba(X)[:, 1].astype(float) for X in (X_cal, X_test))
    pairs, extraction = base_models.represent(model, X_cal, X_test, seed)
    Z_cal, Z_test = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    case = Case(P_cal, data.y[parts.calibration], P_test, Z_cal, Z_test, seed, data, parts, MAIN_MODEL, "")
    y_test, found = data.y[parts.test], {}
    for name, (method, needs, trains) in METHODS.items():
        start = process_time()
        q, said = method(case)
        seconds = process_time() - start + sum(extraction[need] for need in needs) + (0 if trains else training)
        measures = {"nll": metrics.log_loss(y_test, q), "brier": metrics.brier(y_test, q)}
        found[name] = measures | {"ada_ece": metrics.ada_ece(y_test, q), "seconds": seconds} | said
    return found


def scores_alone(case):
    return case.P_test, {}


def platt(case):
    return PlattScaling().fit(case.P_cal, case.y_cal).predict_proba(case.P_test)[:, 1], {}


def clusters(name, n_clusters=K):
    """Clusters of the paper after training, with narrow memberships."""

    def forecast(case):
        calibrator = _clustered(n_clusters, case.seed).fit(case.P_cal, case.y_cal, case.Z_cal[name])
        return calibrator.predict_proba(case.P_test, case.Z_test[name])[:, 1], {}

    return forecast


def mixed_after_training(case):
    """The calibrators of `joint`, after training as usual: what the training adds is the difference."""
    W_cal, W_test = _memberships(case)
    theta = fit_mixture(logits(case.P_cal), W_cal, case.y_cal)
    a, b = W_test @ theta.T[0], W_test @ theta.T[1]
    return expit(a * logits(case.P_test) + b), {}


def ridge(case):
    fitted = RidgeCalibration().fit(case.P_cal, case.y_cal, case.Z_cal["shap"])
    return fitted.predict_proba(case.P_test, case.Z_test["shap"])[:, 1], {}


def stopped(case):
    return stopped_on_calibration(case), {}


def retrained(case):
    return retrained_in_folds(case), {}


def joint(is_stopped):
    """Trees whose objective is the log-loss after calibration in clusters of the features.

    Every few rounds slope and intercept of every cluster are fitted anew to the calibration part; the next trees get
    the gradients of the calibrated log-loss. If stopped, the rounds are those with the least loss on a tenth of the
    training part, which is then left out of training, after calibration.
    """

    def forecast(case):
        import xgboost as xgb

        settings = dict(BASE_MODELS[MAIN_MODEL].settings)
        rounds, seed = settings.pop("n_estimators"), case.seed
        given = {"eta": settings.pop("learning_rate"), "seed": seed, "nthread": 1, "base_score": 0.0} | settings
        rows, watched = case.parts.train, None
        if is_stopped:
            rows, watched = train_test_split(rows, test_size=0.1, stratify=case.data.y[rows], random_state=seed)
        preparation = protocol.make_preprocessor(case.data.categorical).fit(case.data.X.iloc[case.parts.train])
        prepared = lambda some: preparation.transform(case.data.X.iloc[some])
        soft = SoftKMeans(K, temperature=TEMPERATURE, random_state=seed).fit(prepared(case.parts.calibration))
        of = {"train": rows, "cal": case.parts.calibration, "test": case.parts.test}
        of |= {} if watched is None else {"watched": watched}
        W = {name: soft.transform(prepared(some)) for name, some in of.items()}
        X = {name: xgb.DMatrix(prepared(some), case.data.y[some]) for name, some in of.items()}
        theta, booster, best = np.tile([1.0, 0.0], (K, 1)), None, (np.inf, 0, None)
        for done in range(EVERY, rounds + 1, EVERY):
            a, b = np.clip(W["train"] @ theta[:, 0], *SLOPES), W["train"] @ theta[:, 1]
            booster = xgb.train(given, X["train"], EVERY, obj=calibrated_objective(a, b), xgb_model=booster)
            margin = {name: booster.predict(X[name], output_margin=True).astype(float) for name in of}
            theta = fit_mixture(margin["cal"], W["cal"], case.y_cal)
            if is_stopped:
                q = _mix(margin["watched"], W["watched"], theta)
                loss = metrics.log_loss(case.data.y[watched], q, labels=[0, 1])
                if loss < best[0]:
                    best = loss, done, _mix(margin["test"], W["test"], theta)
                elif done - best[1] >= PATIENCE:
                    break
        if is_stopped:
            return best[2], {"rounds": best[1]}
        return _mix(margin["test"], W["test"], theta), {"rounds": rounds}

    return forecast


def k_by_folds(case):
    """Choose the number of clusters by all of `NUMBERS`."""
    means = [losses.mean() for losses in (_held_out(k, case) for k in NUMBERS)]
    k = NUMBERS[int(np.argmin(means))]
    return clusters("shap", k)(case)[0], {"clusters": k, "fits": FOLDS * len(NUMBERS) + 1}


def k_by_budget(case):
    """Double the number of clusters while the gain on held-out rows is above its standard error."""
    best, losses, fits = 1, _held_out(1, case), FOLDS
    for k in NUMBERS[1:]:
        further, fits = _held_out(k, case), fits + FOLDS
        gain = losses - further
        if gain.mean() < gain.std(ddof=1) / np.sqrt(len(gain)):
            break
        best, losses = k, further
    return clusters("shap", best)(case)[0], {"clusters": best, "fits": fits + 1}


# Name: method, representations that it needs of the classifier, whether it trains a classifier of its own.
METHODS = {
    "scores": (scores_alone, (), False),
    "Platt": (platt, (), False),
    "clusters raw": (clusters("raw"), ("raw",), False),
    "clusters shap": (clusters("shap"), ("shap",), False),
    "mixed raw": (mixed_after_training, ("raw",), False),
    "ridge shap": (ridge, ("shap",), False),
    "joint": (joint(False), (), True),
    "joint, stopped": (joint(True), (), True),
    "stopped + Platt": (stopped, (), True),
    "retrained in folds": (retrained, (), True),
    "K by folds": (k_by_folds, ("shap",), False),
    "K by budget": (k_by_budget, ("shap",), False),
}


def calibrated_objective(a, b):
    """Return the objective of XGBoost whose loss is that of sigmoid(a f + b), for rows' a and b (n,)."""

    def objective(margin, rows):
        q = expit(a * margin.ravel() + b)
        return a * (q - rows.get_label()), np.maximum(a**2 * q * (1 - q), 1e-6)

    return objective


def fit_mixture(s, W, y):
    r"""Return slope and intercept (K, 2) of every cluster: logit q = sum_k w_k (a_k s + b_k).

    The sum of log-losses plus `PULL` / 2 times the squared distances from their common mean, which is free but for a
    weak pull to (1, 0), is minimised by Newton's method; s (n,), memberships W (n, K), labels y (n,).
    """
    k = W.shape[1]
    X = np.column_stack([W * s[:, None], W])
    centring = np.eye(k) - 1 / k
    penalty = np.kron(np.eye(2), PULL * centring + np.full((k, k), 1.0 / k**2))
    prior = np.repeat([1.0, 0.0], k)
    theta = prior.copy()
    objective = lambda t: np.sum(np.logaddexp(0, X @ t) - y * (X @ t)) + (t - prior) @ penalty @ (t - prior) / 2
    value = objective(theta)
    for _ in range(100):
        q = expit(X @ theta)
        gradient = X.T @ (q - y) + penalty @ (theta - prior)
        step = np.linalg.solve((X * (q * (1 - q))[:, None]).T @ X + penalty, gradient)
        length = 1.0
        while objective(theta - length * step) > value + 1e-12 and length > 1e-8:
            length /= 2
        theta = theta - length * step
        value = objective(theta)
        if gradient @ step < 1e-10:
            break
    return theta.reshape(2, k).T


def _mix(margin, W, theta):
    return expit((W @ theta[:, 0]) * margin + W @ theta[:, 1])


def _memberships(case):
    soft = SoftKMeans(K, temperature=TEMPERATURE, random_state=case.seed).fit(case.Z_cal["raw"])
    return [soft.transform(Z["raw"]) for Z in (case.Z_cal, case.Z_test)]


def _clustered(n_clusters, seed):
    return ClusteredCalibration(PlattScaling(), n_clusters, temperature=TEMPERATURE, random_state=seed)


def _held_out(n_clusters, case):
    """Return the losses of the calibration rows (n,), each by a fit to the other folds."""
    losses = np.empty(len(case.y_cal))
    for train, test in make_folds(FOLDS, case.y_cal, np.ones(len(losses)), case.seed):
        fitted = _clustered(n_clusters, case.seed).fit(case.P_cal[train], case.y_cal[train], case.Z_cal["shap"][train])
        q = fitted.predict_proba(case.P_cal[test], case.Z_cal["shap"][test])[:, 1]
        losses[test] = -np.log(np.clip(np.where(case.y_cal[test] == 1, q, 1 - q), 1e-15, 1))
    return losses
