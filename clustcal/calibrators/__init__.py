"""Calibrators: maps from scores to calibrated probabilities, one file a kind. `base` is the door to all of them."""

from clustcal.calibrators.bayesian_binning import BayesianBinning
from clustcal.calibrators.binwise import BinwiseCalibration
from clustcal.calibrators.centred_isotonic import CentredIsotonicCalibration
from clustcal.calibrators.clustered import ClusteredCalibration
from clustcal.calibrators.clustered_cv import ClusteredCalibrationCV
from clustcal.calibrators.ensemble import EnsembleTemperatureScaling
from clustcal.calibrators.histogram import HistogramBinning
from clustcal.calibrators.isotonic import IsotonicCalibration
from clustcal.calibrators.local import LocalRecalibration
from clustcal.calibrators.matrix import MatrixScaling
from clustcal.calibrators.one_vs_rest_of_binary import OneVsRestCalibration
from clustcal.calibrators.parametric import (
    BetaCalibration,
    DirichletCalibration,
    PlattScaling,
    QuadraticScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.calibrators.prior_correction import PriorCorrection
from clustcal.calibrators.ridge import RidgeCalibration
from clustcal.calibrators.scaling_binning import ScalingBinning
from clustcal.calibrators.soft_kmeans import SoftKMeans
from clustcal.calibrators.spline import SplineScaling
from clustcal.calibrators.structured import StructuredScaling
from clustcal.calibrators.venn_abers import VennAbersCalibration

__all__ = [
    "BayesianBinning",
    "BetaCalibration",
    "BinwiseCalibration",
    "CentredIsotonicCalibration",
    "ClusteredCalibration",
    "ClusteredCalibrationCV",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicCalibration",
    "LocalRecalibration",
    "MatrixScaling",
    "OneVsRestCalibration",
    "PlattScaling",
    "PriorCorrection",
    "QuadraticScaling",
    "RidgeCalibration",
    "ScalingBinning",
    "SoftKMeans",
    "SplineScaling",
    "StructuredScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbersCalibration",
]
