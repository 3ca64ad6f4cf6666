"""A secured ``yodel local`` beside a real KDC, and the real ``yarn`` commands: with a ticket, and without one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.cluster import CALL_TIMEOUT_S, Cluster, running
from tests.support.hadoop_jars import client_jars
from tests.support.hadoop_yodel import rm_addresses
from tests.support.hdfs import configuration_xml
from tests.support.java import java_home
from tests.support.kdc import REALM, Kdc, running_kdc
from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.host.tickets import WAITING_MAX, KeytabAcceptor, library
from yodel.settings.rm import Settings
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings
from yodel.wiring.kerberos import kerberos_of

NODES = "org.apache.hadoop.yarn.client.cli.NodeCLI"
APPLICATIONS = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """A cluster whose ResourceManager is rm/localhost."""

    kdc: Kdc
    cluster: Cluster
    alice: Mapping[str, str]
    """The environment of somebody with a ticket."""

    def conf(self, name: str, **core: str) -> Path:
        """Write a client's folder of configuration; ``core`` adds to core-site.xml, with _ for dots."""
        folder = self.kdc.directory / f"conf-{name}"
        folder.mkdir(exist_ok=True)
        properties = {"hadoop.security.authentication": "kerberos"}
        properties |= {name.replace("_", "."): value for name, value in core.items()}
        (folder / "core-site.xml").write_text(configuration_xml(properties))
        addresses = {
            name: value.replace("127.0.0.1", "localhost") for name, value in rm_addresses(self.cluster).items()
        }
        more = {
            "yarn.resourcemanager.principal": f"rm/_HOST@{REALM}",
            "yarn.resourcemanager.connect.max-wait.ms": "1000",
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "ipc.client.connect.max.retries.on.sasl": "1",
        }
        (folder / "yarn-site.xml").write_text(configuration_xml(addresses | more))
        return folder

    def yarn(self, conf: Path, environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
        """Run a command of Hadoop's; return its status and all that it printed."""
        options = [f"-Djava.security.krb5.conf={self.kdc.krb5_conf}", "-cp", f"{conf}:{client_jars('3.5')}/*"]
        command = [str(java_home() / "bin" / "java"), *options, *arguments]
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            timeout=CALL_TIMEOUT_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    with running_kdc() as kdc:
        security = {
            "authentication": "kerberos",
            "principal": f"rm/localhost@{REALM}",
            "keytab": str(kdc.keytab("rm/localhost", "HTTP/localhost")),
        }
        settings = {
            "YODEL_SECURITY": json.dumps(security),
            "YODEL_WEB": json.dumps({"authentication": "kerberos"}),
            **kdc.environment,
        }
        alice = kdc.login("alice", kdc.keytab("alice"))
        with running(nodes=1, settings=settings) as cluster:
            yield Secured(kdc=kdc, cluster=cluster, alice=alice)


def test_client_with_a_ticket_is_served(secured: Secured) -> None:
    status, printed = secured.yarn(secured.conf("kerberos"), secured.alice, NODES, "-list")
    assert (status, "Total Nodes:1" in printed) == (0, True), printed
    status, printed = secured.yarn(secured.conf("kerberos"), secured.alice, APPLICATIONS, "application", "-list")
    assert (status, "Total number of applications" in printed) == (0, True), printed


@pytest.mark.parametrize(
    ("core", "has_ticket", "words"),
    [
        ({}, False, "Client cannot authenticate via:[TOKEN, KERBEROS]"),
        (
            {"hadoop_security_authentication": "simple"},
            True,
            "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
        ),
        ({"hadoop_rpc_protection": "privacy"}, True, "No common protection layer between client and server"),
    ],
    ids=["no-ticket", "simple", "privacy"],
)
def test_others_are_refused_as_by_hadoop(
    secured: Secured, core: Mapping[str, str], has_ticket: bool, words: str
) -> None:
    environment = secured.alice if has_ticket else secured.kdc.environment
    conf = secured.conf("-".join(["other", *core.values()]), **core)
    status, printed = secured.yarn(conf, environment, NODES, "-list")
    assert status != 0
    assert words in printed


def test_administrator_is_who_the_ticket_says(secured: Secured) -> None:
    status, printed = secured.yarn(secured.conf("kerberos"), secured.alice, ADMIN, "-refreshQueues")
    assert status != 0
    assert "User alice doesn't have permission to call 'refreshQueues'" in printed


@pytest.fixture
def acceptor(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> KeytabAcceptor:
    """The ResourceManager's own, in this process."""
    for name, value in secured.alice.items():
        monkeypatch.setenv(name, value)
    keytab = secured.kdc.directory / "rm_localhost.keytab"
    return KeytabAcceptor(f"rm/localhost@{REALM}", keytab, lambda principal: principal.partition("@")[0])


def first_token(service: str = f"rm/localhost@{REALM}") -> bytes:
    """What a client with a ticket sends first."""
    gssapi = library()
    name = gssapi.Name(service, gssapi.NameType.kerberos_principal)
    flags = [gssapi.RequirementFlag.mutual_authentication]
    token: bytes = gssapi.SecurityContext(name=name, usage="initiate", flags=flags).step()
    return token


async def test_replayed_ticket_is_refused(acceptor: KeytabAcceptor) -> None:
    token = first_token()
    found = await acceptor.accept(token)
    assert (found.user, found.principal) == ("alice", f"alice@{REALM}")
    with pytest.raises(AccessDenied, match=r"GSSException: .* \(Mechanism level: Request is a replay\)"):
        await acceptor.accept(token)


async def test_ticket_for_another_service_of_the_keytab_is_refused(acceptor: KeytabAcceptor) -> None:
    with pytest.raises(AccessDenied, match="GSSException"):
        await acceptor.accept(first_token(f"HTTP/localhost@{REALM}"))


@pytest.mark.parametrize("change", ["cut", "empty", "flipped", "nonsense"])
async def test_damaged_ticket_is_refused(acceptor: KeytabAcceptor, change: str) -> None:
    token = first_token()
    damaged = {
        "cut": token[:-20],
        "empty": b"",
        "flipped": token[:-9] + bytes([token[-9] ^ 1]) + token[-8:],
        "nonsense": b"x" * 4096,
    }
    with pytest.raises(AccessDenied, match="GSSException"):
        await acceptor.accept(damaged[change])


async def test_ticket_of_another_time_is_refused(acceptor: KeytabAcceptor) -> None:
    """A clock that differs by more than krb5.conf's ``clockskew``, here a second."""
    token = first_token()
    await asyncio.sleep(2.1)
    with pytest.raises(AccessDenied, match="Clock skew too great"):
        await acceptor.accept(token)


def test_expired_ticket_is_refused_as_by_hadoop(secured: Secured) -> None:
    expired = secured.kdc.login("alice", secured.kdc.directory / "alice.keytab", life_s=1)
    threading.Event().wait(2.1)
    status, printed = secured.yarn(secured.conf("kerberos"), expired, NODES, "-list")
    assert status != 0
    assert "Client cannot authenticate via:[TOKEN, KERBEROS]" in printed


async def test_more_tickets_than_may_wait_are_told_to_come_again(acceptor: KeytabAcceptor) -> None:
    found = await asyncio.gather(*(acceptor.accept(b"x") for _ in range(WAITING_MAX + 10)), return_exceptions=True)
    assert [type(one) for one in found] == [AccessDenied] * WAITING_MAX + [Unavailable] * 10
    with pytest.raises(AccessDenied):
        await acceptor.accept(b"x")


@pytest.mark.parametrize(
    ("principal", "words"),
    [("rm/elsewhere", "a keytab with keys of rm/elsewhere@EXAMPLE.COM"), ("rm/localhost", "a readable keytab")],
)
def test_keytab_without_the_key_is_refused_at_start(
    secured: Secured, monkeypatch: pytest.MonkeyPatch, principal: str, words: str
) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(secured.kdc.krb5_conf))
    keytab = secured.kdc.directory / ("rm_localhost.keytab" if principal == "rm/elsewhere" else "none.keytab")
    security = SecuritySettings(authentication="kerberos", principal=principal, keytab=keytab)
    settings = Settings(node_token_file=keytab, security=security, web=WebSettings(authentication="kerberos"))
    with pytest.raises(InvalidValue, match=words):
        kerberos_of(settings)
