from __future__ import annotations

from dataclasses import replace

import pytest

from yodel.domain.colocation.policy import FORMULA_RANGES, SHAPING_RANGES, Formula, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.properties import NAMES, PREFIX, SHAPING_NAMES, colocation_of, formula_names, version_of
from yodel.domain.colocation.switch import OFF
from yodel.errors import Refused

ON = {f"{PREFIX}enabled": "true"}


def test_nothing_is_lent_where_nothing_is_said() -> None:
    assert colocation_of({"yarn.scheduler.capacity.root.queues": "a"}) == OFF
    assert colocation_of({f"{PREFIX}enabled": "false", f"{PREFIX}preset": "crane"}) == OFF


def test_a_switch_alone_lends_by_the_default_preset() -> None:
    found = colocation_of(ON).policy
    assert found is not None
    assert (found.preset, found.cpu, found.shaping) == ("koordinator", PRESETS["koordinator"].cpu, Shaping())


def test_each_number_of_each_preset_may_be_said() -> None:
    said = {
        **ON,
        f"{PREFIX}preset": "katalyst-canonical",
        f"{PREFIX}cpu.kept-milli": "1500",
        f"{PREFIX}window-s": "120",
    }
    found = colocation_of({**said, f"{PREFIX}memory.counts-system": "true"}).policy
    assert found is not None
    base = PRESETS["katalyst-canonical"]
    assert found.cpu == replace(base.cpu, kept=1500)
    assert found.memory == replace(base.memory, counts_system=True)
    assert found.shaping == Shaping(window_s=120)
    static = colocation_of({**ON, f"{PREFIX}cpu.static-milli": "2500"}).policy
    assert static is not None
    assert static.cpu == replace(PRESETS["koordinator"].cpu, static_amount=2500)


@pytest.mark.parametrize("resource", ["cpu", "memory"])
@pytest.mark.parametrize("number", list(FORMULA_RANGES))
def test_a_number_out_of_range_is_refused_by_its_name(resource: str, number: str) -> None:
    name, (least, most) = formula_names(resource)[number], FORMULA_RANGES[number]
    for text in (str(most + 1), str(least - 1), "", "1.5", "x", "²"):
        with pytest.raises(Refused, match=f"Invalid {name}: .*; expected a whole number from {least} to {most}"):
            colocation_of({**ON, name: text})
    for text in (str(least), str(most)):
        assert colocation_of({**ON, name: text}).is_on


@pytest.mark.parametrize("number", list(SHAPING_RANGES))
def test_shaping_likewise(number: str) -> None:
    least, most = SHAPING_RANGES[number]
    for text in (str(most + 1), str(least - 1)):
        with pytest.raises(Refused, match=f"Invalid {SHAPING_NAMES[number]}"):
            colocation_of({SHAPING_NAMES[number]: text})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("enable", "true", f"Property {PREFIX}enable is not supported: did you mean enabled\\? below {PREFIX} are "),
        ("colour", "red", f"Property {PREFIX}colour is not supported: it has no effect; below {PREFIX} are "),
        ("enabled", "yes", "expected true or false"),
        ("cpu.counts-system", "1", "expected true or false"),
        (
            "preset",
            "google",
            "expected one of baidu, bilibili, crane, katalyst-canonical, koordinator, static, volcano",
        ),
        ("dialect", "native", "a dialect other than native"),
    ],
)
def test_what_cannot_be_is_refused_on_or_off(name: str, text: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        colocation_of({PREFIX + name: text})


def test_a_number_that_a_static_amount_makes_void_is_refused() -> None:
    for more in ("cpu.kept-milli", "cpu.share-percent"):
        with pytest.raises(Refused, match=f"{more} has no effect with a static amount of cpu"):
            colocation_of({f"{PREFIX}cpu.static-milli": "1000", PREFIX + more: "7"})
    with pytest.raises(Refused, match="counts-system has no effect"):
        colocation_of({f"{PREFIX}preset": "static", f"{PREFIX}memory.counts-system": "true"})
    assert colocation_of({**ON, f"{PREFIX}preset": "static", f"{PREFIX}cpu.most-percent": "50"}).is_on


def test_the_version_tells_policies_apart_and_nothing_else() -> None:
    one = colocation_of(ON).policy
    other = colocation_of({**ON, f"{PREFIX}dialect": "katalyst", f"{PREFIX}preset": "koordinator"}).policy
    assert one is not None
    assert one == other
    versions = {version_of(replace(one, cpu=Formula(kept=kept))) for kept in (0, 1)} | {one.version}
    versions.add(version_of(replace(one, shaping=Shaping(window_s=11))))
    assert len(versions) == 4


def test_all_names_are_told_with_a_name_that_is_none() -> None:
    with pytest.raises(Refused) as refused:
        colocation_of({f"{PREFIX}colour": "red"})
    assert all(name.removeprefix(PREFIX) in str(refused.value) for name in NAMES)
