"""Callers are known by cookies, tokens, names and tickets, and may speak for others where a rule lets them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.fakes import FakeClock
from tests.support.rest_world import RestWorld, rest_world
from yodel.errors import AccessDenied
from yodel.hadoop_rpc.gssapi import Negotiated
from yodel.rm_api.door.authentication import RequestIdentity
from yodel.rm_api.door.token_text import from_text, to_text
from yodel.serving.proxy_users import ProxyUserRule, ProxyUserRules

HUE = ProxyUserRules({"hue": ProxyUserRule(hosts=frozenset(("127.0.0.1",)), users=frozenset(("alice",)))})


class Tickets:
    """Takes the ticket ``good``, in two steps when it is ``half``."""

    async def accept(self, token: bytes) -> Negotiated:
        if token == b"half":
            return Negotiated(answer=b"more")
        if token != b"good":
            raise AccessDenied("GSSException: Defective token detected")
        return Negotiated(user="alice", principal="alice@EXAMPLE.COM", answer=b"done")


def negotiate(ticket: bytes) -> dict[str, str]:
    return {"Authorization": f"Negotiate {b64encode(ticket).decode()}"}


async def caller(world: RestWorld, query: str = "", **headers: str) -> Any:
    world.client.cookies.clear()
    answer = await world.get(f"/userinfo{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["requestedUser"]


async def cookie_of(world: RestWorld, user: str) -> str:
    answer = await world.get(f"/userinfo?user.name={user}")
    return answer.headers["set-cookie"].partition(";")[0]


async def token_of(world: RestWorld, owner: str = "alice") -> str:
    return to_text(await world.rm.delegation_tokens.issue(owner, "yarn"))


async def test_first_user_name_counts(world: RestWorld) -> None:
    assert await caller(world, "?a=1&user.name=alice&user.name=bob") == "alice"
    assert await caller(world, "?user%2Ename=alice") == "alice"
    assert await caller(world, "?user.name=") == "dr.who"


async def test_cookie_beats_the_name(world: RestWorld) -> None:
    """AuthenticationFilter asks nobody for a name that the cookie tells."""
    answer = await world.get("/userinfo?user.name=bob", headers={"Cookie": await cookie_of(world, "carol")})
    assert answer.json()["requestedUser"] == "carol"
    assert "set-cookie" not in answer.headers


async def test_old_cookie_is_as_good_as_none(world: RestWorld) -> None:
    cookie = await cookie_of(world, "carol")
    assert isinstance(world.clock, FakeClock)
    world.clock.advance(36_001)
    assert await caller(world, "?user.name=bob", Cookie=cookie) == "bob"
    assert await caller(world, Cookie=cookie) == "dr.who"


@pytest.mark.parametrize("name", ["X-Hadoop-Delegation-Token", "Hadoop-YARN-Auth-Delegation-Token"])
async def test_token_in_a_header_speaks_for_its_owner(world: RestWorld, name: str) -> None:
    token = await token_of(world)
    answer = await world.get("/userinfo?user.name=bob", headers={name: token})
    assert answer.json()["requestedUser"] == "alice"
    assert "set-cookie" not in answer.headers


async def test_token_in_the_query_speaks_for_its_owner(world: RestWorld) -> None:
    assert await caller(world, f"?delegation={await token_of(world)}") == "alice"


async def test_token_beats_proxying(world: RestWorld) -> None:
    assert await caller(world, f"?doAs=bob&delegation={await token_of(world)}") == "alice"


async def test_bad_token_is_refused_as_hadoop_refuses_it(world: RestWorld) -> None:
    good = from_text(await token_of(world))
    world.client.cookies.clear()
    forged = await world.get(f"/info?delegation={to_text(_with_password(good, b'x' * 20))}")
    assert forged.status_code == 403
    fault = forged.json()["RemoteException"]
    assert fault["javaClassName"] == "org.apache.hadoop.security.authentication.client.AuthenticationException"
    assert "is invalid, password doesn't match" in fault["message"]
    assert "SecretManager$InvalidToken" in fault["message"]
    nonsense = await world.get("/info", headers={"X-Hadoop-Delegation-Token": "nonsense!"})
    assert nonsense.status_code == 403


async def test_cancelled_token_is_refused(world: RestWorld) -> None:
    token = await token_of(world)
    await world.rm.delegation_tokens.cancel(from_text(token).identifier, "alice")
    answer = await world.get(f"/info?delegation={token}")
    assert (answer.status_code, "can't be found in cache" in answer.text) == (403, True)


@pytest.mark.parametrize("parameter", ["doAs", "doas", "DOAS"])
async def test_proxy_speaks_for_whom_it_may(parameter: str) -> None:
    async with rest_world(proxy_users=HUE) as world:
        assert await caller(world, f"?user.name=hue&{parameter}=alice") == "alice"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("user.name=hue&doAs=bob", "User: hue is not allowed to impersonate bob"),
        ("user.name=mallory&doAs=alice", "User: mallory is not allowed to impersonate alice"),
    ],
)
async def test_proxy_that_may_not_is_refused(query: str, text: str) -> None:
    async with rest_world(proxy_users=HUE) as world:
        answer = await world.get(f"/info?{query}")
        assert answer.status_code == 403
        assert answer.json()["RemoteException"] == {
            "exception": "AuthorizationException",
            "message": text,
            "javaClassName": "org.apache.hadoop.security.authorize.AuthorizationException",
        }


async def test_proxy_from_elsewhere_is_refused() -> None:
    rules = ProxyUserRules({"hue": ProxyUserRule(hosts=frozenset(("10.0.0.0/8",)), users=frozenset(("*",)))})
    async with rest_world(proxy_users=rules) as world:
        answer = await world.get("/info?user.name=hue&doAs=alice")
        assert (answer.status_code, "from IP 127.0.0.1" in answer.text) == (403, True)


async def test_cookie_of_a_proxy_is_the_proxys_own() -> None:
    async with rest_world(proxy_users=HUE) as world:
        answer = await world.get("/userinfo?user.name=hue&doAs=alice")
        assert answer.headers["set-cookie"].startswith('hadoop.auth="u=hue&')
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert await caller(world, "?doAs=alice", Cookie=cookie) == "alice"
        assert await caller(world, Cookie=cookie) == "hue"


@pytest.mark.parametrize("name", ["jörg", "First Last", "DOM\\user", "a&b=c"])
async def test_names_of_people_and_domains_are_taken(world: RestWorld, name: str) -> None:
    assert await caller(world, f"?user.name={quote(name)}") == name


async def test_nobody_speaks_for_nobody_else(world: RestWorld) -> None:
    assert await caller(world, "?doAs=alice") == "dr.who"


@pytest.mark.parametrize("query", ["user.name=a%2Cb", "user.name=hue&doAs=a%0d%0ab"])
async def test_impossible_name_is_refused(query: str) -> None:
    async with rest_world(proxy_users=HUE) as world:
        answer = await world.get(f"/info?{query}")
        assert answer.status_code == 400
        assert set(answer.json()["RemoteException"]) == {"exception", "message", "javaClassName"}


async def test_who_gives_no_name_is_challenged_where_names_are_needed() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        refused = await world.get("/info")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "PseudoAuth")
        assert (await world.get("/info?user.name=alice")).status_code == 200


async def test_kerberos_without_anybody_to_judge_says_so_clearly() -> None:
    async with rest_world(authentication="kerberos") as world:
        for headers in ({}, negotiate(b"good"), {"Authorization": "Basic YTpi"}):
            refused = await world.get("/info?user.name=alice", headers={**headers, "Accept": "application/json"})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Negotiate")
            assert "delegation tokens are" in refused.json()["message"]
        assert await caller(world, f"?delegation={await token_of(world)}") == "alice"


async def test_ticket_is_answered_with_a_cookie() -> None:
    async with rest_world(authentication="kerberos", acceptor=Tickets()) as world:
        answer = await world.get("/userinfo", headers=negotiate(b"good"))
        assert answer.json()["requestedUser"] == "alice"
        assert answer.headers["www-authenticate"] == f"Negotiate {b64encode(b'done').decode()}"
        assert "p=alice@EXAMPLE.COM&t=kerberos-dt&" in answer.headers["set-cookie"]
        assert await caller(world, Cookie=answer.headers["set-cookie"].partition(";")[0]) == "alice"


@pytest.mark.parametrize(
    ("ticket", "status", "challenge"),
    [(b"half", 401, f"Negotiate {b64encode(b'more').decode()}"), (b"bad", 403, None)],
)
async def test_ticket_that_proves_nothing_is_refused(ticket: bytes, status: int, challenge: str | None) -> None:
    async with rest_world(authentication="kerberos", acceptor=Tickets()) as world:
        refused = await world.get("/info", headers=negotiate(ticket))
        assert (refused.status_code, refused.headers.get("www-authenticate")) == (status, challenge)
        assert (await world.get("/info", headers={"Authorization": "Negotiate !"})).status_code == 403


def _with_password(token: Any, password: bytes) -> Any:
    return type(token)(identifier=token.identifier, password=password, kind=token.kind, service=token.service)


def test_secrets_of_a_request_are_not_shown() -> None:
    scope = {
        "query_string": b"delegation=secret",
        "headers": [(b"cookie", b"hadoop.auth=secret"), (b"authorization", b"Negotiate secret")],
        "client": None,
    }
    assert "secret" not in repr(RequestIdentity.of(scope))


async def test_the_administrator_s_token_counts_before_everything_else() -> None:
    token = "x" * 16
    for kind in ("simple", "kerberos"):
        async with rest_world(admin_token=token.encode(), authentication=kind) as world:
            cookie = await cookie_of(world, "carol") if kind == "simple" else ""
            assert await caller(world, "?user.name=bob", Authorization=f"Bearer {token}", Cookie=cookie) == "yarn"
            refused = await world.get("/userinfo?user.name=yarn", headers={"Authorization": f"Bearer {token}y"})
            assert refused.status_code == 403


async def test_where_no_token_is_set_none_is_good(world: RestWorld) -> None:
    assert await caller(world, "?user.name=bob", Authorization="Bearer ") == "bob"
