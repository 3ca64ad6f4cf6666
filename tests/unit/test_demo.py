"""The demo judges whether jobs are right, and not how busy the machine is."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "demo.py"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = importlib.util.spec_from_file_location("demo", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "demo", module)
    found.loader.exec_module(module)
    monkeypatch.setattr(module, "LOAN_TIMEOUT_S", 0.5)
    return module


@pytest.mark.parametrize(
    ("state", "lent"),
    [("LENDING", {"cpu_milli": 1500, "memory_mib": 4096}), ("FULL", {"memory_mib": 4096}), ("FULL", {})],
)
def test_busy_machine_lends_nothing_and_the_demo_goes_on(
    demo: ModuleType, monkeypatch: pytest.MonkeyPatch, state: str, lent: dict[str, int]
) -> None:
    answer = json.dumps({"node_counts": {state: 1}, "lent": lent}).encode()
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(answer))
    assert demo._lent("http://rm:8088") == (lent.get("cpu_milli", 0), lent.get("memory_mib", 0))


def test_agent_that_does_not_report_is_an_error(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = json.dumps({"node_counts": {"STALE": 1}, "lent": {}}).encode()
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(answer))
    with pytest.raises(RuntimeError, match="nothing was lent"):
        demo._lent("http://rm:8088")
