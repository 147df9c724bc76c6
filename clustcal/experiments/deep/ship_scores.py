"""Make the shipped scores of networks: ``python -m clustcal.experiments.deep.ship_scores emotion cifar100``.

`clustcal.datasets.load_scores` reads what this command writes. It needs the outputs of the networks in the cache
(``clustcal train NAME``) and the raw data, for the names of the classes. Representations are cut to the fewest
principal axes with which clustered calibration has the log-loss that it has with all of them; that is tried, in the
cells that the study chose where its rows are there.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

import clustcal
from clustcal import ClusteredCalibration, metrics
from clustcal.datasets import load
from clustcal.datasets.network_scores import LAYER, LOGITS, network_file, write_network_scores
from clustcal.datasets.shipped_scores import FOLDER, write_checksums
from clustcal.experiments import results
from clustcal.experiments.deep import design
from clustcal.experiments.deep.network_tables import choose_cells
from clustcal.experiments.deep.outputs import load_outputs, read_table
from clustcal.experiments.deep.study import open_store
from clustcal.experiments.provenance import library_versions

FEWEST = 16  # axes, so that there is something to look at
TOLERANCE = 1e-3  # of the log-loss, clustered with what is shipped against clustered with all of it
LEVELS = 127  # whole numbers of a byte, to each side, to which the longest axis is rounded
SPECTRUM = 64  # axes whose share of the squared length is told
DEFAULT_CELLS = ((10, 0.05, 1.0), (10, 0.05, 0.1))  # K, shrinkage, temperature; of a layer that the study never chose


class Cell(NamedTuple):
    """A clustered calibrator to try: the family, the layer and the settings, and its log-loss with all axes."""

    family: str
    layer: str
    n_clusters: int
    shrinkage: float
    temperature: float
    seed: int
    nll: float | None = None


@dataclass(frozen=True)
class Recipe:
    """What to ship of a network.

    Attributes
    ----------
    study : str
        Of `design.STUDIES`.
    data : str
        The data set, as `load` names it.
    about : str
        The network, in words.
    layers : tuple of str
    terms : str
        What is left out or changed, and why.
    logit_step : float
        To which logits are rounded.
    """

    study: str
    data: str
    about: str
    layers: tuple[str, ...]
    terms: str
    logit_step: float = 1 / 256


TURNED = "Representations are turned to other axes, cut and rounded; no text can be read off them and none is in here."
RECIPES = {
    "emotion": Recipe(
        "emotion", "emotion", "MiniLM of six layers, trained for three epochs as the paper says",
        ("cls", "cls-1", "mean"), f"The texts are tweets that may not be published again. {TURNED}",
    ),
    "imdb": Recipe(
        "imdb-overconfident", "imdb",
        "MiniLM of six layers, trained on 10,000 reviews until its log-loss on rows set aside had risen to that of the "
        "paper's network",
        ("cls", "cls-1", "mean"), f"The texts are reviews that may not be published again. {TURNED}",
        logit_step=1 / 64,
    ),
    "bloodmnist": Recipe(
        "bloodmnist-rebuilt", "bloodmnist-rebuilt", "EfficientNet-Lite0 with weights of ImageNet, trained further",
        ("pooled", "pooled-1"), "The photographs are open (CC BY 4.0).",
        logit_step=1 / 64,
    ),
    "cifar100": Recipe(
        "cifar100-overconfident", "cifar100-test",
        "a hidden layer and a head, trained too long on the features of a small published ResNet",
        ("hidden",), "The images and the features of the ResNet have no licence, so neither is in here: only what our "
        "own hidden layer and head make of them, turned to other axes, cut and rounded.",
        logit_step=1 / 8,
    ),
    "tiny-imagenet": Recipe(
        "tiny-imagenet", "tiny-imagenet",
        "EfficientNet-Lite0 with weights of ImageNet as it is, on images of 64 pixels; softmax over the 200 classes "
        "that occur", ("pooled", "pooled-1"),
        "The images may not be published again. Representations are turned to other axes, cut and rounded; no image is "
        "in here.",
        logit_step=1 / 16,
    ),
}  # fmt: skip


def turn_to_principal_axes(Z):
    """Scale rows to length 1 and turn them to the principal axes of all of them.

    Parameters
    ----------
    Z : ndarray of shape (n, m)

    Returns
    -------
    turned : ndarray of shape (n, m)
        Angles between rows are as before; the first axis has the largest sum of squares. (No mean is subtracted: that
        would change angles.)
    share : ndarray of shape (m,)
        Of the squared length on each axis.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.experiments.deep.ship_scores import turn_to_principal_axes
    >>> turned, share = turn_to_principal_axes(np.array([[3.0, 4.0], [6.0, 8.0]]))
    >>> np.abs(turned).round(6), share.round(6)
    (array([[1., 0.],
           [1., 0.]]), array([1., 0.]))
    """
    rows = normalize(np.asarray(Z, dtype=np.float64))
    lengths, axes = np.linalg.eigh(rows.T @ rows)
    lengths = np.maximum(lengths[::-1], 0)
    return rows @ axes[:, ::-1], lengths / lengths.sum()


def cut(turned, n_axes):
    """Keep the first axes, rounded to multiples of a power of two that a byte can count; return them and the step."""
    kept = turned[:, :n_axes]
    step = 2.0 ** np.ceil(np.log2(np.abs(kept).max() / LEVELS))
    return np.rint(kept / step) * step, float(step)


def find_cells(rows, n_classes, layers, seeds=design.SEEDS):
    """Return the cells to try: those that the study chose by cross-validation, at both temperatures.

    Parameters
    ----------
    rows : DataFrame or None
        Of one network, as the store of the study has them. Of a layer that they never chose default cells are tried.
    n_classes : int
    layers : sequence of str
    seeds : sequence of int

    Returns
    -------
    cells : list of Cell
        With few classes of all families and seeds. With many of temperature scaling, and of vector scaling for the
        first seed and up to ten clusters, as its fits take minutes.
    """
    few = n_classes <= design.FEW_CLASSES
    families = list(design.get_families(n_classes)) if few else ["TS", "Vector"]
    cells = []
    if rows is not None and len(rows):
        rows = rows[rows["layer"].isin(layers) & rows["seed"].isin(seeds) & rows["calibrator"].isin(families)]
        chosen = pd.concat(choose_cells(rows, temperature) for temperature in design.TEMPERATURES)
        if not few:
            is_cheap = (chosen["seed"] == seeds[0]) & (chosen["n_clusters"] <= 10)
            chosen = chosen[(chosen["calibrator"] == "TS") | is_cheap]
        cells = [
            Cell(row.calibrator, row.layer, row.n_clusters, row.shrinkage, row.temperature, row.seed, row.nll)
            for row in chosen.itertuples()
        ]
    never = [layer for layer in layers if layer not in {cell.layer for cell in cells}]
    return cells + [
        Cell(name, layer, *cell, seeds[0]) for layer in never for name in families for cell in DEFAULT_CELLS
    ]


def clustered_nll(P, y, Z, in_calibration, cell):
    """Return the log-loss of a clustered calibrator on the test half, as the study computes it."""
    n_classes = design.count_classes(P)
    one = ClusteredCalibration(
        design.get_families(n_classes)[cell.family],
        int(cell.n_clusters),
        cell.shrinkage,
        temperature=cell.temperature,
        random_state=int(cell.seed),
    )
    with threadpool_limits(1):
        one.fit(P[in_calibration], y[in_calibration], Z[in_calibration])
        Q = one.predict_proba(P[~in_calibration], Z[~in_calibration])
    return metrics.log_loss(y[~in_calibration], Q, labels=np.arange(n_classes))


def find_halves(part, seeds=design.SEEDS):
    """Return which rows calibrate under each seed: booleans of shape (n_seeds, n), as `design.halve` cuts them."""
    numbered = part._replace(Z={"row": np.arange(len(part.y))[:, None]})
    halves = np.zeros((len(seeds), len(part.y)), dtype=bool)
    for i, seed in enumerate(seeds):
        halves[i, design.halve(numbered, seed)[0].Z["row"].ravel().astype(int)] = True
    return halves


def make_scores(outputs, recipe, rows=None, *, progress=print):
    """Return what is shipped of a network.

    Parameters
    ----------
    outputs : Outputs
    recipe : Recipe
    rows : DataFrame, optional
        Of the study.
    progress : callable

    Returns
    -------
    arrays, steps, told : dict
        As :func:`clustcal.datasets.network_scores.write_network_scores` takes them, and what is to be told of each
        layer: width, axes, their share of the squared length, mean cosine, and the largest distance in log-loss.
    """
    study = design.STUDIES[recipe.study]
    logits, classes = outputs.logits.astype(np.float64), np.arange(outputs.logits.shape[1])
    if study.only_classes_that_occur:
        classes = np.unique(outputs.y)
    # Softmax does not see a constant added to a row; about their mean logits need the fewest digits.
    logits = logits[:, classes] - logits[:, classes].mean(axis=1, keepdims=True)
    steps = {LOGITS: recipe.logit_step}
    arrays = {LOGITS: np.rint(logits / steps[LOGITS]) * steps[LOGITS], "rows": outputs.rows}
    part = design.prepare(outputs, study.only_classes_that_occur)
    arrays["y"], arrays["halves"] = part.y, find_halves(part)
    P = softmax(arrays[LOGITS], axis=1)
    P = P[:, 1] if P.shape[1] == 2 else P
    cells = find_cells(rows, len(classes), recipe.layers)
    told = {}
    for layer in recipe.layers:
        of_layer = [cell for cell in cells if cell.layer == layer]
        Z, steps[layer], told[layer] = _reduce(part, P, layer, of_layer, arrays["halves"], progress)
        arrays[LAYER + layer] = Z
    return arrays, steps, {"layers": told, "classes": classes}


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.deep.ship_scores", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(RECIPES)}")
    parser.add_argument("--output", type=Path, default=Path(str(FOLDER)), help="folder for the files")
    parser.add_argument("--results", type=Path, default=results.FOLDER, help="folder of the results of the study")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in RECIPES:
            parser.error(f"names has {name!r}; expected some of {', '.join(RECIPES)}.")
    options.output.mkdir(parents=True, exist_ok=True)
    stored = open_store(options.results).read()
    for name in options.names or RECIPES:
        recipe = RECIPES[name]
        network = design.STUDIES[recipe.study].network
        outputs = load_outputs(network, table=read_table(options.results / "deep" / "models.csv"))
        rows = stored[stored["dataset"] == recipe.study] if len(stored) else None
        arrays, steps, told = make_scores(outputs, recipe, rows)
        path = options.output / network_file(name)
        write_network_scores(path, arrays, _metadata(name, recipe, told), steps)
        print(f"{path} ({path.stat().st_size:,} bytes)", flush=True)
    write_checksums(options.output)


def _reduce(part, P, layer, cells, halves, progress):
    """Cut one layer to the fewest axes that keep the log-loss of its cells."""
    Z = part.Z[layer].astype(np.float64)
    turned, share = turn_to_principal_axes(Z)
    nll = {
        cell: clustered_nll(part.P, part.y, Z, halves[cell.seed], cell) if cell.nll is None else cell.nll
        for cell in cells
    }
    n_axes = min(FEWEST, Z.shape[1])
    while True:
        kept, step = cut(turned, n_axes)
        apart = [abs(clustered_nll(P, part.y, kept, halves[cell.seed], cell) - nll[cell]) for cell in cells]
        progress(f"{layer}: {n_axes} of {Z.shape[1]} axes, log-loss of {len(cells)} cells within {max(apart):.6f}")
        if max(apart) < TOLERANCE or n_axes == Z.shape[1]:
            break
        n_axes = min(2 * n_axes, Z.shape[1])
    rows = normalize(Z)
    return kept, step, {
        "width": Z.shape[1],
        "axes": n_axes,
        "share": [round(float(value), 6) for value in share[:SPECTRUM]],
        # Of two rows that are drawn independently: the squared length of the mean row.
        "mean_cosine": round(float((rows.mean(axis=0) ** 2).sum()), 6),
        "cells": len(cells),
        "largest_change_of_nll": round(float(max(apart)), 6),
    }  # fmt: skip


def _metadata(name, recipe, told):
    data = load(recipe.data)
    return {
        "description": f"{data.title}: what a network says about the rows to calibrate and to test on, and "
        f"{len(recipe.layers)} representation(s) of them. The network: {recipe.about}. {recipe.terms}",
        "source": data.source,
        "licence": data.licence,
        "citation": data.citation,
        "target_name": data.target_name,
        "classes": [str(data.classes[k]) for k in told["classes"]],
        "parameters": {
            "name": name,
            "data": recipe.data,
            "network": design.STUDIES[recipe.study].network,
            "study": recipe.study,
            "layers": told["layers"],
            "versions": {"clustcal": clustcal.__version__} | library_versions(("numpy", "scikit-learn", "scipy")),
        },
    }


if __name__ == "__main__":
    main()
