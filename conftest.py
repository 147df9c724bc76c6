"""Leave out the docstring examples of modules whose library is not installed (torch is optional)."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["clustcal/representations/deep.py"]
