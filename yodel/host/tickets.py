"""Judges Kerberos tickets with the system's GSSAPI (the extra ``yodel[kerberos]``: PyPI's ``gssapi``).

A judgement reads the keytab and writes the replay cache, so it is made in threads of its own that nothing else waits
for: a flood of tickets delays only other tickets.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.hadoop_rpc.gssapi import Negotiated, Session

JUDGED_AT_ONCE = 2
WAITING_MAX = 64
"""Tickets that are judged or wait for it; beyond it a ticket is refused, for its owner to come again."""
TIMEOUT_S = 10.0
MISSING = (
    "the Python package gssapi, which is not installed: pip install 'yodel[kerberos]' "
    "(built from source: apt-get install gcc libkrb5-dev python3-dev)"
)


def library() -> Any:
    """Return the package ``gssapi``.  Raises InvalidValue: it is not installed."""
    try:
        return importlib.import_module("gssapi")
    except ImportError as error:
        raise InvalidValue("hadoop.security.authentication", "kerberos", f"{MISSING} ({error})") from error


def full_principal(principal: str) -> str:
    """Return a principal with its realm: its own, or krb5.conf's ``default_realm``.  Blocks.

    Raises InvalidValue: there is none, or it is no principal.
    """
    gssapi = library()
    try:
        name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
        return str(name.canonicalize(gssapi.MechType.kerberos))
    except gssapi.exceptions.GSSError as error:
        raise InvalidValue("Kerberos principal", principal, f"one of a known realm: {reason_of(error)}") from error


def default_realm(otherwise: str) -> str:
    """Return krb5.conf's ``default_realm``; ``otherwise`` where it names none.  Blocks."""
    try:
        return full_principal("anybody").rpartition("@")[2]
    except InvalidValue:
        return otherwise


def reason_of(error: Any) -> str:
    """Return what the mechanism says of an error of GSSAPI, in the words of Java's GSSException."""
    major = " ".join(error.get_all_statuses(error.maj_code, True))
    minor = " ".join(error.get_all_statuses(error.min_code, False)) if error.min_code else ""
    return f"GSSException: {major}" + (f" (Mechanism level: {minor})" if minor else "")


class OwnTicket:
    """The ticket of a client that is the service itself, from the KDC for a key of its keytab; see the port."""

    def __init__(self, principal: str, keytab: Path) -> None:
        """Blocks.  Raises AccessDenied: the KDC does not answer, or does not know the principal by the keytab's key."""
        gssapi = library()
        self._error = gssapi.exceptions.GSSError
        name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
        store = {b"client_keytab": f"FILE:{keytab}".encode(), b"ccache": b"MEMORY:yodel-own-ticket"}
        flags = [gssapi.RequirementFlag.mutual_authentication, gssapi.RequirementFlag.integrity]
        with _refused(self._error):
            credentials = gssapi.Credentials(usage="initiate", name=name, store=store)
            self._context = gssapi.SecurityContext(name=name, creds=credentials, usage="initiate", flags=flags)
            self.token: bytes = self._context.step()

    def answered(self, token: bytes) -> Session:
        """See the port."""
        with _refused(self._error):
            self._context.step(token)
        return _Session(self._context, self._error)


@contextlib.contextmanager
def _refused(error: type[Exception]) -> Iterator[None]:
    """Raise an error of the library's as AccessDenied, in its words."""
    try:
        yield
    except error as raised:
        raise AccessDenied(reason_of(raised)) from None


class KeytabAcceptor:
    """Accepts tickets for one service principal, whose keys are in a keytab that may hold others too.

    The keytab is read at each ticket, so new keys count at once.  ``short_name`` may take time.
    """

    def __init__(self, principal: str, keytab: Path, short_name: Callable[[str], str]) -> None:
        """Blocks.  Raises InvalidValue: the keytab cannot be read or lacks the principal."""
        gssapi = self._gssapi = library()
        self._short_name = short_name
        try:
            with keytab.open("rb"):
                pass
            name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            self._credentials = gssapi.Credentials(
                usage="accept", name=name, store={b"keytab": f"FILE:{keytab}".encode()}
            )
        except OSError as error:
            expected = f"a readable keytab with keys of {principal}: {error.strerror}"
            raise InvalidValue("yarn.resourcemanager.keytab", str(keytab), expected) from error
        except gssapi.exceptions.GSSError as error:
            expected = f"a keytab with keys of {principal}: {reason_of(error)}"
            raise InvalidValue("yarn.resourcemanager.keytab", str(keytab), expected) from error
        self._threads = ThreadPoolExecutor(JUDGED_AT_ONCE, thread_name_prefix="tickets")
        self._waiting = 0

    async def accept(self, token: bytes) -> Negotiated:
        """See the port."""
        if self._waiting >= WAITING_MAX:
            raise Unavailable(f"the ticket was not judged: {WAITING_MAX} others are waiting for that")
        self._waiting += 1
        judged = self._threads.submit(self._judged, token)
        judged.add_done_callback(self._done(asyncio.get_running_loop()))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await asyncio.wrap_future(judged)
        except TimeoutError as error:
            raise Unavailable(f"the ticket was not judged in {TIMEOUT_S:.0f} s") from error

    def _done(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        def left() -> None:
            self._waiting -= 1

        def done(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(left)

        return done

    def _judged(self, token: bytes) -> Negotiated:
        gssapi = self._gssapi
        with _refused(gssapi.exceptions.GSSError):
            context = gssapi.SecurityContext(creds=self._credentials, usage="accept")
            answer = context.step(token)
            if not context.complete:
                raise AccessDenied("GSSException: more than one token is not expected of Kerberos")
            principal = str(context.initiator_name)
        if "\\" in principal or not principal.isprintable():
            raise AccessDenied(f"principals with characters that are quoted are not accepted: {principal!a}")
        return Negotiated(
            user=self._short_name(principal),
            principal=principal,
            answer=answer or b"",
            session=_Session(context, gssapi.exceptions.GSSError),
        )


class _Session:
    """See the port ``hadoop_rpc.gssapi.Session``."""

    def __init__(self, context: Any, error: type[Exception]) -> None:
        self._context, self._error = context, error

    def wrap(self, data: bytes) -> bytes:
        with _refused(self._error):
            wrapped: bytes = self._context.wrap(data, False).message
        return wrapped

    def unwrap(self, data: bytes) -> bytes:
        with _refused(self._error):
            unwrapped: bytes = self._context.unwrap(data).message
        return unwrapped
