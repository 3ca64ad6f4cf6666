"""The web proxy in front of a real Spark driver: its AmIpFilter lets our proxy in and sends everybody else to it."""

from __future__ import annotations

import getpass
import pathlib
import re
from collections.abc import Iterator

import httpx2
import pytest

from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import Spark

UI = {"spark.ui.enabled": "true", "spark.acls.enable": "true"}
OWNER = getpass.getuser()
ELSEWHERE = "127.0.0.9"
"""An address of this machine that is not the proxy's."""


@pytest.fixture
def browser(any_spark: Spark) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=any_spark.cluster.ready.rest_url, timeout=30, trust_env=False) as client:
        yield client


def own_address(spark: Spark, application_id: str) -> str:
    """Return where the driver itself serves its pages, as Hadoop's command line shows it."""
    shown = re.search(r"Tracking-URL : (http://\S+)", spark.yarn("application", "-status", application_id).stdout)
    assert shown is not None
    return shown[1]


def test_running_drivers_pages_are_reached_through_the_proxy_only(
    any_spark: Spark, browser: httpx2.Client, shared_dir: pathlib.Path
) -> None:
    cluster = any_spark.cluster
    with HeldJob(any_spark, shared_dir, executors=1, conf=UI) as job:
        job.working(1)
        here = f"/proxy/{job.application_id}"
        assert cluster.application(job.application_id)["trackingUrl"] == f"{cluster.ready.rest_url}{here}/"

        page = browser.get(f"{here}/?user.name={OWNER}", follow_redirects=True)
        assert (page.status_code, page.url.path) == (200, f"{here}/jobs/")
        assert "Spark Jobs" in page.text
        links = re.findall(r'(?:href|src)="(/[^"]+\.(?:css|js))', page.text)
        assert links
        assert all(link.startswith(f"{here}/static/") for link in links)
        assert {browser.get(link).status_code for link in links} == {200}
        (told,) = browser.get(f"{here}/api/v1/applications").json()
        assert told["id"] == job.application_id

        known = browser.get(f"{here}/jobs/?user.name=mallory")
        assert known.status_code == 200  # the signed cookie is believed, not a name beside it
        browser.cookies.clear()
        stranger = browser.get(f"{here}/jobs/?user.name=mallory")
        assert stranger.status_code == 403  # by Spark's own rules: it was told who asks
        browser.cookies.clear()

        with httpx2.Client(transport=httpx2.HTTPTransport(local_address=ELSEWHERE)) as other:
            direct = other.get(f"{own_address(any_spark, job.application_id)}/jobs/?a=1")
        bounced = f"{cluster.ready.rest_url}/proxy/redirect/{job.application_id}/jobs/?a=1"
        assert (direct.status_code, direct.headers["location"]) == (302, bounced)
        assert "Spark Jobs" in browser.get(f"{bounced}&user.name={OWNER}").text

        job.release()
        assert job.result().returncode == 0
    ended = browser.get(f"{here}/jobs/")
    assert (ended.status_code, ended.headers["location"]) == (302, f"/cluster/app/{job.application_id}")
    assert browser.get(ended.headers["location"]).status_code == 200
