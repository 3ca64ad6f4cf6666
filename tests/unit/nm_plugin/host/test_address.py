"""The address of a node that has several."""

from __future__ import annotations

import pytest

from nm_plugin.host.address import address_in, machine_addresses
from yodel.errors import InvalidValue

ADDRESSES = ("127.0.0.1", "10.1.0.20", "10.1.0.9", "192.168.7.4", "fd00::5", "::1")


@pytest.mark.parametrize(
    ("network", "address"),
    [
        ("192.168.0.0/16", "192.168.7.4"),
        ("10.1.0.0/24", "10.1.0.9"),
        ("fd00::/8", "fd00::5"),
        ("10.1.0.7/24", "10.1.0.9"),
    ],
)
def test_the_lowest_address_in_the_network(network: str, address: str) -> None:
    assert address_in(network, ADDRESSES) == address


def test_none_names_what_there_is() -> None:
    with pytest.raises(InvalidValue, match=r"host_cidr.*172\.16\.0\.0/12.*10\.1\.0\.20"):
        address_in("172.16.0.0/12", ADDRESSES)


def test_this_machine_has_a_loopback_address() -> None:
    assert "127.0.0.1" in machine_addresses()
    assert address_in("127.0.0.0/8") == "127.0.0.1"
