"""Whole jobs by REST alone: a real Spark in cluster mode and a real MapReduce job, in JSON and in XML.

No client of Spark or Hadoop runs here: the files are staged by the test, the bodies are those that curl sends, and what
becomes of the jobs is asked of the web side.
"""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from tests.conformance import mapreduce_by_rest, spark_by_rest
from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.expected import points_inside
from tests.conformance.rest_words import new_id, post
from tests.conformance.spark_submit import Spark

SIDE = 300
JOB_TIMEOUT_S = 600  # some JVMs, one after the other, on a machine that may be busy
ROOT = "application-submission-context"


def as_xml(name: str, value: object) -> str:
    """The document that JAXB reads as the JSON body."""
    if isinstance(value, list):
        return "".join(as_xml(name, item) for item in value)
    inner = "".join(as_xml(*item) for item in value.items()) if isinstance(value, Mapping) else escape(str(value))
    return f"<{name}>{inner}</{name}>"


def post_xml(cluster: Cluster, body: Mapping[str, Any]) -> None:
    status, text = cluster.curl("/apps", "--header", "Content-Type: application/xml", "--data", as_xml(ROOT, body))
    assert (status, text) == (202, "")


def followed(cluster: Cluster, application_id: str) -> dict[str, Any]:
    """The application once it is over; its one attempt and its count in the statistics agree with it."""
    app = cluster.ended(application_id)
    assert (app["state"], app["finalStatus"]) == ("FINISHED", "SUCCEEDED"), app["diagnostics"]
    over = {"state": "FINISHED"}  # the application itself says so already while it is FINISHING here, as in YARN
    wait_for("its end", lambda: cluster.curl_json(f"/apps/{application_id}/state") == over)
    (attempt,) = cluster.curl_json(f"/apps/{application_id}/appattempts")["appAttempts"]["appAttempt"]
    assert (attempt["appAttemptState"], attempt["nodeId"] != "") == ("FINISHED", True)
    (count,) = cluster.rest(f"/appstatistics?states=FINISHED&applicationTypes={app['applicationType']}")["appStatInfo"][
        "statItem"
    ]
    assert count["count"] >= 1
    return app


def test_spark_runs_in_cluster_mode(spark: Spark, shared_dir: pathlib.Path) -> None:
    """Asked for in JSON."""
    cluster, report = spark.cluster, shared_dir / "pi.json"
    assert isinstance(cluster, Cluster)
    application_id = new_id(cluster)
    post(cluster, spark_by_rest.body(spark, application_id, shared_dir, "pi.py", [str(SIDE), "2", str(report)]))
    app = followed(cluster, application_id)
    assert (app["name"], app["applicationType"], app["priority"]) == ("rest-pi.py", "SPARK", -1)
    assert json.loads(report.read_text())["inside"] == points_inside(SIDE)


def test_mapreduce_counts_words(cluster: Cluster, shared_dir: pathlib.Path) -> None:
    """Asked for in XML (test_browser asks for it in JSON)."""
    words = Counter({f"word{number}": number + 1 for number in range(40)})
    texts = [shared_dir / "first.txt", shared_dir / "second.txt"]
    for text in texts:
        text.write_text("".join(f"{word}\n" for word in words.elements()))
    application_id = new_id(cluster)
    post_xml(cluster, mapreduce_by_rest.body(cluster, application_id, shared_dir, texts))
    app = followed(cluster, application_id)
    assert (app["applicationType"], app["applicationTags"]) == ("MAPREDUCE", "by-rest")
    assert mapreduce_by_rest.counted(shared_dir) == {word: 2 * count for word, count in words.items()}
