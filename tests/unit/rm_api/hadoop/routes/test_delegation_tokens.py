"""``/delegation-token``."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.rest_world import RestWorld, rest_world
from yodel.errors import AccessDenied
from yodel.hadoop_rpc.gssapi import Negotiated
from yodel.pb_convert.delegation_tokens import delegation_content
from yodel.rm_api.door.token_text import from_text, to_text
from yodel.rm_api.hadoop.routes.delegation_tokens import PATH, TOKEN_HEADER

DAY_MS = 86_400_000
CALLS = (("POST", PATH), ("DELETE", PATH), ("POST", f"{PATH}/expiration"))


class Names:
    """Takes a name for a ticket."""

    async def accept(self, token: bytes) -> Negotiated:
        if not token.isalpha():
            raise AccessDenied("no ticket")
        return Negotiated(user=token.decode(), principal=token.decode())


@pytest.fixture
async def kerberos() -> AsyncIterator[RestWorld]:
    async with rest_world(authentication="kerberos", acceptor=Names()) as world:
        yield world


def as_user(name: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Negotiate {b64encode(name.encode()).decode()}", **headers}


async def given(world: RestWorld, owner: str = "alice", renewer: str = "oozie") -> Any:
    answer = await world.client.post(PATH, json={"renewer": renewer}, headers=as_user(owner))
    world.client.cookies.clear()
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_token_is_given_with_all_that_it_says(kerberos: RestWorld) -> None:
    body = await given(kerberos)
    content = delegation_content(from_text(body["token"]).identifier)
    now_ms = kerberos.clock.now_ms()
    assert (content.owner, content.renewer) == ("alice", "oozie")
    assert {name: value for name, value in body.items() if name != "token"} == {
        "renewer": "oozie",
        "owner": "alice",
        "kind": "RM_DELEGATION_TOKEN",
        "expiration-time": now_ms + DAY_MS,
        "max-validity": now_ms + 7 * DAY_MS,
    }


async def test_token_is_given_as_xml_for_xml(kerberos: RestWorld) -> None:
    answer = await kerberos.client.post(
        PATH,
        content="<delegation-token><renewer>oozie</renewer></delegation-token>",
        headers=as_user("alice", Accept="application/xml", **{"Content-Type": "application/xml"}),
    )
    assert answer.status_code == 200
    assert answer.text.startswith('<?xml version="1.0" encoding="UTF-8"?><delegation-token><token>')
    assert "<kind>RM_DELEGATION_TOKEN</kind>" in answer.text


async def test_renewer_renews_and_cancels(kerberos: RestWorld) -> None:
    token = (await given(kerberos))["token"]
    kerberos.clock.advance(3600)
    renewed = await kerberos.client.post(f"{PATH}/expiration", headers=as_user("oozie", **{TOKEN_HEADER: token}))
    assert renewed.json() == {"expiration-time": kerberos.clock.now_ms() + DAY_MS}
    cancelled = await kerberos.client.delete(PATH, headers=as_user("oozie", **{TOKEN_HEADER: token}))
    assert (cancelled.status_code, cancelled.content) == (200, b"")
    again = await kerberos.client.delete(PATH, headers=as_user("oozie", **{TOKEN_HEADER: token}))
    assert again.status_code == 400
    assert "Token not found" in again.json()["RemoteException"]["message"]


@pytest.mark.parametrize(("method", "path"), CALLS[1:])
async def test_others_may_do_neither(kerberos: RestWorld, method: str, path: str) -> None:
    token = (await given(kerberos))["token"]
    answer = await kerberos.client.request(method, path, headers=as_user("mallory", **{TOKEN_HEADER: token}))
    assert (answer.status_code, "mallory" in answer.text) == (403, True)


@pytest.mark.parametrize(("method", "path"), CALLS[1:])
@pytest.mark.parametrize(
    ("headers", "text"),
    [({}, f"Header '{TOKEN_HEADER}' containing"), ({TOKEN_HEADER: "x!"}, "Could not decode encoded token")],
)
async def test_token_to_renew_or_cancel_is_a_header(
    kerberos: RestWorld, method: str, path: str, headers: dict[str, str], text: str
) -> None:
    answer = await kerberos.client.request(method, path, headers=as_user("alice", **headers))
    assert answer.status_code == 400
    assert text in answer.json()["RemoteException"]["message"]


async def test_token_needs_a_renewer(kerberos: RestWorld) -> None:
    answer = await kerberos.client.post(PATH, json={}, headers=as_user("alice"))
    assert answer.status_code == 400


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_token_is_no_proof_for_getting_another(kerberos: RestWorld, method: str, path: str) -> None:
    token = to_text(await kerberos.rm.delegation_tokens.issue("alice", "oozie"))
    answer = await kerberos.client.request(method, path, json={}, headers={"X-Hadoop-Delegation-Token": token})
    assert answer.status_code == 403
    assert "using delegation token authentication" in answer.text


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_simple_callers_are_refused_as_hadoop_does(world: RestWorld, method: str, path: str) -> None:
    """Recorded from a real Hadoop 3.5.0 ResourceManager."""
    answer = await world.client.request(method, f"{path}?user.name=root", json={"renewer": "root"})
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/json;charset=utf-8")
    assert answer.text == (
        "Delegation token operations can only be carried out on a Kerberos authenticated channel. "
        "Expected auth type is kerberos, got type SIMPLE"
    )
