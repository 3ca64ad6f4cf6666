"""Class-data archives: what a release's classes become in a JVM, kept in a file that the next JVMs map.

A command line of Hadoop and ``spark-submit`` load thousands of classes, and that is most of the processor time they
take.  An archive is made once for a folder of jars where ``YODEL_CLASS_DATA=make`` asks for it, as the long runs do:
it costs more than a few programs gain.  It has the classes that a few short programs load, and is kept in the user's
cache under a name of all that it depends on: Java, and the jars' names, sizes and times.  The Java of the tests
(``tests.support.java``) takes it for every class path that has this folder.

Nothing depends on one.  Where it cannot be made there is none, and a JVM that finds it unfit goes without it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.support.java import archive_of, installed_home, is_quick

MAKE_TIMEOUT_S = 600
MAKES = os.environ.get("YODEL_CLASS_DATA") == "make"
NOBODY = {  # a ResourceManager that does not answer: all that a client needs is loaded before it gives up
    "yarn.resourcemanager.address": "127.0.0.1:1",
    "yarn.resourcemanager.connect.max-wait.ms": "1",
    "yarn.resourcemanager.connect.retry-interval.ms": "1",
    "ipc.client.connect.max.retries": "0",
}
OPENED = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch")
SPARK_PROGRAM = Path(__file__).parent / "class_data_of_spark.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Describes a program that is run to see which classes it loads.  Its exit status does not matter."""

    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@cache
def for_hadoop(jars: Path) -> None:
    """Prepare the classes of clients and containers of the release in the folder: a command line, and a job in one
    process."""
    options = [f"-D{name}={value}" for name, value in NOBODY.items()]
    listing = ["org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", *options, "-list"]
    local = ["-Dmapreduce.framework.name=local", "-Dhadoop.tmp.dir=tmp", "-Dfs.defaultFS=file:///"]
    job = ["org.apache.hadoop.examples.ExampleDriver", "pi", *local, "2", "10"]
    _offer(jars, [Program(words=listing), Program(words=job)])


@cache
def for_spark(home: Path, python: Path) -> None:
    """Prepare the classes of the release in ``home``, with the interpreter that has it: a job that runs, and one that
    is refused."""
    environment = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    submit = [
        *opened,
        "org.apache.spark.deploy.SparkSubmit",
        str(SPARK_PROGRAM),
        *(f"{k}={v}" for k, v in NOBODY.items()),
    ]
    _offer(home / "jars", [Program(words=submit, environment=environment)])


def _offer(jars: Path, programs: Sequence[Program]) -> None:
    """Copy the archive from the cache, made if needed, to where the tests' Java looks for it."""
    if not is_quick():
        return
    place = archive_of(jars)
    if place.exists():
        return
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if MAKES or _path(_cache(), jars).exists():
            _link(archive(jars, programs), place)


def archive(jars: Path, programs: Sequence[Program], folder: Path | None = None) -> Path:
    """Return an archive in ``folder``, or the user's cache.  Raises OSError or SubprocessError if Java cannot make
    it."""
    folder = folder or _cache()
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(folder, jars)
    with _lock(folder / f"{_label(jars)}.lock"):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                _make(Path(work), jars, programs).replace(path)
            for old in folder.glob(f"{_label(jars)}-*.jsa"):
                if old != path:
                    old.unlink(missing_ok=True)
    return path


def _path(folder: Path, jars: Path) -> Path:
    return folder / f"{_label(jars)}-{_key(jars)}.jsa"


def _make(work: Path, jars: Path, programs: Sequence[Program]) -> Path:
    classes = f"{jars}/*"
    lists = [installed_home() / "lib" / "classlist"]
    for number, program in enumerate(programs):
        lists.append(work / f"list-{number}")
        _java(work, f"-XX:DumpLoadedClassList={lists[-1]}", "-cp", classes, *program.words, more=program.environment)
    names = (line for path in lists if path.exists() for line in path.read_text().splitlines())
    chosen = dict.fromkeys(name for name in names if not name.startswith("#"))
    (work / "list").write_text("\n".join(chosen) + "\n")
    made = work / "made.jsa"
    dump = ("-Xshare:dump", f"-XX:SharedClassListFile={work / 'list'}", f"-XX:SharedArchiveFile={made}", "-cp", classes)
    _java(work, *dump)
    made.chmod(0o644)  # containers of other users map it
    return made


def _java(work: Path, *words: str, more: Mapping[str, str] | None = None) -> None:
    """Run Java in a folder of its own; its output is ignored."""
    common = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HADOOP_", "SPARK_", "YARN_"))}
    subprocess.run(
        ["nice", "-n", "5", str(installed_home() / "bin" / "java"), *common, *words],
        cwd=work,
        env={**kept, "JAVA_HOME": str(installed_home()), **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=MAKE_TIMEOUT_S,
        check=False,
    )


def _link(source: Path, place: Path) -> None:
    """So that it is there at once and whole, or not."""
    beside = place.with_suffix(f".{os.getpid()}")
    try:
        os.link(source, beside)
    except OSError:  # another file system
        shutil.copyfile(source, beside)
        beside.chmod(0o644)
    beside.replace(place)


def _key(jars: Path) -> str:
    """Return the key of a folder, in its own order, which is that of a class path with a star."""
    found = [(entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(jars)]
    java = (installed_home() / "release").read_text()
    programs = Path(__file__).read_text() + SPARK_PROGRAM.read_text()
    return hashlib.sha256(repr((str(jars), found, java, programs)).encode()).hexdigest()[:12]


def _label(jars: Path) -> str:
    """``spark-4.3.0`` of ``…/spark-4.3.0/lib/python3.11/site-packages/pyspark/jars``."""
    parts = jars.parts
    return next(
        (part for part in reversed(parts) if any(c.isdigit() for c in part) and "python" not in part), parts[-1]
    )


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yodel" / "class-data"


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
