"""Parts of the RM are made from its settings."""

from __future__ import annotations

import hashlib
import hmac
import runpy
from pathlib import Path

import pytest

from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.host.accounts import Accounts
from yodel.host.users import OsUsers
from yodel.settings.queues import QueueSettings
from yodel.settings.rm import Settings
from yodel.wiring import from_settings
from yodel.wiring.reloading import Reloading

ROOT = Path(__file__).resolve().parents[2]


def test_limits_of_allocation_come_from_the_settings() -> None:
    settings = Settings(minimum_allocation_mib=512, maximum_allocation_mib=2048, maximum_allocation_vcores=3)
    limits = from_settings.allocation_limits(settings)
    assert limits.minimum == Resource(512, 1)
    assert limits.maximum == Resource(2048, 3)
    assert (limits.am_share, limits.in_flight_max) == (0.5, 1000)


def test_pods_are_made_as_the_settings_say() -> None:
    pods = from_settings.pod_settings(Settings(namespace="jobs", image="hadoop:1", scheduler_name="koord-scheduler"))
    assert (pods.namespace, pods.image, pods.scheduler_name) == ("jobs", "hadoop:1", "koord-scheduler")


def test_pods_of_a_queue_are_made_as_its_settings_say() -> None:
    settings = Settings(
        image="hadoop:1",
        queue_defaults=QueueSettings(network="pod"),
        queue_settings={"root.default": QueueSettings(image="hadoop:2")},
    )
    found = from_settings.pod_profiles(settings)
    assert (found.of("root.default").image, found.of("root.default").host_network) == ("hadoop:2", False)
    assert (found.of("root.gone").image, found.of("root.gone").host_network) == ("hadoop:1", False)


def test_unknown_dialect_is_refused() -> None:
    with pytest.raises(InvalidValue, match="slurm"):
        from_settings.pod_settings(Settings(dialect="slurm"))


def test_node_agent_proves_itself_by_an_hmac_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"0123456789abcdef\n")
    passwords = from_settings.node_passwords(tmp_path / "secret")
    assert passwords is not None
    grant = passwords(b"node-1")
    assert grant is not None
    assert grant.password == hmac.new(b"0123456789abcdef", b"node-1", hashlib.sha1).digest()
    assert (grant.user, grant.kind) == ("node-1", "YODEL_NODE_TOKEN")
    assert passwords(b"node-2") != grant


def test_without_a_secret_node_agents_need_no_proof() -> None:
    assert from_settings.node_passwords(None) is None


class Watched:
    """Settings, and which of them were asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.asked = settings, set[str]()

    def __getattr__(self, name: str) -> object:
        self.asked.add(name)
        return getattr(self._settings, name)


def test_the_page_says_which_settings_are_read_again_while_it_runs() -> None:
    """But for the namespace and the name in pods' labels, by which the pods that run are found."""
    said = runpy.run_path(str(ROOT / "scripts/configuration.py"))["READ_AGAIN"]
    settings = Watched(Settings())
    Reloading(Settings(), lambda: settings, OsUsers(Accounts(1, 1))).read()  # type: ignore[arg-type, return-value]
    assert {*said, "cluster_name", "namespace"} == settings.asked | {"proxy_users"}
