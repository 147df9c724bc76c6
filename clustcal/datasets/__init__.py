"""Data: real sets behind one call, scores of our own models, and a generator whose true probabilities are known.

Raw files are fetched once into a data folder and verified each time; nothing is downloaded on import.
"""

from clustcal.datasets.fetching import cache_dir, fetch
from clustcal.datasets.loading import list_datasets, load
from clustcal.datasets.shipped_scores import list_scores, load_scores
from clustcal.datasets.synthetic import make_subpopulations

__all__ = ["cache_dir", "fetch", "list_datasets", "list_scores", "load", "load_scores", "make_subpopulations"]
