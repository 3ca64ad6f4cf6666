"""Domain records for tests: Hypothesis strategies that fill every field with whatever its type allows, and plain ones.

Strategies are made from the records' own annotations: a field added to a record is tried without a change here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from yodel.domain.application import Application, Submission
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import (
    CONTAINER_SEQUENCE_MASK,
    ApplicationAttemptId,
    ApplicationId,
    ContainerId,
    NodeId,
    dns_name,
)
from yodel.domain.node import Node
from yodel.domain.past import PastUsage, PastUsageId
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.states import ContainerType
from yodel.domain.tokens import MasterKey
from yodel.services.applications.given_ids import Asker

INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1
CLUSTER_TIMESTAMP_MS = 1_700_000_000_000
NOBODY = Asker(user=None, host="")
"""Whoever submits in the playbook."""

ODD_TEXTS = (
    "",
    " ",
    "a\x00b",
    "\x1a",
    "\x1a0041",
    "\ud800 alone",
    "naïve ☃ 𝄞 \u202e",
    "'; DROP TABLE applications; --",
    '{"json": "\\u0000"}',
    "line\r\nline\ttab\x07",
    "x" * 300,
)

texts = st.text(max_size=20) | st.sampled_from(ODD_TEXTS)
integers = st.integers(-INT64_MAX - 1, INT64_MAX)
extras = st.dictionaries(st.text(min_size=1, max_size=10), integers, max_size=3).map(lambda d: tuple(sorted(d.items())))
resources = st.builds(Resource, integers, integers, extras)

application_ids = st.builds(ApplicationId, st.integers(0, INT64_MAX), st.integers(0, INT32_MAX))
attempt_ids = st.builds(ApplicationAttemptId, application_ids, st.integers(0, INT32_MAX))
container_ids = st.builds(
    ContainerId.of, attempt_ids, st.integers(0, CONTAINER_SEQUENCE_MASK), st.integers(0, 2**23 - 1)
)
node_ids = st.builds(NodeId, st.from_regex(r"[A-Za-z0-9._-]{1,253}", fullmatch=True), st.integers(0, 65535))
"""Identifiers as YARN's numbers allow them: epochs fit into the upper 24 bits of a signed 64-bit number."""


_BY_TYPE: dict[object, st.SearchStrategy[Any]] = {
    str: texts,
    int: integers,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=50),
    Resource: resources,
    ApplicationId: application_ids,
    ApplicationAttemptId: attempt_ids,
    ContainerId: container_ids,
    NodeId: node_ids,
    PastUsageId: st.builds(PastUsageId, application_ids, st.none() | node_ids),
}


@st.composite
def records(draw: st.DrawFn, kind: Any) -> Any:
    """Any record of this kind, with every field drawn: defaults are not used."""
    return kind(**{name: draw(strategy) for name, strategy in _fields(kind).items()})


@cache
def _fields(kind: Any) -> dict[str, st.SearchStrategy[Any]]:
    return {name: _of_type(hint) for name, hint in get_type_hints(kind).items()}


@cache
def _of_type(hint: Any) -> st.SearchStrategy[Any]:
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if get_origin(hint) is tuple:
        items = get_args(hint)
        if items[-1] is ...:
            return st.lists(_of_type(items[0]), max_size=3).map(tuple)
        return st.tuples(*map(_of_type, items))
    if get_origin(hint) is UnionType:
        return st.one_of([st.none() if part is type(None) else _of_type(part) for part in get_args(hint)])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    return records(hint)


submissions = records(Submission)
applications = records(Application)
attempts = records(Attempt)
containers = records(Container)
nodes = records(Node)
queues = records(Queue).map(lambda queue: replace(queue, user_weights=tuple(sorted(dict(queue.user_weights).items()))))
"""A user has one weight, and the users have their order."""
scheduler_confs = records(SchedulerConf)
past_usages = records(PastUsage)
master_keys = records(MasterKey)
delegation_tokens = records(DelegationToken)


# --- plain records: what matters is given, the rest is ordinary -----------------------------------------------------


def an_application_id(sequence: int = 1) -> ApplicationId:
    return ApplicationId(CLUSTER_TIMESTAMP_MS, sequence)


def an_attempt_id(sequence: int = 1, attempt: int = 1) -> ApplicationAttemptId:
    return ApplicationAttemptId(an_application_id(sequence), attempt)


def a_container_id(sequence: int = 1, attempt: int = 1, container: int = 1) -> ContainerId:
    return ContainerId.of(an_attempt_id(sequence, attempt), container)


def a_submission(**changes: Any) -> Submission:
    fields: dict[str, Any] = {
        "name": "pi",
        "user": "alice",
        "queue": "root.default",
        "am_capability": Resource(1024, 1),
        "am_asked_capability": Resource(1000, 1),
        "context": b"context",
    }
    return Submission(**{**fields, **changes})


def an_application(sequence: int = 1, **changes: Any) -> Application:
    fields: dict[str, Any] = {"id": an_application_id(sequence), "submission": a_submission(), "submitted_ms": 1000}
    return Application(**{**fields, **changes})


def an_attempt(sequence: int = 1, attempt: int = 1, **changes: Any) -> Attempt:
    fields: dict[str, Any] = {
        "id": an_attempt_id(sequence, attempt),
        "am_container_id": a_container_id(sequence, attempt),
        "started_ms": 2000,
    }
    return Attempt(**{**fields, **changes})


def a_container(sequence: int = 1, attempt: int = 1, container: int = 2, **changes: Any) -> Container:
    fields: dict[str, Any] = {
        "id": a_container_id(sequence, attempt, container),
        "type": ContainerType.TASK,
        "user": "alice",
        "queue": "root.default",
        "capability": Resource(2048, 2),
        "asked_capability": Resource(2000, 2),
        "priority": 1,
        "created_ms": 3000,
    }
    fields |= changes
    return Container(**{"pod": dns_name(fields["id"]), **fields})


def a_node(host: str = "node-1", **changes: Any) -> Node:
    return Node(**{"id": NodeId(host, 8041), **changes})


def unsaid(queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """Return the queues by what was said of them, without the words that said it."""
    return tuple(replace(queue, said=()) for queue in queues)
