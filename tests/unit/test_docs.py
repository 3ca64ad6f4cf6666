"""The documents say what is so: made pages are fresh, paths exist, links lead somewhere, marked commands run.

A block is run when the line above its fence is ``<!-- runs: WORD -->``; ``yodel`` there is this environment's.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.clients.table import SECTION
from tests.conformance.rest.allowed import LINES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").rglob("*.md")])
MADE = {
    "scripts/state_machines.py": "docs/state-machines.md",
    "scripts/coming_from_yarn.py": "docs/coming-from-yarn.md",
    "scripts/configuration.py": "docs/configuration.md",
    "scripts/pod_to_container.py": "docs/pod-to-container.md",
    "scripts/helm_values.py": "docs/helm-values.md",
    "scripts/limits.py": "docs/compatibility.md",
    "scripts/rooms.py": "docs/rooms.md",
}
TOP_LEVEL = ("yodel", "nm_plugin", "tests", "docs", "scripts", "docker", "examples", "migrations", "bench", "deploy")
PATH = re.compile(rf"(?<![\w/.$~-])((?:{'|'.join(TOP_LEVEL)})/[\w./-]*\w/?)(?![\w:-])")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
MARKED = re.compile(r"<!-- runs: [\w -]+ -->\n```\w*\n(.*?)```", re.DOTALL)
FUNCTION = re.compile(r"`(?:(\w+)\.)?(_?[a-z_]+)`")
RUN_TIMEOUT_S = 60


def ids(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("script", MADE)
def test_made_page_is_fresh(script: str) -> None:
    assert (ROOT / MADE[script]).read_text() == runpy.run_path(str(ROOT / script))["render"](), f"run {script}"


@pytest.mark.parametrize("page", ["queues.md", "colocation.md", "remote-shuffle.md"])
def test_tables_of_properties_are_fresh(page: str) -> None:
    script = "scripts/coming_from_yarn.py"
    made = runpy.run_path(str(ROOT / script))["render_properties"](page)
    assert (ROOT / "docs" / page).read_text() == made, f"run {script}"


def test_differences_of_the_rest_api_are_those_that_are_allowed() -> None:
    """A full run of `make conformance` writes them; a reason that is put right is right on the page, too."""
    text = (ROOT / "docs" / "compatibility.md").read_text().partition(SECTION)[2]
    rows = [tuple(line.strip("| ").split(" | ")) for line in text.splitlines() if line.startswith("| ")][1:]
    told = [(what, hadoop, ours, why) for what, _, hadoop, ours, why in rows]
    assert len(told) > 30
    assert told == [row for line in LINES if (row := (line.what, line.hadoop, line.yodel, line.reason)) in told]


PAGES_WITH_PATHS = [page for page in PAGES if page.name != "helm-values.md"]  # names of images look like paths


@pytest.mark.parametrize("page", PAGES_WITH_PATHS, ids=ids(PAGES_WITH_PATHS))
def test_paths_named_exist(page: Path) -> None:
    named = PATH.findall(page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def test_functions_of_the_tour_exist() -> None:
    sources = "\n".join(
        path.read_text() for package in ("yodel", "nm_plugin") for path in (ROOT / package).rglob("*.py")
    )
    named = set(FUNCTION.findall((ROOT / "docs" / "tour.md").read_text()))
    assert len(named) > 15
    missing = [name for owner, name in named if not re.search(rf"def {name}\(", sources)]
    assert missing == []
    assert [owner for owner, _ in named if owner and not re.search(rf"class {owner}\b", sources)] == []


@pytest.mark.parametrize(
    "block",
    [block for page in PAGES for block in MARKED.findall(page.read_text())],
    ids=lambda text: text.split("\n")[0],
)
def test_marked_commands_run(block: str, tmp_path: Path) -> None:
    text = block.replace(".venv/bin/", f"{Path(sys.prefix) / 'bin'}/")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_some_commands_are_marked() -> None:
    assert [page.name for page in PAGES if MARKED.search(page.read_text())] == ["README.md"]


def test_every_dependency_has_its_line() -> None:
    declared = set(re.findall(r'^    "([a-z0-9-]+)', _dependencies(), re.MULTILINE))
    assert len(declared) > 10
    page = (ROOT / "docs" / "decisions" / "0009-dependencies.md").read_text()
    lines = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    assert [name for name in sorted(declared) if not re.search(rf"(?<![\w-]){name}(?![\w-])", lines)] == []


def test_decisions_are_numbered_and_say_what_a_decision_says() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [record.name[:4] for record in records]
    assert numbers == sorted({*numbers}), "two decisions have one number"
    assert all(number.isdigit() for number in numbers)
    for record in records:
        text = record.read_text()
        assert text.startswith(f"# {record.name[:4]} ")
        assert all(f"**{part}.**" in text for part in ("Context", "Choice", "Consequences")), record.name


def _dependencies() -> str:
    return (ROOT / "pyproject.toml").read_text().split("\ndependencies = [")[1].split("\n]")[0]


def test_every_example_is_used_by_the_demo_and_named_where_users_look() -> None:
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert [name for name in sorted(examples) if name not in (ROOT / "scripts" / "demo.py").read_text()] == []
    assert [name for name in sorted(examples) if f"examples/{name}" not in (ROOT / "README.md").read_text()] == []
