"""Settings in layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.settings import load
from yodel.errors import InvalidValue
from yodel.settings.layers import InvalidSettings


def test_file_then_environment_then_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "nm.toml"
    config.write_text('host = "from-file"\nrpc_port = 1\nhttp_port = 1\nlocal_dirs = ["/a", "/b"]\n')
    monkeypatch.setenv("YODEL_NM_RPC_PORT", "2")
    monkeypatch.setenv("YODEL_NM_HTTP_PORT", "2")
    settings = load(config, {"http_port": "3"})
    assert (settings.host, settings.rpc_port, settings.http_port) == ("from-file", 2, 3)
    assert settings.local_dirs == (Path("/a"), Path("/b"))


def test_defaults_follow_yarn_default(tmp_path: Path) -> None:
    settings = load(None)
    assert (settings.rpc_port, settings.http_port, settings.sigkill_delay_ms) == (8041, 8042, 250)
    assert (settings.pmem_check_enabled, settings.vmem_check_enabled, settings.vmem_pmem_ratio) == (True, False, 2.1)


def test_missing_file_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"/no/such\.toml"):
        load(Path("/no/such.toml"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"local_dirs": ["relative"]},
        {"web_cross_origin_origins": ["regex:("]},
        {"web_frame_options": "ALLOW"},
        {"web_authentication": "none"},
        {"web_cross_origin_methods": ["GET, PUT"]},
        {"web_cross_origin_headers": ["A\r\nB"]},
        {"local_dirs": []},
        {"local_dirs": ["/a,b"]},
        {"no_such": 1},
        {"host_cidr": "10.0.0"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidSettings):
        load(None, wrong)


def test_whitelist_takes_configured_values_over_the_agents_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/theirs")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    values = load(None, {"java_home": "/jdk", "env_defaults": {"LANG": "C", "SECRET": "x"}}).whitelisted_env()
    assert (values["JAVA_HOME"], values["TZ"], values["LANG"]) == ("/jdk", "UTC", "C")
    assert "SECRET" not in values
    assert "HADOOP_HOME" not in values
