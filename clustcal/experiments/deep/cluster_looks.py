"""What the clusters of networks look like: ``python -m clustcal.experiments.deep.cluster_looks emotion bloodmnist``.

Of four clusters of the shipped scores of a network: size, accuracy and confidence; of texts the words that distinguish
each of them; of images a few of each where the terms allow it, else their mean. It needs the raw data, and writes what
may be published: no text, and no word that fewer than `MIN_TEXTS` texts of a cluster have.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from clustcal import SoftKMeans
from clustcal.datasets import load, load_scores
from clustcal.experiments import results

N_CLUSTERS = 4
SEED = 0
N_WORDS = 10
MIN_TEXTS = 20
N_IMAGES = 6
WORD = re.compile(r"[a-z][a-z']+")


class Look(NamedTuple):
    """Whose clusters: the layer, and of images whether some may be shown."""

    layer: str
    is_text: bool
    images_are_open: bool = False


LOOKS = {
    "emotion": Look("cls", is_text=True),
    "imdb": Look("cls", is_text=True),
    "bloodmnist": Look("pooled", is_text=False, images_are_open=True),
    "cifar100": Look("hidden", is_text=False),
    "tiny-imagenet": Look("pooled", is_text=False),
}


def find_clusters(scores, layer, n_clusters=N_CLUSTERS, seed=SEED):
    """Return K-means of the calibration half of shipped scores, and the cluster of every row.

    Parameters
    ----------
    scores : Bunch
        As `load_scores` returns it.
    layer : str
    n_clusters, seed : int

    Returns
    -------
    clusters : SoftKMeans
    nearest : ndarray of shape (n,)
        Rows of the calibration half first, then those of the test half.
    """
    clusters = SoftKMeans(n_clusters, random_state=seed).fit(scores.Z_cal[layer])
    W = clusters.transform(np.concatenate([scores.Z_cal[layer], scores.Z_test[layer]]))
    return clusters, W.argmax(axis=1)


def describe(scores, nearest):
    """Return one line per cluster: its size, and how good and how confident the network is there.

    ``first`` to ``third`` are the most frequent predictions, with their share of the cluster.
    """
    P, y = np.concatenate([scores.P_cal, scores.P_test]), np.concatenate([scores.y_cal, scores.y_test])
    P = np.column_stack([1 - P, P]) if P.ndim == 1 else P
    said = P.argmax(axis=1)
    lines = []
    for k in range(nearest.max() + 1):
        mine = nearest == k
        shares = np.bincount(said[mine], minlength=P.shape[1]) / mine.sum()
        top = np.argsort(-shares, kind="stable")[:3]
        places = ("first", "second", "third")
        lines.append(
            {
                "cluster": k,
                "size": int(mine.sum()),
                "accuracy": round(float(np.mean(said[mine] == y[mine])), 4),
                "confidence": round(float(P[mine].max(axis=1).mean()), 4),
                **{place: f"{scores.classes[c]} {shares[c]:.2f}" for place, c in zip(places, top, strict=False)},
            }
        )
    return pd.DataFrame(lines)


def distinguishing_words(texts, clusters, n_words=N_WORDS, min_texts=MIN_TEXTS):
    """Return the words that most distinguish the texts of each cluster from all others.

    Parameters
    ----------
    texts : sequence of str
    clusters : array of shape (n,)
    n_words : int
        For each cluster.
    min_texts : int
        Of a cluster that have the word; rarer ones are left out.

    Returns
    -------
    words : DataFrame
        With the columns ``cluster``, ``word``, ``share`` (of the texts of the cluster that have it), ``elsewhere`` (of
        all other texts) and ``z``, the difference of the two log-odds in standard errors, by which words are ordered:
        with half a text added to each count.

    Examples
    --------
    >>> from clustcal.experiments.deep.cluster_looks import distinguishing_words
    >>> texts = ["a good film"] * 3 + ["a bad film"] * 3
    >>> distinguishing_words(texts, [0, 0, 0, 1, 1, 1], n_words=1, min_texts=2)["word"].tolist()
    ['good', 'bad']
    """
    from scipy import sparse

    clusters = np.asarray(clusters)
    found = [sorted(set(WORD.findall(text.lower()))) for text in texts]
    names = sorted(set().union(*found))
    number = {word: i for i, word in enumerate(names)}
    columns = np.concatenate([[number[word] for word in words] for words in found]).astype(int)
    rows = np.repeat(np.arange(len(found)), [len(words) for words in found])
    has = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(found), len(names)))
    lines = []
    for k in np.unique(clusters):
        mine = clusters == k
        inside, outside = (np.asarray(has[part].sum(axis=0)).ravel() for part in (mine, ~mine))
        n_inside, n_outside = mine.sum(), (~mine).sum()
        cells = np.array([inside, n_inside - inside, outside, n_outside - outside]) + 0.5
        z = (np.log(cells[0] / cells[1]) - np.log(cells[2] / cells[3])) / np.sqrt((1 / cells).sum(axis=0))
        z[inside < min_texts] = -np.inf
        for i in np.argsort(-z, kind="stable")[:n_words]:
            if np.isfinite(z[i]):
                shares = {"share": round(inside[i] / n_inside, 4), "elsewhere": round(outside[i] / n_outside, 4)}
                lines.append({"cluster": int(k), "word": names[i], **shares, "z": round(float(z[i]), 1)})
    return pd.DataFrame(lines, columns=["cluster", "word", "share", "elsewhere", "z"])


def typical_images(images, memberships, nearest, n_images=N_IMAGES):
    """Return the images of each cluster that are nearest to its centroid: shape (K, n_images, height, width, 3)."""
    shown = []
    for k in range(memberships.shape[1]):
        mine = np.flatnonzero(nearest == k)
        shown.append(images[mine[np.argsort(-memberships[mine, k], kind="stable")[:n_images]]])
    return np.stack(shown)


def mean_images(images, nearest):
    """Return the mean image of each cluster: shape (K, height, width, 3), uint8."""
    return np.stack([np.rint(images[nearest == k].mean(axis=0)) for k in range(nearest.max() + 1)]).astype(np.uint8)


def look(name, folder):
    """Write what the clusters of one network look like into a folder; return the files."""
    scores, (layer, is_text, images_are_open) = load_scores(name, SEED), LOOKS[name]
    clusters, nearest = find_clusters(scores, layer)
    rows = np.concatenate([scores.rows_cal, scores.rows_test])
    X = load(scores.parameters["data"]).X[rows]
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.csv"]
    describe(scores, nearest).assign(layer=layer).to_csv(written[0], index=False, lineterminator="\n")
    if is_text:
        written.append(folder / f"{name}.words.csv")
        distinguishing_words(X, nearest).to_csv(written[1], index=False, lineterminator="\n")
        return written
    arrays = {"means": mean_images(X, nearest)}
    if images_are_open:
        W = clusters.transform(np.concatenate([scores.Z_cal[layer], scores.Z_test[layer]]))
        arrays["images"] = typical_images(X, W, nearest)
    written.append(folder / f"{name}.npz")
    np.savez_compressed(written[1], **arrays)
    return written


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.deep.cluster_looks", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", choices=tuple(LOOKS), help=f"of {', '.join(LOOKS)}")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "deep" / "clusters", help="folder")
    options = parser.parse_args(arguments)
    for name in options.names:
        print(*look(name, options.output), sep="\n", flush=True)


if __name__ == "__main__":
    main()
