"""Reads the RPC sessions recorded from a real Hadoop 3.5.0 (``fixtures/rpc``)."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures" / "rpc"
_NONCE = re.compile(rb'nonce="([^"]+)"')


@dataclass(slots=True)
class RecordedConnection:
    """One connection: the client's reads in order, the nonce the server drew and the proof it gave, if any."""

    port: str
    reads: list[bytes] = field(default_factory=list)
    nonce: str = "no+nonce+was+drawn+here"
    final_token: bytes = b""

    @property
    def stream(self) -> bytes:
        return b"".join(self.reads)


@dataclass(frozen=True, slots=True)
class Recording:
    """A file: connections in order of their first byte, token passwords by identifier."""

    connections: list[RecordedConnection]
    passwords: dict[bytes, bytes] = field(repr=False)


def recording(name: str) -> Recording:
    connections: dict[int, RecordedConnection] = {}
    passwords = {}
    for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if "identifier" in entry:
            passwords[base64.b64decode(entry["identifier"])] = base64.b64decode(entry["password"])
            continue
        connection = connections.setdefault(entry["c"], RecordedConnection(entry["port"]))
        data = base64.b64decode(entry["b"])
        if entry["d"] == ">":
            connection.reads.append(data)
        elif (match := _NONCE.search(data)) is not None:
            connection.nonce = match[1].decode()
        else:
            connection.final_token = data[data.index(b"rspauth=") :]
    return Recording(list(connections.values()), passwords)
