"""Every call that tells of the cluster has been judged: what it keeps the loop for where the cluster is large.

A route or method that is new fails here until somebody has measured it.  The sizes: 5,000 nodes with a label each,
1,000 queues, 9,000 live applications, 20,000 containers of one of them; what is written beside a call is the processor
time of its longest turn then, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.routing import Route

from tests.support.playbook import World
from tests.support.rpc_calls import client_protocol
from tests.unit.rm_api.routes.test_many_of_all import ATTEMPT, LEAST
from yodel.rm_api.app import ROUTES
from yodel.rm_api.v1.app import ROUTERS
from yodel.rpc_io.dispatch import RpcMethod
from yodel.rpc_io.proxy_users import ProxyUserRules
from yodel.settings.rm import Settings
from yodel.wiring.faces import rpc_servers

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
    "/api/v1/colocation",
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


METHODS_OF_OTHER_PORTS = {
    "scheduler": {
        # As long as what an ApplicationMaster wants, of which there is a limit for each beat.
        *("registerApplicationMaster", "allocate", "finishApplicationMaster"),
    },
    "tracker": {
        # Of one node; what it tells of its containers is read in pieces.
        *("registerNodeManager", "nodeHeartbeat", "unRegisterNodeManager"),
    },
    "admin": {
        "refreshQueues",  # 15: the queues of the settings, compared with those there are
        *("refreshNodes", "refreshNodesResources", "checkForDecommissioningNodes"),  # 9: of all nodes
        # Said for each label or node of the request, and read in pieces: 1 to 3.
        *("addToClusterNodeLabels", "removeFromClusterNodeLabels", "replaceLabelsOnNodes", "mapAttributesToNodes"),
        *("refreshAdminAcls", "refreshServiceAcls", "refreshServiceAcl", "refreshCallQueue", "refresh"),
        *("refreshSuperUserGroupsConfiguration", "refreshUserToGroupsMappings", "refreshClusterMaxPriority"),
        *("getGroupsForUser", "updateNodeResource", "deleteFederationApplication", "deregisterSubCluster"),
        *("saveFederationQueuePolicy", "batchSaveFederationQueuePolicies", "listFederationQueuePolicies"),
        *("deleteFederationPoliciesByQueues", "getFederationSubClusters"),
        *("monitorHealth", "getServiceStatus", "transitionToActive", "transitionToStandby", "transitionToObserver"),
    },
}
CHANGES_LONG = {
    # All queues are described, in a thread, and compared, at 1,000 of them for 8 to 13.
    *("POST /api/v1/queues", "PATCH /api/v1/queues", "PATCH /api/v1/queues/{path}", "DELETE /api/v1/queues/{path}"),
    *("POST /api/v1/queues/{path}/move", "PUT /api/v1/queue-configuration"),
    "POST /api/v1/queue-history/{version}/revert",
    *("POST /api/v1/queues/{path}/windows", "PUT /api/v1/queues/{path}/windows/{name}"),
    "DELETE /api/v1/queues/{path}/windows/{name}",
    *(f"PUT {CLUSTER}/scheduler-conf", f"POST {CLUSTER}/scheduler-conf/validate"),
    # In slices: all live containers are looked at, and 500 ended in a turn.
    "POST /api/v1/colocation/end-containers",
    # In slices: 19 to 23 where it had 20,000 containers.
    *(f"PUT {CLUSTER}/apps/{{application_id}}/state", "POST /api/v1/applications/{application_id}/kill"),
}
CHANGES_BRIEF = {
    *(f"POST {CLUSTER}/apps", f"POST {CLUSTER}/apps/new-application"),
    *(f"PUT {CLUSTER}/apps/{{application_id}}/{name}" for name in ("queue", "priority", "timeout")),
    f"POST {CLUSTER}/containers/{{container_id}}/signal/{{command}}",
    *(f"POST {CLUSTER}/reservation/{name}" for name in ("new-reservation", "submit", "update", "delete")),
    *(f"{method} {CLUSTER}/delegation-token" for method in ("POST", "DELETE")),
    f"POST {CLUSTER}/delegation-token/expiration",
    f"POST {CLUSTER}/nodes/{{node_id}}/resource",
    *(f"POST {CLUSTER}/{name}" for name in ("add-node-labels", "remove-node-labels", "replace-node-to-labels")),
    f"POST {CLUSTER}/nodes/{{node_id}}/replace-labels",
    f"POST {CLUSTER}/scheduler/logs",
    *(f"{method} /proxy/{{rest:path}}" for method in ("DELETE", "OPTIONS", "PATCH", "POST", "PUT")),
}


def served() -> list[tuple[str, Collection[str]]]:
    """Paths with their methods."""
    routes = [route for module in ROUTES for route in module.ROUTES if isinstance(route, Route)]
    ours = [(f"/api/v1{route.path}", route.methods) for router in ROUTERS for route in router.routes]
    return [*((route.path, route.methods or ()) for route in routes), *ours]


def told() -> set[str]:
    """Paths that somebody may read."""
    return {path for path, methods in served() if "GET" in methods}


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


def test_every_change_over_http_is_judged() -> None:
    changes = {f"{method} {path}" for path, methods in served() for method in methods if method not in ("GET", "HEAD")}
    assert changes == CHANGES_LONG | CHANGES_BRIEF


async def test_every_method_of_the_other_ports_is_judged() -> None:
    async with World() as world:
        servers = rpc_servers(world.rm, Settings(), ProxyUserRules(), lambda: None)
        found = {
            server.name: {name for protocol in server.dispatcher.protocols for name in protocol.methods}
            for server in servers.all()
            if server is not servers.client
        }
    assert found == METHODS_OF_OTHER_PORTS
