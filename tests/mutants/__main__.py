"""``python -m tests.mutants``: the faults that are kept, then changes since a commit; with ``--since`` these alone."""

import argparse
import signal
import subprocess
import sys

from tests.mutants import changed, run
from tests.mutants.mutant import HERE, ROOT

WORKERS = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="kept faults: areas, or area/name; these alone")
    parser.add_argument("--since", metavar="COMMIT", help="only mutants of what has changed since")
    given = parser.parse_args()
    if given.since:
        return changed.main(ROOT, given.since)
    status = run.main(ROOT, HERE, given.names, workers=WORKERS)
    return status if given.names else max(status, changed.main(ROOT, _last_release()))


def _last_release() -> str:
    """Its tag; the oldest of the last hundred commits where there is none."""
    found = subprocess.run(["git", "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True)
    return (
        found.stdout.strip()
        or subprocess.run(
            ["git", "rev-list", "--max-count=100", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()[-1]
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended
    sys.exit(main())
