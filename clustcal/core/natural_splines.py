"""Natural cubic splines: smooth functions, straight beyond their outer knots, in the coordinates of their roughness.

Builds on scipy alone; `families` makes a calibration map of them.
"""

import numpy as np
from scipy.interpolate import CubicSpline


class NaturalSplines:
    r"""The natural cubic splines with given knots that are not straight lines, one function for each dimension.

    With m knots there are m - 2 functions :math:`h_j`. They are orthonormal in roughness,
    :math:`\int h_i'' h_j'' = [i = j]`, so that :math:`\lVert c \rVert^2` is the roughness of :math:`\sum_j c_j h_j`;
    and at the knots they are orthogonal to every straight line, so that a line beside them says where they go on the
    whole. Beyond the outer knots they are straight for as far again as the knots reach, and then
    constant: rows far out then move the line beside them, which all rows share.

    Parameters
    ----------
    knots : ndarray of shape (m,)
        Increasing.
    """

    def __init__(self, knots):
        self.knots = knots
        self.n_functions = max(len(knots) - 2, 0)
        self._reach = np.ptp(knots) if self.n_functions else 0.0
        if self.n_functions:
            self._spline = CubicSpline(knots, self._values(), bc_type="natural")
            self._slopes = self._spline(knots[[0, -1]], 1)

    def __call__(self, z):
        """Return the functions at z (n,), shape (n, m - 2)."""
        if not self.n_functions:
            return np.empty((len(z), 0))
        inside = np.clip(z, self.knots[0], self.knots[-1])
        beyond = np.clip(z - inside, -self._reach, self._reach)[:, None]
        return self._spline(inside) + beyond * np.where(beyond < 0, self._slopes[0], self._slopes[1])

    def _values(self):
        """Return the functions at the knots, shape (m, m - 2): eigenvectors of the roughness."""
        m = len(self.knots)
        # Second derivatives at the knots of the spline through values v are D v, and they are linear in between.
        D = CubicSpline(self.knots, np.eye(m), bc_type="natural")(self.knots, 2)
        steps = np.diff(self.knots)
        squared = np.zeros((m, m))  # of the integral of the product of two functions that are linear in between
        for k, step in enumerate(steps):
            squared[k : k + 2, k : k + 2] += step / 6 * np.array([[2, 1], [1, 2]])
        roughness, axes = np.linalg.eigh(D.T @ squared @ D)
        return axes[:, 2:] / np.sqrt(roughness[2:])  # the first two are straight lines, whose roughness is 0
