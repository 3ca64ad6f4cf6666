"""The page of one application tells why it failed on top, and which pod is what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.page_figures import page_of
from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.container import Container
from yodel.domain.states import (
    ApplicationState,
    ContainerExitStatus,
    ContainerState,
    ContainerType,
    FinalApplicationStatus,
    NodeState,
)

NODE = a_node(state=NodeState.RUNNING, http_port=8042)
FAILED = an_application(
    1,
    state=ApplicationState.FAILED,
    final_status=FinalApplicationStatus.FAILED,
    current_attempt=2,
    finished_ms=9000,
    diagnostics="the application's words\n\n",
    submission=a_submission(name="load"),
)


def ended(number: int, exit_status: int, finished_ms: int, diagnostics: str = "", attempt: int = 1) -> Container:
    return a_container(
        1,
        attempt,
        number,
        type=ContainerType.APPLICATION_MASTER if number == 1 else ContainerType.TASK,
        state=ContainerState.COMPLETED,
        node_id=NODE.id,
        exit_status=exit_status,
        finished_ms=finished_ms,
        diagnostics=diagnostics,
    )


async def failed_page(world: RestWorld, containers: Sequence[Container], app: object = FAILED) -> str:
    await world.put(NODE, app, an_attempt(1), an_attempt(1, 2), *containers)  # type: ignore[arg-type]
    return await page_of(world, f"/cluster/app/{FAILED.id}")


def why(page: str) -> str:
    _, _, rest = page.partition("<h2>Why it failed</h2>")
    return rest.partition("<h2>")[0]


@pytest.mark.parametrize(
    ("containers", "shown"),
    [
        ([ended(1, 10, 5000), ended(2, 137, 4000)], 2),
        ([ended(1, 10, 5000), ended(2, 137, 6000), ended(1, 1, 3000, attempt=2)], 1),
        ([ended(2, ContainerExitStatus.PREEMPTED, 1000), ended(3, 0, 1000), ended(4, 1, 5000)], 4),
        ([ended(2, ContainerExitStatus.TERMINATED, 1000), ended(3, 1, 5000)], 3),
        ([ended(2, ContainerExitStatus.TERMINATED, 1000)], 2),
    ],
)
async def test_first_failed_container_explains_a_failure(
    world: RestWorld, containers: list[Container], shown: int
) -> None:
    found = why(await failed_page(world, containers))
    (link,) = re.findall(r'The first container that failed is <a href="/cluster/container/(container_[^"]+)"', found)
    assert link.endswith(f"_{shown:06d}")
    assert ("(ApplicationMaster)" in found) is (shown == 1)


@pytest.mark.parametrize(
    ("containers", "last"),
    [
        ([ended(2, 1, 5000, "Traceback\n  File\nMemoryError: <b>\n\n")], "MemoryError: &lt;b&gt;"),
        (
            [ended(2, 1, 5000, "Last 9 bytes of prelaunch.err :\nno table\nLast 9 bytes of stderr :\n\n")],
            "no table",
        ),
        ([ended(2, 1, 5000)], "the application&#39;s words"),
        ([], "the application&#39;s words"),
    ],
)
async def test_last_line_of_a_failure_is_shown(world: RestWorld, containers: list[Container], last: str) -> None:
    assert f'<b class="strange failed">{last}</b>' in why(await failed_page(world, containers))


async def test_application_that_says_it_failed_is_explained_and_others_are_not(world: RestWorld) -> None:
    containers = [ended(2, 1, 5000)]
    unhappy = replace(FAILED, state=ApplicationState.FINISHED, diagnostics="")
    assert why(await failed_page(world, containers, unhappy))
    assert not why(
        await failed_page(world, containers, replace(unhappy, final_status=FinalApplicationStatus.SUCCEEDED))
    )


async def test_containers_are_grouped_by_attempt_with_their_pods(world: RestWorld) -> None:
    row = replace(FAILED, state=ApplicationState.RUNNING)
    master = a_container(1, 2, 1, type=ContainerType.APPLICATION_MASTER, state=ContainerState.RUNNING, node_id=NODE.id)
    page = await failed_page(world, [ended(1, 1, 3000), master], row)
    assert re.findall(r'scope="rowgroup">(Attempt \d)</th>', page) == ["Attempt 1", "Attempt 2"]
    assert re.findall(r'<a href="/cluster/container/(\S+)">container 000001</a>', page) == [
        str(an_attempt(1, number).am_container_id) for number in (1, 2)
    ]
    assert f"logs {master.pod}</code>" in page
    assert f"get pods -l yodel.io/application={row.id}</pre>" in page
    assert page.count("ApplicationMaster</small>") == 2


async def test_master_that_was_never_started_is_no_link(world: RestWorld) -> None:
    page = await failed_page(world, [], replace(FAILED, state=ApplicationState.ACCEPTED))
    assert "container 000001</a>" not in page
