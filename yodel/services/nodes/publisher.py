"""Publishes in the status of Kubernetes nodes what their agents report, as it is judged (``judgement``).

It follows the facts of nodes and judges each that changed.  One task writes, what shrinks before what grows.  It
refuses to write before it has seen what a node's pods ask for, and where somebody else publishes (``published``).
After a start nothing is granted on a node before its agent has reported and its pods were listed; what was published
before stays meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.node import Node
from yodel.errors import Refused, Unavailable
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeStatuses
from yodel.ports.store import Row
from yodel.services.nodes.facts import Change, Facts, NodeFacts
from yodel.services.nodes.judgement import SILENT_S, Around, Terms, judge, silence_of
from yodel.services.nodes.published import Published
from yodel.services.writer.changes import Changes
from yodel.services.writer.state import ClusterState
from yodel.translator.pools import PoolRules

LOOK_S = 1.0
AT_ONCE = 10
PAUSE_S = 0.5
"""Between two rounds of at most ``AT_ONCE`` patches: twenty a second, and 40 changes within the two seconds."""
GROWTH_WAITS_S = 15.0
"""As long as others shrink."""
RETRY_S = 5.0
"""After a patch that failed."""
log = structlog.get_logger("yodel.colocation")


class Publisher:
    """One task.  ``held_on`` tells what the pods of a node ask for, thousandths by resource name, and None before they
    were listed; ``see_holdings`` asks for that listing."""

    def __init__(
        self,
        facts: Facts,
        state: ClusterState,
        clock: Clock,
        statuses: NodeStatuses,
        held_on: Callable[[str], Mapping[str, int] | None],
        see_holdings: Callable[[], None],
    ) -> None:
        self._facts, self._state, self._clock, self._statuses = facts, state, clock, statuses
        self._held_on, self._see_holdings = held_on, see_holdings
        self.patches = 0
        self._due: dict[str, float] = {}
        """Nodes whose status is to be written, each with the time since when."""
        self._touched: dict[str, None] = {}
        """Nodes to be judged at the next look."""
        self._woken = asyncio.Event()
        self._started_s = clock.monotonic_s()
        self._has_waited = False
        self._next_s = 0.0

    # --- what changes ----------------------------------------------------------------------------------------------

    def use(self, colocation: ColocationSwitch, rules: PoolRules) -> None:
        """Use these terms from now on."""
        terms = Terms.of(colocation, rules)
        if terms == self._facts.terms:
            return
        self._state.intakes.lend(terms.pools)
        if terms.measures is not None:
            self._see_holdings()
        self._facts.use(terms)

    def seen(self, changes: Changes) -> None:
        """Judge the nodes that were seen.  Those who count by a node are notified after that anyway."""
        for name in changes.nodes:
            facts = self._facts.of(name)
            if facts is None or facts.published is None:
                self._due.pop(name, None)
                self._state.intakes.drop(name)
                continue
            if not self._facts.terms.names and facts.published.ours:
                self._see_holdings()  # of an earlier life: they go with their pods
            self._judge(facts, facts.published)

    def told(self, changes: Changes) -> None:
        """Judge changed nodes again, and report changes in what queues may use."""
        for name in changes.nodes:
            facts = self._facts.of(name)
            if facts is not None and facts.published is not None:
                before = facts.judgement.counted
                self._judge(facts, facts.published)
                if facts.judgement.counted != before:
                    self._facts.tell(Change.COUNTED, (name,))

    def held_changed(self, name: str) -> None:
        """The pods of a node ask for more, or less."""
        facts = self._facts.of(name)
        if facts is not None and (self._facts.terms.names or facts.judgement.counted):
            self._touched[name] = None
            self._woken.set()

    def committed(self, rows: Sequence[Row]) -> None:
        """A node that is lost or leaves lends nothing new."""
        for row in rows:
            if isinstance(row, Node):
                self.held_changed(row.kubernetes_node_name)

    # --- what runs -------------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Something is to be judged or written now."""
        now_s = self._clock.monotonic_s()
        return bool(self._touched) or (now_s >= self._next_s and bool(self._ready(now_s)))

    async def run(self) -> None:
        while True:
            now_s = self._clock.monotonic_s()
            left_s = self._next_s - now_s if self._ready(now_s) else LOOK_S
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_S, max(0.001, left_s))):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self.round()
            except Exception as error:  # a bug in a round: what is published stays, and all that runs goes on
                log.error("publishing failed unexpectedly, will retry", exc_info=error)
                await asyncio.sleep(LOOK_S)

    async def round(self) -> None:
        """Look at what has changed, and write some of what is due."""
        self.look()
        now_s = self._clock.monotonic_s()
        ready = self._ready(now_s)
        if not ready or now_s < self._next_s:
            return
        self._next_s = now_s + PAUSE_S
        some = sorted(ready, key=lambda one: self._turn(one[0], one[1], now_s))[:AT_ONCE]
        await asyncio.gather(*(self._write(*one) for one in some))

    def look(self) -> None:
        """Judge what was told, and who has fallen silent."""
        now_s = self._clock.monotonic_s()
        for facts in self._facts.all():
            if facts.declared is not None and now_s >= facts.declared.until_s:  # its agent went silent in it
                facts.declared = None
                self._touched[facts.name] = None
            if facts.said is not None and facts.judgement.silence != silence_of(facts.said, now_s):
                self._touched[facts.name] = None
        if not self._has_waited and now_s - self._started_s >= SILENT_S:
            self._has_waited = True
            self._touched.update(dict.fromkeys(facts.name for facts in self._facts.all()))
        touched, self._touched = self._touched, {}
        self.told(Changes(nodes=touched))

    async def _write(self, facts: NodeFacts, published: Published) -> None:
        wanted = facts.judgement.changes
        if wanted is None:  # the watch has just shown that it is there
            return
        published.is_writing = True
        try:
            version = await self._statuses.publish(facts.name, wanted)
        except (Refused, Unavailable) as error:
            published.problem, published.not_before_s = str(error), self._clock.monotonic_s() + RETRY_S
            self.told(Changes(nodes=(facts.name,)))
            log.warning("node status not published", node=facts.name, error=str(error))
            return
        finally:
            published.is_writing = False
        self.patches += 1
        self._due.pop(facts.name, None)
        if version:
            published.note_written(wanted, version)
            log.debug("node status published", node=facts.name, amounts=dict(wanted))
        published.see(published.observed, self._facts.terms.names, self._clock.monotonic_s())
        self.told(Changes(nodes=(facts.name,)))

    def _ready(self, now_s: float) -> list[tuple[NodeFacts, Published]]:
        found = (self._facts.of(name) for name in self._due)
        ready = ((facts, facts.published) for facts in found if facts is not None and facts.published is not None)
        return [one for one in ready if now_s >= one[1].not_before_s]

    def _turn(self, facts: NodeFacts, published: Published, now_s: float) -> tuple[bool, float]:
        """Write what shrinks before what grows, unless that has waited for long: it has its turn at some time."""
        since_s = self._due[facts.name]
        is_first = now_s - since_s >= GROWTH_WAITS_S or _shrinks(facts, published)
        return not is_first, since_s

    # --- judging ---------------------------------------------------------------------------------------------------

    def _judge(self, facts: NodeFacts, published: Published) -> None:
        around = Around(
            row=self._state.node_index.speaker(facts.name),
            held=self._held_on(facts.name),
            is_early=not self._has_waited,
            now_s=self._clock.monotonic_s(),
        )
        try:
            facts.judgement = judge(facts, published, around, self._facts.terms)
        except Exception as error:  # a bug costs this node: what was judged before stays
            log.error("lent capacity of node not judged", node=facts.name, exc_info=error)
        if facts.judgement.changes is not None:
            self._due.setdefault(facts.name, around.now_s)
            self._woken.set()
        else:
            self._due.pop(facts.name, None)
            published.problem = ""
        self._state.intakes.judge(facts.name, facts.judgement.intakes(self._facts.terms, published))


def _shrinks(facts: NodeFacts, published: Published) -> bool:
    changes = facts.judgement.changes or {}
    return any((amount or 0) < (published.present(name) or 0) for name, amount in changes.items())
