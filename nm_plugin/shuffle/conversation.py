"""The HTTP side of one connection without its socket: bytes in, requests out; answers in, head bytes out.

h11 does the parsing and keeps the rules of keep-alive.  The body of an answer never passes through here: after
``accept`` its bytes go from the file to the socket, and ``body_sent`` says that they went.

Refuses: heads over HEAD_BYTES_MAX, and requests with a body.
"""

from __future__ import annotations

from http import HTTPStatus

import h11

from nm_plugin.shuffle.fetch import HEADER_NAME, HEADER_VERSION, FetchRequest, HttpRefusal, parse_fetch

HEAD_BYTES_MAX = 32 << 10
"""The most of a whole request; Netty's 4 KiB for the line and 8 KiB for headers serve Hadoop's 20 maps at once."""


class _Body:
    """Stands for bytes that h11 counts and does not see."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


class Conversation:
    """``receive``, ``next_fetch``, then ``accept`` and ``body_sent`` or ``refuse``; again while ``is_open``."""

    def __init__(self) -> None:
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        self._keep_alive = False

    @property
    def is_open(self) -> bool:
        """Another request may follow on this connection."""
        return self._keep_alive and self._connection.our_state is h11.IDLE

    def receive(self, data: bytes) -> None:
        """Empty data is the peer's end."""
        self._connection.receive_data(data)

    def next_fetch(self) -> FetchRequest | None:
        """None: more bytes are needed.

        Raises:
            EOFError: the peer has closed and nothing is left.
            HttpRefusal: what came is not a fetch.
        """
        try:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                raise EOFError
            assert isinstance(event, h11.Request)
            fetch = _fetch(event)
            if not isinstance(self._connection.next_event(), h11.EndOfMessage):
                raise HttpRefusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return fetch
        except h11.RemoteProtocolError as error:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "Bad request") from error

    def accept(self, reply_hash: str, length: int, keep_alive_s: int | None) -> bytes:
        """The head of a 200; ``keep_alive_s`` None closes after it."""
        self._keep_alive = keep_alive_s is not None
        headers = [("ReplyHash", reply_hash), ("name", HEADER_NAME), ("version", HEADER_VERSION)]
        if keep_alive_s is None:
            headers.append(("Connection", "close"))
        else:
            headers += [("Connection", "Keep-Alive"), ("Keep-Alive", f"timeout={keep_alive_s}")]
        return self._head(HTTPStatus.OK, [*headers, ("content-length", str(length))])

    def body_sent(self, length: int) -> None:
        """All of the body went to the socket: ready for the next request, if there is to be one."""
        self._connection.send_with_data_passthrough(h11.Data(data=_Body(length)))  # type: ignore[arg-type]
        self._connection.send(h11.EndOfMessage())
        if self._connection.our_state is h11.DONE and self._connection.their_state is h11.DONE:
            self._connection.start_next_cycle()

    def refuse(self, refusal: HttpRefusal) -> bytes:
        """The whole answer; the connection is to be closed after it."""
        self._keep_alive = False
        body = refusal.text.encode()
        headers = [
            ("content-type", "text/plain; charset=UTF-8"),
            ("name", HEADER_NAME),
            ("version", HEADER_VERSION),
            *refusal.headers,
            ("content-length", str(len(body))),
            ("Connection", "close"),
        ]
        return self._head(refusal.status, headers) + body

    def _head(self, status: HTTPStatus, headers: list[tuple[str, str]]) -> bytes:
        response = h11.Response(status_code=status.value, headers=headers, reason=status.phrase.encode())
        return self._connection.send(response) or b""


def _fetch(request: h11.Request) -> FetchRequest:
    headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers]
    return parse_fetch(request.method.decode("ascii"), request.target.decode("ascii"), headers)
