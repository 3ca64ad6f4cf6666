"""Laws of a ResourceManager at rest.  ``World.settle`` looks at them whenever nothing is left to do: in every storm and
in every playbook, so that no test has to think of them.
"""

from __future__ import annotations

from yodel.domain.allocation.by_pool import decide_by_pool
from yodel.services.scheduling.scheduler import Scheduler


def check_nothing_is_owed(scheduler: Scheduler) -> None:
    """Wanted, possible and nothing under way: planned within one round.  Whoever changes what a decision reads wakes
    the decision, so that one made now, of which nobody thought, finds nothing to do."""
    demands = scheduler.demands()
    ledger = scheduler.ledger()
    owed = decide_by_pool(scheduler.parts(demands), scheduler.limits, ledger=ledger)
    assert not owed.plans, f"wanted and possible, and nobody woke the scheduler: {owed.plans[:3]}"
    assert not owed.increases, f"a larger size is wanted and possible, and nobody woke the scheduler: {owed.increases}"
    assert not owed.take_backs, f"not wanted any more, and nobody woke the scheduler: {owed.take_backs}"
    if ledger is None:
        return
    # Rounds look at what has changed; one that looks at all finds the same.
    kept, changed_applications = scheduler.kept_demands, scheduler.changed_applications
    wanted = {demand.attempt_id: demand for demand in demands}
    for attempt_id in kept.keys() | wanted.keys():
        is_same = kept.get(attempt_id) == wanted.get(attempt_id)
        is_said = attempt_id.application_id in changed_applications
        assert is_same or is_said, f"{attempt_id} wants something else, and nobody said so"
    if not changed_applications:
        waiting = {attempt_id: scheduler.waiting.of(attempt_id) for attempt_id in scheduler.waiting}
        assert waiting == owed.waiting, "what waits is not what a look at all finds"
