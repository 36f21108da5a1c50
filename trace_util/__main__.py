"""``python -m trace_util``: the command ``trace-util``."""

import sys

from trace_util.cli import main

if __name__ == "__main__":
    sys.exit(main())
