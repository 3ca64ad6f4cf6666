"""The Java that tests start: the one that ``make setup`` chose, made cheap for programs that live for seconds.

``quick_java`` makes a Java home of links in which ``bin/java`` adds the first compiler alone and the serial collector.
It is no variable like ``JAVA_TOOL_OPTIONS``: of that each JVM says a line on standard error.  Whoever is told this home
as ``JAVA_HOME`` uses it too: containers, services of the node agent, Spark's scripts.  Benchmarks do without.

It takes a class-data archive (``tests.support.class_data``) where there is one for a folder of jars on the class path.
Java maps an archive only when its jars come first, so they are put first: before folders of configuration, whose files
no jar has but log4j's.
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
ARCHIVES = "class-data"
# bash, which passes on variables of any name.  A JVM that is told two collectors does not start.  The class path is the
# one on the command line, before the program's own words, or CLASSPATH.
PROGRAM = r"""#!/bin/bash
case " $* " in *" -XX:+Use"*"GC "*) own=() ;; *) own=(-XX:+UseSerialGC) ;; esac
words=("$@") at=-1 path=${CLASSPATH:-}
for ((i = 0; i < $#; i++)); do
  case "${words[i]}" in
    -cp | -classpath | --class-path) i=$((i + 1)) at=$i path=${words[i]:-} ;;
    -jar | -version | --version) path= && break ;;
    -p | --module-path | --add-modules | --add-opens | --add-exports | --add-reads) i=$((i + 1)) ;;
    -*) ;;
    *) break ;;
  esac
done
IFS=: read -ra elements <<<"$path"
for jars in "${elements[@]}"; do
  archive=${jars%/\*}
  archive=@ARCHIVES@/${archive//\//_}.jsa
  if [[ $jars == */\* && -r $archive ]]; then
    path=$jars log=()
    for element in "${elements[@]}"; do
      [ "$element" = "$jars" ] || path+=:$element
      if [[ ${#log[@]} == 0 && -f $element/log4j.properties ]]; then
        log=("-Dlog4j.configuration=file:$element/log4j.properties")
      fi
    done
    own+=("-XX:SharedArchiveFile=$archive" -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off "${log[@]}")
    if [ $at -ge 0 ]; then words[at]=$path; else export CLASSPATH=$path; fi
    break
  fi
done
exec '@JAVA@' -XX:TieredStopAtLevel=1 "${own[@]}" "${words[@]}"
"""


def java_home() -> Path:
    """The quick one where the tests have made one, the installed one otherwise."""
    return Path(os.environ[VARIABLE]) if is_quick() else installed_home()


def is_quick() -> bool:
    return VARIABLE in os.environ


def archive_of(jars: Path) -> Path:
    """Return where the quick Java looks for the class-data archive of a folder of jars."""
    return java_home() / ARCHIVES / f"{str(jars).replace('/', '_')}.jsa"


def program(java: Path, archives: Path) -> str:
    """Return the quick ``bin/java``, which runs ``java``."""
    return PROGRAM.replace("@JAVA@", str(java)).replace("@ARCHIVES@", str(archives))


def installed_home() -> Path:
    home = (Path(sys.prefix) / "tools" / "java-home").resolve()
    assert (home / "bin" / "java").exists(), "no Java: run `make setup`"
    return home


@contextlib.contextmanager
def quick_java() -> Iterator[None]:
    """Use the quick Java in this process and all that it starts, whoever their users are.  Does nothing if it is used
    already, or without Java."""
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
    archives = home / ARCHIVES
    archives.mkdir(mode=0o755)
    java.write_text(program(installed / "bin" / "java", archives))
    java.chmod(0o755)
