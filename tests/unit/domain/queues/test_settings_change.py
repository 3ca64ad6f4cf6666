from __future__ import annotations

from dataclasses import replace

from yodel.domain.queues.queue import LimitEnforcement, Queue, default_queues, differing, leaves_under_root
from yodel.domain.queues.settings_change import SETTINGS, by_settings
from yodel.domain.scheduler_conf import PREFIX, SchedulerConf


def test_other_queues_in_the_settings_are_one_version_more() -> None:
    present = default_queues()
    changed = differing(present, leaves_under_root(["a"], maximum_lifetime_s=-1, default_lifetime_s=-1))
    made = by_settings(SchedulerConf(version=4), present, changed, 7)
    assert made is not None
    conf, change = made
    assert (conf.version, conf.mapping(), change.version, change.author) == (5, {}, 5, SETTINGS)
    assert f"{PREFIX}root.a.capacity" in change.names


def test_what_no_client_sees_is_no_new_version() -> None:
    present = (Queue(path="root", is_leaf=False), Queue(path="root.default"))
    observed = replace(present[0], enforcement=LimitEnforcement.OBSERVE)
    assert by_settings(SchedulerConf(), present, [observed], 7) is None
    assert by_settings(SchedulerConf(), present, [], 7) is None
