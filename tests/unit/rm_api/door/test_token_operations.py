"""Tokens by ``op=`` on any address."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rest_world import RestWorld, rest_world
from yodel.pb_convert.delegation_tokens import delegation_content
from yodel.rm_api.door.token_text import from_text
from yodel.serving.proxy_users import ProxyUserRule, ProxyUserRules

DAY_MS = 86_400_000


async def token_of(world: RestWorld, query: str = "user.name=alice&renewer=oozie") -> str:
    answer = await world.get(f"/info?op=GETDELEGATIONTOKEN&{query}")
    world.client.cookies.clear()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    return str(answer.json()["Token"]["urlString"])


async def put(world: RestWorld, query: str, **arguments: Any) -> Any:
    return await world.client.put(f"/ws/v1/cluster/info?{query}", **arguments)


async def test_token_got_on_any_address_lets_in_on_every_other(world: RestWorld) -> None:
    token = await token_of(world)
    content = delegation_content(from_text(token).identifier)
    assert (content.owner, content.renewer) == ("alice", "oozie")
    answer = await world.get(f"/userinfo?delegation={token}")
    assert answer.json()["requestedUser"] == "alice"


async def test_token_of_nobody_in_particular_is_renewed_by_its_owner(world: RestWorld) -> None:
    token = from_text(await token_of(world, "user.name=alice&service=rm:8032"))
    assert delegation_content(token.identifier).renewer == "alice"
    assert token.service == "rm:8032"


async def test_proxy_gets_a_token_in_the_users_name() -> None:
    rules = ProxyUserRules({"hue": ProxyUserRule(hosts=frozenset(("*",)), users=frozenset(("alice",)))})
    async with rest_world(proxy_users=rules) as world:
        content = delegation_content(from_text(await token_of(world, "user.name=hue&doAs=alice")).identifier)
        assert (content.owner, content.real_user) == ("alice", "hue")
        refused = await world.get("/info?op=GETDELEGATIONTOKEN&user.name=hue&doAs=bob")
        assert refused.status_code == 403


async def test_operation_is_known_in_any_case(world: RestWorld) -> None:
    assert "Token" in (await world.get("/info?op=getDelegationToken&user.name=alice")).json()


async def test_renewer_renews(world: RestWorld) -> None:
    token = await token_of(world)
    world.clock.advance(60)
    answer = await put(world, f"op=RENEWDELEGATIONTOKEN&user.name=oozie&token={token}")
    assert answer.json() == {"long": world.clock.now_ms() + DAY_MS}


async def test_others_do_not_renew(world: RestWorld) -> None:
    token = await token_of(world)
    answer = await put(world, f"op=RENEWDELEGATIONTOKEN&user.name=mallory&token={token}")
    assert (answer.status_code, answer.text) == (403, "")


async def test_token_cancels_itself(world: RestWorld) -> None:
    token = await token_of(world)
    assert (await put(world, f"op=CANCELDELEGATIONTOKEN&token={token}")).status_code == 200
    assert (await world.get(f"/info?delegation={token}")).status_code == 403
    again = await put(world, f"op=CANCELDELEGATIONTOKEN&token={token}")
    assert (again.status_code, again.text) == (404, "")


async def test_who_a_cookie_names_cancels_only_what_is_theirs(world: RestWorld) -> None:
    token = await token_of(world)
    named = await world.get("/info?user.name=mallory")
    cookie = {"Cookie": named.headers["set-cookie"].partition(";")[0]}
    world.client.cookies.clear()
    refused = await put(world, f"op=CANCELDELEGATIONTOKEN&token={token}", headers=cookie)
    assert refused.status_code == 404
    assert (await world.get(f"/info?delegation={token}")).status_code == 200


@pytest.mark.parametrize("operation", ["GETDELEGATIONTOKEN", "RENEWDELEGATIONTOKEN"])
async def test_nobody_in_particular_gets_no_token(world: RestWorld, operation: str) -> None:
    method = "GET" if operation.startswith("GET") else "PUT"
    answer = await world.client.request(method, f"/ws/v1/cluster/info?op={operation}&token=AA")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "PseudoAuth")


@pytest.mark.parametrize(
    ("method", "query", "text"),
    [
        (
            "GET",
            "op=CANCELDELEGATIONTOKEN",
            "Wrong HTTP method [GET] for operation [CANCELDELEGATIONTOKEN], it should be [PUT]",
        ),
        ("PUT", "op=GETDELEGATIONTOKEN", ""),
        ("PUT", "op=CANCELDELEGATIONTOKEN", ""),
        ("PUT", "op=RENEWDELEGATIONTOKEN&user.name=a", ""),
    ],
)
async def test_wrong_use_is_refused_and_said_to_get(world: RestWorld, method: str, query: str, text: str) -> None:
    """The servlet container explains no refusal of a PUT."""
    answer = await world.client.request(method, f"/ws/v1/cluster/info?{query}", headers={"Accept": "application/json"})
    assert answer.status_code == 400
    assert (answer.json()["message"] if answer.content else "") == text
    assert "set-cookie" not in answer.headers


async def test_other_operations_and_options_are_left_alone(world: RestWorld) -> None:
    assert (await world.get("/info?op=LISTSTATUS")).json()["clusterInfo"]
    assert (await world.client.options("/ws/v1/cluster/info?op=GETDELEGATIONTOKEN")).status_code == 200
