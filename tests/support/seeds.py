"""Where tests that draw at random begin: at a seed of the commit's own, and at seeds that once found something.

The commit's seed is another with each commit, and the same for whoever runs it again; ``YODEL_SEED`` is tried in its
place.  A seed that finds something where the files are the commit's is written into ``tests/kept_seeds.json``, from
which it is tried every time; who mends what it found writes beside it what that was.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/kept_seeds.json"
VARIABLE = "YODEL_SEED"
SEED_BYTES = 4
GIT_TIMEOUT_S = 30


def _git(*words: str) -> str | None:
    """What git says; None where there is no repository."""
    command = ["git", *words]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=GIT_TIMEOUT_S)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def commit() -> str:
    """Its id; empty where there is no repository, and then the seeds are always the same."""
    return _git("rev-parse", "HEAD") or ""


def drawn(kind: str) -> int:
    """The commit's seed for tests of a kind."""
    said = os.environ.get(VARIABLE)
    if said is not None:
        return int(said)
    return int.from_bytes(hashlib.sha256(f"{commit()} {kind}".encode()).digest()[:SEED_BYTES])


def kept(kind: str, file: Path = KEPT) -> list[int]:
    """Those of a kind that once found something."""
    return [int(seed) for seed in json.loads(file.read_text()).get(kind, {})]


def tried(kind: str) -> list[int]:
    """All that a run tries: the commit's own, and those that are kept."""
    return sorted({drawn(kind), *kept(kind)})


def keep(kind: str, seed: int, found: str, file: Path = KEPT) -> None:
    """Write a seed down for the tests to try every time.  Several processes may do so at once."""
    with file.open("r+") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        seeds = json.load(opened)
        seeds.setdefault(kind, {}).setdefault(str(seed), found)
        opened.seek(0)
        opened.write(json.dumps(seeds, indent=2) + "\n")
        opened.truncate()


def is_commits() -> bool:
    """Whether the files are as they were committed: what fails otherwise may be half of a change."""
    but_the_kept = ("--", ".", f":!{KEPT.relative_to(ROOT)}")
    return bool(commit()) and _git("status", "--porcelain", "--untracked-files=no", *but_the_kept) == ""
