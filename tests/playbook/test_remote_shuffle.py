"""A queue's words on remote shuffle, from the submission to the tokens of executors, whatever changes meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import Am, Options, World, complete, running
from yodel.domain.ids import ApplicationAttemptId, NodeId
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.domain.shuffle.celeborn import CELEBORN
from yodel.domain.shuffle.decision import CLIENT_MODE_CLASS, MASTER_CLASS, OPT_OUT_TAG, ShuffleDecision, Status
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.states import ApplicationState, AttemptState, ContainerExitStatus
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.hadoop_rpc.writable import Credentials, WireToken, encode_credentials
from yodel.pb_convert.reports import diagnostics_of
from yodel.ports.node_agents import AmStart
from yodel.services.scheduling.configuration import assembling

ROOT = Queue(path="root", is_leaf=False)
WORDS = (ShuffleProperty("service", "spark-decommission", "root.lent"),)
LENT = Queue(path="root.lent", capacity_percent=50.0, user_limit_factor=-1.0, shuffle=WORDS)
PLAIN = Queue(path="root.plain", capacity_percent=50.0, user_limit_factor=-1.0)
COMMAND = ("{{JAVA_HOME}}/bin/java", "-server", "-Xmx512m", MASTER_CLASS, "--class", "'a.B'", "1>", "<LOG_DIR>/stdout")
ADDED = [
    "'-Dspark.decommission.enabled=true'",
    "'-Dspark.storage.decommission.enabled=true'",
    "'-Dspark.storage.decommission.shuffleBlocks.enabled=true'",
    "'-Dspark.storage.decommission.rddBlocks.enabled=true'",
    "'-Dspark.storage.decommission.replicationReattemptInterval=1s'",
]
TOLD = [("service", "spark-decommission"), ("when-away", "spark"), ("decommission", "true")]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World(Options(queues=(ROOT, LENT, PLAIN))) as world:
        yield world


def spark(command: tuple[str, ...] = COMMAND) -> bytes:
    context = pb.ApplicationSubmissionContextProto()
    context.am_container_spec.command.extend(command)
    context.am_container_spec.environment.add(key="SPARK_USER", value="alice")
    return context.SerializeToString()


def command(start: AmStart) -> list[str]:
    return list(pb.ContainerLaunchContextProto.FromString(start.launch_context).command)


def told(identifier: bytes) -> list[tuple[str, str]]:
    message = token_pb.ContainerTokenIdentifierProto.FromString(identifier)
    return [(pair.key, pair.value) for pair in message.shuffle]


async def say(world: World, path: str, **words: str | None) -> None:
    properties = {f"yodel.remote-shuffle.{name.replace('_', '-')}": text for name, text in words.items()}
    update = ConfUpdate(updated=[QueueUpdate(path=path, properties=properties)])
    await world.run(world.rm.scheduler_conf.change("admin", assembling(update)))


async def executor_told(am: Am) -> list[tuple[str, str]]:
    (task,) = await am.obtain(1)
    granted = am.world.rm.master._granted(task)
    assert granted is not None
    return told(granted.token.identifier)


async def test_master_and_executors_of_the_queue_are_told(world: World) -> None:
    am = await world.running_am(queue="lent", context=spark())
    (start,) = world.agents.started
    at = COMMAND.index(MASTER_CLASS)
    assert command(start) == [*COMMAND[:at], *ADDED, *COMMAND[at:]]
    assert told(start.container_token.identifier) == TOLD
    assert await executor_told(am) == TOLD


async def test_queue_without_words_is_as_if_there_were_none(world: World) -> None:
    """Field by field what was sent before there was any of this."""
    am = await world.running_am(queue="plain", context=spark())
    (start,) = world.agents.started
    token = world.rm.tokens.amrm_token(am.attempt_id)
    wire = WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service=token.service)
    expected = pb.ContainerLaunchContextProto(command=COMMAND)
    expected.tokens = encode_credentials(Credentials(tokens=((b"", wire),), secrets=()))
    submitted_ms = world.application(am.application_id).submitted_ms
    for name, value in (
        ("SPARK_USER", "alice"),
        ("APPLICATION_WEB_PROXY_BASE", f"/proxy/{am.application_id}"),
        ("APP_SUBMIT_TIME_ENV", str(submitted_ms)),
    ):
        expected.environment.add(key=name, value=value)
    assert start.launch_context == expected.SerializeToString()
    message = token_pb.ContainerTokenIdentifierProto.FromString(start.container_token.identifier)
    assert message.SerializeToString() == start.container_token.identifier
    assert not message.shuffle
    assert world.attempt(am.attempt_id).shuffle is None
    assert await executor_told(am) == []


async def test_none_below_a_queue_that_says_something(world: World) -> None:
    await say(world, "root.lent", service="none")
    await world.running_am(queue="lent", context=spark())
    assert command(world.agents.started[0]) == list(COMMAND)


async def not_yet_launched(world: World, **changes: Any) -> ApplicationAttemptId:
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark(), **changes)
    await world.settle()
    world.agents.errors.append(Unavailable("not yet"))
    await world.bind_and_settle()
    return world.application(application_id).current_attempt_id


async def test_decided_once_whatever_is_said_moved_or_killed_later(world: World) -> None:
    attempt_id = await not_yet_launched(world)
    await say(world, "root.lent", service="none")
    await world.restart()
    await world.register_node()
    await world.run(world.rm.changes.move(attempt_id.application_id, "alice", "plain"))
    await world.settle()
    await world.pass_time(1)
    assert world.attempt(attempt_id).state is AttemptState.LAUNCHED
    assert ADDED[0] in command(world.agents.started[-1])
    am = Am(world, attempt_id)
    await am.register()
    assert await executor_told(am) == TOLD
    await world.restart()
    await world.register_node()
    await am.register()
    assert await executor_told(am) == TOLD


async def test_nothing_is_decided_once_too(world: World) -> None:
    await say(world, "root.lent", service="none")
    attempt_id = await not_yet_launched(world)
    await say(world, "root.lent", service="spark-decommission")
    await world.restart()
    await world.register_node()
    await world.settle()
    await world.pass_time(1)
    assert world.attempt(attempt_id).state is AttemptState.LAUNCHED
    assert command(world.agents.started[-1]) == list(COMMAND)


async def test_next_attempt_is_decided_anew(world: World) -> None:
    am = await world.running_am(queue="lent", context=spark())
    await say(world, "root.lent", service="none")
    await am.exit(1)
    await world.settle()
    await world.bind_and_settle()
    assert len(world.agents.started) == 2
    assert command(world.agents.started[-1]) == list(COMMAND)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": spark(("java", CLIENT_MODE_CLASS))}, "yodel client-config --queue"),
        (
            {"context": spark(("java", "org.apache.hadoop.mapreduce.v2.app.MRAppMaster"))},
            "it is not a Spark application",
        ),
        ({"context": spark(), "tags": (OPT_OUT_TAG,)}, f"the application is tagged {OPT_OUT_TAG}"),
    ],
)
async def test_who_is_left_alone_has_one_line_of_diagnostics(
    world: World, changes: dict[str, Any], reason: str
) -> None:
    await say(world, "root.lent", when_away="refuse")
    am = await world.running_am(queue="lent", **changes)
    start = world.agents.started[0]
    submitted = pb.ApplicationSubmissionContextProto.FromString(changes["context"])
    assert command(start) == list(submitted.am_container_spec.command)
    assert told(start.container_token.identifier) == []
    text = diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id))
    assert reason in text
    assert text.count("\n") == 0
    await am.finish(text="all done")
    await am.exit(0)
    lines = diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id)).splitlines()
    assert len(lines) == 2
    assert lines[0] == "all done"


async def test_unmanaged_master_is_left_alone(world: World) -> None:
    am = await world.running_am(queue="lent", is_unmanaged=True)
    text = diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id))
    assert "its ApplicationMaster is not launched by the cluster" in text
    assert await executor_told(am) == []


async def test_master_that_is_unfit_for_its_queue_is_not_tried_a_second_time(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark())
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    await world.beat(complete(am.container.id, ContainerExitStatus.UNFIT_FOR_QUEUE, "key=value: take it out"))
    await world.settle()
    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    assert application.current_attempt == 1
    assert "key=value: take it out" in application.diagnostics


CLIENT = {"service": "celeborn", "endpoints": "m-1:9097,m-2:9097", "jar": "local:/x.jar", "spark-version": "3.5.9"}
MANAGER = "'-Dspark.shuffle.manager=org.apache.spark.shuffle.celeborn.SparkShuffleManager'"
DOWN = {("m-1", 9097), ("m-2", 9097)}


async def celeborn(world: World, **more: str) -> None:
    words = {name.replace("-", "_"): text for name, text in (CLIENT | more).items()}
    await say(world, "root.lent", **words)


async def look_twice(world: World) -> None:
    for _ in range(2):
        await world.run(world.rm.shuffle_endpoints.look())


async def test_service_with_a_client_is_told_to_both(world: World) -> None:
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark())
    assert MANAGER in command(world.agents.started[0])
    assert dict(await executor_told(am))["jar"] == "local:/x.jar"


async def test_one_endpoint_is_enough(world: World) -> None:
    await celeborn(world, when_away="refuse")
    world.endpoints.down = {("m-1", 9097)}
    await look_twice(world)
    await world.running_am(queue="lent", context=spark())
    assert MANAGER in command(world.agents.started[0])


@pytest.mark.parametrize("is_killed", [False, True])
async def test_away_and_gone_without(world: World, is_killed: bool) -> None:
    """Another leader knows it too, before it serves anybody."""
    await celeborn(world)
    world.endpoints.down = set(DOWN)
    if is_killed:
        await world.restart()
    else:
        await look_twice(world)
    am = await world.running_am(queue="lent", context=spark())
    assert command(world.agents.started[0]) == list(COMMAND)
    text = diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id))
    assert "Without celeborn, which root.lent requires: none of yodel.remote-shuffle.endpoints" in text
    world.endpoints.down = set()
    await world.run(world.rm.shuffle_endpoints.look())
    assert world.attempt(am.attempt_id).shuffle is not None


@pytest.mark.parametrize("is_killed", [False, True])
async def test_away_and_refused(world: World, is_killed: bool) -> None:
    await celeborn(world, when_away="refuse")
    world.endpoints.down = set(DOWN)
    if is_killed:
        await world.restart()
    else:
        await look_twice(world)
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark())
    for _ in range(4):
        await world.settle()
        await world.bind_and_settle()
    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    assert "celeborn, required by root.lent, is not available: none of yodel.remote-shuffle.endpoints" in (
        application.diagnostics
    )
    assert world.agents.started == []


async def test_refused_once_and_there_for_the_next_attempt(world: World) -> None:
    await celeborn(world, when_away="refuse")
    world.endpoints.down = set(DOWN)
    await look_twice(world)
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark())
    await world.settle()
    world.endpoints.down = set()
    await world.bind_and_settle()
    await world.run(world.rm.shuffle_endpoints.look())
    await world.bind_and_settle()
    assert world.application(application_id).current_attempt == 2
    assert MANAGER in command(world.agents.started[0])


async def test_client_mode_is_not_refused_and_its_executors_are_told(world: World) -> None:
    await celeborn(world, when_away="refuse")
    world.endpoints.down = set(DOWN)
    await look_twice(world)
    am = await world.running_am(queue="lent", context=spark(("java", CLIENT_MODE_CLASS)))
    assert dict(await executor_told(am))["jar"] == "local:/x.jar"


KEYS = {one.key for one in CELEBORN.settings} | set(CELEBORN.options)
PLUGIN = "spark.shuffle.sort.io.plugin.class"
FALLS_BACK = Report(ShuffleOutcome.ADDED, (LeftOut((PLUGIN, "of.nobody"), Cause(Reason.CAN_FALL_BACK)),))
NO_JAR = Report(
    ShuffleOutcome.LEFT_OUT, (LeftOut(("spark.shuffle.manager", PLUGIN), Cause(Reason.NO_JAR, "it is away")),)
)


def found(world: World, am: Am) -> ShuffleDecision:
    decision = world.attempt(am.attempt_id).shuffle
    assert decision is not None
    return decision


async def test_what_the_agent_did_is_known_while_the_application_runs_and_after_a_restart(world: World) -> None:
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark())
    assert found(world, am).status is Status.DECIDED
    await world.beat(running(am.container.id), shuffle={am.container.id: FALLS_BACK})
    await world.restart()
    await world.register_node(containers=[running(am.container.id)])
    decision = found(world, am)
    assert decision.status is Status.ADDED
    assert PLUGIN not in [line.key for line in decision.added]
    assert [one.keys for one in decision.left_out] == [(PLUGIN,)], "what was not added cannot be left out"
    assert diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id)) == ""


async def test_service_that_the_agent_left_out_is_said_in_the_diagnostics(world: World) -> None:
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark())
    await world.beat(running(am.container.id), shuffle={am.container.id: NO_JAR})
    text = diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id))
    jar = "yodel.remote-shuffle.jar of the queue is not available: it is away"
    assert text == f"Without celeborn, which root.lent requires: {jar}."
    steps = len(world.steps)
    await world.beat(running(am.container.id), shuffle={am.container.id: NO_JAR})
    assert len(world.steps) == steps, "nothing is written twice"


async def test_report_is_answered_once_it_is_written(world: World) -> None:
    """The agent repeats it until then."""
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark())
    world.commit_errors.append(Unavailable("the store is away"))
    with pytest.raises(Unavailable):
        await world.beat(running(am.container.id), shuffle={am.container.id: NO_JAR})
    await world.beat(running(am.container.id), shuffle={am.container.id: NO_JAR})
    assert found(world, am).status is Status.LEFT_OUT


async def test_end_that_comes_with_the_report_is_shown_with_it(world: World) -> None:
    await celeborn(world, when_away="refuse")
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark())
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    refused = Report(ShuffleOutcome.REFUSED, (LeftOut((PLUGIN,), Cause(Reason.NO_JAR, "it is away")),))
    await world.beat(complete(am.container.id, -1000, "no jar"), shuffle={am.container.id: refused})
    await world.settle()
    assert world.attempt(am.attempt_id).state is AttemptState.FAILED
    assert found(world, am).status is Status.REFUSED


async def test_driver_outside_that_uses_the_service_is_not_without_it(world: World) -> None:
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark(("java", CLIENT_MODE_CLASS)))
    await world.beat(running(am.container.id), shuffle={am.container.id: Report(ShuffleOutcome.OWN_SETTINGS)})
    assert found(world, am).status is Status.OWN_SETTINGS
    assert diagnostics_of(world.application(am.application_id), world.attempt(am.attempt_id)) == ""


async def test_word_of_another_nodes_agent_is_worth_nothing(world: World) -> None:
    await celeborn(world)
    am = await world.running_am(queue="lent", context=spark())
    other = NodeId("node-9", 45454)
    await world.register_node(other)
    for container_id in (am.container.id, replace(am.container.id, number=7)):
        await world.beat(node_id=other, shuffle={container_id: NO_JAR})
    assert found(world, am).status is Status.DECIDED


@pytest.mark.parametrize(
    ("has_registered", "report", "exit_status", "is_said"),
    [
        (False, None, 13, True),
        (False, FALLS_BACK, 13, True),
        (True, None, 13, False),
        (False, None, ContainerExitStatus.PREEMPTED, False),
        (False, Report(ShuffleOutcome.LEFT_OUT, (LeftOut(tuple(KEYS), Cause(Reason.SPARK_UNKNOWN)),)), 13, False),
    ],
)
async def test_master_that_ends_before_it_registers_says_in_one_line_that_its_queue_adds_settings(
    world: World, has_registered: bool, report: Report | None, exit_status: int, is_said: bool
) -> None:
    await celeborn(world)
    await world.register_node()
    application_id = await world.submit(queue="lent", context=spark())
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    if has_registered:
        await am.register()
    await world.beat(running(am.container.id), shuffle={} if report is None else {am.container.id: report})
    await am.exit(exit_status, "stack trace")
    lines = world.attempt(am.attempt_id).diagnostics.splitlines()
    text = "It ended before it registered, with settings that root.lent adds for celeborn: yodel app show"
    assert [line for line in lines if line.startswith(text)] == [f"{text} {application_id} lists them."] * is_said
    assert lines[0] == f"AM Container for {am.attempt_id} exited with  exitCode: {exit_status}"


@pytest.mark.parametrize(("clients", "is_added"), [(("celeborn",), True), (("uniffle",), False), ((), False)])
async def test_node_that_cannot_prepare_the_client_has_none(
    world: World, clients: tuple[str, ...], is_added: bool
) -> None:
    """The node is a genuine NodeManager, which fetches no jar: also after a restart, before it has registered again."""
    await celeborn(world)
    await world.register_node(shuffle_clients=clients)
    application_id = await world.submit(queue="lent", context=spark())
    await world.settle()
    await world.restart()
    await world.bind_and_settle()
    decision = found(world, Am(world, world.application(application_id).current_attempt_id))
    assert bool(decision.added) == is_added
    assert ("its node runs no node agent that can prepare" in decision.note) != is_added
