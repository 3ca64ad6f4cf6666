"""Makes of the settings what Kerberos needs: who judges tickets, and how principals become users."""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.auth_to_local import AuthToLocal
from yodel.errors import InvalidValue
from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.hadoop_rpc.server_policy import KerberosOffer
from yodel.host import tickets
from yodel.rpc_io.ticket_owners import HOST
from yodel.settings.rm import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """``acceptor`` judges the tickets of those to whom ``offer`` is made; ``principal`` is the service's, whole, and
    ``node_manager_principal`` that of NodeManagers, with ``_HOST`` for any host, or empty."""

    principal: str
    node_manager_principal: str
    acceptor: Acceptor
    offer: KerberosOffer
    names: AuthToLocal


def kerberos_of(settings: Settings) -> Kerberos | None:
    """Return what judges tickets; None with ``security.authentication = "simple"``.  Blocks.

    Raises:
        InvalidValue: a setting is missing, or does not go with another; the library is not installed; the keytab cannot
            be read or lacks the principal; a rule of auth_to_local cannot be read.
    """
    security = settings.security
    if security.authentication == "simple":
        return None
    if settings.web.authentication == "simple":
        expected = '"kerberos" with security.authentication = "kerberos", for the web port would let anybody in by name'
        raise InvalidValue("web.authentication", "simple", expected)
    if settings.node_token_file is None:
        expected = 'a file with security.authentication = "kerberos": node agents prove themselves with its secret'
        raise InvalidValue("node_token_file", None, expected)
    if settings.node_managers != "refused":
        expected = '"refused" with security.authentication = "kerberos", for tickets are not compared with hosts'
        raise InvalidValue("node_managers", settings.node_managers, expected)
    if security.keytab is None:
        raise InvalidValue("security.keytab", None, "the file with the keys of security.principal")
    principal = tickets.full_principal(_of_service("security.principal", security.principal, settings.host.lower()))
    of_node_managers = security.node_manager_principal
    if of_node_managers:
        name = _of_service("security.node_manager_principal", of_node_managers, HOST)
        of_node_managers = tickets.full_principal(name)
    names = auth_to_local(settings, principal)
    service, _, rest = principal.partition("/")

    def short_name(name: str) -> str:
        return names.short_name(name).name

    def rule_of(name: str) -> str:
        return names.short_name(name).rule

    return Kerberos(
        principal=principal,
        node_manager_principal=of_node_managers,
        acceptor=tickets.KeytabAcceptor(principal, security.keytab, short_name),
        offer=KerberosOffer(protocol=service, server_id=rest.partition("@")[0], short_name=short_name, rule_of=rule_of),
        names=names,
    )


def auth_to_local(settings: Settings, principal: str) -> AuthToLocal:
    """Return the rules for principals; DEFAULT is about krb5.conf's realm, or else that of ``principal``.  Blocks.

    Raises InvalidValue naming the rule.
    """
    realm = tickets.default_realm(principal.rpartition("@")[2])
    return AuthToLocal(settings.security.auth_to_local, settings.security.auth_to_local_mechanism, realm)


def _of_service(setting: str, principal: str, host: str) -> str:
    """Return the principal with ``host`` for ``_HOST``, as SecurityUtil.getServerPrincipal does."""
    service, slash, rest = principal.partition("/")
    named, at, realm = rest.partition("@")
    if not service or not slash or not named or "/" in named:
        raise InvalidValue(setting, principal, "service/host@REALM, such as rm/_HOST@EXAMPLE.COM")
    return f"{service}/{host if named == HOST else named}{at}{realm}"
