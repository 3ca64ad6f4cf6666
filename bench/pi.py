"""Wall time of a PySpark Pi job, cluster mode, from spark-submit's start to its exit.

    python -m bench.pi [--runs 3]

Beside it the same job on ``local[2]``: what Spark and the machine alone need.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path

from bench.cluster import local_cluster
from bench.machine import print_machine

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 300


def spark_home() -> Path:
    """The newest PySpark 4 that ``scripts/spark-venv 4.x`` made."""
    done = subprocess.run([ROOT / "scripts" / "spark-venv", "4.x"], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def wall_s(venv: Path, conf_dir: Path | None) -> float:
    """Seconds from start to exit.  Raises CalledProcessError when the job did not succeed."""
    package = next(venv.glob("lib/python*/site-packages/pyspark"))
    where = ["--master", "local[2]"] if conf_dir is None else ["--master", "yarn", "--deploy-mode", "cluster"]
    options = {
        "spark.yarn.jars": f"local:{package}/jars/*",
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": f"{venv}/bin/python",
        "spark.executorEnv.PYSPARK_PYTHON": f"{venv}/bin/python",
        "spark.executor.instances": "1",
        "spark.ui.enabled": "false",
    }
    command = [str(package / "bin" / "spark-submit"), *where]
    command += [text for name, value in options.items() for text in ("--conf", f"{name}={value}")]
    command += [str(ROOT / "examples" / "pi.py"), "4000"]
    environment = {**os.environ, "PYSPARK_PYTHON": f"{venv}/bin/python"}
    if conf_dir is not None:
        environment["HADOOP_CONF_DIR"] = str(conf_dir)
    begin_s = time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT_S, check=True)
    return time.perf_counter() - begin_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    venv = spark_home()
    with local_cluster("--nodes", "1") as cluster:
        on_yodel = [wall_s(venv, Path(cluster.ready["hadoop_conf_dir"])) for _ in range(runs)]
    alone = [wall_s(venv, None) for _ in range(runs)]
    print(f"| Pi job, spark-submit to exit, cluster mode | median {statistics.median(on_yodel):.1f} s of {runs} |")
    print(f"| the same job on local[2] | median {statistics.median(alone):.1f} s of {runs} |", flush=True)


if __name__ == "__main__":
    print_machine()
    main()
