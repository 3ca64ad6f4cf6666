"""The Java that tests start: the one that ``make setup`` chose, made cheap for programs that live for seconds.

``quick_java`` makes a Java home of links in which ``bin/java`` adds the first compiler alone and the serial collector.
It is no variable like ``JAVA_TOOL_OPTIONS``: of that each JVM says a line on standard error.  Whoever is told this home
as ``JAVA_HOME`` uses it too: containers, services of the node agent, Spark's scripts.  Benchmarks do without.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "YODEL_TESTS_JAVA_HOME"
# bash, which passes on variables of any name.  A JVM that is told two collectors does not start.
PROGRAM = """#!/bin/bash
case " $* " in *" -XX:+Use"*"GC "*) collector=() ;; *) collector=(-XX:+UseSerialGC) ;; esac
exec '{java}' -XX:TieredStopAtLevel=1 "${{collector[@]}}" "$@"
"""


def java_home() -> Path:
    """The quick one where the tests have made one, the installed one otherwise."""
    return Path(os.environ[VARIABLE]) if is_quick() else installed_home()


def is_quick() -> bool:
    return VARIABLE in os.environ


def installed_home() -> Path:
    home = (Path(sys.prefix) / "tools" / "java-home").resolve()
    assert (home / "bin" / "java").exists(), "no Java: run `make setup`"
    return home


@contextlib.contextmanager
def quick_java() -> Iterator[None]:
    """For this process and all that it starts, whoever their users are.  Nothing where it is so, or without Java."""
    if is_quick() or not (Path(sys.prefix) / "tools" / "java-home" / "bin" / "java").exists():
        yield
        return
    home = Path(tempfile.mkdtemp(prefix="yodel-java-"))
    try:
        _fill(home, installed_home())
        os.environ[VARIABLE] = str(home)
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        shutil.rmtree(home, ignore_errors=True)


def _fill(home: Path, installed: Path) -> None:
    home.chmod(0o755)
    (home / "bin").mkdir()
    for path in installed.iterdir():
        if path.name != "bin":
            (home / path.name).symlink_to(path)
    for path in (installed / "bin").iterdir():
        if path.name != "java":
            (home / "bin" / path.name).symlink_to(path)
    java = home / "bin" / "java"
    java.write_text(PROGRAM.format(java=installed / "bin" / "java"))
    java.chmod(0o755)
