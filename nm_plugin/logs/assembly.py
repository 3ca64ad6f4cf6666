"""The log aggregator as the agent's settings want it, and others that work as it does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nm_plugin.host.directories import Directories
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, UserDatabase
from nm_plugin.logs.layout import RemoteLayout
from nm_plugin.logs.reading.recalls import READERS_MAX, Recalls
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.uploading.journal import Journals
from nm_plugin.logs.uploading.retention import RetentionLog
from nm_plugin.logs.uploading.uploads import AggregationSettings, AggregatorParts
from nm_plugin.logs.worker_pool import WorkerPool
from nm_plugin.settings import Settings


def build_aggregator(
    settings: Settings,
    directories: Directories,
    users: UserDatabase,
    threads: FileThreads,
    records: FileThreads,
    tasks: TaskOwner,
    now_ms: Callable[[], int],
) -> LogAggregator:
    """Needs a running event loop; touches nothing yet."""
    workers = WorkerPool(
        threads=threads,
        config_dir=settings.hadoop_conf_dir,
        slots=asyncio.Semaphore(settings.log_upload_processes),
        silence_s=settings.log_upload_silence_s,
    )
    parts = AggregatorParts(
        directories=directories,
        users=users,
        threads=threads,
        records=records,
        workers=workers,
        journals=Journals(settings.state_dir),
        ledger=RetentionLog(settings.state_dir),
        tasks=tasks,
        now_ms=now_ms,
    )
    return LogAggregator(aggregation_settings(settings), parts)


def build_makers(settings: Settings, threads: FileThreads) -> WorkerPool:
    """Return the workers that make users' directories in the shared file system.  Needs a running event loop."""
    return WorkerPool(
        threads=threads,
        config_dir=settings.hadoop_conf_dir,
        slots=asyncio.Semaphore(settings.log_upload_processes),
        silence_s=settings.log_upload_silence_s,
    )


def build_recalls(settings: Settings, users: UserDatabase, threads: FileThreads) -> Recalls | None:
    """None without aggregation.  Needs a running event loop."""
    if not settings.log_aggregation_enable:
        return None
    workers = WorkerPool(
        threads=threads,
        config_dir=settings.hadoop_conf_dir,
        slots=asyncio.Semaphore(READERS_MAX),
        silence_s=settings.log_upload_silence_s,
    )
    return Recalls(aggregation_settings(settings).layout, users, threads, workers)


def aggregation_settings(settings: Settings) -> AggregationSettings:
    return AggregationSettings(
        enabled=settings.log_aggregation_enable,
        layout=RemoteLayout(
            root=settings.remote_app_log_dir.rstrip("/"),
            suffix=settings.remote_app_log_dir_suffix,
            format=settings.log_aggregation_format,
        ),
        group=settings.remote_app_log_dir_group,
        compression=settings.log_aggregation_compression,
        roll_interval_s=settings.log_aggregation_roll_interval_s,
        files_max=settings.log_aggregation_files_per_app,
        retain_s=settings.log_aggregation_retain_s,
        give_up_s=settings.log_upload_give_up_s,
        deletion_delay_s=settings.deletion_delay_s,
    )
