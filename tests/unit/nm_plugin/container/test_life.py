"""The life-cycle table, over the whole product of states and events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nm_plugin.container import life as containers
from nm_plugin.container.life import (
    EVENT_TYPES,
    IGNORED,
    TABLE,
    CleanedUp,
    Container,
    Effect,
    Event,
    Exited,
    KillRequested,
    Launched,
    LaunchFailed,
    LocalizationFailed,
    Localized,
    RestartRequested,
    Started,
    State,
    step,
)
from nm_plugin.container.retry import Retry
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource
from yodel.errors import IllegalTransition
from yodel.hadoop_pb import yarn_protos_pb2 as pb

EXAMPLES: dict[type[Event], Event] = {
    Started: Started(),
    Localized: Localized(),
    LocalizationFailed: LocalizationFailed(diagnostics="no file"),
    Launched: Launched(pid=42),
    LaunchFailed: LaunchFailed(diagnostics="no pod"),
    Exited: Exited(exit_status=3, diagnostics="three"),
    RestartRequested: RestartRequested(),
    KillRequested: KillRequested(exit_status=-105, diagnostics="killed"),
    CleanedUp: CleanedUp(),
}


def in_state(state: State) -> Container:
    return Container(
        container_id=container_id(2), user="alice", resource=Resource(1, 1), state=state, launch_context=b"secret"
    )


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", EVENT_TYPES)
def test_every_pair_is_handled_or_ignored_for_a_reason(state: State, event: type[Event]) -> None:
    key = (state, event)
    assert (key in TABLE) != (key in IGNORED)
    after, effects = step(in_state(state), EXAMPLES[event])
    if key in IGNORED:
        assert IGNORED[key]
        assert (after, effects) == (in_state(state), ())


def test_missing_pair_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLE, (State.NEW, Started))
    with pytest.raises(IllegalTransition):
        step(in_state(State.NEW), Started())


def run(*events: Event) -> tuple[Container, list[Effect]]:
    container, performed = in_state(State.NEW), []
    for event in events:
        container, effects = step(container, event)
        performed += effects
    return container, performed


def test_successful_life() -> None:
    container, effects = run(Started(), Localized(), Launched(pid=42), Exited(exit_status=0), CleanedUp())
    assert (container.state, container.exit_status, container.pid) == (State.DONE, 0, 42)
    assert effects == [Effect.LOCALIZE, Effect.LAUNCH, Effect.REPORT, Effect.REPORT, Effect.CLEAN_UP]
    assert container.launch_context == b""


def test_kill_status_wins_over_the_processes_own() -> None:
    killed, _ = run(Started(), Localized(), Launched(pid=42), EXAMPLES[KillRequested], Exited(exit_status=143))
    assert (killed.state, killed.exit_status) == (State.DONE, -105)


def test_second_kill_changes_nothing() -> None:
    once, _ = run(Started(), EXAMPLES[KillRequested])
    twice, effects = step(once, KillRequested(exit_status=-106, diagnostics="again"))
    assert (twice, effects) == (once, ())


def test_launch_that_overtakes_a_kill_is_terminated() -> None:
    _, effects = run(Started(), Localized(), EXAMPLES[KillRequested], Launched(pid=42))
    assert effects[-2:] == [Effect.TERMINATE, Effect.TERMINATE]


def test_failed_localization_ends_invalid() -> None:
    container, effects = run(Started(), LocalizationFailed(diagnostics="no file"), CleanedUp())
    assert (container.state, container.exit_status, container.diagnostics) == (State.DONE, -1000, "no file")
    assert effects[1:] == [Effect.REPORT, Effect.CLEAN_UP]


def test_diagnostics_keep_the_newest_text() -> None:
    container = containers.with_diagnostics(in_state(State.RUNNING), "x" * 20_000 + "end")
    assert len(container.diagnostics) == containers.DIAGNOSTICS_LENGTH_MAX
    assert container.diagnostics.endswith("end")


ONE_RETRY = Retry(error_codes=None, max_retries=1, interval_ms=1000, validity_ms=0, remaining=1)


def test_failure_with_a_retry_left_is_a_relaunch_and_the_next_an_end() -> None:
    running = replace(in_state(State.RUNNING), retry=ONE_RETRY, pid=42)
    again, effects = step(running, Exited(exit_status=3, diagnostics="three"))
    assert (again.state, again.run, again.pid, effects) == (State.RELAUNCHING, 1, None, (Effect.RELAUNCH,))
    running, _ = step(again, Launched(pid=43))
    ended, effects = step(running, Exited(exit_status=4))
    assert (ended.state, ended.exit_status) == (State.EXITED_WITH_FAILURE, 4)
    assert effects == (Effect.REPORT, Effect.CLEAN_UP)


def test_kill_wins_over_a_retry() -> None:
    killing, _ = step(replace(in_state(State.RUNNING), retry=ONE_RETRY), EXAMPLES[KillRequested])
    assert step(killing, Exited(exit_status=3))[0].state is State.DONE


def test_restart_ends_the_run_and_launches_again() -> None:
    stopping, effects = step(in_state(State.RUNNING), RestartRequested())
    assert (stopping.state, effects) == (State.REINITIALIZING, (Effect.STOP_RUN,))
    again, effects = step(stopping, Exited(exit_status=143))
    assert (again.state, again.run, effects) == (State.RELAUNCHING, 1, (Effect.RESTART,))


def upgraded(*, keeps_previous: bool) -> Container:
    """Running with the context ``new`` instead of ``old``."""
    running = replace(in_state(State.RUNNING), launch_context=OLD, retry=ONE_RETRY)
    request = RestartRequested(context=NEW, keeps_previous=keeps_previous, diagnostics="upgrade")
    localizing, effects = step(running, request)
    assert (localizing.launch_context, effects) == (OLD, (Effect.PREPARE_UPGRADE,))
    stopping, effects = step(localizing, Localized())
    assert effects == (Effect.STOP_RUN,)
    again, effects = step(stopping, Exited(exit_status=143))
    assert (again.launch_context, again.upgrade, again.retry, effects) == (NEW, b"", None, (Effect.RESTART,))
    return step(again, Launched(pid=43))[0]


OLD, NEW = (pb.ContainerLaunchContextProto(command=[text]).SerializeToString() for text in ("old", "new"))


def test_upgrade_is_committed_with_its_launch() -> None:
    container = upgraded(keeps_previous=False)
    assert (container.state, container.rollback, container.diagnostics) == (State.RUNNING, b"", "upgrade")
    assert step(container, Exited(exit_status=3))[0].state is State.EXITED_WITH_FAILURE


def test_failed_upgrade_is_rolled_back_unless_committed_or_asked_to_end() -> None:
    container = upgraded(keeps_previous=True)
    assert container.rollback == OLD
    back, effects = step(container, Exited(exit_status=3, diagnostics="three, ", last_words="the end"))
    assert (back.state, back.launch_context, back.rollback, effects) == (
        State.RELAUNCHING,
        OLD,
        b"",
        (Effect.RESTART,),
    )
    assert back.diagnostics == "upgradethree, Container Re-init Auto Rolled-Back.\n"
    assert step(container, Exited(exit_status=0))[0].state is State.EXITED_WITH_SUCCESS
    assert step(container, Exited(exit_status=143))[0].state is State.EXITED_WITH_FAILURE


def test_upgrade_whose_files_cannot_be_had_changes_nothing() -> None:
    running = replace(in_state(State.RUNNING), launch_context=OLD)
    localizing, _ = step(running, RestartRequested(context=NEW, keeps_previous=True))
    undone, effects = step(localizing, LocalizationFailed(diagnostics="no file"))
    assert (undone, effects) == (replace(running, diagnostics="no file"), ())


def test_no_context_is_kept_after_the_end() -> None:
    ended, _ = step(upgraded(keeps_previous=True), Exited(exit_status=0))
    done, _ = step(ended, CleanedUp())
    assert (done.launch_context, done.upgrade, done.rollback) == (b"", b"", b"")


def test_end_of_an_earlier_run_is_no_end() -> None:
    second = replace(in_state(State.RELAUNCHING), run=1)
    assert step(second, Exited(exit_status=143, run=0)) == (second, ())
    assert step(second, Exited(exit_status=3, run=1))[0].state is State.EXITED_WITH_FAILURE


def test_launch_on_a_node_without_disks_says_so() -> None:
    failed, _ = step(in_state(State.SCHEDULED), LaunchFailed(diagnostics="no disk", exit_status=-101))
    assert (failed.state, failed.exit_status) == (State.EXITED_WITH_FAILURE, -101)


def test_exported_table_has_every_pair_once() -> None:
    rows = list(containers.transitions())
    assert len(rows) == len(State) * len(EVENT_TYPES) == len({(state, event) for state, event, _ in rows})
    assert all(what for _, _, what in rows)


def test_secrets_are_in_no_repr() -> None:
    assert "secret" not in repr(in_state(State.NEW))
