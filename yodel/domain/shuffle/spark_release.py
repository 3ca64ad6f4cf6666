"""Finds which Spark an application has, by the names of its jars or by what its queue says.  Pure.

Where the jars do not say it, the ApplicationMaster's command and PYTHONPATH give hints.  They know a range of releases
at best: a hint can contradict the queue, and never replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from yodel.domain.shuffle.report import Cause, Reason
from yodel.domain.shuffle.service import Client

LIBRARIES = "__spark_libs__"  # Client.LOCALIZED_LIB_DIR
EXPECTED = "a release of Spark, such as 3.5.9, or with its Scala, such as 3.5.9_2.12"
PYTHON_PATH = "PYTHONPATH"
_CORE = re.compile(r"spark-core_([0-9]+\.[0-9]+)-([0-9]+)\.([0-9]+)[^/]*\.jar")
_SAID = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.[A-Za-z0-9.-]{1,40})?(?:_([0-9]\.[0-9]{1,3}))?")
_MODULE = "--add-modules=jdk.incubator.vector"
"""Spark 4 has it on every command line (``JavaModuleOptions``)."""
_PY4J = re.compile(r"py4j-([0-9]+(?:\.[0-9]+){1,4})-src\.zip")
_SPARKS_OF_PY4J = (((0, 10, 9, 8), (4, 0)), ((0, 10, 9, 6), (3, 4)), ((0, 10, 9, 1), (3, 2)), ((0, 10, 9), (3, 0)))
"""Each entry is the first version of py4j with the Spark release that has it, up to the release of the entry before."""
_SCALA_OF_JAR = re.compile(r"_([0-9]\.[0-9]{1,3})(?:-|\.jar)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRelease:
    """``scala`` is empty where nothing was said of it."""

    major: int
    minor: int
    scala: str = ""

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f" with Scala {self.scala}" if self.scala else "")


def by_names(names: Iterable[str]) -> SparkRelease | None:
    """Out of links, paths or names of files; None: there is none of Spark's core among them."""
    for name in names:
        found = _CORE.fullmatch(name.rpartition("/")[2])
        if found is not None:
            return SparkRelease(major=int(found[2]), minor=int(found[3]), scala=found[1])
    return None


def as_said(text: str) -> SparkRelease | None:
    """None: it says no release."""
    found = _SAID.fullmatch(text)
    return None if found is None else SparkRelease(major=int(found[1]), minor=int(found[2]), scala=found[3] or "")


def contradiction(said: SparkRelease, command: Iterable[str], python_path: str) -> Cause | None:
    """Return why an ApplicationMaster cannot be of its queue's release; None: it can."""
    if said.major < 4 and any(_MODULE in item for item in command):
        return Cause(Reason.SPARK_CONTRADICTED, f"{said}, but its command has {_MODULE}, as Spark 4.0 and later")
    versions = _PY4J.findall(python_path)
    if versions and not any(_is_of(said, version) for version in versions):
        text = f"{said}, but its PYTHONPATH has py4j {', '.join(versions[:3])}, which other releases have"
        return Cause(Reason.SPARK_CONTRADICTED, text)
    return None


def _is_of(release: SparkRelease, py4j: str) -> bool:
    """Return True if Py4J's version fits the release; one older than all known here is no evidence."""
    version, before = tuple(map(int, py4j.split("."))), (1 << 31, 0)
    for least, spark in _SPARKS_OF_PY4J:
        if version >= least:
            return spark <= (release.major, release.minor) < before
        before = spark
    return True


def lack(client: Client, jar: str, release: SparkRelease | None) -> Cause | None:
    """Return why the client cannot be in its JVMs; None: it can.  A jar that names its Scala is for that one."""
    if release is None:
        return Cause(Reason.SPARK_UNKNOWN)
    if (release.major, release.minor) not in client.sparks:
        least, most = (".".join(map(str, one)) for one in (min(client.sparks), max(client.sparks)))
        return Cause(Reason.SPARK_UNSUPPORTED, f"{release}; clients exist for {least} to {most}")
    named = _SCALA_OF_JAR.search(jar.rpartition("/")[2])
    scala = named[1] if named is not None else client.scala
    if release.scala not in ("", scala):
        return Cause(
            Reason.SCALA_DIFFERENT, f"{release}, but yodel.remote-shuffle.jar of the queue is for Scala {scala}"
        )
    return None
