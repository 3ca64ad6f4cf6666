"""MapReduce: Hadoop's examples and the test jobs of its job client, with everything a job can meet on a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario, counters_in, without_counters
from tests.conformance.clients.target import JOB_TIMEOUT_S, Target, settings
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Result, Submission
from tests.support.processes import has_ended

EXAMPLES = "org.apache.hadoop.examples.ExampleDriver"
SLEEP = "org.apache.hadoop.mapreduce.SleepJob"
FAIL = "org.apache.hadoop.mapreduce.FailJob"
ALL_LINES = ("3.5", "3.4", "3.3")
WORDCOUNT_BYTES = 50 << 20
SPECULATION_BYTES = 160 << 20
ROW_BYTES = 100
SORT_BYTES = 200_000_000
# What the client says on its way: how often depends on the machine.
PROGRESS = re.compile(
    r"map \d+% reduce \d+%|Running job|running in uber|completed successfully|Job .* failed with state"
)
NOISE = re.compile(r"NativeCodeLoader|SLF4J|WARNING:|Job Finished in|ATTEMPT_START|The url to track the job")


def pi(target: Target) -> Outcome:
    result = example(target, "pi", 4, 1000)
    outcome = _outcome(target, result, facts={"estimate": _after(result.stdout, "Estimated value of Pi is ")})
    # The job's folder has a random number in its name, which has more or fewer digits.
    return without_counters(outcome, "HDFS: Number of bytes read", "Input split bytes")


def wordcount(target: Target, size_bytes: int = WORDCOUNT_BYTES) -> Outcome:
    folder = target.folder()
    target.hadoop.hdfs.put(f"{folder}/in/text", _text(size_bytes), user="hdfs")
    sizes = {"mapreduce.job.reduces": 2, "mapreduce.input.fileinputformat.split.maxsize": size_bytes // 4}
    result = example(target, "wordcount", *settings(sizes), f"{folder}/in", f"{folder}/out")
    counted = _written_counts(target, f"{folder}/out")
    return _outcome(target, result, facts={"counts are right": counted == _text_counts(size_bytes)})


def terasort(target: Target, size_bytes: int = SORT_BYTES) -> Outcome:
    """Generates, sorts and validates; the counters are those of the sort."""
    folder = target.folder()
    maps = settings({"mapreduce.job.maps": 2})
    generated = example(target, "teragen", *maps, size_bytes // ROW_BYTES, f"{folder}/in")
    sorts = settings({"mapreduce.job.reduces": 2})
    result = example(target, "terasort", *sorts, f"{folder}/in", f"{folder}/out")
    validated = example(target, "teravalidate", f"{folder}/out", f"{folder}/report")
    facts = {
        "exit codes": [r.returncode for r in (generated, result, validated)],
        "checksum": _report(target, f"{folder}/report") if validated.returncode == 0 else validated.text[-2000:],
        "generated": counters_in(generated.text),
        "validated": counters_in(validated.text),
    }
    target.hadoop.hdfs.delete(folder, user="hdfs")
    return _outcome(target, result, facts=facts)


def map_only(target: Target) -> Outcome:
    folder = target.folder()
    words = settings({"mapreduce.job.maps": 2, "mapreduce.job.reduces": 0})
    return _outcome(target, example(target, "teragen", *words, 20_000, f"{folder}/out"))


def uber(target: Target) -> Outcome:
    """The whole job inside the ApplicationMaster."""
    result = sleep(target, maps=2, reduces=1, seconds=1, more={"mapreduce.job.ubertask.enable": "true"})
    facts = {"uber": "running in uber mode : true" in result.text}
    # The master's own process writes the history too, in which ports and folders are.
    return without_counters(_outcome(target, result, facts=facts), "HDFS: Number of bytes written")


def failing_mapper(target: Target) -> Outcome:
    result = target.java(FAIL, *settings({"mapreduce.map.maxattempts": 2}), "-failMappers").result(JOB_TIMEOUT_S)
    outcome = _outcome(target, result)
    # Which of the two maps fails for good first is chance, and so is what the other one and the reducer were doing.
    chance = re.compile(r"m_\d{6}(_\d)?")
    facts = {k: v for k, v in outcome.facts.items() if k not in ("history mapsCompleted", "history reducesCompleted")}
    facts["application diagnostics"] = chance.sub("MAP", str(facts["application diagnostics"]))
    return replace(outcome, output=_unique(chance.sub("MAP", outcome.output)), counters={}, facts=facts)


def killed_half_way(target: Target) -> Outcome:
    job = start_sleep(target, maps=2, reduces=1, seconds=120)
    application_id = _with_tasks(target, job)
    killing = target.mapred("job", "-kill", application_id.replace("application", "job"))
    result = job.result(JOB_TIMEOUT_S)
    facts = {"kill": (killing.returncode, masked(_plain(killing.stdout)))}
    return replace(_outcome(target, result, facts=facts), counters={})


def am_killed_half_way(target: Target) -> Outcome:
    """The second attempt takes finished maps from the first one's history and runs only the rest."""
    # Two containers at a time: the first maps end long before the last.
    job = start_sleep(target, maps=6, reduces=1, seconds=3, more={"mapreduce.job.running.map.limit": 2})
    application_id = _with_tasks(target, job)
    _wait_for_maps(target, application_id, 0.4)
    _kill(_process(target, application_id, "MRAppMaster"), signal.SIGKILL)
    result = job.result(JOB_TIMEOUT_S)
    outcome = _outcome(target, result)
    history = _history(target, application_id)
    recovered = _history(target, application_id, "/jobattempts")["jobAttempts"]["jobAttempt"]
    facts = {
        **outcome.facts,
        "attempts": len(recovered),
        "attempts in the RM": len(target.rest(f"/apps/{application_id}/appattempts")["appAttempts"]["appAttempt"]),
        "maps": (history["mapsTotal"], history["mapsCompleted"]),
        "maps were recovered": history["successfulMapAttempts"] == 6,
    }
    return Outcome(exit_code=outcome.exit_code, final_status=outcome.final_status, facts=facts)


def speculative(target: Target) -> Outcome:
    """A map that stands still is started a second time, and the job does not wait for the first.

    A word count, for the sleep job and pi switch speculation off.
    """
    folder = target.folder()
    target.hadoop.hdfs.put(f"{folder}/in/text", _text(SPECULATION_BYTES), user="hdfs")
    quick = {
        "mapreduce.map.speculative": "true",
        "mapreduce.job.speculative.slowtaskthreshold": "0.1",
        "mapreduce.job.speculative.retry-after-no-speculate": 500,
        "mapreduce.job.speculative.retry-after-speculate": 1000,
        "mapreduce.job.speculative.minimum-allowed-tasks": 2,
        "mapreduce.job.reduce.slowstart.completedmaps": 1,
        "mapreduce.input.fileinputformat.split.maxsize": SPECULATION_BYTES // 4 + 1,
    }
    job = target.java(EXAMPLES, "wordcount", *settings(quick), f"{folder}/in", f"{folder}/out")
    application_id = _with_tasks(target, job)
    _wait_for_maps(target, application_id, 0.1)  # a map that never told its progress is not measured
    process = _process(target, application_id, "_m_000000_0")
    _kill(process, signal.SIGSTOP)
    result = job.result(JOB_TIMEOUT_S)
    outcome = _outcome(target, result)
    twice = _history(target, application_id, "/tasks/" + _task(application_id, 0) + "/attempts")
    states = sorted(attempt["state"] for attempt in twice["taskAttempts"]["taskAttempt"])
    facts = {
        "states of the stopped map": states,
        "stopped process is gone": has_ended(process),
        "counts are right": _written_counts(target, f"{folder}/out") == _text_counts(SPECULATION_BYTES),
    }
    target.hadoop.hdfs.delete(folder, user="hdfs")
    return Outcome(exit_code=outcome.exit_code, final_status=outcome.final_status, facts=facts)


def framework_archive(target: Target) -> Outcome:
    """No Hadoop on the nodes: the job brings all of its own as an archive in HDFS."""
    archive = _framework(target)
    words = {
        "mapreduce.application.framework.path": f"{archive}#mrframework",
        "mapreduce.application.classpath": "$PWD/mrframework/*",
        "yarn.application.classpath": "$HADOOP_CONF_DIR",
    }
    result = example(target, "pi", *settings(words), 2, 1000)
    outcome = _outcome(target, result, facts={"estimate": _after(result.stdout, "Estimated value of Pi is ")})
    return without_counters(outcome, "HDFS: Number of bytes read", "Input split bytes")


def example(target: Target, name: str, *arguments: object) -> Result:
    return start_example(target, name, *arguments).result(JOB_TIMEOUT_S)


def start_example(target: Target, name: str, *arguments: object) -> Submission:
    return target.java(EXAMPLES, name, *arguments)


def start_sleep(
    target: Target, *, maps: int, reduces: int, seconds: float, more: Mapping[str, object] | None = None
) -> Submission:
    times = ("-mt", int(seconds * 1000), "-rt", 1000)
    return target.java(SLEEP, *settings(more or {}), "-m", maps, "-r", reduces, *times)


def sleep(target: Target, **arguments: Any) -> Result:
    return start_sleep(target, **arguments).result(JOB_TIMEOUT_S)


def _outcome(target: Target, result: Result, facts: Mapping[str, object] | None = None) -> Outcome:
    """Return the outcome with what the ResourceManager and the JobHistoryServer tell about it."""
    if not result.application_id:
        return Outcome(exit_code=result.returncode, output=_said(result.text))
    app = target.ended(result.application_id)
    keys = ("state", "applicationType", "queue", "progress", "user", "name", "priority")
    return Outcome(
        exit_code=result.returncode,
        final_status=app["finalStatus"],
        output=_said(result.text),
        counters=counters_in(result.text),
        facts={
            **{f"application {key}": app[key] for key in keys if key in app},
            "application diagnostics": masked(app["diagnostics"]),
            **_in_history(target, result.application_id),
            **(facts or {}),
        },
    )


def _in_history(target: Target, application_id: str) -> dict[str, object]:
    keys = ("state", "mapsTotal", "mapsCompleted", "reducesTotal", "reducesCompleted", "uberized")
    job = _history(target, application_id)
    return {f"history {key}": job.get(key) for key in keys}


def _history(target: Target, application_id: str, path: str = "") -> dict[str, Any]:
    """Return what the JobHistoryServer has, as soon as it has read the job's file."""
    job_id = application_id.replace("application", "job")
    url = f"{target.hadoop.history_url}/ws/v1/history/mapreduce/jobs/{job_id}{path}"

    def probe() -> dict[str, Any] | None:
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=10) as answer:
            content: dict[str, Any] = json.load(answer)
            return content
        return None

    found = wait_for(f"{job_id} in the history", probe)
    return dict(found["job"]) if "job" in found else found


def _with_tasks(target: Target, job: Submission) -> str:
    """The application's id, once it has a task besides its master."""
    application_id = job.application_id()

    def probe() -> bool:
        app = target.application(application_id)
        return int(app["runningContainers"]) >= 2

    wait_for("a running task", probe)
    return application_id


def _wait_for_maps(target: Target, application_id: str, fraction: float) -> None:
    """Asks the ApplicationMaster itself how far the maps are."""
    job_id = application_id.replace("application", "job")

    def probe() -> bool:
        status = target.mapred("job", "-status", job_id).stdout
        found = re.search(r"map\(\) completion: ([\d.]+)", status)
        return found is not None and float(found[1]) >= fraction

    wait_for(f"{fraction} of the maps", probe, every_s=0.5)


def _processes(target: Target, application_id: str) -> Iterator[psutil.Process]:
    """Java processes of the application's containers."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if "java" in process.name() and application_id.replace("application_", "") in process.cwd():
                yield process


def _find(target: Target, application_id: str, word: str) -> psutil.Process | None:
    for process in _processes(target, application_id):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if word in " ".join(process.cmdline()):
                return process
    return None


def _process(target: Target, application_id: str, word: str) -> psutil.Process:
    found = _find(target, application_id, word)
    assert found is not None, f"no process of {application_id} with {word}"
    return found


def _kill(process: psutil.Process, number: signal.Signals) -> None:
    os.kill(process.pid, number)


def _task(application_id: str, number: int) -> str:
    return application_id.replace("application", "task") + f"_m_{number:06d}"


def _said(text: str) -> str:
    """The client's words without progress, noise and counters (which are compared by value)."""
    lines = []
    counting = False
    for line in text.splitlines():
        counting = "Counters: " in line or (counting and line.startswith("\t"))
        if not counting and not PROGRESS.search(line) and not NOISE.search(line):
            lines.append(line)
    return masked("\n".join(lines))


def _plain(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not NOISE.search(line))


def _unique(text: str) -> str:
    return "\n".join(sorted(set(text.splitlines())))


def _after(text: str, words: str) -> str:
    found = [line.split(words, 1)[1] for line in text.splitlines() if words in line]
    return found[0] if found else ""


@cache
def _text(size_bytes: int) -> bytes:
    """Words, the same in every run."""
    chosen = random.Random(5)
    words = [f"word{chosen.randrange(10**6)}" for _ in range(20_000)]
    line_count = size_bytes // 100
    block = "\n".join(" ".join(chosen.choices(words, k=9)) for _ in range(line_count // 10)).encode() + b"\n"
    return (block * 11)[:size_bytes].rsplit(b" ", 1)[0] + b"\n"


@cache
def _text_counts(size_bytes: int) -> Counter[str]:
    return Counter(_text(size_bytes).decode().split())


def _written_counts(target: Target, folder: str) -> Counter[str]:
    counted: Counter[str] = Counter()
    for name in target.hadoop.hdfs.names(folder):
        if name.startswith("part-"):
            for line in target.hadoop.hdfs.read(f"{folder}/{name}").decode().splitlines():
                word, count = line.split("\t")
                counted[word] += int(count)
    return counted


def _report(target: Target, folder: str) -> str:
    return target.hadoop.hdfs.read(f"{folder}/part-r-00000").decode().strip()


def _framework(target: Target) -> str:
    """The release's jars as one archive in HDFS; put there once."""
    hdfs = target.hadoop.hdfs
    path = f"/user/framework/hadoop-{target.line}.tar.gz"
    if hdfs_has(target, path):
        return path
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "framework.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as out:
            for jar in sorted(target.jars.glob("*.jar")):
                out.add(jar, arcname=jar.name)
        hdfs.put(path, archive.read_bytes(), user="hdfs")
    return path


def hdfs_has(target: Target, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    try:
        return name in target.hadoop.hdfs.names(folder)
    except AssertionError:
        return False


def scenario(name: str, run: Any, *, short: bool = False, lines: tuple[str, ...] = ("3.5",)) -> Scenario:
    return Scenario(client="MapReduce", name=name, run=run, short=short, lines=lines)


SCENARIOS = (
    scenario("pi", pi, short=True, lines=ALL_LINES),
    scenario("wordcount, 50 MB", wordcount, lines=ALL_LINES),
    scenario("teragen, terasort, teravalidate, 200 MB", terasort, lines=ALL_LINES),
    scenario("map only", map_only, lines=ALL_LINES),
    scenario("uber", uber, short=True, lines=ALL_LINES),
    scenario("failing mapper", failing_mapper, short=True, lines=ALL_LINES),
    scenario("speculative execution", speculative),
    scenario("killed half-way", killed_half_way, short=True, lines=ALL_LINES),
    scenario("master killed half-way", am_killed_half_way, lines=ALL_LINES),
    scenario("framework archive in HDFS", framework_archive, lines=ALL_LINES),
)
