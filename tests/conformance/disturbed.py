"""Spark jobs in the test's hand: known to be in the middle of their work, released when the test says so."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any, Self

from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import OsUser, Result, Spark

TASKS = 4
PARTS, NUMBERS_OF_A_PART = 4, 1000
WITHOUT_TRACKING = {
    "spark.shuffle.service.enabled": "true",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "false",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.executor.instances": "",
}


class HeldJob:
    """The job ``slow_sum.py``, whose tasks wait for ``release()``."""

    def __init__(
        self,
        spark: Spark,
        folder: pathlib.Path,
        deploy_mode: str = "cluster",
        *,
        executors: int = 2,
        conf: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
        job: str = "slow_sum.py",
        user: OsUser | None = None,
    ) -> None:
        self._report, self._marker, self._release = folder / "report.json", folder / "marker", folder / "release"
        self._marker.mkdir()
        self._marker.chmod(0o1777)
        arguments = (TASKS, 100, self._report, self._marker, self._release)
        settings = {"spark.executor.instances": str(executors), **(conf or {})}
        self.submission = spark.start(deploy_mode, job, *arguments, conf=settings, more=more, user=user)
        self.application_id = self.submission.application_id()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Lets a job go whose test gave up: its tasks stop waiting, its client ends."""
        self.release()
        self.submission.stop()

    def working(self, containers: int) -> list[dict[str, str]]:
        """Waits until tasks run in that many containers; answers where (``container``, ``folder``, ``tokens``)."""

        def probe() -> list[dict[str, str]] | None:
            places = [json.loads(p.read_text()) for p in self._marker.glob("task-*")]
            distinct = {place["container"]: place for place in places}
            return list(distinct.values()) if len(distinct) >= containers else None

        return wait_for(f"tasks in {containers} containers", probe)

    def forget_markers(self) -> None:
        """So that ``working`` sees only what starts from now on."""
        for marker in self._marker.glob("task-*"):
            marker.unlink()

    def release(self) -> None:
        self._release.touch()

    def result(self) -> Result:
        return self.submission.result()

    def report(self) -> dict[str, Any]:
        """Return what the driver wrote: ``sum``, ``tasks``, ``executors``."""
        content: dict[str, Any] = json.loads(self._report.read_text())
        return content

    def is_right(self) -> bool:
        report = self.report()
        return bool(report["sum"] == sum(range(TASKS)) and report["tasks"] == TASKS)


class ShuffleReadTwice:
    """The job ``stay_behind.py``, which reads a shuffle for the second time when the test says so."""

    def __init__(self, spark: Spark, folder: pathlib.Path, conf: Mapping[str, str]) -> None:
        self._report, self._computed, self._written, self._go = (
            folder / name for name in ("report", "computed", "written", "go")
        )
        self._computed.mkdir(mode=0o777)
        arguments = (PARTS, self._report, self._computed, self._written, self._go)
        self._submission = spark.start("cluster", "stay_behind.py", *arguments, conf=conf)
        self.application_id = self._submission.application_id()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._go.touch()
        self._submission.stop()

    def read_once(self) -> None:
        """Wait for the first reading."""
        wait_for("the first reading", self._written.exists)
        assert len(list(self._computed.iterdir())) == PARTS

    def read_again(self) -> list[str]:
        """Let others read it, to the right end and with nothing computed anew; answer the containers that wrote it."""
        self._go.touch()
        result = self._submission.result()
        assert result.returncode == 0, result.text[-6000:]
        seen = json.loads(self._report.read_text())
        assert seen["first"] == seen["second"] == sum(range(PARTS * NUMBERS_OF_A_PART))
        assert len(list(self._computed.iterdir())) == PARTS, "nothing was computed anew"
        wrote: list[str] = seen["wrote"]
        assert set(wrote).isdisjoint(seen["read"])
        return wrote
