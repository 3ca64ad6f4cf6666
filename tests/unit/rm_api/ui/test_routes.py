"""The pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from markupsafe import escape

from tests.support.page_figures import page_of
from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.past import remembered
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.ports.store import Commit
from yodel.rm_api.ui import applications as pages

EVIL = "<script>alert('x')</script>"
ROW = an_application(
    1,
    state=ApplicationState.FINISHED,
    submission=a_submission(name=EVIL, user=EVIL, tags=(EVIL,), application_type=EVIL),
    diagnostics=f"reason {EVIL}",
    current_attempt=1,
    finished_ms=5,
)


async def test_root_leads_to_the_cluster_page(world: RestWorld) -> None:
    answer = await world.client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/cluster")
    assert (await world.client.get("/cluster")).status_code == 200


async def test_everything_on_a_page_is_escaped(world: RestWorld) -> None:
    attempt = an_attempt(1, state=AttemptState.FINISHED, tracking_url="javascript:alert(1)", diagnostics=EVIL)
    await world.put(ROW, attempt)
    for path in ("/cluster", f"/cluster/app/{ROW.id}"):
        answer = await world.client.get(path)
        assert answer.status_code == 200
        assert "<script>" not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert 'href="javascript' not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_application_page_shows_reason_and_attempts(world: RestWorld) -> None:
    await world.put(ROW, an_attempt(1))
    text = (await world.client.get(f"/cluster/app/{ROW.id}")).text
    assert "reason" in text
    assert str(an_attempt(1).id) in text


@pytest.mark.parametrize(
    ("state", "tracking_url", "label"),
    [
        (ApplicationState.RUNNING, "node-1:4040", "ApplicationMaster"),
        (ApplicationState.FINISHED, "history:18080/history/application_1_0001/1", "History"),
        (ApplicationState.FINISHED, "http://history:19888/job_1", "History"),
        (ApplicationState.FINISHED, "N/A", ""),
        (ApplicationState.FINISHED, "", ""),
        (ApplicationState.KILLED, "http://node-1:4040", ""),
    ],
)
async def test_pages_of_an_application_are_a_link_through_the_proxy(
    world: RestWorld, state: ApplicationState, tracking_url: str, label: str
) -> None:
    """Spark tells the address of its history without a scheme."""
    await world.put(replace(ROW, state=state, current_attempt=1), an_attempt(1, tracking_url=tracking_url))
    page = (await world.client.get(f"/cluster/app/{ROW.id}")).text
    link = f'<a href="/proxy/{ROW.id}/" rel="noreferrer">{label}</a>'
    assert (link in page) is bool(label)
    assert ("<dt>Tracking</dt>" in page) is bool(label)
    if label == "History":
        answer = await world.client.get(f"/proxy/{ROW.id}/")
        assert answer.headers["location"] == f"http://{tracking_url.removeprefix('http://')}"


STRANGER, OWNER = "?user.name=mallory", "?user.name=alice"


@pytest.fixture
async def guarded() -> AsyncIterator[RestWorld]:
    """Serve what alice has run, where others may not see it."""
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as world:
        node = a_node(state=NodeState.RUNNING, http_port=8042)
        row = replace(ROW, submission=a_submission(user="alice"), submitted_ms=1, finished_ms=60_000)
        await world.put(node, row, an_attempt(1), a_container(1, node_id=node.id, created_ms=30_000))
        yield world


async def shown(world: RestWorld, path: str) -> tuple[int, str]:
    world.client.cookies.clear()
    answer = await world.client.get(path)
    return answer.status_code, answer.text


async def test_stranger_sees_that_an_application_exists_and_no_more(guarded: RestWorld) -> None:
    path = f"/cluster/app/{ROW.id}"
    hidden = ("reason", "1970-01-01", "GiB", str(an_attempt(1).id))
    status, strangers = await shown(guarded, path + STRANGER)
    assert (status, [word for word in hidden if word in strangers]) == (200, [])
    assert "FINISHED" in strangers
    _, owners = await shown(guarded, path + OWNER)
    assert [word for word in hidden if word not in owners] == []


@pytest.mark.parametrize("path", ["/cluster", "/cluster/apps"])
async def test_stranger_sees_no_times_in_the_list(guarded: RestWorld, path: str) -> None:
    strangers, owners = [(await shown(guarded, path + who))[1] for who in (STRANGER, OWNER)]
    assert (str(ROW.id) in strangers, "1970-01-01" in strangers) == (True, False)
    assert (str(ROW.id) in owners, "1970-01-01" in owners) == (True, True)


async def test_stranger_is_refused_a_container(guarded: RestWorld) -> None:
    path = f"/cluster/container/{a_container(1).id}"
    status, strangers = await shown(guarded, path + STRANGER)
    assert (status, "node-1" in strangers, "1970-01-01" in strangers) == (403, False, False)
    assert f"User mallory does not have privilege to see this application {ROW.id}" in strangers
    status, owners = await shown(guarded, path + OWNER)
    assert (status, "http://node-1:8042/node/containerlogs/" in owners) == (200, True)


async def test_pages_of_what_is_not_there(world: RestWorld) -> None:
    assert (await world.client.get("/cluster/app/application_1_0001")).status_code == 404
    assert (await world.client.get("/cluster/app/nonsense")).status_code == 400
    assert (await world.client.get("/cluster/node/node-9:1")).status_code == 404
    assert (await world.client.get("/cluster/node/nonsense")).status_code == 400


async def test_state_narrows_the_list(world: RestWorld) -> None:
    await world.put(ROW)
    finished = await world.client.get("/cluster/apps/FINISHED")
    running = await world.client.get("/cluster/apps/running,ACCEPTED")
    assert (str(ROW.id) in finished.text, str(ROW.id) in running.text) == (True, False)
    assert (await world.client.get("/cluster/apps/NOPE")).status_code == 404


async def test_nodes_are_listed(world: RestWorld) -> None:
    await world.put(a_node(state=NodeState.RUNNING, http_port=8042, health_report=EVIL))
    for path, link in (
        ("/cluster/nodes", "/cluster/node/node-1:8041"),
        ("/cluster/node/node-1:8041", "http://node-1:8042"),
    ):
        text = (await world.client.get(path)).text
        assert (f'href="{link}"' in text, "RUNNING" in text, "<script>" in text) == (True, True, False)


async def test_failed_container_has_its_reason_in_the_list(world: RestWorld) -> None:
    node = a_node(state=NodeState.RUNNING, http_port=8042)
    ended = {"state": ContainerState.COMPLETED, "node_id": node.id, "diagnostics": f"out of memory {EVIL}"}
    failed, good = (
        a_container(1, container=2, exit_status=137, **ended),
        a_container(1, container=3, exit_status=0, **ended),
    )
    await world.put(node, ROW, an_attempt(1), failed, good)
    page = await page_of(world, f"/cluster/app/{ROW.id}")
    assert re.findall(r'data-label="Exit status">(\d+) ?(.*?)</td>', page) == [
        ("137", f'<small class="quiet strange">out of memory {escape(EVIL)}</small>'),
        ("0", ""),
    ]


async def test_attempt_leads_to_its_application(world: RestWorld) -> None:
    answer = await world.client.get(f"/cluster/appattempt/{an_attempt(1).id}")
    assert (answer.status_code, answer.headers["location"]) == (302, f"/cluster/app/{ROW.id}")
    assert (await world.client.get("/cluster/appattempt/nonsense")).status_code == 400


async def test_container_shows_where_its_logs_are(world: RestWorld) -> None:
    node = a_node(state=NodeState.RUNNING, http_port=8042)
    container = a_container(1, node_id=node.id, created_ms=5)
    await world.put(node, ROW, an_attempt(1), container)
    text = (await world.client.get(f"/cluster/container/{container.id}")).text
    assert f"http://node-1:8042/node/containerlogs/{container.id}/" in text
    assert (await world.client.get("/cluster/container/container_1_0001_01_000009")).status_code == 404
    assert (await world.client.get("/cluster/container/nonsense")).status_code == 400


async def test_active_rm_says_so(world: RestWorld) -> None:
    answer = await world.client.get("/isActive")
    assert (answer.status_code, answer.text, answer.headers["connection"]) == (200, "I am Active!", "close")


async def test_probes_are_told_that_it_lives_and_when_it_is_ready(world: RestWorld) -> None:
    assert (await world.client.get("/health/live")).text == "OK"
    assert (await world.client.get("/health/ready")).status_code == 200
    world.app.state.hadoop.process.not_ready = lambda: "applications are being recovered"
    answer = await world.client.get("/health/ready")
    assert (answer.status_code, answer.text) == (503, "applications are being recovered")


async def test_prometheus_speaks_hadoops_names(world: RestWorld) -> None:
    await world.put(ROW)
    answer = await world.client.get("/prom")
    tags = 'context="yarn",hostname="rm-host"'
    assert f'queue_metrics_apps_completed{{{tags},queue="root"}} 1.0' in answer.text
    assert f"cluster_metrics_num_active_n_ms{{{tags}}} 0.0" in answer.text


async def test_containers_that_were_forgotten_stand_on_the_pages_one_page_after_another(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "CONTAINERS_LISTED_MAX", 2)
    node = a_node(state=NodeState.RUNNING, http_port=8042)
    rows = [a_container(1, container=n, state=ContainerState.COMPLETED, node_id=node.id) for n in range(2, 7)]
    await world.put(node, ROW, an_attempt(1), rows[1])
    await world.store.commit(Commit(ended_containers=[remembered(row) for row in (rows[0], *rows[2:])]))

    path: str | None = f"/cluster/app/{ROW.id}"
    listed = []
    while path is not None:
        answer = await world.client.get(path)
        listed.append(re.findall(r'<td><a href="/cluster/container/([^"]+)"', answer.text))
        more = re.search(r'href="(/cluster/app/[^"]+[?]containers=[^"]+)"', answer.text)
        path = more[1] if more is not None else None
    assert listed == [[str(row.id) for row in rows[start : start + 2]] for start in (0, 2, 4)]

    answer = await world.client.get(f"/cluster/container/{rows[3].id}")
    assert (answer.status_code, f"containerlogs/{rows[3].id}/" in answer.text) == (200, True)
    for absent in (1, 7):  # before and behind those that are kept
        assert (await world.client.get(f"/cluster/container/{a_container(1, container=absent).id}")).status_code == 404
    assert (await world.client.get(f"/cluster/app/{ROW.id}?containers=made-up")).status_code == 400
