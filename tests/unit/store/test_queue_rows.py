from __future__ import annotations

from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.store import queue_rows, tables


def test_queue_that_says_nothing_of_who_may_is_told_from_one_that_says_nobody() -> None:
    for queue in (Queue(path="root.a"), Queue(path="root.a", submit_acl="", administer_acl=" ")):
        assert queue_rows.queue_from(queue_rows.queue_values(queue)) == queue


def test_configuration_is_one_row() -> None:
    conf = SchedulerConf(version=7, properties=(SchedulerProperty("a", "1"), SchedulerProperty("b", "")))
    values = queue_rows.scheduler_conf_values(conf)
    assert values["id"] == tables.IDENTITY_ROW
    assert queue_rows.scheduler_conf_from(values) == conf
