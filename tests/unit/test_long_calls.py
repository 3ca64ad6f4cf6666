"""Every call that tells of the cluster has been judged: what it keeps the loop for where the cluster is large.

A route or method that is new fails here until somebody has measured it.  The sizes: 5,000 nodes with a label each,
1,000 queues, 9,000 live applications, 20,000 containers of one of them; what is written beside a call is the processor
time of its longest turn then, in milliseconds.
"""

from __future__ import annotations

from starlette.routing import Route

from tests.support.playbook import World
from tests.support.rpc_calls import client_protocol
from tests.unit.rm_api.routes.test_many_of_all import ATTEMPT, LEAST
from yodel.rm_api.app import ROUTES
from yodel.rm_api.v1.app import ROUTERS
from yodel.rpc_io.dispatch import RpcMethod

CLUSTER = "/ws/v1/cluster"
IN_PIECES = {"/ws/v1/cluster/apps", "/api/v1/queues", "/cluster/nodes", "/cluster/nodes/{_}", *LEAST}
"""Shown to be written in pieces (``test_many_of_all``, ``test_application_lists``)."""
LONG = {
    f"{CLUSTER}/metrics": 5,  # of all nodes, not of applications
    f"{CLUSTER}/scheduler-conf/format": 15,  # all queues are made anew
}
"""In one turn that is the longer the larger the cluster is."""
OF_ONE = frozenset({"application_id", "attempt_id", "container_id", "node_id", "queue", "path", "version", "rest"})
"""Whatever has one of these in its path tells of one."""
PAGED = {
    "/api/v1/applications",
    "/api/v1/nodes",
    "/api/v1/pools",
    "/api/v1/queue-configuration",
    "/api/v1/queue-history",
    "/api/v1/events",
    "/api/v1/events/stream",
}
BRIEF = {
    *("/", "/conf", "/favicon.ico", "/health/live", "/health/ready", "/isActive", "/logLevel", "/logs", "/stacks"),
    *("/cluster", "/cluster/", "/cluster/cluster", "/cluster/app/{application_id}"),
    *("/cluster/apps", "/cluster/apps/{states}", "/static/hadoop-st.png"),
    CLUSTER,
    *(f"{CLUSTER}/{name}" for name in ("info", "userinfo", "appstatistics", "reservation/list", "jstack/{count}")),
    *(f"{CLUSTER}/scheduler{name}" for name in ("-overview", "-conf/version", "/activities", "/bulk-activities")),
}
"""The same however large the cluster is, or what is kept rendered."""
METHODS_IN_PIECES = {
    "failApplicationAttempt",
    "forceKillApplication",
    "getApplications",
    "getClusterNodeLabels",
    "getClusterNodes",
    "getContainers",
    "getLabelsToNodes",
    "getNodeToLabels",
    "getQueueInfo",
}
METHODS_LONG = {
    "getClusterMetrics": 0.35,  # of all nodes, not of applications
}
METHODS_BRIEF = {
    *("getApplicationReport", "getApplicationAttemptReport", "getApplicationAttempts", "getContainerReport"),
    *("getQueueUserAcls", "getResourceTypeInfo", "getNewApplication", "submitApplication", "signalToContainer"),
    *("moveApplicationAcrossQueues", "updateApplicationPriority", "updateApplicationTimeouts"),
    *("getDelegationToken", "renewDelegationToken", "cancelDelegationToken"),
    *("getClusterNodeAttributes", "getAttributesToNodes", "getNodesToAttributes"),
    *("getResourceProfiles", "getResourceProfile", "getNewReservation", "submitReservation", "updateReservation"),
    *("deleteReservation", "listReservations"),
}


def told() -> set[str]:
    """Paths that somebody may read."""
    routes = [route for module in ROUTES for route in module.ROUTES if isinstance(route, Route)]
    ours = [(f"/api/v1{route.path}", route.methods) for router in ROUTERS for route in router.routes]
    return {path for path, methods in [*((r.path, r.methods or ()) for r in routes), *ours] if "GET" in methods}


def is_of_one(path: str) -> bool:
    return any(f"{{{name}" in path for name in OF_ONE)


def test_every_route_is_judged() -> None:
    containers = f"{CLUSTER}{ATTEMPT}/containers"
    judged = {*IN_PIECES, *LONG, *PAGED, *BRIEF} - {containers}
    assert {path for path in told() if not is_of_one(path)} == {path for path in judged if not is_of_one(path)}


async def test_every_method_is_judged() -> None:
    async with World() as world:
        methods: dict[str, RpcMethod] = dict(client_protocol(world).protocol().methods)
    assert set(methods) == {*METHODS_IN_PIECES, *METHODS_LONG, *METHODS_BRIEF}
