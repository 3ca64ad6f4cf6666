"""A hostile submitter may put each of these into a submission, by REST, and each case says what is to come of it.

Whoever reads a case sees its end: ``refused``, words of the answer to the submission; ``failed``, words of the
application's diagnostics; ``printed``, words of its
container, which ran and did no harm.  All are regular expressions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.hostile_archives import archives, contained

MARK = "yodel-evil-mark"
LONG = "x" * 10_001
SHELL_TEXT = (
    f'"; touch /etc/{MARK} 2>/dev/null || true; echo "',
    f"$(touch /etc/{MARK} 2>/dev/null || true; id -u)",
    f"`touch /etc/{MARK} 2>/dev/null || true; id -u`",
    f"a\ntouch /etc/{MARK}\nb",
    "';--",
)
BAD_NAME = '"><script>alert(1)</script>\n$(id)`id`{{PWD}} ../../etc \u202e\u6f22\u5b57 ${jndi:ldap://x}%s%n'
OUTPUT = " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
DOCKER = {"YARN_CONTAINER_RUNTIME_TYPE": "docker"}
IMAGE = "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``fields`` take the place of the plain submission's, ``spec`` of its launch context's."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    user: str = "yodel-bob"
    refused: str = ""
    status: int = 400
    failed: str = ""
    printed: str = ""

    def context(self) -> dict[str, Any]:
        plain = {"commands": {"command": "echo harmless" + OUTPUT}}
        return {
            "application-name": "hostile",
            "application-type": "TEST",
            "max-app-attempts": 1,
            "resource": {"memory": 256, "vCores": 1},
            **self.fields,
            "am-container-spec": {**plain, **self.spec},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Name a file in HDFS."""

    url: str
    size: int
    modified_ms: int

    def entry(self, link: str, **more: Any) -> dict[str, Any]:
        value = {"resource": self.url, "size": self.size, "timestamp": self.modified_ms, "visibility": "PRIVATE"}
        return {"key": link, "value": {**value, "type": "FILE", **more}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Hold what cases name of the cluster: the submitter's own ``files`` by name, an agent's ``state``, and another
    user's process and file in HDFS."""

    files: Mapping[str, File]
    state: str
    neighbour_pid: int
    neighbours_file: File
    escape_arguments: str


NOTHING = File(url="", size=0, modified_ms=0)
NOWHERE = Surroundings(
    files=defaultdict(lambda: NOTHING),
    state="",
    neighbour_pid=0,
    neighbours_file=NOTHING,
    escape_arguments="",
)
"""Enough to know the cases' names."""
REFUSED, CONTAINED = archives(MARK), contained(MARK)
ARCHIVES = {**REFUSED, **CONTAINED}


def everything(around: Surroundings) -> Sequence[Case]:
    """Return all cases, those that take longest first."""
    return (*harmless(around), *localized(around), *failed_in_a_pod(), *failed_before_a_pod(), *refused())


def entries(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"entry": [{"key": key, "value": value} for key, value in values.items()]}


def resources(*found: Mapping[str, Any]) -> dict[str, Any]:
    return {"local-resources": {"entry": list(found)}}


def refused() -> Sequence[Case]:
    """No pod is made for them."""
    labels = "cluster do not contain"
    more = {"resource": "file:", "size": 1, "timestamp": 1, "type": "FILE", "visibility": "PRIVATE"}
    huge = {"memory": 2**62, "vCores": 1}
    return (
        Case(name="name of 10,001 characters", fields={"application-name": LONG}, refused="at most 1024 characters"),
        Case(name="name with NUL", fields={"application-name": "a\0b"}, refused="without NUL"),
        Case(name="tag with a line's end", fields={"application-tags": {"tag": "a\nb"}}, refused="only have ASCII"),
        Case(name="tag of 10,001 characters", fields={"application-tags": {"tag": LONG}}, refused="is too long"),
        Case(
            name="a hundred tags", fields={"application-tags": {"tag": list(map(str, range(100)))}}, refused="Too many"
        ),
        Case(name="node label of shell text", fields={"app-node-label-expression": SHELL_TEXT[1]}, refused=labels),
        Case(name="node label, long", fields={"am-container-node-label-expression": LONG}, refused=labels),
        Case(name="memory of 2^62", fields={"resource": huge}, refused="more memory than configured max"),
        Case(name="vcores of 2^31-1", fields={"resource": {"memory": 256, "vCores": 2**31 - 1}}, refused="more cores"),
        Case(name="memory below zero", fields={"resource": {"memory": -5, "vCores": 1}}, refused="less than 0"),
        Case(name="memory beyond 64 bits", fields={"resource": {"memory": 10**30}}, refused="Invalid memory"),
        Case(name="priority beyond 32 bits", fields={"priority": 2**40}, refused="Invalid priority"),
        Case(
            name="10,001 resources",
            spec=resources(*({"key": f"r{n}", "value": more} for n in range(10_001))),
            refused="rest_values",
            status=413,
        ),
        Case(
            name="10,001 variables",
            spec={"environment": entries({f"V{n}": "" for n in range(10_001)})},
            refused="10000",
        ),
        Case(name="resource without path", spec=resources({"key": "a", "value": more}), refused="a URI with a path"),
        Case(name="user that is a path", user="../../etc", refused="Invalid user.name"),
        Case(name="user with a line's end", user="yodel-bob\nroot", refused="Invalid user.name"),
    )


def failed_before_a_pod() -> Sequence[Case]:
    """Accepted, as Hadoop does, and ended with a reason; or refused, where nothing could ever run."""
    queues = {"that is a path": "../../etc", "of shell text": SHELL_TEXT[0], "of 10,001 characters": LONG}
    images = {
        "shell text": "localhost/yodel/x;$(id)",
        "spaces": "localhost/yodel/x --privileged",
        "an option": "--privileged",
        "a line's end": "localhost/yodel/x\ny",
        "600 characters": "localhost/yodel/" + "a" * 600,
    }
    return (
        *(
            Case(name=f"queue {what}", fields={"queue": queue}, failed="to unknown queue")
            for what, queue in queues.items()
        ),
        *(
            Case(
                name=f"image of {what}",
                fields={"queue": "images"},
                spec={"environment": entries({**DOCKER, IMAGE: image})},
                refused="expected the name of an image",
            )
            for what, image in images.items()
        ),
        Case(
            name="image of a registry that is not allowed",
            fields={"queue": "images"},
            spec={"environment": entries({**DOCKER, IMAGE: "evil.example/yodel/x:1"})},
            refused="is not allowed in this queue; allowed: localhost/yodel/",
        ),
        Case(name="the superuser", user="root", refused="root (is not whitelisted|not found)"),
        Case(name="a user's number", user="2001", refused="2001 not found"),
    )


def failed_in_a_pod() -> Sequence[Case]:
    names = {
        "a line's end": "A\nB",
        "quotes": f'A";touch /etc/{MARK};"',
        "a substitution": f"$(touch /etc/{MARK})",
        "nothing": "",
    }
    images = {"upper case": "localhost/yodel/Upper:1", "..": "localhost/yodel/../../evil:1"}
    types = {"no resource": "not a name\n$(id)", "a quota's word": "pods"}
    return (
        *(
            Case(
                name=f"variable named {what}", spec={"environment": entries({key: "x"})}, failed="environment variable"
            )
            for what, key in names.items()
        ),
        *(
            Case(
                name=f"image with {what}",
                fields={"queue": "images"},
                spec={"environment": entries({**DOCKER, IMAGE: image})},
                failed="InvalidImageName",
            )
            for what, image in images.items()
        ),
        *(
            Case(
                name=f"resource type that is {what}",
                fields={"resource": {"memory": 256, "vCores": 1, "resourceInformations": informations(name)}},
                refused="maximum allowed allocation",
            )
            for what, name in types.items()
        ),
        Case(
            name="unknown service", spec={"service-data": entries({"../x": "AAAA"})}, failed="auxService:../x does not"
        ),
        Case(name="command of a megabyte", spec={"commands": {"command": "x" * (1 << 20)}}, failed="exitCode: 126"),
    )


def informations(name: str) -> dict[str, Any]:
    return {"resourceInformation": [{"name": name, "value": 1, "units": ""}]}


def pages(around: Surroundings) -> Mapping[str, str]:
    """Return what is not the submitter's to read, by the agent's eyes; the times are right where that could matter."""
    process = f"file:/proc/{around.neighbour_pid}"
    return {
        "the node's passwords": "file:/etc/shadow",
        "a way upwards": "file:/tmp/../etc/shadow",
        "the agent's secret": "file:/etc/yodel/secrets/node-token",
        "the agent's state": f"file:{around.state}",
        "a process's environment": f"{process}/environ",
        "a neighbour's container": f"{process}/root/tmp/secret",
        "a neighbour's folder": f"{process}/cwd/secret",
        "the machine's first process": "file:/proc/1/root/etc/hostname",
        "what the agent has open": "file:/proc/self/fd/3",
        "what the agent's memory is": "file:/proc/self/maps",
        "no file system": "gopher://evil.example/x",
    }


def localized(around: Surroundings) -> Sequence[Case]:
    """Return cases of local resources."""
    plain = around.files["plain.txt"]
    links = {
        "..": "..",
        "a path upwards": f"../{MARK}",
        "an absolute path": f"/etc/{MARK}",
        "a way back up": f"a/../../{MARK}",
        "a line's end": f"a\n{MARK}",
        "nothing": "",
        "2,000 characters": "x" * 2000,
    }
    found = [
        Case(name=f"link of {what}", spec=resources(plain.entry(link)), failed="Invalid local resource link")
        for what, link in links.items()
    ]
    for name in REFUSED:
        entry = unpacked(around, name)
        words = {"endless-pattern.jar": "takes too long to match", "corrupt.zip": "Error -3"}.get(name, "Archive")
        found.append(Case(name=f"archive {name}", spec=resources(entry), failed=words))
    for what, url in pages(around).items():
        entry = {"resource": url, "size": -1, "timestamp": 1, "type": "FILE", "visibility": "PRIVATE"}
        failed = "Permission denied|does not exist|is in a proc file system|No FileSystem"
        found.append(Case(name=f"URL of {what}", spec=resources({"key": "got", "value": entry}), failed=failed))
    other = around.neighbours_file.entry("got")
    found.append(Case(name="another user's file", spec=resources(other), failed="Permission denied"))
    public = plain.entry("got", visibility="PUBLIC")
    found.append(Case(name="secret that is to be public", spec=resources(public), failed="not publicly accessible"))
    return found


def unpacked(around: Surroundings, name: str) -> Mapping[str, Any]:
    """The agent's own user unpacks what is public."""
    visibility = "PUBLIC" if name.startswith(("up", "through")) else "PRIVATE"
    pattern = "(a|aa)+[bc]" if name.startswith("endless") else ".*"
    more = {"type": "PATTERN", "pattern": pattern} if name.endswith(".jar") else {"type": "ARCHIVE"}
    return around.files[name].entry("unpacked", visibility=visibility, **more)


def archives_that_run(around: Surroundings) -> Sequence[Case]:
    """Their links are followed by the container alone, as itself."""
    command = "ls unpacked/ >/dev/null; cat unpacked/secret unpacked/passwords; ls unpacked/*.jar; echo harmless"
    denied = "(Permission denied|No such file)"
    return [
        Case(
            name=f"archive {name}",
            spec={**resources(unpacked(around, name)), "commands": {"command": f"({command}) 1><LOG_DIR>/stdout 2>&1"}},
            printed=f"(?s){denied}.*{denied}.*harmless",
        )
        for name in CONTAINED
    ]


def harmless(around: Surroundings) -> Sequence[Case]:
    """Containers that run."""
    plain, script = around.files["plain.txt"], around.files["escape.py"]
    variables = {f"TEXT{number}": text for number, text in enumerate(SHELL_TEXT)}
    lies = {
        "LD_PRELOAD": f"/tmp/{MARK}.so",
        **dict.fromkeys(("BASH_ENV", "ENV", "HADOOP_TOKEN_FILE_LOCATION"), "/etc/shadow"),
        **dict.fromkeys(("LD_LIBRARY_PATH", "LOCAL_DIRS", "LOG_DIRS", "PWD", "YODEL_HANDOVER_DIR"), "/etc"),
        **dict.fromkeys(("CONTAINER_ID", "USER", "NM_HOST"), "somebody else"),
    }
    odd_links = (*SHELL_TEXT[:3], "-rf", "a b;c", "\u00fc\u6f22", "launch_container.sh", "container_tokens")
    text = f'echo first; touch /etc/{MARK} /usr/{MARK} /{MARK}; $(echo touch) `echo /etc/{MARK}`; echo \\"it\'s\\" last'
    facts = "echo $CONTAINER_ID $USER $LOCAL_DIRS $PWD"
    return (
        Case(
            name="variables",
            spec={"environment": entries({**variables, **lies}), "commands": {"command": facts + OUTPUT}},
            printed=r"container_(e\d+_)?\d{13}_\d+_01_000001 yodel-bob /\S+/usercache/yodel-bob/appcache/\S+ /\S+/user",
        ),
        Case(name="command", spec={"commands": {"command": f"({text}){OUTPUT}"}}, printed="(?s)first\n.*it's last\n"),
        Case(
            name="links of shell text",
            spec={
                **resources(*(plain.entry(link) for link in odd_links)),
                "commands": {"command": "ls -1 --quoting-style=literal" + OUTPUT},
            },
            printed=r"(?sm)(?=.*^-rf$)(?=.*^a b;c$)(?=.*^launch_container\.sh$)(?=.*^`touch $)",
        ),
        Case(
            name="names",
            fields={
                "queue": "pod-network",
                "application-name": BAD_NAME,
                "application-type": BAD_NAME,
                "application-tags": {"tag": ["$(id)", "<b>x</b>", "a,b"]},
                "priority": 2**31 - 1,
                "max-app-attempts": 2**31 - 1,
                "attempt-failures-validity-interval": 2**63 - 1,
                "application-timeouts": entries({"LIFETIME": 2**63 - 1}),
                "log-aggregation-context": {
                    "log-include-pattern": "(?i)\\p{Graph}++",
                    "log-aggregation-policy-class-name": "../x",
                },
            },
            printed="harmless",
        ),
        Case(
            name="escape",
            spec={
                **resources(script.entry("escape.py")),
                "environment": entries({"MARK": MARK}),
                "commands": {"command": f"python3 escape.py {around.escape_arguments}{OUTPUT}"},
            },
            printed='"probe": "traps_for_the_agent"',
        ),
        *archives_that_run(around),
    )
