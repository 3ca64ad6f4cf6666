"""Shuffle server: MB/s, memory and processor time, beside Hadoop's own ShuffleHandler when its jars are given.

    python -m bench.shuffle                                    # Yodel's
    python -m bench.shuffle --hadoop-lib LIB                   # and Hadoop's, from a folder of jars (Java 17, compiler)
    python -m bench.shuffle --peer HOST:PORT --secret HEX --local-dir DIR    # any running one that serves DIR

The same fetcher reads the same files from both, one after the other, over the loopback: READERS threads that each play
one reducer after the other, MAPS_PER_REQUEST maps in one request, as Hadoop's Fetcher.  Three shapes of map output.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.machine import print_machine
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import OsUser, SingleUser
from nm_plugin.shuffle.fetch import job_id
from nm_plugin.shuffle.hashes import url_hash
from nm_plugin.shuffle.server import ShuffleLimits
from nm_plugin.shuffle.service import MapReduceShuffle, ShuffleSettings
from tests.support.shuffle import APPLICATION, service_data, write_map
from yodel.hadoop_rpc.writable import Reader

USER = "root"
SECRET = bytes(range(8))
MAPS_PER_REQUEST = 20  # ShuffleSchedulerImpl.MAX_MAPS_AT_ONCE
BUFFER_BYTES = 1 << 20
START_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Map outputs of one kind; task numbers start at ``first``."""

    name: str
    first: int
    maps: int
    reduces: int
    partition_bytes: int

    def map_names(self) -> list[str]:
        prefix = job_id(APPLICATION).replace("job", "attempt")
        return [f"{prefix}_m_{self.first + number:06d}_0" for number in range(self.maps)]


SHAPES = (
    Shape(name="large partitions", first=0, maps=4, reduces=2, partition_bytes=32 << 20),
    Shape(name="terasort", first=1000, maps=40, reduces=8, partition_bytes=512 << 10),
    Shape(name="small partitions", first=2000, maps=200, reduces=20, partition_bytes=4 << 10),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server and, when it is ours to look at, its process."""

    name: str
    host: str
    port: int
    secret: bytes
    pid: int | None = None


@dataclass(slots=True)
class Count:
    """Counts the requests and bytes of one reader."""

    requests: int = 0
    read_bytes: int = 0


def main() -> None:
    arguments = _arguments()
    if arguments.serve:
        asyncio.run(serve(Path(arguments.serve)))
        return
    print_machine()
    with tempfile.TemporaryDirectory(prefix="yodel-bench-") as made:
        local_dir = Path(arguments.local_dir or made)
        write_maps(local_dir)
        for target in targets(arguments, local_dir):
            measure(target, arguments.seconds, arguments.readers)


def write_maps(local_dir: Path) -> None:
    user = OsUser(name=USER, uid=os.geteuid(), gid=os.getegid())
    for shape in SHAPES:
        content = os.urandom(shape.partition_bytes)
        for name in shape.map_names():
            write_map(local_dir, user, name, [content] * shape.reduces)


def targets(arguments: argparse.Namespace, local_dir: Path) -> Iterator[Target]:
    """One at a time: the next is started when the last has been measured and ended."""
    if arguments.peer:
        host, _, port = arguments.peer.rpartition(":")
        yield Target(name=arguments.peer, host=host, port=int(port), secret=bytes.fromhex(arguments.secret))
        return
    command = [sys.executable, "-m", "bench.shuffle", "--serve", str(local_dir)]
    with child("yodel", command) as target:
        yield target
    if arguments.hadoop_lib:
        program = Path(__file__).with_name("ShuffleHost.java")
        given = ["0", USER, str(APPLICATION), SECRET.hex(), str(local_dir)]
        heap = f"-Xmx{arguments.heap_mib}m"
        with child("hadoop", ["java", heap, "-cp", f"{arguments.hadoop_lib}/*", str(program), *given]) as target:
            yield target


@contextmanager
def child(name: str, command: list[str]) -> Iterator[Target]:
    """A server that prints its port and lives until its standard input ends."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = next((int(line) for line in process.stdout if line.strip().isdigit()), None)
        if port is None:
            raise SystemExit(f"{name} did not start: {' '.join(command)}")
        try:
            yield Target(name=name, host="127.0.0.1", port=port, secret=SECRET, pid=process.pid)
        finally:
            process.stdin.close()


def measure(target: Target, seconds: float, readers: int) -> None:
    for shape in SHAPES:
        fetch_for(target, shape, 1.0, readers)  # class loading, page cache, index cache
        before = _processor_s(target)
        counts, elapsed_s = fetch_for(target, shape, seconds, readers)
        megabytes = sum(count.read_bytes for count in counts) / 1e6
        requests = sum(count.requests for count in counts)
        line = (
            f"{target.name:8} {shape.name:18} {megabytes / elapsed_s:8.0f} MB/s {requests / elapsed_s:8.0f} requests/s"
        )
        if before is not None and (after := _processor_s(target)) is not None:
            line += f" {(after - before) / megabytes * 1000:6.3f} processor s/GB {_memory(target)}"
        print(line, flush=True)


def fetch_for(target: Target, shape: Shape, seconds: float, readers: int) -> tuple[list[Count], float]:
    counts = [Count() for _ in range(readers)]
    began = time.monotonic()
    stop_at = began + seconds
    threads = [
        threading.Thread(target=read_on, args=(target, shape, number, stop_at, count))
        for number, count in enumerate(counts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, time.monotonic() - began


def read_on(target: Target, shape: Shape, number: int, stop_at: float, count: Count) -> None:
    names, buffer = shape.map_names(), bytearray(BUFFER_BYTES)
    reduce = number % shape.reduces
    while True:
        for start in range(0, len(names), MAPS_PER_REQUEST):
            if time.monotonic() > stop_at:
                return
            count.read_bytes += fetch(target, names[start : start + MAPS_PER_REQUEST], reduce, shape, buffer)
            count.requests += 1
        reduce = (reduce + 1) % shape.reduces


def fetch(target: Target, names: list[str], reduce: int, shape: Shape, buffer: bytearray) -> int:
    """One request on one connection; the bytes of its body."""
    path = f"/mapOutput?job={job_id(APPLICATION)}&reduce={reduce}&map={','.join(names)}"
    proof = url_hash(target.secret, target.port, path)
    with socket.create_connection((target.host, target.port), timeout=60) as sock:
        sock.sendall(
            f"GET {path} HTTP/1.1\r\nUrlHash: {proof}\r\nname: mapreduce\r\nversion: 1.0.0\r\nHost: x\r\n\r\n".encode()
        )
        received = sock.recv_into(buffer)
        while (end := buffer.find(b"\r\n\r\n", 0, received)) < 0:
            received += sock.recv_into(memoryview(buffer)[received:])
        head = bytes(buffer[:end]).decode()
        if not head.startswith("HTTP/1.1 200"):
            raise SystemExit(head)
        _check(bytes(buffer[end + 4 : received]), names[0], shape)
        read = received - end - 4
        while more := sock.recv_into(buffer):
            read += more
    expected = int(head.lower().partition("content-length: ")[2].split("\r")[0])
    if read != expected:
        raise SystemExit(f"{read} bytes of {expected}")
    return read


def _check(body: bytes, name: str, shape: Shape) -> None:
    """The first header, when it came with the head."""
    if len(body) > 100:
        reader = Reader(body, "shuffle header")
        assert (reader.text(), reader.vint()) == (name, shape.partition_bytes)


def _processor_s(target: Target) -> float | None:
    if target.pid is None:
        return None
    times = psutil.Process(target.pid).cpu_times()
    return float(times.user + times.system)


def _memory(target: Target) -> str:
    assert target.pid is not None
    fields = dict(line.split(":\t", 1) for line in Path(f"/proc/{target.pid}/status").read_text().splitlines())
    now, most = (int(fields[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM"))
    return f"{now:5} MiB resident ({most} at most)"


async def serve(local_dir: Path) -> None:
    """Yodel's service alone, until standard input ends."""
    limits = ShuffleLimits(connections_max=1000, keep_alive_s=5, keep_alive_always=False)
    settings = ShuffleSettings(bind_host="127.0.0.1", port=0, threads=4, index_cache_bytes=10 << 20, limits=limits)
    with tempfile.TemporaryDirectory() as state:
        users = SingleUser(uid=os.geteuid(), gid=os.getegid())
        service = MapReduceShuffle(settings, (local_dir,), Path(state), users)
        async with asyncio.TaskGroup() as group:
            tasks = TaskOwner(group)
            await service.start(tasks)
            await service.application_started(APPLICATION, USER, service_data(SECRET))
            print(service.server.port, flush=True)
            await asyncio.to_thread(sys.stdin.read)
            tasks.cancel_all()
        await service.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hadoop-lib", help="folder with the jars of Hadoop's NodeManager and MapReduce")
    parser.add_argument("--heap-mib", type=int, default=1024, help="of Hadoop's JVM; the NodeManager's default is 1000")
    parser.add_argument("--peer", help="HOST:PORT of a running shuffle server")
    parser.add_argument("--secret", default="", help="of the peer's job, hexadecimal")
    parser.add_argument("--local-dir", help="where the map outputs are written; the peer's local dir")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each shape")
    parser.add_argument("--readers", type=int, default=5, help="mapreduce.reduce.shuffle.parallelcopies")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
