"""The RM's keys on disk, written when they change and only then."""

from __future__ import annotations

from pathlib import Path

from nm_plugin.host.users import FileThreads
from nm_plugin.keys.keeper import KeyKeeper
from nm_plugin.keys.key_file import KeyFile
from nm_plugin.keys.token_secrets import KeyRing, TokenSecrets
from tests.support.fake_tracker import CONTAINER_KEY, NM_KEY, RM_IDENTIFIER
from yodel.domain.tokens import MasterKey
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb


class CountingFile(KeyFile):
    """The real file; counts, and fails while told to."""

    saves = 0
    is_full = False

    def save(self, ring: KeyRing) -> None:
        self.saves += 1
        if self.is_full:
            raise OSError(28, "No space left on device")
        super().save(ring)


def give(secrets: TokenSecrets, nm: MasterKey, container: MasterKey) -> None:
    secrets.rm_identifier = RM_IDENTIFIER
    secrets.take_keys(
        common_pb.MasterKeyProto(key_id=nm.key_id, bytes=nm.secret),
        common_pb.MasterKeyProto(key_id=container.key_id, bytes=container.secret),
    )


async def test_next_agent_has_the_keys(tmp_path: Path, threads: FileThreads) -> None:
    file, secrets = KeyFile(tmp_path), TokenSecrets()
    keeper = KeyKeeper(secrets, file, threads)
    assert not await keeper.recover()
    give(secrets, NM_KEY, CONTAINER_KEY)
    await keeper.save()
    restarted = TokenSecrets()
    assert await KeyKeeper(restarted, KeyFile(tmp_path), threads).recover()
    assert (restarted.nm_key_id, restarted.container_key_id) == (NM_KEY.key_id, CONTAINER_KEY.key_id)
    # Whose containers' tokens are good is the next registration's word.
    assert not restarted.is_ready


async def test_unchanged_keys_cost_no_write(tmp_path: Path, threads: FileThreads) -> None:
    file, secrets = CountingFile(tmp_path), TokenSecrets()
    keeper = KeyKeeper(secrets, file, threads)
    give(secrets, NM_KEY, CONTAINER_KEY)
    await keeper.save()
    await keeper.save()
    assert file.saves == 1
    give(secrets, MasterKey(key_id=9, secret=b"n" * 16), CONTAINER_KEY)
    await keeper.save()
    assert file.saves == 2


async def test_full_disk_is_survived_and_tried_again(tmp_path: Path, threads: FileThreads) -> None:
    file, secrets = CountingFile(tmp_path), TokenSecrets()
    keeper = KeyKeeper(secrets, file, threads)
    give(secrets, NM_KEY, CONTAINER_KEY)
    file.is_full = True
    await keeper.save()
    assert file.load() is None
    file.is_full = False
    await keeper.save()
    assert file.load() == secrets.ring()
