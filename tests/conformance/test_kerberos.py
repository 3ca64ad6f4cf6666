"""A secured ``yodel local`` beside a real KDC serves the real ``yarn`` commands with a ticket, and not without."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.conformance.cluster import CALL_TIMEOUT_S, Cluster, running
from tests.support.hadoop_jars import client_jars
from tests.support.hadoop_yodel import rm_addresses
from tests.support.hdfs import configuration_xml
from tests.support.java import java_home
from tests.support.kdc import REALM, Kdc, running_kdc
from tests.support.ports import free_port
from tests.support.server_machine import NEGOTIATE, SASL_PREFACE, initiate
from tests.unit.rpc_io.test_connection import until
from tests.unit.rpc_io.test_server import TOKEN, Service, allocate, client, grant, serving
from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto, RpcSaslProto
from yodel.hadoop_rpc.framing import take_delimited
from yodel.hadoop_rpc.server_policy import KerberosOffer
from yodel.host import tickets
from yodel.host.tickets import WAITING_MAX, KeytabAcceptor, library
from yodel.rpc_io.server import ServerSecurity
from yodel.settings.rm import Settings
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings
from yodel.wiring.checks import Verdict, kerberos_findings
from yodel.wiring.kerberos import kerberos_of

NODES = "org.apache.hadoop.yarn.client.cli.NodeCLI"
APPLICATIONS = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """Runs a cluster whose ResourceManager is rm/localhost."""

    kdc: Kdc
    cluster: Cluster

    @property
    def alice(self) -> Mapping[str, str]:
        """Return the environment of somebody with a new ticket."""
        return self.kdc.login("alice", self.kdc.directory / "alice.keytab")

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
        jobs = {
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": f"{client_jars('3.5')}/*",
            "yarn.app.mapreduce.am.staging-dir": f"{self.kdc.directory}/staging",
            "yarn.app.mapreduce.am.resource.mb": "512",
            "yarn.app.mapreduce.am.env": f"KRB5_CONFIG={self.kdc.krb5_conf}",
            "yarn.app.mapreduce.am.command-opts": f"-Xmx256m -Djava.security.krb5.conf={self.kdc.krb5_conf}",
            "mapreduce.map.java.opts": f"-Xmx128m -Djava.security.krb5.conf={self.kdc.krb5_conf}",
            "mapreduce.reduce.java.opts": f"-Xmx128m -Djava.security.krb5.conf={self.kdc.krb5_conf}",
            "mapreduce.task.io.sort.mb": "10",
            "mapreduce.map.memory.mb": "256",
            "mapreduce.reduce.memory.mb": "256",
        }
        (folder / "mapred-site.xml").write_text(configuration_xml(jobs))
        return folder

    def yarn(self, conf: Path, environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
        """Run a command of Hadoop's; return its status and all that it printed."""
        options = [f"-Djava.security.krb5.conf={self.kdc.krb5_conf}", "-cp", f"{conf}:{client_jars('3.5')}/*"]
        command = [str(java_home() / "bin" / "java"), *options, *arguments]
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            cwd=self.kdc.directory,
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
            "YODEL_WEB": json.dumps({"authentication": "kerberos", "proxied_port": free_port()}),
            **kdc.environment,
        }
        kdc.keytab("alice")
        with running(nodes=1, settings=settings) as cluster:
            yield Secured(kdc=kdc, cluster=cluster)


def test_client_with_a_ticket_is_served(secured: Secured) -> None:
    status, printed = secured.yarn(secured.conf("kerberos"), secured.alice, NODES, "-list")
    assert (status, "Total Nodes:1" in printed) == (0, True), printed
    status, printed = secured.yarn(secured.conf("kerberos"), secured.alice, APPLICATIONS, "application", "-list")
    assert (status, "Total number of applications" in printed) == (0, True), printed


def test_mapreduce_runs_with_a_ticket_and_asks_its_master_with_a_token(secured: Secured) -> None:
    (examples,) = client_jars("3.5").glob("hadoop-mapreduce-examples-*.jar")
    user = getpass.getuser()
    job = ["org.apache.hadoop.util.RunJar", str(examples), "pi", "1", "10"]
    status, printed = secured.yarn(secured.conf("kerberos"), secured.kdc.login(user, secured.kdc.keytab(user)), *job)
    assert (status, "Estimated value of Pi is 3." in printed) == (0, True), printed


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


@pytest.mark.parametrize(
    ("port", "methods"),
    [
        ("client", ["TOKEN", "KERBEROS"]),
        ("admin", ["KERBEROS"]),
        ("scheduler", ["TOKEN"]),
        ("resource-tracker", ["TOKEN"]),
        ("node", ["TOKEN"]),
    ],
)
def test_each_port_offers_what_it_takes_and_refuses_a_ticket_elsewhere(
    secured: Secured, port: str, methods: list[str]
) -> None:
    addresses = rm_addresses(secured.cluster)
    prefix = "yarn.resourcemanager" if port == "client" else f"yarn.resourcemanager.{port}"
    address = secured.cluster.ready.nodes[0]["node_id"] if port == "node" else addresses[f"{prefix}.address"]
    host, _, number = address.rpartition(":")
    with socket.create_connection((host, int(number)), timeout=30) as peer, peer.makefile("rb") as answers:
        peer.sendall(SASL_PREFACE + NEGOTIATE)
        header, body = frame_of(answers)
        assert header.status == RpcResponseHeaderProto.SUCCESS
        assert [auth.method for auth in RpcSaslProto.FromString(take_delimited(body, 0)[0]).auths] == methods
        peer.sendall(initiate("KERBEROS", "GSSAPI", b"no ticket"))
        header, _ = frame_of(answers)
    reason = "GSS initiate failed" if "KERBEROS" in methods else "KERBEROS authentication is not enabled."
    assert (header.status, header.errorMsg.startswith(reason)) == (RpcResponseHeaderProto.FATAL, True), header


def frame_of(answers: BinaryIO) -> tuple[RpcResponseHeaderProto, bytes]:
    """Read one answer: its header, and what follows."""
    frame = answers.read(int.from_bytes(answers.read(4), "big"))
    raw, position = take_delimited(frame, 0)
    return RpcResponseHeaderProto.FromString(raw), frame[position:]


async def test_flood_of_tickets_leaves_others_alone(
    acceptor: KeytabAcceptor, capsys: pytest.CaptureFixture[str]
) -> None:
    """More connections than tickets may wait send one bad ticket after the other, beside heartbeats by token.

    The beats are measured in processor time of the loop, which is what an attacker can take of it on any machine.
    """
    offer = KerberosOffer(protocol="rm", server_id="localhost", short_name=str)
    security = ServerSecurity(allow_simple=False, token_passwords=grant, kerberos=offer, acceptor=acceptor)
    ticket, beats_s = first_token(), list[float]()
    async with serving(Service(), security) as (server, port):
        caller = client(port, token=TOKEN)
        await allocate(caller, 0)
        command = [sys.executable, "-m", "tests.support.ticket_flood", str(port), str(2 * WAITING_MAX), ticket.hex()]
        attackers = await asyncio.create_subprocess_exec(*command)
        try:
            await until(lambda: server.figures.unauthenticated > WAITING_MAX)
            for number in range(100):
                begin_s = time.thread_time()
                assert await allocate(caller, number) == number
                beats_s.append(time.thread_time() - begin_s)
                await asyncio.sleep(0.02)
        finally:
            attackers.kill()
            await attackers.wait()
        await caller.close()
        refused = server.figures.unauthenticated
    beats_s.sort()
    times = f"{beats_s[50] * 1000:.1f} middle, {beats_s[-1] * 1000:.1f} longest"
    with capsys.disabled():
        print(f"\nbeats beside {refused} bad tickets, ms of the loop's processor time: {times}")
    assert beats_s[50] < 0.1


@pytest.fixture
def acceptor(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> KeytabAcceptor:
    """Return the ResourceManager's own acceptor, in this process."""
    for name, value in secured.alice.items():
        monkeypatch.setenv(name, value)
    keytab = secured.kdc.directory / "rm_localhost.keytab"
    return KeytabAcceptor(f"rm/localhost@{REALM}", keytab, lambda principal: principal.partition("@")[0])


def first_token(service: str = f"rm/localhost@{REALM}") -> bytes:
    """Return what a client with a ticket sends first."""
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


async def test_ticket_that_is_not_judged_in_time_is_put_off(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "TIMEOUT_S", 0.05)
    for name, value in secured.alice.items():
        monkeypatch.setenv(name, value)
    may_end = threading.Event()
    keytab = secured.kdc.directory / "rm_localhost.keytab"
    slow = KeytabAcceptor(f"rm/localhost@{REALM}", keytab, lambda _: str(may_end.wait(60)))
    with pytest.raises(Unavailable, match="not judged in 0 s"):
        await slow.accept(first_token())
    may_end.set()


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
    """The clock differs by more than krb5.conf's ``clockskew``, here a second."""
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


async def test_check_gets_a_ticket_for_the_service_itself(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(secured.kdc.krb5_conf))
    keytab = secured.kdc.directory / "rm_localhost.keytab"
    principal = f"rm/localhost@{REALM}"
    security = SecuritySettings(authentication="kerberos", principal=principal, keytab=keytab)
    settings = Settings(node_token_file=keytab, security=security, web=WebSettings(authentication="kerberos"))
    (found,) = await kerberos_findings(settings)
    assert (found.verdict, found.text) == (
        Verdict.OK,
        f"the KDC gives tickets for {principal}, and the keytab's key opens them",
    )
    # The KDC has a newer key than the keytab.
    secured.kdc.keytab("HTTP/localhost")
    other = SecuritySettings(authentication="kerberos", principal=f"HTTP/localhost@{REALM}", keytab=keytab)
    (found,) = await kerberos_findings(settings.model_copy(update={"security": other}))
    assert found.verdict is Verdict.FAILED
    assert "GSSException" in found.text


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
