"""``hdfs:`` against a real HDFS: what the node agent fetches, and a Spark job that keeps everything in HDFS."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import pathlib
import pwd
import random
import shutil
import stat
import tarfile
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

import psutil
import pytest

from nm_plugin.host.directories import Directories, make_roots
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.localization.archive import ArchiveLimits
from nm_plugin.localization.cache import CacheSettings, LocalizationFailure, ResourceCache, ResourceClaim
from nm_plugin.localization.fetch import UrlReader
from nm_plugin.localization.hdfs import HdfsFiles
from nm_plugin.localization.plan import LocalResource, ResourceKey, ResourceType, SourceUrl, Visibility, scope_of
from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.spark_submit import Spark
from tests.support.hadoop import Hadoop
from tests.support.hdfs import Hdfs, configuration_xml
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId

APPLICATION = ApplicationId(1700000000000, 7)
CONTAINER = ContainerId.of(ApplicationAttemptId(APPLICATION, 1), 2)
BIG_BYTES = 50 << 20
FETCH_TIMEOUT_S = 600
ANSWER_TIMEOUT_S = 3
JOB_TIMEOUT_S = 600
AWKWARD_NAME = "two words, 100%25 #1 ü?.txt"
WORDS = ("yodel", "mountain", "valley", "the", "of", "echo")
STOP_WORDS = {"the", "of"}


def _user(name: str, uid: int) -> OsUser:
    """A user without an account; where tests run as root it has a uid of its own."""
    if os.geteuid() == 0:
        return OsUser(name=name, uid=uid, gid=uid)
    return OsUser(name=name, uid=os.geteuid(), gid=os.getegid())


ALICE, BOB = _user("alice", 23001), _user("bob", 23002)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node's resource cache, and the HDFS that it fetches from."""

    hdfs: Hdfs
    cache: ResourceCache
    sources: dict[str, UrlReader]
    threads: FileThreads

    def seen(self, path: str) -> LocalResource:
        """A PRIVATE file as a client that looked at it asks for it."""
        status = self.hdfs.status(path)
        url = SourceUrl(scheme="hdfs", authority=self.hdfs.authority, path=path)
        key = ResourceKey(url=url, timestamp_ms=status["modificationTime"], type=ResourceType.FILE)
        return LocalResource(link="link", key=key, visibility=Visibility.PRIVATE)

    async def localize(self, wanted: LocalResource, user: OsUser = ALICE) -> pathlib.Path:
        """Raises LocalizationFailure."""
        scope = scope_of(wanted.visibility, user.name, str(APPLICATION))
        return (await self.cache.localize(wanted, scope, ResourceClaim(container_id=CONTAINER, user=user))).path

    async def refusal(self, wanted: LocalResource, user: OsUser = ALICE) -> str:
        """The text for the container's diagnostics; the cache must not keep anything of it."""
        with pytest.raises(LocalizationFailure) as refused:
            await self.localize(wanted, user)
        return str(refused.value)


@pytest.fixture
def root() -> Iterator[pathlib.Path]:
    """A folder that every user may enter."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="yodel-node-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def node(hdfs: Hdfs, root: pathlib.Path) -> AsyncIterator[Node]:
    """Has no HADOOP_CONF_DIR: a URL with host and port is enough."""
    make_roots(Directories(local_dirs=(root / "local",), log_dirs=(root / "logs",)))
    settings = CacheSettings(
        local_dirs=(root / "local",),
        state_dir=root / "state",
        target_bytes=1 << 30,
        resource_bytes_max=BIG_BYTES,
        archive_limits=ArchiveLimits(entries_max=100, bytes_max=1 << 20, ratio_max=100),
        unpack_user=OsUser(name="", uid=65533, gid=65533),
        concurrency=2,
        fetch_timeout_s=FETCH_TIMEOUT_S,
    )
    threads = FileThreads(4)
    agent = OsUser(name="", uid=os.geteuid(), gid=os.getegid())
    async with asyncio.TaskGroup() as group:
        tasks = TaskOwner(group)
        source = HdfsFiles(threads=threads, config_dir=None, answer_timeout_s=ANSWER_TIMEOUT_S)
        sources: dict[str, UrlReader] = {"hdfs": source}
        cache = ResourceCache(settings, sources, threads, agent, tasks)
        yield Node(hdfs=hdfs, cache=cache, sources=sources, threads=threads)
        tasks.cancel_all()
    for used in {id(s): s for s in (source, *sources.values()) if isinstance(s, HdfsFiles)}.values():
        await used.close()
    threads.close()


def tree(root: pathlib.Path) -> dict[str, bytes | None]:
    """Content by name of all that is below; directories have none."""
    return {str(p.relative_to(root)): None if p.is_dir() else p.read_bytes() for p in root.rglob("*")}


def retyped(wanted: LocalResource, type_: ResourceType) -> LocalResource:
    return replace(wanted, key=replace(wanted.key, type=type_))


async def test_file_arrives_byte_for_byte_and_belongs_to_the_user(node: Node) -> None:
    content = random.Random(1).randbytes(200_001)
    node.hdfs.put(f"/user/alice/{AWKWARD_NAME}", content, user="alice", mode="600")
    path = await node.localize(node.seen(f"/user/alice/{AWKWARD_NAME}"))
    assert path.name == AWKWARD_NAME
    assert path.read_bytes() == content
    assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (ALICE.uid, 0o500)


async def test_empty_file(node: Node) -> None:
    node.hdfs.put("/user/alice/empty", b"", user="alice")
    assert (await node.localize(node.seen("/user/alice/empty"))).read_bytes() == b""


async def test_big_file_arrives_whole(node: Node) -> None:
    content = random.Random(2).randbytes(BIG_BYTES)
    node.hdfs.put("/user/alice/big", content, user="alice")
    path = await node.localize(node.seen("/user/alice/big"))
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(content).digest()


async def test_file_over_the_limit_is_refused(node: Node) -> None:
    node.hdfs.put("/user/alice/bigger", bytes(BIG_BYTES + 1), user="alice")
    assert await node.refusal(node.seen("/user/alice/bigger")) == f"Resource is larger than {BIG_BYTES} bytes"


async def test_file_that_changed_since_is_refused(node: Node) -> None:
    node.hdfs.put("/user/alice/changed", b"one", user="alice")
    wanted = node.seen("/user/alice/changed")
    node.hdfs.put("/user/alice/changed", b"two", user="alice")
    refusal = await node.refusal(wanted)
    assert refusal.startswith(f'Resource {wanted.key.url} changed on src filesystem - expected: "')
    assert "current time: " in refusal


async def test_missing_file_is_named(node: Node) -> None:
    node.hdfs.put("/user/alice/gone", b"x", user="alice")
    wanted = node.seen("/user/alice/gone")
    node.hdfs.delete("/user/alice/gone", user="alice")
    assert await node.refusal(wanted) == f"File does not exist: {node.hdfs.url}/user/alice/gone"


async def test_private_file_is_read_as_the_submitting_user(node: Node) -> None:
    node.hdfs.put("/user/alice/secret", b"alice's", user="alice", mode="600")
    wanted = node.seen("/user/alice/secret")
    assert "Permission denied: user=bob, access=READ" in await node.refusal(wanted, BOB)
    assert (await node.localize(wanted, ALICE)).read_bytes() == b"alice's"


async def test_public_is_only_what_everybody_may_read(node: Node) -> None:
    node.hdfs.put("/user/alice/open", b"for all", user="alice", mode="644")
    node.hdfs.put("/user/alice/closed", b"for some", user="alice", mode="640")
    opened, closed = (
        replace(node.seen(f"/user/alice/{name}"), visibility=Visibility.PUBLIC) for name in ("open", "closed")
    )
    path = await node.localize(opened)
    assert (path.read_bytes(), path.stat().st_uid) == (b"for all", os.geteuid())
    assert "is not publicly accessible" in await node.refusal(closed)


async def test_directory_arrives_with_all_below_it(node: Node) -> None:
    files = {"top.txt": b"top", "inner/deep.txt": b"deep", "inner/more/none": b""}
    for name, content in files.items():
        node.hdfs.put(f"/user/alice/tree/{name}", content, user="alice")
    node.hdfs.make_dir("/user/alice/tree/hollow", user="alice")
    path = await node.localize(node.seen("/user/alice/tree"))
    assert tree(path) == {**files, "hollow": None, "inner": None, "inner/more": None}


async def test_archive_is_unpacked(node: Node) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("bin/tool")
        member.size, member.mode = 4, 0o755
        archive.addfile(member, io.BytesIO(b"tool"))
    node.hdfs.put("/user/alice/tools.tar.gz", packed.getvalue(), user="alice")
    path = await node.localize(retyped(node.seen("/user/alice/tools.tar.gz"), ResourceType.ARCHIVE))
    assert (path / "bin" / "tool").read_bytes() == b"tool"
    assert os.access(path / "bin" / "tool", os.X_OK)


async def test_name_node_that_is_not_there_is_given_up(node: Node) -> None:
    node.hdfs.put("/user/alice/far", b"x", user="alice")
    wanted = node.seen("/user/alice/far")
    key = replace(wanted.key, url=replace(wanted.key.url, authority="127.0.0.1:1"))
    refusal = await node.refusal(replace(wanted, key=key))
    assert refusal == f"hdfs://127.0.0.1:1/user/alice/far: no answer within {ANSWER_TIMEOUT_S} s"
    assert "hdfs_reader" not in commands_of_children()


async def test_name_node_that_restarts_is_waited_for(node: Node, rig: Hadoop) -> None:
    """Away for a few seconds, and then in safe mode until its DataNode has told it of its blocks."""
    content = random.Random(5).randbytes(100_000)
    node.hdfs.put("/user/alice/patient", content, user="alice")
    wanted = node.seen("/user/alice/patient")
    patient = HdfsFiles(threads=node.threads, config_dir=None, answer_timeout_s=FETCH_TIMEOUT_S)
    node.sources["hdfs"] = patient
    rig.name_node.kill()
    try:
        fetching = asyncio.create_task(node.localize(wanted))
        await asyncio.sleep(2)
    finally:
        rig.name_node.launch()
    assert (await fetching).read_bytes() == content
    await asyncio.to_thread(node.hdfs.wait_until_ready)


async def test_many_containers_share_one_download(node: Node) -> None:
    node.hdfs.put("/user/alice/shared", b"once", user="alice")
    wanted = node.seen("/user/alice/shared")
    scope = scope_of(wanted.visibility, ALICE.name, str(APPLICATION))
    claims = [
        ResourceClaim(container_id=ContainerId.of(ApplicationAttemptId(APPLICATION, 1), sequence), user=ALICE)
        for sequence in range(2, 22)
    ]
    found = await asyncio.gather(*(node.cache.localize(wanted, scope, claim) for claim in claims))
    assert len({localized.path for localized in found}) == 1
    assert sum(not localized.was_cached for localized in found) == 1


async def test_viewfs_path_is_found_through_the_configuration(node: Node, root: pathlib.Path) -> None:
    conf = root / "conf"
    conf.mkdir()
    mounts = {"fs.viewfs.mounttable.cluster.link./data": f"{node.hdfs.url}/user/alice"}
    (conf / "core-site.xml").write_text(configuration_xml(mounts))
    node.hdfs.put("/user/alice/mounted", b"through a mount", user="alice")
    wanted = node.seen("/user/alice/mounted")
    url = SourceUrl(scheme="viewfs", authority="cluster", path="/data/mounted")
    node.sources["viewfs"] = HdfsFiles(threads=node.threads, config_dir=conf)
    path = await node.localize(replace(wanted, key=replace(wanted.key, url=url)))
    assert path.read_bytes() == b"through a mount"


async def test_nameservice_is_found_through_the_configuration(node: Node, root: pathlib.Path) -> None:
    """Two NameNodes by configuration, the first of which is not there."""
    conf = root / "conf"
    conf.mkdir()
    settings = {
        "dfs.nameservices": "lake",
        "dfs.ha.namenodes.lake": "gone,here",
        "dfs.namenode.rpc-address.lake.gone": "127.0.0.1:1",
        "dfs.namenode.rpc-address.lake.here": node.hdfs.authority,
    }
    (conf / "core-site.xml").write_text(configuration_xml({"fs.defaultFS": "hdfs://lake"}))
    (conf / "hdfs-site.xml").write_text(configuration_xml(settings))
    node.hdfs.put("/user/alice/either", b"from the living", user="alice")
    wanted = node.seen("/user/alice/either")
    url = replace(wanted.key.url, authority="lake")
    node.sources["hdfs"] = HdfsFiles(threads=node.threads, config_dir=conf)
    path = await node.localize(replace(wanted, key=replace(wanted.key, url=url)))
    assert path.read_bytes() == b"from the living"


async def test_public_needs_every_directory_above_open(node: Node) -> None:
    node.hdfs.make_dir("/user/alice/private", user="alice", mode="700")
    node.hdfs.put("/user/alice/private/open", b"not so public", user="alice", mode="644")
    wanted = replace(node.seen("/user/alice/private/open"), visibility=Visibility.PUBLIC)
    assert await node.refusal(wanted) == (
        f"Resource {wanted.key.url} is not publicly accessible and as such cannot be part of the public cache."
    )


def commands_of_children() -> str:
    with_words = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            with_words += child.cmdline()
    return " ".join(with_words)


class SparkOnHdfs(Spark):
    """Spark whose default file system, and so its staging directory, is in HDFS."""

    def __init__(self, cluster: Cluster, conf_dir: pathlib.Path) -> None:
        super().__init__("4.x", cluster)
        self.conf_dir = conf_dir

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "HADOOP_CONF_DIR": str(self.conf_dir)}


@pytest.fixture
def spark_on_hdfs(cluster: Cluster, hdfs: Hdfs, tmp_path: pathlib.Path) -> SparkOnHdfs:
    """The cluster's client configuration with another ``fs.defaultFS``; the agents' own is left as it is."""
    conf_dir = shutil.copytree(cluster.ready.hadoop_conf_dir, tmp_path / "conf")
    (conf_dir / "core-site.xml").write_text(configuration_xml({"fs.defaultFS": hdfs.url}))
    return SparkOnHdfs(cluster, conf_dir)


def text(lines: int) -> list[str]:
    chosen = random.Random(3)
    return [" ".join(chosen.choices(WORDS, k=8)) for _ in range(lines)]


def test_spark_job_with_staging_input_and_output_in_hdfs(
    spark_on_hdfs: SparkOnHdfs, hdfs: Hdfs, tmp_path: pathlib.Path
) -> None:
    lines, stop_words, book = text(2000), tmp_path / "stop_words.txt", tmp_path / "book.txt"
    stop_words.write_text("\n".join(STOP_WORDS))
    book.write_text("\n".join(lines))
    me = pwd.getpwuid(os.geteuid()).pw_name
    hdfs.shell("-mkdir", "-p", f"/user/{me}", user=me)
    hdfs.shell("-put", str(book), f"/user/{me}/book.txt", user=me)
    paths = (f"{hdfs.url}/user/{me}/book.txt", f"{hdfs.url}/user/{me}/counts")
    result = spark_on_hdfs.submit(
        "cluster", "count_words.py", *paths, more=("--files", str(stop_words)), timeout_s=JOB_TIMEOUT_S
    )
    assert result.returncode == 0, result.text[-6000:]
    assert f"-> {hdfs.url}/user/{me}/.sparkStaging/{result.application_id}/stop_words.txt" in result.text
    assert spark_on_hdfs.cluster.application(result.application_id)["finalStatus"] == "SUCCEEDED"
    expected = Counter(word for line in lines for word in line.split() if word not in STOP_WORDS)
    written = hdfs.shell("-cat", f"/user/{me}/counts/part-*", user=me).splitlines()
    assert {word: int(count) for word, count in map(str.split, written)} == expected
    wait_for("the staging folder to go", lambda: hdfs.names(f"/user/{me}/.sparkStaging") == [])
