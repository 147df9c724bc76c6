# The public names of the package and the modules that hold them, once for editors and type checkers and for the import
# itself: `__init__.py` reads this file, and loads a name when it is first used.

from . import (
    datasets as datasets,
    metrics as metrics,
    plots as plots,
    representations as representations,
)
from .calibrators import (
    BayesianBinning as BayesianBinning,
    BetaCalibration as BetaCalibration,
    BinwiseCalibration as BinwiseCalibration,
    CentredIsotonicCalibration as CentredIsotonicCalibration,
    ClusteredCalibration as ClusteredCalibration,
    ClusteredCalibrationCV as ClusteredCalibrationCV,
    DirichletCalibration as DirichletCalibration,
    EnsembleTemperatureScaling as EnsembleTemperatureScaling,
    HistogramBinning as HistogramBinning,
    IsotonicCalibration as IsotonicCalibration,
    LocalRecalibration as LocalRecalibration,
    MatrixScaling as MatrixScaling,
    OneVsRestCalibration as OneVsRestCalibration,
    PlattScaling as PlattScaling,
    PriorCorrection as PriorCorrection,
    QuadraticScaling as QuadraticScaling,
    RidgeCalibration as RidgeCalibration,
    ScalingBinning as ScalingBinning,
    SoftKMeans as SoftKMeans,
    SplineScaling as SplineScaling,
    StructuredScaling as StructuredScaling,
    TemperatureScaling as TemperatureScaling,
    VectorScaling as VectorScaling,
    VennAbersCalibration as VennAbersCalibration,
)
from .classifier import CalibratedClassifier as CalibratedClassifier

__version__: str
