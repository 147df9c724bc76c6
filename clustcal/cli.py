"""The command ``clustcal``: get the raw data, train networks, run the studies of the paper, judge its numbers.

Builds on `datasets` and `experiments`, which are imported by the command that needs them.
"""

import os
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from clustcal.datasets import fetch, list_datasets
from clustcal.experiments.protocol import ARMS, MAX_DEPTHS, N_ESTIMATORS, SEEDS

INTERRUPTED = 130  # what a shell reports after Ctrl-C


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    status : int
        0 if all went well; 1 if a check failed or the input was wrong; 130 after Ctrl-C.
    """
    options = make_parser().parse_args(arguments)
    try:
        return options.command(options)
    except (FileNotFoundError, ImportError, PermissionError, ValueError) as error:
        print(f"clustcal: {error}", file=sys.stderr)
        return 1


def make_parser() -> ArgumentParser:
    """Return the parser of the command line; each command is the attribute ``command`` of what it parses."""
    parser = ArgumentParser(prog="clustcal", description="Probability calibration: data, studies, ledger.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_data(commands)
    _add_train(commands)
    _add_reproduce(commands)
    _add_claims(commands)
    _add_benchmark(commands)
    return parser


def list_or_fetch(options: Namespace) -> int:
    """``clustcal data``: without names list the data sets, else fetch the raw files of those named."""
    if not options.names:
        table = list_datasets()[["title", "kind", "rows", "features", "classes", "available", "licence"]]
        print(table.assign(licence=table["licence"].str.slice(0, 40)).to_string(na_rep="-"))
    for name in options.names:
        for path in fetch(name).values():
            print(path)
    return 0


def train_networks(options: Namespace) -> int:
    """``clustcal train``: train networks, or go on with them, and write what they say about the rows to calibrate."""
    from clustcal.experiments.deep import network_runs

    if not options.names:
        print("\n".join(network_runs.NAMES))
    for name in options.names:
        try:
            line, path = network_runs.run(
                name,
                model=options.model,
                device=options.device,
                threads=options.threads,
                results=options.results,
                progress=not options.quiet,
            )
        except KeyboardInterrupt:
            print("\nStopped. The same command goes on from the last checkpoint.")
            return INTERRUPTED
        print(f"{line['name']}: accuracy {line['accuracy']}, log-loss {line['nll']}, {line['n_scored']} rows in {path}")
    return 0


def reproduce_tabular(options: Namespace) -> int:
    """``clustcal reproduce tabular``: compute what the results lack of the tabular study."""
    from clustcal.experiments.store import Store
    from clustcal.experiments.tabular import units
    from clustcal.experiments.tabular.grid import select_entries

    entries = select_entries(options.methods)
    names = _check_names(options.datasets) if options.datasets else _available_datasets()
    store = Store(options.results / "tabular")
    if options.fresh:
        for name in names:
            store.set_aside(name, options.arm)
    settings = {"n_estimators": options.n_estimators, "max_depths": options.depths, "seeds": options.seeds}
    settings |= {"arm": options.arm, "dask": options.dask}
    return _run_to_the_end(units.run, names, entries, store, options=options, **settings)


def reproduce_deep(options: Namespace) -> int:
    """``clustcal reproduce deep``: compute what the results lack of the study of images and texts."""
    from clustcal.experiments.deep import design, outputs, study

    names = options.networks or [
        name for name, one in design.STUDIES.items() if (outputs.cache_folder() / one.network / outputs.FILE).exists()
    ]
    for name in names:
        if name not in design.STUDIES:
            raise ValueError(f"networks has {name!r}; expected some of {', '.join(design.STUDIES)}.")
    store = study.open_store(options.results)
    return _run_to_the_end(study.run, names, store, options=options, seeds=options.seeds)


def reproduce_alternatives(options: Namespace) -> int:
    """``clustcal reproduce alternatives``: compute what the results lack of the study of the alternatives."""
    from clustcal.experiments.alternatives import alternatives_study as study
    from clustcal.experiments.alternatives.lineup import select

    choices = {
        "names": _names_in("datasets", options.datasets, study.DATASETS),
        "models": _names_in("models", options.models, study.BASE_MODELS),
        "arms": [study.PLAIN if arm == "plain" else arm for arm in options.arms],
        "seeds": options.seeds,
        "methods": select(options.methods),
    }
    _names_in("arms", choices["arms"], study.ARMS)
    store = study.open_store(options.results)
    return _run_to_the_end(study.run, store, options=options, **choices)


def _run_to_the_end(run: Callable[..., Any], *arguments: Any, options: Namespace, **settings: Any) -> int:
    """Compute what a store, the last of the arguments, lacks, and say what was done; return the exit status."""
    folder = arguments[-1].folder
    try:
        outcome = run(*arguments, jobs=options.jobs, progress=not options.quiet, **settings)
    except KeyboardInterrupt:
        print(f"\nStopped. What was finished is in {folder}; the same command goes on from there.")
        return INTERRUPTED
    print(f"{outcome.done} units computed, {outcome.complete} were there already: {folder}")
    if outcome.taken:
        print(f"{outcome.taken} units are being computed by another process.")
    return 0


def join_benchmark(options: Namespace) -> int:
    """``clustcal benchmark``: judge the calibrator of a file on frozen tasks, beside the methods that are stored."""
    import pandas as pd

    from clustcal.experiments import benchmark

    entrant = benchmark.read_entrant(options.file)
    rows = []
    for row in benchmark.run(entrant):
        rows.append(row)
        if not options.quiet:
            print(f"{row['dataset']} {row['seed']}: log-loss {row['nll']:.4f}", file=sys.stderr, flush=True)
    if options.rows is not None:
        pd.DataFrame(rows).to_csv(options.rows, index=False, lineterminator="\n")
    others = benchmark.read_rows().query("method != @entrant.name")  # those of an entry that is stored are replaced
    print(benchmark.report(pd.concat([others, pd.DataFrame(rows)]), entrant.name))
    return 0


def judge_claims(options: Namespace) -> int:
    """``clustcal claims``: write the ledger and print its score, or check the stored one against the results."""
    from clustcal.experiments import ledger
    from clustcal.experiments.deep import judgement
    from clustcal.experiments.deep.further_statements import Known
    from clustcal.experiments.tabular.readings import cluster_tables as clusters
    from clustcal.experiments.tabular.runs import read_rows

    path = options.results / "claims.csv"
    if options.id:
        print(ledger.explain(ledger.read_ledger(path), options.id))
        return 0
    print("Judging every number of the paper ...", file=sys.stderr)
    deep = Known(options.results)
    verdicts = judgement.judge_all(deep)
    fresh = ledger.make_ledger(
        read_rows(options.results),
        weighted=read_rows(options.results, "weighted"),
        clusters=clusters.read(options.results),
        deep=deep,
        verdicts=verdicts,
    )
    print(ledger.summarise(fresh).to_string())
    print(f"\nRelations of images and texts:\n{judgement.summarise(verdicts).to_string()}")
    if not options.check:
        ledger.write_ledger(fresh, path)
        judgement.write_verdicts(verdicts, options.results)
        print(f"\n{path}, {options.results / judgement.PATH}")
        return 0
    wrong = ledger.compare_ledgers(ledger.read_ledger(path), fresh)
    wrong += judgement.compare(judgement.read_verdicts(options.results), verdicts)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def _add_data(commands: "_SubParsersAction[ArgumentParser]") -> None:
    data = commands.add_parser("data", help="list the data sets, or fetch raw files")
    data.add_argument("names", nargs="*", metavar="NAME", help="data sets to fetch; none lists what there is")
    data.set_defaults(command=list_or_fetch)


def _add_train(commands: "_SubParsersAction[ArgumentParser]") -> None:
    train = commands.add_parser("train", help="train the networks of the study of images and texts, or go on with them")
    train.add_argument("names", nargs="*", metavar="NAME", help="networks; none lists what there is")
    train.add_argument("--device", default="cpu", help="where to compute, such as cuda; default: cpu")
    train.add_argument(
        "--model", metavar="PATH", help="a model of transformers in a folder or on the hub, instead of the packaged one"
    )
    train.add_argument("--threads", type=int, metavar="N", help="of torch; default: its own choice")
    _add_results(train)
    train.add_argument("--quiet", action="store_true", help="no progress bar")
    train.set_defaults(command=train_networks)


def _add_reproduce(commands: "_SubParsersAction[ArgumentParser]") -> None:
    studies = commands.add_parser("reproduce", help="run a study of the paper").add_subparsers(
        required=True, metavar="STUDY"
    )
    tabular = studies.add_parser("tabular", help="XGBoost on tabular data, 21 methods and ours")
    tabular.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="default: the open ones, and the gated ones whose files are there"
    )
    tabular.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")
    tabular.add_argument("--n-estimators", nargs="+", type=int, default=list(N_ESTIMATORS), metavar="N")
    tabular.add_argument("--depths", nargs="+", type=int, default=list(MAX_DEPTHS), metavar="D")
    tabular.add_argument(
        "--methods",
        nargs="+",
        default=["paper", "cv"],
        metavar="METHOD",
        help="paper (21), cv (our own), variants (ablations), or names such as Platt or Platt/SHAP; default: paper cv",
    )
    tabular.add_argument(
        "--arm", choices=ARMS, default="", help="weighted: the classes weigh the same in training; default: as printed"
    )
    tabular.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="units at a time; default: cores"
    )
    tabular.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler instead")
    again = tabular.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="compute what is not there yet (the default)")
    again.add_argument("--fresh", action="store_true", help="move the results of these data sets aside and start anew")
    _add_results(tabular)
    tabular.add_argument("--quiet", action="store_true", help="no progress bar")
    tabular.set_defaults(command=reproduce_tabular)
    deep = studies.add_parser("deep", help="calibrators on what the networks of images and texts say")
    deep.add_argument("--networks", nargs="+", metavar="NAME", help="default: those whose outputs are in the cache")
    deep.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")
    deep.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="units at a time; default: cores")
    _add_results(deep)
    deep.add_argument("--quiet", action="store_true", help="no progress bar")
    deep.set_defaults(command=reproduce_deep)
    _add_alternatives(studies)


def _add_alternatives(studies: "_SubParsersAction[ArgumentParser]") -> None:
    one = studies.add_parser("alternatives", help="what else one could do with the representation, and controls")
    one.add_argument("--datasets", nargs="+", metavar="NAME", help="default: all, the smallest first")
    one.add_argument("--models", nargs="+", metavar="MODEL", help="base models; default: all")
    one.add_argument(
        "--arms",
        nargs="+",
        default=["plain"],
        metavar="ARM",
        help="plain, weighted, known-truth, or curve-N with N calibration rows; default: plain",
    )
    one.add_argument("--seeds", nargs="+", type=int, default=[5, 6, 7, 8, 9], metavar="SEED")
    one.add_argument(
        "--methods",
        nargs="+",
        default=["post"],
        metavar="METHOD",
        help="post (on the calibration part), libraries (of others), rival, cheap, retrained, or names; default: post",
    )
    one.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="units at a time; default: cores")
    _add_results(one)
    one.add_argument("--quiet", action="store_true", help="no progress bar")
    one.set_defaults(command=reproduce_alternatives)


def _add_benchmark(commands: "_SubParsersAction[ArgumentParser]") -> None:
    one = commands.add_parser("benchmark", help="judge a calibrator of your own on frozen scores, beside others")
    one.add_argument("file", metavar="FILE", help="a Python file with a class that has fit and predict_proba")
    one.add_argument("--rows", type=Path, metavar="CSV", help="write the rows of the calibrator to this file")
    one.add_argument("--quiet", action="store_true", help="no line for every task")
    one.set_defaults(command=join_benchmark)


def _add_claims(commands: "_SubParsersAction[ArgumentParser]") -> None:
    claims = commands.add_parser("claims", help="judge every number of the paper by the results")
    one = claims.add_mutually_exclusive_group()
    one.add_argument(
        "--id", metavar="ID", help="explain one number: where it stands, ours, the rule, what recomputes it"
    )
    one.add_argument("--check", action="store_true", help="write nothing; fail if a stored verdict does not follow")
    _add_results(claims)
    claims.set_defaults(command=judge_claims)


def _add_results(parser: ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")


def _names_in(argument: str, names: list[str] | None, known: Collection[str]) -> list[str]:
    """Return the names, all that are known if none are given, or raise a ValueError."""
    for name in names or ():
        if name not in known:
            raise ValueError(f"{argument} has {name!r}; expected some of {', '.join(map(repr, known))}.")
    return list(known) if names is None else names


def _check_names(names: list[str]) -> list[str]:
    known = list_datasets().index
    for name in names:
        if name not in known:
            raise ValueError(f"datasets has {name!r}; expected some of {', '.join(known)}.")
    return names


def _available_datasets() -> list[str]:
    from clustcal.experiments.tabular.grid import GATED, OPEN_DATASETS

    available = list_datasets()["available"]
    return [*OPEN_DATASETS, *(name for name in GATED if available[name])]
