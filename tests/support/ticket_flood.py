"""``python -m tests.support.ticket_flood PORT CONNECTIONS TICKET`` sends one ticket again and again until killed.

A process of its own, so that what the attackers' Python costs is not what others wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from tests.support.server_machine import NEGOTIATE, SASL_PREFACE, initiate


async def main(port: int, connections: int, ticket: bytes) -> None:
    words = SASL_PREFACE + NEGOTIATE + initiate("KERBEROS", "GSSAPI", ticket)

    async def attack() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(words)
                await reader.read()
                writer.close()

    await asyncio.gather(*(attack() for _ in range(connections)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])))
