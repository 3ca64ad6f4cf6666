"""Spark's documented way to bring a Python environment: an archive that venv-pack made, unpacked as ``environment``.

Such an archive's ``bin/python`` is a link to an absolute path.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

from tests.conformance.cluster import Cluster
from tests.conformance.spark_submit import Spark
from tests.support.python_clients import clients_venv

PACK_TIMEOUT_S = 600
VERSION = "0.7.4"


def test_driver_and_executors_run_the_python_of_the_archive(cluster: Cluster, shared_dir: Path) -> None:
    archive, report = shared_dir / "environment.tar.gz", shared_dir / "report.json"
    venv = clients_venv()
    subprocess.run(
        [str(venv / "bin" / "venv-pack"), "--prefix", str(venv), "--output", str(archive)],
        check=True,
        timeout=PACK_TIMEOUT_S,
    )
    with tarfile.open(archive) as packed:
        assert any(member.issym() and member.linkname.startswith("/") for member in packed)
    spark = Spark("4.x", cluster, python="./environment/bin/python")
    result = spark.submit("cluster", "which_python.py", report, more=("--archives", f"{archive}#environment"))
    assert result.returncode == 0, result.text[-6000:]
    for where, seen in json.loads(report.read_text()).items():
        assert seen["mrjob"] == VERSION, where
        assert Path(seen["prefix"]).name == "environment", (where, seen)
