"""``python -m clustcal`` is the command ``clustcal``."""

import sys

from clustcal.cli import main

if __name__ == "__main__":
    sys.exit(main())
