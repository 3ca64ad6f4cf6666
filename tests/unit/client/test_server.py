"""A client finds its ResourceManager by an option, the environment or Hadoop's configuration, in this order."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.client.server import STANDARD_URL, Server, SeveralLocals, find_server
from yodel.errors import InvalidValue
from yodel.local.running import RunningLocal
from yodel.translator.client_config import site_xml

LOCAL = RunningLocal(directory=Path("/tmp/a"), rest_url="http://127.0.0.1:5")


def conf(directory: Path, **properties: str) -> dict[str, str]:
    named = {f"yarn.{name.replace('_', '.')}": value for name, value in properties.items()}
    (directory / "yarn-site.xml").write_text(site_xml(named, "a test"))
    return {"HADOOP_CONF_DIR": str(directory)}


def test_the_first_that_names_one_counts(tmp_path: Path) -> None:
    hadoop = conf(tmp_path, resourcemanager_webapp_address="rm:1")
    both = {**hadoop, "YODEL_SERVER": "http://variable:2"}
    assert find_server("http://option:3", both, [LOCAL]).url == "http://option:3"
    assert find_server(None, both, [LOCAL]).url == "http://variable:2"
    assert find_server(None, hadoop, [LOCAL]).url == "http://rm:1"
    assert find_server(None, {}, [LOCAL]).url == LOCAL.rest_url
    assert find_server(None, {}, []).url == STANDARD_URL


def test_each_says_where_it_comes_from(tmp_path: Path) -> None:
    hadoop = conf(tmp_path, resourcemanager_hostname="rm")
    assert find_server("http://x", {}, []).origin == "from --server"
    assert find_server(None, {"YODEL_SERVER": "http://x/"}, []) == Server(url="http://x", origin="from YODEL_SERVER")
    site = tmp_path / "yarn-site.xml"
    assert find_server(None, hadoop, []).origin == f"from HADOOP_CONF_DIR: yarn.resourcemanager.hostname in {site}"
    assert find_server(None, {}, [LOCAL]).origin == "your yodel local --dir /tmp/a"


@pytest.mark.parametrize(
    ("properties", "url"),
    [
        ({"resourcemanager_webapp_address": "rm:18088", "resourcemanager_hostname": "no"}, "http://rm:18088"),
        ({"resourcemanager_webapp_address": "rm"}, "http://rm:8088"),
        ({"resourcemanager_hostname": "rm"}, "http://rm:8088"),
        ({"resourcemanager_webapp_address": "0.0.0.0:9"}, "http://localhost:9"),
        (
            {"resourcemanager_webapp_address": "${yarn.resourcemanager.hostname}:7", "resourcemanager_hostname": "rm"},
            "http://rm:7",
        ),
        ({"http_policy": "HTTPS_ONLY", "resourcemanager_hostname": "rm"}, "https://rm:8090"),
        ({"http_policy": "HTTPS_ONLY", "resourcemanager_webapp_https_address": "rm:1"}, "https://rm:1"),
    ],
)
def test_yarn_site_is_read_as_hadoop_does(tmp_path: Path, properties: dict[str, str], url: str) -> None:
    assert find_server(None, conf(tmp_path, **properties), [LOCAL]).url == url


def test_of_several_resource_managers_the_first_is_asked(tmp_path: Path) -> None:
    names = {"ha.enabled": "true", "ha.rm-ids": "rm1, rm2", "webapp.address.rm1": "a:1", "webapp.address.rm2": "b:1"}
    named = {f"yarn.resourcemanager.{name}": value for name, value in names.items()}
    (tmp_path / "yarn-site.xml").write_text(site_xml(named, "a test"))
    assert find_server(None, {"HADOOP_CONF_DIR": str(tmp_path)}, []).url == "http://a:1"


def test_what_is_set_and_names_none_never_leaves_it_to_another(tmp_path: Path) -> None:
    """A command would change another ResourceManager where a slip of the pen in the first was passed over."""
    typo, file = tmp_path / "hadoop-prdo", tmp_path / "file"
    file.touch()
    hadoop = "HADOOP_CONF_DIR"
    for option, environment, words in (
        (None, {hadoop: str(typo)}, f"Invalid {hadoop}: '{typo}'; expected a directory with a yarn-site.xml"),
        (None, {hadoop: str(file)}, f"Invalid {hadoop}: '{file}'; expected a directory with a yarn-site.xml"),
        (
            None,
            conf(tmp_path, resourcemanager_hostnam="rm"),
            f"Invalid {hadoop}: '{tmp_path}/yarn-site.xml'; expected a file that sets "
            "yarn.resourcemanager.webapp.address or yarn.resourcemanager.hostname, or --server",
        ),
        (None, {"YODEL_SERVER": ""}, "Invalid YODEL_SERVER: ''; expected a URL like http://rm-host:8088"),
        (None, {"YODEL_SERVER": "rm:8088"}, "Invalid YODEL_SERVER: 'rm:8088'; expected a URL like http://rm-host:8088"),
        ("", {"YODEL_SERVER": "http://rm"}, "Invalid --server: ''; expected a URL like http://rm-host:8088"),
    ):
        with pytest.raises(InvalidValue) as raised:
            find_server(option, environment, [LOCAL])
        assert str(raised.value) == words
    broken = conf(tmp_path, resourcemanager_webapp_address="rm:80 88")
    with pytest.raises(
        InvalidValue, match=r"Invalid yarn.resourcemanager.webapp.address in .*/yarn-site.xml: 'http://"
    ):
        find_server(None, broken, [LOCAL])
    (tmp_path / "yarn-site.xml").write_text(
        site_xml({"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1"}, "a test")
    )
    with pytest.raises(InvalidValue, match=r"webapp\.address\.rm1"):
        find_server(None, broken, [LOCAL])


@pytest.mark.parametrize("server", ["", "rm", "rm:8088", "ftp://rm", "http://", "http://rm:x", "http://[::1"])
def test_server_has_to_be_a_url(server: str) -> None:
    with pytest.raises(InvalidValue, match="Invalid --server"):
        find_server(server, {}, [])


def test_a_variable_of_hadoops_that_is_empty_is_not_set() -> None:
    """Its scripts write it so."""
    assert find_server(None, {"HADOOP_CONF_DIR": ""}, []).url == STANDARD_URL


def test_variables_that_name_each_other_end(tmp_path: Path) -> None:
    hadoop = conf(tmp_path, resourcemanager_hostname="${yarn.resourcemanager.hostname}")
    assert find_server(None, hadoop, []).url == "http://${yarn.resourcemanager.hostname}:8088"


def test_malformed_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text("<configuration>")
    with pytest.raises(InvalidValue, match=r"Invalid HADOOP_CONF_DIR: '.*yarn-site.xml'; expected Hadoop's"):
        find_server(None, {"HADOOP_CONF_DIR": str(tmp_path)}, [])


def test_one_of_several_has_to_be_named() -> None:
    other = RunningLocal(directory=Path("/tmp/b"), rest_url="http://127.0.0.1:6")
    with pytest.raises(SeveralLocals) as raised:
        find_server(None, {}, [LOCAL, other])
    assert str(raised.value) == (
        "Several yodel local are running: http://127.0.0.1:5 (--dir /tmp/a), http://127.0.0.1:6 (--dir /tmp/b). Choose "
        "one with --server http://127.0.0.1:5 or YODEL_SERVER, or set HADOOP_CONF_DIR=/tmp/a/hadoop-conf"
    )
