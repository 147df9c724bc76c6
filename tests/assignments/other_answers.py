"""Right answers in other styles than those of the masters: loops, pandas, scipy, scikit-learn, lists, other types.

For every question some of them; hidden checks have to accept all.
"""

ANSWERS = {
    "measuring-1": [
        """
def reliability_table(y, p, n_bins):
    rows = []
    for i in range(n_bins):
        chosen = [k for k in range(len(p)) if i / n_bins < p[k] <= (i + 1) / n_bins or (i == 0 and p[k] == 0)]
        if chosen:
            rows.append((len(chosen), sum(p[k] for k in chosen) / len(chosen), sum(y[k] for k in chosen) / len(chosen)))
        else:
            rows.append((0, float("nan"), float("nan")))
    return rows
""",
        """
def reliability_table(y, p, n_bins):
    table = pd.DataFrame({"y": y, "p": p})
    table["bin"] = pd.cut(table["p"], np.arange(n_bins + 1) / n_bins, include_lowest=True, labels=range(n_bins))
    groups = table.groupby("bin", observed=False)
    return pd.DataFrame({"count": groups.size(), "mean": groups["p"].mean(), "frequency": groups["y"].mean()})
""",
        """
def reliability_table(y, p, n_bins):
    bins = np.maximum(np.ceil(np.asarray(p) * n_bins).astype(int) - 1, 0)
    count = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        return np.c_[count, np.bincount(bins, p, n_bins) / count, np.bincount(bins, y, n_bins) / count]
""",
    ],
    "measuring-2": [
        "def expected_calibration_error(y, p, n_bins):\n    return metrics.ece(y, p, n_bins=n_bins)",
        """
def expected_calibration_error(y, p, n_bins):
    table = pd.DataFrame({"y": y, "p": p})
    by_bin = table.groupby(np.floor(table.p * n_bins).clip(upper=n_bins - 1))
    return ((by_bin.y.sum() - by_bin.p.sum()).abs().sum() / len(table)).astype(np.float32)
""",
        """
def expected_calibration_error(y, p, n_bins):
    total = 0
    for low in range(n_bins):
        gap = sum(a - b for a, b in zip(y, p) if low < b * n_bins <= low + 1)
        total += abs(gap)
    return total / len(y)
""",
    ],
    "measuring-3": [
        """
def chance_ece(p, n_bins, n_draws, seed):
    rng = np.random.default_rng(seed)
    return [metrics.ece(rng.binomial(1, p), p, labels=[0, 1], n_bins=n_bins) for _ in range(n_draws)]
""",
        """
def chance_ece(p, n_bins, n_draws, seed):
    rng = np.random.default_rng(seed)
    draws = rng.uniform(size=(n_draws, len(p))) <= np.asarray(p)[None]
    return pd.Series([metrics.ece(draw, p, labels=[False, True], n_bins=n_bins) for draw in draws])
""",
    ],
    "measuring-4": [
        """
def exact_interval(k, n, level=0.95):
    return tuple(stats.binomtest(int(k), int(n)).proportion_ci(level, method="exact"))
""",
        """
from scipy.optimize import brentq

def exact_interval(k, n, level=0.95):
    tail = (1 - level) / 2
    lower = 0 if k == 0 else brentq(lambda q: stats.binom.sf(k - 1, n, q) - tail, 1e-12, 1, xtol=1e-10)
    upper = 1 if k == n else brentq(lambda q: stats.binom.cdf(k, n, q) - tail, 0, 1 - 1e-12, xtol=1e-10)
    return [lower, upper]
""",
    ],
    "measuring-5": [
        """
def murphy(y, p):
    parts = metrics.murphy_decomposition(y, p, groups=p)
    return parts.reliability, parts.resolution, parts.uncertainty
""",
        """
from collections import namedtuple

def murphy(y, p):
    table = pd.DataFrame({"y": y, "p": p})
    table["o"] = table.groupby("p").y.transform("mean")
    Parts = namedtuple("Parts", "reliability resolution uncertainty")
    return Parts(((table.p - table.o) ** 2).mean(), table.o.var(ddof=0), table.y.var(ddof=0))
""",
    ],
    "calibrators-1": [
        """
def fit_platt(p, y):
    loss = lambda t: np.mean(np.logaddexp(0, t[0] * logit(p) + t[1]) - np.asarray(y) * (t[0] * logit(p) + t[1]))
    return tuple(optimize.minimize(loss, [1, 0]).x)
""",
        "def fit_platt(p, y):\n    return PlattScaling(prior=None).fit(p, y).theta_.tolist()",
        """
def fit_platt(p, y):
    from sklearn.linear_model import LogisticRegression
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(logit(np.asarray(p)).reshape(-1, 1), y)
    return model.coef_.item(), model.intercept_.item()
""",
    ],
    "calibrators-2": [
        """
def test_log_loss(p_cal, y_cal, p_test, y_test):
    q = BetaCalibration(prior=None).fit(p_cal, y_cal).predict_proba(p_test)
    return metrics.log_loss(y_test, q)
""",
        """
import math

def test_log_loss(p_cal, y_cal, p_test, y_test):
    rows = BetaCalibration(prior=None).fit(p_cal, y_cal).predict_proba(p_test).tolist()
    return -sum(math.log(row[int(label)]) for row, label in zip(rows, y_test)) / len(rows)
""",
    ],
    "calibrators-3": [
        """
def histogram_binning(p_cal, y_cal, p_new, n_bins, alpha=1.0, beta=1.0):
    result = []
    for new in p_new:
        same = [y for p, y in zip(p_cal, y_cal) if int(p * n_bins) == int(new * n_bins)]
        result.append((sum(same) + alpha) / (len(same) + alpha + beta))
    return result
""",
        """
from clustcal import HistogramBinning

def histogram_binning(p_cal, y_cal, p_new, n_bins, alpha=1.0, beta=1.0):
    if len(set(y_cal)) == 2:
        model = HistogramBinning(n_bins, strategy="uniform", prior=(alpha, beta)).fit(p_cal, y_cal)
        return model.predict_proba(p_new)[:, 1]
    edges = np.arange(n_bins + 1) / n_bins
    n, _ = np.histogram(p_cal, edges)
    m, _ = np.histogram(np.asarray(p_cal)[np.asarray(y_cal) == 1], edges)
    return pd.Series((m + alpha) / (n + alpha + beta)).loc[np.searchsorted(edges, p_new) - 1]
""",
    ],
    "calibrators-4": [
        """
from sklearn.isotonic import isotonic_regression

def isotonic(y):
    return isotonic_regression(np.asarray(y, dtype=float))
""",
        """
def isotonic(y):
    y = np.asarray(y, dtype=float)
    n = len(y)
    return [max(min(y[a:b + 1].mean() for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
""",
    ],
    "calibrators-5": [
        """
def scale_temperature(P, T):
    Q = np.asarray(P) ** (1 / T)
    return Q / Q.sum(axis=1)[:, None]
""",
        """
def scale_temperature(P, T):
    P = pd.DataFrame(P) ** (1 / T)
    return P.div(P.sum(axis=1), axis=0)
""",
        """
def scale_temperature(P, T):
    powers = [[value ** (1 / T) for value in row] for row in P]
    return [[value / sum(row) for value in row] for row in powers]
""",
    ],
    "decisions-1": [
        "best_threshold = lambda check, missed, found: check / (missed - found)",
        """
def best_threshold(check, missed, found):
    low, high = 0.0, 100.0
    while high - low > 1e-12:
        t = (low + high) / 2
        low, high = (t, high) if t * missed < check + t * found else (low, t)
    return np.float64(low)
""",
    ],
    "decisions-2": [
        """
def mean_cost(y, p, threshold, check, missed):
    cost = 0
    for label, risk in zip(y, p):
        if risk > threshold:
            cost += check
        elif label == 1:
            cost += missed
    return cost / len(y)
""",
        """
def mean_cost(y, p, threshold, check, missed):
    people = pd.DataFrame({"y": y, "p": p})
    people["cost"] = people.y * missed
    people.loc[people.p > threshold, "cost"] = check
    return people.cost.mean()
""",
    ],
    "decisions-3": [
        """
def net_benefit(y, p, t):
    people = pd.DataFrame({"y": y, "p": p}).query("p > @t")
    return (people.y.sum() - t / (1 - t) * (1 - people.y).sum()) / len(y)
""",
        """
def net_benefit(y, p, t):
    return sum((1 if label else -t / (1 - t)) for label, risk in zip(y, p) if risk > t) / len(p)
""",
    ],
    "decisions-4": [
        """
def error_after_rejection(y, p, share):
    pairs = sorted(zip(p, y), key=lambda pair: max(pair[0], 1 - pair[0]), reverse=True)
    kept = pairs[: len(pairs) - round(share * len(pairs))]
    return sum((score > 0.5) != bool(label) for score, label in kept) / len(kept)
""",
        """
def error_after_rejection(y, p, share):
    return metrics.rejection_curve(y, p, quantiles=[share]).error[0]
""",
    ],
    "decisions-5": [
        """
from scipy.optimize import minimize
features = lambda p: np.column_stack([np.log(p), -np.log1p(-p), np.ones_like(p)])
X = features(p_cal)
loss = lambda t: np.mean(np.logaddexp(0, X @ t) - y_cal * (X @ t))
theta = minimize(loss, [1, 1, 0], bounds=[(0, None), (0, None), (None, None)], tol=1e-12).x
q = 1 / (1 + np.exp(-features(p_test) @ theta))
calibrated = q.tolist()
cost = lambda risk: sum(1 if r > 0.025 else 40 * s for r, s in zip(risk, y_test)) / len(y_test)
cost_raw, cost_calibrated = cost(p_test), cost(q)
examined_raw, examined_calibrated = int((p_test > 1 / 40).sum()), float((q > 1 / 40).sum())
""",
    ],
    "theory-1": [
        """
def two_regions(p_A, p_B, q_A, q_B, n_bins):
    y, q = [1, 0, 1, 0], [q_A, q_A, q_B, q_B]
    w = [p_A, 1 - p_A, p_B, 1 - p_B]
    return metrics.log_loss(y, q, sample_weight=w), metrics.ece(y, q, sample_weight=w, n_bins=n_bins)
""",
        """
import math

def two_regions(p_A, p_B, q_A, q_B, n_bins):
    ce = lambda p, q: -p * math.log(q) - (1 - p) * math.log(1 - q)
    gaps = {}
    for p, q in ((p_A, q_A), (p_B, q_B)):
        gaps.setdefault(math.ceil(q * n_bins), []).append((p - q) / 2)
    return [(ce(p_A, q_A) + ce(p_B, q_B)) / 2, sum(abs(sum(g)) for g in gaps.values())]
""",
    ],
    "theory-2": [
        """
best = None
for q_A in np.arange(0.605, 0.8, 0.005):
    for q_B in np.arange(0.105, 0.4, 0.005):
        ok = min(abs(q * 5 - round(q * 5)) for q in (q_A, q_B)) > 0.006
        if ok and abs(q_A - p_A) + abs(q_B - p_B) > 0.05 and abs(q_A - p_A) < 0.06 and abs(q_B - p_B) < 0.06:
            best = q_A, q_B
q_A, q_B = best
""",
        "q_A, q_B = (p_A, p_B + 0.0501) if abs(p_A - 0.8) > 0.001 else (p_A + 0.0011, p_B + 0.0501)\n"
        "q_B += 0.003 if min(abs(q_B - e) for e in (0.2, 0.4)) < 0.002 else 0",
    ],
    "theory-3": [
        """
def brier_gap(eta, S, R, weight):
    def risk(keys):
        total = 0
        for i, key in enumerate(keys):
            same = [j for j in range(len(eta)) if keys[j] == key]
            best = sum(weight[j] * eta[j] for j in same) / sum(weight[j] for j in same)
            total += weight[i] * (eta[i] - best) ** 2
        return total / sum(weight)
    return risk(list(S)) - risk(list(zip(S, R)))
""",
        """
def brier_gap(eta, S, R, weight):
    t = pd.DataFrame(dict(eta=eta, S=S, R=R, w=weight))
    mean = lambda g: np.average(g.eta, weights=g.w)
    cells = t.groupby(["S", "R"]).apply(lambda g: pd.Series({"m": mean(g), "w": g.w.sum()}))
    total = 0
    for _, g in cells.groupby(level="S"):
        total += g.w.sum() * np.average((g.m - np.average(g.m, weights=g.w)) ** 2, weights=g.w)
    return total / t.w.sum()
""",
    ],
    "theory-4": [
        """
def best_shrinkage(delta, n_k, h):
    p, d2 = len(delta), float(np.linalg.norm(delta)) ** 2
    shrinkage = p / (2 * n_k * d2)
    return h / (h + 2 * shrinkage), shrinkage
""",
        """
def best_shrinkage(delta, n_k, h):
    d2, p = sum(d * d for d in delta), len(delta)
    error = lambda k: (1 - k) ** 2 * d2 + k ** 2 * p / (n_k * h)
    kappa = optimize.minimize_scalar(error, bounds=(0, 1), method="bounded", options={"xatol": 1e-8}).x
    return np.array([kappa, h / 2 * (1 / kappa - 1)])
""",
    ],
    "clusters-1": [
        """
def soft_memberships(Z, centroids, temperature=1.0):
    result = []
    for z in np.asarray(Z):
        weights = []
        for c in np.asarray(centroids):
            cosine = z @ c / (np.linalg.norm(z) * np.linalg.norm(c))
            weights.append(np.exp(-(1 - cosine) ** 2 / temperature))
        result.append([w / sum(weights) for w in weights])
    return result
""",
        """
from sklearn.metrics.pairwise import cosine_distances

def soft_memberships(Z, centroids, temperature=1.0):
    weights = np.exp(-cosine_distances(Z, centroids) ** 2 / temperature)
    return pd.DataFrame(weights / weights.sum(axis=1, keepdims=True))
""",
    ],
    "clusters-2": [
        """
def cluster_gradient(theta, theta_0, H, y, w, shrinkage):
    total = 2 * shrinkage * (np.asarray(theta) - theta_0)
    for h, label, weight in zip(H, y, w):
        total = total + weight / sum(w) * (1 / (1 + np.exp(-(h @ theta))) - label) * h
    return list(total)
""",
        """
def cluster_gradient(theta, theta_0, H, y, w, shrinkage):
    def loss(t):
        z = H @ t
        return np.average(np.logaddexp(0, z) - y * z, weights=w) + shrinkage * np.sum((t - theta_0) ** 2)
    return optimize.approx_fprime(theta, loss, 1e-6)
""",
    ],
    "clusters-3": [
        """
def fit_cluster(p, y, w, theta_0, shrinkage):
    H = np.column_stack([logit(p), np.ones(len(p))])
    theta = np.zeros(2)
    for _ in range(25):
        q = expit(H @ theta)
        slope = H.T @ (w * (q - y)) / w.sum() + 2 * shrinkage * (theta - theta_0)
        curve = (H.T * (w * q * (1 - q))) @ H / w.sum() + 2 * shrinkage * np.eye(2)
        theta = theta - np.linalg.solve(curve, slope)
    return pd.Series(theta, index=["A", "B"])
""",
        """
def fit_cluster(p, y, w, theta_0, shrinkage):
    x = logit(p)
    loss = lambda t: np.average(np.logaddexp(0, t[0] * x + t[1]) - y * (t[0] * x + t[1]), weights=w) + shrinkage * (
        (t[0] - theta_0[0]) ** 2 + (t[1] - theta_0[1]) ** 2)
    found = optimize.minimize(loss, theta_0, method="Nelder-Mead")
    return float(found.x[0]), float(found.x[1])
""",
    ],
    "clusters-4": [
        """
def clustered_probability(p, W, theta):
    result = []
    for score, weights in zip(p, W):
        odds = score / (1 - score)
        result.append(sum(w / (1 + 1 / (odds ** A * np.exp(B))) for w, (A, B) in zip(weights, theta)))
    return result
""",
        """
def clustered_probability(p, W, theta):
    total = np.zeros(len(p))
    for k, (A, B) in enumerate(theta):
        total += np.asarray(W)[:, k] * expit(A * logit(np.asarray(p)) + B)
    return pd.Series(total)
""",
    ],
    "clusters-5": [
        """
def expected_over_observed(y, q, W):
    W = np.asarray(W)
    return [sum(W[:, k] * q) / sum(W[:, k] * y) for k in range(W.shape[1])]
""",
        """
def expected_over_observed(y, q, W):
    W = pd.DataFrame(W)
    return W.mul(q, axis=0).sum() / W.mul(y, axis=0).sum()
""",
    ],
    "reproduction-1": [
        """
def relative_gains(runs, metric="NLL"):
    gains = []
    for _, model in runs.groupby(["n_estimators", "max_depth"]):
        means = model.groupby(["calibrator", "representation"])[metric].mean()
        single = min(means.get((c, "Baseline"), np.inf) for c in ("Platt", "Beta", "TS"))
        mixed = min(means.get((c, r), np.inf) for c in ("Platt", "Beta", "TS") for r in ("Coverage", "SHAP", "Data"))
        gains.append(100 * (1 - mixed / single))
    return gains
""",
        """
def relative_gains(runs, metric="NLL"):
    runs = runs[runs.calibrator.isin({"Platt", "Beta", "TS"})].copy()
    runs["kind"] = np.where(runs.representation == "Baseline", "one", "many")
    means = runs.pivot_table(metric, ["n_estimators", "max_depth", "kind", "calibrator", "representation"])
    best = means.groupby(level=[0, 1, 2]).min()[metric].unstack()
    return 100 * (best.one - best.many) / best.one
""",
    ],
    "reproduction-2": [
        "def half_width(values, level=0.95):\n    return metrics.t_interval(values, confidence_level=level).half_width",
        """
def half_width(values, level=0.95):
    low, high = stats.t.interval(level, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    return 0.0 if np.ptp(values) == 0 else (high - low) / 2
""",
    ],
    "reproduction-3": [
        """
key = ["n_estimators", "max_depth", "seed", "calibrator", "representation"]
stored_nll = lambda runs, split: runs.set_index(key).sort_index().loc[(300, 8, split, "Platt", "SHAP"), "NLL"]

def run_again(scores, rows, split):
    part = {kind: np.take(scores[f"{kind}_cal"], rows, axis=0) for kind in ("P", "y")}
    fitted = ClusteredCalibration(PlattScaling(prior=None), random_state=split)
    fitted.fit(part["P"], part["y"], scores["Z_cal"]["shap"][rows])
    q = fitted.predict_proba(scores.P_test, scores.Z_test["shap"])[:, 1]
    return np.float32(-np.mean(scores.y_test * np.log(q) + (1 - scores.y_test) * np.log(1 - q)))

my_nll = pd.Series([run_again(scores, list(patients), split)])[0]
""",
    ],
    "reproduction-4": [
        "def ada_ece(y, q, n_bins=10):\n    return metrics.ada_ece(y, q, n_bins=n_bins)",
        """
def ada_ece(y, q, n_bins=10):
    table = pd.DataFrame({"y": y, "q": q})
    table["bin"] = pd.qcut(table.q, n_bins, labels=False)
    means = table.groupby("bin").mean()
    return ((means.y - means.q) ** 2).mean() ** 0.5
""",
        """
def ada_ece(y, q, n_bins=10):
    pairs = sorted(zip(q, y))
    size = len(pairs) // n_bins
    total = 0
    for start in range(0, len(pairs), size):
        chunk = pairs[start:start + size]
        total += size * (sum(b for _, b in chunk) / size - sum(a for a, _ in chunk) / size) ** 2
    return (total / len(pairs)) ** 0.5
""",
    ],
    "reproduction-5": [
        """
from decimal import Decimal

def verdict(printed, ours, sd):
    number = Decimal(printed)
    half = Decimal(5) * Decimal(10) ** (number.as_tuple().exponent - 1)
    away = abs(Decimal(ours) - number)
    return "match" if away <= half else "within tolerance" if away <= 2 * Decimal(sd) else "differs"
""",
        """
def verdict(printed, ours, sd):
    decimals = len(printed.split(".")[1]) if "." in printed else 0
    if f"{ours:.{decimals}f}" == printed:
        return "match"
    if abs(ours - float(printed)) <= 2 * sd:
        return "within tolerance"
    return "differs"
""",
    ],
}
