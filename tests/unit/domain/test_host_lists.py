from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.records import a_node
from yodel.domain import host_lists
from yodel.domain.host_lists import HostLists, names_of, parse
from yodel.errors import InvalidValue


def test_without_lists_everybody_may() -> None:
    assert HostLists().allow(["any"])
    assert not HostLists().are_silent_on(["any"])


@pytest.mark.parametrize(
    ("names", "may", "is_silent"),
    [(("a",), True, False), (("b",), False, False), (("c",), False, True), (("c", "a"), True, False)],
)
def test_exclusion_wins_over_inclusion(names: tuple[str, ...], may: bool, is_silent: bool) -> None:
    lists = HostLists(included=frozenset({"a", "b"}), excluded={"b": None})
    assert (lists.allow(names), lists.are_silent_on(names)) == (may, is_silent)


def test_timeout_is_the_first_that_a_name_has() -> None:
    lists = HostLists(excluded={"a": None, "b": 0})
    assert lists.timeout_s(["a", "b"]) == 0
    assert lists.timeout_s(["a"]) is None


def test_node_is_meant_by_its_host_or_its_kubernetes_name() -> None:
    assert names_of(a_node("host", kubernetes_node_name="kube")) == ("host", "kube")


def test_text_has_hosts_comments_and_several_a_line() -> None:
    assert parse("a b\n# no c\n\n d # not e\n", is_xml=False) == {"a": None, "b": None, "d": None}


def test_xml_has_timeouts() -> None:
    text = """<?xml version="1.0"?><hosts><host><name>a, b</name><timeout>12</timeout></host>
        <host><name>c</name></host></hosts>"""
    assert parse(text, is_xml=True) == {"a": 12, "b": 12, "c": None}


@pytest.mark.parametrize("text", ["<hosts>", "<hosts><host><name>a</name><timeout>soon</timeout></host></hosts>"])
def test_malformed_list_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text, is_xml=True)


def test_too_long_a_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_lists, "HOSTS_MAX", 1)
    with pytest.raises(InvalidValue):
        parse("a b", is_xml=False)


HOSTS = st.frozensets(st.sampled_from("abcde"))


@given(included=HOSTS, excluded=HOSTS, name=st.sampled_from("abcde"))
def test_who_is_excluded_may_never_and_who_is_unknown_only_without_an_include_list(
    included: frozenset[str], excluded: frozenset[str], name: str
) -> None:
    lists = HostLists(included=included, excluded=dict.fromkeys(excluded))
    assert lists.allow([name]) == (name not in excluded and (not included or name in included))
    assert not (lists.allow([name]) and lists.are_silent_on([name]))
