"""Storms draw faults from a seed, and let people and ApplicationMasters change their minds.

A ``Storm`` is what happens to everybody; in a ``BusyStorm`` tasks outlive attempts and are resized, applications are
moved and killed, nodes are told to leave and to come back.  In a ``BindingStorm`` the ResourceManager chooses the
nodes, which are small, and others place pods there too.  In a ``LendingStorm`` what nodes lend comes and goes; in a
``ColocationStorm`` agents say it, and the ResourceManager publishes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from tests.simulation import laws
from tests.simulation.world import (
    BATCH_CPU,
    CORES,
    NODES,
    BoundCluster,
    ColocationCluster,
    LendingCluster,
    MixedCluster,
    WindowCluster,
)
from tests.support.actors import Agent, Cluster, Job, Master
from tests.support.rm_options import NODE_SIZE
from yodel.domain.container_update import UpdateRequest
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId
from yodel.domain.pod import PodObservation
from yodel.domain.queues.queue import Ordering, QueueState
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerUpdateType, NodeState
from yodel.errors import NotFound, Refused, Unavailable
from yodel.pb_convert.times import iso_8601
from yodel.ports.store import OutcomeUnknown
from yodel.services.applications.changes import LIFETIME
from yodel.services.nodes.published import PUT_BACKS_MAX

STORMY_ROUNDS, QUIET_ROUNDS_MAX = 40, 120
JUMPS_S = (-3600, -60, -1, 1, 60, 900)
"""Jumps of the wall clock, which durations must not be measured by."""
PAST_EVENTS_MAX = 50
FILLING_ROUNDS = 8
FITS_WITHIN_S = 30 + 15
"""The notice, and three of the clock's longest steps: to hear of it, to end, and to be gone."""


QUEUE_CHANGES: list[dict[str, Any]] = [
    {
        "state": QueueState.RUNNING,
        "maximum_capacity_percent": 100.0,
        "user_limit_factor": -1.0,
        "am_share": None,
        "ordering": Ordering.FIFO,
    },
    {"state": QueueState.STOPPED},
    {"maximum_capacity_percent": 30.0},
    {"user_limit_factor": 0.5, "minimum_user_limit_percent": 25.0},
    {"am_share": 0.05},
    {"ordering": Ordering.FAIR},
]


class Storm:
    """Draws faults from a seed and lets everybody act in a random order."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, random.Random(seed)
        self._silent: set[int] = set()
        self._past: list[tuple[str, PodObservation]] = []
        self._master_odds, self._task_odds = 0.01, 0.4
        """That a process ends in a round."""
        self.is_on = True
        self.taken = 0
        """Actions so far: what somebody did, what happened, a turn of the clock."""
        cluster.loses_answer = lambda: self.is_on and self._chance(0.1)

    async def round(self) -> None:
        cluster = self._cluster
        if self.is_on:
            self._plan_faults()
        steps = [
            *self._deeds(),
            *(cluster.client_step(job) for job in cluster.jobs),
            *(cluster.agent_step(a) for n, a in enumerate(cluster.nodes) if n not in self._silent),
            *(cluster.master_step(master) for master in list(cluster.masters.values())),
            cluster.settle(),
        ]
        self._random.shuffle(steps)
        for step in steps:
            await cluster.survive(step)
            self._look_at_nodes()
            laws.check(cluster)
        self.taken += len(steps)
        cluster.pods_step()
        self._end_some()
        self.taken += 1
        await cluster.survive(cluster.pass_time(self._random.choice([0.5, 1, 5])))
        laws.check(cluster)

    def _deeds(self) -> list[Coroutine[Any, Any, object]]:
        """Return what else people do in this round."""
        return []

    def _clock_jumped(self) -> None:
        """Somebody set it."""

    def _look_at_nodes(self) -> None:
        """Once a node was gone, more may have been given out than is left."""

    def calm(self) -> None:
        self.is_on = False
        self._silent.clear()
        cluster = self._cluster
        cluster.crash_at_step = None
        for errors in self._errors():
            errors.clear()

    def _plan_faults(self) -> None:
        cluster = self._cluster
        if self._chance(0.15):
            cluster.crash_at_step = len(cluster.steps) + self._random.randrange(12)
        for errors in self._errors():
            if errors is not cluster.lost_answers and self._chance(0.1):
                errors.append(Unavailable("a fault from the seed"))
        for errors in (cluster.commit_errors, cluster.lost_answers):
            if self._chance(0.1):
                errors.append(OutcomeUnknown("an answer that the seed lost"))
        if self._chance(0.03):
            self._silent ^= {self._random.randrange(NODES)}
        if self._chance(0.1) and cluster.pods.pods:
            cluster.pods.remove(self._random.choice(sorted(cluster.pods.pods)))
        if self._chance(0.1):
            cluster.relist()
        if self._chance(0.05):
            cluster.clock.skew_ms += self._random.choice(JUMPS_S) * 1000
            self._clock_jumped()
        self._muddle(cluster.pods.events)

    def _errors(self) -> list[list[Exception]]:
        """Return the lists of what the next calls of each kind fail with."""
        cluster = self._cluster
        calls = [cluster.pods.create_errors, cluster.pods.delete_errors, cluster.agents.errors]
        return [cluster.commit_errors, cluster.lost_answers, cluster.silences, *calls]

    def _muddle(self, events: list[tuple[str, PodObservation]]) -> None:
        """The watch is a hint: what it tells is lost, told twice, and told in another order."""
        self._past = [*self._past, *events][-PAST_EVENTS_MAX:]
        if self._chance(0.1) and events:
            del events[0]
        if self._chance(0.1) and self._past:
            events.insert(self._random.randrange(len(events) + 1), self._random.choice(self._past))
        if self._chance(0.2):
            self._random.shuffle(events)

    def _end_some(self) -> None:
        """Processes end by themselves: tasks mostly well, ApplicationMasters now and then badly."""
        masters = {master.container_id for master in self._cluster.masters.values()}
        for agent in self._cluster.nodes:
            for container_id, status in list(agent.containers.items()):
                if status is None and self._ends(container_id in masters):
                    self._cluster.end(agent, container_id, self._status(agent, container_id, masters))

    def _ends(self, is_master: bool) -> bool:
        return self.is_on and self._chance(self._master_odds) if is_master else self._chance(self._task_odds)

    def _status(self, agent: Agent, container_id: ContainerId, masters: set[ContainerId]) -> int:
        return 1 if container_id in masters or (self.is_on and self._chance(0.2)) else 0

    def _chance(self, odds: float) -> bool:
        return self._random.random() < odds


class BindingStorm(Storm):
    """Others come and go on the nodes, unheard of for a while."""

    def __init__(self, cluster: BoundCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._bound_cluster = cluster
        cluster.refuses = lambda: self.is_on and self._chance(0.3)

    def calm(self) -> None:
        super().calm()
        self._bound_cluster.others.clear()

    def _deeds(self) -> list[Coroutine[Any, Any, object]]:
        if self.is_on and self._chance(0.3):
            host = self._random.choice(self._bound_cluster.kube_nodes).name
            self._bound_cluster.others[host] = self._random.randrange(CORES + 1)
        return []


class WindowStorm(Storm):
    """Windows are looked for every half minute, and a clock that jumps is seen then."""

    def __init__(self, cluster: WindowCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._window_cluster = cluster

    def _clock_jumped(self) -> None:
        cluster = self._window_cluster
        cluster.held_at_night = cluster.at_night()
        cluster.rm.window_edges.look()


class ColocationStorm(Storm):
    """Loans rise, fall, jump and are old news; agents fall silent; others write, and nodes are made anew."""

    def __init__(self, cluster: ColocationCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._lenders, self._written = cluster, Counter[str]()

    def calm(self) -> None:
        super().calm()
        lenders = self._lenders
        lenders.cores, lenders.age_ms = dict.fromkeys(lenders.cores, NODE_SIZE.vcores), dict.fromkeys(lenders.cores, 0)
        lenders.silent.clear()

    def _errors(self) -> list[list[Exception]]:
        return [*super()._errors(), self._lenders.statuses.errors]

    def _deeds(self) -> list[Coroutine[Any, Any, object]]:
        lenders = self._lenders
        host = self._random.choice(sorted(lenders.cores))
        if self.is_on and self._chance(0.6):
            lenders.cores[host] = self._random.choice([0, 1, 2, 3, 5, 16])
        if self.is_on and self._chance(0.1):
            lenders.age_ms[host] = self._random.choice([0, 0, 31_000, 181_000])
        if self.is_on and self._chance(0.05):
            lenders.silent ^= {host}
        if self.is_on and self._chance(0.05) and self._written[host] < PUT_BACKS_MAX:
            self._written[host] += 1
            lenders.statuses.write(host, {BATCH_CPU: self._random.choice([0, 7, None])}, "somebody")
        if self.is_on and self._chance(0.02):
            lenders.statuses.put(host, uid=f"made anew in {self.taken}")
        return []


class ShrinkingStorm(ColocationStorm):
    """Tasks go on until they are asked to end: what is held is the scheduler's, and what is lent comes and goes."""

    def __init__(self, cluster: ColocationCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._task_odds = 0.0

    async def shrink(self) -> float | None:
        """All nodes are filled and one shrinks: how long, in seconds, until what pods ask for there fits again; None:
        nothing was to go."""
        lenders = self._lenders
        for _ in range(FILLING_ROUNDS):
            await self.round()
        host = max(sorted(lenders.cores), key=lenders.asked_for)
        held = lenders.asked_for(host) // 1024
        if not held:
            return None
        lenders.cores[host] = self._random.randrange(held)
        began_s = lenders.clock.monotonic_s()
        while lenders.asked_for(host) > lenders.cores[host] * 1024:
            await self.round()
            assert lenders.clock.monotonic_s() - began_s <= FITS_WITHIN_S, f"{host} does not fit"
        lenders.cores[host] = NODE_SIZE.vcores
        return lenders.clock.monotonic_s() - began_s

    def let_end(self) -> None:
        self._task_odds = 0.4


class LendingStorm(Storm):
    """An engine lends and takes back as it likes, also what is held."""

    def __init__(self, cluster: LendingCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._lending_cluster = cluster

    def calm(self) -> None:
        super().calm()
        self._lending_cluster.lent = dict.fromkeys(self._lending_cluster.lent, NODE_SIZE)

    def _deeds(self) -> list[Coroutine[Any, Any, object]]:
        if not self.is_on or not self._chance(0.5):
            return []
        host = self._random.choice(sorted(self._lending_cluster.lent))
        return [self._publish(host, self._random.choice([0, 0, 1, 3, 16]), self._random.choice([0, 2, 16]))]

    async def _publish(self, host: str, gib: int, cores: int) -> None:
        self._lending_cluster.publish(host, Resource(gib * 1024, cores))


class MixedStorm(Storm):
    """The NodeManager starts again without recovery, now and then."""

    def __init__(self, cluster: MixedCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._mixed = cluster

    def _plan_faults(self) -> None:
        super()._plan_faults()
        if self._chance(0.03):
            self._mixed.forget_containers()


class BusyStorm(Storm):
    """Decrees of people and wishes of ApplicationMasters on top."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._master_odds, self._task_odds = 0.04, 0.1
        cluster.wants = self._wants
        cluster.passes_on = lambda: not self.is_on or self._chance(0.6)

    async def calm_down(self) -> None:
        """All nodes may come back; nobody wishes anything more."""
        self._task_odds = 0.4
        self.calm()
        await self._cluster.survive(self._open_queues())
        await self._cluster.survive(self._refresh(HostLists()))

    def _deeds(self) -> list[Coroutine[Any, Any, object]]:
        if not self.is_on:
            return []
        cluster = self._cluster
        deeds = [self._decree(job) for job in cluster.jobs if job.acknowledged and self._chance(0.2)]
        if self._chance(0.1):
            hosts = [agent.node_id.host for agent in cluster.nodes if self._chance(0.3)]
            timeout_s = self._random.choice([-1, 5, 30])
            deeds.append(self._refresh(HostLists(excluded=dict.fromkeys(hosts)), self._chance(0.7), timeout_s))
        if self._chance(0.03):
            deeds.append(self._expel())
        if self._chance(0.1):
            deeds.append(self._change_queue())
        return deeds

    async def _change_queue(self) -> None:
        """yarn rmadmin -refreshQueues: one is stopped or opened, or its share is changed."""
        queue = self._random.choice([q for q in self._cluster.rm.state.queues.values() if q.is_leaf])
        changed = replace(queue, **self._random.choice(QUEUE_CHANGES))
        try:
            await self._cluster.run(self._cluster.rm.engine.do(lambda tx: tx.queues.rows.append(changed)))
        except Unavailable:
            return

    async def _decree(self, job: Job) -> None:
        """Somebody changes an application; what is answered has to stay so."""
        rm, application_id = self._cluster.rm, job.application_id
        assert application_id is not None
        kind = self._random.choice(["queue", "queue", "priority", "expires_ms", "kill", "fail"])
        expected = job.agreed.pop(kind, None)  # unknown until it is answered
        try:
            if kind == "queue":
                target = self._random.choice(["default", "root.other"])
                job.agreed[kind] = await self._cluster.run(rm.changes.move(application_id, "alice", target))
            elif kind == "priority":
                priority = self._random.randrange(12)
                job.agreed[kind] = await self._cluster.run(rm.changes.set_priority(application_id, "alice", priority))
            elif kind == "expires_ms":
                expires_ms = self._cluster.clock.now_ms() + self._random.choice([20_000, 10_000_000])
                wanted = {LIFETIME: iso_8601(expires_ms)}
                is_active = not self._cluster.application(application_id).state.is_final
                await self._cluster.run(rm.changes.set_timeouts(application_id, "alice", wanted))
                if is_active and self._cluster.application(application_id).expires_ms == expires_ms:
                    job.agreed[kind] = expires_ms
            elif kind == "kill" and self._chance(0.1):
                await self._cluster.run(rm.submission.kill(application_id, "alice"))
            elif kind == "fail" and self._chance(0.3):
                attempt_id = self._cluster.application(application_id).current_attempt_id
                await self._cluster.run(rm.submission.fail_attempt(attempt_id, "alice"))
        except Refused:
            if expected is not None:
                job.agreed[kind] = expected
        except (Unavailable, NotFound):
            return

    async def _open_queues(self) -> None:
        whole = [replace(q, **QUEUE_CHANGES[0]) for q in self._cluster.rm.state.queues.values() if q.is_leaf]
        await self._cluster.run(self._cluster.rm.engine.do(lambda tx: tx.queues.rows.extend(whole)))

    async def _refresh(self, lists: HostLists, is_graceful: bool = True, timeout_s: int = 30) -> None:
        """yarn rmadmin -refreshNodes."""
        while True:
            try:
                decommission = self._cluster.rm.decommission
                await self._cluster.run(decommission.refresh(lists, is_graceful=is_graceful, timeout_s=timeout_s))
            except Unavailable:
                if self.is_on:
                    return
            else:
                return

    async def _expel(self) -> None:
        try:
            await self._cluster.run(self._cluster.rm.decommission.refresh_forcefully())
        except Unavailable:
            return

    def _look_at_nodes(self) -> None:
        nodes = self._cluster.rm.state.nodes.values()
        self._cluster.has_shrunk |= any(node.state is not NodeState.RUNNING for node in nodes)

    def _wants(self, master: Master) -> list[UpdateRequest]:
        state = self._cluster.rm.state
        if not self.is_on or not self._chance(0.5):
            return []
        held = [c for i in sorted(master.granted - master.ended.keys()) if (c := state.containers.get(i)) is not None]
        wanted = []
        for container in held:
            memory_mib = self._random.choice([1024, 1024, 2048, 3072, 4096, 9000])
            grows = memory_mib > container.capability.memory_mib
            kind = ContainerUpdateType.INCREASE_RESOURCE if grows else ContainerUpdateType.DECREASE_RESOURCE
            version = container.version if self._chance(0.9) else container.version + self._random.choice([-1, 1])
            capability = Resource(memory_mib, 1)
            wanted.append(UpdateRequest(container_id=container.id, version=version, type=kind, capability=capability))
        return wanted


async def rage(storm: Storm) -> None:
    for _ in range(STORMY_ROUNDS):
        await storm.round()


async def come_to_rest(cluster: Cluster, storm: Storm, look: Callable[[int], None] = lambda _: None) -> None:
    """Quiet rounds until every application has ended, each shown to ``look`` by its number; then what is left."""
    cluster.relist()
    for number in range(QUIET_ROUNDS_MAX):
        await storm.round()
        look(number)
        if all(j.application_id and cluster.application(j.application_id).state.is_final for j in cluster.jobs):
            break
    for _ in range(3):
        await cluster.pass_time(700)
        await storm.round()
    laws.check(cluster)
    laws.check_at_rest(cluster)
