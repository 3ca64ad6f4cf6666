"""Whatever is sent as a body to ``/ws/v1``: refused in Hadoop's form, never expanded, never held beyond a bound.

Every route that changes something takes part; one that is new has to say here what its body looks like.
"""

from __future__ import annotations

import copy
import gzip
import json
import pathlib
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.api_rows import MASTER, NODE, RUNNING, fill
from tests.support.rest_world import RestWorld, rest_world
from yodel.hadoop_http.xml import document

MIB = 1024 * 1024
CLUSTER = "/ws/v1/cluster"
APP = f"{CLUSTER}/apps/{{application_id}}"
FILLED = {
    "{application_id}": str(RUNNING.id),
    "{container_id}": str(MASTER.id),
    "{node_id}": str(NODE.id),
    "{command}": "output_thread_dump",
}
JSON, XML = {"Content-Type": "application/json"}, {"Content-Type": "application/xml"}
ENTRY = {"entry": [{"key": "A", "value": "b"}]}
SUBMISSION: dict[str, Any] = {
    "application-id": "application_1_0001",
    "application-name": "fuzzed",
    "queue": "default",
    "priority": 1,
    "max-app-attempts": 2,
    "unmanaged-AM": False,
    "application-type": "YARN",
    "keep-containers-across-application-attempts": False,
    "application-tags": {"tag": ["a", "b"]},
    "resource": {"memory": 256, "vCores": 1},
    "reservation-id": "reservation_1_1",
    "application-timeouts": {"entry": [{"key": "LIFETIME", "value": 100}]},
    "log-aggregation-context": {"log-include-pattern": "a", "rolled-log-include-pattern": "b"},
    "am-container-resource-requests": [{"priority": 0, "capability": {"memory": 256, "vCores": 1}}],
    "am-container-spec": {
        "local-resources": {
            "entry": [
                {
                    "key": "a.jar",
                    "value": {
                        "resource": "hdfs://h:1/a.jar",
                        "type": "FILE",
                        "visibility": "PRIVATE",
                        "size": 1,
                        "timestamp": 2,
                    },
                }
            ]
        },
        "commands": {"command": ["sleep 1"]},
        "environment": ENTRY,
        "service-data": {"entry": [{"key": "s", "value": "QUJD"}]},
        "application-acls": {"entry": [{"key": "VIEW_APP", "value": "*"}]},
        "credentials": {"tokens": {"entry": []}, "secrets": {"entry": [{"key": "s", "value": "QUJD"}]}},
    },
}
CHANGE = {
    "add-queue": [{"queue-name": "root.new", "params": {"entry": [{"key": "capacity", "value": "0"}]}}],
    "update-queue": [{"queue-name": "root.default", "params": ENTRY}],
    "remove-queue": ["root.none"],
    "global-updates": [ENTRY],
}
LABELS = {"nodeLabelInfo": [{"name": "gpu", "exclusivity": True}]}
READ: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("POST", f"{CLUSTER}/apps"): ("application-submission-context", SUBMISSION),
    ("PUT", f"{APP}/state"): ("appstate", {"state": "KILLED", "diagnostics": "enough"}),
    ("PUT", f"{APP}/queue"): ("appqueue", {"queue": "default"}),
    ("PUT", f"{APP}/priority"): ("applicationpriority", {"priority": 3}),
    ("PUT", f"{APP}/timeout"): ("timeout", {"type": "LIFETIME", "expiryTime": "2030-01-01T00:00:00.000+0000"}),
    ("POST", f"{CLUSTER}/nodes/{{node_id}}/resource"): (
        "resourceOption",
        {"resource": {"memory": 4096, "vCores": 4}, "overCommitTimeout": -1},
    ),
    ("POST", f"{CLUSTER}/add-node-labels"): ("nodeLabelsInfo", LABELS),
    ("POST", f"{CLUSTER}/replace-node-to-labels"): (
        "nodeToLabelsList",
        {"nodeToLabels": [{"nodeId": "node-1", "labels": ["gpu"]}]},
    ),
    ("PUT", f"{CLUSTER}/scheduler-conf"): ("sched-conf", CHANGE),
    ("POST", f"{CLUSTER}/scheduler-conf/validate"): ("sched-conf", CHANGE),
}
"""Where a body is read, its XML's root, and a good one."""
UNREAD = {
    ("POST", f"{CLUSTER}/apps/new-application"): 413,
    ("POST", f"{CLUSTER}/containers/{{container_id}}/signal/{{command}}"): 200,
    ("POST", f"{CLUSTER}/reservation/new-reservation"): 503,
    **{("POST", f"{CLUSTER}/reservation/{what}"): 400 for what in ("submit", "update", "delete")},
    ("POST", f"{CLUSTER}/delegation-token"): 403,  # without Kerberos there are none by REST
    ("POST", f"{CLUSTER}/delegation-token/expiration"): 403,
    ("DELETE", f"{CLUSTER}/delegation-token"): 403,
    ("POST", f"{CLUSTER}/remove-node-labels"): 200,
    ("POST", f"{CLUSTER}/nodes/{{node_id}}/replace-labels"): 404,
    ("POST", f"{CLUSTER}/scheduler/logs"): 413,  # a form
}
"""Where no object is expected, and what a body of 50 MB gets there."""
READERS = [pytest.param(*key, id=f"{key[0]} {key[1].removeprefix(CLUSTER)}") for key in READ]
ALL = [pytest.param(*key, id=f"{key[0]} {key[1].removeprefix(CLUSTER)}") for key in (*READ, *UNREAD)]
JAVAS_OWN = (
    "NullPointerException",
    "UndeclaredThrowableException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeParseException",
    "YarnException",
)
"""With these Hadoop too answers 503 to a body that it falls over."""
ANSWER_BYTES_MAX = 16 * 1024


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"entry": value}
    return value


NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=20) | st.sampled_from(
    ["", "\x00", "\ud7ff\U0010ffff", "a" * 5000, "9" * 400, "null", "true", "NaN", "-1", "1e9", "../..", "application_"]
)
SHAPES = st.sampled_from([[], {}, [[]], [{}], {"": None}, {"entry": {}}, {"entry": [None]}, nested(30), [0] * 300])
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | SHAPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@st.composite
def spoilt(draw: st.DrawFn, good: dict[str, Any]) -> dict[str, Any]:
    """A body with some of its parts replaced, taken away, made a list, or joined by ones that nobody knows."""
    body: Any = {"whole": copy.deepcopy(good)}
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(body)) or [("whole",)]))
        parent = body
        for key in path:
            parent = parent[key]
        what = draw(st.sampled_from(["replace", "replace", "remove", "list", "join"]))
        if what == "replace" or last not in (parent if isinstance(parent, dict) else range(len(parent))):
            parent[last] = copy.deepcopy(draw(JUNK))  # some are drawn more than once, and would come to hold themselves
        elif what == "remove":
            del parent[last]
        elif what == "list":
            parent[last] = [parent[last], copy.deepcopy(parent[last])]
        elif isinstance(parent, dict):
            parent[draw(TEXTS)] = copy.deepcopy(draw(JUNK))
        body.setdefault("whole", {})
    return body["whole"] if isinstance(body["whole"], dict) else {"whole": body["whole"]}


def url(path: str) -> str:
    for name, value in FILLED.items():
        path = path.replace(name, quote(value, safe=""))
    return f"{path}?user.name=admin"


def check(answer: Any) -> None:
    """An answer that a client of Hadoop can read, and that does not give back what was sent."""
    text = answer.text
    assert answer.status_code in (200, 202, 400, 401, 403, 404, 503), (answer.status_code, text)
    assert len(answer.content) <= ANSWER_BYTES_MAX
    if not text.startswith("{") or answer.status_code < 400:
        return
    told = json.loads(text)["RemoteException"]
    assert {"exception", "javaClassName"} <= set(told) <= {"exception", "javaClassName", "message"}
    assert answer.status_code != 503 or told["exception"] in JAVAS_OWN, told


@pytest.fixture
async def filled() -> AsyncIterator[RestWorld]:
    async with rest_world(are_labels_enabled=True) as world:
        await fill(world)
        yield world


async def test_every_route_that_changes_something_is_here(world: RestWorld) -> None:
    found = {
        (method, route.path)
        for route in world.app.routes
        for method in getattr(route, "methods", None) or ()
        if route.path.startswith("/ws/") and method not in ("GET", "HEAD", "OPTIONS")
    }
    assert found == {*READ, *UNREAD}


@pytest.mark.parametrize(("method", "path"), READERS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_wrong_types(filled: RestWorld, method: str, path: str, data: st.DataObject) -> None:
    root, good = READ[method, path]
    body = data.draw(spoilt(good))
    is_rooted, is_xml = data.draw(st.booleans()), data.draw(st.booleans())
    sent = document(body, root) if is_xml else json.dumps({root: body} if is_rooted else body).encode()
    check(await filled.client.request(method, url(path), content=sent, headers=XML if is_xml else JSON))


@pytest.mark.parametrize(("method", "path"), READERS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.binary(max_size=60) | st.text(alphabet='{}[]",:0e1<>/a&;!', max_size=40).map(str.encode))
async def test_bytes_of_any_kind(filled: RestWorld, method: str, path: str, sent: bytes) -> None:
    for declared in (JSON, XML):
        check(await filled.client.request(method, url(path), content=sent, headers=declared))


@pytest.mark.parametrize(("method", "path"), READERS)
@pytest.mark.parametrize("what", ["[]", "null", '"text"', "1", "true", "[{}]", "[" * 40_000, '{"a":' * 40_000])
async def test_what_is_no_object(filled: RestWorld, method: str, path: str, what: str) -> None:
    answer = await filled.client.request(method, url(path), content=what.encode(), headers=JSON)
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (400, "WebApplicationException")


@pytest.mark.parametrize(("method", "path"), READERS)
async def test_forms_that_nobody_reads(filled: RestWorld, method: str, path: str) -> None:
    for declared in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"):
        answer = await filled.client.request(method, url(path), content=b"{}", headers={"Content-Type": declared})
        assert answer.status_code == 415
    packed = gzip.compress(b" " * MIB)
    answer = await filled.client.request(method, url(path), content=packed, headers=JSON | {"Content-Encoding": "gzip"})
    assert answer.status_code == 400


@pytest.mark.parametrize(("method", "path"), READERS)
async def test_depth_inside_a_good_body(filled: RestWorld, method: str, path: str) -> None:
    root, good = READ[method, path]
    for depth in (31, 200):
        inner = json.dumps(good)[:-1] + ', "further": ' + "[" * depth + "]" * depth + "}"
        check(await filled.client.request(method, url(path), content=inner.encode(), headers=JSON))
        name = next(iter(good))
        deep = f"<{root}>" + f"<{name}>" * depth + f"</{name}>" * depth + f"</{root}>"
        answer = await filled.client.request(method, url(path), content=deep.encode(), headers=XML)
        check(answer)
        assert depth == 31 or answer.status_code == 400


def laughs(root: str, inner: str) -> str:
    """A thousand million of them."""
    defined = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f"<!DOCTYPE {root} [{defined}]><{root}><{inner}>&l9;</{inner}></{root}>"


@pytest.mark.parametrize(("method", "path"), READERS)
async def test_entities_are_neither_expanded_nor_fetched(
    filled: RestWorld, method: str, path: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "secret").write_text("swordfish")
    root, inner = READ[method, path][0], next(iter(READ[method, path][1]))
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.setblocking(False)
        at, file = f"http://127.0.0.1:{outside.getsockname()[1]}/x", (tmp_path / "secret").as_uri()
        bodies = [
            laughs(root, inner),
            f'<!DOCTYPE {root} [<!ENTITY q "{"a" * 50_000}">]><{root}><{inner}>{"&q;" * 50_000}</{inner}></{root}>',
            f'<!DOCTYPE {root} [<!ENTITY e SYSTEM "{file}">]><{root}><{inner}>&e;</{inner}></{root}>',
            f'<!DOCTYPE {root} [<!ENTITY % p SYSTEM "{at}"> %p;]><{root}><{inner}>KILLED</{inner}></{root}>',
            f'<!DOCTYPE {root} SYSTEM "{at}"><{root}><{inner}>KILLED</{inner}></{root}>',
            f'<!DOCTYPE {root} [<!ATTLIST {root} a CDATA "b">]><{root}/>',
            f"<{root}><{inner}>&e;</{inner}></{root}>",
        ]
        tracemalloc.start()
        try:
            for body in bodies:
                for encoding in ("utf-8", "utf-16"):
                    head = f'<?xml version="1.0" encoding="{encoding}"?>'
                    sent = (head + body).encode(encoding)
                    answer = await filled.client.request(method, url(path), content=sent, headers=XML)
                    assert (answer.status_code, "swordfish" in answer.text) == (400, False)
                    told = answer.json()["RemoteException"]
                    assert told == {
                        "exception": "BadRequestException",
                        "javaClassName": "javax.ws.rs.BadRequestException",
                    }
            assert tracemalloc.get_traced_memory()[1] < 4 * MIB
        finally:
            tracemalloc.stop()
        with pytest.raises(BlockingIOError):
            outside.accept()


@pytest.mark.parametrize("declared", [True, False], ids=["with-length", "chunked"])
@pytest.mark.parametrize(("method", "path"), ALL)
async def test_fifty_megabytes_are_not_taken(filled: RestWorld, method: str, path: str, declared: bool) -> None:
    part, taken = b" " * MIB, 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(50):
            taken += 1
            yield part

    for media_type in (JSON, XML):
        taken = 0
        headers = media_type | ({"Content-Length": str(50 * MIB)} if declared else {})
        answer = await filled.client.request(method, url(path), content=parts(), headers=headers)
        assert answer.status_code == UNREAD.get((method, path), 413), answer.text
        assert taken <= (1 if declared else 6)  # 4 MiB are taken; one part is on its way


@pytest.mark.parametrize(
    ("made", "declared"),
    [
        (lambda: b'{"queue":[' + b"[]," * (4 * MIB) + b"[]]}", JSON),
        (lambda: b'{"queue":[' + b"{}," * (4 * MIB) + b"{}]}", JSON),
        (lambda: b'{"queue":[' + b'"ab",' * (3 * MIB) + b'"ab"]}', JSON),
        (lambda: b'{"queue":[' + b"1000," * (3 * MIB) + b"1]}", JSON),
        (lambda: b"{" + b",".join(b'"%d":1' % number for number in range(1_000_000)) + b"}", JSON),
        (lambda: b"<appqueue>" + b"<entry/>" * (256 * 1024) + b"</appqueue>", XML),
        (lambda: b"<appqueue>" + b"<a><b/></a>" * (190 * 1024) + b"</appqueue>", XML),
    ],
    ids=["lists", "objects", "texts", "numbers", "names", "elements", "nested-elements"],
)
async def test_small_things_by_the_million_do_not_fill_the_memory(
    filled: RestWorld, made: Callable[[], bytes], declared: dict[str, str]
) -> None:
    sent = made()
    tracemalloc.start()
    try:
        answer = await filled.client.put(url(f"{APP}/queue"), content=sent, headers=declared)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code == 413
    assert peak < 64 * MIB
