"""Ports for programs that must be told where to listen."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

RANGE_PATH = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST = 20_000
TRIES_MAX = 1000
_chosen = random.SystemRandom()


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Different ports that are free now, below those that the kernel gives to clients: nobody takes them by chance."""
    highest = int(RANGE_PATH.read_text().split()[0])
    assert highest - LOWEST > 1000, f"{RANGE_PATH} leaves no ports above {LOWEST}"
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for _ in range(TRIES_MAX):
            if len(found) == count:
                return found
            listener = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind((host, port := _chosen.randrange(LOWEST, highest)))
                found.append(port)
    raise AssertionError(f"no {count} free ports")


def free_port(host: str = "127.0.0.1") -> int:
    return free_ports(1, host)[0]


def is_listening(port: int) -> bool:
    """Return True if somebody accepts connections on this port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
