"""Jobs whose map outputs this node may hand out: who their user is and the secret their reducers prove themselves with.

Kept in memory and in one file per application, mode 0600 in a directory 0700 below the agent's state, written before
the container that brought the secret counts as accepted and removed with the application: a restarted agent goes on
serving the jobs that run (Hadoop's ``mapreduce_shuffle_state``).  Like the node store the files survive the agent, not
the machine.

Functions of JobStore block.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path

from nm_plugin.host.atomic_file import write_atomically
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue
from yodel.hadoop_rpc.writable import parse_token

FORMAT = 1
FILE_BYTES_MAX = 64 << 10
SECRET_BYTES_MAX = 4096
JOBS_MAX = 10_000
PORT_FILE = "port"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One registered application."""

    application_id: ApplicationId
    user: str
    secret: bytes = field(repr=False)

    @classmethod
    def from_service_data(cls, application_id: ApplicationId, user: str, data: bytes) -> Job:
        """The password of the token is the secret, whatever its kind, its identifier and its length.

        Raises:
            InvalidValue: not a token, or no usable password; names no content.
        """
        secret = parse_token(data).password
        if not 0 < len(secret) <= SECRET_BYTES_MAX:
            raise InvalidValue("shuffle secret", f"<{len(secret)} bytes>", f"1 to {SECRET_BYTES_MAX} bytes")
        return cls(application_id=application_id, user=user, secret=secret)


class JobStore:
    """The files below ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self) -> list[Job]:
        """Makes the directory.  A broken file is dropped: its job fetches again from the maps' second run."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        jobs = []
        for path in sorted(self._directory.glob("application_*.json"))[:JOBS_MAX]:
            try:
                jobs.append(_from_json(_read(path)))
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                path.unlink(missing_ok=True)
        return jobs

    def save(self, job: Job) -> None:
        secret = base64.b64encode(job.secret).decode("ascii")
        content = {"format": FORMAT, "id": str(job.application_id), "user": job.user, "secret": secret}
        write_atomically(self._path(job.application_id), content)

    def remove(self, application_id: ApplicationId) -> None:
        self._path(application_id).unlink(missing_ok=True)

    def last_port(self) -> int:
        """Return the port that was bound last, which the addresses of finished maps name; 0: unknown."""
        try:
            port = int(str(_read(self._directory / f"{PORT_FILE}.json")["port"]))
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return port if 0 < port < 65536 else 0

    def save_port(self, port: int) -> None:
        write_atomically(self._directory / f"{PORT_FILE}.json", {"port": port})

    def _path(self, application_id: ApplicationId) -> Path:
        return self._directory / f"{application_id}.json"


def _read(path: Path) -> dict[str, object]:
    if path.stat().st_size > FILE_BYTES_MAX:
        raise InvalidValue("state file", path.name, f"at most {FILE_BYTES_MAX} bytes")
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise InvalidValue("state file", path.name, "a JSON object")
    return content


def _from_json(content: dict[str, object]) -> Job:
    if content["format"] != FORMAT:
        raise InvalidValue("state file format", content["format"], str(FORMAT))
    return Job(
        application_id=ApplicationId.parse(str(content["id"])),
        user=str(content["user"]),
        secret=base64.b64decode(str(content["secret"]), validate=True),
    )
