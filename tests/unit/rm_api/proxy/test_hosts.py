"""Hosts the web proxy may fetch from."""

from __future__ import annotations

import pytest

from yodel.rm_api.proxy.hosts import allowed_hosts


def test_nodes_and_the_registered_host_are_allowed_in_any_case() -> None:
    assert allowed_hosts(["Node-1"], "Driver.Example") == {"node-1", "driver.example"}


@pytest.mark.parametrize("registered", ["N/A", "", "null"])
def test_who_registered_no_host_allows_none(registered: str) -> None:
    assert allowed_hosts(["node-1"], registered) == {"node-1"}


@pytest.mark.parametrize(
    "registered",
    [
        "localhost",
        "a.localhost",
        "127.0.0.1",
        "127.1",
        "::1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "fe80::1",
        "0.0.0.0",
    ],
)
def test_address_that_each_machine_has_is_not_taken_from_an_am(registered: str) -> None:
    assert allowed_hosts(["10.0.0.1"], registered) == {"10.0.0.1"}


def test_on_a_laptop_the_nodes_are_there_themselves() -> None:
    assert allowed_hosts(["127.0.0.1"], "localhost") == {"127.0.0.1", "localhost"}
