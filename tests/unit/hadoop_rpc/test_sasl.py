"""DIGEST-MD5 against a vector of a JDK exchange."""

import pytest

from yodel.hadoop_rpc import sasl

IDENTIFIER = bytes.fromhex("01020304")
PASSWORD = b"secretsecretsecret12"
NONCE = "5pbkz7H6b2/hsjYHPaUVWecwPA7FdgYSicWP007G"
CNONCE = "6zlZDz6CMJh0WQSCPn3hj9+VnZZjmFWb8Pb9kDL2"
RESPONSE = (
    f'charset=utf-8,username="AQIDBA==",realm="default",nonce="{NONCE}",nc=00000001,cnonce="{CNONCE}",'
    'digest-uri="/default",maxbuf=65536,response=d97bbca1084092e40c35de26a5c34f1a,qop=auth'
).encode()
FINAL = b"rspauth=c79eb74830bf05c2385b6c5be4db842b"


def test_challenge_reads_as_a_jdk_server_writes_it() -> None:
    expected = f'realm="default",nonce="{NONCE}",qop="auth",charset=utf-8,algorithm=md5-sess'
    assert sasl.server_challenge(NONCE) == expected.encode()


def test_client_response_matches_the_jdk() -> None:
    challenge = sasl.server_challenge(NONCE)
    answer = sasl.client_response(challenge, identifier=IDENTIFIER, password=PASSWORD, cnonce=CNONCE)
    assert answer == (RESPONSE, FINAL)


def test_server_accepts_the_jdk_response() -> None:
    response = sasl.read_response(RESPONSE, nonce=NONCE)
    assert response.identifier == IDENTIFIER
    assert sasl.verify_response(response, PASSWORD) == FINAL


def test_wrong_password_is_refused() -> None:
    with pytest.raises(sasl.SaslRefused, match="Mismatched response"):
        sasl.verify_response(sasl.read_response(RESPONSE, nonce=NONCE), PASSWORD + b"x")


def test_nonce_of_another_connection_is_refused() -> None:
    with pytest.raises(sasl.SaslRefused, match="Nonce"):
        sasl.read_response(RESPONSE, nonce=NONCE[::-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"qop=auth", b"qop=auth-conf"),
        (b'realm="default"', b'realm="other"'),
        (b'"/default"', b'"/other"'),
        (b"nc=00000001", b"nc=00000002"),
        (b'username="AQIDBA=="', b'username="!"'),
        (b'username="AQIDBA=="', 'username="é"'.encode()),
        (b'username="AQIDBA==",', b""),
        (b"response=d97", b"response=\xff"),
        (b"qop=auth", b"qop=auth,qop=auth"),
        (b"qop=auth", b'qop="auth'),
        (b"maxbuf=65536", b"maxbuf=" + b"6" * sasl.TOKEN_BYTES_MAX),
    ],
)
def test_anything_else_in_the_response_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(sasl.SaslRefused):
        sasl.read_response(RESPONSE.replace(old, new), nonce=NONCE)


@pytest.mark.parametrize("nonce", ["", "short", 'quote"quote"quote"', "a" * 257])
def test_nonce_that_needs_quoting_is_refused(nonce: str) -> None:
    with pytest.raises(ValueError, match="nonce"):
        sasl.server_challenge(nonce)


def test_quoted_characters_are_unquoted() -> None:
    assert sasl.parse_directives(rb'a="x\"y\\z", b=1') == {"a": 'x"y\\z', "b": "1"}


@pytest.mark.parametrize(
    "challenge", [b"", b'nonce="abcdefghijklmnop"', b'nonce="a",algorithm=md5-sess,qop="auth-int"']
)
def test_client_refuses_a_challenge_it_cannot_answer(challenge: bytes) -> None:
    with pytest.raises(sasl.SaslRefused):
        sasl.client_response(challenge, identifier=IDENTIFIER, password=PASSWORD, cnonce=CNONCE)


def test_final_token_is_compared() -> None:
    assert sasl.is_expected_final_token(FINAL, FINAL)
    assert not sasl.is_expected_final_token(FINAL, FINAL[:-1] + b"0")
