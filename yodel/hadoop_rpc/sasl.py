"""SASL DIGEST-MD5 as Java does it with Hadoop tokens, both sides, as pure functions.

User name is the base64 of the token identifier, password the base64 of the token password, realm ``default``, protocol
empty and server id ``default`` (so the digest URI is ``/default``), algorithm md5-sess, quality of protection ``auth``.
Follows ``SaslRpcServer``, ``SaslRpcClient`` and the JDK's ``com.sun.security.sasl.digest``.  Nonces come from outside;
a nonce not issued on this connection is refused; digests are compared in constant time.  MD5 is the protocol's choice.
Refuses integrity and privacy (auth-int, auth-conf), which nobody offers without Kerberos.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from yodel.errors import YodelError

METHOD = "TOKEN"
MECHANISM = "DIGEST-MD5"
REALM = "default"
SERVER_ID = "default"
DIGEST_URI = "/default"
NONCE_COUNT = "00000001"
QOP = "auth"
TOKEN_BYTES_MAX = 16 * 1024
"""Longest SASL token looked at.  A response carries one base64 token identifier; real ones are below 1 KiB."""

_DIRECTIVE = re.compile(r'\s*([a-z-]{1,32})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)', re.DOTALL)
_NONCE = re.compile(r"[A-Za-z0-9+/=_-]{16,256}")


class SaslRefused(YodelError):
    """The peer's SASL token is malformed or its proof is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestResponse:
    """Holds a client's response, well-formed and for our nonce, but not yet verified."""

    identifier: bytes
    username: str
    nonce: str
    cnonce: str
    proof: str


def server_challenge(nonce: str) -> bytes:
    """The first word of the server, formatted as JDK servers do.

    Raises:
        ValueError: the nonce is short or has characters that would need quoting.
    """
    if not _NONCE.fullmatch(nonce):
        raise ValueError("a nonce is 16 to 256 characters of the base64 alphabet")
    return f'realm="{REALM}",nonce="{nonce}",qop="{QOP}",charset=utf-8,algorithm=md5-sess'.encode()


def read_response(data: bytes, *, nonce: str) -> DigestResponse:
    """Check everything about a client's response but its proof.

    Raises:
        SaslRefused: malformed, for another nonce, realm or URI, or asking for more than authentication.
    """
    directives = parse_directives(data)
    _require(directives, "realm", REALM)
    _require(directives, "digest-uri", DIGEST_URI)
    _require(directives, "nc", NONCE_COUNT)
    if directives.get("qop", QOP) != QOP:
        raise SaslRefused("DIGEST-MD5: digest response format violation. Invalid qop")
    if not hmac.compare_digest(_value(directives, "nonce").encode(), nonce.encode()):
        raise SaslRefused("DIGEST-MD5: digest response format violation. Nonce mismatch")
    username = _value(directives, "username")
    try:
        identifier = base64.b64decode(username.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise SaslRefused("DIGEST-MD5: the user name is no base64 token identifier") from None
    return DigestResponse(
        identifier=identifier,
        username=username,
        nonce=nonce,
        cnonce=_value(directives, "cnonce"),
        proof=_value(directives, "response"),
    )


def verify_response(response: DigestResponse, password: bytes) -> bytes:
    """The server's final token (``rspauth=…``) if the client knows the token's password.

    Raises:
        SaslRefused: it does not.
    """
    secret = _session_secret(response.username, password, response.nonce, response.cnonce)
    expected = _digest(secret, response.nonce, response.cnonce, f"AUTHENTICATE:{DIGEST_URI}")
    if not hmac.compare_digest(expected.encode(), response.proof.encode("utf-8", "surrogatepass")):
        raise SaslRefused("DIGEST-MD5: digest response format violation. Mismatched response.")
    return b"rspauth=" + _digest(secret, response.nonce, response.cnonce, f":{DIGEST_URI}").encode()


def client_response(challenge: bytes, *, identifier: bytes, password: bytes, cnonce: str) -> tuple[bytes, bytes]:
    """The client's response to a challenge, and the final token it must then get from the server.

    Raises:
        SaslRefused: the challenge is malformed or offers nothing we do.
    """
    directives = parse_directives(challenge)
    _require(directives, "algorithm", "md5-sess")
    if QOP not in directives.get("qop", QOP).split(","):
        raise SaslRefused("DIGEST-MD5: no common protection level between client and server")
    nonce, realm = _value(directives, "nonce"), directives.get("realm", REALM)
    if realm != REALM:
        raise SaslRefused("DIGEST-MD5: unknown realm")
    username = base64.b64encode(identifier).decode()
    secret = _session_secret(username, password, nonce, cnonce)
    proof = _digest(secret, nonce, cnonce, f"AUTHENTICATE:{DIGEST_URI}")
    text = (
        f'charset=utf-8,username="{username}",realm="{realm}",nonce="{nonce}",nc={NONCE_COUNT},cnonce="{cnonce}",'
        f'digest-uri="{DIGEST_URI}",maxbuf=65536,response={proof},qop={QOP}'
    )
    return text.encode(), b"rspauth=" + _digest(secret, nonce, cnonce, f":{DIGEST_URI}").encode()


def is_expected_final_token(expected: bytes, received: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(expected, received)


def parse_directives(data: bytes) -> dict[str, str]:
    """``key=value`` pairs, comma separated, values quoted or not (they contain ``=``, ``+`` and ``/``).

    Raises:
        SaslRefused: malformed, over 16 KiB, or a key comes twice.
    """
    if len(data) > TOKEN_BYTES_MAX:
        raise SaslRefused("DIGEST-MD5: token too long")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise SaslRefused("DIGEST-MD5: token is not UTF-8") from None
    directives: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None or match[1] in directives:
            raise SaslRefused("DIGEST-MD5: malformed or repeated directive")
        quoted, plain = match[2], match[3]
        directives[match[1]] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        position = match.end()
    return directives


def _value(directives: Mapping[str, str], name: str) -> str:
    value = directives.get(name)
    if not value:
        raise SaslRefused(f"DIGEST-MD5: {name} is missing")
    return value


def _require(directives: Mapping[str, str], name: str, expected: str) -> None:
    if _value(directives, name) != expected:
        raise SaslRefused(f"DIGEST-MD5: digest response format violation. Unexpected {name}")


def _session_secret(username: str, password: bytes, nonce: str, cnonce: str) -> str:
    """HEX(H(A1)) with A1 = H(user:realm:password) ":" nonce ":" cnonce."""
    inner = _md5(f"{username}:{REALM}:{base64.b64encode(password).decode()}".encode()).digest()
    return _md5(inner + f":{nonce}:{cnonce}".encode()).hexdigest()


def _digest(secret: str, nonce: str, cnonce: str, a2: str) -> str:
    hashed_a2 = _md5(a2.encode()).hexdigest()
    return _md5(f"{secret}:{nonce}:{NONCE_COUNT}:{cnonce}:{QOP}:{hashed_a2}".encode()).hexdigest()


def _md5(data: bytes) -> hashlib._Hash:
    return hashlib.md5(data, usedforsecurity=False)
