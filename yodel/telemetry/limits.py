"""The table of limits on what callers may send, and the one way to tell of a refusal by one of them.

A refusal names the limit, the value and the setting; it is counted for ``/prom`` and written to the log at most once a
minute for a limit and a caller.  ``scripts/limits.py`` writes the table to ``docs/compatibility.md``.
Counts are of the process, as the log is.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

import structlog

from yodel.telemetry.further_limits import CONSTRAINTS, NODES, WEB
from yodel.telemetry.limit import Daemon, Limit

LOG_PERIOD_S = 60.0
CALLERS_MAX = 10_000
"""Callers whose last line in the log is remembered; the one not heard of for longest is forgotten first."""


_FRAME_ANSWER = "FATAL RpcServerException, FATAL_INVALID_RPC_HEADER; the connection is closed"
_RPC_RETRY = "FATAL RetriableException, and the connection is closed: clients retry"


def _frames(port: str, number: int, mib: int, setting: str, daemons: Daemon = Daemon.RESOURCE_MANAGER) -> Limit:
    return Limit(
        name=f"{port}_frame_bytes",
        setting=setting,
        default=f"{mib} MiB",
        what=f"bytes of one frame on {number}",
        answer=_FRAME_ANSWER,
        hadoop="`ipc.maximum.data.length`, 128 MiB",
        daemons=daemons,
    )


CLIENT_FRAME = _frames("client", 8032, 4, "rpc.client_frame_mib_max")
SCHEDULER_FRAME = _frames("scheduler", 8030, 8, "rpc.scheduler_frame_mib_max")
TRACKER_FRAME = _frames("tracker", 8031, 16, "rpc.tracker_frame_mib_max")
ADMIN_FRAME = _frames("admin", 8033, 1, "rpc.admin_frame_mib_max")
AGENT_FRAME = _frames("agent", 8041, 8, "rpc.frame_mib_max", Daemon.NODE_AGENT)
RPC_FRAME_BEFORE_OPEN = Limit(
    name="rpc_frame_before_open_bytes",
    setting=None,
    default="64 KiB",
    what="bytes of one frame before the caller is authenticated",
    answer=_FRAME_ANSWER,
    hadoop="as for every frame",
    daemons=Daemon.BOTH,
)
RPC_FRAME_TIME = Limit(
    name="rpc_frame_seconds",
    setting="rpc.frame_timeout_s",
    default="30 s",
    what="seconds from the first byte of a frame to its last",
    answer=_RPC_RETRY,
    hadoop="none",
    daemons=Daemon.BOTH,
)
RPC_UNFINISHED_FRAMES = Limit(
    name="rpc_unfinished_frames_bytes",
    setting="rpc.unfinished_frames_mib_max",
    default="64 MiB",
    what="bytes of all incomplete frames of all ports; the oldest of the address with most is dropped",
    answer=_RPC_RETRY,
    hadoop="none",
    daemons=Daemon.BOTH,
)
RPC_CALL_FIELDS = Limit(
    name="rpc_call_fields",
    setting="rpc.call_fields_max",
    default="150,000",
    what="fields of one call",
    answer="RpcServerException",
    hadoop="none",
    daemons=Daemon.BOTH,
)
RPC_CALL_ITEMS = Limit(
    name="rpc_call_items",
    setting="rpc.call_items_max",
    default="5,000",
    what="elements of all lists of one call",
    answer="RpcServerException",
    hadoop="none",
    daemons=Daemon.BOTH,
)
RPC_LARGE_CALLS = Limit(
    name="rpc_large_calls_bytes",
    setting=None,
    default="64 MiB",
    what="bytes of all unfinished calls of more than 64 KiB on one port",
    answer="RetriableException: clients retry",
    hadoop="`ipc.server.max.callqueue`, by number",
    daemons=Daemon.BOTH,
)
RPC_CONNECTIONS = Limit(
    name="rpc_connections",
    setting="rpc.connections_max",
    default="10,000",
    what="connections to one RPC port",
    answer="the longest idle one (10 s, or 1 s before it is open) is closed; if none is idle, the new one gets "
    "a FATAL RetriableException",
    hadoop="`ipc.server.max.connections`, no limit; new ones are closed",
    daemons=Daemon.BOTH,
)
RPC_CONNECTIONS_PER_ADDRESS = Limit(
    name="rpc_connections_per_address",
    setting="rpc.connections_per_address_max",
    default="5,000",
    what="connections to one RPC port from one address",
    answer=_RPC_RETRY,
    hadoop="none",
    daemons=Daemon.BOTH,
)

_ASK_ANSWER = "InvalidResourceRequestException; the whole heartbeat is rejected"
ASKED_CONTAINERS_PER_KEY = Limit(
    name="asked_containers_per_key",
    setting="asked_containers_per_key_max",
    default="100,000",
    what="pending containers of one ApplicationMaster with the same priority, size and allocation request id",
    answer=_ASK_ANSWER,
    hadoop="none: 2³¹−1 are accepted, and counts overflow",
)
ASKED_CONTAINERS = Limit(
    name="asked_containers",
    setting="asked_containers_max",
    default="1,000,000",
    what="pending containers of one ApplicationMaster in total",
    answer=_ASK_ANSWER,
    hadoop="none",
)
ASK_LINES = Limit(
    name="ask_lines",
    setting=None,
    default="50,000",
    what="hosts, racks and `*` in the outstanding requests of one ApplicationMaster",
    answer=_ASK_ANSWER,
    hadoop="none",
)
ALLOCATE_ENTRIES = Limit(
    name="allocate_entries",
    setting=None,
    default="20,000; 10,000 of updates and of the blacklist",
    what="requests, releases, updates or blacklist entries in one heartbeat of an ApplicationMaster",
    answer=_ASK_ANSWER,
    hadoop="only `ipc.maximum.data.length`",
)
BLACKLIST_NAMES = Limit(
    name="blacklist_names",
    setting=None,
    default="10,000",
    what="hosts and racks on the blacklist of one ApplicationMaster, including those of earlier heartbeats",
    answer="InvalidResourceBlacklistRequestException; the whole heartbeat is rejected",
    hadoop="none",
)
EXTRA_RESOURCE_AMOUNT = Limit(
    name="extra_resource_amount",
    setting=None,
    default="2³¹−1",
    what="amount of one resource type other than memory and cores, of one container",
    answer="InvalidResourceRequestException, with the message for memory and cores",
    hadoop="2⁶³−1, or `yarn.resource-types.….maximum-allocation`",
)
ASKS = (
    ASKED_CONTAINERS_PER_KEY,
    ASKED_CONTAINERS,
    ASK_LINES,
    ALLOCATE_ENTRIES,
    BLACKLIST_NAMES,
    EXTRA_RESOURCE_AMOUNT,
)
"""By their names in ``errors.TooMuchAsked``."""

HTTP_CONNECTIONS = Limit(
    name="http_connections",
    setting="web.connections_max",
    default="2,000",
    what="Connections to the ResourceManager's web port",
    answer="the oldest idle connection is closed; 503 if all others are busy",
    hadoop="none (`hadoop.http.max.threads` limits requests at a time)",
)
HTTP_CONNECTIONS_PER_ADDRESS = Limit(
    name="http_connections_per_address",
    setting="web.connections_per_address_max",
    default="500",
    what="… of one address (IPv6: of one /64 network)",
    answer="the oldest idle connection of that address is closed; 503 if all are busy",
    hadoop="none",
)
NODE_HTTP_CONNECTIONS = Limit(
    name="node_http_connections",
    setting="web_connections_max",
    default="256",
    what="Connections to a node agent's web port",
    answer="as at the ResourceManager",
    hadoop="none",
    daemons=Daemon.NODE_AGENT,
)
NODE_HTTP_CONNECTIONS_PER_ADDRESS = Limit(
    name="node_http_connections_per_address",
    setting="web_connections_per_address_max",
    default="128",
    what="… of one address (IPv6: of one /64 network)",
    answer="as at the ResourceManager",
    hadoop="none",
    daemons=Daemon.NODE_AGENT,
)
HTTP_HEAD_BYTES = Limit(
    name="http_head_bytes",
    setting=None,
    default="64 KiB",
    what="Request line and headers together",
    answer="431",
    hadoop="64 KiB (`hadoop.http.max.request.header.size`), 431",
    daemons=Daemon.BOTH,
)
HTTP_HEADERS = Limit(
    name="http_headers",
    setting=None,
    default="256",
    what="Headers of a request",
    answer="431",
    hadoop="as many as fit in the head",
    daemons=Daemon.BOTH,
)
HTTP_HEAD_SECONDS = Limit(
    name="http_head_seconds",
    setting=None,
    default="30 s",
    what="From the first byte of a request to the end of its headers",
    answer="408",
    hadoop="none: each byte extends it by 60 s (`hadoop.http.idle_timeout.ms`)",
    daemons=Daemon.BOTH,
)
HTTP_BODY_SECONDS = Limit(
    name="http_body_seconds",
    setting=None,
    default="60 s",
    what="For a request's body to arrive",
    answer="408",
    hadoop="none, likewise",
    daemons=Daemon.BOTH,
)
HTTP_BODY_PARTS = Limit(
    name="http_body_parts",
    setting=None,
    default="8,192",
    what="Chunks of a request body",
    answer="400",
    hadoop="none",
    daemons=Daemon.BOTH,
)
HTTP_PIPELINED = Limit(
    name="http_pipelined",
    setting=None,
    default="64",
    what="Pipelined requests of one connection",
    answer="the connection is closed after those are answered",
    hadoop="none",
    daemons=Daemon.BOTH,
)
REST_BODY_BYTES = Limit(
    name="rest_body_bytes",
    setting=None,
    default="4 MiB",
    what="Body of a REST call; 16 MiB for one that the web proxy forwards",
    answer="413",
    hadoop="none (Jersey reads it whole)",
)
REST_VALUES = Limit(
    name="rest_values",
    setting=None,
    default="50,000",
    what="Values in a JSON body or elements in an XML body, counted before parsing",
    answer="413",
    hadoop="none",
)
REST_ATTRIBUTES = Limit(
    name="rest_attributes",
    setting=None,
    default="20,000",
    what="Attributes in an XML body: all equals signs, also those in text",
    answer="413",
    hadoop="none",
)
DELEGATION_TOKENS = Limit(
    name="delegation_tokens",
    setting=None,
    default="100,000",
    what="Valid delegation tokens",
    answer="Refused",
    hadoop="none",
)
DELEGATION_TOKENS_OF_OWNER = Limit(
    name="delegation_tokens_of_owner",
    setting=None,
    default="10,000",
    what="… of one owner",
    answer="Refused",
    hadoop="none",
)
DELEGATION_TOKENS_OF_ADDRESS = Limit(
    name="delegation_tokens_of_address",
    setting=None,
    default="50,000",
    what="… issued to one address, or one IPv6 /64 network, since the ResourceManager started",
    answer="Refused",
    hadoop="none",
)
EVENT_STREAMS = Limit(
    name="event_streams",
    setting=None,
    default="64",
    what="Open event streams",
    answer="503",
    hadoop="no event streams",
)
EVENT_STREAMS_OF_OWNER = Limit(
    name="event_streams_of_owner",
    setting=None,
    default="16",
    what="… of one user, or of one host for callers without a name",
    answer="503",
    hadoop="no event streams",
)
EVENT_STREAMS_OF_ADDRESS = Limit(
    name="event_streams_of_address",
    setting=None,
    default="48",
    what="… of one host",
    answer="503",
    hadoop="no event streams",
)
HTTP = (
    HTTP_CONNECTIONS,
    HTTP_CONNECTIONS_PER_ADDRESS,
    NODE_HTTP_CONNECTIONS,
    NODE_HTTP_CONNECTIONS_PER_ADDRESS,
    HTTP_HEAD_BYTES,
    HTTP_HEADERS,
    HTTP_HEAD_SECONDS,
    HTTP_BODY_SECONDS,
    HTTP_BODY_PARTS,
    HTTP_PIPELINED,
    REST_BODY_BYTES,
    REST_VALUES,
    REST_ATTRIBUTES,
    DELEGATION_TOKENS,
    DELEGATION_TOKENS_OF_OWNER,
    DELEGATION_TOKENS_OF_ADDRESS,
    EVENT_STREAMS,
    EVENT_STREAMS_OF_OWNER,
    EVENT_STREAMS_OF_ADDRESS,
)

SUBMISSION_BYTES = Limit(
    name="submission_bytes",
    setting="submission_mib_max",
    default="4 MiB",
    what="bytes of one submission's context, over RPC or REST",
    answer="400 with what was expected; over RPC an exception with the same message",
    hadoop="the state store's own (ZooKeeper: 1 MiB)",
)
SUBMISSION_ENTRIES = Limit(
    name="submission_entries",
    setting="submission_entries_max",
    default="10,000",
    what="variables, local resources, service data, commands, ACLs and other entries of one submission",
    answer="as above",
    hadoop="none",
)
LIVE_CONTEXT_BYTES = Limit(
    name="live_context_bytes",
    setting="user_submissions_mib_max",
    default="64 MiB",
    what="bytes of the contexts of all applications of one user that have not ended",
    answer="400; over RPC a YarnException; submit again when some have ended",
    hadoop="none",
)

_ARCHIVE = "localization fails; the container's diagnostics have the reason"
ARCHIVES = {
    name: Limit(
        name=name,
        setting=setting,
        default=default,
        what=what,
        answer=_ARCHIVE,
        hadoop="none",
        daemons=Daemon.NODE_AGENT,
    )
    for name, setting, default, what in (
        ("archive_entries", "archive_entries_max", "500,000", "entries of one archive"),
        ("archive_bytes", "archive_bytes_max", "64 GiB", "bytes in one archive, or `archive_ratio_max` times its size"),
        ("pattern_seconds", None, "5 s", "seconds of processor time that a resource's pattern takes"),
    )
}
TABLE: tuple[Limit, ...] = (
    CLIENT_FRAME,
    SCHEDULER_FRAME,
    TRACKER_FRAME,
    ADMIN_FRAME,
    AGENT_FRAME,
    RPC_FRAME_BEFORE_OPEN,
    RPC_FRAME_TIME,
    RPC_UNFINISHED_FRAMES,
    RPC_CALL_FIELDS,
    RPC_CALL_ITEMS,
    RPC_LARGE_CALLS,
    RPC_CONNECTIONS,
    RPC_CONNECTIONS_PER_ADDRESS,
    *HTTP,
    *WEB,
    SUBMISSION_BYTES,
    SUBMISSION_ENTRIES,
    LIVE_CONTEXT_BYTES,
    *ASKS,
    *CONSTRAINTS,
    *ARCHIVES.values(),
    *NODES,
)
"""In the order of the documents."""


class Refusals:
    """Counts refusals by limit.  ``now_s`` is a monotonic clock."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._counts: Counter[str] = Counter()
        self._logged_s: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._log = structlog.get_logger("yodel.limits")

    def tell(self, limit: Limit, *, caller: str, value: int, maximum: int) -> None:
        """``caller`` is an address, or a user and an address, whatever is known.  Numbers are in the limit's unit."""
        self._counts[limit.name] += 1
        now_s, key = self._now_s(), (limit.name, caller)
        last_s = self._logged_s.get(key)
        if last_s is not None and now_s - last_s < LOG_PERIOD_S:
            return
        self._logged_s[key] = now_s
        self._logged_s.move_to_end(key)
        if len(self._logged_s) > CALLERS_MAX:
            self._logged_s.popitem(last=False)
        self._log.warning(
            "refused_by_limit", limit=limit.name, caller=caller, value=value, maximum=maximum, setting=limit.setting
        )

    def counts(self, daemon: Daemon = Daemon.BOTH) -> dict[str, int]:
        """Return counts by limit, of all in the table that a daemon looks at, since the process started."""
        return {limit.name: self._counts[limit.name] for limit in TABLE if limit.daemons & daemon}


REFUSALS = Refusals()
"""The refusals of this process."""
