"""Who calls: ``user.name`` and the signed cookie."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.rm_api.auth import CookieSigner, caller_of

NOW_MS = 1_700_000_000_000
SIGNER = CookieSigner(b"k" * 32, 36_000)


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
    assert caller_of(b"", header, SIGNER, NOW_MS).user == "alice"


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
    other = CookieSigner(b"x" * 32, 36_000)
    assert SIGNER.user_of(value_of(other.issue("alice", NOW_MS)), NOW_MS) is None


def test_first_user_name_counts_and_beats_the_cookie() -> None:
    cookie = f"hadoop.auth={value_of(SIGNER.issue('carol', NOW_MS))}"
    caller = caller_of(b"a=1&user.name=alice&user.name=bob", cookie, SIGNER, NOW_MS)
    assert caller.user == "alice"
    assert caller.cookie is not None


def test_nobody_is_nobody() -> None:
    caller = caller_of(b"limit=3", "", SIGNER, NOW_MS)
    assert (caller.user, caller.cookie) == (None, None)


@pytest.mark.parametrize("name", [b"a%26u%3Droot", b"a%0d%0ab", b"a%20b", b"%C3%A9", b"-x", b"x" * 256])
def test_name_no_account_could_have_is_refused(name: bytes) -> None:
    with pytest.raises(InvalidValue, match=r"user\.name"):
        caller_of(b"user.name=" + name, "", SIGNER, NOW_MS)


def test_secret_is_not_shown() -> None:
    assert "kkk" not in repr(SIGNER)
