from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import FakePods
from tests.support.rm_options import POD_SETTINGS
from yodel.errors import Refused, Unavailable
from yodel.services.nodes.pod_trials import TrialResult, drawing_on, require_giving_way, tried
from yodel.translator.dialects import dialect
from yodel.translator.profiles import PodProfiles

BATCH = replace(POD_SETTINGS, dialect=dialect("koordinator"))
RECLAIMED = replace(POD_SETTINGS, dialect=dialect("katalyst"))


@pytest.fixture
def pods() -> FakePods:
    return FakePods(lambda _: None)


async def test_batch_below_the_default_class_is_fine(pods: FakePods) -> None:
    assert await tried(pods, [BATCH]) == TrialResult()
    assert await tried(pods, []) == TrialResult()
    assert await require_giving_way(pods, [BATCH]) == ()


async def test_pods_without_a_class_are_no_batch(pods: FakePods) -> None:
    found = await tried(pods, [BATCH, RECLAIMED])
    assert found.not_below == (
        "batch pods without a PriorityClass: priority 0 is not below 0, that of pods without a PriorityClass",
    )


@pytest.mark.parametrize("below", [-201, -200])
async def test_a_default_class_below_batch_is_found(pods: FakePods, below: int) -> None:
    pods.classes[""] = below
    (words,) = (await tried(pods, [BATCH])).not_below
    assert f"PriorityClass koord-batch of batch pods: priority -200 is not below {below}" in words


@pytest.mark.parametrize(
    ("words", "is_missing"),
    [
        ("no PriorityClass with name koord-batch was found", True),
        ('error looking up service account yodel/x: serviceaccount "x" not found', True),
        ('pod rejected: RuntimeClass "gvisor" not found', True),
        ("exceeded quota: all, requested: pods=1, used: pods=9, limited: pods=9", False),
        ("maximum memory usage per Container is 1Mi", False),
        ('admission webhook "w" denied the request: no', False),
        ('cannot create resource "pods" in API group ""', False),
    ],
)
async def test_what_is_missing_is_told_from_what_may_pass(pods: FakePods, words: str, is_missing: bool) -> None:
    pods.try_errors = [Refused(f'Dry run of a pod: pods "a" is forbidden: {words}')] * 2
    found = await tried(pods, [BATCH])
    assert (found.missing, found.untold) == (((words,), ()) if is_missing else ((), (words,)))
    pods.try_errors = [Refused(words)]
    if is_missing:
        with pytest.raises(Refused, match=f"yodel.colocation.enabled cannot be true: {words}$"):
            await require_giving_way(pods, [BATCH])
    else:
        (warning,) = await require_giving_way(pods, [BATCH])
        assert warning.endswith(f"before services: {words}")


async def test_a_webhook_that_takes_no_dry_run_tells_nothing(pods: FakePods) -> None:
    """Not of the batch pod, and not of the other."""
    words = 'admission webhook "w" does not support dry run'
    pods.try_errors = [Refused(words)]
    assert (await tried(pods, [BATCH])).untold == (words,)

    async def of_batch_only(manifest: object) -> int:
        pods.priority_of = of_others  # type: ignore[method-assign]
        return 5500

    async def of_others(manifest: object) -> int:
        raise Refused(words)

    pods.priority_of = of_batch_only  # type: ignore[method-assign,assignment]
    assert await tried(pods, [BATCH]) == TrialResult(untold=(words,))


async def test_an_api_server_without_priorities_or_without_an_answer_tells_nothing(pods: FakePods) -> None:
    pods.try_errors = [Unavailable("no answer")]
    assert (await tried(pods, [BATCH, RECLAIMED])).untold == ("no answer",)
    assert not pods.try_errors, "asked once"

    async def none(manifest: object) -> None:
        return None

    pods.priority_of = none  # type: ignore[method-assign,assignment]
    assert (await tried(pods, [BATCH])).untold == ("the API server assigns no priority to pods",)


async def test_what_is_as_it_was_is_not_tried(pods: FakePods) -> None:
    pods.classes = {"": 0, "koord-batch": 9}
    assert await tried(pods, [BATCH], known=[BATCH]) == TrialResult()
    changed = replace(BATCH, image="another:1")
    assert (await tried(pods, [changed], known=[BATCH])).not_below


def test_queues_of_other_pools_are_left_alone() -> None:
    profiles = PodProfiles(default=POD_SETTINGS, by_queue={"root.a": BATCH}, by_child={"root.b": RECLAIMED})
    assert drawing_on(profiles, BATCH.dialect.measures) == [BATCH]
