"""The parameters of ``GET /apps``."""

from __future__ import annotations

import pytest

from tests.support.records import a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, FinalApplicationStatus

S = ApplicationState


@pytest.fixture
async def three(world: RestWorld) -> RestWorld:
    await world.put(
        an_application(1, submission=a_submission(application_type="SPARK"), submitted_ms=100, current_attempt=1),
        an_application(
            2,
            state=S.FINISHED,
            final_status=FinalApplicationStatus.SUCCEEDED,
            submission=a_submission(user="bob", name="wc", tags=("blue", "night"), application_type="MapReduce"),
            submitted_ms=200,
            finished_ms=250,
        ),
        an_application(
            3,
            state=S.FAILED,
            final_status=FinalApplicationStatus.FAILED,
            submission=a_submission(queue="nosuch"),
            submitted_ms=300,
            finished_ms=301,
        ),
        an_attempt(1),
    )
    return world


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [3, 2, 1]),
        ("state=finished", [2]),
        ("states=FAILED,accepted", [3, 1]),
        ("states=FAILED&states=ACCEPTED&state=", [3, 1]),
        ("finalStatus=SUCCEEDED", [2]),
        ("user=bob", [2]),
        ("queue=default", [2, 1]),
        ("queue=root.default", [2, 1]),
        ("queue=root", [1]),
        ("limit=1", [3]),
        ("limit=1&states=ACCEPTED", [1]),
        ("startedTimeBegin=200", [3, 2]),
        ("startedTimeBegin=100&startedTimeEnd=200", [2, 1]),
        ("finishedTimeBegin=1&finishedTimeEnd=300", [2]),
        ("applicationTypes=spark,mapreduce", [2, 1]),
        ("applicationTags=NIGHT&applicationTags=day", [2]),
        ("name=wc", [2]),
        ("name=w", []),
        ("name=", []),
        ("user=bob&user=alice", [2]),
        ("unknownParameter=7", [3, 2, 1]),
    ],
)
async def test_filter_finds_newest_first(three: RestWorld, query: str, expected: list[int]) -> None:
    apps = (await three.json(f"/apps?{query}"))["apps"]
    assert [int(app["id"].rsplit("_", 1)[1]) for app in apps.get("app", [])] == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", "limit value must be a number!"),
        ("limit=0", "limit value must be greater then 0"),
        ("limit=-1", "limit value must be greater then 0"),
        ("startedTimeBegin=-1", "startedTimeBegin must be greater than 0"),
        ("startedTimeEnd=-1", "startedTimeEnd must be greater than 0"),
        ("startedTimeBegin=2&startedTimeEnd=1", "startedTimeEnd must be greater than startTimeBegin"),
        ("finishedTimeBegin=-1", "finishTimeBegin must be greater than 0"),
        ("finishedTimeBegin=2&finishedTimeEnd=1", "finishTimeEnd must be greater than finishTimeBegin"),
        ("limit=9223372036854775808", "limit value must be a number!"),
        ("startedTimeBegin=now", "startedTimeBegin value must be a number!"),
        ("finishedTimeEnd=99999999999999999999", "finishedTimeEnd value must be a number!"),
        ("limit=x&queue=nope&startedTimeEnd=y", "startedTimeEnd value must be a number!"),
        ("limit=x&queue=nope&states=SLEEPING", "Unknown queue: nope"),
        (
            "states=SLEEPING",
            "Invalid application-state SLEEPING specified. It should be one of "
            "[NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED]",
        ),
        (
            "finalStatus=succeeded",
            "No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.succeeded",
        ),
        ("queue=nope", "Unknown queue: nope"),
        (
            "deSelects=foo",
            "Invalid deSelects string foo specified. It should be one of [resourceRequests, timeouts, "
            "appNodeLabelExpression, amNodeLabelExpression, resourceInfo]",
        ),
        ("states=" + "NEW," * 1001, "Too many values of states: 1001; expected at most 1000"),
    ],
)
async def test_bad_parameter_is_refused_in_hadoops_words(three: RestWorld, query: str, message: str) -> None:
    answer = await three.get(f"/apps?{query}")
    assert answer.status_code == 400
    assert answer.json()["RemoteException"]["message"] == message


@pytest.mark.parametrize("query", ["finalStatus=succeeded", "deSelects=foo", "finalStatus=KILLED&deSelects=foo"])
async def test_what_is_asked_of_each_application_is_not_noticed_without_one(three: RestWorld, query: str) -> None:
    assert await three.json(f"/apps?{query}&user=nobody") == {"apps": {}}


async def test_deselected_parts_are_left_out_in_any_case(three: RestWorld) -> None:
    path = "/apps?states=ACCEPTED&deSelects="
    full = (await three.json(path))["apps"]["app"][0]
    names = {"timeouts", "amNodeLabelExpression", "resourceInfo"}
    less = await three.json(f"{path}TIMEOUTS,appnodelabelexpression&deSelects=amNodeLabelExpression,resourceInfo")
    assert set(full) - set(less["apps"]["app"][0]) == names
