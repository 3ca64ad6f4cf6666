"""Clients that bring programs of their own: Hadoop streaming with ``-libjars`` and ``-files``, and mrjob ``-r hadoop``.

Both run unmodified against ``yodel local`` with a real HDFS.  What is shipped is not executable in HDFS, and
``-libjars`` ships a folder with a link that ends in ``*``.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients.target import JOB_TIMEOUT_S, Target, settings
from tests.support.hadoop import Hadoop
from tests.support.hadoop_jars import jars
from tests.support.hadoop_yodel import rm_addresses, running_yodel
from tests.support.java import java_home
from tests.support.python_clients import clients_venv

LINE = "3.4"  # the newest release that streaming is published of
STREAMING = "org.apache.hadoop.streaming.HadoopStreaming"
COMPILE_TIMEOUT_S = 600
WORDS = ["yodel mountain", "valley yodel", "yodel"]
COUNTED = {"yodel": 3, "mountain": 1, "valley": 1}
PARTITIONER = """
package lib;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Partitioner;
public class P implements Partitioner<Text, Text> {
  public void configure(JobConf conf) { }
  public int getPartition(Text key, Text value, int count) { return count - 1; }
}
"""
MAPPER = "#!/bin/sh\ntr ' ' '\\n' | sed 's/$/\\t1/'\n"
REDUCER = "#!/bin/sh\nawk -F '\\t' '{ n[$1] += $2 } END { for (w in n) print w \"\\t\" n[w] }'\n"
MRJOB = """
from mrjob.job import MRJob


class Count(MRJob):
    def mapper(self, _, line):
        for word in line.split():
            yield word, 1

    def reducer(self, word, counts):
        yield word, sum(counts)


if __name__ == "__main__":
    Count.run()
"""
HADOOP = """#!/bin/sh
# Hadoop's own command, as far as mrjob calls it.
command=$1
shift
case $command in
  fs) main=org.apache.hadoop.fs.FsShell ;;
  jar) main=org.apache.hadoop.util.RunJar ;;
  version) main=org.apache.hadoop.util.VersionInfo ;;
  *) echo "unknown command: $command" >&2; exit 1 ;;
esac
exec "$JAVA_HOME/bin/java" -Xmx256m -cp "$HADOOP_CONF_DIR:$CLIENT_JARS/*" $main "$@"
"""


@pytest.fixture(scope="module")
def target(rig: Hadoop) -> Iterator[Target]:
    with running_yodel(rig) as cluster:
        yield Target(name="yodel-streaming", line=LINE, addresses=rm_addresses(cluster), hadoop=rig)


@pytest.fixture(scope="module")
def streaming_jar() -> Path:
    (found,) = jars("streaming").glob("hadoop-streaming-*.jar")
    return found


@pytest.fixture
def partitioner(target: Target, tmp_path: Path) -> Path:
    """A jar of one class, which only ``-libjars`` brings to the tasks."""
    source = tmp_path / "lib" / "P.java"
    source.parent.mkdir()
    source.write_text(PARTITIONER)
    classes, jar = tmp_path / "classes", tmp_path / "p.jar"
    (compiler,) = jars("ecj").glob("ecj-*.jar")
    java = str(java_home() / "bin" / "java")
    options = ["-17", "-cp", ":".join(map(str, target.jars.glob("*.jar"))), "-d", str(classes)]
    subprocess.run([java, "-jar", str(compiler), *options, str(source)], check=True, timeout=COMPILE_TIMEOUT_S)
    subprocess.run(
        ["python3", "-m", "zipfile", "-c", str(jar), str(classes / "lib")], check=True, timeout=COMPILE_TIMEOUT_S
    )
    return jar


def counted(target: Target, folder: str) -> dict[str, dict[str, int]]:
    """The words of each part of an output that has some."""
    found = {}
    for name in target.hadoop.hdfs.names(folder):
        lines = target.hadoop.hdfs.read(f"{folder}/{name}").decode().splitlines()
        if lines:
            found[name] = {word.strip('"'): int(count) for word, count in (line.split("\t") for line in lines)}
    return found


def test_streaming_finds_the_jars_and_runs_the_files_that_it_ships(
    target: Target, streaming_jar: Path, partitioner: Path, tmp_path: Path
) -> None:
    folder = target.folder()
    target.hadoop.hdfs.put(f"{folder}/in/text", "\n".join(WORDS).encode() + b"\n", user="hdfs")
    for name, text in (("mapper.sh", MAPPER), ("reducer.sh", REDUCER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644)
    shipped = ["-libjars", partitioner, "-files", f"{tmp_path}/mapper.sh,{tmp_path}/reducer.sh"]
    programs = ["-mapper", "./mapper.sh", "-reducer", "./reducer.sh", "-partitioner", "lib.P"]
    paths = ["-input", f"{folder}/in", "-output", f"{folder}/out"]
    reduces = settings({"mapreduce.job.reduces": 2})
    words = [*reduces, *shipped, *paths, *programs]
    result = target.java(STREAMING, *words, more_classes=f"{streaming_jar}:{partitioner}").result(JOB_TIMEOUT_S)
    assert result.returncode == 0, result.text[-6000:]
    assert counted(target, f"{folder}/out") == {"part-00001": COUNTED}


def test_mrjob_runs_on_hadoop(target: Target, streaming_jar: Path, tmp_path: Path) -> None:
    folder = target.folder()
    hadoop, job, text = tmp_path / "hadoop", tmp_path / "count.py", tmp_path / "text"
    hadoop.write_text(HADOOP)
    hadoop.chmod(0o755)
    job.write_text(MRJOB)
    text.write_text("\n".join(WORDS) + "\n")
    command = [
        str(clients_venv() / "bin" / "python"),
        str(job),
        "-r",
        "hadoop",
        "--no-conf",
        "--hadoop-bin",
        str(hadoop),
    ]
    command += ["--hadoop-streaming-jar", str(streaming_jar), "--hadoop-tmp-dir", f"{folder}/tmp"]
    command += ["--output-dir", f"{folder}/out", str(text)]
    environment = {**target.environment(), "CLIENT_JARS": str(target.jars)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    parts = counted(target, f"{folder}/out")
    assert {word: count for part in parts.values() for word, count in part.items()} == COUNTED
