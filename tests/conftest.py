"""What all tests share: hypothesis without deadlines (machines differ), figures without a screen."""

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("clustcal", deadline=None)
settings.load_profile("clustcal")
