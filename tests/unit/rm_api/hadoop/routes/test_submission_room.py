"""A submission that is too large, over REST: 400 in the words of the service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.rest_world import RestWorld, rest_world
from yodel.services.writer.submission_room import SubmissionRoom


def body(application_id: str, entries: int = 1, size: int = 1) -> dict[str, Any]:
    environment = {"entry": [{"key": f"k{n}", "value": ""} for n in range(entries)]}
    spec = {"commands": {"command": "x" * size}, "environment": environment}
    return {"application-id": application_id, "application-name": "a", "am-container-spec": spec}


async def submitted(world: RestWorld, **changes: Any) -> Any:
    content = body(await world.new_id(), **changes)
    return await world.post("/apps", content, params={"user.name": "alice"})


@pytest.mark.parametrize(
    ("changes", "setting"), [({"size": 1_000_000}, "submission_mib_max"), ({"entries": 10_001}, "submission_ent")]
)
async def test_too_large_a_submission_is_400_and_names_the_setting(changes: dict[str, int], setting: str) -> None:
    async with rest_world() as world:
        room = SubmissionRoom(bytes_max=1_000_000)  # the greatest body is no larger than the greatest submission
        world.rm.submission._limits = replace(world.rm.submission._limits, room=room)

        answer = await submitted(world, **changes)

        assert answer.status_code == 400
        assert setting in answer.json()["RemoteException"]["message"]
        assert world.rm.state.applications == {}


async def test_a_user_who_holds_too_much_is_told_to_come_again() -> None:
    async with rest_world() as world:
        large = {"size": 4 * 1024 * 1024 - 1_000}
        for _ in range(16):
            assert (await submitted(world, **large)).status_code == 202

        answer = await submitted(world, **large)

        assert answer.status_code == 400
        assert "user_submissions_mib_max" in answer.json()["RemoteException"]["message"]
        assert len(world.rm.state.applications) == 16
