"""Many ApplicationMasters on fake Kubernetes and fake time, with faults between any two steps, from a seed.

A failing seed is a complete report: put it into ``KEPT_SEEDS`` with the bug's name and mend the bug.
"""

from __future__ import annotations

import random

import pytest

from tests.support.actors import Agent, Cluster, Job
from tests.support.playbook import Options
from yodel.domain.ids import ContainerId
from yodel.errors import Unavailable
from yodel.services.liveness import LivenessSettings

SEEDS = range(40)
KEPT_SEEDS = {1133: "a container that could not be given back at a restart was granted on top of its replacement"}
JOBS, NODES = 5, 3
STORMY_ROUNDS, QUIET_ROUNDS_MAX = 40, 120
OPTIONS = Options(liveness=LivenessSettings(am_expiry_s=120, node_expiry_s=60, container_expiry_s=90))


class Storm:
    """Draws faults from a seed and lets everybody act in a random order."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, random.Random(seed)
        self._silent: set[int] = set()
        self.is_on = True
        cluster.loses_answer = lambda: self.is_on and self._chance(0.1)

    async def round(self) -> None:
        cluster = self._cluster
        if self.is_on:
            self._plan_faults()
        steps = [
            *(cluster.client_step(job) for job in cluster.jobs),
            *(cluster.agent_step(a) for n, a in enumerate(cluster.nodes) if n not in self._silent),
            *(cluster.master_step(master) for master in list(cluster.masters.values())),
            cluster.settle(),
        ]
        self._random.shuffle(steps)
        for step in steps:
            await cluster.survive(step)
            cluster.check()
        cluster.pods_step()
        self._end_some()
        await cluster.survive(cluster.pass_time(self._random.choice([0.5, 1, 5])))
        cluster.check()

    def calm(self) -> None:
        self.is_on = False
        self._silent.clear()
        cluster = self._cluster
        cluster.crash_at_step = None
        for errors in (cluster.commit_errors, cluster.pods.create_errors, cluster.pods.delete_errors):
            errors.clear()
        cluster.agents.errors.clear()

    def _plan_faults(self) -> None:
        cluster = self._cluster
        if self._chance(0.15):
            cluster.crash_at_step = len(cluster.steps) + self._random.randrange(12)
        for errors, odds in (
            (cluster.commit_errors, 0.1),
            (cluster.pods.create_errors, 0.1),
            (cluster.pods.delete_errors, 0.1),
            (cluster.agents.errors, 0.05),
        ):
            if self._chance(odds):
                errors.append(Unavailable("a fault from the seed"))
        if self._chance(0.03):
            self._silent ^= {self._random.randrange(NODES)}
        if self._chance(0.1) and cluster.pods.pods:
            cluster.pods.remove(self._random.choice(sorted(cluster.pods.pods)))
        if self._chance(0.1) and cluster.pods.events:
            del cluster.pods.events[0]  # the watch is a hint
        if self._chance(0.1):
            cluster.relist()

    def _end_some(self) -> None:
        """Processes end by themselves: tasks mostly well, ApplicationMasters now and then badly."""
        masters = {master.container_id for master in self._cluster.masters.values()}
        for agent in self._cluster.nodes:
            for container_id, status in list(agent.containers.items()):
                if status is None and self._ends(container_id in masters):
                    self._cluster.end(agent, container_id, self._status(agent, container_id, masters))

    def _ends(self, is_master: bool) -> bool:
        return self.is_on and self._chance(0.01) if is_master else self._chance(0.4)

    def _status(self, agent: Agent, container_id: ContainerId, masters: set[ContainerId]) -> int:
        return 1 if container_id in masters or (self.is_on and self._chance(0.2)) else 0

    def _chance(self, odds: float) -> bool:
        return self._random.random() < odds


@pytest.mark.parametrize("seed", [*SEEDS, *KEPT_SEEDS])
async def test_nothing_is_lost_or_done_twice_in_a_storm(seed: int) -> None:
    async with Cluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, OPTIONS) as cluster:
        storm = Storm(cluster, seed)
        for _ in range(STORMY_ROUNDS):
            await storm.round()
        storm.calm()
        cluster.relist()
        for _ in range(QUIET_ROUNDS_MAX):
            await storm.round()
            if all(j.application_id and cluster.application(j.application_id).state.is_final for j in cluster.jobs):
                break
        for _ in range(3):
            await cluster.pass_time(700)
            await storm.round()
        cluster.check()
        cluster.check_at_rest()
