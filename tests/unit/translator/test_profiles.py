"""The layers of a queue's profile, and what is refused before anything is started."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from yodel.domain.queues.pools import YARN
from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect, QueueSettings
from yodel.settings.rm import load
from yodel.translator.dialects import dialect
from yodel.translator.label_selectors import Requirement
from yodel.translator.placement import StableNodes
from yodel.translator.pod_spec import PodSettings
from yodel.translator.profiles import PodProfiles, profiles
from yodel.wiring.from_settings import pod_profiles

BASE = PodSettings(
    cluster="prod",
    namespace="jobs",
    image="base:1",
    dialect=dialect("native"),
    handover_dir="/run/yodel",
    host_paths=("/data/local",),
    scheduler_name="base-scheduler",
    grace_s=7,
    host_network=True,
)
HOUSE = CustomDialect(cpu_resource="example.com/cpu", memory_resource="example.com/memory")


def built(defaults: dict[str, Any] | None = None, queue: dict[str, Any] | None = None) -> PodProfiles:
    return profiles(
        BASE, QueueSettings(**(defaults or {})), {"root.a": QueueSettings(**(queue or {}))}, {"house": HOUSE}
    )


def test_without_any_the_profile_is_the_rms_own() -> None:
    found = built()
    assert found.default == found.of("root.a") == found.of("root.other") == BASE


def test_queues_settings_stand_over_the_defaults_and_these_over_the_rms() -> None:
    found = built(
        {"image": "defaults:1", "network": "pod", "images_allowed": ("x/*",)},
        {"image": "a:1", "termination_grace_period_s": 0, "images_allowed": ()},
    )
    a, other = found.of("root.a"), found.of("root.b")
    assert (a.image, a.host_network, a.grace_s, a.images_allowed) == ("a:1", False, 0, ())
    assert (other.image, other.host_network, other.grace_s, other.images_allowed) == ("defaults:1", False, 7, ("x/*",))
    assert a.scheduler_name == other.scheduler_name == "base-scheduler"


def test_every_field_reaches_the_profile() -> None:
    template = {"metadata": {"labels": {"team": "data"}}}
    found = built(
        queue={
            "dialect": "volcano",
            "scheduler_name": "volcano",
            "priority_class_am": "yodel-am",
            "priority_class_task": "yodel-task",
            "image": "i",
            "images_allowed": ("r/*",),
            "image_pull_secrets": ("s",),
            "network": "pod",
            "termination_grace_period_s": 1,
            "gang": True,
            "gang_min_member": 2,
            "gang_spec": {"queue": "q"},
            "stable_nodes": "pool=services",
            "stable_nodes_policy": "require",
            "read_only_root": True,
            "ephemeral_storage_request_mib": 3,
            "ephemeral_storage_limit_mib": 4,
            "pod_template": template,
        }
    ).of("root.a")
    assert found == PodSettings(
        cluster="prod",
        namespace="jobs",
        handover_dir="/run/yodel",
        host_paths=("/data/local",),
        dialect=dialect("volcano"),
        scheduler_name="volcano",
        priority_class_am="yodel-am",
        priority_class_task="yodel-task",
        needs_pod="image",
        image="i",
        images_allowed=("r/*",),
        image_pull_secrets=("s",),
        host_network=False,
        grace_s=1,
        gang=True,
        gang_min_member=2,
        gang_spec={"queue": "q"},
        stable_nodes=StableNodes(requirements=(Requirement("pool", "In", frozenset({"services"})),), are_required=True),
        read_only_root=True,
        ephemeral_storage_request_mib=3,
        ephemeral_storage_limit_mib=4,
        template=template,
    )


def test_who_chooses_nodes_is_said_by_queue() -> None:
    assert not built().binds
    found = built(queue={"placement": "bind", "pod_template": {"spec": {"affinity": {"nodeAffinity": {}}}}})
    assert found.binds
    assert found.of("root.a").binds
    assert not found.of("root.other").binds
    assert built({"placement": "bind"}).binds
    assert not built({"placement": "bind"}, {"placement": "kubernetes"}).of("root.a").binds


def test_stable_nodes_are_preferred_unless_required_and_a_queue_may_do_without() -> None:
    defaults = {"stable_nodes": "pool=services,!spot"}
    found = built(defaults).of("root.a").stable_nodes
    assert (len(found.requirements), found.are_required) == (2, False)
    policy = {"stable_nodes_policy": "require"}
    assert built(defaults, policy).of("root.a").stable_nodes.are_required
    assert built(defaults | policy, {"stable_nodes": ""}).of("root.a").stable_nodes.requirements == ()


def test_dialect_of_the_house_is_named_like_any_other() -> None:
    assert built(queue={"dialect": "house"}).of("root.a").dialect.measures.cpu == "example.com/cpu"


def test_kinds_of_groups_are_those_that_queues_want_each_once() -> None:
    koordinator, volcano = (dialect(name).gang for name in ("koordinator", "volcano"))
    wanted = {"dialect": "koordinator", "gang": True}
    assert built().gang_kinds == ()
    assert built({"dialect": "koordinator"}).gang_kinds == ()
    assert built(wanted).gang_kinds == (koordinator,)
    assert built(wanted, {"dialect": "volcano"}).gang_kinds == (koordinator, volcano)


@pytest.mark.parametrize(
    ("settings", "field", "expected"),
    [
        ({"dialect": "slurm"}, "dialect", "one of house, katalyst, koordinator, native, volcano"),
        ({"stable_nodes": "pool in services"}, "stable_nodes", "unable to parse requirement: 'pool in services'"),
        ({"stable_nodes_policy": "prefer"}, "stable_nodes_policy", "none without stable_nodes"),
        ({"gang": True}, "gang", "a dialect with groups (koordinator, volcano), native has none"),
        ({"dialect": "katalyst", "gang": True}, "gang", "katalyst has none"),
        ({"dialect": "volcano", "gang": True, "placement": "bind"}, "gang", "no scheduler sees the group"),
        (
            {"placement": "bind", "pod_template": {"spec": {"affinity": {"podAntiAffinity": {"a": []}}}}},
            "pod_template.spec.affinity.podAntiAffinity",
            "nodeSelector, nodeAffinity and tolerations",
        ),
        (
            {"placement": "bind", "pod_template": {"spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}}},
            "pod_template.spec.topologySpreadConstraints",
            "none with placement bind",
        ),
        ({"pod_template": {"spec": {"hostIPC": True}}}, "pod_template.spec.hostIPC", "one of affinity"),
        (
            {"dialect": "koordinator", "pod_template": {"metadata": {"labels": {"koordinator.sh/qosClass": "LS"}}}},
            "pod_template.metadata.labels.koordinator.sh/qosClass",
            "neither Yodel nor the dialect",
        ),
        (
            {
                "dialect": "volcano",
                "pod_template": {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "x"}}},
            },
            "pod_template.metadata.annotations.scheduling.k8s.io/group-name",
            "neither Yodel nor the dialect",
        ),
        (
            {"ephemeral_storage_request_mib": 2, "ephemeral_storage_limit_mib": 1},
            "ephemeral_storage_limit_mib",
            "at least the request, 2",
        ),
    ],
)
def test_mistake_is_told_by_section_field_and_expectation(settings: dict[str, Any], field: str, expected: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        built(queue=settings)
    assert caught.value.field == f'queue_settings."root.a".{field}'
    assert expected in str(caught.value)
    with pytest.raises(InvalidValue, match=r"^Invalid queue_(defaults|settings)"):
        built(defaults=settings)


def several(*, defaults: dict[str, Any] | None = None, **dialects: str | None) -> PodProfiles:
    """Queues by path, with double underscores for dots."""
    queues = {path.replace("__", "."): QueueSettings(dialect=name, image="i") for path, name in dialects.items()}
    return profiles(BASE, QueueSettings(**(defaults or {})), queues, {"house": HOUSE})


def test_dialect_of_a_child_of_root_counts_for_all_below_it_named_or_not() -> None:
    found = several(root__a="koordinator", root__a__b=None, root__c=None)
    names = {path: found.of(path).dialect.name for path in ("root.a", "root.a.b", "root.a.x.y", "root.c", "root.ab")}
    assert names == {
        "root.a": "koordinator",
        "root.a.b": "koordinator",
        "root.a.x.y": "koordinator",
        "root.c": "native",
        "root.ab": "native",
    }
    assert (found.of("root.a").image, found.of("root.a.x").image) == ("i", "base:1"), "only the dialect is inherited"


def test_roots_dialect_is_that_of_all_who_have_none() -> None:
    found = several(defaults={"dialect": "house"}, root="volcano", root__a="native")
    assert [found.of(p).dialect.name for p in ("root", "root.b", "root.b.c", "root.a.b")] == [
        "volcano",
        "volcano",
        "volcano",
        "native",
    ]


def test_another_dialect_below_a_child_of_root_is_refused() -> None:
    with pytest.raises(InvalidValue) as refused:
        several(root__a="koordinator", root__a__b="volcano")
    assert str(refused.value) == (
        "Invalid queue_settings.\"root.a.b\".dialect: 'volcano'; expected koordinator, the dialect of root.a: it is "
        "set on root or a child of root"
    )
    with pytest.raises(InvalidValue, match=r"expected native, the dialect of root\.a"):
        several(root__a__b="volcano")
    assert several(root__a="volcano", root__a__b="volcano").of("root.a.b").dialect.name == "volcano"


def test_what_is_inherited_is_judged_with_the_defaults() -> None:
    with pytest.raises(InvalidValue, match=r'queue_settings."root.a".gang: True; expected a dialect with groups'):
        profiles(BASE, QueueSettings(gang=True, dialect="volcano"), {"root.a": QueueSettings(dialect="katalyst")}, {})


def test_pools_are_those_of_root_and_its_children() -> None:
    rules = several(root__a="koordinator", root__b="volcano", root__b__x=None, root__c=None).pool_rules()
    assert rules.pools.of("root.b.x") == rules.pools.of("root.a") == "koordinator+volcano"
    assert (rules.pools.default, rules.pools.of("root.c")) == ("native", "native")
    assert several(root__a__b="native").pool_rules().pools == built().pool_rules().pools
    assert built({"dialect": "katalyst"}).pool_rules().pools.default == "katalyst"


def test_queue_on_node_managers_says_nothing_of_pods_and_takes_no_defaults() -> None:
    found = built(defaults={"image": "i", "gang": True, "dialect": "volcano"}, queue={"dialect": "yarn"})
    assert found.of("root.a") == replace(BASE, dialect=dialect("yarn"))
    assert found.pool_rules().pools.of("root.a.below") == "yarn"
    assert "yarn" not in found.pool_rules().kinds
    expected = "unset where the dialect is yarn: NodeManagers launch containers without pods"
    text = f"Invalid queue_settings.\"root.a\".image: 'i'; expected {expected}"
    with pytest.raises(InvalidValue, match=re.escape(text)):
        built(queue={"dialect": "yarn", "image": "i"})


@pytest.mark.parametrize(
    ("pool", "queue", "expected"),
    [
        ("nothing", {}, "the name of a pool that queues draw on: native, yarn"),
        ("native", {"dialect": "yarn"}, "yarn while a queue has the dialect yarn: its pool would be empty"),
    ],
)
def test_pool_of_node_managers_is_one_that_there_is(pool: str, queue: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(f"Invalid node_managers_pool: '{pool}'; expected {expected}")):
        profiles(BASE, QueueSettings(), {"root.a": QueueSettings(**queue)}, {}, pool)
    shared = profiles(BASE, QueueSettings(), {}, {}, "native").pool_rules()
    assert shared.node_managers == "native"


def test_example_of_the_page_about_node_managers_is_taken(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "coming-from-yarn.md").read_text()
    (tmp_path / "rm.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    settings = load(tmp_path / "rm.toml")
    assert (settings.node_managers, str(settings.nodes_include_path)) == ("network", "/etc/yodel/hosts")
    assert pod_profiles(settings).pool_rules().pools.of("root.hadoop") == YARN
