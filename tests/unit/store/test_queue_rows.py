from __future__ import annotations

from yodel.domain.queues.queue import Queue
from yodel.domain.queues.user_weights import NO_WEIGHTS, below, weights_of
from yodel.domain.queues.window import Window
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.store import queue_rows, tables


def test_queue_that_says_nothing_of_who_may_is_told_from_one_that_says_nobody() -> None:
    for queue in (Queue(path="root.a"), Queue(path="root.a", submit_acl="", administer_acl=" ")):
        assert queue_rows.queue_from(queue_rows.queue_values(queue)) == queue


def test_windows_are_kept_with_their_queue() -> None:
    office = Window(name="office", cron="0 8 * * 1-5", zone="Europe/Berlin", duration_s=36_000, maximum_percent=40.0)
    night = Window(name="night", cron="@daily", duration_s=60, maximum_percent=0.5, stop_new_before_s=1, stages=0)
    queue = Queue(path="root.a", windows=(office, night))
    assert queue_rows.queue_from(queue_rows.queue_values(queue)) == queue


def test_words_on_shuffle_are_kept_with_their_queue() -> None:
    queue = Queue(path="root.a", shuffle=(ShuffleProperty("service", "spark-decommission", "root"),))
    assert queue_rows.queue_from(queue_rows.queue_values(queue)) == queue


def test_configuration_is_one_row() -> None:
    conf = SchedulerConf(version=7, properties=(SchedulerProperty("a", "1"), SchedulerProperty("b", "")))
    values = queue_rows.scheduler_conf_values(conf)
    assert values["id"] == tables.IDENTITY_ROW
    assert queue_rows.scheduler_conf_from(values) == conf


def test_row_has_a_queues_own_weights_and_those_from_above_are_linked() -> None:
    top = below(NO_WEIGHTS, [(f"u{number}", 2.0) for number in range(100)])
    middle = below(top, ())
    tree = [
        Queue(path="root.a.b", user_weights=below(middle, [("bob", 0.5)])),
        Queue(path="root.a.c", user_weights=below(middle, ())),
        Queue(path="root.a", is_leaf=False, user_weights=middle),
        Queue(path="root", is_leaf=False, user_weights=top),
        Queue(path="root.z", user_weights=(("al", 1.5),)),
    ]
    values = {queue.path: queue_rows.queue_values(queue) for queue in tree}
    assert values["root.a.b"]["limits"] == {"user_weights": [["bob", 0.5]], "inherits_user_weights": True}
    assert values["root.a.c"]["limits"] == {"inherits_user_weights": True}
    assert values["root.z"]["limits"] == {"user_weights": [["al", 1.5]]}
    found = {queue.path: queue for queue in queue_rows.linked(map(queue_rows.queue_from, values.values()))}
    assert found == {queue.path: queue for queue in tree}
    tables = [weights_of(found[path].user_weights) for path in ("root", "root.a", "root.a.c")]
    assert tables[1].above is tables[0]
    assert tables[2].above is tables[1]
