"""``python -m tests.runs``."""

import sys

from tests.runs.run import main

sys.exit(main(sys.argv[1:]))
