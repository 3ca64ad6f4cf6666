"""A first look at Yodel: a cluster on this machine, two PySpark jobs on it, the pods they became, and a clean end.

It uses what a user would use: ``yodel local``, unmodified spark-submit from PyPI, the REST API and kubectl.  Exit
status 0 means that both jobs SUCCEEDED with the right answer and that everything was stopped.  At the end it shows what
this machine lends before and while something else on it is busy; how much that is, is not judged.

With KEEP=1 in the environment the cluster stays up, in ``$DIR`` or else /tmp/yodel, and it is told where to look at it,
how to submit to it and how to end it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENV = pathlib.Path(sys.prefix)
EXAMPLES = ROOT / "examples"
SIDE = 3000
START_TIMEOUT_S, JOB_TIMEOUT_S, STOP_TIMEOUT_S, CALL_TIMEOUT_S = 60, 150, 40, 20
LOAN_TIMEOUT_S, BUSY_S = 30, 5
QUICKLY = ("window-s=2", "dead-band-percent=0")
"""A loan that follows sooner than one would have it in production: somebody is watching."""
BURN = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
LABEL = "yodel.io/"
KEPT_DIR = "/tmp/yodel"
COLUMNS = ("id", "name", "user", "queue", "state", "final status", "seconds")
SUBMITTED = re.compile(r"Submitted application (application_\d+_\d+)")  # earlier the id is only reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program, its arguments, and a check of the folder it writes (None when right, else what is wrong)."""

    title: str
    program: str
    arguments: tuple[str, ...]
    output: pathlib.Path
    wrong: Callable[[pathlib.Path], str | None]


class Demo:
    """One run; ``pods`` collects every pod that was seen, because pods go when their container ends."""

    def __init__(
        self, console: Console, directory: pathlib.Path, local: pathlib.Path, spark_home: pathlib.Path
    ) -> None:
        self.console = console
        self.directory = directory
        self.spark_home = spark_home
        self.ready: dict[str, Any] = json.loads((local / "ready.json").read_text())
        self.pods: dict[str, tuple[str, ...]] = {}

    def run(self, job: Job) -> bool:
        """Submits, follows and checks one job."""
        self.console.print(
            f"\n[bold]{job.title}[/bold]: spark-submit --master yarn --deploy-mode cluster {job.program}"
        )
        log = self.directory / f"{job.program}.log"
        with log.open("wb") as out:
            submission = subprocess.Popen(
                self._command(job), env=self._environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
            try:
                state = self._follow(submission, log)
            finally:
                submission.kill()
                submission.wait(5)
        wrong = job.wrong(job.output) if state == "SUCCEEDED" else f"it ended {state or 'without an application'}"
        if wrong:
            self.console.print(f"  [red]{job.title} is wrong:[/red] {wrong}\n{log.read_text(errors='replace')[-3000:]}")
        else:
            self.console.print(f"  [green]SUCCEEDED[/green], and the answer is right: {_first_line(job.output)}")
        return wrong is None

    def _command(self, job: Job) -> list[str]:
        settings = {
            "spark.yarn.jars": f"local:{self.spark_home}/jars/*",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.instances": "2",
            "spark.ui.enabled": "false",
        }
        options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        submit = [f"{self.spark_home}/bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster", *options]
        return [*submit, str(EXAMPLES / job.program), *job.arguments, job.output.as_uri()]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "JAVA_HOME": str((VENV / "tools" / "java-home").resolve()),
            "SPARK_HOME": str(self.spark_home),
            "PYSPARK_PYTHON": str(self.spark_home.parents[3] / "bin" / "python"),
            "HADOOP_CONF_DIR": str(self.ready["hadoop_conf_dir"]),
        }

    def _follow(self, submission: subprocess.Popen[bytes], log: pathlib.Path) -> str:
        """Shows the application's state and pods as they change; answers its final status."""
        pause, shown, give_up_at = threading.Event(), "", time.monotonic() + JOB_TIMEOUT_S
        application: dict[str, Any] = {}
        with self.console.status("submitting"):
            while time.monotonic() < give_up_at:
                ended = submission.poll() is not None
                named = SUBMITTED.search(log.read_text(errors="replace"))
                if named:
                    application = self.rest(f"/apps/{named.group(1)}")["app"]
                    news = f"  {application['id']} {application['state']}: {self._see_pods(application['id'])}"
                    if news != shown:
                        self.console.print(news)
                    shown = news
                if ended:
                    return str(application.get("finalStatus", ""))
                pause.wait(0.4)
        return f"UNFINISHED after {JOB_TIMEOUT_S} s"

    def _see_pods(self, application_id: str) -> str:
        listing = self.kubectl("get", "pods", "-A", "-o", "json", "-l", f"{LABEL}application={application_id}")
        phases: Counter[str] = Counter()
        for item in json.loads(listing)["items"]:
            labels, phase = item["metadata"]["labels"], item["status"].get("phase", "")
            name, node = item["metadata"]["name"], item["spec"].get("nodeName", "")
            self.pods[name] = (application_id, labels[LABEL + "container-id"], labels[LABEL + "role"], node)
            phases[phase] += 1
        return ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "no pod"

    def rest(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.ready['rest_url']}/ws/v1/cluster{path}", timeout=CALL_TIMEOUT_S) as answer:
            return json.load(answer)

    def kubectl(self, *arguments: str) -> str:
        command = [str(VENV / "tools" / "kubectl"), f"--kubeconfig={self.ready['kubeconfig']}", *arguments]
        return subprocess.run(command, check=True, timeout=CALL_TIMEOUT_S, capture_output=True, text=True).stdout

    def show(self) -> None:
        """Show the same work as YARN's users and Kubernetes' users see it."""
        applications = Table(*COLUMNS, title="Applications (REST)")
        for app in self.rest("/apps")["apps"]["app"]:
            words = [app[key] for key in ("id", "name", "user", "queue", "state", "finalStatus")]
            applications.add_row(*words, f"{app['elapsedTime'] / 1000:.1f}")
        pods = Table("pod", "container", "role", "node", title="The pods they were (kubectl get pods)")
        for name, (_, container, role, node) in self.pods.items():
            pods.add_row(name, container, role, node)
        self.console.print("", applications, "", pods)


def show_colocation(console: Console, directory: pathlib.Path) -> None:
    """Show the lent capacity of the machine, and what is left of it while every core is busy."""
    local = directory / "lending"
    with local_cluster(directory, local, "--colocation", "koordinator", is_kept=False):
        server = json.loads((local / "ready.json").read_text())["rest_url"]
        yodel = [str(VENV / "bin" / "yodel")]
        switch = [*yodel, "colocation", "on", *QUICKLY, "--server", server]
        subprocess.run(switch, check=True, timeout=CALL_TIMEOUT_S, capture_output=True)
        console.print("\n[bold]What is unused on this machine is lent[/bold]: yodel local --colocation koordinator")
        before = _lent(server)
        busy = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(os.cpu_count() or 1)]
        try:
            give_up_at, during = time.monotonic() + BUSY_S, before
            while time.monotonic() < give_up_at and during[0] >= max(1, before[0]):
                threading.Event().wait(0.2)
                during = _lent(server)
        finally:
            for process in busy:
                process.kill()
                process.wait(STOP_TIMEOUT_S)
        moments = {"before": before, f"while {len(busy)} processes are busy besides it": during}
        for moment, (cpu_milli, memory_mib) in moments.items():
            console.print(f"  {cpu_milli / 1000:.1f} cores, {memory_mib / 1024:.1f} GiB {moment}")


def _lent(server: str) -> tuple[int, int]:
    """Thousandths of a core and MiB, once the node's agent has reported; RuntimeError when it does not."""
    give_up_at = time.monotonic() + LOAN_TIMEOUT_S
    while time.monotonic() < give_up_at:
        with urllib.request.urlopen(f"{server}/api/v1/colocation", timeout=CALL_TIMEOUT_S) as answer:
            found = json.load(answer)
        if found["node_counts"].keys() & {"LENDING", "FULL"}:  # FULL: the machine is busy, and that is not judged
            return found["lent"].get("cpu_milli", 0), found["lent"].get("memory_mib", 0)
        threading.Event().wait(0.2)
    raise RuntimeError(f"nothing was lent within {LOAN_TIMEOUT_S} s")


def jobs(folder: pathlib.Path) -> list[Job]:
    text = EXAMPLES / "river.txt"
    pi, words = folder / "pi", folder / "words"
    return [
        Job(title="Pi", program="pi.py", arguments=(str(SIDE),), output=pi, wrong=wrong_pi),
        Job(
            title="Word count", program="wordcount.py", arguments=(text.as_uri(),), output=words, wrong=wrong_word_count
        ),
    ]


def _lines(output: pathlib.Path) -> list[str]:
    return [line for part in sorted(output.glob("part-*")) for line in part.read_text().splitlines()]


def _first_line(output: pathlib.Path) -> str:
    lines = _lines(output)
    return lines[0] if len(lines) == 1 else f"{len(lines)} words"


def wrong_pi(output: pathlib.Path) -> str | None:
    inside = sum(math.isqrt(SIDE * SIDE - 1 - x * x) + 1 for x in range(SIDE))
    lines = _lines(output)
    return None if f"({inside} of {SIDE * SIDE} points)" in "".join(lines) else f"expected {inside} points, got {lines}"


def wrong_word_count(output: pathlib.Path) -> str | None:
    text = (EXAMPLES / "river.txt").read_text()
    expected = Counter("".join(c.lower() if c.isalpha() else " " for c in text).split())
    counted = {word: int(count) for word, count in (line.split("\t") for line in _lines(output))}
    return None if counted == dict(expected) else f"expected {len(expected)} words, got {len(counted)}"


@contextlib.contextmanager
def local_cluster(directory: pathlib.Path, local: pathlib.Path, *options: str, is_kept: bool) -> Iterator[None]:
    """``yodel local`` in ``local`` for as long as the block runs; RuntimeError when it does not start or does not stop.

    One that is kept goes on after a block that ended well.
    """
    command = [str(VENV / "bin" / "yodel"), "local", "--dir", str(local), "--ports", "auto", *options]
    log = (local.parent if is_kept else directory) / f"{local.name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=is_kept)
    has_ended_well = False
    try:
        give_up_at, pause = time.monotonic() + START_TIMEOUT_S, threading.Event()
        while not _is_ready_with(local, process.pid):
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"yodel local did not start:\n{log.read_text(errors='replace')[-4000:]}")
            pause.wait(0.1)
        yield
        has_ended_well = True
    finally:
        if not (is_kept and has_ended_well):
            _end(process)


def _is_ready_with(local: pathlib.Path, pid: int) -> bool:
    """Not one that was there before."""
    try:
        return bool(json.loads((local / "ready.json").read_text())["pids"]["supervisor"] == pid)
    except (OSError, ValueError, LookupError):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise RuntimeError("yodel local did not stop by itself") from None


def where_to_look(ready: dict[str, Any], local: pathlib.Path) -> str:
    """Return the addresses and commands of a cluster that was kept."""
    kubectl = f"{_shown(VENV / 'tools' / 'kubectl')} --kubeconfig {ready['kubeconfig']}"
    return "\n".join(
        (
            "The cluster keeps running:",
            f"  its page    {ready['rest_url']}/cluster",
            f"  its pods    {kubectl} get pods -L yodel.io/role,yodel.io/user",
            f"  its jobs    {_shown(VENV / 'bin' / 'yodel')} app list",
            "Submit to it:",
            f"  export HADOOP_CONF_DIR={ready['hadoop_conf_dir']}",
            "  scripts/spark-submit --master yarn --deploy-mode cluster examples/pi.py 4000",
            "End it:",
            f"  kill {ready['pids']['supervisor']}    # and rm -r {local}, to forget what it knows",
        )
    )


def _shown(path: pathlib.Path) -> pathlib.Path:
    """Return the path as it is typed from the checkout."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def main() -> int:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)
    started = time.monotonic()
    is_kept = os.environ.get("KEEP", "") not in ("", "0")
    spark_venv = subprocess.run(
        [str(ROOT / "scripts" / "spark-venv"), "4.x"], check=True, stdout=subprocess.PIPE, text=True
    )
    spark_home = next(pathlib.Path(spark_venv.stdout.strip()).glob("lib/python3*/site-packages")) / "pyspark"
    directory = pathlib.Path(tempfile.mkdtemp(prefix="yodel-demo-"))
    directory.chmod(0o711)
    local = pathlib.Path(os.environ.get("DIR") or KEPT_DIR).absolute() if is_kept else directory / "local"
    try:
        console.print("Starting a ResourceManager, a small Kubernetes and two nodes: yodel local")
        with local_cluster(directory, local, "--nodes", "2", is_kept=is_kept):
            demo = Demo(console, directory, local, spark_home)
            console.print(f"Ready after {time.monotonic() - started:.1f} s: {demo.ready['rest_url']}")
            right = [demo.run(job) for job in jobs(directory)]
            demo.show()
        since_s = time.monotonic()
        show_colocation(console, directory)
        console.print(f"  shown in {time.monotonic() - since_s:.0f} s")
        console.print(f"\n{sum(right)} of {len(right)} jobs right, {time.monotonic() - started:.0f} s in all.")
        print(f"\n{where_to_look(demo.ready, local)}" if is_kept else "Everything was stopped.")
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
