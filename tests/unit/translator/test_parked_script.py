from __future__ import annotations

import shutil
import subprocess

import pytest

from yodel.translator.parked_script import SCRIPT

SHELLS = [shell for shell in ("sh", "dash", "bash") if shutil.which(shell)]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_at_hand_can_read_the_script(shell: str) -> None:
    assert subprocess.run([shell, "-n", "-c", SCRIPT], check=False, capture_output=True).stderr == b""


def test_script_has_no_place_for_anybody_elses_text() -> None:
    """It is one constant: what differs comes by environment and FIFO, never by the shell's own text."""
    assert "{0}" not in SCRIPT
    assert "%s" not in SCRIPT
    assert 'H="$YODEL_HANDOVER_DIR"' in SCRIPT
