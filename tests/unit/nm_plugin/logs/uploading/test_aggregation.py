"""Logs are uploaded in their time, the RM hears of it, and some are left: on a folder as remote directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.host.users import OsUser
from nm_plugin.logs.jobs import MakeRoot, Publish
from nm_plugin.logs.uploading.aggregation import LogAggregator, LogStatus
from nm_plugin.logs.uploading.journal import LogContext
from tests.support.log_rig import NODE_FILE, InProcess, LogRig
from tests.support.node_agent import APPLICATION, container_id, eventually
from yodel.hadoop_pb import yarn_protos_pb2 as pb

MASTER, WORKER, FAILED = container_id(1), container_id(2), container_id(3)


@pytest.fixture
def rig(open_path: Path) -> LogRig:
    return LogRig(root=open_path, user=OsUser(name="alice", uid=os.geteuid(), gid=os.getegid()))


def origin(acls: dict[str, str] | None = None, **context: str) -> LogContext:
    message = pb.LogAggregationContextProto(**context)
    return LogContext(user="alice", context=message.SerializeToString(), acls=acls or {}, credentials=b"")


async def run(aggregator: LogAggregator, context: LogContext, *, finish: bool = True) -> None:
    """A master, a worker that succeeds and one that fails."""
    for container, exit_status in ((MASTER, 0), (WORKER, 0), (FAILED, 1)):
        await aggregator.started(container, container == MASTER, context)
        await aggregator.container_finished(container, exit_status)
    if finish:
        await aggregator.application_finished(APPLICATION)


async def over(aggregator: LogAggregator) -> None:
    await eventually(lambda: not aggregator.applications())


def write_logs(rig: LogRig) -> None:
    for container in (MASTER, WORKER, FAILED):
        rig.write(container, "stdout", f"out of {container}".encode())
        rig.write(container, "stderr", b"", disk=1)


def containers(rig: LogRig) -> set[str]:
    return {container for container, _, _ in rig.published(APPLICATION)}


async def test_all_logs_of_all_disks_are_uploaded_and_then_removed(rig: LogRig) -> None:
    write_logs(rig)
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin())
        await over(aggregator)
        # Memory forgets first.  The file goes after, while the aggregator lives.
        await eventually(lambda: not list((rig.root / "state" / "logs").glob("application_*")))
    assert rig.published(APPLICATION) == sorted(
        (str(c), name, content)
        for c in (MASTER, WORKER, FAILED)
        for name, content in (("stdout", f"out of {c}".encode()), ("stderr", b""))
    )
    assert [path.name for path in rig.remote_dir(APPLICATION).iterdir()] == [NODE_FILE]
    assert all(not any(directory.iterdir()) for directory in rig.log_dirs)


async def test_modes_are_hadoops(rig: LogRig) -> None:
    write_logs(rig)
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin())
        await over(aggregator)
    path = rig.remote_dir(APPLICATION) / NODE_FILE
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (path, *path.parents[:4], rig.root / "remote")]
    assert modes == [0o640, 0o770, 0o770, 0o770, 0o770, 0o1777]


async def test_nothing_is_uploaded_before_the_application_is_over(rig: LogRig) -> None:
    write_logs(rig)
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin(), finish=False)
        assert rig.published(APPLICATION) == []
        assert aggregator.applications() == {APPLICATION}


async def test_root_is_made_by_the_agent_and_the_rest_by_the_owner(rig: LogRig) -> None:
    write_logs(rig)
    publishing = InProcess()
    async with rig.aggregator(publishing) as aggregator:
        await run(aggregator, origin(acls={"VIEW_APP": "bob"}))
        await over(aggregator)
    assert isinstance(publishing.jobs[0], MakeRoot)
    assert publishing.users == [None, rig.user, rig.user]
    [job] = [job for job in publishing.jobs if isinstance(job, Publish)]
    assert (job.owner, job.acls, job.node) == ("alice", {"VIEW_APP": "bob"}, "node-1.example:8041")


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("AMOnlyLogAggregationPolicy", {MASTER}),
        ("AMOrFailedContainerLogAggregationPolicy", {MASTER, FAILED}),
        ("NoneContainerLogAggregationPolicy", set()),
        ("", {MASTER, WORKER, FAILED}),
    ],
)
async def test_policy_of_the_application_decides(rig: LogRig, policy: str, kept: set[Any]) -> None:
    write_logs(rig)
    package = "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."
    context = origin(log_aggregation_policy_class_name=package + policy if policy else "")
    async with rig.aggregator() as aggregator:
        await run(aggregator, context)
        await over(aggregator)
        assert aggregator.reports()[-1].status is LogStatus.SUCCEEDED
    assert containers(rig) == {str(c) for c in kept}
    assert all(not any(directory.iterdir()) for directory in rig.log_dirs)


async def test_patterns_choose_files(rig: LogRig) -> None:
    for name in ("stdout", "stderr", "syslog", "syslog.shuffle"):
        rig.write(WORKER, name, b"x")
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin(include_pattern=r"sys\p{Lower}+|err", exclude_pattern=r"\Q.shuffle\E\z"))
        await over(aggregator)
    assert [name for _, name, _ in rig.published(APPLICATION)] == ["stderr", "syslog"]


async def test_include_pattern_that_is_not_supported_includes_all_and_the_report_says_so(rig: LogRig) -> None:
    write_logs(rig)
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin(include_pattern=r"\X"))
        await over(aggregator)
        report = aggregator.reports()[-1]
    assert report.status is LogStatus.SUCCEEDED
    assert "All logs are included: Invalid log include pattern: '\\\\X'" in report.diagnostics
    assert rig.published(APPLICATION)


async def test_links_are_not_followed(rig: LogRig) -> None:
    write_logs(rig)
    (rig.root / "secret").mkdir()
    (rig.root / "secret" / "stdout").write_bytes(b"secret")
    directory = rig.log_dirs[0] / str(APPLICATION) / str(WORKER)
    (directory / "link").symlink_to(rig.root / "secret" / "stdout")
    os.mkfifo(directory / "fifo")
    (directory / "below").mkdir()
    other = rig.log_dirs[1] / str(APPLICATION) / str(container_id(4))
    other.symlink_to(rig.root / "secret")
    async with rig.aggregator() as aggregator:
        await aggregator.started(container_id(4), False, origin())
        await run(aggregator, origin())
        await over(aggregator)
    assert b"secret" not in [content for _, _, content in rig.published(APPLICATION)]
    assert {name for _, name, _ in rig.published(APPLICATION)} == {"stdout", "stderr"}
    assert (rig.root / "secret" / "stdout").exists()


async def test_upload_is_repeated_while_the_remote_directory_is_away(rig: LogRig) -> None:
    write_logs(rig)
    publishing = InProcess()
    publishing.away = 3
    said = []
    async with rig.aggregator(publishing) as aggregator:
        aggregator.report = lambda: said.append(aggregator.reports()[-1])
        await run(aggregator, origin())
        await over(aggregator)
    assert [report.status for report in said[:2]] == [LogStatus.NOT_START, LogStatus.RUNNING_WITH_FAILURE]
    assert "Connection refused" in said[1].diagnostics
    assert said[-1].status is LogStatus.SUCCEEDED
    assert f"Log uploaded successfully for Application: {APPLICATION} in NodeManager: node-1.example:8041" in (
        said[-1].diagnostics
    )
    assert len(rig.published(APPLICATION)) == 6


async def test_given_up_logs_stay_on_the_node(rig: LogRig) -> None:
    write_logs(rig)
    rig.changes["give_up_s"] = 0.0
    publishing = InProcess()
    publishing.away = 1000
    async with rig.aggregator(publishing) as aggregator:
        await run(aggregator, origin())
        await over(aggregator)
        assert aggregator.reports()[-1].status is LogStatus.FAILED
    assert (rig.log_dirs[0] / str(APPLICATION) / str(WORKER) / "stdout").exists()


async def test_reports_are_repeated_until_heard_and_told_to_a_new_rm(rig: LogRig) -> None:
    async with rig.aggregator() as aggregator:
        await aggregator.started(MASTER, True, origin())
        [report] = aggregator.reports()
        assert aggregator.reports() == (report,)
        aggregator.reported([report])
        assert aggregator.reports() == ()
        assert aggregator.reports(is_first=True) == (report,)
        assert report.status is LogStatus.NOT_START


async def test_disabled_aggregation_touches_nothing(rig: LogRig) -> None:
    write_logs(rig)
    rig.changes["enabled"] = False
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin())
        assert (aggregator.reports(), aggregator.applications()) == ((), frozenset())
    assert not (rig.root / "remote").exists()
    assert (rig.log_dirs[0] / str(APPLICATION) / str(WORKER) / "stdout").exists()


@pytest.mark.parametrize("format", ["tfile", "ifile"])
async def test_rolled_logs_are_uploaded_while_the_application_runs(rig: LogRig, format: str) -> None:
    rig.format, rig.roll_interval_s = format, 0.03
    rig.write(WORKER, "stdout", b"still written")
    rolled = rig.write(WORKER, "syslog.1", b"one")
    async with rig.aggregator() as aggregator:
        await aggregator.started(WORKER, False, origin(rolled_logs_include_pattern=r"syslog\.\d"))
        await eventually(lambda: not rolled.exists())
        rolled = rig.write(WORKER, "syslog.2", b"two")
        await eventually(lambda: not rolled.exists())
        assert [name for _, name, _ in rig.published(APPLICATION)] == ["syslog.1", "syslog.2"]
        listed = await aggregator.uploaded(WORKER, rig.user)
        assert [name for one in listed for name, _, _ in one["logs"]] == ["syslog.1", "syslog.2"]
        parts = [p async for p in aggregator.uploaded_text(WORKER, rig.user, "syslog.2", -2)]
        text = b"".join(parts).decode()
        assert "LogAggregationType: AGGREGATED\n" in text
        assert "LogLength:3\nLogContents:\nwo\nEnd of LogType:syslog.2\n" in text
        await aggregator.container_finished(WORKER, 0)
        await aggregator.application_finished(APPLICATION)
        await over(aggregator)
    assert [name for _, name, _ in rig.published(APPLICATION)] == ["stdout", "syslog.1", "syslog.2"]
    files = len(list(rig.remote_dir(APPLICATION).iterdir()))
    assert files == (3 if format == "tfile" else 1)


async def test_oldest_files_of_the_node_go_when_there_are_too_many(rig: LogRig) -> None:
    rig.roll_interval_s = 0.02
    rig.changes["files_max"] = 2
    async with rig.aggregator() as aggregator:
        await aggregator.started(WORKER, False, origin(rolled_logs_include_pattern="rolled"))
        for number in range(4):
            path = rig.write(WORKER, f"rolled.{number}", b"x")
            await eventually(lambda path=path: not path.exists())
    names = [name for _, name, _ in rig.published(APPLICATION)]
    assert names == ["rolled.2", "rolled.3"]


async def test_application_that_came_back_does_not_replace_its_first_file(rig: LogRig) -> None:
    for content in (b"first", b"second"):
        rig.write(WORKER, "stdout", content)
        async with rig.aggregator() as aggregator:
            await run(aggregator, origin())
            await over(aggregator)
    assert [content for _, _, content in rig.published(APPLICATION)] == [b"first", b"second"]


async def test_old_logs_are_removed_by_whom_published_them(rig: LogRig) -> None:
    rig.changes["retain_s"] = 100.0
    rig.clock_ms = int((rig.root.stat().st_mtime + 10) * 1000)
    write_logs(rig)
    async with rig.aggregator() as aggregator:
        await run(aggregator, origin())
        await over(aggregator)
        await aggregator.expire_now()
        assert rig.remote_dir(APPLICATION).exists()
        rig.clock_ms += 200_000
        (rig.remote_dir(APPLICATION) / "other_8041").write_bytes(b"younger")
        os.utime(rig.remote_dir(APPLICATION) / "other_8041", (rig.clock_ms / 1000, rig.clock_ms / 1000))
        await aggregator.expire_now()
        assert rig.remote_dir(APPLICATION).exists()
        rig.clock_ms += 200_000
        await aggregator.expire_now()
        assert not rig.remote_dir(APPLICATION).exists()
        await aggregator.expire_now()


async def test_pattern_that_is_none_fails_the_upload_with_its_reason_and_is_not_tried_again(rig: LogRig) -> None:
    write_logs(rig)
    publishing = InProcess()
    async with rig.aggregator(publishing) as aggregator:
        await run(aggregator, origin(exclude_pattern="("))
        await over(aggregator)
        report = aggregator.reports()[-1]
    assert report.status is LogStatus.FAILED
    assert "regular expression of Java's: Unclosed group near index 1" in report.diagnostics
    assert [job.action for job in publishing.jobs].count("publish") == 1
    assert (rig.log_dirs[0] / str(APPLICATION) / str(WORKER) / "stdout").exists()
