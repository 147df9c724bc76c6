"""Representations: what a fitted model has learned about each row, as a vector that can be clustered.

Each is a scikit-learn transformer around one fitted model; the heavy library behind the model is imported when it
is first needed.
"""

from clustcal.representations.choice import default_representation
from clustcal.representations.deep import Activations, HiddenStates
from clustcal.representations.features import StandardizedFeatures
from clustcal.representations.leaves import LeafCoverage
from clustcal.representations.paths import PathContributions
from clustcal.representations.shap_values import ShapValues
from clustcal.representations.stages import StagedMargins

__all__ = [
    "Activations",
    "HiddenStates",
    "LeafCoverage",
    "PathContributions",
    "ShapValues",
    "StagedMargins",
    "StandardizedFeatures",
    "default_representation",
]
