"""Finds the ResourceManager to ask, and why it is that one: every error shows it, because a wrong one looks like a
broken one.

In this order: ``--server``; ``$YODEL_SERVER``; the ``yarn-site.xml`` of ``$HADOOP_CONF_DIR``, read as Hadoop's
WebAppUtils does; the only ``yodel local`` that this user runs; this machine's standard port.  What is set and names
none is an error: the next in order would be another cluster, and a command may change it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from yodel.domain import hadoop_xml
from yodel.errors import InvalidValue
from yodel.local.running import RunningLocal

STANDARD_URL = "http://localhost:8088"
SITE_BYTES_MAX = 4 * 1024 * 1024
EXPANSIONS_MAX = 20
"""``Configuration.MAX_SUBST``: so often variables in a value are replaced."""
HTTP_PORT, HTTPS_PORT = 8088, 8090
_VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
_RM = "yarn.resourcemanager."


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """``origin`` says where the address comes from."""

    url: str
    origin: str


class SeveralLocals(InvalidValue):
    """Several ``yodel local`` run, and nothing says which one is meant."""

    def __init__(self, running: Sequence[RunningLocal]) -> None:
        super().__init__("--server", None, "one of your running yodel local")
        names = ", ".join(f"{one.rest_url} (--dir {one.directory})" for one in running)
        self.args = (
            f"Several yodel local are running: {names}. Choose one with --server {running[0].rest_url} or "
            f"YODEL_SERVER, or set HADOOP_CONF_DIR={running[0].directory}/hadoop-conf",
        )


def find_server(option: str | None, environment: Mapping[str, str], running: Sequence[RunningLocal]) -> Server:
    """``running`` are those of this user.

    Raises:
        InvalidValue: what is set names no server.
        SeveralLocals: nothing says which of them is meant.
    """
    for origin, url in (("--server", option), ("YODEL_SERVER", environment.get("YODEL_SERVER"))):
        if url is not None:
            return Server(url=_checked(origin, url), origin=f"from {origin}")
    if environment.get("HADOOP_CONF_DIR"):  # Hadoop's scripts set it to nothing, too
        site = Path(environment["HADOOP_CONF_DIR"]) / "yarn-site.xml"
        name, url = _named_in(site)
        return Server(url=_checked(f"{name} in {site}", url), origin=f"from HADOOP_CONF_DIR: {name} in {site}")
    if len(running) > 1:
        raise SeveralLocals(running)
    if running:
        return Server(url=running[0].rest_url, origin=f"your yodel local --dir {running[0].directory}")
    return Server(url=STANDARD_URL, origin="default; set --server, YODEL_SERVER or HADOOP_CONF_DIR")


def _checked(origin: str, url: str) -> str:
    """Raises InvalidValue."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InvalidValue(origin, url[:200], "a URL like http://rm-host:8088")
    return url.rstrip("/")


def _named_in(site: Path) -> tuple[str, str]:
    """The property that names the web address, and the address as a URL.

    Raises:
        InvalidValue: there is no such file, or it names none.
    """
    try:
        with site.open("rb") as file:
            text = file.read(SITE_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidValue("HADOOP_CONF_DIR", str(site.parent), "a directory with a yarn-site.xml") from None
    except OSError as error:
        raise InvalidValue("HADOOP_CONF_DIR", str(site), f"a file that you may read ({error.strerror})") from error
    try:
        if len(text) > SITE_BYTES_MAX:
            raise InvalidValue("yarn-site.xml", f"more than {SITE_BYTES_MAX} bytes", f"at most {SITE_BYTES_MAX}")
        values = hadoop_xml.properties(text.decode("utf-8", "replace"))
    except InvalidValue as error:
        raise InvalidValue("HADOOP_CONF_DIR", str(site), f"Hadoop's configuration ({error})") from error
    names = _address_names(values)
    for name in names:
        if url := _web_address(values, name):
            return name, url
    raise InvalidValue("HADOOP_CONF_DIR", str(site), f"a file that sets {' or '.join(names)}, or --server")


def _is_tls(values: Mapping[str, str]) -> bool:
    return values.get("yarn.http.policy", "").upper() == "HTTPS_ONLY"


def _address_names(values: Mapping[str, str]) -> tuple[str, str]:
    """The properties that may name it.  Of several ResourceManagers (``yarn.resourcemanager.ha.rm-ids``) the first."""
    ids = [name.strip() for name in values.get(f"{_RM}ha.rm-ids", "").split(",") if name.strip()]
    is_ha = values.get(f"{_RM}ha.enabled", "").lower() == "true" and bool(ids)
    suffix = f".{ids[0]}" if is_ha else ""
    return f"{_RM}webapp.{'https.' if _is_tls(values) else ''}address{suffix}", f"{_RM}hostname{suffix}"


def _web_address(values: Mapping[str, str], name: str) -> str:
    """Return the URL that a property names; empty if it is not set."""
    scheme, default_port = ("https", HTTPS_PORT) if _is_tls(values) else ("http", HTTP_PORT)
    address = _expanded(values.get(name, ""), values)
    host, separator, port = address.rpartition(":")
    host, port = (host, port) if separator else (address, str(default_port))
    return f"{scheme}://{'localhost' if host == '0.0.0.0' else host}:{port}" if address else ""


def _expanded(value: str, values: Mapping[str, str]) -> str:
    """``${name}`` of the same file, as Hadoop's Configuration replaces it; a name that is unknown stays as it is."""
    for _ in range(EXPANSIONS_MAX):
        found = _VARIABLE.search(value)
        if found is None or found.group(1) not in values:
            break
        value = value[: found.start()] + values[found.group(1)] + value[found.end() :]
    return value.strip()
