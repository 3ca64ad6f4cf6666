"""The life-cycle table, over the whole product of states and events."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import pytest

from nm_plugin.container.life import (
    CONTAINER_LIFE,
    DIAGNOSTICS_LENGTH_MAX,
    CleanedUp,
    Container,
    ContainerEffect,
    Event,
    Exited,
    KillRequested,
    Launched,
    LaunchFailed,
    LifeState,
    LocalizationFailed,
    Localized,
    RestartRequested,
    Started,
    with_diagnostics,
)
from nm_plugin.container.retry import Retry
from tests.support.node_agent import container_id
from yodel.domain.machine import Ignore
from yodel.domain.resource import Resource
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


def in_state(state: LifeState) -> Container:
    return Container(
        container_id=container_id(2), user="alice", resource=Resource(1, 1), state=state, launch_context=b"secret"
    )


def step(container: Container, event: Event) -> tuple[Container, tuple[ContainerEffect, ...]]:
    after = CONTAINER_LIFE.apply(container, event)
    return after.entity, after.effects


def reasons() -> dict[tuple[Enum, type], str]:
    """Return the reason of each event that is ignored."""
    return {pair: cell.reason for pair, cell in CONTAINER_LIFE.table.items() if isinstance(cell, Ignore)}


@pytest.mark.parametrize("state", LifeState)
@pytest.mark.parametrize("event", EXAMPLES)
def test_no_pair_is_impossible_and_what_is_ignored_has_a_reason(state: LifeState, event: type[Event]) -> None:
    after, effects = step(in_state(state), EXAMPLES[event])
    if (state, event) in reasons():
        assert reasons()[state, event]
        assert (after, effects) == (in_state(state), ())


def test_every_kind_of_event_has_an_example() -> None:
    assert set(EXAMPLES) == set(CONTAINER_LIFE.events)


def test_only_these_pairs_move_a_container() -> None:
    handled = {(state.name, event.__name__) for state, event in CONTAINER_LIFE.table.keys() - reasons().keys()}
    assert handled == {
        *(("NEW", event) for event in ("Started", "KillRequested")),
        *(("LOCALIZING", event) for event in ("Localized", "LocalizationFailed", "KillRequested")),
        *((state, event) for state in ("SCHEDULED", "RELAUNCHING") for event in ("Launched", "LaunchFailed")),
        *((state, event) for state in ("SCHEDULED", "RELAUNCHING") for event in ("Exited", "KillRequested")),
        *(("RUNNING", event) for event in ("Exited", "RestartRequested", "KillRequested")),
        *(("REINITIALIZING", event) for event in ("Localized", "LocalizationFailed", "Exited", "KillRequested")),
        *(("KILLING", event) for event in ("Launched", "Exited")),
        *((state.name, "CleanedUp") for state in LifeState if state.is_complete),
    }


def run(*events: Event) -> tuple[Container, list[ContainerEffect]]:
    container, performed = in_state(LifeState.NEW), []
    for event in events:
        container, effects = step(container, event)
        performed += effects
    return container, performed


def test_successful_life() -> None:
    container, effects = run(Started(), Localized(), Launched(pid=42), Exited(exit_status=0), CleanedUp())
    assert (container.state, container.exit_status, container.pid) == (LifeState.DONE, 0, 42)
    assert effects == [
        ContainerEffect.LOCALIZE,
        ContainerEffect.LAUNCH,
        ContainerEffect.REPORT,
        ContainerEffect.REPORT,
        ContainerEffect.CLEAN_UP,
    ]
    assert container.launch_context == b""


def test_kill_status_wins_over_the_processes_own() -> None:
    killed, _ = run(Started(), Localized(), Launched(pid=42), EXAMPLES[KillRequested], Exited(exit_status=143))
    assert (killed.state, killed.exit_status) == (LifeState.DONE, -105)


def test_second_kill_changes_nothing() -> None:
    once, _ = run(Started(), EXAMPLES[KillRequested])
    twice, effects = step(once, KillRequested(exit_status=-106, diagnostics="again"))
    assert (twice, effects) == (once, ())


def test_launch_that_overtakes_a_kill_is_terminated() -> None:
    _, effects = run(Started(), Localized(), EXAMPLES[KillRequested], Launched(pid=42))
    assert effects[-2:] == [ContainerEffect.TERMINATE, ContainerEffect.TERMINATE]


def test_failed_localization_ends_invalid() -> None:
    container, effects = run(Started(), LocalizationFailed(diagnostics="no file"), CleanedUp())
    assert (container.state, container.exit_status, container.diagnostics) == (LifeState.DONE, -1000, "no file")
    assert effects[1:] == [ContainerEffect.REPORT, ContainerEffect.CLEAN_UP]


def test_diagnostics_keep_the_newest_text() -> None:
    container = with_diagnostics(in_state(LifeState.RUNNING), "x" * 20_000 + "end")
    assert len(container.diagnostics) == DIAGNOSTICS_LENGTH_MAX
    assert container.diagnostics.endswith("end")


ONE_RETRY = Retry(error_codes=None, max_retries=1, interval_ms=1000, validity_ms=0, remaining=1)


def test_failure_with_a_retry_left_is_a_relaunch_and_the_next_an_end() -> None:
    running = replace(in_state(LifeState.RUNNING), retry=ONE_RETRY, pid=42)
    again, effects = step(running, Exited(exit_status=3, diagnostics="three"))
    assert (again.state, again.run, again.pid, effects) == (LifeState.RELAUNCHING, 1, None, (ContainerEffect.RELAUNCH,))
    running, _ = step(again, Launched(pid=43))
    ended, effects = step(running, Exited(exit_status=4))
    assert (ended.state, ended.exit_status) == (LifeState.EXITED_WITH_FAILURE, 4)
    assert effects == (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP)


def test_kill_wins_over_a_retry() -> None:
    killing, _ = step(replace(in_state(LifeState.RUNNING), retry=ONE_RETRY), EXAMPLES[KillRequested])
    assert step(killing, Exited(exit_status=3))[0].state is LifeState.DONE


def test_restart_ends_the_run_and_launches_again() -> None:
    stopping, effects = step(in_state(LifeState.RUNNING), RestartRequested())
    assert (stopping.state, effects) == (LifeState.REINITIALIZING, (ContainerEffect.STOP_RUN,))
    again, effects = step(stopping, Exited(exit_status=143))
    assert (again.state, again.run, effects) == (LifeState.RELAUNCHING, 1, (ContainerEffect.RESTART,))


def upgraded(*, keeps_previous: bool) -> Container:
    """Running with the context ``new`` instead of ``old``."""
    running = replace(in_state(LifeState.RUNNING), launch_context=OLD, retry=ONE_RETRY)
    request = RestartRequested(context=NEW, keeps_previous=keeps_previous, diagnostics="upgrade")
    localizing, effects = step(running, request)
    assert (localizing.launch_context, effects) == (OLD, (ContainerEffect.PREPARE_UPGRADE,))
    stopping, effects = step(localizing, Localized())
    assert effects == (ContainerEffect.STOP_RUN,)
    again, effects = step(stopping, Exited(exit_status=143))
    assert (again.launch_context, again.upgrade, again.retry, effects) == (NEW, b"", None, (ContainerEffect.RESTART,))
    return step(again, Launched(pid=43))[0]


OLD, NEW = (pb.ContainerLaunchContextProto(command=[text]).SerializeToString() for text in ("old", "new"))


def test_upgrade_is_committed_with_its_launch() -> None:
    container = upgraded(keeps_previous=False)
    assert (container.state, container.rollback, container.diagnostics) == (LifeState.RUNNING, b"", "upgrade")
    assert step(container, Exited(exit_status=3))[0].state is LifeState.EXITED_WITH_FAILURE


def test_failed_upgrade_is_rolled_back_unless_committed_or_asked_to_end() -> None:
    container = upgraded(keeps_previous=True)
    assert container.rollback == OLD
    back, effects = step(container, Exited(exit_status=3, diagnostics="three, ", last_words="the end"))
    assert (back.state, back.launch_context, back.rollback, effects) == (
        LifeState.RELAUNCHING,
        OLD,
        b"",
        (ContainerEffect.RESTART,),
    )
    assert back.diagnostics == "upgradethree, Container Re-init Auto Rolled-Back.\n"
    assert step(container, Exited(exit_status=0))[0].state is LifeState.EXITED_WITH_SUCCESS
    assert step(container, Exited(exit_status=143))[0].state is LifeState.EXITED_WITH_FAILURE


def test_upgrade_whose_files_cannot_be_had_changes_nothing() -> None:
    running = replace(in_state(LifeState.RUNNING), launch_context=OLD)
    localizing, _ = step(running, RestartRequested(context=NEW, keeps_previous=True))
    undone, effects = step(localizing, LocalizationFailed(diagnostics="no file"))
    assert (undone, effects) == (replace(running, diagnostics="no file"), ())


def test_no_context_is_kept_after_the_end() -> None:
    ended, _ = step(upgraded(keeps_previous=True), Exited(exit_status=0))
    done, _ = step(ended, CleanedUp())
    assert (done.launch_context, done.upgrade, done.rollback) == (b"", b"", b"")


def test_end_of_an_earlier_run_is_no_end() -> None:
    second = replace(in_state(LifeState.RELAUNCHING), run=1)
    assert step(second, Exited(exit_status=143, run=0)) == (second, ())
    assert step(second, Exited(exit_status=3, run=1))[0].state is LifeState.EXITED_WITH_FAILURE


def test_launch_on_a_node_without_disks_says_so() -> None:
    failed, _ = step(in_state(LifeState.SCHEDULED), LaunchFailed(diagnostics="no disk", exit_status=-101))
    assert (failed.state, failed.exit_status) == (LifeState.EXITED_WITH_FAILURE, -101)


def test_secrets_are_in_no_repr() -> None:
    assert "secret" not in repr(in_state(LifeState.NEW))
