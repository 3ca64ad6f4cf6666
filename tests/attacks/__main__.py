"""``python -m tests.attacks``."""

import sys

from tests.attacks.run import main

sys.exit(main(sys.argv[1:]))
