"""Containers as processes: starting them, finding them again after a restart, seeing their end, killing what is left.

Each container is started through a ``sh`` shim in a session of its own.  The shim's standard input is the *status
file*: it writes its own ``/proc/PID/stat`` there (process id and start time), runs the command with ``/dev/null`` as
input, and writes the exit status as a second line; both are single appends, so a reader sees them whole or not at all
and needs no permission of the container's user.  The shim survives ordinary signals, so nothing but SIGKILL hides a
status.  It is also a *subreaper*: what a container orphans becomes the shim's child, however often it forked, and is
killed by it at the end, as the kernel does at the end of a real pod.  A third line says that nothing was left then;
without it the whole machine is looked through for what belongs to the pod.
Ends are seen through pidfds, without polling and for processes that are not our children too.

Memory and CPU limits are not enforced here: the node agent watches the memory of what it launched.
"""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from yodel.local.container_launch import POD_UID_VARIABLE, CannotRun, ContainerLaunch, HostPath, ProcessIdentity
from yodel.local.starter import Starter

KILLED = 128 + signal.SIGKILL
STATUS_BYTES_MAX = 4096
ENVIRON_BYTES_MAX = 256 * 1024  # the marker is the first variable of the shim's own environment
MAIN_LOOK_UPS_MAX = 50
MAIN_LOOK_UP_INTERVAL_S = 0.01
KILL_ROUNDS_MAX = 20
KILL_ROUND_INTERVAL_S = 0.02

NOTHING_LEFT = "nothing left"
_SHIM = (
    "trap : HUP INT QUIT TERM USR1 USR2; "
    'IFS= read -r line < "/proc/$$/stat"; echo "$line" >&0; '
    '"$@" < /dev/null; code=$?; echo "$code" >&0; '
    '[ -r "/proc/$$/task/$$/children" ] || exit; '
    "i=0; while [ $((i += 1)) -le 100 ]; do "
    'left=; { read -r left < "/proc/$$/task/$$/children"; } 2>/dev/null; '  # no line end
    f'[ -n "$left" ] || {{ echo "{NOTHING_LEFT}" >&0; break; }}; '
    "kill -s KILL $left 2>/dev/null; wait; sleep 0.01; done"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFiles:
    """The files of one container under the data directory (owned by this process, mode 0700)."""

    directory: Path

    @property
    def status(self) -> Path:
        return self.directory / "status"

    @property
    def fifo(self) -> Path:
        return self.directory / "output"

    @property
    def log(self) -> Path:
        return self.directory / "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A container's end as the status file tells it: 128 + n for a death by signal n."""

    exit_code: int
    finished_at_s: float


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One line of a process listing."""

    pid: int
    parent: int
    session: int
    started_ticks: int
    pod_uid: str


class ShimProcess:
    """A running shim, ours or adopted.  ``on_end`` is called once, at its end; ``close`` forgets it."""

    def __init__(self, pid: int, pidfd: int, on_end: Callable[[], None]) -> None:
        self.pid = pid
        self._tell = on_end
        self._pidfd = pidfd
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(pidfd, self._on_end)

    async def wait(self) -> None:
        await self._ended.wait()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def signal_main(self, number: int) -> None:
        """Signal the container's main process, the shim's only child."""
        for _ in range(MAIN_LOOK_UPS_MAX):
            if self.has_ended:
                return
            if children := _children(self.pid):
                for child in children:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(child, number)
                return
            await asyncio.sleep(MAIN_LOOK_UP_INTERVAL_S)  # the shim has not come to its command yet

    def kill(self) -> None:
        if not self.has_ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _on_end(self) -> None:
        self._loop.remove_reader(self._pidfd)
        self._ended.set()
        self._tell()


def start(launch: ContainerLaunch, files: ContainerFiles, starter: Starter) -> tuple[int, int, int]:
    """Start a container: the shim's process id, its pidfd, and the reading end of its output.

    The reading end is open before the process starts: what a short-lived one says would be lost with its last writer.
    May run in a thread.  Raises CannotRun.
    """
    files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    argv = (_executable(launch), *launch.argv[1:])
    numbers = user, group, _ = _numbers(launch.identity)
    if not files.fifo.exists():
        os.mkfifo(files.fifo, 0o600)
        if user is not None:
            os.chown(files.fifo, user, group if group is not None else -1)
    status = os.open(files.status, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    output = os.open(files.fifo, os.O_RDWR | os.O_CLOEXEC)  # reading too: a restart of ours must not be a SIGPIPE
    reader = os.open(files.fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        pid, pidfd = starter.start(launch, ("/bin/sh", "-c", _SHIM, "sh", *argv), numbers, status, output)
    except CannotRun:
        os.close(reader)
        raise
    finally:
        os.close(status)
        os.close(output)
    return pid, pidfd, reader


def adopt(files: ContainerFiles, pod_uid: str) -> tuple[int, int] | None:
    """The shim of an earlier run of this program when it still runs: process id and pidfd."""
    lines = _status_lines(files)
    if not lines:
        return None
    recorded = _parse_stat(lines[0])
    if recorded is None:
        return None
    pid, started_ticks = recorded[0], recorded[3]
    try:
        pidfd = os.pidfd_open(pid)
    except (ProcessLookupError, OSError):
        return None
    entry = _entry(pid)  # read after the pidfd is held: the number cannot change hands in between
    if entry is None or entry.started_ticks != started_ticks or entry.pod_uid not in ("", pod_uid):
        os.close(pidfd)
        return None
    return pid, pidfd


def was_started(files: ContainerFiles) -> bool:
    return bool(_status_lines(files))


def ended(files: ContainerFiles) -> Ended | None:
    """Return how the container ended; None: its shim has not recorded it."""
    lines = _status_lines(files)
    if len(lines) < 2 or not lines[1].strip().isdigit():
        return None
    return Ended(exit_code=int(lines[1]) & 0xFF, finished_at_s=files.status.stat().st_mtime)


def is_nothing_left(files: ContainerFiles) -> bool:
    """Return True if the shim recorded that all processes of its container had ended before itself."""
    return _status_lines(files)[2:] == [NOTHING_LEFT]


def prepare_host_path(volume: HostPath) -> None:
    """Check a hostPath volume, making the directory for DirectoryOrCreate.  Raises CannotRun."""
    try:
        if volume.kind == "DirectoryOrCreate" and not os.path.lexists(volume.path):
            _make_directories(Path(volume.path))
        elif volume.kind == "FileOrCreate" and not os.path.lexists(volume.path):
            os.close(os.open(volume.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        mode = os.stat(volume.path).st_mode if volume.kind else 0
    except OSError as error:
        text = f'MountVolume.SetUp failed for volume "{volume.volume}" : hostPath type check failed: {error}'
        raise CannotRun("FailedMount", text) from error
    checks: dict[str, Callable[[int], bool]] = {
        "Directory": stat.S_ISDIR,
        "DirectoryOrCreate": stat.S_ISDIR,
        "File": stat.S_ISREG,
        "FileOrCreate": stat.S_ISREG,
        "Socket": stat.S_ISSOCK,
        "CharDevice": stat.S_ISCHR,
        "BlockDevice": stat.S_ISBLK,
    }
    check = checks.get(volume.kind)
    if volume.kind and (check is None or not check(mode)):
        kind = volume.kind.removesuffix("OrCreate").lower()
        text = f"hostPath type check failed: {volume.path} is not a {kind}"
        raise CannotRun("FailedMount", f'MountVolume.SetUp failed for volume "{volume.volume}" : {text}')


async def kill_left_over(pod_uids: frozenset[str], *, shims: frozenset[int] = frozenset()) -> None:
    """SIGKILL every process of these pods, again until none is left or the rounds are used up.

    A process belongs to a pod by the marker in its environment, or by descending from, or being in the session of, one
    that does; so a process which cleared its environment is found as long as one of these still holds.  ``shims`` are
    the sessions of shims that live or ended just now (an older number may belong to somebody else).
    """
    sessions = set(shims)
    for _ in range(KILL_ROUNDS_MAX):
        entries = await asyncio.to_thread(lambda: list(list_processes()))
        victims = members(entries, pod_uids, frozenset(sessions)) - {os.getpid()}
        sessions |= {entry.session for entry in entries if entry.pod_uid in pod_uids}
        if not victims:
            return
        for entry in entries:
            if entry.pid in victims:
                _kill(entry)
        await asyncio.sleep(KILL_ROUND_INTERVAL_S)


def members(entries: list[ProcessEntry], pod_uids: frozenset[str], sessions: frozenset[int]) -> set[int]:
    """Process ids that belong to the pods.  Pure."""
    marked = {entry.pid for entry in entries if entry.pod_uid in pod_uids}
    of_sessions = sessions | {entry.session for entry in entries if entry.pid in marked and entry.session == entry.pid}
    found = marked | {entry.pid for entry in entries if entry.session in of_sessions and entry.pod_uid == ""}
    children: dict[int, list[int]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry.pid)
    frontier = list(found)
    while frontier:
        for child in children.get(frontier.pop(), ()):
            if child not in found:
                found.add(child)
                frontier.append(child)
    return found


def list_processes() -> Iterator[ProcessEntry]:
    """Every process of the machine that is not a zombie."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            entry = _entry(int(name))
            if entry is not None:
                yield entry


def _entry(pid: int) -> ProcessEntry | None:
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    parsed = _parse_stat(stat_line)
    if parsed is None or stat_line.rpartition(")")[2].split()[0] in ("Z", "X"):
        return None
    _, parent, session, started_ticks = parsed
    return ProcessEntry(pid, parent, session, started_ticks, _marker(pid))


def _marker(pid: int) -> str:
    prefix = f"{POD_UID_VARIABLE}=".encode()
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read(ENVIRON_BYTES_MAX)
    except OSError:
        return ""
    start_at = 0 if environment.startswith(prefix) else environment.find(b"\0" + prefix) + 1
    if start_at == 0 and not environment.startswith(prefix):
        return ""
    return environment[start_at + len(prefix) :].split(b"\0", 1)[0].decode("ascii", "replace")


def _parse_stat(line: str) -> tuple[int, int, int, int] | None:
    """Process id, parent, session and start time (clock ticks since boot) of a /proc/PID/stat line."""
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    try:
        return int(head.split(" ", 1)[0]), int(fields[1]), int(fields[3]), int(fields[19])
    except (ValueError, IndexError):
        return None


def _kill(entry: ProcessEntry) -> None:
    try:
        pidfd = os.pidfd_open(entry.pid)
    except OSError:
        return
    try:
        now = _entry(entry.pid)
        if now is not None and now.started_ticks == entry.started_ticks:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    finally:
        os.close(pidfd)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return [entry.pid for entry in list_processes() if entry.parent == pid]


def _status_lines(files: ContainerFiles) -> list[str]:
    """Whole lines only."""
    try:
        with files.status.open("rb") as file:
            text = file.read(STATUS_BYTES_MAX)
    except OSError:
        return []
    return [line.decode("utf-8", "replace") for line in text.split(b"\n")[:-1]]


def _executable(launch: ContainerLaunch) -> str:
    """The command as an absolute path, so that the shim's builtins never stand in for programs.  Raises CannotRun."""
    name = launch.argv[0]
    if "/" in name:
        path = os.path.join(launch.directory, name)
        found = path if os.path.isfile(path) else None
    else:
        found = shutil.which(name, path=launch.environment.get("PATH", ""))
    if found is None:
        text = f'failed to start container: exec: "{name}": executable file not found in $PATH'
        raise CannotRun("StartError", text)
    return found


def _numbers(identity: ProcessIdentity) -> tuple[int | None, int | None, list[int] | None]:
    """Return user, group and groups for Popen.  Only root may change them.  Raises CannotRun."""
    if os.geteuid() != 0:
        _check_is_ourselves(identity)
        return None, None, None
    user, group = identity.user, identity.group
    if user is not None and group is None:
        try:
            group = pwd.getpwuid(user).pw_gid
        except KeyError:
            group = user  # an unknown user must not end up in root's group
    extra = list(identity.extra_groups)
    return user, group, extra if user is not None or group is not None or extra else None


def _check_is_ourselves(identity: ProcessIdentity) -> None:
    ours = {os.getegid(), *os.getgroups()}
    if identity.user not in (None, os.geteuid()):
        text = f"runAsUser {identity.user} needs a kubelet that runs as root; it runs as user {os.geteuid()}"
        raise CannotRun("CreateContainerConfigError", text)
    foreign = [
        number for number in (identity.group, *identity.extra_groups) if number is not None and number not in ours
    ]
    if foreign:
        names = ", ".join(_group_name(number) for number in foreign)
        raise CannotRun("CreateContainerConfigError", f"groups {names} need a kubelet that runs as root")


def _group_name(number: int) -> str:
    try:
        return f"{number} ({grp.getgrgid(number).gr_name})"
    except KeyError:
        return str(number)


def _make_directories(path: Path) -> None:
    """Mode 0755 for every new part, whatever the umask is."""
    missing = [part for part in (path, *path.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(exist_ok=True)
        part.chmod(0o755)
