"""Flink 2 and 1: application mode and session mode, from the PyPI package, started as its own shell scripts do it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import Target, settings
from tests.conformance.spark_submit import Submission
from tests.support.hadoop_jars import RIG, jars
from tests.support.java import java_home

VERSION, VERSION_1 = "2.3.0", "1.20.3"
FRONTEND = "org.apache.flink.client.cli.CliFrontend"
SESSION = "org.apache.flink.yarn.cli.FlinkYarnSessionCli"
MAIN = "CountWords"
SOURCE = RIG / "flink" / f"{MAIN}.java"
COMPILE_TIMEOUT_S = 600
TIMEOUT_S = 600
OPENED = ("java.lang", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util", "java.util.concurrent")
OPENED_TOO = ("java.util.concurrent.atomic", "java.util.concurrent.locks", "java.lang.reflect", "sun.nio.ch")
OPENS = tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in (*OPENED, *OPENED_TOO))


def application_mode(target: Target) -> Outcome:
    """The job's main method runs in the cluster."""
    return _application(target, jars("flink", VERSION), "run")


def application_mode_of_flink_1(target: Target) -> Outcome:
    """The same job, with the last release of the line before."""
    return _application(target, jars("flink", VERSION_1), "run-application")


def _application(target: Target, flink: Path, action: str) -> Outcome:
    with _home(target) as home:
        options = settings({"yarn.application.name": "flink application"})
        words = (action, "-t", "yarn-application", *options, "-c", MAIN, _job(home, flink))
        result = _start(target, flink, home, FRONTEND, *words).result(TIMEOUT_S)
    if not result.application_id:
        return Outcome(exit_code=result.returncode, output=masked(result.text)[-3000:])
    app = target.ended(result.application_id)
    facts = {"type": app["applicationType"], "state": app["state"], "diagnostics": masked(app["diagnostics"])}
    return Outcome(exit_code=result.returncode, final_status=app["finalStatus"], facts=facts)


def session_mode(target: Target) -> Outcome:
    """A cluster of its own that takes a job, and is then killed."""
    flink = jars("flink", VERSION)
    with _home(target) as home:
        started = _start(target, flink, home, SESSION, "-d", "-nm", "flink session").result(TIMEOUT_S)
        if started.returncode != 0 or not started.application_id:
            return Outcome(exit_code=started.returncode, output=masked(started.text)[-3000:])
        where = settings({"yarn.application.id": started.application_id})
        words = ("run", "-t", "yarn-session", *where, "-c", MAIN, _job(home, flink))
        ran = _start(target, flink, home, FRONTEND, *words).result(TIMEOUT_S)
        killing = target.yarn("application", "-kill", started.application_id)
    app = target.ended(started.application_id)
    facts = {
        "job": ran.returncode,
        "job finished": bool(re.search(r"Program execution finished", ran.text)),
        "kill": killing.returncode,
        "state": app["state"],
    }
    return Outcome(exit_code=started.returncode, final_status=app["finalStatus"], facts=facts)


def _job(home: Path, flink: Path) -> Path:
    """The rig's own job, compiled."""
    compiler = next(jars("ecj").glob("ecj-*.jar"))
    classes = home / "classes"
    command = [f"{java_home()}/bin/java", "-jar", str(compiler), "-17", "-nowarn", "-d", str(classes)]
    command += ["-classpath", ":".join(str(p) for p in (flink / "lib").glob("*.jar"))]
    subprocess.run([*command, str(SOURCE)], check=True, timeout=COMPILE_TIMEOUT_S, capture_output=True)
    with zipfile.ZipFile(home / "job.jar", "w") as out:
        for path in classes.glob("*.class"):
            out.write(path, path.name)
    return home / "job.jar"


@contextmanager
def _home(target: Target) -> Iterator[Path]:
    """A configuration folder with a memory that fits the node."""
    folder = Path(tempfile.mkdtemp(prefix="yodel-flink-"))
    values: Mapping[str, str] = {
        "jobmanager.memory.process.size": "1024m",
        "taskmanager.memory.process.size": "1024m",
        "taskmanager.numberOfTaskSlots": "1",
        "parallelism.default": "1",
        "env.java.opts.all": f'"{" ".join(OPENS)}"',
        "env.hadoop.conf.dir": str(target.conf_dir),
    }
    (folder / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in values.items()))
    for name in ("log4j.properties", "log4j-console.properties", "log4j-session.properties", "log4j-cli.properties"):
        (folder / name).write_text(LOGGING)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


LOGGING = """rootLogger.level = INFO
rootLogger.appenderRef.out.ref = Out
appender.out.name = Out
appender.out.type = CONSOLE
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %c{1} %m%n
"""


def _start(target: Target, flink: Path, home: Path, main: str, *arguments: object) -> Submission:
    classes = f"{flink}/lib/*:{home}:{target.conf_dir}:{target.jars}/*"
    environment = {
        **target.environment(),
        "FLINK_CONF_DIR": str(home),
        "FLINK_LIB_DIR": f"{flink}/lib",
        "FLINK_PLUGINS_DIR": f"{flink}/plugins",
        "FLINK_OPT_DIR": f"{flink}/opt",
        "HADOOP_CLASSPATH": f"{target.jars}/*",
    }
    command = [f"{java_home()}/bin/java", "-Xmx384m", *OPENS, f"-Dlog4j.configurationFile={home}/log4j-cli.properties"]
    return Submission([*command, "-cp", classes, main, *(str(a) for a in arguments)], environment)


SCENARIOS = (
    Scenario(client="Flink", name="application mode", run=application_mode, version=VERSION),
    Scenario(client="Flink", name="session mode", run=session_mode, version=VERSION),
    Scenario(client="Flink", name="application mode", run=application_mode_of_flink_1, short=True, version=VERSION_1),
)
