"""Files, archives, modules, environment and awkward arguments reach driver and executors as they were given."""

from __future__ import annotations

import json
import pathlib
import zipfile

from tests.conformance.spark_submit import Spark

ARGUMENTS = [
    "two words",
    "it's",
    'say "hello"',
    "$HOME and ${PATH}",
    "back`tick`s",
    "a\\b",
    "semi;colon & more",
    "*.py",
    "",
    "größe",
    "--flag=a b",
]
ENVIRONMENT = {"PLAIN": "value", "SPACED": "two words", "EQUALS": "a=b", "DOLLAR": "costs $5"}


def prepare(folder: pathlib.Path) -> tuple[str, ...]:
    """Writes what is shipped; answers spark-submit's options for it."""
    (folder / "note.txt").write_text("a note\nof two lines\n")
    (folder / "extra_module.py").write_text("VALUE = 'brought by --py-files'\n")
    with zipfile.ZipFile(folder / "bundle.zip", "w") as bundle:
        bundle.writestr("top.txt", "top")
        bundle.writestr("inner/deep.txt", "deep")
    files = ("--files", f"{folder}/note.txt", "--py-files", f"{folder}/extra_module.py")
    return (*files, "--archives", f"{folder}/bundle.zip#bundle")


def test_everything_arrives_intact(any_spark: Spark, shared_dir: pathlib.Path) -> None:
    report = shared_dir / "report.json"
    conf = {f"spark.yarn.appMasterEnv.YODEL_TEST_{k}": v.replace("$", "\\$") for k, v in ENVIRONMENT.items()}
    conf |= {f"spark.executorEnv.YODEL_TEST_{k}": v.replace("$", "\\$") for k, v in ENVIRONMENT.items()}
    options = prepare(shared_dir)
    result = any_spark.submit("cluster", "what_arrived.py", report, *ARGUMENTS, conf=conf, more=options)
    assert result.returncode == 0, result.text[-6000:]
    seen = json.loads(report.read_text())
    expected = {
        "file": "a note\nof two lines\n",
        "archive": {"top.txt": "top", "inner/deep.txt": "deep"},
        "module": "brought by --py-files",
        "environment": {f"YODEL_TEST_{k}": v for k, v in ENVIRONMENT.items()},
    }
    assert seen["arguments"] == ARGUMENTS
    assert seen["driver"] == expected
    assert seen["executor"] == expected
