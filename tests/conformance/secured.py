"""A secured ``yodel local`` next to a KDC of its own, and the unmodified clients that reach it."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.cluster import ROOT, Cluster, running
from tests.conformance.spark_submit import Spark, Submission
from tests.conformance.standby import WithStandby, running_with_standby
from tests.support.hadoop_jars import client_jars
from tests.support.hadoop_yodel import rm_addresses
from tests.support.hdfs import configuration_xml
from tests.support.java import java_home
from tests.support.kdc import REALM, Kdc, running_kdc
from tests.support.ports import free_port

USER = getpass.getuser()
"""Has an account on the nodes; alice and the others have none."""
PROXY = "oozie"
"""Acts for ``USER`` and for nobody else."""
TOKEN_LIFE_S = 3600
PROPERTY = re.compile("<name>(.*?)</name><value>(.*?)</value>")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SecuredReady:
    """The configuration folder of ``Spark``'s clients."""

    hadoop_conf_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _SecuredClients:
    ready: _SecuredReady


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """A cluster whose ResourceManager is rm/localhost."""

    kdc: Kdc
    cluster: Cluster
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of YARN that clients have besides the addresses of the cluster; they win."""

    def login(self, user: str = "alice", *, life_s: int | None = None) -> Mapping[str, str]:
        """Return the environment of somebody with a new ticket."""
        keytab = self.kdc.directory / f"{user}.keytab"
        return self.kdc.login(user, keytab) if life_s is None else self.kdc.login(user, keytab, life_s=life_s)

    def conf(self, name: str, *, patience_ms: int = 1000, **core: str) -> Path:
        """Write a client's folder of configuration; ``core`` adds to core-site.xml, with _ for dots.

        ``patience_ms`` is how long a client waits for a ResourceManager that does not answer.
        """
        folder = self.kdc.directory / f"conf-{name}"
        folder.mkdir(exist_ok=True)
        of_page = dict(PROPERTY.findall(blocks_of_page("xml")[0]))
        properties = of_page | {name.replace("_", "."): value for name, value in core.items()}
        (folder / "core-site.xml").write_text(configuration_xml(properties))
        addresses = {
            name: value.replace("127.0.0.1", "localhost") for name, value in rm_addresses(self.cluster).items()
        }
        more = {
            "yarn.resourcemanager.connect.max-wait.ms": str(patience_ms),
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "ipc.client.connect.max.retries.on.sasl": "1",
        }
        (folder / "yarn-site.xml").write_text(configuration_xml({**addresses, **more, **self.properties}))
        krb5 = f"-Djava.security.krb5.conf={self.kdc.krb5_conf}"
        jobs = {
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": f"{client_jars('3.5')}/*",
            "yarn.app.mapreduce.am.staging-dir": f"{self.kdc.directory}/staging",
            "yarn.app.mapreduce.am.resource.mb": "512",
            "yarn.app.mapreduce.am.env": f"KRB5_CONFIG={self.kdc.krb5_conf}",
            "yarn.app.mapreduce.am.command-opts": f"-Xmx256m {krb5}",
            "mapreduce.map.java.opts": f"-Xmx128m {krb5}",
            "mapreduce.reduce.java.opts": f"-Xmx128m {krb5}",
            "mapreduce.task.io.sort.mb": "10",
            "mapreduce.map.memory.mb": "256",
            "mapreduce.reduce.memory.mb": "256",
        }
        (folder / "mapred-site.xml").write_text(configuration_xml(jobs))
        return folder

    def java(self, conf: Path, environment: Mapping[str, str], *arguments: str) -> Submission:
        """Start a command of Hadoop's."""
        options = ["-Xmx256m", f"-Djava.security.krb5.conf={self.kdc.krb5_conf}"]
        java = ["env", "-C", str(self.kdc.directory), f"{java_home()}/bin/java", *options]
        command = [*java, "-cp", f"{conf}:{client_jars('3.5')}/*", *arguments]
        return Submission(command, {**os.environ, **environment})

    def yarn(self, conf: Path, environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
        """Run a command of Hadoop's; return its status and all that it printed."""
        result = self.java(conf, environment, *arguments).result()
        return result.returncode, result.text

    def spark(self, line: str, environment: Mapping[str, str]) -> Spark:
        """Return a Spark whose clients and containers know the realm; ``environment`` has the ticket."""
        ready = _SecuredReady(hadoop_conf_dir=self.conf("spark", patience_ms=60_000))
        more = {**environment, "JAVA_TOOL_OPTIONS": self.java_tool_options}
        return Spark(line, _SecuredClients(ready=ready), more_environment=more)

    def run_as_here(self, script: str) -> str:
        """Run a client's commands that the page shows, as ``USER``, who has an account; return what they print."""
        classes = f"{self.conf('kerberos')}:{client_jars('3.5')}/*"
        java = f"{java_home()}/bin/java -Xmx256m {self.java_tool_options} -cp '{classes}'"
        (examples,) = client_jars("3.5").glob("hadoop-mapreduce-examples-*.jar")
        script = script.replace("alice", USER).replace("hadoop-mapreduce-examples.jar", str(examples))
        functions = f"""
            export KRB5CCNAME=FILE:{self.kdc.directory}/cache-of-page
            cd {self.kdc.directory}
            kinit() {{ {self.kdc.kinit} -k -t {self.kdc.directory}/{USER}.keytab "$@"; }}
            yarn() {{
              case $1 in
                node) {java} org.apache.hadoop.yarn.client.cli.NodeCLI "${{@:2}}" ;;
                jar) {java} org.apache.hadoop.util.RunJar "${{@:2}}" ;;
              esac
            }}
        """
        return self.kdc.run_script(script, functions)

    @property
    def java_tool_options(self) -> str:
        return f"-Djava.security.krb5.conf={self.kdc.krb5_conf}"


@contextlib.contextmanager
def running_secured() -> Iterator[Secured]:
    """Start a KDC with alice, ``USER`` and ``PROXY``, and a cluster as docs/kerberos.md says; end both."""
    with running_kdc() as kdc, running(nodes=1, settings=prepared(kdc)) as cluster:
        yield Secured(kdc=kdc, cluster=cluster)


@contextlib.contextmanager
def running_secured_with_standby(store_url: str) -> Iterator[tuple[Secured, WithStandby]]:
    """Start the same with a second ResourceManager, which shares principal and keytab; end all."""
    web = {"YODEL_WEB": json.dumps({"authentication": "kerberos", "proxied_port": free_port()})}
    with (
        running_kdc() as kdc,
        running_with_standby(store_url, prepared(kdc), of_standby=web, nodes=1) as both,
    ):
        yield Secured(kdc=kdc, cluster=both.cluster, properties=both.properties), both


def prepared(kdc: Kdc) -> dict[str, str]:
    """Make principals and keytabs as docs/kerberos.md does, and ours; return variables of ``yodel local``."""
    (make_keytab, _), (settings,) = blocks_of_page("sh"), blocks_of_page("toml")
    kdc.run_script(as_here(make_keytab, kdc))
    tables = tomllib.loads(as_here(settings, kdc))
    tables["security"] |= {"node_manager_principal": f"nm/_HOST@{REALM}"}
    tables["web"] |= {"proxied_port": free_port()}
    proxy = {f"hadoop.proxyuser.{PROXY}.hosts": "*", f"hadoop.proxyuser.{PROXY}.users": USER}
    # A keytab may hold others' keys too.
    kdc.run_script('kadmin -q "addprinc -randkey HTTP/localhost"')
    kdc.run_script(f'kadmin -q "ktadd -k {kdc.directory}/rm.keytab HTTP/localhost"')
    for user in ("alice", USER, PROXY):
        kdc.keytab(user)
    return {
        "YODEL_HOST": tables["host"],
        "YODEL_SECURITY": json.dumps(tables["security"]),
        "YODEL_WEB": json.dumps(tables["web"]),
        "YODEL_PROXY_USERS": json.dumps(proxy),
        "YODEL_DELEGATION_TOKEN_MAX_LIFETIME_S": str(TOKEN_LIFE_S),
        "YODEL_DELEGATION_TOKEN_RENEW_INTERVAL_S": str(TOKEN_LIFE_S),
        **kdc.environment,
    }


def blocks_of_page(kind: str) -> list[str]:
    """Return what docs/kerberos.md shows as ``kind``."""
    page = (ROOT / "docs" / "kerberos.md").read_text()
    return [textwrap.dedent(found) for found in re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)]


def as_here(text: str, kdc: Kdc) -> str:
    """Return what the page says with the names of this machine."""
    here = {"/etc/yodel/": f"{kdc.directory}/", "rm.example.com": "localhost"}
    for name, value in here.items():
        text = text.replace(name, value)
    return text
