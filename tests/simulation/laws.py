"""These laws hold between any two steps of anybody, and when everybody has come to rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from itertools import accumulate
from typing import Any

from tests.simulation.pair import PairCluster, Process
from tests.simulation.world import (
    BATCH_MEMORY,
    WINDOW,
    WINDOW_RULES,
    ColocationCluster,
    LendingCluster,
    MixedCluster,
    WindowCluster,
)
from tests.support.actors import Cluster, Master
from tests.support.lending import known_node, publisher
from yodel.domain.ids import dns_name
from yodel.domain.queues.pools import NATIVE
from yodel.domain.resource import NONE, Resource, larger, total_of
from yodel.domain.states import AttemptState, ContainerState
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import MemoryDisk, read
from yodel.translator.node_fit import requests_of

SLACK_S = 12.0
"""Two steps of the clock, and what people need to hear and do."""


def check(cluster: Cluster) -> None:
    """The invariants that hold between any two steps."""
    assert len(cluster.ids_granted) == len({*cluster.ids_granted}), "a container was granted twice"
    state = cluster.rm.state
    total = Resource(0, 0)
    for container in state.live_containers():
        total += container.reserved
    assert state.usage.cluster.resource == total, "usage is not the sum of live containers"
    for usage in (state.usage.cluster, *state.usage.by_application.values(), *state.usage.by_node.values()):
        amounts = (usage.resource.memory_mib, usage.resource.vcores, usage.am_resource.memory_mib)
        assert min(usage.containers, *amounts) >= 0, "a usage is negative"
    check_awaited(state)
    check_queues(state)
    check_pools(state)
    check_holds(cluster)
    check_why(cluster)
    if isinstance(cluster, LendingCluster):
        check_lending(cluster)
    if isinstance(cluster, WindowCluster):
        check_window(cluster)
    check_launchers(cluster)
    if isinstance(cluster, ColocationCluster):
        check_colocation(cluster)
    assert {*state.container_index.unconfirmed} == {c.id for c in state.live_containers() if c.confirmed != NONE}
    assert state.masters.awaited == sum(1 for a in state.attempts.values() if a.state is AttemptState.SCHEDULED)
    assert state.masters.wanted.count == sum(
        runtime.wishes.asks.pending()[0] for runtime in state.masters.runtimes.values()
    )
    planned = [c for c in state.live_containers() if c.state is ContainerState.PLANNED]
    assert state.container_index.planned_count == len(planned)
    is_whole = all(a.is_registered for a in cluster.nodes) and not cluster.has_shrunk
    assert total.fits_in(state.usable_resource) or not is_whole
    for job in cluster.jobs:
        if job.acknowledged:
            assert job.application_id in state.applications, "an acknowledged submission is lost"
            application = state.applications[job.application_id]
            now = {
                "queue": application.submission.queue,
                "priority": application.submission.priority,
                "expires_ms": application.expires_ms,
            }
            assert {**now, **job.agreed} == now, "an acknowledged change is lost"
    for master in cluster.masters.values():
        assert cluster.crashes or len(master.heard) == len({*master.heard}), "an end was reported twice"
        forgotten = master.granted - state.containers.keys()
        assert forgotten <= cluster.disk.ended.keys(), "a granted container is lost"
        attempt = state.attempts.get(master.am.attempt_id)
        if attempt is not None and not attempt.state.is_final:
            assert forgotten <= {*master.heard}, "an end was forgotten before its ApplicationMaster heard of it"
        held = len(master.granted - master.ended.keys()) + master.succeeded
        # Who takes containers over hears only in a beat which of them have ended, and may have asked too much.
        assert held <= master.tasks or master.keeps_containers, "more was granted than asked for"
    if cluster.options.is_binding:
        assert all(p.node_name is not None for p in cluster.pods.pods.values()), "a pod was left to a scheduler"
    check_nodes(cluster)
    check_disk(cluster)


def check_launchers(cluster: Cluster) -> None:
    """No container without a pod is ever on a node of pods, nor the other way round."""
    node_managers = {agent.node_id for agent in cluster.nodes if agent.is_node_manager}
    for container in cluster.rm.state.live_containers():
        if container.node_id is None:
            assert container.pod, "a container without a node may get a pod"
        else:
            assert (container.node_id in node_managers) is (container.pod == ""), f"{container.id} is on the wrong kind"
            if isinstance(cluster, MixedCluster):
                cluster.ran[container.pod == ""] += 1
    hosts = {node_id.host for node_id in node_managers}
    assert not [pod.name for pod in cluster.pods.pods.values() if pod.node_name in hosts], "a pod on a NodeManager"


def check_awaited(state: ClusterState) -> None:
    """Whoever waits for a node agent's words on an end waits for an agent that may come; a live attempt has a live
    ApplicationMaster, or waits for how it ended."""
    awaited = {c.id for c in state.containers.values() if c.awaits_agent}
    assert awaited == {one for node_id in state.nodes for one in state.container_index.awaiting(node_id)}
    for container_id in awaited:
        container = state.containers[container_id]
        assert not container.is_live
        assert container.node_id is not None
        assert state.nodes[container.node_id].is_registered, f"{container_id} waits for an agent that is gone"
    for attempt in state.attempts.values():
        master = state.containers.get(attempt.am_container_id) if attempt.am_container_id is not None else None
        if master is not None and not attempt.state.is_final:
            assert master.is_live or master.awaits_agent, f"{attempt.id} goes on without an ApplicationMaster"
        assert not attempt.awaits_agent or (master is not None and master.awaits_agent)


def check_queues(state: ClusterState) -> None:
    """Check that queues and users hold the sum of live containers, each in the queue its application is in now."""
    by_queue: Counter[str] = Counter()
    by_user: Counter[tuple[str, str]] = Counter()
    for container in state.live_containers():
        submission = state.applications[container.id.application_id].submission
        by_user[submission.queue, submission.user] += container.reserved.memory_mib
        for path in accumulate(submission.queue.split("."), "{}.{}".format):
            by_queue[path] += container.reserved.memory_mib
    use = state.queue_use
    assert {path: usage.resource.memory_mib for path, usage in use.by_queue.items() if usage.containers} == by_queue
    assert {key: usage.resource.memory_mib for key, usage in use.by_user.items()} == by_user
    live = Counter(a.submission.queue for a in state.applications.values() if not a.state.is_final)
    assert use.live_by_queue == live
    assert use.live_count == use.live_by_user.total() == live.total()


def check_holds(cluster: Cluster) -> None:
    """Check that at most one node of a leaf is held, each for one, a tenth of a pool's, and no longer than that without
    something freed; what counts as used of it is free there and no more than the wish."""
    state, rules = cluster.rm.state, cluster.rm.scheduler.holder.rules
    holds = list(state.holds.all)
    assert len({hold.queue for hold in holds}) == len(holds), "two nodes are held for one leaf"
    assert len({(hold.pool, hold.node_id) for hold in holds}) == len(holds), "a node is held for two"
    assert all(hold.free.fits_in(hold.short.size) for hold in holds), "more is reserved than wanted"
    if cluster.rm.scheduler.is_woken or not cluster.rm.engine.is_at_rest:
        return
    now_s = cluster.clock.monotonic_s()
    for hold in holds:
        pool = state.pools.of(hold.pool)
        assert hold.counted.fits_in(pool.free_on(hold.node_id)), "what is reserved is not free"
        assert now_s - max(hold.since_s, hold.freed_s, hold.planned_s) <= rules.longest_s + SLACK_S, "held in vain"


def check_why(cluster: Cluster) -> None:
    """Check, where no look is owed, that whoever wants something not planned is told why, and nobody else is."""
    scheduler, waiting = cluster.rm.scheduler, cluster.rm.state.reasons.waiting
    if scheduler.is_woken or not cluster.rm.engine.is_at_rest:
        return
    wanting = {
        demand.attempt_id
        for demand in scheduler.demands()
        if demand.am_capability is not None
        or demand.increases
        or any(wish.number > demand.in_flight.get(wish.key, 0) for wish in demand.wishes)
    }
    assert {*waiting} == wanting, "what waits is not what is wanted"
    for attempt_id in waiting:
        assert all(told.chain for told in waiting.told(attempt_id)), "nothing is said to be in the way"


def check_pools(state: ClusterState) -> None:
    """Check that what is held of a pool is the sum of live containers of its queues, node by node too."""
    book = state.pools
    for name in book.pools.named:
        live = [c for c in state.live_containers() if book.pools.of(c.queue) == name]
        assert book.used(name).resource == total_of(c.reserved for c in live), f"use of {name}"
        assert book.used(name).containers == len(live)
        for node in state.nodes.values():
            held = total_of(c.reserved for c in live if c.node_id == node.id)
            assert book.of(name).held_on(node.id) == held, f"use of {name} on {node.id}"
            free = book.of(name).free_on(node.id)
            assert free == free.at_least_zero(), f"{name} has {free} on {node.id}"


def check_lending(cluster: LendingCluster) -> None:
    """Sums are what nodes lend, or hold where that is more; whatever was started fitted when it was."""
    state = cluster.rm.state
    for name in state.pools.pools.named:
        pool = state.pools.of(name)
        size = total = NONE
        for node in state.nodes.values():
            lent = (cluster.lent[node.id.host] if name != NATIVE else node.capability) if node.is_usable else None
            size += lent or NONE
            total += larger(lent, pool.held_on(node.id)) if lent is not None else NONE
        assert (pool.size, pool.total) == (size, total), f"{name} is not what nodes lend"
        used = state.pools.used(name).resource
        has_grown = not used.fits_in(cluster.used.get(name, NONE))
        assert not has_grown or used.fits_in(pool.total), f"more was started than {name} has"
        cluster.used[name] = used


def check_colocation(cluster: ColocationCluster) -> None:
    """Check that no more is granted as long as a node lends less than pods of what was granted there ask for; what
    nobody has said counts as nothing."""
    state, pods = cluster.rm.state, cluster.pods.pods
    granted = [c for c in state.live_containers() if c.queue == "root.batch" and c.state is not ContainerState.PLANNED]
    batch = [c for c in granted if c.pod in pods and pods[c.pod].exit_code is None]
    below: dict[str, int] = {}
    for agent in cluster.nodes:
        host = agent.node_id.host
        held = sum(c.reserved.memory_mib for c in batch if c.node_id == agent.node_id)
        node = known_node(cluster, host)
        lent = node.lent.memory_mib if node is not None and node.lent is not None else 0
        if held > lent and (node is None or not node.other):
            assert held <= cluster.below.get(host, held), f"{host} lends {lent} MiB and was given {held}"
            below[host] = held
    cluster.below = below


def check_published(cluster: ColocationCluster) -> None:
    """Once everything is told: published is what pods ask for, or what is lent where that is more."""
    if cluster.pods.events or cluster.statuses.events or publisher(cluster).is_due:
        return
    for host, node in cluster.statuses.nodes.items():
        published, asked_for = int(node.capacity.get(BATCH_MEMORY, 0)) >> 20, cluster.asked_for(host)
        assert published >= asked_for, f"{host} publishes {published} MiB, and its pods ask for {asked_for}"


def check_window(cluster: WindowCluster) -> None:
    """Nothing starts above what is left to the queue, nor shortly before."""
    held, before = cluster.at_night(), cluster.held_at_night
    cluster.held_at_night = held
    if held.fits_in(before):
        return
    assert cluster.second < 120 - WINDOW.stop_new_before_s, "something started shortly before the window opened"
    assert cluster.second >= WINDOW.duration_s or held.fits_in(cluster.left_at_night()), (
        f"more was started than the window leaves: {held}"
    )


def check_window_is_kept(cluster: WindowCluster, quiet_s: float) -> None:
    """Check that what was above is given back in quiet time when the stages are over, which a restart begins anew."""
    over_s = WINDOW.stages * (WINDOW_RULES.max_wait_before_kill_s + WINDOW_RULES.monitoring_interval_s) + SLACK_S
    if over_s <= min(cluster.second, quiet_s) and cluster.second < WINDOW.duration_s:
        held, left = cluster.at_night(), cluster.left_at_night()
        assert held.fits_in(left), f"{held} is held {cluster.second} s after the begin, and {left} is left"


def check_nodes(cluster: Cluster) -> None:
    """Check that what is reserved on a node never exceeds it, unless the node has become less, or Kubernetes placed a
    pod there while a container's increase was reserved and its pod had not grown yet (decision 0024)."""
    state = cluster.rm.state
    for node in state.nodes.values():
        live = [c for c in state.live_containers() if c.node_id == node.id]
        reserved = total_of(c.reserved for c in live)
        if reserved.fits_in(node.capability):
            cluster.overtaken.discard(node.id)
            continue
        if total_of(c.capability for c in live).fits_in(node.capability):
            cluster.overtaken.add(node.id)
        assert node.id in cluster.overtaken or cluster.has_shrunk, f"{node.id} has {reserved}"


def check_disk(cluster: Cluster) -> None:
    """Check that the store holds what is known.  It is read again when it has changed."""
    stored = shown(cluster.disk)
    if cluster.stored != stored:
        cluster.stored, cluster.stored_derived = stored, derived(ClusterState.of(read(cluster.disk)))
    assert cluster.stored_derived == derived(cluster.rm.state)


def check_writers(pair: PairCluster) -> None:
    """Never two writers: once another has begun to write, nothing of an earlier one gets through."""
    epochs = [epoch for epoch, _ in pair.writes]
    assert epochs == sorted(epochs), "a commit came through after another had taken over"
    assert len({*pair.writes}) == len({*epochs}), "two wrote as one"
    del pair.writes[:-1]


def check_answers(pair: PairCluster, process: Process) -> None:
    """Check that who answers without asking the store leads: the lease is its own, and nobody has taken over."""
    assert pair.row.is_of(process.holder), f"{process.holder} answers, and {pair.row.holder} has the lease"
    assert pair.leader() is process, f"{process.holder} answers, and another has opened the store"


def check_at_rest(cluster: Cluster) -> None:
    """After quiet time nothing is orphaned."""
    for job in cluster.jobs:
        assert job.application_id is not None
        application = cluster.application(job.application_id)
        assert application.state.is_final, f"{application.id} is still {application.state}"
    assert list(cluster.rm.state.live_containers()) == []
    state = cluster.rm.state
    index = state.container_index
    assert index.ended == {}, "an ended container stays in memory"
    assert state.masters.runtimes == {}
    assert state.masters.wanted.count == 0
    assert state.usage.cluster.resource == Resource(0, 0), "something is held"
    held = {**state.usage.by_application, **state.usage.by_node}
    assert [key for key, usage in held.items() if usage.containers or usage.resource != Resource(0, 0)] == []
    assert (state.reasons.waits, state.reasons.misfits) == ({}, {}), "what ended is waited for"
    assert (index.unconfirmed, index.tagged) == ({}, {}), "what ended is waited for"
    assert not any(index.awaiting(node_id) for node_id in state.nodes), "an end is waited for that is known"
    for agent in cluster.nodes:
        assert all(status is not None for status in agent.containers.values()), "a process outlives its container"
    assert cluster.pods.pods == {}, "pods are left over"
    for master in cluster.masters.values():
        known = master.granted
        if master.keeps_containers:
            known = known.union(*(m.granted for m in cluster.masters.values() if is_same(m, master)))
        assert cluster.crashes or {*master.heard} <= known, "an end of a container that was never granted"


def check_sizes(cluster: Cluster) -> None:
    """Once nobody asks for sizes any more: agent and pod have what the row says."""
    for agent in cluster.nodes:
        for container_id, (_, size) in agent.sizes.items():
            container = cluster.rm.state.containers.get(container_id)
            if agent.is_registered and container is not None and container.is_live and container.confirmed == NONE:
                assert size == container.capability, f"{container_id}: the agent works with {size}"
    for container in cluster.rm.state.live_containers():
        name = dns_name(container.id)
        if name in cluster.pods.pods and container.confirmed == NONE:
            meant, found = cluster.rm.maker.manifest_of(container), cluster.pods.manifests[name]
            assert requests_of(meant["spec"]) == requests_of(found["spec"]), f"{name} is not of its row's size"


def is_same(one: Master, other: Master) -> bool:
    """Return whether they are of one application."""
    return one.am.application_id == other.am.application_id


def shown(disk: MemoryDisk) -> list[object]:
    """Its rows, which never change themselves."""
    return [
        dict(value) if isinstance(value, dict) else value for value in (getattr(disk, f.name) for f in fields(disk))
    ]


def derived(state: ClusterState) -> dict[str, Any]:
    """Everything that follows from rows, without entries that say nothing."""

    def used(table: dict[Any, Any]) -> dict[Any, tuple[Any, ...]]:
        return {k: (u.resource, u.containers, u.am_resource, u.masters) for k, u in table.items() if u.containers}

    return {
        "applications": state.applications,
        "attempts": state.attempts,
        "containers": state.containers,
        "nodes": state.nodes,
        "queues": state.queues,
        "cluster": (state.usage.cluster.resource, state.usage.cluster.containers, state.usage.cluster.am_resource),
        "by application": used(state.usage.by_application),
        "by queue": used(state.queue_use.by_queue),
        "by user": used(state.queue_use.by_user),
        "live by queue": dict(state.queue_use.live_by_queue),
        "by node": used(state.usage.by_node),
        "seconds": {k: (s.memory_mib_s, s.vcore_s, s.preempted) for k, s in state.usage.seconds.items()},
        "past": state.past_usage,
        "contexts": dict(state.index.context_bytes),
        "planned": state.container_index.planned_count,
        "usable": (state.node_index.usable_count, total_of(n.capability for n in state.nodes.values() if n.is_usable)),
        "containers of": {a: {c.id for c in state.containers_of(a)} for a in state.attempts},
    }
