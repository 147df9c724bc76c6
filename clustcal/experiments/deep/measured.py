"""Small tables of measurements that can be stopped at any moment: one CSV file, a few rows for each unit of work.

A unit is a dict of the columns that name it. `extend` computes the units of which the file has no row, and writes the
file anew, in one step, after each of them.
"""

import argparse
from pathlib import Path

import pandas as pd

from clustcal.experiments.deep.training import write_atomically


def extend(path, units, compute, *, digits=6, progress=True):
    """Compute the units that a table lacks, and write each as soon as it is there.

    Parameters
    ----------
    path : path
        Of the CSV file, which need not exist.
    units : list of dict
        All with the same keys, which become the first columns.
    compute : callable
        From a unit to its rows, a list of dicts without the columns of the unit.
    digits : int
        Significant ones, of numbers that are not whole.
    progress : bool

    Returns
    -------
    done : int
        Units computed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from clustcal.experiments.deep.measured import extend
    >>> path = Path(mkdtemp()) / "squares.csv"
    >>> units = [{"x": 2}, {"x": 3}]
    >>> square = lambda unit: [{"square": unit["x"] ** 2}]
    >>> extend(path, units, square, progress=False), extend(path, units, square, progress=False)
    (2, 0)
    >>> print(path.read_text().strip())
    x,square
    2,4
    3,9
    """
    from tqdm import tqdm

    names = list(units[0]) if units else []
    table = read(path)
    known = {tuple(map(as_key, row)) for row in table[names].itertuples(index=False)} if len(table) else set()
    missing = [unit for unit in units if tuple(map(as_key, unit.values())) not in known]
    for unit in tqdm(missing, unit="unit", disable=not progress):
        rows = pd.DataFrame([unit | row for row in compute(unit)])
        table = rows if table.empty else pd.concat([table, rows], ignore_index=True)
        text = table.to_csv(index=False, float_format=f"%.{digits}g", lineterminator="\n")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda stream, text=text: stream.write(text.encode()))
    return len(missing)


def run_command(doc, path, find_units, compute, arguments=None, *, names=None):
    """Extend a table from the command line: the units of the names that are given, into the file or that of ``--to``.

    Parameters
    ----------
    doc : str
        Of the module; its first line describes the command.
    path : path
        Of the CSV file where ``--to`` names none.
    find_units : callable
        From the list of names, empty where none is given, to the units.
    compute : callable
        As `extend` takes it.
    arguments : list of str, optional
        Those of the command line by default.
    names : str, optional
        What names there may be, and which are the default; without it the command takes none.
    """
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    if names is not None:
        parser.add_argument("names", nargs="*", help=names)
    parser.add_argument("--to", type=Path, default=path)
    options = parser.parse_args(arguments)
    units = find_units(getattr(options, "names", []))
    print(f"{extend(options.to, units, compute)} units measured: {options.to}")


def as_key(value):
    """Return a value as text that is the same before and after it was in a file: 1.0 may come back as 1.

    Examples
    --------
    >>> from clustcal.experiments.deep.measured import as_key
    >>> as_key(1.0) == as_key(1), as_key("cls")
    (True, 'cls')
    """
    return value if isinstance(value, str) else f"{value:.6g}"


def read(path):
    """Return such a table; it is empty where there is no file."""
    path = Path(path)
    return pd.read_csv(path, keep_default_na=False, na_values=[""]) if path.exists() else pd.DataFrame()
