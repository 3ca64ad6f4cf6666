"""Calls about the cluster itself, before any application: nodes, labels, queues, servlets, filters, odd requests."""

from __future__ import annotations

from tests.conformance.rest.steps import XML, Step, as_user, both, get, sent

ZIP = {"Accept_Encoding": "gzip"}
BROWSER = {"User_Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
ORIGIN = {"Origin": "http://pages.example.com"}
MUCH = {"resource": {"memory": 4096, "vCores": 6}, "overCommitTimeout": -1}
SAME = {"resource": {"memory": 6144, "vCores": 8}, "overCommitTimeout": -1}
LABELS = {"nodeLabelInfo": [{"name": "fast", "exclusivity": True}, {"name": "slow", "exclusivity": False}]}
ON_NODE = {"nodeToLabels": [{"nodeId": "$NODE", "labels": ["fast"]}]}


def resources() -> list[Step]:
    return [
        *both("", "/", "/info", "/info/", "/metrics", "/userinfo", "/scheduler", "/scheduler/", "/scheduler-overview"),
        *both("/apps", "/apps/", note="no application"),
        *both("/apps?states=RUNNING", "/appstatistics", note="no application"),
        get("/userinfo?user.name=alice"),
        get("/info?user.name=alice&doAs=bob"),
        *both("/nodes", "/nodes/", "/nodes?states=RUNNING", "/nodes?states=lost", "/nodes?states=running,lost"),
        *both("/nodes/$NODE", "/nodes/nohost", "/nodes/nohost:1", "/nodes?states=BAD"),
        get("/nodes?states="),
        get("/nodes/host:port"),
        get("/nodes/$NODE/"),
        *both("/get-node-labels", "/get-rm-node-labels", "/get-node-to-labels", "/label-mappings"),
        *both("/nodes/$NODE/get-labels"),
        get("/label-mappings?labels=fast"),
        get("/nodes/nohost:1/get-labels"),
        get("/nodes/nohost/get-labels"),
        get("/get-node-attributes"),
        get("/scheduler/activities", note="first"),
        get("/scheduler/activities?nodeId=nohost:1"),
        get("/scheduler/activities?groupBy=nothing"),
        get("/scheduler/bulk-activities?groupBy=nothing"),
        get("/scheduler/nothing"),
    ]


def negotiation() -> list[Step]:
    answers = [
        get("/info", accept) for accept in ("", "*/*", "application/*", "application/json;q=0.1, application/xml;q=0.9")
    ]
    refused = [get("/info", accept) for accept in ("text/plain", "text/html", "image/png", "application/json;q=0")]
    return [
        *answers,
        *refused,
        get("/info", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", note="a browser"),
        get("/info", "nonsense"),
        get("/apps/application_1_0001", "text/plain"),
        get("/scheduler", note="gzip", **ZIP),
        get("/scheduler", XML, note="gzip", **ZIP),
        get("/info", note="gzip", **ZIP),
        *(sent("HEAD", path) for path in ("/info", "/apps", "/scheduler", "/nodes/nohost:1", "/nope")),
        *(sent("OPTIONS", path) for path in ("/info", "/apps", "/apps/application_1_0001/state", "/scheduler-conf")),
        *(sent("OPTIONS", path) for path in ("/delegation-token", "/nodes/$NODE", "/nope", "/nodes/$NODE/resource")),
        sent("DELETE", "/info"),
        sent("POST", "/info"),
        sent("PUT", "/apps", {}),
        sent("POST", "/scheduler", {}),
        sent("DELETE", "/apps/application_1_0001"),
        sent("PATCH", "/apps/application_1_0001", {}),
        sent("TRACE", "/info"),
        *both("/nope", "/apps/application_1_0001/nope"),
        get("//ws/v1/"),
        get("//ws/v1/nope"),
        get("//ws/v2/cluster/info"),
        get("//nope"),
    ]


def servlets() -> list[Step]:
    bean = "Hadoop%3Aservice%3DResourceManager%2Cname%3D"
    return [
        get("//", ""),
        get("//isActive", ""),
        sent("HEAD", "//isActive"),
        get("//conf?name=yarn.resourcemanager.hostname", ""),
        get("//conf?name=yarn.resourcemanager.hostname"),
        get("//conf?name=yarn.cluster.max-application-priority"),
        get("//conf?name=no.such.key"),
        get("//conf?name=no.such.key", ""),
        get(f"//jmx?qry={bean}ClusterMetrics", ""),
        get(f"//jmx?qry={bean}RMNMInfo", ""),
        get(f"//jmx?qry={bean}QueueMetrics%2Cq0%3Droot", ""),
        get(f"//jmx?qry={bean}QueueMetrics%2Cq0%3Droot%2Cq1%3Ddefault", ""),
        get(f"//jmx?get={bean}ClusterMetrics%3A%3ANumActiveNMs", ""),
        get(f"//jmx?get={bean}ClusterMetrics%3A%3ANoSuch", ""),
        get(f"//jmx?get={bean}NoSuch%3A%3ANumActiveNMs", ""),
        get("//jmx?get=nonsense", ""),
        get("//jmx?qry=nonsense", ""),
        get("//jmx?qry=Hadoop%3Aservice%3DNoSuch%2Cname%3D*", ""),
        sent("TRACE", "//jmx", accept=""),
        get("//logLevel?log=org.apache.hadoop.yarn", ""),
        get("//proxy/application_1_0001/", ""),
        get("//proxy/nonsense/", ""),
        get("//proxy/", ""),
        get("//cluster/app/application_1_0001", "text/html"),
        sent("DELETE", "//proxy/application_1_0001/"),
    ]


def filters() -> list[Step]:
    """Browsers without the header against forgery, other sites' pages, callers who say they speak for others."""
    state = "/apps/application_1_0001/state"
    asked = {"Access_Control_Request_Method": "GET", **ORIGIN}
    return [
        get("/info", note="a browser without the header", **BROWSER),
        sent("PUT", as_user(state), {"state": "KILLED"}, note="a browser without the header", **BROWSER),
        sent("PUT", as_user(state), {"state": "KILLED"}, accept=XML, note="a browser without the header", **BROWSER),
        sent("PUT", as_user(state), {"state": "KILLED"}, note="a browser with it", X_XSRF_Header="x", **BROWSER),
        sent("PUT", as_user(state), {"state": "KILLED"}, note="no browser", User_Agent="curl/8"),
        get("/info", note="another site's page", **ORIGIN),
        get("/info", note="a site not allowed", Origin="http://elsewhere.example.org"),
        sent("OPTIONS", "/info", note="preflight", **asked),
        sent("OPTIONS", "/info", note="preflight of PUT", **{**asked, "Access_Control_Request_Method": "PUT"}),
        sent("OPTIONS", "/info", note="preflight of a header", Access_Control_Request_Headers="X-Odd", **asked),
        get("/userinfo?user.name=hue&doAs=alice"),
        get("/userinfo?user.name=hue&doAs=carol"),
        get("/userinfo?user.name=mallory&doAs=alice"),
        get("/userinfo?user.name=hue&doAs=carol", XML),
        get("/userinfo?doAs=alice"),
        get("/userinfo?user.name="),
        get("/userinfo?user.name=alice&user.name=bob"),
        get("/userinfo", note="a cookie that is none", Cookie='hadoop.auth="u=alice&p=alice&t=simple&e=1&s=x"'),
        get("/userinfo", note="a token that is none", X_Hadoop_Delegation_Token="nonsense"),
        get("/userinfo?delegation=nonsense"),
        get("/userinfo?op=GETDELEGATIONTOKEN&renewer=alice&user.name=alice"),
        get("/userinfo?op=GETDELEGATIONTOKEN"),
        sent("PUT", "/userinfo?op=RENEWDELEGATIONTOKEN&user.name=alice"),
        sent("PUT", "/userinfo?op=CANCELDELEGATIONTOKEN&token=nonsense&user.name=alice"),
    ]


def tokens_and_reservations() -> list[Step]:
    held = {"Hadoop_YARN_RM_Delegation_Token": "nonsense"}
    wrong = {"reservation-id": "reservation_1_1"}
    return [
        sent("POST", as_user("/delegation-token"), {"renewer": "root"}),
        sent("POST", as_user("/delegation-token"), {"renewer": "root"}, accept=XML),
        sent("POST", "/delegation-token", {"renewer": "root"}, note="nobody"),
        sent("POST", as_user("/delegation-token/expiration")),
        sent("POST", as_user("/delegation-token/expiration"), note="with a token", **held),
        sent("DELETE", as_user("/delegation-token")),
        sent("DELETE", as_user("/delegation-token"), note="with a token", **held),
        sent("POST", as_user("/reservation/new-reservation")),
        sent("POST", as_user("/reservation/new-reservation"), accept=XML),
        sent("POST", as_user("/reservation/submit"), {"queue": "default", **wrong}),
        sent("POST", as_user("/reservation/update"), wrong),
        sent("POST", as_user("/reservation/delete"), wrong),
        get(as_user("/reservation/list?queue=default")),
        get(as_user("/reservation/list?queue=default"), XML),
        get(as_user("/reservation/list?queue=default&start-time=x")),
        get(as_user("/reservation/list")),
        get(as_user("/queues/default/access?user=alice&queue-acl-type=SUBMIT_APPLICATIONS")),
        get(as_user("/queues/default/access?user=alice&queue-acl-type=SUBMIT_APPLICATIONS"), XML),
        get(as_user("/queues/default/access?user=alice&queue-acl-type=FLY")),
        get(as_user("/queues/default/access?queue-acl-type=SUBMIT_APPLICATIONS")),
        get(as_user("/queues/nosuch/access?user=alice&queue-acl-type=SUBMIT_APPLICATIONS")),
        get("/queues/default/access?user=alice&queue-acl-type=ADMINISTER_QUEUE", note="nobody"),
    ]


def changes_of_nodes() -> list[Step]:
    at = "/nodes/$NODE/resource"
    return [
        sent("POST", as_user("/add-node-labels"), LABELS, note="two labels"),
        sent("POST", as_user("/add-node-labels"), {"nodeLabelInfo": [{"name": "-bad-", "exclusivity": True}]},
             note="no name"),
        sent("POST", as_user("/add-node-labels"), "{", note="half of an object"),
        sent("POST", as_user("/add-node-labels"), {}, note="nothing"),
        sent("POST", as_user("/replace-node-to-labels"), ON_NODE),
        *both("/get-node-labels", "/get-node-to-labels", "/label-mappings", note="labelled"),
        sent("POST", as_user("/nodes/$NODE/replace-labels?labels=")),
        sent("POST", as_user("/nodes/nohost:1/replace-labels?labels=fast")),
        sent("POST", as_user("/remove-node-labels?labels=nosuch")),
        sent("POST", as_user("/remove-node-labels?labels=fast&labels=slow")),
        sent("POST", as_user("/remove-node-labels")),
        sent("POST", as_user(at), MUCH),
        sent("POST", as_user(at), "<resourceOption><resource><memory>4096</memory><vCores>6</vCores></resource>"
             "<overCommitTimeout>-1</overCommitTimeout></resourceOption>", kind=XML, accept=XML, note="in XML"),
        sent("POST", as_user("/nodes/nohost:1/resource"), MUCH),
        sent("POST", as_user("/nodes/nohost/resource"), MUCH),
        sent("POST", as_user(at), "", note="no body"),
        sent("POST", as_user(at), SAME, note="back"),
        get("/nodes/$NODE", note="after its resources came back"),
    ]  # fmt: skip


def steps() -> list[Step]:
    return [*resources(), *negotiation(), *servlets(), *filters(), *tokens_and_reservations(), *changes_of_nodes()]
