"""The deviations and the errata: the two files of `results` that are kept by hand."""

from pathlib import Path

# Words of titles that are not written in lower case.
SPELLINGS = {"auc": "AUC", "ece": "ECE", "imdb": "IMDB", "lce": "LCE", "lore": "LoRe", "los": "LOS", "mlce": "MLCE"}


def read_entries(path):
    """Read the deviations or the errata.

    Parameters
    ----------
    path : path
        ``deviations.yml`` or ``errata.yml`` of the folder of results.

    Returns
    -------
    entries : list of dict
        The fields of each entry as the head of the file explains them.

    Raises
    ------
    ImportError
        If PyYAML is not installed; the extra ``book`` has it.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("Reading this file needs PyYAML: pip install pyyaml.") from error
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def make_title(name):
    """Return the heading of the entry with this id, from which a page makes the id again as the anchor of its link.

    Examples
    --------
    >>> from clustcal.experiments.entries import make_title
    >>> make_title("lce-is-mlce")
    'LCE is MLCE'
    """
    words = [SPELLINGS.get(word, word) for word in name.split("-")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])
