"""Probability calibration, global and clustered: the package under the clustcal book.

Scores in, calibrated probabilities out::

    from clustcal import BetaCalibration, ClusteredCalibration, metrics

    calibrator = ClusteredCalibration(BetaCalibration(), random_state=0).fit(P_cal, y_cal, Z_cal)
    metrics.log_loss(y_test, calibrator.predict_proba(P_test, Z_test))

Names are loaded when they are first used, because scikit-learn alone takes a second or two to import. They are listed
in ``__init__.pyi``, where editors look for them too.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
