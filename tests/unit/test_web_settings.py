"""The table ``[web]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from yodel.settings.rm import load
from yodel.settings.web import WebSettings


def test_defaults_are_hadoops() -> None:
    web = WebSettings()
    assert (web.authentication, web.anonymous_allowed, web.cookie_validity_s) == ("simple", True, 36_000)
    assert (web.csrf_enabled, web.csrf_header, web.cross_origin_enabled) == (False, "X-XSRF-Header", False)
    assert (web.frames_enabled, web.frame_options) == (True, "SAMEORIGIN")


def test_table_is_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rm.toml"
    file.write_text('[web]\ncsrf_enabled = true\ncross_origin_origins = ["regex:https://.*"]\n')
    web = load(file).web
    assert (web.csrf_enabled, web.cross_origin_origins) == (True, ("regex:https://.*",))


@pytest.mark.parametrize(
    "fields",
    [
        {"authentication": "basic"},
        {"cookie_validity_s": 0},
        {"cookie_domain": "a.com; Secure"},
        {"csrf_header": "X Y"},
        {"host_names": ("http://rm",)},
        {"host_names": ("rm:8088",)},
        {"csrf_browsers": ("(",)},
        {"cross_origin_origins": ("regex:(",)},
        {"cross_origin_methods": ("get",)},
        {"frame_options": "ALLOW"},
        {"frame_options": "DENY\r\nX: y"},
        {"unknown": 1},
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WebSettings(**fields)
