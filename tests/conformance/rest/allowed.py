"""These lines allow the real ResourceManager and Yodel to differ, each with its reason: the only place that says so.

``calls`` and ``place`` are expressions for a whole call's name and a whole place; ``yodel_shows`` one that is found in
what Yodel says there.  A difference that no line allows fails the run, and so does a line that no call needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.conformance.rest.compare import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """``what``, ``hadoop`` and ``yodel`` are for the reader of docs/compatibility.md."""

    what: str
    calls: str
    place: str
    hadoop: str
    yodel: str
    reason: str
    yodel_shows: str = ""
    is_chance: bool = False
    """Whether the difference shows is up to threads; a run without it does not make the line unneeded."""

    def fits(self, difference: Difference) -> bool:
        return (
            re.fullmatch(self.calls, difference.call) is not None
            and re.fullmatch(self.place, difference.place) is not None
            and re.search(self.yodel_shows, difference.yodel) is not None
        )


@dataclass(slots=True)
class Ledger:
    """Note which differences were seen, and what allowed them."""

    calls_by_line: dict[Allowed, set[str]] = field(default_factory=dict)
    not_allowed: list[Difference] = field(default_factory=list)

    def enter(self, differences: Iterable[Difference], lines: Iterable[Allowed]) -> list[Difference]:
        """The ones that nothing allows."""
        known = list(lines)
        left = []
        for difference in differences:
            line = next((line for line in known if line.fits(difference)), None)
            if line is None:
                left.append(difference)
            else:
                self.calls_by_line.setdefault(line, set()).add(difference.call)
        self.not_allowed += left
        return left

    def unneeded(self, lines: Iterable[Allowed]) -> list[str]:
        return [line.what for line in lines if line not in self.calls_by_line and not line.is_chance]


ANY = ".*"
BODY = r"body\..*"
_WS = r"\w+ /ws/v1/cluster"
_SCHEDULER = r"GET /ws/v1/cluster/scheduler/?(?: .*)?"
_CONF = r"\w+ /ws/v1/cluster/scheduler-conf.*"

FAULTS_OF_HADOOP = (
    Allowed(
        what="a method that a resource has not",
        calls=r"(DELETE|POST|PUT|PATCH|TRACE|GET) /ws/v1/cluster/.*",
        place="status",
        yodel_shows="^405 .*NotAllowedException",
        hadoop="503, with the text of 405",
        yodel="405, with `Allow`",
        reason="a mapper of exceptions in 3.5 that knows no JAX-RS; 405 is what clients of every release before know",
    ),
    Allowed(
        what="a body declared as something else than JSON or XML",
        calls=r".*\(as (text|a form)\)",
        place="status",
        yodel_shows="^415 ",
        hadoop="503, with the text of 415",
        yodel="415",
        reason="the same fault",
    ),
    Allowed(
        what="a body that is declared as nothing",
        calls=r".*\(as nothing\)",
        place=ANY,
        yodel_shows="415|NotSupported",
        hadoop="503, MessageBodyReader not found for application/octet-stream",
        yodel="415",
        reason="a page of any site makes a browser send it without asking first",
    ),
    Allowed(
        what="queue access and one attempt as JSON",
        calls=r"GET /ws/v1/cluster/(queues/default/access.*|apps/\$APP\d/appattempts/\$ATT\d)(?: \(.*\))?",
        place="status",
        yodel_shows="^200 ",
        hadoop="503, MessageBodyWriter not found",
        yodel="the object that the XML shows",
        reason="a class missing in a list of 3.5; releases before have the JSON",
    ),
    Allowed(
        what="a body that lacks what it must have",
        calls=r".*(\(none\)|of no kind\))",
        place="status",
        yodel_shows="^400 ",
        hadoop="503 with a NullPointerException, or taken",
        yodel="400, with what is wrong",
        reason="it is the caller's mistake, and the text says which",
    ),
    Allowed(
        what="the answer to a change of a node's resource",
        calls=r"POST /ws/v1/cluster/nodes/\$NODE/resource.*",
        place=r"body\.resourceInfo\.(memory|vCores|resourceInformations\.resourceInformation\[\]\.value)",
        hadoop="the node's resource before or after the change: another thread makes it",
        yodel="after the change",
        reason="what was asked for has been done when it is answered",
        is_chance=True,
    ),
    Allowed(
        what="a number that is a word",
        calls=r".*\((a word|memory that is no number)\)",
        place="status",
        yodel_shows="^400 ",
        hadoop="taken as 0",
        yodel="400",
        reason="nobody means 0 by a word",
    ),
    Allowed(
        what="a token of a submission that is none",
        calls=r"POST .*\(a token that is none\)",
        place=r"body\.RemoteException\.message",
        hadoop="exception message = null",
        yodel="what is wrong with it",
        reason="the text is for people",
    ),
    Allowed(
        what="a delegation token that is none",
        calls=r"GET /ws/v1/cluster/userinfo(\?delegation=nonsense| \(a token that is none\))",
        place=r"body\.RemoteException\.message",
        hadoop="Java's end of a stream",
        yodel="what is wrong with it",
        reason="the text is for people",
    ),
    Allowed(
        what="callers' parameters that Java falls over",
        calls=r"\w+ /ws/v1/cluster/userinfo\?(user\.name=|op=GETDELEGATIONTOKEN|op=CANCELDELEGATIONTOKEN&.*)",
        place="status",
        yodel_shows="^(200|401|404)",
        hadoop="500",
        yodel="an empty name is none; 401 for a token for nobody, 404 for ending one that is none",
        reason="what its filter says itself in the next line of its code",
    ),
    Allowed(
        what="a cookie for a caller who may not speak for another",
        calls=r"GET .*doAs=.*",
        place="header Set-Cookie",
        hadoop="given with the refusal",
        yodel="none",
        reason="nothing is given with a refusal",
    ),
    Allowed(
        what="a list where an object belongs",
        calls=r".*\(a list\)",
        place=r"body\.RemoteException\..*",
        hadoop="an empty object without an id",
        yodel="a malformed body",
        reason="both refuse it with 400",
    ),
    Allowed(
        what="a type that is accepted with quality 0",
        calls=r".*q=0\].*",
        place="status",
        yodel_shows="^406 ",
        hadoop="sent all the same",
        yodel="406",
        reason="RFC 9110: not acceptable",
    ),
)

OF_KUBERNETES = (
    Allowed(
        what="adding, removing and replacing node labels",
        calls=r"POST /ws/v1/cluster/((add|remove)-node-labels|replace-node-to-labels|nodes/.*/replace-labels).*",
        place="status",
        yodel_shows="^40[04] ",
        hadoop="changes the ResourceManager's own",
        yodel="refused",
        reason="labels are those of the Kubernetes nodes; Hadoop refuses so where they are not centralized",
    ),
    Allowed(
        what="lists of node labels after that",
        calls=r"GET /ws/v1/cluster/(get-node|label-mappings).*\(labelled\)",
        place=BODY,
        hadoop="the labels",
        yodel="none",
        reason="the same",
    ),
    Allowed(
        what="nodes after that",
        calls=r"GET /ws/v1/cluster/nodes.*",
        place=r"body\..*\.nodeLabels",
        hadoop="an empty label",
        yodel="no labels",
        reason="the same",
    ),
    Allowed(
        what="a node's version",
        calls=r"GET (/ws/v1/cluster/nodes|/jmx\?qry=.*RMNMInfo).*",
        place=r"body\..*(version|LiveNodeManagers)",
        hadoop="of the NodeManager",
        yodel="of Yodel's node agent",
        reason="it is another program",
    ),
    Allowed(
        what="figures of beans",
        calls=r"GET /+jmx\?qry=.*(Cluster|Queue)Metrics.*",
        place=r"body\.beans\[\]\.(AM\w*Delay\w*|AppAttemptFirst\w*|ContainerAssigned\w*|\w*EventQueueSize|RmEventProcCPU\w*|"
        r"Aggregate\w*(LocalContainersAllocated|OffSwitch\w*))",
        hadoop="delays of ApplicationMasters, locality, queues of events",
        yodel="none of them",
        reason="they have no source here, and a zero would say that there is one",
    ),
    Allowed(
        what="health of the scheduler",
        calls=_SCHEDULER,
        place=r"body\.scheduler\.schedulerInfo\.health\..*",
        hadoop="its last single placements",
        yodel="none",
        reason="Kubernetes places",
    ),
    Allowed(
        what="limits in queues",
        calls=_SCHEDULER,
        place=r"body\..*\.(amLimit|userAmLimit|AMResourceLimit|userAMResourceLimit|userResourceLimit)\..*",
        hadoop="memory only, so one vcore; with the factor of users' limits that its cluster has",
        yodel="memory and vcores; with its own",
        reason="both are counted here, and the two clusters are configured with different factors",
    ),
    Allowed(
        what="a factor of users' limits",
        calls=_SCHEDULER,
        place=r"body\..*\.userLimitFactor",
        hadoop="10, as that cluster is configured",
        yodel="1, as it is not set here",
        reason="`user-limit-factor` is the same property in both",
    ),
    Allowed(
        what="what the scheduler is configured with",
        calls=_CONF,
        place=r"body\.(configuration\.)?property\[\](\.value)?",
        hadoop="what the file says",
        yodel="what is so, the calculator and lifetimes included",
        reason="there is no file: the properties describe the queues",
    ),
    Allowed(
        what="a change of a queue that is not there",
        calls=r".*\(no such queue to change\)",
        place="status",
        yodel_shows="^400 Queue root.nosuch not found",
        hadoop="kept, and nothing comes of it",
        yodel="400",
        reason="the same",
    ),
    Allowed(
        what="a capacity that is none",
        calls=r".*\(a capacity that is none\)",
        place="body",
        hadoop="Java's word for a number that is none",
        yodel="which property, and what was expected",
        reason="the text is for people",
    ),
)

OF_YODEL = (
    Allowed(
        what="diagnostics of an application whose priority was reduced",
        calls=r"GET /ws/v1/cluster/apps.*",
        place=r".*diagnostics.*",
        yodel_shows=r"^'?Priority \d+ was requested and reduced to \d+, the highest allowed: ",
        hadoop="nothing of it; only the log of the ResourceManager says so",
        yodel="asked and given, until the application runs",
        reason="whoever submitted it would search for why it waits",
    ),
    Allowed(
        what="compressed answers",
        calls=r".*\(gzip\)",
        place="header Content-Encoding",
        yodel_shows="gzip",
        hadoop="never",
        yodel="for clients that say they can read them",
        reason="lists of thousands of applications are a tenth of the size",
    ),
    Allowed(
        what="`Vary`",
        calls=ANY,
        place="header Vary",
        yodel_shows="Accept-Encoding",
        hadoop="none",
        yodel="`Accept-Encoding` where an answer may be compressed",
        reason="RFC 9110: a cache has to know",
    ),
    Allowed(
        what="who answers",
        calls=r"GET /ws/v1/cluster.*",
        place=r"body\.clusterInfo\.(hadoop|resourceManager)(BuildVersion|VersionBuiltOn)|body\.clusterInfo\.rmStateStoreName",
        hadoop="a build of Hadoop",
        yodel="Yodel, with Hadoop's version number",
        reason="the truth where no client decides by it",
    ),
    Allowed(
        what="the servlet's name on pages of errors",
        calls=ANY,
        place=r"body\.servlet",
        hadoop="a class with its address in memory",
        yodel="yodel",
        reason="different at every start of Hadoop's own",
    ),
    Allowed(
        what="the state in the answer to a kill",
        calls=r"PUT .*/state.*",
        place=r"body\.state",
        yodel_shows="KILLED",
        hadoop="KILLING or FINAL_SAVING",
        yodel="KILLED where nothing has to be waited for",
        reason="it is already so",
        is_chance=True,
    ),
    Allowed(
        what="where redirects lead",
        calls=r"GET /(proxy/.*)?(?: .*)?",
        place="header Location",
        yodel_shows="^/cluster",
        hadoop="a whole address",
        yodel="a path",
        reason="right behind every gateway, whatever it is called outside",
    ),
    Allowed(
        what="`Cache-Control` on refusals without a body",
        calls=r"(OPTIONS /ws/v1/cluster/nope|TRACE /jmx.*|PUT .*\(a browser without the header\)|PUT .*op=RENEW.*)",
        place="header Cache-Control",
        yodel_shows="^no-cache$",
        hadoop="none",
        yodel="no-cache",
        reason="on every answer",
    ),
    Allowed(
        what="applications that no queue took",
        calls=r"GET /ws/v1/cluster/metrics.*",
        place=r"body\.clusterMetrics\.apps(Submitted|Failed)",
        hadoop="in no count",
        yodel="submitted, and failed",
        reason="so the counts are those of the list of applications",
    ),
    Allowed(
        what="changing another user's application",
        calls=r"POST .*/signal/.*\(nobody\)",
        place="status",
        yodel_shows="^500 User dr.who cannot perform operation MODIFY_APP",
        hadoop="done, without `yarn.acl.enable`",
        yodel="refused as with it",
        reason="nobody who gives no name ends the jobs of others",
    ),
    Allowed(
        what="pages behind the proxy that are not there",
        calls=r"\w+ /(proxy/.*|cluster/app/application_1_0001)(?: .*)?",
        place="status",
        yodel_shows="^(302|404) ",
        hadoop="404, 500 with a stack trace, 405, or a page with status 200",
        yodel="to the application's page, and 404",
        reason="masters' pages are called with every method; a page of nothing is no success",
    ),
    Allowed(
        what="reservations",
        calls=r"POST .*/reservation/(submit|update)\?.*|GET .*/reservation/list\?.*start-time=x.*",
        place=r"status|body\.RemoteException\.(exception|javaClassName|message)",
        yodel_shows="^400 |BadRequestException|Reservation is not enabled",
        hadoop="what is wrong with a body or a time, then that there are none",
        yodel="that there are none",
        reason="there are none, whatever is asked",
    ),
)

LINES: tuple[Allowed, ...] = (*FAULTS_OF_HADOOP, *OF_KUBERNETES, *OF_YODEL)
