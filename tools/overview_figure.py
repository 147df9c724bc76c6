"""Draw the pictures of the front pages from the shipped scores of the Stroke model.

`book/_assets/overview.png` is that of the README, `book/_assets/welcome.png` that of the first page of the book.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from clustcal import BetaCalibration, ClusteredCalibration, datasets, plots

FOLDER = Path(__file__).resolve().parent.parent / "book" / "_assets"


def draw(y, panels, file, size, title, **look):
    """Draw reliability diagrams side by side, and save them."""
    with plots.style():
        figure, axes = plt.subplots(1, len(panels), figsize=size, layout="compressed")
        for ax, (name, P) in zip(axes, panels.items(), strict=True):
            plots.ReliabilityDisplay.from_predictions(
                y, P, n_bins=8, strategy="quantile", limit=0.25, counts=False, legend=ax is axes[0], ax=ax
            )
            ax.set(title=name, **look)
        figure.suptitle(title)
        figure.savefig(FOLDER / file, dpi=110, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)


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
    title = "Risk of a stroke: what was promised, and what happened (1,022 patients of the test split)"
    draw(s.y_test, panels, "overview.png", (11, 4.6), title)
    two = {"as the model says": panels["as the model says"], "calibrated": panels["Beta calibration"]}
    title = "A model's risk of a stroke: promised and observed"
    draw(s.y_test, two, "welcome.png", (7, 4.2), title, xlabel="What the model promises", ylabel="What happens")


if __name__ == "__main__":
    main()
