"""Lines that undo limits where no agent does: what they find of both drivers' groups; what they write is tried in
``tests/contract/test_limits.py`` on the kernel.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT, DRIVERS, V1, V2, Version
from nm_plugin.cgroups.plan import KNOBS, as_text
from yodel.translator.undo_lines import MOUNT, undo_lines


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize("is_told", [True, False])
def test_what_the_agent_writes_is_as_the_kubelet_made_it(
    tmp_path: Path, version: Version, driver: str, is_told: bool
) -> None:
    knobs, spell = KNOBS[version.name], DRIVERS[driver]
    files = {
        tmp_path / knob.controller / spell((*BEST_EFFORT, f"pod{uid}")) / knob.file: as_text(knobs, knob.kubelets)
        for knob in knobs.of_pods
        for uid in ("0a", "0b")
    }
    other = {path.parents[2] / "pod0c" / path.name for path in files}
    for path in (*files, *other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("7")
    lines = undo_lines(str(spell(BEST_EFFORT)) if is_told else "")
    text = "\n".join(lines).replace(MOUNT, str(tmp_path))
    subprocess.run(["sh", "-eu"], input=text, text=True, check=True)
    assert {path: path.read_text().strip() for path in files} == files
    assert {path.read_text() for path in other} == {"7"}, "a pod that is not best-effort"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path not in files and path not in other]
