"""Writes the files with which Hadoop's clients and ApplicationMasters find a ResourceManager.

core-site.xml, yarn-site.xml and mapred-site.xml are complete for spark-submit, yarn, mapred and Flink.  An address is
written out in full: behind a NodePort or a load balancer the ports are not YARN's, and clients that derive one from
``yarn.resourcemanager.hostname`` would dial the standard one.

Refuses: properties for other files, and names that no Hadoop property has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

from yodel.errors import InvalidValue

FILES = ("core-site.xml", "yarn-site.xml", "mapred-site.xml")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Holds the values of the files.

    ``web_proxy`` is the host:port whose address the RM's web proxy calls from, if it is another name than ``host``
    (decision 0033); empty: the web address.
    """

    host: str
    client_port: int
    scheduler_port: int
    tracker_port: int
    admin_port: int
    webapp_port: int
    minimum_mib: int
    maximum_mib: int
    maximum_vcores: int
    web_proxy: str = ""
    default_fs: str = "file:///"
    is_log_aggregation_enabled: bool = True
    remote_app_log_dir: str = "/tmp/logs"


def client_files(config: ClientConfig) -> dict[str, dict[str, str]]:
    """``{file name: {property: value}}`` for clients and ApplicationMasters."""
    host = _bracketed(config.host)
    web = f"{host}:{config.webapp_port}"
    return {
        "core-site.xml": {"fs.defaultFS": config.default_fs, "hadoop.security.authentication": "simple"},
        "yarn-site.xml": {
            "yarn.resourcemanager.hostname": config.host,
            "yarn.resourcemanager.address": f"{host}:{config.client_port}",
            "yarn.resourcemanager.scheduler.address": f"{host}:{config.scheduler_port}",
            "yarn.resourcemanager.resource-tracker.address": f"{host}:{config.tracker_port}",
            "yarn.resourcemanager.admin.address": f"{host}:{config.admin_port}",
            "yarn.resourcemanager.webapp.address": web,
            # The same, told to ApplicationMasters' filters: they take this one as it is, but turn a loopback web
            # address into the machine's own name, from whose address the RM's proxy does not call.
            "yarn.web-proxy.address": config.web_proxy or web,
            # A restarting RM is back in a second or two: do not wait Hadoop's 30.
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "yarn.scheduler.minimum-allocation-mb": str(config.minimum_mib),
            "yarn.scheduler.maximum-allocation-mb": str(config.maximum_mib),
            "yarn.scheduler.maximum-allocation-vcores": str(config.maximum_vcores),
            "yarn.timeline-service.enabled": "false",
            "yarn.log-aggregation-enable": "true" if config.is_log_aggregation_enabled else "false",
            "yarn.nodemanager.remote-app-log-dir": config.remote_app_log_dir,
        },
        "mapred-site.xml": {"mapreduce.framework.name": "yarn"},
    }


def with_properties(files: Mapping[str, Mapping[str, str]], properties: Iterable[str]) -> dict[str, dict[str, str]]:
    """The files with more properties, or other values: each text is ``FILE:NAME=VALUE``.

    Raises:
        InvalidValue: a text is not of that form.
    """
    changed = {name: dict(values) for name, values in files.items()}
    for text in properties:
        file, colon, assignment = text.partition(":")
        name, equals, value = assignment.partition("=")
        if not colon or not equals or file not in changed or not _NAME.fullmatch(name):
            raise InvalidValue("--property", text, f"FILE:NAME=VALUE, FILE one of {', '.join(changed)}")
        changed[file][name] = value
    return changed


def site_xml(properties: Mapping[str, str], written_by: str) -> str:
    """One file's text.  ``written_by`` goes into its comment.

    Raises:
        InvalidValue: a value that XML cannot hold.
    """
    for name, value in properties.items():
        if _NOT_IN_XML.search(value):
            raise InvalidValue(name, value, "characters that XML allows")
    body = "".join(
        f"  <property>\n    <name>{escape(name)}</name>\n    <value>{escape(value)}</value>\n  </property>\n"
        for name, value in properties.items()
    )
    header = f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {written_by.replace("--", "- -")} -->\n'
    return f"{header}<configuration>\n{body}</configuration>\n"


def _bracketed(host: str) -> str:
    """An IPv6 address as Hadoop's NetUtils takes it before a port."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
