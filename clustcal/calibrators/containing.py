"""Calibrators that contain a parametric one: which it is, and what its parameters say of the columns of P."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from clustcal.calibrators.base import Calibrator
from clustcal.calibrators.parametric import ParametricCalibrator, PlattScaling, TemperatureScaling
from clustcal.calibrators.structured import StructuredScaling


class Containing(Calibrator):
    """What bin-wise and clustered calibrators have in common: a parametric ``calibrator``, or a default one.

    The labels of the columns, and whether P holds logits, may be said by their own parameters or by those of the
    calibrator within.
    """

    default = PlattScaling
    # Of those that serve more than two classes, the one with the fewest parameters.
    default_of_more_classes = TemperatureScaling

    def _given(self) -> list[ParametricCalibrator]:
        """Return the calibrators within, as they were given."""
        return [self.default() if self.calibrator is None else self.calibrator]

    def _check_calibrators(self) -> None:
        """Raise a ValueError if a calibrator within cannot serve."""
        for calibrator in self._given():
            if not isinstance(calibrator, ParametricCalibrator):
                hint = " MatrixScaling() has its structure." if isinstance(calibrator, StructuredScaling) else ""
                raise ValueError(
                    f"calibrator is {calibrator!r}; expected a parametric one, such as PlattScaling().{hint}"
                )
            calibrator._check()

    def _parametric(self, n_classes: int) -> ParametricCalibrator:
        """Return an unfitted copy of the calibrator within."""
        return self._parametrics(n_classes)[0]

    def _parametrics(self, n_classes: int) -> list[ParametricCalibrator]:
        calibrators = self._given()
        if self.calibrator is None and n_classes > 2:
            calibrators = [self.default_of_more_classes()]
        return [clone(calibrator).set_params(from_logits=self._takes_logits()) for calibrator in calibrators]

    def _check_number_of_classes(self, n_classes: int) -> None:
        for calibrator in self._parametrics(n_classes):
            calibrator._check_number_of_classes(n_classes)

    def _classes_of_columns(self) -> ArrayLike | None:
        given = [np.asarray(one.classes).tolist() for one in (self, *self._given()) if one.classes is not None]
        if any(classes != given[0] for classes in given):
            raise ValueError(f"classes is given as {given}; expected one order of the columns.")
        return given[0] if given else None

    def _takes_logits(self) -> bool:
        return self.from_logits or any(calibrator.from_logits for calibrator in self._given())
