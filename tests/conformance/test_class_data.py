"""Archives of classes are made and used: without them everything works too, and takes twice the processor time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conformance.spark_submit import spark_venv
from tests.support import class_data
from tests.support.hadoop_jars import client_jars
from tests.support.java import archive_of, java_home

HADOOP = ("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-help")
SPARK = ("org.apache.spark.deploy.SparkSubmit", "--version")


def hadoop() -> Path:
    return client_jars("3.5")


def spark() -> Path:
    venv = spark_venv("4.x")
    home = next(venv.glob("lib/python3*/site-packages")) / "pyspark"
    class_data.for_spark(home, venv / "bin" / "python")
    return home / "jars"


@pytest.mark.parametrize(("release", "words"), [(hadoop, HADOOP), (spark, SPARK)])
def test_programs_of_a_release_start_from_its_archive(
    release: Callable[[], Path], words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_data, "MAKES", True)
    jars = release()
    assert archive_of(jars).stat().st_mode & 0o444 == 0o444, "containers of other users cannot read it"
    log = tmp_path / "classes"
    command = [java_home() / "bin" / "java", f"-Xlog:class+load:file={log}", "-cp", f"{tmp_path}:{jars}/*", *words]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read = [line for line in log.read_text().splitlines() if f"source: file:{jars}/" in line]
    mapped = [line for line in log.read_text().splitlines() if "source: shared objects file" in line]
    assert len(read) < len(mapped) / 10, read
