"""Builds a container's environment and ``launch_container.sh``.  Pure.

Follows ``ContainerLaunch`` line by line where clients depend on it.  Two things look wrong and are Hadoop's contract:
environment values and the command are put between double quotes **unescaped**, so that ``$PWD`` and friends work in
them, and the command passes through two shells.  Clients escape for exactly this; escaping again would break them.  The
script runs as the submitting user, so a value that breaks out of its quotes gives its author nothing new.

What the agent itself names (paths, links) is escaped as ``ContainerLaunch.ShellScriptBuilder`` escapes it.

A container that asks for an image (DockerLinuxContainerRuntime's variables) runs in its pod's or not at all: the pod is
there before its launch context is known, and silently running in another one is the worst answer.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yodel.domain.ids import ContainerId, NodeId
from yodel.errors import InvalidValue

LAUNCH_SCRIPT = "launch_container.sh"
TOKENS_FILE = "container_tokens"
SCRIPT_BYTES_MAX = 16 << 20
AUX_SERVICE_PREFIX = "NM_AUX_SERVICE_"  # AuxiliaryServiceHelper.NM_AUX_SERVICE
RUNTIME_TYPE, DOCKER = "YARN_CONTAINER_RUNTIME_TYPE", "docker"
DOCKER_IMAGE = "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"
IMAGE_SHOWN_MAX = 200
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\S*$")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}|([A-Za-z_][A-Za-z0-9_]*))")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLink:
    """One line of "Setting up job resources": ``link`` in the work directory points to ``target``."""

    link: str
    target: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationCounters:
    """LOCALIZATION_COUNTERS: bytes and files that had to be fetched and that were in the cache."""

    missed_bytes: int = 0
    cached_bytes: int = 0
    missed_files: int = 0
    cached_files: int = 0

    def __str__(self) -> str:
        return f"{self.missed_bytes},{self.cached_bytes},{self.missed_files},{self.cached_files},0"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnvironment:
    """Holds the environment that all containers of the node share."""

    node_id: NodeId
    http_port: int
    home: str = "/home/"
    admin_env: Mapping[str, str] = field(default_factory=dict)
    whitelist: Mapping[str, str] = field(default_factory=dict)
    aux_metadata: Mapping[str, bytes] = field(default_factory=dict)
    add_opens: str = ""
    debug_info: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One container's launch."""

    container_id: ContainerId
    user: str
    work_dir: Path
    log_dir: Path
    local_dirs: Sequence[Path]
    local_user_dirs: Sequence[Path]
    log_dirs: Sequence[Path]
    environment: Mapping[str, str] = field(repr=False)
    command: Sequence[str]
    links: Sequence[ResourceLink] = ()
    counters: LocalizationCounters = LocalizationCounters()


def script(node: NodeEnvironment, launch: Launch) -> str:
    """The text of ``launch_container.sh``.

    Raises:
        InvalidValue: a variable's name is no shell name, a NUL somewhere, or the script exceeds SCRIPT_BYTES_MAX.
    """
    owned = owned_environment(node, launch)
    user_env = {name: expand(value, node, launch.log_dir) for name, value in launch.environment.items()}
    for name in user_env:
        if not _NAME.fullmatch(name):
            raise InvalidValue("environment variable", name[:200], "letters, digits and underscores")
    lines = _head(launch.work_dir, launch.log_dir) + _image_lines(launch.environment)
    lines += [f'export {name}=${{{name}:-"{value}"}}' for name, value in node.whitelist.items() if name not in user_env]
    lines += [f'export {name}="{value}"' for name, value in owned.items()]
    rest = {name: value for name, value in user_env.items() if name not in owned}
    lines += [f'export {name}="{rest[name]}"' for name in by_dependency(rest)]
    lines.append('echo "Setting up job resources"')
    lines += _link_lines(launch.links)
    if node.debug_info:
        lines += _debug_lines(launch.log_dir)
    lines.append('echo "Launching container"')
    command = expand(" ".join(launch.command), node, launch.log_dir)
    lines.append(f'exec /bin/bash -c "{command}"')
    text = "\n".join(lines) + "\n"
    if "\0" in text or len(text) > SCRIPT_BYTES_MAX:
        raise InvalidValue("launch context", f"{len(text)} characters", f"no NUL and at most {SCRIPT_BYTES_MAX}")
    return text


def as_one_process(command: Sequence[str]) -> tuple[str, ...]:
    """The items of a command with ``exec`` before Java, where nothing but assignments is before that.

    A shell that only waits for Java ends at TERM, and its pod with it, while Java still has to clean up.
    """
    at = next((place for place, item in enumerate(command) if item.endswith("/bin/java")), None)
    if at is None or not all(_ASSIGNMENT.match(item) for item in command[:at]):
        return tuple(command)
    return (*command[:at], "exec", *command[at:])


def owned_environment(node: NodeEnvironment, launch: Launch) -> dict[str, str]:
    """Return the variables that the agent sets regardless of the client, in ``ContainerLaunch.sanitizeEnv``'s order."""
    owned = {
        "HADOOP_TOKEN_FILE_LOCATION": str(launch.work_dir / TOKENS_FILE),
        "CONTAINER_ID": str(launch.container_id),
        "NM_PORT": str(node.node_id.port),
        "NM_HOST": node.node_id.host,
        "NM_HTTP_PORT": str(node.http_port),
        "LOCAL_DIRS": _comma(launch.local_dirs),
        "LOCAL_USER_DIRS": ",".join(f"{path}/" for path in launch.local_user_dirs),
        "LOG_DIRS": _comma(launch.log_dirs),
        "USER": _escaped(launch.user),
        "LOGNAME": _escaped(launch.user),
        "HOME": node.home,
        "PWD": str(launch.work_dir),
        "LOCALIZATION_COUNTERS": str(launch.counters),
        "JVM_PID": "$$",
    }
    admin = {name: value for name, value in node.admin_env.items() if name not in launch.environment}
    aux = {
        AUX_SERVICE_PREFIX + name: base64.b64encode(data).decode("ascii") for name, data in node.aux_metadata.items()
    }
    return {**owned, **admin, **aux}


def expand(text: str, node: NodeEnvironment, log_dir: Path) -> str:
    """Plain replacement of the client's markers (ContainerLaunch.expandEnvironment)."""
    return (
        text.replace("<LOG_DIR>", str(log_dir))
        .replace("<CPS>", ":")
        .replace("<ADD_OPENS>", node.add_opens)
        .replace("{{", "$")
        .replace("}}", "")
    )


def by_dependency(environment: Mapping[str, str]) -> list[str]:
    """Names in the client's order, except that what a value refers to comes first.  Cycles keep the order.

    Follows ``ContainerLaunch.orderEnvByDependencies``; iterative, for the client chooses the depth.
    """
    ordered: dict[str, None] = {}
    for root in environment:
        stack = [(root, iter(_references(root, environment)))]
        visiting = {root}
        while stack:
            name, references = stack[-1]
            following = next((r for r in references if r not in ordered and r not in visiting), None)
            if following is None:
                ordered.setdefault(name)
                stack.pop()
                continue
            visiting.add(following)
            stack.append((following, iter(_references(following, environment))))
    return list(ordered)


def _references(name: str, environment: Mapping[str, str]) -> list[str]:
    found = (a or b for a, b in _REFERENCE.findall(environment[name]))
    return [reference for reference in found if reference in environment and reference != name]


def _head(work_dir: Path, log_dir: Path) -> list[str]:
    """Hadoop's executor changes the directory before the script; the parked shell knows no directory, so it is here."""
    out, err = _quoted(log_dir / "prelaunch.out"), _quoted(log_dir / "prelaunch.err")
    return [
        "#!/bin/bash",
        "",
        "set -o pipefail -e",
        f"export PRELAUNCH_OUT={out}",
        'exec >"${PRELAUNCH_OUT}"',
        f"export PRELAUNCH_ERR={err}",
        'exec 2>"${PRELAUNCH_ERR}"',
        f"cd -- {_quoted(work_dir)}",
        'echo "Setting up env variables"',
    ]


def _image_lines(environment: Mapping[str, str]) -> list[str]:
    """``YODEL_IMAGE`` is the pod's own variable."""
    wanted = environment.get(DOCKER_IMAGE, "").strip() if environment.get(RUNTIME_TYPE) == DOCKER else ""
    if not wanted:
        return []
    text = f"Image {wanted[:IMAGE_SHOWN_MAX]} was requested, but this container's pod runs"
    rest = "images are chosen by the launch context of the ApplicationMaster, for all containers of an application"
    said = f'echo {_quoted(text)} "${{YODEL_IMAGE-}}:" {_quoted(rest)}'
    return [f'if [ "${{YODEL_IMAGE-}}" != {_quoted(wanted)} ]; then {said} >&2; exit 1; fi']


def _link_lines(links: Iterable[ResourceLink]) -> list[str]:
    """Hadoop's ``ln -sf`` with ``-n``: in a second run a link to a directory is replaced and not followed."""
    lines = []
    for link in links:
        parent = link.link.rpartition("/")[0]
        if parent:
            lines.append(f"mkdir -p -- {_quoted(parent)}")
        lines.append(f"ln -sfn -- {_quoted(link.target)} {_quoted(link.link)}")
    return lines


def _debug_lines(log_dir: Path) -> list[str]:
    copy, info = _quoted(log_dir / LAUNCH_SCRIPT), _quoted(log_dir / "directory.info")
    return [
        'echo "Copying debugging information"',
        "# Creating copy of launch script",
        f'cp "{LAUNCH_SCRIPT}" {copy}',
        f"chmod 640 {copy}",
        "# Determining directory contents",
        f'echo "ls -l:" 1>{info}',
        f"ls -l 1>>{info}",
        f'echo "find -L . -maxdepth 5 -ls:" 1>>{info}',
        f"find -L . -maxdepth 5 -ls 1>>{info}",
        f'echo "broken symlinks(find -L . -maxdepth 5 -type l -ls):" 1>>{info}',
        f"find -L . -maxdepth 5 -type l -ls 1>>{info}",
    ]


def _quoted(value: Path | str) -> str:
    """Between double quotes: for the agent's own paths and link names."""
    return f'"{_escaped(str(value))}"'


def _escaped(value: str) -> str:
    """Return the value with a backslash before what is special between double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", value)


def _comma(paths: Sequence[Path]) -> str:
    return ",".join(str(path) for path in paths)
