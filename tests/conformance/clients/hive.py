"""Hive on Tez: its own command line with its own metastore, unmodified from Maven, on the cluster's Hadoop jars."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.clients.flink import OPENS
from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import Target
from tests.conformance.clients.tez import LIBRARY, put_library
from tests.conformance.clients.tez import VERSION as TEZ_VERSION
from tests.support.hadoop_jars import jars
from tests.support.hdfs import configuration_xml

VERSION = "4.0.1"
MAIN = "org.apache.hadoop.hive.cli.CliDriver"
TIMEOUT_S = 600
COUNTS = {"mountain": 3, "valley": 2, "yodel": 5}
QUERY = """
CREATE TABLE heard (word STRING, times INT);
INSERT INTO heard VALUES ('yodel', 1), ('mountain', 3), ('valley', 2);
INSERT INTO heard VALUES ('yodel', 4);
SELECT word, SUM(times) AS total FROM heard GROUP BY word ORDER BY total DESC;
DROP TABLE heard;
"""


def grouped_and_ordered(target: Target) -> Outcome:
    """A table is made, filled by two statements, and read in the order of its sums: three graphs in one application.

    How the session ends is not compared: the client asks its ApplicationMaster to end, and kills it if that takes long.
    """
    put_library(target)
    with _home(target) as home:
        classes = f"{home}:{jars('hive')}/*:{jars('tez')}/*"
        options = (*OPENS, f"-Dderby.system.home={home}", f"-Djava.io.tmpdir={home}")
        result = target.java(MAIN, "-e", QUERY, options=options, more_classes=classes).result(TIMEOUT_S)
    if result.returncode != 0 or not result.application_id:
        return Outcome(exit_code=result.returncode, output=masked(result.text)[-3000:])
    app = target.ended(result.application_id)
    rows = [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 1]
    facts = {
        "rows": rows,
        "rows are right": rows == [[word, str(COUNTS[word])] for word in sorted(COUNTS, key=COUNTS.__getitem__)[::-1]],
        "type": app["applicationType"],
    }
    return Outcome(exit_code=result.returncode, facts=facts)


@contextmanager
def _home(target: Target) -> Iterator[Path]:
    """A configuration folder, which has the metastore's database too."""
    folder, place = Path(tempfile.mkdtemp(prefix="yodel-hive-")), target.folder()
    values: Mapping[str, str] = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{place}/warehouse",
        "hive.metastore.warehouse.external.dir": f"{place}/external",
        "hive.exec.scratchdir": f"{place}/scratch",
        "hive.exec.local.scratchdir": str(folder),
        "hive.user.install.directory": f"{place}/install",
        "hive.execution.engine": "tez",
        "hive.aux.jars.path": f"file://{_jar('commons-collections-3')}",  # Hadoop 3.5 no longer has it
        "hive.tez.container.size": "512",
        "hive.tez.java.opts": " ".join(("-Xmx384m", *OPENS)),
        "tez.am.launch.cmd-opts": " ".join(("-Xmx384m", *OPENS)),
        "tez.am.resource.memory.mb": "1024",
        "tez.lib.uris": f"{target.hadoop.default_fs}{LIBRARY}",
        "tez.use.cluster.hadoop-libs": "true",
        "tez.am.tez-ui.webservice.enable": "false",
        # The client waits for the end of its session, however long that takes, and does not have it killed.
        "tez.client.asynchronous-stop": "false",
        "tez.client.timeout-ms": str(TIMEOUT_S * 1000),
    }
    (folder / "hive-site.xml").write_text(configuration_xml(values))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _jar(name: str) -> Path:
    (found,) = jars("hive").glob(f"{name}*.jar")
    return found


SCENARIOS = (
    Scenario(
        client="Hive",
        name=f"group by and order by on Tez {TEZ_VERSION}",
        run=grouped_and_ordered,
        short=True,
        version=VERSION,
    ),
)
