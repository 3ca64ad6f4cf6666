from __future__ import annotations

from dataclasses import replace

from tests.support.rm_options import POD_SETTINGS
from yodel.translator.dialects import dialect
from yodel.translator.trial_pods import class_of, trial_pods, without_class

BATCH = replace(POD_SETTINGS, dialect=dialect("koordinator"))
OWN = replace(BATCH, priority_class_am="yodel-am", priority_class_task="yodel-task")


def classes(*profiles: object) -> list[str]:
    return [class_of(pod) for pod in trial_pods(profiles).values()]  # type: ignore[arg-type]


def test_pods_that_differ_in_nothing_but_their_role_are_one_trial() -> None:
    assert classes(POD_SETTINGS) == [""]
    assert classes(BATCH, replace(BATCH)) == ["koord-batch"]
    assert classes(OWN) == ["yodel-am", "yodel-task"]
    assert classes(POD_SETTINGS, BATCH, OWN) == ["", "koord-batch", "yodel-am", "yodel-task"]


def test_whatever_else_a_queue_says_of_its_pods_is_tried() -> None:
    template = {"spec": {"runtimeClassName": "gvisor"}}
    templated = replace(BATCH, template=template)
    assert classes(BATCH, templated) == ["koord-batch"] * 2
    (pod,) = trial_pods([templated]).values()
    assert pod["spec"]["runtimeClassName"] == "gvisor"


def test_a_pod_of_anybodys_has_no_class_and_no_mark_of_an_engine() -> None:
    (pod,) = trial_pods([BATCH]).values()
    assert pod["metadata"]["labels"]["koordinator.sh/qosClass"] == "BE"
    plain = without_class(pod)
    assert class_of(plain) == ""
    assert plain["metadata"].keys() == {"name", "namespace"}
    assert plain["spec"]["containers"] == pod["spec"]["containers"]
