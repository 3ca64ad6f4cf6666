"""The signed cookie, and names that can be."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.serving.http_cookie import CookieSigner, checked_user

NOW_MS = 1_700_000_000_000
SIGNER = CookieSigner(secret=b"k" * 32, validity_s=36_000)


def value_of(set_cookie: str) -> str:
    return set_cookie.partition(";")[0].partition("=")[2].strip('"')


def test_cookie_has_hadoops_fields() -> None:
    cookie = SIGNER.issue("alice", NOW_MS)
    assert cookie.startswith(f'hadoop.auth="u=alice&p=alice&t=simple-dt&e={NOW_MS + 36_000_000}&s=')
    assert cookie.endswith('"; Path=/; HttpOnly')


@pytest.mark.parametrize("quote", ['"', ""])
def test_cookie_names_the_user_with_or_without_quotes(quote: str) -> None:
    value = value_of(SIGNER.issue("alice", NOW_MS))
    header = f"other=1; hadoop.auth={quote}{value}{quote}; more=2"
    assert SIGNER.user_in(header, NOW_MS) == "alice"


def test_cookie_is_good_until_it_expires() -> None:
    value = value_of(SIGNER.issue("alice", NOW_MS))
    assert SIGNER.user_of(value, NOW_MS + 36_000_000) == "alice"
    assert SIGNER.user_of(value, NOW_MS + 36_000_001) is None


@pytest.mark.parametrize(
    "forge",
    [
        lambda value: value.replace("u=alice", "u=mallory"),
        lambda value: value[:-6] + "AAAAA=",
        lambda value: value.partition("&s=")[0],
        lambda value: value.partition("&s=")[0] + "&s=",
        lambda value: value + "é",
        lambda _: "",
    ],
)
def test_forged_cookie_names_nobody(forge: object) -> None:
    assert callable(forge)
    assert SIGNER.user_of(forge(value_of(SIGNER.issue("alice", NOW_MS))), NOW_MS) is None


def test_cookie_of_another_secret_names_nobody() -> None:
    other = CookieSigner(secret=b"x" * 32, validity_s=36_000)
    assert SIGNER.user_of(value_of(other.issue("alice", NOW_MS)), NOW_MS) is None


def test_cookie_of_another_type_names_nobody() -> None:
    kerberos = CookieSigner(secret=b"k" * 32, validity_s=36_000, token_type="kerberos-dt")
    assert SIGNER.user_of(value_of(kerberos.issue("alice", NOW_MS)), NOW_MS) is None


def test_cookie_has_the_attributes_that_are_wanted() -> None:
    signer = CookieSigner(secret=b"k", validity_s=1, domain="example.com", is_persistent=True)
    cookie = signer.issue("alice", NOW_MS, is_secure=True)
    expected = "; Path=/; Domain=example.com; Expires=Tue, 14-Nov-2023 22:13:21 GMT; Secure; HttpOnly"
    assert cookie.endswith(expected)
    assert "p=alice@REALM&" in signer.issue("alice", NOW_MS, principal="alice@REALM")


def test_cookie_is_taken_away_by_an_empty_one() -> None:
    assert SIGNER.cleared() == "hadoop.auth=; Path=/; HttpOnly"
    persistent = CookieSigner(secret=b"k", validity_s=1, is_persistent=True).cleared()
    assert persistent == "hadoop.auth=; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT; HttpOnly"


def test_no_cookie_is_nobody() -> None:
    assert SIGNER.user_in("", NOW_MS) is None
    assert SIGNER.user_in("other=1", NOW_MS) is None


@pytest.mark.parametrize("name", ["a\r\nb", "a\x7fb", "a:b", "a,b", "a b/c", ".", "..", "-x", "x" * 256, "é" * 128, ""])
def test_name_no_account_could_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"user\.name"):
        checked_user("user.name", name)


@pytest.mark.parametrize(
    "name", ["jörg", "First Last", "DOM\\user", "a&u=root", 'a"b;c', "100%", "hdfs/host@REALM", "x" * 255]
)
def test_other_names_are_taken_and_come_back_out_of_the_cookie(name: str) -> None:
    assert checked_user("user.name", name) == name
    value = value_of(SIGNER.issue(name, NOW_MS))
    assert value.isascii()
    assert SIGNER.user_of(value, NOW_MS) == name
    assert SIGNER.user_in(f'hadoop.auth="{value}"', NOW_MS) == name


def test_secret_is_not_shown() -> None:
    assert "kkk" not in repr(SIGNER)
