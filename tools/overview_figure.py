"""Draw the picture of the README, book/_assets/overview.png, from the shipped scores of the Stroke model."""

from pathlib import Path

import matplotlib.pyplot as plt

from clustcal import BetaCalibration, ClusteredCalibration, datasets, plots

TARGET = Path(__file__).resolve().parent.parent / "book" / "_assets" / "overview.png"


def main():
    s = datasets.load_scores("stroke")
    beta = BetaCalibration(prior=None).fit(s.P_cal, s.y_cal)
    clustered = ClusteredCalibration(BetaCalibration(prior=None), temperature=0.1, random_state=0)
    clustered.fit(s.P_cal, s.y_cal, s.Z_cal["shap"])
    panels = {
        "as the model says": s.P_test,
        "Beta calibration": beta.predict_proba(s.P_test),
        "clustered Beta calibration": clustered.predict_proba(s.P_test, s.Z_test["shap"]),
    }
    with plots.style():
        figure, axes = plt.subplots(1, 3, figsize=(11, 4.6), layout="compressed")
        for ax, (title, P) in zip(axes, panels.items(), strict=True):
            plots.ReliabilityDisplay.from_predictions(
                s.y_test, P, n_bins=8, strategy="quantile", limit=0.25, counts=False, legend=ax is axes[0], ax=ax
            )
            ax.set_title(title)
        figure.suptitle("Risk of a stroke: what was promised, and what happened (1,022 patients of the test split)")
        figure.savefig(TARGET, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
