"""The table of limits, continued: what is shared by callers of the web side, and sizes of what they may describe.

Apart from ``limits``, which puts both together, for the length of the file only.
"""

from __future__ import annotations

from yodel.telemetry.limit import Daemon, Limit

_PROXY = "an error page (502)"
PROXY_FETCHES = Limit(
    name="proxy_fetches",
    setting=None,
    default="64",
    what="Applications' pages that the web proxy fetches at a time",
    answer=_PROXY,
    hadoop="none (`hadoop.http.max.threads`)",
)
PROXY_FETCHES_OF_APPLICATION = Limit(
    name="proxy_fetches_of_application",
    setting=None,
    default="16",
    what="… of one application",
    answer=_PROXY,
    hadoop="none",
)
PROXY_FETCHES_OF_CALLER = Limit(
    name="proxy_fetches_of_caller",
    setting=None,
    default="16",
    what="… for one user, or for one host for callers without a name",
    answer=_PROXY,
    hadoop="none",
)
PROXY_FETCHES_OF_ADDRESS = Limit(
    name="proxy_fetches_of_address",
    setting=None,
    default="48",
    what="… for one address (IPv6: for one /64 network)",
    answer=_PROXY,
    hadoop="none",
)
PROXY_ANSWER_BYTES = Limit(
    name="proxy_answer_bytes",
    setting=None,
    default="4 GiB",
    what="Answer of an ApplicationMaster to one call of the web proxy",
    answer="the connection is closed",
    hadoop="none",
)
LOG_READS = Limit(
    name="log_reads",
    setting=None,
    default="8",
    what="Logs that the ResourceManager reads from node agents at a time",
    answer="503",
    hadoop="none (callers go to the nodes)",
)
LOG_READS_OF_CALLER = Limit(
    name="log_reads_of_caller",
    setting=None,
    default="2",
    what="… for one user, or for one host for callers without a name",
    answer="503",
    hadoop="none",
)
REST_BODIES_HELD = Limit(
    name="rest_bodies_held_bytes",
    setting=None,
    default="128 MiB, and 64 MiB for the first 64 KiB of each",
    what="Request bodies that are being read or wait to be processed, in total",
    answer="503",
    hadoop="none",
)
REST_BODY_WAIT = Limit(
    name="rest_body_wait_seconds",
    setting=None,
    default="60 s",
    what="For a large body to be processed: two at a time, callers take turns",
    answer="503",
    hadoop="none",
)
REST_QUERY_FIELDS = Limit(
    name="rest_query_fields",
    setting=None,
    default="1,000",
    what="Fields of a query, at the ResourceManager and at node agents",
    answer="400",
    hadoop="only the length of the head",
    daemons=Daemon.BOTH,
)
API_BODY_BYTES = Limit(
    name="api_body_bytes",
    setting=None,
    default="64 KiB; 4 MiB for a whole configuration of queues",
    what="Body of a call below `/api/`",
    answer="413",
    hadoop="no such API",
)
WEB = (
    PROXY_FETCHES,
    PROXY_FETCHES_OF_APPLICATION,
    PROXY_FETCHES_OF_CALLER,
    PROXY_FETCHES_OF_ADDRESS,
    PROXY_ANSWER_BYTES,
    LOG_READS,
    LOG_READS_OF_CALLER,
    REST_BODIES_HELD,
    REST_BODY_WAIT,
    REST_QUERY_FIELDS,
    API_BODY_BYTES,
)

_CONSTRAINT = "InvalidResourceRequestException; the whole call is rejected"
CONSTRAINT_DEPTH = Limit(
    name="constraint_depth",
    setting=None,
    default="10",
    what="nested placement constraints",
    answer=_CONSTRAINT,
    hadoop="none",
)
CONSTRAINT_CHILDREN = Limit(
    name="constraint_children",
    setting=None,
    default="100",
    what="children of one AND or OR placement constraint",
    answer=_CONSTRAINT,
    hadoop="none",
)
CONSTRAINT_TAGS = Limit(
    name="constraint_tags",
    setting=None,
    default="32",
    what="allocation tags of one request, or of one target of a placement constraint",
    answer=_CONSTRAINT,
    hadoop="none",
)
CONSTRAINTS_REGISTERED = Limit(
    name="constraints_registered",
    setting=None,
    default="1,000",
    what="placement constraints with which one ApplicationMaster registers",
    answer=_CONSTRAINT,
    hadoop="none",
)
CONSTRAINTS = (CONSTRAINT_DEPTH, CONSTRAINT_CHILDREN, CONSTRAINT_TAGS, CONSTRAINTS_REGISTERED)

_DIRECTORY = "localization fails; the container's diagnostics have the reason"
DIRECTORY_ENTRIES = Limit(
    name="directory_entries",
    setting=None,
    default="100,000",
    what="files and directories in one directory that is a resource",
    answer=_DIRECTORY,
    hadoop="none",
    daemons=Daemon.NODE_AGENT,
)
DIRECTORY_DEPTH = Limit(
    name="directory_depth",
    setting=None,
    default="64",
    what="levels of such a directory, on a file system of the node",
    answer=_DIRECTORY,
    hadoop="none",
    daemons=Daemon.NODE_AGENT,
)
SHUFFLE_CONNECTIONS = Limit(
    name="shuffle_connections",
    setting="shuffle_connections_max",
    default="1,000, or fewer by the limit of open files",
    what="connections to a node agent's shuffle port",
    answer="429, retry after a second; beyond 64 of those the connection is closed",
    hadoop="`mapreduce.shuffle.max.connections`, no limit; 429",
    daemons=Daemon.NODE_AGENT,
)
NODES = (DIRECTORY_ENTRIES, DIRECTORY_DEPTH, SHUFFLE_CONNECTIONS)
