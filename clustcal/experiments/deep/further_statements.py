"""The statements of the paper's text on images and texts that rest on more than its two tables.

Sensitivity rests on all cells, the confidence signal and the geometry on tables of their own, cost on measured
seconds. As in `statements` a statement is a function from what is known to its judgements.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import softmax

from clustcal.experiments.deep import confidence_signal, design, geometry, measured
from clustcal.experiments.deep.network_tables import CLUSTERED, PAPER_TEMPERATURE, STAND_INS, find_tables, read_rows
from clustcal.experiments.deep.outputs import read_outputs
from clustcal.experiments.deep.statements import (
    FAILS,
    HOLDS,
    IMAGES,
    TEXTS,
    Judgement,
    MissingRows,
    Tables,
    list_methods,
)
from clustcal.experiments.results import FOLDER

CELLS = len(design.N_CLUSTERS) * len(design.SHRINKAGES)
GEOMETRY_CLUSTERS = 4
FAMILIES = ("Beta", "Vector", "Dirichlet", "TS")  # of the paper's seconds


@dataclass
class Known:
    """What the results hold: the rows of the complete studies, and the tables that are measured beside them.

    Parameters
    ----------
    folder : path
        Of the results.
    """

    folder: Path = field(default=FOLDER)

    @cached_property
    def rows(self):
        return read_rows(self.folder)

    @cached_property
    def tables(self):
        """As `Tables`, of the networks that are judged."""
        found = find_tables(self.rows)
        return Tables({paper: found[one.judged] for paper, one in STAND_INS.items() if one.judged in found})

    def cells(self, paper):
        """Return all rows of the judged network of a data set."""
        found = self.rows[self.rows["dataset"] == STAND_INS[paper].judged]
        if found.empty:
            raise MissingRows(paper)
        return found

    def measured(self, name):
        """Return a table that is measured beside the study, see `measured`."""
        return measured.read(Path(self.folder) / "deep" / f"{name}.csv")

    def of_network(self, name, paper):
        """Return the rows of such a table on the judged network of a data set, or on another name."""
        table = self.measured(name)
        network = STAND_INS[paper].judged if paper in STAND_INS else paper
        found = table if table.empty else table[table["name"] == network]
        if found.empty:
            raise MissingRows(f"{paper} in {name}.csv")
        return found


def imdb_overconfident(known):
    path = Path(known.folder) / "deep" / "outputs" / f"{STAND_INS['IMDB'].judged}.npz"
    if not path.exists():
        raise MissingRows("IMDB")
    found = read_outputs(path)
    part = design.Part(softmax(found.logits.astype(float), axis=1), found.y, {})
    above = []
    for seed in design.SEEDS:
        _, test = design.halve(part, seed)
        above.append(test.P.max(axis=1).mean() - np.mean(test.P.argmax(axis=1) == test.y))
    yield Judgement("", f"above by {min(above):.3f} to {max(above):.3f}", HOLDS if min(above) >= 0.05 else FAILS)


def imdb_shrinkage_5(known):
    rows = known.cells("IMDB")
    cell = rows.query(
        f"calibrator == 'TS' and n_clusters == 4 and shrinkage == 5 and temperature == {PAPER_TEMPERATURE}"
    )
    layer = find_paper_layer(rows)
    clustered = cell[cell["layer"] == layer]["nll"].mean()
    gain = known.tables.mean("IMDB", "TS") - clustered
    said = f"lower by {gain:.5f} at layer {layer}"
    beside = known.measured("summed_loss")
    beside = (
        beside if beside.empty else beside[(beside["name"] == STAND_INS["IMDB"].judged) & (beside["family"] == "TS")]
    )
    if not beside.empty:
        nll = beside.groupby("loss")["nll"].mean()
        said += f"; with the loss as a sum by {nll['global'] - nll['sum']:.5f}"
    yield Judgement("", said, HOLDS if gain >= 0.01 else FAILS)


def find_paper_layer(rows):
    """Return the layer that the paper names, of those that have rows: the last one."""
    layers = set(rows["layer"])
    return next(layer for layer in ("cls", "pooled", "coverage") if layer in layers)


def sensitivity(known):
    spread = {kind: find_sensitivity(known, names) for kind, names in {"images": IMAGES, "texts": TEXTS}.items()}
    share = {kind: np.mean([value >= 0.01 for value in found.values()]) for kind, found in spread.items()}
    said = ", ".join(f"{value:.0%} of {len(spread[kind])} on {kind}" for kind, value in share.items())
    yield Judgement("matters", said, HOLDS if min(share.values()) >= 0.5 else FAILS)
    median = {kind: np.median(list(found.values())) for kind, found in spread.items()}
    said = ", ".join(f"{kind} {value:.4f}" for kind, value in median.items())
    yield Judgement("worse on texts", f"median: {said}", HOLDS if median["texts"] > median["images"] else FAILS)


def find_sensitivity(known, names):
    """Return how far the log-loss of each clustered method goes over the 16 cells, as a share of the smallest.

    Parameters
    ----------
    known : Known
    names : sequence of str
        The paper's names of data sets.

    Returns
    -------
    spread : dict of (str, str) to float
        By data set and family, a mean over the splits in which all cells were run.
    """
    found = {}
    for name in names:
        rows = known.cells(name)
        listed = {method.removesuffix(CLUSTERED) for method in list_methods(name) if method.endswith(CLUSTERED)}
        rows = rows[(rows["layer"] == find_paper_layer(rows)) & (rows["temperature"] == PAPER_TEMPERATURE)]
        for family, of_family in rows[rows["calibrator"].isin(listed)].groupby("calibrator"):
            if (name, family) == ("CIFAR-100", "Dirichlet"):
                continue
            by_seed = of_family.groupby("seed")["nll"].agg(["min", "max", "size"])
            whole = by_seed[by_seed["size"] == CELLS]
            found[name, family] = float(((whole["max"] - whole["min"]) / whole["min"]).mean())
    return found


def confidence_signal_of_texts(known):
    gains = {name: find_gains_over_global(known, name) for name in TEXTS}
    said = "; ".join(f"{name}: bin-wise {one:.4f}, clustered {two:.4f}" for name, (one, two) in gains.items())
    yield Judgement("a", said, HOLDS if all(one > two for one, two in gains.values()) else FAILS)
    after = {name: confidence_signal.find_gains(known.of_network("confidence_signal", name)) for name in TEXTS}
    means = {name: found["gain"].mean() for name, found in after.items()}
    said = "; ".join(f"{name}: {value:.4%}" for name, value in means.items())
    yield Judgement("b", said, HOLDS if max(means.values()) < 0.005 else FAILS)


def find_gains_over_global(known, name):
    """Return how much the best bin-wise method and the clustered one lower the log-loss of the same global calibrator.

    Returns
    -------
    binwise, clustered : float
        Shares of the log-loss of the global form of the best bin-wise method.
    """
    family = confidence_signal.find_best_binwise(known.tables[name])
    base = known.tables.mean(name, family)
    forms = (confidence_signal.BINWISE + family, family + CLUSTERED)
    return tuple(1 - known.tables.mean(name, form) / base for form in forms)


def cone_geometry(known):
    found = {}
    for name, layer in {"IMDB": "cls", geometry.STROKE: "coverage"}.items():
        rows = known.of_network("geometry", name)
        found[name] = rows[(rows["layer"] == layer) & (rows["n_clusters"] == GEOMETRY_CLUSTERS)]
    parts = {"a": ("mean_cosine", 1), "b": ("silhouette", 1), "c": ("spread_ratio", -1)}
    for part, (column, direction) in parts.items():
        imdb, stroke = (found[name][column].mean() for name in ("IMDB", geometry.STROKE))
        holds = direction * (imdb - stroke) > 0
        yield Judgement(part, f"IMDB {imdb:.3f}, Stroke {stroke:.3f}", HOLDS if holds else FAILS)


def overhead_deep(known):
    for family, ratio in find_seconds(known)["ratio"].items():
        yield Judgement(family, f"{ratio:.2f}", HOLDS if 2 <= ratio <= 3 else FAILS)


def overhead_small_constant(known):
    seconds = find_seconds(known)
    most = seconds["ratio"].max()
    yield Judgement("a", f"at most {most:.2f}", HOLDS if most <= 5 else FAILS)
    before = seconds["clustering_seconds"] + seconds["extraction_seconds"]
    count = int((before > seconds["clustered_seconds"]).sum())
    yield Judgement("b", f"{count} of {len(FAMILIES)} families", HOLDS if count >= 3 else FAILS)


def find_seconds(known):
    """Return mean seconds by family over the judged networks that have it, see `overhead`, and "ratio".

    The ratio is that of the clustered fit to the global one. Platt scaling of two classes counts as vector scaling, as
    in the paper.

    Raises
    ------
    MissingRows
        If one of the networks has not been measured: a mean over fewer would be another number.
    """
    table = known.measured("overhead")
    for name, one in STAND_INS.items():
        if one.judged is not None and (table.empty or one.judged not in set(table["name"])):
            raise MissingRows(f"{name} in overhead.csv")
    names = [one.judged for one in STAND_INS.values()]
    table = table[table["name"].isin(names) & (table["rows"] == "half")]
    columns = [name for name in table.columns if name.endswith("_seconds")]
    seconds = table.assign(family=table["family"].replace("Platt", "Vector")).groupby("family")[columns].mean()
    return seconds.assign(ratio=seconds["clustered_seconds"] / seconds["global_seconds"]).loc[list(FAMILIES)]


def dirichlet_reference_code(known):
    table = known.of_network("reference_dirichlet", "CIFAR-100")
    nll = table.pivot_table(index="seed", columns="method", values="nll").dropna().mean()
    if "reference" not in nll:
        raise MissingRows("the reference in reference_dirichlet.csv")
    ratio = nll["reference"] / nll["ours"]
    both = min(nll["reference"], nll["ours"]) > nll["base"]
    said = f"{ratio:.3f} times ours; base {nll['base']:.3f}, ours {nll['ours']:.3f}, theirs {nll['reference']:.3f}"
    splits = table.loc[table["method"] == "reference", "seed"].nunique()
    yield Judgement("", said, HOLDS if both or 0.95 <= ratio <= 1.25 else FAILS, splits)


STATEMENTS = {
    "dirichlet-reference-code": dirichlet_reference_code,
    "imdb-overconfident": imdb_overconfident,
    "imdb-shrinkage-5": imdb_shrinkage_5,
    "sensitivity": sensitivity,
    "confidence-signal": confidence_signal_of_texts,
    "cone-geometry": cone_geometry,
    "overhead-deep": overhead_deep,
    "overhead-small-constant": overhead_small_constant,
}
