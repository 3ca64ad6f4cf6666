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
    owed = decide_by_pool(scheduler.parts(demands), scheduler.limits, ledger=scheduler.ledger())
    assert not owed.plans, f"wanted and possible, and nobody woke the scheduler: {owed.plans[:3]}"
    assert not owed.increases, f"a larger size is wanted and possible, and nobody woke the scheduler: {owed.increases}"
    assert not owed.take_backs, f"not wanted any more, and nobody woke the scheduler: {owed.take_backs}"
