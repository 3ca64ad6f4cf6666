"""Pages, JSON and commands show what was added for a queue's words on remote shuffle, and why something was not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.api_rows import RUNNING, api_get
from tests.support.page_figures import page_of
from tests.support.records import an_attempt
from tests.support.rest_world import RestWorld
from yodel.client import show, show_queues, spark_lines
from yodel.domain.shuffle.decision import AddedSetting, ShuffleDecision
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome
from yodel.domain.states import AttemptState

KEY = "spark.decommission.enabled"
SOURCE = "yodel.remote-shuffle.service of root.lent"
ADDED = ShuffleDecision(
    service="spark-decommission",
    queue="root.lent",
    lines=(AddedSetting("spark.decommission.enabled", "true", "executors <hand on>", SOURCE),),
)
DECIDED = "spark-decommission, from root.lent; decided, not reported by the node agent"
LEFT = ShuffleDecision(service="spark-decommission", queue="root.lent", reason="it is not a Spark application")


async def shown(world: RestWorld, decision: ShuffleDecision | None) -> tuple[Any, str]:
    await world.put(RUNNING, an_attempt(1, state=AttemptState.RUNNING, shuffle=decision))
    app = await api_get(world, f"/api/v1/applications/{RUNNING.id}")
    return app, await page_of(world, f"/cluster/app/{RUNNING.id}")


async def test_every_line_has_its_source(world: RestWorld) -> None:
    app, page = await shown(world, ADDED)
    assert app["attempt_list"][0]["shuffle"] == {
        "service": "spark-decommission",
        "queue": "root.lent",
        "status": "DECIDED",
        "left_out": [],
        "added": [
            {"key": "spark.decommission.enabled", "value": "true", "why": "executors <hand on>", "source": SOURCE}
        ],
        "left_alone_because": None,
    }
    assert 'executors &lt;hand on&gt;</td><td data-label="Set by">yodel.remote-shuffle.service of root.lent' in page
    assert show.shuffle_fact(app) == {"Remote shuffle": DECIDED}
    assert show.shuffle_rows(app) == [["spark.decommission.enabled", "true", SOURCE]]


async def test_reason_why_nothing_was_added(world: RestWorld) -> None:
    app, page = await shown(world, LEFT)
    assert app["attempt_list"][0]["shuffle"]["left_alone_because"] == "it is not a Spark application"
    assert LEFT.note in page
    assert "not added: it is not a Spark application" in show.shuffle_fact(app)["Remote shuffle"]
    assert show.shuffle_rows(app) == []


async def test_what_the_node_agent_left_out_is_no_added_setting(world: RestWorld) -> None:
    away = Cause(Reason.NO_JAR, "it is <away>")
    app, page = await shown(world, ADDED.reported(Report(ShuffleOutcome.LEFT_OUT, (LeftOut((KEY,), away),))))
    found = app["attempt_list"][0]["shuffle"]
    assert (found["status"], found["added"], found["left_alone_because"]) == ("LEFT_OUT", [], str(away))
    assert found["left_out"] == [{"key": KEY, "reason": "NO_JAR", "why": str(away)}]
    assert show.shuffle_fact(app)["Remote shuffle"].endswith(f"not added: {away}")
    assert show.shuffle_rows(app) == show.left_out_rows(app) == []
    assert "it is &lt;away&gt;" in page


async def test_single_setting_without_effect_is_shown_with_its_reason(world: RestWorld) -> None:
    more = replace(ADDED, lines=(*ADDED.lines, AddedSetting("spark.more", "1", "more", SOURCE)))
    left_out = (LeftOut((KEY,), Cause(Reason.OVERRIDDEN)), LeftOut(("spark.more",), Cause(Reason.CAN_FALL_BACK)))
    app, page = await shown(world, more.reported(Report(ShuffleOutcome.ADDED, left_out)))
    assert show.shuffle_fact(app)["Remote shuffle"].endswith("settings added")
    assert show.shuffle_rows(app) == [[KEY, "true", SOURCE]], "a default that is overridden was added"
    falls_back = "a shuffle of the application can fall back to Spark's own"
    assert show.left_out_rows(app) == [[KEY, "the application sets it itself"], ["spark.more", falls_back]]
    assert f'{KEY}</td><td data-label="Reason">the application sets it itself' in page


async def test_submission_that_uses_the_service_itself(world: RestWorld) -> None:
    app, page = await shown(world, LEFT.reported(Report(ShuffleOutcome.OWN_SETTINGS)))
    found = app["attempt_list"][0]["shuffle"]
    assert (found["status"], found["left_alone_because"]) == ("OWN_SETTINGS", None)
    assert show.shuffle_fact(app)["Remote shuffle"].endswith("used by the submission's own settings")
    assert LEFT.note not in page


async def test_nothing_is_shown_where_nothing_was_said(world: RestWorld) -> None:
    app, page = await shown(world, None)
    assert app["attempt_list"][0]["shuffle"] is None
    assert "Remote shuffle" not in page
    assert show.shuffle_fact(app) == {}
    assert show.shuffle_rows({"attempt_list": []}) == []


async def test_queue_has_its_words_and_where_they_come_from(world: RestWorld) -> None:
    words = {
        "yodel.remote-shuffle.service": "spark-decommission",
        "yodel.remote-shuffle.option.spark.storage.decommission.fallbackStorage.path": "hdfs:///s/{user}/",
    }
    body = {"properties": words}
    answer = await world.client.patch("/api/v1/queues/root?user.name=admin", json=body, headers={"If-Match": '"1"'})
    assert answer.status_code == 200, answer.text
    found = await api_get(world, "/api/v1/queues/root.default")
    assert {(w["property"], w["value"], w["queue"]) for w in found["shuffle"]} == {
        (name, value, "root") for name, value in words.items()
    }
    assert "service=spark-decommission (root)" in show_queues.queue_facts(found, ())["Remote shuffle"]
    lines = spark_lines.lines_of(found, "alice")
    assert "spark.decommission.enabled true" in lines
    assert "spark.storage.decommission.fallbackStorage.path hdfs:///s/alice/" in lines
    nameless = spark_lines.lines_of(found, "al ice")
    assert "spark.decommission.enabled true" in nameless
    assert not [line for line in nameless if "fallbackStorage" in line]


async def test_hostile_word_is_refused_in_the_apis_form(world: RestWorld) -> None:
    for value in ("$(id)", "a'b", "a\nb", "{{PWD}}", "../x"):
        words = {
            "yodel.remote-shuffle.service": "spark-decommission",
            "yodel.remote-shuffle.option.spark.executor.decommission.killInterval": value,
        }
        body = {"properties": words}
        answer = await world.client.patch("/api/v1/queues/root?user.name=admin", json=body, headers={"If-Match": '"1"'})
        assert answer.status_code == 400, answer.text
        assert "spark.executor.decommission.killInterval" in answer.json()["detail"]
    found = await api_get(world, "/api/v1/queues/root")
    assert found["shuffle"] == []


async def test_queue_without_words_has_a_comment_alone(world: RestWorld) -> None:
    found = await api_get(world, "/api/v1/queues/root.default")
    assert found["shuffle"] == []
    assert spark_lines.lines_of(found, "alice") == ["# Queue root.default has no shuffle settings."]
    assert show_queues.queue_facts(found, ())["Remote shuffle"] == ""


async def test_queue_tells_whether_its_endpoints_are_there(world: RestWorld) -> None:
    words = {"service": "celeborn", "endpoints": "m-1:9097,m-2:9097", "jar": "hdfs:///x.jar", "jar-sha256": "0f" * 32}
    body = {"properties": {f"yodel.remote-shuffle.{name}": text for name, text in words.items()}}
    answer = await world.client.patch("/api/v1/queues/root?user.name=admin", json=body, headers={"If-Match": '"1"'})
    assert answer.status_code == 200, answer.text
    world.rm.state.endpoints.tell(("m-2", 9097), has_answered=True)
    found = await api_get(world, "/api/v1/queues/root.default")
    assert found["shuffle_endpoints"] == [
        {"address": "m-1:9097", "state": "unknown"},
        {"address": "m-2:9097", "state": "up"},
    ]
    assert show_queues.queue_facts(found, ())["Endpoints"] == "m-1:9097 unknown, m-2:9097 up"
    lines = spark_lines.lines_of(found, "alice")
    assert "spark.celeborn.master.endpoints m-1:9097,m-2:9097" in lines
    assert "# spark.driver.extraClassPath /x.jar" in lines
    warned = [line for line in lines if "--onto FILE keeps what FILE has there" in line]
    assert len(warned) == 2, "of the options and of the class path"
    assert [line for line in spark_lines.lines_of(found, "alice", {}) if "--onto" in line] == []
