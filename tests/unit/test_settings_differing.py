"""Settings that differ from their defaults are told with where each was read, and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.settings.differing import without_secrets
from yodel.settings.rm import Settings, load

FILE = """
store_url = "postgresql+asyncpg://yodel:sEcret@db/yodel?password=sEcret"
client_port = 18032
log_level = "info"
queues = ["etl", "adhoc"]
proxy_users = { "hadoop.proxyuser.hue.hosts" = "sEcret" }

[web]
admin_networks = ["10.0.0.0/8"]
csrf_enabled = false

[queue_defaults.pod_template.spec]
containers = [{ name = "sEcret" }]
"""


def test_each_has_its_value_its_default_and_where_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rm.toml"
    file.write_text(FILE)
    monkeypatch.setenv("YODEL_ACL_ENABLE", "true")
    monkeypatch.setenv("YODEL_WEB", '{"csrf_enabled": true}')
    monkeypatch.setenv("YODEL_CLIENT_PORT", "18033")
    found = {one.name: one for one in load(file, {"webapp_port": 18088}).differing}
    assert {name: (one.value, one.default, one.source) for name, one in found.items()} == {
        "store_url": (
            "postgresql+asyncpg://yodel:…@db/yodel?…",
            "sqlite+aiosqlite:////var/lib/yodel/rm.db",
            "file",
        ),
        "client_port": ("18033", "8032", "environment"),
        "webapp_port": ("18088", "8088", "command line"),
        "queues": ("etl, adhoc", "default", "file"),
        "acl_enable": ("true", "false", "environment"),
        "web.csrf_enabled": ("true", "false", "environment"),
        "web.admin_networks": ("10.0.0.0/8", "", "file"),
        "proxy_users": (None, "", "file"),
        "queue_defaults.pod_template": (None, "", "file"),
    }
    assert "sEcret" not in repr(list(found.values()))


def test_settings_that_were_not_read_have_no_source() -> None:
    assert Settings().differing == []
    (one,) = Settings(client_port=1).differing
    assert (one.name, one.value, one.source) == ("client_port", "1", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+asyncpg://yodel@db:5432/yodel", "postgresql+asyncpg://yodel@db:5432/yodel"),
        ("postgresql+asyncpg://yodel:a/b@c#d@db/yodel", "postgresql+asyncpg://yodel:…@db/yodel"),
        ("postgresql+asyncpg://db/yodel?user=me&password=it", "postgresql+asyncpg://db/yodel?…"),
        ("postgresql+asyncpg://yodel:a?b@db/yodel", "postgresql+asyncpg://…"),
        ("postgresql+asyncpg://db/yodel?password=a@b", "postgresql+asyncpg://…"),
        ("sqlite+aiosqlite:////var/lib/rm.db", "sqlite+aiosqlite:////var/lib/rm.db"),
        ("alice hadoop", "alice hadoop"),
    ],
)
def test_addresses_have_neither_password_nor_parameters(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
