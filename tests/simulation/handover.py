"""A storm over two ResourceManagers: they are stopped, cut off, slow and replaced, in any order, while people change
their minds.  Callers reach whichever of the two they are connected to.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulation import laws
from tests.simulation.actions import BusyStorm
from tests.simulation.pair import PairCluster, Process
from yodel.store.errors import LeadLost

Call = Callable[[], Coroutine[Any, Any, object]]


class PairStorm(BusyStorm):
    def __init__(self, cluster: PairCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self._pair = cluster

    async def round(self) -> None:
        pair = self._pair
        if self.is_on:
            self._plan_faults()
            await self._trouble()
        calls: list[Call] = [
            *(lambda job=job: pair.client_step(job) for job in pair.jobs),  # type: ignore[misc]
            *(lambda a=a: pair.agent_step(a) for n, a in enumerate(pair.nodes) if n not in self._silent),  # type: ignore[misc]
            *(lambda m=m: pair.master_step(m) for m in list(pair.masters.values())),  # type: ignore[misc]
        ]
        deeds = self._deeds()
        calls += [lambda deed=deed: deed for deed in deeds]  # type: ignore[misc]
        turns: list[Callable[[], Coroutine[Any, Any, object]]] = [
            *(lambda call=call: self._call(call) for call in calls),  # type: ignore[misc]
            *(lambda: self._work() for _ in range(2)),
            *(lambda n=n: self._beside(n) for n in range(2)),  # type: ignore[misc]
        ]
        self._random.shuffle(turns)
        for turn in turns:
            await turn()
            self._look()
        for deed in deeds:
            deed.close()  # whom nobody answered
        self.taken += len(turns)
        if pair.up():
            pair.pods_step()
            self._end_some()
        await pair.pass_time(self._random.choice([0.5, 1, 5]))
        self._look()
        if not self.is_on:
            await self.led()

    async def _trouble(self) -> None:
        if self._pair.late and self._chance(0.3):
            await self._pair.arrive_late()
        for process in [*self._pair.processes]:
            if process.answer is not None and self._chance(0.3):
                process.is_cut_off = True  # the answer is the last that it hears
            if process.answer is not None and self._chance(0.3):
                process.answer.set_result(None)
                process.answer = None
            if (process.is_still or process.held or process.answer) and self._chance(0.12):
                await self._pair.go_on(process)
                self._look()
            elif self._chance(0.5 if process.held is not None else 0.04):
                process.is_still = True
            if self._chance(0.05):
                process.is_cut_off = not process.is_cut_off
            process.holds_commit |= self._chance(0.1)
            process.holds_answer |= process.answer is None and self._chance(0.1)
            if process.core is not None and not process.is_cut_off and not process.is_still and self._chance(0.03):
                await self._pair.hand_over(process)

    async def _call(self, call: Call) -> None:
        """Somebody calls one of the two, which asks its clock before it answers (``yodel.rpc_io.dispatch``)."""
        reached = [process for process in self._pair.up() if not process.is_still and process.held is None]
        if not reached:
            return
        process = self._random.choice(reached)
        try:
            process.leadership.require()
        except LeadLost:
            self._pair.refused += 1
            return
        laws.check_answers(self._pair, process)
        self._pair.turn_to(process)
        self._pair.steps.append("called")
        await self._pair.survive(call())

    async def _work(self) -> None:
        for process in self._pair.up():
            if not process.is_away:
                self._pair.turn_to(process)
                await self._pair.survive(self._pair.settle())

    async def _beside(self, number: int) -> None:
        """Do what a process's own loop does beside, at any time."""
        process: Process = self._pair.processes[number]
        await self._random.choice([self._pair.renew, self._pair.watch_end, self._pair.look_for_lead])(process)

    def _look(self) -> None:
        pair = self._pair
        laws.check_writers(pair)
        leader = pair.leader()
        if leader is not None:
            pair.turn_to(leader)
            self._look_at_nodes()
            if leader.held is None and pair.rm.engine.doubt is None and pair.rm.engine.is_at_rest:
                laws.check(pair)

    async def led(self) -> None:
        """Everything works again, and somebody leads."""
        while self._pair.late:
            await self._pair.arrive_late()
        for process in [*self._pair.processes]:
            process.is_cut_off = False
            await self._pair.go_on(process)
        while self._pair.leader() is None or self._pair.turn.is_away:
            await self._pair.pass_time(1)
            self._look()
