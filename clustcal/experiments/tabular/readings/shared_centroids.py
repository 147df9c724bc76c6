"""Clustered calibration that looks for the clusters of the same rows once, though many variants of it are fitted.

K-means takes most of the time of a fit, and families, losses, shrinkages and memberships do not change its centroids.
"""

from clustcal import ClusteredCalibration, SoftKMeans


def share_centroids(calibrator, known):
    """Return a clustered calibrator that takes the centroids that others left.

    Parameters
    ----------
    calibrator : ClusteredCalibration
        Unfitted. Number of clusters and ``random_state``, a number, must be those of all that share.
    known : dict
        The centroids by ``normalize``, of one representation of one part. Those that are missing are found and added.

    Returns
    -------
    calibrator : ClusteredCalibration
        With the same parameters and, fitted to that part, the same results.
    """
    shared = _SharingCalibration(**calibrator.get_params(deep=False))
    shared.known = known
    return shared


class _SharingCalibration(ClusteredCalibration):
    known = None

    def _clusters(self):
        clusters = _SharingKMeans(**super()._clusters().get_params(deep=False))
        clusters.known = self.known
        return clusters


class _SharingKMeans(SoftKMeans):
    known = None

    def _fit(self, Z, weights):
        if self.normalize not in self.known:
            super()._fit(Z, weights)
            self.known[self.normalize] = self.centroids_, self.n_iter_
        self.centroids_, self.n_iter_ = self.known[self.normalize]
        return self
