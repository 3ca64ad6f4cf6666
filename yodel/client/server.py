"""Which ResourceManager is asked, and why that one: told in every error, because a wrong one looks like a broken one.

In this order: ``--server``; ``$YODEL_SERVER``; the ``yarn-site.xml`` of ``$HADOOP_CONF_DIR``, read as Hadoop's
WebAppUtils does; the only ``yodel local`` that this user runs; this machine's standard port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    """``origin`` says who named it: a part of a sentence."""

    url: str
    origin: str


class SeveralLocals(InvalidValue):
    """Several ``yodel local`` run, and nothing says which one is meant."""

    def __init__(self, running: Sequence[RunningLocal]) -> None:
        super().__init__("--server", None, "one of the yodel local that you run")
        names = ", ".join(f"{one.rest_url} (--dir {one.directory})" for one in running)
        self.args = (
            f"Several yodel local run: {names}. Choose one with --server {running[0].rest_url} or YODEL_SERVER, or set "
            f"HADOOP_CONF_DIR={running[0].directory}/hadoop-conf",
        )


def find_server(option: str | None, environment: Mapping[str, str], running: Sequence[RunningLocal]) -> Server:
    """``running`` are those of this user.

    Raises:
        InvalidValue: the yarn-site.xml is no such file.
        SeveralLocals: nothing says which of them is meant.
    """
    if option:
        return Server(url=option, origin="--server")
    if environment.get("YODEL_SERVER"):
        return Server(url=environment["YODEL_SERVER"], origin="YODEL_SERVER")
    if environment.get("HADOOP_CONF_DIR"):
        site = Path(environment["HADOOP_CONF_DIR"]) / "yarn-site.xml"
        named = _named_in(site)
        if named is not None:
            return Server(url=named[1], origin=f"HADOOP_CONF_DIR ({named[0]} in {site})")
    if len(running) > 1:
        raise SeveralLocals(running)
    if running:
        return Server(url=running[0].rest_url, origin=f"your yodel local --dir {running[0].directory}")
    return Server(url=STANDARD_URL, origin="the default: nothing names another")


def _named_in(site: Path) -> tuple[str, str] | None:
    """The property that names the web address, and the address as a URL; None when there is no file or no name in it.

    Raises InvalidValue.
    """
    try:
        with site.open("rb") as file:
            text = file.read(SITE_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidValue("HADOOP_CONF_DIR", str(site), f"a file that you may read ({error.strerror})") from error
    try:
        if len(text) > SITE_BYTES_MAX:
            raise InvalidValue("yarn-site.xml", f"more than {SITE_BYTES_MAX} bytes", f"at most {SITE_BYTES_MAX}")
        values = hadoop_xml.properties(text.decode("utf-8", "replace"))
    except InvalidValue as error:
        raise InvalidValue("HADOOP_CONF_DIR", str(site), f"Hadoop's configuration ({error})") from error
    return _web_address(values)


def _web_address(values: Mapping[str, str]) -> tuple[str, str] | None:
    """Pure.  Of several ResourceManagers (``yarn.resourcemanager.ha.rm-ids``) the first one."""
    is_tls = values.get("yarn.http.policy", "").upper() == "HTTPS_ONLY"
    scheme, default_port = ("https", HTTPS_PORT) if is_tls else ("http", HTTP_PORT)
    ids = [name.strip() for name in values.get(f"{_RM}ha.rm-ids", "").split(",") if name.strip()]
    is_ha = values.get(f"{_RM}ha.enabled", "").lower() == "true" and bool(ids)
    suffix = f".{ids[0]}" if is_ha else ""
    for name in (f"{_RM}webapp.{'https.' if is_tls else ''}address{suffix}", f"{_RM}hostname{suffix}"):
        address = _expanded(values.get(name, ""), values)
        if address:
            host, separator, port = address.rpartition(":")
            host, port = (host, port) if separator else (address, str(default_port))
            return name, f"{scheme}://{'localhost' if host == '0.0.0.0' else host}:{port}"
    return None


def _expanded(value: str, values: Mapping[str, str]) -> str:
    """``${name}`` of the same file, as Hadoop's Configuration replaces it; a name that is unknown stays as it is."""
    for _ in range(EXPANSIONS_MAX):
        found = _VARIABLE.search(value)
        if found is None or found.group(1) not in values:
            break
        value = value[: found.start()] + values[found.group(1)] + value[found.end() :]
    return value.strip()
