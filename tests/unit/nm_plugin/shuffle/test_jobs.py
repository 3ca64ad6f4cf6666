"""Registered jobs, in memory and on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nm_plugin.shuffle.jobs import SECRET_BYTES_MAX, Job, JobStore
from tests.support.shuffle import APPLICATION, SECRET, service_data
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue

JOB = Job(application_id=APPLICATION, user="alice", secret=SECRET)


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    store = JobStore(tmp_path / "shuffle")
    assert store.load() == []
    return store


@pytest.mark.parametrize("size", [1, 8, 20, SECRET_BYTES_MAX])
def test_password_of_any_length_is_the_secret(size: int) -> None:
    data = service_data(b"s" * size, identifier=b"\x1eapplication_1700000000000_0007")
    assert Job.from_service_data(APPLICATION, "alice", data).secret == b"s" * size


@pytest.mark.parametrize(
    "data", [b"", b"\x00", service_data(b""), service_data() + b"x", service_data()[:-2], service_data(b"s" * 4097)]
)
def test_data_that_is_no_token_is_refused_without_naming_it(data: bytes) -> None:
    with pytest.raises(InvalidValue) as caught:
        Job.from_service_data(APPLICATION, "alice", data)
    assert "ssss" not in str(caught.value)


def test_secret_is_not_in_the_repr() -> None:
    assert str(SECRET) not in repr(JOB)


def test_jobs_come_back(tmp_path: Path, store: JobStore) -> None:
    other = Job(application_id=ApplicationId(1, 2), user="bob", secret=b"\x00\xff")
    store.save(JOB)
    store.save(other)
    assert JobStore(tmp_path / "shuffle").load() == [JOB, other]
    store.remove(APPLICATION)
    store.remove(APPLICATION)
    assert store.load() == [other]


def test_only_the_agent_can_read_them(tmp_path: Path, store: JobStore) -> None:
    store.save(JOB)
    directory = tmp_path / "shuffle"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()] == [0o600]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "id": "x"}', "\x00" * 100_000])
def test_broken_file_is_dropped(tmp_path: Path, store: JobStore, content: str) -> None:
    store.save(JOB)
    broken = tmp_path / "shuffle" / "application_1_0001.json"
    broken.write_text(content)
    assert store.load() == [JOB]
    assert not broken.exists()


@pytest.mark.parametrize("content", ["", "{}", '{"port": 0}', '{"port": 70000}', '{"port": "x"}', "[]"])
def test_broken_port_is_none(tmp_path: Path, store: JobStore, content: str) -> None:
    (tmp_path / "shuffle" / "port.json").write_text(content)
    assert store.last_port() == 0


def test_port_comes_back(store: JobStore) -> None:
    assert store.last_port() == 0
    store.save_port(13562)
    assert store.last_port() == 13562
    assert store.load() == []
