"""Probability calibration, global and clustered: the package under the clustcal book."""

__version__ = "0.1.0"
