from __future__ import annotations

from pathlib import Path

import pytest

from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect, CustomGang
from yodel.settings.rm import load
from yodel.translator import names
from yodel.translator.dialects import DIALECTS, dialect, gang_object, quantities

CAPABILITY = Resource(2048, 3)
HOUSE = CustomDialect(
    cpu_resource="colocation.example.com/cpu",
    cpu_unit="core",
    memory_resource="colocation.example.com/memory",
    memory_unit="mib",
    priority_class_name="offline",
    labels={"example.com/qos": "offline"},
    gang=CustomGang(api_version="scheduling.example.com/v1", kind="Gang", plural="gangs", pod_label="example.com/gang"),
)


def test_native_asks_for_cores_and_memory() -> None:
    assert quantities(dialect("native"), CAPABILITY, 1000) == {"cpu": "3000m", "memory": "2048Mi"}


def test_koordinator_asks_for_milli_cores_and_bytes_as_plain_integers() -> None:
    assert quantities(dialect("koordinator"), CAPABILITY, 1000) == {
        "kubernetes.io/batch-cpu": "3000",
        "kubernetes.io/batch-memory": "2147483648",
    }
    assert dialect("koordinator").labels == {"koordinator.sh/qosClass": "BE"}
    assert dialect("koordinator").priority_class_name == "koord-batch"


def test_katalyst_asks_for_what_is_reclaimed() -> None:
    assert quantities(dialect("katalyst"), CAPABILITY, 1000) == {
        "resource.katalyst.kubewharf.io/reclaimed_millicpu": "3000",
        "resource.katalyst.kubewharf.io/reclaimed_memory": "2147483648",
    }
    assert dialect("katalyst").annotations == {"katalyst.kubewharf.io/qos_level": "reclaimed_cores"}
    assert dialect("katalyst").gang is None


def test_volcano_asks_for_batch_resources_under_its_own_class() -> None:
    assert quantities(dialect("volcano"), CAPABILITY, 1000) == quantities(dialect("koordinator"), CAPABILITY, 1000)
    assert dialect("volcano").annotations == {"volcano.sh/qos-level": "BE"}


def test_dialect_of_the_house_is_as_spelled_out() -> None:
    house = dialect("house", {"house": HOUSE})
    assert quantities(house, CAPABILITY, 500) == {
        "colocation.example.com/cpu": "2",
        "colocation.example.com/memory": "2048",
    }
    assert (house.labels, house.annotations, house.priority_class_name) == (
        {"example.com/qos": "offline"},
        {},
        "offline",
    )
    assert house.gang is not None
    assert house.gang.crd_name == "gangs.scheduling.example.com"


def test_dialect_of_the_house_cannot_take_a_known_name() -> None:
    with pytest.raises(InvalidValue, match=r"dialects\.volcano.*katalyst, koordinator, native, volcano"):
        dialect("native", {"volcano": HOUSE})


@pytest.mark.parametrize(
    ("name", "crd"),
    [("koordinator", "podgroups.scheduling.sigs.k8s.io"), ("volcano", "podgroups.scheduling.volcano.sh")],
)
def test_group_object_is_the_engines_with_the_operators_fields_and_our_size(name: str, crd: str) -> None:
    kind = dialect(name).gang
    assert kind is not None
    assert kind.crd_name == crd
    group = gang_object(
        kind,
        ApplicationId(1700000000000, 1),
        cluster="prod",
        namespace="jobs",
        min_member=2,
        spec={"queue": "offline", "minMember": 99},
    )
    assert group == {
        "apiVersion": kind.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": "application-1700000000000-0001",
            "namespace": "jobs",
            "labels": {
                "app.kubernetes.io/managed-by": "yodel",
                "yodel.io/cluster": "prod",
                names.APPLICATION: "application_1700000000000_0001",
            },
        },
        "spec": {"queue": "offline", "minMember": 2},
    }


@pytest.mark.parametrize("name", sorted(name for name, one in DIALECTS.items() if one.has_pods))
def test_a_vcore_is_worth_what_the_operator_says(name: str) -> None:
    whole, half = (quantities(dialect(name), CAPABILITY, milli) for milli in (1000, 500))
    cpu = next(key for key in whole if "cpu" in key)
    assert int(whole[cpu].rstrip("m")) == 2 * int(half[cpu].rstrip("m")) == 3000


def test_further_types_go_by_their_names_and_none_of_one_is_left_out() -> None:
    capability = Resource(1024, 1, (("example.com/gpu", 2), ("example.com/none", 0)))
    assert quantities(dialect("native"), capability, 1000) == {
        "cpu": "1000m",
        "memory": "1024Mi",
        "example.com/gpu": "2",
    }


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_further_types_cannot_take_the_place_of_the_dialects_own(name: str) -> None:
    plain = quantities(dialect(name), CAPABILITY, 1000)
    cheat = Resource(2048, 3, tuple(sorted((key, 1) for key in plain)))
    assert quantities(dialect(name), cheat, 1000) == plain


@pytest.mark.parametrize("name", sorted(DIALECTS))
@pytest.mark.parametrize("other", ["cpu", "memory", "kubernetes.io/batch-cpu", "ephemeral-storage", "hugepages-2Mi"])
def test_further_types_bring_no_other_dialects_resources(name: str, other: str) -> None:
    plain = quantities(dialect(name), CAPABILITY, 1000)
    assert quantities(dialect(name), Resource(2048, 3, ((other, 64),)), 1000) == plain


def test_unknown_dialect_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(InvalidValue, match="katalyst, koordinator, native, volcano"):
        dialect("klingon")


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_page_about_dialects_says_what_is_so(name: str) -> None:
    engine = DIALECTS[name]
    page = (Path(__file__).resolve().parents[3] / "docs" / "dialects.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
    marks = {**engine.labels, **engine.annotations}
    words = [engine.measures.cpu, engine.measures.memory, engine.priority_class_name]
    words += [f"{key}: {value}" for key, value in marks.items()]
    if engine.gang is not None:
        words += [engine.gang.crd_name, engine.gang.pod_label, engine.gang.pod_annotation]
    assert [word for word in words if word not in row] == []


def test_example_of_the_page_is_taken(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "dialects.md").read_text()
    (tmp_path / "rm.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    settings = load(tmp_path / "rm.toml")
    found = dialect("offline", settings.dialects)
    assert quantities(found, CAPABILITY, 1000) == {
        "colocation.example.com/cpu": "3",
        "colocation.example.com/memory": "2048",
    }
