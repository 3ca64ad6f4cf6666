"""Settings of the RM: layers, limits, and what a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from yodel.errors import InvalidValue
from yodel.settings.layers import InvalidSettings
from yodel.settings.rm import Settings, load


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rm.toml"
    path.write_text(text)
    return path


def test_defaults_are_yarns() -> None:
    settings = load(None)
    ports = (settings.client_port, settings.scheduler_port, settings.tracker_port, settings.admin_port)
    assert ports == (8032, 8030, 8031, 8033)
    assert (settings.minimum_allocation_mib, settings.maximum_allocation_mib) == (1024, 8192)
    assert (settings.am_max_attempts, settings.am_expiry_s, settings.node_expiry_s) == (2, 600.0, 600.0)


def test_environment_wins_over_the_file_and_overrides_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, 'client_port = 1\nscheduler_port = 1\nnamespace = "file"\n')
    monkeypatch.setenv("YODEL_CLIENT_PORT", "2")
    monkeypatch.setenv("YODEL_SCHEDULER_PORT", "2")
    settings = load(file, {"client_port": 3})
    assert (settings.client_port, settings.scheduler_port, settings.namespace) == (3, 2, "file")


def test_settings_cannot_be_changed_later() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load(None).client_port = 1  # type: ignore[misc]


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"--config.*a readable TOML file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("client_port = 70000", ("client_port", "70000", "65535")),
        ('client_port = "x"', ("client_port", "'x'", "integer")),
        ("am_share = 1.5", ("am_share", "1.5", "less than or equal to 1")),
        ("minimum_allocation_mib = 0", ("minimum_allocation_mib", "0", "greater than or equal to 1")),
        ('user_mode = "nobody"', ("user_mode", "'nobody'", "'os' or 'single'")),
        ("clientport = 1", ("clientport", "no such setting", "mean client_port?", "docs/configuration.md")),
        ("[web]\nhost_namse = []", ("web.host_namse", "no such setting; did you mean host_names? docs")),
        ("[host_namse]\na = 1", ("host_namse", "no such setting; docs")),
        ('client_port = "' + "x" * 999 + '"', ("client_port: 'xxx", "xxx…; Input should be a valid integer")),
    ],
)
def test_mistake_is_one_line_with_field_value_and_expectation(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load(written(tmp_path, text))
    (line,) = str(caught.value).splitlines()
    assert all(word in line for word in words), line


def test_every_field_that_has_a_unit_names_it() -> None:
    numbers = [name for name, field in Settings.model_fields.items() if field.annotation is float]
    assert [name for name in numbers if not name.endswith(("_s", "_share", "_per_second"))] == []
