"""Two OS users' jobs side by side on one node: neither reads the other's localized files or tokens.

The test makes OS users, so it runs as root, like the CI does.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import Cluster
from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import JOBS, OsUser, Spark, spark_venv

NAMES = ("yodel-alice", "yodel-bob")


@pytest.fixture(scope="module")
def users() -> list[OsUser]:
    """Two users with homes of their own, made when they are not there yet."""
    assert os.geteuid() == 0, "making OS users needs root: run this test as root"
    for name in NAMES:
        command = ["useradd", "--create-home", "--user-group", "--shell", "/bin/bash", name]
        done = subprocess.run(command, timeout=30, capture_output=True, text=True)
        assert done.returncode in (0, 9), done.stderr  # 9: the user is there already
    return [OsUser(name=name, home=pwd.getpwnam(name).pw_dir) for name in NAMES]


@pytest.fixture(scope="module")
def public_spark(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark 3.5 where every user can read it, with an interpreter that every user can start."""
    folder = pathlib.Path("/var/tmp") / f"yodel-public-spark-{os.getpid()}"
    source = next(spark_venv("3.5.x").glob("lib/python3*/site-packages")) / "pyspark"
    shutil.copytree(source, folder, copy_function=_link_or_copy)
    folder.chmod(0o755)
    yield Spark("3.5.x", cluster, home=folder, python=_public_python())
    shutil.rmtree(folder, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _public_python() -> str:
    """A Python that an unprivileged user can start; a private one (of a user's home) is of no use to others."""
    for candidate in ("/usr/bin/python3", "/usr/local/bin/python3", shutil.which("python3") or ""):
        with_rights = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", candidate, "-c", "import sys"]
        if candidate and subprocess.run(with_rights, timeout=30, capture_output=True).returncode == 0:
            return candidate
    raise AssertionError("no Python that other users can start: apt-get install python3")


def read_as(user: OsUser, path: str) -> subprocess.CompletedProcess[bytes]:
    """Return what ``cat`` says to that user; token files are not text."""
    command = ["cat", path]
    return subprocess.run(
        command, user=user.name, group=user.name, extra_groups=[], cwd="/", timeout=10, capture_output=True
    )


def start_job(spark: Spark, user: OsUser, folder: pathlib.Path) -> HeldJob:
    """A job of the user's with a private file in its luggage; program and folder are the user's own."""
    own = folder / user.name
    own.mkdir(mode=0o755)
    secret = own / "secret.txt"
    secret.write_text(f"{user.name}'s secret")
    secret.chmod(0o600)
    job = shutil.copy(JOBS / "slow_sum.py", own / "slow_sum.py")
    for path in (own, secret, pathlib.Path(job)):
        shutil.chown(path, user.name, user.name)
    return HeldJob(spark, own, executors=1, job=str(job), more=("--files", str(secret)), user=user)


def test_neither_of_two_users_reads_the_others_files_and_tokens(
    public_spark: Spark, users: list[OsUser], shared_dir: pathlib.Path
) -> None:
    with contextlib.ExitStack() as started:
        jobs = [started.enter_context(start_job(public_spark, user, shared_dir)) for user in users]
        places = [job.working(1)[0] for job in jobs]
        for user, other, place in zip(users, reversed(users), places, strict=True):
            for path in (f"{place['folder']}/secret.txt", place["tokens"]):
                assert read_as(user, path).returncode == 0, f"{user.name} cannot read its own {path}"
                refused = read_as(other, path)
                assert refused.returncode != 0
                assert b"Permission denied" in refused.stderr
                assert b"Permission denied" in read_as(other, os.path.realpath(path)).stderr
            assert read_as(user, f"{place['folder']}/secret.txt").stdout == f"{user.name}'s secret".encode()
            assert os.stat(place["folder"]).st_uid == pwd.getpwnam(user.name).pw_uid
        for job, user in zip(jobs, users, strict=True):
            job.release()
            result = job.result()
            assert result.returncode == 0, result.text[-6000:]
            assert job.is_right()
            assert public_spark.cluster.application(job.application_id)["user"] == user.name
