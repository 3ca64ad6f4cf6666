"""An attack is named and aimed at a cluster: it holds, or it works and says what the attacker got."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from yodel.rpc_io.client import RpcClient

CLIENT_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
MASTER_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
MIB = 1 << 20
ATTACKER_ADDRESS = "127.0.0.66"
"""Another one of this machine's own than the neighbours': limits by address have to tell them apart."""
ANSWER_S = 20.0
ATTACKS: dict[str, Attack] = {}


class Works(Exception):
    """The attack does; the text says what the attacker got."""


Act = Callable[["Target"], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """``name`` is ``area/name``; ``act`` returns what held, or raises Works."""

    name: str
    act: Act


def attack(act: Act) -> Act:
    """Lists an attack under its module's and its own name."""
    name = f"{act.__module__.rpartition('.')[2]}/{act.__name__.replace('_', '-')}"  # type: ignore[attr-defined]
    ATTACKS[name] = Attack(name=name, act=act)
    return act


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A cluster: addresses by name as in ``ready.json``, and the processes where they are this machine's."""

    addresses: Mapping[str, tuple[str, int]]
    node_http: tuple[str, int]
    pids: Mapping[str, int] = field(default_factory=dict)
    is_here: bool = True

    @classmethod
    def of_ready(cls, ready: Mapping[str, Any]) -> Target:
        addresses = {name: split(text) for name, text in ready["rm"].items() if ":" in text}
        return cls(addresses=addresses, node_http=split(ready["nodes"][0]["http"]), pids=ready.get("pids", {}))

    def to_json(self) -> str:
        return json.dumps({"addresses": self.addresses, "node_http": self.node_http})

    @classmethod
    def from_json(cls, text: str) -> Target:
        found = json.loads(text)
        addresses = {name: (host, port) for name, (host, port) in found["addresses"].items()}
        return cls(addresses=addresses, node_http=tuple(found["node_http"]))

    @property
    def web(self) -> str:
        host, port = self.addresses["webapp"]
        return f"{host}:{port}"

    def resident_mib(self) -> float | None:
        """Return the ResourceManager's resident memory; None where it runs elsewhere."""
        pid = self.pids.get("rm")
        return psutil.Process(pid).memory_info().rss / MIB if pid else None

    def client(self, user: str = "mallory") -> RpcClient:
        host, port = self.addresses["client"]
        return RpcClient(host=host, port=port, protocol=CLIENT_PROTOCOL, user=user, client_id=secrets.token_bytes(16))

    @contextlib.asynccontextmanager
    async def connection(self, address: tuple[str, int]) -> AsyncIterator[tuple[asyncio.StreamReader, Any]]:
        """Open a connection from the attacker's own address, where that is this machine's."""
        source = (ATTACKER_ADDRESS, 0) if address[0].startswith("127.") else None
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(*address, local_addr=source)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def http(
        self, method: str, path: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status and body; beside ``headers`` only Host and Content-Length are sent.  0: it was hung up on."""
        sent = {"Host": self.web, "Connection": "close", **(headers or {})}
        if body or method != "GET":
            sent["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        async with self.connection(self.addresses["webapp"]) as (reader, writer):
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
            with contextlib.suppress(ConnectionError):
                async with asyncio.timeout(ANSWER_S):
                    answer = await reader.read(4 * MIB)
                    while more := await reader.read(4 * MIB):
                        answer += more
                status, _, rest = answer.partition(b"\r\n")
                return int(status.split()[1]), rest.partition(b"\r\n\r\n")[2]
        return 0, b""


def split(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
