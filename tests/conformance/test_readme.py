"""Every block of README, and of the first section of each page of docs/, does what it says on one ``yodel local``.

A fence names what is in it: ``sh`` runs, as it is typed, from the checkout; ``toml`` is read as settings; ``console``,
``json``, ``python``, ``mermaid`` and ``text`` are shown, and other tests hold what is made or run of them.  A fence
without a name fails.  Only addresses, folders and ids of the reader's own are replaced (``mine``).
"""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import re
import shlex
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from tests.conformance.cluster import ROOT, TOOLS, Cluster, running, wait_for
from tests.conformance.spark_submit import Spark
from tests.support.hadoop_jars import client_jars
from yodel.settings.rm import Settings

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
SHOWN = {"console", "json", "python", "mermaid", "text"}
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
# What a page takes for granted, by its name: queues that its lines change.
NEW = "yodel queue create root.{0} capacity=0"
TWO_QUEUES = "; ".join(
    (
        *map(NEW.format, ("etl", "adhoc")),
        "yodel queue set root.etl capacity=30 root.adhoc capacity=70 root.default capacity=0",
    )
)
LONG_JOB = "--conf spark.yarn.submit.waitAppCompletion=false examples/pi.py 100000000"
BEFORE = {
    "api.md": f"spark-submit --master yarn --deploy-mode cluster {LONG_JOB}; {TWO_QUEUES}",
    "queues.md": TWO_QUEUES,
    "remote-shuffle.md": f"{NEW.format('lent')}; yodel queue set root.lent capacity=50 root.default capacity=50",
}
LENDS = ("colocation.md",)
"""Pages about a cluster whose queues draw on what is lent."""
SUBMITTED = re.compile(r"Submitted application (application_\d+_\d+)")
JOBS_TIMEOUT_S = 1_800
YARN = """case "$1" in
  schedulerconf) main=SchedConfCLI ;;
  application) main=ApplicationCLI ;;
  rmadmin) main=RMAdminCLI ;;
esac
shift
exec {java}/bin/java -Xmx256m -cp {classes} org.apache.hadoop.yarn.client.cli.$main "$@"
"""


def first_section(page: str) -> str:
    """The page down to its second heading of the second order."""
    return "".join(SECTION.split(page)[:2])


def blocks(text: str, kind: str) -> list[str]:
    return [body for named, body in FENCE.findall(text) if named == kind]


class Reader:
    """Somebody at a terminal in the checkout who types the lines of a page."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.application = ""
        """The id of the application that the pages call application_1700000000000_0007."""

    def mine(self, text: str) -> str:
        own = {
            "/tmp/yodel": str(self.cluster.directory),
            "/tmp/": f"{self.folder}/",
            "http://rm:8088": self.cluster.ready.rest_url,
            "application_1700000000000_0007": self.application,
        }
        # In one pass: the reader's own folders may be below /tmp, too.
        return re.sub("|".join(map(re.escape, own)), lambda found: own[found[0]], text)

    def types(self, text: str) -> str:
        """Return what it prints; AssertionError when a line of it fails."""
        spark = Spark("4.x", self.cluster)
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        classes = shlex.quote(f"{self.cluster.ready.hadoop_conf_dir}:{client_jars('3.5')}/*")
        _program(programs / "yarn", YARN.format(java=spark.environment["JAVA_HOME"], classes=classes))
        _program(programs / "spark-submit", f'exec {ROOT}/scripts/spark-submit "$@"\n')
        path = f"{programs}:{ROOT}/.venv/bin:{TOOLS}:{os.environ['PATH']}"
        ready = self.cluster.ready
        own = {"HADOOP_CONF_DIR": str(ready.hadoop_conf_dir), "KUBECONFIG": str(ready.kubeconfig), "PATH": path}
        command = ["bash", "-euo", "pipefail", "-c", self.mine(text)]
        # One descriptor for both, and no name of Spark's or Hadoop's but the reader's own.
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "HADOOP_", "YODEL_"))} | own
        done = subprocess.run(
            command, cwd=ROOT, env=environment, text=True, timeout=JOBS_TIMEOUT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout[-4000:]}"
        return done.stdout

    def manages(self, text: str) -> bool:
        try:
            self.types(text)
        except AssertionError:
            return False
        return True


def _program(path: pathlib.Path, text: str) -> None:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Return a reader who has started README's own ``yodel local``."""
    folder = pathlib.Path(os.path.realpath(tmp_path_factory.mktemp("reader")))
    with running() as cluster:
        yield Reader(cluster, folder)


def test_every_block_says_what_is_in_it() -> None:
    read = {README: README.read_text(), **{page: first_section(page.read_text()) for page in PAGES}}
    kinds = {(page.name, kind) for page, text in read.items() for kind, _ in FENCE.findall(text)}
    assert {(page, kind) for page, kind in kinds if kind not in SHOWN | {"sh", "toml"}} == set()


@pytest.mark.timeout(JOBS_TIMEOUT_S)
def test_readmes_lines_work_as_often_as_they_are_typed(reader: Reader) -> None:
    lines = "".join(blocks(README.read_text(), "sh"))
    assert "yodel local" not in lines.replace("yodel local --help", "")
    for _ in range(2):
        told = reader.types(lines)
        (answer,) = re.findall(r"^Pi is roughly (\d\.\d+)", told, re.MULTILINE)
        assert abs(float(answer) - math.pi) < 0.001
    text = (ROOT / "examples" / "river.txt").read_text()
    expected = Counter("".join(c.lower() if c.isalpha() else " " for c in text).split())
    counted = "".join(part.read_text() for part in (reader.folder / "words").glob("part-*"))
    assert {word: int(count) for word, count in (line.split("\t") for line in counted.splitlines())} == expected


WITH_LINES = [page for page in PAGES if blocks(first_section(page.read_text()), "sh")]


@pytest.mark.timeout(JOBS_TIMEOUT_S)
@pytest.mark.parametrize("page", WITH_LINES, ids=lambda page: page.name)
def test_first_lines_of_a_page_work(reader: Reader, page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with contextlib.ExitStack() as stack:
        if page.name in LENDS:
            reader = Reader(stack.enter_context(running(colocation="koordinator")), tmp_path)
        told = reader.types(BEFORE.get(page.name, ":"))
        reader.application = next(iter(SUBMITTED.findall(told)), "")
        for block in blocks(first_section(page.read_text()), "sh"):
            # Whoever has just switched colocation on types the last line again, until the agents have reported.
            wait_for(block, partial(reader.manages, block)) if page.name in LENDS else reader.types(block)
        reader.types("yodel queue revert 1")


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_first_settings_of_a_page_are_accepted(page: pathlib.Path) -> None:
    for block in blocks(first_section(page.read_text()), "toml"):
        Settings.model_validate(tomllib.loads(block))
