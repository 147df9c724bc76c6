"""What a ridge makes of the stages of boosting: by what it multiplies that which each eighth of the rounds has added.

``python -m clustcal.experiments.alternatives.stage_slopes`` computes what ``results/alternatives/stages/`` lacks and
can be stopped at any moment. Splits and base models are those of `alternatives_study`. Builds on `runner`, `store`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from clustcal import RidgeCalibration
from clustcal.experiments import protocol, runner
from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.base_models import BASE_MODELS
from clustcal.experiments.alternatives.confirmation import BESIDE
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.representations import StagedMargins

KEY = ("dataset", "base_model", "seed", "arm", "stage")
TEXT = ("dataset", "base_model", "arm", "versions", "commit")
COLUMNS = (*KEY, "rounds", "slope", "slope_of_scores", "versions", "commit")


@dataclass(frozen=True)
class StageSlopes:
    """What `runner.run` needs to know."""

    names: Sequence[str] = study.DATASETS
    models: Sequence[str] = tuple(BASE_MODELS)
    seeds: Sequence[int] = study.SEEDS

    def units(self):
        """Return the units: a classifier each, by data set, base model and seed."""
        return study.AlternativesStudy(self.names, models=self.models, seeds=self.seeds).units()

    def missing(self, unit, known):
        """Return whether the first stage of a unit is missing: its rows come together."""
        return (*unit, 1) not in known

    def compute(self, data, unit, missing):
        """Return the rows of a unit."""
        return slopes(data, unit)

    def cost(self, unit):
        """Return about how many seconds a unit takes."""
        return study.AlternativesStudy().cost(unit)


def slopes(data, unit):
    """Train a classifier and return the slopes that the ridge on its staged margins gives to the stages.

    Parameters
    ----------
    data : Bunch
        With ``X``, ``y`` and ``categorical``.
    unit : Unit

    Returns
    -------
    rows : list of dict
        One per stage: ``rounds``, up to its last; ``slope``, by which the ridge multiplies what the stage has added;
        and ``slope_of_scores``, by which Platt scaling multiplies all stages alike.
    """
    with threadpool_limits(1):
        parts = protocol.split(data.y, unit.seed)
        model = base_models.train(data, parts.train, unit.base_model, unit.seed)
        X = data.X.iloc[parts.calibration]
        stages = StagedMargins(model).fit(X)
        ridge = RidgeCalibration()
        ridge.fit(model.predict_proba(X)[:, 1].astype(float), data.y[parts.calibration], stages.transform(X))
        found = ridge.explain(0, [str(k + 1) for k in range(stages.n_stages_)])
    return [
        {**unit._asdict(), "stage": int(stage), "rounds": rounds}
        | {name: round(float(line[name]), 5) for name in ("slope", "slope_of_scores")}
        | {"versions": describe_versions(study.LIBRARIES), "commit": describe_commit()}
        for (stage, line), rounds in zip(found.iterrows(), stages.ends_, strict=True)
    ]


def open_store(folder=FOLDER):
    """Return the store of the slopes in a folder of results."""
    return Store(Path(folder) / "alternatives" / "stages", KEY, COLUMNS, TEXT)


def run(store, *, progress=True, load=base_models.load, **choices):
    """Compute what the store lacks; ``choices`` are those of `StageSlopes`."""
    return runner.run(StageSlopes(**choices), store, load=load, progress=progress)


def by_stage(rows):
    """Return the mean slope of every stage over the splits of a data set in which the ridge has kept the stages.

    Where it drops them, each has the slope of Platt scaling, which says nothing of stages. Data sets that stand beside
    are left out.

    Returns
    -------
    table : DataFrame
        Indexed by base model and data set, a column for each stage.
    """
    kept = rows[_spread(rows) > 0]
    kept = kept[~kept["dataset"].isin(BESIDE)]
    return kept.pivot_table(index=["base_model", "dataset"], columns="stage", values="slope")


def count_kept(rows):
    """Return in how many splits the ridge has kept the stages, and of how many, by base model and data set."""
    first = rows.assign(kept=_spread(rows) > 0).query("stage == 1")
    first = first[~first["dataset"].isin(BESIDE)]
    return first.groupby(["base_model", "dataset"], sort=False)["kept"].agg(kept="sum", of="size")


def _spread(rows):
    """Return, for every row, how far the slopes of its fit lie apart."""
    slopes = rows.groupby(["dataset", "base_model", "seed"])["slope"]
    return slopes.transform("max") - slopes.transform("min")


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(study.DATASETS), help="data sets; default: all")
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="DIR")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in study.DATASETS:
            parser.error(f"names has {name!r}; expected some of {', '.join(study.DATASETS)}.")
    outcome = run(open_store(options.results), names=options.names)
    print(f"{outcome.done} units computed, {outcome.complete} were there already.")


if __name__ == "__main__":
    main()
