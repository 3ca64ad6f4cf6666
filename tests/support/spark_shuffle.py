"""Spark's external shuffle service beside a node agent, as its settings name it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.spark_submit import spark_venv


@contextlib.contextmanager
def public_spark_jars(line: str) -> Iterator[Path]:
    """The release's jars where the service's own user can read them."""
    folder = Path(tempfile.mkdtemp(prefix="yodel-public-jars-"))
    folder.chmod(0o755)
    for jar in next(spark_venv(line).glob("lib/python3*/site-packages/pyspark/jars")).glob("*.jar"):
        try:
            os.link(jar, folder / jar.name)
        except OSError:
            shutil.copy2(jar, folder)
    yield folder
    shutil.rmtree(folder)


def agent_settings(jars: Path, port: int) -> dict[str, str]:
    """Environment variables of the agent.  As root the service needs a user of its own."""
    account = {"user": "nobody"} if os.geteuid() == 0 else {}
    service = {"class_path": [f"{jars}/*"], "port": port, "memory_mib": 128, **account}
    return {"YODEL_NM_AUX_SERVICES": json.dumps({"spark_shuffle": service})}
