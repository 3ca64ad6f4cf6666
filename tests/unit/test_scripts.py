"""Every shell script finds its checkout, also when it is called through a symbolic link from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path.relative_to(ROOT)
    for folder in ("scripts", ".ci", "tests/rigs/hadoop", "tests/rigs/kubernetes")
    for path in (ROOT / folder).iterdir()
    if path.is_file() and os.access(path, os.X_OK) and path.read_bytes().startswith(b"#!/usr/bin/env bash")
)
FOUND = "#!/bin/sh\necho found its checkout; exit 3\n"
CHECKOUT = {
    "scripts/lib.sh": FOUND,
    "scripts/spark-venv": '#!/bin/sh\necho "$(dirname "$0")"\n',
    "scripts/lib/python3.11/site-packages/pyspark/bin/spark-submit": FOUND,
    ".venv/bin/python": FOUND,
    "Makefile": "setup:\n\t@echo found its checkout; exit 3\n",
    "deploy/helm/yodel/Chart.yaml": "",
    "deploy/manifests/one.values.yaml": "",
    "helm": "#!/bin/sh\necho found its checkout >&2; exit 3\n",
}
"""Where a script of ours goes on in its checkout."""


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_script_called_through_links_finds_its_checkout(tmp_path: Path, script: Path) -> None:
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    for name, text in CHECKOUT.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (checkout / script).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / script, checkout / script)
    elsewhere.mkdir()
    (elsewhere / "first").symlink_to(Path("../checkout") / script)
    (elsewhere / "second").symlink_to("first")
    done = subprocess.run(
        [elsewhere / "second"],
        cwd=elsewhere,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HELM": "./helm", "JAVA_HOME": "/"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ("found its checkout" in done.stdout + done.stderr, done.returncode != 0) == (True, True), done.stderr
