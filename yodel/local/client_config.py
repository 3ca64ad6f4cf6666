"""The Hadoop configuration directory of a local cluster: complete for spark-submit, yarn, mapred and Flink."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Written by yodel local at every start. -->\n'


def write_hadoop_conf(directory: Path, files: Mapping[str, Mapping[str, str]]) -> None:
    """Write ``{file name: {property: value}}``, each file atomically, readable by everybody."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, properties in files.items():
        path = directory / name
        temporary = path.with_name(f".{name}.tmp")
        temporary.write_text(_xml(properties))
        temporary.chmod(0o644)
        temporary.replace(path)


def client_files(
    *,
    host: str,
    client_port: int,
    scheduler_port: int,
    tracker_port: int,
    admin_port: int,
    webapp_port: int,
    maximum_mib: int,
    maximum_vcores: int,
    minimum_mib: int,
    remote_app_log_dir: str = "/tmp/logs",
) -> dict[str, dict[str, str]]:
    """core-site, yarn-site and mapred-site for clients and ApplicationMasters."""
    return {
        "core-site.xml": {"fs.defaultFS": "file:///", "hadoop.security.authentication": "simple"},
        "yarn-site.xml": {
            "yarn.resourcemanager.hostname": host,
            "yarn.resourcemanager.address": f"{host}:{client_port}",
            "yarn.resourcemanager.scheduler.address": f"{host}:{scheduler_port}",
            "yarn.resourcemanager.resource-tracker.address": f"{host}:{tracker_port}",
            "yarn.resourcemanager.admin.address": f"{host}:{admin_port}",
            "yarn.resourcemanager.webapp.address": f"{host}:{webapp_port}",
            # The same, told to ApplicationMasters' filters: they take this one as it is, but turn a loopback web
            # address into the machine's own name, from whose address the RM's proxy does not call.
            "yarn.web-proxy.address": f"{host}:{webapp_port}",
            # A restarting RM is back in a second or two: do not wait Hadoop's 30.
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "yarn.scheduler.minimum-allocation-mb": str(minimum_mib),
            "yarn.scheduler.maximum-allocation-mb": str(maximum_mib),
            "yarn.scheduler.maximum-allocation-vcores": str(maximum_vcores),
            "yarn.timeline-service.enabled": "false",
            "yarn.log-aggregation-enable": "true",
            "yarn.nodemanager.remote-app-log-dir": remote_app_log_dir,
        },
        "mapred-site.xml": {"mapreduce.framework.name": "yarn"},
    }


def _xml(properties: Mapping[str, str]) -> str:
    body = "".join(
        f"  <property>\n    <name>{escape(name)}</name>\n    <value>{escape(value)}</value>\n  </property>\n"
        for name, value in properties.items()
    )
    return f"{HEADER}<configuration>\n{body}</configuration>\n"
