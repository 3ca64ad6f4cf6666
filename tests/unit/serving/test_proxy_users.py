"""Impersonation rules."""

import pytest

from yodel.errors import InvalidValue
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.serving.proxy_users import KEY_PREFIX, ProxyUserRules

RULES = ProxyUserRules.from_properties(
    {
        "hadoop.proxyuser.oozie.hosts": "10.0.0.0/8, 192.168.1.5,gateway",
        "hadoop.proxyuser.oozie.groups": "analysts",
        "hadoop.proxyuser.a.b.hosts": "*",
        "hadoop.proxyuser.a.b.users": "bob,carol",
        "hadoop.proxyuser.root.groups": "*",
        "yarn.acl.enable": "true",
    },
    groups_of={"alice": {"analysts", "staff"}, "dave": {"staff"}}.__getitem__,
    addresses_of={"gateway": ["172.16.0.1"]}.__getitem__,
)


@pytest.mark.parametrize(
    ("real_user", "user", "host"),
    [
        ("oozie", "alice", "10.1.2.3"),
        ("oozie", "alice", "::ffff:10.1.2.3"),
        ("oozie", "alice", "192.168.1.5"),
        ("oozie", "alice", "172.16.0.1"),
        ("a.b", "bob", "1.2.3.4"),
    ],
)
def test_allowed(real_user: str, user: str, host: str) -> None:
    RULES.authorize(real_user=real_user, user=user, remote_host=host)


@pytest.mark.parametrize(
    ("real_user", "user", "host", "message"),
    [
        ("oozie", "dave", "10.1.2.3", "User: oozie is not allowed to impersonate dave"),
        ("hue", "alice", "10.1.2.3", "User: hue is not allowed to impersonate alice"),
        ("a.b", "alice", "10.1.2.3", "User: a.b is not allowed to impersonate alice"),
        ("oozie", "alice", "11.0.0.1", "Unauthorized connection for super-user: oozie from IP 11.0.0.1"),
        ("oozie", "alice", "nonsense", "Unauthorized connection for super-user: oozie from IP nonsense"),
        ("root", "alice", "10.0.0.1", "Unauthorized connection for super-user: root from IP 10.0.0.1"),
    ],
)
def test_refused_with_hadoops_words(real_user: str, user: str, host: str, message: str) -> None:
    with pytest.raises(RemoteFault) as caught:
        RULES.authorize(real_user=real_user, user=user, remote_host=host)
    fault = caught.value
    assert (fault.message, fault.java_class) == (message, faults.AUTHORIZATION)
    assert (fault.fatal, fault.code) == (True, RpcErrorCode.FATAL_UNAUTHORIZED)


def test_unknown_key_is_refused() -> None:
    with pytest.raises(InvalidValue):
        ProxyUserRules.from_properties({"hadoop.proxyuser.oozie.host": "*"})


def test_rules_are_taken_over_in_place() -> None:
    rules = ProxyUserRules()
    with pytest.raises(RemoteFault):
        rules.authorize(real_user="knox", user="alice", remote_host="10.0.0.1")
    rules.become(ProxyUserRules.from_properties({f"{KEY_PREFIX}knox.hosts": "*", f"{KEY_PREFIX}knox.users": "alice"}))
    rules.authorize(real_user="knox", user="alice", remote_host="10.0.0.1")
