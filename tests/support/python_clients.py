"""Clients of YARN that are written in Python, pinned in ``tests/rigs/clients``: mrjob and venv-pack."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV_TIMEOUT_S = 900


def clients_venv() -> Path:
    """The virtual environment that has them, made when it is not there.  Raises CalledProcessError."""
    command = [str(ROOT / "scripts" / "clients-venv")]
    done = subprocess.run(command, check=True, timeout=VENV_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip().splitlines()[-1])
