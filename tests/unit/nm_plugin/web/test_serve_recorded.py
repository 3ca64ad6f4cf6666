"""The node's REST answers against those recorded from a real Hadoop 3.5.0 NodeManager.

A running container's answers have the same keys, types and nesting, as JSON and as XML; refusals are the same to the
letter.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest
import pytest_asyncio

from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import APPLICATION, FakeUsers, container_id, context_of, running_rig

GOLDEN = pathlib.Path(__file__).parents[3] / "conformance" / "golden" / "rest"
CONTAINER = container_id(2)
TOGETHER = pytest.mark.asyncio(loop_scope="module")
SHAPES = ("info", "root", "apps", "app", "containers", "container", "container-logs")
REFUSALS = (
    *("app-bad-id", "app-unknown", "apps-bad-state", "container-unknown", "auxiliaryservices"),
    *("auxiliaryservices.xml", "containerlogs-missing"),
)
HEADERS = ("cache-control", "x-content-type-options", "x-frame-options", "content-type")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    module_path: pathlib.Path, users: FakeUsers, module_tracker: FakeTracker
) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent that the tests only look at."""
    async with running_rig(module_path, users, module_tracker) as rig:
        await rig.pod(CONTAINER)
        await rig.start(CONTAINER, context_of("echo hello 1><LOG_DIR>/stdout; sleep 300"))
        await rig.tracker.until_running(CONTAINER)
        base = f"http://127.0.0.1:{rig.running.http_port}"
        async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=60) as client:
            yield client


@TOGETHER
async def test_answers_have_the_recorded_shapes(web: httpx2.AsyncClient) -> None:
    for name in SHAPES:
        answer, headers, body = await asked(web, f"nm-{name}")
        assert (name, answer.status_code, shape(answer.json())) == (name, 200, shape(json.loads(body)))
        assert (name, headers_of(answer)) == (name, headers)


@TOGETHER
async def test_xml_has_the_recorded_elements(web: httpx2.AsyncClient) -> None:
    for name in (name for name in SHAPES if name != "root"):
        answer, headers, body = await asked(web, f"nm-{name}.xml")
        assert answer.text.partition("?>")[0] == body.partition("?>")[0]
        assert elements(ElementTree.fromstring(answer.text)) == elements(ElementTree.fromstring(body))
        assert (name, headers_of(answer)) == (name, headers)


@TOGETHER
async def test_refusals_are_the_recorded_ones(web: httpx2.AsyncClient) -> None:
    for name in REFUSALS:
        answer, headers, body = await asked(web, f"nm-{name}")
        assert (name, answer.text) == (name, body)
        assert (name, headers_of(answer)) == (name, headers)


async def asked(web: httpx2.AsyncClient, name: str) -> tuple[httpx2.Response, dict[str, str], str]:
    """The recorded call made again of our container; its answer, and the recorded headers and body."""
    recorded = (GOLDEN / f"{name}.txt").read_text()
    head, _, body = recorded.partition("\n<\n")
    request, _, answered = head.partition("\n< ")
    lines = request.splitlines()
    path = lines[0].removeprefix("> GET ")
    path = path.replace("container_1795247895247_0047_01_000002", str(CONTAINER))
    path = path.replace("application_1795247895247_0047", str(APPLICATION))
    sent = dict(line.removeprefix("> ").split(": ", 1) for line in lines[1:] if ": " in line)
    status, *fields = answered.splitlines()
    answer = await web.get(path, headers=sent)
    assert (name, answer.status_code) == (name, int(status.split()[0]))
    kept = dict(field.removeprefix("< ").split(": ", 1) for field in fields)
    return answer, {key.lower(): value for key, value in kept.items() if key.lower() in HEADERS}, body.strip()


def headers_of(answer: httpx2.Response) -> dict[str, str]:
    return {name: answer.headers[name] for name in HEADERS}


def shape(value: Any) -> Any:
    """Keys and types; a list is the shape of its items, which all have one."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        shapes = [shape(inner) for inner in value]
        assert all(one == shapes[0] for one in shapes)
        return shapes[:1]
    return type(value).__name__


def elements(element: ElementTree.Element, above: str = "") -> set[str]:
    path = f"{above}/{element.tag}"
    return {path}.union(*(elements(inner, path) for inner in element))
