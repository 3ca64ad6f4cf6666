"""Measures what lent capacity costs the ResourceManager: patches per second and processor time, with agents whose
amounts swing.

    python -m bench.colocation [--agents 1000] [--minutes 10] [--swing 30] [--profile]

Each node has 64 cores and 256 GiB.  What its online pods use swings by so many percent of its mean, 35 % of the node,
with a period of ten minutes and a phase of its own.  Loans are computed by the agents' own steps, beforehand.  Measured
is the processor time of the ResourceManager's thread for the seconds of one period, on a clock that does not wait:
heartbeats from their bytes on, publishing with the bodies of its patches, and the events by which the watch tells of
them.  The same with beats that bring no report is what there was before; the difference is the cost.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import math
import pstats
import time
from collections.abc import Mapping
from dataclasses import replace

import structlog

from bench.machine import print_machine
from tests.support.playbook import World
from tests.support.rm_options import Options
from tests.support.rpc_calls import call, context, tracker_protocol
from yodel.domain.colocation.measured import InstantUse, UsageWindow
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.properties import PREFIX, colocation_of
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, Loan, LoanReport
from yodel.domain.colocation.shaping import Before, is_climbing, loan_of, numbers_of
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import leaves_under_root
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.kube.decode import decode_node
from yodel.pb_convert import ids
from yodel.pb_convert.colocation import loan_report_pb
from yodel.rpc_io.dispatch import CallContext, RpcProtocol
from yodel.serving.node_token import NODE_TOKEN_KIND
from yodel.translator.names import PUBLISHED, PUBLISHER
from yodel.translator.publishing import patch_of

CORES, GIB = 64, 256
MEAN = 0.35
PERIOD_S = 600
REPORTED_EVERY_S = 10
BALLAST_BYTES = 8_000
"""The bytes of a node object beside its amounts: images and conditions."""
SLOWEST_FUNCTIONS = 20
ERRORS_ONLY = 50


class Agent:
    """One node agent: its loans second by second, and the bytes of its beats."""

    def __init__(self, number: int, agents: int, swing: float, policy: Policy) -> None:
        self.name = f"node-{number}"
        self.node_id = NodeId(self.name, 8041)
        self.caller = replace(context(), token_kind=NODE_TOKEN_KIND, token_identifier=self.name.encode())
        self.response_id = 0
        self._phase, self._swing, self._policy = number / agents, swing, policy
        self._before = dict.fromkeys((CPU_MILLI, MEMORY_MIB), Before())
        self._reported: dict[str, int] = {}
        self._number = number

    def beat(self, second: int, *, reports: bool) -> bytes:
        """Return the heartbeat's bytes."""
        request = msg.NodeHeartbeatRequestProto()
        request.node_status.node_id.CopyFrom(ids.node_id_pb(self.node_id))
        request.node_status.response_id = self.response_id
        request.node_status.nodeHealthStatus.is_node_healthy = True
        report = self._report(second) if reports else None
        if reports:
            request.colocation_policy_version = self._policy.version
        if report is not None:
            request.loan.CopyFrom(loan_report_pb(report))
        return request.SerializeToString()

    def _report(self, second: int) -> LoanReport | None:
        """Return a report if it has changed, and every ten seconds."""
        part = MEAN * (1 + self._swing * math.sin(2 * math.pi * (second / PERIOD_S + self._phase)))
        loans = (self._loan(CPU_MILLI, CORES * 1000, part), self._loan(MEMORY_MIB, GIB * 1024, part))
        amounts = {loan.resource: loan.amount for loan in loans}
        if amounts == self._reported and (second + self._number) % REPORTED_EVERY_S:
            return None
        self._reported = amounts
        return LoanReport(policy_version=self._policy.version, source="cgroup v2", age_ms=0, loans=loans)

    def _loan(self, resource: str, capacity: int, part: float) -> Loan:
        online = max(0, round(capacity * part))
        use = InstantUse(node=online + capacity // 32, pods=online, best_effort=0)
        window = UsageWindow(capacity=capacity, uses=(use,), recent=(use,))
        loan = loan_of(resource, numbers_of(self._policy, resource), window, self._before[resource])
        self._before[resource] = Before(last=loan.amount, climbing=is_climbing(loan))
        return loan


class Bench:
    """The ResourceManager with its agents, and what was spent."""

    def __init__(self, world: World, protocol: RpcProtocol, agents: list[Agent]) -> None:
        self.world, self.agents, self._protocol = world, agents, protocol
        self.spent_s = 0.0
        self.patches: list[int] = []
        """In each second."""
        self._versions = 0

    async def second(self, second: int, *, reports: bool) -> None:
        beats = [agent.beat(second, reports=reports) for agent in self.agents]
        patched = len(self.world.statuses.patches)
        for tenth in range(10):
            some = range(tenth, len(beats), 10)
            begin_s = time.thread_time()
            for number in some:
                request = msg.NodeHeartbeatRequestProto.FromString(beats[number])
                answer = await call(self._protocol, "nodeHeartbeat", self.agents[number].caller, request)
                self.agents[number].response_id = answer.response_id
                answer.SerializeToString()
            await self.world.rm.publisher.round()
            self.spent_s += time.thread_time() - begin_s
            self._tell()
            self.world.clock.advance(0.1)
        self.patches.append(len(self.world.statuses.patches) - patched)

    def _tell(self) -> None:
        """Bodies are written and events read as with an API server."""
        while self.world.statuses.events:
            node = self.world.statuses.events.pop(0)
            body = event_of(node.name, node.capacity, node.resource_version)
            amounts = {name: int(value) for name, value in node.capacity.items() if name not in ("cpu", "memory")}
            begin_s = time.thread_time()
            json.dumps(patch_of(amounts))
            self.world.rm.facts.node_seen(decode_node(body))
            self.spent_s += time.thread_time() - begin_s


def event_of(name: str, amounts: Mapping[str, str], version: str) -> bytes:
    ours = [one for one in amounts if "/" in one]
    managed = {"manager": PUBLISHER, "fieldsV1": {"f:status": {"f:capacity": {f"f:{one}": {} for one in ours}}}}
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": version,
        "annotations": {PUBLISHED: ",".join(ours)},
        "managedFields": [managed],
    }
    ready = [{"type": "Ready", "status": "True"}]
    images = [{"names": ["x" * 100], "sizeBytes": 1} for _ in range(BALLAST_BYTES // 130)]
    status = {"capacity": dict(amounts), "allocatable": dict(amounts), "conditions": ready, "images": images}
    return json.dumps({"metadata": metadata, "status": status}).encode()


async def prepared(world: World, count: int, swing: float) -> Bench:
    rm = world.rm
    colocation = colocation_of({f"{PREFIX}enabled": "true"})
    assert colocation.policy is not None
    rm.use_colocation(colocation)
    agents = [Agent(number, count, swing, colocation.policy) for number in range(count)]
    protocol = tracker_protocol(world)
    machine = {"cpu": str(CORES), "memory": f"{GIB}Gi"}
    for agent in agents:
        world.statuses.put(agent.name, capacity=machine, allocatable=machine)
        await register(protocol, agent.caller, agent)
    world.relist()
    return Bench(world, protocol, agents)


async def register(protocol: RpcProtocol, caller: CallContext, agent: Agent) -> None:
    request = msg.RegisterNodeManagerRequestProto(http_port=8042, nm_version="bench", kubernetes_node_name=agent.name)
    request.node_id.CopyFrom(ids.node_id_pb(agent.node_id))
    request.resource.CopyFrom(ids.resource_pb(Resource(GIB * 1024, CORES)))
    request.can.extend((CPU_MILLI, MEMORY_MIB))
    await call(protocol, "registerNodeManager", caller, request)


async def measure(count: int, minutes: float, swing: float, *, is_profiled: bool) -> None:
    queues = leaves_under_root(["default", "batch"], maximum_lifetime_s=-1, default_lifetime_s=-1)
    seconds, found = round(minutes * 60), {}
    for reports in (False, True):
        async with World(Options(queues=queues, dialects={"root.batch": "koordinator"})) as world:
            bench = await prepared(world, count, swing)
            for second in range(-60 if reports else -5, 0):  # the first loans of all are another matter
                await bench.second(second, reports=reports)
            bench.spent_s, bench.patches = 0.0, []
            gc.collect()
            profile = cProfile.Profile() if is_profiled and reports else None
            if profile is not None:
                profile.enable()
            for second in range(seconds):
                await bench.second(second, reports=reports)
            if profile is not None:
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(SLOWEST_FUNCTIONS)
            found[reports] = bench.spent_s / seconds
            if reports:
                tell(count, seconds, bench, found)


def tell(count: int, seconds: int, bench: Bench, found: Mapping[bool, float]) -> None:
    each = sum(bench.patches) / seconds
    cost = found[True] - found[False]
    print(f"{count} agents, {seconds} s: {each:.1f} patches/s, {max(bench.patches)} in the worst second")
    print(f"beats without reports {found[False]:.1%} of a core, with what they lend {found[True]:.1%}: {cost:.1%} more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=PERIOD_S / 60)
    parser.add_argument("--swing", type=float, default=30.0)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERRORS_ONLY))
    asyncio.run(measure(asked.agents, asked.minutes, asked.swing / 100, is_profiled=asked.profile))


if __name__ == "__main__":
    print_machine()
    main()
