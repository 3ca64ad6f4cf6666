"""README's lines for submitting a job, as they stand."""

from __future__ import annotations

import math
import os
import pathlib
import re
import shlex
import subprocess

from tests.conformance.cluster import Cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB_TIMEOUT_S = 600
PI = re.compile(r"Pi is roughly (\d\.\d+)")
LINE = re.compile(r"^scripts/spark-submit .*$", re.MULTILINE)


def test_readmes_job_succeeds_with_the_right_answer(cluster: Cluster, shared_dir: pathlib.Path) -> None:
    (line,) = LINE.findall((ROOT / "README.md").read_text())
    output = shared_dir / "pi"
    command = shlex.split(line.replace("file:///tmp/pi", output.as_uri()))
    environment = {**os.environ, "HADOOP_CONF_DIR": str(cluster.ready.hadoop_conf_dir)}
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = PI.findall("".join(part.read_text() for part in output.glob("part-*")))
    assert abs(float(told) - math.pi) < 0.01  # 25 standard deviations of that many points
