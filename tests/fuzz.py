"""Damaged frames and requests with one seed after the other, until the time is over or a seed finds something.

    python -m tests.fuzz --seconds 600

Each seed is a whole run of tests/conformance/test_rpc_fuzz.py, a minute or so.  ``make test-all`` tries a
fixed one and those that are kept: one that finds something here is one of them from then on.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

from tests.support import seeds

ROOT = Path(__file__).resolve().parents[1]
TESTS = "tests/conformance/test_rpc_fuzz.py"
SEED_BITS = 32


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when no further seed is begun (never)")
    give_up_at_s = time.monotonic() + parser.parse_args().seconds
    tried = 0
    while time.monotonic() < give_up_at_s:
        seed = str(secrets.randbits(SEED_BITS))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", TESTS]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, seeds.VARIABLE: seed}, capture_output=True, text=True
        )
        if done.returncode:
            seeds.keep("rpc fuzz", int(seed), "not looked at yet")
            print(f"{done.stdout}\n{done.stderr}\nkept in {seeds.KEPT}: {seeds.VARIABLE}={seed} pytest {TESTS}")
            return 1
        tried += 1
        print(f"seed {seed}: nothing found", flush=True)
    print(f"{tried} seeds, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
