"""A long session and many submissions leave nothing behind.  ``make soak`` does the same for longer."""

from __future__ import annotations

from pathlib import Path

from tests.simulation.soak import NODE, Look, Soak, containers, soaked, submissions
from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.resource import Resource
from yodel.services.applications.submission import SubmissionLimits

CONTAINERS, FLAT_FROM = 20_000, 5_000
GREATEST_SUBMISSIONS = 48


async def test_twenty_thousand_containers_leave_memory_and_rows_as_five_thousand_did() -> None:
    async with World() as world:
        await world.register_node(NODE, Resource(1_000_000, 1_000))
        looks = await containers(Soak(world, None), CONTAINERS, FLAT_FROM)

    first, last = looks[0], looks[-1]
    assert (first.done, last.done) == (FLAT_FROM, CONTAINERS)
    assert first.in_memory == last.in_memory < 200
    assert (first.rows, first.kept) == (last.rows, last.kept)
    assert last.kept <= 1_000 + 100
    assert first.parsed == last.parsed == 0, "pods are known by their names, no label is read"
    assert abs(last.objects - first.objects) < first.objects * 0.02


def test_killed_submissions_of_the_greatest_size_leave_neither_pages_nor_memory(tmp_path: Path) -> None:
    async def work(soak: Soak) -> tuple[Look, Look]:
        return await submissions(soak, GREATEST_SUBMISSIONS)

    limits = SubmissionLimits(completed_max=GREATEST_SUBMISSIONS)  # the second batch takes the place of the first
    first, second = soaked(tmp_path, work, Options(submission=limits))

    assert second.live_pages <= first.live_pages * 1.1
    assert second.rss_kib <= first.rss_kib * 1.1
