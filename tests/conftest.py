"""What all tests share: hypothesis without deadlines (machines differ), figures without a screen, and, where tests run
side by side, which of them stay together, and that Ctrl-C ends a run, as some tests ask."""

import signal

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
# A shell that starts the tests in the background lets them ignore SIGINT, and their children with them.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("clustcal", deadline=None)
settings.load_profile("clustcal")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of a file in one process, where they share its fixtures, unless they name a group themselves."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))
