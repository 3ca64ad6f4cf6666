"""Unmodified Spark and Hadoop command lines from PyPI, run against a cluster's client configuration."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.conformance.cluster import ROOT, wait_for
from tests.support import class_data
from tests.support.java import java_home

JOBS = pathlib.Path(__file__).parent / "spark_jobs"
SUBMIT_TIMEOUT_S = 600
VENV_TIMEOUT_S = 900
APPLICATION_ID = re.compile(r"application_\d+_\d+")
CLI = "org.apache.hadoop.yarn.client.cli."
MAINS = {"application": "ApplicationCLI", "app": "ApplicationCLI", "applicationattempt": "ApplicationCLI"}
MAINS |= {"container": "ApplicationCLI", "node": "NodeCLI", "queue": "QueueCLI", "rmadmin": "RMAdminCLI"}
SUBCOMMAND_IS_ARGUMENT = ("application", "app", "applicationattempt", "container")
# What a job of seconds needs on a small machine; everything else is Spark's default.
SMALL: dict[str, str] = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.instances": "1",
    "spark.yarn.am.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.locality.wait": "0",
}


def event_log(folder: pathlib.Path) -> dict[str, str]:
    """Make ``folder/events``, where drivers of all users write what happens; the settings that say so."""
    events = folder / "events"
    events.mkdir()
    events.chmod(0o1777)
    names = {"enabled": "true", "dir": events.as_uri(), "compress": "false", "rolling.enabled": "false"}
    return {f"spark.eventLog.{name}": value for name, value in names.items()}


def read_events(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the events of the one driver that wrote to ``folder/events``."""
    (log,) = [path for path in (folder / "events").iterdir() if path.is_file()]
    return [json.loads(line) for line in log.read_text().splitlines()]


def driver_settings(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    (found,) = [event for event in events if event["Event"] == "SparkListenerEnvironmentUpdate"]
    settings: dict[str, str] = found["Spark Properties"]
    return settings


def maps_run(events: Iterable[Mapping[str, Any]], since_ms: int = 0) -> int:
    """Map tasks that were started then or later, and succeeded."""
    return sum(
        event["Event"] == "SparkListenerTaskEnd"
        and event["Task Type"] == "ShuffleMapTask"
        and event["Task End Reason"]["Reason"] == "Success"
        and event["Task Info"]["Launch Time"] >= since_ms
        for event in events
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Keep what a submission said.  ``application_id`` is the first one named, empty when there is none."""

    returncode: int
    stdout: str
    stderr: str
    application_id: str

    @property
    def text(self) -> str:
        return self.stdout + self.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class OsUser:
    """An operating system's user with a group of the same name."""

    name: str
    home: str


class ClientConf(Protocol):
    @property
    def hadoop_conf_dir(self) -> pathlib.Path: ...


class HasClientConf(Protocol):
    """A cluster that has a configuration folder for its clients."""

    @property
    def ready(self) -> ClientConf: ...


class Spark:
    """One PySpark release with the Hadoop client inside it, aimed at one cluster."""

    def __init__(
        self,
        line: str,
        cluster: HasClientConf,
        *,
        home: pathlib.Path | None = None,
        python: str | None = None,
        more_environment: Mapping[str, str] | None = None,
    ) -> None:
        """``home`` overrides the ``pyspark`` package's folder, ``python`` the interpreter of driver and workers."""
        self._more_environment = more_environment or {}
        venv = spark_venv(line)
        self.line = line
        self.cluster = cluster
        own = next(venv.glob("lib/python3*/site-packages")) / "pyspark"
        class_data.for_spark(own, venv / "bin" / "python")
        self.home = home or own
        self.python = python or str(venv / "bin" / "python")

    @property
    def jars(self) -> str:
        return f"{self.home}/jars/*"

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "HADOOP_", "YARN_", "PYSPARK_"))}
        return {
            **kept,
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(self.home),
            "PYSPARK_PYTHON": self.python,
            "HADOOP_CONF_DIR": str(self.cluster.ready.hadoop_conf_dir),
            **self._more_environment,
        }

    def command(
        self,
        deploy_mode: str,
        job: str,
        *arguments: object,
        conf: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
    ) -> list[str]:
        """The spark-submit command line; ``conf`` wins over SMALL (empty: unset), ``more`` are further options."""
        settings = {"spark.yarn.jars": f"local:{self.jars}", **SMALL, **(conf or {})}
        options = [word for key, value in settings.items() if value for word in ("--conf", f"{key}={value}")]
        submit = [f"{self.home}/bin/spark-submit", "--master", "yarn", "--deploy-mode", deploy_mode, *options, *more]
        return [*submit, str(JOBS / job), *(str(a) for a in arguments)]

    def submit(
        self,
        deploy_mode: str,
        job: str,
        *arguments: object,
        conf: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
        timeout_s: float = SUBMIT_TIMEOUT_S,
    ) -> Result:
        """spark-submit to its end; TimeoutExpired when it takes longer."""
        return self.start(deploy_mode, job, *arguments, conf=conf, more=more).result(timeout_s)

    def start(
        self,
        deploy_mode: str,
        job: str,
        *arguments: object,
        conf: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
        user: OsUser | None = None,
    ) -> Submission:
        """spark-submit in the background, as another OS user when one is given (root only)."""
        environment = self.environment | ({"HOME": user.home, "USER": user.name, "LOGNAME": user.name} if user else {})
        return Submission(self.command(deploy_mode, job, *arguments, conf=conf, more=more), environment, user)

    def run(self, *command: str) -> Submission:
        """Start another program that finds this Spark and its cluster in its environment."""
        return Submission([*command], self.environment)

    def yarn(self, *arguments: str, timeout_s: float = 60) -> Result:
        """Hadoop's own command line (``application``, ``node``, ``queue``, ``rmadmin``) out of the jars in PySpark."""
        words = arguments if arguments[0] in SUBCOMMAND_IS_ARGUMENT else arguments[1:]
        classpath = f"{self.cluster.ready.hadoop_conf_dir}:{self.jars}"
        command = [f"{java_home()}/bin/java", "-Xmx256m", "-cp", classpath, CLI + MAINS[arguments[0]], *words]
        return Submission(command, self.environment).result(timeout_s)


class Submission:
    """A client process; its output goes to temporary files and can be read while it runs.

    Every submission ends with ``result()`` or ``stop()``, which also remove the files.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str], user: OsUser | None = None) -> None:
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-client-"))
        self._out, self._err = self._folder / "stdout", self._folder / "stderr"
        self._kept: tuple[str, str] | None = None  # the output, once the files are gone
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=user.home if user else None,
                user=user.name if user else None,
                group=user.name if user else None,
                extra_groups=[] if user else None,
            )

    @property
    def stdout(self) -> str:
        return self._kept[0] if self._kept else self._out.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._kept[1] if self._kept else self._err.read_text(errors="replace")

    def application_id(self) -> str:
        """The id as soon as the client names it; AssertionError with its log when it ends or stays silent first."""

        def probe() -> str | None:
            ended = self._process.poll() is not None
            named = APPLICATION_ID.search(self.stderr + self.stdout)
            assert named or not ended, f"ended without an application:\n{self.stderr[-4000:]}"
            return named.group() if named else None

        return wait_for("an application id from the client", probe)

    def result(self, timeout_s: float = SUBMIT_TIMEOUT_S) -> Result:
        """Waits for the end; AssertionError with the client's log when it does not come in time."""
        try:
            returncode = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.stop()
            raise AssertionError(f"no end within {timeout_s} s:\n{self.stderr[-6000:]}") from None
        self._keep_output()
        named = APPLICATION_ID.search(self.stderr + self.stdout)
        application_id = named.group() if named else ""
        return Result(returncode=returncode, stdout=self.stdout, stderr=self.stderr, application_id=application_id)

    def stop(self) -> None:
        """Ends the client if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
        self._keep_output()

    def _keep_output(self) -> None:
        if self._kept is None:
            self._kept = (self.stdout, self.stderr)
            shutil.rmtree(self._folder)


def spark_venv(line: str) -> pathlib.Path:
    """The virtual environment of ``4.x`` or ``3.5.x``, made when it is not there."""
    command = [str(ROOT / "scripts" / "spark-venv"), line]
    done = subprocess.run(command, check=True, timeout=VENV_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(done.stdout.strip().splitlines()[-1])
