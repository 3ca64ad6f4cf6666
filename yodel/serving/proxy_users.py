"""Proxy users: who may speak for whom, from where.

Follows ``DefaultImpersonationProvider`` and its keys ``hadoop.proxyuser.<user>.{hosts,groups,users}``: a value is ``*``
or a comma separated list; hosts are addresses, CIDR ranges or names.  Names are resolved by the caller, once, when the
rules are built; nothing here waits for a name server.  Without a rule nobody impersonates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from types import MappingProxyType

from yodel.errors import InvalidValue
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import unauthorized

ANY = "*"
KEY_PREFIX = "hadoop.proxyuser."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyUserRule:
    """Defines the rights of one proxy: from ``hosts``, for members of ``groups`` or for ``users``.  ``*`` is
    everything."""

    hosts: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()


def _no_groups(_user: str) -> Collection[str]:
    return ()


def _no_addresses(_host: str) -> Sequence[str]:
    return ()


class ProxyUserRules:
    """The rules of all proxies.

    ``groups_of`` answers a user's groups (from memory: it is called on the event loop); ``addresses_of`` resolves a
    host name of a rule and is called only here, in the constructor.
    """

    def __init__(
        self,
        rules: Mapping[str, ProxyUserRule] = MappingProxyType({}),
        *,
        groups_of: Callable[[str], Collection[str]] = _no_groups,
        addresses_of: Callable[[str], Sequence[str]] = _no_addresses,
    ) -> None:
        self._rules = dict(rules)
        self._groups_of = groups_of
        self._places = {user: _Places.of(rule.hosts, addresses_of) for user, rule in rules.items()}

    @classmethod
    def from_properties(
        cls,
        properties: Mapping[str, str],
        *,
        groups_of: Callable[[str], Collection[str]] = _no_groups,
        addresses_of: Callable[[str], Sequence[str]] = _no_addresses,
    ) -> ProxyUserRules:
        """Read ``hadoop.proxyuser.*`` keys; others are ignored.

        Raises:
            InvalidValue: a key under the prefix that is none of hosts, groups, users.
        """
        found: dict[str, dict[str, frozenset[str]]] = {}
        for key, value in properties.items():
            if not key.startswith(KEY_PREFIX):
                continue
            user, _, kind = key.removeprefix(KEY_PREFIX).rpartition(".")
            if not user or kind not in ("hosts", "groups", "users"):
                raise InvalidValue("proxy user key", key, f"{KEY_PREFIX}<user>.hosts, .groups or .users")
            found.setdefault(user, {})[kind] = frozenset(filter(None, (item.strip() for item in value.split(","))))
        rules = {user: ProxyUserRule(**kinds) for user, kinds in found.items()}
        return cls(rules, groups_of=groups_of, addresses_of=addresses_of)

    def become(self, other: ProxyUserRules) -> None:
        """Take over another's rules, for the connections of servers that have this object
        (refreshSuperUserGroupsConfiguration)."""
        self._rules, self._groups_of, self._places = other._rules, other._groups_of, other._places

    def authorize(self, *, real_user: str, user: str, remote_host: str) -> None:
        """Check that a proxy may speak for a user from an address.

        Raises:
            RemoteFault: fatal, AuthorizationException with Hadoop's text.
        """
        rule = self._rules.get(real_user)
        if rule is None or not self._may_speak_for(rule, user):
            raise unauthorized(faults.AUTHORIZATION, f"User: {real_user} is not allowed to impersonate {user}")
        if not self._places[real_user].contain(remote_host):
            raise unauthorized(
                faults.AUTHORIZATION, f"Unauthorized connection for super-user: {real_user} from IP {remote_host}"
            )

    def _may_speak_for(self, rule: ProxyUserRule, user: str) -> bool:
        if ANY in rule.users or ANY in rule.groups or user in rule.users:
            return True
        return bool(rule.groups) and not rule.groups.isdisjoint(self._groups_of(user))


@dataclass(frozen=True, slots=True)
class _Places:
    """The hosts of a rule, resolved."""

    everywhere: bool
    addresses: frozenset[IPv4Address | IPv6Address] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = field(default=())

    @classmethod
    def of(cls, hosts: Collection[str], addresses_of: Callable[[str], Sequence[str]]) -> _Places:
        addresses: set[IPv4Address | IPv6Address] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for host in hosts:
            if host == ANY:
                return cls(True)
            try:
                networks.append(ip_network(host, strict=False))
            except ValueError:
                addresses.update(ip_address(address) for address in addresses_of(host))
        return cls(False, frozenset(addresses), tuple(networks))

    def contain(self, host: str) -> bool:
        if self.everywhere:
            return True
        try:
            address = ip_address(host)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return address in self.addresses or any(address in network for network in self.networks)
