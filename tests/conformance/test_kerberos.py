"""A secured ``yodel local`` beside a real KDC serves the real ``yarn`` commands with a ticket, and not without."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

import pytest

from tests.conformance.secured import USER, Secured, blocks_of_page
from tests.support.hadoop_yodel import rm_addresses
from tests.support.kdc import OTHER_REALM, REALM
from tests.support.server_machine import NEGOTIATE, SASL_PREFACE, SIMPLE_PREFACE, initiate
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
from yodel.wiring.checks import Verdict, kerberos_findings, principal_checks
from yodel.wiring.kerberos import kerberos_of

NODES = "org.apache.hadoop.yarn.client.cli.NodeCLI"
APPLICATIONS = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"


def test_page_leads_from_keytabs_to_the_first_job(secured: Secured) -> None:
    """Run the last step of docs/kerberos.md; the cluster was started by the others."""
    (_, first_job) = blocks_of_page("sh")
    printed = secured.run_as_here(first_job)
    assert ("Total Nodes:1" in printed, "Estimated value of Pi is 3." in printed) == (True, True), printed


def test_client_with_a_ticket_is_served(secured: Secured) -> None:
    status, printed = secured.yarn(secured.conf("kerberos"), secured.login(), APPLICATIONS, "application", "-list")
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
    environment = secured.login() if has_ticket else secured.kdc.environment
    conf = secured.conf("-".join(["other", *core.values()]), **core)
    status, printed = secured.yarn(conf, environment, NODES, "-list")
    assert status != 0
    assert words in printed


def test_owner_of_another_realm_is_refused(secured: Secured) -> None:
    """The realm is trusted, so that its KDC gives the ticket; no rule of auth_to_local makes a user of the owner."""
    mallory = secured.kdc.login(f"mallory@{OTHER_REALM}", secured.kdc.keytab("mallory", realm=OTHER_REALM))
    status, printed = secured.yarn(secured.conf("kerberos"), mallory, NODES, "-list")
    assert (status != 0, "No rules applied to mallory@OTHER.COM" in printed) == (True, True), printed


def test_ticket_of_another_principal_than_node_managers_is_refused_on_8031(secured: Secured) -> None:
    conf = secured.conf("tracker")
    addresses = rm_addresses(secured.cluster)
    site = conf / "yarn-site.xml"
    site.write_text(
        site.read_text().replace(
            addresses["yarn.resourcemanager.address"].rpartition(":")[2],
            addresses["yarn.resourcemanager.resource-tracker.address"].rpartition(":")[2],
        )
    )
    status, printed = secured.yarn(conf, secured.login(), NODES, "-list")
    words = (
        f"User alice@{REALM} (auth:KERBEROS) is not authorized for protocol interface "
        "org.apache.hadoop.yarn.server.api.ResourceTrackerPB: this service is only accessible by nm/_HOST@EXAMPLE.COM"
    )
    assert (status != 0, words in printed) == (True, True), printed


def test_administrator_is_who_the_ticket_says(secured: Secured) -> None:
    status, printed = secured.yarn(secured.conf("kerberos"), secured.login(), ADMIN, "-refreshQueues")
    assert status != 0
    assert "User alice doesn't have permission to call 'refreshQueues'" in printed


@pytest.mark.parametrize(
    ("port", "methods"),
    [
        ("client", ["TOKEN", "KERBEROS"]),
        ("admin", ["KERBEROS"]),
        ("scheduler", ["TOKEN"]),
        ("resource-tracker", ["TOKEN", "KERBEROS"]),
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
        peer.sendall(SIMPLE_PREFACE)
        header, _ = frame_of(answers)
        words = f"SIMPLE authentication is not enabled.  Available:[{', '.join(methods)}]"
        assert (header.status, header.errorMsg) == (RpcResponseHeaderProto.FATAL, words)
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

    The beats are measured in processor time of the loop, which is what an attacker can take of it on any machine, and
    by the clock.
    """
    offer = KerberosOffer(protocol="rm", server_id="localhost", short_name=str)
    security = ServerSecurity(allow_simple=False, token_passwords=grant, kerberos=offer, acceptor=acceptor)
    ticket, beats_s, waits_s = first_token(), list[float](), list[float]()
    gc.freeze()  # what pytest has in memory is not what a beat waits for
    async with serving(Service(), security) as (server, port):
        caller = client(port, token=TOKEN)
        await allocate(caller, 0)
        command = [sys.executable, "-m", "tests.support.ticket_flood", str(port), str(2 * WAITING_MAX), ticket.hex()]
        attackers = await asyncio.create_subprocess_exec(*command)
        try:
            await until(lambda: server.figures.unauthenticated > WAITING_MAX)
            for number in range(100):
                begin_s, sent_s = time.thread_time(), time.monotonic()
                assert await allocate(caller, number) == number
                beats_s.append(time.thread_time() - begin_s)
                waits_s.append(time.monotonic() - sent_s)
                await asyncio.sleep(0.02)
        finally:
            gc.unfreeze()
            attackers.kill()
            await attackers.wait()
        await caller.close()
        refused = server.figures.unauthenticated
    beats_s.sort()
    waits_s.sort()
    times = f"{beats_s[50] * 1000:.1f} middle, {beats_s[-1] * 1000:.1f} longest; a beat took {waits_s[50] * 1000:.1f}"
    with capsys.disabled():
        print(f"\nbeats beside {refused} bad tickets, ms of the loop's processor time: {times}")
    assert (beats_s[-1] < 0.1, waits_s[50] < 0.1) == (True, True)


@pytest.fixture
def acceptor(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> KeytabAcceptor:
    """Return the ResourceManager's own acceptor, in this process."""
    for name, value in secured.login().items():
        monkeypatch.setenv(name, value)
    keytab = secured.kdc.directory / "rm.keytab"
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
    for name, value in secured.login().items():
        monkeypatch.setenv(name, value)
    may_end = threading.Event()
    keytab = secured.kdc.directory / "rm.keytab"
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
    """The clock differs by more than krb5.conf's ``clockskew``, here a second, whatever happens to the clock."""
    token, made_s = first_token(), time.time()
    await until(lambda: time.time() > made_s + 2.1)
    with pytest.raises(AccessDenied, match="Clock skew too great"):
        await acceptor.accept(token)


def test_expired_ticket_is_refused_as_by_hadoop(secured: Secured) -> None:
    expired = secured.login(life_s=1)
    threading.Event().wait(2.1)
    status, printed = secured.yarn(secured.conf("kerberos"), expired, NODES, "-list")
    assert status != 0
    assert "Client cannot authenticate via:[TOKEN, KERBEROS]" in printed


async def test_more_tickets_than_may_wait_are_told_to_come_again(acceptor: KeytabAcceptor) -> None:
    found = await asyncio.gather(*(acceptor.accept(b"x") for _ in range(WAITING_MAX + 10)), return_exceptions=True)
    assert [type(one) for one in found] == [AccessDenied] * WAITING_MAX + [Unavailable] * 10
    with pytest.raises(AccessDenied):
        await acceptor.accept(b"x")


def settings_of(
    secured: Secured, monkeypatch: pytest.MonkeyPatch, principal: str, keytab: str = "rm.keytab", **more: Any
) -> Settings:
    """Return settings for Kerberos, to be used in this process."""
    monkeypatch.setenv("KRB5_CONFIG", str(secured.kdc.krb5_conf))
    path = secured.kdc.directory / keytab
    security = SecuritySettings(authentication="kerberos", principal=principal, keytab=path)
    return Settings(node_token_file=path, security=security, web=WebSettings(authentication="kerberos"), **more)


async def test_check_gets_a_ticket_for_the_service_itself(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    principal = f"rm/localhost@{REALM}"
    (found,) = await kerberos_findings(settings_of(secured, monkeypatch, principal))
    assert (found.verdict, found.text) == (
        Verdict.OK,
        f"the KDC gives tickets for {principal}, and the keytab's key opens them",
    )
    # The KDC has a newer key than the keytab.
    secured.kdc.keytab("HTTP/localhost")
    (found,) = await kerberos_findings(settings_of(secured, monkeypatch, f"HTTP/localhost@{REALM}"))
    assert found.verdict is Verdict.FAILED
    assert "GSSException" in found.text


async def test_check_of_a_principal_calls_the_address_as_a_client_does(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(rm_addresses(secured.cluster)["yarn.resourcemanager.address"].rpartition(":")[2])
    settings = settings_of(secured, monkeypatch, f"rm/_HOST@{REALM}", host="localhost", client_port=port)
    name, account, address = [one async for one in principal_checks(settings, f"{USER}@{REALM}")]
    assert (name.verdict, name.text) == (Verdict.OK, f"{USER}@{REALM} is the user {USER}, by the rule DEFAULT")
    assert account.name == "account"
    words = f"localhost:{port} accepts a ticket of rm/localhost@{REALM}, and answers: 1 nodes"
    assert (address.verdict, address.text) == (Verdict.OK, words)
    *_, silent = [one async for one in principal_checks(settings.model_copy(update={"client_port": 9}), USER)]
    assert (silent.verdict, "localhost:9: no connection" in silent.text) == (Verdict.WARNING, True)
    scheduler = int(rm_addresses(secured.cluster)["yarn.resourcemanager.scheduler.address"].rpartition(":")[2])
    *_, refused = [one async for one in principal_checks(settings.model_copy(update={"client_port": scheduler}), USER)]
    assert (refused.verdict, "Client cannot authenticate via:[TOKEN]" in refused.text) == (Verdict.FAILED, True)


@pytest.mark.parametrize(
    ("principal", "words"),
    [("rm/elsewhere", "a keytab with keys of rm/elsewhere@EXAMPLE.COM"), ("rm/localhost", "a readable keytab")],
)
def test_keytab_without_the_key_is_refused_at_start(
    secured: Secured, monkeypatch: pytest.MonkeyPatch, principal: str, words: str
) -> None:
    keytab = "rm.keytab" if principal == "rm/elsewhere" else "none.keytab"
    with pytest.raises(InvalidValue, match=words):
        kerberos_of(settings_of(secured, monkeypatch, principal, keytab))
