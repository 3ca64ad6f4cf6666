"""A MapReduce job as a REST submission: what Hadoop's job client prepares, written out field by field.

The shapes (local resources, environment, command, the credential of the shuffle) are those that the job client of
Hadoop 3.5.0 sent to a real ResourceManager; the files of the splits follow JobSplitWriter.  The job counts words with
classes of Hadoop's own libraries, so it has no jar of its own.
"""

from __future__ import annotations

import base64
import getpass
import pathlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from tests.conformance.cluster import Cluster
from tests.support.hadoop_jars import jars

LIBRARY = "org.apache.hadoop.mapreduce.lib."
SPLIT = f"{LIBRARY}input.FileSplit"
MASTER = "org.apache.hadoop.mapreduce.v2.app.MRAppMaster"
SHUFFLE_SECRET = "MapReduceShuffleToken"  # TokenCache.SHUFFLE_TOKEN
AM_FILTER = "org.apache.hadoop.yarn.server.webproxy.amfilter.AmFilterInitializer"
META_SPLIT_VERSION = 1  # JobSplit.META_SPLIT_VERSION
MEMORY_MIB = 512


def body(cluster: Cluster, application_id: str, folder: pathlib.Path, texts: Sequence[pathlib.Path]) -> dict[str, Any]:
    """The submission of a word count of ``texts``, one map each, into ``folder/out``; its files are staged below."""
    staging = folder / "staging"
    job_id = application_id.replace("application_", "job_")
    job_dir = staging / getpass.getuser() / ".staging" / job_id
    job_dir.mkdir(parents=True)
    _stage(cluster, job_dir, staging, folder / "out", texts)
    spec = {
        "local-resources": {
            "entry": [
                _resource("job.xml", job_dir / "job.xml"),
                _resource("jobSubmitDir/job.split", job_dir / "job.split"),
                _resource("jobSubmitDir/job.splitmetainfo", job_dir / "job.splitmetainfo"),
            ]
        },
        "environment": {"entry": [{"key": k, "value": v} for k, v in _environment(cluster).items()]},
        "commands": {"command": _command()},
        "credentials": {
            "secrets": {"entry": [{"key": SHUFFLE_SECRET, "value": base64.b64encode(b"8 bytes.").decode()}]}
        },
        "application-acls": {"entry": [{"key": "VIEW_APP", "value": " "}, {"key": "MODIFY_APP", "value": " "}]},
    }
    return {
        "application-id": application_id,
        "application-name": "rest-wordcount",
        "application-type": "MAPREDUCE",
        "application-tags": {"tag": ["by-rest"]},
        "queue": "default",
        "max-app-attempts": 1,
        "resource": {"memory": 768, "vCores": 1},
        "am-container-spec": spec,
    }


def counted(folder: pathlib.Path) -> dict[str, int]:
    """Return what the job wrote."""
    lines = [line for part in sorted((folder / "out").glob("part-r-*")) for line in part.read_text().splitlines()]
    return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}


def _stage(
    cluster: Cluster, job_dir: pathlib.Path, staging: pathlib.Path, out: pathlib.Path, texts: Sequence[pathlib.Path]
) -> None:
    splits, places = b"SPL" + struct.pack(">i", META_SPLIT_VERSION), b""
    for text in texts:
        length = text.stat().st_size
        places += _vlong(1) + _text("localhost") + _vlong(len(splits)) + _vlong(length)
        splits += _text(SPLIT) + _text(text.as_uri()) + struct.pack(">qq", 0, length)
    (job_dir / "job.split").write_bytes(splits)
    head = b"META-SPL" + _vlong(META_SPLIT_VERSION) + _vlong(len(texts))
    (job_dir / "job.splitmetainfo").write_bytes(head + places)
    (job_dir / "job.xml").write_text(_configuration(_properties(cluster, job_dir, staging, out, len(texts))))


def _properties(
    cluster: Cluster, job_dir: pathlib.Path, staging: pathlib.Path, out: pathlib.Path, maps: int
) -> dict[str, object]:
    """Return what Hadoop's defaults do not say already."""
    text = "org.apache.hadoop.io.Text"
    sizes = {
        f"mapreduce.{kind}.{name}": value
        for kind in ("map", "reduce")
        for name, value in (("memory.mb", MEMORY_MIB), ("java.opts", "-Xmx200m"))
    }
    return {
        "fs.defaultFS": "file:///",
        "hadoop.http.filter.initializers": AM_FILTER,  # JobSubmitter sets it
        "mapreduce.framework.name": "yarn",
        "mapreduce.job.name": "rest-wordcount",
        "mapreduce.job.user.name": getpass.getuser(),
        "mapreduce.job.queuename": "default",
        "mapreduce.job.dir": job_dir.as_uri(),
        "mapreduce.job.working.dir": job_dir.as_uri(),
        "yarn.app.mapreduce.am.staging-dir": staging,
        "mapreduce.job.maps": maps,
        "mapreduce.job.reduces": 1,
        "mapred.mapper.new-api": "true",
        "mapred.reducer.new-api": "true",
        "mapreduce.job.inputformat.class": f"{LIBRARY}input.TextInputFormat",
        "mapreduce.job.map.class": f"{LIBRARY}map.TokenCounterMapper",
        "mapreduce.job.reduce.class": f"{LIBRARY}reduce.IntSumReducer",
        "mapreduce.job.outputformat.class": f"{LIBRARY}output.TextOutputFormat",
        "mapreduce.job.output.key.class": text,
        "mapreduce.job.output.value.class": "org.apache.hadoop.io.IntWritable",
        "mapreduce.output.fileoutputformat.outputdir": out.as_uri(),
        "mapreduce.application.classpath": _classes(cluster),
        "yarn.application.classpath": _classes(cluster),
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.task.io.sort.mb": 32,
        **sizes,
    }


def _classes(cluster: Cluster) -> str:
    return f"{cluster.ready.hadoop_conf_dir},{jars('hadoop')}/*"


def _environment(cluster: Cluster) -> dict[str, str]:
    return {
        "CLASSPATH": ":".join(["$PWD", *_classes(cluster).split(","), "$PWD/*"]),
        "LD_LIBRARY_PATH": "$PWD:{{HADOOP_COMMON_HOME}}/lib/native",
        "SHELL": "/bin/bash",
    }


def _command() -> str:
    java = ["$JAVA_HOME/bin/java", "-Djava.io.tmpdir=$PWD/tmp", "-Dlog4j.configuration=container-log4j.properties"]
    java += ["-Dyarn.app.container.log.dir=<LOG_DIR>", "-Dyarn.app.container.log.filesize=0"]
    java += ["-Dhadoop.root.logger=INFO,CLA", "-Dhadoop.root.logfile=syslog", "-Xmx400m", MASTER]
    return " ".join([*java, "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr"])


def _resource(link: str, path: pathlib.Path) -> dict[str, Any]:
    stat = path.stat()
    where = {"resource": path.as_uri(), "type": "FILE", "visibility": "APPLICATION"}
    return {"key": link, "value": {**where, "size": stat.st_size, "timestamp": stat.st_mtime_ns // 1_000_000}}


def _configuration(values: Mapping[str, object]) -> str:
    """A Hadoop configuration file."""
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"
        for name, value in values.items()
    ]
    return '<?xml version="1.0"?>\n<configuration>\n' + "\n".join(lines) + "\n</configuration>\n"


def _text(value: str) -> bytes:
    """Text.writeString."""
    data = value.encode()
    return _vlong(len(data)) + data


def _vlong(value: int) -> bytes:
    """WritableUtils.writeVLong of a number that is not negative."""
    if value <= 127:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([256 - 112 - size]) + value.to_bytes(size, "big")
