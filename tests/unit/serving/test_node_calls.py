"""Calls of the ResourceManager to a node agent: each proves itself once, for one node, user and path."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.serving import node_calls
from yodel.serving.node_calls import CallJudge, call_header

SECRET, TARGET = b"a secret of twenty bytes", "/ws/v1/node/containers/c/logs/stdout?size=-5"


class Clock:
    now_s = 1000.7

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def judge(clock: Clock) -> CallJudge:
    return CallJudge(SECRET, "kube-1", clock)


def header(user: str = "alice", now_s: float = 1000.9, node: str = "kube-1", secret: bytes = SECRET) -> str:
    return call_header(secret, node, "GET", TARGET, user, now_s)


def test_a_call_is_good_once(judge: CallJudge) -> None:
    sent = header("a li\u00e9@X")
    assert judge.user_of("GET", TARGET, sent) == "a li\u00e9@X"
    with pytest.raises(InvalidValue, match="not used before"):
        judge.user_of("GET", TARGET, sent)
    assert judge.user_of("GET", TARGET, header("a li\u00e9@X"))
    assert SECRET.decode() not in sent


@pytest.mark.parametrize(
    ("method", "target"),
    [("HEAD", TARGET), ("GET", TARGET.replace("-5", "-6")), ("GET", TARGET.replace("stdout", "stderr")), ("GET", "")],
)
def test_a_call_is_for_one_path_alone(judge: CallJudge, method: str, target: str) -> None:
    with pytest.raises(InvalidValue, match="node token of kube-1"):
        judge.user_of(method, target, header())


@pytest.mark.parametrize(
    "sent",
    [
        header(node="kube-2"),
        header(secret=SECRET + b"!"),
        header().replace("alice", "admin"),
        header().replace("1000", "1001", 1),
        f"{(good := header())[:-1]}{'1' if good.endswith('0') else '0'}",
        "",
        "alice",
        f"{header()}\n",
        header().replace(" ", "  "),
    ],
)
def test_nothing_else_is_taken_for_one(judge: CallJudge, sent: str) -> None:
    with pytest.raises(InvalidValue, match=node_calls.HEADER):
        judge.user_of("GET", TARGET, sent)


@pytest.mark.parametrize(("sent_s", "is_taken"), [(1070, True), (1130, True), (1069, False), (1131, False)])
def test_a_call_is_good_for_thirty_seconds(judge: CallJudge, clock: Clock, sent_s: int, is_taken: bool) -> None:
    clock.now_s = 1100.5
    sent = header(now_s=sent_s)
    if is_taken:
        assert judge.user_of("GET", TARGET, sent) == "alice"
        return
    with pytest.raises(InvalidValue, match="at most 30 s from 1100"):
        judge.user_of("GET", TARGET, sent)


def test_a_call_from_before_the_agents_start_may_have_been_used(judge: CallJudge) -> None:
    with pytest.raises(InvalidValue, match="since the agent started"):
        judge.user_of("GET", TARGET, header(now_s=999.9))


def test_what_is_remembered_has_a_maximum_and_is_forgotten(
    judge: CallJudge, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_calls, "SEEN_MAX", 4)
    for _ in range(4):
        assert judge.user_of("GET", TARGET, header())
    with pytest.raises(InvalidValue, match="at most 4"):
        judge.user_of("GET", TARGET, header())
    clock.now_s = 1031.0
    assert judge.user_of("GET", TARGET, header(now_s=1031.0))


def test_a_user_is_a_name(judge: CallJudge) -> None:
    with pytest.raises(InvalidValue, match="Invalid user"):
        judge.user_of("GET", TARGET, header("a\nb"))
