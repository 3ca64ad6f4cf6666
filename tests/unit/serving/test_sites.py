"""Addresses of one customer count as one caller."""

from __future__ import annotations

import pytest

from yodel.serving.sites import site_of


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a.socket", "a.socket"),
    ],
)
def test_one_customers_addresses_are_one_site(address: str, site: str) -> None:
    assert site_of(address) == site
