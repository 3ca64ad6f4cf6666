"""A Spark application as a REST submission: what spark-submit prepares, written out field by field.

The shapes (environment, command, layout of ``__spark_conf__.zip``, the AM's configuration archive) are those that
spark-submit 4 sent to a real Hadoop 3.5.0.
"""

from __future__ import annotations

import pathlib
import zipfile
from typing import Any

from tests.conformance.spark_submit import JOBS, Spark

MASTER = "org.apache.spark.deploy.yarn.ApplicationMaster"
CONF = "__spark_conf__"
JAVA_PACKAGES = ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")
CONCURRENT_PACKAGES = ("java.util.concurrent", "java.util.concurrent.atomic")
INTERNAL_PACKAGES = ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")


def body(spark: Spark, application_id: str, folder: pathlib.Path, job: str, arguments: list[str]) -> dict[str, Any]:
    """The submission of a PySpark program in cluster mode; its files are staged in ``folder``."""
    staging = folder / application_id
    staging.mkdir()
    script = staging / job
    script.write_bytes((JOBS / job).read_bytes())
    archive = staging / f"{CONF}.zip"
    _write_conf_archive(spark, archive, staging)
    command = _command(job, arguments)
    return {
        "application-id": application_id,
        "application-name": f"rest-{job}",
        "application-type": "SPARK",
        "queue": "default",
        "max-app-attempts": 1,
        "resource": {"memory": 896, "vCores": 1},
        "am-container-spec": {
            "commands": {"command": " ".join(command)},
            "environment": {"entry": [{"key": k, "value": v} for k, v in _environment(spark, staging).items()]},
            "local-resources": {
                "entry": [_resource(job, script, "FILE"), _resource(CONF, archive, "ARCHIVE")],
            },
        },
    }


def _resource(link: str, path: pathlib.Path, kind: str) -> dict[str, Any]:
    stat = path.stat()
    where = {"resource": path.as_uri(), "type": kind, "visibility": "PRIVATE"}
    return {"key": link, "value": {**where, "size": stat.st_size, "timestamp": stat.st_mtime_ns // 1_000_000}}


def _python_path(spark: Spark) -> str:
    libraries = sorted((spark.home / "python" / "lib").glob("*.zip"))
    return ":".join(str(library) for library in libraries)


def _environment(spark: Spark, staging: pathlib.Path) -> dict[str, str]:
    own = ["{{PWD}}", f"{{{{PWD}}}}/{CONF}", spark.jars, f"{{{{PWD}}}}/{CONF}/__hadoop_conf__"]
    return {
        "CLASSPATH": "<CPS>".join(own),
        "SPARK_YARN_STAGING_DIR": staging.as_uri(),
        "SPARK_USER": staging.owner(),
        "PYSPARK_PYTHON": spark.python,
        "PYSPARK_DRIVER_PYTHON": spark.python,
        "PYTHONPATH": _python_path(spark),
        "PYTHONHASHSEED": "0",
    }


def _command(job: str, arguments: list[str]) -> list[str]:
    packages = [*(f"java.{name}" for name in JAVA_PACKAGES), *CONCURRENT_PACKAGES, *INTERNAL_PACKAGES]
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in packages]
    java = ["{{JAVA_HOME}}/bin/java", "-server", "-XX:+IgnoreUnrecognizedVMOptions", *opened, "-Xmx512m"]
    java += ["-Djava.io.tmpdir={{PWD}}/tmp", "-Dspark.yarn.app.container.log.dir=<LOG_DIR>", MASTER]
    program = ["--class", "'org.apache.spark.deploy.PythonRunner'", "--primary-py-file", job]
    program += [word for argument in arguments for word in ("--arg", f"'{argument}'")]
    conf = f"{{{{PWD}}}}/{CONF}"
    program += ["--properties-file", f"{conf}/{CONF}.properties"]
    program += ["--dist-cache-conf", f"{conf}/__spark_dist_cache__.properties"]
    return [*java, *program, "1>", "<LOG_DIR>/stdout", "2>", "<LOG_DIR>/stderr"]


def _write_conf_archive(spark: Spark, archive: pathlib.Path, staging: pathlib.Path) -> None:
    """Spark's properties, Hadoop's client configuration, and where executors find this archive again."""
    properties = {
        "spark.app.name": "rest",
        "spark.master": "yarn",
        "spark.submit.deployMode": "cluster",
        "spark.yarn.isPython": "true",
        "spark.yarn.jars": f"local:{spark.jars}",
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.executorEnv.PYTHONPATH": _python_path(spark),
    }
    cache = {"spark.yarn.cache.confArchive": archive.as_uri()}
    hadoop_files = sorted(p for p in spark.cluster.ready.hadoop_conf_dir.iterdir() if p.is_file())
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr(f"{CONF}.properties", _properties(properties))
        out.writestr("__spark_dist_cache__.properties", _properties(cache))
        out.writestr("__spark_hadoop_conf__.xml", "<configuration/>")
        for path in hadoop_files:
            out.write(path, f"__hadoop_conf__/{path.name}")


def _properties(values: dict[str, str]) -> str:
    """Java's properties format; a colon would end a key, so keys here have none."""
    return "".join(f"{key}={value}\n" for key, value in values.items())
