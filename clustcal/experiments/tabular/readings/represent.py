"""The representations of rows under other readings of "coverage", and those of the paper's protocol.

Each reading is a function of `Rows` and returns the representation of the calibration and of the test part.
"""

from functools import cached_property, partial

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from clustcal.experiments import protocol
from clustcal.representations.tree_models import xgboost_predict


class Rows:
    """The rows of both parts and the model that sees them; what several readings need is computed once.

    Parameters
    ----------
    model : Pipeline
        As :func:`clustcal.experiments.protocol.train_model` returns it.
    X_cal, X_test : DataFrame
        Rows of the raw data.
    seed : int
        Of the SVD.
    """

    def __init__(self, model, X_cal, X_test, seed):
        self.model, self.seed = model, seed
        self.raw = X_cal, X_test
        self._embedded = {}

    @cached_property
    def leaves(self):
        """The number of the leaf of every row in every tree, shape (n, T), of both parts."""
        return tuple(_leaves(self.model, X) for X in self.raw)

    @cached_property
    def leaf_indicators(self):
        """Sparse, of both parts: which leaves a row reaches."""
        return _indicators(*self.leaves)

    @cached_property
    def path_indicators(self):
        """Sparse, of both parts: which nodes but the roots are on the paths of a row."""
        parents = _parents(self.model[-1])
        depth = max(_depth(parents), 1)
        return _indicators(*(_paths(nodes, parents, depth) for nodes in self.leaves), n_trees=parents.shape[0])

    def embed(self, indicators, weigh, n_components):
        """Weigh one of the kinds of indicators, bring its rows to unit length, and compress them."""
        key = indicators, weigh, n_components
        if key not in self._embedded:
            self._embedded[key] = _embed(*getattr(self, indicators), self.seed, weigh, n_components)
        return self._embedded[key]


def represent(name, model, X_cal, X_test, seed):
    """Return one representation of both parts; see `READINGS` for its names and `Rows` for the rest.

    Returns
    -------
    Z_cal, Z_test : ndarray
    """
    return READINGS[name](Rows(model, X_cal, X_test, seed))


def as_printed(name, rows):
    """One of the three of the protocol."""
    representation = protocol.make_representation(name, rows.model, rows.seed)
    X_cal, X_test = rows.raw
    return representation.fit_transform(X_cal), representation.transform(X_test)


def coverage(rows, *, weigh="idf", n_components=protocol.N_COMPONENTS, centred=False):
    """Leaf indicators with other weights of the leaves, fewer components, or with the mean row taken off.

    ``weigh`` is ``"idf"``, ``"one"``, or ``"cover"``, the share of the calibration rows in a leaf.
    """
    return _less_mean(rows.embed("leaf_indicators", weigh, n_components), centred)


def path_nodes(rows, *, weigh="one", centred=True):
    """Indicators of every node on a row's path in place of its last one, the leaf."""
    return _less_mean(rows.embed("path_indicators", weigh, protocol.N_COMPONENTS), centred)


def leaf_values(rows, *, centred=False):
    """What each tree adds to the score: one column per tree."""
    tables = rows.model[-1].get_booster().trees_to_dataframe()
    is_leaf = tables["Feature"] == "Leaf"
    values = np.zeros((tables["Tree"].max() + 1, tables["Node"].max() + 1))
    values[tables.loc[is_leaf, "Tree"], tables.loc[is_leaf, "Node"]] = tables.loc[is_leaf, "Gain"]
    return _less_mean([np.take_along_axis(values, leaves.T, axis=1).T for leaves in rows.leaves], centred)


READINGS = {
    **{name: partial(as_printed, name) for name in protocol.REPRESENTATIONS},
    "coverage, no idf": partial(coverage, weigh="one"),
    **{f"coverage, r = {r}": partial(coverage, n_components=r) for r in (4, 16, 64)},
    "coverage, centred": partial(coverage, centred=True),
    "coverage, centred, r = 16": partial(coverage, centred=True, n_components=16),
    "coverage, centred, by cover": partial(coverage, weigh="cover", centred=True),
    "leaf values": leaf_values,
    "leaf values, centred": partial(leaf_values, centred=True),
    "path nodes": partial(path_nodes, centred=False),
    "path nodes, centred": path_nodes,
}


def _leaves(model, X):
    """Return the number of the leaf of every row in every tree, shape (n, T)."""
    leaves = xgboost_predict(model[-1], model[:-1].transform(X), None, pred_leaf=True)
    return leaves.reshape(len(leaves), -1).astype(np.int64)


def _parents(classifier):
    """Return the number of the node above every node, shape (T, nodes); a root is its own, and so are gaps."""
    table = classifier.get_booster().trees_to_dataframe()
    number = table.set_index("ID")["Node"]
    parents = np.tile(np.arange(table["Node"].max() + 1), (table["Tree"].max() + 1, 1))
    for side in ("Yes", "No"):
        inner = table[table[side].notna()]
        parents[inner["Tree"], number.loc[inner[side]]] = inner["Node"]
    return parents


def _depth(parents):
    """Return how many steps the deepest node is below its root."""
    nodes, steps = np.broadcast_to(np.arange(parents.shape[1]), parents.shape), 0
    while (above := np.take_along_axis(parents, nodes, axis=1)).tolist() != nodes.tolist():
        nodes, steps = above, steps + 1
    return steps


def _paths(leaves, parents, depth):
    """Return the nodes on every path but the root, shape (n, depth T); a shorter path names its highest node again."""
    levels = [leaves]
    for _ in range(depth - 1):
        above = np.take_along_axis(parents, levels[-1].T, axis=1).T
        levels.append(np.where(above == 0, levels[-1], above))
    return np.concatenate(levels, axis=1)


def _indicators(nodes_cal, nodes_test, n_trees=None):
    """Return 0/1 matrices of both parts; a column for every node that the calibration part reaches.

    Columns of ``nodes`` are of the trees in turn, over and over where a row reaches several nodes of a tree.
    """
    n_trees = nodes_cal.shape[1] if n_trees is None else n_trees
    width = max(nodes_cal.max(), nodes_test.max()) + 1
    first = width * (np.arange(nodes_cal.shape[1]) % n_trees)
    known, numbers = np.unique(nodes_cal + first, return_inverse=True)
    C_cal = _ones(numbers.reshape(nodes_cal.shape), np.ones(nodes_cal.shape, bool), len(known))
    keys = nodes_test + first
    numbers = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return C_cal, _ones(numbers, known[numbers] == keys, len(known))


def _ones(columns, found, n_columns):
    rows = np.broadcast_to(np.arange(len(columns))[:, None], columns.shape)
    ones = np.ones(np.count_nonzero(found), dtype=np.float32)
    C = sparse.csr_matrix((ones, (rows[found], columns[found])), shape=(len(columns), n_columns))
    C.data[:] = 1  # a node that was named twice counts once
    return C


def _embed(C_cal, C_test, seed, weigh, n_components):
    """Weigh the columns, bring rows to unit length, and compress."""
    n, share = C_cal.shape[0], np.asarray(C_cal.mean(axis=0)).ravel()
    weights = {"idf": np.log((n + 1) / (n * share + 1)) + 1, "one": np.ones_like(share), "cover": share}[weigh]
    scale = sparse.diags_array(weights.astype(np.float32))
    A_cal, A_test = (normalize(C @ scale) for C in (C_cal, C_test))
    svd = TruncatedSVD(min(n_components, *A_cal.shape), random_state=seed)
    return svd.fit_transform(A_cal), svd.transform(A_test)


def _less_mean(parts, centred):
    """Take the calibration part's mean row off both parts, if that is asked for."""
    Z_cal, Z_test = parts
    mean = Z_cal.mean(axis=0) if centred else 0.0
    return np.asarray(Z_cal - mean, dtype=float), np.asarray(Z_test - mean, dtype=float)
