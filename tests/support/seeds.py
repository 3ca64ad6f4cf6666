"""Chooses the seeds of tests that draw at random: a fixed one of their kind, and those that once found something.

Every run tries the same.  ``YODEL_SEED``, which ``make nightly`` draws anew, is tried in place of the fixed seed; what
it finds is written into ``tests/kept_seeds.json``, from which it is tried every time.  Who mends what it found writes
beside it what that was.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/kept_seeds.json"
VARIABLE = "YODEL_SEED"
SEED_BYTES = 4


def first(kind: str) -> int:
    """Return the seed that tests of a kind begin at."""
    said = os.environ.get(VARIABLE)
    return int(said) if said is not None else int.from_bytes(hashlib.sha256(kind.encode()).digest()[:SEED_BYTES])


def kept(kind: str, file: Path = KEPT) -> list[int]:
    """Return the seeds of a kind that once found something."""
    return [int(seed) for seed in json.loads(file.read_text()).get(kind, {})]


def tried(kind: str) -> list[int]:
    """Return all that a run tries: the first one, and those that are kept."""
    return sorted({first(kind), *kept(kind)})


def keep(kind: str, seed: int, found: str, file: Path = KEPT) -> None:
    """Write a seed down for the tests to try every time.  Several processes may do so at once."""
    with file.open("r+") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        seeds = json.load(opened)
        seeds.setdefault(kind, {}).setdefault(str(seed), found)
        opened.seek(0)
        opened.write(json.dumps(seeds, indent=2) + "\n")
        opened.truncate()


def is_new() -> bool:
    """Return True if this run tries a seed that was drawn for it."""
    return VARIABLE in os.environ
