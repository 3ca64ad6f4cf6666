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
    "a\\b",
    "semi;colon & more",
    "*.py",
    "",
    "--flag=a b",
]
ENVIRONMENT = {"YODEL_TEST_PLAIN": "value", "YODEL_TEST_SPACED": "two words", "YODEL_TEST_EQUALS": "a=b"}


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
    conf = {f"spark.yarn.appMasterEnv.{k}": v for k, v in ENVIRONMENT.items()}
    conf |= {f"spark.executorEnv.{k}": v for k, v in ENVIRONMENT.items()}
    # YARN's launch script exports values in double quotes, so a dollar that is meant as one wears a backslash.
    conf["spark.yarn.appMasterEnv.YODEL_TEST_DOLLAR"] = "costs \\$5"
    options = prepare(shared_dir)
    result = any_spark.submit("cluster", "what_arrived.py", report, *ARGUMENTS, conf=conf, more=options)
    assert result.returncode == 0, result.text[-6000:]
    seen = json.loads(report.read_text())
    expected = {
        "file": "a note\nof two lines\n",
        "archive": {"top.txt": "top", "inner/deep.txt": "deep"},
        "module": "brought by --py-files",
        "environment": ENVIRONMENT,
    }
    assert seen["arguments"] == ARGUMENTS
    assert seen["driver"] == expected | {"environment": {**ENVIRONMENT, "YODEL_TEST_DOLLAR": "costs $5"}}
    assert seen["executor"] == expected
