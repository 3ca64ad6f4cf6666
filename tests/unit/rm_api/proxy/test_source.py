"""The address the proxy calls from."""

from __future__ import annotations

from yodel.rm_api.proxy.source import is_loopback, is_ours, source_address


async def test_address_of_this_machine_is_called_from() -> None:
    assert await source_address("127.0.0.1") == "127.0.0.1"


async def test_name_of_another_machine_or_of_any_leaves_the_choice_to_the_system() -> None:
    for host in ("203.0.113.7", "0.0.0.0", "", "x" * 300):
        assert await source_address(host) is None


def test_machine_knows_its_own_addresses() -> None:
    assert [is_ours(address) for address in ("127.0.0.1", "203.0.113.7", "0.0.0.0", "::")] == [
        True,
        False,
        False,
        False,
    ]


def test_loopback() -> None:
    assert [is_loopback(address) for address in ("127.0.0.1", "::1", "192.0.2.1")] == [True, True, False]
