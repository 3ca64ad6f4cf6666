from __future__ import annotations

import asyncio

import pytest

from tests.support.playbook import World
from yodel.domain.delegation_token import DelegationTokenContent
from yodel.domain.tokens import Token, password
from yodel.errors import AccessDenied, InvalidToken, Refused, Unavailable
from yodel.pb_convert.delegation_tokens import delegation_content, delegation_token
from yodel.services.keys import delegation as delegation_tokens
from yodel.services.keys.delegation import PURPOSE, Accepted
from yodel.telemetry.limits import REFUSALS

DAY_S = 86_400.0


async def issue(world: World, owner: str = "alice", renewer: str = "yarn") -> Token:
    return await world.run(world.rm.delegation_tokens.issue(owner, renewer))


async def renew(world: World, token: Token, caller: str, proof: bytes | None = None) -> int:
    tokens = world.rm.delegation_tokens
    return await world.run(tokens.renew(token.identifier, token.password if proof is None else proof, caller))


async def test_token_is_on_disk_before_it_is_given_out(world: World) -> None:
    token = await issue(world)
    (row,) = world.disk.delegation_tokens.values()
    assert (row.identifier, row.sequence) == (token.identifier, 1)
    assert row.expires_ms == world.clock.now_ms() + DAY_S * 1000
    assert world.disk.identity is not None
    assert world.disk.identity.delegation_sequence == 1


async def test_token_says_until_when_it_is_good(world: World) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    assert tokens.expires_ms(token.identifier) == world.clock.now_ms() + DAY_S * 1000
    await world.run(tokens.cancel(token.identifier, "alice"))
    with pytest.raises(InvalidToken, match="No delegation token found"):
        tokens.expires_ms(token.identifier)


async def test_content_says_who_and_how_long(world: World) -> None:
    token = await world.run(world.rm.delegation_tokens.issue("alice", "yarn/host@REALM", "oozie"))
    content = delegation_content(token.identifier)
    assert (content.owner, content.renewer, content.real_user) == ("alice", "yarn", "oozie")
    assert content.max_ms - content.issued_ms == 7 * DAY_S * 1000


async def test_restarted_rm_accepts_what_it_gave_out_and_signs_with_another_key(world: World) -> None:
    first = await issue(world)
    await world.restart()
    assert world.rm.delegation_tokens.accepted(first.identifier) == Accepted(
        owner="alice", real_user=None, password=first.password
    )
    second = await issue(world)
    was, now = delegation_content(first.identifier), delegation_content(second.identifier)
    assert (now.sequence, now.master_key_id) == (was.sequence + 1, was.master_key_id + 1)


async def test_token_that_a_proxy_got_speaks_for_both(world: World) -> None:
    tokens = world.rm.delegation_tokens
    token = await world.run(tokens.issue("alice", "yarn", "oozie"))
    found = tokens.accepted(token.identifier)
    assert (found.owner, found.real_user) == ("alice", "oozie")
    own = await world.run(tokens.issue("oozie", "yarn", "oozie"))
    assert tokens.accepted(own.identifier).real_user is None


async def test_sequence_goes_on_after_a_restart_without_tokens(world: World) -> None:
    token = await issue(world)
    await world.run(world.rm.delegation_tokens.cancel(token.identifier, "alice"))
    await world.restart()
    assert delegation_content((await issue(world)).identifier).sequence == 2


async def test_only_the_renewer_renews(world: World) -> None:
    token = await issue(world)
    with pytest.raises(AccessDenied, match=r"mallory tries to renew a token .* with non-matching renewer yarn"):
        await renew(world, token, "mallory")
    with pytest.raises(AccessDenied, match="with wrong password"):
        await renew(world, token, "yarn", b"wrong")


async def test_rms_own_user_renews_for_whoever_is_the_renewer(world: World) -> None:
    token = await issue(world, renewer="oozie")
    assert await renew(world, token, "yarn") > world.clock.now_ms()


async def test_nobody_renews_a_token_without_a_renewer(world: World) -> None:
    token = await issue(world, renewer="")
    with pytest.raises(AccessDenied, match="without a renewer"):
        await renew(world, token, "alice")


async def test_renewing_never_goes_beyond_the_maximum(world: World) -> None:
    token = await issue(world)
    max_ms = delegation_content(token.identifier).max_ms
    for _ in range(7):
        world.clock.advance(DAY_S - 600)
        expires_ms = await renew(world, token, "yarn")
    assert expires_ms == max_ms
    world.clock.advance(DAY_S)
    with pytest.raises(InvalidToken, match="yarn tried to renew an expired token"):
        await renew(world, token, "yarn")


async def test_token_that_nobody_renewed_is_not_accepted_and_then_forgotten(world: World) -> None:
    token = await issue(world)
    world.clock.advance(DAY_S + 1)
    with pytest.raises(InvalidToken, match="has expired, current time"):
        world.rm.delegation_tokens.accepted(token.identifier)
    await world.run(world.rm.delegation_tokens.look())
    assert world.disk.delegation_tokens == {}
    with pytest.raises(InvalidToken, match="can't be found in cache"):
        world.rm.delegation_tokens.accepted(token.identifier)


async def test_owner_and_renewer_cancel_and_nobody_else(world: World) -> None:
    tokens = world.rm.delegation_tokens
    first, second = await issue(world), await issue(world)
    with pytest.raises(AccessDenied, match="mallory is not authorized to cancel the token"):
        await world.run(tokens.cancel(first.identifier, "mallory"))
    await world.run(tokens.cancel(first.identifier, "alice"))
    await world.run(tokens.cancel(second.identifier, "yarn"))
    assert world.disk.delegation_tokens == {}
    with pytest.raises(InvalidToken, match="Token not found"):
        await world.run(tokens.cancel(first.identifier, "alice"))


async def test_cancel_that_was_not_written_has_not_happened(world: World) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await world.run(tokens.cancel(token.identifier, "alice"))
    assert tokens.accepted(token.identifier).owner == "alice"
    assert await renew(world, token, "yarn") == tokens.expires_ms(token.identifier)
    assert len(world.disk.delegation_tokens) == 1
    await world.run(tokens.cancel(token.identifier, "alice"))
    assert world.disk.delegation_tokens == {}


async def test_cancelled_token_is_good_no_more_while_that_is_written_and_after_a_restart(world: World) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    ending = asyncio.create_task(tokens.cancel(token.identifier, "alice"))
    await asyncio.sleep(0)  # it has begun, and the writer has not
    assert len(world.disk.delegation_tokens) == 1
    with pytest.raises(InvalidToken, match="can't be found in cache"):
        tokens.accepted(token.identifier)
    with pytest.raises(InvalidToken, match="Token not found"):
        await tokens.cancel(token.identifier, "yarn")
    await ending
    await world.restart()
    with pytest.raises(InvalidToken, match="can't be found in cache"):
        world.rm.delegation_tokens.accepted(token.identifier)


@pytest.mark.parametrize("is_cancel_first", [True, False])
async def test_renewal_beside_a_cancel_brings_nothing_back(world: World, is_cancel_first: bool) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    world.clock.advance(60)

    async def both() -> list[object]:
        renewal = tokens.renew(token.identifier, token.password, "yarn")
        cancel = tokens.cancel(token.identifier, "alice")
        works = (cancel, renewal) if is_cancel_first else (renewal, cancel)
        return list(await asyncio.gather(*works, return_exceptions=True))

    told = await world.run(both())
    refused = [found for found in told if found is not None]
    assert [type(found) for found in refused] == [InvalidToken]
    assert world.disk.delegation_tokens == {}
    with pytest.raises(InvalidToken, match="can't be found in cache"):
        tokens.accepted(token.identifier)


@pytest.mark.parametrize("is_renewal_first", [True, False])
async def test_renewal_beside_the_removal_of_what_expired_is_kept_or_refused(
    world: World, is_renewal_first: bool
) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    world.clock.advance(DAY_S + 1)
    other = await issue(world)  # makes the new key that is due, so that looking begins with what expired

    async def both() -> object:
        renewal, looking = tokens.renew(token.identifier, token.password, "yarn"), tokens.look()
        works = (renewal, looking) if is_renewal_first else (looking, renewal)
        told = await asyncio.gather(*works, return_exceptions=True)
        return told[0 if is_renewal_first else 1]

    told = await world.run(both())
    on_disk = {row.identifier for row in world.disk.delegation_tokens.values()}
    if is_renewal_first:
        assert told == tokens.expires_ms(token.identifier)
        assert tokens.accepted(token.identifier).owner == "alice"
        assert on_disk == {token.identifier, other.identifier}
        return
    assert isinstance(told, InvalidToken)
    assert on_disk == {other.identifier}
    with pytest.raises(InvalidToken, match="can't be found in cache"):
        tokens.accepted(token.identifier)


async def test_what_expired_and_could_not_be_removed_may_still_be_renewed(world: World) -> None:
    tokens, token = world.rm.delegation_tokens, await issue(world)
    world.clock.advance(DAY_S + 1)
    await issue(world)
    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await world.run(tokens.look())
    assert await renew(world, token, "yarn") == tokens.expires_ms(token.identifier)
    world.clock.advance(DAY_S + 1)
    await issue(world)
    await world.run(tokens.look())  # a renewal that ended keeps nothing
    assert token.identifier not in {row.identifier for row in world.disk.delegation_tokens.values()}


async def test_forged_token_is_not_renewed(world: World) -> None:
    await issue(world)
    key = world.disk.master_keys[PURPOSE, 1]
    forged = delegation_token(
        key,
        DelegationTokenContent(
            owner="root",
            renewer="yarn",
            real_user="",
            issued_ms=1,
            max_ms=2**60,
            sequence=77,
            master_key_id=1,
        ),
    )
    assert forged.password == password(key, forged.identifier)
    with pytest.raises(InvalidToken, match="Renewal request for unknown token"):
        await renew(world, forged, "yarn")


async def test_keys_roll_and_go_with_the_last_token_they_signed(world: World) -> None:
    tokens = world.rm.delegation_tokens
    first = await issue(world)
    world.clock.advance(DAY_S - 10)
    await renew(world, first, "yarn")
    world.clock.advance(20)
    await world.run(tokens.look())
    assert {key for purpose, key in world.disk.master_keys if purpose == PURPOSE} == {1, 2}
    assert tokens.accepted(first.identifier).owner == "alice"

    await world.run(tokens.cancel(first.identifier, "alice"))
    await world.run(tokens.look())
    assert {key for purpose, key in world.disk.master_keys if purpose == PURPOSE} == {2}


async def test_tokens_are_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegation_tokens, "TOKENS_MAX", 1)
    await issue(world)
    with pytest.raises(Exception, match="no more are given out"):
        await issue(world)


async def test_tokens_of_one_owner_and_of_one_address_leave_room_for_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation_tokens, "TOKENS_OF_OWNER_MAX", 2)
    monkeypatch.setattr(delegation_tokens, "TOKENS_OF_ADDRESS_MAX", 3)
    tokens, before = world.rm.delegation_tokens, REFUSALS.counts()

    async def given(owner: str, host: str) -> Token:
        return await world.run(tokens.issue(owner, "yarn", host=host))

    first = await given("alice", "10.0.0.1")
    await given("alice", "10.0.0.1")
    with pytest.raises(Refused, match="delegation_tokens_of_owner: 3, fixed"):
        await given("alice", "10.0.0.2")
    await given("bob", "10.0.0.1")
    with pytest.raises(Refused, match="delegation_tokens_of_address: 4, fixed"):
        await given("carol", "10.0.0.1")
    await given("carol", "10.0.0.2")
    for name in ("delegation_tokens_of_owner", "delegation_tokens_of_address"):
        assert REFUSALS.counts()[name] == before[name] + 1

    await world.run(tokens.cancel(first.identifier, "alice"))
    await given("alice", "10.0.0.1")
    world.clock.advance(8 * DAY_S)
    await world.run(tokens.look())
    assert not tokens._owners
    assert not tokens._sites
    assert not tokens._site_of


async def test_token_that_could_not_be_written_takes_no_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = world.rm.delegation_tokens

    async def fails(*_: object) -> Token:
        raise Unavailable("the store does not answer")

    with monkeypatch.context() as failing:
        failing.setattr(tokens, "_issue", fails)
        with pytest.raises(Unavailable):
            await issue(world)
    assert not tokens._owners
    assert not tokens._sites


async def test_tokens_of_before_count_for_their_owner(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegation_tokens, "TOKENS_OF_OWNER_MAX", 1)
    await issue(world)
    await world.restart()
    with pytest.raises(Refused, match="delegation_tokens_of_owner"):
        await issue(world)


async def test_bytes_that_are_no_identifier_are_no_token(world: World) -> None:
    with pytest.raises(InvalidToken):
        world.rm.delegation_tokens.accepted(b"\xff\xff\xff")
