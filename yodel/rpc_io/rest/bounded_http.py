"""uvicorn's fast HTTP protocol with bounds on what a caller may keep of the server without asking for anything.

uvicorn reads a head for as long as it comes, keeps what nobody takes, and waits for ever for a first request.  This one
hangs up.  An answer under way is never cut while its reader takes it, nor a body while it arrives.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX = 64 * 1024
"""Request line and headers together; Jetty allows 64 KiB in Hadoop (hadoop.http.max.request.header.size)."""
STALLED_S = 60.0
"""A reader that takes nothing for so long is hung up on: what was made for it waits in memory."""
IDLE_S = 60.0
"""A caller whose turn it is and who sends nothing for so long is hung up on (hadoop.http.idle_timeout.ms)."""
BODY_GRACE_S = 5.0
"""Who reads a body has the same deadline and says first that it did not arrive."""


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    _is_begun = False
    """Some of a request has come, and not all of it."""
    _is_in_body = False
    _unused_bytes = 0
    """Since the request, its head or a part of its body ended: a head, or what stands between and behind chunks."""
    _unsent_bytes = 0
    """As of the last look."""
    _paused_bytes = 0
    """Unsent when writing was paused, or at the last look at the reader since."""
    _heard_s = 0.0
    _idle: asyncio.TimerHandle | None = None
    _hang_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard_s = self.loop.time()
        self._idle = self.loop.call_later(IDLE_S, self._look)

    def data_received(self, data: bytes) -> None:
        self._heard_s = self.loop.time()
        if self._unused_bytes > HEAD_BYTES_MAX:
            self.transport.close()
            return
        self._unused_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._is_begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_body, self._unused_bytes = True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_begun, self._is_in_body, self._unused_bytes = False, False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._heard_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._paused_bytes = self.transport.get_write_buffer_size()
        self._hang_up = self.loop.call_later(STALLED_S, self._look_at_reader)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._keep()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        super().connection_lost(exc)

    def _keep(self) -> None:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None

    def _look(self) -> None:
        """One timer per connection: what comes in only notes the time.  An answer that is still being taken goes on."""
        now_s = self.loop.time()
        if self._is_answering():
            self._heard_s = now_s
        left_s = self._heard_s + self._patience_s() - now_s
        if left_s <= 0:
            unsent_bytes = self.transport.get_write_buffer_size()
            if unsent_bytes in (0, self._unsent_bytes):
                self.transport.abort()
                return
            self._unsent_bytes, left_s = unsent_bytes, IDLE_S
        self._idle = self.loop.call_later(left_s, self._look)

    def _look_at_reader(self) -> None:
        """Who takes something goes on taking, however slowly: what waits for him is bounded."""
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes >= self._paused_bytes:
            self.transport.abort()
            return
        self._paused_bytes = unsent_bytes
        self._hang_up = self.loop.call_later(STALLED_S, self._look_at_reader)

    def _is_answering(self) -> bool:
        """Whether it is not the caller's turn: a request is whole or being answered, or we do not read its body."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self.transport.is_closing():
            return False
        is_ours = cycle.response_started or cycle.waiting_for_100_continue or self.flow.read_paused
        return is_ours or bool(self.pipeline) or not self._is_in_body

    def _patience_s(self) -> float:
        is_read = self._is_in_body and self.cycle is not None and not self.cycle.response_complete
        return IDLE_S + BODY_GRACE_S if is_read else IDLE_S
