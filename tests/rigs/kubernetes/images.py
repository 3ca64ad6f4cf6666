"""The images of the rig, made in seconds from what the machine has: nothing is pulled, nothing is built by Docker.

Their paths, users and programs are those of docker/Dockerfile and docker/runtime.Dockerfile, so the chart needs no more
than their names.  A name's tag is of its content: a pod that is up to date is told from one that is not.  Yodel's code
is the last and smallest layer, in an archive without the ones below: these come with another, which a change of code
leaves as it is.

The archives are kept in the user's cache; what was not used for a week goes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.rigs.kubernetes import python_files
from tests.rigs.kubernetes.layout import PAUSE_IMAGE
from tests.rigs.kubernetes.oci import Entry, ImageContent, LayerFile, Process, sweep, used, write_archive, write_layer
from tests.rigs.kubernetes.system_files import MissingPackages, installed, libraries, library_entries, packages
from tests.support.hadoop_jars import jars

HOST = "localhost/yodel"
"""containerd asks nobody else for images of this host."""
ROOT = Path(__file__).resolve().parents[3]
FILES = Path(__file__).resolve().parent / "image-files"
KEPT_S = 7 * 24 * 3600.0
COMMAND_TIMEOUT_S = 60
RM_USER = 10001
POSTGRES_USER = 999
HADOOP_HOME = "/opt/hadoop"
JAVA_HOME = "/opt/java"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BASE = (
    "base-files",
    "bash",
    "coreutils",
    "dash",
    "debianutils",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "libc-bin",
    "mawk",
    "procps",
    "sed",
    "tar",
    "tzdata",
    "unzip",
    "util-linux",
)
JAVA = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
# What libhadoop.so opens when it is there.
NATIVE = ("libbz2-1.0", "libisal2", "liblz4-1", "libsnappy1v5", "libssl3", "libzstd1", "zlib1g")
PASSWD = f"""root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
yodel:x:{RM_USER}:{RM_USER}::/var/lib/yodel:/usr/sbin/nologin
postgres:x:{POSTGRES_USER}:{POSTGRES_USER}::/var/lib/postgresql:/bin/bash
"""
GROUP = f"root:x:0:\nnogroup:x:65534:\nyodel:x:{RM_USER}:\npostgres:x:{POSTGRES_USER}:\n"
SWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One for containerd: ``ctr images import ARCHIVE`` brings it and the others of the same archive.  Layers may have
    come with an archive before it: see ``RigImages.archives``."""

    name: str
    archive: Path
    digest: str

    @property
    def repository(self) -> str:
        return self.name.rpartition(":")[0]

    @property
    def tag(self) -> str:
        return self.name.rpartition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class RigImages:
    """All there are.  ``archives`` are what to import, in this order.  ``environment`` is what the others are made
    from: a shell, the interpreter and the packages that Yodel needs."""

    pause: Image
    environment: Image
    resource_manager: Image
    node_agent: Image
    hadoop_runtime: Image
    postgres: Image

    @property
    def all(self) -> Sequence[Image]:
        others = (self.postgres, self.hadoop_runtime, self.resource_manager, self.node_agent)
        return (self.pause, self.environment, *others)

    @property
    def archives(self) -> Sequence[Path]:
        return tuple(dict.fromkeys(image.archive for image in self.all))


def cache_dir() -> Path:
    """The folder of scripts/lib.sh."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yodel"


def build_images(cache: Path | None = None) -> RigImages:
    """Build the images of this checkout and this machine, from the cache where they are there.

    Raises MissingPackages, and CalledProcessError when a compiler or a server's own program fails.
    """
    folder = (cache or cache_dir()) / "images"
    with _lock(folder):
        layers = _Layers(folder)
        pause = _archive(folder, "pause", {"pause": _pause(layers)}, names={"pause": PAUSE_IMAGE})
        known = layers.environment
        below = ImageContent(layers=known, process=Process(command=["/bin/bash"]))
        environment = _archive(folder, "environment", {"environment": below})
        apart = {"hadoop-runtime": _runtime(layers), "postgres": _postgres(layers)}
        runtime = _archive(folder, "runtime", apart, without=known)
        code = {"rm": _resource_manager(layers), "node-agent": _node_agent(layers)}
        own = _archive(folder, "yodel", code, without=known)
        sweep(folder, KEPT_S, time.time())
    return RigImages(
        pause=pause["pause"],
        environment=environment["environment"],
        resource_manager=own["rm"],
        node_agent=own["node-agent"],
        hadoop_runtime=runtime["hadoop-runtime"],
        postgres=runtime["postgres"],
    )


def _archive(
    folder: Path,
    name: str,
    contents: Mapping[str, ImageContent],
    *,
    names: Mapping[str, str] | None = None,
    without: Sequence[LayerFile] = (),
) -> dict[str, Image]:
    """One file for several images, which share layers."""
    named = {
        key: (names or {}).get(key, f"{HOST}/{key}:{image.digest.partition(':')[2][:12]}")
        for key, image in contents.items()
    }
    digests = [*(image.digest for image in contents.values()), *(layer.digest for layer in without)]
    key = hashlib.sha256("".join(digests).encode()).hexdigest()[:12]
    path = folder / f"{name}-{key}.tar"
    if not path.exists():
        write_archive({named[key]: image for key, image in contents.items()}, path, without)
    used(path)
    return {key: Image(name=named[key], archive=path, digest=image.digest) for key, image in contents.items()}


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Against a second one that makes them at the same moment, for as long as that takes: seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- images


class _Layers:
    """Each is made once; several images have the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, entries: Sequence[Entry]) -> LayerFile:
        return write_layer(entries, self._folder)

    @cached_property
    def base(self) -> LayerFile:
        files = packages(BASE)
        known = {entry.path for entry in files}
        return self.write([*files, *(entry for entry in _skeleton() if entry.path not in known)])

    @cached_property
    def interpreter(self) -> LayerFile:
        return self.write(python_files.interpreter())

    @cached_property
    def packages(self) -> LayerFile:
        return self.write(python_files.runtime_packages())

    @property
    def environment(self) -> list[LayerFile]:
        return [self.base, self.interpreter, self.packages]

    @cached_property
    def code(self) -> LayerFile:
        return self.write(python_files.code())


def _pause(layers: _Layers) -> ImageContent:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "pause")
        _compile(FILES / "pause.c", program)
        entries = [Entry(path="pause", data=program.read_bytes(), mode=0o755)]
    return ImageContent(layers=[layers.write(entries)], process=Process(entrypoint=["/pause"]))


def _resource_manager(layers: _Layers) -> ImageContent:
    home = layers.write([Entry(path="var/lib/yodel", owner=RM_USER)])
    process = Process(
        entrypoint=["yodel"],
        command=["serve", "--config", "/etc/yodel/rm.toml"],
        environment=_yodel_environment(),
        user=f"{RM_USER}:{RM_USER}",
    )
    return ImageContent(layers=[*layers.environment, home, layers.code], process=process)


def _node_agent(layers: _Layers) -> ImageContent:
    command = ["--config", "/etc/yodel/nm.toml"]
    process = Process(entrypoint=["yodel-nm"], command=command, environment=_yodel_environment())
    return ImageContent(layers=[*layers.environment, layers.code], process=process)


def _runtime(layers: _Layers) -> ImageContent:
    """docker/runtime.Dockerfile with Hadoop's jars in it, as an image made FROM it would have them.  The interpreter is
    the tests' own: Spark wants the same version on both sides."""
    java = next((name for name in JAVA if name in installed()), None)
    if java is None:
        raise MissingPackages([JAVA[0]])
    native = [name for name in NATIVE if name in installed()]
    files = packages([*BASE, *native, java])
    base = {entry.path for entry in packages(BASE)}
    system = [entry for entry in files if entry.path not in base]
    process = Process(
        command=["/bin/bash"],
        environment={
            "PATH": f"{JAVA_HOME}/bin:{PATH}",
            "JAVA_HOME": JAVA_HOME,
            "LANG": "C.UTF-8",
            "HADOOP_HOME": HADOOP_HOME,
        },
        user="65534:65534",
    )
    above = [layers.write([*system, *_java_links(files)]), layers.interpreter, layers.write(_hadoop())]
    return ImageContent(layers=[layers.base, *above], process=process)


def _postgres(layers: _Layers) -> ImageContent:
    """Make the image like the official one as far as the chart knows it: variables, uid, folders."""
    programs = _postgres_programs()
    process = Process(
        entrypoint=["/usr/local/bin/docker-entrypoint.sh"],
        environment={"PATH": f"{programs}:{PATH}", "PGDATA": "/var/lib/postgresql/data", "LANG": "C.UTF-8"},
        user=f"{POSTGRES_USER}:{POSTGRES_USER}",
        stop_signal="SIGINT",  # without waiting for its clients
    )
    entries = [
        *_postgres_files(programs),
        *(Entry(path=f"var/lib/{path}", owner=POSTGRES_USER) for path in ("postgresql", "postgresql/data")),
        Entry(path="usr/local/bin/docker-entrypoint.sh", source=FILES / "postgres-entrypoint", mode=0o755),
    ]
    return ImageContent(layers=[layers.base, layers.write(entries)], process=process)


# --- what is in them


def _skeleton() -> list[Entry]:
    """Return what every image has, its own users among it: those of this machine are nobody's business."""
    return [
        *(Entry(path=name, mode=0o755) for name in ("dev", "etc", "home", "opt", "proc", "root", "run", "sys", "var")),
        *(Entry(path=name, mode=0o1777) for name in ("tmp", "var/tmp")),
        Entry(path="etc/passwd", data=PASSWD.encode()),
        Entry(path="etc/group", data=GROUP.encode()),
        Entry(path="etc/nsswitch.conf", data=SWITCH.encode()),
    ]


def _yodel_environment() -> dict[str, str]:
    path = f"/{python_files.VENV}/bin:{PATH}"
    return {"PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}


def _java_links(files: Sequence[Entry]) -> list[Entry]:
    """``/opt/java``, and the certificates that installing it made."""
    programs = [entry.path for entry in files if entry.source is not None and entry.path.endswith("/bin/java")]
    home = min(programs, key=len).removesuffix("/bin/java")
    certificates = Path("/etc/ssl/certs/java/cacerts")
    made = [Entry(path=str(certificates)[1:], source=certificates)] if certificates.is_file() else []
    return [Entry(path=JAVA_HOME[1:], link=f"/{home}"), *made]


def _hadoop() -> list[Entry]:
    """The jars of the Hadoop rig, all in one folder; and what the distributed shell asks for and no release has."""
    found = sorted(path for name in ("hadoop", "dshell") for path in jars(name).glob("*.jar"))
    return [Entry(path=f"{HADOOP_HOME[1:]}/lib/{path.name}", source=path) for path in found]


def _postgres_programs() -> Path:
    """The folder that scripts/setup found."""
    return (ROOT / ".venv" / "tools" / "postgres-bin").resolve()


def _postgres_files(programs: Path) -> list[Entry]:
    """A server without its just-in-time compiler, which is larger than all else."""
    names = ("initdb", "pg_ctl", "pg_isready", "postgres", "psql")
    binaries = [programs / name for name in names]
    library = Path(_said(programs / "pg_config", "--pkglibdir"))
    share = Path(_said(programs / "pg_config", "--sharedir"))
    modules = [path for path in library.glob("*.so") if not path.name.startswith("llvmjit")]
    others = [path for path in share.rglob("*") if path.is_file() and "man" not in path.relative_to(share).parts]
    entries = [Entry(path=str(path)[1:], source=path) for path in (*binaries, *modules, *others)]
    loaded = libraries([*binaries, *modules])
    return entries + [entry for entry in library_entries(loaded) if entry.path not in {e.path for e in entries}]


def _compile(source: Path, program: Path) -> None:
    if shutil.which("gcc") is None:
        raise MissingPackages(["gcc", "libc6-dev"])
    command = ["gcc", "-Os", "-static", "-s", "-Wl,--build-id=none", "-o", str(program), str(source)]
    subprocess.run(command, check=True, timeout=COMMAND_TIMEOUT_S)


def _said(program: Path, option: str) -> str:
    done = subprocess.run([program, option], check=True, timeout=COMMAND_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
