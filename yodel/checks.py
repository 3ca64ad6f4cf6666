"""``yodel check``: the usual mistakes, found before they cost an hour.  Each finding says what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from yodel.errors import YodelError
from yodel.kube.client import check_reachable, open_kube
from yodel.settings import Settings
from yodel.store.engine import parsed_url
from yodel.store.schema import current_and_head

JAVA_MINIMUM = 17
PROBE_TIMEOUT_S = 20


class Verdict(Enum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    name: str
    verdict: Verdict
    text: str


async def run_checks(settings: Settings) -> AsyncIterator[Finding]:
    """One finding a check, as it comes."""
    for name, port in (
        ("client port", settings.client_port),
        ("scheduler port", settings.scheduler_port),
        ("tracker port", settings.tracker_port),
        ("web port", settings.webapp_port),
    ):
        yield port_finding(name, settings.bind_host, port)
    yield java_finding()
    for finding in _store_path_findings(settings):
        yield finding
    yield await _store_finding(settings)
    yield await _kubernetes_finding(settings)


def port_finding(name: str, host: str, port: int) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            text = f"{host}:{port} cannot be used ({error.strerror}); `ss -ltnp 'sport = :{port}'` shows who has it"
            return Finding(name=name, verdict=Verdict.FAILED, text=text)
    return Finding(name=name, verdict=Verdict.OK, text=f"{host}:{port} is free")


def java_finding() -> Finding:
    """Spark's and Hadoop's containers need a Java runtime on the node."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f" below JAVA_HOME={home}" if home else ""
        text = f"not found{where}: install one (apt-get install openjdk-17-jre-headless)"
        return Finding(name="java", verdict=Verdict.WARNING, text=text)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name="java", verdict=Verdict.WARNING, text=f"{java} does not run: {error}")
    first = (done.stderr or done.stdout).splitlines()[0]
    major = java_major(first)
    if major < JAVA_MINIMUM:
        text = f"{first} at {java}: Spark 4 needs {JAVA_MINIMUM} or later"
        return Finding(name="java", verdict=Verdict.WARNING, text=text)
    return Finding(name="java", verdict=Verdict.OK, text=f"{first} at {java}")


def java_major(line: str) -> int:
    """``openjdk version "17.0.15"`` is 17, ``java version "1.8.0_392"`` is 8; 0 when there is no number."""
    parts = line.split('"')[1].split(".") if line.count('"') >= 2 else []
    digits = [part for part in parts if part.isdigit()]
    if not digits:
        return 0
    return int(digits[1]) if digits[0] == "1" and len(digits) > 1 else int(digits[0])


def _store_path_findings(settings: Settings) -> list[Finding]:
    try:
        url = parsed_url(settings.store_url)
    except YodelError as error:
        return [Finding(name="database", verdict=Verdict.FAILED, text=str(error))]
    if not url.drivername.startswith("sqlite") or not url.database:
        return []
    directory = Path(url.database).parent
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    if not os.access(existing, os.W_OK):
        text = f"no permission to write {directory}: run as its owner, or set store_url to a place that is yours"
        return [Finding(name="database folder", verdict=Verdict.FAILED, text=text)]
    return [Finding(name="database folder", verdict=Verdict.OK, text=f"{directory} can be written")]


async def _store_finding(settings: Settings) -> Finding:
    try:
        current, head = await current_and_head(settings.store_url)
    except (YodelError, OSError) as error:
        return Finding(name="database", verdict=Verdict.FAILED, text=str(error))
    if current != head:
        text = f"tables are at {current or 'nothing'}, this version needs {head}: run `yodel migrate`"
        return Finding(name="database", verdict=Verdict.FAILED, text=text)
    return Finding(name="database", verdict=Verdict.OK, text=f"tables are at {head}")


async def _kubernetes_finding(settings: Settings) -> Finding:
    try:
        async with await open_kube(settings.kubeconfig, settings.kube_context) as client:
            server_version = await check_reachable(client)
    except (YodelError, OSError) as error:
        text = f"{error}; see that kubeconfig names a running API server (kubectl version asks the same)"
        return Finding(name="kubernetes", verdict=Verdict.FAILED, text=text)
    return Finding(name="kubernetes", verdict=Verdict.OK, text=f"API server answers, version {server_version}")
